"""A long text, cut into rows that are read side by side in segments."""

import keras
import numpy as np

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._seeds import resolve_seed
from keras_adaptive_rnn._types import Tensor


class TokenStream(keras.utils.PyDataset):
    r"""Reads a text in segments of random length, for a stateful model that predicts each next token.

    The text is cut into `batch_size` rows of $N = \lfloor \text{tokens} / \text{batch size} \rfloor$ tokens; the tokens
    left over are not read. A batch is the next segment of every row, and its targets are the tokens that follow. So an
    epoch predicts every token of a row but the first, once. The lengths of the segments are drawn for each epoch:

    $$L = \lfloor \mathcal{N}(b, \text{spread}^2) \rfloor, \qquad
      b = \text{steps} / 2 \text{ with probability half, else } b = \text{steps}$$

    within `minimum` and `maximum`. Keras needs as many segments in every epoch, so $N$ over their expected length are
    drawn, and then single tokens are added or taken at random until they fill the rows. With `spread=0, half=0`, as for
    validation, every segment has `steps` tokens, but for the first, which has the remainder.

    Call `fit(stream, shuffle=False)`, with a model that is built for `batch_size` rows of any length, and with
    `keras_adaptive_rnn.callbacks.StreamStates(stream)`, which resets the states and scales the learning rate.

    On JAX, each new length compiles the model again. `bucket` rounds lengths to multiples, which bounds their number.

    Args:
        ids: Integers, the tokens of the text in order; they may be memory-mapped, and are read segment by segment.
        batch_size: Positive integer, number of rows.
        steps: Positive integer, the usual length of a segment. Defaults to `70`.
        spread: Non-negative number, standard deviation of the lengths. Defaults to `5.0`.
        half: Number in `[0, 1]`, the share of segments of half the usual length. Defaults to `0.05`.
        minimum: Positive integer, the shortest length. Defaults to `5`.
        maximum: Integer of at least `steps`, the longest length, or `None` (default).
        bucket: Positive integer; all lengths are multiples of it, except for the last one of an epoch if the length of
            a row is not. `minimum` and `maximum` are then rounded inwards. Defaults to `1`.
        seed: Non-negative integer, or `None` (default) for a random one. The lengths depend on it and on the number of
            the epoch alone.

    Attributes:
        lengths: Integers, the lengths of the segments of this epoch.
        epoch: Integer, the number of the epoch, which goes up by itself; assigning another one draws its lengths.

    Items: `x, y`, int32 arrays `[batch_size, length]`.

    Raises:
        ValueError: The text is too short for one segment a row, no segments within `minimum` and `maximum` fill a row,
            or an argument is out of range.
        TypeError: An argument is of the wrong type.

    Example:

    >>> stream = keras_adaptive_rnn.datasets.TokenStream(np.arange(1000), batch_size=2, steps=70, seed=0)
    >>> x, y = stream[0]
    >>> bool((y == x + 1).all()), int(sum(stream.lengths))
    (True, 499)

    Reference: Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.1. Their
    code draws lengths until the rows are full, so that the number of segments differs from epoch to epoch.
    """

    def __init__(
        self,
        ids: Tensor,
        batch_size: int,
        steps: int = 70,
        spread: float = 5.0,
        half: float = 0.05,
        minimum: int = 5,
        maximum: int | None = None,
        bucket: int = 1,
        seed: int | None = None,
    ):
        super().__init__()
        ids = np.asarray(ids)
        if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
            raise TypeError(
                "Argument `ids` must be a one-dimensional array of integers. "
                f"Received: an array of shape {ids.shape} and dtype {ids.dtype}"
            )
        self.batch_size = _arguments.integer("batch_size", batch_size)
        self.steps = _arguments.integer("steps", steps)
        self.spread = _arguments.number("spread", spread, minimum=0)
        self.half = _arguments.number("half", half, minimum=0, maximum=1)
        self.minimum = _arguments.integer("minimum", minimum)
        self.maximum = _arguments.integer("maximum", maximum, minimum=self.steps, optional=True)
        self.bucket = _arguments.integer("bucket", bucket)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self._resolved_seed = resolve_seed(self.seed)
        row = len(ids) // self.batch_size
        self.is_fixed = not self.spread and not self.half
        needed = 1 if self.is_fixed else self._bounds()[0]
        if row - 1 < needed:
            raise ValueError(
                f"Argument `ids` must have at least {(needed + 1) * self.batch_size} tokens, so that each of "
                f"{self.batch_size} rows has a segment of {needed} and a target more. Received: {len(ids)} tokens"
            )
        if ids.min() < 0:
            raise ValueError(f"Argument `ids` must have no negative tokens. Received: {ids.min()}")
        # A view: a file of tokens that is memory-mapped stays on the disk.
        self.rows = ids[: self.batch_size * row].reshape(self.batch_size, row)
        self.largest = int(self.rows.max())
        self._in_epoch = self._at_end = False
        self._furthest = -1
        self.epoch = 0

    def _bounds(self):
        """Returns the shortest and the longest length, as multiples of the bucket."""
        shortest = -(-self.minimum // self.bucket) * self.bucket
        longest = np.inf if self.maximum is None else self.maximum // self.bucket * self.bucket
        rule = "Argument `bucket` must have a multiple between `minimum` and `maximum`"
        _arguments.check(shortest <= longest, rule, bucket=self.bucket, minimum=self.minimum, maximum=self.maximum)
        return shortest, longest

    # The lengths.

    @property
    def epoch(self) -> int:
        return self._epoch

    @epoch.setter
    def epoch(self, value):
        self._epoch = _arguments.integer("epoch", value, minimum=0)
        self.lengths = self._draw(np.random.default_rng([self._resolved_seed, self._epoch]))

    def _draw(self, rng):
        total = self.rows.shape[1] - 1
        if self.is_fixed:
            # The remainder comes first: TensorFlow takes two segments of one length for the shape of all.
            return np.array([total % self.steps] * (total % self.steps > 0) + [self.steps] * (total // self.steps))
        shortest, longest = self._bounds()
        # What no multiples fill is in the last segment, always in the same length, and JAX compiles it once.
        rest = total % self.bucket
        last = [shortest + rest] if rest else []
        total -= sum(last)
        count = self._count(total, shortest, longest)
        usual = np.where(rng.random(count) < self.half, self.steps // 2, self.steps)
        lengths = np.floor(rng.normal(usual, self.spread) / self.bucket + 0.5 * (self.bucket > 1)) * self.bucket
        lengths = np.clip(lengths, shortest, longest).astype(int)
        while missing := int(total - lengths.sum()):
            change = self.bucket if missing > 0 else -self.bucket
            free = np.flatnonzero((lengths + change >= shortest) & (lengths + change <= longest))
            lengths[rng.permutation(free)[: abs(missing) // self.bucket]] += change
        self._part_the_first_two(lengths, shortest, longest)
        return np.concatenate([lengths, np.array(last, int)])

    def _count(self, total, shortest, longest):
        """Returns the number of segments, the same in every epoch."""
        fewest, most = -(-total // longest), total // shortest
        if fewest > most:
            raise ValueError(
                f"Arguments `minimum` and `maximum` must allow segments of {total} tokens in all, those of a row. "
                f"Received: minimum={self.minimum}, maximum={self.maximum}. Segments of equal length, and a first one "
                "with the remainder, are those of spread=0, half=0"
            )
        expected = (1 - self.half) * self.steps + self.half * (self.steps // 2)
        return int(np.clip(round(total / expected), fewest, most))

    def _part_the_first_two(self, lengths, shortest, longest):
        """Makes the first two lengths differ, for TensorFlow, which takes two of one length for the shape of all."""
        if len(lengths) < 2 or lengths[0] != lengths[1]:
            return
        others = np.flatnonzero(lengths != lengths[0])
        if len(others):
            lengths[[1, others[0]]] = lengths[[others[0], 1]]
        elif lengths[0] - self.bucket >= shortest and lengths[1] + self.bucket <= longest:
            lengths[:2] += np.array([-self.bucket, self.bucket])

    # The data set.

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        index = range(len(self))[index]
        if self._in_epoch and index > self._furthest + 1:
            raise ValueError(
                "A `TokenStream` is read in order: call `fit(stream, shuffle=False)`. "
                f"Received: a request for segment {index}, where no segment past {self._furthest} has been read"
            )
        # Never set back: at the start of an epoch, TensorFlow may still be reading ahead in the one before.
        self._furthest = max(self._furthest, index)
        self._at_end = index == len(self) - 1
        start = int(self.lengths[:index].sum())
        stop = start + int(self.lengths[index])
        segment = np.array(self.rows[:, start : stop + 1], "int32")
        return segment[:, :-1], segment[:, 1:]

    def on_epoch_begin(self):
        self._in_epoch, self._at_end = True, False

    def on_epoch_end(self):
        # Keras calls it before the first epoch, too, when it has read no more than the first segments.
        if self._in_epoch and self._at_end:
            self.epoch += 1
        self._in_epoch = self._at_end = False
