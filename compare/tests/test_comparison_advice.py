"""What `compare` recommends, how it divides its time, and what it shows of learning curves."""

import dataclasses
import json
import math
import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import keras_rnn_compare as krc
from keras_rnn_compare.models import candidates, strategies, trials
from keras_rnn_compare.reading.data import from_arrays
from keras_rnn_compare.running import schedule
from keras_rnn_compare.running.folder import Folder
from keras_rnn_compare.running.progress import Progress
from keras_rnn_compare.scoring import curves, statistics
from keras_rnn_compare.scoring.baselines import baseline_rows
from keras_rnn_compare.study import experiment, plan, training
from keras_rnn_compare.study.settings import Settings
from keras_rnn_compare.study.study import Study


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
        "Take GRU (validation loss 2 ± 0.6): it is ahead of LSTM, the next one, by 0.1 (95 %: 0.075 to 0.12) over 3 "
        "seeds and 2 samples, more than noise. Costs of GRU: 12 s per training run, 3 ms a step, 20,000 weights."
    )


def test_a_difference_of_a_few_samples_is_noise_that_more_seeds_do_not_lift():
    # The same in every seed, but one sample is much better and the other one worse.
    found = statistics.recommend(rows(samples=0.5, lstm=[2.1, 1.1, 3.1], gru=[2.0, 1.01, 2.99]), "loss", minutes=10)
    assert (found["verdict"], found["winner"], found["tied"]) == ("tied", "gru", ["lstm"])
    _, error, is_noise = found["differences"]["lstm"]
    np.testing.assert_allclose(error, np.hypot(np.std([0.1, 0.09, 0.11], ddof=1) / 3**0.5, 0.5))
    assert is_noise
    assert ". Not significantly different over 3 seeds and 2 samples: GRU 2, LSTM 2.1. " in found["sentence"]
    assert "More seeds would not tell them apart" in found["sentence"]


def test_of_cells_that_are_not_told_apart_the_best_is_taken_unless_one_is_twice_as_quick():
    cells = rows(x=[2.0, 1.1, 3.0], gru=[1.9, 1.15, 2.9], other=[9, 9, 9])
    found = statistics.recommend(cells, "loss", minutes=10)
    assert (found["verdict"], found["winner"], found["ahead"], found["tied"]) == ("tied", "x", "gru", ["x"])
    assert (
        "Take X (validation loss 2.033 ± 0.5), whose step takes less than half the time of GRU's" in found["sentence"]
    )
    assert "Costs of X: 1 ms a step." in found["sentence"]
    # Within a factor of two, times are equal.
    cells[0]["step"] = 0.6 * cells[1]["step"]
    found = statistics.recommend(cells, "loss", minutes=10)
    assert found["winner"] == "gru"
    assert "the best of them by score; none takes less than half its time" in found["sentence"]
    # So are they where a cell is quicker by one timer, and slower by another.
    cells[0] |= {"step": 0.001, "latency": 0.003}
    cells[1] |= {"step": 0.003, "latency": 0.002}
    assert statistics.recommend(cells, "loss")["winner"] == "gru"
    cells[0]["latency"] = 0.001
    assert statistics.recommend(cells, "loss")["winner"] == "x"


def test_no_cell_is_taken_that_is_behind_a_baseline():
    cells = rows(x=[2.5, 1.6, 2.6], slow=[1.9, 1.95, 2.05], slower=[1.85, 1.9, 2.0])
    found = statistics.recommend(cells, "loss", [baseline(2.1, contributions=[[2.1, 2.1]])], minutes=10)
    assert (found["verdict"], found["ahead"], set(found["tied"])) == ("tied", "slower", {"x"})
    assert found["winner"] == "slower"
    assert (
        "Take SLOWER (validation loss 1.917 ± 0.04), the only one that is ahead of the baselines" in found["sentence"]
    )


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


