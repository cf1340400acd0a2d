"""The studies of `examples/papers`, in their smallest form; a study that is killed ends with the same numbers."""

import argparse
import csv
import functools
import importlib
import itertools
import json
import operator
import pathlib
import pkgutil
import re
import statistics

import keras
import numpy as np
import pytest
from scipy import stats

import keras_adaptive_rnn
from benchmarks import plain
from examples import papers, word_language_model
from examples.papers import _study, ptb_words
from tests.backends import in_turns, one_in
from tools.site import studies

pytestmark = in_turns

MODULES = [name for _, name, _ in pkgutil.iter_modules(papers.__path__) if not name.startswith("_")]
STUDIES = {
    name: module.STUDY
    for name in MODULES
    if hasattr(module := importlib.import_module(f"examples.papers.{name}"), "STUDY")
}


def arguments(tmp_path, *more):
    paths = {"output": "runs", "results": "results.json", "picture": "curves.png"}
    return [
        "--budget",
        "test",
        *more,
        *(a for name, path in paths.items() for a in (f"--{name}", str(tmp_path / path))),
    ]


# Of the studies with many models, those that are tried here.
SOME = {
    "adaptive_digits": ["1-layer SVA, 8K", "1-layer SVA of features, 8K"],
    "adaptive_digits_search": ["network; plain", "of features; momentum"],
    "deep_stacks": ["BELU x 4", "ReLU x 4"],
    "grid_characters": ["stacked LSTM, 2 layers", "tied grid LSTM, 6 layers"],
    "low_rank_characters": ["GRU", "low-rank GRU, tied, dropout", "low-rank GRU, as many units", "low-rank LSTM"],
    "memory_variable": ["low rank, any gap", "full rank, any length", "uRNN, any length"],
    "ptb_adaptive": ["recurrent policy", "LSTM"],
    "ptb_mogrifier": ["0 rounds (LSTM)", "5 rounds"],
    "ptb_recipe": ["SGD, NT-ASGD", "down-projection to 112"],
    "ptb_sgd": ["Mogrifier, 20"],
    "ptb_whole": ["Mogrifier"],
    "ptb_words": ["low-rank GRU"],
    "single_directions": ["true labels", "random labels, batch normalization"],
    "reverse_copy": ["LSTM, length 5", "Mogrifier, length 5"],
}
SOME |= {name: ["skip GRU"] if name.endswith("permuted") else ["low-rank GRU"] for name in STUDIES if "mnist_" in name}
SOME["mnist_rows"] += ["skim GRU", "VCGRU"]


def make_data(module, folder):
    """Returns the `--data` of a study that reads some: a small text, or images of noise."""
    if "--data penn/" in module.__doc__:
        for part, lines in {"train": 60, "valid": 12, "test": 12}.items():
            (folder / f"{part}.txt").write_text("one two three two one two two three\n" * lines)
        return ["--data", str(folder)]
    if "--data mnist.npz" in module.__doc__:
        rng, path = np.random.default_rng(0), folder / "mnist.npz"
        parts = {"train": 20, "test": 10}
        images = {f"x_{part}": rng.integers(256, size=(count, 28, 28)) for part, count in parts.items()}
        np.savez(path, **images, **{f"y_{part}": np.arange(count) % 10 for part, count in parts.items()})
        return ["--data", str(path)]
    return []


