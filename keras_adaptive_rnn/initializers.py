"""Initializers, in the style of `keras.initializers`."""

import copy
import math
import statistics
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn._keras import in_stateless_scope
from keras_adaptive_rnn._seeds import fold_in, resolve_seed
from keras_adaptive_rnn._types import Initializer

__all__ = ["MirroredOrthogonal", "NearIdentity", "SemiOrthogonal", "UnitVariance", "get"]
__dir__ = directory(__all__)

_register = keras.saving.register_keras_serializable(package="keras_adaptive_rnn")


def reseeded(initializer, *path):
    """Returns an initializer like this one that draws the numbers of the place `path`, as in `fold_in`.

    A Keras initializer returns the same numbers whenever it is called, so two weights of one shape must not share one.
    The first of several places, whose path ends in 0, keeps those of `initializer`, as Keras's layers do. If the
    initializer has an integer seed, so does the new one, and a seeded layer remains reproducible.
    """
    initializer = get(initializer)
    if path[-1] == 0 or not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    if isinstance(initializer, LayerScaled):
        return initializer.at(*path)
    config = initializer.get_config()
    if isinstance(config.get("seed"), int):
        return type(initializer).from_config({**config, "seed": fold_in(config["seed"], *path)})
    # Without another random seed, so that what is drawn does not depend on when a layer is built.
    made = copy.copy(initializer)
    drawn = "_seed" if isinstance(made, OfBlocks) else "seed"
    if isinstance(getattr(made, drawn, None), int):
        setattr(made, drawn, fold_in(getattr(made, drawn), *path))
    return made


def concatenated(initializer, widths):
    """Returns an initializer that draws matrices of these widths one by one and concatenates their columns."""

    def draw(shape, dtype=None):
        drawn = [reseeded(initializer, "block", k)((*shape[:-1], w), dtype=dtype) for k, w in enumerate(widths)]
        return ops.concatenate(drawn, axis=-1)

    return draw