def test_a_curve_that_still_falls_is_told_beside_what_to_take_now():
    lstm, gru = rows(lstm=[2.1, 2.1], gru=[2.0, 2.0])
    level, steep = (4, 2, 2, 2, 2, 2), (4, 3.6, 3.2, 2.8, 2.4, 2)
    calm, steep = falling(gru, *level), falling(gru, *steep)
    late = falling(lstm, 4, 4, 4, 4, 3, 2.1)
    for given_rows, who in (([lstm, steep], "gru"), ([late, calm], "lstm")):
        found = statistics.recommend(given_rows, "loss", minutes=10)
        assert (found["verdict"], found["winner"], found["falling"]) == ("ahead", "gru", [who])
        assert found["sentence"].startswith("Take GRU (validation loss 2): ")
        says = r"twice the training, with about --minutes 20, may bring (\w+) from (\S+) to between (\S+) and (\S+)\.$"
        title, now, low, high = re.search(says, found["sentence"]).groups()
        assert title.lower() == who
        assert 0 <= float(low) < float(high) < float(now)
    assert "More time" not in statistics.recommend([falling(lstm, *level), calm], "loss", minutes=10)["sentence"]
    # Where more minutes make no longer trainings, nothing is said of them.
    assert statistics.recommend([lstm, steep], "loss", more_training=False)["falling"] == []
    # A cell with one seed may become the best one too.
    one = falling(*rows(x=[2.3]), 4, 4, 4, 4, 3, 2.3)
    assert statistics.recommend([lstm, calm], "loss", behind=[one])["falling"] == ["x"]
    # But not one that is too far away, also from a baseline.
    far = [baseline(0.1, contributions=[[0.1, 0.1]])]
    assert statistics.recommend([lstm, steep], "loss", far)["sentence"].startswith(
        "Take the last value (validation loss 0.1)"
    )
    assert statistics.recommend([lstm, steep], "loss", far)["falling"] == []


def test_what_is_the_best_by_validation_is_recommended():
    given_rows = rows(lstm=[2.1, 2.1, 2.2], gru=[2.0, 1.9, 2.1])
    found = statistics.recommend(given_rows, "loss", [baseline(9.0, "the mean"), baseline(0.5)])
    assert (found["verdict"], found["baseline"]) == ("baseline", "last")
    assert found["sentence"] == (
        "Take the last value (validation loss 0.5), a baseline: no cell has less. The best of the cells, GRU, has 2."
    )
    # Better, but not by a standard error: the samples disagree.
    found = statistics.recommend(given_rows, "loss", [baseline(2.3, contributions=[[4.6, 0.0]])])
    assert (found["verdict"], found["baseline"]) == ("baseline", "last")
    assert found["sentence"].endswith(
        "a baseline: it needs no network, and GRU, the best of the cells, is ahead by only 0.3, within the standard "
        "error of 2.3."
    )
    # By one, but not by two.
    found = statistics.recommend(given_rows, "loss", [baseline(2.3, contributions=[[2.5, 2.1]])])
    assert (found["winner"], found["baseline"]) == ("gru", None)
    assert "has 2.3, which is not significantly worse, and needs no network." in found["sentence"]
    found = statistics.recommend(given_rows, "loss", [baseline(2.9, contributions=[[2.9, 2.9]])])
    assert found["sentence"].endswith("The best baseline, the last value, has 2.9.")


def test_baselines_are_ranked_over_all_cuts():
    lucky = {**baseline(1.0, "trees"), "name": "trees", "origins": [8.0, 8.0, 8.0]}
    steady = {**baseline(2.0, "theta"), "name": "theta", "origins": [2.0, 2.0, 2.0]}
    found = statistics.recommend(rows(lstm=[2.2, 2.3]), "loss", [lucky, steady])
    assert (found["verdict"], found["baseline"]) == ("baseline", "theta")
    assert "Take theta (validation loss 2), a baseline: no cell has less, and of the baselines, it" in found["sentence"]
    # A perfect score at one of them is not the end of the others.
    assert statistics.over_origins({**lucky, "origins": [0.0]}) > 0
    assert statistics.recommend(rows(lstm=[1.9, 1.8]), "loss", [lucky, steady])["winner"] == "lstm"


