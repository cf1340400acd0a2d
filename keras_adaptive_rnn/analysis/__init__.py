"""Inspection of recurrent networks: gates, gradients, activations and matrices, as NumPy arrays and plots.

The plots, `plot_*`, need matplotlib: `pip install "keras_adaptive_rnn[plot]"`.
"""

from keras_adaptive_rnn.analysis.adaptation import adaptation_spectrum
from keras_adaptive_rnn.analysis.dynamics import Dynamics, activation_dynamics
from keras_adaptive_rnn.analysis.gersgorin import gersgorin_discs
from keras_adaptive_rnn.analysis.gradients import gradient_flow
from keras_adaptive_rnn.analysis.plots import (
    plot_activation_dynamics,
    plot_adaptation_spectrum,
    plot_gersgorin_discs,
    plot_gradient_flow,
    plot_layer_statistics,
    plot_reading_curve,
    plot_singular_values,
)
from keras_adaptive_rnn.analysis.recurrent import (
    SingularValues,
    recurrent_matrices,
    recurrent_matrix,
    singular_values,
)
from keras_adaptive_rnn.analysis.statistics import LayerStatistics, layer_statistics
from keras_adaptive_rnn.analysis.tracing import Trace, trace

__all__ = [
    "Dynamics",
    "LayerStatistics",
    "SingularValues",
    "Trace",
    "activation_dynamics",
    "adaptation_spectrum",
    "gersgorin_discs",
    "gradient_flow",
    "layer_statistics",
    "plot_activation_dynamics",
    "plot_adaptation_spectrum",
    "plot_gersgorin_discs",
    "plot_gradient_flow",
    "plot_layer_statistics",
    "plot_reading_curve",
    "plot_singular_values",
    "recurrent_matrices",
    "recurrent_matrix",
    "singular_values",
    "trace",
]
