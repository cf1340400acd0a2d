"""A file written on one backend loads on the others and predicts the same; gradients agree."""

import itertools
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.backends import EVERY_ROW, one_in
from tests.conftest import QUICK_TO_COMPILE
from tests.cross.worker import HAS_HUB, TOLERANCE, cells_of_files, layers_of_files
from tests.table import CELLS, MODELS

BACKENDS = ("jax", "tensorflow", "torch")
ROOT = pathlib.Path(__file__).parents[2]
FILES = len(cells_of_files()) + len(layers_of_files()) + len(MODELS)


def run(command, backend, folder):
    # TensorFlow has an XLA of its own, with other flags.
    is_quick = backend == "jax" and not EVERY_ROW
    usual = {name: value for name, value in os.environ.items() if is_quick or name not in QUICK_TO_COMPILE}
    environment = {**usual, "KERAS_BACKEND": backend}
    result = subprocess.run(
        [sys.executable, "-m", "tests.cross.worker", command, str(folder)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command} on {backend}:\n{result.stderr[-3000:]}"
    return result.stdout


def run_all(commands):
    """Returns what each of several commands prints, by backend. Two run at a time, for two cores."""
    with ThreadPoolExecutor(2) as pool:
        outputs = pool.map(lambda backend: run(*commands[backend]), commands)
        return dict(zip(commands, outputs, strict=True))


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for backend in BACKENDS:
        (folder / backend).mkdir()
    run_all({backend: ("write", backend, folder / backend) for backend in BACKENDS})
    return folder


@pytest.fixture(scope="session")
def read(written):
    reads = {backend: ("read", backend, written / backend) for backend in BACKENDS}
    return run_all({**reads, **{backend: ("call", backend, written / "jax") for backend in WRONG_ON}})


@pytest.mark.parametrize("reader", BACKENDS)
def test_files_load_on_the_other_backends(read, reader):
    differences = json.loads(read[reader].splitlines()[-1])
    assert len(differences) == (1 + EVERY_ROW) * FILES + 4 * HAS_HUB
    wrong = {name: difference for name, difference in differences.items() if not difference < TOLERANCE}
    assert not wrong


# What OpenVINO 2026.4 computes for several steps with ELU, in `keras.layers.RNN` too, differs from the single steps.
WRONG_ON = {"numpy": set(), "openvino": {"cell_deep_rnn_dropped", "layer_deep_rnn"}}


@pytest.mark.parametrize("backend", WRONG_ON)
def test_backends_without_an_engine_of_their_own_predict_the_same(read, backend):
    differences = json.loads(read[backend].splitlines()[-1])
    assert len(differences) == len(one_in(2, range(FILES)))
    wrong = {name: difference for name, difference in differences.items() if not difference < TOLERANCE}
    assert set(wrong) == WRONG_ON[backend] & set(differences), wrong


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(BACKENDS, 2)))
@pytest.mark.parametrize("name", one_in(2, CELLS))
def test_gradients_agree(written, name, first, second):
    ours, theirs = (np.load(written / backend / f"{name}.gradients.npz") for backend in (first, second))
    assert set(ours) == set(theirs)
    for key in ours:
        # An entry may be what is left of others that cancel.
        atol = TOLERANCE * max(1, np.abs(theirs[key]).max())
        np.testing.assert_allclose(ours[key], theirs[key], rtol=TOLERANCE, atol=atol)
