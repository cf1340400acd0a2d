"""Whatever is public has a row in the table, and so is tested by all that the tables' tests try."""

import pathlib
import re

import keras
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _export
from tests.table import CELL_ROWS, LAYERS, MODELS

# Not run over sequences of features; tested by name in the file that is given.
ELSEWHERE = {
    kar.GridLSTMBlock: "test_reference.py",
    kar.MultidimensionalGridLSTM: "test_grid.py",
    kar.Bidirectional: "test_resets.py",
    kar.layers.FixedEmbedding: "test_dense_layers.py",
    kar.evaluation.Perplexity: "test_evaluation.py",
    kar.layers.TiedEmbedding: "test_training_kit.py",
    kar.layers.ActivationRegularization: "test_training_kit.py",
    kar.layers.SequenceAuxiliary: "test_training_kit.py",
    kar.layers.PointerGenerator: "test_pointer_generator.py",
}
# Linear maps are options of cells; optimizers and schedules are in tests/test_training_kit.py; those that other tests
# define and register are no part of the package.
PUBLIC = {
    cls
    for cls in _export.PUBLIC
    if cls.__module__.startswith("keras_adaptive_rnn.")
    # Those of `hub` are in tests/test_hub.py.
    and not cls.__module__.startswith("keras_adaptive_rnn.hub.")
    and not issubclass(
        cls, (kar.maps.LinearMap, keras.optimizers.Optimizer, keras.optimizers.schedules.LearningRateSchedule)
    )
}


def test_every_public_class_has_a_row():
    made = [row.make() for row in CELL_ROWS.values()] + [make() for make in (*LAYERS.values(), *MODELS.values())]
    missing = PUBLIC - {type(each) for each in made} - set(ELSEWHERE)
    assert not missing, "add a row to `CELL_ROWS`, `LAYERS` or `MODELS` of tests/table.py"


def test_every_layer_and_cell_is_in_the_box():
    page = pathlib.Path(__file__).parents[1] / "docs" / "in_the_box.md"
    if not page.exists():
        pytest.skip("the docs are not part of the source distribution")
    rows = re.findall(r"^\|.*", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(?:\w+\.)*(\w+)`", row)}
    assert set(kar.layers.__all__) <= named, "add a row to the table of docs/in_the_box.md"


@pytest.mark.parametrize("name", CELL_ROWS)
def test_a_row_compares_its_cell_with_its_equations(name):
    row = CELL_ROWS[name]
    assert row.reference or row.equations


def test_no_name_is_given_twice():
    names = [name for row in CELL_ROWS.values() for name in row.options]
    assert len(names) == len(set(names))
    assert not set(names) & set(CELL_ROWS)
