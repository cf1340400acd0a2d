"""Every cell and layer does all that a good Keras cell must do: on PyTorch all, on the other backends in turns.

A cell keeps its protocol, its loop agrees with Keras's in values and gradients, padding changes nothing, and it
computes in half precision.
"""

import keras
import pytest

from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell
from keras_adaptive_rnn.testing import check_cell, check_layer
from tests.backends import dealt, in_turns
from tests.table import CELLS, LAYERS, OPTIONS

pytestmark = in_turns

INPUT_SHAPE = (3, 5, 4)
# What is Keras's and our RNN's part more than the cell's.
AROUND = (
    "masks_and_directions",
    "noise",
    "streaming",
    "stateful",
    "wrappers",
    "unknown_sizes",
    "training",
    "saving",
    "keras_layer_test",
)
# They have tests of their own.
FILES = ("saving", "export", "onnx")


@pytest.mark.parametrize("name", CELLS)
def test_cell(name):
    check_cell(CELLS[name](), INPUT_SHAPE, skip=() if name in dealt(CELLS) else AROUND)


@pytest.mark.parametrize("name", dealt(OPTIONS))
def test_options(name):
    check_cell(OPTIONS[name](), INPUT_SHAPE, skip=AROUND)


@pytest.mark.parametrize("name", dealt(LAYERS))
def test_layer(name):
    layer = LAYERS[name]()
    assert layer.supports_masking
    # A rounded decision has the gradient of the value before rounding. In layers made of Keras's operations, float64 is
    # float32 on PyTorch.
    is_smooth = isinstance(layer, keras.layers.RNN) and not isinstance(layer.cell, AdaptiveComputationCell)
    check_layer(layer, INPUT_SHAPE, skip=FILES if is_smooth else (*FILES, "gradients", "float64", "bfloat16"))
