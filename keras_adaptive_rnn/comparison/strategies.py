"""Forecasts of a whole horizon row by row, by a model of the next row that reads its own forecasts."""

from keras_adaptive_rnn.comparison.candidates import ModelShape
from keras_adaptive_rnn.comparison.series import rolled
from keras_adaptive_rnn.comparison.trials import Learner


class Rolled(Learner):
    """The model of one cell for the next row, which is judged by the whole horizon.

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


# How a horizon is forecast: all at once, or row by row.
STRATEGIES = {"direct": Learner, "recursive": Rolled}
