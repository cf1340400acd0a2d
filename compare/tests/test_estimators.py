"""Cells as estimators: scikit-learn's own checks, the order of time, and what skforecast and sktime make of them."""

import importlib.util
import os
import pickle
import re

import keras
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare import SequenceClassifier, SequenceRegressor
from keras_rnn_compare.reading.layout import by_name, by_place
from tests.backends import nightly
from tests.test_package import run_without

pytestmark = [
    # Of sktime and skforecast: what they will change, and what they need.
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SMALL = {"units": 4, "epochs": 1, "random_state": 0}
TIMES = np.arange(130)
SERIES = 1000 + 50 * np.sin(2 * np.pi * TIMES / 12)
PROMO = np.where(TIMES % 7 == 0, 1.0, 0.0)


def windows(series, steps):
    return np.lib.stride_tricks.sliding_window_view(series, steps)


# The order of columns.


def test_columns_are_read_in_the_order_of_time():
    table = np.arange(12.0).reshape(2, 6)

    def rows(layout):
        return layout.sequences(table)[0].tolist()

    names = ["lag_2", "promo", "lag_10", "lag_1", "price", "price_lag_1"]
    assert rows(by_name(names)) == [[2, 1, 4, 5], [0, 1, 4, 5], [3, 1, 4, 5]]
    assert by_name(names).names == ["lags", "promo", "price", "price_lag_1"]
    of_two = by_name(["a_lag_1", "a_lag_2", "b_lag_1", "b_lag_2", "x", "y"])
    assert rows(of_two) == [[1, 3, 4, 5], [0, 2, 4, 5]]
    assert by_name(["lags", "lag_", "x1", "x2", "lag_1_", "lag"]) is None
    columns = [str(k) for k in range(6)]
    assert rows(by_place(columns, None, False, False)) == [[0], [1], [2], [3], [4], [5]]
    assert rows(by_place(columns, 2, False, False)) == [[0, 2, 3, 4, 5], [1, 2, 3, 4, 5]]
    assert rows(by_place(columns, 2, True, False)) == [[1, 2, 3, 4, 5], [0, 2, 3, 4, 5]]
    assert rows(by_place(columns, 3, False, True)) == [[0, 3], [1, 4], [2, 5]]


def test_all_layouts_of_the_same_windows_give_the_same_forecasts():
    pandas = pytest.importorskip("pandas")
    past, known = windows(SERIES[:-1], 5), PROMO[5:, None]
    y = SERIES[5:]
    repeated = np.repeat(known, 5, axis=1)
    names = [*(f"lag_{k}" for k in range(1, 6)), "promo"]
    sequences = np.stack([past, repeated], axis=-1)
    ways = [
        (sequences, {}),
        (sequences[:, ::-1], {"newest_first": True}),
        (sequences.swapaxes(1, 2), {"features_first": True}),
        (np.hstack([past, known]), {"lags": 5}),
        (np.hstack([past[:, ::-1], known]), {"lags": 5, "newest_first": True}),
        (np.hstack([past, repeated]), {"lags": 5, "features_first": True}),
        (pandas.DataFrame(np.hstack([past[:, ::-1], known]), columns=names), {}),
    ]
    found = [SequenceRegressor("gru", **SMALL, **more).fit(X, y) for X, more in ways]
    expected = found[0].model_.predict(sequences, verbose=0)[:, 0]
    for regressor, (X, _) in zip(found, ways, strict=True):
        np.testing.assert_allclose(regressor.predict(X), expected, rtol=1e-6)
    # A GRU tells the order.
    assert np.abs(found[0].predict(sequences[:, ::-1]) - expected).max() > 1
    # skforecast fits with names in some versions, and predicts without.
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_allclose(found[-1].predict(ways[-1][0].to_numpy()), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("arrange", "options", "says"),
    [
        (lambda past, known: past[:, ::-1], {}, r"the 5 columns of `X` are: the first 5 hold .* the newest first"),
        (lambda past, known: np.hstack([past[:, ::-1], known]), {}, "first 5 hold lags of one series, the newest"),
        (lambda past, known: np.hstack([past[:, ::-1], known]), {"newest_first": True}, "Received: lags=None, newest"),
        (lambda past, known: np.hstack([past, known]), {}, "the first 5 hold lags of one series, the oldest first"),
        (lambda past, known: past[:, None], {}, r"`features_first` must be True .* as in sktime"),
        (lambda past, known: past, {"lags": 6}, "`lags` must be at most the number of columns of `X`, 5"),
        (lambda past, known: past, {"lags": 2, "features_first": True}, "must divide the number of columns of `X`, 5"),
        (lambda past, known: past[0], {}, r"Expected 2D array, got 1D array|must be of the shape"),
    ],
)
def test_columns_that_would_be_read_in_another_order(arrange, options, says):
    X = arrange(windows(SERIES[:-1], 5), PROMO[5:, None])
    with pytest.raises(ValueError, match=says):
        SequenceRegressor("gru", **SMALL, **options).fit(X, SERIES[5 : 5 + len(X)])


def test_what_is_no_series_has_no_order():
    rng = np.random.default_rng(0)
    for X in (np.ones((30, 4)), rng.normal(size=(30, 4)), np.tile([0.0, 1.0], (30, 2)), rng.normal(size=(30, 3, 4))):
        SequenceRegressor("gru", **SMALL).fit(X, np.arange(30.0))


# What scikit-learn asks of an estimator.

FAILS = {
    "check_sample_weight_equivalence_on_dense_data": (
        "weights multiply the loss, while means and deviations, and the batches, are of all samples"
    )
}


@parametrize_with_checks(
    [SequenceRegressor(units=4, epochs=1), SequenceClassifier(units=4, epochs=1)],
    expected_failed_checks=lambda estimator: FAILS,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_is_one_of_keras():
    assert isinstance(SequenceRegressor(), keras.wrappers.SKLearnRegressor)
    assert isinstance(SequenceClassifier(), keras.wrappers.SKLearnClassifier)


@pytest.mark.every_backend
def test_it_forecasts_in_the_unit_of_the_target():
    past, y = windows(SERIES[:-1], 12), SERIES[12:]
    regressor = SequenceRegressor("lstm", units=8, epochs=40, learning_rate=0.02, random_state=0).fit(past[:90], y[:90])
    assert r2_score(y[90:], regressor.predict(past[90:])) > 0.9
    assert regressor.epoch_ == 40
    assert regressor.history_["loss"][-1] < 0.1
    # The rate of the last epoch: it falls in the second half.
    np.testing.assert_allclose(regressor.history_["learning_rate"][-1], 0.002, rtol=1e-5)
    step = kar.step_model(regressor.model_)
    assert step.input["inputs"].shape == (1, 1)


def test_several_targets_and_several_layers():
    x = np.random.default_rng(0).normal(size=(40, 6, 3))
    y = np.stack([x[:, -1, 0], 100 * x[:, 0, 1]], axis=1)
    regressor = SequenceRegressor("low_rank_gru", depth=2, **SMALL).fit(x, y)
    assert regressor.predict(x[:5]).shape == (5, 2)
    assert [type(layer).__name__ for layer in regressor.model_.layers[1:4]] == ["Dense", "LowRankGRU", "LowRankGRU"]
    # Sequences of another length, and one at a time.
    assert regressor.predict(x[:, :4]).shape == (40, 2)
    np.testing.assert_allclose(regressor.predict(x[:1]), regressor.predict(x)[:1], rtol=1e-5)
    with pytest.raises(ValueError, match="X has 2 features, but SequenceRegressor is expecting 3 features"):
        regressor.predict(x[:, :, :2])
    with pytest.raises(ValueError, match=r"of the shape \[samples, steps, features\]. Received: X of shape \(40, 6\)"):
        regressor.predict(x[:, :, 0])


def test_classes_of_sequences():
    x = np.random.default_rng(0).normal(size=(120, 5, 2))
    y = np.array(["low", "middle", "high"])[np.digitize(x[:, -1, 0], [-0.5, 0.5])]
    classifier = SequenceClassifier("gru", units=8, epochs=25, learning_rate=0.03, random_state=0).fit(x, y)
    assert classifier.classes_.tolist() == ["high", "low", "middle"]
    assert classifier.score(x, y) > 0.8
    np.testing.assert_allclose(classifier.predict_proba(x).sum(axis=1), 1)
    assert (classifier.decision_function(x).argmax(axis=1) == classifier.predict_proba(x).argmax(axis=1)).all()


def test_it_goes_through_a_pipeline_and_a_search():
    past, y = windows(SERIES[:-1], 6)[:60], SERIES[6:66]
    pipeline = make_pipeline(StandardScaler(), SequenceRegressor(**SMALL))
    assert cross_val_score(pipeline, past, y, cv=2).shape == (2,)
    search = GridSearchCV(SequenceRegressor(**SMALL), {"cell": ["gru", "lstm"], "units": [2]}, cv=2).fit(past, y)
    assert search.best_estimator_.units == 2
    assert search.predict(past).shape == (60,)


def test_clone_and_parameters():
    regressor = SequenceRegressor(kar.LSTMCell, units=3, lags=4)
    copied = clone(regressor)
    assert copied.get_params() == regressor.get_params()
    assert copied.set_params(epochs=7).epochs == 7
    assert not hasattr(clone(SequenceRegressor(**SMALL).fit(np.ones((12, 3)), np.arange(12.0))), "model_")


def test_a_pickle_predicts_the_same():
    x = np.random.default_rng(0).normal(size=(30, 5, 2))
    classifier = SequenceClassifier("mogrifier", **SMALL).fit(x, x[:, 0, 0] > 0)
    loaded = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_allclose(loaded.predict_proba(x), classifier.predict_proba(x), rtol=1e-6)
    assert loaded.get_params() == classifier.get_params()


def test_a_random_state_decides_about_all_numbers_and_changes_no_others():
    x = np.random.default_rng(0).normal(size=(40, 5, 1))
    np.random.seed(3)  # noqa: NPY002
    expected = np.random.RandomState(3).uniform()
    first, second = (SequenceRegressor(**SMALL).fit(x, x[:, 0, 0]).predict(x) for _ in range(2))
    assert np.random.uniform() == expected  # noqa: NPY002
    np.testing.assert_array_equal(first, second)
    other = SequenceRegressor(**{**SMALL, "random_state": 1}).fit(x, x[:, 0, 0]).predict(x)
    assert np.abs(first - other).max() > 1e-3


def test_samples_of_no_weight_teach_nothing():
    x = np.random.default_rng(0).normal(size=(80, 4, 1))
    y, weight = np.where(np.arange(80) < 40, x[:, -1, 0], -9 * x[:, -1, 0]), np.repeat([1.0, 0.0], 40)
    options = {"units": 8, "epochs": 40, "learning_rate": 0.02, "random_state": 0}
    regressor = SequenceRegressor("gru", **options).fit(x, y, sample_weight=weight)
    assert r2_score(y[:40], regressor.predict(x[:40])) > 0.8
    for wrong in (-weight, 0 * weight, weight[1:]):
        with pytest.raises(ValueError, match="`sample_weight` must have a weight for each of the 80 samples"):
            SequenceRegressor(**SMALL).fit(x, y, sample_weight=wrong)


# Errors.


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"cell": "grv"}, ValueError, r"`cell` must name a cell among .*'gru', .* Received: 'grv'. Did you mean 'gru'"),
        ({"cell": os.system}, ValueError, r"or a function .* Received: cell=<built-in function system>"),
        ({"cell": keras.layers.Dense}, ValueError, "`cell` must make a recurrent layer"),
        ({"units": 0}, ValueError, r"`units` must be an integer of at least 1. Received: units=0"),
        ({"epochs": 1.5}, TypeError, "`epochs` must be an integer"),
        ({"learning_rate": -1}, ValueError, "`learning_rate` must be a positive number"),
        ({"newest_first": 1}, TypeError, "`newest_first` must be True or False"),
        ({"features_first": None}, TypeError, "`features_first` must be True or False"),
    ],
)
def test_bad_arguments(arguments, error, says):
    regressor = SequenceRegressor(**{**SMALL, **arguments})
    with pytest.raises(error, match=says):
        regressor.fit(np.random.default_rng(0).normal(size=(12, 4)), np.arange(12.0))


