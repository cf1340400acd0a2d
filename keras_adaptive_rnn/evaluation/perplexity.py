"""Perplexity: of a whole text, and as a metric of `compile`."""

import dataclasses
import math

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import get_mask
from keras_adaptive_rnn._types import Tensor


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The predictions of a language model for a text.

    Attributes:
        loss: Number, the mean cross entropy of the tokens, in nats.
        perplexity: Number, `exp(loss)`.
        bits: Number, the loss in bits: `loss / log(2)`.
        tokens: Integer, number of tokens that were predicted.
        log_probs: Array `[batch_size, tokens of a row]`, the log-probability of each token that was predicted, in
            nats: with `n` tokens in a row, those of `ids[: batch_size * n].reshape(batch_size, n)[:, 1:]`. Not
            compared by `==`.
    """

    loss: float
    perplexity: float
    bits: float
    tokens: int
    log_probs: np.ndarray = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, log_probs):
        """Returns the `Evaluation` of tokens with these log-probabilities."""
        loss = -float(np.mean(log_probs, dtype="float64"))
        # An overflow is an infinite perplexity, not an error.
        perplexity = math.exp(loss) if loss < 700 else math.inf if loss == loss else math.nan
        return cls(loss, perplexity, loss / math.log(2), log_probs.size, log_probs)


@export
class Perplexity(keras.metrics.Metric):
    r"""The perplexity of all tokens since the last reset, for `compile(metrics=[...])`.

    $$\exp\Big(\frac{\sum_n w_n \, (-\log p(y_n))}{\sum_n w_n}\Big)$$

    Every token counts the same, whatever the length of its segment. (Keras's `loss` of an epoch, and its
    `SparseCategoricalCrossentropy`, average each segment first, so that a token of a short segment counts more.)

    Args:
        name: String. Defaults to `"perplexity"`.
        dtype: As in `keras.metrics.Metric`.
        from_logits: Whether the model returns logits, or log-probabilities; `False` for probabilities.
        ignore_class: Integer, the class of tokens that do not count, such as padding. `None` (default): all count.

    Call arguments:
        y_true: Integers `[batch, time]`.
        y_pred: Tensor `[batch, time, classes]`. Steps that its mask excludes do not count.
        sample_weight: Weights $w$, `[batch]` or `[batch, time]`. Defaults to ones.

    Returns: A scalar; 1 before the first token.

    Raises:
        TypeError: an argument is of the wrong type.

    Example:

    >>> metric = keras_adaptive_rnn.evaluation.Perplexity()
    >>> metric.update_state(np.array([[1, 3]]), np.zeros((1, 2, 8)))
    >>> round(float(metric.result()), 4)
    8.0

    Reference: `keras.metrics.SparseCategoricalCrossentropy`, which averages in another order.
    """

    def __init__(
        self,
        name: str = "perplexity",
        dtype: str | None = None,
        from_logits: bool = True,
        ignore_class: int | None = None,
    ):
        super().__init__(name=name, dtype=dtype)
        self.from_logits = _arguments.boolean("from_logits", from_logits)
        self.ignore_class = _arguments.integer("ignore_class", ignore_class, minimum=None, optional=True)
        self._direction = "down"
        self.total = self.add_variable((), "zeros", dtype="float32", name="total")
        self.lost = self.add_variable((), "zeros", dtype="float32", name="lost")
        self.count = self.add_variable((), "zeros", dtype="float32", name="count")

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor | None = None) -> None:
        mask = get_mask(y_pred)
        y_true, y_pred = ops.cast(y_true, "int32"), ops.cast(ops.convert_to_tensor(y_pred), "float32")
        # Classes and weights may have a last axis of one, as in Keras's metrics.
        rank = len(y_pred.shape) - 1
        y_true = _of_rank(y_true, rank)
        weights = ops.ones(ops.shape(y_true), "float32")
        if sample_weight is not None:
            weights = weights * _of_rank(ops.cast(sample_weight, "float32"), rank)
        if mask is not None:
            weights = weights * ops.cast(mask, "float32")
        if self.ignore_class is not None:
            counts = y_true != self.ignore_class
            weights = weights * ops.cast(counts, "float32")
            y_true = ops.where(counts, y_true, 0)
        losses = keras.losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=self.from_logits)
        # A step that does not count may have an infinite loss.
        added = ops.sum(ops.where(weights > 0, losses * weights, 0.0)) - self.lost
        # Compensated (Kahan): the sum over a long text outgrows single precision.
        total = self.total + added
        self.lost.assign((total - self.total) - added)
        self.total.assign(total)
        self.count.assign_add(ops.sum(weights))

    def result(self) -> Tensor:
        return ops.exp(ops.divide_no_nan(self.total - self.lost, self.count))

    def get_config(self):
        return {**super().get_config(), "from_logits": self.from_logits, "ignore_class": self.ignore_class}


def _of_rank(x, rank):
    """Returns a tensor with last axes of one added, or taken away, until it has `rank` axes."""
    shape = ops.shape(x)
    return ops.reshape(x, (*shape[:rank], *[1] * (rank - len(shape))))
