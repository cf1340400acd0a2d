"""A language model of words or characters, trained as in a paper, or on a CPU, and evaluated in four ways.

The text is a folder with a training, a validation and a test file, such as `ptb.train.txt`, `ptb.valid.txt` and
`ptb.test.txt`, or a single file, which is split, or, by default, the Python language reference:

    python examples/word_language_model.py --small --minutes 20
    python examples/word_language_model.py --text penn/ --paper adaptive-lstm
    python examples/word_language_model.py --text penn/ --model mogrifier --small --words 120000

`--paper` sets all options to those of a paper (`recipes.py`), which need a GPU and days; options given beside it take
precedence. `--small` has sizes for a CPU, for the cell of `--model`. Where the code of the Mogrifier draws new masks of
input, inter-layer and output dropout in each step, a mask holds for a segment here.

The run prints a table of perplexities: of the plain model, at a tuned temperature, averaged over dropout masks (Monte
Carlo) without and with one, and while the model goes on learning (dynamic evaluation). It leaves `preset`, `curves.png`
and `results.json` in `runs/word_language_model`. Stopped or killed, the same command goes on, and ends with the same
weights (with `--minutes`, with those of as long a training). It works on every backend of Keras
(`KERAS_BACKEND=jax`, `tensorflow` or `torch`).
"""

import argparse
import functools
import itertools
import json
import math
import os
import pathlib
import re
import sys
import textwrap
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

# For `examples`, where this file is run as a script.
sys.path.append(str(pathlib.Path(__file__).parents[1]))

import keras
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import keras_adaptive_rnn as kar
from examples import recipes
from keras_adaptive_rnn import callbacks, evaluation, hub, maps, optimizers
from keras_adaptive_rnn.cells import adaptive
from keras_adaptive_rnn.datasets import TokenStream

END = "<eos>"
PARTS = ("train", "valid", "test")
SHARES = {"valid": 0.05, "test": 0.05}  # Of a single file, at its end.
NEVER = 10**9  # Epochs that no run reaches.
PAPER, MODEL = "awd-lstm", "awd"  # By default.

# Three million weights with 5,476 words. The kit of AWD-LSTM for all but the plain LSTM.
SMALL = {
    **recipes.AWD_LSTM,
    "embedding": 224,
    "units": [448, 224],
    "optimizer": "adam",
    "learning_rate": 2e-3,
    "beta_1": 0.0,
    "clip": 1.0,
    "weight_decay": 0.0,
    "anneal": True,
    "batch": 16,
    "steps": 35,
    "spread": 0.0,
    "half": 0.0,
    "epochs": 30,
    "rule": "none",
    "latest": 0.75,
    "words": 120_000,
    "min_count": 2,
}
# These cells drop their state, with one mask for a segment, where AWD-LSTM drops recurrent weights.
STATE = {**SMALL, "weight_drop": 0.0, "state_dropout": 0.25}
SMALLS = {
    "awd": SMALL,
    "mogrifier": {**SMALL, "cell": "mogrifier", "units": [400, 224], "rank": 40},
    "adaptive-lstm": {**STATE, "cell": "adaptive-lstm", "units": [322, 224], "policy_units": 48},
    "low-rank-lstm": {**STATE, "cell": "low-rank-lstm", "units": [732, 224], "rank": 64, "tied": False},
    # The remedy for instability of the paper's appendix A.2: without it, training on the Penn Treebank diverged.
    "low-rank-gru": {
        **STATE,
        "cell": "low-rank-gru",
        "units": [987, 224],
        "rank": 64,
        "tied": False,
        "weight_normalization": True,
    },
    "highway": {**STATE, "cell": "highway", "units": [432, 224]},
    "multiplicative-lstm": {**STATE, "cell": "multiplicative-lstm", "units": [377, 224]},
    "lstm": {
        **SMALL,
        "word_dropout": 0.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.3,
        "output_dropout": 0.3,
        "weight_drop": 0.0,
        "activation_regularization": 0.0,
        "temporal_regularization": 0.0,
        "latest": None,
    },
}
SETTINGS = [*(recipe.settings for recipe in recipes.PAPERS.values()), *SMALLS.values()]
CELLS = tuple(dict.fromkeys(settings["cell"] for settings in SETTINGS))
# Options that some cells do not have.
LACKING = {
    "low-rank-lstm": ("weight_drop",),
    "low-rank-gru": ("weight_drop", "cap_input_gate", "update_dropout"),
    "highway": ("cap_input_gate", "update_dropout"),
    "deep-rnn": ("weight_drop", "cap_input_gate", "update_dropout"),
}
# Options that no other cells have.
OF_CELLS = {
    "policy_dropout": ("adaptive-lstm",),
    "static_gates": ("mogrifier",),
    "gate_activation": ("mogrifier",),
    "block_dropout": ("deep-rnn",),
    "weight_normalization": ("low-rank-lstm", "low-rank-gru"),
}
LEARNING_RATES = {"sgd": 30.0, "adam": 2e-3}
# How a trained model is judged, and the options of each.
METHODS = {
    "static": (),
    "temperature": ("temperatures", "tune_tokens"),
    "monte-carlo": ("samples", "dropout_scale", "tune_tokens"),
    "monte-carlo-temperature": ("samples", "dropout_scale", "temperatures", "tune_tokens"),
    "dynamic": ("dynamic_rate", "dynamic_decay", "dynamic_epsilon", "dynamic_steps", "tune_tokens"),
}
# What does not change the training.
AFTERWARDS = {"output", "skip", "rows"}.union(*METHODS.values())


