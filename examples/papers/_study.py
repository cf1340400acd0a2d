"""What the claims share: seeds, budgets, checkpoints, a progress bar, a file of results and a picture.

A study trains some models with some seeds. Each training consists of rounds: so many updates on data that the seed and
the number of the round decide, then a look at validation data. After each round the model is saved with its optimizer
and its generators, so that a run that is killed ends with the same numbers.
"""

import argparse
import json
import os
import pathlib
import platform
import sys
import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

import keras
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter, LogLocator, MaxNLocator, NullLocator
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import keras_adaptive_rnn
from keras_rnn_compare.scoring.statistics import mean_and_error, reach

ROOT = pathlib.Path(__file__).parent
RESULTS = ROOT / "results"
STYLES = ("-", "--", ":", "-.")
# What figures are called beside an axis.
UNITS = {"bits": "bits per character", "cross entropy": "cross entropy (nats)"}
PICTURES = ROOT.parent.parent / "docs" / "images" / "results"


class Study(NamedTuple):
    """A claim, and how it is tried.

    Attributes:
        name: The name of the module.
        title: A few words.
        claim: What the paper says, with its figures.
        protocol: What was chosen, and how.
        models: The names of the models.
        budgets: For each budget a dict of settings; all have `rounds`, and `updates` a round unless there is `train`.
            With `anneal`, `rate` is constant for that share of the rounds, and then falls linearly to a tenth.
        read: Called with the `--data` of the command or `None`, and the settings, returns the data of the study.
        make: Called with the name of a model, settings and data, returns a compiled model.
        draw: Called with a generator of NumPy, the number of updates, settings and data, returns what these updates
            train on: inputs, targets.
        score: Called with a model, settings, data and `"valid"` or `"test"`, returns a dict of figures.
        judged: What the trained models are scored on, `"test"`, or `"valid"` in a search.
        batch: The size of a batch.
        train: In place of `make`, `draw` and `score`, for trainings of seconds: called with the name of a model, a
            seed, settings and data, returns the number of weights, a dict of figures, and a curve: a list of such
            dicts.
        metric: The figure that the curves show.
        axis: What the curves go over: a figure of each of their points, or the updates.
        log: Whether the axis of `metric` is logarithmic.
        bottom, top: Where that axis ends, if curves that go further would press all others together.
        split: `"family"` or `"variant"`, if each has a panel of its own.
        smooth: The curves are running medians of so many points.
        prior: The figure that is not better than knowing nothing, by name; shown as a line.
        outcome: Whether the claim holds here, in a few words.
        found: What our results say of the claim, in words.
        paper: The figures of the paper, by model and by figure.
        variants: Settings of single models, beside those of the budget; `rounds` may only be fewer.
        pairs: Models, and the model that each is compared with at the same seed; by default all others with the first.
        families: For each model its family, which gives its curve a color, and its variant, which gives it a line
            style. By default each model is a family.
        across: What the variants are, if they are numbers: the picture also shows the figures over them.
    """

    name: str
    title: str
    claim: str
    protocol: str
    models: tuple[str, ...]
    budgets: dict[str, dict[str, Any]]
    metric: str
    read: Callable = lambda path, settings: None
    make: Callable | None = None
    draw: Callable | None = None
    score: Callable | None = None
    judged: str = "test"
    batch: int | None = None
    train: Callable | None = None
    axis: str = "updates"
    log: bool = False
    bottom: float | None = None
    top: float | None = None
    split: str | None = None
    smooth: int = 1
    prior: dict[str, float] | None = None
    outcome: str = ""
    found: str = ""
    paper: dict[str, dict[str, float]] | None = None
    variants: dict[str, dict[str, Any]] | None = None
    pairs: tuple[tuple[str, str], ...] | None = None
    families: dict[str, tuple[str, Any]] | None = None
    across: str = ""


def write(path: pathlib.Path, content) -> None:
    """Writes a JSON file, which is whole at any time."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(new, path)


def row(model: str, seed: int, weights: int, minutes: float, figures: dict, curve: list[dict], **more) -> dict:
    """Returns a training as the results have it."""
    return {
        "model": model,
        "seed": seed,
        "weights": weights,
        "minutes": round(minutes, 2),
        "diverged": diverged(curve),
        "figures": figures,
        **more,
        "curve": curve,
    }


def diverged(curve: list[dict]) -> bool:
    """Returns whether the last point of a curve lacks a loss or a figure, as that of a network that diverged does."""
    return bool(curve) and None in curve[-1].values()


def finite(value: float, digits: int = 17) -> float | None:
    """Returns a figure, rounded to so many significant digits, or `None` for that of a network that diverged."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


