"""Schedules: which there are for a layer, and which one it takes."""

import keras

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._precision import HALF
from keras_adaptive_rnn.loop import layer_by_layer, linear

SCHEDULES = ("auto", "steps", *layer_by_layer.SCHEDULES, *linear.SCHEDULES, "persistent")


def possible(layer):
    """Returns a list of the schedules in which an `RNN` can run."""
    if layer.unroll or layer.collected_cells():
        return ["steps"]
    layers = [] if layer.recompute else ["layers"]
    wavefront = ["wavefront"] if layer.runner.has_own_maps_only else []
    deep = [*layers, *wavefront] if layer.runner.stack_depth else []
    return ["steps", *deep, *(linear.SCHEDULES if layer.runner.is_linear and not layer.recompute else [])]


def check(layer):
    """Raises an error if an `RNN` cannot run in the schedule that it was given."""
    if layer.schedule in ("auto", "steps") or layer.schedule in possible(layer):
        return
    if layer.schedule == "persistent":
        reason = _no_kernel(layer)
        rule = f'Argument `schedule` cannot be "persistent" {reason}'
        _arguments.check(reason is None, rule, schedule=layer.schedule, cell=layer.cell)
        return
    raise ValueError(
        f"Argument `schedule` must be one of {', '.join(map(repr, ['auto', *possible(layer)]))} for this cell with "
        f"unroll={layer.unroll} and recompute={layer.recompute}: the others are for `DeepRNNCell`, for "
        "`StackedCells` of at least three cells of which all but the lowest are alike, and for linear cells, "
        f"such as `MinGRUCell`, and stacks with one. Received: schedule={layer.schedule!r}, cell={layer.cell!r}"
    )


def _no_kernel(layer):
    """Returns why an `RNN` cannot be `"persistent"`, or `None` if that depends on the operations of its steps."""
    if keras.backend.backend() != "jax":
        return f"on the Keras backend {keras.backend.backend()}: only JAX makes kernels of a cell"
    if layer.unroll:
        return "with unroll=True: a kernel has a loop"
    return "for a cell that decides how much to compute" if layer.runner.deciding else None


def fastest(layer, batch_size, training):
    """Returns the schedule measured to be the fastest of those in which an `RNN` can run, mostly on two CPU cores.

    For deep cells it is `"layers"` with three or more layers (twelve on TensorFlow); on PyTorch `"wavefront"` for eight
    or more small layers, and `"steps"` for fewer small layers in inference. On a GPU, JAX runs deep cells as a
    `"wavefront"`, which launches the fewest kernels, and those of `tuning.PERSISTENT_UNITS` in one. For linear cells
    and stacks with one it is `"scan"`, but `"steps"` on JAX in inference if all states are vectors of linear cells, in
    single precision at least, and `"associative"` on accelerators, which was not measured.
    """
    choices, runner, cell = possible(layer), layer.runner, layer.cell
    if layer.recompute:
        return "steps"
    if runner.has_own_cells_only and engine.prefers_persistent(cell, training) and _no_kernel(layer) is None:
        return "persistent"
    if len(choices) == 1:
        return "steps"
    if runner.is_linear:
        preferred = engine.preferred_linear_schedule(training)
        # From one step to the next, states in half precision are rounded.
        in_steps = linear.is_elementwise(cell) and cell.compute_dtype not in HALF
        return preferred if preferred != "steps" or in_steps else "scan"
    preferred = engine.preferred_schedules(runner.stack_depth, cell.count_params(), batch_size, training)
    return next((schedule for schedule in preferred if schedule in choices), "steps")