# Texts.


def read_file(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read the text {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"the text {path} is not UTF-8: {error.reason} at byte {error.start}") from None


def read_reference() -> str:
    """Returns the Python language reference, each paragraph once, so that none is in two parts."""
    from pydoc_data.topics import topics

    return "\n".join(dict.fromkeys("\n\n".join(topics[name] for name in sorted(topics)).split("\n\n")))


def read_parts(path: str | None, split_punctuation: bool, tokens: str = "words") -> dict[str, str]:
    """Returns the training, the validation and the test text, without empty lines."""
    if path is not None and pathlib.Path(path).is_dir():
        files = {part: sorted(pathlib.Path(path).glob(f"*{part}*")) for part in PARTS}
        for part, found in files.items():
            if len(found) != 1:
                names = ", ".join(file.name for file in found) or "none"
                raise ValueError(f"the folder {path} needs one file with '{part}' in its name, and has {names}")
        parts = {part: read_file(found[0]) for part, found in files.items()}
    else:
        lines = (read_reference() if path is None else read_file(pathlib.Path(path))).splitlines()
        test = len(lines) - int(SHARES["test"] * len(lines))
        valid = test - int(SHARES["valid"] * len(lines))
        cut = lines[:valid], lines[valid:test], lines[test:]
        parts = {part: "\n".join(some) for part, some in zip(PARTS, cut, strict=True)}
    if split_punctuation or (path is None and tokens == "words"):
        parts = {part: re.sub(r"([^\w\s])", r" \1 ", text) for part, text in parts.items()}
    return {part: "".join(f"{line}\n" for line in text.splitlines() if line.split()) for part, text in parts.items()}


def first_tokens(text: str, count: int, tokens: str) -> str:
    if tokens == "characters":
        return text[:count]
    lines = [[*line.split(), "\n"] for line in text.splitlines()]  # The end of a line is a word.
    return " ".join(itertools.islice(itertools.chain.from_iterable(lines), count))


def prepare(args: argparse.Namespace) -> tuple[hub.VocabularyTokenizer, dict[str, np.ndarray]]:
    """Returns the tokenizer, and the ids of each part. Tokens are counted in the training text."""
    parts = read_parts(args.text, args.split_punctuation, args.tokens)
    if args.words is not None:
        parts["train"] = first_tokens(parts["train"], args.words, args.tokens)
    if empty := [part for part in PARTS if not parts[part]]:
        raise ValueError(f"the {empty[0]} part of {args.text} is empty: give a longer text")
    is_folder = args.text is not None and pathlib.Path(args.text).is_dir()
    # A folder is taken for a prepared text, whose rare words are one word already.
    min_count = args.min_count or (1 if is_folder else 2)
    # Of characters, the end of a line is one.
    split, end = ("word", END) if args.tokens == "words" else ("character", None)
    tokenizer = hub.VocabularyTokenizer.from_text(parts["train"], split, min_count, end_token=end)
    ids = {part: np.asarray(tokenizer(text)) for part, text in parts.items()}
    # Validation in `fit` has as many rows as training, the evaluation afterwards has `--rows`.
    for part, rows in (("train", args.batch), ("valid", max(args.batch, args.rows)), ("test", args.rows)):
        steps = args.steps if part == "train" else 1
        if len(ids[part]) < rows * (steps + 1):
            raise ValueError(
                f"the {part} part of the text has {len(ids[part]):,} {args.tokens}, and {rows} rows of {steps} steps "
                f"need at least {rows * (steps + 1):,}: give a longer text, or a smaller --batch, --steps or --rows"
            )
    return tokenizer, ids


# The model.


def make_cells(args: argparse.Namespace) -> list:
    """Returns the cells of the layers, the lowest first."""
    if args.cell == "adaptive-lstm":
        # One cell of several layers, whose masks of a state hold for the layer above as well.
        return [
            kar.StackedAdaptiveLSTMCells(
                args.units,
                policy=args.policy,
                policy_units=args.policy_units,
                adaptation=args.adaptation,
                tied=args.tied,
                policy_dropout=args.policy_dropout,
                recurrent_dropout=args.state_dropout,
                update_dropout=args.update_dropout,
                cap_input_gate=args.cap_input_gate,
                **drop_weights(args),
            )
        ]
    # The dropout of the lowest layer is the input dropout.
    return [make_cell(units, args.hidden_dropout if k else 0.0, args) for k, units in enumerate(args.units)]


def make_cell(units: int, dropout: float, args: argparse.Namespace):
    options = {"dropout": dropout, "recurrent_dropout": args.state_dropout}
    low_rank = {"tied": args.tied, "weight_normalization": args.weight_normalization}
    if args.weight_normalization:
        low_rank["recurrent_constraint"] = keras.constraints.MaxNorm(10)
    if args.cell == "low-rank-gru":
        # The paper's form for language models (appendix A.2).
        return kar.LowRankGRUCell(units, args.rank, reset_after=True, **low_rank, **options)
    if args.cell == "deep-rnn":
        # Its dropout is that of all of its layers.
        options["dropout"] = args.hidden_dropout
        return kar.DeepRNNCell(units, args.depth, block_dropout=args.block_dropout, **options)
    if args.cell == "highway":
        return kar.RecurrentHighwayCell(units, args.depth, **options, **drop_weights(args))
    options |= {"cap_input_gate": args.cap_input_gate, "update_dropout": args.update_dropout}
    if args.cell == "low-rank-lstm":
        return kar.LowRankLSTMCell(units, args.rank, **low_rank, **options)
    if args.optimizer == "sgd":
        # As in AWD-LSTM.
        uniform = functools.partial(keras.initializers.RandomUniform, -(units**-0.5), units**-0.5)
        options |= {f"{name}_initializer": uniform() for name in ("kernel", "recurrent", "bias")}
        options["unit_forget_bias"] = False
    options |= drop_weights(args)
    if args.cell == "mogrifier":
        gates = {"static_gates": args.static_gates, "gate_activation": args.gate_activation}
        return kar.MogrifierCell(units, rounds=args.rounds, rank=args.rank, zigzag=args.zigzag, **gates, **options)
    return {"lstm": kar.LSTMCell, "multiplicative-lstm": kar.MultiplicativeLSTMCell}[args.cell](units, **options)


def drop_weights(args: argparse.Namespace) -> dict:
    return {"recurrent_map": maps.DropConnect(args.weight_drop)} if args.weight_drop else {}


def make_model(tokenizer: hub.VocabularyTokenizer, args: argparse.Namespace) -> hub.RecurrentCausalLM:
    keras.utils.set_random_seed(args.seed)
    cells = make_cells(args)
    if args.sum_layers:
        cells = [kar.StackedCells(cells, connection="skip")]
    size = tokenizer.vocabulary_size()
    backbone = hub.RecurrentBackbone(
        size,
        size if args.embedding_kind == "one-hot" else args.embedding,
        cells,
        args.tie_weights,
        embedding_dropout=args.input_dropout,
        output_dropout=args.output_dropout,
        word_dropout=args.word_dropout,
        activation_regularization=args.activation_regularization,
        temporal_regularization=args.temporal_regularization,
        embeddings_initializer={
            "trained": keras.initializers.RandomUniform(-0.1, 0.1),
            "one-hot": keras.initializers.Identity(),
            "normal": keras.initializers.RandomNormal(stddev=1.0),
        }[args.embedding_kind],
    )
    backbone.token_embedding.trainable = args.embedding_kind == "trained"
    preprocessor = hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=100)
    lm = hub.RecurrentCausalLM(backbone, preprocessor, args.experts, args.expert_dropout)
    clip = args.clip or None
    if args.optimizer == "sgd":
        inner = keras.optimizers.SGD(args.learning_rate, weight_decay=args.weight_decay or None, global_clipnorm=clip)
    else:
        inner = keras.optimizers.Adam(args.learning_rate, args.beta_1, epsilon=1e-8, global_clipnorm=clip)
        if args.weight_decay:
            # Adam's own decay would not be scaled as the gradients are.
            for variable in lm.trainable_variables:
                variable.regularizer = keras.regularizers.L2(args.weight_decay / 2)
    lm.compile(optimizers.Averaged(inner))
    return lm


