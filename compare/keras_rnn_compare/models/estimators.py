"""Estimators of scikit-learn that train the models of `compare`."""

import contextlib
import importlib.util
import random
from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from keras_rnn_compare import arguments
from keras_rnn_compare.models.candidates import Candidate, ModelShape, find_named, maker, offered
from keras_rnn_compare.models.trials import Learner, falling, in_whole_batches
from keras_rnn_compare.reading.data import (
    Data,
    check_looks,
    check_scales,
    check_varies,
    last_layers,
    mean_and_deviation,
)
from keras_rnn_compare.reading.layout import by_name, by_place, check_axes, check_order


class Sequences:
    """What both estimators share; it stands before Keras's wrapper, which reads tables only.

    scikit-learn is imported inside of functions: it need not be installed.
    """

    # How scikit-learn checks `y`.
    _options_of_y: dict[str, Any] = {}

    def __init__(
        self,
        cell: str | Callable[[int], keras.Layer] = "gru",
        *,
        units: int = 32,
        depth: int = 1,
        learning_rate: float = 0.003,
        epochs: int = 20,
        batch_size: int = 32,
        lags: int | None = None,
        newest_first: bool | None = None,
        features_first: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ):
        if importlib.util.find_spec("sklearn") is None:
            raise ImportError(f"{type(self).__name__} needs scikit-learn: pip install scikit-learn")
        self.cell = cell
        self.units = units
        self.depth = depth
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.lags = lags
        self.newest_first = newest_first
        self.features_first = features_first
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_clone__(self):
        from sklearn.base import BaseEstimator

        # Keras's own makes a wrapper around a model.
        return BaseEstimator.__sklearn_clone__(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # With a `random_state`, two fits are the same.
        tags.non_deterministic = False
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Trains a new model.

        Args:
            X: Array `[samples, steps, features]`, or a table `[samples, columns]`.
            y: Array of targets.
            sample_weight: Array of a weight for each sample in the loss. Defaults to `None`.

        Returns: The estimator.

        Raises:
            ValueError: The data is not usable (not finite, a constant target, a level that float32 does not hold, ...),
                an argument has a value that is not allowed, `lags` and `newest_first` do not fit to the columns, or the
                training has diverged.
            TypeError: An argument has a wrong type.
        """
        candidate = self._candidate()
        units, depth = arguments.integer("units", self.units), arguments.integer("depth", self.depth)
        rate = arguments.positive_number("learning_rate", self.learning_rate)
        epochs = arguments.integer("epochs", self.epochs)
        batch_size = arguments.integer("batch_size", self.batch_size)
        x, y = self._read(X, y)
        weight = None if sample_weight is None else weights_of(sample_weight, len(x))
        data = self._data(x, y)
        with seeded(self.random_state):
            shape = ModelShape(x.shape[-1], None, data.outputs, depth)
            model = Learner(data, shape, candidate, units, min(batch_size, len(x))).model
            history = model.fit(
                data.x["train"],
                data.y["train"],
                sample_weight=weight,
                batch_size=batch_size,
                epochs=epochs,
                verbose=self.verbose,
                callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch, _: falling(rate, epoch / epochs))],
            )
        if not all(np.isfinite(weight).all() for weight in model.get_weights()):
            raise ValueError(
                "Argument `learning_rate` must be lower: the training has diverged, to weights that are not finite. "
                f"Received: learning_rate={rate:g}"
            )
        self.history_ = {**history.history, "epoch": len(history.epoch)}
        self.model_ = keras.Sequential([keras.Input(model.input_shape[1:]), *model.layers, *last_layers(data)])
        return self

    def _data(self, x, y) -> Data:
        """Returns the `Data` to learn from."""
        raise NotImplementedError

    def _candidate(self):
        """Returns the `Candidate` of the argument `cell`."""
        if isinstance(self.cell, str):
            return offered()[find_named(self.cell, "cell")]
        make = maker("cell", self.cell)
        if make is None:
            raise ValueError(
                "Argument `cell` must be the name of a cell, such as 'lstm', a class of recurrent layers or cells, or "
                f"a function `units -> layer`. Received: cell={self.cell!r}"
            )

        def layer(units, inputs, return_sequences=False):
            return make(units, return_sequences)

        return Candidate("cell", layer, lambda *_: 0)

    def _read(self, X, y):
        """Returns sequences and targets to learn from, and keeps what tells how to read more of them."""
        lags = arguments.integer("lags", self.lags, optional=True)
        newest_first = self.newest_first is not None and arguments.boolean("newest_first", self.newest_first)
        features_first = arguments.boolean("features_first", self.features_first)
        X, y = validate(self, X, y, allow_nd=True, **self._options_of_y)
        self.layout_ = None
        if X.ndim == 2:
            columns = [str(name) for name in getattr(self, "feature_names_in_", range(X.shape[1]))]
            if lags is None and self.newest_first is None and not features_first:
                self.layout_ = by_name(columns)
            if self.layout_ is None:
                check_order(X, lags, self.newest_first)
                self.layout_ = by_place(columns, lags, newest_first, features_first)
        x = self._arranged(X)
        if self.layout_ is None:
            if not features_first:
                check_axes(x)
            # For scikit-learn, the second axis is that of features.
            self.n_features_in_ = x.shape[-1]
        check_scales({"train": x}, self.layout_ and self.layout_.names, "X")
        return x, y

    def _arranged(self, X):
        """Returns an array as sequences `[samples, steps, features]`, the oldest step first."""
        if X.ndim == 2 and self.layout_ is not None:
            return self.layout_.sequences(X)
        if X.ndim != 3 or not all(X.shape[1:]) or self.layout_ is not None:
            allowed = "[samples, steps, features]" if self.layout_ is None else "[samples, columns], as in `fit`"
            raise ValueError(f"Argument `X` must be of the shape {allowed}. Received: X of shape {X.shape}")
        X = X.swapaxes(1, 2) if self.features_first else X
        return X[:, ::-1] if self.newest_first else X

    def _outputs(self, X):
        """Returns the outputs of the model, an array `[samples, outputs]`."""
        from sklearn.utils.validation import check_array, check_is_fitted

        check_is_fitted(self, "model_")
        if self.layout_ is None:
            x = self._arranged(check_array(X, allow_nd=True, ensure_2d=False))
            if x.shape[-1] != self.n_features_in_:
                raise ValueError(
                    f"X has {x.shape[-1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "features as input"
                )
        else:
            x = self._arranged(validate(self, X, reset=False, allow_nd=True))
        with np.errstate(over="ignore"):
            given = x.astype("float32")
        if not np.isfinite(given).all():
            raise ValueError(
                "Argument `X` must hold numbers in the range of float32, in which models compute. "
                f"Received: numbers as large as {np.abs(x).max():.3g}"
            )
        return outputs_of(self.model_, given, self.batch_size).astype("float64")


class SequenceRegressor(Sequences, keras.wrappers.SKLearnRegressor):
    """A recurrent cell as a regressor of scikit-learn, for forecasts and other numbers.

    It trains the models of `keras_rnn_compare.compare`: numbers less their mean and divided by their standard
    deviation, `depth` recurrent layers and a dense layer, with Adam, the norm of the gradient clipped at one, and a
    learning rate that falls to a tenth in the second half of the epochs. Targets are normalized as well, so a constant
    one is refused.

    It reads sequences `[samples, steps, features]`, or a table `[samples, columns]`, whose columns are

    - lags, if they are named `lag_1`, `lag_2`, ... (`price_lag_1`, ... of several series), in any order; every step
      repeats what the other columns hold;
    - else the steps of one sequence, the oldest first; `lags`, `newest_first` and `features_first` say otherwise. If
      each row is a window one step after the row before, `fit` sees it, and raises an error if that is not how it is
      told to read them.

    With skforecast, a forecast from 32 lags takes `lags=32, newest_first=True`; with sktime, `features_first=True`, and
    `lags=32` for tables.

    It derives from `keras.wrappers.SKLearnRegressor`, and `clone`, `Pipeline`, `GridSearchCV` and `pickle` take it.

    Args:
        cell: Name of a cell, such as `"mogrifier"`, one of those that `compare` compares (the message about an unknown
            name lists all); or a function `units -> layer`, which makes any recurrent layer or cell of Keras. Defaults
            to `"gru"`.
        units: Positive integer, size of each recurrent layer. Defaults to `32`.
        depth: Positive integer, number of recurrent layers. Defaults to `1`.
        learning_rate: Positive number. Defaults to `0.003`.
        epochs: Positive integer, how often the data is read. Defaults to `20`.
        batch_size: Positive integer. Defaults to `32`.
        lags: Positive integer, how many columns of a table are the steps of a sequence: the first ones, and every step
            repeats the others. Defaults to `None`, which means all columns, or those that are named as lags.
        newest_first: Whether the first step is the newest one. Defaults to `None`, which means what the names of lags
            say, or else `False`.
        features_first: Whether features come before steps, as in sktime: `[samples, features, steps]`, or a table with
            all `lags` of one feature after the other. Defaults to `False`.
        random_state: Integer, or a `RandomState` of NumPy, which decides about weights and order. Defaults to `None`,
            which means other ones each time.
        verbose: What `fit` of Keras shows: `0` nothing, `1` a bar, `2` a line for each epoch. Defaults to `0`.

    Attributes:
        model_: The Keras model, after `fit`. It reads `[samples, steps, features]` as they were given, the oldest step
            first, and returns numbers in the unit of the target; `keras_adaptive_rnn.export_step` takes it.
        history_: Dict of the losses of the epochs.
        n_features_in_: Number of columns, or of features of sequences.

    Raises:
        ImportError: scikit-learn is not installed.

    Example:

    >>> lags = np.sin(np.arange(200)[:, None] + np.arange(8))
    >>> regressor = keras_rnn_compare.SequenceRegressor("gru", units=8, epochs=2, random_state=0)
    >>> regressor.fit(lags[:, :7], lags[:, 7]).predict(lags[:3, :7]).shape
    (3,)
    """

    _options_of_y = {"multi_output": True, "y_numeric": True}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _data(self, x, y):
        """Returns the `Data` to learn from: targets of any shape, in units of their deviation."""
        self.targets_ndim_ = y.ndim
        y = y.reshape(len(y), -1).astype("float64")
        check_scales({"train": y}, None, "y")
        mean, deviation = mean_and_deviation(y)
        check_varies("`y`", mean, deviation, len(y))
        scaled = ((y - mean) / deviation).astype("float32")
        return Data({"train": x.astype("float32")}, {"train": scaled}, mean=mean, deviation=deviation)

    def predict(self, X: Any) -> np.ndarray:
        """Returns a number for each sample, or as many as `y` had in `fit`."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self.targets_ndim_ == 1 else outputs


class SequenceClassifier(Sequences, keras.wrappers.SKLearnClassifier):
    """A recurrent cell as a classifier of scikit-learn, for classes of whole sequences.

    It trains the models of `keras_rnn_compare.compare`, and reads sequences or tables as
    `keras_rnn_compare.SequenceRegressor` does.

    Args:
        cell: As in `keras_rnn_compare.SequenceRegressor`.
        units: As in `keras_rnn_compare.SequenceRegressor`.
        depth: As in `keras_rnn_compare.SequenceRegressor`.
        learning_rate: As in `keras_rnn_compare.SequenceRegressor`.
        epochs: As in `keras_rnn_compare.SequenceRegressor`.
        batch_size: As in `keras_rnn_compare.SequenceRegressor`.
        lags: As in `keras_rnn_compare.SequenceRegressor`.
        newest_first: As in `keras_rnn_compare.SequenceRegressor`.
        features_first: As in `keras_rnn_compare.SequenceRegressor`.
        random_state: As in `keras_rnn_compare.SequenceRegressor`.
        verbose: As in `keras_rnn_compare.SequenceRegressor`.

    Attributes:
        classes_: The classes, in order.
        model_: The Keras model, after `fit`, which returns the probabilities of the classes.
        history_: Dict of the losses of the epochs.
        n_features_in_: Number of columns, or of features of sequences.

    Raises:
        ImportError: scikit-learn is not installed.

    Example:

    >>> x = np.random.default_rng(0).normal(size=(100, 5, 2))
    >>> y = np.where(x[:, 0, 0] > 0, "up", "down")
    >>> classifier = keras_rnn_compare.SequenceClassifier("lstm", units=8, epochs=2, random_state=0)
    >>> classifier.fit(x, y).predict_proba(x[:3]).shape
    (3, 2)
    """

    def _data(self, x, y):
        """Returns the `Data` to learn from: classes as their places in `classes_`."""
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
        if all(isinstance(name, str) for name in np.unique(y).tolist()):
            check_looks("y", y)
        self.classes_, places = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"Argument `y` must have more than one class. Received: {self.classes_.tolist()[0]!r} in every sample"
            )
        return Data({"train": x.astype("float32")}, {"train": places.astype("int32")}, classes=self.classes_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Returns the probability of each class, in the order of `classes_`."""
        probabilities = self._outputs(X)
        # Their sum is one in float32 only.
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """Returns the most probable class of each sample."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Returns the logarithms of the probabilities, or, of two classes, by how much that of the second is larger."""
        logits = np.log(np.maximum(self.predict_proba(X), np.finfo("float32").tiny))
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits


def validate(estimator, *args, **options):
    """Returns arrays that scikit-learn has checked."""
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # Before scikit-learn 1.6.
        return estimator._validate_data(*args, **options)
    return validate_data(estimator, *args, **options)


def weights_of(sample_weight, count):
    """Returns the weights of samples as an array, or raises an error."""
    from sklearn.utils.validation import check_array

    weights = check_array(sample_weight, ensure_2d=False, dtype="float64", input_name="sample_weight")
    if weights.shape != (count,) or weights.min() < 0 or not weights.any():
        raise ValueError(
            f"Argument `sample_weight` must have a weight for each of the {count} samples, none of them negative, and "
            f"not all zero. Received: shape {weights.shape}, from {weights.min():g} to {weights.max():g}"
        )
    return weights.astype("float32")


@contextlib.contextmanager
def seeded(random_state):
    """Draws all numbers from a seed, unless it is `None`; Python and NumPy then go on where they were."""
    from sklearn.utils import check_random_state

    if random_state is None:
        yield
        return
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    before = random.getstate(), np.random.get_state()  # noqa: NPY002
    keras.utils.set_random_seed(seed)
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def outputs_of(model, x, batch_size):
    """Returns the outputs of a model for all samples."""
    if len(x) == 1:
        # A forecast that goes on from its own predictions asks for one after the other.
        return np.asarray(keras.ops.convert_to_numpy(model.predict_on_batch(x)))
    return in_whole_batches(model, x, batch_size)
