"""Tokens a second of language models that write, and what a token costs after thousands of others.

    python -m benchmarks.generation [--backends jax torch] [--lengths 384 1000 3000 10000] [--plot]

One model, two Mogrifiers of 256 units, writes greedily from a prompt of 128 tokens, in four ways:

- `generate`, which keeps the states of the cells;
- `GPT-2 with its cache`: KerasHub's GPT-2 with as many weights, its table of positions not counted;
- `loop over step`: a Python loop over `layer.step`;
- `whole model again`: the model reads everything again for each token, at one length, compiled once.

Each measurement runs in a process of its own, so that its memory is its own: what the process grew by at its largest
while it wrote. Rows are added to `benchmarks/generation.json` as they are measured; what is there is not measured
again.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

from benchmarks import rows

PATH = pathlib.Path(__file__).with_suffix(".json")
FIGURE = PATH.parent.parent / "docs" / "images" / "generation.png"
KEY = ("backend", "method", "batch", "length")
VOCABULARY, UNITS, PROMPT = 100, 256, 128
METHODS = {
    "generate": "`generate`",
    "GPT-2 with its cache": "KerasHub's GPT-2, with its cache",
    "loop over step": "a Python loop over `layer.step`",
    "whole model again": "the whole model rerun for each token",
}
# Those that are measured at every length.
LONG = ("generate", "GPT-2 with its cache")
BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
# The ways that take a constant time a token are measured over fewer of them.
FEW = {"loop over step": 64, "whole model again": 8}


def recurrent():
    from keras_adaptive_rnn import MogrifierCell, hub

    backbone = hub.RecurrentBackbone(VOCABULARY, UNITS, [MogrifierCell(UNITS, rank=32) for _ in range(2)])
    lm = hub.RecurrentCausalLM(backbone)
    lm.compile(sampler="greedy")
    return lm, lm.count_params()


def gpt2(length):
    import keras_hub

    sizes = {"num_layers": 4, "num_heads": 4, "hidden_dim": 160, "intermediate_dim": 640}
    backbone = keras_hub.models.GPT2Backbone(VOCABULARY, **sizes, max_sequence_length=length)
    lm = keras_hub.models.GPT2CausalLM(backbone)
    lm.compile(sampler="greedy")
    return lm, lm.count_params() - length * sizes["hidden_dim"]


def writer(method, batch, length):
    """Returns a function that writes, the number of tokens that it writes for each row, and the model's weights."""
    import keras
    import numpy as np

    ids = np.zeros((batch, length), "int32")
    ids[:, :PROMPT] = np.random.default_rng(0).integers(1, VOCABULARY, size=(batch, PROMPT))
    inputs = {"token_ids": ids, "padding_mask": np.arange(length) < np.full((batch, 1), PROMPT)}
    if method in LONG:
        lm, weights = recurrent() if method == "generate" else gpt2(length)
        return lambda: lm.generate(inputs, stop_token_ids=None), length - PROMPT, weights
    lm, weights = recurrent()
    if method == "whole model again":
        model = keras.Model(lm.input, lm.output)

        def write():
            row, mask = ids.copy(), np.array(inputs["padding_mask"])
            for k in range(PROMPT, PROMPT + FEW[method]):
                row[:, k] = model.predict_on_batch({"token_ids": row, "padding_mask": mask})[:, k - 1].argmax(-1)
                mask[:, k] = True

        return write, FEW[method], weights
    embedding, layers = lm.backbone.token_embedding, lm.backbone.recurrent_layers

    def write():
        states, token = lm.read(ids[:, :PROMPT].tolist())["cache"], ids[:, PROMPT - 1]
        for _ in range(FEW[method]):
            x = embedding(token)
            for k, layer in enumerate(layers):
                x, states[k] = layer.step(x, states[k])
            token = keras.ops.convert_to_numpy(keras.ops.argmax(lm.logits(x), axis=-1))

    return write, FEW[method], weights


def measure(method, batch, length):
    import keras

    write, count, weights = writer(method, batch, length)
    write()  # Compiles.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    while len(times) < 3 and sum(times) < 60:
        start = time.perf_counter()
        write()
        times.append(time.perf_counter() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = min(times)
    return {
        "backend": keras.backend.backend(),
        "method": method,
        "batch": batch,
        "length": length,
        "tokens_per_second": round(batch * count / seconds, 1),
        "milliseconds_per_step": round(1000 * seconds / count, 4),
        "memory_mb": round(grown / 1024),
        "memory_before_mb": round(before / 1024),
        "weights": weights,
    }


def tables(known):
    """Returns the table of the rows at the shortest length."""
    lines = [["", *BACKENDS.values()]]
    for batch in (1, 32):
        for method, title in METHODS.items():
            speeds = [known[backend, method, batch, 384]["tokens_per_second"] for backend in BACKENDS]
            lines.append([f"{title}, batch {batch}", *(f"{speed:,.0f}" for speed in speeds)])
    return {"generation": lines}


def plot(path):
    from matplotlib.figure import Figure

    found = list(rows.read(PATH, KEY).values())
    backends = sorted({row["backend"] for row in found if row["length"] > 384})
    figure = Figure(figsize=(4 * len(backends), 4), layout="constrained")
    for axes, backend in zip(figure.subplots(1, len(backends), squeeze=False)[0], backends, strict=True):
        for method, color in zip(LONG, ("tab:blue", "tab:orange"), strict=True):
            mine = [r for r in found if (r["backend"], r["method"], r["batch"]) == (backend, method, 1)]
            mine.sort(key=lambda row: row["length"])
            label = "Mogrifier, states" if method == "generate" else "GPT-2, cache"
            axes.plot(
                [r["length"] for r in mine], [r["milliseconds_per_step"] for r in mine], "o-", color=color, label=label
            )
        axes.set(title=backend, xscale="log", yscale="log", xlabel="tokens", ylabel="milliseconds a token")
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    figure.savefig(path, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--lengths", nargs="+", type=int, default=[384, 1000, 3000, 10000])
    parser.add_argument("--plot", action="store_true", help="only draw the figure and write the table")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one[0], int(args.one[1]), int(args.one[2]))))
        return
    if not args.plot:
        table = [(method, batch, args.lengths[0]) for method in METHODS for batch in (1, 32)]
        figure = [(method, 1, length) for length in args.lengths[1:] for method in LONG]
        for backend in args.backends:
            for method, batch, length in table + figure:
                if (backend, method, batch, length) in rows.read(PATH, KEY):
                    continue
                command = [sys.executable, "-m", "benchmarks.generation", "--one", method, str(batch), str(length)]
                environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
                process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                if process.returncode:
                    sys.exit(process.stderr)
                row = json.loads(process.stdout.splitlines()[-1])
                rows.add(PATH, KEY, [row])
                print(row, flush=True)
    plot(FIGURE)
    rows.write_tables(tables(rows.read(PATH, KEY)))


if __name__ == "__main__":
    main()
