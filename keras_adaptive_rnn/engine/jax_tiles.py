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
REDUCTIONS = {"reduce_max": lax.max, "reduce_min": lax.min, "reduce_sum": lax.add}


class Unsupported(Exception):
    """A function does what no kernel can; the message continues a sentence about it."""


# Tracing.


def traced(function, *args):
    """Returns `(jaxpr, shapes of the results)` of a function, written out without calls and in few operations.

    Args:
        function: Function of structures of tensors.
        *args: What has the shapes and dtypes of its arguments.
    """
    jaxpr, results = jax.make_jaxpr(function, return_shape=True)(*args)
    if any(isinstance(constant, jax.core.Tracer) for constant in jaxpr.consts):
        raise Unsupported("reads tensors other than its inputs, its states and its weights")
    written_out = functools.partial(_written_out, jaxpr.jaxpr, jaxpr.consts)
    return jax.make_jaxpr(written_out)(*jax.tree.leaves(args)), results


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
    shape, exact = (*batch, *rows, *columns, *summed), jnp.promote_types(dtype, "float32")
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


class Cuts:
    """Where the tensors of a function are cut, along each of their axes.

    Args:
        equations: List of the equations of a jaxpr.

    Attributes:
        mixed: List of the axes, `(variable, axis)`, along which entries are added or compared.
    """

    def __init__(self, equations):
        self.mixed, self._places, self._ties = [], collections.defaultdict(set), collections.defaultdict(list)
        for equation in equations:
            for variable, axis, place in _Relations(equation, self).needed():
                self.cut(variable, axis, place)

    def tie(self, a, a_axis, b, b_axis, offset=0):
        """Lets `a` be cut at a place whenever `b` is at `place + offset`, and the other way round."""
        for one, other, shift in (((a, a_axis), (b, b_axis), offset), ((b, b_axis), (a, a_axis), -offset)):
            self._ties[one].append((*other, shift))
            for place in list(self._places[one]):
                self.cut(*other, place + shift)

    def cut(self, variable, axis, place):
        """Cuts a tensor, and all that are tied to it."""
        left = [(variable, axis, place)]
        while left:
            variable, axis, place = left.pop()
            if 0 < place < variable.aval.shape[axis] and place not in self._places[variable, axis]:
                self._places[variable, axis].add(place)
                left += [(b, b_axis, place + offset) for b, b_axis, offset in self._ties[variable, axis]]

    def has(self, variable, axis, place):
        return place in self._places[variable, axis]

    def layout(self, variable):
        """Returns the `Layout` of a tensor."""
        return Layout(
            [self._segments(size, self._places[variable, axis]) for axis, size in enumerate(variable.aval.shape)]
        )

    @staticmethod
    def _segments(size, places):
        edges = [0, *sorted(places), size]
        return [
            (start, min(tuning.TILE, end - start))
            for first, end in itertools.pairwise(edges)
            for start in range(first, end, tuning.TILE)
        ]


