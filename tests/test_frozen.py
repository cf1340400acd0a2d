"""Files that users may hold still load and predict what they predicted."""

import keras
import numpy as np
import pytest

from tests.frozen.freeze import FOLDER, models


@pytest.mark.parametrize("name", models())
def test_every_cell_and_layer_has_a_file(name):
    assert (FOLDER / f"{name}.keras").exists(), "run `python -m tests.frozen.freeze` and commit what it writes"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.keras")), ids=lambda path: path.stem)
def test_a_frozen_file_loads(path):
    data = np.load(path.with_suffix(".npz"))
    outputs = keras.models.load_model(path).predict(data["inputs"], verbose=0)
    np.testing.assert_allclose(outputs, data["outputs"], rtol=1e-5, atol=1e-5)
