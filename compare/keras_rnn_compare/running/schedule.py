"""The schedule: the cells that there is time for, and the steps of each trial, from measured times."""

import heapq
import math

import numpy as np

from keras_rnn_compare.scoring.curves import FEW

# Shares of the time: to build and compile the models, and of what is left after that, to search and to train.
BUILD, SEARCH, FINAL = 0.4, 0.3, 0.55
# Share of a training that its judgements take, and of the time that each extra may take: quantiles, memory.
JUDGED, EXTRA = 0.2, 0.15
# Pieces of a trial, at most: between them the learning rate falls, and the model may be judged.
PIECES = 20
# Steps of the shortest trial, and of the longest one: so many passes over the data, or so many steps of little data.
FEWEST, PASSES, ENOUGH = 20, 40, 1000
# Steps below which trainings tell little: before they get shorter, there is one seed, and then the slowest cells are
# left out, but for so many.
DECENT, LEAST = 200, 4
# Rows that a judgement reads at least, and those of a final score.
GLANCE, SCORED = 256, 1024
# Seconds that a new process takes to import all, to measure memory.
PROCESS = 6
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
    """Returns how many cells are trained with all seeds."""
    return min(count, max(3, math.ceil(count / 3)))


def affordable(times, seconds, count, seeds, trials, samples, workers=1, kept=1):
    """Returns the names of the cells that there is time for, in their order, and their schedule.

    Where it is short, there is one seed; then those cells are left out, the slowest first, whose step takes more than
    twice as long as the fastest one, then the last ones, but never the first. Of four, cells are left out only if the
    shortest trials take longer.

    Args:
        times: What a step, the start of a piece, a judgement and the building of the model take, in seconds, by cell.
        seconds: The time that is left.
        count: Steps in a pass over the data.
        seeds: The numbers of trainings of the better cells with all seeds, and with one.
        trials: Number of learning rates.
        samples: Number of samples of the parts `validation` and `test`.
        workers: How many trials run at a time.
        kept: How many cells stay in any case. Defaults to `1`.
    """
    names = list(times)
    while True:
        chosen = {name: times[name] for name in names}
        for each in seeds:
            plan = schedule(seconds, chosen, count, each, trials, samples, workers)
            if plan["final"]["steps"] >= min(DECENT, most_steps(count)):
                return names, plan
        is_late = estimated(plan, chosen, workers) > seconds
        if len(names) == 1 and is_late:
            # Not even the shortest trials of a cell: one rate, and what steps there is time for.
            return names, schedule(seconds, chosen, count, each, 1, samples, workers, FEW)
        if len(names) <= kept or (len(names) <= LEAST and not is_late):
            return names, plan
        slowest = max(names[1:], key=lambda name: times[name]["step"])
        fastest = min(times[name]["step"] for name in names)
        names.remove(slowest if times[slowest]["step"] > 2 * fastest else names[-1])


def most_steps(count):
    """Returns the steps of the longest training, for so many steps in a pass over the data."""
    return max(PASSES * count, ENOUGH)


def schedule(seconds, times, count, seeds, trials, samples, workers=1, fewest=None):
    """Returns the rates, the rungs and the final training.

    Args:
        fewest: Steps of the final training, at least. Defaults to `None`, which means `2 * FEWEST`.
        seconds, times, count, seeds, trials, samples, workers: As in `affordable`.
    """
    given = (times, count, seeds, trials, samples, fewest or 2 * FEWEST)
    seconds -= sum(cost_seconds(each) for each in slowest_of(times, finalists(len(times))))
    if workers == 1:
        return of_work(seconds, *given)
    # Workers wait for each other, and compile a model each: so much work as they are done with in that time.
    seconds -= making_seconds(times)
    work = workers * seconds
    while True:
        plan = of_work(work, *given)
        if work <= seconds or sum(batches_seconds(plan, times, seeds, workers)) <= (SEARCH + FINAL) * seconds:
            return plan
        work *= 0.95


