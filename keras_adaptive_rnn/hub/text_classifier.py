"""A recurrent classifier of texts."""

from typing import Any

import keras
import keras_hub
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._freezing import freeze_parts
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.preprocessor import RecurrentTextClassifierPreprocessor
from keras_adaptive_rnn.hub.presets import HeadInPreset
from keras_adaptive_rnn.models.base import MaskedMean

POOLINGS = ("mean", "last", "attention")


@export
class RecurrentTextClassifier(HeadInPreset, keras_hub.models.TextClassifier):
    r"""Reads a text with a recurrent backbone, and classifies it.

    The hidden states $h_t$ of the tokens are pooled into $v$, without padding, and the logits are $W v + b$:

    - `"mean"`: $v$ is the mean of all $h_t$;
    - `"last"`: $v$ is $h_t$ after the whole text; in a bidirectional backbone, the last of each direction;
    - `"attention"`: $v = \sum_t a_t h_t$ with $a = \mathrm{softmax}_t(u^\top \tanh(U h_t + c))$.

    Cells that decide how much to compute, such as `keras_adaptive_rnn.SkipCell`, add its cost to the loss. A language
    model's preset loads as a classifier with a trained backbone: `from_preset(folder, num_classes=2)`.

    Args:
        backbone: A `keras_adaptive_rnn.hub.RecurrentBackbone`.
        num_classes: Integer of at least 2, number of classes.
        preprocessor: A `keras_adaptive_rnn.hub.RecurrentTextClassifierPreprocessor`, or `None` (default): the model
            then takes token ids.
        pooling: `"mean"` (default), `"last"` or `"attention"`.
        dropout: Number in [0, 1), the rate at which units of $v$ are dropped. Defaults to `0.0`.
        activation: Activation of the logits. Defaults to `None`.
        name, trainable: As in `keras.Model`.

    Call arguments:
        inputs: Dict of `"token_ids"` and `"padding_mask"`, as in `keras_adaptive_rnn.hub.RecurrentBackbone`.

    Returns: Logits `[batch, num_classes]`.

    Raises:
        ValueError: An argument is out of range.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> texts, labels = ["good good", "so bad", "bad", "good"] * 4, [1, 0, 0, 1] * 4
    >>> tokenizer = hub.VocabularyTokenizer.from_text(texts, split="word")
    >>> cells = [keras_adaptive_rnn.SkipCell(keras_adaptive_rnn.GRUCell(8), cost_weight=1e-4)]
    >>> backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, cells)
    >>> preprocessor = hub.RecurrentTextClassifierPreprocessor(tokenizer, sequence_length=4)
    >>> classifier = hub.RecurrentTextClassifier(backbone, 2, preprocessor, pooling="attention")
    >>> classifier.compile(keras.optimizers.Adam(0.05), metrics=["accuracy"])
    >>> run = classifier.fit(texts, labels, epochs=2, verbose=0)
    >>> tuple(classifier.predict(["good"], verbose=0).shape)
    (1, 2)

    Reference: Yang et al., Hierarchical Attention Networks for Document Classification (2016), section 2.2, for the
        attention.
    """

    backbone_cls = RecurrentBackbone
    preprocessor_cls = RecurrentTextClassifierPreprocessor

    def __init__(
        self,
        backbone: Any,
        num_classes: int,
        preprocessor: Any = None,
        pooling: str = "mean",
        dropout: float = 0.0,
        activation: Any = None,
        **kwargs,
    ):
        if not isinstance(backbone, RecurrentBackbone):
            raise TypeError(f"Argument `backbone` must be a RecurrentBackbone. Received: backbone={backbone!r}")
        num_classes = _arguments.integer("num_classes", num_classes, minimum=2)
        pooling = _arguments.choice("pooling", pooling, POOLINGS)
        dropout = _arguments.rate("dropout", dropout)
        activation = keras.activations.get(activation)
        self.backbone, self.preprocessor = backbone, preprocessor
        policy = backbone.dtype_policy
        mask = ops.cast(backbone.input["padding_mask"], "bool")
        hidden = backbone(backbone.input)
        if pooling == "mean":
            x = MaskedMean(dtype=policy, name="pooling")(hidden, mask=mask)
        elif pooling == "attention":
            size = hidden.shape[-1]
            scores = keras.layers.Dense(size, "tanh", dtype=policy, name="attention_hidden")(hidden)
            scores = keras.layers.Dense(1, use_bias=False, dtype=policy, name="attention_scores")(scores)
            weights = keras.layers.Softmax(axis=1, dtype=policy, name="attention")(scores, mask=mask[..., None])
            x = ops.sum(weights * hidden, axis=1)
        elif backbone.bidirectional:
            # The backward layer ends with the first token. At padding, hidden states repeat.
            half = hidden.shape[-1] // 2
            x = ops.concatenate([hidden[:, -1, :half], hidden[:, 0, half:]], axis=-1)
        else:
            x = hidden[:, -1]
        x = keras.layers.Dropout(dropout, dtype=policy, name="dropout")(x)
        x = keras.layers.Dense(num_classes, activation=activation, dtype=policy, name="logits")(x)
        super().__init__(inputs=backbone.input, outputs=x, **kwargs)
        freeze_parts(self)
        self.num_classes, self.pooling, self.dropout, self.activation = num_classes, pooling, dropout, activation

    # Tied weights have a bias of the logits of tokens, which this model does not compute.

    @property
    def trainable_variables(self):
        return [v for v in super().trainable_variables if v is not self.backbone.token_embedding.bias]

    @property
    def trainable_weights(self):
        return [v for v in super().trainable_weights if v is not self.backbone.token_embedding.bias]

    def get_config(self):
        config = super().get_config()
        arguments = {name: getattr(self, name) for name in ("num_classes", "pooling", "dropout")}
        return {**config, **arguments, "activation": keras.activations.serialize(self.activation)}
