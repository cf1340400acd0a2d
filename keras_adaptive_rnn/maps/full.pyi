"""The full matrix, and the full matrix with some of its entries dropped."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.base import LinearMap

class Full(LinearMap):
    """A full matrix: $y = x W$.

    Weights: `kernel`, `[inputs, blocks * units]`, blocks joined as in Keras's own cells; with
        `weight_normalization` also `gain`, `[blocks * units]`.

    Args:
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

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

    def build(self, input_shape: Any) -> None: ...
    def effective_kernel(self, training: bool | None) -> Any: ...
    def prepare(self, training: bool | None) -> Any: ...
    def narrow(self, prepared: Any, inputs: Any, units: Any) -> Any: ...
    def prepare_blocks(self, training: bool | None) -> Any: ...

class DropConnect(Full):
    """A full matrix with some of its entries dropped while training: $y = x (W \\odot M)$.

    $M_{ij} = 0$ with probability `rate` and $1 / (1 - \\text{rate})$ else. One $M$ holds for a whole sequence and
    batch; inference uses $W$ as it is.

    Weights: as of `keras_adaptive_rnn.maps.Full`.

    Args:
        rate: Float in `[0, 1)`. Defaults to `0.5`.
        variational: Whether whole columns are dropped, each an output of the map, in place of single entries. (The
            authors' code, which has this option, goes on dropping in inference; this one does not.) Defaults to
            `False`.
        seed: Integer seed of the masks, or `None` (default).
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(8, recurrent_map=keras_adaptive_rnn.maps.DropConnect(0.3))
    >>> keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape[-1]
    8

    Reference: Wan et al., Regularization of Neural Networks using DropConnect (2013); on the recurrent matrix of an
    LSTM: Merity, Keskar, Socher, Regularizing and Optimizing LSTM Language Models (2017), section 2.
    """

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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
        units: int | None = None,
        blocks: int | tuple[int, ...] = 1,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        constraint: Constraint = None,
        weight_normalization: bool = False,
    ) -> None:
        """A full matrix with some of its entries dropped while training: $y = x (W \\odot M)$.

        Args:
            rate: Float in `[0, 1)`. Defaults to `0.5`.
            variational: Whether whole columns are dropped, each an output of the map, in place of single entries.
                (The authors' code, which has this option, goes on dropping in inference; this one does not.)
                Defaults to `False`.
            seed: Integer seed of the masks, or `None` (default).
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
            units: Positive integer, entries of one output block; `None` leaves it to the cell.
            blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
            initializer: Initializer of the weights, as in `keras.initializers.get`. `None` (default) takes the
                cell's, or `"glorot_uniform"` where there is no cell.
            regularizer: Regularizer of the weights. Defaults to `None`, the cell's.
            constraint: Constraint of the weights. Defaults to `None`, the cell's. It is applied to each matrix as
                it stands in the equations, `[inputs, outputs]`, also where several are stored as one weight.
            weight_normalization: Whether each column of a matrix is $g\\, v / \\lVert v \\rVert$, with $g$ and $v$
                learned; $g$ starts as $\\lVert v \\rVert$. Defaults to `False`.
        """

    def draw_noise(self) -> None: ...
    def effective_kernel(self, training: bool | None) -> Any: ...
