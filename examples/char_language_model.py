"""A character language model: a Mogrifier and an LSTM with as many weights, trained on the same text.

Both read the Python language reference, which comes with CPython, or a text of yours, and predict the next character.
The Mogrifier is then saved as a preset of KerasHub, loaded again, and generates text:

    python examples/char_language_model.py
    python examples/char_language_model.py --text my_book.txt --epochs 10

Or one model of a paper, with the paper's settings, by `word_language_model.py`, whose options then go with it:

    python examples/char_language_model.py --paper lowrank-gru --text penn/

The run prints a table and leaves the folder `preset`, `curves.png`, `results.json` and `sample.txt` in
`runs/char_language_model`. It works on every backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).
"""

import argparse
import functools
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

# For `examples`, where this file is run as a script.
sys.path.append(str(pathlib.Path(__file__).parents[1]))

import keras
import keras_hub
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import keras_adaptive_rnn as kar
from examples import recipes, word_language_model
from keras_adaptive_rnn import hub

RARE = 5  # Characters that occur less often in the training part become one.
VALIDATION = 0.07  # Share of the text, taken from its end.
# For each the best of those that docs/demo.md lists.
LEARNING_RATES = {"Mogrifier": 0.004, "LSTM": 0.008}
OUTPUT = "runs/char_language_model"
PAPERS = [name for name, recipe in recipes.PAPERS.items() if recipe.settings["tokens"] == "characters"]


def read_text(path: str | None) -> str:
    """Returns the text of a UTF-8 file, or the Python language reference."""
    if path is None:
        from pydoc_data.topics import topics

        # Some sections appear under several topics. Each paragraph is kept once, so that none is in both the training
        # and the validation part.
        paragraphs = "\n\n".join(topics[name] for name in sorted(topics)).split("\n\n")
        return "\n\n".join(dict.fromkeys(paragraphs))
    try:
        return pathlib.Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read the text {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"the text {path} is not UTF-8: {error.reason} at byte {error.start}") from None


def prepare(text: str, batch: int, steps: int) -> tuple[hub.VocabularyTokenizer, list]:
    """Returns the tokenizer, and the ids of the training part and of the validation part."""
    parts = text[: len(text) - int(VALIDATION * len(text))], text[len(text) - int(VALIDATION * len(text)) :]
    if len(parts[1]) < batch * (steps + 1):
        raise ValueError(
            f"the text has {len(text):,} characters, and {batch} streams of {steps} steps need at least "
            f"{int(batch * (steps + 1) / VALIDATION) + 1:,}: give a longer text, or a smaller --batch or --steps"
        )
    tokenizer = hub.VocabularyTokenizer.from_text(parts[0], min_count=RARE)
    return tokenizer, [tokenizer(part) for part in parts]


def make_models(tokenizer: hub.VocabularyTokenizer, args: argparse.Namespace) -> dict[str, hub.RecurrentCausalLM]:
    """Returns the Mogrifier, and the LSTM whose number of weights is closest."""
    vocabulary = tokenizer.vocabulary_size()

    def make(name, units, cell):
        keras.utils.set_random_seed(args.seed)
        cells = [cell(units, dropout=args.dropout) for _ in range(2)]
        backbone = hub.RecurrentBackbone(vocabulary, units, cells, output_dropout=args.dropout)
        lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer))
        lm.compile(keras.optimizers.Adam(args.learning_rate or LEARNING_RATES[name], global_clipnorm=1.0))
        return lm

    mogrifier = make("Mogrifier", args.units, functools.partial(kar.MogrifierCell, rounds=args.rounds, rank=args.rank))

    def lstm_weights(n):
        return vocabulary * (n + 1) + 2 * 4 * n * (n + n + 1)

    units = min(range(1, 5000), key=lambda n: abs(lstm_weights(n) - mogrifier.count_params()))
    return {"Mogrifier": mogrifier, "LSTM": make("LSTM", units, kar.LSTMCell)}


def train(lm: hub.RecurrentCausalLM, ids: list, args: argparse.Namespace) -> dict:
    """Trains a model, and returns the numbers of the table and the plot. It ends with the weights of its best epoch."""
    best = keras.callbacks.EarlyStopping(
        "val_bits_per_character", mode="min", patience=args.epochs, restore_best_weights=True
    )
    begun = time.perf_counter()
    history = lm.fit_streams(
        ids[0],
        args.batch,
        args.steps,
        epochs=args.epochs,
        validation=ids[1],
        callbacks=[best],
        # In a file, print one line per epoch, as a progress bar would fill it.
        verbose=1 if sys.stdout.isatty() else 2,
    ).history
    return {
        "weights": lm.count_params(),
        "seconds": time.perf_counter() - begun,
        "validation_bits_per_character": min(history["val_bits_per_character"]),
        "training": history["bits_per_character"],
        "validation": history["val_bits_per_character"],
    }


