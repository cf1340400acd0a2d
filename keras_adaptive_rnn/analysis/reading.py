"""The plot of accuracy over reading cost."""

from typing import Any

from keras_adaptive_rnn.analysis.plots import _axes
from keras_adaptive_rnn.models.curve import ReadingCurve


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
    axes = _axes(axes)
    for name, curve in curves.items():
        axes.plot(curve.shares, curve.accuracies, "o-", markersize=3, label=name)
    axes.set_xlabel("share of the inputs that reach the LSTM")
    axes.set_ylabel("accuracy")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes
