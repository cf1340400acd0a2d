"""Other models of a horizon than a `Learner`, which forecasts all of its rows at once."""

import keras
import numpy as np
from keras import ops

from keras_rnn_compare.models.candidates import ModelShape
from keras_rnn_compare.models.trials import Learner
from keras_rnn_compare.reading.data import last_layers
from keras_rnn_compare.reading.series import rolled
from keras_rnn_compare.scoring.figures import JUDGED, joined
from keras_rnn_compare.scoring.intervals import QUANTILES, ascending, conformal, pinball, pinball_losses


class Rolled(Learner):
    """The model of one cell for the next row, which reads its own forecasts, and is judged by the whole horizon.

    Arguments: As of `Learner`; `data` has `one_step`.
    """

    def __init__(self, data, shape, candidate, units, batch_size):
        of_row = ModelShape(shape.features, None, 1, shape.depth)
        super().__init__(data.one_step, of_row, candidate, units, batch_size)
        self.judged = data

    def outputs_of(self, part, rows):
        x, series = self.data.x[part], self.judged.series
        later = x.table[series.goals(series.ends[part][rows])[:, :-1]]
        column = self.data.card["columns"].index(self.data.card["target"])

        def predict(x):
            return self.predict(x)[:, 0] * self.data.deviation[0] + self.data.mean[0]

        found = rolled(predict, x[rows], later, column, series.origin is not None)
        return (found - self.judged.mean) / self.judged.deviation


class Quantiles(Learner):
    """The model of one cell for `QUANTILES` of each row of the horizon, which learns by the pinball loss.

    Arguments: As of `Learner`.
    """

    def __init__(self, data, shape, candidate, units, batch_size):
        of_ends = ModelShape(shape.features, None, shape.outputs * len(QUANTILES), shape.depth)
        super().__init__(data, of_ends, candidate, units, batch_size)

    def loss(self):
        return pinball_loss

    def last_layers(self):
        return [*last_layers(self.data, self.shape.outputs), keras.layers.Reshape((-1, len(QUANTILES)))]

    def outputs_of(self, part, rows):
        outputs = super().outputs_of(part, rows)
        return ascending(outputs.reshape(len(outputs), -1, len(QUANTILES)))

    def residuals(self, part, outputs, rows):
        """Returns the residuals of ends, in units of the standard deviation of the target."""
        return np.asarray(outputs, "float64") - self.data.y[part][rows][..., None]

    def losses(self, part, outputs):
        losses = []
        for block, rows in outputs:
            of_block = pinball(-self.residuals(part, block, rows), np.array(QUANTILES))
            losses.append(of_block.mean(axis=(1, 2)))
        return np.concatenate(losses), None

    def summary(self, losses, accuracies):
        return float(np.mean(losses) * self.data.deviation[0]), None


def pinball_loss(y_true, y_pred):
    """Returns the mean pinball loss of `QUANTILES`, one after the other for each row of a horizon."""
    shares = ops.convert_to_tensor(QUANTILES, y_pred.dtype)
    above = y_true[..., None] - ops.reshape(y_pred, (-1, y_true.shape[-1], len(QUANTILES)))
    return ops.mean(ops.maximum(shares * above, (shares - 1) * above), axis=(1, 2))


def learned_intervals(learner, plan):
    """Returns the intervals between the quantiles of a learner, and the pinball loss of their ends on validation."""
    residuals = {}
    for part in JUDGED:
        outputs, rows = joined(learner.outputs(part, plan["scored"][part]))
        residuals[part] = learner.residuals(part, outputs, rows) * learner.data.deviation
    intervals = conformal(residuals["validation"], residuals["test"])
    losses = pinball_losses(residuals["validation"], intervals)
    return {"intervals": intervals, "pinball": float(np.mean(losses)) if losses else None}


# How a horizon is forecast: all at once, or row by row.
STRATEGIES = {"direct": Learner, "recursive": Rolled}
LEARNERS = {**STRATEGIES, "quantiles": Quantiles}


class Learners:
    """The models of cells in one process, made and compiled when they are first needed.

    Args:
        data, shape: The `Data` and the `ModelShape`.
        size: Number of sequences in a batch.
        candidates: Dict of the candidates.
    """

    def __init__(self, data, shape, size, candidates):
        self.data, self.shape, self.size, self.candidates = data, shape, size, candidates
        self._made = {}

    def __call__(self, name, units, strategy="direct"):
        """Returns the `Learner` of a cell of some size."""
        made = self._made.get((name, strategy))
        if made is None or made.units != units:
            made = LEARNERS[strategy](self.data, self.shape, self.candidates[name], units, self.size)
            self._made[name, strategy] = made
        return made
