"""Recurrent cells as users of Keras write them: nothing here knows this package."""

import keras
import numpy as np
from keras import ops
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell

register = keras.saving.register_keras_serializable("strangers")


@register
class MinimalRNNCell(keras.Layer):
    """The cell of Keras's documentation of `keras.layers.RNN`, word for word."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(
            shape=(input_shape[-1], self.units),
            initializer="uniform",
            name="kernel",
        )
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, self.units),
            initializer="uniform",
            name="recurrent_kernel",
        )

    def call(self, inputs, states):
        prev_output = states[0]
        h = ops.matmul(inputs, self.kernel)
        output = h + ops.matmul(prev_output, self.recurrent_kernel)
        return output, [output]


@register
class TupleCell(MinimalRNNCell):
    """Sizes and states are tuples."""

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.state_size = (units,)
        self.output_size = units

    def call(self, inputs, states):
        output = ops.tanh(super().call(inputs, states)[0])
        return output, (output,)


@register
class BareStateCell(MinimalRNNCell):
    """Returns its state without a list around it, which Keras's `StackedRNNCells` takes the length of."""

    def call(self, inputs, states, training=None):
        output = ops.tanh(super().call(inputs, states)[0])
        return output, output


@register
class ScoringCell(MinimalRNNCell):
    """The output is not a state, and has a size of its own."""

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.output_size = 2
        self.dense = keras.layers.Dense(2)

    def build(self, input_shape):
        super().build(input_shape)
        self.dense.build((None, self.units))

    def call(self, inputs, states):
        h = ops.tanh(super().call(inputs, states)[0])
        return self.dense(h), [h]


@register
class OnesCell(MinimalRNNCell):
    """The states before the first step are not zeros, and the argument has no default."""

    def get_initial_state(self, batch_size):
        return [ops.ones((batch_size, self.units), dtype=self.compute_dtype)]

    def call(self, inputs, states):
        h = ops.tanh(super().call(inputs, states)[0])
        return h, [h]


@register
class TwoStatesCell(keras.Layer):
    """An LSTM of Keras's own layers inside, and two states."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = [units, units]
        self.output_size = units
        self.gates = keras.layers.Dense(4 * units)
        self.norm = keras.layers.LayerNormalization()

    def build(self, input_shape):
        self.gates.build((None, input_shape[-1] + self.units))
        self.norm.build((None, self.units))
        self.built = True

    def call(self, inputs, states, training=False):
        h, c = states
        i, f, j, o = ops.split(self.gates(ops.concatenate([inputs, h], axis=-1)), 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(j)
        h = ops.sigmoid(o) * ops.tanh(self.norm(c))
        return h, [h, c]


@register
class DroppingCell(DropoutRNNCell, keras.Layer):
    """Drops inputs and states with Keras's mix-in."""

    def __init__(self, units, dropout=0.0, recurrent_dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units
        self.dropout, self.recurrent_dropout, self.seed = dropout, recurrent_dropout, seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="recurrent_kernel")

    def call(self, inputs, states, training=False):
        h = states[0]
        if training and self.dropout:
            inputs = inputs * self.get_dropout_mask(inputs)
        if training and self.recurrent_dropout:
            h = h * self.get_recurrent_dropout_mask(h)
        h = ops.tanh(ops.matmul(inputs, self.kernel) + ops.matmul(h, self.recurrent_kernel))
        return h, [h]


@register
class AttentionCell(keras.Layer):
    """Attends over the last vectors that it has read, which it keeps in one wide state."""

    def __init__(self, units, memory=2, **kwargs):
        super().__init__(**kwargs)
        self.units, self.memory = units, memory
        self.state_size = [units, memory * units]
        self.output_size = units
        self.read, self.query = keras.layers.Dense(units), keras.layers.Dense(units)

    def build(self, input_shape):
        self.read.build(input_shape)
        self.query.build((None, self.units))

    def call(self, inputs, states):
        h, kept = states
        kept = ops.concatenate([kept[:, self.units :], self.read(inputs)], axis=-1)
        vectors = ops.reshape(kept, (-1, self.memory, self.units))
        scores = ops.softmax(ops.sum(vectors * ops.expand_dims(self.query(h), 1), axis=-1))
        h = ops.tanh(ops.sum(vectors * ops.expand_dims(scores, -1), axis=1))
        return h, [h, kept]


class PlainCell:
    """Not a layer at all: a callable object with fixed numbers, and a dtype, which Keras needs."""

    def __init__(self, units):
        self.units = self.state_size = units
        self.compute_dtype = keras.config.dtype_policy().compute_dtype

    def __call__(self, inputs, states):
        return self.call(inputs, states)

    def call(self, inputs, states):
        mean = ops.mean(inputs, axis=-1, keepdims=True)
        scale = ops.convert_to_tensor(np.linspace(-1, 1, self.units, dtype="float32"))
        h = ops.tanh(mean * ops.cast(scale, mean.dtype) + 0.5 * states[0])
        return h, [h]


# Those whose first state is the output, which other cells can wrap.
WRAPPABLE = (MinimalRNNCell, TupleCell, BareStateCell, OnesCell, TwoStatesCell, DroppingCell, AttentionCell)
