"""What every linear map shares: its blocks, its place in a cell, and its weights of one sequence."""

import contextlib
from collections.abc import Generator
from typing import Any

import keras

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer

class LinearMap(keras.layers.Layer):
    """A linear map $y = x W$ for any leading axes; subclasses say how $W$ is parameterised.

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
        weight_normalization: Whether each column of a matrix is $g\\, v / \\lVert v \\rVert$, with $g$ and $v$ learned;
            $g$ starts as $\\lVert v \\rVert$. Defaults to `False`.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    units: int | None
    blocks: Any
    initializer: Any
    regularizer: Any
    constraint: Any
    weight_normalization: bool
    supports_masking: bool
    name: Any
    dtype_policy: Any
    input_spec: Any

    def __init__(
        self,
        units: int | None = None,
        blocks: int | tuple[int, ...] = 1,
        initializer: Initializer = None,
        regularizer: Regularizer = None,
        constraint: Constraint = None,
        weight_normalization: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A linear map $y = x W$ for any leading axes; subclasses say how $W$ is parameterised.

        Args:
            units: Positive integer, entries of one output block; `None` leaves it to the cell.
            blocks: Positive integer, or a tuple of them (groups). Defaults to `1`.
            initializer: Initializer of the weights, as in `keras.initializers.get`. `None` (default) takes the
                cell's, or `"glorot_uniform"` where there is no cell.
            regularizer: Regularizer of the weights. Defaults to `None`, the cell's.
            constraint: Constraint of the weights. Defaults to `None`, the cell's. It is applied to each matrix as
                it stands in the equations, `[inputs, outputs]`, also where several are stored as one weight.
            weight_normalization: Whether each column of a matrix is $g\\, v / \\lVert v \\rVert$, with $g$ and $v$
                learned; $g$ starts as $\\lVert v \\rVert$. Defaults to `False`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def bind(
        self, owner: Any, name: Any, units: Any, initializer: Any, regularizer: Any = None, constraint: Any = None
    ) -> Any:
        """Gives the map to `owner`, a cell, which names it and decides all that the map leaves open."""

    def build_blocks(self, blocks: Any, input_size: Any, drawn: Any = None, apart: bool = False) -> None:
        """Builds a bound map for the gates of its cell.

        `drawn` says how many blocks each draw of the initializer covers, where they are stored as one matrix; `None`
        for one draw for all, as Keras's cells have it. `apart` says that a step will call the map with `each=True`.
        """

    def check(self) -> None:
        """Raises `ValueError` if the arguments contradict each other; called once `units` is known."""

    @property
    def group_slices(self) -> Any:
        """The range of blocks, as a slice, of each group."""

    def build(self, input_shape: Any) -> None: ...
    def add_kernel(self, name: Any, shape: Any, copies: int = 1) -> Any:
        """Makes a weight `[copies, *shape]`, each copy drawn by itself, or `shape` where there is one copy."""

    def add_gain(self, name: Any, kernel: Any) -> Any:
        """Makes the trained norms of the columns of `kernel`."""

    def normalized(self, kernel: Any, gain: Any = None) -> Any:
        """Returns `kernel` with columns of norm `gain`, or one."""

    def prepare(self, training: bool | None) -> None:
        """Returns what one sequence multiplies by: for each group, anything that `product` understands."""

    def prepare_blocks(self, training: bool | None) -> None:
        """Returns what `product` multiplies by where a block stands alone, each tensor with an axis of blocks first."""

    def narrow(self, prepared: Any, inputs: Any, units: Any) -> None:
        """Returns one group of `prepare` for the first inputs and the first units of each block alone."""

    def product(self, inputs: Any, prepared: Any) -> Any:
        """Returns the product of `inputs` and one group of `prepare`."""

    def product_each(self, inputs: Any, prepared: Any) -> Any:
        """Returns `[blocks, rows, units]`, each block's product with inputs of its own, `[blocks, rows, inputs]`."""

    def draw_noise(self) -> None:
        """Draws what is random in the weights, once for a sequence. Nothing by default."""

    def start_sequence(self, training: bool | None) -> None:
        """Called by the cell before a sequence. `training=None`: not known yet, draw but do not prepare."""

    def prepare_narrow(self, sizes: Any) -> None:
        """Called after `start_sequence` by a cell that will use a part: `_sequence.narrowed(k)` is that of `sizes[k]`.

        Args:
            sizes: List of pairs `(inputs, units)`.
        """

    @property
    def narrows(self) -> Any:
        """Whether the map has a `narrow`."""

    def end_sequence(self) -> None:
        """Called by the cell after a sequence."""

    def prepared_blocks(self, training: bool | None) -> Any:
        """Returns what `prepare_blocks` does, for a cell that asks itself."""

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any: ...
    def call(self, inputs: Any, group: int = 0, training: bool | None = False, each: bool = False) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
    def get_build_config(self) -> Any: ...
    def get_config(self) -> dict[str, Any]: ...

class Each(keras.constraints.Constraint):
    """A constraint on each of the matrices that are stored as one weight."""

    constraint: Any

    def __init__(self, constraint: Any) -> None: ...
    def __call__(self, w: Any) -> Any: ...

class Sequence:
    """What a map keeps for the length of a sequence; a plain object, so that Keras does not track its tensors.

    `given` holds masks to use in place of drawn ones, by the name of their rate, and outlives the sequence: tests put
    the same mask on every backend.
    """

    given: Any

    def __init__(self) -> None: ...
    prepared: Any
    prepared_each: Any
    narrow: Any
    mask: Any

    def clear(self) -> None: ...
    @contextlib.contextmanager
    def narrowed(self, k: Any) -> Generator[None]:
        """Within this context, what is prepared is the `k`-th of the narrow forms."""

def narrow_blocks(matrix: Any, rows: Any, units: Any, narrow_units: Any) -> Any:
    """Returns the first rows, and of each block of `units` columns the first ones, of `[rows, blocks * units]`."""
