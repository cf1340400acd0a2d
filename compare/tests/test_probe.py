"""`probe`: what each task asks, by brute force, and whole probes of toys, which are stopped and resumed."""

import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from forgetful import Forgetful

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare import Probe, cli
from keras_rnn_compare.cli import main
from keras_rnn_compare.models import candidates
from keras_rnn_compare.probing import learner
from keras_rnn_compare.probing.tasks import TASKS, Task
from keras_rnn_compare.seeds import fold_in
from tests.backends import nightly

ROOT = pathlib.Path(kar.__file__).parents[1]
SMALL = {"weights": 300, "length": 16, "updates": 4, "rates": [0.01], "seeds": 1, "verbose": False}

# The tasks. Each answer is computed from one sequence, step by step, and is `None` where nothing is asked.


def prefixes(answer):
    return lambda sequence: [answer(sequence[: t + 1]) for t in range(len(sequence))]


@prefixes
def product(tokens):
    group = list(itertools.permutations(range(3)))
    order = (0, 1, 2)
    for token in tokens:
        order = tuple(group[token][place] for place in order)
    return group.index(order)


@prefixes
def place_of_the_first(tokens):
    swaps = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    cups = list("*....")
    for token in tokens:
        a, b = swaps[token]
        cups[a], cups[b] = cups[b], cups[a]
    return cups.index("*")


@prefixes
def innermost(tokens):
    stack = []
    for token in tokens:
        if token < 3:
            stack.append(token)
        else:
            assert stack.pop() == token - 3
        assert len(stack) <= 3
    return stack[-1] if tokens[-1] >= 3 and stack else None


def recalled(tokens):
    pairs = {tokens[k]: tokens[k + 1] - 4 for k in range(0, 6, 2)}
    assert len(pairs) == 3
    return [None] * 6 + [pairs[key] for key in tokens[6:]]


def copied(tokens):
    assert tokens[-4:] == [9] * 4
    symbols = [token for token in tokens[:-4] if token != 8]
    assert len(symbols) == 4
    return [None] * (len(tokens) - 4) + symbols


def mean_of_marked(steps):
    (_, first), (second, last) = ((k, number) for k, (number, mark) in enumerate(steps) if mark)
    return [None] * second + [(first + last) / 2] * (len(steps) - second)


ANSWERS = {
    "parity": prefixes(lambda bits: bits.count(1) % 2),
    "modular_addition": prefixes(lambda digits: sum(digits) % 5),
    "s3": product,
    "s5": place_of_the_first,
    "brackets": innermost,
    "recall": recalled,
    "copy": copied,
    "selective_copy": copied,
    "adding": mean_of_marked,
}


@pytest.mark.parametrize("length", [16, 37])
@pytest.mark.parametrize("name", TASKS)
def test_a_task_asks_what_it_says(name, length, rng):
    inputs, targets, counted = TASKS[name].draw(rng, 20, length)
    assert inputs.shape[:2] == targets.shape == counted.shape == (20, length)
    assert counted.dtype == bool
    for sequence, target, counts in zip(inputs.tolist(), targets.tolist(), counted.tolist(), strict=True):
        expected = ANSWERS[name](sequence)
        assert [answer is not None for answer in expected] == counts
        assert target == pytest.approx(
            [t if answer is None else answer for t, answer in zip(target, expected, strict=True)]
        )


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_drawn_from_its_generator_alone(name):
    first, second, other = (TASKS[name].sequences(np.random.default_rng(seed), 8, 16) for seed in (0, 0, 1))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first[0], other[0])
    inputs, targets, _ = first
    assert inputs.shape == (8, 16, TASKS[name].inputs)
    assert targets.shape == ((8, 16) if TASKS[name].classes else (8, 16, 1))


@pytest.mark.parametrize("name", TASKS)
def test_chance_is_what_the_best_constant_gets_and_the_last_token_tells_no_more(name, rng):
    task = TASKS[name]
    inputs, targets, counted = task.draw(rng, 20_000, 16)
    # The first steps depend on few tokens.
    counted = counted & (np.arange(16) >= 12)
    answers = targets[counted]
    if task.classes is None:
        found = max(np.mean(abs(answers - guess) < 0.04) for guess in np.linspace(0, 1, 51))
    else:
        found = np.bincount(answers).max() / len(answers)
        seen = np.zeros((task.inputs, task.classes))
        np.add.at(seen, (inputs[counted], answers), 1)
        assert seen.max(axis=1).sum() / len(answers) == pytest.approx(task.chance, abs=0.02)
    assert found == pytest.approx(task.chance, abs=0.01)


