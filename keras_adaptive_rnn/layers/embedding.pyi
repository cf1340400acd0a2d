"""An embedding that is drawn once and never trained."""

from typing import Any

from keras_adaptive_rnn._types import Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward

class FixedEmbedding(FeedForward):
    """Gives each integer a vector of its own, drawn from $\\mathcal{N}(0, 1)$ and never trained.

    Weight: `embeddings`, `[input_dim, output_dim]`, not trainable, saved with the model. A seed gives the same numbers
    on every backend.

    Args:
        input_dim: Positive integer, how many vectors; inputs are below it.
        output_dim: Positive integer, size of each vector.
        seed: Non-negative integer seed; `None` (default) draws one, which `keras.utils.set_random_seed` decides.
        name, dtype, trainable, activity_regularizer: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor of integers, of any shape.

    Output shape: `[..., output_dim]`, one axis more than the inputs.

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
        trainable: bool | None = None,
    ) -> None:
        """Gives each integer a vector of its own, drawn from $\\mathcal{N}(0, 1)$ and never trained.

        Args:
            input_dim: Positive integer, how many vectors; inputs are below it.
            output_dim: Positive integer, size of each vector.
            seed: Non-negative integer seed; `None` (default) draws one, which `keras.utils.set_random_seed`
                decides.
            activity_regularizer: Regularizer of the output. Defaults to `None`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any) -> None: ...
    def call(self, inputs: Any) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
