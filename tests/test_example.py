"""The example runs, on a text that is too small to learn anything from."""

import importlib.util
import json
import pathlib

import pytest

from tests.backends import in_turns

pytestmark = in_turns

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
keras_hub = pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub  # noqa: E402

PATH = pathlib.Path(__file__).parents[1] / "examples" / "char_language_model.py"
if not PATH.exists():
    pytest.skip("the examples are not part of the source distribution", allow_module_level=True)
SMALL = ["--epochs", "2", "--units", "8", "--rank", "2", "--rounds", "1", "--batch", "2", "--steps", "4"]
SENTENCE = "The quick brown fox jumps over the lazy dog.\n"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("char_language_model", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_run(example, tmp_path, capsys):
    text, folder = tmp_path / "text.txt", tmp_path / "results"
    text.write_text(SENTENCE * 10, encoding="utf-8")
    example.main([*SMALL, "--text", str(text), "--output", str(folder)])

    assert {path.name for path in folder.iterdir()} == {"preset", "curves.png", "results.json", "sample.txt"}
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert set(results["vocabulary"]) == {"\ufffd", *SENTENCE}
    for model in results["models"].values():
        assert len(model["training"]) == len(model["validation"]) == 2
        assert 0 < model["validation_bits_per_character"] == min(model["validation"]) < 6
    sample = (folder / "sample.txt").read_text(encoding="utf-8")
    assert len(sample) == 400
    assert set(sample) <= set(results["vocabulary"])
    loaded = keras_hub.models.CausalLM.from_preset(str(folder / "preset"))
    loaded.compile(sampler=keras_hub.samplers.RandomSampler(temperature=0.7, seed=0))
    assert loaded.generate("\n", max_length=401, strip_prompt=True) == sample
    assert sample in capsys.readouterr().out


def test_default_models_have_equal_weights(example):
    tokenizer = hub.VocabularyTokenizer([chr(k) for k in (0xFFFD, *range(32, 131))])
    models = example.make_models(tokenizer, example.parse([]))
    ratio = models["LSTM"].count_params() / models["Mogrifier"].count_params()
    assert abs(ratio - 1) < 0.01


def test_reference_has_no_paragraph_twice(example):
    paragraphs = example.read_text(None).split("\n\n")
    assert len(paragraphs) > 1000
    assert len(set(paragraphs)) == len(paragraphs)


def test_the_best_epoch_counts(example):
    result = {"weights": 10, "seconds": 20.0, "validation_bits_per_character": 1.5, "validation": [2.0, 1.5, 1.6]}
    cells = [next(iter(column.cells)) for column in example.make_table({"LSTM": result}).columns]
    assert cells == ["LSTM", "10", "20", "2 of 3", "1.500"]


def test_bad_rank(example, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text(SENTENCE * 10, encoding="utf-8")
    with pytest.raises(SystemExit, match="rank"):
        example.main([*SMALL, "--rank", "9", "--text", str(text)])


@in_turns
def test_a_paper(example, tmp_path, capsys):
    text, folder = tmp_path / "text.txt", tmp_path / "results"
    text.write_text(SENTENCE * 30, encoding="utf-8")
    tiny = ["--units", "8", "--rank", "2", "--batch", "2", "--steps", "6", "--rows", "2", "--words", "60"]
    skipped = ["--skip", "temperature", "monte-carlo", "monte-carlo-temperature", "dynamic"]
    example.main(["--paper", "lowrank-gru", *tiny, "--epochs", "1", *skipped, f"--text={text}", f"--output={folder}"])
    assert "Low-Rank Passthrough" in capsys.readouterr().out
    assert json.loads((folder / "results.json").read_text())["tokens"] == "characters"
    with pytest.raises(SystemExit):
        example.main(["--paper", "awd-lstm"])
    assert "lowrank-gru" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot read"), (b"\xff\xfe\xfa" * 1000, "not UTF-8"), (b"short", "need at least"), (b"", "need at least")],
)
def test_bad_text(example, tmp_path, content, message):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    with pytest.raises(SystemExit, match=message):
        example.main([*SMALL, "--text", str(text), "--output", str(tmp_path / "results")])
    assert not (tmp_path / "results").exists()