@pytest.mark.parametrize("name", one_in(3, STUDIES))
def test_study(name, tmp_path, capsys):
    study, module = STUDIES[name], importlib.import_module(f"examples.papers.{name}")
    assert study.name == name
    (tmp_path / "data").mkdir()
    argv = [*arguments(tmp_path, "--seeds", "1"), *make_data(module, tmp_path / "data")]
    argv += ["--models", *SOME[name]] if name in SOME else []
    results = module.run(argv) if hasattr(module, "run") else _study.run(study, argv)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(results))
    assert (tmp_path / "curves.png").stat().st_size > 5000
    assert {row["model"] for row in results["runs"]} <= set(study.models)
    for row in results["runs"]:
        assert len(row["curve"]) == study.budgets["test"]["rounds"] or study.train is not None
        assert np.isfinite(list(row["figures"].values())).all()
    # Beside each other they are models of equal weights, but for the network that decides what to read, uRNNs, and
    # those of equal units.
    weights = [
        row["weights"]
        for row in results["runs"]
        if not row["model"].startswith("uRNN") and not row["model"].endswith("as many units")
    ]
    assert max(weights) < 1.25 * min(weights) or name == "skim_or_read"
    assert study.title.split(":")[0] in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ptb_words", "ptb_whole", "ptb_mogrifier", "ptb_adaptive", "ptb_recipe", "ptb_sgd"])
def test_every_model_has_options_at_every_budget(name):
    study = STUDIES[name]
    for budget, settings in study.budgets.items():
        args = argparse.Namespace(budget=budget, data=None)
        for model in study.models:
            options = word_language_model.parse(ptb_words.command(study, model, args))
            assert options.words == settings["words"]
            # A model may have a number of its own.
            own = study.variants.get(model, {}).get("options", {}).get("epochs") if study.variants else None
            expected = [settings["epochs"], settings.get("plain_epochs")] if own is None or budget == "test" else [own]
            assert options.epochs in expected


def test_a_network_that_diverges_has_no_figures(tmp_path, capsys):
    study, diverging = STUDIES["auxiliary_losses"], []

    def make(name, settings, data):
        model = study.make(name, settings, data)
        diverging.extend([model] if name == "r-LSTM" else [])
        return model

    def score(model, settings, data, part):
        return {"accuracy": np.nan if any(model is one for one in diverging) else 0.5}

    results = _study.run(study._replace(make=make, score=score), arguments(tmp_path, "--seeds", "1", "2"))
    for row in results["runs"]:
        found = row["figures"]["accuracy"], row["diverged"], len(row["curve"])
        assert found == ((None, True, 1) if row["model"] == "r-LSTM" else (0.5, False, 2))
    assert json.loads((tmp_path / "results.json").read_text()) == results
    out = capsys.readouterr().out
    assert "diverged)" in out
    assert "r-LSTM - LSTM" not in out


def test_a_study_that_was_killed_ends_with_the_same_numbers(tmp_path):
    study, settings = STUDIES["auxiliary_losses"], STUDIES["auxiliary_losses"].budgets["test"]

    def training(folder):
        return _study.Training(study, "r-LSTM", 3, settings, None, tmp_path / folder)

    def stop(text):
        raise KeyboardInterrupt

    whole = training("whole").run(lambda text: None)
    with pytest.raises(KeyboardInterrupt):
        training("killed").run(stop)
    keras.utils.set_random_seed(99)
    resumed = training("killed")
    assert resumed.state["round"] == 1
    row = resumed.run(lambda text: None)
    assert row["curve"] == whole["curve"]
    assert row["figures"] == whole["figures"]


def test_weights_shrink_where_gradients_have_an_infinite_norm():
    module = importlib.import_module("examples.papers.memory")

    def updated(gradient):
        variable, optimizer = keras.Variable([2.0, -1.0]), module.RecoveringRMSprop(0.01)
        optimizer.build([variable])
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
        return keras.ops.convert_to_numpy(variable)

    # Each gradient is finite, and the sum of their squares is not.
    np.testing.assert_allclose(updated([1e30, -1e30]), updated([0.2, -0.1]), rtol=1e-5)
    assert (np.abs(updated([1e30, 1e30])) < [2, 1]).all()
    np.testing.assert_allclose(updated([3.0, 4.0]), updated([0.6, 0.8]), rtol=1e-5)


