"""A text as rows, and its rows as segments of equal length."""

import numpy as np

from keras_adaptive_rnn.models.arrays import as_array


class Text:
    """The rows of a text: `inputs` and `targets`, integers `[batch_size, count]`, the targets one token ahead.

    What is left over at the end of the text is dropped. Messages call the argument `name`.
    """

    def __init__(self, ids, batch_size, name="ids"):
        array = as_array(name, ids, rank=1)
        if array.dtype.kind not in "iu":
            raise TypeError(f"Argument `{name}` must be an array of integers. Received: one of {array.dtype}")
        length = len(array) // batch_size
        if length < 2:
            raise ValueError(
                f"Argument `{name}` must have at least two tokens for each of {batch_size} rows. "
                f"Received: {len(array)} tokens"
            )
        rows = array[: length * batch_size].reshape(batch_size, length)
        self.name, self.size, self.low, self.high = name, len(array), int(rows.min()), int(rows.max())
        rows = rows.astype("int32", copy=False)
        self.inputs, self.targets = rows[:, :-1], rows[:, 1:]

    @property
    def count(self):
        return self.inputs.shape[1]

    @property
    def batch_size(self):
        return self.inputs.shape[0]

    def check_vocabulary(self, size):
        if self.low < 0 or self.high >= size:
            raise ValueError(
                f"Argument `{self.name}` must hold ids from 0 to {size - 1}, the vocabulary of the model. "
                f"Received: ids from {self.low} to {self.high}"
            )

    def first(self, tokens):
        """Keeps the first `tokens` tokens of each row."""
        self.inputs, self.targets = self.inputs[:, :tokens], self.targets[:, :tokens]

    def segments(self, steps, pad):
        """Returns inputs and targets of all segments, `[segments * batch_size, steps]`, segment by segment.

        A last, shorter segment is filled up with zeros if `pad`, and left out if not.
        """
        whole, left = divmod(self.count, steps)
        missing = steps - left if pad and left else 0

        def cut(rows):
            rows = np.pad(rows, ((0, 0), (0, missing))) if missing else rows[:, : whole * steps]
            return np.ascontiguousarray(rows.reshape(len(rows), -1, steps).swapaxes(0, 1)).reshape(-1, steps)

        return cut(self.inputs), cut(self.targets)

    def in_order(self, steps):
        """Yields inputs and targets `[batch_size, steps]` of each segment, the last one as short as it is."""
        for start in range(0, self.count, steps):
            yield tuple(np.ascontiguousarray(rows[:, start : start + steps]) for rows in (self.inputs, self.targets))

    def rest(self, steps):
        """Returns inputs and targets of the last, shorter segment; of no steps if there is none."""
        start = self.count - self.count % steps
        return self.inputs[:, start:], self.targets[:, start:]