def test_one_seed_and_divergence():
    assert "by one seed, which cannot tell" in statistics.recommend(rows(a=[1.0], b=[2.0]), "loss")["sentence"]
    assert "B, the next one, diverged" in statistics.recommend(rows(a=[1, 1], b=[None, 1]), "loss")["sentence"]
    assert "every cell diverged" in statistics.recommend(rows(a=[None, 1], b=[1, None]), "loss")["sentence"]
    found = statistics.recommend(rows(a=[None, 1], b=[1, None]), "loss", [baseline(3.0)])
    assert found["sentence"].startswith("Take the last value")


def test_a_cell_with_one_seed_that_is_as_good_is_named():
    one = {**rows(x=[1.0])[0], "contributions": [[0.5, 1.5]]}
    found = statistics.recommend(rows(a=[1.0, 1.1], b=[3.0, 3.1]), "loss", behind=[one])
    assert "With one seed only, X is not significantly different from A." in found["sentence"]


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
    return cells, baselines, behind, draw(some.booleans())


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(random_rows())
def test_no_recommendation_contradicts_itself(drawn):
    cells, baselines, behind, more_training = drawn
    found = statistics.recommend(cells, "loss", baselines, 10, more_training, behind)
    sentence, verdict = found["sentence"], found["verdict"]
    titles = {row["name"]: row["title"] for row in cells}
    claims = {
        "ahead": "more than noise" in sentence or "the next one, diverged" in sentence or "only cell" in sentence,
        "tied": "Not significantly different over" in sentence,
        "one seed": "by one seed" in sentence,
        "baseline": ", a baseline: " in sentence,
        "diverged": "Nothing can be recommended" in sentence,
    }
    assert [name for name, claimed in claims.items() if claimed] == [verdict]
    taken = re.findall(r"Take (\w+)", sentence)
    if verdict == "diverged":
        assert not taken
    else:
        assert taken == ["nothing" if verdict == "baseline" else titles[found["winner"]]]
    assert ("ahead of" in sentence.replace("ahead of the baselines", "")) <= (verdict == "ahead" and not found["tied"])
    assert ("--seeds" in sentence) <= (verdict == "tied")
    assert ("--minutes" in sentence) <= (verdict == "tied" or bool(found["falling"]))
    # What is taken is the best by validation, but for ties.
    scores = {row["name"]: np.mean([np.inf if each is None else each for each in row["validation"]]) for row in cells}
    lowest = min([each["validation"][0] for each in baselines], default=np.inf)
    if verdict == "baseline":
        best = min(cells, key=lambda row: scores[row["name"]])
        lead = statistics.to_baseline(baselines[0], best) if scores[best["name"]] < lowest else None
        assert lead is None or lead.mean <= lead.error
    elif verdict != "diverged":
        assert scores[found["winner"]] < lowest
        assert found["winner"] == found["ahead"] or found["winner"] in found["tied"]
        winner, ahead = (next(row for row in cells if row["name"] == found[each]) for each in ("winner", "ahead"))
        assert winner is ahead or 2 * winner["step"] < ahead["step"] or len(found["tied"]) > 1
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
    assert not goes_on or 0 < found.least < found.gain < found.most


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
    # With other exponents, less or more; but a score of 2 that falls to zero as steps**-0.25 loses no more than this.
    slowest = 2 * (1 - 2**-0.25)
    np.testing.assert_allclose([found.least, found.most], [1 / 6, slowest])
    found = curves.fall([curve, curve], shorter=(250, 12.0))
    np.testing.assert_allclose([found.least, found.most], [slowest, 1])
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
    names, plan = schedule.affordable(times, seconds, 10_000, (3, 1), 4, SAMPLES)
    assert (names, plan["seeds"]) == (list(times), 3)
    assert 0.5 * seconds < schedule.estimated(plan, times) < seconds
    assert plan["final"]["validations"] >= 8
    assert plan["final"]["pieces"] % plan["final"]["validations"] == 0


def test_data_is_read_forty_times_and_no_more_unless_it_is_little():
    times = {name: {**TIMES, "step": 0.001} for name in "ab"}
    for count, most in ((5, 1000), (50, 2000)):
        assert schedule.schedule(6000, times, count, 3, 4, SAMPLES)["final"]["steps"] == most