class Training:
    """One training of a study, in a folder that remembers how far it is."""

    def __init__(self, study: Study, model: str, seed: int, settings: dict, data, folder: pathlib.Path):
        self.study, self.name, self.seed, self.data = study, model, seed, data
        self.settings = {**settings, **(study.variants or {}).get(model, {})}
        self.settings["rounds"] = min(self.settings["rounds"], settings["rounds"])
        self.folder = folder / f"{model.replace(' ', '_')}-{seed}"
        self.path = self.folder / "state.json"
        self.state = {"round": 0, "minutes": 0.0, "curve": [], "file": None}
        if self.path.exists():
            self.state = json.loads(self.path.read_text(encoding="utf-8"))

    def run(self, advance: Callable[[str], None]) -> dict:
        """Returns the row of results; `advance` is called after each round."""
        study, settings, state = self.study, self.settings, self.state
        if study.train is not None:
            return self.run_at_once(advance)
        self.folder.mkdir(parents=True, exist_ok=True)
        keras.utils.set_random_seed(self.seed)
        if state["file"]:
            model = keras.models.load_model(self.folder / state["file"])
        else:
            model = study.make(self.name, settings, self.data)
        while state["round"] < settings["rounds"] and not diverged(state["curve"]):
            start, k = time.monotonic(), state["round"]
            if "anneal" in settings:
                left = (1 - k / settings["rounds"]) / (1 - settings["anneal"])
                model.optimizer.learning_rate.assign(settings["rate"] * min(1.0, max(0.1, left)))
            x, y = study.draw(np.random.default_rng([self.seed, k]), settings["updates"], settings, self.data)
            history = model.fit(x, y, study.batch, epochs=1, shuffle=False, verbose=0).history
            figures = study.score(model, settings, self.data, "valid")
            self.keep(model, {"loss": history["loss"][0], **figures}, (time.monotonic() - start) / 60)
            advance(f"{self.name}, seed {self.seed}: {study.metric} {shown([state['curve'][-1][study.metric]])}")
        figures = study.score(model, settings, self.data, study.judged)
        figures = {name: finite(value) for name, value in figures.items()}
        return row(self.name, self.seed, model.count_params(), state["minutes"], figures, state["curve"])

    def run_at_once(self, advance: Callable[[str], None]) -> dict:
        start = time.monotonic()
        weights, figures, curve = self.study.train(self.name, self.seed, self.settings, self.data)
        advance(f"{self.name}, seed {self.seed}")
        return row(self.name, self.seed, weights, (time.monotonic() - start) / 60, figures, curve)

    def keep(self, model: keras.Model, point: dict, minutes: float) -> None:
        state = self.state
        state["round"] += 1
        state["minutes"] += minutes
        state["curve"].append({name: finite(value, digits=6) for name, value in point.items()})
        state["file"] = f"round-{state['round']}.keras"
        model.save(self.folder / state["file"])
        write(self.path, state)
        for file in self.folder.glob("round-*.keras"):
            if file.name != state["file"]:
                file.unlink()


def judging(part: str) -> np.random.Generator:
    """Returns the generator of the validation or the test data of a study that makes its data."""
    return np.random.default_rng({"valid": 10**6, "test": 10**6 + 1}[part])


def shown(values) -> str:
    """Returns figures of seeds as text: their mean and its error, or both of two, whose error says nothing."""
    if None in values:
        return "diverged"
    if len(values) < 3:
        return " and ".join(f"{value:.4g}" for value in values)
    return "{:.4g} ± {:.2g}".format(*mean_and_error(values))


def significant(values: Collection[float]) -> bool:
    """Returns whether a t-test at 95 % tells the mean of three or more values from zero."""
    mean, error = mean_and_error(values)
    return abs(mean) > reach(len(values) - 1) * error


