"""What `compare` recommends, how it divides its time, and what it shows of learning curves."""

import json
import math
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import keras_rnn_compare as krc
from keras_rnn_compare.models import candidates, strategies, trials
from keras_rnn_compare.reading.data import from_arrays
from keras_rnn_compare.running import schedule
from keras_rnn_compare.scoring import curves, statistics
from keras_rnn_compare.scoring.baselines import baseline_rows
from keras_rnn_compare.study import experiment, plan
from keras_rnn_compare.study.settings import Settings


def rows(samples=0.0, **scores):
    """Returns rows of two samples, whose losses lie `samples` above and below each score of the last cell."""
    last = list(scores)[-1]
    return [
        {
            "name": name,
            "title": name.upper(),
            "validation": of_seeds,
            "contributions": [
                [(score or 0) + sign * samples * (name == last) for sign in (-1, 1)] for score in of_seeds
            ],
            "step": len(name) / 1000,
        }
        for name, of_seeds in scores.items()
    ]


def falling(row, first, *scores):
    """Adds the same curve for every seed to a row."""
    return {**row, "curves": [[[k, score] for k, score in enumerate((first, *scores), 1)] for _ in row["validation"]]}


def baseline(score, title="the last value", contributions=None):
    return {"name": "last", "title": title, "validation": [score], "test": [score], "contributions": contributions}


# Each verdict.


def test_a_difference_in_every_seed_is_more_than_noise():
    # The seeds differ more than the cells do, but pairs of them do not.
    given_rows = rows(lstm=[2.1, 1.1, 3.1], gru=[2.0, 1.01, 2.99])
    given_rows[1] |= {"seconds": 12.3, "weights": 20_000}
    found = statistics.recommend(given_rows, "loss")
    assert (found["verdict"], found["winner"], found["ahead"], found["tied"]) == ("ahead", "gru", "gru", [])
    mean, error, is_noise = found["differences"]["lstm"]
    np.testing.assert_allclose([mean, error], [0.1, np.std([0.1, 0.09, 0.11], ddof=1) / 3**0.5])
    assert not is_noise
    assert found["sentence"] == (
        "Take GRU (validation loss 2): it is ahead of LSTM, the next one, by 0.1 (95 %: 0.075 to 0.12) over 3 seeds "
        "and 2 samples, more than noise. Costs of GRU: 12 s per training run, 3 ms a step, 20,000 weights."
    )


def test_a_difference_of_a_few_samples_is_noise_that_more_seeds_do_not_lift():
    # The same in every seed, but one sample is much better and the other one worse.
    found = statistics.recommend(rows(samples=0.5, lstm=[2.1, 1.1, 3.1], gru=[2.0, 1.01, 2.99]), "loss", minutes=10)
    assert (found["verdict"], found["winner"], found["tied"]) == ("tied", "gru", ["lstm"])
    _, error, is_noise = found["differences"]["lstm"]
    np.testing.assert_allclose(error, np.hypot(np.std([0.1, 0.09, 0.11], ddof=1) / 3**0.5, 0.5))
    assert is_noise
    assert found["sentence"].startswith(
        "Not told apart over 3 seeds and 2 samples: GRU 2, LSTM 2.1 (validation loss). "
    )
    assert "More seeds would not tell them apart" in found["sentence"]


def test_of_cells_that_are_not_told_apart_the_simplest_is_taken():
    found = statistics.recommend(rows(x=[2.0, 1.1, 3.0], gru=[1.9, 1.15, 2.9], other=[9, 9, 9]), "loss", minutes=10)
    assert (found["verdict"], found["winner"], found["ahead"], found["tied"]) == ("tied", "x", "gru", ["x"])
    assert (
        "Take X, the simplest: its training step is the fastest of them. The difference of X and GRU is"
        in found["sentence"]
    )
    assert "Costs of X: 1 ms a step." in found["sentence"]