def scale(lm: hub.RecurrentCausalLM, ids: dict[str, np.ndarray], args: argparse.Namespace) -> None:
    """Scales the layers to unit variance (LSUV) on a first batch of the training text."""
    rows = ids["train"][: args.batch * args.steps].reshape(args.batch, args.steps)
    if args.embedding_kind == "normal":
        # A skip connection adds it to a layer, which cannot then have less variance.
        (embeddings,) = lm.backbone.token_embedding.get_weights()
        lm.backbone.token_embedding.set_weights([embeddings / embeddings[rows].std()])
    tokens = {"token_ids": rows, "padding_mask": np.ones_like(rows)}
    # Skip connections alone have nearly unit variance, so what the layers add to them need not be exact.
    callbacks.lsuv(lm.backbone, tokens, tolerance=0.1, seed=args.seed)


# Training.


def learning_rate(args: argparse.Namespace, epoch: int, perplexities: list[float]) -> float:
    """Returns the learning rate of an epoch, given the validation perplexities of those before it."""
    if args.anneal:
        return args.learning_rate * min(1.0, max(0.1, 2 * (1 - epoch / args.epochs)))
    cuts, best, since = sum(epoch >= at for at in args.cut_at), np.inf, 0
    if args.plateau:
        for perplexity in perplexities[args.look_every - 1 :: args.look_every]:
            best, since = (perplexity, 0) if perplexity < best else (best, since + 1)
            if since == args.plateau:
                cuts, since = cuts + 1, 0
    return args.learning_rate / args.cut**cuts