def table(study: Study, results: dict) -> tuple[list[str], list[list[str]]]:
    """Returns the header and the lines of a table: a line for each model, figures over the seeds that have them."""
    rows = results["runs"]
    figures = list(dict.fromkeys(figure for row in rows for figure in row["figures"]))
    paper = study.paper or {}
    of_paper = [figure for figure in figures if any(figure in known for known in paper.values())]
    lines = []
    for name in dict.fromkeys(row["model"] for row in rows):
        mine = [row for row in rows if row["model"] == name]
        cells = []
        for figure in figures:
            values = [row["figures"][figure] for row in mine if row["figures"].get(figure) is not None]
            cells.append(shown(values) if values else "")
            if 0 < len(values) < len(mine):
                cells[-1] += f" ({len(values)} of {len(mine)})"
        cells += [f"{paper[name][figure]:g}" if figure in paper.get(name, {}) else "" for figure in of_paper]
        # Minutes of different machines have no mean.
        minutes = np.mean([row["minutes"] for row in mine if "machine" not in row] or [row["minutes"] for row in mine])
        diverged = sum(row["diverged"] for row in mine)
        lines.append([name, f"{mine[0]['weights']:,}", str(len(mine)), *cells, f"{minutes:.3g}"])
        if diverged:
            lines[-1][0] += f" ({diverged} diverged)"
    return ["model", "weights", "seeds", *figures, *(f"paper's {name}" for name in of_paper), "minutes"], lines


def differences(study: Study, results: dict) -> list[str]:
    """Returns by how much the first figures of the pairs differ, over the seeds of both."""
    figure = next(iter(results["runs"][0]["figures"]))
    found = {name: {} for name in study.models}
    for row in results["runs"]:
        if row["figures"][figure] is not None:
            found[row["model"]][row["seed"]] = row["figures"][figure]
    lines = []
    pairs = [(name, study.models[0]) for name in study.models[1:]] if study.pairs is None else study.pairs
    for name, baseline in pairs:
        seeds = sorted(found[baseline].keys() & found[name].keys())
        if len(seeds) > 1:
            values = [found[name][seed] - found[baseline][seed] for seed in seeds]
            more = ", not significant" if len(values) > 2 and not significant(values) else ""
            lines.append(f"{name} - {baseline}: {shown(values)} ({figure}, {len(seeds)} seeds{more})")
    return lines


class PlainLogFormatter(LogFormatter):
    """Labels the ticks that `LogFormatter` labels, but with 0.04 in place of 4e-02."""

    def __call__(self, x, pos=None):
        return f"{x:g}" if super().__call__(x, pos) else ""


def colored(names: Collection[str]) -> dict:
    """Returns a color for each of up to twenty names."""
    return dict(zip(names, colormaps["tab10" if len(names) <= 10 else "tab20"].colors, strict=False))


