"""Preprocessors, from strings to the inputs of the models."""

import keras
import keras_hub
from keras_hub.layers import StartEndPacker

from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.presets import ReadsItsOwnFiles
from keras_adaptive_rnn.hub.tokenizer import VocabularyTokenizer

VocabularyTokenizer.backbone_cls = RecurrentBackbone


class Packs(ReadsItsOwnFiles):
    """Mixin that adds the special tokens of any tokenizer, and pads.

    The general tokenizers of KerasHub have no special tokens. Padding is known by its mask: its id may be that of
    another token.
    """

    backbone_cls = RecurrentBackbone
    tokenizer_cls = VocabularyTokenizer

    def build(self, input_shape):
        start, end, pad = (getattr(self.tokenizer, f"{name}_token_id", None) for name in ("start", "end", "pad"))
        self.packer = StartEndPacker(self.sequence_length, start, end, pad, return_padding_mask=True)
        self.built = True


@export
class RecurrentCausalLMPreprocessor(Packs, keras_hub.models.CausalLMPreprocessor):
    """Turns strings into token ids and the next token of each, padded on the right to one length.

    Args:
        tokenizer: A `keras_adaptive_rnn.hub.VocabularyTokenizer`, or another tokenizer of KerasHub, such as its
            `BytePairTokenizer` or `SentencePieceTokenizer`.
        sequence_length: Positive integer, number of tokens in `fit`, to which texts are padded or cut; and the length,
            prompt included, at which `generate` ends. Defaults to `1024`.
        add_start_token, add_end_token: Whether to add the tokenizer's start and end tokens, if it has them. Default to
            `True`.
        **kwargs: As in `keras_hub.models.CausalLMPreprocessor`.

    Call arguments:
        x: A string, or a list of strings.

    Returns: `x, y, sample_weight`: a dict of `"token_ids"` and `"padding_mask"`, the next tokens, and where they count.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> tokenizer = hub.VocabularyTokenizer.from_text("to be or not to be")
    >>> preprocessor = hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=8)
    >>> x, y, sample_weight = preprocessor(["to be", "or not"])
    >>> tuple(x["token_ids"].shape)
    (2, 8)

    Reference: `keras_hub.models.CausalLMPreprocessor`.
    """


@export
class RecurrentTextClassifierPreprocessor(Packs, keras_hub.models.TextClassifierPreprocessor):
    """Turns strings into token ids, padded on the right to one length, beside their labels.

    Args:
        tokenizer: As in `keras_adaptive_rnn.hub.RecurrentCausalLMPreprocessor`.
        sequence_length: Positive integer, number of tokens to which texts are padded or cut. Defaults to `512`.
        **kwargs: As in `keras_hub.models.TextClassifierPreprocessor`.

    Call arguments:
        x: A string, or a list of strings.
        y, sample_weight: Labels and their weights, which are passed on. Default to `None`.

    Returns: `x`, a dict of `"token_ids"` and `"padding_mask"`; with labels, `x, y`; with weights, `x, y,
    sample_weight`.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> tokenizer = hub.VocabularyTokenizer.from_text("good bad ugly", split="word")
    >>> preprocessor = hub.RecurrentTextClassifierPreprocessor(tokenizer, sequence_length=4)
    >>> [int(n) for n in preprocessor(["good ugly"])["padding_mask"][0]]
    [1, 1, 0, 0]

    Reference: `keras_hub.models.TextClassifierPreprocessor`.
    """

    def call(self, x, y=None, sample_weight=None):
        token_ids, padding_mask = self.packer(self.tokenizer(x))
        x = {"token_ids": token_ids, "padding_mask": padding_mask}
        return keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