@pytest.mark.parametrize("name", ["GRU", "skip GRU"])
def test_the_accuracy_of_sequential_digits_is_over_all_images(name):
    module = importlib.import_module("examples.papers._digit_sequences")
    settings = STUDIES["mnist_rows"].budgets["test"]
    x = np.random.default_rng(0).normal(size=(40, 28, 28)).astype("float32")
    data = {"train": (x, None)}
    model = module.make(name, settings, data)
    y = model.predict(x, verbose=0).argmax(axis=-1)
    y[:10] += 1
    figures = module.score(model, settings, {**data, "valid": (x, y)}, "valid")
    assert figures["accuracy"] == 0.75
    assert figures["share of updates"] == 1 if name == "GRU" else 0 < figures["share of updates"] <= 1


def test_the_adaptive_layers_have_the_sizes_of_the_paper():
    module = importlib.import_module("examples.papers.adaptive_digits")
    for name in module.MODELS:
        thousands = int(name.split(", ")[1][:-1])
        assert module.make(name, {"rate": 1e-3}, None).count_params() / 1000 == pytest.approx(thousands, rel=0.03)


@pytest.mark.parametrize(
    ("name", "reaches"), [("BELU x 4", True), ("BELU x 8, no LSUV", True), ("BELU x 8, no skips", False)]
)
def test_the_embedding_reaches_the_top_of_a_deep_stack_by_its_skips(name, reaches):
    module = importlib.import_module("examples.papers.deep_stacks")
    model = module.make(name, STUDIES["deep_stacks"].budgets["test"], (3, {"train": np.arange(60) % 3}))
    (stack,) = (layer for layer in model.layers if isinstance(layer, keras_adaptive_rnn.DeepRNN))
    for weight in stack.weights:
        weight.assign(np.zeros(weight.shape))
    # Without weights, what is at the top has come through skip connections, the lowest of which ends at layer 4.
    top = keras.Model(model.input, stack.output).predict(np.array([[0, 1, 2]]), verbose=0)[0]
    embedded = keras.ops.convert_to_numpy(model.layers[1](np.array([0, 1, 2])))
    assert np.any(embedded)
    scale = 0.99 ** (stack.cell.depth // 4) if reaches else 0.0
    np.testing.assert_allclose(top, scale * embedded, rtol=1e-5, atol=1e-6)


def test_a_study_that_cannot_read_its_data_says_so(tmp_path):
    with pytest.raises(SystemExit, match="cannot read MNIST"):
        _study.run(STUDIES["adaptive_digits"], arguments(tmp_path, "--data", str(tmp_path / "none.npz")))


def test_results_of_other_settings_are_not_mixed(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"budget": "small", "runs": []}))
    with pytest.raises(SystemExit, match="results of another budget"):
        _study.run(STUDIES["addition"], arguments(tmp_path))


def test_a_mean_has_an_error_over_seeds():
    assert _study.mean_and_error([1.0]) == (1.0, None)
    mean, error = _study.mean_and_error([1.0, 2.0, 3.0])
    assert mean == 2
    assert error == pytest.approx(1 / 3**0.5)


def test_two_seeds_have_both_figures_and_no_error():
    assert _study.shown([1.0]) == "1"
    assert _study.shown([1.0, 2.0]) == "1 and 2"
    assert _study.shown([1.0, 2.0, 3.0]) == "2 ± 0.58"


def test_significance_is_that_of_so_few_seeds():
    # Three standard errors are within the noise of three seeds, and not of six.
    values = np.array([-1.0, 0.0, 1.0])
    error = values.std(ddof=1) / 3**0.5
    assert not _study.significant(values + 3 * error)
    assert _study.significant(values + 4.5 * error)
    values = np.tile([-1.0, 1.0], 3)
    assert _study.significant(values + 3 * values.std(ddof=1) / 6**0.5)


