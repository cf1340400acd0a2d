"""The recurrent network of a language model or classifier, from token ids to hidden states."""

import inspect
from collections.abc import Callable
from typing import Any

import keras
import keras_hub
from keras import ops

from keras_adaptive_rnn import _arguments, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._freezing import freeze_parts, trainable_parts
from keras_adaptive_rnn._saving import SavesExtraState, restored
from keras_adaptive_rnn._types import Initializer, Tensor
from keras_adaptive_rnn.cells.bases.any_cell import as_list
from keras_adaptive_rnn.files import save_whole
from keras_adaptive_rnn.hub.presets import ReadsItsOwnFiles
from keras_adaptive_rnn.layers import RNN, ActivationRegularization, TiedEmbedding
from keras_adaptive_rnn.loop import schedules


@export
class RecurrentBackbone(ReadsItsOwnFiles, keras_hub.models.Backbone):
    r"""Embeds tokens and reads them with a stack of recurrent cells.

    $$x^0_t = E_{w_t}, \qquad x^l_t = \mathrm{RNN}_l(x^{l-1})_t, \qquad \text{output}_t = x^L_t$$

    Padding changes no state: neither its side nor its length matters.

    Args:
        vocabulary_size: Positive integer, number of tokens.
        embedding_dim: Positive integer, size of the embedding of a token.
        cells: List of recurrent cells, one a layer, the lowest first: of this package, of Keras, or of the user.
        tie_weights: Whether a language model computes its logits with the matrix of the embedding, as in
            `keras_adaptive_rnn.hub.RecurrentCausalLM`, and not with a layer of its own. Defaults to `True`.
        embedding_dropout: Number in [0, 1), the rate at which units of the embedding are dropped, the same ones in all
            steps of a sequence. Defaults to `0.0`.
        output_dropout: Number in [0, 1), the same for the outputs of the last cell, and again, with a mask of its own,
            for their down-projection if there is one, as in the code of Melis et al. Defaults to `0.0`. Between the
            layers, cells have a `dropout` of their own.
        logit_soft_cap: Positive number $c$: logits $z$ of a language model become $c \tanh(z / c)$. Defaults to `None`.
        recompute, schedule: As in `keras_adaptive_rnn.layers.RNN`.
        word_dropout: Number in [0, 1), as in `keras_adaptive_rnn.layers.TiedEmbedding`. Defaults to `0.0`.
        activation_regularization, temporal_regularization: Non-negative numbers, $\alpha$ and $\beta$ of
            `keras_adaptive_rnn.layers.ActivationRegularization` on the outputs of the last cell. Default to `0.0`; in
            AWD-LSTM they are 2 and 1.
        embeddings_initializer: Initializer of the embedding. `None` (default) means a normal distribution of standard
            deviation 0.5: from the small numbers that Keras starts with, tied weights hardly learn to read characters
            in the first thousand steps. AWD-LSTM has `keras.initializers.RandomUniform(-0.1, 0.1)`.
        reset_token_id: Id of the token with which documents begin in a text of many, or `None` (default): before each
            such token, all layers start again from their initial states. Not with `bidirectional`.
        bidirectional: Whether every layer reads in both directions, in a `keras.layers.Bidirectional`. This is for
            classifiers; a language model must not read ahead. Defaults to `False`.
        dtype: Dtype policy of all layers and cells, as a string or a `keras.DTypePolicy`. `None` (default) means that
            of each cell, and Keras's global policy for all else.
        name, trainable: As in `keras.Model`.

    Call arguments:
        inputs: Dict of `"token_ids"`, integers `[batch, time]`, and `"padding_mask"`, booleans or integers
            `[batch, time]`, true where there is a token.

    Returns: Hidden states `[batch, time, size]`, `size` being the output size of the last cell, doubled if
        `bidirectional`. At padding they repeat the last hidden state.

    Raises:
        ValueError: An argument is out of range, or `cells` holds something else than cells, or a cell twice.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> backbone = hub.RecurrentBackbone(100, 8, [keras_adaptive_rnn.MogrifierCell(8) for _ in range(2)])
    >>> tokens = {"token_ids": np.ones((2, 5), "int32"), "padding_mask": np.ones((2, 5), "int32")}
    >>> tuple(backbone(tokens).shape)
    (2, 5, 8)

    Reference: Press and Wolf, Using the Output Embedding to Improve Language Models (2017), for `tie_weights`; Gal and
        Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks (2016), for the
        dropouts.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_dim: int,
        cells: list,
        tie_weights: bool = True,
        embedding_dropout: float = 0.0,
        output_dropout: float = 0.0,
        logit_soft_cap: float | None = None,
        recompute: bool = False,
        schedule: str = "auto",
        *,
        word_dropout: float = 0.0,
        activation_regularization: float = 0.0,
        temporal_regularization: float = 0.0,
        embeddings_initializer: Initializer = None,
        reset_token_id: int | None = None,
        bidirectional: bool = False,
        dtype: Any = None,
        **kwargs,
    ):
        self.vocabulary_size = _arguments.integer("vocabulary_size", vocabulary_size)
        self.embedding_dim = _arguments.integer("embedding_dim", embedding_dim)
        self.tie_weights = _arguments.boolean("tie_weights", tie_weights)
        self.logit_soft_cap = _arguments.number("logit_soft_cap", logit_soft_cap, positive=True, optional=True)
        self.recompute = _arguments.boolean("recompute", recompute)
        self.schedule = _arguments.choice("schedule", schedule, schedules.SCHEDULES)
        self.bidirectional = _arguments.boolean("bidirectional", bidirectional)
        self.embedding_dropout = _arguments.rate("embedding_dropout", embedding_dropout)
        self.output_dropout = _arguments.rate("output_dropout", output_dropout)
        self.word_dropout = _arguments.rate("word_dropout", word_dropout)
        alpha = _arguments.number("activation_regularization", activation_regularization, minimum=0)
        beta = _arguments.number("temporal_regularization", temporal_regularization, minimum=0)
        self.activation_regularization, self.temporal_regularization = alpha, beta
        self.reset_token_id = _arguments.integer("reset_token_id", reset_token_id, minimum=0, optional=True)
        if reset_token_id is not None and (bidirectional or reset_token_id >= vocabulary_size):
            raise ValueError(
                f"Argument `reset_token_id` must be None, or below vocabulary_size={vocabulary_size} and without "
                f"`bidirectional`. Received: reset_token_id={reset_token_id}, bidirectional={bidirectional}"
            )
        cells = _checked_cells(cells, dtype)
        initializer = keras.initializers.RandomNormal(stddev=0.5)
        if embeddings_initializer is not None:
            initializer = _arguments.resolve("embeddings_initializer", embeddings_initializer, initializers.get)
        self.embeddings_initializer = initializer

        self.token_embedding = TiedEmbedding(
            self.vocabulary_size,
            self.embedding_dim,
            self.word_dropout,
            # Without tied weights, the layer that computes the logits has the bias.
            use_bias=tie_weights,
            embeddings_initializer=initializer,
            dtype=dtype,
            name="token_embedding",
        )
        # Made even for a rate of zero, so that the order of the variables does not depend on the rates.
        self.embedding_dropped = LockedDropout(self.embedding_dropout, dtype=dtype, name="embedding_dropped")
        self.output_dropped = LockedDropout(self.output_dropout, dtype=dtype, name="output_dropped")
        self.regularization = None
        if alpha or beta:
            self.regularization = ActivationRegularization(alpha, beta, dtype=dtype, name="regularization")
        options = {"return_sequences": True, "recompute": recompute, "schedule": schedule, "dtype": dtype}
        layers = [
            RNN(cell, **options, return_state=not bidirectional, name=f"recurrent_{k}") for k, cell in enumerate(cells)
        ]
        if bidirectional:
            layers = [
                keras.layers.Bidirectional(layer, dtype=dtype, name=f"bidirectional_{k}")
                for k, layer in enumerate(layers)
            ]
        self.recurrent_layers = layers

        token_ids = keras.Input((None,), dtype="int32", name="token_ids")
        padding_mask = keras.Input((None,), dtype="int32", name="padding_mask")
        mask = ops.cast(padding_mask, "bool")

        def run(layer, x, **resets):
            x = layer(x, mask=mask, **resets)
            return x if bidirectional else x[0]

        x = DropMask(dtype=dtype, name="unmasked")(self.hidden_states(token_ids, run))
        inputs = {"token_ids": token_ids, "padding_mask": padding_mask}
        super().__init__(inputs=inputs, outputs=x, dtype=dtype, **kwargs)
        # Keras sets `trainable` before it knows the layers.
        freeze_parts(self)

    def hidden_states(self, token_ids: Tensor, run: Callable) -> Tensor:
        """Returns the hidden states `[batch, time, size]` of tokens `[batch, time]`.

        Args:
            token_ids: Integers `[batch, time]`.
            run: Function of a recurrent layer, its input and, if there is a `reset_token_id`, of `resets=`, booleans
                `[batch, time]`, that returns the output of the layer.
        """
        resets = self._resets(token_ids)
        x = self.embedding_dropped(self.token_embedding(token_ids))
        for layer in self.recurrent_layers:
            x = run(layer, x, **resets)
        dropped = self.output_dropped(x)
        return dropped if self.regularization is None else self.regularization(dropped, x)

    def get_initial_states(self, batch_size: int) -> list[list[Tensor]]:
        """Returns the states before the first token, a list for each layer of its cell's states `[batch, size]`."""
        self._check_reads_forwards()
        return [as_list(layer.get_initial_state(batch_size)) for layer in self.recurrent_layers]

    def read(self, token_ids: Tensor, states: list, mask: Tensor | None = None) -> tuple[Tensor, list]:
        """Reads tokens from given states, in inference.

        Args:
            token_ids: Integers `[batch, time]`.
            states: States before the first token, as `get_initial_states` returns them.
            mask: Booleans `[batch, time]`: `False` marks padding, which changes no state. Defaults to `None`.

        Returns: `hidden, states`: the hidden states `[batch, time, size]`, and the states after the last token, in the
            structure and dtypes of `states`.
        """
        self._check_reads_forwards()
        before, after = iter(states), []

        def run(layer, x, **resets):
            first = next(before)
            x, *last = layer(x, initial_state=first, mask=mask, **resets)
            after.append(cast_like(last, first))
            return x

        return self.hidden_states(token_ids, run), after

    def step(self, token_ids: Tensor, states: list) -> tuple[Tensor, list]:
        """Reads one token of each row, in inference.

        Args:
            token_ids: Integers `[batch]`.
            states: States before the token, as `get_initial_states` returns them.

        Returns: `hidden, states`: the hidden states `[batch, size]`, and the states after the token.
        """
        self._check_reads_forwards()
        x, after, resets = self.token_embedding(token_ids), [], self._resets(token_ids)
        for layer, before in zip(self.recurrent_layers, states, strict=True):
            x, last = layer.step(x, before, **resets)
            after.append(cast_like(last, before))
            x = ops.cast(x, layer.compute_dtype)
        return x, after

    def _resets(self, token_ids):
        return {} if self.reset_token_id is None else {"resets": ops.equal(token_ids, self.reset_token_id)}

    def _check_reads_forwards(self):
        if self.bidirectional:
            raise ValueError(
                "A bidirectional backbone has no states to go on from: make it with `bidirectional=False`. "
                f"Received: {self.name}"
            )

    def enable_lora(self, rank: int, target_layer_names: list[str] | None = None) -> None:
        """Raises `NotImplementedError`, as the matrices of recurrent cells have no low-rank adapters.

        KerasHub's own method would freeze every weight, find no layer of attention, and train nothing.
        """
        raise NotImplementedError(
            "Recurrent cells have no LoRA. To train few weights, set `trainable = False` on the other layers of "
            f"`backbone.recurrent_layers`, or on `backbone.token_embedding`. Received: rank={rank!r}"
        )

    def save_weights(self, filepath, *args, **kwargs):
        if args or kwargs or "://" in str(filepath):
            super().save_weights(filepath, *args, **kwargs)
        else:
            save_whole(super().save_weights, filepath)

    def get_config(self):
        # The configs of cells know what is quantized. KerasHub would write a `DTypePolicyMap`; Keras 3.15 strips the
        # policies' names from it, and with them the global one's.
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
        }
        names = [
            name for name in inspect.signature(RecurrentBackbone).parameters if name not in ("cells", "dtype", "kwargs")
        ]
        arguments = {name: _arguments.serialize(getattr(self, name)) for name in names}
        layers = [layer.forward_layer if self.bidirectional else layer for layer in self.recurrent_layers]
        arguments["cells"] = [keras.saving.serialize_keras_object(layer.cell) for layer in layers]
        parts = trainable_parts(self)
        return {**config, **arguments, **({"trainable_parts": parts} if parts else {})}

    @classmethod
    def from_config(cls, config):
        return restored(super().from_config, config)


