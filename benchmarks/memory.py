"""The memory of a train step: the most that a process of its own held during one, in memory of the GPU if it uses one.

The process runs a train step, which compiles, forgets the highest use of memory so far, and runs another. JAX does not
forget that of a GPU: there, the peak is that of both. On a CPU, Linux counts.
"""

import json
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np

LOOPS = ["ours", "recompute", "keras"]


def megabytes(job, jit, loop):
    """Returns the peak of a train step of `loop`, one of `LOOPS`, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", json.dumps([job, jit, loop])]
    run = subprocess.run(command, cwd=pathlib.Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
    return float(run.stdout.splitlines()[-1])


def growth(megabytes):
    """Returns the megabytes that each further time step takes, from a dict of peaks by length; `None` for one alone."""
    points = [(steps, peak) for steps, peak in megabytes.items() if peak is not None]
    return np.polyfit(*zip(*points, strict=True), 1)[0] if len(points) > 1 else None


def peak(job, jit, loop):
    from benchmarks.contenders import contenders, device

    step = contenders(job, [loop], jit)[loop]["train"]
    forget, read = (forget_on_cpu, peak_on_cpu) if device() == "cpu" else counters_of_gpu()
    step()
    forget()
    step()
    return read() / 1e6


def forget_on_cpu():
    pathlib.Path("/proc/self/clear_refs").write_text("5")


def peak_on_cpu():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) * 1000


def counters_of_gpu():
    """Returns functions that forget the peak of the first GPU, and that return it in bytes."""
    backend = keras.backend.backend()
    if backend == "torch":
        import torch

        return torch.cuda.reset_peak_memory_stats, torch.cuda.max_memory_allocated
    if backend == "tensorflow":
        from tensorflow import config

        return (
            lambda: config.experimental.reset_memory_stats("GPU:0"),
            lambda: config.experimental.get_memory_info("GPU:0")["peak"],
        )
    import jax

    return lambda: None, lambda: jax.local_devices()[0].memory_stats()["peak_bytes_in_use"]


if __name__ == "__main__":
    print(peak(*json.loads(sys.argv[1])))
