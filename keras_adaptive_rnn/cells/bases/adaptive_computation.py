"""Base classes of cells that decide how much to compute."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, engine, initializers
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.cell import Cell


def cast(x, dtype="float32"):
    """Returns `x` as `dtype`. On PyTorch, `ops.cast` takes longer than a small product even if it has nothing to do."""
    return x if keras.backend.standardize_dtype(x.dtype) == dtype else ops.cast(x, dtype)


def straight_through(value, estimate, run):
    """Returns exactly `value`, with the gradient of `estimate`."""
    if run.skips_unneeded:
        return value
    return ops.stop_gradient(value) + (estimate - ops.stop_gradient(estimate))


def cond_rows(chosen, function, otherwise, tensors):
    """Returns `function(*tensors)` for the chosen rows and `otherwise(*tensors)` for the others.

    `function` runs on none, a quarter, half, three quarters or all of the rows, whichever is just enough for the chosen
    ones. `otherwise`, which should be cheap, runs on all rows. For a single row, only one of the two runs.

    Args:
        chosen: Boolean tensor `[batch, 1]`.
        function, otherwise: Functions that take tensors and return a list of tensors.
        tensors: List of tensors `[batch, ...]`.

    Returns: List of tensors `[batch, ...]`.
    """
    rows = ops.shape(chosen)[0]
    if isinstance(rows, int) and rows == 1:
        return engine.switch(cast(chosen[0, 0], "int32"), [otherwise, function], tensors)
    sizes = [(rows * quarters + 3) // 4 for quarters in range(5)]
    sizes = sorted(set(sizes)) if isinstance(rows, int) else sizes
    others = otherwise(*tensors)
    if sizes == [0]:
        return others

    def none(chosen, *operands):
        return list(operands[: len(others)])

    def some(size):
        def of_some(chosen, *operands):
            order = ops.argsort(cast(ops.logical_not(chosen[:, 0]), "int32"))[:size]
            new = function(*(ops.take(tensor, order, axis=0) for tensor in operands[len(others) :]))
            places = ops.expand_dims(order, -1)
            return [
                ops.where(chosen, ops.scatter_update(other, places, rows), other)
                for rows, other in zip(new, operands, strict=False)
            ]

        return of_some

    def every(chosen, *operands):
        new = function(*operands[len(others) :])
        return [ops.where(chosen, rows, other) for rows, other in zip(new, operands, strict=False)]

    count = ops.sum(cast(chosen, "int32"))
    index = sum(cast(count > size, "int32") for size in sizes[:-1])
    return engine.switch(index, [none, *map(some, sizes[1:-1]), every], [chosen, *others, *tensors])


class AdaptiveComputationCell(Cell):
    """A cell that decides in each step how much to compute, by an affine map of its inputs and state in float32.

    It passes the decision of each step to `run.emit`: one for a step that is computed in full, zero for one that is
    not. If the decisions add to the loss (`adds_loss`), `keras_adaptive_rnn.layers.RNN` adds `sequence_loss` once per
    sequence. `keras.layers.RNN` cannot do that, so the cell refuses to run in it. If it draws them
    (`draws_decisions`), `keras_adaptive_rnn.models.Reinforce` adds a term of their `log_likelihood`.

    Args:
        decision_initializer: Initializer of the kernel of the map. Defaults to `"glorot_uniform"`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.
    """

    aux_size = 1

    def __init__(self, *, decision_initializer: Initializer = "glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.decision_initializer = _arguments.resolve("decision_initializer", decision_initializer, initializers.get)

    def build_decision(self, inputs, outputs, bias="zeros"):
        """Creates the map from `inputs` to `outputs` entries; `bias` is the initializer of its bias."""
        # Decisions are not rounded to half precision.
        self.decision_kernel = self.add_weight(
            name="decision_kernel", shape=(inputs, outputs), initializer=self.decision_initializer, autocast=False
        )
        self.decision_bias = self.add_weight(name="decision_bias", shape=(outputs,), initializer=bias, autocast=False)

    def decision(self, *read):
        """Applies the map, in float32, to tensors `[batch, size]`, concatenated."""
        read = [cast(each) for each in read]
        read = read[0] if len(read) == 1 else ops.concatenate(read, axis=-1)
        kernel, bias = (cast(ops.convert_to_tensor(weight)) for weight in (self.decision_kernel, self.decision_bias))
        return ops.matmul(read, kernel) + bias

    def prepare_sequence(self, batch_size, run):
        if run.training is None and (self.adds_loss or self.draws_decisions):
            does, cannot = (
                ("adds to the loss", "add its loss") if self.adds_loss else ("draws decisions", "record them")
            )
            raise ValueError(
                f"A {type(self).__name__} that {does} must run in `keras_adaptive_rnn.layers.RNN`: "
                f"`keras.layers.RNN` cannot {cannot}. Received: {self!r}"
            )
        return super().prepare_sequence(batch_size, run)

    def may_skip(self, run):
        """Returns whether a step may skip computation whose result is not used."""
        return run.skips_unneeded


class ScheduledCell(Cell):
    """A cell with hyperparameters that a callback changes from epoch to epoch, listed in `scheduled_names`.

    Each is initialized to the argument of that name. It is a non-trainable weight, because compiled training would bake
    a Python float in as a constant.
    """

    scheduled_names = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # Values that are set before the weights exist: TensorFlow builds a model in its first training step.
        self._before_build = {}

    def build(self, input_shape):
        super().build(input_shape)
        self.scheduled_values = {
            name: self.add_weight(
                name=name,
                shape=(),
                initializer=keras.initializers.Constant(self._before_build.get(name, getattr(self, name))),
                trainable=False,
                autocast=False,
            )
            for name in self.scheduled_names
        }

    def set_value(self, name, value):
        """Sets a scheduled value. The attribute of that name keeps the constructor argument."""
        value = _arguments.number(name, value, positive=True)
        if self.built:
            self.scheduled_values[name].assign(value)
        else:
            self._before_build[name] = value