def test_bad_data():
    x = np.random.default_rng(0).normal(size=(20, 4))
    level = x.copy()
    level[:, 3] += 1e9
    with pytest.raises(ValueError, match=r"column '3' varies by .* subtract a constant"):
        SequenceRegressor(lags=3, **SMALL).fit(level, x[:, 0])
    with pytest.raises(ValueError, match=r"`y.*` varies by .* subtract a constant"):
        SequenceRegressor(**SMALL).fit(x, 1e9 + x[:, 0])
    with pytest.raises(ValueError, match=r"`y` must have more than one class. Received: 'a' in every sample"):
        SequenceClassifier(**SMALL).fit(x, ["a"] * 20)
    for y in (np.full(20, 0.1), np.stack([x[:, 0], np.full(20, 0.1)], axis=1)):
        with pytest.raises(ValueError, match=r"`y` must vary: .* Received: 0\.1 in each of 20 samples"):
            SequenceRegressor(**SMALL).fit(x, y)
    with pytest.raises(ValueError, match=r"`y` must not hold names .* alike.*'up' at y\[0\] and 'up ' at y\[1\]"):
        SequenceClassifier(**SMALL).fit(x, ["up", "up "] * 10)
    with pytest.raises(ValueError, match="`learning_rate` must be lower: the training has diverged"):
        SequenceRegressor(**{**SMALL, "epochs": 5, "learning_rate": 1e38}).fit(x, x[:, 0])
    fitted = SequenceClassifier(**SMALL).fit(x, x[:, 0] > 0)
    with pytest.raises(ValueError, match=r"`X` must hold numbers in the range of float32.* as large as \d.*e\+39"):
        fitted.predict(x * 1e39)
    names = ["a_lag_1", "a_lag_2", "b_lag_1", "b_lag_3"]
    with pytest.raises(ValueError, match=re.escape("Received: lags [1, 2] of 'a', and [1, 3] of 'b'")):
        by_name(names)


