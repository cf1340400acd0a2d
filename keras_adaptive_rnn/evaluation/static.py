"""The perplexity of a text, with the weights as they are: once, or averaged over samples of the dropout.

Also the temperature at which a model predicts a text best.
"""

import contextlib
from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers, replaced
from keras_adaptive_rnn.evaluation import scores
from keras_adaptive_rnn.evaluation.noise import Noise
from keras_adaptive_rnn.evaluation.perplexity import Evaluation
from keras_adaptive_rnn.evaluation.states import OwnStates, vocabulary_size
from keras_adaptive_rnn.evaluation.text import Text
from keras_adaptive_rnn.layers.mixture_of_softmaxes import MixtureOfSoftmaxes


def evaluate(
    model: keras.Model,
    ids: Any,
    batch_size: int = 1,
    steps: int = 70,
    samples: int = 0,
    average: str | float = "arithmetic",
    dropout_scale: float = 1.0,
    temperature: float = 1.0,
    *,
    seed: int | None = None,
    verbose: bool = True,
) -> Evaluation:
    r"""Returns the perplexity of a recurrent language model on a text, also with Monte Carlo dropout.

    The text is cut into `batch_size` rows of equal length, and these into segments of `steps` tokens. States are
    initial at the start of a row, and carried from segment to segment, so the result does not depend on `steps`. Every
    token but the first of a row is predicted, and all count the same:

    $$\text{loss} = -\frac1N \sum_n \log p_n, \qquad p_n = \mathrm{softmax}(t z_n)_{y_n}$$

    With `samples` $S > 0$, the model makes $S$ passes in training mode, with dropout on, each rate multiplied by
    `dropout_scale`, and their probabilities are averaged:

    - `"arithmetic"`: $p_n = \frac1S \sum_s \mathrm{softmax}(t z_n^s)_{y_n}$. Each pass carries its own states through
      the whole text.
    - `"geometric"`: $p_n \propto \big(\prod_s p_n^s\big)^{t / S}$ over all classes. Each segment starts from the states
      of a pass without dropout.
    - a number $r$, the power mean: $p_n \propto \big(\frac1S \sum_s (p_n^s)^r\big)^{t / r}$, states as before.

    In a mixture of softmaxes, $t$ multiplies the logits of each softmax.

    All noise of the layers is on: dropout of every kind and Gaussian noise, both scaled, and at their own rates zoneout
    and stochastic depth, whose expectation depends on the rate. Batch normalization is in inference mode, and cells
    that decide how much to compute decide as in training. With `dropout_scale=0`, all noise is off.

    The states, weights and noise generators of the model are restored at the end. While it runs, do not call the model
    in another thread.

    Args:
        model: A Keras model from ids `[batch, time]` to logits, or log-probabilities, `[batch, time, vocabulary]`, with
            a stateful recurrent layer of this package. Its own batch size does not matter.
        ids: Integers `[tokens]`, the text.
        batch_size: Positive integer, number of rows: more are faster, but each starts without a past, and the last
            `len(ids) % batch_size` tokens are dropped. Defaults to `1`.
        steps: Positive integer, length of a segment. Defaults to `70`.
        samples: Non-negative integer $S$; `0` (default) for one pass without noise.
        average: `"arithmetic"` (default), `"geometric"`, or a positive number.
        dropout_scale: Non-negative number, which multiplies the rates while sampling. Defaults to `1.0`; the authors of
            the Mogrifier tuned it from 0.6 to 0.9.
        temperature: Positive number $t$, which multiplies the logits (an inverse temperature). Defaults to `1.0`.
        seed: Non-negative integer, for the same noise in every call. `None` (default) draws new noise.
        verbose: Whether to show progress. Defaults to `True`.

    Returns: An `Evaluation(loss, perplexity, bits, tokens, log_probs)`, the last one token by token.

    Raises:
        ValueError: ids outside of the vocabulary, too short a text, a model without a stateful layer, without dropout
            although there are `samples`, or whose outputs are probabilities, or an argument out of its range.
        TypeError: an argument is of the wrong type.

    Example:

    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True, dropout=0.3)
    >>> layers = [keras.Input(batch_shape=(4, None)), keras.layers.Embedding(5, 8), rnn, keras.layers.Dense(5)]
    >>> model, text = keras.Sequential(layers), np.arange(200) % 5
    >>> keras_adaptive_rnn.evaluation.evaluate(model, text, verbose=False).tokens
    199
    >>> sampled = keras_adaptive_rnn.evaluation.evaluate(model, text, samples=3, verbose=False)
    >>> 1 < sampled.perplexity < 100
    True

    Reference: Gal and Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks (2016),
    section 4; Melis, Kocisky and Blunsom, Mogrifier LSTM (2020), section 3.3, for the averages and the scaled rates.
    """
    log_p = log_probabilities(
        model, ids, batch_size, steps, samples, average, dropout_scale, [temperature], None, seed, verbose
    )
    return Evaluation.of(log_p[0])


