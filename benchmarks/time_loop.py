"""Measures our time loop beside Keras's, PyTorch's, and the matrix products that no loop can do without.

    KERAS_BACKEND=jax python -m benchmarks.time_loop --cells Mogrifier --units 256 --batch 20 --steps 35

Every row is one cell of one size: all contenders take turns in one process, forwards and then backwards, and the row
holds the median of each and the median ratio of neighbours. `benchmarks/README.md` says what is in a time. `--memory`
measures the memory of a train step over its length, `--streaming` a loop of single steps; `--report` measures nothing
and shows what a file holds, of all backends.
"""

import argparse
import datetime
import gc
import importlib.metadata
import itertools
import os
import pathlib
import platform
import re
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow lists the devices that it did not find, otherwise.

import keras
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import NAMES, OF_PYTORCH, memory
from benchmarks.contenders import CELLS, JIT, contenders, device, streaming_contenders
from benchmarks.rows import add, key, read

MODES = {
    "time": {"cells": list(CELLS), "units": [128, 256, 512, 1024], "batch": [1, 20, 64], "steps": [35, 70, 500]},
    "memory": {"cells": ["Mogrifier"], "units": [256], "batch": [32], "steps": [100, 200, 400]},
    "streaming": {"cells": list(CELLS), "units": [256], "batch": [1], "steps": [100]},
    "report": {"cells": None, "units": None, "batch": None, "steps": None},
}
WHATS = {"time": ["train", "predict"], "memory": ["memory"], "streaming": ["step"]}
KEY = ("backend", "device", "cell", "units", "batch", "steps", "what", "jit")
RATIOS = {
    "plain cell / ours": lambda ratios: ratios.get("keras_plain"),
    "Keras layer / ours": lambda ratios: ratios.get("keras_layer"),
    "PyTorch LSTM / ours": lambda ratios: ratios.get("torch_lstm"),
    "our cell / plain cell": lambda ratios: (
        ratios["keras"] / ratios["keras_plain"] if "keras_plain" in ratios else None
    ),
    "our cell / ours": lambda ratios: ratios.get("keras"),
    "Keras model / ours": lambda ratios: ratios.get("keras_model"),
    "Keras compiled / ours": lambda ratios: ratios.get("keras_compiled"),
    "PyTorch loop / ours": lambda ratios: ratios.get("plain"),
    "ours / graph": lambda ratios: 1 / ratios["graph"] if "graph" in ratios else None,
    "PyTorch loop / graph": lambda ratios: (
        ratios["plain"] / ratios["graph"] if {"plain", "graph"} <= {*ratios} else None
    ),
    "ours / one kernel": lambda ratios: 1 / ratios["persistent"] if "persistent" in ratios else None,
    "FlashRNN / one kernel": lambda ratios: (
        ratios["flashrnn"] / ratios["persistent"] if {"flashrnn", "persistent"} <= {*ratios} else None
    ),
    "ours / products": lambda ratios: 1 / ratios["products"] if "products" in ratios else None,
}
# A pause before each run: threads of the last library spin for a while before they sleep.
PAUSE = 0.01


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--memory", dest="mode", action="store_const", const="memory", help="of a train step")
    modes.add_argument("--streaming", dest="mode", action="store_const", const="streaming", help="single steps")
    modes.add_argument("--report", dest="mode", action="store_const", const="report", help="show the rows of --json")
    parser.set_defaults(mode="time")
    parser.add_argument("--cells", nargs="+", choices=CELLS)
    for name in ("units", "batch", "steps"):
        defaults = ", ".join(f"{mode}: {MODES[mode][name]}" for mode in WHATS)
        parser.add_argument(f"--{name}", type=int, nargs="+", help=f"defaults: {defaults}")
    special = "all but `recompute`, `graph` and `persistent` by default"
    parser.add_argument("--contenders", nargs="+", choices=NAMES, help=special)
    parser.add_argument("--recompute", action="store_true", help="add our loop with recompute=True")
    parser.add_argument("--against-torch", action="store_true", help="PyTorch's contenders on other backends too")
    parser.add_argument("--jit", choices=JIT, default="auto", help="Keras's jit_compile")
    parser.add_argument("--repeats", type=int, default=11, help="runs of each contender")
    parser.add_argument(
        "--seconds", type=float, default=60, help="no further runs of a row after these, but 3 at least"
    )
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to, of all backends")
    parser.add_argument("--resume", action="store_true", help="measure only what --json does not hold")
    parser.add_argument("--markdown", action="store_true", help="print the tables in Markdown")
    arguments = parser.parse_args(argv)
    for name, default in MODES[arguments.mode].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    if arguments.json is None and (arguments.resume or arguments.mode == "report"):
        parser.error("--resume and --report need --json FILE")
    return arguments


