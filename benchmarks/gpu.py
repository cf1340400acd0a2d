"""What a GPU shows, in one command: time and memory of all cells, on each backend that is installed and sees one.

    make gpu

Each backend runs in processes of its own: our loop beside Keras's, Keras's LSTM (cuDNN's, where Keras calls it), on
PyTorch our CUDA graphs, and on JAX and TensorFlow too, if PyTorch is installed with them, a plain PyTorch loop and
PyTorch's LSTM. JAX begins with one kernel for all steps, beside FlashRNN if it is installed with PyTorch. Rows go to
`benchmarks/gpu.json` and `gpu_persistent.json` as they come, and a run that was stopped goes on; the tables are written
beside them, as `gpu.md`, with the limits of `engine/tuning.py` that they show. `--small` measures nothing of use, on
whatever there is.
"""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
BACKENDS = ("jax", "tensorflow", "torch")
SIZES = {"units": "256", "batch": "64", "steps": "70"}
SMALL = {"units": "4", "batch": "2", "steps": "3", "cells": "Elman", "repeats": "3"}
LENGTHS = ["70", "140"]
LOOPS = ["ours", "keras"]
OTHERS = ["keras_lstm", "plain", "torch_lstm"]
# One kernel for all steps comes first: no GPU has run it.
PERSISTENT = {
    "cells": ["LSTM", "GRU", "Mogrifier", "LowRankGRU", "AdaptiveLSTM", "SLSTM"],
    "batch": ["64"],
    "steps": ["70", "500"],
}
# One after the other: with 256, some take very long to compile.
UNITS_OF_KERNELS = ["64", "256"]
# One kernel counts as faster up to this part of the time of our loop.
FASTER = 0.95


def run(backend, *arguments, **options):
    """Runs a module, and returns what has ended."""
    # All three share one GPU, and none may take all of its memory.
    shared = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    environment = {**shared, **os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, text=True, **options)


def device(backend):
    found = run(
        backend,
        "-c",
        "from benchmarks.contenders import device; print(device())",
        stdout=subprocess.PIPE,
        check=True,
    )
    return found.stdout.split()[-1]


def report(backend, path, more=""):
    """Writes the tables of a file beside it, with `more` below, and prints them."""
    command = ["-m", "benchmarks.time_loop", "--report", "--markdown", f"--json={path}"]
    tables = run(backend, *command, stdout=subprocess.PIPE, check=True).stdout + more
    path.with_suffix(".md").write_text(tables)
    print(tables, f"Written: {path.with_suffix('.md')}", sep="\n", flush=True)


def limits(rows):
    """Returns `tuning.PERSISTENT_UNITS`: up to how many units one kernel was faster, in training and in inference."""
    found = {}
    for cell in dict.fromkeys(row["cell"] for row in rows):
        most = []
        for what in ("train", "predict"):
            alike = [row for row in rows if (row["cell"], row["what"]) == (cell, what)]
            slower = [row["units"] for row in alike if row["ratios"]["persistent"] > FASTER]
            below = [row["units"] for row in alike if row["units"] < min(slower, default=math.inf)]
            most.append(max(below, default=0))
        if any(most):
            found[f"{cell}Cell"] = tuple(most)
    return found


def measure_kernels(sizes, path, beside_torch):
    """Measures one kernel for all steps, and writes the table and the limits of all its rows beside them."""
    command = ["-m", "benchmarks.time_loop", *sizes, f"--json={path}"]
    beside = ["keras", "keras_lstm", *(["flashrnn"] if beside_torch else [])]
    run("jax", *command, "--resume", *beside_torch, "--contenders", "ours", "persistent", *beside, check=True)
    report("jax", path, f"\n    PERSISTENT_UNITS = {limits(json.loads(path.read_text()))}\n")


def main(argv=None):
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, help="those that are installed")
    parser.add_argument("--small", action="store_true", help="one small cell, also on a CPU")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "benchmarks" / "gpu.json")
    options = parser.parse_args(argv)
    path = options.json.resolve()
    sizes = [f"--{name}={value}" for name, value in (SMALL if options.small else SIZES).items()]
    many = [word for name, values in PERSISTENT.items() for word in (f"--{name}", *values)]
    of_kernels = [sizes] if options.small else [[*many, "--units", units] for units in UNITS_OF_KERNELS]
    beside_torch = ["--against-torch"] if importlib.util.find_spec("torch") else []
    others = OTHERS if beside_torch else ["keras_lstm"]
    measured = []
    for backend in options.backends or filter(importlib.util.find_spec, BACKENDS):
        if not options.small and device(backend) != "gpu":
            print(f"{backend}: sees no GPU, and is left out", flush=True)
            continue
        for each in of_kernels if backend == "jax" else ():
            measure_kernels(each, path.with_stem(path.stem + "_persistent"), beside_torch)
        common = ["-m", "benchmarks.time_loop", *sizes, f"--json={path}", "--resume"]
        loops = [*LOOPS, "graph"] if backend == "torch" else LOOPS
        run(backend, *common, *beside_torch, "--contenders", *loops, *others, check=True)
        memory = [] if options.small else ["--steps", *LENGTHS]
        run(backend, *common, "--memory", *memory, "--contenders", *loops, check=True)
        measured.append(backend)
    if not measured:
        return "No backend that is installed sees a GPU."
    report(measured[0], path)
    return None


if __name__ == "__main__":
    sys.exit(main())