class _Relations:
    """What an equation demands of the cuts of its tensors."""

    def __init__(self, equation, cuts):
        self.name, self.params, self.cuts = equation.primitive.name, equation.params, cuts
        self.args, (self.result,) = equation.invars, equation.outvars
        self.shapes, self.shape = [arg.aval.shape for arg in self.args], self.result.aval.shape

    def needed(self):
        """Ties the axes of the tensors, and returns a list of the cuts that are needed, `(variable, axis, place)`."""
        if self.name in ELEMENTWISE:
            for arg, shape in zip(self.args, self.shapes, strict=True):
                self.tie(arg, {k: k for k, size in enumerate(shape) if size == self.shape[k]})
            return []
        if self.name in REDUCTIONS:
            axes = self.params["axes"]
            self.cuts.mixed += [(self.args[0], axis) for axis in axes]
            left = [k for k in range(len(self.shapes[0])) if k not in axes]
            self.tie(self.args[0], dict(zip(left, range(len(left)), strict=True)))
            return []
        rule = getattr(self, f"_{self.name}", None)
        if rule is None:
            raise Unsupported(f"applies `{self.name}`, which no kernel can")
        return list(rule() or ())

    def tie(self, arg, axes, offsets=None):
        """Ties axes of `arg` to axes of the result."""
        for axis, of_result in axes.items():
            self.cuts.tie(arg, axis, self.result, of_result, (offsets or {}).get(axis, 0))

    def _iota(self):
        pass

    def _broadcast_in_dim(self):
        axes = enumerate(self.params["broadcast_dimensions"])
        self.tie(self.args[0], {k: axis for k, axis in axes if self.shapes[0][k] == self.shape[axis]})

    def _transpose(self):
        self.tie(self.args[0], {axis: k for k, axis in enumerate(self.params["permutation"])})

    def _slice(self):
        starts, ends = self.params["start_indices"], self.params["limit_indices"]
        if any(step != 1 for step in self.params["strides"] or ()):
            raise Unsupported("takes every second entry of a tensor, or fewer")
        axes = range(len(self.shape))
        self.tie(self.args[0], {k: k for k in axes}, {k: -start for k, start in enumerate(starts)})
        return [(self.args[0], k, place) for k in axes for place in (starts[k], ends[k])]

    def _concatenate(self):
        axis, offset = self.params["dimension"], 0
        for arg, shape in zip(self.args, self.shapes, strict=True):
            self.tie(arg, {k: k for k in range(len(shape))}, {axis: offset})
            yield self.result, axis, offset
            offset += shape[axis]

    def _reshape(self):
        (arg,), (shape,) = self.args, self.shapes
        for old, new in axis_groups(shape, self.shape):
            if len(old) == len(new) == 1:
                self.tie(arg, {old[0]: new[0]})
                continue
            # Along all axes but the last, there are single entries.
            for variable, axes in ((arg, old), (self.result, new)):
                yield from (
                    (variable, axis, place) for axis in axes[:-1] for place in range(1, variable.aval.shape[axis])
                )
            size, width, length = math.prod(shape[k] for k in old), shape[old[-1]], self.shape[new[-1]]
            for offset in sorted({i - j for i in range(0, size, width) for j in range(0, size, length)}):
                if -width < offset < length:
                    self.cuts.tie(arg, old[-1], self.result, new[-1], offset)
                    yield arg, old[-1], -offset
                    yield self.result, new[-1], offset

    def _dot_general(self):
        product = Axes(self.params["dimension_numbers"], *self.shapes)
        x, y = self.args
        self.cuts.mixed += [(x, axis) for axis in product.x_summed]
        for a, b in zip([*product.x_summed, *product.x_batch], [*product.y_summed, *product.y_batch], strict=True):
            self.cuts.tie(x, a, y, b)
        self.tie(x, product.x_places)
        self.tie(y, product.y_places)
        for variable, axes in ((x, product.x_single), (y, product.y_single)):
            yield from ((variable, axis, place) for axis in axes for place in range(1, variable.aval.shape[axis]))


class Axes:
    """The axes of a product: those of its batch, those that are summed over, and the others, which are free.

    A product of tiles has one free axis of each and one sum. Along all other axes, tiles have single entries.

    Attributes:
        x_places, y_places: The axis of the result for each that is not summed.
        x_row, y_column, x_sum, y_sum: The axes of the product of tiles.
        x_single, y_single: Lists of the other axes.
    """

    def __init__(self, dimension_numbers, x_shape, y_shape):
        (self.x_summed, self.y_summed), (self.x_batch, self.y_batch) = dimension_numbers
        x_free = [k for k in range(len(x_shape)) if k not in (*self.x_summed, *self.x_batch)]
        y_free = [k for k in range(len(y_shape)) if k not in (*self.y_summed, *self.y_batch)]
        self.x_places = {axis: k for k, axis in enumerate([*self.x_batch, *x_free])}
        of_y = [*range(len(self.y_batch)), *range(len(self.x_places), len(self.x_places) + len(y_free))]
        self.y_places = dict(zip([*self.y_batch, *y_free], of_y, strict=True))
        longest = max(range(len(self.x_summed)), key=lambda k: x_shape[self.x_summed[k]])
        self.x_sum, self.y_sum = self.x_summed[longest], self.y_summed[longest]
        # The rows of a batch come first, the outputs of a weight last.
        self.x_row = next(k for k in x_free if x_shape[k] > 1)
        self.y_column = next(k for k in reversed(y_free) if y_shape[k] > 1)
        self.x_single = [k for k in range(len(x_shape)) if k not in (self.x_row, self.x_sum)]
        self.y_single = [k for k in range(len(y_shape)) if k not in (self.y_column, self.y_sum)]


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


