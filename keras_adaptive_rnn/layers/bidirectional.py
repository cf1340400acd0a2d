"""`keras.layers.Bidirectional` with resets."""

import keras
from keras import ops

from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.loop.rnn import RNN

MERGED = {
    "concat": lambda ahead, back: ops.concatenate([ahead, back], axis=-1),
    "sum": lambda ahead, back: ahead + back,
    "ave": lambda ahead, back: (ahead + back) / 2,
    "mul": lambda ahead, back: ahead * back,
}


@export
class Bidirectional(keras.layers.Bidirectional):
    """`keras.layers.Bidirectional`, which also takes `resets`.

    Each layer reads every piece by itself: the forward layer starts again at its first step, the backward layer at its
    last one.

    Args:
        layer: A recurrent layer of this package; copies of it read in both directions.
        merge_mode: How the outputs of both directions are joined: `"concat"` (default), `"sum"`, `"mul"`, `"ave"`, or
            `None` for both of them.
        weights: List of arrays, the initial weights of both directions; `None` (default) for those of initializers.
        backward_layer: The layer that reads backwards; `None` (default) for a copy of `layer`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        sequences, initial_state, mask, training: As in `keras.layers.Bidirectional`.
        resets: As in `keras_adaptive_rnn.layers.RNN`. Defaults to `None`.

    Raises:
        ValueError: `resets` is given, and a layer is none of this package.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Bidirectional(keras_adaptive_rnn.Mogrifier(8, return_sequences=True))
    >>> tuple(layer(np.ones((2, 5, 3)), resets=np.array([[1, 0, 0, 1, 0], [1, 0, 0, 0, 0]])).shape)
    (2, 5, 16)
    """

    def build(self, sequences_shape, initial_state_shape=None):
        super().build(sequences_shape, initial_state_shape)
        # Keras's constructor leaves the argument `weights` here, where nothing reads it.
        for layer in (self.forward_layer, self.backward_layer):
            weights, layer.initial_weights = getattr(layer, "initial_weights", None), None
            if weights is not None:
                layer.set_weights(weights)

    def call(self, sequences, initial_state=None, mask=None, training=None, resets=None):
        if resets is None:
            return super().call(sequences, initial_state=initial_state, mask=mask, training=training)
        results, layers = [], (self.forward_layer, self.backward_layer)
        for k, layer in enumerate(layers):
            if not isinstance(layer, RNN):
                raise ValueError(
                    "Argument `resets` needs layers of this package, such as "
                    f"`keras_adaptive_rnn.RNN(keras.layers.LSTMCell(8))`. Received: {layer!r} in layer '{self.name}'"
                )
            half = None if initial_state is None else len(initial_state) // 2
            states = None if half is None else initial_state[k * half : (k + 1) * half]
            result = layer(sequences, initial_state=states, mask=mask, training=training, resets=resets)
            results.append(result if isinstance(result, tuple) else (result,))
        (ahead, *states), (back, *more) = results
        ahead, back = ops.cast(ahead, self.compute_dtype), ops.cast(back, self.compute_dtype)
        if self.return_sequences:
            back = ops.flip(back, axis=1)
        outputs = (ahead, back) if self.merge_mode is None else (MERGED[self.merge_mode](ahead, back),)
        result = (*outputs, *states, *more)
        return result if len(result) > 1 else result[0]
