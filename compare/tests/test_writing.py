"""Places to which one command at a time writes, and files that cannot be written."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import keras_rnn_compare as krc
from keras_adaptive_rnn.files import LOCK, Busy, alone_in, alone_on
from keras_rnn_compare.cli import main

X = np.random.default_rng(0).normal(size=(80, 3, 1))
SMALL = {"cells": ["lstm", "gru"], "weights": 300, "minutes": 0.001, "seeds": 1, "memory": False, "verbose": False}


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != LOCK}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    np.savez(folder / "data.npz", x=X, y=(X[:, 0, 0] > 0).astype(int))
    krc.compare(X, (X[:, 0, 0] > 0).astype(int), **SMALL, trials=1, output=folder / "out")
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    """A folder with a comparison and a table."""
    shutil.copytree(finished, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


COMPARE = "compare data.npz --cells lstm,gru --weights 300 --minutes 0.001 --trials 1 --seeds 1 --no-memory --output "
PROBE = "probe gru --tasks parity --weights 200 --length 16 --updates 2 --rates 0.01 --seeds 1 --output "
WRITE = {
    "compare": (main, f"{COMPARE}out", alone_in, "out"),
    "probe": (main, f"{PROBE}out", alone_in, "out"),
    "predict": (main, "predict out data.npz --output new.csv", alone_on, "new.csv"),
    "export": (lambda arguments: krc.Comparison("out").export(), "", alone_on, "out/best_step.onnx"),
    "compare in Python": (
        lambda arguments: krc.compare(X, X[:, 0], **SMALL, output="out"),
        "",
        alone_in,
        "out",
    ),
    "probe in Python": (lambda arguments: krc.probe(["gru"], output="out"), "", alone_in, "out"),
}


@pytest.mark.parametrize("name", WRITE)
def test_a_second_command_changes_nothing(name, here, capsys):
    """Whatever the first one is: each of them holds its place in the same way."""
    run, command, alone, place = WRITE[name]
    said = rf"{place} is in use: process {os.getpid()} on .* has been testing since .* Wait for it to end"
    with alone(place, "testing"):
        before = contents(here)
        with pytest.raises((SystemExit, Busy), match=said) as stop:
            run(command.split())
        assert isinstance(stop.value, Busy) or stop.value.code.startswith("error: ")
        assert contents(here) == before
    if name == "predict":
        # What only reads may do so.
        with alone_in("out", "testing"):
            run(command.split())
        assert (here / "new.csv").exists()


@pytest.mark.parametrize("room", [300, 6000])
@pytest.mark.parametrize("name", ["compare", "probe", "predict"])
def test_no_room(name, room, here, capsys):
    """Files get no larger than so many bytes. Later, the same command goes on. What is printed goes to no file."""
    resource = pytest.importorskip("resource")
    run, command, _, _ = WRITE[name]
    command = command.replace("--output out", "--output new")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        run(command.split())
        message = None
    except SystemExit as stop:
        message = stop.code
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    if message is not None:
        assert re.fullmatch(r"error: new\S* cannot be written: File too large\.( What is done .*)?", message)
        assert "\n" not in message
        run(command.split())
    assert message is not None or room > 300
    assert not [path for path in here.rglob(".*") if path.is_file()]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_what_is_printed_cannot_be_written():
    """Python itself would say so in several lines, when it ends."""
    code = "from keras_rnn_compare.commands import ending\nwith ending():\n    print('x' * 9)"
    with open("/dev/full", "w") as full:
        ended = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1:] == ["error: the output cannot be written: No space left on device."]
    assert "Exception ignored" not in ended.stderr
