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


def paired(row, best):
    """Returns how much worse a cell is than the best one: mean, standard error, and whether that is noise.

    Both were trained with the same seeds and judged on the same validation samples, and either may have favored one of
    them by chance. The variance is therefore the sum of two, of the mean difference over the seeds and of that over the
    samples, which counts their interaction twice and so errs on the safe side. Noise is what a two-sided t-test at 95 %
    does not tell from zero, with Satterthwaite's degrees of freedom. One seed tells nothing.
    """
    if None in (*row["validation"], *best["validation"]):
        return math.inf, None, False
    mean, over_seeds = mean_and_error(np.subtract(row["validation"], best["validation"]))
    if over_seeds is None:
        return mean, None, True
    of_samples = np.mean(np.subtract(row["contributions"], best["contributions"]), axis=0)
    _, over_samples = mean_and_error(of_samples)
    error = math.hypot(over_seeds, over_samples)
    if error == 0:
        return mean, error, mean == 0
    counts = (over_seeds, len(row["validation"])), (over_samples, len(of_samples))
    # At least 1, but for rounding.
    freedom = max(1, int(error**4 / sum(each**4 / (count - 1) for each, count in counts)))
    return mean, error, abs(mean) <= STUDENT[min(freedom, len(STUDENT)) - 1] * error


def recommend(rows, measure, naive=None):
    """Returns what to take, and why.

    Args:
        rows: List of dicts with `name`, `title`, `validation` (a score for each seed, lower is better, `None` where
            the training diverged), `contributions` (for each seed, one number per validation sample, whose mean is the
            score) and `step` (seconds).
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
    differences = {row["name"]: paired(row, best) for row in ranked[1:]}
    tied = [row for row in ranked[1:] if differences[row["name"]][2]]
    seeds, score = len(best["validation"]), f"validation {measure} {means[best['name']]:.4g}"
    over = f"over {seeds} seeds and {len(best['contributions'][0]):,} samples"
    if not ranked[1:]:
        sentence = f"Take {best['title']} ({score})."
    elif not tied:
        mean, error, _ = differences[ranked[1]["name"]]
        sentence = (
            f"Take {best['title']} ({score}): it is better than {ranked[1]['title']}, the next one, by "
            f"{mean:.2g} ± {error:.1g} ({over}), which is more than noise."
            if math.isfinite(mean)
            else f"Take {best['title']} ({score}): {ranked[1]['title']}, the next one, diverged."
        )
    elif seeds == 1:
        sentence = f"Take {best['title']} ({score}) for now: one seed cannot tell a difference from noise."
    else:
        fastest = min([best, *tied], key=lambda row: row["step"])
        others = ", ".join(row["title"] for row in [best, *tied[:-1]])
        sentence = (
            f"Nothing but noise between {others} and {tied[-1]['title']} ({over}): "
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
