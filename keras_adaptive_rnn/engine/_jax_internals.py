"""The names of JAX that the engine uses and that are not stable, `None` where they are gone."""

from keras_adaptive_rnn._private import missing

try:
    from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
except ImportError:
    ClosedJaxpr = jaxpr_as_fun = missing("jax.extend.core.jaxpr_as_fun", "training and adaptive inference are slower")
