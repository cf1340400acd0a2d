"""The full matrix, and the full matrix with DropConnect."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.base import LinearMap

class Full(LinearMap):
    """A full matrix: $y = x W$.

    Weights: `kernel`, `[inputs, blocks * units]`, with the blocks concatenated as in Keras's cells, and with
    `weight_normalization` also `gain`, `[blocks * units]`.

    Args:
        units: Positive integer, size of one output block; `None` leaves it to the cell. Defaults to `None`.
        blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
        initializer: Initializer of the weights, as in `keras.initializers.get`. Defaults to `None`: the initializer
            of the cell, or `"glorot_uniform"` without a cell.
        regularizer: Regularizer of the weights. Defaults to `None`: the regularizer of the cell.
        constraint: Constraint of the weights. Defaults to `None`: the constraint of the cell. It applies to each
            matrix of the equations, `[inputs, outputs]`, even if several are stored as one weight.
        weight_normalization: Whether each column of a matrix is $g\\, v / \\lVert v \\rVert$ with learned $g$ and $v$;
            $g$ is initialized to $\\lVert v \\rVert$. Defaults to `False`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., blocks * units]`.

    Example:

    >>> y = keras_adaptive_rnn.maps.Full(4)(np.ones((2, 3)))
    >>> tuple(y.shape)
    (2, 4)
    """

    initializer: Any
    kernel: Any
    gain: Any

    def __init__(
        self,
        units: int | None = None,
        blocks: int | tuple[int, ...] = 1,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        constraint: Constraint = None,
        weight_normalization: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def effective_kernel(self, training: bool | None) -> Any: ...
    def prepare(self, training: bool | None) -> Any: ...
    def narrow(self, prepared: Any, inputs: Any, units: Any) -> Any: ...
    def prepare_blocks(self, training: bool | None) -> Any: ...

class DropConnect(Full):
    """A full matrix with some of its entries dropped during training: $y = x (W \\odot M)$.

    $M_{ij}$ is $0$ with probability `rate` and $1 / (1 - \\text{rate})$ otherwise. One $M$ is drawn for each batch and
    holds for the whole sequence. Inference uses $W$ itself.

    Weights: as in `keras_adaptive_rnn.maps.Full`.

    Args:
        rate: Float in `[0, 1)`, fraction of the entries to drop. Defaults to `0.5`.
        variational: Whether to drop whole columns, that is outputs of the map, instead of single entries. Defaults
            to `False`. (With this option, the authors' code also drops in inference; this class does not.)
        seed: Integer seed of the masks, or `None` (default).
        units: Positive integer, size of one output block; `None` leaves it to the cell. Defaults to `None`.
        blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
        initializer: Initializer of the weights, as in `keras.initializers.get`. Defaults to `None`: the initializer
            of the cell, or `"glorot_uniform"` without a cell.
        regularizer: Regularizer of the weights. Defaults to `None`: the regularizer of the cell.
        constraint: Constraint of the weights. Defaults to `None`: the constraint of the cell. It applies to each
            matrix of the equations, `[inputs, outputs]`, even if several are stored as one weight.
        weight_normalization: Whether each column of a matrix is $g\\, v / \\lVert v \\rVert$ with learned $g$ and $v$;
            $g$ is initialized to $\\lVert v \\rVert$. Defaults to `False`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., blocks * units]`.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(8, recurrent_map=keras_adaptive_rnn.maps.DropConnect(0.3))
    >>> keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape[-1]
    8

    Reference: Wan et al., Regularization of Neural Networks using DropConnect (2013); on the recurrent matrix of an
    LSTM: Merity, Keskar, Socher, Regularizing and Optimizing LSTM Language Models (2017), section 2.
    """

    noise_rates: Any
    shares_noise: bool
    rate: float
    variational: bool
    seed: int | None
    seed_generator: Any
    units: int | None
    blocks: Any
    initializer: Any
    regularizer: Any
    constraint: Any
    weight_normalization: bool

    def __init__(
        self,
        rate: float = 0.5,
        variational: bool = False,
        seed: int | None = None,
        *,
        units: int | None = None,
        blocks: int | tuple[int, ...] = 1,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        constraint: Constraint = None,
        weight_normalization: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def draw_noise(self) -> Any: ...
    def effective_kernel(self, training: bool | None) -> Any: ...
