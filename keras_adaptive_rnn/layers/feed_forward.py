"""Base classes of the feed-forward layers."""

import keras

from keras_adaptive_rnn import _arguments, initializers, maps
from keras_adaptive_rnn._types import Regularizer
from keras_adaptive_rnn.maps.owner import OwnsKernelAndBias, OwnsWeights


class FeedForward(OwnsWeights, _arguments.DeclaredArguments, keras.layers.Layer):
    """A layer that accepts any leading axes, treats all positions alike, and passes masks through.

    So it `is_time_distributed`: in inference, it computes each time step by itself, and
    `keras_adaptive_rnn.step_model` can run it for a single one. Any layer may say so, in an attribute of this name.

    Args:
        **kwargs: As in `keras.layers.Layer`.
    """

    is_time_distributed = True

    def __init__(self, *, activity_regularizer: Regularizer = None, **kwargs):
        regularizer = _arguments.resolve("activity_regularizer", activity_regularizer, keras.regularizers.get)
        super().__init__(activity_regularizer=regularizer, **kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


class Affine(OwnsKernelAndBias, FeedForward):
    """A feed-forward layer with kernels and a bias."""

    def build(self, input_shape):
        """Checks the input size. A subclass calls this first."""
        features = _arguments.known_features(self, input_shape)
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: features})

    def make_map(self, units, blocks=1, rank=None, diagonal=False, index=0):
        """Returns a map with the kernel arguments of this layer. Each `index` has its own random numbers."""
        initializer = initializers.reseeded(self.kernel_initializer, "map", index)
        arguments = self.arguments_of(
            "kernel", units=units, blocks=blocks, initializer=initializer, dtype=self.dtype_policy
        )
        return maps.Full(**arguments) if rank is None else maps.LowRank(rank, diagonal=diagonal, **arguments)
