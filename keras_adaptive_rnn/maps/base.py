"""The base of linear maps: blocks, the binding to a cell, and prepared weights."""

import itertools

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments, _run, initializers
from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn._precision import precise, precise_dtype
from keras_adaptive_rnn._saving import StoredByCell
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.quantization import Quantizable


class LinearMap(Quantizable, StoredByCell, _arguments.DeclaredArguments, keras.layers.Layer):
    r"""A linear map $y = x W$ for any leading axes. Subclasses define how $W$ is parameterized.

    The output is `blocks` concatenated pieces of `units` entries, one for each gate of a cell. If the gates of a cell
    read different vectors, as in a GRU that resets before the product, the blocks form groups: with `blocks=(2, 1)`,
    `map(x, run, 0)` returns the first two pieces and `map(x, run, 1)` the third.

    A map works by itself, as a layer, or inside a cell. A cell binds its map: it sets `units` and `blocks`, and the
    initializer, regularizer and constraint unless the map has its own. A bound map belongs to its cell.

    A subclass implements two methods: `build` creates the weights, and `prepare` turns them into what a sequence
    multiplies by. `prepare` runs once per sequence, outside the time loop, so casts, masks and normalizations of
    weights belong there. `product` multiplies, inside the loop, with `run.matmul`. `product_per_block` does the same if
    each block has its own input, with what `prepare_blocks` returns.

    Args:
        units: Positive integer, size of one output block; `None` leaves it to the cell.
        blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
        initializer: Initializer of the weights, as in `keras.initializers.get`. Defaults to `None`: the initializer of
            the cell, or `"glorot_uniform"` without a cell.
        regularizer: Regularizer of the weights. Defaults to `None`: the regularizer of the cell.
        constraint: Constraint of the weights. Defaults to `None`: the constraint of the cell. It applies to each matrix
            of the equations, `[inputs, outputs]`, even if several are stored as one weight.
        weight_normalization: Whether each column of a matrix is $g\, v / \lVert v \rVert$ with learned $g$ and $v$;
            $g$ is initialized to $\lVert v \rVert$. Defaults to `False`.
        name, dtype, trainable: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., blocks * units]`.
    """

    # For `step_model`: it reads the last axis alone.
    is_time_distributed = True

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
        self._init_groups = None
        self._per_block = False
        # The shape of each matrix, by the name of its weight, which is that of its attribute too.
        self.matrix_shapes = {}

    @staticmethod
    def _groups(blocks):
        groups = blocks if isinstance(blocks, (tuple, list)) else (blocks,)
        return tuple(_arguments.integer("blocks", group) for group in groups)

    def bind(self, owner, name, units, initializer, regularizer=None, constraint=None):
        """Binds the map to `owner`, a cell, which names it and sets whatever the map leaves open."""
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

    def build_blocks(self, blocks, input_size, init_groups=None, per_block=False):
        """Builds a bound map for the gates of its cell.

        `init_groups` holds the number of blocks of a joint matrix that each call of the initializer covers; `None` for
        one call for all blocks, as in Keras's cells. With `per_block`, steps may call the map with `per_block=True`.
        """
        self.blocks = self._groups(blocks)
        self._init_groups = init_groups
        self._per_block = per_block
        self.build((None, input_size))

    def like(self, *path):
        """Returns an unbound map like this one, with the random numbers of the place `path`, as in `fold_in`."""
        config = self.get_config()
        for name, value in config.items():
            if name == "seed":
                config[name] = fold_in(value, *path)
            elif name.endswith("initializer"):
                config[name] = initializers.reseeded(value, *path)
        return type(self).from_config(config)

    @property
    def where(self):
        """The place of the map, for error messages: its path in the model once that is known, else its cell."""
        if self.path:
            return f"'{self.path}'"
        return f"`{self.name}` of {self._bound_to}" if self._bound_to else f"'{self.name}'"

    def check(self):
        """Raises `ValueError` if the arguments contradict each other. Called once `units` is known."""

    @property
    def group_slices(self):
        """The range of blocks, as a slice, of each group."""
        starts = itertools.accumulate(self.blocks, initial=0)
        return [slice(a, b) for a, b in itertools.pairwise(starts)]

    def by_group(self, columns):
        """Returns the columns of each group, of `[rows, blocks * units]`."""
        if len(self.blocks) == 1:
            return [columns]
        return [columns[:, s.start * self.units : s.stop * self.units] for s in self.group_slices]

    def build(self, input_shape):
        if self.units is None:
            raise ValueError(
                f"Argument `units` must be a positive integer. Received: {type(self).__name__}(units=None)"
            )
        if self._bound_to is None:
            self.check()
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: input_shape[-1]})

    def add_kernel(self, name, shape, copies=1):
        """Creates a weight `[copies, *shape]`, each copy initialized by itself; `shape` if there is one copy.

        The map keeps it as an attribute of this name, and reads it with `matrix(name)`.
        """

        # Factors of one shape must not start out equal.
        initializer = initializers.reseeded(self.initializer or "glorot_uniform", "weight", len(self.weights))

        def draw(full_shape, dtype=None):
            # An orthogonal matrix cannot be computed in half precision.
            wide = precise_dtype(dtype)
            drawn = [initializers.reseeded(initializer, "block", k)(shape, dtype=wide) for k in range(copies)]
            return ops.cast(ops.reshape(ops.stack(drawn), full_shape), dtype)

        self.matrix_shapes[name] = shape if copies == 1 else (copies, *shape)
        return self.add_weight(
            name=name,
            shape=self.matrix_shapes[name],
            initializer=draw,
            regularizer=self.regularizer,
            constraint=self.constraint if copies == 1 or self.constraint is None else Each(self.constraint),
        )

    def matrix(self, name, run=_run.Run()):  # noqa: B008 - It never changes.
        """Returns the value of a weight made by `add_kernel`, in the compute dtype, dequantized if it is quantized."""
        prepared = run.prepared_by(self).get("matrices", {}).get(name)
        if prepared is not None:
            return prepared
        return ops.cast(self.dequantized(name) if self.quantization_mode else getattr(self, name), self.compute_dtype)

    def add_gain(self, name, kernel):
        """Creates the trained norms of the columns of `kernel`."""

        def norms(shape, dtype=None):
            return ops.cast(ops.norm(ops.convert_to_tensor(kernel), axis=-2), dtype)

        return self.add_weight(name=name, shape=(*kernel.shape[:-2], kernel.shape[-1]), initializer=norms)

    def normalized(self, kernel, gain=None):
        """Returns `kernel` with its columns scaled to the norms `gain`, or to one."""
        wide = precise(kernel)
        # A column of zeros remains zero.
        wide = wide * ops.rsqrt(ops.clip(ops.sum(ops.square(wide), axis=-2, keepdims=True), 1e-24, np.inf))
        if gain is not None:
            wide = wide * ops.expand_dims(precise(gain), -2)
        return ops.cast(wide, kernel.dtype)

    def prepare(self, run):
        """Returns what a sequence multiplies by: for each group, whatever `product` takes."""
        raise NotImplementedError

    def prepare_blocks(self, run):
        """Returns what `product_per_block` takes, with a leading axis of blocks in each tensor."""
        raise NotImplementedError

    def narrow(self, prepared, inputs, units):
        """Restricts one group of `prepare` to the first `inputs` inputs and the first `units` units of each block."""
        raise NotImplementedError

    def product(self, inputs, prepared, run):
        """Returns the product of `inputs` and one group of `prepare`."""
        return run.matmul(inputs, prepared)

    def product_per_block(self, inputs, prepared, run):
        """Returns `[blocks, rows, units]`, the product of each block with its own inputs, `[blocks, rows, inputs]`."""
        return run.matmul(inputs, prepared)

    def draw_noise(self, run):
        """Returns a dict of what is random in the weights, drawn once per sequence. Nothing by default."""
        return {}

    def prepare_sequence(self, batch_size, run):
        """Draws what is random in the weights, and prepares them if all is known that they depend on: see `Cell`."""
        prepared = {}
        if self.quantization_mode:
            prepared["matrices"] = {name: self.matrix(name) for name in self.matrix_shapes}
        if run.training is not False:
            prepared |= self.draw_noise(run)
        is_noisy = type(self).draw_noise is not LinearMap.draw_noise
        if run.prepares_weights and (run.training is not None or not is_noisy):
            run = run.changed(prepared={self: prepared})
            prepared = {**prepared, "groups": self._prepare(run)}
            if self._per_block:
                prepared["blocks"] = self._prepare_per_block(run)
        return prepared

    def narrowed(self, inputs, units, run):
        """Returns what the map would prepare if it only had the first inputs and units."""
        return {"groups": [self.narrow(group, inputs, units) for group in run.prepared_by(self)["groups"]]}

    @property
    def has_narrow(self):
        """Whether the map implements `narrow`."""
        return type(self).narrow is not LinearMap.narrow

    def _prepare(self, run):
        with AutocastScope(self.compute_dtype):
            return self.prepare(run)

    def _prepare_per_block(self, run):
        blocks = self.prepared_blocks(run)
        return [
            tree.map_structure(lambda t, group=group: None if t is None else t[group], blocks)
            for group in self.group_slices
        ]

    def prepared_blocks(self, run):
        """Returns what `prepare_blocks` returns, in the compute dtype."""
        with AutocastScope(self.compute_dtype):
            return self.prepare_blocks(run)

    def __call__(self, inputs, *args, **kwargs):
        # Cells call their maps in every time step, and Keras's bookkeeping takes longer than a small product.
        if self._bound_to is not None and self.built:
            return self.call(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, run=None, group=0, per_block=False, training=None):
        if run is None:
            if self._bound_to is not None:
                # Without noise, and with the weights of another layer in a deep stack.
                raise TypeError(f"Map {self.where} was called without the `run` of its cell's step: `map(x, run)`.")
            run = _run.current(training)
        prepared = run.prepared_by(self).get("blocks" if per_block else "groups")
        if prepared is None:
            # An engine knows what has been prepared for a loop, and multiplies by nothing else.
            run = run.changed(matmul_impl=None)
            prepared = self._prepare_per_block(run) if per_block else self._prepare(run)
        prepared = prepared[group]
        if not per_block:
            return self.product(inputs, prepared, run)
        # `[..., blocks, inputs]`: one batched product for all blocks.
        *leading, blocks, size = ops.shape(inputs)
        flat = ops.transpose(ops.reshape(inputs, (-1, blocks, size)), (1, 0, 2))
        outputs = ops.transpose(self.product_per_block(flat, prepared, run), (1, 0, 2))
        return ops.reshape(outputs, (*leading, blocks * self.units))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units * self.blocks[0])

    def get_build_config(self):
        # The cell builds a bound map. Keras must not build it while it loads the cell: it has no units yet.
        return None if self._bound_to is not None else super().get_build_config()

    def config_value(self, name):
        return self._open[name] if self._bound_to is not None and name in self._open else super().config_value(name)


class Each(keras.constraints.Constraint):
    """Applies a constraint to each of the matrices that are stored as one weight."""

    def __init__(self, constraint):
        self.constraint = constraint

    def __call__(self, w):
        return ops.stack([self.constraint(w[k]) for k in range(w.shape[0])])


def narrow_blocks(matrix, rows, units, narrow_units):
    """Returns the first `rows` rows of `matrix`, and the first `narrow_units` of every `units` columns."""
    blocks = ops.reshape(matrix[:rows], (rows, -1, units))[..., :narrow_units]
    return ops.reshape(blocks, (rows, -1))
