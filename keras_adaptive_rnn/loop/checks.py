"""Errors about a recurrent layer, its cell and its input, with advice on how to fix them."""

import keras

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._keras import enclosing_layers
from keras_adaptive_rnn.cells.bases.any_cell import check_is_cell
from keras_adaptive_rnn.cells.bases.cell import Cell, known_shape

MASK_OF_LENGTHS = "mask = keras.ops.arange(x.shape[1]) < keras.ops.reshape(lengths, (-1, 1))"


def check_subclass(cls):
    """Raises an error if a subclass of `RNN` overrides a method of Keras's class that is never called."""
    if "inner_loop" in vars(cls):
        raise TypeError(
            f"`{cls.__name__}.inner_loop` would never run, as the layer has a time loop of its own: override "
            "`call`, or derive the class from `keras.layers.RNN`."
        )


def check_decisions(layer):
    """Raises an error if a layer is to return decisions, and no cell makes any."""
    rule = "Argument `return_decisions` must be False unless a cell decides how much to compute, like `SkipCell`"
    fits = layer.runner.deciding or not layer.return_decisions
    _arguments.check(fits, rule, return_decisions=layer.return_decisions, cell=layer.cell)


def check_cells(cell):
    """Raises an error unless `cell` is a recurrent cell, or a list of them, none of them twice."""
    cells = cell if isinstance(cell, (list, tuple)) else [cell]
    for each in cells:
        check_is_cell("cell", each)
    rule = (
        "Argument `cell` must be a cell or a list of cells, none of them twice, so that each has its own weights; "
        "create a new cell for every layer of the stack"
    )
    _arguments.check(cells and len({id(each) for each in cells}) == len(cells), rule, cell=cell)


def check_sequences(layer, sequences, has_lengths):
    """Raises an error unless `sequences` is one tensor of a rank that the layer takes; `lengths` are no argument."""
    recipe = engine.padding_recipe(sequences) or _padding_recipe(sequences)
    if recipe or has_lengths:
        raise TypeError(
            f"Layer '{layer.name}' expected a tensor (batch, time, features), and a mask if lengths are unequal. "
            f"Received: {'`lengths`' if has_lengths else type(sequences).__name__}. To pad and mask:\n\n"
            + "".join(f"    {line}\n" for line in [*(recipe or [MASK_OF_LENGTHS]), "layer(x, mask=mask)"])
        )
    if isinstance(sequences, (list, tuple)):
        raise TypeError(
            f"Layer '{layer.name}' expected a tensor (batch, time, features); initial states are the argument "
            f"`initial_state`. Received: a {type(sequences).__name__} of {len(sequences)}, of which "
            "`numpy.asarray(x)` makes a tensor if all have one shape"
        )
    shape = known_shape(sequences)
    if shape is not None:
        check_rank(layer, shape)


def _padding_recipe(sequences):
    """Returns the lines that turn a list `x` of sequences of unequal lengths into a padded `x` and its `mask`."""
    is_list = isinstance(sequences, (list, tuple)) or str(getattr(sequences, "dtype", "")) == "object"
    if not is_list or len({len(each) for each in sequences if hasattr(each, "__len__")}) < 2:
        return None
    return [
        "lengths = [len(each) for each in x]",
        "x = keras.utils.pad_sequences(x, padding='post', dtype='float32')",
        MASK_OF_LENGTHS,
    ]


def check_rank(layer, shape):
    """Raises an error unless `shape` is `(batch, time, features)`; a cell from elsewhere may read more than vectors."""
    if len(shape) == 3 or (len(shape) > 3 and not isinstance(layer.cell, Cell)):
        return
    around = [each for each in enclosing_layers() if each is not layer][-1:]
    if len(shape) == 2 and isinstance(*around or [None], (keras.layers.RNN, keras.layers.StackedRNNCells)):
        raise ValueError(
            f"`keras.layers.{type(around[0]).__name__}` takes cells, and `{type(layer).__name__}` is a layer, which "
            f"runs its cell over a sequence. Use `{layer!r}` itself, or `keras.layers.RNN({layer.cell!r})`."
        )
    hint = ""
    if len(shape) == 2:
        hint = (
            " A recurrent layer before this one needs `return_sequences=True`, token IDs need a "
            "`keras.layers.Embedding`, and a feature of its own axis is `x[..., None]`."
        )
    raise ValueError(
        f"Layer '{layer.name}' expected sequences of shape (batch, time, features). Received: shape {tuple(shape)}."
        f"{hint}"
    )


def check_batch_size(layer, shape):
    """Raises an error if `shape` has no batch size, which a stateful layer needs to create its states."""
    if shape[0] is None:
        raise ValueError(
            f"Layer '{layer.name}' is stateful and needs a known batch size: give `batch_size` or "
            f"`batch_shape` to `keras.Input`. Received: input shape {tuple(shape)}"
        )


def check_length(layer, shape):
    """Raises an error if the number of steps is unknown, and `unroll` needs it."""
    if layer.unroll and shape[1] is None:
        raise ValueError(
            f"Layer '{layer.name}' has unroll=True and needs a known number of steps. "
            f"Received: input shape {tuple(shape)}"
        )


def is_of_any_length(sequences, built_length):
    """Returns whether PyTorch is exporting a layer to a file that takes sequences of any length."""
    steps = engine.exported_steps(sequences)
    # Keras traces an unknown length as a single step.
    return steps == 0 or (steps == 1 and built_length is None)


def check_export(layer, sequences, built_length):
    """Raises an error if PyTorch is exporting the layer to a file that cannot hold it."""
    if engine.exported_steps(sequences) is None:
        return
    elsewhere = "save the model as a `.keras` file, load that on TensorFlow or JAX, and export it there"
    if layer.stateful:
        raise ValueError(
            f"Layer '{layer.name}' is stateful, and a file that PyTorch exports keeps no states. Make the layer "
            f"with stateful=False, or {elsewhere}."
        )
    holds_loop = engine.exports_loop() and layer.runner.has_own_cells_only and layer.schedule in ("auto", "steps")
    if is_of_any_length(sequences, built_length) and not holds_loop:
        raise ValueError(
            f"Layer '{layer.name}' needs a known number of steps to be exported on PyTorch, where a file holds "
            "every step. Give `export` the shape of the input, as in "
            f"`input_signature=[keras.InputSpec(shape=(None, 20, {sequences.shape[2]}), dtype='float32')]`, export "
            f"a single step with `keras_adaptive_rnn.export_step`, or {elsewhere}."
        )