def test_the_page_and_the_help_list_every_task(capsys):
    page = (ROOT / "docs" / "compare" / "probe.md").read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["probe", "--help"])
    shown = capsys.readouterr().out
    for name, task in TASKS.items():
        assert re.search(rf"^\| `{name}` \| .* \| {task.chance:.2g} \|$", page, re.MULTILINE)
        assert re.search(rf"^  .*\b{name}\b", shown, re.MULTILINE)
        assert f'`"{name}"`' in krc.probe.__doc__


# Bad arguments.


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cells": ["lsmt"]}, "`cells` must name.*'mogrifier'.*'lsmt'"),
        ({"cells": []}, "`cells` must have a cell at least"),
        ({"cells": {"a/b": kar.GRUCell}}, "names of letters"),
        ({"tasks": ["parity", "party"]}, "`tasks` must be .*'selective_copy'.*'party'"),
        ({"tasks": []}, r"`tasks` must be .*tasks=\[\]"),
        ({"tasks": ["copy", "copy"]}, "different names.*'copy', 'copy'"),
        ({"weights": 0}, "`weights` must be an integer of at least 1"),
        ({"length": 15}, "`length` must be an integer of at least 16.*15"),
        ({"updates": 0}, "`updates` must be"),
        ({"rates": []}, "`rates` must have a rate"),
        ({"rates": [0.1, 0.1]}, "each one once"),
        ({"rates": [0.0]}, "`rates` must be a positive number.*0.0"),
        ({"seeds": 0}, "`seeds` must be"),
        ({"seed": -1}, "`seed` must be"),
    ],
)
def test_bad_arguments(given, message, tmp_path):
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        krc.probe(**{**SMALL, **given}, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "given", [{"cells": "lstm"}, {"tasks": "copy"}, {"rates": 0.1}, {"seeds": 1.5}, {"verbose": 1}]
)
def test_arguments_of_wrong_types(given, tmp_path):
    (name,) = given
    with pytest.raises(TypeError, match=f"`{name}` must be"):
        krc.probe(**{**SMALL, **given}, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, message in [
        (["lsmt"], "error: .*'mogrifier'.*'lsmt'"),
        (["nowhere:Cell"], "error: .*what can be imported.*nowhere:Cell.*No module"),
        (["keras:Nothing"], "error: .*keras:Nothing.*no attribute"),
        (["lstm", "keras.layers:LSTMCell", "keras_adaptive_rnn:LSTMCell"], "error: .*each cell once"),
        (["--tasks", "copy,paste"], "error: .*'paste'"),
        (
            ["lstm", "os:mkdir"],
            "error: .*a class of recurrent layers or cells, or a function.*os:mkdir",
        ),
    ]:
        with pytest.raises(SystemExit) as stop:
            main(["probe", *arguments])
        assert re.search(message, str(stop.value), re.DOTALL), (arguments, stop.value)
    assert not list(tmp_path.iterdir())


# Whole probes.


def echo(rng, samples, length):
    tokens = rng.integers(2, size=(samples, length))
    return tokens, tokens, np.ones_like(tokens, bool)


def first(rng, samples, length):
    tokens = rng.integers(2, size=(samples, length))
    return tokens, np.repeat(tokens[:, :1], length, axis=1), np.ones_like(tokens, bool)


@pytest.fixture
def toys(monkeypatch):
    """Tasks that are solved at once, by a cell with a memory or without."""
    monkeypatch.setitem(TASKS, "echo", Task("echo", echo, 2, 2, 0.5))
    monkeypatch.setitem(TASKS, "first", Task("first", first, 2, 2, 0.5))
    monkeypatch.setattr(learner, "BLOCK", 20)
    monkeypatch.setattr(learner, "TESTED", 128)


def figures(found):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found.results["rows"]]