def plot(study: Study, results: dict, path: pathlib.Path) -> None:
    """Draws the curves of all runs and, if models differ in a number, the last figures over that number."""
    families = study.families or {name: (name, None) for name in study.models}
    runs = [(*families[row["model"]], row) for row in results["runs"]]
    colors = colored(dict.fromkeys(family for family, _, _ in runs))
    variants = list(dict.fromkeys(variant for _, variant, _ in runs))
    styles, shades = styled(study, colors, [(family, variant) for family, variant, _ in runs])
    parts = {"valid": "validation data", "test": "test data"}
    label = UNITS.get(study.metric, study.metric)
    shown_as = label + (f", {parts['valid']}" if study.train is None else "")
    shown_as += f",\nrunning median of {study.smooth} points" if study.smooth > 1 else ""

    split = {"family": list(colors), "variant": variants}.get(study.split, [None])
    wide = 2 if len(split) > 1 or study.across else 1
    figure = Figure(figsize=(6.5 + 3 * (wide - 1), 3.5 * -(-len(split) // 2)), layout="constrained")
    panels = figure.subplots(-(-len(split) // 2), wide, sharex=len(split) > 1, sharey=len(split) > 1, squeeze=False)
    panels, used = list(panels.flat), 2 if study.across else len(split)
    for unused in panels[used:]:
        unused.remove()
    panels = panels[:used]
    for panel, part in zip(panels, split, strict=False):
        for family, variant, row in runs:
            if part in (None, family, variant):
                style, color = styles.get(variant, "-"), shades.get((family, variant), colors[family])
                panel.plot(*curve(study, results, row), color=color, linestyle=style, linewidth=1)
        panel.set(xlabel=study.axis, ylabel=shown_as)
        panel.set_title(part, fontsize="medium")
        panel.locator_params(axis="x", nbins=6)
    if study.across:
        draw_across(study, runs, colors, panels[1])
        panels[1].set(xlabel=study.across, ylabel=f"{label}, {parts[study.judged]}")
    for panel in panels:
        for value in (study.prior or {}).values():
            panel.axhline(value, color="gray", linestyle=":")
        if study.log:
            panel.set_yscale("log")
        low, high = panel.get_ylim()
        panel.set_ylim(max(low, study.bottom or low), min(high, study.top or high))
        if study.log:
            label_ticks(panel)
        panel.grid(alpha=0.3)

    labels = {} if study.split == "family" else {family: (family, color) for family, color in colors.items()}
    if len(colors) == 1 and shades:
        labels = {kind: (f"{study.across} {kind[1]}", color) for kind, color in shades.items()}
    for family in labels if len(colors) > 1 else ():
        mine = [variant for name, variant in shades if name == family]
        if len(mine) > 1:
            labels[family] = (f"{family}, {mine[0]} to {mine[-1]} {study.across}: light to dark", colors[family])
    entries = [Line2D([], [], color=color, label=label) for label, color in labels.values()]
    entries += [
        Line2D([], [], color="black", linestyle=style, label=f"{study.across or ''} {variant}".strip())
        for variant, style in styles.items()
        if variant is not None
    ]
    entries += [Line2D([], [], color="gray", linestyle=":", label=name) for name in study.prior or {}]
    figure.legend(handles=entries, loc="outside right upper", fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def styled(study: Study, colors: dict, kinds: list[tuple]) -> tuple[dict, dict]:
    """Returns the line styles of variants, or the shades of families and variants where there are too many."""
    variants = list(dict.fromkeys(variant for _, variant in kinds))
    if study.split == "variant":
        return {}, {}
    if len(variants) <= len(STYLES):
        return dict(zip(variants, STYLES, strict=False)), {}
    if len(colors) == 1:
        shades = colored(variants)
        return {}, {(family, variant): shades[variant] for family in colors for variant in variants}
    shades = {}
    for family, color in colors.items():
        mine = list(dict.fromkeys(variant for name, variant in kinds if name == family))
        shades |= {(family, variant): (*color, k / len(mine)) for k, variant in enumerate(mine, 1)}
    return {}, shades


def curve(study: Study, results: dict, row: dict) -> tuple[list, np.ndarray]:
    """Returns the points of a run's curve."""
    points, updates = row["curve"], results["settings"].get("updates")
    values = np.array([point[study.metric] for point in points], float)  # NaN, a gap, where there is none.
    half = study.smooth // 2
    if half:
        values = np.array([np.median(values[max(0, k - half) : k + half + 1]) for k in range(len(values))])
    return [point[study.axis] if study.axis in point else updates * k for k, point in enumerate(points, 1)], values


def draw_across(study: Study, runs: list[tuple], colors: dict, panel) -> None:
    """Draws figures over the number in which models differ, without runs that diverged.

    Those of a family without such a number are a line.
    """
    placed = {}
    for family, color in colors.items():
        points = {}
        for name, variant, row in runs:
            if name == family and not row["diverged"]:
                points.setdefault(variant, []).append(row["figures"][study.metric])
        if not points:
            continue
        means = [np.mean(values) for values in points.values()]
        errors = [mean_and_error(values)[1] if len(values) > 2 else 0 for values in points.values()]
        if None in points:
            panel.axhline(means[0], color=color, linewidth=1)
            continue
        places = list(points)
        if len(places) == 1:  # Beside others of that place, not on them.
            placed[places[0]] = placed.get(places[0], 0) + 1
            places = [places[0] + 0.15 * placed[places[0]]]
        panel.errorbar(places, means, errors, fmt="o-", color=color, linewidth=1, markersize=3)
    panel.set_xticks(sorted({variant for _, variant, _ in runs if variant is not None}))


def label_ticks(panel) -> None:
    """Labels a logarithmic axis at round numbers, however few powers of ten it has."""
    low, high = panel.get_ylim()
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter(PlainLogFormatter())
    if high < 4 * low:
        panel.yaxis.set_major_locator(MaxNLocator(7))
        panel.yaxis.set_minor_locator(NullLocator())
    elif high < 10 * low:
        panel.yaxis.set_minor_locator(LogLocator(subs=(1.2, 1.5, 2, 3, 4, 6, 8)))


def parse(study: Study, argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python -m examples.papers.{study.name}",
        description=f"{study.title}. {study.claim}\n\n{study.protocol}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="seeds (%(default)s)")
    parser.add_argument("--budget", choices=study.budgets, default="small", help="sizes and updates (%(default)s)")
    parser.add_argument("--models", nargs="+", choices=study.models, default=study.models, help="all by default")
    parser.add_argument("--data", help="file or folder of the data, where the study reads some")
    parser.add_argument("--output", default="runs/papers", help="folder for checkpoints (%(default)s)")
    parser.add_argument("--results", help="JSON file of the results; by default beside this module")
    parser.add_argument("--picture", help="PNG file of the curves; by default in docs/images/results")
    return parser.parse_args(argv)


def begin(study: Study, args: argparse.Namespace) -> tuple[pathlib.Path, dict]:
    """Returns the file of the results, and what it has so far."""
    path = pathlib.Path(args.results or RESULTS / f"{study.name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": []}
    asked = {"budget": args.budget, "settings": json.loads(json.dumps(study.budgets[args.budget]))}
    if any(results.get(name, value) != value for name, value in asked.items()):
        sys.exit(f"error: {path} has results of another budget or other settings: delete it, or choose other --results")
    versions = {
        "keras_adaptive_rnn": keras_adaptive_rnn.__version__,
        "keras": keras.__version__,
        "backend": keras.backend.backend(),
        "python": platform.python_version(),
    }
    machine = f"{platform.machine()}, cores: {len(os.sched_getaffinity(0))}"
    return path, {"name": study.name, **asked, "versions": versions, "machine": machine, "runs": results["runs"]}


def add(study: Study, path: pathlib.Path, results: dict, row: dict) -> None:
    """Adds a row to the results, in place of an older one of the same model and seed, and writes them."""
    same = [r for r in results["runs"] if (r["model"], r["seed"]) == (row["model"], row["seed"])]
    results["runs"] = [r for r in results["runs"] if r not in same] + [row]
    results["runs"].sort(key=lambda r: (study.models.index(r["model"]), r["seed"]))
    write(path, results)


def finish(study: Study, args: argparse.Namespace, path: pathlib.Path, results: dict) -> None:
    """Draws the curves, and prints the table."""
    picture = pathlib.Path(args.picture or PICTURES / f"{study.name}.png")
    plot(study, results, picture)
    header, lines = table(study, results)
    shown_table = Table(*header, title=study.title)
    for cells in lines:
        shown_table.add_row(*cells)
    Console().print(shown_table)
    print(*differences(study, results), sep="\n")
    print(f"The results are in {path}, the curves in {picture}.")


def run(study: Study, argv: list[str] | None = None) -> dict:
    """Runs the command of a study, and returns its results. What is done already is not done again."""
    args = parse(study, argv)
    settings = study.budgets[args.budget]
    try:
        data = study.read(args.data, settings)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    path, results = begin(study, args)
    trainings = [
        Training(study, model, seed, settings, data, pathlib.Path(args.output) / study.name / args.budget)
        for seed in args.seeds
        for model in args.models
        if not any(row["model"] == model and row["seed"] == seed for row in results["runs"])
    ]
    columns = (TextColumn("{task.description:50}"), BarColumn(), MofNCompleteColumn(), TextColumn("rounds"))
    with Progress(*columns, TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn()) as progress:
        line = progress.add_task(study.title, total=len(trainings) * settings["rounds"])
        for k, training in enumerate(trainings):
            progress.update(line, completed=k * settings["rounds"] + training.state["round"])
            row = training.run(lambda text: progress.update(line, advance=1, description=text))
            add(study, path, results, row)
    finish(study, args, path, results)
    return results


def main(study: Study) -> None:
    try:
        run(study)
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command goes on from the last round.")


def equal_units(count: Callable[[int], int], weights: int) -> int:
    """Returns the units at which `count(units)`, a growing number of weights, comes closest to `weights`."""
    low, high = 1, 2
    while count(high) < weights:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count(middle) < weights else (low, middle)
    return min(low, high, key=lambda units: abs(count(units) - weights))


def set_gate_biases(cell: keras.Layer, biases: dict[int, float]) -> None:
    """Sets the biases of some gates of a cell, by their places; those of the others are zero."""
    (bias,) = (weight for weight in cell.weights if weight.path.endswith("/bias"))
    # Where inputs and states have biases of their own, those of the inputs.
    values = np.zeros(bias.shape, "float32").reshape(-1, bias.shape[-1] // cell.units, cell.units)
    for place, value in biases.items():
        values[0, place] = value
    bias.assign(values.reshape(bias.shape))


def weights_of(layer: keras.Layer, features: int) -> int:
    """Builds a layer for sequences of vectors, and returns its number of weights."""
    layer.build((None, None, features))
    return layer.count_params()
