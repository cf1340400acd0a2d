"""The model of a cell for one task, compiled once, and trained in one trial after another."""

import time

import keras
import numpy as np

from keras_rnn_compare.models.candidates import NARROWEST, ModelShape
from keras_rnn_compare.models.trials import compile_with, loss_for, restart
from keras_rnn_compare.probing.tasks import TOLERANCE
from keras_rnn_compare.seeds import fold_in

# Sequences of an update, updates between two tests, and sequences of a test.
BATCH, BLOCK, TESTED = 64, 100, 512
LONGER = 8
SOLVED = 0.999
# What is told of a trial.
FIGURES = ("length", "longer", "solved", "updates", "seconds")


def shape_of(task):
    """Returns the `ModelShape` of the models for a task."""
    shape = ModelShape(None, task.inputs, task.classes or 1, 1)
    shape.inputs = NARROWEST
    return shape


class Learner:
    """The model of one cell for one task.

    Args:
        task: The `Task`.
        candidate: The `Candidate`.
        units: Its size.
        length: Steps of the sequences to learn from.
        seed: Decides what the model is tested on.
    """

    def __init__(self, task, candidate, units, length, seed):
        self.task, self.candidate, self.units, self.length = task, candidate, units, length
        # The last eighth counts: no prefix of a longer sequence that is as short as those learned from.
        self.tests = {
            steps: self.last_steps(np.random.default_rng(fold_in(seed, "test", steps)), steps)
            for steps in (length, LONGER * length)
        }
        self.model = self.make()
        compile_with(self.model, loss_for(task.classes))

    def last_steps(self, rng, steps, samples=TESTED):
        inputs, targets, counted = self.task.sequences(rng, samples, steps)
        return inputs, targets, counted & (np.arange(steps) >= steps - steps // LONGER)

    def make(self):
        """Returns a new model, which is not compiled."""
        embedding = keras.initializers.RandomNormal(stddev=1.0)
        return keras.Sequential(
            [
                keras.Input((None, self.task.inputs)),
                keras.layers.Dense(NARROWEST, use_bias=False, kernel_initializer=embedding),
                self.candidate.layer(self.units, NARROWEST, return_sequences=True),
                keras.layers.Dense(self.task.classes or 1),
            ]
        )

    def accuracy(self, steps):
        """Returns the share of the targets of so many steps that the model meets."""
        inputs, targets, counted = self.tests[steps]
        outputs = self.model.predict(inputs, batch_size=TESTED, verbose=0)
        if self.task.classes is None:
            met = abs(outputs - targets)[..., 0] < TOLERANCE
        else:
            met = outputs.argmax(axis=-1) == targets
        return float(met[counted].mean())

    def train(self, rate, seed, updates, on_progress):
        """Trains on sequences that are drawn anew for each update, until the task is solved: twice in a row.

        `on_progress` is called with the number of updates that are done.

        Returns: A dict of `solved`, the number of `updates` it took, the accuracies at the `length` learned from and at
        eight times that (`longer`), the `curve` of updates and accuracies, and `seconds` of training.
        """
        restart(self.model, self.make, seed)
        self.model.optimizer.learning_rate = rate
        rng, curve, begin = np.random.default_rng(fold_in(seed, "sequences")), [], time.perf_counter()
        solved = False
        for start in range(0, updates, BLOCK):
            count = min(BLOCK, updates - start)
            inputs, targets, counted = self.task.sequences(rng, count * BATCH, self.length)
            # The mean over what counts, whatever its share: the norm of the gradient is clipped.
            weights = (counted / counted.mean()).astype("float32")
            self.model.fit(inputs, targets, BATCH, sample_weight=weights, shuffle=False, verbose=0)
            curve.append([start + count, self.accuracy(self.length)])
            on_progress(count)
            solved = len(curve) > 1 and min(accuracy for _, accuracy in curve[-2:]) >= SOLVED
            if solved:
                break
        done, accuracy = curve[-1]
        seconds = time.perf_counter() - begin
        return {
            "solved": solved,
            "updates": done,
            "length": accuracy,
            "longer": self.accuracy(LONGER * self.length),
            "curve": curve,
            "seconds": seconds,
        }
