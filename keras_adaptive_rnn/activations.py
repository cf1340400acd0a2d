"""Activation functions that keep the mean near zero, in the style of `keras.activations`."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn._types import Activation, Tensor

__all__ = ["belu", "bipolar", "bleaky_relu", "brelu", "crelu", "get", "min_rnn", "oplu", "serialize"]
__dir__ = directory(__all__)

_register = keras.saving.register_keras_serializable(package="keras_adaptive_rnn")

# Which entries of an axis are flipped, given the index of each and the size of the axis.
LAYOUTS = {
    "interleaved": lambda index, size: index % 2 == 1,
    "halves": lambda index, size: 2 * index + 1 < size,
}


def bipolar(f: Callable[[Tensor], Tensor], axis: int = -1, layout: str = "interleaved") -> Callable[[Tensor], Tensor]:
    r"""Returns the bipolar version of an activation function, which is flipped for every other entry.

    $$f_B(x_i) = f(x_i) \text{ for even } i, \qquad f_B(x_i) = -f(-x_i) \text{ for odd } i$$

    Independent entries with zero mean then keep their mean.

    The returned function cannot be saved with a model unless it is registered, like `brelu`, `belu` and `bleaky_relu`.
    The layer `keras_adaptive_rnn.layers.Bipolar` can be saved with any `f`.

    Args:
        f: An elementwise activation function of the ReLU family: a function from tensor to tensor.
        axis: Integer, the axis along which $i$ counts. The size of a last axis must be known. Defaults to `-1`.
        layout: `"interleaved"` (default) or `"halves"`, which flips the first half of the entries (rounded down), as in
            the authors' code.

    Returns: A function from tensor to tensor, for tensors of any shape with this axis.

    Raises:
        ValueError: `f` is not callable, `layout` is unknown, or the function is called with a tensor that has no such
            axis, or a last one of unknown size.

    Example:

    >>> f = keras_adaptive_rnn.activations.bipolar(keras.activations.relu)
    >>> keras.ops.convert_to_numpy(f(np.array([-1.0, -1.0, 2.0, -2.0]))).tolist()
    [0.0, -1.0, 2.0, -2.0]

    Reference: Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 2, equation 2.
    """
    if not callable(f):
        raise ValueError(f"Argument `f` must be a function from tensor to tensor. Received: f={f!r}")
    if layout not in LAYOUTS:
        raise ValueError(
            f"Argument `layout` must be one of {', '.join(map(repr, LAYOUTS))}. Received: layout={layout!r}"
        )

    def f_bipolar(x):
        x = ops.convert_to_tensor(x)
        behind = -axis - 1 if axis < 0 else len(x.shape) - axis - 1
        size = axis_size(x, axis, must_be_known=not behind)
        if isinstance(size, int):
            index = np.arange(size).reshape((-1, *[1] * behind))
        else:
            # A length that is not known is a tensor or a symbol, of which few formats can make an index.
            ones = ops.ones_like(x, dtype="int32")
            index, size = ops.cumsum(ones, axis) - 1, ops.sum(ones, axis, keepdims=True)
        signs = ops.cast(ops.where(LAYOUTS[layout](index, size), -1.0, 1.0), x.dtype)
        # If `f` is a layer, it may compute in another dtype.
        return signs * ops.cast(f(signs * x), x.dtype)

    return f_bipolar


def axis_size(x, axis, must_be_known=False):
    """Returns the size of an axis, which must exist: an integer, or in a graph maybe a tensor or a symbol."""
    size = None
    if -len(x.shape) <= axis < len(x.shape):
        size = x.shape[axis] if must_be_known else ops.shape(x)[axis]
        # Known, while PyTorch traces.
        size = int(size) if must_be_known and ops.is_tensor(size) else size
    if size is None or (must_be_known and not isinstance(size, int)):
        raise ValueError(
            f"Argument `axis` must name an axis of known size. Received: axis={axis}, inputs of shape {tuple(x.shape)}"
        )
    return size


@_register
def brelu(x: Tensor, axis: int = -1) -> Tensor:
    r"""The bipolar ReLU: $\max(x_i, 0)$ for even $i$, $\min(x_i, 0)$ for odd $i$.

    Args:
        x: Tensor of any shape.
        axis: Integer, the axis along which $i$ counts. Defaults to `-1`.

    Example:

    >>> keras.ops.convert_to_numpy(keras_adaptive_rnn.activations.brelu(np.array([-1.0, -1.0, 2.0, -2.0]))).tolist()
    [0.0, -1.0, 2.0, -2.0]
    """
    return bipolar(keras.activations.relu, axis)(x)


@_register
def belu(x: Tensor, alpha: float = 1.0, axis: int = -1) -> Tensor:
    r"""The bipolar ELU: $f(x_i)$ for even $i$, $-f(-x_i)$ for odd $i$, where $f(x) = \alpha (e^x - 1)$ below 0.

    Args:
        x: Tensor of any shape.
        alpha: Number, $\alpha$, the scale of the ELU below zero. Defaults to `1.0`.
        axis: Integer, the axis along which $i$ counts. Defaults to `-1`.

    Example:

    >>> layer = keras.layers.Dense(8, activation=keras_adaptive_rnn.activations.belu)
    >>> cell = keras_adaptive_rnn.LSTMCell(8, activation="belu")
    """
    return bipolar(lambda y: keras.activations.elu(y, alpha), axis)(x)


@_register
def bleaky_relu(x: Tensor, negative_slope: float = 0.2, axis: int = -1) -> Tensor:
    r"""The bipolar leaky ReLU: $f(x_i)$ for even $i$, $-f(-x_i)$ for odd $i$, where $f(x) = s x$ below 0.

    Args:
        x: Tensor of any shape.
        negative_slope: Number, $s$, the slope below zero. Defaults to `0.2`, as in `keras.activations.leaky_relu`.
        axis: Integer, the axis along which $i$ counts. Defaults to `-1`.

    Example:

    >>> x = np.array([-1.0, -1.0, 2.0, 2.0])
    >>> keras.ops.convert_to_numpy(keras_adaptive_rnn.activations.bleaky_relu(x, negative_slope=0.5)).tolist()
    [-0.5, -1.0, 2.0, 1.0]
    """
    return bipolar(lambda y: keras.activations.leaky_relu(y, negative_slope), axis)(x)


@_register
def crelu(x: Tensor, axis: int = -1) -> Tensor:
    r"""The concatenated ReLU: $[\max(x, 0), \max(-x, 0)]$, twice as long along `axis`.

    Initialize the kernel of the next layer with `keras_adaptive_rnn.initializers.MirroredOrthogonal`, and the two start
    out as a linear map.

    Args:
        x: Tensor of any shape.
        axis: Integer, the axis along which to concatenate. Defaults to `-1`.

    Output shape: Same as `x`, with twice the size along `axis`.

    Example:

    >>> keras.ops.convert_to_numpy(keras_adaptive_rnn.activations.crelu(np.array([-1.0, 2.0]))).tolist()
    [0.0, 2.0, 1.0, 0.0]

    Reference: Shang et al., Understanding and Improving Convolutional Neural Networks via Concatenated Rectified
    Linear Units (2016), section 2.
    """
    x = ops.convert_to_tensor(x)
    return ops.concatenate([ops.relu(x), ops.relu(-x)], axis=axis)


@_register
def oplu(x: Tensor, axis: int = -1) -> Tensor:
    r"""Sorts each pair of neighbors: $z_{2k} = \max(x_{2k}, x_{2k+1})$, $z_{2k+1} = \min(x_{2k}, x_{2k+1})$.

    The norm and the mean do not change.

    Args:
        x: Tensor of any shape with an even size along `axis`.
        axis: Integer, the axis of the pairs. Defaults to `-1`.

    Raises:
        ValueError: The size along `axis` is odd or unknown.

    Example:

    >>> keras.ops.convert_to_numpy(keras_adaptive_rnn.activations.oplu(np.array([1.0, 3.0, 4.0, 2.0]))).tolist()
    [3.0, 1.0, 4.0, 2.0]

    Reference: Chernodub and Nowicki, Norm-preserving Orthogonal Permutation Linear Unit Activation Functions (2016),
    section 2.
    """
    x = ops.convert_to_tensor(x)
    size = axis_size(x, axis, must_be_known=True)
    if size % 2:
        raise ValueError(
            f"Argument `axis` must name an axis of even size. Received: axis={axis}, inputs of shape {tuple(x.shape)}"
        )
    axis %= len(x.shape)
    before = (slice(None),) * axis
    first, second = (x[(*before, slice(start, None, 2))] for start in (0, 1))
    is_sorted = first >= second
    # Not `ops.maximum`, which on PyTorch returns float32 for float64.
    larger, smaller = ops.where(is_sorted, first, second), ops.where(is_sorted, second, first)
    pairs = ops.stack([larger, smaller], axis=axis + 1)
    return ops.reshape(pairs, ops.shape(x))


@_register
def min_rnn(x: Tensor) -> Tensor:
    r"""The positive activation of minGRU's and minLSTM's candidates: $x + 0.5$ from zero on, $\sigma(x)$ below.

    Args:
        x: Tensor of any shape.

    Example:

    >>> keras.ops.convert_to_numpy(keras_adaptive_rnn.activations.min_rnn(np.array([0.0, 2.0]))).tolist()
    [0.5, 2.5]

    Reference: Feng et al., Were RNNs All We Needed? (2024), appendix B.
    """
    x = ops.convert_to_tensor(x)
    return ops.where(x < 0, ops.sigmoid(x), x + 0.5)


def tanh(x: Tensor) -> Tensor:
    """Keras's `tanh`, also in float64, for which Keras's own returns float32 on JAX."""
    is_double = "float64" in str(getattr(x, "dtype", ""))
    return 2 * ops.sigmoid(2 * x) - 1 if is_double else keras.activations.tanh(x)


FUNCTIONS = {f.__name__: f for f in (brelu, belu, bleaky_relu, crelu, min_rnn, oplu)}


def get(identifier: Activation) -> Callable[..., Tensor]:
    """Retrieves an activation function by name or config; a function is returned as it is.

    Args:
        identifier: `"brelu"`, `"belu"`, `"bleaky_relu"`, `"crelu"`, `"min_rnn"`, `"oplu"`, or anything that
            `keras.activations.get` accepts.

    Returns: A function from tensor to tensor.

    Raises:
        ValueError: The identifier is unknown.

    Example:

    >>> keras_adaptive_rnn.activations.get("belu").__name__
    'belu'
    >>> keras_adaptive_rnn.activations.get("tanh").__name__
    'tanh'
    """
    if isinstance(identifier, str) and identifier in FUNCTIONS:
        return FUNCTIONS[identifier]
    activation = keras.activations.get(identifier)
    return tanh if activation is keras.activations.tanh and keras.backend.backend() == "jax" else activation


def serialize(activation: Callable[..., Tensor]) -> str | dict:
    """Returns an identifier from which `get` retrieves the same activation function.

    Args:
        activation: A function, or an object with a config.

    Returns: The name of an activation function of this package; otherwise the result of `keras.activations.serialize`.

    Example:

    >>> keras_adaptive_rnn.activations.serialize(keras_adaptive_rnn.activations.belu)
    'belu'
    """
    if activation is tanh or activation in FUNCTIONS.values():
        return activation.__name__
    return keras.activations.serialize(activation)
