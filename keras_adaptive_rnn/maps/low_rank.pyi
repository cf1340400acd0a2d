"""Low-rank maps, with an optional diagonal, and with factors that the blocks may share."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.base import LinearMap

class LowRank(LinearMap):
    """A product of two thin matrices, plus an optional diagonal: $y_g = x R_g L_g \\; (+ \\; x \\odot d_g)$.

    For each block $g$, $R_g$ is `[inputs, rank]` and $L_g$ is `[rank, units]`; with `tied=True` the blocks share one
    $R$. In the papers' column notation this is $W = L R \\; (+ \\operatorname{diag}(d))$.

    Weights, in order:
        `right`: `[blocks, inputs, rank]`; `[inputs, rank]` if `tied` or if there is one block.
        `left`: `[blocks, rank, units]`; `[rank, units]` if there is one block.
        `diagonal_kernel`: `[blocks * units]`, only with `diagonal`.
        `gain`: the norms of the columns of `left`, only with `weight_normalization`, which also normalizes the columns
            of `right` to one and leaves the diagonal alone.

    Args:
        rank: Positive integer, at most the smaller of inputs and units.
        diagonal: Whether to add the diagonal, for which inputs and units must be equal. Defaults to `False`.
        tied: Whether the blocks share `right`. Defaults to `False`.
        diagonal_initializer: Initializer of the diagonal. Defaults to `"zeros"`.
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

    Raises:
        ValueError: `rank` is larger than inputs or units, or `diagonal=True` and the map is not square.

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
    def check(self) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def prepare(self, training: bool | None) -> Any: ...
    def narrow(self, prepared: Any, inputs: Any, units: Any) -> Any: ...
    def product(self, inputs: Any, prepared: Any) -> Any: ...
    def prepare_blocks(self, training: bool | None) -> Any: ...
    def product_per_block(self, inputs: Any, prepared: Any) -> Any: ...
