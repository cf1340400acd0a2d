"""The block-diagonal matrix: groups of units that do not see each other."""

from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.maps.base import LinearMap


@export
class BlockDiagonal(LinearMap):
    r"""A block-diagonal matrix: $y = [x_1 W_1; \dots; x_n W_n]$ for $n$ equal pieces of $x$.

    Each piece is a head of xLSTM, or a block of the gates of RG-LRU, and the map has an $n$-th of the weights of a full
    one.

    Weights: `kernel`, `[num_blocks, inputs / num_blocks, blocks * units / num_blocks]`, with the pieces of each gate
    concatenated, and with `weight_normalization` also `gain`, `[num_blocks, blocks * units / num_blocks]`.

    Args:
        num_blocks: Positive integer, the number of blocks on the diagonal, of which inputs and units are multiples.
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

    Raises:
        ValueError: The inputs or `units` are no multiple of `num_blocks`.

    Example:

    >>> cell = keras_adaptive_rnn.SLSTMCell(8, recurrent_map=keras_adaptive_rnn.maps.BlockDiagonal(4))
    >>> keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape[-1]
    8

    Reference: Beck et al., xLSTM: Extended Long Short-Term Memory (2024), section 2.2, for the heads of sLSTM.
    """

    def __init__(self, num_blocks: int, **kwargs):
        self.num_blocks = _arguments.integer("num_blocks", num_blocks)
        super().__init__(**kwargs)

    def check(self):
        self._check_multiple("units", self.units)

    def _check_multiple(self, what, size):
        rule = f"Argument `num_blocks` of the map {self.where} must divide its {what}, {size}"
        _arguments.check(size % self.num_blocks == 0, rule, num_blocks=self.num_blocks)

    def build(self, input_shape):
        super().build(input_shape)
        self._check_multiple("inputs", input_shape[-1])
        shape = (input_shape[-1] // self.num_blocks, sum(self.blocks) * self.units // self.num_blocks)
        self.kernel = self.add_kernel("kernel", shape, copies=self.num_blocks)
        if self.weight_normalization:
            self.gain = self.add_gain("gain", self.kernel)

    def _per_gate(self, run):
        """Returns the kernel as `[num_blocks, inputs / num_blocks, blocks, units / num_blocks]`."""
        kernel = self.matrix("kernel", run)
        if self.weight_normalization:
            kernel = self.normalized(kernel, ops.cast(self.gain, self.compute_dtype))
        return ops.reshape(kernel, (self.num_blocks, -1, sum(self.blocks), self.units // self.num_blocks))

    def prepare(self, run):
        kernel = self._per_gate(run)
        rows = kernel.shape[1]
        return [ops.reshape(kernel[:, :, group], (self.num_blocks, rows, -1)) for group in self.group_slices]

    def product(self, inputs, prepared, run):
        n = self.num_blocks
        rows, columns = prepared.shape[-2:]
        gates, size = columns * n // self.units, self.units // n
        if len(inputs.shape) > 2 and prepared.shape[0] == n and not engine.supports_axis_merging():
            pieces = [run.matmul(piece, prepared[k]) for k, piece in enumerate(ops.split(inputs, n, axis=-1))]
            by_gate = zip(*(ops.split(piece, gates, axis=-1) for piece in pieces), strict=True)
            return ops.concatenate([piece for of_gate in by_gate for piece in of_gate], axis=-1)
        by_block = ops.transpose(ops.reshape(inputs, (-1, n, rows)), (1, 0, 2))
        outputs = ops.reshape(run.matmul(by_block, prepared), (n, -1, gates, size))
        return ops.reshape(ops.transpose(outputs, (1, 2, 0, 3)), (*ops.shape(inputs)[:-1], gates * self.units))

    def prepare_blocks(self, run):
        return ops.transpose(self._per_gate(run), (2, 0, 1, 3))

    def product_per_block(self, inputs, prepared, run):
        n, (rows, columns) = self.num_blocks, prepared.shape[-2:]
        gates = inputs.shape[0]
        by_block = ops.transpose(ops.reshape(inputs, (gates, -1, n, rows)), (0, 2, 1, 3))
        kernel = ops.reshape(prepared, (-1, rows, columns))
        outputs = run.matmul(ops.reshape(by_block, (gates * n, -1, rows)), kernel)
        outputs = ops.transpose(ops.reshape(outputs, (gates, n, -1, columns)), (0, 2, 1, 3))
        return ops.reshape(outputs, (gates, -1, n * columns))