def test_the_slowest_cells_are_left_out_where_the_time_is_short_but_never_the_first():
    steps = {"a": 0.5, "b": 0.01, "c": 0.3, "d": 0.02, "e": 0.2, "f": 0.02}
    times = {name: {**TIMES, "step": step} for name, step in steps.items()}
    assert schedule.affordable(times, 100, 10_000, (3, 1), 2, SAMPLES)[0] == ["a", "b", "d", "f"]
    alike = {name: {**TIMES, "step": 0.5} for name in "abcde"}
    names, plan = schedule.affordable(alike, 200, 10_000, (3, 1), 2, SAMPLES)
    assert (names, plan["seeds"]) == (list("abcd"), 1)
    # Of four, too, if there is no time for the shortest trials.
    names, plan = schedule.affordable(alike, 100, 10_000, (3, 1), 2, SAMPLES)
    assert names == list("ab")
    assert schedule.affordable({**times, "b": {**TIMES, "step": 9.0}}, 10, 10_000, (3, 1), 2, SAMPLES)[0] == ["a"]
    # A single cell that is too slow for two rates has one, and fewer steps.
    slow = {**TIMES, "step": 1.0}
    names, plan = schedule.affordable({"a": slow, "b": {**slow, "step": 9.0}}, 40, 10_000, (3, 1), 2, SAMPLES)
    assert (names, plan["rates"], plan["rungs"]) == (["a"], [0.003], [])
    assert 8 <= plan["final"]["steps"] < 40
    assert schedule.estimated(plan, {"a": slow}) <= 40
    # One seed before a cell is left out.
    for seconds in range(100, 20_000, 100):
        names, plan = schedule.affordable(times, seconds, 10_000, (3, 1), 2, SAMPLES)
        assert names == list(times) or plan["seeds"] == 1
        assert plan["final"]["steps"] >= schedule.DECENT or len(names) <= schedule.LEAST
        assert schedule.estimated(plan, {name: times[name] for name in names}) <= seconds
    assert (names, plan["seeds"]) == (list(times), 3)


def test_a_training_is_rescaled_to_the_time_that_is_left():
    times = {name: {**TIMES, "step": 0.01} for name in "ab"}
    final = schedule.schedule(60, times, 10_000, 3, 2, SAMPLES)["final"]
    for share in (0, 0.5, 3, 100):
        found = schedule.rescaled(final, share, 2 * final["steps"])
        assert found["steps"] == min(max(2 * schedule.FEWEST, int(share * final["steps"])), 2 * final["steps"])
        assert found["pieces"] % found["validations"] == 0
        assert found["rows"] == final["rows"]


def study_of(folder, elapsed):
    settings = Settings(["lstm", "gru"], minutes=1, seeds=3)
    begun = time.perf_counter() - elapsed
    return Study(from_arrays(*task()), settings, Folder(folder, {}, print), None, begun)


def test_what_there_is_time_for_is_decided_once(tmp_path):
    assert study_of(tmp_path, 10).has_time("seed1", 20)
    late = study_of(tmp_path, 58)
    assert not late.has_time("seed2", 20)
    # A comparison that goes on decides as before.
    assert late.has_time("seed1", 20)
    assert not study_of(tmp_path, 10).has_time("seed2", 20)


