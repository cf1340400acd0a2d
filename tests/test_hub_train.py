"""`python -m keras_adaptive_rnn.hub train`, killed wherever it writes, resumed, and begun from other models."""

import errno
import gc
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from tests.backends import EVERY_ROW, in_turns, nightly

pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub
from keras_adaptive_rnn.hub import command_line
from keras_adaptive_rnn.hub.__main__ import main
from keras_adaptive_rnn.hub.journal import Journal, read_log

pytestmark = in_turns

ROOT = pathlib.Path(kar.__file__).parent.parent
TEXT = "the cat sat on the mat, and the dog sat on the log. " * 20
SMALL = ["--units", "4", "--layers", "1", "--batch", "2", "--steps", "8", "--round", "3", "--validation", "0.05"]
SMALL += ["--min-count", "1", "--dropout", "0.1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a text, in which every step takes half a second of training time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "book.txt").write_text(TEXT)

    def take_half_a_second(limit, batch, logs=None):
        limit.spent, limit.steps = limit.spent + 0.5, limit.steps + 1
        limit.model.stop_training = limit.spent >= limit.seconds

    monkeypatch.setattr(kar.callbacks.TimeLimit, "on_train_batch_end", take_half_a_second)
    return tmp_path


@pytest.fixture
def no_extras(monkeypatch):
    """Neither pictures nor samples, which take longer than training."""
    monkeypatch.setattr(command_line, "plot", lambda rows, path: None)
    monkeypatch.setattr(command_line, "sample", lambda lm: "")
    yield
    # What a killed training has left open is closed here, not in another test.
    gc.collect()


def train(*options, preset="lm", seconds=2.5):
    main(["train", "book.txt", "--preset", preset, "--minutes", str(seconds / 60), *SMALL, *options])


def weights(preset):
    return hub.RecurrentCausalLM.from_preset(preset).get_weights()


def trained(preset):
    """Returns all that a training leaves: its log, and the weights."""
    return pathlib.Path(preset, "log.csv").read_text(), weights(preset)


def assert_alike(ours, theirs):
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_array_equal(a, b)


class Killed(BaseException):
    """Ends a command where a signal would."""


class Killer:
    """Raises `Killed` before a write to the folder of a training: the opening, renaming or deleting of a file."""

    EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")

    def __init__(self):
        self.writes, self.at, self.is_on = [], None, False

    def __call__(self, event, args):
        if not self.is_on or event not in self.EVENTS or not isinstance(args[0], (str, os.PathLike)):
            return
        if "lm" not in str(args[0]) or (event == "open" and not set("wa+") & set(str(args[1]))):
            return
        # Without the number of the round, and the files of a preset as one.
        self.writes.append(re.sub(r"\d+|(?<=preset/).*", "N", f"{event} {os.path.relpath(args[0])}"))
        if self.at == len(self.writes):
            self.is_on = False
            raise Killed

    def during(self, run, at=None):
        self.writes, self.at, self.is_on = [], at, True
        try:
            run()
        finally:
            self.is_on = False


killer = Killer()
# For good: a hook cannot be removed.
sys.addaudithook(killer)

# A process that is killed closes nothing.
leaves_files_open = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@leaves_files_open
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=nightly), pytest.param(2, marks=nightly)])
def test_a_training_that_is_killed_at_any_write_goes_on(part, folder, no_extras):
    """To the numbers of one that is not killed, from the first of each kind of write; with every row, the last, too."""
    train(preset="whole")
    whole = trained("whole")
    killer.during(train)
    writes = killer.writes
    assert_alike(trained("lm"), whole)
    first = {write: k for k, write in reversed(list(enumerate(writes, 1)))}
    last = {write: k for k, write in enumerate(writes, 1)} if EVERY_ROW else {}
    assert len(first) > 15
    for at in sorted({*first.values(), *last.values()})[part::3]:
        shutil.rmtree("lm")
        with pytest.raises(Killed):
            killer.during(train, at)
        finished = pathlib.Path("lm").exists() and not pathlib.Path("lm.training", "finished").exists()
        if not finished:
            train()
        assert_alike(trained("lm"), whole)
        assert not [path for path in pathlib.Path().glob("lm.training/*") if path.name != ".lock"], writes[at - 1]


