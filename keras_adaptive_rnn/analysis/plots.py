"""Plots of the results of this package, with matplotlib.

Every function draws on the given `axes`, or on a new figure, and returns the axes:
`plot(...).figure.savefig("picture.png")`.
"""

from typing import Any

import numpy as np

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.analysis.dynamics import Dynamics
from keras_adaptive_rnn.analysis.gersgorin import gersgorin_discs
from keras_adaptive_rnn.analysis.recovery import SurpriseRecovery
from keras_adaptive_rnn.analysis.selectivity import AblationCurve
from keras_adaptive_rnn.analysis.statistics import LayerStatistics
from keras_adaptive_rnn.models.curve import ReadingCurve


def _started(axes):
    """Returns the axes to draw on, or raises an error that says how to install matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "keras_adaptive_rnn[plot]"') from error
    return Figure(layout="constrained").subplots() if axes is None else axes


def _finished(axes, xlabel, ylabel, legend="best"):
    """Returns the axes with labels, a grid, and a legend at the place `legend`; `None` adds none."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    if legend is not None:
        axes.legend(loc=legend)
    return axes


def plot_activation_dynamics(dynamics: dict[str, Dynamics], what: str = "variances", axes: Any = None) -> Any:
    """Plots means or variances over the iterations, for several activations: median and middle 80 % of the runs.

    Args:
        dynamics: Dict of `Dynamics` by name, as returned by `activation_dynamics`.
        what: `"means"` or `"variances"` (default, on a logarithmic axis).
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: `what` is unknown.

    Example:

    >>> seen = {"belu": keras_adaptive_rnn.analysis.activation_dynamics("belu", units=16, steps=5, runs=3)}
    >>> keras_adaptive_rnn.analysis.plot_activation_dynamics(seen, "means").get_xlabel()
    'iteration i'
    """
    _arguments.choice("what", what, ("means", "variances"))
    axes = _started(axes)
    for name, seen in dynamics.items():
        values = getattr(seen, what)
        steps = np.arange(values.shape[1])
        (line,) = axes.plot(steps, np.median(values, axis=0), label=name)
        low, high = np.quantile(values, [0.1, 0.9], axis=0)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.set_yscale("log" if what == "variances" else "symlog", **({} if what == "variances" else {"linthresh": 1.0}))
    return _finished(axes, "iteration i", f"{what.removesuffix('s')} of the entries of $x_i$")


def plot_gradient_flow(flow: np.ndarray, axes: Any = None) -> Any:
    """Plots the gradient norms of `gradient_flow` as a heat map, layer over time.

    Args:
        flow: Array `[layers, time]`, as returned by `gradient_flow`, or the mean of several.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> keras_adaptive_rnn.analysis.plot_gradient_flow(np.eye(4)).get_ylabel()
    'layer'
    """
    axes = _started(axes)
    layers, steps = flow.shape
    extent = (-steps + 0.5, 0.5, 0.5, layers + 0.5)
    image = axes.imshow(
        flow, origin="lower", aspect="auto", cmap="Reds", vmin=0, extent=extent, interpolation="nearest"
    )
    axes.figure.colorbar(image, ax=axes, label="gradient norm")
    axes.set(xlabel="time step (0: the last one, where the loss is)", ylabel="layer")
    return axes


def plot_layer_statistics(statistics: dict[str, LayerStatistics], what: str = "means", axes: Any = None) -> Any:
    """Plots means or standard deviations over the layers, for several models.

    Args:
        statistics: Dict of `LayerStatistics` by name, as returned by `layer_statistics`.
        what: `"means"` (default) or `"deviations"`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: `what` is unknown.

    Example:

    >>> seen = keras_adaptive_rnn.analysis.LayerStatistics(["a", "b"], np.zeros(2), np.ones(2))
    >>> keras_adaptive_rnn.analysis.plot_layer_statistics({"tanh": seen}).get_ylabel()
    'mean activation'
    """
    labels = {"means": "mean activation", "deviations": "standard deviation of the activations"}
    _arguments.choice("what", what, tuple(labels))
    axes = _started(axes)
    for name, seen in statistics.items():
        values = getattr(seen, what)
        axes.plot(np.arange(1, len(values) + 1), values, "o-", markersize=3, label=name)
    return _finished(axes, "layer", labels[what])