@keras.saving.register_keras_serializable(package="keras_adaptive_rnn")
class LockedDropout(SavesExtraState, keras.layers.SpatialDropout1D):
    """Drops the same units in all steps. Unlike in Keras's layer, the masks of a resumed training go on."""

    is_time_distributed = True


@keras.saving.register_keras_serializable(package="keras_adaptive_rnn", name="Unmasked")
class DropMask(keras.layers.Layer):
    """Forgets the mask: the head of a model must not read it as a mask of the loss, which has one of its own."""

    is_time_distributed = True

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        # The tensor itself would carry the mask along.
        return ops.copy(inputs)

    def compute_mask(self, inputs, mask=None):
        return None


def _checked_cells(cells, dtype):
    """Returns the cells, or raises if they are none; with a `dtype`, new ones with this policy."""
    fits = isinstance(cells, (list, tuple)) and cells
    _arguments.check(fits, "Argument `cells` must be a list of recurrent cells, one a layer", cells=cells)
    policy = None if dtype is None else keras.dtype_policies.get(dtype)
    # A map of policies names quantized layers, and the configs of cells have these policies already.
    if policy is not None and not isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        cells = [keras.saving.serialize_keras_object(c) if isinstance(c, keras.layers.Layer) else c for c in cells]
        cells = [_with_policy(cell, keras.dtype_policies.serialize(policy)) for cell in cells]
    cells = [keras.saving.deserialize_keras_object(c) if isinstance(c, dict) else c for c in cells]
    for k, cell in enumerate(cells):
        if not callable(cell) or not hasattr(cell, "state_size"):
            raise ValueError(
                f"Argument `cells[{k}]` must be a recurrent cell: callable, with `state_size`. Received: {cell!r}"
            )
    if len({id(cell) for cell in cells}) < len(cells):
        raise ValueError(
            "Argument `cells` must not contain a cell twice, so that each has its own weights; create a new cell for "
            f"every layer. Received: cells={cells!r}"
        )
    return cells


def _with_policy(config, policy):
    """Returns the config of a cell in which it and all layers inside have this policy."""
    if isinstance(config, list):
        return [_with_policy(part, policy) for part in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "DTypePolicy":
        return policy
    inner = {name: _with_policy(value, policy) for name, value in config.items()}
    return {**inner, "dtype": policy} if isinstance(config.get("dtype"), str) else inner


def cast_like(states, model):
    """Returns the flat or nested `states` in the structure and dtypes of `model`."""
    flat = keras.tree.flatten(states)
    cast = [ops.cast(state, like.dtype) for state, like in zip(flat, keras.tree.flatten(model), strict=True)]
    return keras.tree.pack_sequence_as(model, cast)
