"""`compare` in several processes and on a Dask cluster: the numbers of one process, also where workers die."""

import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare.cli import main
from keras_rnn_compare.models import candidates
from keras_rnn_compare.models.trials import Building, Trial
from keras_rnn_compare.running import schedule, workers
from keras_rnn_compare.running.progress import Progress
from tests.backends import nightly

X = np.random.default_rng(0).normal(size=(80, 3, 1)).astype("float32")
Y = np.where(X[:, 0, 0] > 0, "up", "down")
SMALL = {"cells": ["lstm", "gru"], "weights": 300, "minutes": 0.001, "trials": 2, "seeds": 2, "memory": False}
COMMAND = [sys.executable, "-m", "keras_rnn_compare"]


def compare(folder, **given):
    return krc.compare(X, Y, **{**SMALL, "verbose": False, "output": folder, **given})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A comparison without workers."""
    return compare(tmp_path_factory.mktemp("alone") / "out")


@pytest.fixture
def folder(alone, tmp_path):
    """A folder with its plan, and no trial: measured times differ from run to run."""
    (tmp_path / "out").mkdir()
    for name in ("settings.json", "plan.json"):
        shutil.copy(alone.path / name, tmp_path / "out")
    return tmp_path / "out"


def assert_same(path, other):
    """Asserts that two folders hold the same trials."""
    names = sorted(file.name for file in (path / "trials").glob("*.json"))
    assert names == sorted(file.name for file in (other / "trials").glob("*.json"))
    for name in names:
        found, expected = (json.loads((folder / "trials" / name).read_text()) for folder in (path, other))
        assert list(found) == list(expected)
        for key in found.keys() - {"seconds", "weights"}:  # The file of the weights holds Keras's names of the layers.
            # PyTorch rounds by where arrays lie in memory.
            tolerance = 1e-6 if keras.backend.backend() == "torch" else 0
            if isinstance(expected[key], (str, dict)):
                assert found[key] == expected[key]
            else:
                np.testing.assert_allclose(found[key], expected[key], rtol=tolerance, err_msg=f"{name}: {key}")


def kills(monkeypatch, kind, count):
    """Kills the worker that gets trial number `count`, as soon as it has it."""
    submit, given = kind.submit, []

    def submitted(self, worker, job, problem=None):
        submit(self, worker, job, problem)
        if isinstance(job, Trial):
            given.append(job)
            if len(given) == count:
                os.kill(worker.process[1], signal.SIGKILL)

    monkeypatch.setattr(kind, "submit", submitted)
    return given


# That of a Dask worker is seen every time.
@nightly
def test_a_worker_that_is_killed_loses_its_trial_only(alone, folder, monkeypatch):
    given = kills(monkeypatch, workers.Processes, 2)
    with pytest.warns(UserWarning, match=r"worker \d has died: its trial \(.*learning rate .*\) runs again"):
        found = compare(folder, workers=2)
    assert found.winner == alone.winner
    # Two rates and one seed of two cells: there is no time for more.
    assert len(given) == 6 + 1
    assert_same(folder, alone.path)
    assert multiprocessing.active_children() == []
    # One process goes on where two stopped, and the other way round.
    (folder / "results.json").unlink()
    (folder / "trials" / "gru-seed0.json").unlink()
    assert compare(folder).winner == found.winner
    assert_same(folder, alone.path)


@nightly
def test_any_executor_of_processes_will_do(alone, folder):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        compare(folder, executor=pool)
        # It stays the caller's.
        assert pool.submit(abs, -1).result() == 1
    assert_same(folder, alone.path)


@nightly
def test_a_dask_cluster_of_which_a_worker_is_killed(alone, folder, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    given = kills(monkeypatch, workers.Cluster, 2)
    np.savez(folder.parent / "data.npz", x=X, y=Y)
    command = ["compare", str(folder.parent / "data.npz"), "--output", str(folder), "--cells", "lstm,gru"]
    command += ["--weights", "300", "--minutes", "0.001", "--trials", "2", "--seeds", "2", "--no-memory", "--dask"]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        main([*command, cluster.scheduler_address])
    said = capsys.readouterr().err
    assert re.search(r"warning: tcp://.* has died: its trial \(.*learning rate .*\) runs again", said)
    # Two rates and one seed of two cells: there is no time for more.
    assert len(given) == 6 + 1
    assert_same(folder, alone.path)


def session(number):
    """Returns the processes of a session, without those that have ended."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of_process = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(of_process) == number and state != "Z":
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="it reads from /proc which processes there are")
@nightly
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL], ids=["ctrl_c", "kill"])
def test_no_process_is_left_when_it_is_stopped(stop, tmp_path):
    # So much, and so long, that it is far from its end when it is stopped.
    np.savez(tmp_path / "data.npz", x=np.repeat(X, 50, axis=0), y=np.repeat(Y, 50, axis=0))
    arguments = [str(tmp_path / "data.npz"), "--output", str(tmp_path / "out"), "--workers", "2", "--cells", "lstm,gru"]
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--weights", "300", "--minutes", "10"],
        cwd=pathlib.Path(kar.__file__).parents[1],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Tests that run in the background of a shell ignore Ctrl-C, and what they start would.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and not list(tmp_path.glob("out/trials/*.json")):
        time.sleep(0.01)
    assert len(session(process.pid)) >= 3
    # Ctrl-C reaches all of them, as in a terminal.
    os.killpg(process.pid, stop) if stop == signal.SIGINT else process.kill()
    _, err = process.communicate(timeout=60)
    if stop == signal.SIGINT:
        assert "Traceback" not in err
        assert process.returncode == 130
        assert "the same command goes on" in err
    until = time.monotonic() + 60
    while session(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert session(process.pid) == []


# What is refused.


class Threads(concurrent.futures.Executor):
    """Runs what it is given in this process."""

    def submit(self, function, *args):
        future = concurrent.futures.Future()
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "`workers` must be an integer of at least 1"),
        ({"executor": concurrent.futures.ThreadPoolExecutor(1)}, "threads share their random seeds"),
        ({"executor": Threads()}, "`workers` must say how many trials to run at a time"),
        (
            {"workers": 2, "cells": {"mine": lambda units: kar.GRUCell(units), "gru": "gru"}},
            "neither a lambda nor a function inside another one can be sent to them. Received: mine",
        ),
    ],
)
def test_what_workers_cannot_do_is_told_before_anything_is_made(given, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        compare(tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_arguments_of_wrong_types():
    with pytest.raises(TypeError, match="`workers` must be an integer"):
        compare(None, workers=1.5)
    with pytest.raises(TypeError, match=r"`executor` must be a concurrent\.futures\.Executor.*of type int"):
        compare(None, executor=3)


def test_an_executor_in_this_process_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`executor` must run its tasks in other processes"):
        compare(tmp_path / "out", executor=Threads(), workers=2)
    assert not list(tmp_path.glob("out/trials/*"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2", "--dask", "tcp://127.0.0.1:1"], "not allowed with argument"),
        (["--workers", "0"], "must be positive, and is 0"),
        (["--dask", "tcp://127.0.0.1:1"], "no Dask scheduler answers at tcp://127.0.0.1:1 within"),
        (["--dask", "tcp://localhost"], "no Dask scheduler answers at tcp://localhost within"),
    ],
)
def test_bad_options(options, message, tmp_path, capsys, monkeypatch):
    if message.startswith("no Dask"):
        pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "CONNECT", 0.5)
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(tmp_path / "data.npz"), "--output", str(tmp_path / "out"), *options])
    said = f"{stop.value}\n" if stop.value.code != 2 else capsys.readouterr().err
    assert message in said
    assert stop.value.code == 2 or said.count("\n") == 1
    assert not list(tmp_path.glob("out/trials/*"))


