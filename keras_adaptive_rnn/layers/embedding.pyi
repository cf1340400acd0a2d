"""An embedding that is drawn once and never trained."""

from typing import Any

from keras_adaptive_rnn._types import Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward

class FixedEmbedding(FeedForward):
    """Maps each integer to a vector of its own, drawn from $\\mathcal{N}(0, 1)$ and never trained.

    Weights: `embeddings`, `[input_dim, output_dim]`, not trainable, but saved with the model. A seed gives the same
    numbers on every backend.

    Args:
        input_dim: Positive integer, the number of vectors. Inputs must be smaller.
        output_dim: Positive integer, size of each vector.
        seed: Non-negative integer seed, or `None` (default) for a random one, which `keras.utils.set_random_seed`
            determines.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

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

    input_dim: int
    output_dim: int
    seed: int | None
    autocast: bool
    embeddings: Any
    activity_regularizer: Any

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        seed: int | None = None,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def call(self, inputs: Any) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
