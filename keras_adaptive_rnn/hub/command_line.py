"""The commands of `python -m keras_adaptive_rnn.hub`."""

import itertools
import json
import math
import os
import pathlib
import shutil
import sys
import time

import keras
import keras_hub
import numpy as np
from rich.console import Console
from rich.table import Table

from keras_adaptive_rnn import callbacks, cells
from keras_adaptive_rnn._command_line import option_name
from keras_adaptive_rnn._hub_options import (
    OF_A_NEW_MODEL,
    VOCABULARY,
    check_train,
    is_file_of_tokens,
    is_finished,
    parse,
    work_of,
)
from keras_adaptive_rnn.files import LOCK, alone_in, alone_on, is_litter, replaced, write_whole, writing
from keras_adaptive_rnn.hub import presets
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.causal_lm import RecurrentCausalLM
from keras_adaptive_rnn.hub.journal import Journal, as_csv, read_log
from keras_adaptive_rnn.hub.preprocessor import RecurrentCausalLMPreprocessor
from keras_adaptive_rnn.hub.streams import fit_rounds
from keras_adaptive_rnn.hub.tokenizer import VocabularyTokenizer
from keras_adaptive_rnn.hub.tokens import pieces, write_token_ids

# Texts.


def tokens(args):
    """Writes the tokens of a text, and their vocabulary beside them."""
    with alone_on(args.path, "writing tokens"):
        tokenizer = tokenizer_of(args)
        count = tokenize(args.text, tokenizer, args.path)
    print(f"{count:,} tokens, {tokenizer.vocabulary_size():,} different ones, are in {args.path}")


def tokenizer_of(args):
    return VocabularyTokenizer.from_text(
        (text for text, _ in pieces(args.text)),
        args.split,
        args.min_count,
        args.max_size,
        end_token="<eos>" if args.split == "word" else None,
    )


def tokenize(text, tokenizer, path):
    """Writes the tokens of a text, and their vocabulary beside them; returns how many there are."""
    path = pathlib.Path(path)
    config = {"class": "VocabularyTokenizer", "split": tokenizer.split, "end_token": tokenizer.end_token}
    text_of = json.dumps({**config, "vocabulary": tokenizer.get_vocabulary()}, ensure_ascii=False)
    with replaced(path) as new, replaced(path.with_name(path.name + VOCABULARY)) as words:
        count = write_token_ids(pathlib.Path(text), tokenizer, new, verbose=sys.stderr.isatty())
        words.write_text(text_of, encoding="utf-8")
        # Tokens are never beside the vocabulary of others.
        path.unlink(missing_ok=True)
    return count


def read_tokens(path):
    """Returns the memory-mapped ids of a file of tokens, and its tokenizer."""
    beside = pathlib.Path(f"{path}{VOCABULARY}")
    config = presets.read_json(beside)
    try:
        words, split, end = (config[name] for name in ("vocabulary", "split", "end_token"))
        tokenizer = VocabularyTokenizer.from_config({"vocabulary": words, "split": split, "end_token": end})
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{beside} must hold the vocabulary of {path}, and is damaged: {error!r}") from error
    if not pathlib.Path(path).exists():
        raise ValueError(f"{path} is missing, though its vocabulary is there: run the command `tokens` again")
    try:
        ids = np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} must hold tokens, and is damaged: {error}") from error
    if getattr(ids, "ndim", None) != 1 or ids.dtype.kind != "u" or ids.max(initial=0) >= tokenizer.vocabulary_size():
        raise ValueError(f"{path} must hold tokens of the vocabulary in {beside}, and holds others")
    return ids, tokenizer


# Training.


def train(args):
    """Trains a model for some minutes, from where an earlier run was stopped."""
    with alone_in(work_of(args.preset), "training a language model"):
        # Again, as another training may have ended since.
        check_train(args)
        train_alone(args)


