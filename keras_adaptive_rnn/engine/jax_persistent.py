"""The time loop on JAX as one kernel for all steps, and its gradient as another.

Each program of a kernel runs the loop for a block of rows of the batch, and its states stay in registers. The kernels
are made from the step of the cell and from its `jax.vjp`, on tiles (`jax_tiles.py`): there is none for a cell in
particular. Where there is no GPU, Pallas interprets them.
"""

import itertools
from typing import Any, NamedTuple

import jax
from jax import lax
from jax import numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.engine.jax_products import Products, tapped_product
from keras_adaptive_rnn.engine.jax_tiles import Tiled, Unsupported

# A place where no step cuts. Tensors that are cut there along with the states have the same rows.
WITHIN_ROW = 0.5


def persistent_scan(bind, weights, carry, xs, interpret):
    """`deferred_scan` in one kernel, and its gradient in another.

    Args:
        bind, weights, carry, xs: As in `deferred_scan`.
        interpret: Whether Pallas interprets the kernels, on any device, instead of compiling them for a GPU.

    Raises:
        Unsupported: No kernel can run the step.
    """
    loop = PersistentLoop(bind, weights, carry, xs, interpret)
    differentiable = jax.custom_vjp(loop.run)
    differentiable.defvjp(loop.forward, loop.backward, symbolic_zeros=True)
    return differentiable(weights, carry, xs)