@nightly
def test_without_scikit_learn_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None)
    with pytest.raises(ImportError, match="SequenceRegressor needs scikit-learn: pip install scikit-learn"):
        SequenceRegressor()
    monkeypatch.undo()
    code = "import keras_rnn_compare as krc; krc.SequenceClassifier()"
    done = run_without(tmp_path, ["sklearn"], ["-c", code], backend=keras.backend.backend())
    assert done.stderr.endswith("ImportError: SequenceClassifier needs scikit-learn: pip install scikit-learn\n")


# The winner of a comparison.


@pytest.mark.every_backend
def test_an_estimator_of_the_winner():
    x = np.random.default_rng(0).normal(size=(80, 5, 2))
    cells = {"mine": lambda units: kar.GRUCell(units), "lstm": "lstm"}
    options = {"minutes": 0.01, "trials": 1, "memory": False, "verbose": False, "weights": 300, "batch_size": 16}
    found = krc.compare(x, x[:, 0, 0], cells=cells, seeds=1, **options)
    rows = {row["name"]: row for row in found.results["rows"]}
    steps = found.results["plan"]["schedule"]["final"]["steps"]
    for found.winner in rows:
        regressor = found.estimator(kar.GRUCell, lags=5)
        assert isinstance(regressor, SequenceRegressor)
        assert regressor.get_params() == {
            **SequenceRegressor().get_params(),
            "cell": {"mine": kar.GRUCell, "lstm": "lstm"}[found.winner],
            "units": rows[found.winner]["units"],
            "learning_rate": rows[found.winner]["rate"],
            "epochs": -(-steps * 16 // 56),
            "batch_size": 16,
            "lags": 5,
        }
    found.winner = "lstm"
    found.results["measure"] = "cross entropy"
    assert isinstance(found.estimator(epochs=3), SequenceClassifier)
    found.winner = "mine"
    with pytest.raises(
        ValueError, match=r"`cell` must be the function that makes 'mine', the winner of .* Received: cell=None"
    ):
        found.estimator()
    found.results["data"]["vocabulary"] = 9
    with pytest.raises(ValueError, match=r"the winner of .* reads tokens"):
        found.estimator()


# Other packages.


def of_pandas():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=len(SERIES), freq="D")
    return pandas.Series(SERIES + 30 * PROMO, index, name="y"), pandas.DataFrame({"promo": PROMO}, index)


