"""Low-rank maps, with an optional diagonal, and with factors that the blocks may share."""

from keras import ops

from keras_adaptive_rnn import _arguments, engine, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._products import multiply
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.maps.base import LinearMap, narrow_blocks


@export
class LowRank(LinearMap):
    r"""A product of two thin matrices, plus an optional diagonal: $y_g = x R_g L_g \; (+ \; x \odot d_g)$.

    For each block $g$, $R_g$ is `[inputs, rank]` and $L_g$ is `[rank, units]`; with `tied=True` the blocks share one
    $R$. In the papers' column notation this is $W = L R \; (+ \operatorname{diag}(d))$.

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
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

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

    def __init__(
        self,
        rank: int,
        diagonal: bool = False,
        tied: bool = False,
        diagonal_initializer: Initializer = "zeros",
        **kwargs,
    ):
        self.rank = _arguments.integer("rank", rank)
        self.diagonal = _arguments.boolean("diagonal", diagonal)
        self.tied = _arguments.boolean("tied", tied)
        super().__init__(**kwargs)
        self.diagonal_initializer = _arguments.resolve("diagonal_initializer", diagonal_initializer, initializers.get)

    def check(self):
        rule = f"Argument `rank` of the map {self.where} must be at most its units, {self.units}"
        _arguments.check(self.rank <= self.units, rule, rank=self.rank)

    def build(self, input_shape):
        super().build(input_shape)
        inputs, blocks = input_shape[-1], sum(self.blocks)
        rule = f"Argument `rank` of the map {self.where} must be at most its inputs, {inputs}"
        _arguments.check(self.rank <= inputs, rule, rank=self.rank)
        rule = (
            f"Argument `diagonal` of the map {self.where} must be False, as the map is not square: it has {inputs} "
            f"inputs and {self.units} units"
        )
        _arguments.check(not self.diagonal or inputs == self.units, rule, diagonal=self.diagonal)
        self.right = self.add_kernel("right", (inputs, self.rank), copies=1 if self.tied else blocks)
        self.left = self.add_kernel("left", (self.rank, self.units), copies=blocks)
        if self.diagonal:
            self.diagonal_kernel = self.add_weight(
                name="diagonal_kernel", shape=(blocks * self.units,), initializer=self.diagonal_initializer
            )
        if self.weight_normalization:
            self.gain = self.add_gain("gain", self.left)

    def _factors(self, run):
        """Returns right and left, each `[blocks, ., .]`; right without the first axis if the blocks share it."""
        right, left = self.matrix("right", run), self.matrix("left", run)
        if self.weight_normalization:
            right, left = self.normalized(right), self.normalized(left, ops.cast(self.gain, self.compute_dtype))
        if len(left.shape) == 2:
            right, left = right if self.tied else right[None], left[None]
        return right, left

    def _diagonal(self):
        return ops.cast(self.diagonal_kernel, self.compute_dtype)[None]

    def prepare(self, run):
        right, left = self._factors(run)
        diagonals = self.by_group(self._diagonal()) if self.diagonal else [None] * len(self.blocks)
        # On a GPU, one batched product is launched sooner than a product for each block.
        divide = (lambda x: [x]) if engine.on_accelerator(left) and engine.supports_axis_merging() else ops.unstack
        return [
            (
                right if self.tied else _side_by_side(right[s]),
                [_side_by_side(left[s])] if self.tied or s.stop - s.start == 1 else divide(left[s]),
                diagonal,
            )
            for s, diagonal in zip(self.group_slices, diagonals, strict=True)
        ]

    def narrow(self, prepared, inputs, units):
        right, left, diagonal = prepared
        left = [x[..., :units] if len(x.shape) > 2 else narrow_blocks(x, self.rank, self.units, units) for x in left]
        if diagonal is not None:
            diagonal = narrow_blocks(diagonal, 1, self.units, units)
        return right[:inputs], left, diagonal

    def product(self, inputs, prepared, run):
        return self.outer(self.inner(inputs, prepared, run), inputs, prepared, run)

    def inner(self, inputs, prepared, run):
        """Returns $x R$ of one group of `prepare`, the first half of the product."""
        right, _, _ = prepared
        return run.matmul(inputs, right)

    def outer(self, inner, inputs, prepared, run):
        """Returns the product of `inputs` from $x R$."""
        _, left, diagonal = prepared
        # A number, although in a trace of PyTorch sizes are tensors.
        blocks = int(inner.shape[-1]) // self.rank
        if len(left) < blocks:
            per_block = ops.transpose(ops.reshape(inner, (-1, blocks, self.rank)), (1, 0, 2))
            outputs = ops.transpose(run.matmul(per_block, left[0]), (1, 0, 2))
            outputs = ops.reshape(outputs, (*ops.shape(inputs)[:-1], blocks * left[0].shape[-1]))
        elif blocks > 1:
            parts = zip(ops.split(inner, blocks, axis=-1), left, strict=True)
            outputs = ops.concatenate([run.matmul(part, each) for part, each in parts], axis=-1)
        else:
            outputs = run.matmul(inner, left[0])
        if diagonal is None:
            return outputs
        inputs = ops.concatenate([inputs] * (diagonal.shape[-1] // inputs.shape[-1]), axis=-1)
        return outputs + multiply(inputs, diagonal)

    def prepare_blocks(self, run):
        right, left = self._factors(run)
        if self.tied:
            right = ops.broadcast_to(right, (left.shape[0], *right.shape))
        return right, [left], ops.reshape(self._diagonal(), (-1, 1, self.units)) if self.diagonal else None

    def product_per_block(self, inputs, prepared, run):
        right, (left,), diagonal = prepared
        outputs = run.matmul(run.matmul(inputs, right), left)
        return outputs if diagonal is None else outputs + multiply(inputs, diagonal)


def _side_by_side(blocks):
    """Reshapes `[blocks, rows, columns]` to `[rows, blocks * columns]`."""
    rows = blocks.shape[1]
    return ops.reshape(ops.transpose(blocks, (1, 0, 2)), (rows, -1))