# Computing.


class Tiled:
    """A function on tiles.

    Args:
        function, *args: As in `traced`.

    Attributes:
        inputs: List of the variables that it takes: its constants, and the tensors of `args`.
        constants: List of its constants.
        used: Set of the variables that it reads.
        outputs: List of the variables that it returns.
        results: Structure of the shapes and dtypes of its results.
    """

    def __init__(self, function, *args):
        jaxpr, self.results = traced(function, *args)
        self.constants, self.inputs = jaxpr.consts, [*jaxpr.jaxpr.constvars, *jaxpr.jaxpr.invars]
        self.outputs, self.equations = jaxpr.jaxpr.outvars, []
        self.used = {atom for atom in self.outputs if not isinstance(atom, Literal)}
        for equation in reversed(jaxpr.eqns):
            if self.used.intersection(equation.outvars):
                self.equations.insert(0, equation)
                self.used.update(atom for atom in equation.invars if not isinstance(atom, Literal))
        self.cuts = Cuts(self.equations)
        self._layouts = {}

    def layout(self, variable):
        if variable not in self._layouts:
            self._layouts[variable] = self.cuts.layout(variable)
        return self._layouts[variable]

    def __call__(self, values):
        """Returns the results, a list of dicts of tiles.

        Args:
            values: Dict of what has the tiles of the used inputs by their indices.
        """
        values = dict(values)

        def read(atom):
            return {(): atom.val} if isinstance(atom, Literal) else values[atom]

        for equation in self.equations:
            values[equation.outvars[0]] = dict(self._apply(equation, *map(read, equation.invars)))
        return list(map(read, self.outputs))

    def _apply(self, equation, *args):
        """Yields the tiles of a result, and their indices."""
        name = equation.primitive.name
        if name in ELEMENTWISE:
            rule = self._elementwise
        else:
            rule = self._reduce if name in REDUCTIONS else getattr(self, f"_{name}")
        layout = self.layout(equation.outvars[0])
        of_args = [None if isinstance(atom, Literal) else self.layout(atom) for atom in equation.invars]
        for index in layout.indices():
            yield index, rule(equation, index, layout, of_args, *args)

    def _elementwise(self, equation, index, layout, of_args, *args):
        shapes = [atom.aval.shape for atom in equation.invars]
        tiles = [arg[spread_over(shape, index)] for shape, arg in zip(shapes, args, strict=True)]
        return equation.primitive.bind(*tiles, **equation.params)

    def _iota(self, equation, index, layout, of_args):
        axis, dtype = equation.params["dimension"], equation.params["dtype"]
        return lax.broadcasted_iota(dtype, layout.tile(index), axis) + jnp.array(layout.starts(index)[axis], dtype)

    def _broadcast_in_dim(self, equation, index, layout, of_args, x):
        axes, (atom,) = equation.params["broadcast_dimensions"], equation.invars
        tile = x[spread_over(atom.aval.shape, [index[axis] for axis in axes])]
        return lax.broadcast_in_dim(jnp.asarray(tile, atom.aval.dtype), layout.tile(index), axes)

    def _transpose(self, equation, index, layout, of_args, x):
        permutation = equation.params["permutation"]
        return lax.transpose(x[tuple(index[permutation.index(k)] for k in range(len(index)))], permutation)

    def _slice(self, equation, index, layout, of_args, x):
        starts = map(sum, zip(layout.starts(index), equation.params["start_indices"], strict=True))
        return x[of_args[0].index(starts)]

    def _concatenate(self, equation, index, layout, of_args, *args):
        axis, starts = equation.params["dimension"], list(layout.starts(index))
        for atom, of_arg, arg in zip(equation.invars, of_args, args, strict=True):
            if starts[axis] < atom.aval.shape[axis]:
                return arg[of_arg.index(starts)]
            starts[axis] -= atom.aval.shape[axis]
        raise AssertionError

    def _reshape(self, equation, index, layout, of_args, x):
        place = np.ravel_multi_index(layout.starts(index), equation.outvars[0].aval.shape)
        of_arg = of_args[0].index(np.unravel_index(place, equation.invars[0].aval.shape))
        return lax.reshape(x[of_arg], layout.tile(index))

    def _reduce(self, equation, index, layout, of_args, x):
        axes, dtype, (of_arg,) = equation.params["axes"], equation.invars[0].aval.dtype, of_args
        name, combine = equation.primitive.name, REDUCTIONS[equation.primitive.name]
        least, most = (
            (-np.inf, np.inf) if jnp.issubdtype(dtype, jnp.inexact) else (jnp.iinfo(dtype).min, jnp.iinfo(dtype).max)
        )
        neutral = {"reduce_sum": 0, "reduce_max": least, "reduce_min": most}[name]
        kept, parts = iter(index), []
        wanted = [None if k in axes else next(kept) for k in range(len(of_arg.segments))]
        for where in of_arg.indices():
            if all(k in (None, at) for k, at in zip(wanted, where, strict=True)):
                tile = _masked(x[where], of_arg.lengths(where), axes, neutral)
                parts.append(equation.primitive.bind(tile, **equation.params))
        return functools.reduce(combine, parts)

    def _dot_general(self, equation, index, layout, of_args, x, y):
        of_x, of_y = of_args
        axes = Axes(equation.params["dimension_numbers"], *(atom.aval.shape for atom in equation.invars))
        dtype, total = equation.outvars[0].aval.dtype, None
        exact = jnp.promote_types(dtype, "float32")
        for summed in np.ndindex(*(len(of_x.segments[k]) for k in axes.x_summed)):
            x_index = axes_index(axes.x_places, index, axes.x_summed, summed)
            y_index = axes_index(axes.y_places, index, axes.y_summed, summed)
            a = _masked(x[x_index], of_x.lengths(x_index), axes.x_summed, 0)
            b = _masked(y[y_index], of_y.lengths(y_index), axes.y_summed, 0)
            part = _tile_product(
                a, axes.x_row, axes.x_sum, b, axes.y_column, axes.y_sum, exact, equation.params["precision"]
            )
            total = part if total is None else total + part
        return lax.convert_element_type(lax.reshape(total, layout.tile(index)), dtype)