# Measuring.


def alternate(actions, repeats, seconds):
    """Returns a list of dicts, the seconds of each action in each round."""
    for action in actions.values():
        action()  # Compiles.
        action()
    rounds, start = [], time.perf_counter()
    while len(rounds) < min(3, repeats) or (len(rounds) < repeats and time.perf_counter() - start < seconds):
        order = list(actions) if len(rounds) % 2 == 0 else list(reversed(actions))
        rounds.append({name: timed(actions[name]) for name in order})
    return rounds


def timed(action):
    time.sleep(PAUSE)
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measure(job, whats, arguments):
    """Returns for each of `whats` what there is to say of it."""
    if whats == ["memory"]:
        loops = arguments.contenders or memory.LOOPS
        return {"memory": {"megabytes": {loop: memory.megabytes(job, arguments.jit, loop) for loop in loops}}}
    if whats == ["step"]:
        actions = {name: {"step": read} for name, read in streaming_contenders(job, arguments.jit).items()}
        runs_per_action = job["steps"]
    else:
        actions, runs_per_action = contenders(job, wanted(arguments), arguments.jit), 1
    found = {}
    for what in whats:
        rounds = alternate({name: each[what] for name, each in actions.items()}, arguments.repeats, arguments.seconds)
        found[what] = {
            "seconds": {name: statistics.median(r[name] for r in rounds) / runs_per_action for name in actions},
            "ratios": {name: statistics.median(r[name] / r["ours"] for r in rounds) for name in actions},
            "rounds": len(rounds),
        }
    return found


def wanted(arguments):
    names = {"ours", *(arguments.contenders or set(NAMES) - {"recompute", "graph", "persistent"})}
    if arguments.recompute:
        names.add("recompute")
    beside_torch = arguments.against_torch or keras.backend.backend() == "torch"
    return names if beside_torch else names - set(OF_PYTORCH)


def environment():
    backend = keras.backend.backend()
    versions = {name: importlib.metadata.version(name) for name in ("keras", backend)}
    cpu_info = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", cpu_info.read_text()) if cpu_info.exists() else []
    return {
        "python": platform.python_version(),
        **versions,
        "processor": names[0] if names else platform.processor(),
        **({"accelerator": accelerator(backend)} if device() == "gpu" else {}),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "date": datetime.date.today().isoformat(),
    }


def accelerator(backend):
    """Returns the name of the first GPU."""
    if backend == "torch":
        import torch

        return torch.cuda.get_device_name()
    if backend == "tensorflow":
        from tensorflow import config

        return config.experimental.get_device_details(config.list_physical_devices("GPU")[0])["device_name"]
    import jax

    return jax.devices()[0].device_kind


# Rows.