class PersistentLoop:
    """A loop and its gradient, as kernels.

    Args:
        bind, weights, carry, xs, interpret: As in `persistent_scan`.

    Attributes:
        weights, carry, x: Lists of shapes and dtypes: what one program of a kernel computes with.
    """

    def __init__(self, bind, weights, carry, xs, interpret):
        self.bind, self.interpret = bind, interpret
        self.structures = jax.tree.structure(carry), jax.tree.structure(xs)
        carry, xs = map(jax.tree.leaves, (carry, xs))
        self.batch = xs[0].shape[1]
        self.has_rows, self.reads = self._inspect(weights, carry, xs)
        self.weights = [
            _like(w, (tuning.BLOCK_ROWS, *w.shape[1:]) if rows else w.shape)
            for w, rows in zip(weights, self.has_rows, strict=True)
        ]
        self.carry = [_like(c, (tuning.BLOCK_ROWS, *c.shape[1:])) for c in carry]
        self.x = [_like(x, (tuning.BLOCK_ROWS, *x.shape[2:])) for x in xs]
        self._backward_steps = {}

    def _inspect(self, weights, carry, xs):
        """Returns for each weight whether it has a row for each of the batch, like a dropout mask, and is read."""
        tiled = Tiled(self.step, weights, carry, [_like(x, x.shape[1:]) for x in xs])
        constants, of_weights, of_batch = split(tiled.inputs, len(tiled.constants), len(weights))
        for variable in of_batch:
            tiled.cuts.cut(variable, 0, [WITHIN_ROW])

        def has_rows(variable, axis=0):
            return bool(variable.aval.shape) and tiled.cuts.has(variable, axis, WITHIN_ROW)

        if any(has_rows(variable, axis) for variable, axis in tiled.cuts.mixed):
            raise Unsupported("mixes the rows of a batch")
        if any(map(has_rows, constants)):
            raise Unsupported("reads tensors other than its inputs, its states and its weights")
        return list(map(has_rows, of_weights)), [variable in tiled.used for variable in of_weights]

    def divide(self, weights):
        """Returns two lists: the weights that all programs share, and those of which each has rows of its own."""
        pairs = list(zip(weights, self.has_rows, strict=True))
        return [w for w, rows in pairs if not rows], [w for w, rows in pairs if rows]

    def join(self, shared, own):
        shared, own = iter(shared), iter(own)
        return [next(own if rows else shared) for rows in self.has_rows]

    def unflatten(self, carry, xs):
        return map(jax.tree.unflatten, self.structures, (carry, xs))

    def step(self, weights, carry, x):
        """Returns the carry after a step and what the step returns, both as lists."""
        carry, x = self.unflatten(carry, x)
        return tuple(map(jax.tree.leaves, self.bind(weights, jnp.matmul)(carry, x)))

    def run(self, weights, carry, xs):
        """Returns what `lax.scan` does."""
        return self._run(weights, jax.tree.leaves(carry), jax.tree.leaves(xs), [])[0]

    def _run(self, weights, carry, xs, kept):
        """Returns what `run` does, and the entries `kept` of the carry after each step, in blocks."""

        def step(shared, own, carry, x):
            carry, ys = self.step(self.join(shared, own), carry, x)
            return carry, [*ys, *(carry[k] for k in kept)]

        tiled = Tiled(step, *self.divide(self.weights), self.carry, self.x)
        carry, xs = [in_blocks(c, 0) for c in carry], [in_blocks(x, 1) for x in xs]
        carry, ys = block_scan(tiled, *self._fixed(weights), carry, xs, interpret=self.interpret)
        ys, after = split(ys, len(ys) - len(kept))
        carry = jax.tree.unflatten(self.structures[0], [self._whole(c, 0) for c in carry])
        # A loop that returns only its last output has no `ys`.
        return (carry, self._whole(ys[0], 1) if ys else None), after

    def _fixed(self, weights):
        shared, own = self.divide(weights)
        return shared, [in_blocks(w, 0) for w in own]

    def _whole(self, x, axis):
        """Returns a tensor without blocks, which are along an axis."""
        x = x.reshape((*x.shape[:axis], -1, *x.shape[axis + 2 :]))
        return lax.slice_in_dim(x, 0, self.batch, axis=axis)

    # The gradient.

    def forward(self, weights, carry, xs):
        # Masks and counts have no gradient, and nobody asks for that of noise.
        weights, carry, xs = map(jax.tree.leaves, (weights, carry, xs))
        trained = [tuple(x.perturbed and _is_inexact(x.value) for x in each) for each in (weights, xs)]
        weights, carry, xs = ([x.value for x in each] for each in (weights, carry, xs))
        results, after = self._run(weights, carry, xs, self._backward_step(*trained).kept)
        # A residual is a structure of arrays: `None` and `()` hold none.
        return results, ([[() if each else None for each in flags] for flags in trained], weights, carry, xs, after)

    def backward(self, residuals, gradients):
        trained, weights, carry, xs, after = residuals
        step = self._backward_step(*(tuple(each is not None for each in flags) for flags in trained))
        d_carry, d_ys = map(jax.tree.leaves, gradients)
        d_carry = [in_blocks(_dense(d_carry[k]), 0, repeat=False) for k in step.states]
        d_ys = [in_blocks(_dense(d), 1, repeat=False) for d in d_ys]
        summed = [self.weights[k] for k in step.summed]
        sums = [jnp.zeros((d_carry[0].shape[0], *weight.shape), weight.dtype) for weight in summed]
        before = dict.fromkeys(range(len(carry)))
        before |= {k: Before(in_blocks(carry[k], 0), states) for k, states in zip(step.kept, after, strict=True)}
        xs = [*(in_blocks(x, 1) for x in xs), *before.values(), *d_ys]
        carry, ys = block_scan(
            step.tiled, *self._fixed(weights), [*d_carry, *sums], xs, reverse=True, interpret=self.interpret
        )

        d_carry, sums = split(carry, len(step.states))
        d_x, taps, factors = split(ys, len(step.read), len(step.products.taps))
        # The products of all blocks are those of one longer loop.
        taps, factors = ([x.reshape((-1, *x.shape[2:])) for x in each] for each in (taps, factors))
        d_weights = step.products.kernel_gradients(factors, taps)
        for k, total in zip(step.summed, sums, strict=True):
            d_weights[k] = self._whole(total, 0) if self.has_rows[k] else jnp.sum(total, axis=0)
        d_carry = dict(zip(step.states, (self._whole(d, 0) for d in d_carry), strict=True))
        d_xs = dict(zip(step.read, (self._whole(d, 1) for d in d_x), strict=True))
        return (
            list(map(d_weights.get, range(len(weights)))),
            *self.unflatten(map(d_carry.get, range(len(self.carry))), map(d_xs.get, range(len(self.x)))),
        )

    def _backward_step(self, *trained):
        if trained not in self._backward_steps:
            self._backward_steps[trained] = BackwardStep(self, *trained)
        return self._backward_steps[trained]


