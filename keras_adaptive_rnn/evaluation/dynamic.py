"""Dynamic evaluation: the model goes on learning from the text that it predicts."""

import contextlib
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.evaluation.noise import Noise
from keras_adaptive_rnn.evaluation.optimizers import DynamicEvaluationOptimizer, SquaredGradients
from keras_adaptive_rnn.evaluation.perplexity import Evaluation
from keras_adaptive_rnn.evaluation.scores import SegmentScores
from keras_adaptive_rnn.evaluation.states import OwnStates, vocabulary_size
from keras_adaptive_rnn.evaluation.static import mixtures_of, with_temperature
from keras_adaptive_rnn.evaluation.text import Text

REDUCTIONS = ("mean", "sum")


class _LogProbs(keras.metrics.Metric):
    """The log-probabilities of the tokens of a text at a temperature, segment after segment."""

    def __init__(self, rows, tokens, temperature):
        super().__init__(name="perplexity", dtype="float32")
        self.temperature = temperature
        self.values = self.add_variable((tokens, rows), "zeros", name="values")
        self.seen = self.add_variable((), "zeros", dtype="int32", name="seen")

    def update_state(self, y_true, y_pred, sample_weight=None):
        losses = _cross_entropy(y_true, self.temperature * ops.cast(y_pred, "float32"))
        places = self.seen + ops.arange(losses.shape[1], dtype="int32")
        self.values.assign(ops.scatter_update(self.values, places[:, None], -ops.transpose(losses)))
        self.seen.assign(self.seen + losses.shape[1])

    def reset_state(self):
        """Does nothing, as `fit` and `train_on_batch` call it, and the text goes on."""

    def result(self):
        seen = ops.cast(self.seen, "float32") * self.values.shape[1]
        return ops.exp(-ops.divide_no_nan(ops.sum(self.values), seen))

    def array(self):
        """Returns the log-probabilities as an array `[rows, tokens]`."""
        return ops.convert_to_numpy(self.values.value).T.astype("float64")


def _cross_entropy(targets, logits):
    return keras.losses.sparse_categorical_crossentropy(targets, logits, from_logits=True)


class _EvalModeModel(keras.Model):
    """A model that trains without dropout, added losses or regularizers: on the cross entropy of a segment alone."""

    def __init__(self, model, reduction):
        super().__init__(name="eval_mode")
        self.model, self.reduction = model, reduction
        self.built = True

    def call(self, ids, training=None):
        return self.model(ids, training=False)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        losses = _cross_entropy(y, ops.cast(y_pred, "float32"))
        return ops.mean(losses if self.reduction == "mean" else ops.sum(losses, axis=-1))

    @contextlib.contextmanager
    def learning(self, optimizer, metrics=()):
        """A context in which the model takes steps of an optimizer."""
        # Outside of the graph, which would fill the slots anew in each step.
        optimizer.build(self.trainable_variables)
        self.compile(optimizer, metrics=list(metrics), auto_scale_loss=False)
        yield
        if hasattr(self, "zero_grad"):
            # PyTorch would keep the gradients.
            self.zero_grad()

    def train_on_segments(self, text, steps, optimizer, verbose, shortest=1, metrics=()):
        """Takes a step of `optimizer` for each segment of a text, and returns their number."""
        with self.learning(optimizer, metrics):
            ids, targets = text.segments(steps, pad=False)
            if len(ids):
                self.fit(ids, targets, batch_size=text.batch_size, shuffle=False, verbose=verbose)
            count = len(ids) // text.batch_size
            # On its own, as TensorFlow takes the length of all segments from the first.
            ids, targets = text.rest(steps)
            if ids.shape[1] >= shortest:
                self.train_on_batch(np.ascontiguousarray(ids), np.ascontiguousarray(targets))
                count += 1
        return count


class GradientStatistics(NamedTuple):
    """The sizes of a model's gradients over the segments of a text.

    Attributes:
        root_means: List of arrays, the root mean square of each entry, for each of `model.trainable_variables`.
        steps: Integer, tokens of a segment.
        reduction: `"mean"` or `"sum"`, the loss of a segment.
    """

    root_means: list[np.ndarray]
    steps: int
    reduction: str


