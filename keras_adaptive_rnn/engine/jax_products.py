"""The products of a step on JAX, of which the gradients of the weights are formed once for all steps."""

import jax
from jax import lax
from jax import numpy as jnp

from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.engine.jax_platform import on_cpu


class Products:
    """The products of a step with those weights whose gradients are formed once for all steps.

    Attributes:
        places: For each product, the place of its weight.
        taps: For each product, the shape and dtype of its result; empty if the step reads tensors other than its
            arguments. A tap is a zero that is added to a product, so that its gradient is that of the product.
    """

    def __init__(self, bind, weights, carry, xs, always):
        self.bind, self.always = bind, always
        self.places, self.taps, self.dims, self.factors = [], [], [], []

        def trace(weights, carry, x):
            def product(a, kernel):
                e = jnp.matmul(a, kernel)
                self.places.append(self.place(a, kernel, weights))
                self.taps.append(jax.ShapeDtypeStruct(e.shape, e.dtype))
                self.dims.append(kernel.ndim)
                self.factors.append(jax.ShapeDtypeStruct(a.shape, a.dtype))
                return e

            return self.step(weights, carry, x, product)

        if reads_elsewhere(trace, weights, carry, first_of(xs)):
            self.taps = []

    def place(self, a, kernel, weights):
        """Returns the place of `kernel` among the weights, or `None` if its gradient is formed in each step."""
        if not (self.always or not on_cpu() or tuning.batches_gradient(kernel, a.shape[-2])):
            return None
        return next((k for k, weight in enumerate(weights) if weight is kernel), None)

    def zeros(self, *leading):
        """Returns the taps, with these further axes."""
        return [jnp.zeros((*leading, *tap.shape), tap.dtype) for tap in self.taps]

    def step(self, weights, carry, x, product, *lists):
        """Returns the results of a step, and a list of what the kernels of these products have multiplied.

        `product(a, kernel, ...)` computes each of them, with its entries of the `lists`.
        """
        factors = []

        def matmul_impl(a, kernel):
            if self.place(a, kernel, weights) is None:
                return jnp.matmul(a, kernel)
            factors.append(a)
            return product(a, kernel, *(each[len(factors) - 1] for each in lists))

        return self.bind(weights, matmul_impl)(carry, x), factors

    def split(self, weights):
        """Returns the weights of the products by their places, and a list of the others, each with `None` for these."""
        kernels = {k: weights[k] for k in self.places}
        return kernels, [None if k in kernels else weight for k, weight in enumerate(weights)]

    def join(self, kernels, others):
        return [kernels.get(k, other) for k, other in enumerate(others)]

    def kernel_gradients(self, factors, d_taps):
        """Returns the gradients of the kernels from what they multiplied and the products' gradients, of all steps."""
        gradients = {}
        for place, a, e, ndim in zip(self.places, factors, d_taps, self.dims, strict=True):
            part = _outer(a, e, ndim)
            gradients[place] = gradients[place] + part if place in gradients else part
        return gradients


@jax.custom_vjp
def tapped_product(a, kernel, tap):
    """Returns `a @ kernel`, whose gradient goes to `tap` as well.

    That of the kernel is formed for second derivatives only: for the first, the kernel is a constant.
    """
    return jnp.matmul(a, kernel)


def _product_backward(factors, gradient):
    a, kernel = factors
    batch, last = tuple(range(kernel.ndim - 2)), kernel.ndim - 1
    if on_cpu() and gradient.shape[-2] > 1:
        # A product of few rows takes half the time with the weight on the left. The barrier keeps XLA from swapping
        # them.
        back = lax.dot_general(kernel, gradient, (((last,), (last,)), (batch, batch)))
        return lax.optimization_barrier(back).mT, jnp.matmul(a.mT, gradient), gradient
    # Not a product with `kernel.mT`, which XLA would copy in every step for a batch of one row.
    back = lax.dot_general(gradient, kernel, (((last,), (last,)), (batch, batch)))
    return back, jnp.matmul(a.mT, gradient), gradient


@jax.custom_vjp
def known_product(a, kernel, tap, result):
    """Returns `result`, which is `a @ kernel`; its gradients are those of `tapped_product`."""
    return result


def _known_backward(kept, gradient):
    a, kernel, result = kept
    return (*_product_backward((a, kernel), gradient), jnp.zeros_like(result))


tapped_product.defvjp(lambda a, kernel, tap: (tapped_product(a, kernel, tap), (a, kernel)), _product_backward)
known_product.defvjp(lambda a, kernel, tap, result: (result, (a, kernel, result)), _known_backward)


def _outer(a, e, ndim):
    """Returns the gradient of a kernel of `ndim` axes from all products `a @ kernel`, whose own gradients are `e`."""
    if ndim == 2:
        # XLA's product on a CPU is half as fast if it has to transpose the wide matrix itself.
        a = lax.optimization_barrier(a.reshape((-1, a.shape[-1])).T)
        return jnp.matmul(a, e.reshape((-1, e.shape[-1])))
    return jnp.einsum("tbri,tbro->bio", a, e)


def first_of(xs):
    """Returns the shapes and dtypes of what the first step reads."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)


def reads_elsewhere(function, *args):
    """Returns whether a function reads tensors that are no arguments, so that a gradient of its own would miss them."""
    return any(isinstance(constant, jax.core.Tracer) for constant in jax.make_jaxpr(function)(*args).consts)
