"""Every cell and layer does all that a good Keras cell must do."""

import pytest

from keras_adaptive_rnn.testing import check_cell, check_layer
from tests.cells import CELLS, LAYERS, OPTIONS

INPUT_SHAPE = (3, 5, 4)
# What does not depend on the options of a cell.
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


@pytest.mark.parametrize("name", CELLS)
def test_cell(name):
    check_cell(CELLS[name](), INPUT_SHAPE)


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    check_cell(OPTIONS[name](), INPUT_SHAPE, skip=AROUND)


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name):
    check_layer(LAYERS[name](), INPUT_SHAPE)