ROOT = pathlib.Path(__file__).parents[1]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def test_every_number_of_the_findings_is_on_the_page_of_a_study_that_they_link_to():
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    pages, unknown, linked = studies.made(), {}, set()
    for finding in re.split(r"\n(?=- \*\*)|\n\n", text.partition("\n## ")[2]):
        here = {link for link in re.findall(r"\]\(\.\./([\w/]+\.(?:py|md))\)", finding) if link in pages}
        known = {number for link in here for number in NUMBER.findall(pages[link][1]())}
        # Decimals may be rounded further.
        places = {
            number: len(number.partition(".")[2]) for number in NUMBER.findall(re.sub(r"\]\(.*?\)", "]", finding))
        }
        rounded = {f"{float(number.replace(',', '')):.{k}f}" for number in known for k in set(places.values()) if k}
        missing = places.keys() - known - rounded
        unknown |= {finding[:40]: missing} if missing else {}
        linked |= here
    assert unknown == {}
    assert set(pages) - linked == {"examples/papers", "benchmarks/probe/table.md"}
    assert f"{stats.t.ppf(0.975, 2):.1f} standard errors" in " ".join(text.split())


# What the README says. What it claims is made of the files again; what is left of its section has no number.

BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def of_study(name, model, figure):
    """Returns the figures of a model, in the order of its seeds."""
    return [
        row["figures"][figure] for row in read(f"examples/papers/results/{name}.json")["runs"] if row["model"] == model
    ]


def of_comparison(name, cell):
    """Returns the accuracies of a cell in both comparisons, in percent."""
    rows = [row for seed in (0, 1) for row in read(f"benchmarks/compare/{name}_{seed}.json")["rows"]]
    return [100 * value for row in rows if row["name"] == cell for value in row["accuracy"]]


def test_how_soon_models_of_words_reach_a_perplexity_is_that_of_their_curves():
    runs = read("examples/papers/results/ptb_words.json")["runs"]
    reached = {}
    for run in runs:
        epoch = next((k for k, point in enumerate(run["curve"], 1) if point["perplexity"] <= 130), None)
        reached.setdefault(run["model"], []).append(epoch)
    said = {name: "{}, {} and {}".format(*reached[name]) for name in ("AWD-LSTM", "adaptive LSTM", "Mogrifier")}
    assert (
        f"perplexity of 130 takes AWD-LSTM {said['AWD-LSTM']} epochs, "
        f"the adaptive LSTM {said['adaptive LSTM']} and the Mogrifier {said['Mogrifier']}"
    ) in ptb_words.STUDY.found


def each(digits):
    return lambda values: ", ".join(np.format_float_positional(float(f"{v:.{digits}g}")) for v in values)


def mean(places, unit=""):
    return lambda values: "{:.{p}f} ± {:.{p}f}{}".format(*_study.mean_and_error(values), unit, p=places)


def row_of_gains(task, theirs, ours, better=operator.lt):
    """Returns a row of the table; each side has a title, figures and how they are shown."""
    cells = [task]
    for (title, values, show), (_, others, _) in ((theirs, ours), (ours, theirs)):
        always = all(better(a, b) for a, b in zip(values, others, strict=True))
        cells.append(f"{title} **{show(values)}**" if always else f"{title} {show(values)}")
    return f"| {' | '.join([*cells, str(len(ours[1]))])} |"