class BackwardStep:
    """A step of the gradient: from those of what a step of the loop returns to those of what it takes.

    Args:
        loop: `PersistentLoop`.
        weights, xs: Tuples of booleans: which of them have gradients.

    Attributes:
        states, read: Lists of the places of the entries of the carry, and of the inputs, that have gradients.
        products: `Products`. The gradients of their weights are formed after the loop.
        summed: List of the places of other weights that have gradients, which are summed in the loop.
        tiled: `Tiled` of the step.
        kept: List of the places of those entries of the carry before a step that it reads.
    """

    def __init__(self, loop, weights, xs):
        self.loop = loop
        self.states = [k for k, like in enumerate(loop.carry) if _is_inexact(like)]
        self.read = [k for k, trained in enumerate(xs) if trained]
        of_one_step = [_like(x, (1, *x.shape)) for x in loop.x]
        self.products = Products(loop.bind, loop.weights, *loop.unflatten(loop.carry, of_one_step), always=True)
        # Of those that no step reads, sums of zeros would take the registers.
        pairs = enumerate(zip(weights, loop.reads, strict=True))
        self.summed = [k for k, (trained, reads) in pairs if trained and reads and k not in self.products.places]
        ys = jax.eval_shape(loop.step, loop.weights, loop.carry, loop.x)[1]
        gradients = [*(loop.carry[k] for k in self.states), *(loop.weights[k] for k in self.summed)]
        self.tiled = Tiled(self.step, *loop.divide(loop.weights), gradients, [*loop.x, *loop.carry, *ys])
        before = self.tiled.inputs[-len(ys) - len(loop.carry) :]
        self.kept = [k for k in range(len(loop.carry)) if before[k] in self.tiled.used]

    def step(self, shared, own, gradients, xs):
        """Returns the next gradients of the carry and sums, and those of inputs and products, with their factors."""
        loop, weights = self.loop, self.loop.join(shared, own)
        x, carry, d_ys = split(xs, len(loop.x), len(loop.carry))
        d_carry, sums = split(gradients, len(self.states))

        def forward(taps, trained, states, inputs):
            now = replaced(weights, self.summed, trained)
            given = loop.unflatten(replaced(carry, self.states, states), replaced(x, self.read, inputs))
            results, factors = self.products.step(now, *given, tapped_product, taps)
            carry_after, y = map(jax.tree.leaves, results)
            return [*(carry_after[k] for k in self.states), *y], factors

        given = ([x[k] for k in places] for x, places in ((weights, self.summed), (carry, self.states), (x, self.read)))
        _, pull, factors = jax.vjp(forward, self.products.zeros(), *given, has_aux=True)
        d_taps, d_trained, d_states, d_x = pull([*d_carry, *d_ys])
        return [*d_states, *map(lax.add, sums, d_trained)], [*d_x, *d_taps, *factors]


# The kernel.


