"""Mean and variance of a vector that passes through the same random layer many times."""

import dataclasses

import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, activations
from keras_adaptive_rnn._types import Activation


@dataclasses.dataclass(frozen=True)
class Dynamics:
    """Mean and variance of the entries of $x_i$ in each run, before the first iteration and after each.

    Attributes:
        means: Array `[runs, steps + 1]`.
        variances: Array `[runs, steps + 1]`.
    """

    means: np.ndarray
    variances: np.ndarray


def activation_dynamics(
    activation: Activation,
    units: int = 256,
    steps: int = 50,
    runs: int = 50,
    samples: int = 64,
    matrix: str = "gaussian",
    unit_variance: bool = True,
    seed: int = 0,
) -> Dynamics:
    r"""Returns the mean and variance of random vectors over the iterations of a random layer.

    $$x_{i+1} = f(x_i W), \qquad x_0 \sim \mathcal{N}(0, 1)$$

    with a new $x_0$ and a new $W$ in every run, the same for every activation.

    Args:
        activation: $f$, a function that keeps the shape, or its name, such as `"belu"` or `"relu"`.
        units: Positive integer, size of $x$. Defaults to `256`.
        steps: Positive integer, number of iterations. Defaults to `50`.
        runs: Positive integer, number of runs. Defaults to `50`, as in the paper.
        samples: Positive integer, number of vectors $x_0$ in a run; mean and variance are taken over all of them. More
            samples set the scale of $W$ more accurately, and its errors multiply over the steps. Defaults to `64`.
        matrix: `"gaussian"` (default, as in the paper), entries of variance $1 / \text{units}$, or `"orthogonal"`.
        unit_variance: Whether to scale $W$ until $f(x_0 W)$ has unit variance (LSUV, as in the paper). Defaults to
            `True`.
        seed: Non-negative integer. Defaults to `0`.

    Returns: A `Dynamics`; values that overflow are infinite or NaN.

    Raises:
        ValueError: an argument is out of its range, or the activation changes the shape.

    Example:

    >>> seen = keras_adaptive_rnn.analysis.activation_dynamics("belu", units=32, steps=5, runs=3)
    >>> seen.means.shape
    (3, 6)
    >>> np.allclose(seen.variances[:, 1], 1.0, atol=0.05)
    True

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 2, figure 2.
    """
    function = _arguments.resolve("activation", activation, activations.get)
    for name, value in (("units", units), ("steps", steps), ("runs", runs), ("samples", samples)):
        _arguments.integer(name, value)
    _arguments.choice("matrix", matrix, ("gaussian", "orthogonal"))
    _arguments.boolean("unit_variance", unit_variance)
    rng = np.random.default_rng(_arguments.integer("seed", seed, minimum=0))

    def f(x):
        y = np.asarray(ops.convert_to_numpy(function(ops.convert_to_tensor(x.astype("float32")))))
        if y.shape != x.shape:
            raise ValueError(
                f"Argument `activation` must keep the shape of its input, here {x.shape}. Received: "
                f"activation={activation!r}, which gives {y.shape}"
            )
        return y.astype("float64")

    means, variances = np.empty((2, runs, steps + 1))
    for run in range(runs):
        x = rng.normal(size=(samples, units))
        w = rng.normal(size=(units, units)) / np.sqrt(units)
        w = _orthogonal(w) if matrix == "orthogonal" else w
        w = w * (_scale(f, x @ w) if unit_variance else 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(steps + 1):
                means[run, i], variances[run, i] = x.mean(), x.var()
                x = f(x @ w) if i < steps else x
    return Dynamics(means, variances)


def _orthogonal(gaussian):
    q, r = np.linalg.qr(gaussian)
    return q * np.sign(np.diag(r))


def _scale(f, a, tolerance=0.01, tries=50):
    """Returns the factor that gives `f(factor * a)` unit variance, or comes close if `f` saturates below that."""
    factor = 1.0
    for _ in range(tries):
        deviation = f(factor * a).std()
        if deviation == 0 or abs(deviation - 1) < tolerance:
            break
        factor /= deviation
    return factor