def test_a_cell_that_beats_no_baseline_does_not_take_the_place_of_one_that_does():
    cells = rows(x=[2.5, 1.5, 2.6], slow=[1.9, 1.95, 2.05], slower=[1.85, 1.9, 2.0])
    found = statistics.recommend(cells, "loss", [baseline(2.4, contributions=[[2.4, 2.4]])], minutes=10)
    assert (found["verdict"], found["ahead"], set(found["tied"])) == ("tied", "slower", {"x"})
    assert found["winner"] == "slower"
    assert "Take SLOWER, the only one that beats the best baseline beyond noise. The difference" in found["sentence"]
    cells = rows(x=[2.5, 1.5, 2.6], slow=[1.9, 1.96, 1.98], slower=[1.85, 1.9, 2.0])
    found = statistics.recommend(cells, "loss", [baseline(2.4, contributions=[[2.4, 2.4]])], minutes=10)
    assert (found["verdict"], found["winner"], set(found["tied"])) == ("tied", "slow", {"x", "slow"})
    assert "Take SLOW, the simplest of those that beat the best baseline beyond noise: its" in found["sentence"]
    # The best mean may be that of lucky seeds.
    cells = rows(x=[1.0, 2.8, 1.9], slow=[2.0, 2.02, 1.98])
    found = statistics.recommend(cells, "loss", [baseline(2.4, contributions=[[2.4, 2.4]])], minutes=10)
    assert (found["verdict"], found["ahead"], found["winner"]) == ("tied", "x", "slow")


def test_the_seeds_that_would_tell_cells_apart():
    # The error of the difference over three seeds is that of one, divided by the root of three.
    by = np.array([0.3, 0.1, 0.02])
    found = statistics.recommend(rows(lstm=(1 + by).tolist(), gru=[1.0, 1.0, 1.0]), "loss", minutes=10)
    seeds, minutes = map(int, re.search(r"--seeds (\d+) --minutes (\d+)\.", found["sentence"]).groups())
    assert seeds == math.ceil(np.var(by, ddof=1) / (np.mean(by) / 2.365) ** 2)
    assert minutes == math.ceil(10 * seeds / 3)
    small = statistics.recommend(rows(lstm=[1.3, 0.8, 0.93], gru=[1.0, 1.0, 1.0]), "loss", minutes=10)
    assert "too small to matter at this noise" in small["sentence"]
    assert "--seeds" not in small["sentence"]


def test_a_curve_that_still_falls_takes_the_place_of_a_winner():
    lstm, gru = rows(lstm=[2.1, 2.1], gru=[2.0, 2.0])
    level, steep = (4, 2, 2, 2, 2, 2), (4, 3.6, 3.2, 2.8, 2.4, 2)
    calm, steep = falling(gru, *level), falling(gru, *steep)
    late = falling(lstm, 4, 4, 4, 4, 3, 2.1)
    for given_rows, who in (([lstm, steep], "curve of GRU still falls"), ([late, calm], "curve of LSTM still falls")):
        found = statistics.recommend(given_rows, "loss", minutes=10)
        assert found["verdict"] == "untrained"
        assert found["sentence"].startswith(f"Not enough training to choose: the {who}. Train longer with --minutes ")
        assert int(re.search(r"--minutes (\d+)", found["sentence"])[1]) in (20, 40, 80, 160, 320, 640)
    assert statistics.recommend([falling(lstm, *level), calm], "loss", minutes=10)["verdict"] == "ahead"
    # Where more minutes make no longer trainings, they are not advised.
    assert statistics.recommend([lstm, steep], "loss", more_training=False)["verdict"] == "ahead"
    # A cell with one seed may be the best one too.
    assert statistics.recommend([lstm, calm], "loss", behind=[falling(*rows(x=[2.3]), 4, 4, 4, 4, 3, 2.3)])[
        "sentence"
    ].startswith("Not enough training to choose: the curve of X still falls.")


def test_a_short_training_names_no_winner():
    found = statistics.recommend(rows(a=[1.0, 1.1], b=[3.0, 3.1]), "loss", [baseline(0.5)], minutes=1, needed=3.2)
    assert found["verdict"] == "untrained"
    assert found["sentence"] == (
        "Not enough training to choose: the training runs are too short. Train longer with --minutes 4 or so. The "
        "model that is saved, of A, is the best so far. No cell beats the last value beyond "
        "noise yet."
    )


