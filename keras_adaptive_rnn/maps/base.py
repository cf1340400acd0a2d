"""What every linear map shares: its blocks, its place in a cell, and its weights of one sequence."""

import contextlib
import itertools

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, initializers
from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn._products import matmul, override_matmul
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer


class LinearMap(_arguments.Declared, keras.layers.Layer):
    r"""A linear map $y = x W$ for any leading axes; subclasses say how $W$ is parameterised.

    The output is `blocks` joined pieces of `units` entries, one for each gate of a cell. A cell whose gates read
    different vectors (a GRU that resets before the product) asks for groups of blocks: with `blocks=(2, 1)`,
    `map(x, 0)` gives the first two pieces and `map(x, 1)` the third.

    A map works alone, as a layer, or inside a cell. A cell binds the map that it is given: it fills in `units`,
    `blocks`, and the initializer, regularizer and constraint where the map has none of its own. A bound map belongs to
    its cell.

    A subclass writes two methods: `build`, which makes the weights, and `prepare`, which turns them into what one
    sequence multiplies by. `prepare` runs once a sequence, outside the time loop, so casts, masks and normalisations
    of weights belong there. `product` multiplies, inside the loop; where every block reads a vector of its own,
    `product_each` does, by what `prepare_blocks` returns.

    Args:
        units: Positive integer, entries of one output block; `None` leaves it to the cell.
        blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
        initializer: Initializer of the weights, as in `keras.initializers.get`. `None` (default) takes the cell's, or
            `"glorot_uniform"` where there is no cell.
        regularizer: Regularizer of the weights. Defaults to `None`, the cell's.
        constraint: Constraint of the weights. Defaults to `None`, the cell's. It is applied to each matrix as it stands
            in the equations, `[inputs, outputs]`, also where several are stored as one weight.
        weight_normalization: Whether each column of a matrix is $g\, v / \lVert v \rVert$, with $g$ and $v$ learned;
            $g$ starts as $\lVert v \rVert$. Defaults to `False`.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    def __init__(
        self,
        units: int | None = None,
        blocks: int | tuple[int, ...] = 1,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        constraint: Constraint = None,
        weight_normalization: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units, optional=True)
        self.blocks = self._groups(blocks)
        self.initializer = _arguments.resolve("initializer", initializer, initializers.get)
        self.regularizer = _arguments.resolve("regularizer", regularizer, keras.regularizers.get)
        self.constraint = _arguments.resolve("constraint", constraint, keras.constraints.get)
        self.weight_normalization = _arguments.boolean("weight_normalization", weight_normalization)
        self.supports_masking = True
        self._bound_to = None
        self._drawn = None
        self._apart = False
        self._sequence = Sequence()

    @staticmethod
    def _groups(blocks):
        groups = blocks if isinstance(blocks, (tuple, list)) else (blocks,)
        return tuple(_arguments.integer("blocks", group) for group in groups)

    def bind(self, owner, name, units, initializer, regularizer=None, constraint=None):
        """Gives the map to `owner`, a cell, which names it and decides all that the map leaves open."""
        if self._bound_to is not None:
            raise ValueError(
                f"a map belongs to one cell, and this {type(self).__name__} belongs to {self._bound_to}; make another"
            )
        if self.units not in (None, units):
            raise ValueError(f"a map inside a cell takes its `units` from the cell, here {units}, not {self.units}")
        names = ("units", "blocks", "initializer", "regularizer", "constraint")
        self._open = {name: getattr(self, name) for name in names}
        self._bound_to = f"{type(owner).__name__} '{owner.path or owner.name}'"
        self.name = name
        self.units = units
        self.initializer = self.initializer or initializer
        self.regularizer = self.regularizer or regularizer
        self.constraint = self.constraint or constraint
        self.dtype_policy = owner.dtype_policy
        self.check()
        return self

    def build_blocks(self, blocks, input_size, drawn=None, apart=False):
        """Builds a bound map for the gates of its cell.

        `drawn` says how many blocks each draw of the initializer covers, where they are stored as one matrix; `None`
        for one draw for all, as Keras's cells have it. `apart` says that a step will call the map with `each=True`.
        """
        self.blocks = self._groups(blocks)
        self._drawn = drawn
        self._apart = apart
        self.build((None, input_size))

    @property
    def where(self):
        """The place of the map, for error messages: its path in the model once that is known, else its cell."""
        if self.path:
            return f"'{self.path}'"
        return f"`{self.name}` of {self._bound_to}" if self._bound_to else f"'{self.name}'"

    def check(self):
        """Raises `ValueError` if the arguments contradict each other; called once `units` is known."""

    @property
    def group_slices(self):
        """The range of blocks, as a slice, of each group."""
        starts = itertools.accumulate(self.blocks, initial=0)
        return [slice(a, b) for a, b in itertools.pairwise(starts)]

    def build(self, input_shape):
        if self.units is None:
            raise ValueError(
                f"Argument `units` must be a positive integer. Received: {type(self).__name__}(units=None)"
            )
        if self._bound_to is None:
            self.check()
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: input_shape[-1]})

    def add_kernel(self, name, shape, copies=1):
        """Makes a weight `[copies, *shape]`, each copy drawn by itself, or `shape` where there is one copy."""

        # A weight after the first, and a copy after the first, draws anew: factors of one shape must not start equal.
        first = 1000 * len(self.weights)
        initializer = self.initializer or "glorot_uniform"

        def draw(full_shape, dtype=None):
            drawn = [initializers.reseeded(initializer, first + k)(shape, dtype=dtype) for k in range(copies)]
            return ops.reshape(ops.stack(drawn), full_shape)

        return self.add_weight(
            name=name,
            shape=shape if copies == 1 else (copies, *shape),
            initializer=draw,
            regularizer=self.regularizer,
            constraint=self.constraint if copies == 1 or self.constraint is None else Each(self.constraint),
        )

    def add_gain(self, name, kernel):
        """Makes the trained norms of the columns of `kernel`."""

        def norms(shape, dtype=None):
            return ops.cast(ops.norm(ops.convert_to_tensor(kernel), axis=-2), dtype)

        return self.add_weight(name=name, shape=(*kernel.shape[:-2], kernel.shape[-1]), initializer=norms)

    def normalized(self, kernel, gain=None):
        """Returns `kernel` with columns of norm `gain`, or one."""
        # Squares of half precision would overflow or vanish. A column of zeros stays one.
        wide = ops.cast(kernel, "float32")
        wide = wide * ops.rsqrt(ops.maximum(ops.sum(ops.square(wide), axis=-2, keepdims=True), 1e-24))
        if gain is not None:
            wide = wide * ops.expand_dims(ops.cast(gain, "float32"), -2)
        return ops.cast(wide, kernel.dtype)

    def prepare(self, training):
        """Returns what one sequence multiplies by: for each group, anything that `product` understands."""
        raise NotImplementedError

    def prepare_blocks(self, training):
        """Returns what `product` multiplies by where a block stands alone, each tensor with an axis of blocks first."""
        raise NotImplementedError

    def narrow(self, prepared, inputs, units):
        """Returns one group of `prepare` for the first inputs and the first units of each block alone."""
        raise NotImplementedError

    def product(self, inputs, prepared):
        """Returns the product of `inputs` and one group of `prepare`."""
        return matmul(inputs, prepared)

    def product_each(self, inputs, prepared):
        """Returns `[blocks, rows, units]`, each block's product with inputs of its own, `[blocks, rows, inputs]`."""
        return matmul(inputs, prepared)

    def draw_noise(self):
        """Draws what is random in the weights, once for a sequence. Nothing by default."""

    def start_sequence(self, training):
        """Called by the cell before a sequence. `training=None`: not known yet, draw but do not prepare."""
        if training is not False:
            self.draw_noise()
        if training is not None:
            self._sequence.prepared = self._prepare(training)
            if self._apart:
                self._sequence.prepared_each = self._prepare(training, each=True)

    def prepare_narrow(self, sizes):
        """Called after `start_sequence` by a cell that will use a part: `_sequence.narrowed(k)` is that of `sizes[k]`.

        Args:
            sizes: List of pairs `(inputs, units)`.
        """
        prepared = self._sequence.prepared
        self._sequence.narrow = [[self.narrow(group, *size) for group in prepared] for size in sizes]

    @property
    def narrows(self):
        """Whether the map has a `narrow`."""
        return type(self).narrow is not LinearMap.narrow

    def end_sequence(self):
        """Called by the cell after a sequence."""
        self._sequence.clear()

    def _prepare(self, training, each=False):
        if each:
            blocks = self.prepared_blocks(training)
            return [
                tree.map_structure(lambda t, group=group: None if t is None else t[group], blocks)
                for group in self.group_slices
            ]
        with AutocastScope(self.compute_dtype):
            return self.prepare(training)

    def prepared_blocks(self, training):
        """Returns what `prepare_blocks` does, for a cell that asks itself."""
        with AutocastScope(self.compute_dtype):
            return self.prepare_blocks(training)

    def __call__(self, inputs, *args, **kwargs):
        # A cell calls its maps in every time step, where Keras's bookkeeping would cost more than a small product.
        if self._bound_to is not None and self.built:
            return self.call(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, group=0, training=False, each=False):
        prepared = self._sequence.prepared_each if each else self._sequence.prepared
        if prepared is not None:
            return self._apply(inputs, prepared[group], each)
        with override_matmul(None):
            return self._apply(inputs, self._prepare(training, each)[group], each)

    def _apply(self, inputs, prepared, each):
        if not each:
            return self.product(inputs, prepared)
        # `[..., blocks, inputs]`: one batched product for all blocks.
        *leading, blocks, size = ops.shape(inputs)
        flat = ops.transpose(ops.reshape(inputs, (-1, blocks, size)), (1, 0, 2))
        outputs = ops.transpose(self.product_each(flat, prepared), (1, 0, 2))
        return ops.reshape(outputs, (*leading, blocks * self.units))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units * self.blocks[0])

    def get_build_config(self):
        # The cell builds a bound map: built while the cell is being loaded, it would have no units yet.
        return None if self._bound_to is not None else super().get_build_config()

    def get_config(self):
        config = super().get_config()
        if self._bound_to is not None:
            config |= {name: _arguments.serialize(value) for name, value in self._open.items()}
        return config


class Each(keras.constraints.Constraint):
    """A constraint on each of the matrices that are stored as one weight."""

    def __init__(self, constraint):
        self.constraint = constraint

    def __call__(self, w):
        return ops.stack([self.constraint(w[k]) for k in range(w.shape[0])])


class Sequence:
    """What a map keeps for the length of a sequence; a plain object, so that Keras does not track its tensors.

    `given` holds masks to use in place of drawn ones, by the name of their rate, and outlives the sequence: tests put
    the same mask on every backend.
    """

    def __init__(self):
        self.given = {}
        self.clear()

    def clear(self):
        self.prepared = None
        self.prepared_each = None
        self.narrow = None
        self.mask = None

    @contextlib.contextmanager
    def narrowed(self, k):
        """Within this context, what is prepared is the `k`-th of the narrow forms."""
        whole, self.prepared = self.prepared, self.narrow[k]
        try:
            yield
        finally:
            self.prepared = whole


def narrow_blocks(matrix, rows, units, narrow_units):
    """Returns the first rows, and of each block of `units` columns the first ones, of `[rows, blocks * units]`."""
    blocks = ops.reshape(matrix[:rows], (rows, -1, units))[..., :narrow_units]
    return ops.reshape(blocks, (rows, -1))
