"""Inspection of networks and texts: gates, gradients, units, matrices, losses and leaks, as arrays and plots.

The plots, `plot_*`, need matplotlib: `pip install "keras_adaptive_rnn[plot]"`.
"""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.analysis.adaptation import adaptation_spectrum, adapted_matrices
from keras_adaptive_rnn.analysis.artifacts import (
    PartialInputProbe,
    TokenPMI,
    partial_input_probe,
    token_label_pmi,
)
from keras_adaptive_rnn.analysis.dynamics import Dynamics, activation_dynamics
from keras_adaptive_rnn.analysis.gersgorin import gersgorin_discs
from keras_adaptive_rnn.analysis.gradients import gradient_flow
from keras_adaptive_rnn.analysis.jacobians import recurrent_highway_jacobians
from keras_adaptive_rnn.analysis.plots import (
    plot_ablation_curve,
    plot_activation_dynamics,
    plot_adaptation_spectrum,
    plot_gersgorin_discs,
    plot_gradient_flow,
    plot_layer_statistics,
    plot_reading_curve,
    plot_singular_values,
    plot_surprise_recovery,
)
from keras_adaptive_rnn.analysis.recovery import SurpriseRecovery, surprise_recovery
from keras_adaptive_rnn.analysis.selectivity import AblationCurve, ablation_curve, selectivity
from keras_adaptive_rnn.analysis.spectra import (
    SingularValues,
    recurrent_matrices,
    recurrent_matrix,
    singular_values,
)
from keras_adaptive_rnn.analysis.statistics import LayerStatistics, layer_statistics
from keras_adaptive_rnn.analysis.tracing import Trace, trace

__all__ = [
    "AblationCurve",
    "Dynamics",
    "LayerStatistics",
    "PartialInputProbe",
    "SingularValues",
    "SurpriseRecovery",
    "TokenPMI",
    "Trace",
    "ablation_curve",
    "activation_dynamics",
    "adaptation_spectrum",
    "adapted_matrices",
    "gersgorin_discs",
    "gradient_flow",
    "layer_statistics",
    "partial_input_probe",
    "plot_ablation_curve",
    "plot_activation_dynamics",
    "plot_adaptation_spectrum",
    "plot_gersgorin_discs",
    "plot_gradient_flow",
    "plot_layer_statistics",
    "plot_reading_curve",
    "plot_singular_values",
    "plot_surprise_recovery",
    "recurrent_highway_jacobians",
    "recurrent_matrices",
    "recurrent_matrix",
    "selectivity",
    "singular_values",
    "surprise_recovery",
    "token_label_pmi",
    "trace",
]
__dir__ = directory(__all__)