def test_what_no_cell_beats_is_recommended():
    given_rows = rows(lstm=[2.1, 2.1, 2.2], gru=[2.0, 1.9, 2.1])
    found = statistics.recommend(given_rows, "loss", [baseline(9.0, "the mean"), baseline(0.5)])
    assert (found["verdict"], found["baseline"]) == ("baseline", "last")
    assert found["sentence"] == (
        "Take the last value (validation loss 0.5), a baseline: no cell beats it. Of the cells, GRU has 2, no better."
    )
    # Better, but the samples disagree.
    found = statistics.recommend(given_rows, "loss", [baseline(2.3, contributions=[[4.6, 0.0]])])
    assert found["verdict"] == "baseline"
    assert "GRU has 2, better by 0.3 (95 %:" in found["sentence"]
    found = statistics.recommend(given_rows, "loss", [baseline(2.9, contributions=[[2.9, 2.9]])])
    assert found["verdict"] in ("ahead", "tied")
    assert "The best baseline, the last value, has a validation loss of 2.9." in found["sentence"]


def test_one_seed_and_divergence():
    assert "one seed cannot tell" in statistics.recommend(rows(a=[1.0], b=[2.0]), "loss")["sentence"]
    assert "B, the next one, diverged" in statistics.recommend(rows(a=[1, 1], b=[None, 1]), "loss")["sentence"]
    assert "every cell diverged" in statistics.recommend(rows(a=[None, 1], b=[1, None]), "loss")["sentence"]
    found = statistics.recommend(rows(a=[None, 1], b=[1, None]), "loss", [baseline(3.0)])
    assert found["sentence"].startswith("Take the last value")


def test_a_cell_with_one_seed_that_is_as_good_is_named():
    one = {**rows(x=[1.0])[0], "contributions": [[0.5, 1.5]]}
    found = statistics.recommend(rows(a=[1.0, 1.1], b=[3.0, 3.1]), "loss", behind=[one])
    assert "With one seed only, X is not told from A." in found["sentence"]


@pytest.mark.parametrize(("of_seeds", "of_samples"), [(1.0, 0.0), (0.0, 1.0), (1.0, 3.0)])
def test_cells_that_are_alike_win_no_more_often_than_chance(of_seeds, of_samples):
    rng = np.random.default_rng(0)

    def row(name):
        contributions = of_seeds * rng.normal(size=(3, 1)) + of_samples * rng.normal(size=20)
        return {
            "name": name,
            "title": name,
            "validation": contributions.mean(axis=1).tolist(),
            "contributions": contributions.tolist(),
            "step": 1.0,
        }

    wrong = [not statistics.recommend([row("a"), row("b")], "loss")["tied"] for _ in range(2000)]
    assert 0.03 < np.mean(wrong) < 0.07


SCORE = some.floats(0.01, 100, allow_subnormal=False)


@some.composite
def random_rows(draw):
    seeds, samples = draw(some.integers(1, 4)), draw(some.integers(2, 5))

    def row(k, seeds):
        table = draw(some.lists(some.lists(SCORE, min_size=samples, max_size=samples), min_size=seeds, max_size=seeds))
        scores = [float(np.mean(each)) for each in table]
        if draw(some.integers(0, 9)) == 0:
            scores[0] = None
        curve = [[k, score] for k, score in enumerate(draw(some.lists(SCORE, max_size=9)), 1)]
        return {
            "name": f"cell{k}",
            "title": f"Cell{k}",
            "validation": scores,
            "contributions": table,
            "step": draw(SCORE),
            "curves": [curve] * seeds,
        }

    cells = [row(k, seeds) for k in range(draw(some.integers(1, 4)))]
    behind = [row(k, 1) for k in range(len(cells), len(cells) + draw(some.integers(0, 2)))]
    baselines = [baseline(draw(SCORE), "nothing")] if draw(some.booleans()) else []
    return cells, baselines, behind, draw(some.booleans()), draw(some.sampled_from((None, None, 12.3)))


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(random_rows())
def test_no_recommendation_contradicts_itself(drawn):
    cells, baselines, behind, more_training, needed = drawn
    found = statistics.recommend(cells, "loss", baselines, 10, more_training, needed, behind)
    sentence, verdict = found["sentence"], found["verdict"]
    titles = {row["name"]: row["title"] for row in cells}
    claims = {
        "ahead": "more than noise" in sentence or "the next one, diverged" in sentence or "only cell" in sentence,
        "tied": "Not told apart" in sentence,
        "one seed": "for now" in sentence,
        "untrained": "Not enough training" in sentence,
        "baseline": ", a baseline: " in sentence,
        "diverged": "Nothing can be recommended" in sentence,
    }
    assert [name for name, claimed in claims.items() if claimed] == [verdict]
    taken = re.findall(r"Take (\w+)", sentence)
    if verdict in ("untrained", "diverged"):
        assert not taken
    else:
        assert taken == ["nothing" if verdict == "baseline" else titles[found["winner"]]]
    assert ("ahead of" in sentence) <= (verdict == "ahead" and not found["tied"])
    assert ("--seeds" in sentence) <= (verdict in ("tied", "one seed"))
    assert ("--minutes" in sentence) <= (verdict in ("tied", "untrained", "baseline"))
    if verdict == "tied":
        over = {row["name"]: [statistics.to_baseline(each, row) for each in baselines] for row in cells}
        steps = {
            row["name"]: row["step"]
            for row in cells
            if row["name"] in (found["ahead"], *found["tied"])
            and all(by.mean > 0 and not by.is_noise for by in over[row["name"]])
        }
        assert steps[found["winner"]] == min(steps.values())
    assert "nan" not in sentence
    assert "inf" not in sentence