def run(arguments):
    """Measures all that is asked for; returns its rows, those that were known with `--resume` included."""
    known = read(arguments.json, KEY) if arguments.resume else {}
    common = {"backend": keras.backend.backend(), "device": device(), "jit": arguments.jit}
    sizes = itertools.product(arguments.units, arguments.batch, arguments.steps, arguments.cells)
    jobs = [{"cell": cell, "units": units, "batch": batch, "steps": steps} for units, batch, steps, cell in sizes]
    rows = {}
    for job in track(jobs, description=f"{common['backend']}, {arguments.mode}"):
        asked = {what: {**common, **job, "what": what} for what in WHATS[arguments.mode]}
        rows |= {key(row, KEY): known[key(row, KEY)] for row in asked.values() if key(row, KEY) in known}
        missing = [what for what, row in asked.items() if key(row, KEY) not in known]
        if missing:
            found = measure(job, missing, arguments)
            new = [{**asked[what], **found[what], "environment": environment()} for what in missing]
            rows |= {key(row, KEY): row for row in new}
            if arguments.json:
                add(arguments.json, KEY, new)
            keras.utils.clear_session()
            gc.collect()
    return list(rows.values())


def selected(arguments):
    """Returns the rows of the file that have the sizes asked for."""
    wanted = {"cell": arguments.cells, "jit": [arguments.jit]}
    wanted |= {name: getattr(arguments, name) for name in ("units", "batch", "steps")}
    rows = read(arguments.json, KEY).values()
    return [row for row in rows if all(values is None or row[name] in values for name, values in wanted.items())]


# Tables.


SIZES = ["backend", "cell", "units", "batch", "steps"]


def tables(rows):
    """Returns the tables of `rows`, each a title, a header and lines of text: sequences, single steps, memory."""
    kinds = {
        "Whole sequences, ms": (["train", "predict"], time_table),
        "Streaming, ms a step": (["step"], time_table),
        "Memory of a train step, MB": (["memory"], memory_table),
    }
    groups = {title: [row for row in rows if row["what"] in whats] for title, (whats, _) in kinds.items()}
    return [(title, *kinds[title][1](group)) for title, group in groups.items() if group]


def time_table(rows):
    names = [name for name in NAMES if any(name in row["seconds"] for row in rows)]
    ratios = [name for name, ratio in RATIOS.items() if any(ratio(row["ratios"]) for row in rows)]
    lines = [
        [
            *(str(row[name]) for name in SIZES),
            row["what"],
            *(number(row["seconds"].get(name), 1000) for name in names),
            *(number(RATIOS[name](row["ratios"])) for name in ratios),
            str(row["rounds"]),
        ]
        for row in rows
    ]
    for backend, what in dict.fromkeys((row["backend"], row["what"]) for row in rows):
        alike = [row["ratios"] for row in rows if (row["backend"], row["what"]) == (backend, what)]
        means = [number(mean(RATIOS[name](ratio) for ratio in alike)) for name in ratios]
        lines.append([backend, "geometric mean", "", "", "", what, *[""] * len(names), *means, ""])
    return [*SIZES, "", *(NAMES[name] for name in names), *ratios, "rounds"], lines


def memory_table(rows):
    lines = []
    for row in rows:
        for loop, megabytes in row["megabytes"].items():
            alike = [other for other in rows if all(other[k] == row[k] for k in KEY if k != "steps")]
            slope = memory.growth({other["steps"]: other["megabytes"].get(loop) for other in alike})
            lines.append([*(str(row[name]) for name in SIZES), NAMES[loop], number(megabytes), number(slope)])
    return [*SIZES, "loop", "peak of the process", "a time step"], lines


def number(value, factor=1):
    """Returns a number in three digits, as a text."""
    if value is None:
        return ""
    value *= factor
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.geometric_mean(values) if values else None


def show(title, header, lines, console):
    table = Table(title=title)
    for name in header:
        table.add_column(name, justify="left" if name in ("backend", "cell", "", "loop") else "right")
    for line in lines:
        table.add_row(*line)
    console.print(table)


def markdown(title, header, lines):
    rule = ["---" if name in ("backend", "cell", "", "loop") else "---:" for name in header]
    return "\n".join([f"{title}:", "", *("| " + " | ".join(line) + " |" for line in (header, rule, *lines)), ""])


def main(argv=None):
    arguments = parse(argv)
    rows = selected(arguments) if arguments.mode == "report" else run(arguments)
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    for table in tables(rows):
        if arguments.markdown:
            print(markdown(*table))
        else:
            show(*table, console)


if __name__ == "__main__":
    main()
