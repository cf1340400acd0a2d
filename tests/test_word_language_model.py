"""The example of a word language model: it trains on a toy text, goes on after a kill, and evaluates in every way."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from tests.backends import in_turns, nightly

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub

recipes = pytest.importorskip("examples.recipes", reason="the examples are not part of the source distribution")

PATH = pathlib.Path(__file__).parents[1] / "examples" / "word_language_model.py"
WORDS = [f"w{k}" for k in range(10)]
SKIPPED = ["temperature", "monte-carlo", "monte-carlo-temperature", "dynamic"]
TOY = [
    *("--small", "--embedding", "8", "--units", "10", "8", "--batch", "4", "--steps", "8", "--rows", "2"),
    *("--optimizer", "adam", "--learning-rate", "0.02"),
]


def load():
    spec = importlib.util.spec_from_file_location("word_language_model", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example():
    return load()


def write_texts(folder, lines=60):
    """Writes a text in which a word mostly follows the one before it, as three files."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for part, count in (("train", lines), ("valid", 12), ("test", 12)):
        jumps = rng.choice([1, 2], size=(count, 6), p=[0.9, 0.1])
        words = [" ".join(WORDS[k] for k in np.cumsum(row) % len(WORDS)) for row in jumps]
        (folder / f"toy.{part}.txt").write_text("".join(f" {line} \n" for line in words))
    return folder


def weights_of(folder):
    return hub.RecurrentCausalLM.from_preset(str(folder / "preset")).get_weights()


@in_turns
@pytest.mark.parametrize(
    "model",
    [
        [
            *("--model", "mogrifier", "--rounds", "3", "--rank", "2", "--no-zigzag"),
            *("--update-dropout", "0.1", "--word-dropout", "0"),
        ],
        pytest.param(["--model", "awd", "--experts", "2", "--word-dropout", "0.05"], marks=nightly),
    ],
    ids=["mogrifier", "mixture"],
)
def test_run(example, model, tmp_path, capsys):
    folder = tmp_path / "results"
    few = [*("--weight-drop", "0.1", "--input-dropout", "0.1", "--hidden-dropout", "0.1", "--output-dropout", "0.1")]
    few += ["--activation-regularization", "0.1", "--temporal-regularization", "0", "--weight-decay", "1e-6"]
    narrow = ["--temperatures", "0.98", "1.02"]
    evaluation = [*narrow, "--samples", "2", "--dropout-scale", "0.5", "1", "--dynamic-rate", "1e-4", "1e-3"]
    arguments = [*TOY, *model, *few, "--text", str(write_texts(tmp_path / "text", 150)), "--output", str(folder)]
    example.main([*arguments, *evaluation, "--epochs", "4", "--latest", "0.5"])

    assert {"preset", "curves.png", "results.json"} <= {path.name for path in folder.iterdir()}
    results = json.loads((folder / "results.json").read_text())
    assert [point["averaging"] for point in results["curves"]] == [0, 0, 1, 1]
    # The rate is halved where three quarters of the training are over.
    assert [point["learning_rate"] for point in results["curves"]] == pytest.approx([0.02, 0.02, 0.02, 0.01])
    found = results["perplexity"]
    assert list(found) == list(example.METHODS)
    for method in found.values():
        # 11 words, of which one is unknown, and a line of six.
        assert 1 < method["valid"] < 8
        assert 1 < method["test"] < 8
    assert found["temperature"]["valid"] <= found["static"]["valid"] * 1.001
    assert found["monte-carlo"]["settings"]["dropout_scale"] in (0.5, 1.0)
    assert set(found["monte-carlo-temperature"]["settings"]) == {"dropout_scale", "temperature"}
    assert found["monte-carlo-temperature"]["valid"] <= found["monte-carlo"]["valid"] * 1.02
    assert set(found["dynamic"]["settings"]) == {"learning_rate", "decay"}
    # The preset has the weights of the table.
    lm = hub.RecurrentCausalLM.from_preset(str(folder / "preset"))
    text = (tmp_path / "text" / "toy.test.txt").read_text()
    judged = lm.evaluate_streams(text, batch_size=2, verbose=False)
    assert judged.perplexity == pytest.approx(found["static"]["test"], rel=1e-4)
    assert f"{found['dynamic']['test']:.2f}" in capsys.readouterr().out

    # The same command again trains nothing, and evaluates what is new.
    again = [*arguments, *narrow, "--epochs", "4", "--latest", "0.5"]
    example.main([*again, "--samples", "3", "--skip", "dynamic", "monte-carlo"])
    later = json.loads((folder / "results.json").read_text())["perplexity"]
    # Other options were given, and so it is evaluated again.
    assert later["monte-carlo-temperature"]["options"]["samples"] == 3
    assert set(later) == {"static", "temperature", "monte-carlo-temperature"}
    assert later["static"] == found["static"]
    assert "Epoch" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"holds a run with clip 1\.0"):
        example.main([*again, "--clip", "2"])