def spread_over(shape, index):
    """Returns the index of the tile, of a tensor of this shape, that is spread over the one at `index` of a larger one."""
    return tuple(k if size > 1 else 0 for size, k in zip(shape, index, strict=False))


def axes_index(places, index, summed, of_summed):
    """Returns the index of a factor's tile, from that of the product and that of the axes that are summed."""
    found = {axis: index[place] for axis, place in places.items()} | dict(zip(summed, of_summed, strict=True))
    return tuple(found[axis] for axis in range(len(found)))


def _tile_product(x, row, x_sum, y, column, y_sum, dtype, precision):
    """Returns the product of two tiles, `[rows, columns]`, that have single entries along all other axes."""
    rows, columns, size = x.shape[row], y.shape[column], x.shape[x_sum]
    x = lax.reshape(x, (rows, size) if row < x_sum else (size, rows))
    y = lax.reshape(y, (columns, size) if column < y_sum else (size, columns))
    x_last, y_last = int(row < x_sum), int(column < y_sum)
    if min(rows, columns, size) > 1:
        numbers = ((x_last,), (y_last,)), ((), ())
        return lax.dot_general(x, y, numbers, precision=precision, preferred_element_type=dtype)
    x, y = x if x_last else x.T, y.T if y_last else y
    return jnp.sum(x.astype(dtype)[:, :, None] * y.astype(dtype)[None], axis=1)


def _masked(tile, lengths, axes, value):
    """Returns a tile with `value` in place of its padding along some axes."""
    for axis in axes:
        if lengths[axis] < tile.shape[axis]:
            inside = lax.broadcasted_iota("int32", tile.shape, axis) < lengths[axis]
            tile = lax.select(inside, tile, lax.full_like(tile, value))
    return tile
