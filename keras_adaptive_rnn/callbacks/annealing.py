"""A schedule for the values of cells that change during training."""

from collections.abc import Callable

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn.cells.bases.adaptive_computation import ScheduledCell


class Annealing(keras.callbacks.Callback):
    """Sets a scheduled value of a model's cells, such as the temperature of a `SkimCell`, at the start of every epoch.

    The value depends only on the epoch, so a run that is resumed by `fit(initial_epoch=...)` continues the schedule.
    Compiled training sees the change, and the logs of each epoch contain the value.

    Args:
        name: String, `"temperature"` of `keras_adaptive_rnn.SkimCell`, or `"sharpness"` of
            `keras_adaptive_rnn.VariableComputationCell`. It is set in every cell of the model that has it.
        schedule: Function from the epoch, counted from 0, to a positive number, such as a
            `keras.optimizers.schedules.LearningRateSchedule`.

    Raises:
        ValueError: no cell of the model has a scheduled value of this name, or the schedule returns one out of range.
        TypeError: an argument is of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.SkimCell(keras_adaptive_rnn.GRUCell(4), keras_adaptive_rnn.GRUCell(2))
    >>> model = keras.Sequential([keras_adaptive_rnn.layers.RNN(cell), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> annealing = keras_adaptive_rnn.callbacks.Annealing("temperature", lambda epoch: max(0.5, 0.9**epoch))
    >>> run = model.fit(np.ones((4, 5, 3)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[annealing])
    >>> [round(temperature, 2) for temperature in run.history["temperature"]]
    [1.0, 0.9, 0.81]

    Reference: Seo et al., Neural Speed Reading via Skim-RNN (2018), section 3.2, for the temperature.
    """

    def __init__(self, name: str, schedule: Callable[[int], float]):
        super().__init__()
        if not isinstance(name, str):
            raise TypeError(f"Argument `name` must be a string, such as 'temperature'. Received: name={name!r}")
        if not callable(schedule):
            raise TypeError(f"Argument `schedule` must be a function of the epoch. Received: schedule={schedule!r}")
        self.name, self.schedule = name, schedule

    def _cells(self):
        layers = flatten_layers(self.model)
        return [part for part in layers if isinstance(part, ScheduledCell) and self.name in part.scheduled_names]

    def on_train_begin(self, logs=None):
        rule = f"Argument `name` must name a scheduled value of a cell in model '{self.model.name}'"
        _arguments.check(self._cells(), rule, name=self.name)

    def on_epoch_begin(self, epoch, logs=None):
        value = float(keras.ops.convert_to_numpy(self.schedule(epoch)))
        for cell in self._cells():
            cell.set_value(self.name, value)

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs[self.name] = float(keras.ops.convert_to_numpy(self._cells()[0].scheduled_values[self.name]))
