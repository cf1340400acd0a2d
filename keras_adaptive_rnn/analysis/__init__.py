"""Inspection of networks and texts: gates, gradients, units, matrices, losses and leaks, as arrays."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.analysis.adaptation import adaptation_spectrum, adapted_matrices
from keras_adaptive_rnn.analysis.gradients import gradient_flow
from keras_adaptive_rnn.analysis.matrices import (
    SingularValues,
    gersgorin_discs,
    recurrent_highway_jacobians,
    recurrent_matrices,
    recurrent_matrix,
    singular_values,
)
from keras_adaptive_rnn.analysis.recovery import SurpriseRecovery, surprise_recovery
from keras_adaptive_rnn.analysis.selectivity import AblationCurve, ablation_curve, selectivity
from keras_adaptive_rnn.analysis.statistics import LayerStatistics, layer_statistics
from keras_adaptive_rnn.analysis.texts import PartialInputProbe, TokenPMI, partial_input_probe, token_label_pmi
from keras_adaptive_rnn.analysis.tracing import Trace, trace

__all__ = [
    "AblationCurve",
    "LayerStatistics",
    "PartialInputProbe",
    "SingularValues",
    "SurpriseRecovery",
    "TokenPMI",
    "Trace",
    "ablation_curve",
    "adaptation_spectrum",
    "adapted_matrices",
    "gersgorin_discs",
    "gradient_flow",
    "layer_statistics",
    "partial_input_probe",
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
