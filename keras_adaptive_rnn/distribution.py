"""Layouts of weights for `keras.distribution.ModelParallel`, which divides them among devices."""

import keras

from keras_adaptive_rnn._arguments import DeclaredArguments
from keras_adaptive_rnn._export import directory

__all__ = ["layout_map"]
__dir__ = directory(__all__)

# Those of Keras's cells, as others have them in `divided_weights`.
KERAS_WEIGHTS = {r"(lstm|gru|simple_rnn)_cell(_\d+)?/(recurrent_)?kernel": 1}


def layout_map(
    device_mesh: keras.distribution.DeviceMesh, model_dim_name: str = "model"
) -> keras.distribution.LayoutMap:
    """Returns a `keras.distribution.LayoutMap` that divides the kernels of recurrent cells among devices.

    Each device gets a part of the units, or of the joint units of all gates, whose number must be a multiple of the
    devices along `model_dim_name`. All other weights are copied to each device, unless you add a layout. The keys are
    regular expressions of paths. A cell of your own says in `divided_weights` which of its weights to divide. Keras
    divides weights on JAX only.

    Args:
        device_mesh: `keras.distribution.DeviceMesh`.
        model_dim_name: Name of the axis of `device_mesh` along which kernels are divided. Defaults to `"model"`.

    Returns: A `keras.distribution.LayoutMap`, to which you may add layouts.

    Raises:
        TypeError: `device_mesh` is not a `keras.distribution.DeviceMesh`.
        ValueError: `device_mesh` has no axis `model_dim_name`.

    Example:

    >>> mesh = keras.distribution.DeviceMesh((1, 1), ("batch", "model"), ["cpu:0"])
    >>> layouts = keras_adaptive_rnn.distribution.layout_map(mesh)
    >>> layouts["embedding/embeddings"] = (None, "model")
    >>> layouts["mogrifier/mogrifier_cell/lstm_cell/recurrent_map/kernel"].axes
    (None, 'model')
    """
    if not isinstance(device_mesh, keras.distribution.DeviceMesh):
        raise TypeError(
            f"Argument `device_mesh` must be a `keras.distribution.DeviceMesh`. Received: device_mesh={device_mesh!r}"
        )
    if model_dim_name not in device_mesh.axis_names:
        raise ValueError(
            "Argument `model_dim_name` must be the name of an axis of `device_mesh`, one of "
            f"{', '.join(map(repr, device_mesh.axis_names))}. Received: model_dim_name={model_dim_name!r}"
        )
    layouts = keras.distribution.LayoutMap(device_mesh)
    axes = KERAS_WEIGHTS | _divided_weights(DeclaredArguments)
    whole = "|".join(path for path, axis in axes.items() if axis is None)
    for path, axis in axes.items():
        if axis is not None:
            layout = (None, model_dim_name) if axis else (model_dim_name, None)
            layouts[f"^(?!(.*/)?({whole})$)(.*/)?{path}$"] = layout
    return layouts


def _divided_weights(cls):
    """Returns the `divided_weights` of a class and of all that derive from it."""
    axes = dict(vars(cls).get("divided_weights", {}))
    for subclass in cls.__subclasses__():
        axes |= _divided_weights(subclass)
    return axes