def gradient_statistics(
    model: keras.Model,
    ids: Any,
    steps: int = 5,
    batch_size: int = 100,
    reduction: str = "mean",
    *,
    verbose: bool = True,
) -> GradientStatistics:
    r"""Returns the sizes of a model's gradients over its training text, for several calls of `dynamic_evaluate`.

    $$RMS_g = \sqrt{\tfrac1n \sum_{i=1}^n g_i^2}$$

    over the gradients $g_i$ of the $n$ segments. Dropout, added losses and regularizers are off, and the weights stay
    as they are. The numbers hold for these weights only.

    Args:
        ids: Integers `[tokens]`, the training text.
        batch_size: Positive integer, rows that the text is cut into. Defaults to `100`.
        model, steps, reduction, verbose: As in `keras_adaptive_rnn.evaluation.dynamic_evaluate`.

    Returns: A `GradientStatistics(root_means, steps, reduction)`.

    Raises:
        ValueError: As in `keras_adaptive_rnn.evaluation.evaluate`, or the text is shorter than a segment.
        TypeError: An argument is of the wrong type.

    Example:

    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True)
    >>> layers = [keras.Input(batch_shape=(1, None)), keras.layers.Embedding(5, 8), rnn, keras.layers.Dense(5)]
    >>> model, text = keras.Sequential(layers), np.arange(300) % 5
    >>> statistics = keras_adaptive_rnn.evaluation.gradient_statistics(model, text, batch_size=4, verbose=False)
    >>> evaluate = keras_adaptive_rnn.evaluation.dynamic_evaluate
    >>> losses = [evaluate(model, text, statistics, learning_rate=rate, verbose=False).loss for rate in (1e-4, 1e-3)]

    Reference: Krause et al., Dynamic Evaluation of Neural Sequence Models (2018), section 4.
    """
    text = Text(ids, _arguments.integer("batch_size", batch_size))
    return _statistics(
        model, text, _arguments.integer("steps", steps), reduction, _arguments.boolean("verbose", verbose)
    )


def _statistics(model, text, steps, reduction, verbose):
    _arguments.choice("reduction", reduction, REDUCTIONS)
    if text.count < steps:
        raise ValueError(
            f"Argument `{text.name}` must have a segment of {steps} tokens, and the one after them, for each of "
            f"{text.batch_size} rows. Received: {text.size} tokens"
        )
    states = OwnStates(model, text.batch_size)
    text.check_vocabulary(vocabulary_size(model, states, text.batch_size, steps))
    _check_trainable(model)
    squares = SquaredGradients()
    with states:
        # The authors' code leaves out a last segment of a single token.
        count = _EvalModeModel(model, reduction).train_on_segments(text, steps, squares, int(verbose), shortest=2)
    return GradientStatistics(squares.root_means(count), steps, reduction)


def _check_trainable(model):
    if not model.trainable_variables:
        raise ValueError(f"Argument `model` must have trainable weights. Received: '{model.name}', which has none")


def _check_statistics(statistics, model, steps, reduction):
    for name, value in (("steps", steps), ("reduction", reduction)):
        known = getattr(statistics, name)
        _arguments.check(value == known, f"Argument `{name}` must be {known!r}, that of `statistics`", **{name: value})
    expected = [tuple(variable.shape) for variable in model.trainable_variables]
    received = [array.shape for array in statistics.root_means]
    if received != expected:
        raise ValueError(
            f"Argument `statistics` must have an array for each trainable weight of '{model.name}', of the shapes "
            f"{expected}. Received: arrays of the shapes {received}"
        )


