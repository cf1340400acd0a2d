"""Which differences are more than noise, and what follows from them."""

import math

import numpy as np

# Student's t at 97.5 %, by degrees of freedom: two seeds have one.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131)


def mean_and_error(values):
    """Returns the mean and its standard error, or `None` in place of an error that one value does not have."""
    values = [math.inf if value is None else value for value in values]
    mean = float(np.mean(values))
    if len(values) < 2 or not math.isfinite(mean):
        return mean, None
    return mean, float(np.std(values, ddof=1) / math.sqrt(len(values)))


def paired(scores, best):
    """Returns how much worse `scores` are than `best`, seed by seed: mean, standard error, and whether that is noise.

    Noise is what a two-sided t-test at 95 % does not tell from zero. One seed tells nothing.
    """
    if any(value is None for value in (*scores, *best)):
        return math.inf, None, False
    mean, error = mean_and_error(np.subtract(scores, best))
    if error is None:
        return mean, None, True
    return mean, error, abs(mean) <= STUDENT[min(len(scores) - 2, len(STUDENT) - 1)] * error


def recommend(rows, measure, naive=None):
    """Returns what to take, and why.

    Args:
        rows: List of dicts with `name`, `title`, `validation` (a score for each seed, lower is better, `None` where
            the training diverged) and `step` (seconds).
        measure: What a score is.
        naive: Dict of `how` and `validation`: the score of a prediction that needs no model.

    Returns: A dict of `winner` (the name with the best mean), `tied` (the names that only noise sets apart from it),
    `differences` (by name: mean, standard error, whether it is noise) and `sentence`.
    """
    means = {row["name"]: mean_and_error(row["validation"])[0] for row in rows}
    ranked = sorted(rows, key=lambda row: means[row["name"]])
    best = ranked[0]
    if not math.isfinite(means[best["name"]]):
        sentence = "Nothing can be recommended: every cell diverged with some seed."
        return {"winner": best["name"], "tied": [], "differences": {}, "sentence": sentence}
    differences = {row["name"]: paired(row["validation"], best["validation"]) for row in ranked[1:]}
    tied = [row for row in ranked[1:] if differences[row["name"]][2]]
    seeds, score = len(best["validation"]), f"validation {measure} {means[best['name']]:.4g}"
    if not ranked[1:]:
        sentence = f"Take {best['title']} ({score})."
    elif not tied:
        mean, error, _ = differences[ranked[1]["name"]]
        sentence = (
            f"Take {best['title']} ({score}): it is better than {ranked[1]['title']}, the next one, by "
            f"{mean:.2g} ± {error:.1g} (paired over {seeds} seeds), which is more than noise."
            if math.isfinite(mean)
            else f"Take {best['title']} ({score}): {ranked[1]['title']}, the next one, diverged."
        )
    elif seeds == 1:
        sentence = f"Take {best['title']} ({score}) for now: one seed cannot tell a difference from noise."
    else:
        fastest = min([best, *tied], key=lambda row: row["step"])
        others = ", ".join(row["title"] for row in [best, *tied[:-1]])
        sentence = (
            f"Nothing but noise between {others} and {tied[-1]['title']} (paired over {seeds} seeds): "
            f"{best['title']} is ahead ({score}), and {'also' if fastest is best else fastest['title']} trains fastest."
        )
    if naive is not None and means[best["name"]] >= naive["validation"]:
        sentence += f" But no model beats what needs none, {naive['how']}: {naive['validation']:.4g}."
    return {
        "winner": best["name"],
        "tied": [row["name"] for row in tied],
        "differences": differences,
        "sentence": sentence,
    }
