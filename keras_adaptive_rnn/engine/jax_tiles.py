"""Functions as operations on tiles, which are what a Pallas kernel can compute with, for tensors of any size.

A tile is an array in the registers of a GPU. Along each axis its size is a power of two, and it can be neither cut nor
joined with another one. So every tensor consists of tiles from the start: it is cut wherever the function slices,
joins or reshapes it, or a tensor that is computed from it. Then slicing and joining only choose among tiles, and a
product is a sum of products of tiles. The padding of a tile is arbitrary; a product or a sum over it masks it.
"""

import collections
import functools
import itertools
import math
from collections.abc import Callable

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.extend.core import Literal

from keras_adaptive_rnn.engine import tuning

CALLS = {
    *("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"),
    *("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
}
IDENTITIES = {"copy", "copy_p", "optimization_barrier", "stop_gradient"}
# What Pallas computes on a GPU, entry by entry.
ELEMENTWISE = {
    *("abs", "add", "add_any", "and", "atan2", "ceil", "clamp", "convert_element_type", "cos", "cosh", "div", "eq"),
    *("exp", "exp2", "expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le", "log", "log1p", "logistic", "lt"),
    *("max", "min", "mul", "ne", "neg", "not", "or", "pow", "rem", "rsqrt", "select_n", "shift_left"),
    *("shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "xor"),
}


class Unsupported(ValueError):
    """A step `does` what no kernel can."""

    def __init__(self, does):
        super().__init__(
            f'Argument `schedule` cannot be "persistent" for this cell: a step {does}. Use schedule="steps".'
        )


# Tracing.


def traced(function, *args):
    """Returns the jaxpr of a function, written out without calls and in few operations.

    Args:
        function: Function of structures of tensors.
        *args: What has the shapes and dtypes of its arguments.
    """
    jaxpr = jax.make_jaxpr(function)(*args)
    if any(isinstance(constant, jax.core.Tracer) for constant in jaxpr.consts):
        raise Unsupported("reads tensors other than its inputs, its states and its weights")
    written_out = functools.partial(_written_out, jaxpr.jaxpr, jaxpr.consts)
    return jax.make_jaxpr(written_out)(*jax.tree.leaves(args))


def _written_out(jaxpr, constants, *args):
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *args], strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        values.update(zip(equation.outvars, _in_few_operations(equation, map(read, equation.invars)), strict=True))
    return list(map(read, jaxpr.outvars))


def _in_few_operations(equation, args):
    """Returns the results of one operation, from few others."""
    name, params, args = equation.primitive.name, equation.params, list(args)
    shape = equation.outvars[0].aval.shape
    if name in CALLS:
        called = next(params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
        return _written_out(getattr(called, "jaxpr", called), getattr(called, "consts", ()), *args)
    if name in IDENTITIES:
        return args
    if name == "squeeze":
        return [lax.reshape(args[0], shape)]
    if name == "square":
        return [args[0] * args[0]]
    # The derivative of a hyperbolic tangent, in JAX 0.12.
    if name == "one_minus_square":
        return [1 - args[0] * args[0]]
    if name == "split":
        ends = itertools.accumulate(params["sizes"])
        return [
            lax.slice_in_dim(args[0], e - n, e, axis=params["axis"]) for e, n in zip(ends, params["sizes"], strict=True)
        ]
    if name == "pad":
        return [_padded(*args, params["padding_config"])]
    if name == "dot_general":
        return [_product(*args, **params)]
    results = equation.primitive.bind(*args, **params)
    return results if equation.primitive.multiple_results else [results]


def _padded(x, value, config):
    for axis, (low, high, interior) in enumerate(config):
        if low < 0 or high < 0 or interior:
            raise Unsupported("pads a tensor between its entries, or cuts it")
        sides = [lax.full((*x.shape[:axis], size, *x.shape[axis + 1 :]), 0, x.dtype) + value for size in (low, high)]
        x = lax.concatenate([side for side in (sides[0], x, sides[1]) if side.shape[axis]], axis)
    return x


def _product(x, y, dimension_numbers, preferred_element_type=None, **params):
    """Returns a product, which is one of matrices: of anything less, the sum of an elementwise product."""
    (x_summed, y_summed), (x_batch, y_batch) = dimension_numbers
    x_free = [k for k in range(x.ndim) if k not in (*x_summed, *x_batch)]
    y_free = [k for k in range(y.ndim) if k not in (*y_summed, *y_batch)]
    batch, rows, columns, summed = (
        [array.shape[k] for k in axes] for array, axes in ((x, x_batch), (x, x_free), (y, y_free), (x, x_summed))
    )
    dtype = preferred_element_type or jnp.result_type(x, y)
    if all(math.prod(sizes) > 1 for sizes in (rows, columns, summed)):
        return lax.dot_general(x, y, dimension_numbers, preferred_element_type=dtype, **params)
    shape, exact = (*batch, *rows, *columns, *summed), _exact(dtype)
    # The axes of the batch and the last ones, which are summed, are in both; the rows and the columns in one each.
    first, inner = len(batch) + len(rows), len(shape) - len(summed)
    axes = (
        [k for k in range(len(shape)) if not first <= k < inner],
        [k for k in range(len(shape)) if not len(batch) <= k < first],
    )
    x, y = lax.transpose(x, (*x_batch, *x_free, *x_summed)), lax.transpose(y, (*y_batch, *y_free, *y_summed))
    x, y = (
        lax.broadcast_in_dim(lax.convert_element_type(a, exact), shape, k) for a, k in zip((x, y), axes, strict=True)
    )
    return lax.convert_element_type(jnp.sum(x * y, axis=tuple(range(inner, len(shape)))), dtype)


# Cutting.


class Tiled:
    """A function on tiles.

    Args:
        function, *args: As in `traced`.

    Attributes:
        inputs: List of the variables that it takes: its constants, and the tensors of `args`.
        constants: List of its constants.
        outputs: List of the variables that it returns.
        used: Set of the variables that the outputs depend on.
        cuts: Its `Cuts`.
    """

    def __init__(self, function, *args):
        jaxpr = traced(function, *args)
        self.constants, self.inputs = jaxpr.consts, [*jaxpr.jaxpr.constvars, *jaxpr.jaxpr.invars]
        self.outputs, self.cuts, self._operations = jaxpr.jaxpr.outvars, Cuts(), []
        self.used = _variables(self.outputs)
        for equation in reversed(jaxpr.eqns):
            if self.used.intersection(equation.outvars):
                self.used |= _variables(equation.invars)
                self._operations.insert(0, _operation(equation, self.cuts))

    def __call__(self, values):
        """Returns the results, a list of dicts of tiles by their indices.

        Args:
            values: Dict of what has the tiles of the inputs that are used.
        """
        values = dict(values)

        def read(atom):
            return {(): atom.val} if isinstance(atom, Literal) else values[atom]

        for operation in self._operations:
            args = list(map(read, operation.args))
            indices = self.cuts.layout(operation.result).indices()
            values[operation.result] = {index: operation.tile(index, *args) for index in indices}
        return list(map(read, self.outputs))


def _variables(atoms):
    return {atom for atom in atoms if not isinstance(atom, Literal)}


class Cuts:
    """Where the tensors of a function are cut, along each of their axes.

    Attributes:
        mixed: List of the axes, `(variable, axis)`, along which entries are added or compared.
    """

    def __init__(self):
        self.mixed, self._places, self._ties = [], collections.defaultdict(set), collections.defaultdict(list)
        self._layouts = {}

    def tie(self, a, a_axis, b, b_axis, offset=0):
        """Lets `a` be cut at a place whenever `b` is at `place + offset`, and the other way round."""
        for one, other, shift in (((a, a_axis), (b, b_axis), offset), ((b, b_axis), (a, a_axis), -offset)):
            self._ties[one].append((*other, shift))
            self.cut(*other, [place + shift for place in self._places[one]])

    def cut(self, variable, axis, places):
        """Cuts a tensor, and all that are tied to it."""
        left = [(variable, axis, place) for place in places]
        while left:
            variable, axis, place = left.pop()
            if 0 < place < variable.aval.shape[axis] and place not in self._places[variable, axis]:
                self._places[variable, axis].add(place)
                left += [(b, b_axis, place + offset) for b, b_axis, offset in self._ties[variable, axis]]

    def cut_apart(self, variable, axes):
        """Cuts a tensor into single entries along some axes."""
        for axis in axes:
            self.cut(variable, axis, range(1, variable.aval.shape[axis]))

    def has(self, variable, axis, place):
        return place in self._places[variable, axis]

    def layout(self, variable):
        """Returns the `Layout` of a tensor. From then on, nothing may be cut."""
        if variable not in self._layouts:
            sizes = enumerate(variable.aval.shape)
            self._layouts[variable] = Layout([_segments(size, self._places[variable, axis]) for axis, size in sizes])
        return self._layouts[variable]


def _segments(size, places):
    """Returns the segments of an axis that is cut at `places`, and within long ones."""
    return [
        (start, min(tuning.TILE, end - start))
        for first, end in itertools.pairwise([0, *sorted(places), size])
        for start in range(first, end, tuning.TILE)
    ]


def padded_size(length):
    """Returns the size of a tile along an axis; products of tiles take at least 16."""
    return 1 if length == 1 else max(16, 1 << (length - 1).bit_length())


class Layout:
    """The segments of a tensor along each axis, and its form in memory, where each is followed by its padding.

    Args:
        segments: For each axis, a list of pairs `(start, length)`.
    """

    def __init__(self, segments):
        self.segments = segments
        self.sizes = [[padded_size(length) for _, length in axis] for axis in segments]
        # A kernel cannot read a tensor without axes.
        self.shape = tuple(map(sum, self.sizes)) or (1,)

    def indices(self):
        """Returns the indices of the tiles."""
        return np.ndindex(*map(len, self.segments))

    def starts(self, index):
        return tuple(axis[k][0] for axis, k in zip(self.segments, index, strict=True))

    def lengths(self, index):
        return tuple(axis[k][1] for axis, k in zip(self.segments, index, strict=True))

    def tile(self, index):
        """Returns the shape of a tile."""
        return tuple(axis[k] for axis, k in zip(self.sizes, index, strict=True))

    def index(self, starts):
        """Returns the index of the tile that starts at these places."""
        return tuple(
            next(k for k, (first, _) in enumerate(axis) if first == start)
            for axis, start in zip(self.segments, starts, strict=True)
        )

    def slices(self, index):
        """Returns where a tile is in memory."""
        if not self.segments:
            return (0,)
        return tuple(pl.ds(sum(sizes[:k]), sizes[k]) for sizes, k in zip(self.sizes, index, strict=True))

    def spread(self, x):
        """Returns a tensor, which may have further axes in front, in this form."""
        leading = x.shape[: x.ndim - len(self.segments)]
        for axis, (segments, sizes) in enumerate(zip(self.segments, self.sizes, strict=True), len(leading)):
            if any(length != size for (_, length), size in zip(segments, sizes, strict=True)):
                parts = [lax.slice_in_dim(x, start, start + length, axis=axis) for start, length in segments]
                widths = [
                    [(0, size - p.shape[axis]) if k == axis else (0, 0) for k in range(x.ndim)]
                    for p, size in zip(parts, sizes, strict=True)
                ]
                x = jnp.concatenate([jnp.pad(p, w) for p, w in zip(parts, widths, strict=True)], axis)
        return x.reshape((*leading, *self.shape))

    def gather(self, x):
        """Returns a tensor in this form, which may have further axes in front, as it was before `spread`."""
        leading = x.shape[: x.ndim - len(self.shape)]
        for axis, (segments, sizes) in enumerate(zip(self.segments, self.sizes, strict=True), len(leading)):
            if any(length != size for (_, length), size in zip(segments, sizes, strict=True)):
                ends = itertools.accumulate(sizes)
                parts = [
                    lax.slice_in_dim(x, end - size, end - size + length, axis=axis)
                    for end, size, (_, length) in zip(ends, sizes, segments, strict=True)
                ]
                x = jnp.concatenate(parts, axis)
        return x if self.segments else x.reshape(leading)


# Operations.


class Operation:
    """An operation on tiles.

    Args:
        equation: An equation of a jaxpr.
        cuts: The `Cuts` of the function, which get those that the operation needs.
    """

    def __init__(self, equation, cuts):
        self.equation, self.params, self.cuts = equation, equation.params, cuts
        self.args, (self.result,) = equation.invars, equation.outvars
        self.shapes, self.shape = [arg.aval.shape for arg in self.args], self.result.aval.shape
        self.dtype = self.result.aval.dtype
        self.relate()

    def relate(self):
        """Ties the axes of the tensors to one another, and cuts them where that is needed."""

    def tile(self, index, *args):
        """Returns the tile of the result at `index`; `args` have the tiles of the arguments."""
        raise NotImplementedError

    def tie(self, number, axes, offsets=None):
        """Ties axes of an argument to axes of the result."""
        for axis, of_result in axes.items():
            self.cuts.tie(self.args[number], axis, self.result, of_result, (offsets or {}).get(axis, 0))

    def layout(self, number=None):
        """Returns the `Layout` of an argument, or of the result."""
        return self.cuts.layout(self.result if number is None else self.args[number])

    def apply(self, *tiles):
        """Returns the result of the operation itself, which a GPU computes in single precision at least."""
        tiles = [_cast(tile, _exact(arg.aval.dtype)) for tile, arg in zip(tiles, self.args, strict=True)]
        return _cast(self.equation.primitive.bind(*tiles, **self.params), self.dtype)


class Elementwise(Operation):
    def relate(self):
        for number, shape in enumerate(self.shapes):
            self.tie(number, {k: k for k, size in enumerate(shape) if size == self.shape[k]})

    def tile(self, index, *args):
        return self.apply(*(arg[_spread(shape, index)] for shape, arg in zip(self.shapes, args, strict=True)))


class Reduction(Operation):
    def relate(self):
        axes, shape = self.params["axes"], self.shapes[0]
        self.cuts.mixed += [(self.args[0], axis) for axis in axes]
        self.tie(0, {axis: k for k, axis in enumerate(k for k in range(len(shape)) if k not in axes)})

    def tile(self, index, x):
        combine, neutral = REDUCTIONS[self.equation.primitive.name]
        axes, layout, left = self.params["axes"], self.layout(0), iter(index)
        ranges = [range(len(n)) if k in axes else [next(left)] for k, n in enumerate(layout.segments)]
        parts = [_masked(x[k], layout.lengths(k), axes, neutral(self.dtype)) for k in itertools.product(*ranges)]
        return functools.reduce(combine, map(self.apply, parts))


def _largest(dtype):
    return np.inf if jnp.issubdtype(dtype, jnp.inexact) else jnp.iinfo(dtype).max


# How the results of parts are combined, and what changes no result, of each dtype.
REDUCTIONS: dict[str, tuple[Callable, Callable]] = {
    "reduce_max": (lax.max, lambda dtype: -_largest(dtype)),
    "reduce_min": (lax.min, _largest),
    "reduce_sum": (lax.add, lambda dtype: 0),
}


class Iota(Operation):
    def tile(self, index):
        axis, layout = self.params["dimension"], self.layout()
        first = jnp.array(layout.starts(index)[axis], self.dtype)
        return lax.broadcasted_iota(self.dtype, layout.tile(index), axis) + first


class Broadcast(Operation):
    def relate(self):
        axes = dict(enumerate(self.params["broadcast_dimensions"]))
        self.tie(0, {k: axis for k, axis in axes.items() if self.shapes[0][k] == self.shape[axis]})

    def tile(self, index, x):
        axes = self.params["broadcast_dimensions"]
        tile = x[_spread(self.shapes[0], [index[axis] for axis in axes])]
        return lax.broadcast_in_dim(jnp.asarray(tile, self.dtype), self.layout().tile(index), axes)


class Transpose(Operation):
    def relate(self):
        self.tie(0, {axis: k for k, axis in enumerate(self.params["permutation"])})

    def tile(self, index, x):
        permutation = self.params["permutation"]
        return lax.transpose(x[tuple(index[permutation.index(k)] for k in range(len(index)))], permutation)


class Slice(Operation):
    def relate(self):
        starts, ends = self.params["start_indices"], self.params["limit_indices"]
        if any(step != 1 for step in self.params["strides"] or ()):
            raise Unsupported("skips entries of a tensor")
        for axis, ends_of_axis in enumerate(zip(starts, ends, strict=True)):
            self.tie(0, {axis: axis}, {axis: -starts[axis]})
            self.cuts.cut(self.args[0], axis, ends_of_axis)

    def tile(self, index, x):
        starts = zip(self.layout().starts(index), self.params["start_indices"], strict=True)
        return x[self.layout(0).index(map(sum, starts))]


class Concatenate(Operation):
    def relate(self):
        axis, offset = self.params["dimension"], 0
        for number, shape in enumerate(self.shapes):
            self.tie(number, {k: k for k in range(len(shape))}, {axis: offset})
            self.cuts.cut(self.result, axis, [offset])
            offset += shape[axis]

    def tile(self, index, *args):
        axis, starts = self.params["dimension"], list(self.layout().starts(index))
        number = 0
        while starts[axis] >= self.shapes[number][axis]:
            starts[axis] -= self.shapes[number][axis]
            number += 1
        return args[number][self.layout(number).index(starts)]


class Reshape(Operation):
    def relate(self):
        shape = self.shapes[0]
        for old, new in axis_groups(shape, self.shape):
            # Only along the last axis of a group, a tile has several entries.
            self.cuts.cut_apart(self.args[0], old[:-1])
            self.cuts.cut_apart(self.result, new[:-1])
            size, width, length = math.prod(shape[k] for k in old), shape[old[-1]], self.shape[new[-1]]
            for offset in sorted({i - j for i in range(0, size, width) for j in range(0, size, length)}):
                if -width < offset < length:
                    self.tie(0, {old[-1]: new[-1]}, {old[-1]: offset})
                    self.cuts.cut(self.args[0], old[-1], [-offset])
                    self.cuts.cut(self.result, new[-1], [offset])

    def tile(self, index, x):
        # That is, where it starts in the whole tensor is the same.
        place = np.ravel_multi_index(self.layout().starts(index), self.shape)
        return lax.reshape(x[self.layout(0).index(np.unravel_index(place, self.shapes[0]))], self.layout().tile(index))


class Product(Operation):
    """A product. Along an axis of its batch, a tile has a single entry."""

    def relate(self):
        (x_shape, y_shape), (summed, batch) = self.shapes, self.params["dimension_numbers"]
        x = Factor(x_shape, summed[0], batch[0], len(batch[0]))
        y = Factor(y_shape, summed[1], batch[1], len(x.places), takes_last=True)
        self.factors = x, y
        for a, b in zip(*summed, strict=True):
            self.cuts.tie(self.args[0], a, self.args[1], b)
            self.cuts.mixed.append((self.args[0], a))
        for number, factor in enumerate(self.factors):
            self.tie(number, factor.places)
            self.cuts.cut_apart(self.args[number], set(range(len(factor.shape))) - set(factor.of_tile))

    def tile(self, index, *args):
        counts, parts = [range(len(self.layout(0).segments[k])) for k in self.factors[0].summed], []
        for of_sum in itertools.product(*counts):
            tiles = []
            for number, (factor, arg) in enumerate(zip(self.factors, args, strict=True)):
                where = factor.index(index, of_sum)
                tiles.append(_masked(arg[where], self.layout(number).lengths(where), factor.summed, 0))
            parts.append(self.multiply(*tiles))
        return _cast(lax.reshape(functools.reduce(lax.add, parts), self.layout().tile(index)), self.dtype)

    def multiply(self, x, y):
        """Returns the product of two tiles, `[rows, columns]`."""
        (x, x_axis), (y, y_axis) = (factor.matrix(tile) for factor, tile in zip(self.factors, (x, y), strict=True))
        dtype = _exact(self.dtype)
        if 1 not in (*x.shape, *y.shape):
            numbers, precision = (((x_axis,), (y_axis,)), ((), ())), self.params["precision"]
            return lax.dot_general(x, y, numbers, precision=precision, preferred_element_type=dtype)
        x, y = (x if x_axis else x.T), (y.T if y_axis else y)
        return jnp.sum(_cast(x, dtype)[:, :, None] * _cast(y, dtype)[None], axis=1)


class Factor:
    """A factor of a product.

    Args:
        shape: Its shape.
        summed, batch: Tuples of axes: those that are summed, and those of the batch.
        first: The axis of the product for its first other one.
        takes_last: Whether its tiles extend along its last other axis, as the outputs of a weight, rather than the
            first, as the rows of a batch.

    Attributes:
        places: Dict of the axes of the product by those of the factor.
        of_tile: The axes along which its tiles extend: one of the product, and one that is summed.
    """

    def __init__(self, shape, summed, batch, first, takes_last=False):
        self.shape, self.summed = shape, summed
        free = [k for k in range(len(shape)) if k not in (*summed, *batch)]
        self.places = {axis: k for k, axis in enumerate(batch)} | {axis: k for k, axis in enumerate(free, first)}
        extended = [k for k in free if shape[k] > 1][-1 if takes_last else 0]
        self.of_tile = extended, max(summed, key=shape.__getitem__)

    def index(self, index, of_sum):
        """Returns the index of a tile, from that of the product's tile and that of the axes that are summed."""
        found = {axis: index[k] for axis, k in self.places.items()} | dict(zip(self.summed, of_sum, strict=True))
        return tuple(found[axis] for axis in range(len(self.shape)))

    def matrix(self, tile):
        """Returns a tile as a matrix, and which of its axes is summed."""
        extended, summed = self.of_tile
        return lax.reshape(tile, [tile.shape[k] for k in sorted(self.of_tile)]), int(extended < summed)


OPERATIONS = {
    **dict.fromkeys(ELEMENTWISE, Elementwise),
    **dict.fromkeys(REDUCTIONS, Reduction),
    "broadcast_in_dim": Broadcast,
    "concatenate": Concatenate,
    "dot_general": Product,
    "iota": Iota,
    "reshape": Reshape,
    "slice": Slice,
    "transpose": Transpose,
}


def _operation(equation, cuts):
    name = equation.primitive.name
    if name not in OPERATIONS:
        raise Unsupported(f"applies `{name}`, which no kernel can")
    return OPERATIONS[name](equation, cuts)


def _spread(shape, index):
    """Returns the index of the tile, in a tensor of this shape, that spreads over the one at `index` of a larger."""
    return tuple(k if size > 1 else 0 for size, k in zip(shape, index, strict=False))


def _exact(dtype):
    """Returns the dtype in which numbers of `dtype` are computed."""
    return jnp.promote_types(dtype, "float32") if jnp.issubdtype(dtype, jnp.inexact) else dtype


def _cast(x, dtype):
    return x if jnp.result_type(x) == dtype else lax.convert_element_type(x, dtype)


def axis_groups(old, new):
    """Returns pairs of lists of axes of two shapes, each of as many entries: those that a reshape makes of one another.

    Axes of a single entry are left out, but for those of both shapes in the same place.
    """
    groups, i, j = [], 0, 0
    while i < len(old) and j < len(new) and old[i] == new[j]:
        groups.append(([i], [j]))
        i, j = i + 1, j + 1
    left, right = ([k for k in range(first, len(shape)) if shape[k] > 1] for first, shape in ((i, old), (j, new)))
    while left:
        a, b = [left.pop(0)], [right.pop(0)]
        while math.prod(old[k] for k in a) != math.prod(new[k] for k in b):
            shorter = (a, left) if math.prod(old[k] for k in a) < math.prod(new[k] for k in b) else (b, right)
            shorter[0].append(shorter[1].pop(0))
        groups.append((a, b))
    return groups


def _masked(tile, lengths, axes, value):
    """Returns a tile with `value` in place of its padding along some axes."""
    for axis in axes:
        if lengths[axis] < tile.shape[axis]:
            inside = lax.broadcasted_iota("int32", tile.shape, axis) < lengths[axis]
            tile = lax.select(inside, tile, lax.full_like(tile, value))
    return tile