def train_alone(args):
    preset, work = pathlib.Path(args.preset), work_of(args.preset)
    if is_finished(work):
        settle(preset, work)
        print(f"The training was finished, and its model is in {preset}.")
        return
    source = preset if args.resume and preset.exists() else args.source
    make_cell = None if source else cell_maker(args)
    is_resumed = begin(work, args, source)
    if source == preset:
        check_same_model(args, preset)
    lm = None if source is None else RecurrentCausalLM.from_preset(source)
    path = pathlib.Path(args.text) if is_file_of_tokens(args.text) else work / "tokens.npy"
    if not path.exists() and path.parent == work:
        tokenize(args.text, tokenizer_of(args) if lm is None else lm.preprocessor.tokenizer, path)
    ids, tokenizer = read_tokens(path)
    if lm is not None:
        check_same_vocabulary(args.text, tokenizer, source, lm)
    held_out = int(args.validation * len(ids))
    needed = args.batch * (args.steps + 1)
    for part, size in (("training", len(ids) - held_out), *([("validation", held_out)] if args.validation else [])):
        if size < needed:
            shutil.rmtree(work)
            raise ValueError(
                f"{args.text} is too short: its {part} part has {size:,} tokens, and --batch {args.batch} with --steps "
                f"{args.steps} needs {needed:,}. Give a longer text, or a smaller --batch or --steps"
            )

    keras.utils.set_random_seed(args.seed)
    if lm is None:
        backbone = RecurrentBackbone(
            tokenizer.vocabulary_size(),
            args.units,
            [make_cell(k) for k in range(args.layers)],
            embedding_dropout=args.dropout,
            output_dropout=args.dropout,
            reset_token_id=document_token_id(args, tokenizer),
        )
        lm = RecurrentCausalLM(backbone, RecurrentCausalLMPreprocessor(tokenizer, sequence_length=1024))
    sampler = keras_hub.samplers.TopPSampler(p=0.9, temperature=0.8, seed=args.seed)
    lm.compile(keras.optimizers.Adam(args.learning_rate, global_clipnorm=1.0), sampler=sampler)
    print(
        f"{'Going on with' if is_resumed or source else 'Training'} {lm.count_params():,} weights on "
        f"{len(ids) - held_out:,} tokens, {tokenizer.vocabulary_size():,} different ones ({keras.backend.backend()})",
        flush=True,
    )
    earlier = read_log(preset / "log.csv") if source == preset else []
    limit = callbacks.TimeLimit(60 * args.minutes, work / "time.json")
    journal = Journal(work, "val_perplexity" if held_out else "perplexity", earlier)

    def begin_rounds(model, validation):
        first = journal.begin(model, validation if source else None)
        limit.resume(first)
        return None if limit.spent >= limit.seconds else first

    model = fit_rounds(
        lm,
        ids[: len(ids) - held_out],
        args.batch,
        args.steps,
        args.round,
        validation=ids[len(ids) - held_out :] if held_out else None,
        callbacks=[limit, keras.callbacks.TerminateOnNaN(), journal, Progress(limit, tokenizer)],
        begin=begin_rounds,
    )
    # The weights of the streaming model are those of the language model.
    best, rows = journal.load_best(model), read_log(journal.log)
    if rows and not math.isfinite(rows[-1]["loss"]):
        what = f"training diverged in round {rows[-1]['epoch'] + 1}: --learning-rate {args.learning_rate} is too high"
        if not math.isfinite(best[journal.monitor]):
            shutil.rmtree(work)
            raise ValueError(what)
        print(f"The {what}. The model has the weights of its best round.")
    if "epoch" not in best:
        print("No round was better than the weights that it began with, so these stay.")
        lm = RecurrentCausalLM.from_preset(source)
        lm.compile(sampler=sampler)
    finish(args, lm, earlier + rows, best, limit, work)


