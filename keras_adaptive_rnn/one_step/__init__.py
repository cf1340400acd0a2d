"""Models of one time step, for loops in other programs, and their files."""

from keras_adaptive_rnn.one_step.file import check_export_format, export_step
from keras_adaptive_rnn.one_step.model import step_model

__all__ = ["check_export_format", "export_step", "step_model"]