def plot_gersgorin_discs(matrix: np.ndarray, axes: Any = None) -> Any:
    """Plots the Gersgorin discs of a matrix, its eigenvalues and the unit circle in the complex plane.

    Args:
        matrix: Array `[n, n]`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: the matrix is not square, or there are several.

    Example:

    >>> keras_adaptive_rnn.analysis.plot_gersgorin_discs(np.eye(4)).get_xlabel()
    'real part'
    """
    centres, radii = gersgorin_discs(matrix)
    if centres.ndim > 1:
        raise ValueError(f"Argument `matrix` must be a single matrix. Received: an array of shape {np.shape(matrix)}")
    axes = _started(axes)
    from matplotlib.patches import Circle

    for k, (centre, radius) in enumerate(zip(centres, radii, strict=True)):
        place = (centre.real, centre.imag)
        label = "disc of a row" if k == 0 else None
        # Transparent enough that no disc hides another, whatever their number.
        color = ("tab:blue", 1 / (len(radii) + 4))
        axes.add_patch(Circle(place, radius, facecolor=color, edgecolor=("tab:blue", 0.4), label=label))
    turn = np.exp(2j * np.pi * np.linspace(0, 1, 200))
    axes.plot(turn.real, turn.imag, "--", color="black", linewidth=1, label="unit circle")
    eigenvalues = np.linalg.eigvals(matrix)
    axes.plot(eigenvalues.real, eigenvalues.imag, "x", color="tab:red", label="eigenvalue")
    reach = 1.05 * max(1.0, (np.abs(centres) + radii).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    return _finished(axes, "real part", "imaginary part", legend="upper right")


def plot_singular_values(history: dict[str, list[float]], axes: Any = None) -> Any:
    """Plots the largest singular values over the epochs, as recorded by the callback `SingularValues`.

    Args:
        history: Dict of lists, `SingularValues.history`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> keras_adaptive_rnn.analysis.plot_singular_values({"h": [1.0, 1.1]}).get_xlabel()
    'epoch (0: before training)'
    """
    axes = _started(axes)
    for gate, values in history.items():
        axes.plot(values, "o-", markersize=3, label=gate)
    axes.axhline(1.0, color="black", linestyle="--", linewidth=0.8)
    return _finished(axes, "epoch (0: before training)", "largest singular value")


def plot_adaptation_spectrum(values: np.ndarray, bins: int = 60, axes: Any = None) -> Any:
    """Plots a histogram of each adaptive singular value over all examples.

    Args:
        values: Array `[..., rank]`, an entry of the dict that `adaptation_spectrum` returns.
        bins: Positive integer, number of bins. Defaults to `60`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> values = np.random.default_rng(0).normal(size=(100, 2))
    >>> keras_adaptive_rnn.analysis.plot_adaptation_spectrum(values).get_ylabel()
    'share of the examples'
    """
    axes = _started(axes)
    flat = np.reshape(values, (-1, values.shape[-1]))
    edges = np.linspace(flat.min(), flat.max(), bins + 1) if np.ptp(flat) else bins
    weights = np.full(len(flat), 1 / len(flat))
    for k, column in enumerate(flat.T):
        axes.hist(column, edges, weights=weights, histtype="stepfilled", alpha=0.5, label=f"value {k + 1}")
    legend = "best" if flat.shape[1] <= 10 else None
    return _finished(axes, "adaptive singular value", "share of the examples", legend)


def plot_reading_curve(curves: dict[str, ReadingCurve], axes: Any = None) -> Any:
    """Plots the accuracy of `SkimOrRead` over the share of the inputs that it reads.

    Args:
        curves: Dict of `ReadingCurve` by name, as returned by `SkimOrRead.curve`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> curve = keras_adaptive_rnn.models.ReadingCurve(np.array([0.5, 1.0]), np.array([0.0, 1.0]), np.array([0.8, 0.9]))
    >>> keras_adaptive_rnn.analysis.plot_reading_curve({"threshold": curve}).get_xlabel()
    'share of the inputs that reach the LSTM'
    """
    axes = _started(axes)
    for name, curve in curves.items():
        axes.plot(curve.shares, curve.accuracies, "o-", markersize=3, label=name)
    return _finished(axes, "share of the inputs that reach the LSTM", "accuracy")


def plot_ablation_curve(curves: dict[str, AblationCurve], axes: Any = None) -> Any:
    """Plots the accuracy of models over the share of units that are ablated: mean and standard deviation.

    Args:
        curves: Dict of `AblationCurve` by name, as returned by `ablation_curve`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> falls = np.linspace(1, 0.1, 5)
    >>> curve = keras_adaptive_rnn.analysis.AblationCurve(np.arange(5), np.arange(5) / 4, np.stack([falls, falls**2]))
    >>> keras_adaptive_rnn.analysis.plot_ablation_curve({"true labels": curve}).get_ylabel()
    'accuracy'
    """
    axes = _started(axes)
    for name, curve in curves.items():
        mean, spread = curve.accuracies.mean(axis=0), curve.accuracies.std(axis=0)
        (line,) = axes.plot(curve.shares, mean, "o-", markersize=3, label=name)
        axes.fill_between(curve.shares, mean - spread, mean + spread, color=line.get_color(), alpha=0.15, linewidth=0)
    return _finished(axes, "share of the units that are ablated", "accuracy")


def plot_surprise_recovery(recovery: SurpriseRecovery, axes: Any = None) -> Any:
    """Plots the mean loss of models over the distance to a token that surprised them; dashed, that of all tokens.

    The surprising token itself, whose loss is many times the others, is left out.

    Args:
        recovery: A `SurpriseRecovery`, as returned by `surprise_recovery`.
        axes: Matplotlib axes. `None` (default) creates new ones.

    Returns: The axes.

    Raises:
        ImportError: matplotlib is not installed.

    Example:

    >>> log_probs = {"LSTM": np.log([[0.5, 0.1, 0.2, 0.4, 0.5]]), "GRU": np.log([[0.5, 0.1, 0.3, 0.5, 0.5]])}
    >>> recovery = keras_adaptive_rnn.analysis.surprise_recovery(log_probs, distance=3, share=0.2)
    >>> keras_adaptive_rnn.analysis.plot_surprise_recovery(recovery).get_xlabel()
    'tokens since the surprise'
    """
    axes = _started(axes)
    for name, losses in recovery.means.items():
        (line,) = axes.plot(np.arange(1, len(losses)), losses[1:], "o-", markersize=3, label=name)
        axes.axhline(recovery.typical[name], color=line.get_color(), linestyle="--", linewidth=1)
    return _finished(axes, "tokens since the surprise", "loss (nats)")