def make_table(results: dict) -> Table:
    table = Table("model", title=f"The same text and number of weights ({keras.backend.backend()})")
    for column in ("weights", "seconds", "best epoch", "validation bits per character"):
        table.add_column(column, justify="right")
    for name, r in results.items():
        bits = r["validation_bits_per_character"]
        best = f"{r['validation'].index(bits) + 1} of {len(r['validation'])}"
        table.add_row(name, f"{r['weights']:,}", f"{r['seconds']:.0f}", best, f"{bits:.3f}")
    return table


def plot(results: dict, path: pathlib.Path):
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for (name, r), color in zip(results.items(), ("tab:blue", "tab:orange"), strict=True):
        epochs = range(1, len(r["validation"]) + 1)
        axes.plot(epochs, r["validation"], "o-", color=color, markersize=4, label=f"{name}, validation")
        # The training loss is the mean over an epoch.
        middles = [epoch - 0.5 for epoch in epochs]
        axes.plot(middles, r["training"], "--", color=color, alpha=0.6, label=f"{name}, training (mean of an epoch)")
    axes.set_title(f"Character language models of about {round(results['Mogrifier']['weights'], -3):,} weights")
    axes.set_xlabel("epochs")
    axes.set_ylabel("cross-entropy (bits per character)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--paper", choices=PAPERS, help="train the model of a paper instead; --paper NAME --help lists its options")
    add("--text", help="UTF-8 file to learn from; the Python language reference by default")
    add("--epochs", type=int, default=6, help="how often each model reads the text (%(default)s)")
    add("--dropout", type=float, default=0.2, help="of the inputs of all layers, in both models (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the weights and of the sample (%(default)s)")
    add("--output", default=OUTPUT, help="folder for the results (%(default)s)")
    add("--units", type=int, default=236, help="units of each Mogrifier layer (%(default)s)")
    add("--rank", type=int, default=32, help="rank of the Mogrifier's gates (%(default)s)")
    add("--rounds", type=int, default=5, help="rounds of the Mogrifier (%(default)s)")
    add("--batch", type=int, default=32, help="batch size, in parallel streams of the text (%(default)s)")
    add("--steps", type=int, default=64, help="characters per training step of a stream (%(default)s)")
    add("--learning-rate", type=float, help="of both models; by default, the best of each that was tried")
    add("--temperature", type=float, default=0.7, help="temperature of the sample (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("epochs", "units", "rank", "batch", "steps", "temperature"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name} must be positive")
    return args


def main(argv: list[str] | None = None):
    argv = sys.argv[1:] if argv is None else argv
    paper = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    paper.add_argument("--paper", choices=PAPERS)
    if paper.parse_known_args(argv)[0].paper:
        word_language_model.main(["--output", OUTPUT, *argv])
        return
    args = parse(argv)
    try:
        tokenizer, ids = prepare(read_text(args.text), args.batch, args.steps)
        models = make_models(tokenizer, args)
    except ValueError as error:
        sys.exit(f"error: {error}")
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)

    results = {}
    for name, lm in models.items():
        print(f"\n{name}: {lm.count_params():,} weights, {args.epochs} epochs", flush=True)
        results[name] = train(lm, ids, args)

    preset = folder / "preset"
    perplexity = 2 ** results["Mogrifier"]["validation_bits_per_character"]
    models["Mogrifier"].save_to_preset(preset, card={"data": args.text or "pydoc_data", "perplexity": perplexity})
    plot(results, folder / "curves.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args)}
    about["vocabulary"] = list(tokenizer.get_vocabulary())
    (folder / "results.json").write_text(json.dumps({**about, "models": results}, indent=1), encoding="utf-8")

    loaded = keras_hub.models.CausalLM.from_preset(str(preset))
    loaded.compile(sampler=keras_hub.samplers.RandomSampler(temperature=args.temperature, seed=args.seed))
    prompt = "\n" if "\n" in tokenizer.get_vocabulary() else tokenizer.id_to_token(1)
    sample = loaded.generate(prompt, max_length=401, strip_prompt=True)
    (folder / "sample.txt").write_text(sample, encoding="utf-8")
    print(f"\nThe Mogrifier, loaded from {preset}, writes:\n\n{sample}\n")
    Console().print(make_table(results))
    ratio = results["LSTM"]["weights"] / results["Mogrifier"]["weights"]
    print(f"The LSTM has {ratio:.4f} times the weights of the Mogrifier.\nAll results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