@pytest.mark.parametrize("kind", ["recursive", "direct"])
@pytest.mark.parametrize("exogenous", [False, True])
def test_skforecast(kind, exogenous):
    pytest.importorskip("skforecast")
    from skforecast.direct import ForecasterDirect
    from skforecast.recursive import ForecasterRecursive

    y, promo = of_pandas()
    regressor = SequenceRegressor("mogrifier", **{**SMALL, "epochs": 5}, lags=8, newest_first=True)
    forecaster = (
        ForecasterRecursive(estimator=regressor, lags=8)
        if kind == "recursive"
        else ForecasterDirect(estimator=regressor, lags=8, steps=3)
    )
    forecaster.fit(y=y[:120], **({"exog": promo[:120]} if exogenous else {}))
    found = forecaster.predict(steps=3, **({"exog": promo[120:123]} if exogenous else {}))
    assert list(found.index) == list(y.index[120:123])
    # The first forecast is that of the last eight days, in order.
    window = y.to_numpy()[112:120, None]
    if exogenous:
        window = np.hstack([window, np.repeat(promo.to_numpy()[120:121], 8, axis=0)])
    fitted = forecaster.estimator if kind == "recursive" else forecaster.estimators_[1]
    expected = fitted.model_.predict(window[None].astype("float32"), verbose=0)[0, 0]
    np.testing.assert_allclose(found.iloc[0], expected, rtol=1e-6)


