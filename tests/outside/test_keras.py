"""Keras's own tests of its recurrent layers, with ours in their place.

The wheel of Keras holds them from 3.15 on. `DIFFERENCES` lists what ours do otherwise, on purpose, and why: those tests
must fail, and all others must pass.
"""

import functools
import importlib
import types
import unittest

import keras
import pytest

import keras_adaptive_rnn as kar

OLD = tuple(map(int, keras.__version__.split(".")[:2])) < (3, 15)
if OLD:
    pytest.skip(f"the wheel of Keras {keras.__version__} holds no tests", allow_module_level=True)

# Keras does not run its tests with warnings as errors.
pytestmark = pytest.mark.filterwarnings("default")

OURS = {
    "RNN": kar.RNN,
    "LSTM": kar.LSTM,
    "LSTMCell": kar.LSTMCell,
    "GRU": kar.GRU,
    "GRUCell": kar.GRUCell,
    "SimpleRNN": kar.Elman,
    "SimpleRNNCell": kar.ElmanCell,
}
MODULES = [
    importlib.import_module(f"keras.src.layers.rnn.{name}_test")
    for name in (
        "bidirectional",
        "dropout_rnn_cell",
        "gru",
        "lstm",
        "rnn",
        "simple_rnn",
        "stacked_rnn_cells",
        "time_distributed",
    )
]
LAYERS = types.SimpleNamespace(**{**vars(importlib.import_module("keras.src.layers")), **OURS})

# By name of the test: the backends on which it must fail, and why.
EVERYWHERE = ("jax", "tensorflow", "torch")
FUSED = "Keras's `Bidirectional` calls cuDNN for its own LSTM and GRU alone, and decides so by their class"
DIFFERENCES = {
    "bidirectional_test.test_fused_gru_eligibility": (EVERYWHERE, FUSED),
    "bidirectional_test.test_fused_lstm_eligibility": (EVERYWHERE, FUSED),
}


def copy(test):
    """Returns a function of its own for a test, whose marks do not reach the class that it comes from."""

    @functools.wraps(test)
    def run(self):
        test(self)

    return run


def with_our_layers(module, case):
    """Returns a test case of Keras that runs with our layers, and with a mark at each test that must fail."""
    module.layers = LAYERS
    name = module.__name__.rpartition(".")[2]
    changed = {"__module__": __name__}
    for test in unittest.TestLoader().getTestCaseNames(case):
        backends, reason = DIFFERENCES.get(f"{name}.{test}", ((), ""))
        if keras.backend.backend() in backends:
            changed[test] = pytest.mark.xfail(reason=reason)(copy(getattr(case, test)))
    return type(name, (case,), changed)


def cases(module):
    found = [value for value in vars(module).values() if isinstance(value, type)]
    return [cls for cls in found if issubclass(cls, unittest.TestCase) and cls.__module__ == module.__name__]


TESTS = {cls.__name__: cls for cls in (with_our_layers(module, case) for module in MODULES for case in cases(module))}
globals().update(TESTS)


def test_no_layer_of_keras_is_left():
    assert len(TESTS) == len(MODULES)
    theirs = [getattr(keras.layers, name) for name in OURS]
    for module in MODULES:
        left = [name for name, value in vars(module).items() if any(value is cls for cls in theirs)]
        assert left == [], module


def test_every_difference_names_a_test():
    names = {f"{name}.{test}" for name, case in TESTS.items() for test in dir(case)}
    assert set(DIFFERENCES) <= names