def of_work(seconds, times, count, seeds, trials, samples, fewest):
    """Returns the schedule of so many seconds of searching and training."""
    kept = finalists(len(times))
    all_cells = list(times.values())
    # Every cell is trained in full with the first seed, and the better ones with the others.
    full = [*all_cells, *(seeds - 1) * slowest_of(times, kept)]
    longest = max(fewest, min(steps_in(FINAL * seconds, full, full, FEW), most_steps(count)))
    final = trial(kept, longest, full, FEW, samples["validation"])
    final["scored"] = {part: scored(final, full, size) for part, size in samples.items()}
    # Rates are tried in shorter trainings: fewer of them, where these would be too short.
    while True:
        sizes = rungs(trials)
        # In each rung half as many trials take twice as many steps.
        weighed = sum(size * 2**k for k, size in enumerate(sizes)) * all_cells
        shortest = steps_in(SEARCH * seconds, weighed, sum(sizes) * all_cells, 1) if sizes else 0
        if trials <= 2 or shortest >= FEWEST:
            break
        trials -= 1
    shortest = max(FEWEST, min(shortest, longest // 2))
    tried = [trial(size, shortest * 2**k, all_cells, 1, samples["validation"]) for k, size in enumerate(sizes)]
    # All are judged by the same rows, so that longer trainings can be compared with shorter ones.
    rows = min(plan["rows"] for plan in (*tried, final))
    return {
        "rates": rates(trials),
        "rungs": [{**plan, "rows": rows} for plan in tried],
        "final": {**final, "rows": rows},
        "seeds": seeds,
    }


def steps_in(seconds, weighed, started, fewest):
    """Returns the steps that trainings may have in the time that is left for them, beside judgements.

    Args:
        seconds: The time for all of them.
        weighed: Times of a cell for each training, as often as its steps are multiplied.
        started: Times of a cell for each training.
        fewest: Judgements in a training, at least.
    """
    starts = pieces_of(fewest) * sum(each["start"] for each in started) + fewest * sum(map(glance, started))
    return int(((1 - JUDGED) * seconds - starts) / sum(each["step"] for each in weighed))


def glance(times):
    """Returns the seconds of the smallest judgement."""
    return times["judgement"] + GLANCE * times["row"]


def pieces_of(validations):
    """Returns the fewest pieces of a training: the learning rate falls in some steps at least."""
    return max(4, validations)


def trial(kept, steps, cells, fewest, size):
    """Returns the plan of a training: its steps, in how many pieces, how often and by how many rows it is judged.

    A training spends at most a fifth of its time on that, unless fewer judgements than `fewest` were left. `size` is
    the number of rows that there are.
    """

    def total(name):
        return sum(each[name] for each in cells)

    # To start a piece takes its time as well.
    pieces = int(0.1 * steps * total("step") / total("start")) if total("start") else PIECES
    pieces = min(PIECES, steps, max(pieces_of(fewest), pieces))
    share = JUDGED * steps * total("step")
    validations = int(min(pieces, max(fewest, share / sum(map(glance, cells)))))
    # The last piece is judged, and every so many before it.
    pieces -= pieces % validations
    rows = (share / validations - total("judgement")) / total("row") if total("row") else size
    rows = int(min(size, max(GLANCE, rows)))
    return {"kept": kept, "steps": steps, "pieces": pieces, "validations": validations, "rows": rows}


def scored(final, cells, size):
    """Returns how many of a part's rows a final score uses: all, unless that takes as long as half the training."""
    row = sum(each["row"] for each in cells)
    rows = 0.25 * final["steps"] * sum(each["step"] for each in cells) / row if row else size
    return int(min(size, max(SCORED, rows)))


def slowest_of(times, count):
    return sorted(times.values(), key=lambda each: each["step"])[-count:]


def trial_seconds(plan, times):
    """Returns what a trial takes."""
    rows = plan["validations"] * plan["rows"] + sum(plan.get("scored", {}).values())
    judged = plan["validations"] * times["judgement"] + rows * times["row"]
    return fit_seconds(plan, times) + judged


def fit_seconds(plan, times):
    """Returns what a trial takes beside its judgements."""
    return plan["pieces"] * times["start"] + plan["steps"] * times["step"]


def cost_seconds(times):
    """Returns what it takes to measure predictions and single steps, for which a model is compiled once more."""
    return 0.2 * times["build"]


def making_seconds(times):
    """Returns what it takes to make the models, which workers have compiled, once more in this process."""
    return sum(each.get("make", 0) for each in times.values())


def memory_seconds(times, final):
    """Returns what it takes to measure the memory of the finalists."""
    return sum(PROCESS + each["build"] for each in slowest_of(times, final["kept"]))


def quantiles_seconds(times, final):
    """Returns what it takes to build and train one more model of a cell, to save it, and to predict with it."""
    return max(1.2 * each["build"] + trial_seconds(final, each) for each in times.values())


# What is done if there is time, and what it takes.
EXTRAS = (("quantiles", quantiles_seconds), ("memory", memory_seconds))


def rescaled(final, share, most):
    """Returns a training of a share of the steps, or of `most` of them."""
    steps = min(max(2 * FEWEST, int(share * final["steps"])), max(most, final["steps"]))
    validations = min(final["validations"], steps)
    pieces = min(final["pieces"], steps)
    return {**final, "steps": steps, "pieces": pieces - pieces % validations, "validations": validations}


def estimated(plan, times, workers=1):
    """Returns the seconds that a schedule takes."""
    costs = sum(map(cost_seconds, slowest_of(times, plan["final"]["kept"])))
    return (
        sum(batches_seconds(plan, times, plan["seeds"], workers))
        + costs
        + (making_seconds(times) if workers > 1 else 0)
    )


def batches_seconds(plan, times, seeds, workers):
    """Yields the seconds of each batch of trials that may run at a time; the next one begins when they are done."""
    rungs = [(rung, times, rung["kept"]) for rung in plan["rungs"]]
    final, kept = plan["final"], plan["final"]["kept"]
    better = sorted(times, key=lambda name: times[name]["step"])[-kept:]
    built = [set(list(times)[k::workers]) for k in range(workers)]
    for plan, names, each in (*rungs, (final, times, 1), (final, better, seeds - 1)):
        trials = [(name, trial_seconds(plan, times[name])) for name in names for _ in range(each)]
        yield batch_seconds(trials, built, {name: times[name]["build"] for name in times})


def batch_seconds(trials, built, builds):
    """Returns the seconds of a batch, and adds to `built`, the cells whose model each worker has compiled."""
    free, end = [(0.0, k) for k in range(len(built))], 0.0
    while trials and free:
        now, k = heapq.heappop(free)
        chosen = next_for(built[k], set().union(*built[:k], *built[k + 1 :]), trials, builds)
        if chosen is None:
            continue  # Nothing that is left would pay for it, nor will it later.
        name, seconds = trials.pop(chosen)
        now += seconds + (0 if name in built[k] else builds[name])
        built[k].add(name)
        end = max(end, now)
        heapq.heappush(free, (now, k))
    return end


def next_for(built, elsewhere, trials, builds):
    """Returns the place of the trial that a worker takes next, or `None` if it had better wait.

    Args:
        built: Set of the cells whose model it has compiled.
        elsewhere: Set of those that the other workers have.
        trials: List of the name of the cell and the seconds of each trial.
        builds: Dict of the seconds to build and compile the model of a cell.
    """
    for is_wanted in (built.__contains__, lambda name: name not in elsewhere):
        for k, (name, _) in enumerate(trials):
            if is_wanted(name):
                return k
    # Others have the models of those that are left: to compile one here as well must be quicker than to wait for them.
    left = {}
    for name, seconds in trials:
        left[name] = left.get(name, 0) + seconds
    pays = [k for k, (name, seconds) in enumerate(trials) if builds[name] + seconds < left[name]]
    return max(pays, key=lambda k: left[trials[k][0]], default=None)