# Curves.


def test_the_band_of_curves():
    found = curves.band([[[10, 3.0], [20, 1.0], [30, 0.5]], [[10, 4.0], [20, None]]])
    assert found == [[10, 3.5, 3.0, 4.0]]


def test_a_curve_in_blocks():
    assert curves.blocks([7, 0, 3, 7]) == "█▁▄█"
    assert curves.blocks([2, 2]) == "▁▁"
    (line,) = curves.lines([{"title": "GRU", "curves": [[[1, 8.0], [2, 1.0]]]}])
    assert line == "GRU  █▁  8 → 1"
    assert curves.lines([{"title": "GRU", "curves": [[[1, None]]]}]) == []


@pytest.mark.parametrize(
    ("fall", "goes_on"),
    [
        (lambda n: 2 + 3 * np.exp(-n / 2), False),
        (lambda n: 2 + n**-0.3, True),
        (lambda n: 10 - 0.4 * n, True),
        (lambda n: 2 + 0 * n, False),
        (lambda n: 1 + n / 10, False),
    ],
)
def test_whether_a_curve_still_falls(fall, goes_on):
    steps = np.arange(1, 21)
    found = curves.fall([list(zip(steps.tolist(), fall(steps).tolist(), strict=True))])
    assert found.goes_on == goes_on
    assert (found.doublings > 0) == goes_on


def test_a_curve_that_rises_again_no_longer_falls():
    steps = range(100, 1700, 100)
    rising = [[step, 1 + abs(step - 500) / 1000] for step in steps]
    shorter = (800, 1.5)
    assert curves.fall([rising], shorter).gain == 0
    falling = [[step, 1 + (1600 - step) / 1000] for step in steps]
    assert curves.fall([falling], shorter).goes_on


def test_a_fall_within_the_noise_of_the_seeds_is_none():
    one, other = [[k, 2.0] for k in range(1, 10)], [[k, 4.0 - 0.3 * k] for k in range(1, 10)]
    assert not curves.fall([one, other]).goes_on
    assert curves.fall([other, other]).goes_on
    assert curves.fall([one[:3]]) is curves.fall([[[1, None]] * 5]) is None


def test_a_shorter_training_tells_whether_a_longer_one_would_be_better():
    # The rate falls, and the score with it, in the second half of any training.
    curve = [[k, 2.5] for k in range(100, 1000, 100)] + [[1000, 2.0]]
    assert curves.fall([curve, curve]).goes_on
    assert not curves.fall([curve, curve], shorter=(250, 2.03)).goes_on
    # As the inverse square root of the steps: twice the training brings so much.
    found = curves.fall([curve, curve], shorter=(250, 3.0))
    np.testing.assert_allclose(found.gain, 1 - 2**-0.5)
    assert found.doublings == math.ceil(math.log2((found.gain / 0.04) ** 2))
    # What the seeds disagree on is noise.
    assert not curves.fall([curve, [[k, 4.0] for k, _ in curve]], shorter=(250, 3.5)).goes_on


def test_few_points_are_noted():
    points = [[k, 1.0] for k in range(8)]
    assert curves.note([{"curves": [points]}]) is None
    assert "7 points" in curves.note([{"curves": [points[:7], points]}])


# Time.

TIMES = {"start": 0.01, "judgement": 0.01, "row": 1e-5, "build": 3.0}
SAMPLES = {"validation": 2000, "test": 2000}