def block_scan(tiled, shared, own, carry, xs, *, reverse=False, interpret):
    """Returns `carry, ys` as `jax.vmap` of `lax.scan` over blocks does, from one kernel.

    Args:
        tiled: `Tiled` of a function of four lists, `(shared, own, carry, x)`, that returns two, `carry, ys`.
        shared: List of tensors that all blocks share.
        own: List of tensors `[blocks, ...]`.
        carry: List of tensors `[blocks, ...]`.
        xs: List of tensors `[time, blocks, ...]`, of `Before`, or of `None` for what the function does not read.
        reverse: Whether the last step comes first. Defaults to `False`.
        interpret: As in `persistent_scan`.
    """
    length, blocks = xs[0].shape[:2]
    shared = [*tiled.constants, *shared]
    shared_in, own_in, carry_in, xs_in = split(tiled.inputs, len(shared), len(own), len(carry))
    carry_out, ys_out = split(tiled.outputs, len(carry))
    for a, b in zip(carry_in, carry_out, strict=True):
        for axis in range(a.aval.ndim):
            tiled.cuts.tie(a, axis, b, axis)
    # Entries that end up equal are carried on once, and what a step returns twice is written once.
    stand_ins = [_stand_in(k, carry_out, [v in tiled.used for v in carry_in]) for k in range(len(carry))]
    carried, written = sorted(set(stand_ins)), list(dict.fromkeys(ys_out))

    operands = {}
    for variables, tensors, leading in (
        (shared_in, shared, ()),
        (own_in, own, (None,)),
        ([carry_in[k] for k in carried], [carry[k] for k in carried], (None,)),
        (xs_in, xs, (length, None)),
    ):
        for variable, x in zip(variables, tensors, strict=True):
            if variable in tiled.used or variable in carry_in:
                kind = BeforeOperand if isinstance(x, Before) else Operand
                operands[variable] = kind(tiled.cuts.layout(variable), leading, x)
    weights = [variable for variable in shared_in if variable in operands]
    fits = sum(operands[variable].nbytes for variable in weights) <= tuning.RESIDENT_BYTES
    before_loop = [*(weights if fits else ()), *(carry_in[k] for k in carried)]
    layouts = [tiled.cuts.layout(carry_in[k]) for k in carried]

    def kernel(*refs):
        left = iter(refs)
        read = {variable: [next(left) for _ in operand.arrays] for variable, operand in operands.items()}
        steps_out, last_out = split(list(left), len(written))

        def flat(states):
            return [tiles[index] for tiles, layout in zip(states, layouts, strict=True) for index in layout.indices()]

        def step(k, states):
            now, left = length - 1 - k if reverse else k, iter(states)
            values = {v: x.tiles(read[v], now) for v, x in operands.items() if v not in before_loop}
            values |= resident
            for j, layout in zip(carried, layouts, strict=True):
                values[carry_in[j]] = {index: next(left) for index in layout.indices()}
            states, ys = split(tiled(values), len(carry))
            for ref, variable in zip(steps_out, written, strict=True):
                for index in tiled.cuts.layout(variable).indices():
                    ref[(now, *tiled.cuts.layout(variable).slices(index))] = ys[ys_out.index(variable)][index]
            return flat(states[k] for k in carried)

        first = {v: {i: operands[v].tiles(read[v], 0)[i] for i in tiled.cuts.layout(v).indices()} for v in before_loop}
        resident = {v: first[v] for v in weights} if fits else {}
        last = iter(lax.fori_loop(0, length, step, flat(first[carry_in[k]] for k in carried)))
        for ref, layout in zip(last_out, layouts, strict=True):
            for index in layout.indices():
                ref[layout.slices(index)] = next(last)

    of_results = [((length, None), v) for v in written] + [((None,), carry_in[k]) for k in carried]
    results = pl.pallas_call(
        kernel,
        grid=(blocks,),
        in_specs=[spec for operand in operands.values() for spec in operand.specs],
        out_specs=[_spec(tiled.cuts.layout(v), leading) for leading, v in of_results],
        out_shape=[
            jax.ShapeDtypeStruct((*(n or blocks for n in leading), *tiled.cuts.layout(v).shape), v.aval.dtype)
            for leading, v in of_results
        ],
        interpret=interpret,
        # Without them, a kernel would be compiled for Mosaic.
        compiler_params=None if interpret else triton.CompilerParams(num_warps=tuning.KERNEL_WARPS, num_stages=1),
        name="persistent_backward" if reverse else "persistent_forward",
    )(*(array for operand in operands.values() for array in operand.arrays))
    results = [tiled.cuts.layout(v).gather(x) for (_, v), x in zip(of_results, results, strict=True)]
    by_step, last = split(results, len(written))
    return [last[carried.index(k)] for k in stand_ins], [by_step[written.index(v)] for v in ys_out]


