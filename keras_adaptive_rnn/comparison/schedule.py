"""How many steps each trial takes: decided once, from measured times, and then kept."""

import math

import numpy as np

from keras_adaptive_rnn.comparison.trials import PIECES

SEARCH, FINAL = 0.35, 0.55
# Steps of the shortest trial, and passes over the data of the longest.
FEWEST, PASSES = 10, 40
LOWEST, HIGHEST = 1e-3, 3e-2


def rates(trials):
    """Returns the learning rates of the trials."""
    if trials == 1:
        return [0.003]
    return [float(f"{rate:.2g}") for rate in np.geomspace(LOWEST, HIGHEST, trials)]


def rungs(trials):
    """Returns how many rates stay in each rung: all, then the better half, down to two."""
    sizes = []
    while trials > 1:
        sizes.append(trials)
        trials = math.ceil(trials / 2) if trials > 2 else 1
    return sizes


def finalists(count):
    """Returns how many cells are trained with several seeds."""
    return max(2, math.ceil(count / 2))


def schedule(seconds, times, count, seeds, trials, kept):
    """Returns the steps of each rung and of the final trials, and how often they are judged.

    Args:
        seconds: The time that is left.
        times: What a step, the start of a piece and a judgement take, in seconds, by cell.
        count: Steps in a pass over the data.
        seeds, trials: Number of seeds, and of learning rates.
        kept: Number of cells that are trained with several seeds.
    """
    # A trial spends at most a fifth of its time on being judged.
    judged = sum(each["validation"] for each in times.values()) / sum(each["step"] for each in times.values())
    sizes, slowest = rungs(trials), slowest_of(times, kept)
    # In each rung half as many trials take twice as many steps.
    per_cell = sum(size * 2**k for k, size in enumerate(sizes))
    starts = PIECES * sum(each["start"] for each in times.values()) * sum(sizes)
    shortest = _steps(SEARCH * seconds, starts, per_cell * sum(each["step"] for each in times.values()))
    starts = PIECES * sum(each["start"] for each in slowest) * seeds
    longest = _steps(FINAL * seconds, starts, seeds * sum(each["step"] for each in slowest))
    longest = max(2 * FEWEST, min(longest, PASSES * count))
    shortest = max(FEWEST, min(shortest, longest // 2))

    def trial(size, steps):
        return {"kept": size, "steps": steps, "validations": int(min(PIECES, max(1, 0.2 * steps / judged)))}

    return {
        "rungs": [trial(size, shortest * 2**k) for k, size in enumerate(sizes)],
        "final": trial(kept, longest),
    }


def _steps(seconds, starts, step):
    return int((0.8 * seconds - starts) / step) if step else FEWEST


def slowest_of(times, count):
    return sorted(times.values(), key=lambda each: each["step"])[-count:]


def trial_seconds(trial, times):
    """Returns what a trial takes."""
    pieces = min(PIECES, trial["steps"]) * times["start"]
    return pieces + trial["steps"] * times["step"] + trial["validations"] * times["validation"]


def estimated(plan, times, seeds):
    """Returns the seconds that a schedule takes."""
    search = sum(rung["kept"] * trial_seconds(rung, each) for rung in plan["rungs"] for each in times.values())
    final = plan["final"]
    return search + seeds * sum(trial_seconds(final, each) for each in slowest_of(times, final["kept"]))
