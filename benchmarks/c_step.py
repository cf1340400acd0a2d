"""Measures single time steps in C99: bytes, memory and microseconds, beside LiteRT and ONNX Runtime.

    KERAS_BACKEND=tensorflow python -m benchmarks.c_step --json benchmarks/c_step.json

For each cell, at batch size 1, with 40 inputs: the bytes of the compiled object (code and weights), or of the file; in
C, those of the struct with states and scratch memory, and of the stack; the largest difference of its outputs from
those of `predict` over `--check-steps` steps (not of weights of 8 bits); the median time of a step in a Python loop, on
one thread, and in C that in a loop of C. `--flags` are those of the compiler, `cc`. LiteRT files are written on
TensorFlow alone. `--report` writes the rows to `docs/tables/`.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.one_step import difference, microseconds, perturbed
from benchmarks.rows import add, read, write_tables
from keras_adaptive_rnn._command_line import without_logs
from keras_adaptive_rnn.one_step.file import FORMATS
from tests import exporting, runtimes

KEY = ("layer", "units", "format")
FEATURES = 40
LAYERS = {"LSTM": kar.LSTM, "GRU": kar.GRU, "Mogrifier": kar.Mogrifier, "MinGRU": kar.MinGRU}
TITLES = {"c99": "C99", "c99 int8": "C99, int8", "litert": "LiteRT", "onnx": "ONNX Runtime"}
# Prints the bytes of the state, and the median of the nanoseconds of a step.
PROGRAM = """
#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "step.h"

static step_state state;

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int count, char **arguments) {
  const int steps = count > 1 ? atoi(arguments[1]) : 1;
  float inputs[STEP_INPUTS_SIZE], output[STEP_OUTPUT_SIZE];
  double nanoseconds[101];
  step_reset(&state);
  for (int round = 0; round < 101; ++round) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int k = 0; k < steps; ++k) {
      for (int i = 0; i < STEP_INPUTS_SIZE; ++i)
        inputs[i] = (float)((7 * k + i) % 11) / 11;
      step_step(&state, inputs, output);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    nanoseconds[round] = (1e9 * (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec)) / steps;
  }
  qsort(nanoseconds, 101, sizeof *nanoseconds, compare);
  printf("%zu %f\\n", sizeof state, nanoseconds[50]);
  return 0;
}
"""


def in_c(path, flags, steps):
    """Returns what the compiler and a loop in C say of a C file."""
    folder = path.parent
    (folder / "main.c").write_text(PROGRAM)
    for command in (
        ["cc", "-std=c99", *flags, "-fstack-usage", "-c", path.name],
        ["cc", "-std=c99", *flags, "main.c", "step.o", "-o", "main", "-lm"],
    ):
        subprocess.run(command, cwd=folder, check=True)
    sizes = subprocess.run(["size", "step.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
    printed = subprocess.run(
        [folder / "main", str(steps // 100 + 1)], check=True, capture_output=True, text=True
    ).stdout.split()
    return {
        "bytes": sum(map(int, sizes.splitlines()[1].split()[:2])),
        "state bytes": int(printed[0]),
        "stack bytes": max(int(line.split("\t")[1]) for line in (folder / "step.su").read_text().splitlines()),
        "microseconds in C": float(printed[1]) / 1000,
    }


def measured(make, units, format, options):
    """Returns the row of a layer in a format."""
    rng = np.random.default_rng(0)
    model = perturbed(keras.Sequential([keras.Input((None, FEATURES)), make(units, return_sequences=True)]), rng)
    sequence = rng.normal(size=(1, options.check_steps, FEATURES)).astype("float32")
    format, _, weight_dtype = format.partition(" ")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"step{exporting.SUFFIXES[format]}"
        with without_logs():
            kar.export_step(model, path, format, weight_dtype=weight_dtype or None, verbose=False)
        row = in_c(path, options.flags.split(), options.steps) if format == "c99" else {"bytes": path.stat().st_size}
        run, states = runtimes.load(path, format), runtimes.zero_states(kar.step_model(model))
        if not weight_dtype:
            row["difference"] = difference(model, run, sequence, states)
        return row | {"microseconds": microseconds(run, sequence, states, options.steps)}


def tables(rows):
    """Returns the table of the rows; a line for each layer and size."""
    formats = [format for format in TITLES if any(key[2] == format for key in rows)]
    lines = [["cell", "units", *(f"{TITLES[format]}: kB, µs" for format in formats), "memory, kB", "stack, bytes"]]
    for layer, units in dict.fromkeys((layer, units) for layer, units, _ in rows):
        found = [rows[layer, units, format] for format in formats]
        times = [row.get("microseconds in C", row["microseconds"]) for row in found]
        cells = [f"{row['bytes'] / 1000:,.1f}, {time:,.1f}" for row, time in zip(found, times, strict=True)]
        in_32 = rows[layer, units, "c99"]
        lines.append(
            [f"`{layer}`", str(units), *cells, f"{in_32['state bytes'] / 1000:.1f}", str(in_32["stack bytes"])]
        )
    return {"c_step": lines}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    formats = [format for format in TITLES if format.split()[0] in FORMATS[keras.backend.backend()]]
    parser.add_argument("--formats", nargs="+", choices=formats, default=formats)
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--units", nargs="+", type=int, default=[16, 64, 256])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--check-steps", type=int, default=1000)
    parser.add_argument("--flags", default="-O3 -march=native")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    for layer in options.layers:
        for units in options.units:
            for format in options.formats:
                row = {"layer": layer, "units": units, "format": format}
                row |= measured(LAYERS[layer], units, format, options)
                print(row, flush=True)
                if options.json:
                    add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
