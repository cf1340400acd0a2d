"""A character language model: a Mogrifier and an LSTM with as many weights, trained for the same time.

Both read the Python language reference, which comes with CPython, or a text of yours, and predict the next character.
The Mogrifier is then saved, loaded again, and generates text:

    python examples/char_language_model.py
    python examples/char_language_model.py --text my_book.txt --seconds 600

The run prints a table and leaves `model.keras`, `curves.png`, `results.json` and `sample.txt` in
`runs/char_language_model`. It works on every backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

import keras
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import keras_adaptive_rnn as kar

UNKNOWN, RARE = "\ufffd", 5  # Replaces every character that occurs fewer than 5 times in the training part.
VALIDATION = 0.07  # Share of the text, taken from its end.
EMBEDDING = 64
LEARNING_RATE = 0.002
MAX_EPOCHS = 1000  # In practice, --seconds ends training.


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


def prepare(text: str, batch: int, steps: int) -> tuple[list[str], tuple, tuple]:
    """Returns the vocabulary, and characters and next characters of the training part and of the validation part."""
    parts = text[: len(text) - int(VALIDATION * len(text))], text[len(text) - int(VALIDATION * len(text)) :]
    if len(parts[1]) <= batch * steps:
        raise ValueError(
            f"the text has {len(text):,} characters, and {batch} streams of {steps} steps need at least "
            f"{int((batch * steps + 1) / VALIDATION) + 1:,}: give a longer text, or a smaller --batch or --steps"
        )
    counts = collections.Counter(parts[0])
    vocabulary = [UNKNOWN, *sorted(c for c, count in counts.items() if count >= RARE and c != UNKNOWN)]
    index = {c: i for i, c in enumerate(vocabulary)}
    ids = [np.array([index.get(c, 0) for c in part], dtype="int32") for part in parts]
    return vocabulary, *((streams(i[:-1], batch, steps), streams(i[1:], batch, steps)) for i in ids)


def streams(ids: np.ndarray, batch: int, steps: int) -> np.ndarray:
    """Cuts a text into `batch` streams of samples: sample k of a batch continues in sample k of the next batch."""
    batches = len(ids) // (batch * steps)
    ids = ids[: batches * batch * steps].reshape(batch, batches, steps)
    return ids.transpose(1, 0, 2).reshape(-1, steps)


def make_models(vocabulary: int, args: argparse.Namespace) -> dict[str, keras.Model]:
    """Returns the Mogrifier, and the LSTM whose number of weights is closest."""
    loop = {"return_sequences": True, "stateful": True}
    make = kar.layers.Mogrifier
    mogrifier = make_model(vocabulary, args, lambda: make(args.units, rounds=args.rounds, rank=args.rank, **loop))

    def lstm_weights(n):
        return vocabulary * EMBEDDING + 4 * n * (EMBEDDING + n + 1) + 4 * n * (n + n + 1) + (n + 1) * vocabulary

    units = min(range(1, 5000), key=lambda n: abs(lstm_weights(n) - mogrifier.count_params()))
    # `keras.layers.LSTM` does not carry its state from batch to batch on JAX (Keras 3.15), so it would not be a fair
    # comparison.
    lstm = make_model(vocabulary, args, lambda: kar.layers.RNN(kar.LSTMCell(units), **loop))
    return {"Mogrifier": mogrifier, "LSTM": lstm}


def make_model(vocabulary: int, args: argparse.Namespace, make_layer) -> keras.Model:
    keras.utils.set_random_seed(args.seed)
    model = keras.Sequential(
        [
            keras.Input((args.steps,), batch_size=args.batch, dtype="int32"),
            keras.layers.Embedding(vocabulary, EMBEDDING),
            make_layer(),
            make_layer(),
            keras.layers.Dense(vocabulary),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(LEARNING_RATE, global_clipnorm=1.0), loss)
    return model


class Training(keras.callbacks.Callback):
    """Stops training after a number of seconds, resets the states where the text begins, and records the curves.

    The clock starts after the first batch, so that compilation does not count, and pauses during validation.
    """

    def __init__(self, seconds: float):
        super().__init__()
        self.seconds, self.spent, self.last, self.batches = seconds, 0.0, None, 0
        self.curves = []

    def reset_states(self, logs=None):
        for layer in self.model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()

    on_test_begin = on_test_end = reset_states

    def on_epoch_begin(self, epoch, logs=None):
        self.reset_states()
        # In the second half of the time, the learning rate falls to a tenth, epoch by epoch.
        share = min(1.0, max(0.1, 2 * (1 - self.spent / self.seconds)))
        self.model.optimizer.learning_rate.assign(LEARNING_RATE * share)
        self.last = None if self.last is None else time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        now = time.perf_counter()
        self.spent += 0.0 if self.last is None else now - self.last
        self.last = now
        self.batches += 1
        if self.spent >= self.seconds:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        # Keras validates even after a stop within an epoch, so the last entry is that of the final model.
        nats = {"training": logs["loss"], "validation": logs["val_loss"]}
        self.curves.append({"seconds": self.spent, **{name: float(x / np.log(2)) for name, x in nats.items()}})


def train(model: keras.Model, data: tuple, validation: tuple, args: argparse.Namespace) -> dict:
    """Trains a model for `args.seconds` and returns the numbers of the table and the plot."""
    training = Training(args.seconds)
    # In a file, print one line per epoch, as a progress bar would fill it.
    verbose = 1 if sys.stdout.isatty() else 2
    fit = {"batch_size": args.batch, "shuffle": False, "epochs": MAX_EPOCHS, "verbose": verbose}
    model.fit(*data, validation_data=validation, callbacks=[training], **fit)
    epochs = training.batches / (len(data[0]) // args.batch)
    return {
        "weights": model.count_params(),
        "epochs": epochs,
        "seconds_per_epoch": training.spent / epochs,
        "validation_bits_per_character": training.curves[-1]["validation"],
        "curves": training.curves,
    }


def write(model: keras.Model, vocabulary: list[str], length: int, temperature: float, seed: int) -> str:
    """Generates text: the model reads each character that it has drawn, one `step` at a time."""
    embedding, *recurrent, dense = model.layers
    generator = keras.random.SeedGenerator(seed)
    states = [None] * len(recurrent)
    character, text = vocabulary.index("\n") if "\n" in vocabulary else 0, ""
    for _ in range(length):
        x = embedding(np.array([character]))
        for k, layer in enumerate(recurrent):
            x, states[k] = layer.step(x, states[k])
        character = int(keras.random.categorical(dense(x) / temperature, 1, seed=generator)[0, 0])
        text += vocabulary[character]
    return text


def make_table(results: dict) -> Table:
    table = Table("model", title=f"Equal weights, equal training time ({keras.backend.backend()})")
    for column in ("weights", "epochs", "seconds per epoch", "validation bits per character"):
        table.add_column(column, justify="right")
    for name, r in results.items():
        numbers = f"{r['weights']:,}", f"{r['epochs']:.1f}", f"{r['seconds_per_epoch']:.1f}"
        table.add_row(name, *numbers, f"{r['validation_bits_per_character']:.3f}")
    return table


def plot(results: dict, path: pathlib.Path):
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for (name, r), color in zip(results.items(), ("tab:blue", "tab:orange"), strict=True):
        minutes = np.array([0.0] + [point["seconds"] for point in r["curves"]]) / 60
        validation, training = ([point[part] for point in r["curves"]] for part in ("validation", "training"))
        axes.plot(minutes[1:], validation, "o-", color=color, markersize=4, label=f"{name}, validation")
        middles = (minutes[1:] + minutes[:-1]) / 2  # The training loss is the mean over an epoch.
        axes.plot(middles, training, "--", color=color, alpha=0.6, label=f"{name}, training (mean of an epoch)")
    axes.set_title(f"Character language models of about {round(results['Mogrifier']['weights'], -3):,} weights")
    axes.set_xlabel("training time (minutes)")
    axes.set_ylabel("cross-entropy (bits per character)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--text", help="UTF-8 file to learn from; the Python language reference by default")
    add("--seconds", type=float, default=120, help="training time of each model (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the weights and of the sample (%(default)s)")
    add("--output", default="runs/char_language_model", help="folder for the results (%(default)s)")
    add("--units", type=int, default=236, help="units of each Mogrifier layer (%(default)s)")
    add("--rank", type=int, default=32, help="rank of the Mogrifier's gates (%(default)s)")
    add("--rounds", type=int, default=5, help="rounds of the Mogrifier (%(default)s)")
    add("--batch", type=int, default=32, help="batch size, in parallel streams of the text (%(default)s)")
    add("--steps", type=int, default=64, help="characters per training step of a stream (%(default)s)")
    add("--temperature", type=float, default=0.7, help="temperature of the sample (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("seconds", "units", "rank", "batch", "steps", "temperature"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name} must be positive")
    return args


def main(argv: list[str] | None = None):
    args = parse(argv)
    try:
        vocabulary, data, validation = prepare(read_text(args.text), args.batch, args.steps)
        models = make_models(len(vocabulary), args)
    except ValueError as error:
        sys.exit(f"error: {error}")
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)

    results = {}
    for name, model in models.items():
        print(f"\n{name}: {model.count_params():,} weights, {args.seconds:g} seconds of training", flush=True)
        results[name] = train(model, data, validation, args)

    models["Mogrifier"].save(folder / "model.keras")
    plot(results, folder / "curves.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args), "vocabulary": vocabulary}
    (folder / "results.json").write_text(json.dumps({**about, "models": results}, indent=1), encoding="utf-8")

    loaded = keras.models.load_model(folder / "model.keras")
    sample = write(loaded, vocabulary, 400, args.temperature, args.seed)
    (folder / "sample.txt").write_text(sample, encoding="utf-8")
    print(f"\nThe Mogrifier, loaded from {folder / 'model.keras'}, writes:\n\n{sample}\n")
    Console().print(make_table(results))
    ratio = results["LSTM"]["weights"] / results["Mogrifier"]["weights"]
    print(f"The LSTM has {ratio:.4f} times the weights of the Mogrifier.\nAll results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
