"""A recurrent language model that trains on texts and writes them."""

import os
from collections.abc import Iterator
from typing import Any, Self

import keras
import keras_hub

from keras_adaptive_rnn import engine, evaluation
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.hub import presets

class RecurrentCausalLM(presets.HeadInPreset, keras_hub.models.CausalLM):
    """A recurrent language model, which learns to predict the next token, and writes.

    $$p(w_{t+1} \\mid w_1, \\ldots, w_t) = \\mathrm{softmax}(h_t E^\\top + b)$$

    $h_t$ is the output of the backbone and $E$ its embedding; without tied weights, a `keras.layers.Dense` computes the
    logits.

    It trains on separate texts with `fit`, and on one long text, whose states are carried from segment to segment, with
    `fit_streams`: the same weights, in either order. `generate` writes with any sampler of KerasHub but the speculative
    one. The model keeps its memory in the states of its cells, so that a token costs the same after ten thousand tokens
    as after one, and `read` takes in a text of any length.

    `save_to_preset` writes a folder that `keras_hub.models.CausalLM.from_preset` loads on every backend, provided that
    `keras_adaptive_rnn.hub` has been imported.

    Args:
        backbone: A `keras_adaptive_rnn.hub.RecurrentBackbone`.
        preprocessor: A `keras_adaptive_rnn.hub.RecurrentCausalLMPreprocessor`, or `None` (default): the model then
            reads and writes token ids.
        experts: Positive integer, number of softmaxes that `keras_adaptive_rnn.layers.MixtureOfSoftmaxes` mixes.
            Defaults to `1`: one softmax.
        expert_dropout: Number in [0, 1), its dropout. Defaults to `0.0`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Dict of `"token_ids"` and `"padding_mask"`, as in `keras_adaptive_rnn.hub.RecurrentBackbone`.

    Returns: Logits `[batch, time, vocabulary_size]`.

    Raises:
        ValueError: The backbone is bidirectional, or has fewer tokens than the tokenizer; with tied weights and one
            softmax, the last cell's output has another size than the embedding.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> text = "the cat sat on the mat. " * 20
    >>> tokenizer = hub.VocabularyTokenizer.from_text(text)
    >>> backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 16, [keras_adaptive_rnn.MogrifierCell(16)])
    >>> lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=20))
    >>> lm.compile(keras.optimizers.Adam(1e-2), sampler="greedy")
    >>> run = lm.fit_streams(text, batch_size=2, steps=8, epochs=1, verbose=0)
    >>> len(lm.generate("the cat"))
    20

    Reference: Melis et al., Mogrifier LSTM (2020); Merity et al., Regularizing and Optimizing LSTM Language Models
        (2018).
    """

    backbone_cls: Any
    preprocessor_cls: Any
    head: Any
    step_compiled: Any
    read_compiled: Any
    generate_function: Any
    experts: int
    expert_dropout: float

    def __init__(
        self,
        backbone: Any,
        preprocessor: Any = None,
        experts: int = 1,
        expert_dropout: float = 0.0,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        compile: Any = True,
    ) -> None: ...
    def logits(self, hidden: Tensor) -> Tensor:
        """Returns the logits `[..., vocabulary_size]` of hidden states `[..., size]`."""

    @classmethod
    def from_preset(cls, preset: str | os.PathLike, load_weights: bool = True, **kwargs: Any) -> Any:
        """Loads a language model.

        `"mogrifier_python_reference"` comes with this package: two Mogrifiers of 200 units, which have read the
        characters of Python's language reference.

        Args:
            preset: That name; the folder that `save_to_preset` has written; or a handle on Hugging Face
                (`"hf://user/name"`) or Kaggle (`"kaggle://user/model/keras/variation"`).
            load_weights: Whether to load the weights, too. Defaults to `True`.
            **kwargs: As in `keras_hub.models.Task.from_preset`, such as `dtype="mixed_bfloat16"`.

        Raises:
            ValueError: There is no such preset, or it is of another kind of model.

        Example:

        >>> from keras_adaptive_rnn import hub
        >>> lm = hub.RecurrentCausalLM.from_preset("mogrifier_python_reference")
        >>> text = lm.generate("The import statement", max_length=60)
        """

    def get_config(self) -> dict[str, Any]: ...
    @classmethod
    def from_config(cls, config: Any) -> Self: ...
    def compile(
        self,
        optimizer: Any = "auto",
        loss: Any = "auto",
        *,
        weighted_metrics: Any = "auto",
        sampler: Any = "top_k",
        **kwargs: Any,
    ) -> None:
        """Configures training and generation.

        Args:
            optimizer: As in `keras.Model.compile`. `"auto"` (default) means `Adam(2e-3, global_clipnorm=1.0)`.
            loss: As in `keras.Model.compile`. `"auto"` (default) means the cross-entropy of the next token.
            weighted_metrics: As in `keras.Model.compile`. `"auto"` (default) means the perplexity.
            sampler: Name of a sampler of KerasHub (`"greedy"`, `"top_k"`, `"top_p"`, `"random"`, `"beam"` or
                `"contrastive"`), or a `keras_hub.samplers.Sampler`. Defaults to `"top_k"`.
            **kwargs: As in `keras.Model.compile`.

        Raises:
            ValueError: `sampler` is speculative, which needs a cache that forgets, or returns all beams.
        """

    def get_initial_cache(self, batch_size: int) -> list[list[Tensor]]:
        """Returns the states before the first token, as `keras_adaptive_rnn.hub.RecurrentBackbone` does."""

    def call_with_cache(self, token_ids: Tensor, cache: list, compute_head: bool = True) -> tuple:
        """Reads one token of each row, in inference.

        Args:
            token_ids: Integers `[batch, 1]`.
            cache: The states before it.
            compute_head: Whether to compute logits. Defaults to `True`.

        Returns: `logits, hidden, cache`: `[batch, 1, vocabulary_size]` or `None`, `[batch, 1, size]`, and the states
            after the token, in the structure, shapes and dtypes of `cache`.
        """

    def read(self, inputs: Any, states: dict | None = None) -> dict:
        """Reads texts of any length, and returns the states from which `generate` and `read` go on.

        Memory does not grow with the length of a text: it is read in pieces.

        Args:
            inputs: A string or a list of strings; or token ids, a list of lists or a dict of `"token_ids"` and
                `"padding_mask"`.
            states: What an earlier call has returned for texts that these ones continue. Defaults to `None`.

        Returns: A dict of `"cache"`, the states before the last token, a list of lists of tensors `[batch, size]`, and
            `"token_ids"`, the last tokens, `[batch, 1]`.

        Raises:
            ValueError: A text is empty, and there are no `states`; or the batch sizes differ.

        Example:

        >>> from keras_adaptive_rnn import hub
        >>> tokenizer = hub.VocabularyTokenizer.from_text("to be or not to be")
        >>> backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, [keras_adaptive_rnn.LSTMCell(8)])
        >>> lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer))
        >>> states = lm.read(" not to be", states=lm.read("to be or"))
        >>> text, states = lm.generate("", max_length=5, states=states, return_states=True)
        """

    def streaming_model(self, batch_size: int) -> keras.Model:
        """Returns a plain `keras.Model` with the same weights, which carries states from batch to batch.

        It is what `fit_streams` trains, for training loops of your own.

        Args:
            batch_size: Positive integer, number of texts that are read in parallel.

        Returns: A functional model from token ids `[batch_size, time]` to logits, with stateful recurrent layers.
        """

    def fit_streams(
        self,
        text: Any,
        batch_size: int = 32,
        steps: int = 64,
        epochs: int = 1,
        validation: Any = None,
        callbacks: list | None = None,
        **kwargs: Any,
    ) -> keras.callbacks.History:
        """Trains on one long text by truncated backpropagation through time.

        The text is cut into `batch_size` parts that are read in parallel, `steps` tokens at a time; gradients go back
        within these, and states are carried on. They are reset where an epoch begins, and before and after validation.
        The optimizer, the loss and `run_eagerly` are those given to `compile`.

        Args:
            text: A string; token ids, an integer array `[tokens]`, which may be memory-mapped (`np.load(path,
                mmap_mode="r")`) and larger than memory; a `keras_adaptive_rnn.datasets.TokenStream`, or another
                `keras.utils.PyDataset` of batches `x, y` `[batch_size, time]` in which each row goes on where it ended.
            batch_size: Positive integer. Defaults to `32`.
            steps: Positive integer, tokens of a segment. Defaults to `64`.
            epochs: Positive integer. Defaults to `1`.
            validation: The same as `text`, to be evaluated after every epoch. Defaults to `None`.
            callbacks: List of callbacks, whose `model` is a `streaming_model`. A
                `keras_adaptive_rnn.callbacks.StreamStates` among them takes the place of the one that is there by
                itself, which scales the learning rate by the lengths of a `TokenStream`. Defaults to `None`.
            **kwargs: As in `keras.Model.fit`.

        Returns: A `keras.callbacks.History` with the loss, the perplexity and, for characters, bits per character.

        Raises:
            ValueError: The text is shorter than one batch, not of integers, or has tokens outside of the vocabulary.
        """

    def evaluate_streams(
        self, text: Any, batch_size: int = 1, steps: int = 256, **kwargs: Any
    ) -> evaluation.Evaluation:
        """Returns the perplexity on one long text, whose states are carried along.

        It is `keras_adaptive_rnn.evaluation.evaluate` of `streaming_model`, and counts every token but the first.

        Args:
            text: A string, or token ids, an integer array `[tokens]`.
            batch_size: Positive integer, number of parts that are read in parallel. Defaults to `1`.
            steps: Positive integer, tokens of a segment. The result does not depend on it, unless there are `samples`,
                whose masks hold for a segment. Defaults to `256`.
            **kwargs: As in `keras_adaptive_rnn.evaluation.evaluate`: `samples` for Monte Carlo dropout, `temperature`,
                ...

        Returns: A `keras_adaptive_rnn.evaluation.Evaluation`: `loss`, `perplexity`, `bits` and `tokens`.

        Raises:
            ValueError: As in `keras_adaptive_rnn.evaluation.evaluate`.
        """

    def save_to_preset(
        self, preset_dir: str | os.PathLike, max_shard_size: float | None = 10, *, card: dict | None = None
    ) -> None:
        """Writes a folder that `from_preset` loads, with a model card in `README.md`.

        Args:
            preset_dir: Path of the folder.
            max_shard_size: As in `keras_hub.models.Task.save_to_preset`.
            card: Dict of what the model card should say beside what the model knows: `"data"`, `"license"`,
                `"perplexity"` and `"training"`, each a string or a number. Defaults to `None`: nothing.

        Raises:
            ValueError: `card` has other keys.
        """

    @engine.without_autograph
    def generate_step(self, inputs: Any, stop_token_ids: Any = None) -> Any: ...
    def make_generate_function(self) -> Any:
        """Returns the function that writes for a batch; it is compiled once for each bucket of prompt lengths."""

    def generate(
        self,
        inputs: Any,
        max_length: int | None = None,
        stop_token_ids: Any = "auto",
        strip_prompt: bool = False,
        states: dict | None = None,
        return_states: bool = False,
    ) -> Any:
        """Writes on from prompts, with the sampler given to `compile`.

        Args:
            inputs: A string, or a list of strings of any lengths; or token ids, a list of lists, or a dict of
                `"token_ids"` and `"padding_mask"` padded on the right to the length to write to. An empty prompt needs
                a start token, or `states`.
            max_length: Number of tokens to write to, prompt included. `None` (default) means the `sequence_length` of
                the preprocessor, and for a dict of token ids its length.
            stop_token_ids: Tokens at which a row ends, a list of integers; `"auto"` (default) means the end token of
                the tokenizer, if it has one; `None` means no such token.
            strip_prompt: Whether to return only what is new. Defaults to `False`.
            states: What `read`, or an earlier `generate`, has returned for the texts that the prompts continue: nothing
                is read twice. Defaults to `None`.
            return_states: Whether to return `outputs, states`. Defaults to `False`.

        Returns: A string, or a list of strings; for token ids, a dict of arrays `"token_ids"` and `"padding_mask"`.

        Raises:
            ValueError: A prompt is empty, or as long as `max_length`; there is no length to write to; or the batch
                sizes of prompts and `states` differ.
        """

    def stream(
        self, prompt: str, max_length: float | None = None, stop_token_ids: Any = "auto", states: dict | None = None
    ) -> Iterator[str]:
        """Yields what the model writes after one prompt, piece by piece, as it comes.

        Args:
            prompt, max_length, stop_token_ids, states: As in `generate`; `max_length=float("inf")` goes on until there
                is a stop token. The pieces do not repeat the prompt.

        Raises:
            ValueError: As in `generate`; the model has no preprocessor; or its sampler weighs whole texts (beam and
                contrastive search), so that nothing is final before the end.

        Example:

        >>> from keras_adaptive_rnn import hub
        >>> tokenizer = hub.VocabularyTokenizer.from_text("to be or not to be")
        >>> backbone = hub.RecurrentBackbone(tokenizer.vocabulary_size(), 8, [keras_adaptive_rnn.LSTMCell(8)])
        >>> lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=10))
        >>> len("".join(lm.stream("to be")))
        5
        """
