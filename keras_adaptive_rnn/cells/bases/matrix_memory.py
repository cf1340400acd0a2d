"""The base class of linear cells whose memory is a matrix, which a sequence reads and writes in chunks."""

import math

from keras import ops

from keras_adaptive_rnn import _arguments, engine, maps
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn.cells.bases.linear import LinearCell
from keras_adaptive_rnn.engine.masking import where_rows

# In place of minus infinity: its exponential is zero in every dtype.
NEVER = -1e4


class MatrixMemoryCell(LinearCell):
    r"""A linear cell with heads, each of which writes values under keys into a matrix, and reads it with queries.

    A subclass lists its gates in `gates`, the query, key and value first, and what each head remembers in
    `memory_shapes`, for one head of size $d$. `project(inputs, run)` returns `coefficients, read`: a list of the
    queries, keys and values, each `[..., heads, size]`, and of numbers per head, `[..., heads]`; and a list of what
    `read_out` needs beside the memory. It implements the recurrence twice:

    - `recur_heads(coefficients, memories)` is one step: coefficients `[batch, heads, ...]` and memories
      `[batch, heads, ...]`. It returns what is read, `[batch, heads, size]`, and the memories.
    - `recur_chunk(coefficients, memories, pieces)` is a few dozen steps in matrix products: coefficients
      `[batch, heads, steps, ...]`. It returns what is read, `[batch, heads, steps, size]`, and the last memories. Its
      `Pieces` say which steps and memories a step sees.

    States: the output, and each memory of all heads, as a vector.

    Args:
        units: Positive integer, dimensionality of the output: all heads together. A multiple of `num_heads`.
        num_heads: Positive integer, the number of heads. Defaults to `4`.
        **kwargs: As in `keras_adaptive_rnn.cells.LinearCell`.
    """

    reads_output = False
    memory_index = 1
    # The steps of a chunk: products within it grow with their square, and fewer memories are kept for the gradient.
    chunk_size = 64
    # The gates of each head, a number each, besides query, key and value.
    head_gates: tuple[str, ...] = ()

    def __init__(self, units: int, *, num_heads: int = 4, **kwargs):
        super().__init__(units, **kwargs)
        self.num_heads = _arguments.integer("num_heads", num_heads)
        fits, rule = self.units % self.num_heads == 0, "Argument `units` must be a multiple of `num_heads`"
        _arguments.check(fits, rule, units=self.units, num_heads=self.num_heads)
        self.gate_map = self.bind_gate_map("full", self.num_heads)
        self.gate_bias = maps.no_bias
        self.state_size = [self.units, *(self.num_heads * math.prod(shape) for shape in self.memory_shapes)]

    @property
    def head_size(self):
        return self.units // self.num_heads

    @property
    def memory_shapes(self):
        """The shapes of the memories of a head."""
        return [(self.head_size, self.head_size)]

    def build(self, input_shape):
        super().build(input_shape)
        self.gate_map.build_blocks((len(self.head_gates),), input_shape[-1])
        if self.use_bias:
            self.gate_bias = self.make_bias(self.num_heads, self.gate_bias_initializers(), name="gate_bias")

    def gate_bias_initializers(self):
        """Returns the initializer of the bias of each of `head_gates`."""
        return [self.bias_initializer] * len(self.head_gates)

    def affine_of_heads(self, inputs, run):
        """Returns the numbers of each head, `[..., heads]`, affine in the inputs, one tensor for each gate."""
        a = self.gate_bias(self._product(self.gate_map, inputs, "dropout", run), run)
        return ops.split(a, len(self.head_gates), axis=-1)

    def heads(self, x):
        """Returns `[..., units]` as `[..., heads, size]`."""
        return ops.reshape(x, (*ops.shape(x)[:-1], self.num_heads, self.head_size))

    def recur_heads(self, coefficients, memories):
        raise NotImplementedError

    def recur_chunk(self, coefficients, memories, pieces):
        raise NotImplementedError

    def recur(self, coefficients, memories):
        # As in chunks: sums lose digits in half precision, and so do gates near one.
        given = (list(map(precise, tensors)) for tensors in (coefficients, self._of_heads(memories)))
        values, new = self.recur_heads(*given)
        return _flat(ops.cast(values, coefficients[2].dtype)), _states(new, memories)

    def recur_over(self, coefficients, memories, associative, resets=None):
        (length, rows), count = ops.shape(coefficients[0])[:2], coefficients[0].shape[0]
        # An unknown size is a tensor, or a symbol.
        if any(isinstance(size, int) and size == 0 for size in (length, rows)):
            return ops.reshape(coefficients[2], (length, rows, self.units)), memories
        chunks = (length + self.chunk_size - 1) // self.chunk_size
        # Chunks of equal sizes, so that few steps are added to fill the last one.
        size = self.chunk_size if count is None else (count + chunks - 1) // chunks
        queries, keys, values, *gates = (
            _chunked(c, neutral, chunks, size) for c, neutral in zip(coefficients, self.neutral, strict=True)
        )

        flags, initial = [], []
        if resets is not None:
            flags = [_chunked(ops.cast(resets.flags, "float32"), 0.0, chunks, size)]
            initial = list(map(precise, self._of_heads(resets.states)))

        def chunk(memories, values, others):
            queries, keys, *gates = others[: len(others) - len(flags)]
            pieces = Pieces(size, *([others[-1], initial] if flags else []))
            read, new = self.recur_chunk(list(map(precise, [queries, keys, *values, *gates])), memories, pieces)
            return new, [ops.cast(read, values[0].dtype)]

        # Sums lose digits in half precision, over a chunk and from one to the next.
        carried = list(map(precise, self._of_heads(memories)))
        new, (read,) = engine.scan_layers(chunk, carried, [values], [queries, keys, *gates, *flags])
        # [chunks, batch, heads, steps, size] to [time, batch, units].
        read = ops.reshape(ops.transpose(read, (0, 3, 1, 2, 4)), (chunks * size, rows, self.units))
        return read[:length], _states(new, memories)

    def _of_heads(self, memories):
        shapes = [(-1, self.num_heads, *shape) for shape in self.memory_shapes]
        return [ops.reshape(memory, shape) for memory, shape in zip(memories, shapes, strict=True)]


