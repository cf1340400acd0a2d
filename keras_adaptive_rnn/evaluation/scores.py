"""The log-probabilities that a model gives to a text, in one pass or averaged over many."""

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn.evaluation.noise import rows_are_samples
from keras_adaptive_rnn.evaluation.states import OwnStates

# The largest number of logits in a batch: 256 MiB.
LOGITS = 2**26


class Scores(keras.Model):
    """Log-probabilities `[rows, samples, steps, ...]`: of the targets at each temperature, or of all classes."""

    def __init__(self, model, temperatures=None, samples=1, noisy=False):
        super().__init__(name="scores")
        # Not `training`, a name that PyTorch's modules use.
        self.model, self.samples, self.noisy = model, samples, noisy
        self.temperatures = None if temperatures is None else tuple(temperatures)
        self.built = True

    def call(self, inputs, training=None):
        ids, targets = (ops.tile(inputs[name], (self.samples, 1)) for name in ("ids", "targets"))
        # An explicit `training` overrules that of `predict`.
        logits = ops.cast(self.model(ids, training=self.noisy), "float32")
        if self.temperatures is None:
            values = ops.log_softmax(logits, axis=-1)
        else:
            hit = ops.take_along_axis(logits, ops.cast(targets, "int32")[..., None], axis=-1)[..., 0]
            columns = [t * hit - ops.logsumexp(t * logits if t != 1 else logits, axis=-1) for t in self.temperatures]
            values = ops.stack(columns, axis=-1)
        # TensorFlow no longer knows the length once a segment is shorter.
        values = ops.reshape(values, (self.samples, -1, *ops.shape(values)[1:]))
        return ops.swapaxes(values, 0, 1)


class LogPowerMean:
    """The power mean of probabilities, in the log domain and one at a time; that of power 0 is the geometric one."""

    def __init__(self, power):
        self._power, self._count = power, 0
        self._total = -np.inf if power else 0.0

    def add(self, log_p):
        self._total = np.logaddexp(self._total, self._power * log_p) if self._power else self._total + log_p
        self._count += 1

    def value(self):
        return (self._total - np.log(self._count)) / self._power if self._power else self._total / self._count


def renormalized(log_p, targets, temperatures):
    """Returns log-probabilities `[temperatures, ...]` of targets under distributions proportional to `exp(t log_p)`."""
    hit = np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    return np.stack([t * hit - np.logaddexp.reduce(t * log_p, axis=-1) for t in temperatures])


def _passed(scores, text, steps, verbose):
    """Returns log-probabilities `[samples, temperatures, rows, tokens]` of one pass over the text."""
    # A last segment that is filled up needs no second compilation; nothing reads the states after it.
    ids, targets = text.segments(steps, pad=True)
    log_p = scores.predict({"ids": ids, "targets": targets}, batch_size=text.batch_size, verbose=verbose)
    log_p = np.reshape(log_p, (-1, text.batch_size, *np.shape(log_p)[1:]))
    # From segments, rows, samples, steps, temperatures.
    log_p = log_p.transpose(2, 4, 1, 0, 3)
    return log_p.reshape(*log_p.shape[:3], -1)[..., : text.count].astype("float64")


def _at_once(noise, rows, steps, classes):
    """Returns how many samples run as the rows of one batch."""
    most = LOGITS // (rows * steps * classes) if rows_are_samples(noise.parts) else 1
    groups = -(-noise.passes // max(1, min(noise.passes, most)))
    return -(-noise.passes // groups)


def mean_of_passes(model, text, steps, temperatures, noise, classes, verbose):
    """Returns log-probabilities `[temperatures, rows, tokens]`; every pass carries its states through the text."""
    at_once = _at_once(noise, text.batch_size, steps, classes)
    scores, states = Scores(model, temperatures, at_once, noise.is_on), OwnStates(model, text.batch_size * at_once)
    mean, is_single = LogPowerMean(1.0), noise.passes == 1
    bar = keras.utils.Progbar(noise.passes, verbose=int(verbose and not is_single), unit_name="sample")
    with states:
        for done in range(0, noise.passes, at_once):
            states.reset()
            log_probs = _passed(scores, text, steps, verbose=int(verbose and is_single))
            for log_p in log_probs[: noise.passes - done]:
                mean.add(log_p)
            bar.update(min(done + at_once, noise.passes))
    return mean.value()


def mean_of_segments(model, text, steps, temperatures, noise, classes, verbose):
    """Returns the same; every segment starts from the states of a pass without noise."""
    score = SegmentScores(model, text.batch_size, steps, temperatures, noise, classes)
    plain, states = Scores(model), OwnStates(model, text.batch_size)
    ids, targets = text.segments(steps, pad=True)
    columns, count = [], len(ids) // text.batch_size
    bar = keras.utils.Progbar(count, verbose=int(verbose), unit_name="segment")
    for k in range(count):
        rows = slice(k * text.batch_size, (k + 1) * text.batch_size)
        columns.append(score(ids[rows], targets[rows], states))
        with states:
            plain.predict_on_batch({"ids": ids[rows], "targets": targets[rows]})
        bar.update(k + 1)
    return np.concatenate(columns, axis=-1)[..., : text.count]


class SegmentScores:
    """The log-probabilities of one segment after the other, averaged over samples; called within `noise.drawn()`.

    In an arithmetic average, every sample carries states of its own from segment to segment. Otherwise each segment
    starts from the states of a pass without noise.
    """

    def __init__(self, model, rows, steps, temperatures, noise, classes):
        self._noise, self._temperatures = noise, temperatures
        self._at_once = _at_once(noise, rows, steps, classes)
        self._states = OwnStates(model, rows * self._at_once)
        carries = noise.average == "arithmetic"
        self._model = Scores(model, temperatures if carries else None, self._at_once, noise.is_on)
        # One set of variables for all, as TensorFlow compiles them into the function.
        self._carried = [self._states.values()] * -(-noise.passes // self._at_once) if carries else None

    def __call__(self, ids, targets, plain_states):
        """Returns log-probabilities `[temperatures, rows, steps]`; `plain_states` are those of a pass without noise."""
        samples, average = self._noise.passes, self._noise.average
        mean = LogPowerMean({"arithmetic": 1.0, "geometric": 0.0}.get(average, average))
        for group, done in enumerate(range(0, samples, self._at_once)):
            with self._states:
                self._states.start_from(plain_states.values() if self._carried is None else self._carried[group])
                batch = np.asarray(self._model.predict_on_batch({"ids": ids, "targets": targets}), "float64")
                if self._carried is not None:
                    self._carried[group] = self._states.values()
            for log_p in batch.swapaxes(0, 1)[: samples - done]:
                mean.add(log_p)
        if self._carried is None:
            return renormalized(mean.value(), targets, self._temperatures)
        return np.moveaxis(mean.value(), -1, 0)
