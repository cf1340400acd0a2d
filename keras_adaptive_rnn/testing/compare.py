"""Comparisons and failures of the checks."""

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn._keras import layer_test_case


def require(condition, message):
    """Raises `AssertionError` unless `condition`; an `assert` would be gone under `python -O`."""
    if not condition:
        raise AssertionError(message)


def require_dtype(tensors, dtype, what):
    for tensor in tree.flatten(tensors):
        received = keras.backend.standardize_dtype(tensor.dtype)
        require(received == dtype, f"{what} returns {received}, expected {dtype}")


def close(ours, theirs, what, tolerance=1e-5):
    """Compares structures of tensors or arrays; `None` is a gradient of zero."""
    ours, theirs = tree.flatten(ours), tree.flatten(theirs)
    require(len(ours) == len(theirs), f"{what}: {len(ours)} tensors, expected {len(theirs)}")
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            other = b if a is None else a
            one_sided = other is not None and np.abs(other).max() > tolerance
            require(not one_sided, f"{what}: tensor {k} has a gradient on one side only")
            continue
        a, b = (np.asarray(ops.convert_to_numpy(t), "float64") for t in (a, b))
        require(a.shape == b.shape, f"{what}: tensor {k} has the shape {a.shape}, expected {b.shape}")
        _require_equal(a, b, f"{what}: tensor {k}", tolerance)


def _require_equal(a, b, what, tolerance):
    """Compares arrays; the error has the largest difference, and what is allowed there, in attributes."""
    difference, allowed = np.abs(a - b), tolerance * (1 + np.abs(b))
    excess = np.where(np.isnan(difference), np.inf, difference - allowed)
    if a.size and excess.max() > 0:
        worst = np.unravel_index(excess.argmax(), excess.shape)
        value, allowed = float(difference[worst]), float(allowed[worst])
        error = AssertionError(f"{what} differs by {value:.2g}, allowed {allowed:.2g}")
        error.value, error.allowed = value, allowed
        raise error


def run_keras_layer_test(make, input_shape):
    layer = make()
    layer.build(input_shape)
    layer_test_case().run_layer_test(
        make,
        init_kwargs={},
        input_shape=tuple(input_shape),
        expected_output_shape=layer.compute_output_shape(input_shape),
        expected_num_trainable_weights=len(layer.trainable_weights),
        expected_num_non_trainable_weights=len(layer.non_trainable_weights),
        supports_masking=layer.supports_masking,
        # Keras warns about training a model that has nothing to train.
        run_training_check=bool(layer.trainable_weights),
    )