@pytest.mark.parametrize(("pace", "elapsed"), [(1, 10), (5, 10), (0.2, 10), (1, 47), (1, 70)])
def test_the_pace_of_the_search_decides_how_long_the_final_training_is(tmp_path, pace, elapsed):
    times = {name: {**TIMES, "step": 0.01} for name in ("lstm", "gru")}
    planned = schedule.schedule(40, times, 10_000, 3, 2, SAMPLES)
    made = {"versions": {}, "machine": "", "date": "", "left_out": [], "quantiles": False, "memory": False}
    whole = plan.Plan(units={}, times=times, cells=list(times), schedule=planned, **made)
    searched = {
        name: {
            "trials": [
                {**rung, "seconds": pace * schedule.fit_seconds(rung, each), "score": len(name)}
                for rung in planned["rungs"]
            ]
        }
        for name, each in times.items()
    }
    study, runner = study_of(tmp_path, elapsed), SimpleNamespace(at_once=1)
    chosen = plan.paced(study, whole, runner, searched)
    found = chosen.final
    if elapsed < 60:
        assert (chosen.cells, chosen.left_out) == (["lstm", "gru"], [])
        one = pace * sum(schedule.trial_seconds(found, each) for each in times.values())
        assert one < study.left()
        # Three trainings of each cell, or one.
        assert one > study.left() / 8 or found["steps"] == schedule.most_steps(study.batches)
    else:
        # The best of the search.
        assert (chosen.cells, chosen.left_out) == (["gru"], ["lstm"])
        assert found["steps"] == 2 * schedule.FEWEST
    # It is decided once.
    again = plan.paced(study_of(tmp_path, 0), whole, runner, {name: {"trials": []} for name in times})
    assert (again.final, again.cells) == (found, chosen.cells)


def test_a_model_with_many_units_is_expected_to_take_long():
    times = {name: {**TIMES, "build": seconds} for name, seconds in {"lstm": 8.0, "gru": 12.0}.items()}
    units = {"lstm": 70, "gru": 80, "mogrifier": 60, "min_gru": 3000}
    assert plan.build_seconds(units, times, "mogrifier") == 10.0
    assert plan.build_seconds(units, times, "min_gru") == pytest.approx(100)


@pytest.mark.parametrize(("build", "elapsed", "expected"), [(2.0, 5, ["lstm", "gru"]), (20.0, 35, ["lstm"])])
def test_a_second_model_is_built_if_it_leaves_half_of_the_time(tmp_path, monkeypatch, build, elapsed, expected):
    def made(study, runner, units):
        return {name: {**TIMES, "step": 0.01, "build": build} for name in units}

    monkeypatch.setattr(plan, "build", made)
    study = dataclasses.replace(study_of(tmp_path, elapsed), progress=Progress(False))
    _, times = plan.measured(study, SimpleNamespace(at_once=1))
    assert list(times) == expected
    assert plan.describe_steps(study, study.sizes[0], times).startswith(f"{len(times)} model")


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
WHOLE, LATE = 1000, 750  # Steps of a whole training, and those after which the slow starter starts.


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


def test_a_comparison_that_is_late_still_says_what_to_take(tmp_path, monkeypatch):
    """What is done before any training, such as to fit the baselines, takes its time."""
    monkeypatch.setitem(strategies.LEARNERS, "direct", Scripted)
    settings = {"weights": 300, "minutes": 1, "trials": 2, "seeds": 2, "depth": 1, "batch_size": 32, "seed": 0}
    settings = Settings(["lstm", "gru"], equal="weights", memory=False, **settings)
    begun = time.perf_counter() - 58
    found = experiment.run(from_arrays(*task()), settings, tmp_path, verbose=False, begun=begun)
    assert found.results["plan"]["schedule"]["seeds"] == 1
    assert all(len(row["validation"]) == 1 for row in found.results["rows"])
    assert found.recommendation.startswith("Take ")
    assert found.winner in ("lstm", "gru")


def test_baselines_are_scored_by_the_same_samples():
    data = from_arrays(*task())
    (whole, *_), (part, *_) = baseline_rows(data), baseline_rows(data, {"validation": 2, "test": 3})
    (all_of_it,), (two,) = whole["contributions"], part["contributions"]
    assert two == [all_of_it[0], all_of_it[-1]]
    np.testing.assert_allclose(part["validation"], np.mean(two), rtol=1e-4)


def test_cells_that_there_is_no_time_for_are_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "QUICK", 60)
    x, y = task()
    cells = ["lstm", "gru", "min_gru", "rglru", "min_lstm"]
    found = krc.compare(x, y, cells=cells, seeds=1, output=tmp_path, **{**SMALL, "verbose": True})
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == "--minutes 0.001: the baselines, and at most 4 of 5 cells (LSTM, GRU, minGRU, RG-LRU)"
    left_out = r"Left out for lack of time: .*minLSTM\. All cells take about \d+ minutes? or more\."
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
