"""What a GPU would launch for each cell, counted in programs that XLA compiles for it on a machine without one.

    python -m benchmarks.gpu_programs --json FILE

It takes `jax[cuda12]`, in an environment of its own. `benchmarks/README.md` says what is counted.
"""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial

os.environ["KERAS_BACKEND"] = "jax"
# XLA writes there what it would launch, and which of it in command buffers, the graphs of CUDA.
os.environ["GPU_PROGRAMS"] = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        f"--xla_dump_to={os.environ['GPU_PROGRAMS']}",
        "--xla_dump_hlo_module_re=.*(predict|loss)",
    ]
)
# Otherwise JAX asks for a GPU's driver.
os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")

import jax
import keras
from jax import numpy as jnp
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from rich.progress import track

import keras_adaptive_rnn as kar
from benchmarks import contenders, rows
from benchmarks.rows import add, key, read
from keras_adaptive_rnn.engine.target import tracing_for

FOLDER = pathlib.Path(os.environ["GPU_PROGRAMS"])
TARGETS = pathlib.Path(__file__).parent / "targets"
CELLS = {
    **contenders.CELLS,
    "AdaptiveLinear": kar.AdaptiveLinearCell,
    "MultiplicativeIntegrationLSTM": kar.MultiplicativeIntegrationLSTMCell,
    "NAS": kar.NASCell,
}
KEY = ("target", "cell", "layer", "what", "units", "batch", "steps")
LAYERS = ("ours", "keras", "persistent")
FIGURES = ("kernels a step", "launches a step", "kernels once", "temporary MB")
# Of the two kernels of a persistent layer: what a program takes of a multiprocessor. Spilled are those bytes of a
# thread that its registers do not hold.
OF_KERNELS = tuple(f"{part} {what}" for part in ("forward", "backward") for what in ("registers", "spilled", "shared"))
KERNEL = re.compile(
    r"Compiling entry function 'persistent_(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers", re.DOTALL
)
SHARED = re.compile(r"persistent_(\w+) grid:.*shared_memory: (\d+) bytes")
# Instructions that launch no kernel of their own.
FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "add-dependency", "opt-barrier"),
    *("partition-id", "replica-id", "async-done", "copy-done"),
}
BETWEEN_HOST_AND_DEVICE = {"infeed", "outfeed", "send", "recv", "send-done", "recv-done"}
# XLA's mark of memory of the host, and of functions in Python.
HOST = re.compile(r"S\(5\)|callback")
HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = (?:\(.*?\)|\S+) ([a-z][\w\-]*)\(")
# What launches nothing itself.
CONTAINERS = {"kWhile", "kSequential", "kConditional"}
LAUNCH = re.compile(r"^( *)(?:\d+: (k\w+)|(condition|body):)")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", choices=names_of_targets(), default=["h100"])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=["ours", "keras"])
    parser.add_argument("--units", type=int, default=256, help="also of the inputs; default: 256")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to")
    parser.add_argument("--table", action="store_true", help="only print the file as a table")
    parser.add_argument("--check", action="store_true", help="fail where ours launches more than the file says")
    return parser.parse_args(argv)


def names_of_targets():
    return sorted(path.stem for path in TARGETS.glob("*.txt"))


# Programs.


def device_of(target):
    """Returns the device of a target, which only compiles."""
    config = (TARGETS / f"{target}.txt").read_text()
    topology = topologies.get_topology_desc(platform="cuda", target_config=config, topology="1x1x1")
    return topology.devices[0]


def compiled(layer, what, shape, device):
    """Returns the program of a train step, without the optimizer's, or of a prediction."""
    sharding = NamedSharding(Mesh([device], ("x",)), PartitionSpec())

    def like(array):
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=sharding)

    layer.build(shape)
    trainable, others = (
        [like(variable.value) for variable in group]
        for group in (layer.trainable_variables, layer.non_trainable_variables)
    )
    x = jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)

    def predict(trainable, others, x):
        return layer.stateless_call(trainable, others, x, training=False)[0]

    def loss(trainable, others, x, y):
        outputs, others = layer.stateless_call(trainable, others, x, training=True)
        return jnp.mean((outputs - y) ** 2), others

    if what == "predict":
        function, given = predict, (trainable, others, x)
    else:
        y = jax.eval_shape(predict, trainable, others, x)
        y = jax.ShapeDtypeStruct(y.shape, y.dtype, sharding=sharding)
        function, given = jax.value_and_grad(loss, has_aux=True), (trainable, others, x, y)
    with tracing_for("gpu"):
        return jax.jit(function).lower(*given).compile()


# What they launch.