def dynamic_evaluate(
    model: keras.Model,
    ids: Any,
    statistics: Any,
    steps: int = 5,
    statistics_batch_size: int = 100,
    learning_rate: float = 5e-5,
    decay: float = 2e-3,
    epsilon: float = 2e-5,
    normalize: str = "tensors",
    reduction: str = "mean",
    restore: bool = True,
    *,
    samples: int = 0,
    average: str | float = "arithmetic",
    dropout_scale: float = 1.0,
    temperature: float = 1.0,
    seed: int | None = None,
    verbose: bool = True,
) -> Evaluation:
    r"""Returns the perplexity of a recurrent language model that goes on learning from the text it has predicted.

    The text is one row, read in segments of `steps` tokens, with its states carried along. Each segment is predicted
    first; then the weights take a step:

    $$\theta \leftarrow \theta - \eta \, \frac{g}{RMS_g + \epsilon}
      + \min\!\Big(1, \lambda \frac{RMS_g}{\overline{RMS_g}}\Big) (\theta_0 - \theta), \qquad
      RMS_g = \sqrt{\tfrac1n \sum_{i=1}^n g_i^2}$$

    $g$ is the gradient of the segment's loss, $\theta_0$ are the trained weights, and $g_i$ the gradients of the $n$
    segments of the training text, at those weights, in batches of `statistics_batch_size` rows. (In the paper, of
    single sequences; in the authors' code, as here, of batches.)

    `samples` and `temperature` change the predictions alone: in the steps, dropout, added losses and regularizers are
    off, and the temperature is 1. Weights that are not trainable stay.

    The defaults are the numbers of Krause et al.; those of Melis et al. are `learning_rate=1e-3, decay=0.02,
    epsilon=1e-5, normalize="entries", reduction="sum"`, with `steps` up to 20 for words. Both tune the first three on
    validation text.

    Args:
        model: As in `keras_adaptive_rnn.evaluation.evaluate`.
        ids: Integers `[tokens]`, the text to predict.
        statistics: Integers `[tokens]`, the training text; or its `keras_adaptive_rnn.evaluation.gradient_statistics`,
            which is quicker for several calls.
        steps: Positive integer, tokens of a segment. Defaults to `5`.
        statistics_batch_size: Positive integer, rows of the training text. Defaults to `100`.
        learning_rate: Non-negative number $\eta$. Defaults to `5e-5`.
        decay: Non-negative number $\lambda$. Defaults to `2e-3`.
        epsilon: Positive number $\epsilon$. Defaults to `2e-5`.
        normalize: $\overline{RMS_g}$ is, with `"tensors"` (default), the mean over the weight tensors of their means,
            and with `"entries"`, the mean over all their entries.
        reduction: Whether the loss of a segment is the `"mean"` (default) or the `"sum"` over its tokens.
        restore: Whether to restore the weights at the end, bit for bit. Defaults to `True`.
        samples, average, dropout_scale, temperature, seed, verbose: As in `keras_adaptive_rnn.evaluation.evaluate`.

    Returns: An `Evaluation(loss, perplexity, bits, tokens, log_probs)`.

    Raises:
        ValueError: As in `keras_adaptive_rnn.evaluation.evaluate`; the training text is shorter than a segment; its
            gradient is zero; or `statistics` are those of another model, other `steps` or another `reduction`.
        TypeError: An argument is of the wrong type.

    Example:

    >>> keras.utils.set_random_seed(0)
    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True)
    >>> layers = [keras.Input(batch_shape=(1, None)), keras.layers.Embedding(5, 8), rnn, keras.layers.Dense(5)]
    >>> model, text = keras.Sequential(layers), np.arange(300) % 5
    >>> adapted = keras_adaptive_rnn.evaluation.dynamic_evaluate(
    ...     model, text, statistics=text, statistics_batch_size=4, learning_rate=0.001, verbose=False
    ... )
    >>> adapted.perplexity < keras_adaptive_rnn.evaluation.evaluate(model, text, verbose=False).perplexity
    True

    Reference: Krause et al., Dynamic Evaluation of Neural Sequence Models (2018), section 4, equations 5 to 8.
    """
    steps = _arguments.integer("steps", steps)
    learning_rate = _arguments.number("learning_rate", learning_rate, minimum=0)
    decay = _arguments.number("decay", decay, minimum=0)
    epsilon = _arguments.number("epsilon", epsilon, positive=True)
    _arguments.choice("normalize", normalize, ("tensors", "entries"))
    _arguments.choice("reduction", reduction, REDUCTIONS)
    _arguments.boolean("restore", restore)
    shown = int(_arguments.boolean("verbose", verbose))
    temperature = _arguments.number("temperature", temperature, positive=True)
    text, states = Text(ids, 1), OwnStates(model, 1)
    classes = vocabulary_size(model, states, 1, steps)
    text.check_vocabulary(classes)
    _check_trainable(model)
    noise = Noise(model, samples, average, dropout_scale, seed)
    if not isinstance(statistics, GradientStatistics):
        rows = _arguments.integer("statistics_batch_size", statistics_batch_size)
        statistics = _statistics(model, Text(statistics, rows, "statistics"), steps, reduction, verbose)
    _check_statistics(statistics, model, steps, reduction)

    rates = [learning_rate / (array + epsilon) for array in statistics.root_means]
    optimizer = DynamicEvaluationOptimizer(rates, _decay_rates(statistics.root_means, decay, normalize))
    before = [ops.convert_to_numpy(variable.value).copy() for variable in model.trainable_variables]
    done = False
    try:
        learner = _EvalModeModel(model, reduction)
        if noise.samples or (temperature != 1 and mixtures_of(model)):
            log_probs = _predicted_apart(learner, text, steps, optimizer, temperature, noise, classes, states, shown)
        else:
            record = _LogProbs(text.batch_size, text.count, temperature)
            with states:
                learner.train_on_segments(text, steps, optimizer, shown, metrics=[record])
            log_probs = record.array()
        done = True
    finally:
        if restore or not done:
            for variable, value in zip(model.trainable_variables, before, strict=True):
                variable.assign(value)
    return Evaluation.of(log_probs)


def _predicted_apart(learner, text, steps, optimizer, temperature, noise, classes, states, verbose):
    """Returns the log-probabilities where other passes predict a segment than the one that learns from it."""
    mixtures, columns = mixtures_of(learner.model), []
    temperatures = [1.0 if mixtures else temperature]
    score = SegmentScores(learner.model, text.batch_size, steps, temperatures, noise, classes)
    bar = keras.utils.Progbar(-(-text.count // steps), verbose=verbose, unit_name="segment")
    with noise.drawn(), learner.learning(optimizer):
        for ids, targets in text.in_order(steps):
            # Inside each softmax of a mixture.
            with with_temperature(mixtures, temperature):
                columns.append(score(ids, targets, states)[0])
            with states:
                learner.train_on_batch(ids, targets)
            bar.add(1)
    return np.concatenate(columns, axis=-1)


def _decay_rates(rms, decay, normalize):
    """Returns the rate of return of each entry, a list of arrays."""
    means = [array.mean() for array in rms]
    mean = np.mean(means) if normalize == "tensors" else np.average(means, weights=[array.size for array in rms])
    if not mean > 0:
        raise ValueError(
            "Argument `statistics` must be a text whose gradient is not zero, for the size of the steps. Received: one "
            f"whose gradient has a root mean square of {mean}"
        )
    return [np.minimum(1.0, decay * array / mean) for array in rms]
