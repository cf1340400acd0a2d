"""The names of JAX that the engine uses and that are not stable, `None` where they are gone."""

from keras_adaptive_rnn._private import optional

jaxpr_as_fun = optional("jax.extend.core.jaxpr_as_fun", "training and adaptive inference are slower")