def tune_temperature(
    model: keras.Model,
    ids: Any,
    low: float = 0.8,
    high: float = 1.06,
    step: float = 0.02,
    tokens: int | None = 50_000,
    *,
    patience: int | None = None,
    batch_size: int = 1,
    steps: int = 70,
    samples: int = 0,
    average: str | float = "arithmetic",
    dropout_scale: float = 1.0,
    seed: int | None = None,
    verbose: bool = True,
) -> tuple[float, dict[float, float]]:
    """Returns the number by which to multiply the logits, and the loss at each number that was tried.

    It tries `high`, `high - step`, ... down to `low` on the start of a validation text, all in one pass. Then call
    `evaluate(model, test, temperature=temperature)`, with the same method of evaluation.

    Args:
        low: Positive number, the lowest one tried. Defaults to `0.8`.
        high: Number of at least `low`, the highest. Defaults to `1.06`.
        step: Positive number. Defaults to `0.02`.
        tokens: Positive integer, how much of the text to use, to whole segments; `None` for all. Defaults to `50_000`.
        patience: Positive integer: stop after so many numbers in a row that are no better than the best before them,
            as the authors' code does with 2. `None` (default) tries all.
        model, ids, batch_size, steps, samples, average, dropout_scale, seed, verbose: As in
            `keras_adaptive_rnn.evaluation.evaluate`.

    Returns: `(temperature, curve)`: a number, and a dict of losses (nats a token) by number, in the order of trial.

    Example:

    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True)
    >>> layers = [keras.Input(batch_shape=(1, None)), keras.layers.Embedding(5, 8), rnn, keras.layers.Dense(5)]
    >>> temperature, curve = keras_adaptive_rnn.evaluation.tune_temperature(
    ...     keras.Sequential(layers), np.arange(100) % 5, low=0.9, step=0.05, verbose=False
    ... )
    >>> list(curve), temperature in curve
    ([1.06, 1.01, 0.96, 0.91], True)

    Reference: Melis, Kocisky and Blunsom, Mogrifier LSTM (2020), and the search in the authors' code.
    """
    tokens = _arguments.integer("tokens", tokens, optional=True)
    patience = _arguments.integer("patience", patience, optional=True)
    temperatures = _grid(low, high, step)
    log_p = log_probabilities(
        model, ids, batch_size, steps, samples, average, dropout_scale, temperatures, tokens, seed, verbose
    )
    return search(temperatures, (-np.mean(log_p, axis=(1, 2))).tolist(), patience)


def _grid(low, high, step):
    low, step = _arguments.number("low", low, positive=True), _arguments.number("step", step, positive=True)
    high = _arguments.number("high", high, minimum=low)
    # Half a step of tolerance would let it fall below `low`; a rounding error must not cost the last number.
    count = int(np.floor((high - low) / step + 1e-6)) + 1
    return [round(high - k * step, 10) for k in range(count)]


def search(temperatures, losses, patience=None):
    """Returns the best temperature, and the losses by temperature up to where the search stops."""
    curve, best, since = {}, None, 0
    for temperature, loss in zip(temperatures, losses, strict=True):
        curve[temperature] = loss
        if best is None or loss < curve[best]:
            best, since = temperature, 0
        else:
            since += 1
        if patience is not None and since >= patience:
            break
    return best, curve


def log_probabilities(
    model, ids, batch_size, steps, samples, average, dropout_scale, temperatures, tokens, seed, verbose
):
    """Returns the log-probabilities of the targets, `[temperatures, rows, tokens]`; arguments as in `evaluate`.

    Only the first `tokens` of the text are used, all rows together; `None` means all.
    """
    batch_size, steps = _arguments.integer("batch_size", batch_size), _arguments.integer("steps", steps)
    temperatures = [_arguments.number("temperature", t, positive=True) for t in temperatures]
    _arguments.boolean("verbose", verbose)
    text = Text(ids, batch_size)
    if tokens is not None:
        text.first(max(1, tokens // batch_size // steps) * steps)
    # A short text needs no long segments.
    steps = min(steps, text.count)
    classes = vocabulary_size(model, OwnStates(model, batch_size), batch_size, steps)
    text.check_vocabulary(classes)
    noise = Noise(model, samples, average, dropout_scale, seed)

    is_mean = noise.average == "arithmetic" or not noise.samples
    average = scores.mean_of_passes if is_mean else scores.mean_of_segments
    mixtures, columns = mixtures_of(model), []
    # The temperature acts inside each softmax of a mixture, so each needs a pass of its own.
    passes = [(t, [1.0]) for t in temperatures] if mixtures else [(1.0, temperatures)]
    for inside, outside in passes:
        with noise.drawn(), with_temperature(mixtures, inside):
            columns.append(average(model, text, steps, outside, noise, classes, verbose))
    return np.concatenate(columns)


def mixtures_of(model):
    """Returns the mixtures of softmaxes in a model: their temperature is not that of what they return."""
    return [layer for layer in flatten_layers(model) if isinstance(layer, MixtureOfSoftmaxes)]


@contextlib.contextmanager
def with_temperature(layers, temperature):
    """A context in which the temperatures of layers are multiplied by a number."""
    with contextlib.ExitStack() as stack:
        for layer in layers:
            stack.enter_context(replaced(layer, temperature=layer.temperature * temperature))
        yield