# All that draws: segments of random lengths, every dropout, dropped states; and averages from the second epoch on.
NOISY = [
    *("--model", "awd", "--spread", "3", "--bucket", "2", "--state-dropout", "0.1", "--drop-state", "0.2"),
    *("--epochs", "4", "--latest", "0.25", "--skip", *SKIPPED),
]


@nightly
@in_turns
def test_a_killed_run_ends_with_the_same_weights(example, tmp_path):
    arguments = [*TOY, *NOISY, "--text", str(write_texts(tmp_path / "text"))]
    killed = tmp_path / "killed"
    code = "import sys; from tests.test_word_language_model import run_and_kill; run_and_kill(sys.argv[1:])"
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--output", str(killed)], check=False, capture_output=True
    )
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    assert not (killed / "preset").exists()
    example.main([*arguments, "--output", str(killed)])
    example.main([*arguments, "--output", str(tmp_path / "whole")])
    for ours, theirs in zip(weights_of(killed), weights_of(tmp_path / "whole"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    points = [json.loads((folder / "curves.json").read_text()) for folder in (killed, tmp_path / "whole")]
    for ours, theirs in zip(*points, strict=True):
        assert min(ours.pop("seconds"), theirs.pop("seconds")) >= 0
        assert ours == pytest.approx(theirs, rel=1e-5)


def run_and_kill(arguments):
    """Runs the example, and ends the process in the middle of the third epoch."""
    module = load()

    class Killing(module.Curves):
        def on_epoch_begin(self, epoch, logs=None):
            super().on_epoch_begin(epoch, logs)
            self.now = epoch

        def on_train_batch_begin(self, batch, logs=None):
            if (self.now, batch) == (2, 5):
                os.kill(os.getpid(), signal.SIGKILL)

    module.Curves = Killing
    module.main(arguments)


@in_turns
def test_a_limit_of_time_and_a_single_file(example, tmp_path):
    path, folder = tmp_path / "text.txt", tmp_path / "results"
    path.write_text("The dog, the cat.\n\nA cat!\n" * 120)
    # Half of them: averages from where half of the time is over.
    arguments = [*TOY, "--model", "lstm", "--text", str(path), "--split-punctuation", "--latest", "0.5"]
    arguments += ["--minutes", "0.02", "--no-tie-weights", "--units", "10", "12", "--output", str(folder)]
    example.main([*arguments, "--skip", *SKIPPED])
    results = json.loads((folder / "results.json").read_text())
    # Words, punctuation, the end of a line, and the unknown word.
    assert results["vocabulary"] == 10
    flags = [point["averaging"] for point in results["curves"]]
    assert flags == sorted(flags)
    assert results["perplexity"]["static"]["test"] < 9


def test_defaults_are_those_of_the_papers(example):
    awd, mogrifier = example.parse([]), example.parse(["--paper", "mogrifier"])
    assert (awd.units, awd.embedding, awd.steps, awd.batch, awd.epochs) == ([1150, 1150, 400], 400, 70, 20, 500)
    assert (awd.optimizer, awd.learning_rate, awd.clip, awd.weight_decay) == ("sgd", 30.0, 0.25, 1.2e-6)
    assert (awd.rule, awd.patience, awd.latest) == ("all_but_last", 5, None)
    assert (mogrifier.rounds, mogrifier.rank, mogrifier.learning_rate) == (5, 84, 2.3e-3)
    assert mogrifier.clip * mogrifier.steps == pytest.approx(10)
    assert example.parse(["--optimizer", "adam"]).learning_rate == 2e-3
    assert example.parse(["--optimizer", "adam", "--learning-rate", "0.1"]).learning_rate == 0.1
    assert example.parse(["--small", "--minutes", "5"]).units == [448, 224]


@pytest.mark.parametrize("name", recipes.PAPERS)
def test_a_paper_sets_every_option_that_is_not_given(example, name):
    settings = recipes.PAPERS[name].settings
    assert settings.keys() == recipes.PLAIN.keys()
    args = example.parse(["--paper", name, "--batch", "7", "--state-dropout", "0.5"])
    assert {key: getattr(args, key) for key in settings} == {**settings, "batch": 7, "state_dropout": 0.5}
    # What is printed are options, which set the same.
    again = example.parse(["--paper", name, *recipes.described(vars(args), settings).split()])
    assert vars(again) == vars(args)
    whole = example.parse(recipes.described(settings, example.recipes.AWD_LSTM).split())
    for key in settings:
        assert getattr(whole, key) == (
            pytest.approx(settings[key], rel=1e-3) if isinstance(settings[key], float) else settings[key]
        )


# A smaller form of each cell, and of each way to train.
TINY = {
    # At the paper's rate of 30, so small a model may diverge.
    "awd-lstm": ["--units", "6", "6", "8", "--learning-rate", "1"],
    "adaptive-lstm": ["--units", "6", "8", "--policy-units", "3", "--adaptation", "output", "--no-tied"],
    "melis-2018": ["--units", "8", "8", "8"],
    "mogrifier": ["--units", "8", "8", "--rank", "2"],
    "mogrifier-characters": ["--units", "8", "--rank", "2", "--rounds", "1"],
    "lowrank-gru": ["--units", "8", "--rank", "2"],
    "lowrank-lstm": ["--units", "8", "--rank", "2"],
    # LSUV needs some units and tokens: with few of them, the states grow without bound.
    "bipolar": [
        *("--units", "32", "--embedding", "32", "--depth", "4", "--batch", "4", "--steps", "40", "--words", "800"),
        *("--learning-rate", "0.005"),
    ],
}


@in_turns
@pytest.mark.parametrize("name", TINY)
def test_a_paper_in_small(example, name, tmp_path, capsys):
    tiny = ["--embedding", "8", "--batch", "2", "--steps", "6", "--rows", "2", "--words", "60"]
    tiny += ["--epochs", "1", "--spread", "0", "--half", "0", "--skip", *SKIPPED, *TINY[name]]
    text, folder = write_texts(tmp_path / "text"), tmp_path / "results"
    example.main(["--paper", name, *tiny, "--text", str(text), "--output", str(folder)])
    out = capsys.readouterr().out
    assert out.startswith(f"Settings of {recipes.PAPERS[name].source}: ")
    assert "Of these, given here:" in out
    results = json.loads((folder / "results.json").read_text())
    assert 1 < results["perplexity"]["static"]["test"] < 20
    lm = hub.RecurrentCausalLM.from_preset(str(folder / "preset"))
    # Ten words, the end of a line and what is unknown; or ten digits, three other characters and what is unknown.
    assert lm.backbone.vocabulary_size <= {"words": 12, "characters": 14}[results["tokens"]]
    assert ("bits" in out.split("static evaluation")[1]) == (results["tokens"] == "characters")
    fixed = {"one-hot": np.eye(lm.backbone.vocabulary_size)}.get(results["embedding_kind"])
    if fixed is not None:
        np.testing.assert_array_equal(lm.backbone.token_embedding.get_weights()[0], fixed)
    assert lm.backbone.token_embedding.trainable == (results["embedding_kind"] == "trained")


def test_rates_are_cut(example):
    adaptive = example.parse(["--paper", "adaptive-lstm"])
    rates = [example.learning_rate(adaptive, epoch, [100.0] * epoch) for epoch in (99, 100, 159, 160)]
    assert rates == pytest.approx([3e-3, 3e-4, 3e-4, 3e-5])
    # Of every fourth epoch: 5, 4, 6, 4.5, 3.
    bipolar = example.parse(["--paper", "bipolar"])
    perplexities = [9, 9, 9, 5, 9, 9, 9, 4, 1, 1, 1, 6, 1, 1, 1, 4.5, 9, 9, 9, 3]
    rates = [example.learning_rate(bipolar, epoch, perplexities[:epoch]) for epoch in (8, 11, 12, 15, 16, 20)]
    assert rates == pytest.approx([2e-4, 2e-4, 1e-4, 1e-4, 5e-5, 5e-5])
    melis = example.parse(["--paper", "melis-2018"])
    rates = [example.learning_rate(melis, epoch, [3, 2, *[2] * 20][:epoch]) for epoch in (7, 8, 13, 14)]
    assert rates == pytest.approx([3.96e-3, 3.96e-4, 3.96e-4, 3.96e-5])
    constant = example.parse(["--paper", "mogrifier"])
    assert example.learning_rate(constant, 900, [1.0] * 900) == 2.3e-3


@in_turns
def test_a_resumed_run_cuts_its_rate_as_a_whole_one(example, tmp_path):
    arguments = [*TOY, "--model", "lstm", "--no-anneal", "--plateau", "1", "--words", "40", "--cut-at", "3"]
    # A rate at which validation gets worse.
    arguments += ["--learning-rate", "5", "--text", str(write_texts(tmp_path / "text")), "--skip", *SKIPPED]
    curves = {}
    for name in ("whole", "resumed"):
        output = ["--output", str(tmp_path / name)]
        if name == "resumed":
            args = example.parse([*arguments, *output, "--epochs", "2"])
            tokenizer, ids = example.prepare(args)
            (tmp_path / name).mkdir()
            example.train(example.make_model(tokenizer, args), ids, args, tmp_path / name)
        example.main([*arguments, *output, "--epochs", "5"])
        curves[name] = json.loads((tmp_path / name / "results.json").read_text())["curves"]
    rates = [[point["learning_rate"] for point in points] for points in curves.values()]
    assert rates[0] == pytest.approx(rates[1])
    assert rates[0][-1] < rates[0][2] / 9


@in_turns
def test_a_run_that_diverges_ends_with_its_best_epoch(example, tmp_path, capsys):
    arguments = [*TOY, "--model", "lstm", "--no-anneal", "--text", str(write_texts(tmp_path / "text"))]
    arguments += ["--epochs", "9", "--skip", *SKIPPED, "--output"]
    # It divides the learning rate.
    example.main([*arguments, str(tmp_path / "late"), "--cut-at", "1", "--cut", "1e-39"])
    assert "diverged in epoch 2" in capsys.readouterr().out
    results = json.loads((tmp_path / "late" / "results.json").read_text())
    first, last = results["curves"]
    assert not np.isfinite(last["loss"])
    assert results["perplexity"]["static"]["valid"] == pytest.approx(first["val_perplexity"], rel=0.1)
    with pytest.raises(SystemExit, match="diverged in epoch 1: give a lower --learning-rate"):
        example.main([*arguments, str(tmp_path / "soon"), "--learning-rate", "1e38"])


def count_weights(example, name, vocabulary):
    tokenizer = hub.VocabularyTokenizer(["<unk>", *(f"w{k}" for k in range(vocabulary - 1))], "word")
    return example.make_model(tokenizer, example.parse(["--paper", name])).count_params() / 1e6


@nightly
@pytest.mark.parametrize(
    ("name", "vocabulary", "millions"),
    [
        ("awd-lstm", 10_000, 24.2),
        ("adaptive-lstm", 10_000, 17.2),
        ("adaptive-lstm-wikitext-2", 33_278, 32.0),
        ("melis-2018", 10_001, 24.0),
        ("mogrifier", 10_000, 24.0),
        ("mogrifier-lstm", 10_000, 24.0),
        ("mogrifier-characters", 50, 24.0),
        ("bipolar", 54, 4.75),
    ],
)
def test_papers_have_the_weights_of_their_tables(example, name, vocabulary, millions):
    assert count_weights(example, name, vocabulary) == pytest.approx(millions, rel=0.02)


def test_the_ablations_of_the_mogrifier_reach_its_cells(example):
    def given(*options):
        cells = example.make_cells(example.parse(["--paper", "mogrifier", *options]))
        return [(c.rank, c.zigzag, c.cell.update_dropout, c.gate_activation.__name__) for c in cells]

    options = ["--rank", "full", "--no-zigzag", "--update-dropout", "0.2", "--gate-activation", "tanh"]
    assert given(*options) == [(None, False, 0.2, "tanh")] * 2
    assert given() == [(84, True, 0.0, "sigmoid")] * 2
    (stack,) = example.make_cells(example.parse(["--small", "--model", "adaptive-lstm", "--update-dropout", "0.2"]))
    assert [cell.update_dropout for cell in stack.cells] == [0.2, 0.2]


def test_the_options_of_the_adaptive_lstm_reach_its_cells(example):
    options = ["--policy", "static", "--adaptation", "input", "--no-tied", "--policy-dropout", "0.3"]
    (stack,) = example.make_cells(example.parse(["--paper", "adaptive-lstm", "--units", "8", "4", *options]))
    found = [(cell.policy, cell.adaptation, cell.tied, cell.policy_dropout, cell.policy_units) for cell in stack.cells]
    assert found == [("static", "input", False, 0.3, 100)] * 2


@in_turns
@pytest.mark.parametrize("model", load().SMALLS)
def test_small_models_have_equal_weights(example, model):
    tokenizer = hub.VocabularyTokenizer(["<unk>", "<eos>", *(f"w{k}" for k in range(5474))], "word", end_token="<eos>")
    lm = example.make_model(tokenizer, example.parse(["--small", "--model", model]))
    assert lm.count_params() == pytest.approx(3_041_700, rel=1e-3)


def test_a_smaller_embedding_is_what_the_output_is_projected_to(example):
    tokenizer = hub.VocabularyTokenizer(["<unk>", "<eos>", *WORDS], "word", end_token="<eos>")
    lm = example.make_model(tokenizer, example.parse([*TOY, "--embedding", "6"]))
    assert tuple(lm.head.kernel.shape) == (8, 6)
    assert tuple(lm.output.shape) == (None, None, 12)


def test_the_reference_is_split_into_words(example):
    parts = example.read_parts(None, False)
    lines = [parts[part].splitlines() for part in example.PARTS]
    assert len(lines[0]) > 5 * len(lines[1]) > 1000
    assert all(line.split() for some in lines for line in some)
    assert "statement ," in parts["train"]


@pytest.mark.parametrize(
    ("files", "more", "message"),
    [
        (
            {"a.train.txt": b"a b\n", "a.valid.txt": b"a b\n"},
            [],
            "needs one file with 'test' in its name, and has none",
        ),
        (
            {"a.train.txt": b"a b\n", "a.valid.txt": b"a b\n", "a.test.txt": b"a\n", "b.test.txt": b"a\n"},
            [],
            r"has a\.test\.txt, b\.test\.txt",
        ),
        ({"train": b"\xff\xfe\xfa", "valid": b"a b\n", "test": b"a b\n"}, [], "not UTF-8"),
        ({"train": b"a b\n" * 9, "valid": b"a b\n", "test": b"\n"}, [], "the test part of .* is empty"),
        ({"train": b"a b\n" * 9, "valid": b"a b\n", "test": b"a b\n"}, [], "the train part of the text has 27 words"),
        ({"train": b"a b\n" * 99, "valid": b"a b\n", "test": b"a b\n"}, [], "the valid part of the text has 3 words"),
        (dict.fromkeys(("train", "valid", "test"), b"a b\n" * 99), ["--units", "7"], "embedding_dim=8"),
        (
            dict.fromkeys(("train", "valid", "test"), b"a b\n" * 99),
            ["--model", "mogrifier", "--rank", "20"],
            "`rank` must be at most",
        ),
    ],
)
def test_errors_say_what_to_do(example, files, more, message, tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    with pytest.raises(SystemExit, match=message):
        example.main([*TOY, *more, "--text", str(folder), "--output", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--temperatures", "1.1", "1"], ["--weight-drop", "1"], ["--clip", "-1"], ["--units", "0"]),
        *(["--skip", "static"], ["--rank", "0"], ["--rank", "all"]),
        ["--update-dropout", "0.1", "--small", "--model", "highway"],
        *(["--paper", "mogrifier", "--small"], ["--paper", "awd"], ["--model", "mogrifier"], ["--plateau", "-1"]),
        *(["--policy-dropout", "0.1"], ["--block-dropout", "0.1"], ["--weight-normalization"]),
        *(["--embedding-kind", "one-hot"], ["--anneal", "--cut-at", "3"], ["--beta-1", "1"]),
    ],
)
def test_bad_options(example, arguments, capsys):
    with pytest.raises(SystemExit):
        example.parse(arguments)
    assert arguments[0] in capsys.readouterr().err