def test_a_full_disk_at_the_end_of_a_training(folder, no_extras, monkeypatch):
    """Nothing of the preset is left half written, and only that is made again."""
    train(preset="whole")
    save = hub.RecurrentBackbone.save_weights

    def full(backbone, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(hub.RecurrentBackbone, "save_weights", full)
    with pytest.raises(SystemExit, match=r"preset cannot be written: No space left on device\. What is done is in"):
        train()
    assert not pathlib.Path("lm").exists()
    monkeypatch.setattr(hub.RecurrentBackbone, "save_weights", save)
    train()
    assert_alike(trained("lm"), trained("whole"))


def test_what_has_appeared_in_the_place_of_a_preset_stays(folder, no_extras, monkeypatch):
    finish = command_line.finish

    def finish_late(*args):
        pathlib.Path("lm").mkdir()
        pathlib.Path("lm", "mine.txt").write_text("mine")
        finish(*args)

    monkeypatch.setattr(command_line, "finish", finish_late)
    with pytest.raises(SystemExit, match="lm has appeared since the training began: move it away"):
        train()
    assert pathlib.Path("lm", "mine.txt").read_text() == "mine"
    pathlib.Path("lm").rename("other")
    train()
    assert weights("lm")


@leaves_files_open
@pytest.mark.parametrize("part", [pytest.param(0, marks=nightly), 1])
def test_a_resumed_training_that_is_killed_goes_on(part, folder, no_extras):
    train(preset="lm")
    shutil.copytree("lm", "before")
    killer.during(lambda: train("--resume"))
    whole = trained("lm")
    writes = killer.writes
    swaps = ("os.rename lm", "os.rename lm.training/preset")
    ends = [k for k, write in enumerate(writes, 1) if write in swaps or "finished" in write]
    assert len(ends) == 5
    for at in ends[part::2]:
        shutil.rmtree("lm")
        shutil.copytree("before", "lm")
        with pytest.raises(Killed):
            killer.during(lambda: train("--resume"), at)
        train("--resume")
        assert_alike(trained("lm"), whole)


@leaves_files_open
@pytest.mark.parametrize("file", ["log.csv", "best", "backup"])
def test_what_was_cut_is_made_again(file, folder, no_extras, monkeypatch):
    """Files that a full disk or a crash of the machine has left half written."""
    train(preset="whole")
    steps = itertools.count()
    save = Journal._save

    def stop(journal, name, number):
        if name == {"log.csv": "best"}.get(file, file) and next(steps) == 1:
            path = journal._path(name, number)
            path = journal.log if file == "log.csv" else path.with_name(f".new.{path.name}")
            path.write_bytes(path.read_bytes()[:-7] if path.exists() else b"half")
            raise Killed
        save(journal, name, number)

    monkeypatch.setattr(Journal, "_save", stop)
    with pytest.raises(Killed):
        train()
    train()
    assert_alike(trained("lm"), trained("whole"))


@leaves_files_open
def test_what_is_damaged_is_named(folder, no_extras, monkeypatch):
    def stop(*args):
        raise Killed

    monkeypatch.setattr(command_line, "finish", stop)
    with pytest.raises(Killed):
        train()
    work = pathlib.Path("lm.training")
    damage = {"log.csv": b"epoch\nx\n", "settings.json": b"[1]", "tokens.npy": b"", "tokens.npy.vocabulary.json": b"[]"}
    for path in (*map(work.joinpath, damage), *work.glob("*.weights.h5")):
        whole = path.read_bytes()
        path.write_bytes(damage.get(path.name, whole[:-7]))
        with pytest.raises(SystemExit) as error:
            train()
        assert re.search(rf"^error: {re.escape(str(path))} must hold .* damaged", str(error.value)), error.value
        path.write_bytes(whole)
    np.save(work / "tokens.npy", np.full(999, 99, "uint8"))
    with pytest.raises(SystemExit, match=r"tokens\.npy must hold tokens of the vocabulary in .*, and holds others"):
        train()


def test_time_is_that_of_the_backup(tmp_path):
    """A run that was killed between the file of the time and the backup repeats an epoch, and its time."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((4, 2)), np.ones((4, 1))
    path = tmp_path / "time.json"
    limit = kar.callbacks.TimeLimit(100, path)
    model.fit(x, y, batch_size=1, epochs=3, verbose=0, callbacks=[limit])
    assert limit.steps == 12
    for epoch, steps in ((2, 8), (3, 12), (0, 0)):
        again = kar.callbacks.TimeLimit(100, path)
        again.resume(epoch)
        assert again.steps == steps
    path.write_text("{")
    with pytest.raises(ValueError, match=r"time\.json is damaged"):
        model.fit(x, y, epochs=1, verbose=0, callbacks=[kar.callbacks.TimeLimit(100, path)])


# Going on.


def test_a_finished_model_trains_on(folder, capsys):
    train()
    before, best = (
        read_log(pathlib.Path("lm/log.csv")),
        min(row["val_perplexity"] for row in read_log(pathlib.Path("lm/log.csv"))),
    )
    with pytest.raises(SystemExit, match="train it on with --resume"):
        train()
    train("--resume", seconds=30)
    rows = read_log(pathlib.Path("lm/log.csv"))
    assert rows[: len(before)] == before
    assert [row["epoch"] for row in rows] == list(range(len(rows)))
    shown = capsys.readouterr().out
    assert "1000000000" not in shown
    assert f"round {len(rows)}, 60 steps" in shown
    assert "Going on with" in shown
    assert min(row["val_perplexity"] for row in rows[len(before) :]) < best
    score = hub.RecurrentCausalLM.from_preset("lm").evaluate_streams(TEXT[-int(0.2 * len(TEXT)) :], 2, 8, verbose=False)
    assert score.perplexity == pytest.approx(min(row["val_perplexity"] for row in rows), rel=0.02)


def test_a_folder_may_end_in_a_slash(folder, no_extras):
    train(preset="lm/")
    train("--resume", preset="lm/")
    assert (folder / "lm" / "config.json").exists()
    assert not (folder / "lm" / ".training").exists()


def test_a_training_starts_from_another_model(folder, capsys):
    train(preset="lm", seconds=20)
    base = ["train", "book.txt", "--preset", "other", "--from", "lm", "--batch", "2", "--steps", "8", "--round", "3"]
    with pytest.raises(SystemExit):
        main([*base, "--units", "9"])
    assert "--units: not allowed with argument --from" in capsys.readouterr().err
    # A learning rate that spoils everything: the weights that it began with stay.
    main([*base, "--minutes", "0.05", "--validation", "0.2", "--learning-rate", "50"])
    assert "No round was better" in capsys.readouterr().out
    for a, b in zip(weights("other"), weights("lm"), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume", "--units", "7"], "--units 7 is not that of the model in lm"),
        (["--resume", "--from", "lm"], "not allowed with argument --resume"),
        (["--from", "nowhere", "--preset", "new"], "nowhere is not the folder of a preset"),
        (["--resume", "--preset", "new"], "--resume goes on with the model in new, and there is none"),
    ],
)
def test_what_cannot_go_on(options, message, folder, capsys):
    base = ["train", "book.txt", "--preset", "lm"]
    main([*base, "--minutes", "0.02", *SMALL])
    with pytest.raises(SystemExit) as error:
        main([*base, *options])
    assert message in f"{error.value}{capsys.readouterr().err}"
    assert not pathlib.Path("new.training").exists()


def test_documents_begin_anew(folder):
    train("--document-token", "e")
    lm = hub.RecurrentCausalLM.from_preset("lm")
    assert lm.backbone.reset_token_id == lm.preprocessor.tokenizer.get_vocabulary().index("e")
    with pytest.raises(SystemExit, match=r"--document-token '\\x0c' is no character that is in book.txt at least"):
        train("--document-token", "\f", preset="other")
    assert not pathlib.Path("other.training").exists()


def test_a_model_that_has_learnt_nothing_shows_no_white_space(folder, monkeypatch, capsys):
    monkeypatch.setattr(hub.RecurrentCausalLM, "stream", lambda *args: iter(" " * 300))
    train()
    assert "It has learnt too little to write" in capsys.readouterr().out


@pytest.mark.parametrize(("split", "unit"), [("character", "character"), ("word", "word")])
def test_units_are_named(split, unit, folder, capsys):
    train("--split", split, "--batch", "1", seconds=2)
    main(["score", "lm", "book.txt"])
    shown = capsys.readouterr().out
    assert shown.count(f"bits per {unit}") >= 3
    assert "bits per token" not in shown


# Before Keras is imported.


def command(*arguments, **environment):
    """Runs a command where Keras cannot be imported."""
    return subprocess.run(
        [sys.executable, "-m", "keras_adaptive_rnn.hub", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("train missing.txt --preset new", "cannot read missing.txt: No such file"),
        ("train book.txt --preset new --units x", "argument --units"),
        ("write nowhere", "nowhere is not the folder of a preset"),
        ("score nowhere book.txt", "nowhere is not the folder of a preset"),
        ("--help", "train a model on a text"),
    ],
)
def test_wrong_options_are_told_before_keras_is_imported(arguments, message, folder):
    (folder / "fake" / "keras_hub").mkdir(parents=True)
    (folder / "fake" / "keras_hub" / "__init__.py").touch()
    (folder / "fake" / "keras.py").write_text("raise SystemExit('Keras was imported')")
    found = command(*arguments.split(), PYTHONPATH=f"{folder / 'fake'}{os.pathsep}{ROOT}")
    assert message in found.stderr + found.stdout
    assert "Keras was imported" not in found.stderr


def test_without_keras_hub_everything_says_what_to_install(folder):
    block = "import sys; sys.modules['keras_hub'] = None"
    (folder / "sitecustomize.py").write_text(block)
    path = f"{folder}{os.pathsep}{ROOT}"
    assert (
        'pip install "keras_adaptive_rnn[hub]"'
        in command("train", "book.txt", "--preset", "new", PYTHONPATH=path).stderr
    )
    code = """
import keras_adaptive_rnn as kar
for use in (lambda: kar.hub, lambda: __import__("keras_adaptive_rnn.hub")):
    try:
        use()
    except ImportError as error:
        print(error.name, error)
"""
    environment = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.count("keras_hub `keras_adaptive_rnn.hub` needs KerasHub. Install it with: pip install") == 2


@nightly
def test_hub_is_imported_when_it_is_used():
    code = "import sys, keras_adaptive_rnn as kar; print('keras_hub' in sys.modules, kar.hub.streams.__name__)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.strip() == "False streams"


# Divergence.


def test_a_training_that_diverges_at_once_is_refused(folder, no_extras):
    with pytest.raises(SystemExit, match=r"diverged in round 1: --learning-rate 1e\+30 is too high"):
        train("--learning-rate", "1e30", seconds=30)
    # Nothing is left to go on from.
    assert sorted(path.name for path in folder.iterdir()) == ["book.txt"]
    train("--learning-rate", "0.01")


def test_a_training_that_diverges_keeps_its_best_round(folder, no_extras, monkeypatch, capsys):
    train(preset="whole", seconds=1.5)

    def jump(journal, epoch, logs=None):
        if epoch:
            journal.model.optimizer.learning_rate = 1e38

    monkeypatch.setattr(Journal, "on_epoch_begin", jump)
    train(seconds=30)
    assert "diverged in round 2" in capsys.readouterr().out
    assert len(read_log(pathlib.Path("lm/log.csv"))) == 2
    for ours, theirs in zip(weights("lm"), weights("whole"), strict=True):
        np.testing.assert_array_equal(ours, theirs)
