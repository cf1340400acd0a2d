"""Mean and variance of a vector that passes through the same random layer many times."""

from typing import NamedTuple

import numpy as np
from keras import ops

from keras_adaptive_rnn import activations


class Dynamics(NamedTuple):
    """Mean and variance of the entries of $x_i$ before the first iteration and after each, `[runs, steps + 1]`."""

    means: np.ndarray
    variances: np.ndarray


def activation_dynamics(
    activation: str,
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

    with a new $x_0$ and a new $W$ in every run, the same for every activation: Eidnes, Nokland, Shifting Mean
    Activation Towards Zero with Bipolar Activation Functions (2018), section 2, figure 2. Values that overflow are
    infinite or NaN.

    Args:
        activation: Name of $f$, such as `"belu"` or `"relu"`.
        units: Size of $x$.
        steps: Number of iterations.
        runs: Number of runs.
        samples: Number of vectors $x_0$ in a run. More samples set the scale of $W$ more accurately, and its errors
            multiply over the steps.
        matrix: `"gaussian"`, entries of variance $1 / \text{units}$, as in the paper, or `"orthogonal"`.
        unit_variance: Whether to scale $W$ until $f(x_0 W)$ has unit variance (LSUV, as in the paper).
        seed: Seed of $x_0$ and $W$.
    """
    function, rng = activations.get(activation), np.random.default_rng(seed)

    def f(x):
        y = function(ops.convert_to_tensor(x.astype("float32")))
        return np.asarray(ops.convert_to_numpy(y)).astype("float64")

    means, variances = np.empty((2, runs, steps + 1))
    for run in range(runs):
        x = rng.normal(size=(samples, units))
        w = rng.normal(size=(units, units)) / np.sqrt(units)
        if matrix == "orthogonal":
            q, r = np.linalg.qr(w)
            w = q * np.sign(np.diag(r))
        w = w * (_scale(f, x @ w) if unit_variance else 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(steps + 1):
                means[run, i], variances[run, i] = x.mean(), x.var()
                x = f(x @ w) if i < steps else x
    return Dynamics(means, variances)


def _scale(f, a, tolerance=0.01, tries=50):
    """Returns the factor that gives `f(factor * a)` unit variance, or comes close if `f` saturates below that."""
    factor = 1.0
    for _ in range(tries):
        deviation = f(factor * a).std()
        if deviation == 0 or abs(deviation - 1) < tolerance:
            break
        factor /= deviation
    return factor