class Curves(keras.callbacks.Callback):
    """Keeps what each epoch has logged in a file, also over a restart, and says how long the others will take."""

    def __init__(self, path: pathlib.Path):
        super().__init__()
        self.path = path
        self.points = json.loads(path.read_text()) if path.exists() else []

    def perplexities_before(self, epoch):
        return [point["val_perplexity"] for point in self.points if point["epoch"] < epoch]

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.monotonic()
        if self.points and self.params["epochs"] < NEVER:
            left = self.params["epochs"] - epoch
            minutes = left * np.mean([point["seconds"] for point in self.points]) / 60
            print(f"Epochs left: {left}, about {minutes:.2g} minutes", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        # An epoch that was cut off before its backup comes again.
        self.points = [point for point in self.points if point["epoch"] < epoch]
        figures = {name: float(value) for name, value in logs.items()}
        self.points.append({"epoch": epoch, **figures, "seconds": round(time.monotonic() - self.start, 1)})
        write(self.path, self.points)


class LatestByTime(keras.callbacks.Callback):
    """Lets averaging begin after a share of the time, as `AveragingTrigger` counts epochs."""

    def __init__(self, trigger: callbacks.AveragingTrigger, limit: callbacks.TimeLimit, share: float):
        super().__init__()
        self.trigger, self.limit, self.share = trigger, limit, share

    def on_epoch_begin(self, epoch, logs=None):
        if self.trigger.latest is None and self.limit.spent >= self.share * self.limit.seconds:
            self.trigger.latest = epoch


def write(path: pathlib.Path, content) -> None:
    """Writes a JSON file, which is whole at any time."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(content, indent=1), encoding="utf-8")
    os.replace(new, path)


def train(lm: hub.RecurrentCausalLM, ids: dict[str, np.ndarray], args: argparse.Namespace, folder: pathlib.Path):
    """Trains until the epochs or the minutes are over; the model then has the weights of its best epoch."""
    stream = TokenStream(
        ids["train"], args.batch, args.steps, args.spread, args.half, min(5, args.steps), None, args.bucket, args.seed
    )
    validation = TokenStream(ids["valid"], args.batch, args.steps, spread=0, half=0)
    trigger = callbacks.AveragingTrigger(
        rule="all_but_last" if args.rule == "none" else args.rule,
        patience=NEVER if args.rule == "none" else args.patience,
    )
    curves = Curves(folder / "curves.json")
    parts = [callbacks.StreamStates(None if stream.is_fixed else stream, args.drop_state, args.seed)]
    if args.minutes:
        limit = callbacks.TimeLimit(60 * args.minutes, folder / "time.json", args.anneal)
        parts.append(limit)
        if args.latest is not None:
            parts.append(LatestByTime(trigger, limit, args.latest))
    else:
        trigger.latest = None if args.latest is None else round(args.latest * args.epochs)
    if args.cut_at or args.plateau or (args.anneal and not args.minutes):
        # From the file of the curves, so that a resumed run has the rates that it would have had.
        parts.append(
            keras.callbacks.LearningRateScheduler(
                lambda epoch, _: learning_rate(args, epoch, curves.perplexities_before(epoch))
            )
        )
    # In this order: what saves comes after what swaps the weights and their averages.
    backup = keras.callbacks.BackupAndRestore(folder / "backup", double_checkpoint=True, delete_checkpoint=False)
    lm.fit_streams(
        stream,
        epochs=args.epochs,
        validation=validation,
        callbacks=[*parts, keras.callbacks.TerminateOnNaN(), trigger, curves, backup],
        # In a file, a line for each epoch: a progress bar would fill it.
        verbose=1 if sys.stdout.isatty() else 2,
    )
    if not math.isfinite(curves.points[-1]["loss"]):
        what = f"training diverged in epoch {len(curves.points)}: give a lower --learning-rate or --clip"
        if len(curves.points) == 1:
            sys.exit(f"error: {what}, and another --output")
        print(f"The {what}. The model has the weights of its best epoch.", flush=True)


# Evaluation.


def best_of(judge, **options) -> dict:
    """Returns the settings with the lowest loss, of all combinations of options; a single one needs no trial."""
    candidates = [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]
    return candidates[0] if len(candidates) == 1 else min(candidates, key=lambda settings: judge(**settings).loss)


def evaluated(method: str, lm: hub.RecurrentCausalLM, ids: dict[str, np.ndarray], args: argparse.Namespace) -> dict:
    """Returns the settings that validation has chosen for a method, and the perplexities of both parts."""
    shown = {"verbose": sys.stdout.isatty()}
    passes = {"batch_size": args.rows, "steps": args.steps, "seed": args.seed, **shown}
    low, high = args.temperatures
    model, start, settings = lm.streaming_model(1), ids["valid"][: args.tune_tokens], {}
    tuned = functools.partial(evaluation.tune_temperature, model, start, low, high, **passes)
    if method == "dynamic":
        # Rows of ten segments and more, a hundred if the text is long enough.
        rows = min(100, max(1, len(ids["train"]) // (10 * args.dynamic_steps)))
        segments = {"steps": args.dynamic_steps, **shown}
        statistics = evaluation.gradient_statistics(model, ids["train"], batch_size=rows, **segments)
        judge = functools.partial(
            evaluation.dynamic_evaluate, model, statistics=statistics, epsilon=args.dynamic_epsilon, **segments
        )
        settings = best_of(functools.partial(judge, start), learning_rate=args.dynamic_rate, decay=args.dynamic_decay)
    else:
        judge = functools.partial(evaluation.evaluate, model, **passes)
        if method.startswith("monte-carlo"):
            judge = functools.partial(judge, samples=args.samples)
        if method == "temperature":
            settings = {"temperature": tuned()[0]}
        elif method == "monte-carlo":
            settings = best_of(functools.partial(judge, start), dropout_scale=args.dropout_scale)
        elif method == "monte-carlo-temperature":
            found = {scale: tuned(samples=args.samples, dropout_scale=scale) for scale in args.dropout_scale}
            scale, (temperature, _) = min(found.items(), key=lambda item: min(item[1][1].values()))
            settings = {"dropout_scale": scale, "temperature": temperature}
    return {"settings": settings, **{part: judge(ids[part], **settings).perplexity for part in ("valid", "test")}}


def evaluate(lm, ids, args, results: dict, path: pathlib.Path) -> None:
    """Adds each method's perplexities to `results`, and to the file, unless they are there."""
    found = results.setdefault("perplexity", {})
    for method, names in METHODS.items():
        if method in args.skip:
            found.pop(method, None)
            continue
        options = {name: getattr(args, name) for name in ("rows", *names)}
        if found.get(method, {}).get("options") == options:
            continue
        print(f"{method} evaluation", flush=True)
        found[method] = {"options": options, **evaluated(method, lm, ids, args)}
        write(path, results)


def make_table(found: dict, title: str, tokens: str = "words") -> Table:
    table = Table("evaluation", "chosen on validation", title=title)
    bits = ["test bits"] if tokens == "characters" else []
    for column in ("validation perplexity", "test perplexity", *bits, "test gain"):
        table.add_column(column, justify="right")
    for method, r in sorted(found.items(), key=lambda item: list(METHODS).index(item[0])):
        chosen = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in r["settings"].items())
        gain = "" if method == "static" or "static" not in found else f"{1 - r['test'] / found['static']['test']:.1%}"
        in_bits = [f"{np.log2(r['test']):.3f}"] if bits else []
        table.add_row(method, chosen, f"{r['valid']:.2f}", f"{r['test']:.2f}", *in_bits, gain)
    return table


