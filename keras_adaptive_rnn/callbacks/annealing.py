"""Numbers of cells that change from epoch to epoch."""

from collections.abc import Callable

import keras

from keras_adaptive_rnn.cells.bases.adaptive_computation import ScheduledCell


class Annealing(keras.callbacks.Callback):
    """Sets a number of the cells in a model at the start of every epoch, such as the temperature of a `SkimCell`.

    The value depends on the epoch alone: a run that goes on with `fit(initial_epoch=...)` goes on as if it had never
    stopped. Compiled training sees the change, and the logs of each epoch hold the value.

    Args:
        name: Name of the number: `"temperature"` of `keras_adaptive_rnn.SkimCell`, or `"sharpness"` of
            `keras_adaptive_rnn.VariableComputationCell`. All cells of the model that have it are set.
        schedule: Function of the epoch, from 0, that returns a positive number; a
            `keras.optimizers.schedules.LearningRateSchedule` is one.

    Raises:
        ValueError: no cell of the model has the number, or the schedule returns one out of range.
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
        layers = self.model._flatten_layers()
        return [part for part in layers if isinstance(part, ScheduledCell) and self.name in part.scheduled_names]

    def on_train_begin(self, logs=None):
        if not self._cells():
            raise ValueError(
                f"Argument `name` must be that of a number of a cell in the model. Received: name={self.name!r}"
            )

    def on_epoch_begin(self, epoch, logs=None):
        value = float(keras.ops.convert_to_numpy(self.schedule(epoch)))
        for cell in self._cells():
            cell.set_value(self.name, value)

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs[self.name] = float(keras.ops.convert_to_numpy(self._cells()[0].scheduled_values[self.name]))
