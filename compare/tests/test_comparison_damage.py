"""Folders of `compare` with damaged files: what can be made again is, and each message names its file."""

import contextlib
import errno
import itertools
import json
import os
import pathlib
import shutil
import warnings
import zipfile

import numpy as np
import pytest

import keras_rnn_compare as krc
from keras_rnn_compare import Comparison
from keras_rnn_compare.cli import main
from keras_rnn_compare.models import trials
from keras_rnn_compare.running import folder as folders
from keras_rnn_compare.running.folder import Folder
from tests.backends import one_in

X = np.random.default_rng(0).normal(size=(80, 3, 1))
Y = np.where(X[:, 0, 0] > 0, "up", "down")
SMALL = {"cells": ["lstm", "gru"], "weights": 300, "minutes": 0.001, "seeds": 1, "memory": False, "verbose": False}


def compare(folder):
    return krc.compare(X, Y, **SMALL, trials=2, output=folder)


def figures(found):
    return {row["name"]: (row["validation"], row["test"], row["curves"]) for row in found.results["rows"]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "out"
    return compare(folder)


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of a finished comparison."""
    shutil.copytree(finished.path, tmp_path / "out")
    return tmp_path / "out"


DAMAGE = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(b"{\xff\0"),
    "of another kind": lambda path: path.write_text("[1]"),
    "without its contents": lambda path: path.write_text("{}"),
}
REMADE = ["costs-gru.json", "trials/gru-seed0.json", "trials/lstm-rung0-rate0.001.json", "trials/gru-seed0.weights.h5"]


def unfinished(folder):
    (folder / "results.json").unlink()
    return folder


@pytest.mark.parametrize(("name", "how"), one_in(2, itertools.product(REMADE, DAMAGE)))
def test_a_damaged_file_is_made_again_to_the_same_numbers(folder, finished, name, how, monkeypatch):
    trained, train = [], trials.Learner.train
    monkeypatch.setattr(trials.Learner, "train", lambda *args: trained.append(args) or train(*args))
    DAMAGE[how](unfinished(folder) / name)
    with pytest.warns(UserWarning, match=pathlib.Path(name).name) as told:
        found = compare(folder)
    assert [w for w in told if "made again" in str(w.message)]
    assert figures(found) == figures(finished)
    # No other trial is lost.
    assert len(trained) == name.startswith("trials")
    assert found.best_model().predict(X[:2], verbose=0).shape == (2, 2)


@pytest.mark.parametrize("name", ["trials/gru-seed0.weights.h5", "trials/lstm-seed0.json"])
def test_a_missing_trial_is_made_again(folder, finished, name):
    (unfinished(folder) / name).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert figures(compare(folder)) == figures(finished)
    assert (folder / name).exists()


@pytest.mark.parametrize("how", [*DAMAGE, "missing"])
@pytest.mark.parametrize("name", ["settings.json", "plan.json"])
def test_what_trials_depend_on_is_not_made_again(folder, name, how):
    path = unfinished(folder) / name
    DAMAGE.get(how, pathlib.Path.unlink)(path)
    before = {file: file.read_bytes() for file in folder.rglob("*.*") if file.is_file()}
    with pytest.raises(ValueError, match=name) as stop:
        compare(folder)
    assert str(folder) in str(stop.value)
    assert before == {file: file.read_bytes() for file in folder.rglob("*.*") if file.is_file()}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_results(folder, finished, how, monkeypatch):
    DAMAGE[how](folder / "results.json")
    with pytest.raises(ValueError, match=r"results\.json is damaged .* makes it again"):
        Comparison(folder)
    monkeypatch.setattr(trials.Learner, "train", None)  # Nothing is trained.
    with pytest.warns(UserWarning, match=r"results\.json is damaged"):
        found = compare(folder)
    assert figures(found) == figures(finished)


@pytest.mark.parametrize("how", ["cut", "empty", "binary", "missing"])
def test_a_damaged_model(folder, finished, how, monkeypatch):
    path = folder / "best.keras"
    expected = finished.best_model().predict(X, verbose=0)
    DAMAGE.get(how, pathlib.Path.unlink)(path)
    with pytest.raises(ValueError, match=r"best\.keras is (damaged|missing).* makes it again"):
        Comparison(folder).best_model()
    monkeypatch.setattr(trials.Learner, "train", None)
    with pytest.warns(UserWarning, match=r"best\.keras is"):
        found = compare(folder)
    np.testing.assert_allclose(found.best_model().predict(X, verbose=0), expected, rtol=1e-5)


@pytest.mark.parametrize("how", [*DAMAGE, "missing", "of another"])
def test_damage_beside_the_model(folder, tmp_path, how, monkeypatch):
    path, data = folder / "best.json", tmp_path / "new.npz"
    np.savez(data, x=X[:2])
    if how == "of another":
        path.write_text(path.read_text(encoding="utf-8").replace("down", "DOWN"), encoding="utf-8")
    else:
        DAMAGE.get(how, pathlib.Path.unlink)(path)
    with pytest.raises(ValueError, match=r"best\.json is (damaged|missing).* makes it again"):
        Comparison(folder).predict(data)
    monkeypatch.setattr(trials.Learner, "train", None)
    assert [row["class"] in ("down", "up") for row in compare(folder).predict(data)] == [True, True]


def test_numbers_that_no_model_reads(folder, tmp_path):
    path = tmp_path / "new.npz"
    for x, says in ((X[:0], "must have samples"), (np.full((2, 3, 1), 1e300), r"as large as 1e\+300, far beyond")):
        np.savez(path, x=x)
        with pytest.raises(ValueError, match=says):
            Comparison(folder).predict(path)


def test_a_zip_file_that_is_no_model(folder, tmp_path):
    with zipfile.ZipFile(folder / "best.keras", "w") as file:
        file.writestr("a", "b")
    with pytest.raises(ValueError, match=r"best\.keras is no model .* makes it again"):
        Comparison(folder).best_model()


def test_the_report_and_the_classes_are_written_again(folder):
    (folder / "report.html").write_text("<")
    (folder / "best.json").unlink()
    compare(folder)
    assert (folder / "report.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert json.loads((folder / "best.json").read_text(encoding="utf-8"))["classes"] == ["down", "up"]


def test_a_trial_of_another_plan_is_made_again(folder, finished):
    path = unfinished(folder) / "trials" / "gru-seed0.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**record, "steps": record["steps"] + 1, "test": 0.0}))
    with pytest.warns(UserWarning, match=r"gru-seed0\.json is of another plan"):
        assert figures(compare(folder)) == figures(finished)


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    folder = Folder(tmp_path / "out", {"weights": 1}, warnings.warn)
    folder.write("plan", {"units": 1})

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        folder.write("plan", {"units": 2})
    assert folder.read("plan") == {"units": 1}
    # What is left behind is no trial and no reason to refuse the folder.
    with pytest.raises(OSError, match="no space"):
        Folder(tmp_path / "other", {"weights": 1}, warnings.warn)
    monkeypatch.undo()
    Folder(tmp_path / "other", {"weights": 1}, warnings.warn)


def test_a_title_is_not_an_equation(folder):
    path = folder / "results.json"
    results = json.loads(path.read_text(encoding="utf-8"))
    for row in results["rows"]:
        row["title"] = "$\\frac$"
    path.write_text(json.dumps(results))
    assert "frac" in Comparison(folder)._repr_html_()


@pytest.mark.parametrize("room", one_in(3, [5, 3, 8]))
def test_a_full_disk_loses_no_trial(room, finished, tmp_path, monkeypatch, capsys):
    """Files are written until the disk is full; the same command goes on to the same numbers when there is room."""
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    command = ["compare", str(tmp_path / "data.npz"), "--cells", "lstm,gru", "--weights", "300", "--minutes", "0.001"]
    command += ["--trials", "2", "--seeds", "1", "--no-memory", "--output", str(tmp_path / "out")]
    (tmp_path / "out").mkdir()
    for name in ("settings.json", "plan.json"):
        shutil.copy(finished.path / name, tmp_path / "out")
    write, written = folders.replaced, []

    @contextlib.contextmanager
    def into_little_room(path):
        with write(path) as new:
            yield new
            if len(written) == room:
                new.write_bytes(new.read_bytes()[:9])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written.append(path)

    with monkeypatch.context() as patched:
        patched.setattr(folders, "replaced", into_little_room)
        with pytest.raises(SystemExit, match=r"No space left on device\. What is done is in .* goes on from there"):
            main(command)
    assert not list((tmp_path / "out").rglob(".new.*"))
    assert [path.exists() for path in written] == [True] * room
    before = {path: path.read_bytes() for path in written if path.suffix == ".json"}
    main(command)
    assert "Resuming after" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before
    assert figures(Comparison(tmp_path / "out")) == figures(finished)
