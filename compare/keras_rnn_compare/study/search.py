"""The search for the learning rate of each cell: successive halving."""

import itertools

from keras_rnn_compare.seeds import fold_in
from keras_rnn_compare.study.runner import trial_of


def search(study, plan, runner):
    """Returns `{name: {"rate": ..., "trials": [...]}}`.

    Args:
        study: The `Study`.
        plan: The `Plan`.
        runner: The `Runner`.
    """
    seed = fold_in(study.settings.seed, "search")
    rates = dict.fromkeys(plan.cells, plan.schedule["rates"])
    trials = {name: [] for name in plan.cells}
    for k, rung in enumerate(plan.schedule["rungs"]):
        records = runner.records(
            [
                trial_of(study, plan, name, rate, seed, rung, f"rung{k}-rate{rate:g}", f"learning rate {rate:g}")
                for name in plan.cells
                for rate in rates[name][: rung["kept"]]
            ]
        )
        for name in plan.cells:
            ranked = sorted(itertools.islice(records, rung["kept"]), key=lambda record: score_or_inf(record["score"]))
            rates[name] = [record["rate"] for record in ranked]
            trials[name] += ranked
        best = {name: trials[name][-rung["kept"]]["score"] for name in plan.cells}
        study.log_scores(f"Best of {rung['kept']} learning rates, {rung['steps']:,} steps each", best)
    return {name: {"rate": rates[name][0], "trials": trials[name]} for name in plan.cells}


def best_searched(searched):
    """Returns the name of the cell with the best score of all trials."""
    return min(searched, key=lambda name: score_of(searched[name]))


def score_of(found):
    """Returns the best score of the trials of a cell."""
    return min((score_or_inf(trial["score"]) for trial in found["trials"]), default=0)


def score_or_inf(score):
    return float("inf") if score is None else score