@pytest.mark.parametrize("seconds", [60, 600])
def test_a_schedule_keeps_to_its_time(seconds):
    times = {name: {**TIMES, "step": k / 1000} for k, name in enumerate("abcd", 1)}
    names, plan = schedule.affordable(times, seconds, 10_000, 3, 4, SAMPLES)
    assert names == list(times)
    assert 0.5 * seconds < schedule.estimated(plan, times, 3) < seconds
    assert plan["final"]["validations"] >= 8
    assert plan["final"]["pieces"] % plan["final"]["validations"] == 0


def test_little_data_is_read_forty_times_and_no_more():
    times = {name: {**TIMES, "step": 0.001} for name in "ab"}
    assert schedule.schedule(600, times, 5, 3, 4, SAMPLES)["final"]["steps"] == 200


def test_the_slowest_cells_are_left_out_where_the_time_is_short_but_never_the_first():
    times = {name: {**TIMES, "step": step} for name, step in (("a", 0.5), ("b", 0.01), ("c", 0.3), ("d", 0.02))}
    names, _ = schedule.affordable(times, 200, 10_000, 1, 2, SAMPLES)
    assert names == ["a", "b"]
    alike = {name: {**TIMES, "step": step} for name, step in (("a", 0.5), ("b", 0.4), ("c", 0.3), ("d", 2.0))}
    assert schedule.affordable(alike, 500, 10_000, 1, 2, SAMPLES)[0] == ["a", "b"]
    seconds = schedule.seconds_needed(times, 10_000, 1, 2, SAMPLES)
    assert schedule.affordable(times, seconds, 10_000, 1, 2, SAMPLES)[0] == list("abcd")
    assert schedule.affordable(times, seconds / 1.5, 10_000, 1, 2, SAMPLES)[0] != list("abcd")


def test_the_time_that_decent_trainings_need():
    times = {name: {**TIMES, "step": 0.1} for name in "ab"}
    seconds = schedule.seconds_needed(times, 10_000, 3, 4, SAMPLES)
    assert schedule.schedule(seconds, times, 10_000, 3, 4, SAMPLES)["final"]["steps"] >= schedule.DECENT
    assert schedule.schedule(seconds / 1.5, times, 10_000, 3, 4, SAMPLES)["final"]["steps"] < schedule.DECENT


def test_fewer_rates_are_tried_where_trials_would_be_too_short():
    times = {name: {**TIMES, "step": 0.1} for name in "ab"}
    found = [schedule.schedule(seconds, times, 10_000, 3, 8, SAMPLES) for seconds in (60, 6000)]
    assert len(found[0]["rates"]) < len(found[1]["rates"]) == 8
    assert found[0]["rungs"][0]["steps"] >= schedule.FEWEST


def test_many_samples_are_judged_in_part():
    times = {name: {**TIMES, "step": 0.01} for name in "ab"}
    final = schedule.schedule(60, times, 100_000, 3, 2, {"validation": 1_000_000, "test": 500})["final"]
    assert schedule.GLANCE <= final["rows"] < 1_000_000
    assert schedule.SCORED <= final["scored"]["validation"] < 1_000_000
    assert final["scored"]["test"] == 500


# Whole comparisons.


def task(samples=160):
    x = np.random.default_rng(0).normal(size=(samples, 3, 2)).astype("float32")
    return x, np.where(x[:, 0, 0] > 0, "high", "low")


SMALL = {"weights": 300, "minutes": 0.001, "trials": 2, "memory": False, "verbose": False}
WHOLE, LATE = 160, 120  # Steps of a whole training, and those after which the slow starter starts.


class Scripted(trials.Learner):
    """A model whose losses follow a script, by its steps and by whether it starts late."""

    def script(self, steps):
        if self.candidate.title == "minGRU":
            return 1.0 if steps < LATE else 0.2
        return 0.9 - 0.2 * steps / WHOLE

    def measure(self, seconds=0.3):
        return {**TIMES, "step": 1e-4, "build": 0.0}

    def train(self, rate, seed, plan, on_progress=None):
        self.begin(seed)
        self.steps, self.seed = plan["steps"], seed
        ends = np.linspace(0, plan["steps"], plan["validations"] + 1).round().astype(int)[1:].tolist()
        curve = [[end, self.script(end)] for end in ends]
        return {"score": curve[-1][1] + rate / 100, "accuracy": 0.5, "curve": curve, "seconds": 0.1}

    def losses(self, part, count=None):
        size = len(self.data.x[part])
        noise = np.random.default_rng(self.seed).normal(size=size) / 100
        return self.script(self.steps) + noise, np.full(size, 0.5)