class Progress(keras.callbacks.Callback):
    """Prints a line for each round and, in a terminal, the progress within it."""

    def __init__(self, limit, tokenizer):
        super().__init__()
        self.limit, self.unit = limit, unit_of(tokenizer)
        self.shown = 0.0

    def on_train_batch_end(self, batch, logs=None):
        now = time.monotonic()
        if sys.stdout.isatty() and now > self.shown + 0.5:
            self.shown = now
            print(f"\r{self._time()}\x1b[K", end="", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        end = "\r\x1b[K" if sys.stdout.isatty() else ""
        parts = [("training", logs["perplexity"])]
        parts += [("validation", logs["val_perplexity"])] if "val_perplexity" in logs else []
        scores = ", ".join(f"{name} perplexity {x:.2f} ({math.log2(x):.3f} bits per {self.unit})" for name, x in parts)
        print(f"{end}round {epoch + 1}, {self._time()}: {scores}", flush=True)

    def _time(self):
        return f"{self.limit.steps:,} steps, {self.limit.spent / 60:.1f} of {self.limit.seconds / 60:.3g} minutes"


def document_token_id(args, tokenizer):
    """Returns the id of `--document-token`, or raises if it is no token of the text."""
    if args.document_token is None:
        return None
    vocabulary = tokenizer.get_vocabulary()
    if args.document_token not in vocabulary:
        shutil.rmtree(work_of(args.preset))
        raise ValueError(
            f"--document-token {args.document_token!r} is no {unit_of(tokenizer)} that is in {args.text} at least "
            f"--min-count {args.min_count} times"
        )
    return vocabulary.index(args.document_token)


def unit_of(tokenizer):
    """Returns the name of a unit of text: character, word or token."""
    return getattr(tokenizer, "split", "token")


def cell_maker(args):
    """Returns the function that makes the cell of a layer, or raises if the arguments make none."""
    names = [name for name in cells.__all__ if name.endswith("Cell")]
    known = {option_name(name.removesuffix("Cell")): getattr(cells, name) for name in names}
    if args.cell not in known:
        raise ValueError(f"--cell must be one of {', '.join(sorted(known))}, and is {args.cell}")
    chosen = dict(args.set)
    if args.cell == "mogrifier":
        chosen.setdefault("rank", min(32, args.units))

    def make(layer):
        dropout = {"dropout": args.dropout} if args.dropout and layer else {}
        return known[args.cell](args.units, **dropout, **chosen)

    make(0)
    return make


def begin(work, args, source=None):
    """Makes the folder of a training; returns whether one goes on there, or raises if it has other settings."""
    left_out = ("command", "minutes", "license", "resume", "source")
    settings = {name: value for name, value in vars(args).items() if name not in left_out}
    settings["from"] = None if source is None else str(source)
    settings["set"] = dict(settings["set"])
    settings["bytes"] = pathlib.Path(args.text).stat().st_size
    path = work / "settings.json"
    if path.exists():
        before = presets.read_json(path)
        changed = [name for name in settings if settings[name] != before.get(name)]
        if changed:
            raise ValueError(
                f"{work} holds an unfinished training with "
                + ", ".join(f"--{name} {before.get(name)}" for name in changed)
                + ": go on with these, choose another --preset, or delete the folder"
            )
        return (work / "log.csv").exists()
    if work.exists() and any(not is_litter(file) for file in work.iterdir()):
        raise ValueError(f"{work} holds other files than a training: choose another --preset")
    write_whole(path, json.dumps(settings))
    return False


def check_same_model(args, preset):
    """Raises if options contradict the model of a preset whose training is resumed."""
    path = preset / "training.json"
    before = presets.read_json(path) if path.exists() else {}
    default = parse(["train", "", "--preset", ""])
    for name in OF_A_NEW_MODEL:
        value = getattr(args, name)
        if value and value != getattr(default, name) and value != before.get(name):
            raise ValueError(
                f"--{name.replace('_', '-')} {value} is not that of the model in {preset}, which --resume trains on: "
                "leave it out"
            )


def check_same_vocabulary(text, tokenizer, preset, lm):
    if tokenizer.get_vocabulary() != lm.preprocessor.tokenizer.get_vocabulary():
        raise ValueError(f"{text} has another vocabulary than {preset}")


def finish(args, lm, history, scores, limit, work):
    """Saves the model, its curves and its card, and prints its scores and a sample."""
    preset, unit = pathlib.Path(args.preset), unit_of(lm.preprocessor.tokenizer)
    prefix = "val_" if "val_perplexity" in scores else ""
    perplexity = scores[f"{prefix}perplexity"]
    training = (
        f"{limit.steps:,} steps of {args.batch} x {args.steps} tokens in {limit.spent / 60:.1f} minutes, Adam at "
        f"{args.learning_rate}, on {keras.backend.backend()}"
    )
    settings = presets.read_json(work / "settings.json")
    if settings["from"]:
        training += f", from {'an earlier training' if settings['from'] == args.preset else settings['from']}"
    card = {
        "data": f"{pathlib.Path(args.text).name}, {limit.steps * args.batch * args.steps:,} tokens read",
        "license": args.license,
        "perplexity": f"{perplexity:.3f} per {unit} on "
        + (f"the last {args.validation:.0%}" if prefix else "what it read"),
        "training": training,
    }
    new = work / "preset"
    if new.exists():
        shutil.rmtree(new)
    with writing(new):
        lm.save_to_preset(new, card=card)
        plot(history, new / "curves.png")
    write_whole(new / "log.csv", as_csv(history))
    write_whole(new / "training.json", json.dumps(settings))
    # All that is left is to put the folder in its place.
    write_whole(work / "finished", "")
    settle(preset, work)
    cells = [layer.cell for layer in lm.backbone.recurrent_layers]
    columns = {
        "model": f"{len(cells)} x {type(cells[-1]).__name__} {cells[-1].output_size}",
        "validation perplexity" if prefix else "perplexity": f"{perplexity:.2f}",
        f"bits per {unit}": f"{math.log2(perplexity):.3f}",
        "weights": f"{lm.count_params():,}",
        "steps": f"{limit.steps:,}",
    }
    print_table(args.preset, columns)
    print(sample(lm))
    print(f"The model and its curves are in {args.preset}. Go on: python -m keras_adaptive_rnn.hub write {args.preset}")


def settle(preset, work):
    """Puts the model of a finished training in its place, in which there may be an earlier one, and clears its folder.

    It may be interrupted at any point, and called again.
    """
    if (work / "preset").exists():
        if os.path.lexists(preset):
            if presets.read_json(work / "settings.json")["from"] != str(preset):
                raise ValueError(
                    f"{preset} has appeared since the training began: move it away, and the same command puts the "
                    "model there"
                )
            preset.rename(work / "earlier")
        (work / "preset").rename(preset)
    for path in work.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in ("finished", LOCK):
            path.unlink()
    (work / "finished").unlink()


def sample(lm, tokens=300):
    """Returns a sample of a model's writing, or a hint if it is too poor to show."""
    text = "".join(itertools.islice(lm.stream(first_prompt(lm), math.inf, None), tokens))
    is_of_words = getattr(lm.preprocessor.tokenizer, "split", None) == "word"
    if len(set(text.split() if is_of_words else "".join(text.split()))) < 3:
        return "It has learnt too little to write anything yet: train it on, with --resume."
    return f"It writes:\n\n{text}\n"


def plot(rows, path):
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, label in (("perplexity", "training (mean of a round)"), ("val_perplexity", "validation")):
        drawn = [(row["epoch"] + 1, row[name]) for row in rows if name in row]
        if drawn:
            axes.plot(*zip(*drawn, strict=True), "o-", markersize=4, label=label)
    axes.set(xlabel="round", ylabel="perplexity", yscale="log")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


# Using a model.


def first_prompt(lm):
    """Returns a prompt from which a model can begin a text."""
    tokenizer = lm.preprocessor.tokenizer
    if getattr(tokenizer, "start_token_id", None) is not None:
        return ""
    has_lines = "\n" in tokenizer.get_vocabulary() or getattr(tokenizer, "end_token", None)
    return "\n" if has_lines else tokenizer.id_to_token(1)


def write(args):
    """Prints a text as the model writes it."""
    lm = RecurrentCausalLM.from_preset(args.preset)
    samplers, noise = keras_hub.samplers, {"temperature": args.temperature, "seed": args.seed}
    sampler = {
        "greedy": samplers.GreedySampler(),
        "random": samplers.RandomSampler(**noise),
        "top_k": samplers.TopKSampler(**noise),
        "top_p": samplers.TopPSampler(p=0.9, **noise),
    }[args.sampler]
    lm.compile(sampler=sampler)
    states = lm.read(args.prompt or first_prompt(lm))
    print(args.prompt, end="", flush=True)
    for piece in itertools.islice(lm.stream("", math.inf, None, states), args.length):
        print(piece, end="", flush=True)
    print()


def score(args):
    """Prints the perplexity of a model on a text."""
    lm = RecurrentCausalLM.from_preset(args.preset)
    if is_file_of_tokens(args.text):
        text, tokenizer = read_tokens(args.text)
        check_same_vocabulary(args.text, tokenizer, args.preset, lm)
    else:
        text = "".join(text for text, _ in pieces(args.text))
    result = lm.evaluate_streams(text, batch_size=args.batch, steps=args.steps)
    unit = unit_of(lm.preprocessor.tokenizer)
    columns = {
        f"{unit}s": f"{result.tokens:,}",
        "perplexity": f"{result.perplexity:.3f}",
        f"bits per {unit}": f"{result.bits:.4f}",
    }
    print_table(args.text, columns)


def print_table(title, columns):
    """Prints a table of a single row, from its texts by the names of their columns."""
    table = Table(*columns, title=str(title))
    table.add_row(*columns.values())
    Console().print(table)
