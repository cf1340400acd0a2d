"""Plots of what `keras_adaptive_rnn.analysis` and `SkimOrRead.curve` return; each draws on matplotlib axes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from examples.activation_dynamics import Dynamics
from keras_adaptive_rnn import analysis, models


def _label(axes: Axes, xlabel: str, ylabel: str, legend: str | None = "best") -> None:
    """Labels the axes and draws a grid and a legend; `None` draws no legend."""
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    if legend is not None:
        axes.legend(loc=legend)


def activation_dynamics(axes: Axes, dynamics: dict[str, Dynamics], what: str = "variances") -> None:
    """Plots `"means"` or `"variances"` over the iterations: the median and the middle 80 % of the runs."""
    for name, seen in dynamics.items():
        values = getattr(seen, what)
        steps = np.arange(values.shape[1])
        (line,) = axes.plot(steps, np.median(values, axis=0), label=name)
        low, high = np.quantile(values, [0.1, 0.9], axis=0)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if what == "variances":
        axes.set_yscale("log")
    else:
        axes.set_yscale("symlog", linthresh=1.0)
    _label(axes, "iteration i", f"{what.removesuffix('s')} of the entries of $x_i$")


def gradient_flow(axes: Axes, flow: np.ndarray) -> None:
    """Plots gradient norms `[layers, time]` as a heat map."""
    layers, steps = flow.shape
    extent = (-steps + 0.5, 0.5, 0.5, layers + 0.5)
    image = axes.imshow(
        flow, origin="lower", aspect="auto", cmap="Reds", vmin=0, extent=extent, interpolation="nearest"
    )
    axes.figure.colorbar(image, ax=axes, label="gradient norm")
    axes.set(xlabel="time step (0: the last one, where the loss is)", ylabel="layer")


def layer_statistics(axes: Axes, statistics: dict[str, analysis.LayerStatistics], what: str = "means") -> None:
    """Plots `"means"` or `"deviations"` over the layers, for several models."""
    labels = {"means": "mean activation", "deviations": "standard deviation of the activations"}
    for name, seen in statistics.items():
        values = getattr(seen, what)
        axes.plot(np.arange(1, len(values) + 1), values, "o-", markersize=3, label=name)
    _label(axes, "layer", labels[what])


def gersgorin_discs(axes: Axes, matrix: np.ndarray) -> None:
    """Plots the Gersgorin discs of a matrix, its eigenvalues and the unit circle in the complex plane."""
    centres, radii = analysis.gersgorin_discs(matrix)
    for k, (centre, radius) in enumerate(zip(centres, radii, strict=True)):
        # Transparent enough that no disc hides another, whatever their number.
        color = ("tab:blue", 1 / (len(radii) + 4))
        label = "disc of a row" if k == 0 else None
        place = (centre.real, centre.imag)
        axes.add_patch(Circle(place, radius, facecolor=color, edgecolor=("tab:blue", 0.4), label=label))
    turn = np.exp(2j * np.pi * np.linspace(0, 1, 200))
    axes.plot(turn.real, turn.imag, "--", color="black", linewidth=1, label="unit circle")
    eigenvalues = np.linalg.eigvals(matrix)
    axes.plot(eigenvalues.real, eigenvalues.imag, "x", color="tab:red", label="eigenvalue")
    reach = 1.05 * max(1.0, (np.abs(centres) + radii).max())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    _label(axes, "real part", "imaginary part", legend="upper right")


def singular_values(axes: Axes, history: dict[str, list[float]]) -> None:
    """Plots the largest singular values over the epochs, `SingularValues.history`."""
    for gate, values in history.items():
        axes.plot(values, "o-", markersize=3, label=gate)
    axes.axhline(1.0, color="black", linestyle="--", linewidth=0.8)
    _label(axes, "epoch (0: before training)", "largest singular value")


def adaptation_spectrum(axes: Axes, values: np.ndarray, bins: int = 60) -> None:
    """Plots a histogram of each adaptive singular value over all examples; the values are `[..., rank]`."""
    flat = np.reshape(values, (-1, values.shape[-1]))
    edges = np.linspace(flat.min(), flat.max(), bins + 1) if np.ptp(flat) else bins
    weights = np.full(len(flat), 1 / len(flat))
    for k, column in enumerate(flat.T):
        axes.hist(column, edges, weights=weights, histtype="stepfilled", alpha=0.5, label=f"value {k + 1}")
    _label(axes, "adaptive singular value", "share of the examples", "best" if flat.shape[1] <= 10 else None)


def reading_curve(axes: Axes, curves: dict[str, models.ReadingCurve]) -> None:
    """Plots the accuracy of `SkimOrRead` over the share of the inputs that it reads."""
    for name, curve in curves.items():
        axes.plot(curve.shares, curve.accuracies, "o-", markersize=3, label=name)
    _label(axes, "share of the inputs that reach the LSTM", "accuracy")


def ablation_curve(axes: Axes, curves: dict[str, analysis.AblationCurve]) -> None:
    """Plots the accuracy over the share of ablated units: mean and standard deviation of the repeats."""
    for name, curve in curves.items():
        mean, spread = curve.accuracies.mean(axis=0), curve.accuracies.std(axis=0)
        (line,) = axes.plot(curve.shares, mean, "o-", markersize=3, label=name)
        axes.fill_between(curve.shares, mean - spread, mean + spread, color=line.get_color(), alpha=0.15, linewidth=0)
    _label(axes, "share of the units that are ablated", "accuracy")
