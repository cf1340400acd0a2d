"""An embedding that is drawn once and never trained."""

import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._seeds import resolve_seed
from keras_adaptive_rnn.layers.feed_forward import FeedForward


@export
class FixedEmbedding(FeedForward):
    r"""Maps each integer to a vector of its own, drawn from $\mathcal{N}(0, 1)$ and never trained.

    Weights: `embeddings`, `[input_dim, output_dim]`, not trainable, but saved with the model. A seed gives the same
    numbers on every backend.

    Args:
        input_dim: Positive integer, the number of vectors. Inputs must be smaller.
        output_dim: Positive integer, size of each vector.
        seed: Non-negative integer seed, or `None` (default) for a random one, which `keras.utils.set_random_seed`
            determines.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Integer tensor of any shape.

    Output shape: `[..., output_dim]`, with one more axis than the inputs.

    Example:

    >>> layer = keras_adaptive_rnn.layers.FixedEmbedding(10, 4, seed=0)
    >>> tuple(layer(np.array([[1, 2, 3]])).shape)
    (1, 3, 4)

    Reference: Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 3; `keras.layers.Embedding` is the trained one.
    """

    def __init__(self, input_dim: int, output_dim: int, *, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.input_dim = _arguments.integer("input_dim", input_dim)
        self.output_dim = _arguments.integer("output_dim", output_dim)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        # Integers passed as floats must not lose digits to half precision.
        self.autocast = False

    def build(self, input_shape):
        def draw(shape, dtype=None):
            rng = np.random.default_rng(resolve_seed(self.seed))
            return ops.cast(ops.convert_to_tensor(rng.normal(size=shape).astype("float32")), dtype)

        shape = (self.input_dim, self.output_dim)
        self.embeddings = self.add_weight(name="embeddings", shape=shape, initializer=draw, trainable=False)

    def call(self, inputs):
        vectors = ops.take(self.embeddings, ops.cast(inputs, "int32"), axis=0)
        return ops.cast(vectors, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return (*input_shape, self.output_dim)