def test_skforecast_with_lags_in_the_wrong_order_is_an_error():
    pytest.importorskip("skforecast")
    from skforecast.recursive import ForecasterRecursive

    y, _ = of_pandas()
    with pytest.raises(ValueError, match="the first 8 hold lags of one series, the newest first"):
        ForecasterRecursive(estimator=SequenceRegressor(**SMALL), lags=8).fit(y=y)


@pytest.mark.parametrize("strategy", ["recursive", "direct"])
@pytest.mark.parametrize("scitype", ["tabular-regressor", "time-series-regressor"])
@pytest.mark.parametrize("exogenous", [False, True])
def test_sktime(strategy, scitype, exogenous):
    pytest.importorskip("sktime")
    from sktime.forecasting.compose import make_reduction

    y, promo = of_pandas()
    is_table = scitype == "tabular-regressor"
    layout = {"lags": 8, "features_first": True} if exogenous and is_table else {"features_first": not is_table}
    regressor = SequenceRegressor("gru", **{**SMALL, "epochs": 5}, **layout)
    forecaster = make_reduction(regressor, strategy=strategy, window_length=8, scitype=scitype)
    forecaster.fit(y[:120], X=promo[:120] if exogenous else None, fh=[1, 2, 3])
    found = forecaster.predict(X=promo[120:123] if exogenous else None)
    assert list(found.index) == list(y.index[120:123])
    window = y.to_numpy()[112:120, None]
    if exogenous:
        window = np.hstack([window, promo.to_numpy()[112:120]])
    fitted = forecaster.estimator_ if strategy == "recursive" else forecaster.estimators_[0]
    expected = fitted.model_.predict(window[None].astype("float32"), verbose=0)[0, 0]
    np.testing.assert_allclose(np.ravel(found)[0], expected, rtol=1e-6)
