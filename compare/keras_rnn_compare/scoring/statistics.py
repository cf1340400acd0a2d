"""Differences that are more than noise, and the recommendation that follows from them."""

import dataclasses
import math

import numpy as np
from scipy import stats

from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.scoring.curves import fall

# More seeds than this only to tell two cells apart are not worth their time.
MOST_SEEDS = 50


def mean_and_error(values):
    """Returns the mean and its standard error, or `None` in place of an error that one value does not have."""
    values = [math.inf if value is None else value for value in values]
    mean = float(np.mean(values))
    if len(values) < 2 or not math.isfinite(mean):
        return mean, None
    return mean, float(stats.sem(values))


def reach(freedom):
    """Returns how many standard errors a t-test at 95 % reaches on either side."""
    return float(stats.t.ppf(0.975, freedom))


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference between two scores: its standard errors, and the half-width of the 95 % confidence interval."""

    mean: float
    over_seeds: float | None = None
    over_samples: float = 0.0
    margin: float | None = None

    @property
    def error(self):
        return None if self.margin is None else math.hypot(self.over_seeds or 0, self.over_samples)

    @property
    def is_noise(self):
        """Whether it is not significantly different from zero."""
        if self.margin is None:
            return math.isfinite(self.mean)
        return abs(self.mean) <= self.margin

    def __str__(self):
        if self.margin is None:
            return rounded(self.mean, 2)
        low, high = (rounded(self.mean + end, 2) for end in (-self.margin, self.margin))
        return f"{rounded(self.mean, 2)} (95 %: {low} to {high})"

    def seeds_needed(self, seeds):
        """Returns the number of seeds that would make it significant, or `None` if the samples alone hide it."""
        room = (self.mean / reach(7)) ** 2 - self.over_samples**2
        if room <= 0:
            return None
        return max(seeds + 1, math.ceil(seeds * self.over_seeds**2 / room))


def difference(mean, over_seeds, seeds, over_samples, samples):
    """Returns a `Difference`, whose margin has Satterthwaite's degrees of freedom."""
    error = math.hypot(over_seeds or 0, over_samples)
    counts = [(each, count) for each, count in ((over_seeds, seeds), (over_samples, samples)) if each and count > 1]
    # At least 1, but for rounding.
    freedom = max(1, error**4 / sum(each**4 / (count - 1) for each, count in counts)) if counts else 1
    return Difference(mean, over_seeds, over_samples, reach(freedom) * error)


def paired(row, best):
    """Returns the `Difference` by which a cell is worse than the best one.

    Both were trained with the same seeds and judged on the same validation samples, and either may have favored one of
    them by chance. The variance is therefore the sum of two, of the mean difference over the seeds and of that over the
    samples. This is conservative: it counts their interaction twice. One seed tells nothing.
    """
    if None in (*row["validation"], *best["validation"]):
        return Difference(math.inf)
    mean, over_seeds = mean_and_error(np.subtract(row["validation"], best["validation"]))
    if over_seeds is None:
        return Difference(mean)
    of_samples = np.mean(np.subtract(row["contributions"], best["contributions"]), axis=0)
    _, over_samples = mean_and_error(of_samples)
    return difference(mean, over_seeds, len(row["validation"]), over_samples, len(of_samples))


def to_baseline(baseline, row):
    """Returns the `Difference` by which a baseline is worse than a cell.

    It has no seeds. If it has no contributions either, its score is taken to vary with the samples as the cell's does,
    independently of it.
    """
    score, over_seeds = mean_and_error(row["validation"])
    of_cell = np.mean(row["contributions"], axis=0)
    given = baseline.get("contributions")
    _, over_samples = mean_and_error(of_cell if given is None else np.subtract(given[0], of_cell))
    over_samples *= math.sqrt(2) if given is None else 1
    return difference(baseline["validation"][0] - score, over_seeds, len(row["validation"]), over_samples, len(of_cell))


