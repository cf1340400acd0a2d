"""The unitary matrix of the unitary evolution RNN, in real numbers."""

import math

import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.initializers import Drawn
from keras_adaptive_rnn.maps.base import LinearMap

# The number of times that an angle is halved before the series of its sine is evaluated.
DOUBLINGS = 7


class Unitary(LinearMap):
    r"""The unitary matrix of a unitary evolution RNN: $W = D_3 R_2 F^{-1} D_2 \Pi R_1 F D_1$.

    `keras_adaptive_rnn.URNNCell` has the equations. The map takes $[\mathrm{Re}\,h, \mathrm{Im}\,h]$ to
    $[\mathrm{Re}\,W h, \mathrm{Im}\,W h]$, in two blocks.

    Over a sequence it multiplies by $W$, a real matrix of $(2n)^2$ entries, which is computed once. A single step
    applies the factors one by one.

    Weights: `phases`, `[units, 3]`, and `reflections`, `[2 units, 2]`, with a column for each factor.

    Args:
        permutation_seed: As in `keras_adaptive_rnn.URNNCell`.
        seed: Integer seed of the initial weights, or `None` (default).
    """

    def __init__(self, permutation_seed: int = 0, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.permutation_seed = _arguments.integer("permutation_seed", permutation_seed, minimum=0)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)

    def build(self, input_shape):
        super().build(input_shape)
        n = self.units

        def add(name, shape, bound):
            drawn = Drawn((-bound, bound), np.asarray, fold_in(self.seed, name))
            # Half precision has no room for an angle, or for a vector of unit length.
            return self.add_weight(name=name, shape=shape, initializer=drawn, autocast=False)

        self.phases, self.reflections = add("phases", (n, 3), np.pi), add("reflections", (2 * n, 2), 1.0)
        # A sort by hashes, as the streams of NumPy's generators may change with its version.
        self._permutation = sorted(range(n), key=lambda k: fold_in(self.permutation_seed, k))
        # A transform of p q entries by transforms of p and of q entries (Cooley and Tukey): unlike `ops.fft`, it has
        # no complex numbers, which many formats of exported files lack.
        p = max(k for k in range(1, math.isqrt(n) + 1) if n % k == 0)
        q = n // p
        self._waves = _waves(p, p, p) / np.sqrt(p), _waves(q, p, n), _waves(q, q, q) / np.sqrt(q)

    def call(self, inputs, run=None, group=0, per_block=False, training=None):
        if run is None or "groups" in run.prepared_by(self):
            return super().call(inputs, run, group, per_block, training)
        return ops.cast(self.evolve(inputs), self.compute_dtype)

    def prepare(self, run):
        n = self.units
        of_real = self.evolve(np.eye(n, 2 * n))
        re, im = ops.split(of_real, 2, axis=-1)
        return [ops.cast(ops.concatenate([of_real, ops.concatenate([-im, re], axis=-1)]), self.compute_dtype)]

    def evolve(self, h):
        """Returns $[Re W h, Im W h]$ from $[Re h, Im h]$, `[rows, 2 units]`, factor by factor, at least in float32."""
        precise = "float64" if self.compute_dtype == "float64" else "float32"
        phases = ops.cast(self.phases, precise)
        vectors = ops.cast(self.normalized(ops.convert_to_tensor(self.reflections)), precise)
        inverse = [[ops.convert_to_tensor(part, dtype=precise) for part in waves] for waves in self._waves]
        forward = [(cos, -sin) for cos, sin in inverse]
        re, im = ops.split(ops.cast(h, precise), 2, axis=-1)
        re, im = _rotated(re, im, phases[:, 0])
        re, im = _transformed(re, im, forward)
        re, im = _reflected(re, im, vectors[:, 0])
        permutation = ops.convert_to_tensor(self._permutation, dtype="int32")
        # Of rows, as PyTorch's ONNX files hold no other choice.
        re, im = (ops.transpose(ops.take(ops.transpose(part), permutation, axis=0)) for part in (re, im))
        re, im = _rotated(re, im, phases[:, 1])
        re, im = _transformed(re, im, inverse)
        re, im = _reflected(re, im, vectors[:, 1])
        return ops.concatenate(_rotated(re, im, phases[:, 2]), axis=-1)


def _waves(rows, columns, period):
    r"""Returns the cosines and sines of $2 \pi j k / period$, `[2, rows, columns]`."""
    angles = 2 * np.pi / period * (np.outer(np.arange(rows), np.arange(columns)) % period)
    return np.stack([np.cos(angles), np.sin(angles)])


def _rotated(re, im, phases):
    return _times(re, im, *_cos_and_sin(phases))


def _cos_and_sin(x):
    if "float64" not in str(x.dtype):
        return ops.cos(x), ops.sin(x)
    # Keras's own of float64 are float32 on JAX. Here, the series of a small angle, which is then doubled.
    x = x / 2**DOUBLINGS
    y = x * x
    sin = x * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72))))
    cos = 1 - y / 2 * (1 - y / 12 * (1 - y / 30 * (1 - y / 56 * (1 - y / 90))))
    for _ in range(DOUBLINGS):
        cos, sin = 1 - 2 * sin * sin, 2 * sin * cos
    return cos, sin


def _times(re, im, cos, sin, product=ops.multiply):
    """Returns the product with `cos + i sin`."""
    return product(re, cos) - product(im, sin), product(re, sin) + product(im, cos)


def _transformed(re, im, waves):
    """Returns the transform by `waves`: of the columns of `[p, q]`, then, with other phases, of the rows."""
    of_p, twiddles, of_q = waves
    q, p = twiddles[0].shape
    z = [ops.swapaxes(ops.reshape(part, (-1, p, q)), 1, 2) for part in (re, im)]
    z = _times(*_times(*z, *of_p, plain_matmul), *twiddles)
    z = _times(*(ops.swapaxes(part, 1, 2) for part in z), *of_q, plain_matmul)
    return tuple(ops.reshape(ops.swapaxes(part, 1, 2), ops.shape(re)) for part in z)


def _reflected(re, im, vector):
    """Returns $z - 2 v v^* z$ for a vector $v$ of unit length."""
    v_re, v_im = ops.split(vector, 2)
    product_re = ops.sum(re * v_re + im * v_im, axis=-1, keepdims=True)
    product_im = ops.sum(im * v_re - re * v_im, axis=-1, keepdims=True)
    return re - 2 * (product_re * v_re - product_im * v_im), im - 2 * (product_re * v_im + product_im * v_re)
