"""One model per cell, compiled once, and trained in one trial after another.

A trial depends on its cell, learning rate, seed and number of steps alone. That is what makes a comparison resumable: a
trial that was interrupted is run again, from its beginning, to the same numbers. Keras Tuner's `Hyperband` would build
and compile a model for each trial, which takes longer than most trials here, and spreads its trials over the cells at
random, where each cell must get equally many.
"""

import dataclasses
import itertools
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn.files import contents
from keras_rnn_compare.models.measures import one_step
from keras_rnn_compare.reading.data import first_layers, last_layers, spread
from keras_rnn_compare.scoring.figures import JUDGED, figures

# The most bytes that are gathered for a call of `fit`, and the most rows that tell means and deviations.
GATHERED, MOMENTS = 2**25, 50_000


def loss_for(classes):
    """Returns the loss of numbers if `classes` is `None`, else that of classes."""
    if classes is None:
        return keras.losses.MeanSquaredError()
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def compile_with(model, loss):
    """Compiles a model with Adam."""
    model.compile(keras.optimizers.Adam(clipnorm=1.0), loss)
    model.optimizer.build(model.trainable_variables)


def restart(model, make, seed):
    """Gives a compiled model the weights of one that `make` makes by a seed, and its optimizer a new start."""
    keras.utils.set_random_seed(seed)
    for ours, new in zip(model.variables, make().variables, strict=True):
        ours.assign(new)
    for variable in model.optimizer.variables:
        variable.assign(np.zeros(variable.shape, variable.dtype))


def falling(rate, done):
    """Returns the learning rate once a share `done` of the training is over: it falls to a tenth in the second half."""
    return rate * min(1.0, max(0.1, 2 * (1 - done)))


def in_whole_batches(model, x, batch_size):
    """Returns the outputs of a model, computed in whole batches: another size would be compiled once more."""
    missing = -len(x) % batch_size
    padded = np.concatenate([x, np.repeat(x[:1], missing, axis=0)]) if missing else x
    return model.predict(padded, batch_size=batch_size, verbose=0)[: len(x)]