def _states(new, old):
    return [_flat(ops.cast(x, before.dtype)) for x, before in zip(new, old, strict=True)]


def _flat(x):
    return ops.reshape(x, (-1, math.prod(x.shape[1:])))


def _chunked(x, neutral, chunks, size):
    """Returns `[time, batch, heads, ...]`, with neutral steps at the end, as `[chunks, batch, heads, steps, ...]`."""
    length, *rest = ops.shape(x)
    missing = chunks * size - length
    if not (isinstance(missing, int) and missing == 0):
        # Not `ops.full`, for which PyTorch reads the number back from a GPU.
        x = ops.concatenate([x, ops.zeros((missing, *rest), dtype=x.dtype) + (neutral or 0.0)])
    x = ops.reshape(x, (chunks, size, *rest))
    return ops.transpose(x, (0, 2, 3, 1, *range(4, len(x.shape))))


class Pieces:
    """The pieces of a sequence within a chunk: a step sees steps of its own piece, and the memories it began with.

    Args:
        steps: Integer, the steps of the chunk.
        resets: Tensor `[batch, 1, steps]`, one where a piece begins and zero elsewhere; `None` (default) if none does.
        initial: List of the memories that such a piece begins with, `[batch, heads, ...]`.

    Attributes:
        seen: Boolean tensor `[..., steps, steps]`: whether the first step sees what the second one has written.
        before: The same, without the step itself.
    """

    def __init__(self, steps, resets=None, initial=None):
        self.seen, self.before, self._initial = causal(steps), causal(steps, strict=True), initial
        self._is_first = None
        if resets is not None:
            piece = cumulative_sum(resets, self.seen)
            same = piece[..., :, None] == piece[..., None, :]
            self.seen, self.before = ops.logical_and(self.seen, same), ops.logical_and(self.before, same)
            self._is_first = piece == 0

    def from_start(self, read, memories):
        """Returns `read(*memories)`, `[batch, heads, steps, ...]`, of the memories with which each step's piece began.

        Those before the chunk are `memories`.
        """
        if self._is_first is None:
            return read(*memories)
        return where_rows(self._is_first, read(*memories), read(*self._initial))

    def last_start(self, memories):
        """Returns the memories with which the last step's piece began, `[batch, heads, ...]`."""
        if self._is_first is None:
            return memories
        is_first = self._is_first[..., -1]
        return [where_rows(is_first, *pair) for pair in zip(memories, self._initial, strict=True)]


def causal(steps, strict=False):
    """Returns a boolean matrix `[steps, steps]`: whether the second of two steps is not after the first, or before."""
    # With a zero to start from, and zeros of floats in `where`: otherwise JAX writes no ONNX.
    row = ops.arange(0, steps)
    return row[:, None] > row if strict else row[:, None] >= row


def cumulative_sum(x, seen):
    """Returns the sums of `[..., steps]` over the steps that each step sees; `seen` is a boolean matrix."""
    # Not `ops.cumsum`, which on PyTorch returns float32 for float64.
    seen = ops.cast(ops.swapaxes(seen, -1, -2), x.dtype)
    return plain_matmul(x, seen) if len(seen.shape) == 2 else plain_matmul(x[..., None, :], seen)[..., 0, :]
