"""Low-rank maps, with and without a diagonal, factors free or tied over the blocks."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.base import LinearMap

class LowRank(LinearMap):
    """A product of two thin matrices, plus a diagonal if asked: $y_g = x R_g L_g \\; (+ \\; x \\odot d_g)$.

    $R_g$ is `[inputs, rank]` and $L_g$ `[rank, units]`, for each block $g$; `tied=True` shares one $R$ over the
    blocks. In the papers' column notation this is $W = L R \\; (+ \\operatorname{diag}(d))$.

    Weights, in order:
        `right`: `[blocks, inputs, rank]`, without the first axis if `tied` or if there is one block.
        `left`: `[blocks, rank, units]`, without the first axis if there is one block.
        `diagonal_kernel`: `[blocks * units]`, only with `diagonal`.
        `gain`: the norms of the columns of `left`, only with `weight_normalization`, which also gives the columns of
            `right` norm one and leaves the diagonal as it is.

    Args:
        rank: Positive integer, at most the smaller of inputs and units.
        diagonal: Whether to add the diagonal, for which inputs and units must be equal. Defaults to `False`.
        tied: Whether the blocks share `right`. Defaults to `False`.
        diagonal_initializer: Initializer of the diagonal. Defaults to `"zeros"`.
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., blocks * units]`.

    Raises:
        ValueError: `rank` is larger than inputs or units, or `diagonal` is asked of a map that is not square.

    Example:

    >>> low_rank = keras_adaptive_rnn.maps.LowRank(rank=2, diagonal=True, units=6)
    >>> tuple(low_rank(np.ones((3, 6))).shape)
    (3, 6)
    >>> low_rank.count_params()  # 6 * 2 + 2 * 6 + 6
    30

    Reference: Miceli Barone, Low-rank passthrough neural networks (2016), section 3; Melis, Kocisky, Blunsom,
    Mogrifier LSTM (2020), section 2, for the gates.
    """

    rank: int
    diagonal: bool
    tied: bool
    diagonal_initializer: Any
    right: Any
    left: Any
    diagonal_kernel: Any
    gain: Any
    units: int | None
    blocks: Any
    initializer: Any
    regularizer: Any
    constraint: Any
    weight_normalization: bool

    def __init__(
        self,
        rank: int,
        diagonal: bool = False,
        tied: bool = False,
        diagonal_initializer: Initializer = "zeros",
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
        """A product of two thin matrices, plus a diagonal if asked: $y_g = x R_g L_g \\; (+ \\; x \\odot d_g)$.

        Args:
            rank: Positive integer, at most the smaller of inputs and units.
            diagonal: Whether to add the diagonal, for which inputs and units must be equal. Defaults to `False`.
            tied: Whether the blocks share `right`. Defaults to `False`.
            diagonal_initializer: Initializer of the diagonal. Defaults to `"zeros"`.
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

    def check(self) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def prepare(self, training: bool | None) -> Any: ...
    def narrow(self, prepared: Any, inputs: Any, units: Any) -> Any: ...
    def product(self, inputs: Any, prepared: Any) -> Any: ...
    def prepare_blocks(self, training: bool | None) -> Any: ...
    def product_each(self, inputs: Any, prepared: Any) -> Any: ...