def gains():
    """Returns the rows of the table of gains."""
    entropy, small = "cross entropy", mean(3)
    memory = [of_study("memory", model, entropy) for model in ("full rank", "low rank")]
    reverse = [of_study("reverse_copy", f"{model}, length 15", entropy) for model in ("Elman", "Mogrifier GRU")]
    characters = [of_study("ptb_characters", model, "bits") for model in ("LSTM", "Mogrifier")]
    models = ("AWD-LSTM, 30, 25 epochs", "Mogrifier, 20, 25 epochs")
    words = [of_study("ptb_sgd", model, "perplexity") for model in models]
    digits = [of_comparison("digits", cell) for cell in ("gru", "low_rank_lstm")]
    name, percent = "[digits](results.md#on-data-that-nobody-tuned-for) by rows, accuracy", mean(1, " %")
    return [
        row_of_gains(
            "memory over 500 steps, cross-entropy", ("GRU", memory[0], each(2)), ("`LowRankGRU`", memory[1], each(1))
        ),
        row_of_gains(
            "reversal after 4,000 updates, cross-entropy",
            ("Elman", reverse[0], small),
            ("`Mogrifier` around a GRU", reverse[1], small),
        ),
        row_of_gains(
            "Penn Treebank, bits per character", ("LSTM", characters[0], small), ("`Mogrifier`", characters[1], small)
        ),
        row_of_gains(
            "Penn Treebank, perplexity of words", ("AWD-LSTM", words[0], mean(1)), ("`Mogrifier`", words[1], mean(1))
        ),
        row_of_gains(name, ("GRU", digits[0], percent), ("`LowRankLSTM`", digits[1], percent), operator.gt),
    ]


def by_backend(rows, places=1):
    """Returns the geometric mean of Keras's time over ours in train steps, by backend."""
    found = []
    for backend, title in BACKENDS.items():
        ratios = [row["ratios"]["keras"] for row in rows if (row["backend"], row["what"]) == (backend, "train")]
        found += [f"{statistics.geometric_mean(ratios):.{places}f} ({title})"] if ratios else []
    return f"{', '.join(found[:-1])} and {found[-1]}"


def speeds():
    """Returns what is said of speed."""
    of_gpu = [row for row in read("benchmarks/gpu.json") if "H100" in row["environment"]["accelerator"]]
    on_torch = {row["cell"]: row["ratios"] for row in of_gpu if (row["backend"], row["what"]) == ("torch", "train")}
    plain = [f"{on_torch[cell]['plain']:.2f} (`{cell}`)" for cell in ("Mogrifier", "AdaptiveLSTM")]
    return [
        f"On an [H100](benchmarks/README.md#on-a-gpu), our cells train {by_backend(of_gpu)} times as fast as in "
        f"Keras's loop, but plain PyTorch is faster: ours has {' and '.join(plain)} of its speed, and "
        f"cuDNN's LSTM {1 / on_torch['LSTM']['keras_lstm']:.1f} times that of ours",
    ]


def sizes_measured():
    units = sorted({row["units"] for row in read("benchmarks/baselines.json")})
    return f"{units[0]} to {units[-1]}"


def joined(text):
    """Returns a text in one line."""
    return " ".join(text.split())


def test_the_readme_says_what_was_measured():
    text = joined((ROOT / "README.md").read_text(encoding="utf-8"))
    section = re.search(r"## What you gain (.*?) ## Install", text)[1]
    claims = [row.replace("(results.md", "(docs/results.md") for row in gains()] + speeds()
    # Steps and updates of the tasks, and sizes that are no result.
    settings = read("examples/papers/results/memory.json")["settings"]
    assert settings["gap"] == 500
    settings = read("examples/papers/results/reverse_copy.json")["settings"]
    assert settings["rounds"] * settings["updates"] == 4000
    claims += plain.summary(read("benchmarks/baselines.json"))
    claims.append(f"with {sizes_measured()} units")
    for claim in map(joined, claims):
        assert claim in section
        section = section.replace(claim, "")
    assert re.findall(r"\d", section) == []


def test_the_page_of_language_models_says_how_fast_they_write():
    tokens = {
        (row["backend"], row["method"]): row["tokens_per_second"]
        for row in read("benchmarks/generation.json")
        if (row["batch"], row["length"]) == (1, 384)
    }
    writing = {b: tokens[b, "generate"] / tokens[b, "loop over step"] for b in BACKENDS}
    writing = [f"{writing[b]:.{2 if writing[b] < 2 else 1}f} ({BACKENDS[b]})" for b in BACKENDS]
    text = " ".join((ROOT / "docs" / "language_models.md").read_text(encoding="utf-8").split())
    assert f"`generate` is {', '.join(writing[:-1])} and {writing[-1]} times as fast as a loop over steps" in text


