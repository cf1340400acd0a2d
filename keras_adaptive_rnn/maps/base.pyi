"""What every linear map shares: its blocks, its place in a cell, and its prepared weights."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._saving import StoredByCell
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer

class LinearMap(StoredByCell, _arguments.Declared, keras.layers.Layer):
    """A linear map $y = x W$ for any leading axes. Subclasses define how $W$ is parameterized.

    The output is `blocks` concatenated pieces of `units` entries, one for each gate of a cell. If the gates of a cell
    read different vectors, as in a GRU that resets before the product, the blocks form groups: with `blocks=(2, 1)`,
    `map(x, 0)` returns the first two pieces and `map(x, 1)` the third.

    A map works by itself, as a layer, or inside a cell. A cell binds its map: it sets `units` and `blocks`, and the
    initializer, regularizer and constraint unless the map has its own. A bound map belongs to its cell.

    A subclass implements two methods: `build` creates the weights, and `prepare` turns them into what a sequence
    multiplies by. `prepare` runs once per sequence, outside the time loop, so casts, masks and normalizations of
    weights belong there. `product` multiplies, inside the loop. If every block reads a vector of its own,
    `product_per_block` does, with what `prepare_blocks` returns.

    Args:
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
    """

    units: int | None
    blocks: Any
    initializer: Any
    regularizer: Any
    constraint: Any
    weight_normalization: bool
    supports_masking: bool
    matrix_shapes: Any
    quantization_config: Any
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
        trainable: bool = True,
    ) -> None: ...
    def bind(
        self, owner: Any, name: Any, units: Any, initializer: Any, regularizer: Any = None, constraint: Any = None
    ) -> Any:
        """Binds the map to `owner`, a cell, which names it and sets whatever the map leaves open."""

    def build_blocks(self, blocks: Any, input_size: Any, init_groups: Any = None, per_block: bool = False) -> None:
        """Builds a bound map for the gates of its cell.

        `init_groups` tells how many blocks of a joint matrix each call of the initializer covers; `None` for one call
        for all blocks, as in Keras's cells. `per_block` tells that steps will call the map with `per_block=True`.
        """

    def like(self, *path: Any) -> Any:
        """Returns an unbound map like this one, with the random numbers of the place `path`, as in `fold_in`."""

    @property
    def where(self) -> Any:
        """The place of the map, for error messages: its path in the model once that is known, else its cell."""

    def check(self) -> None:
        """Raises `ValueError` if the arguments contradict each other. Called once `units` is known."""

    @property
    def group_slices(self) -> Any:
        """The range of blocks, as a slice, of each group."""

    def build(self, input_shape: Any) -> None: ...
    def add_kernel(self, name: Any, shape: Any, copies: int = 1) -> Any:
        """Creates a weight `[copies, *shape]`, each copy initialized by itself; `shape` if there is one copy.

        The map keeps it as an attribute of this name, and reads it with `matrix(name)`.
        """

    def matrix(self, name: Any) -> Any:
        """Returns the value of a weight made by `add_kernel`, in the compute dtype, dequantized if it is quantized."""

    @property
    def quantization_mode(self) -> Any:
        """`"int8"` or `"int4"` after `quantize`, else `None`. The dtype policy stays that of the cell."""

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Stores the matrices as integers, each with a scale for every column; they are no longer trained.

        `keras.Model.quantize` calls it on every map of a model. Products, activations, diagonals and gains stay
        floating-point.

        Args:
            mode: `"int8"` or `"int4"`. Defaults to `None`: that of `config`.
            type_check: Whether to refuse maps of other packages. Defaults to `True`.
            config: A `keras.quantizers.QuantizationConfig`. Of it, only the weights' part is used: `weight_quantizer`,
                and the `block_size` of int4. Defaults to `None`: that of `mode`.

        Raises:
            ValueError: The map is not built, or already quantized, or `mode` is unknown to Keras.
            NotImplementedError: `mode` is another one of Keras's, or the map is of another package.
        """

    def quantized_build(self, values: Any, mode: Any, config: Any = None) -> None:
        """Replaces each matrix by the weights `values[name]`, a dict of arrays by suffix."""

    def quantized_call(self, *args: Any, **kwargs: Any) -> Any: ...
    def add_gain(self, name: Any, kernel: Any) -> Any:
        """Creates the trained norms of the columns of `kernel`."""

    def normalized(self, kernel: Any, gain: Any = None) -> Any:
        """Returns `kernel` with its columns scaled to the norms `gain`, or to one."""

    def prepare(self, training: bool | None) -> None:
        """Returns what a sequence multiplies by: for each group, whatever `product` takes."""

    def prepare_blocks(self, training: bool | None) -> None:
        """Returns what `product_per_block` takes, with a leading axis of blocks in each tensor."""

    def narrow(self, prepared: Any, inputs: Any, units: Any) -> None:
        """Restricts one group of `prepare` to the first `inputs` inputs and the first `units` units of each block."""

    def product(self, inputs: Any, prepared: Any) -> Any:
        """Returns the product of `inputs` and one group of `prepare`."""

    def product_per_block(self, inputs: Any, prepared: Any) -> Any:
        """Returns `[blocks, rows, units]`, the product of each block with its own inputs, `[blocks, rows, inputs]`."""

    def draw_noise(self) -> Any:
        """Returns a dict of what is random in the weights, drawn once per sequence. Nothing by default."""

    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None:
        """Draws what is random in the weights, and prepares them unless `training` is unknown: see `Cell`."""

    def narrowed(self, inputs: Any, units: Any) -> Any:
        """Returns what the map would keep for the current sequence if it only had the first inputs and units."""

    @property
    def has_narrow(self) -> Any:
        """Whether the map implements `narrow`."""

    def prepared_blocks(self, training: bool | None) -> Any:
        """Returns what `prepare_blocks` returns, in the compute dtype."""

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any: ...
    def call(self, inputs: Any, group: int = 0, training: bool | None = False, per_block: bool = False) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
    def get_build_config(self) -> Any: ...
    def given(self, name: Any) -> Any: ...

class Each(keras.constraints.Constraint):
    """Applies a constraint to each of the matrices that are stored as one weight."""

    constraint: Any

    def __init__(self, constraint: Any) -> None: ...
    def __call__(self, w: Any) -> Any: ...

def narrow_blocks(matrix: Any, rows: Any, units: Any, narrow_units: Any) -> Any:
    """Returns the first `rows` rows of `matrix`, and the first `narrow_units` of every `units` columns."""
