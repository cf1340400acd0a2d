"""Which recurrent layer suits your data: comparisons, probes and estimators of any recurrent layer of Keras."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keras_rnn_compare.models.estimators import SequenceClassifier as SequenceClassifier
    from keras_rnn_compare.models.estimators import SequenceRegressor as SequenceRegressor
    from keras_rnn_compare.probing.experiment import probe as probe
    from keras_rnn_compare.probing.result import Probe as Probe
    from keras_rnn_compare.reporting.comparison import Comparison as Comparison
    from keras_rnn_compare.study.experiment import compare as compare

__version__ = "0.1.0"

# Imported when they are used, so that a command can show its options before Keras is imported, which takes seconds.
MODULES = {
    "Comparison": "reporting.comparison",
    "Probe": "probing.result",
    "SequenceClassifier": "models.estimators",
    "SequenceRegressor": "models.estimators",
    "compare": "study.experiment",
    "probe": "probing.experiment",
}
__all__ = list(MODULES)


def __getattr__(name):
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{MODULES[name]}"), name)


def __dir__():
    return sorted([*__all__, "__version__"])
