"""Linear maps, which parameterize the matrices of a cell."""

import keras

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.maps.base import LinearMap
from keras_adaptive_rnn.maps.bias import Bias, no_bias
from keras_adaptive_rnn.maps.block_diagonal import BlockDiagonal
from keras_adaptive_rnn.maps.full import DropConnect, Full
from keras_adaptive_rnn.maps.low_rank import LowRank

__all__ = ["Bias", "BlockDiagonal", "DropConnect", "Full", "LinearMap", "LowRank", "get", "no_bias"]
__dir__ = directory(__all__)


def get(identifier: str | dict | LinearMap) -> LinearMap:
    """Retrieves a linear map.

    Args:
        identifier: A linear map, its config, or the string `"full"`.

    Returns: A `LinearMap`.

    Raises:
        ValueError: `identifier` is none of these.
    """
    if isinstance(identifier, LinearMap):
        return identifier
    if identifier == "full":
        return Full()
    if isinstance(identifier, dict):
        return keras.saving.deserialize_keras_object(identifier)
    raise ValueError(f"Expected 'full' or an object of `keras_adaptive_rnn.maps`. Received: {identifier!r}")