def computations(text):
    """Returns the lines of each computation of an optimized program, by name, and the name of the first one."""
    found, entry, lines = {}, None, None
    for line in text.splitlines():
        header = HEADER.match(line)
        if header:
            lines = found.setdefault(header[2], [])
            entry = header[2] if header[1] else entry
        elif line.startswith("}"):
            lines = None
        elif lines is not None:
            lines.append(line)
    return found, entry


def launches(found, name):
    """Returns how many kernels a computation launches, in loops and outside, the trips of its loops, and host copies.

    Args:
        found: What `computations` returns.
        name: Name of the computation.
    """
    once, in_loops, trips, host, copies = 0, 0, [], False, False
    for line in found[name]:
        opcode = opcode_of(line)
        copies = copies or opcode in BETWEEN_HOST_AND_DEVICE or bool(HOST.search(line))
        if opcode is None or opcode in FREE:
            continue
        if opcode == "while":
            trips_known = TRIPS.search(line)
            # Of a loop until a condition holds, one round is counted.
            count = int(trips_known[1]) if trips_known else 1
            inner = launches(found, called(line, "body")[0])
            in_loops += count * (inner["once"] + inner["in loops"])
            trips += [count, *inner["trips"]]
            host = host or inner["host"] or inner["copies"]
        elif opcode in ("call", "conditional", "async-start"):
            inner = [launches(found, each) for each in called(line, "to_apply|calls|branch_computations")]
            # Of the branches of a condition, one runs.
            most = max(inner, key=lambda each: each["once"] + each["in loops"])
            once, in_loops = once + most["once"], in_loops + most["in loops"]
            trips, host = [*trips, *most["trips"]], host or any(each["host"] for each in inner)
            copies = copies or any(each["copies"] for each in inner)
        else:
            once += 1
    return {"once": once, "in loops": in_loops, "trips": trips, "host": host, "copies": copies}


def opcode_of(line):
    match = INSTRUCTION.match(line)
    return match and match[1]


def called(line, attribute):
    """Returns the names of the computations that an instruction runs."""
    (names,) = re.findall(rf"(?:{attribute})=\{{?([^}},]+(?:, %[^}},]+)*)\}}?", line)[:1] or [""]
    return [name.strip().lstrip("%") for name in names.split(",")]


def launches_on_host(text, trips):
    """Returns how often the host launches a kernel, a copy, or a whole command buffer: once, and in loops.

    Args:
        text: The file of XLA with the sequence of launches, after its passes over them.
        trips: List of the rounds of each loop, as in `launches`; the condition of such a loop is not launched.
    """
    left, once, in_loops, hidden, loops = list(trips), 0, 0, None, []
    for line in text.splitlines():
        match = LAUNCH.match(line)
        if match is None or (hidden is not None and len(match[1]) > hidden):
            continue
        depth, kind, part = len(match[1]), match[2], match[3]
        # Of a loop, `body:` is two places to the right, and what it launches four.
        depth -= 2 if part == "body" else 0
        while loops and depth < loops[-1]["depth"] + (0 if part == "body" else 1):
            loops.pop()
        hidden = depth if kind == "kCommandBuffer" else None
        if part == "condition":
            loops.append({"depth": depth, "rounds": left.pop(0), "part": part})
        elif part == "body":
            loops[-1]["part"] = part
        elif kind not in CONTAINERS and not loops:
            once += 1
        elif kind not in CONTAINERS and all(loop["part"] == "body" for loop in loops):
            in_loops += math.prod(loop["rounds"] for loop in loops)
    return {"once": once, "in loops": in_loops}


def dumped():
    """Returns what XLA wrote about the program that was compiled last, its launches and its code, and removes it."""
    # Of a program that XLA's passes leave alone, it writes the sequence once.
    path = sorted(FOLDER.glob("*.thunk_sequence*.txt"), key=lambda path: len(path.name))[-1]
    launched, codes = path.read_text(), [path.read_text() for path in FOLDER.glob("*.ptx")]
    shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    return launched, codes


def assembled(code):
    """Returns what NVIDIA's assembler says of code."""
    (folder,) = importlib.util.find_spec("nvidia.cuda_nvcc").submodule_search_locations
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(code)
        file.flush()
        (arch,) = re.findall(r"^\.target (\w+)", code, re.MULTILINE)
        command = [f"{folder}/bin/ptxas", "--verbose", f"--gpu-name={arch}", "--output-file=/dev/null", file.name]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr


def resources(said, launched):
    """Returns the figures `OF_KERNELS`.

    Args:
        said: What the assembler says of all kernels.
        launched: As in `launches_on_host`.
    """
    found = {}
    for part, spilled, registers in KERNEL.findall(said):
        found |= {f"{part} registers": int(registers), f"{part} spilled": int(spilled)}
    return found | {f"{part} shared": int(size) for part, size in SHARED.findall(launched)}


