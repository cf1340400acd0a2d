"""A trigger of averaged weights, and evaluation with the average (NT-ASGD)."""

import functools
import math
import warnings

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.optimizers.averaged import Averaged

RULES = ("all_but_last", "last", "since_best")


class AveragingTrigger(keras.callbacks.Callback):
    r"""Starts to average the weights once validation no longer improves, and evaluates with the averages (NT-ASGD).

    Let $v_1, \dots, v_e$ be the values of `monitor` at the end of each epoch so far, NaN counting as infinite. From the
    next step on, a `keras_adaptive_rnn.optimizers.Averaged` optimizer averages if

    - `"all_but_last"`: $e - 1 > n$ and $v_e > \min(v_1, \dots, v_{e-1-n})$, as in the authors' code;
    - `"last"`: $e - 1 > n$ and $v_e > \min(v_{e-n}, \dots, v_{e-1})$, as in their paper;
    - `"since_best"`: the best value is $n$ epochs old, as in the code of Melis et al.,

    where $n$ is `patience`; averaging is never switched off again. An optimizer with a `start` averages from there on,
    whatever the rule says. Training goes on with the raw weights. Validation inside `fit` sees the averages, and so do
    other callbacks at the end of an epoch, such as `keras.callbacks.ModelCheckpoint`, if they stand after this one in
    the list. `fit` ends with the weights, or averages, of the best epoch.

    A run resumed by `keras.callbacks.BackupAndRestore`, which must stand after this one in the list, goes on as if it
    had not been interrupted, and so does a saved model that is trained further with `initial_epoch`: what the rule
    needs is saved with the optimizer. A `fit` that starts from epoch 0 starts anew. The logs of each epoch say in
    `averaging` whether its steps were averaged.

    Args:
        monitor: String, a quantity in the logs of which less is better. Defaults to `"val_perplexity"`.
        patience: Positive integer, $n$. Defaults to `5`.
        rule: `"all_but_last"` (default), `"last"` or `"since_best"`.
        latest: Non-negative integer, the number of epochs after which averaging starts at the latest; `0` averages from
            the first step on. `None` (default) leaves it to the rule.
        stop_at_trigger: Whether training stops where the rule would start to average. Defaults to `False`. With
            `latest=0`, this is the finetuning of AWD-LSTM.
        restore_best_weights: Whether `fit` ends with the weights of the best epoch, which are kept in memory. If not,
            it ends with the averages, if there are any. Defaults to `True`.

    Raises:
        ValueError: The optimizer is not an `Averaged`, `monitor` is not in the logs of an epoch with validation, or
            an argument is out of range.
        TypeError: An argument is of the wrong type.

    Example:

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    >>> model.compile(keras_adaptive_rnn.optimizers.Averaged(keras.optimizers.SGD(0.1)), "mse")
    >>> trigger = keras_adaptive_rnn.callbacks.AveragingTrigger("val_loss", latest=2)
    >>> x, y = np.ones((4, 3)), np.ones((4, 1))
    >>> run = model.fit(x, y, epochs=4, verbose=0, validation_data=(x, y), callbacks=[trigger])
    >>> run.history["averaging"]
    [0, 0, 1, 1]

    Reference: Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018), algorithm 1. Melis,
    Kočiský and Blunsom, Mogrifier LSTM (2020), section 3.3.
    """

    def __init__(
        self,
        monitor: str = "val_perplexity",
        patience: int = 5,
        rule: str = "all_but_last",
        latest: int | None = None,
        stop_at_trigger: bool = False,
        restore_best_weights: bool = True,
    ):
        super().__init__()
        if not isinstance(monitor, str):
            raise TypeError(f"Argument `monitor` must be a string, such as 'val_loss'. Received: monitor={monitor!r}")
        self.monitor = monitor
        self.patience = _arguments.integer("patience", patience)
        self.rule = _arguments.choice("rule", rule, RULES)
        self.latest = _arguments.integer("latest", latest, minimum=0, optional=True)
        self.stop_at_trigger = _arguments.boolean("stop_at_trigger", stop_at_trigger)
        self.restore_best_weights = _arguments.boolean("restore_best_weights", restore_best_weights)
        self._is_first = self._is_testing = False

    # State that survives a restart is in the notes of the optimizer: the numbers of the epochs, their values, and the
    # weights of the best epoch.

    @property
    def _optimizer(self):
        optimizer = getattr(self.model.optimizer, "inner_optimizer", None)
        optimizer = optimizer if isinstance(optimizer, Averaged) else self.model.optimizer
        if not isinstance(optimizer, Averaged):
            raise ValueError(
                "`AveragingTrigger` needs a model compiled with `keras_adaptive_rnn.optimizers.Averaged(optimizer)`. "
                f"Received: {optimizer!r}"
            )
        return optimizer

    @property
    def _past(self):
        """The number of each epoch and its value, as one array `[epochs, 2]`."""
        return self._optimizer.notes.get("past", np.zeros((0, 2)))

    def _is_averaging(self):
        return bool(ops.convert_to_numpy(self._optimizer.averaging.value))

    def _set_swapped(self, swapped):
        """Makes the model hold the averages, or the raw weights if there are none."""
        optimizer = self._optimizer
        is_swapped = bool(ops.convert_to_numpy(optimizer.swapped.value))
        if is_swapped != swapped and bool(ops.convert_to_numpy(optimizer.count.value)):
            optimizer.swap()

    # Training.

    def on_train_begin(self, logs=None):
        optimizer, model = self._optimizer, self.model
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        self._is_first = True
        evaluate = type(model).evaluate

        @functools.wraps(evaluate)
        def evaluate_and_swap_back(*args, **kwargs):
            try:
                return evaluate(model, *args, **kwargs)
            finally:
                # Keras calls no callback where validation fails.
                self.on_test_end()

        # Hidden from Keras, which would track it.
        model.__dict__["evaluate"] = evaluate_and_swap_back

    def _begin(self, epoch):
        """Begins a run with this epoch."""
        optimizer = self._optimizer
        if epoch == 0:
            optimizer.notes.clear()
            optimizer.restart()
            return
        past, notes = self._past, optimizer.notes
        notes["past"] = past[past[:, 0] < epoch]
        if len(past) and past[np.argmin(past[:, 1]), 0] >= epoch:
            # Epochs that are run again, the best one among them.
            for name in [name for name in notes if name.startswith("best_")]:
                del notes[name]

    def on_epoch_begin(self, epoch, logs=None):
        if self._is_first:
            self._begin(epoch)
            self._is_first = False
        self._set_swapped(False)
        if self.latest is not None and epoch >= self.latest:
            self._optimizer.averaging.assign(1)

    def on_epoch_end(self, epoch, logs=None):
        logs = {} if logs is None else logs
        value = self._value(logs)
        logs["averaging"] = int(self._is_averaging())
        self._set_swapped(True)
        if value is None:
            return
        past, notes = self._past[:, 1], self._optimizer.notes
        notes["past"] = np.concatenate([self._past, [[epoch, value]]])
        if self.restore_best_weights and not (past <= value).any():
            for k, weight in enumerate(self.model.weights):
                notes[f"best_{k}"] = np.array(ops.convert_to_numpy(weight.value))
        if self._fires(past, value):
            if self.stop_at_trigger:
                self.model.stop_training = True
            else:
                self._optimizer.averaging.assign(1)

    def _value(self, logs):
        if self.monitor in logs:
            value = float(logs[self.monitor])
            return math.inf if math.isnan(value) else value
        may_come = self.monitor.startswith("val_") and not any(name.startswith("val_") for name in logs)
        rule = f"Argument `monitor` must be one of {', '.join(map(repr, logs))}"
        _arguments.check(may_come, rule, monitor=self.monitor)
        return None

    def _fires(self, past, value):
        if self.rule == "since_best":
            epochs = self._past
            return epochs[-1, 0] - epochs[np.argmin(epochs[:, 1]), 0] >= self.patience
        if len(past) <= self.patience:
            return False
        return value > (past[: -self.patience] if self.rule == "all_but_last" else past[-self.patience :]).min()

    def on_train_end(self, logs=None):
        self.model.__dict__.pop("evaluate", None)
        notes = self._optimizer.notes
        if not len(self._past):
            warnings.warn(
                f"`AveragingTrigger` has never seen '{self.monitor}': call `fit` with `validation_data`.", stacklevel=2
            )
        if "best_0" in notes:
            self._set_swapped(False)
            for k, weight in enumerate(self.model.weights):
                weight.assign(notes[f"best_{k}"])

    # Validation.

    def on_test_begin(self, logs=None):
        # Other callbacks may see the averages already.
        if not bool(ops.convert_to_numpy(self._optimizer.swapped.value)) and self._is_averaging():
            self._set_swapped(True)
            self._is_testing = True

    def on_test_end(self, logs=None):
        if self._is_testing:
            self._set_swapped(False)
            self._is_testing = False
