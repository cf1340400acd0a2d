"""Activation layers that keep the mean near zero."""

import keras

from keras_adaptive_rnn import _arguments, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.layers.feed_forward import FeedForward


@export
class Bipolar(FeedForward):
    r"""Applies an activation, flipped for every other entry: $f_B(x_i) = f(x_i)$ for even $i$, $-f(-x_i)$ for odd $i$.

    Args:
        activation: Activation function $f$ of the ReLU family: a name, an elementwise function, or a layer such as
            `keras.layers.PReLU()`.
        axis: Integer, the axis along which $i$ counts. The size of a last axis must be known. Defaults to `-1`.
        layout: `"interleaved"` (default) or `"halves"`, which flips the first half of the entries (rounded down), as in
            the authors' code.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of any shape with this axis.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Bipolar("relu")
    >>> keras.ops.convert_to_numpy(layer(np.array([[-1.0, -1.0, 2.0, -2.0]]))).tolist()
    [[0.0, -1.0, 2.0, -2.0]]

    Reference: Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 2, equation 2; `keras_adaptive_rnn.activations.bipolar` is the function.
    """

    def __init__(self, activation: Activation, axis: int = -1, *, layout: str = "interleaved", **kwargs):
        super().__init__(**kwargs)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.axis = _arguments.integer("axis", axis, minimum=None)
        self.layout = _arguments.choice("layout", layout, activations.LAYOUTS)

    def build(self, input_shape):
        if isinstance(self.activation, keras.layers.Layer) and not self.activation.built:
            self.activation.build(input_shape)

    def call(self, inputs):
        return activations.bipolar(self.activation, self.axis, self.layout)(inputs)


@export
class CReLU(FeedForward):
    r"""The concatenated ReLU as a layer: $[\max(x, 0), \max(-x, 0)]$, twice as long along `axis`.

    Args:
        axis: Integer, the axis along which to concatenate. Defaults to `-1`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of any shape with this axis.

    Output shape: Same as the inputs, with twice the size along `axis`.

    Example:

    >>> mirrored = keras_adaptive_rnn.initializers.MirroredOrthogonal()
    >>> layers = [keras_adaptive_rnn.layers.CReLU(), keras.layers.Dense(4, kernel_initializer=mirrored)]
    >>> tuple(keras.Sequential(layers)(np.ones((2, 3))).shape)
    (2, 4)

    Reference: Shang et al., Understanding and Improving Convolutional Neural Networks via Concatenated Rectified
    Linear Units (2016), section 2.
    """

    def __init__(self, axis: int = -1, **kwargs):
        super().__init__(**kwargs)
        self.axis = _arguments.integer("axis", axis, minimum=None)

    def call(self, inputs):
        return activations.crelu(inputs, self.axis)

    def compute_output_shape(self, input_shape):
        shape = list(input_shape)
        shape[self.axis] = None if shape[self.axis] is None else 2 * shape[self.axis]
        return tuple(shape)

    def compute_mask(self, inputs, previous_mask):
        # Concatenation along time doubles the sequence, and so its mask.
        if previous_mask is None or self.axis % len(inputs.shape) >= len(previous_mask.shape):
            return previous_mask
        return keras.ops.concatenate([previous_mask, previous_mask], axis=self.axis % len(inputs.shape))


@export
class OPLU(FeedForward):
    r"""Sorts each pair of neighbors: $z_{2k} = \max(x_{2k}, x_{2k+1})$, $z_{2k+1} = \min(x_{2k}, x_{2k+1})$.

    Args:
        axis: Integer, the axis of the pairs. Its size must be even. Defaults to `-1`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of any shape with this axis.

    Example:

    >>> layer = keras_adaptive_rnn.layers.OPLU()
    >>> keras.ops.convert_to_numpy(layer(np.array([[1.0, 3.0, 4.0, 2.0]]))).tolist()
    [[3.0, 1.0, 4.0, 2.0]]

    Reference: Chernodub and Nowicki, Norm-preserving Orthogonal Permutation Linear Unit Activation Functions (2016),
    section 2.
    """

    def __init__(self, axis: int = -1, **kwargs):
        super().__init__(**kwargs)
        self.axis = _arguments.integer("axis", axis, minimum=None)

    def call(self, inputs):
        return activations.oplu(inputs, self.axis)