class OfBlocks(keras.initializers.Initializer):
    """Draws matrices side by side, the same numbers on every backend, also in half precision.

    A subclass draws one of them: `draw_block(rng, rows, columns)`. The arguments are those of `SemiOrthogonal`.
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None, *, blocks: int = 1):
        self.gain = _arguments.number("gain", gain)
        self.blocks = _arguments.integer("blocks", blocks)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self._seed = resolve_seed(self.seed)

    def __call__(self, shape: tuple[int, ...], dtype: Any = None) -> Any:
        drawn = self.draw(tuple(shape)).astype("float32")
        return ops.cast(ops.convert_to_tensor(drawn), dtype or keras.config.floatx())

    def draw(self, shape):
        _arguments.check(len(shape) >= 2, "Argument `shape` must have at least two axes", shape=shape)
        *rows, columns = shape
        rule = "Argument `blocks` must divide the last axis of the shape"
        _arguments.check(columns % self.blocks == 0, rule, blocks=self.blocks, shape=shape)
        rng = np.random.default_rng(self._seed)
        pieces = [self.draw_block(rng, math.prod(rows), columns // self.blocks) for _ in range(self.blocks)]
        return np.concatenate(pieces, axis=1).reshape(shape)

    def draw_block(self, rng, rows, columns):
        """Returns a matrix `[rows, columns]`."""
        raise NotImplementedError

    def get_config(self):
        return {"gain": self.gain, "blocks": self.blocks, "seed": self.seed}


@_register
class SemiOrthogonal(OfBlocks):
    r"""Draws matrices with orthogonal rows or columns, whichever are fewer: $W^T W = g^2 I$ or $W W^T = g^2 I$.

    Unlike `keras.initializers.Orthogonal`, it draws the same numbers on every backend, also in half precision, and it
    can draw the gates of a kernel one by one.

    Args:
        gain: Number, the factor $g$. Defaults to `1.0`.
        blocks: Positive integer, the number of matrices whose columns are concatenated, such as the gates of a cell.
            Each is semi-orthogonal by itself. Defaults to `1`.
        seed: Non-negative integer seed, or `None` (default) for a random one, which `keras.utils.set_random_seed`
            determines.

    Call arguments:
        shape: Tuple of at least two integers. All axes but the last form the rows.
        dtype: As in `keras.initializers`.

    Example:

    >>> w = keras.ops.convert_to_numpy(keras_adaptive_rnn.initializers.SemiOrthogonal(seed=0)((5, 3)))
    >>> np.allclose(w.T @ w, np.eye(3), atol=1e-6)
    True

    Reference: Saxe, McClelland, Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks (2013).
    """

    def draw_block(self, rng, rows, columns):
        q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
        # LAPACK fixes signs that should be random. Without them, the draw is uniform over such matrices.
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
        return self.gain * (q if rows >= columns else q.T)


@_register
class MirroredOrthogonal(SemiOrthogonal):
    r"""Draws $[W; -W]$ with $W$ semi-orthogonal, so that a layer that reads a CReLU starts out linear.

    $$W \max(x, 0) - W \max(-x, 0) = W x$$

    Args:
        gain, blocks, seed: As in `keras_adaptive_rnn.initializers.SemiOrthogonal`.

    Call arguments:
        shape: Tuple of at least two integers. The second to last, the output size of a CReLU, must be even.
        dtype: As in `keras.initializers`.

    Example:

    >>> dense = keras.layers.Dense(3, kernel_initializer=keras_adaptive_rnn.initializers.MirroredOrthogonal())
    >>> f = lambda x: keras.ops.convert_to_numpy(dense(keras_adaptive_rnn.activations.crelu(x)))
    >>> np.allclose(f(np.ones((1, 4))), -f(-np.ones((1, 4))), atol=1e-6)
    True

    Reference: Balduzzi et al., The Shattered Gradients Problem (2017), section 4.
    """

    def draw(self, shape):
        fits = len(shape) >= 2 and shape[-2] % 2 == 0
        _arguments.check(fits, "Argument `shape` must have an even second to last axis", shape=shape)
        half = super().draw((*shape[:-2], shape[-2] // 2, shape[-1]))
        return np.concatenate([half, -half], axis=-2)


@_register
class UnitVariance(SemiOrthogonal):
    r"""Draws semi-orthogonal matrices, scaled so that $x W$ has $g^2$ times the variance of $x$ for every shape.

    $$W = g \sqrt{\max(1, n / m)} \; Q, \qquad Q \text{ semi-orthogonal}, \; m \text{ rows}, \; n \text{ columns}$$

    This is the default of `DeepRNNCell`, which also scales the matrices of each layer according to its activation and
    skip connection.

    Args:
        gain, blocks, seed: As in `keras_adaptive_rnn.initializers.SemiOrthogonal`.

    Example:

    >>> w = keras.ops.convert_to_numpy(keras_adaptive_rnn.initializers.UnitVariance(seed=0)((3, 6)))
    >>> np.allclose(w @ w.T, 2 * np.eye(3), atol=1e-5)
    True

    Reference: Saxe, McClelland, Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks (2013); the scale by the number of rows: He et al., Delving Deep into Rectifiers (2015), section 2.2.
    """

    def draw(self, shape):
        return super().draw(shape) * math.sqrt(max(1, shape[-1] / self.blocks / math.prod(shape[:-1])))


@_register
class NearIdentity(OfBlocks):
    r"""Draws matrices near the identity: $W_{ii} = g$, and $W_{ij} \sim \mathcal{N}(0, \text{stddev}^2)$ elsewhere.

    The eigenvalues of a recurrent matrix then start near $g$, in Gersgorin discs of small radius
    (`keras_adaptive_rnn.analysis.gersgorin_discs`), so that gradients neither vanish nor explode at first. With
    `activation="relu"`, `stddev=0.0`, and a `kernel_initializer` of `keras.initializers.RandomNormal(stddev=0.001)`, an
    Elman network is an IRNN.

    Args:
        gain: Number $g$. Defaults to `1.0`.
        stddev: Number of at least 0, the standard deviation of the entries off the diagonal. Defaults to `0.001`, that
            of all other matrices of an IRNN.
        seed, blocks: As in `keras_adaptive_rnn.initializers.SemiOrthogonal`. Each block is near the identity by itself.

    Call arguments:
        shape: Tuple of at least two integers. All axes but the last form the rows, as many as a block has columns.
        dtype: As in `keras.initializers`.

    Example:

    >>> near_identity = keras_adaptive_rnn.initializers.NearIdentity(blocks=4, seed=0)
    >>> layer = keras_adaptive_rnn.LSTM(8, recurrent_initializer=near_identity)
    >>> layer.build((None, None, 3))
    >>> np.allclose(keras_adaptive_rnn.analysis.recurrent_matrix(layer, "c"), np.eye(8), atol=0.01)
    True

    Reference: Le, Jaitly, Hinton, A Simple Way to Initialize Recurrent Networks of Rectified Linear Units (2015); on
    its spectrum: Zilly et al., Recurrent Highway Networks (2017), section 3.
    """

    def __init__(self, gain: float = 1.0, stddev: float = 0.001, seed: int | None = None, *, blocks: int = 1):
        super().__init__(gain, seed, blocks=blocks)
        self.stddev = _arguments.number("stddev", stddev, minimum=0)

    def draw_block(self, rng, rows, columns):
        rule = f"Argument `shape` must be that of {self.blocks} square matrices side by side"
        _arguments.check(rows == columns, rule, shape=(rows, columns), blocks=self.blocks)
        drawn = rng.normal(scale=self.stddev, size=(rows, columns))
        np.fill_diagonal(drawn, self.gain)
        return drawn

    def get_config(self):
        return {**super().get_config(), "stddev": self.stddev}


class LayerScaled(keras.initializers.Initializer):
    """Draws the matrix of one layer of a deep cell, and scales it by `gains()[layer]`, unless `layer` is `None`."""

    def __init__(self, initializer, gains, layer):
        self.initializer, self.gains, self.layer = initializer, gains, layer

    def __call__(self, shape, dtype=None):
        drawn = self.initializer(shape, dtype=dtype)
        # In a stateless scope, which may be traced, only the shape counts: Keras draws again afterwards.
        return drawn if self.layer is None or in_stateless_scope() else drawn * self.gains()[self.layer]

    def at(self, name, index):
        """See `reseeded`. The blocks of a map are layers; of its factors, `name="weight"`, the first takes the gain."""
        layer = None if self.layer is None or name != "block" else self.layer + index
        return LayerScaled(reseeded(self.initializer, name, index), self.gains, layer)


class Drawn(keras.initializers.Initializer):
    """A function of numbers, in float64, that are drawn uniformly between two bounds, or whose logarithms are."""

    def __init__(self, bounds, function, seed, logarithmic=False):
        self.bounds, self.function, self.seed, self.logarithmic = bounds, function, seed, logarithmic

    def __call__(self, shape, dtype=None):
        rng, bounds = np.random.default_rng(resolve_seed(self.seed)), np.array(self.bounds)
        drawn = np.exp(rng.uniform(*np.log(bounds), shape)) if self.logarithmic else rng.uniform(*bounds, shape)
        return ops.cast(ops.convert_to_tensor(self.function(drawn).astype("float32")), dtype)


def scaled(initializer, gains, first=0):
    """Returns an initializer of the layers of a deep cell from `first` up, which scales what `UnitVariance` draws."""
    return LayerScaled(initializer, gains, first) if isinstance(initializer, UnitVariance) else initializer


def unit_variance_gains(activation, units, skips):
    r"""Returns the gain of the matrices of each layer of a deep cell that gives its states unit variance.

    With $z \sim \mathcal{N}(0, 1)$, as a sum over many units is approximately normal:

    $$\operatorname{Var}(f(s_i z) + \alpha_i h_{i-k}) = 1, \qquad
      g_i = s_i / \sqrt{\operatorname{E} h_{i-1}^2 + \operatorname{E} h_i^2}$$

    The two terms under the root are the second moments of what $U_i$ and $W_i$ read, once the initial zeros have no
    effect.

    Args:
        activation: Activation function $f$, for tensors whose last axis is the units.
        units: Positive integer.
        skips: List with an entry for each layer: `None`, or $(j, \alpha)$ if $\alpha$ times the output of layer $j$ (-1
            for the inputs) is added to its output.
    """
    z = np.array([statistics.NormalDist().inv_cdf((k + 0.5) / POINTS) for k in range(POINTS)])
    a = (SPREADS[:, None] * z / z.std())[..., None] * np.ones(units)
    h = ops.convert_to_numpy(activation(ops.convert_to_tensor(a.astype("float32")))).astype("float64")
    # Over z: the mean of each unit, and the mean over units of their variances.
    means, variances = h.mean(axis=1), h.var(axis=1).mean(axis=1)
    outputs, gains = [(np.zeros(units), 1.0)], []
    for skip in skips:
        source, scale = skip or (-1, 0.0)
        skipped_mean, skipped_variance = outputs[source + 1]
        mean, variance = means + scale * skipped_mean, variances + scale**2 * skipped_variance
        total = variance + mean.var(axis=1)
        # If no spread gives unit variance, as with a bounded activation, the affine part gets unit variance.
        k = max(1, np.argmax(total >= 1) if total.max() >= 1 else np.searchsorted(SPREADS, 1))
        between = np.clip(np.interp(1, total[k - 1 : k + 1], [0, 1]), 0, 1)
        spread, mean, variance = ((1 - between) * v[k - 1] + between * v[k] for v in (SPREADS, mean, variance))
        outputs.append((mean, variance))
        gains.append(spread / math.sqrt(sum(np.mean(m**2) + v for m, v in outputs[-2:])))
    return gains


# The number of points of the normal distribution, and the candidate standard deviations of an affine part.
POINTS, SPREADS = 64, np.geomspace(0.1, 4, 64)

NAMES = {
    "semi_orthogonal": SemiOrthogonal,
    "mirrored_orthogonal": MirroredOrthogonal,
    "unit_variance": UnitVariance,
    "near_identity": NearIdentity,
}


def get(identifier: Initializer) -> Any:
    """Retrieves an initializer by name or config; an initializer is returned as it is.

    Args:
        identifier: `"semi_orthogonal"`, `"mirrored_orthogonal"`, `"unit_variance"`, `"near_identity"`, or anything that
            `keras.initializers.get` accepts.

    Returns: An initializer, or `None` for `None`.

    Raises:
        ValueError: The identifier is unknown.

    Example:

    >>> keras_adaptive_rnn.initializers.get("semi_orthogonal").gain
    1.0
    """
    if isinstance(identifier, str) and identifier in NAMES:
        return NAMES[identifier]()
    return keras.initializers.get(identifier)
