"""The platform that JAX computes on, or compiles for."""

import jax

from keras_adaptive_rnn.engine.target import target


def on_cpu():
    return target(_platform) == "cpu"


def on_gpu():
    return target(_platform) in ("gpu", "cuda", "rocm")


def _platform():
    # A device, or the name of a platform, in a context or for the whole process.
    device = jax.config.jax_default_device
    return jax.default_backend() if device is None else getattr(device, "platform", device)
