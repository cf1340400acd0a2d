"""The search for the hyperparameters of the Mogrifier: the ranges of the paper, and a search of two trials."""

import builtins
import json

import pytest

from tests.backends import in_turns

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
pytest.importorskip("keras_hub", minversion="0.32")
search = pytest.importorskip(
    "examples.papers.mogrifier_search", reason="the examples are not part of the source distribution"
)
from examples import word_language_model  # noqa: E402
from keras_adaptive_rnn import hub  # noqa: E402

pytestmark = in_turns

VALUES = {
    "learning_rate": 0.002,
    "input_embedding_ratio": 0.5,
    "l2_penalty": 7e-4,
    "input_dropout": 0.5,
    "inter_layer_dropout": 0.25,
    "state_dropout": 0.125,
    "output_dropout": 0.75,
    "mogrifier_rounds": 3,
    "mogrifier_rank": 4,
}
TOKENIZER = hub.VocabularyTokenizer(["<unk>", *(f"w{k}" for k in range(99))], "word")
TINY = ["--batch", "2", "--steps", "6", "--rows", "2", "--words", "60", "--epochs", "1"]


def test_the_ranges_of_the_tables():
    assert {name: some.spacing for name, some in search.TABLES[4].items() if some.spacing == "log"}.keys() == {
        "learning_rate",
        "l2_penalty",
    }
    assert search.ranges(4)["inter_layer_dropout"][:2] == (0.0, 0.95)
    assert search.ranges(4)["input_embedding_ratio"][:2] == (0.0, 2.0)
    assert search.ranges(5)["output_dropout"][:2] == (0.0, 0.25)
    assert "input_embedding_ratio" not in search.ranges(5)
    assert "mogrifier_rank" not in search.ranges(4, "lstm")
    assert search.ranges(6)["max_time_steps"] == (1, 20, "linear")
    assert search.ranges(6, tokens="characters")["max_time_steps"] == (1, 50, "linear")
    assert search.ranges(6)["dyneval_epsilon"].place(1e-5) == pytest.approx(0.5)
    assert search.ranges(4)["mogrifier_rank"].place(-20) == 0


@pytest.mark.parametrize("paper", search.PAPERS)
@pytest.mark.parametrize(("ratio", "rank"), [(0.5, 4), (1.7, 4), (0.5, -3), (0.0, 4)])
def test_a_trial_has_the_weights_that_it_may_have(paper, ratio, rank):
    args = word_language_model.parse(["--paper", paper])
    values = {**VALUES, "input_embedding_ratio": ratio, "mogrifier_rank": rank}
    if args.cell == "lstm":
        values = {name: values[name] for name in search.ranges(4, "lstm")}
    for name, value in search.options(values, args, TOKENIZER.vocabulary_size(), 30_000).items():
        setattr(args, name, value)
    lm = word_language_model.make_model(TOKENIZER, args)
    (units,) = set(args.units)
    assert lm.count_params() == search.weights(values, units, args, TOKENIZER.vocabulary_size())
    assert lm.count_params() == pytest.approx(30_000, rel=0.03)
    assert args.embedding == (units if ratio > 1 else max(1, round(ratio * units)))
    assert args.weight_decay * args.steps == pytest.approx(7e-4)
    if args.cell == "mogrifier":
        assert args.rank == (None if rank < 1 else min(rank, args.embedding))


def write_texts(folder):
    folder.mkdir()
    for part, lines in {"train": 60, "valid": 12, "test": 12}.items():
        (folder / f"{part}.txt").write_text("one two three two one two two three\n" * lines)
    return ["--text", str(folder)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:keras_tuner")
def test_a_search(tmp_path, capsys):
    pytest.importorskip("keras_tuner")
    text, folder = write_texts(tmp_path / "text"), tmp_path / "search"
    argv = ["--weights", "2000", "--oracle", "random", "--output", str(folder), *text, *TINY]
    rows = search.run([*argv, "--trials", "2"])
    assert len(rows) == 2
    assert 0 < rows[0]["loss"] <= rows[1]["loss"] < 3
    assert json.loads((folder / "results.json").read_text()) == rows
    assert (folder / "sensitivity.png").stat().st_size > 5000
    for row in rows:
        assert row["values"].keys() == search.ranges(4).keys()
        assert all(0 <= some.place(row["values"][name]) <= 1 for name, some in search.ranges(4).items())
    runs = [json.loads((path / "results.json").read_text()) for path in folder.glob("trial_*")]
    assert {run["learning_rate"] for run in runs} == {row["values"]["learning_rate"] for row in rows}
    assert all(run["weights"] == pytest.approx(2000, rel=0.1) for run in runs)
    capsys.readouterr()

    # The same command again trains nothing, and one more trial is trained alone.
    assert search.run([*argv, "--trials", "2"]) == rows
    assert "weights" not in capsys.readouterr().out

    # Dynamic evaluation of one of the runs.
    run, dynamic = next(folder.glob("trial_*")), tmp_path / "dynamic"
    found = search.run(["--table", "6", "--run", str(run), "--trials", "2", "--output", str(dynamic)])
    assert found[0]["values"].keys() == search.ranges(6).keys()
    assert 0 < found[0]["loss"] <= found[1]["loss"]


def test_trials_near_the_best():
    some = search.ranges(6)
    best = {"values": {"max_time_steps": 5, **dict.fromkeys(list(some)[1:], 1e-4)}}
    near = {"values": {**best["values"], "max_time_steps": 6, "dyneval_epsilon": 2e-4}}
    far = {"values": {**best["values"], "dyneval_epsilon": 1e-5}}
    assert [search.is_near(row, best, some) for row in (best, near, far)] == [True, True, False]


def test_without_the_tuner_it_says_what_to_install(monkeypatch):
    whole = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "keras_tuner":
            raise ImportError(name)
        return whole(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install keras-tuner"):
        search.run(["--text", "nowhere"])


@pytest.mark.parametrize("argv", [["--table", "6"], ["--run", "runs"], ["--trials", "0"], ["--oracle", "grid"]])
def test_bad_options(argv, capsys):
    with pytest.raises(SystemExit):
        search.run(argv)
    assert argv[0] in capsys.readouterr().err


def test_a_folder_without_a_run(tmp_path):
    pytest.importorskip("keras_tuner")
    with pytest.raises(ValueError, match="is not a run of"):
        search.run(["--table", "6", "--run", str(tmp_path)])