def over_origins(baseline):
    """Returns the geometric mean of the validation score of a baseline and of those at earlier origins."""
    scores = [baseline["validation"][0], *baseline.get("origins", [])]
    return math.inf if None in scores else float(np.exp(np.mean(np.log(np.maximum(scores, np.finfo(float).tiny)))))


def standard_error(row):
    """Returns the standard error of a validation score over seeds and samples, or `None` where nothing tells it."""
    _, over_seeds = mean_and_error(row["validation"])
    contributions = row.get("contributions")
    _, over_samples = (None, None) if contributions is None else mean_and_error(np.mean(contributions, axis=0))
    return math.hypot(over_seeds or 0, over_samples or 0) or None


def is_quicker(row, other):
    """Returns whether a cell takes less than half the time of another one for a step, and no more for anything else.

    Times are measured once, on cores that others may use as well.
    """
    other_times = [(row.get(name), other.get(name)) for name in ("predict", "latency")]
    return 2 * row["step"] < other["step"] and all(
        None in (ours, theirs) or ours <= theirs for ours, theirs in other_times
    )


def recommend(rows, measure, baselines=(), minutes=None, more_training=True, behind=()):
    """Returns what to take, and why.

    Args:
        rows: List of dicts with `name`, `title`, `validation` (a score for each seed, lower is better, `None` where
            the training diverged), `contributions` (for each seed, one number per validation sample, whose mean is the
            score), `step` (seconds) and, to say more, `seconds` of a training, `weights`, `curves` and `shorter` (steps
            and score of a shorter training).
        measure: What a score is.
        baselines: List of dicts with `name`, `title`, `validation` (a list of one score) and, if they are known,
            `contributions` and `origins` (the scores at earlier origins): of the baselines. Defaults to none.
        minutes: What the comparison was given; without it, the sentence names no other number. Defaults to `None`.
        more_training: Whether more minutes make longer training runs. Defaults to `True`.
        behind: Rows of the cells that the first seed left behind. Defaults to none.

    Returns: A dict of `verdict` (`"ahead"`, `"tied"`, `"one seed"`, `"baseline"` or `"diverged"`), `winner` (the name
    of the cell to take, if any), `ahead` (the name with the best mean), `tied` (the names that are statistically
    indistinguishable from it), `differences` from it (by name: mean, standard error, whether it is noise), `baseline`
    (the name of the one to take in place of a cell, or `None`), `falling` (the names of cells that more training may
    change) and `sentence`.
    """
    return Advice(rows, measure, baselines, minutes, more_training, behind).result()


