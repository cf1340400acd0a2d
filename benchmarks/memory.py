"""The memory of a train step: the most that a process of its own ever held during one, on a CPU under Linux.

The process runs a train step, which compiles, has Linux forget the highest use of memory so far, and runs another.
"""

import json
import pathlib
import re
import subprocess
import sys

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
    from benchmarks.contenders import contenders

    step = contenders(job, [loop], jit)[loop]["train"]
    step()
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    step()
    return int(re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path("/proc/self/status").read_text()).group(1)) / 1000


if __name__ == "__main__":
    print(peak(*json.loads(sys.argv[1])))
