"""An auxiliary loss that makes a recurrent network remember, or foresee, the steps near a random one."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import get_mask
from keras_adaptive_rnn.cells import StackedCells
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_states, output_size, split_sizes
from keras_adaptive_rnn.engine.masking import without_masked
from keras_adaptive_rnn.layers.feed_forward import FeedForward
from keras_adaptive_rnn.loop.rnn import RNN

MODES = ("reconstruct", "predict")


@export
class SequenceAuxiliary(FeedForward):
    r"""Returns the states of a recurrent network, and adds to the loss the error of a decoder of the steps near them.

    In training, it draws an anchor $a$ for each row: the network has read $x_1, \dots, x_a$, its states are $s_a$. A
    decoder starts from $s_a$ and writes the $l$ steps before the anchor (`"reconstruct"`, r-LSTM) or after it
    (`"predict"`, p-LSTM), one after the other, each from the true steps before it in this window. The loss is the mean
    over these steps: the cross entropy if the sequence holds integers, the squared error if it holds vectors. A window
    ends where the sequence does, and masked steps do not count.

    The states come from `keras_adaptive_rnn.StatesOutput` in an `RNN` with `return_sequences=True`. If that cell has
    `truncate`, so should this layer: the anchors are then at the ends of blocks, where the gradient reaches back
    `truncate` steps.

    Two models over the same layers train in two phases: one that ends with this layer, compiled without a loss; then
    the classifier on top of it, compiled with one. Inference draws nothing and costs nothing.

    Weights: those of the decoder's cells, then of `output`.

    Args:
        cell: The decoder's cell, or a list of cells, the lowest first. The lowest starts from the states of the
            network, whose sizes it must have; those above start from zero.
        length: Positive integer, $l$.
        anchors: Positive integer, the number of anchors in each row. Defaults to `1`.
        mode: `"reconstruct"` (default) or `"predict"`.
        output: The layer that makes predictions from the decoder's outputs, or an integer: the size of a
            `keras.layers.Dense`, which for integers is the number of classes, and its outputs are logits. `None`
            (default) is a `Dense` of the size of the vectors.
        weight: Non-negative number, the factor of the loss. Defaults to `1.0`.
        first_given: Whether the first step of a window is given and not predicted, as in the paper. If not, the decoder
            writes it as well, from the states alone. Defaults to `True`.
        truncate: Positive integer, or `None` (default): anchors are multiples of it.
        seed: Non-negative integer seed of the anchors, or `None` (default).
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        states: Tensor `[batch, time, size]`, the states of the network after each step.
        sequence: What the network has read: integers `[batch, time]`, or vectors `[batch, time, features]`.
        mask: Boolean tensor `[batch, time]`, or `None` (default) for the mask of `states`.
        training: Whether the loss is added.

    Output shape: that of `states`, which are returned as they are.

    Example:

    >>> x = keras.Input((None,), dtype="int32")
    >>> network = keras_adaptive_rnn.RNN(keras_adaptive_rnn.StatesOutput(keras_adaptive_rnn.LSTMCell(8)), True)
    >>> auxiliary = keras_adaptive_rnn.layers.SequenceAuxiliary(keras_adaptive_rnn.LSTMCell(8), length=10, output=5)
    >>> states = auxiliary(network(keras.layers.Embedding(5, 4)(x)), x)
    >>> first = keras.Model(x, states)
    >>> first.compile("adam")
    >>> run = first.fit(np.ones((4, 20), "int32"), verbose=0)
    >>> second = keras.Model(x, keras.layers.Dense(2)(states[:, -1]))

    Reference: Trinh, Dai, Luong and Le, Learning Longer-term Dependencies in RNNs with Auxiliary Losses (2018).
    """

    is_time_distributed = False

    def __init__(
        self,
        cell: Any,
        length: int,
        anchors: int = 1,
        mode: str = "reconstruct",
        *,
        output: Any = None,
        weight: float = 1.0,
        first_given: bool = True,
        truncate: int | None = None,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        cells = cell if isinstance(cell, (list, tuple)) else [cell]
        # From a config.
        cells = [keras.saving.deserialize_keras_object(c) if isinstance(c, dict) else c for c in cells]
        self.decoder = RNN(cells[0] if len(cells) == 1 else StackedCells(cells), return_sequences=True)
        self.cell = cells if isinstance(cell, (list, tuple)) else cells[0]
        self.length = _arguments.integer("length", length)
        self.anchors = _arguments.integer("anchors", anchors)
        self.mode = _arguments.choice("mode", mode, MODES)
        self.first_given = _arguments.boolean("first_given", first_given)
        if isinstance(output, dict):
            output = keras.saving.deserialize_keras_object(output)
        if output is not None and not isinstance(output, keras.Layer):
            output = _arguments.integer("output", output)
        self._output = output
        self.output_layer = output if isinstance(output, keras.Layer) else None
        self.weight = _arguments.number("weight", weight, minimum=0)
        self.truncate = _arguments.integer("truncate", truncate, optional=True)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.seed_generator = engine.SeedGenerator(self.seed)
        # Integers must not lose digits to half precision.
        self.autocast = False

    def config_value(self, name):
        # In Keras, the attribute `output` of a layer is something else.
        return self._output if name == "output" else super().config_value(name)

    def build(self, states_shape, sequence_shape):
        self._reads_tokens = len(sequence_shape) == 2
        rule = "Argument `output` must be a layer, or the number of classes, for a sequence of integers"
        _arguments.check(self._output is not None or not self._reads_tokens, rule, output=self._output)
        if self.output_layer is None:
            units = sequence_shape[-1] if self._output is None else self._output
            self.output_layer = keras.layers.Dense(units, name="output", dtype=self.dtype_policy)
        size = output_size(self.decoder.cell)
        predicted = self.output_layer.compute_output_shape((None, None, size))[-1]
        if not self._reads_tokens and predicted != sequence_shape[-1]:
            raise ValueError(
                f"Layer '{self.name}' predicts vectors of size {predicted}. "
                f"Received: a sequence of shape {tuple(sequence_shape)}"
            )
        started = self._started_sizes()
        if sum(started) != states_shape[-1]:
            raise ValueError(
                f"The lowest cell of layer '{self.name}' has states of sizes {started}, which must add up to the size "
                f"of `states`. Received: states of shape {tuple(states_shape)}"
            )
        self.classes = predicted
        if not self.decoder.built:
            self.decoder.build((None, None, predicted))
        if not self.output_layer.built:
            self.output_layer.build((None, None, size))

    def _lowest(self):
        return self.cell[0] if isinstance(self.cell, (list, tuple)) else self.cell

    def _started_sizes(self):
        """Returns the sizes of the states of the lowest cell that start from those of the network."""
        lowest = self._lowest()
        return [n for n, is_memory in zip(as_list(lowest.state_size), memory_states(lowest), strict=True) if is_memory]

    def call(self, states, sequence, mask=None, training=False):
        mask = _arguments.mask(self, get_mask(states) if mask is None else mask, states)
        if training:
            self.add_loss(self.weight * self._loss(states, sequence, mask))
        return states

    def _loss(self, states, sequence, mask):
        rows, steps = ops.shape(states)[0], ops.shape(states)[1]
        anchors = self.draw_anchors(rows, steps)
        start = anchors - self.length if self.mode == "reconstruct" else anchors
        places = ops.expand_dims(start, -1) + ops.arange(self.length, dtype="int32")
        places = ops.reshape(places, (rows, self.anchors * self.length))
        inside = ops.logical_and(places >= 0, places < steps)
        places = ops.clip(places, 0, steps - 1)
        if mask is not None:
            inside = ops.logical_and(inside, ops.take_along_axis(mask, places, axis=1))
        # Every anchor is a row of the decoder.
        inside = ops.reshape(inside, (-1, self.length))
        started = ops.reshape(self._taken(states, anchors - 1), (-1, states.shape[-1]))
        if self._reads_tokens:
            tokens = ops.take_along_axis(ops.cast(sequence, "int32"), places, axis=1)
            window = without_masked(ops.reshape(tokens, (-1, self.length)), inside)
            reads = ops.one_hot(window, self.classes, dtype=self.compute_dtype)
        else:
            vectors = ops.reshape(self._taken(sequence, places), (-1, self.length, self.classes))
            window = without_masked(vectors, inside)
            reads = ops.cast(window, self.compute_dtype)
        if not self.first_given:
            reads = without_masked(reads, inside)
            reads = ops.concatenate([ops.zeros_like(reads[:, :1]), reads[:, :-1]], axis=1)
        outputs = self.decoder(reads, initial_state=self._initial_states(started), mask=inside, training=True)
        outputs = ops.cast(self.output_layer(outputs), "float32")
        counted = inside
        if self.first_given:
            outputs, window, counted = outputs[:, :-1], window[:, 1:], ops.logical_and(inside[:, 1:], inside[:, :-1])
        if self._reads_tokens:
            losses = keras.losses.sparse_categorical_crossentropy(window, outputs, from_logits=True)
        else:
            losses = ops.mean(ops.square(outputs - ops.cast(window, "float32")), axis=-1)
        losses, counted = ops.where(counted, losses, 0.0), ops.cast(counted, "float32")
        return ops.mean(ops.sum(losses, axis=1) / ops.maximum(ops.sum(counted, axis=1), 1.0))

    def draw_anchors(self, rows, steps):
        """Returns how many steps the network has read at each anchor, int32 `[rows, anchors]`."""
        last = steps if self.mode == "reconstruct" else steps - 1
        if self.truncate is None:
            # So that a step is left to be predicted.
            spare = int(self.first_given)
            first, last = (1 + spare, last) if self.mode == "reconstruct" else (1, last - spare)
            stride = 1
        else:
            stride = self.truncate
            first, last = 1, last // stride
        if isinstance(last, int) and last < first:
            raise ValueError(f"Layer '{self.name}' finds no place for an anchor. Received: a sequence of {steps} steps")
        count = ops.cast(last - first + 1, "float32")
        drawn = ops.floor(keras.random.uniform((rows, self.anchors), seed=self.seed_generator) * count)
        return stride * (first + ops.cast(ops.minimum(drawn, count - 1), "int32"))

    def _taken(self, x, places):
        """Returns the vectors of `x` `[rows, time, size]` at `places` `[rows, count]`."""
        return ops.take_along_axis(x, ops.expand_dims(places, -1), axis=1)

    def _initial_states(self, started):
        """Returns the states from which the decoder starts: those of the lowest cell are the last ones."""
        states = as_list(self.decoder.get_initial_state(ops.shape(started)[0]))
        lowest = self._lowest()
        pieces = iter(split_sizes(started, self._started_sizes()))
        for k, is_memory in enumerate(memory_states(lowest), len(states) - len(as_list(lowest.state_size))):
            if is_memory:
                states[k] = next(pieces)
        return states

    def compute_output_shape(self, states_shape, sequence_shape=None):
        return tuple(states_shape)