class Advice:
    """The rows of a comparison, ranked, and the sentence that follows from them; the arguments are `recommend`'s."""

    def __init__(self, rows, measure, baselines, minutes, more_training, behind):
        self.measure, self.minutes, self.more_training = measure, minutes, more_training
        self.means = {row["name"]: mean_and_error(row["validation"])[0] for row in (*rows, *behind)}
        self.ranked = sorted(rows, key=self.mean)
        self.best, *self.others = self.ranked
        self.behind = [row for row in behind if math.isfinite(self.mean(row))]
        self.baseline = min(baselines, key=over_origins, default=None)
        self.differences = {row["name"]: paired(row, self.best) for row in self.others}
        self.tied = [row for row in self.others if self.differences[row["name"]].is_noise]
        self.seeds = len(self.best["validation"])
        self.falls = self.falling()

    def mean(self, row):
        return self.means[row["name"]]

    def result(self):
        verdict = self.verdict()
        winner = self.taken() if verdict in ("ahead", "tied", "one seed") else self.best
        tied = [] if verdict == "diverged" else self.tied
        return {
            "verdict": verdict,
            "winner": winner["name"],
            "ahead": self.best["name"],
            "tied": [row["name"] for row in tied],
            "differences": {
                name: (each.mean, each.error, each.is_noise)
                for name, each in self.differences.items()
                if verdict != "diverged"
            },
            "baseline": self.baseline["name"] if verdict == "baseline" else None,
            "falling": list(self.falls),
            "sentence": getattr(self, "says_" + verdict.replace(" ", "_"))() + self.with_more_time(),
        }

    def verdict(self):
        if not math.isfinite(self.mean(self.best)):
            return "baseline" if self.baseline else "diverged"
        if not self.worthwhile():
            return "baseline"
        if self.others and self.seeds == 1:
            return "one seed"
        return "tied" if self.tied else "ahead"

    def worthwhile(self):
        """Returns the rows of the best cell, and of those tied with it, that are ahead of the best baseline.

        By more than a standard error: a baseline needs no network, and of rows within one, the simplest is taken.
        """
        return [row for row in (self.best, *self.tied) if self.baseline is None or self.leads(row)]

    def leads(self, row):
        if not math.isfinite(self.mean(row)):
            return False
        lead = to_baseline(self.baseline, row)
        return lead.mean > lead.error

    def taken(self):
        """Returns the row of the best of these by score, but for those of which another one takes half the time.

        With one seed, it is the best one.
        """
        worthwhile = self.worthwhile()
        return worthwhile[0] if self.seeds == 1 else next(row for row in worthwhile if not self.quicker(row))

    def quicker(self, row):
        """Returns the rows that could be taken and are much quicker than one."""
        return [other for other in self.worthwhile() if is_quicker(other, row)]

    def falling(self):
        """Returns the `Fall` of each cell whose curve still falls, by name, of those that may become the best."""
        found = {}
        lowest = min([self.mean(self.best), *([self.baseline["validation"][0]] if self.baseline else [])])
        for row in (*self.ranked, *self.behind) if self.more_training else ():
            more = fall_of(row)
            if more and more.goes_on and self.mean(row) - more.most <= lowest:
                found[row["name"]] = more
        return found

    # Sentences, by verdict.

    def says_diverged(self):
        return "Nothing can be recommended: every cell diverged with some seed."

    def says_baseline(self):
        take = f"Take {self.baseline['title']} ({self.score(self.baseline)}), a baseline: "
        if not math.isfinite(self.mean(self.best)):
            return f"{take}every cell diverged with some seed."
        over = to_baseline(self.baseline, self.best)
        if over.mean > 0:
            return (
                f"{take}it needs no network, and {self.best['title']}, the best of the cells, is ahead by only "
                f"{rounded(over.mean, 2)}, within the standard error of {rounded(over.error, 2)}."
            )
        noise = ", which is not significantly worse" if over.is_noise else ""
        best = f"{self.best['title']}, has {rounded(self.mean(self.best))}{noise}"
        cuts = 1 + len(self.baseline.get("origins", []))
        first = f", and of the baselines, it is the best over {cuts} cuts of the series" if cuts > 1 else ""
        return f"{take}no cell has less{first}. The best of the cells, {best}."

    def says_one_seed(self):
        taken = self.taken()
        return (
            f"Take {taken['title']} ({self.score(taken)}): it is the best of the cells, by one seed, which cannot tell "
            f"a difference from noise.{self.over_baseline()}"
        )

    def says_ahead(self):
        take = f"Take {self.best['title']} ({self.score(self.best)})"
        if not self.others:
            reason = ", the only cell that was trained."
        else:
            following = self.others[0]
            by = self.differences[following["name"]]
            reason = f": {following['title']}, the next one, diverged."
            if math.isfinite(by.mean):
                reason = f": it is ahead of {following['title']}, the next one, by {by} {self.over()}, more than noise."
        return f"{take}{reason}{self.costs(self.best)}{self.over_baseline()}{self.left_open()}"

    def says_tied(self):
        names = [f"{row['title']} {rounded(self.mean(row))}" for row in (self.best, *self.tied)]
        taken, worthwhile = self.taken(), self.worthwhile()
        other = self.best if taken is not self.best else self.tied[0]
        apart = self.differences[(other if taken is self.best else taken)["name"]]
        of_them = "them" if len(worthwhile) == len(names) else "those that are ahead of the baselines"
        if len(worthwhile) == 1:
            why = "the only one that is ahead of the baselines"
        elif taken is worthwhile[0]:
            why = f"the best of {of_them} by score; none takes less than half its time"
        else:
            why = f"whose step takes less than half the time of {worthwhile[0]['title']}'s, the best of {of_them}"
        return (
            f"Take {taken['title']} ({self.score(taken)}), {why}. Not significantly different {self.over()}: "
            f"{', '.join(names)}. The difference of {taken['title']} and {other['title']} is {apart}. "
            f"{self.to_tell_apart(apart)}{self.costs(taken)}{self.over_baseline()}{self.left_open()}"
        )

    # Parts of sentences.

    def score(self, row):
        score, error = mean_and_error(row["validation"])[0], standard_error(row)
        return f"validation {self.measure} {rounded(score)}" + (f" ± {rounded(error, 1)}" if error else "")

    def over(self):
        return f"over {self.seeds} seeds and {len(self.best['contributions'][0]):,} samples"

    def over_baseline(self):
        if self.baseline is None:
            return ""
        over = to_baseline(self.baseline, self.taken())
        noise = ", which is not significantly worse, and needs no network" if over.is_noise else ""
        return f" The best baseline, {self.baseline['title']}, has {rounded(self.baseline['validation'][0])}{noise}."

    def costs(self, row):
        parts = [f"{rounded(row['seconds'], 2)} s per training run"] if "seconds" in row else []
        parts += [f"{rounded(1000 * row['step'], 3)} ms a step"]
        parts += [f"{row['weights']:,} weights"] if "weights" in row else []
        return f" Costs of {row['title']}: {', '.join(parts)}."

    def left_open(self):
        """Says which cells had one seed only, although it does not set them apart."""
        first = {**self.best, **{name: self.best[name][:1] for name in ("validation", "contributions")}}
        close = []
        for row in self.behind:
            of_samples = np.subtract(row["contributions"][0], first["contributions"][0])
            mean, error = mean_and_error(of_samples)
            if mean <= reach(len(of_samples) - 1) * (error or 0):
                close.append(row)
        if not close:
            return ""
        are = "is" if len(close) == 1 else "are"
        return f" With one seed only, {listed(close)} {are} not significantly different from {self.best['title']}."

    def to_tell_apart(self, apart):
        seeds = apart.seeds_needed(self.seeds)
        if seeds is None:
            return "More seeds would not tell them apart: these samples are too few for so small a difference."
        if seeds > MOST_SEEDS:
            return "That is too small to matter at this noise."
        minutes = "" if self.minutes is None else f" --minutes {math.ceil(self.minutes * seeds / self.seeds)}"
        return f"To tell them apart, run --seeds {seeds}{minutes}."

    def with_more_time(self):
        """Says what twice the training may bring, by the curves."""
        if not self.falls:
            return ""
        rows = {row["name"]: row for row in (*self.ranked, *self.behind)}
        ranges = []
        for name, more in self.falls.items():
            mean = self.mean(rows[name])
            low, high = (rounded(mean - gain, 3) for gain in (more.most, more.least))
            ranges.append(f"{rows[name]['title']} from {rounded(mean)} to between {low} and {high}")
        minutes = "" if self.minutes is None else f", with about --minutes {math.ceil(2 * self.minutes)},"
        return f" More time may change this: by its curve, twice the training{minutes} may bring {'; '.join(ranges)}."


def fall_of(row):
    return fall(row.get("curves", ()), row.get("shorter"))


def listed(rows):
    """Returns the titles of rows as a list in a sentence."""
    *most, last = [row["title"] for row in rows]
    return f"{', '.join(most)} and {last}" if most else last