def test_a_cell_that_starts_slowly_and_wins_in_the_end_is_found(tmp_path, monkeypatch):
    monkeypatch.setitem(strategies.LEARNERS, "direct", Scripted)
    monkeypatch.setattr(plan, "BUILD", math.inf)
    x, y = task()
    names = ["lstm", "gru", "min_gru", "rglru"]
    # Nothing is trained, so it takes no time.
    found = krc.compare(x, y, cells=names, seeds=2, output=tmp_path, **{**SMALL, "minutes": 1})
    assert found.results["plan"]["schedule"]["final"]["steps"] == WHOLE
    of_search = {name: records[-1]["score"] for name, records in found.results["search"].items()}
    assert max(of_search, key=of_search.get) == "min_gru"  # The last of four, of which two would have been kept.
    assert found.winner == "min_gru"
    assert {"lstm", "min_gru"} < {row["name"] for row in found.results["rows"]}
    assert len(found.results["behind"]) == 1


def test_longer_trainings_take_more_minutes_than_were_given(tmp_path, monkeypatch):
    """What is done before any training, such as to fit the baselines, takes its time again."""
    monkeypatch.setitem(strategies.LEARNERS, "direct", Scripted)
    settings = {"weights": 300, "minutes": 1, "trials": 2, "seeds": 2, "depth": 1, "batch_size": 32, "seed": 0}
    settings = Settings(["lstm", "gru"], equal="weights", memory=False, **settings)
    begun = time.perf_counter() - 58
    found = experiment.run(from_arrays(*task()), settings, tmp_path, verbose=False, begun=begun)
    assert int(re.search(r"Train longer with --minutes (\d+) or so", found.recommendation)[1]) > 1


def test_baselines_are_scored_by_the_same_samples():
    data = from_arrays(*task())
    (whole, *_), (part, *_) = baseline_rows(data), baseline_rows(data, {"validation": 2, "test": 3})
    (all_of_it,), (two,) = whole["contributions"], part["contributions"]
    assert two == [all_of_it[0], all_of_it[-1]]
    np.testing.assert_allclose(part["validation"], np.mean(two), rtol=1e-4)


def test_cells_that_there_is_no_time_for_are_named(tmp_path):
    x, y = task()
    found = krc.compare(x, y, cells=["lstm", "gru", "min_gru"], seeds=1, output=tmp_path, **SMALL)
    assert [row["name"] for row in found.results["rows"]] != []
    left_out = r"Left out for lack of time: minGRU\. Comparing all cells needs at least \d+ minutes\."
    assert any(re.search(left_out, note) for note in found.notes)
    # Everything is shown in 80 columns, and a curve for each cell.
    found.results["rows"][0]["title"] = "a cell whose title is much longer than that of any other"
    text = str(found)
    assert re.search(r"^a cell whose .* [\d.]+\n  .*any other$", text, re.MULTILINE)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "Left out for lack of time" in text
    assert re.search(r"^(LSTM|GRU) +[▁-█]{8,} +[\d.]+ → [\d.]+$", text, re.MULTILINE)
    assert "frequencies of the classes" in text
    wide = found.text(wide=True)
    assert "one step, ms" in wide
    assert "one step, ms" not in text
    written = json.loads((tmp_path / "results.json").read_text())
    assert all(len(row["band"]) >= 8 for row in written["rows"])
    assert "Left out for lack of time" in (tmp_path / "report.html").read_text()


def test_data_is_gathered_in_blocks_to_the_same_weights(monkeypatch):
    x, y = task()
    learner = trials.Learner(
        from_arrays(x, y), candidates.ModelShape(2, None, 2, 1), candidates.offered()["gru"], 4, 16
    )
    rows_read = learner.batches(0, 6)
    weights = []
    for size in (trials.GATHERED, 1):
        monkeypatch.setattr(trials, "GATHERED", size)
        learner.begin(0)
        learner.fit(rows_read)
        weights.append(learner.model.get_weights())
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_part_is_judged_by_rows_that_are_evenly_spread():
    assert trials.spread(10, 4).tolist() == [0, 3, 6, 9]
    assert trials.spread(10, None) == trials.spread(10, 10) == slice(None)
