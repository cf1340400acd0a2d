"""The recurrent network of a language model or classifier, from token ids to hidden states."""

from collections.abc import Callable
from typing import Any, Self

import keras
import keras_hub

from keras_adaptive_rnn._saving import Saved
from keras_adaptive_rnn._types import Initializer, Tensor
from keras_adaptive_rnn.hub.presets import ReadsItsOwnFiles

class RecurrentBackbone(ReadsItsOwnFiles, keras_hub.models.Backbone):
    """Embeds tokens and reads them with a stack of recurrent cells.

    $$x^0_t = E_{w_t}, \\qquad x^l_t = \\mathrm{RNN}_l(x^{l-1})_t, \\qquad \\text{output}_t = x^L_t$$

    Padding changes no state, so that neither its side nor its length changes what is read.

    Args:
        vocabulary_size: Positive integer, number of tokens.
        embedding_dim: Positive integer, size of the embedding of a token.
        cells: List of recurrent cells, one a layer, the lowest first: of this package, of Keras, or of the user.
        tie_weights: Whether a language model computes its logits with the matrix of the embedding, $x^L_t E^\\top +
            b$. Defaults to `True`; otherwise, a layer of its own computes them.
        embedding_dropout: Number in [0, 1), the rate at which units of the embedding are dropped, the same ones in
            all steps of a sequence. Defaults to `0.0`.
        output_dropout: Number in [0, 1), the same for the outputs of the last cell. Defaults to `0.0`. Between the
            layers, cells have a `dropout` of their own.
        logit_soft_cap: Positive number $c$: logits $z$ of a language model become $c \\tanh(z / c)$. Defaults to
            `None`.
        recompute: Whether to store only every sixteenth state for the gradient and to recompute the steps in
            between. This saves memory for long sequences and takes about a third more arithmetic. The results are
            the same. Defaults to `False`.
        schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells above
            the lowest are alike) run: `"steps"` runs all layers at one step before the next step; `"layers"` runs
            one layer over all steps before the next layer; `"wavefront"` runs layer $l$ at step $s - l$ for all $l$
            at once; `"auto"` (default) picks the one measured to be fastest. The results are the same.
        word_dropout: Number in [0, 1), the rate at which words are dropped, as in
            `keras_adaptive_rnn.layers.TiedEmbedding`. Defaults to `0.0`.
        activation_regularization, temporal_regularization: Non-negative numbers, $\\alpha$ and $\\beta$ of
            `keras_adaptive_rnn.layers.ActivationRegularization` on the outputs of the last cell. Default to `0.0`;
            in AWD-LSTM they are 2 and 1.
        embeddings_initializer: Initializer of the embedding. `None` (default) means a normal distribution of
            standard deviation 0.5: from the small numbers that Keras starts with, tied weights hardly learn to read
            characters in the first thousand steps. AWD-LSTM has `keras.initializers.RandomUniform(-0.1, 0.1)`.
        bidirectional: Whether every layer reads in both directions, in a `keras.layers.Bidirectional`. This is for
            classifiers; a language model must not read ahead. Defaults to `False`.
        dtype: Dtype policy of all layers and cells, as a string or a `keras.DTypePolicy`. `None` (default) means
            that of each cell, and Keras's global policy for all else.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Dict of `"token_ids"`, integers `[batch, time]`, and `"padding_mask"`, booleans or integers
            `[batch, time]`, true where there is a token.

    Returns: Hidden states `[batch, time, size]`, `size` being the output size of the last cell, doubled if
        `bidirectional`. At padding they repeat the last hidden state.

    Raises:
        ValueError: An argument is out of range, or `cells` holds something else than cells, or a cell twice.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> cells = [keras_adaptive_rnn.MogrifierCell(8) for _ in range(2)]
    >>> backbone = hub.RecurrentBackbone(100, 8, cells)
    >>> tokens = {"token_ids": np.ones((2, 5), "int32"), "padding_mask": np.ones((2, 5), "int32")}
    >>> tuple(backbone(tokens).shape)
    (2, 5, 8)

    Reference: Press and Wolf, Using the Output Embedding to Improve Language Models (2017), for `tie_weights`; Gal and
        Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks (2016), for the
        dropouts.
    """

    token_embedding: Any
    embedding_dropped: Any
    output_dropped: Any
    regularization: Any
    recurrent_layers: Any
    vocabulary_size: int
    embedding_dim: int
    cells: list
    tie_weights: bool
    embedding_dropout: float
    output_dropout: float
    logit_soft_cap: float | None
    recompute: bool
    schedule: str
    word_dropout: float
    activation_regularization: float
    temporal_regularization: float
    embeddings_initializer: Any
    bidirectional: bool

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
        bidirectional: bool = False,
        dtype: Any = None,
        name: str | None = None,
        trainable: bool = True,
    ) -> None: ...
    def hidden_states(self, token_ids: Tensor, run: Callable) -> Tensor:
        """Returns the hidden states `[batch, time, size]` of tokens `[batch, time]`.

        Args:
            token_ids: Integers `[batch, time]`.
            run: Function of a recurrent layer and its input that returns its output.
        """

    def get_initial_states(self, batch_size: int) -> list[list[Tensor]]:
        """Returns the states before the first token, a list for each layer of its cell's states `[batch, size]`."""

    def read(self, token_ids: Tensor, states: list, mask: Tensor | None = None) -> tuple[Tensor, list]:
        """Reads tokens from given states, in inference.

        Args:
            token_ids: Integers `[batch, time]`.
            states: States before the first token, as `get_initial_states` returns them.
            mask: Booleans `[batch, time]`: `False` marks padding, which changes no state. Defaults to `None`.

        Returns: `hidden, states`: the hidden states `[batch, time, size]`, and the states after the last token, in the
            structure and dtypes of `states`.
        """

    def step(self, token_ids: Tensor, states: list) -> tuple[Tensor, list]:
        """Reads one token of each row, in inference.

        Args:
            token_ids: Integers `[batch]`.
            states: States before the token, as `get_initial_states` returns them.

        Returns: `hidden, states`: the hidden states `[batch, size]`, and the states after the token.
        """

    def enable_lora(self, rank: int, target_layer_names: list[str] | None = None) -> None:
        """Raises: the matrices of recurrent cells have no low-rank adapters. Train all weights, or freeze some layers.

        KerasHub's own method would freeze every weight, find no layer of attention, and train nothing.
        """

    def get_config(self) -> dict[str, Any]: ...
    @classmethod
    def from_config(cls, config: Any) -> Self: ...

class LockedDropout(Saved, keras.layers.SpatialDropout1D):
    """Drops the same units in all steps. Unlike in Keras's layer, the masks of a resumed training go on."""

    is_time_distributed: bool

class Unmasked(keras.layers.Layer):
    """Forgets the mask: the head of a model must not read it as a mask of the loss, which has one of its own."""

    is_time_distributed: bool
    supports_masking: bool

    def __init__(self, *, name: str | None = None, dtype: Any = None, trainable: bool = True) -> None: ...
    def call(self, inputs: Any) -> Any: ...
    def compute_mask(self, inputs: Any, mask: Any = None) -> None: ...