def test_dask_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install distributed\. Received: --dask tcp://a:1"):
        workers.workers_for(dask="tcp://a:1")


def test_a_cluster_without_workers(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(ConnectionError, match="has no workers: start some, as in `dask worker"),
    ):
        compare(tmp_path / "out", executor=client.get_executor())


def problem(**changed):
    return dataclasses.replace(workers.Problem(None, None, 32, workers.pickled(candidates.offered())), **changed)


def test_a_worker_with_other_versions_is_refused():
    other = {**workers.runs_on(), "keras": "3.0.0"}
    with pytest.raises(
        ValueError, match=r"runs on .*, and this process on .*keras 3\.0\.0.*start the workers with KERAS"
    ):
        workers.WorkerState(problem(versions=other))


def test_a_cell_that_a_worker_cannot_import_is_named():
    candidate = candidates.custom_candidate("mine", kar.GRUCell, {})
    assert pickle.loads(pickle.dumps(candidate)).size(4, 3) == candidate.size(4, 3)
    lost = pickle.dumps(candidate).replace(b"gated_recurrent", b"other_recurrent").replace(b"GRUCell", b"NoSuch.")
    with pytest.raises(ValueError, match=r"put the function into a module that they find\. Received: mine"):
        workers.WorkerState(problem(cells={"mine": lost}))


