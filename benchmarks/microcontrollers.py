"""Single time steps in the interpreter of LiteRT for Microcontrollers: which cells run there, and in how many bytes.

    KERAS_BACKEND=tensorflow python -m benchmarks.microcontrollers --json benchmarks/microcontrollers.json

For each cell of 64 units that reads 40 numbers, such as the bands of a spectrum, in 32 bits and in 8: the bytes of the
file; the least arena, the memory of all that is no weight, in which the interpreter runs it; the operations that it
takes; the largest difference of its outputs from those of `predict` over `--check-steps` steps, and the mean one in
each half of them; and the median time of a step on this machine, in a Python loop. It takes `pip install --no-deps
tflite-micro`. `--report` writes the rows to `docs/tables/`; `--check` fails where a file has become worse.
"""

import argparse
import itertools
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from rich.progress import track

import keras_adaptive_rnn as kar
from benchmarks.one_step import FEATURES, LAYERS, perturbed
from benchmarks.rows import add, read, worse_than_known, write_tables
from keras_adaptive_rnn._command_line import without_logs
from tests import runtimes

KEY = ("layer", "bits")
ALLOWED = {"bytes": (1.02, 0), "arena bytes": (1.02, 0), "difference": (3, 1e-6)}
# Sequences and steps from which the converter learns ranges.
CALIBRATION = (10, 50)
# Bytes of an arena in which every file runs that can run.
ENOUGH = 2_000_000


class Micro:
    """A file in the interpreter, as a function from a dict of arrays to a dict of arrays.

    Args:
        contents: The file.
        arena: Bytes of its arena.
    """

    def __init__(self, contents, arena):
        from tflite_micro.python.tflite_micro import runtime

        model = runtime.convert_bytearray_to_object(contents)
        (graph,), (signature,) = model.subgraphs, model.signatureDefs
        self.inputs, self.outputs = (
            {each.name.decode(): list(of_graph).index(each.tensorIndex) for each in of_signature}
            for of_graph, of_signature in ((graph.inputs, signature.inputs), (graph.outputs, signature.outputs))
        )
        names = {value: name for name, value in vars(runtime.schema_fb.BuiltinOperator).items() if name.isupper()}
        codes = map(runtime.get_builtin_code_from_operator_code, model.operatorCodes)
        self.operations = sorted(names[code] for code in codes)
        self.interpreter = runtime.Interpreter.from_bytes(contents, arena_size=arena)

    def __call__(self, feeds):
        for name, value in feeds.items():
            self.interpreter.set_input(value, self.inputs[name])
        self.interpreter.invoke()
        return {name: self.interpreter.get_output(place).copy() for name, place in self.outputs.items()}


def least_arena(path):
    """Returns the fewest bytes, in hundreds, in which the interpreter runs a file."""
    too_few, enough = 0, 10 * path.stat().st_size // 100
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if fault(path, 100 * middle):
            too_few = middle
        else:
            enough = middle
    return 100 * enough


# With too small an arena, the interpreter may end the process.
ONCE = """
import sys
from tflite_micro.python.tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))
interpreter.invoke()
"""


def fault(path, arena):
    """Returns why the interpreter does not run a file in an arena, in its last words, or `None`."""
    ended = subprocess.run([sys.executable, "-c", ONCE, str(path), str(arena)], capture_output=True, text=True)
    return (ended.stderr.strip().splitlines() or ["no reason given"])[-1] if ended.returncode else None


def measured(make, bits, check_steps, steps):
    """Returns the row of a layer."""
    rng = np.random.default_rng(0)
    model = perturbed(keras.Sequential([keras.Input((None, FEATURES)), make()]), rng)
    calibration = None if bits == 32 else rng.normal(size=(*CALIBRATION, FEATURES)).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "step.tflite"
        with without_logs():
            kar.export_step(model, path, "litert", calibration=calibration, verbose=False)
        contents = path.read_bytes()
        found = {"bytes": len(contents)}
        refused = fault(path, ENOUGH)
        if refused is not None:
            return found | {"refused": refused}
        found["arena bytes"] = least_arena(path)
    run = Micro(contents, ENOUGH)
    sequence = rng.normal(size=(1, check_steps, FEATURES)).astype("float32")
    states = runtimes.zero_states(kar.step_model(model))
    outputs = runtimes.read(run, sequence, states)["output"]
    found["operations"] = run.operations
    errors = np.abs(outputs - model.predict(sequence, verbose=0))[0]
    found["difference"] = float(errors.max())
    found["mean difference of each half"] = [float(half.mean()) for half in np.array_split(errors, 2)]
    feeds, times = {"inputs": sequence[:, 0], **states}, []
    for _ in range(steps):
        begun = time.perf_counter()
        run(feeds)
        times.append(time.perf_counter() - begun)
    return found | {"microseconds": 1e6 * statistics.median(times)}


def tables(rows):
    """Returns the table of the rows; a line for each layer."""
    lines = [["cell", "file, kB", "arena, kB", "difference"]]
    lines[0] += [f"int8: {column}" for column in ("file, kB", "arena, kB", "mean difference")] + ["operations"]
    by_layer = {}
    for row in rows.values():
        by_layer.setdefault(row["layer"], {})[row["bits"]] = row
    for layer, of_bits in by_layer.items():
        cells = []
        for bits in (32, 8):
            row = of_bits[bits]
            cells.append(f"{row['bytes'] / 1000:.1f}")
            if "refused" in row:
                cells += ["refused", ""]
            else:
                difference = row["difference"] if bits == 32 else row["mean difference of each half"][1]
                cells += [f"{row['arena bytes'] / 1000:.1f}", f"{difference:.1e}"]
        operations = of_bits[32].get("refused") or ", ".join(of_bits[32]["operations"]).lower()
        lines.append([f"`{layer}`", *cells, operations])
    return {"microcontrollers": lines}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--check-steps", type=int, default=10_000)
    parser.add_argument("--bits", type=int, nargs="+", choices=(32, 8), default=(32, 8))
    parser.add_argument("--steps", type=int, default=1000, help="timed")
    parser.add_argument("--check", action="store_true", help="fail where a file is worse than the rows say")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    faults = []
    for name, bits in track([*itertools.product(options.layers, options.bits)], "Writing and running"):
        row = {"layer": name, "bits": bits, **measured(LAYERS[name], bits, options.check_steps, options.steps)}
        print(row, flush=True)
        if options.check:
            faults.append(worse_than_known(options.json, KEY, row, ALLOWED))
        elif options.json is not None:
            add(options.json, KEY, [row])
    return "\n".join(filter(None, faults)) or None


if __name__ == "__main__":
    sys.exit(main())
