"""Searches for a configuration of cells and layers that breaks what must hold for all of them.

    KERAS_BACKEND=torch python -m tools.fuzz --seconds 600 --seed 0
    KERAS_BACKEND=jax python -m tools.fuzz --configurations 2000 --seed 5000

A configuration is a layer around cells around cells, from this package, from Keras and from users, and what it meets:
masks, initial states, a dtype policy. Each is compared with `keras.layers.RNN` in values and gradients, and goes
through one of the other checks of `tests/outside/search.py`, or through all of them. Configurations have numbers, from
`--seed` on: a search that was stopped goes on with `--seed` and the number that it has reached. What fails is made as
small as possible, and printed as Python that repeats it. The exit code is 1 if anything failed. Needs `pip install
hypothesis rich`.
"""

import argparse
import itertools
import time
import warnings

import keras
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tests.outside.run import forget, report, search

# How often a search says where it is, if it cannot draw a bar.
SECONDS_BETWEEN_LINES = 60
# How many searches share the time to free what they leave.
TOGETHER = 10


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop after this time; 600 if no number is given either")
    parser.add_argument("--configurations", type=int, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0, help="number of the first configuration (0)")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many failures (10)")
    parser.add_argument(
        "--every-check", action="store_true", help="run all checks, not the comparison with Keras and one more"
    )
    options = parser.parse_args(arguments)
    for name in ("seconds", "configurations", "failures"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} must be positive. Received: {value}")
    if options.seed < 0:
        parser.error(f"--seed must not be negative. Received: {options.seed}")
    if options.seconds is None and options.configurations is None:
        options.seconds = 600
    warnings.simplefilter("ignore")
    return 1 if run(options, Console()) else 0


def run(options, console):
    """Searches, and returns how many configurations have failed."""
    total = options.seconds if options.configurations is None else options.configurations
    bar = Progress(
        TextColumn("configuration {task.fields[number]}, {task.fields[failures]} failed"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    start, failures, number = time.monotonic(), 0, options.seed
    said = start
    with bar:
        task = bar.add_task("", total=total, number=number, failures=0)
        for number in itertools.count(options.seed):
            done, seconds = number - options.seed, time.monotonic() - start
            completed = seconds if options.configurations is None else done
            bar.update(task, completed=completed, number=number, failures=failures)
            if not console.is_terminal and time.monotonic() - said > SECONDS_BETWEEN_LINES:
                said = time.monotonic()
                console.print(f"configuration {number}, {failures} failed, {seconds:.0f} s")
            if options.seconds is not None and seconds >= options.seconds:
                break
            if done == options.configurations or failures == options.failures:
                break
            failure = search(number, options.every_check)
            if done % TOGETHER == TOGETHER - 1:
                forget()
            if failure is not None:
                failures += 1
                console.print(report(number, failure), markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{keras.backend.backend()}: {number - options.seed} configurations, {options.seed} to {number - 1}, "
        f"{failures} failed, in {time.monotonic() - start:.0f} s. To go on: --seed {number}",
        soft_wrap=True,
    )
    return failures


if __name__ == "__main__":
    raise SystemExit(main())