@nightly
def test_a_trial_of_a_dask_worker_runs_in_a_process_of_its_own():
    """With threads, two of which would draw from the same random numbers."""
    try:
        process = workers.work_in_child("key", None, problem(key="key"))
        assert process[1] not in (os.getpid(), None)
        with pytest.raises(workers.ProblemNotLoaded):
            workers.work_in_child("other", None)
        assert workers.work_in_child("key", None) == process
        workers._child.process.kill()
        workers._child.process.wait()
        with pytest.raises(workers.ChildDied, match=f"process {process[1]} on .* has died"):
            workers._child.run("key", None)
        # The next one knows no problem.
        with pytest.raises(workers.ProblemNotLoaded):
            workers.work_in_child("key", None)
    finally:
        workers._child.close()


def test_a_worker_that_cannot_begin_is_named():
    team = workers.Workers(problem(versions={"backend": "none"}), Progress(True))
    team.workers = [workers.Worker(Threads(), "worker 1")]
    with pytest.raises(ValueError, match="start the workers with KERAS_BACKEND=none"), team:
        pass
    team.workers = [workers.Worker(Scripted([ModuleNotFoundError("No module named 'keras'")]), "worker 1")]
    with (
        pytest.raises(ValueError, match=r"worker 1 cannot begin \(ModuleNotFoundError: .*it needs keras_rnn_compare"),
        team,
    ):
        pass


class Scripted(concurrent.futures.Executor):
    """Returns, or raises, what it is told, whatever it is given."""

    def __init__(self, outcomes):
        self.outcomes = iter(outcomes)

    def submit(self, function, *args):
        future, outcome = concurrent.futures.Future(), next(self.outcomes)
        future.set_exception(outcome) if isinstance(outcome, Exception) else future.set_result(outcome)
        return future


def test_a_trial_that_kills_three_workers_ends_the_comparison():
    team = workers.Workers(problem(), Progress(True))
    died = [concurrent.futures.BrokenExecutor("it has died")] * 3
    team.workers = [workers.Worker(Scripted([("elsewhere", 1), *died]), "worker 1", set())]
    with team, pytest.raises(ChildProcessError, match=r"died 3 times while it ran the same trial \(GRU\)"):
        list(team.run([Building("gru", 4, "GRU")]))


# How work is divided.


def test_a_worker_takes_what_it_has_compiled():
    def next_for(built, elsewhere, names, build=1.0):
        return schedule.next_for(
            set(built), set(elsewhere), [(name, 3.0) for name in names], dict.fromkeys("abc", build)
        )

    assert next_for("b", "a", "abc") == 1
    # Then what no worker has compiled, then the cell with most work, if that pays.
    assert next_for("b", "a", "ac") == 1
    assert next_for("c", "ab", "abb") == 1
    assert next_for("c", "ab", "ab") is None
    assert next_for("c", "ab", "aab", build=4.0) is None


@pytest.mark.parametrize(("count", "least"), [(2, 1.5), (3, 2), (8, 4)])
def test_the_time_of_several_workers(count, least):
    times = {"start": 0.01, "judgement": 0.01, "row": 1e-5, "build": 3.0, "make": 1.0}
    times = {name: {**times, "step": k / 1000} for k, name in enumerate("abcd", 1)}
    given = (10_000, 3, 4, {"validation": 2000, "test": 2000})
    one, several = (schedule.schedule(600, times, *given, workers) for workers in (1, count))
    assert least < several["final"]["steps"] / one["final"]["steps"] < count
    assert schedule.estimated(several, times, count) < 600