@nightly
def test_a_cell_without_a_memory_solves_what_takes_none(toys, tmp_path):
    given = {"cells": {"none": Forgetful, "gru": "gru"}, "tasks": ["echo", "first"], "output": tmp_path / "out"}
    given |= {**SMALL, "updates": 80, "rates": [0.03], "seeds": 2}
    found = krc.probe(**given)
    rows = {(row["cell"], row["task"]): row for row in found.table()}
    assert len(rows) == 4
    for pair in (("none", "echo"), ("GRU", "echo"), ("GRU", "first")):
        assert rows[pair]["solved"] == 2, pair
        assert rows[pair]["accuracy"] >= 0.999
    assert rows["GRU", "echo"]["accuracy when longer"] >= 0.999
    failed = rows["none", "first"]
    assert (failed["solved"], failed["updates"]) == (0, 80)
    assert abs(failed["accuracy"] - 0.5) < 0.1

    # What is shown.
    headings, (chance, none, gru) = found.cells()
    assert headings == ["", "echo", "first"]
    assert chance == ["chance", "0.50", "0.50"]
    assert none[0] == "none"
    assert re.fullmatch(r"1\.00 / 1\.00 \(2\)", gru[1])
    assert (tmp_path / "out" / "table.md").read_text() == f"{found}\n"
    assert str(found).count("\n| ") == 4
    assert "at 16 steps, as learned from / at 128 steps: median over 2 seeds" in str(found)
    assert "<td>GRU</td><td>1.00 / 1.00 (2)</td>" in found._repr_html_()
    drawn = found.figure()
    assert [axes.get_title() for axes in drawn.axes] == ["accuracy at 16 steps", "accuracy at 128 steps"]
    assert [text.get_text() for text in drawn.axes[0].texts][:1] == ["1.00"]
    assert (tmp_path / "out" / "probe.png").stat().st_size > 1000

    # The same call trains nothing, and one for more seeds only these; one with other updates is refused.
    assert krc.probe(**given).results == found.results
    more = krc.probe(**given | {"seeds": 3})
    for before, after in zip(found.results["rows"], more.results["rows"], strict=True):
        assert after["seconds"][:2] == before["seconds"]
        assert len(after["seconds"]) == 3
    with pytest.raises(ValueError, match=r"another probe, with updates 80 instead of 81"):
        krc.probe(**given | {"updates": 81})


@pytest.mark.parametrize(
    ("solves", "accuracies", "further", "best", "seeds_trained_anew"),
    [
        # The rates that solve the task, and the updates that it takes; the accuracies of others, and what is tried
        # beyond those given.
        ({0.1: 60, 0.2: 40, 0.4: 50}, {}, [], 0.2, (1,)),
        ({0.2: 250}, {0.1: 0.5, 0.2: 0.7, 0.4: 0.6}, [], 0.2, (0, 1)),
        ({}, {0.1: 0.5, 0.2: 0.6, 0.4: 0.7, 0.8: 0.6}, [0.8], 0.4, (0, 1)),
        ({0.05: 90, 0.1: 80}, {0.2: 0.9, 0.4: 0.9}, [0.05], 0.1, (1,)),
        ({}, {0.1: 0.7, 0.2: 0.6, 0.4: 0.5, 0.05: 0.8, 0.025: 0.9}, [0.05, 0.025], 0.025, (0, 1)),
    ],
)
def test_the_rate_that_is_soonest_or_most_accurate_trains_every_seed(
    solves, accuracies, further, best, seeds_trained_anew, tmp_path, monkeypatch
):
    calls = []

    def train(self, rate, seed, updates, on_progress):
        calls.append((rate, seed, updates))
        solved = solves.get(rate, 1000) <= updates
        done = solves[rate] if solved else updates
        accuracy = 1.0 if solved else accuracies[rate]
        return {"solved": solved, "updates": done, "length": accuracy, "longer": 0.5, "curve": [], "seconds": 1.0}

    monkeypatch.setattr(learner.Learner, "train", train)
    settings = {**SMALL, "updates": 300, "rates": [0.1, 0.2, 0.4], "seeds": 2}
    found = krc.probe(["gru"], tasks=["parity"], output=tmp_path, **settings)
    (row,) = found.table()
    assert row["learning rate"] == best
    tried = [0.1, 0.2, 0.4, *further]
    (seed,) = {seed for _, seed, _ in calls[: len(tried)]}
    assert calls[: len(tried)] == [(rate, seed, 100) for rate in tried]
    # What the search has solved is not trained again.
    seeds = [seed, fold_in(0, "trial", 1)]
    assert calls[len(tried) :] == [(best, seeds[k], 300) for k in seeds_trained_anew]
    assert len(found.results["rows"][0]["length"]) == 2


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_probed(name, tmp_path):
    found = krc.probe(["min_gru"], tasks=[name], output=tmp_path, **{**SMALL, "updates": 2})
    (row,) = found.table()
    assert (row["cell"], row["task"], row["solved"], row["updates"]) == ("minGRU", TASKS[name].title, 0, 2)
    assert 0 <= row["accuracy"] <= 1
    assert 0 <= row["accuracy when longer"] <= 1