class Operand:
    """A tensor that a kernel reads.

    Args:
        layout: Its `Layout`.
        leading: Its further axes: the number of steps, if there is one for each, and `None` for that of the blocks.
        x: The tensor.
    """

    def __init__(self, layout, leading, x):
        self.layout, self.leading, self.arrays = layout, leading, [layout.spread(x)]
        self.specs = [_spec(layout, leading)]

    @property
    def nbytes(self):
        return sum(array.size * array.dtype.itemsize for array in self.arrays)

    def tiles(self, refs, now):
        """Returns the `Tiles` of the step `now`."""
        (ref,) = refs
        time = [now] if len(self.leading) == 2 else []
        # Tiles of weights are read anew wherever they are used, as all together would not fit into registers.
        return Tiles(lambda index: ref[(*time, *self.layout.slices(index))], keeps=bool(self.leading))


class Before(NamedTuple):
    """Values before each step, of which those after each step are known.

    Attributes:
        first: Tensor `[blocks, ...]`, the value before the first step.
        after: Tensor `[time, blocks, ...]`.
    """

    first: Any
    after: Any


class BeforeOperand(Operand):
    """A `Before` that a kernel reads; its arguments are those of `Operand`."""

    def __init__(self, layout, leading, x):
        super().__init__(layout, leading, x.after)
        self.arrays.append(layout.spread(x.first))
        self.specs.append(_spec(layout, leading[1:]))

    def tiles(self, refs, now):
        after, first = refs

        def read(index):
            places = self.layout.slices(index)
            return lax.select(now > 0, after[(lax.max(now - 1, 0), *places)], first[places])

        return Tiles(read)


class Tiles(dict):
    """The tiles of a tensor in memory, read by their indices when they are asked for; once only if it `keeps` them."""

    def __init__(self, read, keeps=True):
        super().__init__()
        self.read, self.keeps = read, keeps

    def __missing__(self, index):
        tile = self.read(index)
        if self.keeps:
            self[index] = tile
        return tile


def _spec(layout, leading):
    """Returns which part of a tensor a program reads or writes; `leading` is as in `Operand`."""
    inner = layout.shape
    return pl.BlockSpec(
        (*leading, *inner), lambda block: (*(block if n is None else 0 for n in leading), *(0 for _ in inner))
    )


def _stand_in(k, results, is_read):
    """Returns the place of the entry of the carry that is carried on for the `k`th: one that ends up the same."""
    if is_read[k]:
        return k
    same = [j for j, result in enumerate(results) if result is results[k]]
    return next((j for j in same if is_read[j]), same[0])


# Rows and lists.


def in_blocks(x, axis, repeat=True):
    """Returns a tensor whose rows, along `axis`, are in blocks, `[..., blocks, rows, ...]`.

    Args:
        x: Tensor.
        axis: Integer.
        repeat: Whether the last row fills up the last block, rather than zeros. Defaults to `True`.
    """
    missing = -x.shape[axis] % tuning.BLOCK_ROWS
    if missing:
        last = lax.slice_in_dim(x, x.shape[axis] - 1, None, axis=axis)
        rows = jnp.repeat(last if repeat else jnp.zeros_like(last), missing, axis=axis)
        x = lax.concatenate([x, rows], axis)
    return x.reshape((*x.shape[:axis], -1, tuning.BLOCK_ROWS, *x.shape[axis + 1 :]))


def split(values, *sizes):
    """Returns lists of the first values, of these sizes, and one of the others."""
    left = iter(values)
    return [*(list(itertools.islice(left, size)) for size in sizes), list(left)]


def replaced(values, places, others):
    """Returns a list with `others` in some places."""
    values = list(values)
    for place, other in zip(places, others, strict=True):
        values[place] = other
    return values


def _like(x, shape):
    return jax.ShapeDtypeStruct(shape, x.dtype)


def _is_inexact(x):
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _dense(gradient):
    is_zero = isinstance(gradient, SymbolicZero)
    return jnp.zeros(gradient.aval.shape, gradient.aval.dtype) if is_zero else gradient
