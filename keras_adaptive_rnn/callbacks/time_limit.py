"""Training for a given time."""

import json
import os
import pathlib
import time

import keras
from keras import ops

from keras_adaptive_rnn import _arguments


class TimeLimit(keras.callbacks.Callback):
    """Trains for a number of seconds, and lets the learning rate fall to a tenth in the second half of them.

    The clock starts after the first step, so that compilation does not count, and stands still during validation. The
    learning rate changes between epochs: short ones (`steps_per_epoch`) make it fall smoothly.

    Args:
        seconds: Positive number, the time to train.
        filepath: Path of a JSON file that keeps the time of a run that is interrupted, so that
            `keras.callbacks.BackupAndRestore` resumes it for the rest of the time. `None` (default) means that every
            `fit` starts from zero.

        anneal: Whether the learning rate falls. Defaults to `True`.

    Attributes:
        spent: Number of seconds that have been trained.
        steps: Number of steps that have been trained.

    Raises:
        ValueError: `seconds` is not positive, or the learning rate of the optimizer is a schedule.

    Example:

    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> limit = keras_adaptive_rnn.callbacks.TimeLimit(0.01)
    >>> run = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=10_000, verbose=0, callbacks=[limit])
    >>> limit.spent >= 0.01
    True
    """

    def __init__(self, seconds: float, filepath: str | os.PathLike | None = None, anneal: bool = True):
        super().__init__()
        self.seconds = _arguments.number("seconds", seconds, positive=True)
        self.filepath = None if filepath is None else pathlib.Path(filepath)
        self.anneal = _arguments.boolean("anneal", anneal)
        self.spent, self.steps = 0.0, 0
        self._rate = self._last = None

    def on_train_begin(self, logs=None):
        if not isinstance(self.model.optimizer.learning_rate, keras.Variable):
            raise ValueError(
                "`TimeLimit` lowers the learning rate, which must be a plain number. "
                f"Received an optimizer with the learning rate {self.model.optimizer.learning_rate!r}"
            )
        self.spent, self.steps, self._last = 0.0, 0, None
        self._rate = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))
        if self.filepath is not None and self.filepath.exists():
            kept = json.loads(self.filepath.read_text())
            self.spent, self.steps, self._rate = kept["seconds"], kept["steps"], kept["learning_rate"]

    def on_epoch_begin(self, epoch, logs=None):
        share = min(1.0, max(0.1, 2 * (1 - self.spent / self.seconds)))
        self.model.optimizer.learning_rate = self._rate * (share if self.anneal else 1.0)
        self._last = None if self._last is None else time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        now = time.perf_counter()
        self.spent += 0.0 if self._last is None else now - self._last
        self._last = now
        self.steps += 1
        if self.spent >= self.seconds:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        if self.filepath is not None:
            new = self.filepath.with_name(self.filepath.name + ".new")
            new.write_text(json.dumps({"seconds": self.spent, "steps": self.steps, "learning_rate": self._rate}))
            os.replace(new, self.filepath)
