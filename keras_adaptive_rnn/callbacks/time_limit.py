"""Training for a given time."""

import itertools
import json
import os
import pathlib
import time

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.files import write_whole


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
        self._rate: float | None = None
        self._last: float | None = None
        # By epoch: seconds and steps before it.
        self._kept: dict[int, tuple[float, int]] = {}
        self._is_first = True

    def on_train_begin(self, logs=None):
        if not isinstance(self.model.optimizer.learning_rate, keras.Variable):
            raise ValueError(
                "`TimeLimit` lowers the learning rate, which must be a plain number. "
                f"Received an optimizer with the learning rate {self.model.optimizer.learning_rate!r}"
            )
        self._last, self._is_first = None, True
        self._rate = float(ops.convert_to_numpy(self.model.optimizer.learning_rate))

    def resume(self, epoch: int) -> None:
        """Sets `spent` and `steps` to their values at the start of `epoch`, from `filepath`.

        `fit` calls it with its first epoch. The file holds two epochs, as a run that was killed may go on from a backup
        that is one epoch older.
        """
        self.spent, self.steps, self._kept = 0.0, 0, {}
        if self.filepath is None or not self.filepath.exists():
            return
        try:
            content = json.loads(self.filepath.read_text())
            self._rate = float(content["learning_rate"])
            self._kept = {int(k): (float(s), int(n)) for k, (s, n) in content["epochs"].items() if int(k) <= epoch}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{self.filepath} is damaged: delete it to start from zero. {error!r}") from error
        if self._kept:
            self.spent, self.steps = self._kept[max(self._kept)]

    def on_epoch_begin(self, epoch, logs=None):
        if self._is_first:
            self.resume(epoch)
            self._is_first = False
        rate = self._rate
        if self.anneal:
            rate *= min(1.0, max(0.1, 2 * (1 - self.spent / self.seconds)))
        self.model.optimizer.learning_rate = rate
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
            self._kept[epoch + 1] = (self.spent, self.steps)
            last = dict(itertools.islice(sorted(self._kept.items(), reverse=True), 2))
            write_whole(self.filepath, json.dumps({"learning_rate": self._rate, "epochs": last}))
