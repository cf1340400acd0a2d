"""What the commands of `python -m keras_adaptive_rnn.hub` do."""

import itertools
import json
import pathlib
import shutil
import sys

import keras
import keras_hub
import numpy as np
from rich.console import Console
from rich.table import Table

from keras_adaptive_rnn import callbacks, cells
from keras_adaptive_rnn._command_line import in_utf8
from keras_adaptive_rnn.hub import presets
from keras_adaptive_rnn.hub.backbone import RecurrentBackbone
from keras_adaptive_rnn.hub.causal_lm import RecurrentCausalLM
from keras_adaptive_rnn.hub.preprocessor import RecurrentCausalLMPreprocessor
from keras_adaptive_rnn.hub.streams import fit_rounds
from keras_adaptive_rnn.hub.tokenizer import VocabularyTokenizer
from keras_adaptive_rnn.hub.tokens import pieces, write_tokens

# Beside a file of tokens, its vocabulary.
VOCABULARY = ".vocabulary.json"


# Texts.


def check_text(path):
    """Raises `ValueError` if a file is no text."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a text in UTF-8")
    try:
        with path.open("rb") as file:
            start = file.read(1 << 16)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    if not start.strip():
        raise ValueError(f"{path} is empty")
    if b"\0" in start:
        raise ValueError(f"{path} is not a text: it has a byte of zero")


def tokens(args):
    """Writes the tokens of a text, and their vocabulary beside them."""
    check_text(args.text)
    tokenizer = tokenizer_of(args)
    ids = tokenize(args.text, tokenizer, args.path)
    print(f"{len(ids):,} tokens, {tokenizer.vocabulary_size():,} different ones, are in {args.path}")


def tokenizer_of(args):
    with in_utf8(args.text):
        return VocabularyTokenizer.from_text(
            (text for text, _ in pieces(args.text)),
            args.split,
            args.min_count,
            args.max_size,
            end_token="<eos>" if args.split == "word" else None,
        )


def tokenize(text, tokenizer, path):
    path = pathlib.Path(path)
    ids = write_tokens(text, tokenizer, path, verbose=sys.stderr.isatty())
    config = {"class": "VocabularyTokenizer", "split": tokenizer.split, "end_token": tokenizer.end_token}
    vocabulary = path.with_name(path.name + VOCABULARY)
    vocabulary.write_text(json.dumps({**config, "vocabulary": tokenizer.get_vocabulary()}, ensure_ascii=False))
    return ids


def read_tokens(path):
    """Returns the memory-mapped ids of a file of tokens, and its tokenizer."""
    config = json.loads(pathlib.Path(f"{path}{VOCABULARY}").read_text())
    tokenizer = VocabularyTokenizer(config["vocabulary"], config["split"], end_token=config["end_token"])
    return np.load(path, mmap_mode="r"), tokenizer


# Training.


def train(args):
    """Trains a model for some minutes, from where an earlier run was stopped."""
    preset, work = pathlib.Path(args.preset), pathlib.Path(f"{args.preset}.training")
    if preset.exists():
        raise ValueError(f"{preset} exists already: choose another --preset, or delete it")
    is_file_of_tokens = pathlib.Path(f"{args.text}{VOCABULARY}").exists()
    if not is_file_of_tokens:
        check_text(args.text)
    make_cell = cell_maker(args)
    is_resumed = begin(work, args)
    path = pathlib.Path(args.text) if is_file_of_tokens else work / "tokens.npy"
    if not path.exists():
        tokenize(args.text, tokenizer_of(args), path)
    ids, tokenizer = read_tokens(path)
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
    backbone = RecurrentBackbone(
        tokenizer.vocabulary_size(),
        args.units,
        [make_cell(k) for k in range(args.layers)],
        embedding_dropout=args.dropout,
        output_dropout=args.dropout,
    )
    lm = RecurrentCausalLM(backbone, RecurrentCausalLMPreprocessor(tokenizer, sequence_length=1024))
    lm.compile(keras.optimizers.Adam(args.learning_rate, global_clipnorm=1.0), sampler="top_p")
    print(
        f"{'Going on with' if is_resumed else 'Training'} {lm.count_params():,} weights on "
        f"{len(ids) - held_out:,} tokens, {tokenizer.vocabulary_size():,} different ones ({keras.backend.backend()})",
        flush=True,
    )
    limit = callbacks.TimeLimit(60 * args.minutes, work / "time.json")
    log, best = work / "log.csv", work / "best.weights.h5"
    monitor = "val_perplexity" if held_out else "perplexity"
    history = fit_rounds(
        lm,
        ids[: len(ids) - held_out],
        args.batch,
        args.steps,
        args.round,
        validation=ids[len(ids) - held_out :] if held_out else None,
        callbacks=[
            limit,
            keras.callbacks.ModelCheckpoint(
                best,
                monitor,
                mode="min",
                save_best_only=True,
                save_weights_only=True,
                initial_value_threshold=min(read_log(log)[monitor]) if log.exists() and best.exists() else None,
            ),
            keras.callbacks.CSVLogger(log, append=True),
            keras.callbacks.BackupAndRestore(work / "backup", double_checkpoint=True, delete_checkpoint=False),
        ],
        # In a file, a line for each round: a progress bar would fill it.
        verbose=1 if sys.stdout.isatty() else 2,
    )
    # The streaming model, whose weights are those of the language model.
    history.model.load_weights(best)
    finish(args, lm, read_log(log), limit, work)


def cell_maker(args):
    """Returns the function that makes the cell of a layer, or raises if the arguments make none."""
    names = {name[:-4]: getattr(cells, name) for name in cells.__all__ if name.endswith("Cell")}
    known = {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_"): cls for name, cls in names.items()
    }
    known = {
        name.replace("l_s_t_m", "lstm").replace("g_r_u", "gru").replace("r_n_n", "rnn"): c for name, c in known.items()
    }
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


def begin(work, args):
    """Makes the folder of a training; returns whether one goes on there, or raises if it has other settings."""
    settings = {name: value for name, value in vars(args).items() if name not in ("command", "minutes", "license")}
    settings["set"] = dict(settings["set"])
    settings["bytes"] = pathlib.Path(args.text).stat().st_size
    path = work / "settings.json"
    if path.exists():
        before = json.loads(path.read_text())
        changed = [name for name in settings if settings[name] != before.get(name)]
        if changed:
            raise ValueError(
                f"{work} holds an unfinished training with "
                + ", ".join(f"--{name} {before.get(name)}" for name in changed)
                + ": go on with these, choose another --preset, or delete the folder"
            )
        return (work / "backup").exists()
    work.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings))
    return False


def read_log(path):
    """Returns the columns of a log. A round that was repeated after a stop counts as it was in the end."""
    lines = [line.split(",") for line in path.read_text().splitlines()]
    rows = {row[0]: row for row in lines[1:]}
    return {name: [float(row[k]) for row in rows.values()] for k, name in enumerate(lines[0])}


def finish(args, lm, history, limit, work):
    """Saves the model, its curves and its card, and shows what it has learnt."""
    prefix = "val_" if "val_perplexity" in history else ""
    best = int(np.argmin(history[f"{prefix}perplexity"]))
    perplexity = history[f"{prefix}perplexity"][best]
    training = (
        f"{limit.steps:,} steps of {args.batch} x {args.steps} tokens in {limit.spent / 60:.1f} minutes, Adam at "
        f"{args.learning_rate}, on {keras.backend.backend()}"
    )
    card = {
        "data": f"{pathlib.Path(args.text).name}, {limit.steps * args.batch * args.steps:,} tokens read",
        "license": args.license,
        "perplexity": f"{perplexity:.3f} on {f'the last {args.validation:.0%}' if prefix else 'what it read'}",
        "training": training,
    }
    new = work / "preset"
    lm.save_to_preset(new, card=card)
    plot(history, new / "curves.png")
    shutil.copy(work / "log.csv", new / "log.csv")
    new.rename(args.preset)
    shutil.rmtree(work)
    table = Table("model", *(["validation perplexity"] if prefix else ["perplexity"]), title=args.preset)
    row = [f"{args.layers} x {args.cell} {args.units}", f"{perplexity:.2f}"]
    if f"{prefix}bits_per_character" in history:
        table.add_column("bits per character")
        row.append(f"{history[f'{prefix}bits_per_character'][best]:.3f}")
    for name, value in (("weights", f"{lm.count_params():,}"), ("steps", f"{limit.steps:,}")):
        table.add_column(name, justify="right")
        row.append(value)
    table.add_row(*row)
    Console().print(table)
    print(f"It writes:\n\n{''.join(itertools.islice(lm.stream(first_prompt(lm)), 300))}\n")
    print(f"The model and its curves are in {args.preset}. Go on: python -m keras_adaptive_rnn.hub write {args.preset}")


def plot(history, path):
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, label in (("perplexity", "training (mean of a round)"), ("val_perplexity", "validation")):
        if name in history:
            axes.plot(np.arange(1, len(history[name]) + 1), history[name], "o-", markersize=4, label=label)
    axes.set(xlabel="round", ylabel="perplexity", yscale="log")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


# Using a model.


def load(preset):
    path = pathlib.Path(preset)
    if "://" not in str(preset) and preset == presets.located(preset) and not (path / "config.json").exists():
        unfinished = pathlib.Path(f"{preset}.training").exists()
        hint = ": its training is not finished; run the same `train` command again" if unfinished else ""
        raise ValueError(f"{preset} is not the folder of a preset{hint}")
    return RecurrentCausalLM.from_preset(str(preset))


def first_prompt(lm):
    """Returns what a text may begin with."""
    tokenizer = lm.preprocessor.tokenizer
    if getattr(tokenizer, "start_token_id", None) is not None:
        return ""
    has_lines = "\n" in tokenizer.get_vocabulary() or getattr(tokenizer, "end_token", None)
    return "\n" if has_lines else tokenizer.id_to_token(1)


def write(args):
    """Prints text as it comes."""
    lm = load(args.preset)
    samplers, shared = keras_hub.samplers, {"temperature": args.temperature, "seed": args.seed}
    sampler = {
        "greedy": samplers.GreedySampler,
        "random": lambda: samplers.RandomSampler(**shared),
        "top_k": lambda: samplers.TopKSampler(**shared),
        "top_p": lambda: samplers.TopPSampler(p=0.9, **shared),
    }[args.sampler]()
    lm.compile(sampler=sampler)
    states = lm.read(args.prompt or first_prompt(lm))
    print(args.prompt, end="", flush=True)
    for piece in itertools.islice(lm.stream("", float("inf"), None, states), args.length):
        print(piece, end="", flush=True)
    print()


def score(args):
    """Prints the perplexity of a model on a text."""
    lm = load(args.preset)
    if pathlib.Path(f"{args.text}{VOCABULARY}").exists():
        text, tokenizer = read_tokens(args.text)
        if tokenizer.get_vocabulary() != lm.preprocessor.tokenizer.get_vocabulary():
            raise ValueError(f"{args.text} has another vocabulary than {args.preset}")
    else:
        check_text(args.text)
        with in_utf8(args.text):
            text = pathlib.Path(args.text).read_text(encoding="utf-8-sig")
    found = lm.evaluate_streams(text, batch_size=args.batch, steps=args.steps)
    table = Table("tokens", "perplexity", "bits per token", title=str(args.text))
    table.add_row(f"{found.tokens:,}", f"{found.perplexity:.3f}", f"{found.bits:.4f}")
    Console().print(table)
