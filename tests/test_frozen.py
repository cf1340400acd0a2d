"""Files that users may hold still load and predict what they predicted."""

import json
import zipfile

import keras
import numpy as np
import pytest
from packaging.version import Version

from tests.backends import dealt
from tests.frozen.freeze import FOLDER, models


def test_everything_has_a_file():
    missing = [name for name in models() if not (FOLDER / f"{name}.keras").exists()]
    assert not missing, "run `python -m tests.frozen.freeze` and commit what it writes"


@pytest.mark.parametrize("path", dealt(sorted(FOLDER.glob("*.keras"))), ids=lambda path: path.stem)
def test_a_frozen_file_loads(path):
    with zipfile.ZipFile(path) as file:
        written_by = json.loads(file.read("metadata.json"))["keras_version"]
    if Version(written_by) > Version(keras.__version__):
        pytest.skip(f"written by Keras {written_by}: Keras {keras.__version__} need not know its initializers")
    with np.load(path.with_suffix(".npz")) as data:
        outputs = keras.models.load_model(path).predict(data["inputs"], verbose=0)
        np.testing.assert_allclose(outputs, data["outputs"], rtol=1e-5, atol=1e-5)
