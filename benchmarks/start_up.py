"""Times from the layer to its first train step, and to its first prediction, beside Keras's `RNN` over the same cell.

    KERAS_BACKEND=jax python -m benchmarks.start_up --json benchmarks/start_up.json

Ours and Keras's take turns in one process; before each, all that was compiled is forgotten, and one round before the
others is not counted. A time holds making, building and compiling the model, and the call. The row `import` is the time
of `import keras_adaptive_rnn` after `import keras`, in a process of its own.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import keras
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import keras_adaptive_rnn as kar
from benchmarks import contenders
from benchmarks.rows import add

KEY = ("backend", "cell", "units", "batch", "steps", "what")
CELLS = {
    **contenders.CELLS,
    "Skip": lambda units: kar.SkipCell(kar.LSTMCell(units)),
    "KerasLSTM": lambda units: keras.layers.LSTMCell(units),
}
DEFAULT = ["LSTM", "GRU", "Mogrifier", "AdaptiveLSTM", "DeepRNN", "Skip", "KerasLSTM"]
LOOPS = {"ours": kar.RNN, "keras": keras.layers.RNN}
IMPORT = "import time, keras; t = time.perf_counter(); import keras_adaptive_rnn; print(time.perf_counter() - t)"


def first(cell, units, batch, steps, what, loop):
    """Returns the seconds from the layer to the end of the first call of its model."""
    x = np.random.default_rng(0).normal(size=(batch, steps, units)).astype("float32")
    y = np.zeros((batch, 1), "float32")
    keras.utils.clear_session()
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()
    start = time.perf_counter()
    layers = [LOOPS[loop](CELLS[cell](units)), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((None, units)), *layers])
    model.compile("adam", "mse")
    if what == "train":
        model.train_on_batch(x, y)
    else:
        model.predict_on_batch(x)
    return time.perf_counter() - start


def imported():
    command = [sys.executable, "-c", IMPORT]
    run = subprocess.run(command, cwd=pathlib.Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", choices=["import", *CELLS], default=["import", *DEFAULT])
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, default=35)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to")
    options = parser.parse_args(arguments)
    sizes = {"units": options.units, "batch": options.batch, "steps": options.steps}
    jobs = [
        {"cell": cell, **sizes, "what": what}
        for cell in options.cells
        for what in (["import"] if cell == "import" else ["train", "predict"])
        # Keras's loop has no place for the loss of a Skip RNN's decisions.
        if (cell, what) != ("Skip", "train")
    ]
    table = Table("cell", "what", "ours, s", "Keras RNN, s", "ours / Keras", title=keras.backend.backend())
    for job in track(jobs, "Starting", console=Console(stderr=True)):
        loops = ["ours"] if job["cell"] == "import" else list(LOOPS)
        times = {loop: [] for loop in loops}
        for k in range(options.repeats + 1):
            for loop in loops[:: -1 if k % 2 else 1]:
                seconds = imported() if job["cell"] == "import" else first(**job, loop=loop)
                if k:
                    times[loop].append(seconds)
        row = {"backend": keras.backend.backend(), **job}
        row["seconds"] = {loop: round(statistics.median(of), 3) for loop, of in times.items()}
        if len(loops) > 1:
            row["ratio"] = round(statistics.median(a / b for a, b in zip(*times.values(), strict=True)), 3)
        cells = [row["seconds"]["ours"], row["seconds"].get("keras", ""), row.get("ratio", "")]
        table.add_row(job["cell"], job["what"], *map(str, cells))
        if options.json:
            add(options.json, KEY, [row])
    Console().print(table)


if __name__ == "__main__":
    main()