def row(target, cell, layer, what, sizes, device):
    """Returns what is counted of one program."""
    make = CELLS[cell](sizes["units"])
    makers = {"ours": kar.RNN, "keras": keras.layers.RNN, "persistent": partial(kar.RNN, schedule="persistent")}
    made = makers[layer](make, return_sequences=True)
    program = compiled(made, what, (sizes["batch"], sizes["steps"], sizes["units"]), device)
    found = launches(*computations(program.as_text()))
    launched, codes = dumped()
    by_host = launches_on_host(launched, found["trips"])
    said = "".join(assembled(code) for code in codes if ".entry persistent" in code)
    return {
        "target": target,
        "cell": cell,
        "layer": layer,
        "what": what,
        **sizes,
        "kernels a step": round(found["in loops"] / sizes["steps"], 2),
        "kernels once": found["once"],
        "launches a step": round(by_host["in loops"] / sizes["steps"], 2),
        "launches once": by_host["once"],
        "trips": found["trips"],
        "temporary MB": round(program.memory_analysis().temp_size_in_bytes / 1e6, 2),
        "copies to or from the host": found["host"],
        **resources(said, launched),
        "jax": jax.__version__,
    }


def worse(new, old):
    """Returns what is worse in a row than in an older one, as text, or `None`."""
    if new["copies to or from the host"]:
        return "copies between host and device in a loop"
    # Fractions of a kernel a step, and of a percent of memory, are no change of the program.
    return rows.worse(new, old, dict.fromkeys((*FIGURES, "launches once", *OF_KERNELS), (1.01, 0.1)))


def table(rows):
    """Returns lines of Markdown: kernels and launches a step, kernels once, and memory, ours / Keras's loop.

    A second table has what the kernels of persistent layers take in training.
    """
    # Whatever was counted last is not at the end.
    rows = sorted(rows, key=lambda row: list(CELLS).index(row["cell"]))
    rows.sort(key=lambda row: row["target"], reverse=True)
    persistent = [row for row in rows if row["layer"] == "persistent" and row["what"] == "train"]
    rows = [row for row in rows if row["layer"] != "persistent"]
    by_key = {(row["target"], row["cell"], row["what"], row["layer"]): row for row in rows}
    header = [f"{what}: kernels a step | launches a step | once | MB" for what in ("train", "predict")]
    lines = [f"| | {' | '.join(header)} |", "| --- |" + " ---: |" * 8]
    for target, cell in dict.fromkeys((row["target"], row["cell"]) for row in rows):
        shown = [f"{target}, `{cell}`"]
        for what in ("train", "predict"):
            pair = [by_key.get((target, cell, what, layer)) for layer in ("ours", "keras")]
            for name in FIGURES:
                shown.append(" / ".join(f"{row[name]:g}" for row in pair if row is not None and name in row))
        lines.append(f"| {' | '.join(shown)} |")
    names = "registers | spilled | shared"
    lines += ["", f"| | launches | kernels | forward: {names} | backward: {names} |", "| --- |" + " ---: |" * 8]
    for row in persistent:
        figures = " | ".join(f"{row[name]:,}" for name in ("launches once", "kernels once", *OF_KERNELS))
        lines.append(f"| {row['target']}, `{row['cell']}` | {figures} |")
    return lines


def main(argv=None):
    arguments = parse(argv)
    if arguments.table:
        print(*table(read(arguments.json, KEY).values()), sep="\n")
        return None
    sizes = {name: getattr(arguments, name) for name in ("units", "batch", "steps")}
    known, faults = read(arguments.json, KEY), []
    if arguments.check and (counted := {row["jax"] for row in known.values()}) != {jax.__version__}:
        return f"{arguments.json} was counted with JAX {', '.join(sorted(counted))}, and this is {jax.__version__}"
    jobs = [
        (target, cell, layer, what)
        for target in arguments.targets
        for cell in arguments.cells
        for layer in arguments.layers
        for what in ("train", "predict")
        # A check counts what the file holds.
        if not arguments.check or (target, cell, layer, what, *sizes.values()) in known
    ]
    devices = {target: device_of(target) for target in arguments.targets}
    for target, cell, layer, what in track(jobs, "Compiling", disable=not sys.stderr.isatty()):
        found = row(target, cell, layer, what, sizes, devices[target])
        print(json.dumps(found), flush=True)
        if arguments.check:
            fault = worse(found, known[key(found, KEY)])
            faults += [f"{target}, {cell}, {what}: {fault}"] if fault else []
        elif arguments.json is not None:
            add(arguments.json, KEY, [found])
    return "\n".join(faults) or None


if __name__ == "__main__":
    sys.exit(main())