def test_the_paper_says_what_was_measured():
    path = ROOT / "paper" / "paper.md"
    text = path.read_text(encoding="utf-8")
    assert "\n".join(row.replace("(results.md", "(../docs/results.md") for row in gains()) in text
    with (ROOT / "docs" / "tables" / "conformance.csv").open(newline="") as table:
        count = len(list(csv.DictReader(table)))
    claims = [
        *plain.summary(read("benchmarks/baselines.json")),
        f"with {sizes_measured()} units",
        f"run on {count} recurrent layers",
    ]
    assert [claim for claim in map(joined, claims) if claim not in joined(text)] == []
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "citing.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", text)) <= set(known)
    assert 750 <= len(text.split()) <= 1750


def test_the_home_page_has_the_table_of_the_readme():
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert "\n".join(gains()) in text


def means_and_errors():
    """Yields those of all models, of the differences within a study, and of the data sets of `compare`."""
    for name in STUDIES:
        found = {}
        for row in read(f"examples/papers/results/{name}.json")["runs"]:
            for figure, value in row["figures"].items():
                found.setdefault((row["model"], figure), {})[row["seed"]] = value
        for one, other in [*itertools.combinations(found, 2), *((key, None) for key in found)]:
            if other is None or one[1] == other[1]:
                less = found[other] if other else dict.fromkeys(found[one], 0)
                seeds = [seed for seed in found[one] if None not in (found[one][seed], less.get(seed))]
                if len(seeds) > 2:
                    yield _study.mean_and_error([found[one][seed] - less[seed] for seed in seeds])
    curves = [
        row["curve"] for row in read("examples/papers/results/addition.json")["runs"] if row["model"] == "low rank"
    ]
    yield _study.mean_and_error([np.mean([point["squared error"] for point in curve[-20:]]) for curve in curves])
    for name in ("digits", "sunspots", "python_docs"):
        found = {}
        for results in (read(f"benchmarks/compare/{name}_{seed}.json") for seed in (0, 1)):
            for row in (*results["rows"], *results["behind"]):
                for measure in ("test", "accuracy"):
                    found.setdefault((row["name"], measure), []).extend(row[measure] or [])
        yield from (_study.mean_and_error(values) for values in found.values() if len(values) > 2)
    for result in read("benchmarks/forecasts.json").values():
        yield from ((row["test"], row.get("test error")) for row in result["table"])


@functools.cache
def known_means():
    """Returns all of `means_and_errors`, also in percent, as an array `[means, 2]`."""
    known = np.abs([each for each in means_and_errors() if None not in each])
    return np.concatenate([known, 100 * known])


PAGES = ["README.md", "docs/index.md", "docs/guides/which_cell.md", "docs/results.md"]


@pytest.mark.parametrize("page", [*PAGES, "examples/papers", *(f"examples/papers/{name}.py" for name in STUDIES)])
def test_every_mean_with_an_error_is_one_of_the_files(page):
    text = studies.made()[page][1]() if page not in PAGES else (ROOT / page).read_text(encoding="utf-8")
    stated = re.findall(r"(\d[\d.]*) ± (\d[\d.]*)(?![\d.]*e)", " ".join(text.split()))
    assert stated or page not in PAGES
    known = known_means()
    for pair in stated:
        half = [0.5001 * 10.0 ** -len(number.rstrip(".").partition(".")[2]) for number in pair]
        near = np.abs(known - [float(number.rstrip(".")) for number in pair]) <= half
        assert near.all(axis=1).any(), pair


def test_equal_units():
    assert _study.equal_units(lambda n: 4 * n * n, 100) == 5
    assert _study.equal_units(lambda n: 4 * n * n, 130) == 6