def plot(points: list[dict], path: pathlib.Path, title: str) -> None:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    epochs = np.array([point["epoch"] + 1 for point in points])
    axes.plot(epochs, [point["val_perplexity"] for point in points], "o-", markersize=3, label="validation")
    # The training perplexity is the mean over an epoch.
    axes.plot(epochs - 0.5, [point["perplexity"] for point in points], "--", label="training, with dropout")
    averaged = [point["epoch"] for point in points if point["averaging"]]
    if averaged:
        axes.axvline(averaged[0], color="gray", linestyle=":", label="weights averaged from here on")
    axes.set(xlabel="epoch", ylabel="perplexity", yscale="log", title=title)
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


# The command.


def positive(kind):
    def parse(text):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"must be positive, and is {text}")
        return value

    return parse


def share(text):
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be in [0, 1), and is {text}")
    return value


def natural(text):
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number from 0 on, and is {text}")
    return value


def count(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must not be negative, and is {text}")
    return value


def rank(text):
    return text if text == "full" else positive(int)(text)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """Returns the options; those that are not given are the model's."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=described()
    )
    group = parser.add_argument_group("the text")
    group.add_argument("--text", help="folder or file, UTF-8; the Python language reference by default")
    group.add_argument("--tokens", choices=("words", "characters"), help="what the model reads and predicts")
    group.add_argument("--words", type=positive(int), help="train on so many words, or characters, the first ones")
    group.add_argument("--min-count", type=positive(int), help="rarer tokens of the training text become one")
    group.add_argument("--split-punctuation", action="store_true", help="make punctuation marks words of their own")

    group = parser.add_argument_group("the model")
    group.add_argument(
        "--paper", choices=recipes.PAPERS, help=f"whose settings to take, listed below ({PAPER}, unless --small)"
    )
    group.add_argument("--small", action="store_true", help="instead, sizes and settings for a CPU")
    group.add_argument("--model", choices=SMALLS, help=f"with --small: whose settings to take ({MODEL})")
    group.add_argument(
        "--embedding", type=positive(int), help="size of the embedding, to which a larger output is projected down"
    )
    group.add_argument(
        "--embedding-kind",
        choices=("trained", "one-hot", "normal"),
        help="the last two are not trained: the identity, and numbers of a normal distribution",
    )
    group.add_argument("--units", type=positive(int), nargs="+", help="units of each layer, the lowest first")
    group.add_argument("--cell", choices=CELLS, help="cell of the layers")
    group.add_argument("--rounds", type=int, help="rounds of the Mogrifier")
    group.add_argument("--rank", type=rank, help="rank of low-rank cells, and of the Mogrifier's gates, or 'full'")
    group.add_argument(
        "--gate-activation",
        choices=("sigmoid", "tanh"),
        help="activation of the Mogrifier's gates; with tanh, they may change a sign",
    )
    group.add_argument("--depth", type=positive(int), help="depth of a highway or deep RNN in a step")
    group.add_argument("--policy", choices=adaptive.POLICIES, help="policy of the adaptive LSTM")
    group.add_argument("--adaptation", choices=adaptive.ADAPTATIONS, help="what it adapts")
    group.add_argument("--policy-units", type=positive(int), help="units of the policy of the adaptive LSTM")
    group.add_argument("--experts", type=positive(int), help="softmaxes to mix; 1: one softmax")
    flag = functools.partial(group.add_argument, action=argparse.BooleanOptionalAction)
    flag("--zigzag", help="each gate of the Mogrifier reads what the round before it has made")
    flag("--static-gates", help="gates of the Mogrifier are learned scales, which read nothing; with --rank full")
    flag("--tie-weights", help="predict words with the matrix that embeds them")
    flag("--sum-layers", help="the output is the sum of all layers' outputs")
    flag("--cap-input-gate", help="keep the input gate below one minus the forget gate")
    flag("--tied", help="gates of the adaptive LSTM and of low-rank cells share what they read the state by")
    flag("--weight-normalization", help="normalize the matrices of low-rank cells, and bound their norms by 10")
    flag("--lsuv", help="before training, scale the layers to unit variance")

    group = parser.add_argument_group("dropout and penalties")
    for name, what in {
        "word": "words",
        "input": "embeddings",
        "hidden": "the outputs of lower layers",
        "state": "the state that a step reads",
        "policy": "the latents of the adaptive LSTM's policies",
        "update": "the candidates of an LSTM's memory",
        "block": "blocks of four layers of a deep RNN",
        "output": "the outputs of the last layer",
        "expert": "the vectors of the experts",
    }.items():
        group.add_argument(f"--{name}-dropout", type=share, help=f"rate at which {what} are dropped")
    group.add_argument("--weight-drop", type=share, help="rate at which recurrent weights are dropped")
    group.add_argument("--activation-regularization", type=natural, metavar="ALPHA", help="AR, on large outputs")
    group.add_argument("--temporal-regularization", type=natural, metavar="BETA", help="TAR, on changes of the output")

    group = parser.add_argument_group("training")
    group.add_argument("--epochs", type=positive(int), help="epochs; with --minutes, at most so many")
    group.add_argument("--minutes", type=positive(float), help="time of training alone, instead of the epochs")
    group.add_argument("--optimizer", choices=LEARNING_RATES, help="another one has another --learning-rate")
    group.add_argument("--learning-rate", type=positive(float), help=f"of another optimizer: {LEARNING_RATES}")
    group.add_argument("--beta-1", type=share, help="momentum of Adam")
    group.add_argument("--clip", type=natural, help="largest norm of the gradient; 0: no limit")
    group.add_argument("--weight-decay", type=natural, help="what of each weight is added to its gradient")
    flag = functools.partial(group.add_argument, action=argparse.BooleanOptionalAction)
    flag("--anneal", help="in the second half, let the learning rate fall to a tenth")
    group.add_argument("--cut-at", type=positive(int), nargs="*", help="epochs after which to cut the learning rate")
    group.add_argument(
        "--plateau", type=count, help="cut it when validation has not improved this many times in a row; 0: never"
    )
    group.add_argument("--look-every", type=positive(int), help="epochs from one look at validation to the next")
    group.add_argument("--cut", type=positive(float), help="what a cut divides the learning rate by")
    group.add_argument("--batch", type=positive(int), help="rows of the text that are read side by side")
    group.add_argument("--steps", type=positive(int), help="usual words of a segment")
    group.add_argument("--spread", type=natural, help="standard deviation of the lengths of segments")
    group.add_argument("--half", type=share, help="share of segments of half the length")
    group.add_argument("--bucket", type=positive(int), default=5, help="lengths are multiples of it (%(default)s)")
    group.add_argument("--drop-state", type=share, help="probability that a row forgets its state before a segment")
    group.add_argument(
        "--rule", choices=(*callbacks.averaging.RULES, "none"), help="when to begin to average the weights"
    )
    group.add_argument("--patience", type=positive(int), help="epochs of that rule")
    group.add_argument("--latest", type=share, help="share of the training after which averaging begins at the latest")
    group.add_argument("--seed", type=int, default=0, help="seed of weights, noise and lengths (%(default)s)")

    group = parser.add_argument_group("evaluation; of several numbers, the one that is best on validation is taken")
    group.add_argument("--skip", nargs="*", choices=[*METHODS][1:], default=[], help="methods to leave out")
    group.add_argument("--rows", type=positive(int), default=10, help="rows of the text; dynamic: one (%(default)s)")
    group.add_argument("--samples", type=positive(int), default=20, help="dropout masks (%(default)s)")
    group.add_argument(
        "--temperatures",
        type=positive(float),
        nargs=2,
        metavar=("LOW", "HIGH"),
        default=[0.8, 1.06],
        help="range of what the logits are multiplied by (%(default)s)",
    )
    many = functools.partial(group.add_argument, nargs="+")
    many("--dropout-scale", type=positive(float), default=[0.8], help="multiplies the rates (%(default)s)")
    many("--dynamic-rate", type=positive(float), default=[5e-5], help="learning rates (%(default)s)")
    many("--dynamic-decay", type=natural, default=[2e-3], help="rates of return (%(default)s)")
    group.add_argument("--dynamic-epsilon", type=positive(float), default=2e-5, help="(%(default)s)")
    group.add_argument("--dynamic-steps", type=positive(int), default=5, help="words of a segment (%(default)s)")
    group.add_argument("--tune-tokens", type=positive(int), default=20_000, help="words to choose by (%(default)s)")
    parser.add_argument("--output", default="runs/word_language_model", help="folder for the results (%(default)s)")
    args = parser.parse_args(argv)

    if args.temperatures[0] > args.temperatures[1]:
        parser.error(f"--temperatures must be LOW and HIGH, and are {args.temperatures}")
    if args.minutes and args.epochs is None:
        args.epochs = NEVER
    if args.small and args.paper:
        parser.error(f"--paper {args.paper} has sizes of its own: leave --small out, or take a --model")
    if args.model and not args.small:
        parser.error(f"--model {args.model} has settings for a CPU: add --small, or take a --paper")
    if args.small:
        args.model = args.model or MODEL
        defaults = SMALLS[args.model]
    else:
        args.paper = args.paper or PAPER
        defaults = recipes.PAPERS[args.paper].settings
    if args.optimizer not in (None, defaults["optimizer"]):
        defaults = {**defaults, "learning_rate": LEARNING_RATES[args.optimizer]}
    for name, value in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.rank == "full":
        args.rank = None
    for name in LACKING.get(args.cell, ()):
        if getattr(args, name):
            parser.error(f"--cell {args.cell} has no --{name.replace('_', '-')}")
    for name, cells in OF_CELLS.items():
        if getattr(args, name) != recipes.PLAIN[name] and args.cell not in cells:
            parser.error(f"--cell {args.cell} has no --{name.replace('_', '-')}: it is for {' and '.join(cells)}")
    if args.cell.startswith("low-rank") and args.rank is None:
        parser.error(f"--cell {args.cell} needs a --rank")
    if args.tie_weights and args.embedding_kind != "trained":
        parser.error(f"--embedding-kind {args.embedding_kind} cannot predict tokens: add --no-tie-weights")
    if args.anneal and (args.cut_at or args.plateau):
        parser.error("--anneal lowers the learning rate in a way of its own: leave out --cut-at and --plateau")
    return args


def described() -> str:
    """Returns the settings of all papers and models, each as the options that it sets."""
    entries = {"unless said otherwise": recipes.described(recipes.PLAIN, dict.fromkeys(recipes.PLAIN))}
    for name, (source, settings) in recipes.PAPERS.items():
        entries[f"--paper {name}"] = f"{source}: {recipes.described(settings)}"
    for name, settings in SMALLS.items():
        is_first = settings is SMALL
        changed = recipes.described(settings, recipes.PLAIN if is_first else SMALL)
        entries[f"--small --model {name}"] = changed if is_first else f"as {MODEL}, but for {changed}"
    indent = {"initial_indent": "    ", "subsequent_indent": "    "}
    wrap = functools.partial(textwrap.fill, width=100, break_on_hyphens=False, **indent)
    return "\n".join(["settings:", *(f"  {name}:\n{wrap(text)}" for name, text in entries.items())])


def announced(args: argparse.Namespace) -> str:
    """Returns whose settings run, and which of them were given otherwise."""
    if args.small:
        source, settings = f"{args.model} for a CPU", SMALLS[args.model]
    else:
        source, settings = recipes.PAPERS[args.paper]
    now = {name: getattr(args, name) for name in settings}
    changed = recipes.described(now, settings)
    return f"Settings of {source}: {recipes.described(now)}" + (f"\nOf these, given here: {changed}" if changed else "")


def begin(folder: pathlib.Path, args: argparse.Namespace, ids: dict[str, np.ndarray]) -> None:
    """Makes the folder of a run, or raises if it holds a run with other settings."""
    settings = {name: value for name, value in vars(args).items() if name not in AFTERWARDS}
    settings |= {"backend": keras.backend.backend(), **{f"{part} words": len(some) for part, some in ids.items()}}
    path = folder / "settings.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write(path, settings)
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    changed = [name for name in settings if settings[name] != before.get(name)]
    if changed:
        raise ValueError(
            f"{folder} holds a run with "
            + ", ".join(f"{name.replace('_', '-')} {before.get(name)}" for name in changed)
            + ": go on with these, choose another --output, or delete the folder"
        )


def main(argv: list[str] | None = None):
    """Trains and evaluates what the options `argv` say, by default those of the command."""
    args, folder = parse(argv), None
    try:
        tokenizer, ids = prepare(args)
        # Before the folder is made, for errors in the sizes.
        lm = make_model(tokenizer, args)
        folder = pathlib.Path(args.output)
        begin(folder, args, ids)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    preset, results = folder / "preset", folder / "results.json"
    name = args.paper or args.model
    print(announced(args))
    print(
        f"{name}: {lm.count_params():,} weights, {len(ids['train']):,} {args.tokens} of training, "
        f"{tokenizer.vocabulary_size():,} different ones ({keras.backend.backend()})",
        flush=True,
    )
    if not preset.exists():
        if args.lsuv:
            scale(lm, ids, args)
        train(lm, ids, args, folder)
        lm.save_to_preset(folder / "preset.new", card={"data": args.text or "the Python language reference"})
        (folder / "preset.new").rename(preset)
    lm = hub.RecurrentCausalLM.from_preset(str(preset))
    points = json.loads((folder / "curves.json").read_text())
    title = f"{name}, {lm.count_params():,} weights, {len(ids['train']):,} {args.tokens}"
    plot(points, folder / "curves.png", title)
    about = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    about |= {"keras": keras.__version__, "backend": keras.backend.backend(), **vars(args)}
    about |= {"weights": lm.count_params(), "vocabulary": tokenizer.vocabulary_size(), "curves": points}
    evaluate(lm, ids, args, about, results)
    write(results, about)
    Console().print(make_table(about["perplexity"], title, args.tokens))
    print(f"All results are in {folder}. Let the model write: python -m keras_adaptive_rnn.hub write {preset}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command goes on from the last epoch.")