class Learner:
    """The model of one cell.

    Args:
        data: The `Data`.
        shape: The `ModelShape` that all models share.
        candidate: The `Candidate`.
        units: Its size.
        batch_size: Number of sequences in a batch.
    """

    def __init__(self, data, shape, candidate, units, batch_size):
        self.data, self.shape, self.candidate, self.units = data, shape, candidate, units
        # What its outputs are judged by.
        self.judged = data
        self.batch_size = batch_size
        # A copy in float64 is made of what tells the means, for every model: that of a large file would not fit.
        few = data.x["train"][spread(len(data.x["train"]), MOMENTS)]
        self.told = dataclasses.replace(data, x={"train": few})
        self.model = self.make()
        compile_with(self.model, self.loss())

    def loss(self):
        """Returns what the model minimizes."""
        return loss_for(self.data.classes)

    def last_layers(self):
        """Returns the layers that turn its outputs into what is predicted."""
        return last_layers(self.data)

    def finished_model(self):
        """Returns the model with its last layers, on the same weights."""
        inputs = keras.Input(self.model.input_shape[1:], dtype=self.model.inputs[0].dtype)
        return keras.Sequential([inputs, *self.model.layers, *self.last_layers()])

    def make(self):
        """Returns a new model, which is not compiled."""
        depth = self.shape.depth
        widths = [self.shape.inputs, *[self.units] * (depth - 1)]
        recurrent = [
            self.candidate.layer(self.units, width, return_sequences=k < depth - 1 or self.data.per_step)
            for k, width in enumerate(widths)
        ]
        inputs = keras.Input((None, self.shape.features))
        if self.data.vocabulary is not None:
            inputs = keras.Input((None,), dtype="int32")
        return keras.Sequential(
            [
                inputs,
                *first_layers(self.told, self.shape.inputs),
                *recurrent,
                keras.layers.Dense(self.shape.outputs),
            ]
        )

    @property
    def recurrent(self):
        """The recurrent layers, which stand before the dense one."""
        return self.model.layers[-1 - self.shape.depth : -1]

    def begin(self, seed):
        """Gives the model the weights that it has by a seed, and the optimizer a new start."""
        restart(self.model, self.make, seed)

    def batches(self, seed, steps):
        """Returns the rows that are read, in order: pass after pass, each in an order of its own."""
        rng = np.random.default_rng([seed, 1])
        count, rows = len(self.data.x["train"]), []
        while sum(map(len, rows)) < steps * self.batch_size:
            rows.append(rng.permutation(count))
        return np.concatenate(rows)[: steps * self.batch_size]

    def fit(self, rows):
        """Trains on rows, of which so many are gathered at once as take little memory."""
        x, y = self.data.x["train"], self.data.y["train"]
        batches = max(1, GATHERED // (self.batch_size * (x[:1].nbytes + y[:1].nbytes)))
        for start in range(0, len(rows), batches * self.batch_size):
            block = rows[start : start + batches * self.batch_size]
            self.model.fit(x[block], y[block], batch_size=self.batch_size, shuffle=False, verbose=0)

    def outputs(self, part, count=None):
        """Yields the outputs for a part, or for `count` rows of it, in blocks, and their rows."""
        rows, size = self.data.rows(part, count), 16 * self.batch_size
        for start in range(0, len(rows), size):
            block = rows[start : start + size]
            yield self.outputs_of(part, block), block

    def outputs_of(self, part, rows):
        """Returns the outputs for some rows of a part."""
        return self.predict(self.data.x[part][rows])

    def losses(self, part, outputs):
        """Returns the loss of each row of blocks of `outputs`, and its accuracy where there are classes."""
        judged = [self.judged.losses(part, block, rows) for block, rows in outputs]
        losses, accuracies = zip(*judged, strict=True)
        return np.concatenate(losses), None if self.data.classes is None else np.concatenate(accuracies)

    def judge(self, part, count=None):
        """Returns the score on a part, or on `count` rows of it, and the accuracy where there are classes."""
        return self.summary(*self.losses(part, self.outputs(part, count)))

    def summary(self, losses, accuracies):
        return self.judged.score(losses), None if accuracies is None else float(np.mean(accuracies))

    def predict(self, x):
        """Returns the outputs for sequences."""
        return in_whole_batches(self.model, x, self.batch_size)

    def train(self, rate, seed, plan, on_progress=None):
        """Trains from a fresh initialization and restores the best validation weights.

        The learning rate falls as in `callbacks.TimeLimit`. `on_progress` is called with the share of the steps that a
        piece was.

        Args:
            rate, seed: Learning rate, and what decides about weights and order.
            plan: Dict of `steps`, in how many `pieces`, how many `validations`, and by how many `rows` each.

        Returns: A dict of the best `score` on validation, `accuracy`, the `curve` of steps and scores, and `seconds` of
        training.
        """
        self.begin(seed)
        steps, pieces = plan["steps"], plan["pieces"]
        rows, ends = self.batches(seed, steps), np.linspace(0, steps, pieces + 1).round().astype(int)
        judged = {int(end) for end in ends[:0:-1][:: pieces // plan["validations"]]}
        curve, best, best_weights, seconds = [], (float("inf"), None), None, 0.0
        for start, end in itertools.pairwise(ends):
            self.model.optimizer.learning_rate = falling(rate, start / steps)
            before = time.perf_counter()
            self.fit(rows[start * self.batch_size : end * self.batch_size])
            seconds += time.perf_counter() - before
            if on_progress is not None:
                on_progress((end - start) / steps)
            if int(end) in judged:
                judgement = self.judge("validation", plan["rows"])
                curve.append([int(end), judgement[0] if np.isfinite(judgement[0]) else None])
                if not np.isfinite(judgement[0]):  # It has diverged, and would not come back.
                    break
                if judgement[0] < best[0]:
                    # Copies: JAX would go on writing into what it shares with NumPy.
                    best, best_weights = judgement, [np.array(w) for w in self.model.get_weights()]
        if best_weights is not None:
            self.model.set_weights(best_weights)
        return {
            "score": best[0] if best_weights is not None else None,
            "accuracy": best[1],
            "curve": curve,
            "seconds": seconds,
        }

    def measure(self, seconds=0.3):
        """Returns the seconds of a training step, of the start of a piece, of a judgement, and of a row in it."""
        self.begin(0)
        rows = self.batches(0, 64)
        self.fit(rows[: self.batch_size])
        one = self.fastest(lambda: self.fit(rows[: self.batch_size]), seconds)
        steps = int(min(64, max(4, seconds / one)))
        many = self.fastest(lambda: self.fit(rows[: steps * self.batch_size]), seconds)
        step = max((many - one) / (steps - 1), one / steps / 10)
        few = min(self.batch_size, len(self.data.x["validation"]))
        more = min(8 * few, len(self.data.x["validation"]))
        self.judge("validation", few)
        judgement = self.fastest(lambda: self.judge("validation", few), seconds)
        longer = self.fastest(lambda: self.judge("validation", more), seconds)
        row = max(0.0, longer - judgement) / (more - few) if more > few else judgement / few
        return {
            "step": step,
            "start": max(0.0, one - step),
            "judgement": max(0.0, judgement - few * row),
            "row": row,
        }

    def fastest(self, function, seconds):
        """Returns the seconds of the fastest of up to three calls, fewer if they take long."""
        taken = [self.timed(function)]
        while len(taken) < 3 and sum(taken) < seconds:
            taken.append(self.timed(function))
        return min(taken)

    @staticmethod
    def timed(function):
        before = time.perf_counter()
        function()
        return time.perf_counter() - before

    def weights(self):
        """Returns the contents of a file with the weights."""
        return contents(self.model.save_weights, "trial.weights.h5")


@dataclasses.dataclass(frozen=True, eq=False)
class Building:
    """To build the model of a cell, and to measure it.

    Args:
        name, units: The cell and its size.
        says: What is shown meanwhile.
        in_steps: Whether its single step is built as well: what cannot be measured in the end is told in the beginning.
    """

    name: str
    units: int
    says: str
    in_steps: bool = False
    seconds = 0.0

    def run(self, learner, on_progress=None):
        """Returns the seconds that a step and the like take; `learner(name, units, strategy)` returns the `Learner`."""
        before = time.perf_counter()
        made = learner(self.name, self.units, "direct")
        make = time.perf_counter() - before
        if self.in_steps:
            one_step(made.model)
        return {**made.measure(), "make": make, "build": time.perf_counter() - before}


@dataclasses.dataclass(frozen=True, eq=False)
class Trial:
    """One training, which may run in any process, to the same numbers.

    Args:
        name, units: The cell and its size.
        rate, seed, plan: Those of `Learner.train`.
        key: What its file is called.
        says: What is shown while it runs.
        seconds: What it is expected to take.
        more: Function of the `Learner` and the plan that returns what else the record holds; then the weights are kept
            as well. Defaults to `None`.
        needs: Names of what it returns.
        strategy: What the model predicts: a horizon at once, `"direct"` (default), or its next row, `"recursive"`; or
            the `"quantiles"` of a horizon.
    """

    name: str
    units: int
    rate: float
    seed: int
    plan: dict[str, Any]
    key: str
    says: str
    seconds: float
    more: Callable[..., dict[str, Any]] | None = None
    needs: tuple[str, ...] = ()
    strategy: str = "direct"

    @property
    def made_by(self):
        """What decides about its numbers."""
        plan = {key: value for key, value in self.plan.items() if key != "kept"}
        made_by = {"cell": self.name, "units": self.units, "rate": self.rate, "seed": self.seed}
        return {**made_by, "strategy": self.strategy, **plan}

    def run(self, learner, on_progress=None):
        """Returns the record, and the contents of the file with the weights, or `None`."""
        made = learner(self.name, self.units, self.strategy)
        record = {**self.made_by, **made.train(self.rate, self.seed, self.plan, on_progress)}
        if self.more is None:
            return record, None
        return record | self.more(made, self.plan), made.weights()


FULL_SCORES = ("test", "test_accuracy", "contributions", "figures")


def full_scores(learner, plan):
    """Returns the scores after a whole training, those that the result needs; judgements in it may read fewer rows."""
    data = learner.judged
    outputs = {part: learner.outputs(part, plan["scored"][part]) for part in JUDGED}
    if not data.is_text:
        # They are read twice; those of a text would take much memory.
        outputs = {part: list(blocks) for part, blocks in outputs.items()}
    losses, accuracies = learner.losses("validation", outputs["validation"])
    score, accuracy = learner.summary(losses, accuracies)
    test, test_accuracy = learner.summary(*learner.losses("test", outputs["test"]))
    return {
        "test": test,
        "test_accuracy": test_accuracy,
        "contributions": [float(f"{value:.5g}") for value in data.contributions(losses)],
        "score": score,
        "accuracy": accuracy,
        "figures": figures(data, outputs),
    }
