"""The temperature at which a model predicts a text best."""

from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.evaluation.static import log_probabilities, mean_losses


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
    r"""Returns the number that the logits should be multiplied by, and the loss at each number that was tried.

    It tries `high`, `high - step`, ... down to `low` on the start of a text, all in one pass. Give it validation text,
    and `evaluate` its result: `evaluate(model, test, temperature=temperature)`.

    Args:
        model, ids, batch_size, steps, samples, average, dropout_scale, seed, verbose: As in
            `keras_adaptive_rnn.evaluation.evaluate`. The temperature depends on the method of evaluation.
        low: Positive number, the lowest one tried. Defaults to `0.8`.
        high: Number of at least `low`, the highest. Defaults to `1.06`.
        step: Positive number. Defaults to `0.02`.
        tokens: Positive integer, how much of the text to use, to whole segments; `None` for all. Defaults to `50_000`.
        patience: Positive integer: stop after so many numbers in a row that are no better than the best before them,
            as the authors' code does with 2. `None` (default) tries all.

    Returns: `(temperature, curve)`: a number, and a dict of losses (nats a token) by number, in the order of trial.

    Example:

    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True)
    >>> model = keras.Sequential(
    ...     [keras.Input(batch_shape=(1, None)), keras.layers.Embedding(5, 8), rnn, keras.layers.Dense(5)]
    ... )
    >>> temperature, curve = keras_adaptive_rnn.evaluation.tune_temperature(
    ...     model, np.arange(100) % 5, low=0.9, step=0.05, verbose=False
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
    return search(temperatures, mean_losses(log_p).tolist(), patience)


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