@pytest.mark.every_backend
def test_a_trial_depends_on_nothing_that_was_trained_before():
    made = learner.Learner(TASKS["adding"], candidates.offered()["gru"], 4, 16, seed=0)

    def trained(seed):
        record = made.train(0.01, seed, 3, lambda count: None)
        return {name: value for name, value in record.items() if name != "seconds"}, made.model.get_weights()

    records, weights = zip(trained(1), trained(2), trained(1), strict=True)
    assert records[0] == records[2]
    for a, b, c in zip(*weights, strict=True):
        np.testing.assert_array_equal(a, c)
        assert not np.array_equal(a, b)


def test_a_cell_of_ones_own_on_the_command_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_cells.py").write_text("import keras\n\ndef mine(units):\n    return keras.layers.GRUCell(units)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["probe", "own_cells:mine", "lstm", "--tasks", "copy", "--weights", "600", "--length", "16"]
    main([*command, "--updates", "2", "--rates", "0.01", "--seeds", "1"])
    out, err = capsys.readouterr()
    assert re.search(r"^\| mine  +\| 0\.\d\d / 0\.\d\d \(0\) \|$", out, re.MULTILINE)
    assert re.search(r"^\| LSTM  +\|", out, re.MULTILINE)
    assert "the picture: probe_mine_lstm/probe.png" in out
    assert "mine, copy: 0." in err


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    train, calls = learner.Learner.train, []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(self, *args)

    monkeypatch.setattr(learner.Learner, "train", interrupted)
    command = ["probe", "gru", "--tasks", "parity", "--weights", "300", "--length", "16", "--updates", "2"]
    command += ["--rates", "0.01", "--seeds", "2", "--output", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 130
    assert "the same command goes on" in capsys.readouterr().err
    with pytest.raises(ValueError, match="holds no finished probe"):
        Probe(tmp_path / "out")
    main(command)
    # The first was kept; the second was run again.
    assert len(calls) == 3


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the folder is the same on every backend")
@nightly
def test_a_probe_that_is_killed_goes_on_to_the_same_numbers(tmp_path):
    command = ["probe", "gru", "min_gru", "--tasks", "adding", "--weights", "300", "--length", "16"]
    command += ["--updates", "3", "--rates", "0.003,0.01", "--seeds", "2", "--output"]
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_adaptive_rnn", *command, str(folder)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    while process.poll() is None and len(list(folder.glob("trials/[!.]*.json"))) < 2:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "results.json").exists()
    for path in (folder, whole):
        main([*command, str(path)])
    assert figures(Probe(folder)) == figures(Probe(whole))
    assert (folder / "table.md").read_text() == (whole / "table.md").read_text()
    curves = [
        {file.name: json.loads(file.read_text())["curve"] for file in path.glob("trials/[!.]*.json")}
        for path in (folder, whole)
    ]
    assert curves[0] == curves[1]
    assert len(curves[0]) == 2 * (2 + 2)


def test_a_damaged_trial_is_made_again(tmp_path):
    settings = {**SMALL, "updates": 2, "tasks": ["parity"], "output": tmp_path / "out"}
    found = krc.probe(["gru"], **settings)
    (trial,) = (found.path / "trials").glob("*.json")
    trial.write_text("{")
    with pytest.warns(UserWarning, match=re.escape(trial.name)):
        assert figures(krc.probe(["gru"], **settings)) == figures(found)
    (found.path / "results.json").write_text("[]")
    with pytest.raises(ValueError, match=r"results.json is damaged .*the call that made it makes it again"):
        Probe(found.path)


def test_the_rates_of_the_command_are_those_of_the_function():
    from keras_rnn_compare.probing.experiment import RATES

    assert tuple(cli.parse(["probe"])[1].rates) == RATES
