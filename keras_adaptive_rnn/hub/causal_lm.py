"""A recurrent language model that trains on texts and writes them."""

import os
import pathlib
from collections.abc import Iterator
from typing import Any

import keras
import keras_hub
from keras import ops

from keras_adaptive_rnn import _arguments, engine, evaluation
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._freezing import freeze_parts
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.hub import generation, presets, streams
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.preprocessor import RecurrentCausalLMPreprocessor
from keras_adaptive_rnn.layers import RNN, MixtureOfSoftmaxes


@export
class RecurrentCausalLM(presets.HeadInPreset, keras_hub.models.CausalLM):
    r"""A recurrent language model, which learns to predict the next token, and writes.

    $$p(w_{t+1} \mid w_1, \ldots, w_t) = \mathrm{softmax}(h_t E^\top + b)$$

    $h_t$ is the output of the backbone and $E$ its embedding. If $h_t$ is larger than an embedding, a down-projection
    $P$, which starts out orthogonal, comes first: $h_t P E^\top + b$. Without tied weights, a `keras.layers.Dense`
    computes the logits.

    It trains on separate texts with `fit`, and on one long text, whose states are carried from segment to segment, with
    `fit_streams`. `generate` writes with any sampler of KerasHub but the speculative one. The model keeps its memory in
    the states of its cells, so that a token costs the same after ten thousand tokens as after one, and `read` takes in
    a text of any length.

    `save_to_preset` writes a folder that `keras_hub.models.CausalLM.from_preset` loads on every backend, provided that
    `keras_adaptive_rnn.hub` has been imported.

    Args:
        backbone: A `keras_adaptive_rnn.hub.RecurrentBackbone`.
        preprocessor: A `keras_adaptive_rnn.hub.RecurrentCausalLMPreprocessor`, or `None` (default): the model then
            reads and writes token ids.
        experts: Positive integer, number of softmaxes that `keras_adaptive_rnn.layers.MixtureOfSoftmaxes` mixes.
            Defaults to `1`: one softmax.
        expert_dropout: Number in [0, 1), its dropout. Defaults to `0.0`.
        name, trainable: As in `keras.Model`.

    Call arguments:
        inputs: Dict of `"token_ids"` and `"padding_mask"`, as in `keras_adaptive_rnn.hub.RecurrentBackbone`.

    Returns: Logits `[batch, time, vocabulary_size]`.

    Raises:
        ValueError: The backbone is bidirectional, or has fewer tokens than the tokenizer; with tied weights and one
            softmax, the last cell's output is smaller than the embedding.

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
        (2018); the down-projection: Melis et al., On the State of the Art of Evaluation in Neural Language Models
        (2018), where `input_embedding_ratio` is `embedding_dim` over the size of the output.
    """

    backbone_cls = RecurrentBackbone
    preprocessor_cls = RecurrentCausalLMPreprocessor

    def __init__(
        self, backbone: Any, preprocessor: Any = None, experts: int = 1, expert_dropout: float = 0.0, **kwargs
    ):
        if not isinstance(backbone, RecurrentBackbone):
            raise TypeError(f"Argument `backbone` must be a RecurrentBackbone. Received: backbone={backbone!r}")
        if backbone.bidirectional:
            raise ValueError(
                "Argument `backbone` must not be bidirectional, as a language model must not read the token that it "
                f"predicts. Received: {backbone.name}"
            )
        _check_vocabulary(backbone, preprocessor)
        experts = _arguments.integer("experts", experts)
        expert_dropout = _arguments.rate("expert_dropout", expert_dropout)
        size, embedding, policy = backbone.output.shape[-1], backbone.token_embedding, backbone.dtype_policy
        self._is_tied = experts == 1 and backbone.tie_weights
        if self._is_tied and size < embedding.units:
            raise ValueError(
                "Argument `backbone` must have an `embedding_dim` of at most the output size of its last cell with "
                "`tie_weights=True`: give that cell as many `units` (or `projection_units`, if it has them), or set "
                f"`tie_weights=False`. Received: embedding_dim={embedding.units}, and a last cell of size {size}"
            )
        self.backbone, self.preprocessor = backbone, preprocessor
        self.head = None
        if experts > 1:
            matrix = embedding if backbone.tie_weights else backbone.vocabulary_size
            self.head = MixtureOfSoftmaxes(experts, matrix, expert_dropout, dtype=policy, name="head")
        elif not backbone.tie_weights:
            self.head = keras.layers.Dense(backbone.vocabulary_size, dtype=policy, name="head")
        elif size > embedding.units:
            self.head = keras.layers.Dense(
                embedding.units, use_bias=False, kernel_initializer="orthogonal", dtype=policy, name="head"
            )
        outputs = self.logits(backbone(backbone.input))
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)
        freeze_parts(self)
        self.experts, self.expert_dropout = experts, expert_dropout
        # Each is compiled once a shape, outside of what `fit` and `generate` compile.
        self.step_compiled = engine.compiled(self._step, self, is_traceable=False)
        self.read_compiled = engine.compiled(self._read, self, is_traceable=False)

    def logits(self, hidden: Tensor) -> Tensor:
        """Returns the logits `[batch, time, vocabulary_size]` of hidden states `[batch, time, size]`."""
        head, cap = self.head, self.backbone.logit_soft_cap
        logits = hidden if head is None else head(hidden)
        if self._is_tied:
            projected = hidden if head is None else self.backbone.output_dropped(logits)
            logits = self.backbone.token_embedding(projected, reverse=True)
        return logits if cap is None else cap * ops.tanh(logits / cap)

    @classmethod
    def from_preset(cls, preset: str | os.PathLike, load_weights: bool = True, **kwargs) -> Any:
        """Loads a language model.

        This package contains `"lstm_python_reference"`, `"mogrifier_python_reference"`,
        `"low_rank_gru_python_reference"` and `"adaptive_linear_python_reference"`, each of two layers, trained on the
        characters of Python's language reference.

        Args:
            preset: One of these names; the folder that `save_to_preset` has written; or a handle on Hugging Face
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
        lm = super().from_preset(preset, load_weights, **kwargs)
        _check_vocabulary(lm.backbone, lm.preprocessor)
        return lm

    def get_config(self):
        config = {**super().get_config(), "experts": self.experts, "expert_dropout": self.expert_dropout}
        mode = getattr(self.head, "quantization_mode", None)
        return {**config, "quantized_head": mode} if mode else config

    @classmethod
    def from_config(cls, config):
        mode = config.get("quantized_head")
        lm = super().from_config({name: value for name, value in config.items() if name != "quantized_head"})
        if mode:
            lm.head.quantize(mode)
        return lm

    def compile(
        self,
        optimizer: Any = "auto",
        loss: Any = "auto",
        *,
        weighted_metrics: Any = "auto",
        sampler: Any = "top_k",
        **kwargs,
    ) -> None:
        """Configures training and generation, as `keras.Model.compile` does.

        Args:
            optimizer: `"auto"` (default) means `Adam(2e-3, global_clipnorm=1.0)`.
            loss: `"auto"` (default) means the cross-entropy of the next token.
            weighted_metrics: `"auto"` (default) means the perplexity.
            sampler: Name of a sampler of KerasHub (`"greedy"`, `"top_k"`, `"top_p"`, `"random"`, `"beam"` or
                `"contrastive"`), or a `keras_hub.samplers.Sampler` that is not speculative. Defaults to `"top_k"`.
            **kwargs: As in `keras.Model.compile`.

        Raises:
            ValueError: `sampler` is speculative, which needs a cache that forgets, or returns all beams.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.Adam(2e-3, global_clipnorm=1.0)
        if weighted_metrics == "auto":
            weighted_metrics = [evaluation.Perplexity()]
        generation.check_sampler(sampler)
        super().compile(optimizer, loss, weighted_metrics=weighted_metrics, sampler=sampler, **kwargs)

    # Reading.

    def get_initial_cache(self, batch_size: int) -> list[list[Tensor]]:
        """Returns the states before the first token, as `keras_adaptive_rnn.hub.RecurrentBackbone` does."""
        return self.backbone.get_initial_states(batch_size)

    def call_with_cache(self, token_ids: Tensor, cache: list, compute_head: bool = True) -> tuple:
        """Reads one token of each row, in inference.

        Args:
            token_ids: Integers `[batch, 1]`.
            cache: The states before it.
            compute_head: Whether to compute logits. Defaults to `True`.

        Returns: `logits, hidden, cache`: `[batch, 1, vocabulary_size]` or `None`, `[batch, 1, size]`, and the states
            after the token, in the structure, shapes and dtypes of `cache`.
        """
        hidden, cache = self.backbone.step(ops.squeeze(token_ids, 1), cache)
        hidden = ops.expand_dims(hidden, 1)
        return self.logits(hidden) if compute_head else None, hidden, cache

    def read(self, inputs: Any, states: dict | None = None) -> dict:
        """Reads texts of any length, and returns the states from which `generate` and `read` go on.

        A text is read in pieces, so memory does not grow with its length.

        Args:
            inputs: A string or a list of strings; or token ids, a list of lists or a dict of `"token_ids"` and
                `"padding_mask"`. An empty text needs `states`.
            states: The result of an earlier call for texts that these ones continue. Defaults to `None`.

        Returns: A dict of `"cache"`, the states before the last token, a list of lists of tensors `[batch, size]`, and
            `"token_ids"`, the last tokens, `[batch, 1]`.

        Raises:
            ValueError: A text is empty, and there are no `states`; or the batch sizes differ.

        Example:

        >>> from keras_adaptive_rnn import hub
        >>> lm = hub.RecurrentCausalLM.from_preset("mogrifier_python_reference")
        >>> states = lm.read(" statement", states=lm.read("The import"))
        >>> text, states = lm.generate("", max_length=5, states=states, return_states=True)
        """
        prompts = generation.prompts_of(self, inputs, states)
        return generation.read_rows(self, prompts.rows, prompts.cache)

    def _step(self, token_ids, cache):
        logits, _, cache = self.call_with_cache(ops.expand_dims(token_ids, 1), cache)
        return ops.squeeze(logits, 1), cache

    def _read(self, token_ids, mask, cache):
        return self.backbone.read(token_ids, cache, mask)[1]

    # Training on one long text.

    def streaming_model(self, batch_size: int) -> keras.Model:
        """Returns a plain `keras.Model` with the same weights, which carries states from batch to batch.

        It is the model that `fit_streams` trains, for training loops of your own.

        Args:
            batch_size: Positive integer, number of texts that are read in parallel.

        Returns: A functional model from token ids `[batch_size, time]` to logits, with stateful recurrent layers.
        """

        def run(layer, x, **resets):
            # The same cell in a layer of its own, which has states of its own.
            options = {name: getattr(layer, name) for name in ("name", "recompute", "graphs", "schedule")}
            policy = layer.dtype_policy
            return RNN(layer.cell, return_sequences=True, stateful=True, dtype=policy, **options)(x, **resets)

        token_ids = keras.Input((None,), batch_size=batch_size, dtype="int32", name="token_ids")
        logits = self.logits(self.backbone.hidden_states(token_ids, run))
        return keras.Model(token_ids, logits, name=f"{self.name}_streaming")

    def fit_streams(
        self,
        text: Any,
        batch_size: int = 32,
        steps: int = 64,
        epochs: int = 1,
        validation: Any = None,
        callbacks: list | None = None,
        **kwargs,
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
            validation: The same as `text`, to be evaluated after every epoch. Defaults to `None`.
            callbacks: List of callbacks, whose `model` is a `streaming_model`. A
                `keras_adaptive_rnn.callbacks.StreamStates` among them replaces the default one, which scales the
                learning rate by the lengths of a `TokenStream`. Defaults to `None`.
            epochs, **kwargs: As in `keras.Model.fit`.

        Returns: A `keras.callbacks.History` with the loss, the perplexity and, for characters, bits per character.

        Raises:
            ValueError: The text is shorter than one batch, not of integers, or has tokens outside of the vocabulary.
        """
        return streams.fit_streams(self, text, batch_size, steps, epochs, validation, callbacks, **kwargs)

    def evaluate_streams(self, text: Any, batch_size: int = 1, steps: int = 256, **kwargs) -> evaluation.Evaluation:
        """Returns the perplexity on one long text, whose states are carried along.

        It is `keras_adaptive_rnn.evaluation.evaluate` of `streaming_model`, and counts every token but the first.

        Args:
            text: A string, or token ids, an integer array `[tokens]`.
            batch_size: Positive integer, number of parts that are read in parallel. Defaults to `1`.
            steps: Positive integer, tokens of a segment. Defaults to `256`.
            **kwargs: As in `keras_adaptive_rnn.evaluation.evaluate`, such as `samples` and `temperature`.

        Returns: A `keras_adaptive_rnn.evaluation.Evaluation`.

        Raises:
            ValueError: As in `keras_adaptive_rnn.evaluation.evaluate`.
        """
        ids = streams.ids_of(self, text, "text")
        return evaluation.evaluate(self.streaming_model(batch_size), ids, batch_size, steps, **kwargs)

    # Presets.

    def save_to_preset(
        self, preset_dir: str | os.PathLike, max_shard_size: float | None = 10, *, card: dict | None = None
    ) -> None:
        """Writes a folder that `from_preset` loads, with a model card in `README.md`.

        Args:
            preset_dir: Path of the folder.
            max_shard_size: As in `keras_hub.models.Task.save_to_preset`.
            card: Dict of further lines of the model card: `"data"`, `"license"`, `"perplexity"` and `"training"`, each
                a string or a number. Defaults to `None`: no such lines.

        Raises:
            ValueError: `card` has other keys.
        """
        presets.check_card(card)
        super().save_to_preset(str(preset_dir), max_shard_size)
        (pathlib.Path(preset_dir) / "README.md").write_text(presets.model_card(self, card or {}), encoding="utf-8")

    # Writing.

    @engine.without_autograph
    def generate_step(self, inputs, stop_token_ids=None):
        return generation.generate_step(self, inputs, stop_token_ids)

    def make_generate_function(self):
        """Returns the function that writes for a batch; it is compiled once for each bucket of prompt lengths."""
        with generation.MAKING:
            if self.generate_function is None:
                made = None
                try:
                    made = generation.by_bucket(self, super().make_generate_function())
                finally:
                    # KerasHub's method assigns what it makes before it is complete.
                    self.generate_function = made
            return self.generate_function

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
            strip_prompt: Whether to return only the new tokens. Defaults to `False`.
            states: The states that `read`, or an earlier `generate`, has returned for the texts that the prompts
                continue: nothing is read twice. Defaults to `None`.
            return_states: Whether to return `outputs, states`. Defaults to `False`.

        Returns: A string, or a list of strings; for token ids, a dict of arrays `"token_ids"` and `"padding_mask"`.

        Raises:
            ValueError: A prompt is empty, or as long as `max_length`; there is no length to write to; or the batch
                sizes of prompts and `states` differ.
        """
        generate = self.make_generate_function()
        prompts = generation.prompts_of(self, inputs, states)
        max_length = generation.length_to_write_to(self, prompts, max_length)
        stop_token_ids = generation.stop_tokens(self, stop_token_ids)
        batch = generation.padded(prompts.rows, max_length, stop_token_ids)
        if prompts.cache is not None:
            batch["cache"] = prompts.cache
        generated = generate(batch, stop_token_ids=stop_token_ids)
        rows = [row[mask].tolist() for row, mask in zip(generated["token_ids"], generated["padding_mask"], strict=True)]
        starts = [len(row) if strip_prompt else prompts.before for row in prompts.rows]
        outputs = generation.as_given(self, prompts, rows, starts, stop_token_ids)
        return (outputs, generation.read_rows(self, rows, prompts.cache)) if return_states else outputs

    def stream(
        self,
        prompt: str,
        max_length: float | None = None,
        stop_token_ids: Any = "auto",
        states: dict | None = None,
    ) -> Iterator[str]:
        """Yields the text after one prompt piece by piece, as it is written.

        The sampler must choose one token after another: beam and contrastive search may change earlier ones.

        Args:
            prompt, max_length, stop_token_ids, states: As in `generate`; `max_length=float("inf")` goes on until there
                is a stop token. The pieces do not repeat the prompt.

        Raises:
            ValueError: As in `generate`; the model has no preprocessor; or its sampler weighs whole texts (beam and
                contrastive search), so that nothing is final before the end.

        Example:

        >>> from keras_adaptive_rnn import hub
        >>> lm = hub.RecurrentCausalLM.from_preset("mogrifier_python_reference")
        >>> len("".join(lm.stream("The import", max_length=15)))
        5
        """
        return generation.stream(self, prompt, max_length, stop_token_ids, states)


def _check_vocabulary(backbone, preprocessor):
    tokenizer: Any = getattr(preprocessor, "tokenizer", None)
    # A tokenizer of a preset gets its vocabulary later.
    known = getattr(tokenizer, "vocabulary", None) is not None
    if known and tokenizer.vocabulary_size() > backbone.vocabulary_size:
        raise ValueError(
            f"Argument `backbone` must have at least as many tokens as the tokenizer, "
            f"{tokenizer.vocabulary_size()}. Received: a backbone with vocabulary_size={backbone.vocabulary_size}"
        )
