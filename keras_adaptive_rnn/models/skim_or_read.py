"""Skim or read: a bag of words answers where it is sure, and a recurrent network reads the rest."""

import dataclasses
import functools
import types
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._freezing import freeze_parts
from keras_adaptive_rnn._keras import register_on_torch
from keras_adaptive_rnn._precision import precise_dtype
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.layers import RNN
from keras_adaptive_rnn.models import arrays
from keras_adaptive_rnn.models.base import MaskedMean, TextClassifier


@dataclasses.dataclass(frozen=True)
class ReadingCurve:
    """Accuracy, and the share of inputs that are read, over the threshold of `SkimOrRead`; `str` makes a table.

    Attributes:
        thresholds: Array `[points]`, increasing. An input is read if its confidence is at most the threshold.
        shares: Array `[points]`, share of the inputs that reach the LSTM.
        accuracies: Array `[points]`: of the bag of words alone at the first point, and of the LSTM alone at the last.
    """

    thresholds: np.ndarray
    shares: np.ndarray
    accuracies: np.ndarray

    @classmethod
    def of(cls, confidence, skim_is_right, read_is_right, thresholds=None):
        """Returns the curve from per-input arrays; without thresholds, it takes about 20 even steps in cost."""
        if thresholds is None:
            among = np.quantile(confidence, np.linspace(0, 1, 21)[1:], method="lower")
            thresholds = np.unique([np.nextafter(confidence.min(), -np.inf), *among])
        thresholds = np.sort(np.asarray(thresholds, dtype=confidence.dtype))
        is_read = confidence <= thresholds[:, None]
        is_right = np.where(is_read, read_is_right, skim_is_right)
        return cls(thresholds, is_read.mean(axis=1), is_right.mean(axis=1))

    def __str__(self):
        rows = zip(self.thresholds, self.shares, self.accuracies, strict=True)
        return "\n".join(["threshold    read  accuracy", *(f"{t:9.4f}  {s:6.1%}  {a:8.1%}" for t, s, a in rows)])


@export
class SkimOrRead(TextClassifier):
    r"""Classifies text by a bag of words where that is confident, and by a recurrent network elsewhere.

    The bag of words passes the mean of the tokens' embeddings, $\bar e$, through two layers,

    $$z = \max(0, W_z \bar e + b_z), \qquad p = \mathrm{softmax}(W_p z + b_p)$$

    and the LSTM reads the tokens in order and returns probabilities $q$. The output is $q$ where the confidence
    $s \le \tau$, and $p$ elsewhere:

    - `decide="threshold"`: $s = \max p$, the probability of the class that the bag of words would choose;
    - `decide="network"`: $s = 1 - d$, where $d = \sigma(w_d \max(0, W_d z + b_d) + c_d)$ is the probability that the
      bag of words is wrong and the LSTM right.

    `fit` trains one network after the other: the bag of words (`"skim"`), the LSTM (`"read"`) and the decision network
    (`"decide"`), which learns from samples that are held out of the first two phases. They are Keras models that share
    their weights with this one: `skimmer`, `reader` and `decider`.

    `predict` and `predict_on_batch` run the LSTM only on the inputs that need it, gathered over all of `x`; calling
    the model, and `evaluate`, run both networks on every input. `threshold` may be set at any time; `curve` shows the
    accuracy and the cost of each value. A decision network is rarely sure that reading will help, so its best threshold
    may be well above 0.5.

    Args:
        skim_units: Positive integer, size of $z$. Defaults to `64`.
        decide: `"threshold"` (default) or `"network"`.
        threshold: Number $\tau$ in `[0, 1]`. `None` (default) means 0.9, or 0.5 with a decision network.
        decide_units: Positive integer, size of the hidden layer of the decision network. Defaults to `32`.
        held_out: Number above 0 and below 1, share of the training data that is held out for the decision network.
            Defaults to `0.2`.
        seed: Non-negative integer that chooses the held-out samples. `None` (default) means 0.
        **kwargs: As in `TextClassifier`: vocabulary_size, embedding_units, classes, units, cell, mask_zero, name,
            dtype, trainable.

    Call arguments:
        tokens: Integer tensor `[batch, time]`.
        training: Whether to apply the dropout of the cell. Defaults to `False`.

    Output shape: `[batch, classes]`, probabilities.

    Example:

    >>> model = keras_adaptive_rnn.models.SkimOrRead(vocabulary_size=20, embedding_units=4, classes=2, units=8)
    >>> model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    >>> x = np.random.default_rng(0).integers(1, 20, size=(64, 10))
    >>> y = x[:, 0] > 10
    >>> sorted(model.fit(x, y, epochs=1, verbose=0).history)
    ['read_accuracy', 'read_loss', 'skim_accuracy', 'skim_loss']
    >>> model.predict(x, verbose=0).shape
    (64, 2)
    >>> float(model.curve(x, y).shares[-1])
    1.0

    Reference: Johansen and Socher, Learning When to Skim and When to Read (2017), sections 2 and 3.
    """

    def __init__(
        self,
        *,
        skim_units: int = 64,
        decide: str = "threshold",
        threshold: float | None = None,
        decide_units: int = 32,
        held_out: float = 0.2,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.skim_units = _arguments.integer("skim_units", skim_units)
        self.decide = _arguments.choice("decide", decide, ("threshold", "network"))
        self.decide_units = _arguments.integer("decide_units", decide_units)
        self.held_out = _arguments.number("held_out", held_out, below=1, positive=True)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.threshold = (0.9 if decide == "threshold" else 0.5) if threshold is None else threshold

        # Probabilities in half precision have two or three digits.
        policy, precise = self.dtype_policy, precise_dtype(self.compute_dtype)
        embedding = functools.partial(keras.layers.Embedding, mask_zero=self.mask_zero, dtype=policy)
        dense = functools.partial(keras.layers.Dense, dtype=policy)
        activation = functools.partial(keras.layers.Activation, dtype=precise)
        sizes = self.vocabulary_size, self.embedding_units
        self.bag_layers = [embedding(*sizes), MaskedMean(dtype=policy), dense(self.skim_units, activation="relu")]
        self.skim_layers = [dense(self.classes), activation("softmax")]
        self.read_layers = [embedding(*sizes), RNN(self.cell, dtype=policy), dense(self.classes), activation("softmax")]
        self.decide_layers = []
        if self.decide == "network":
            self.decide_layers = [dense(self.decide_units, activation="relu"), dense(1), activation("sigmoid")]
        # A plain object, as Keras would count the weights of the layers above twice.
        self._networks = types.SimpleNamespace(**self._connect(), optimizer=None)
        # Every layer is built by now.
        self.built = True
        freeze_parts(self)
        register_on_torch(self)

    def _connect(self):
        """Returns the models that the layers make."""
        tokens = keras.Input((None,), dtype="int32")
        z = apply(self.bag_layers, tokens)
        p = apply(self.skim_layers, z)
        decider, confidence = None, ops.max(p, axis=-1)
        if self.decide_layers:
            features = keras.Input((self.skim_units,), dtype=self.compute_dtype)
            decider = keras.Model(features, apply(self.decide_layers, features), name="decider")
            confidence = 1 - decider(z)[:, 0]
        return {
            "skimmer": keras.Model(tokens, p, name="skimmer"),
            "reader": keras.Model(tokens, apply(self.read_layers, tokens), name="reader"),
            "decider": decider,
            "features": keras.Model(tokens, z, name="features"),
            "confidence": keras.Model(tokens, [p, confidence], name="confidence"),
        }

    @property
    def threshold(self):
        return self._threshold

    @threshold.setter
    def threshold(self, value):
        self._threshold = _arguments.number("threshold", value, minimum=0, maximum=1)
        # Compiled functions hold the old value as a constant.
        self.train_function = self.test_function = self.predict_function = None

    skimmer = property(lambda self: self._networks.skimmer)
    reader = property(lambda self: self._networks.reader)
    decider = property(lambda self: self._networks.decider)

    def _by_phase(self):
        networks = {"skim": self.skimmer, "read": self.reader, "decide": self.decider}
        return {phase: network for phase, network in networks.items() if network is not None}

    def look(self, tokens):
        """Returns the probabilities of the bag of words, $p$, and its confidence $s$, `[batch]`."""
        return self._networks.confidence(ops.cast(tokens, "int32"))

    def call(self, tokens, training=False):
        tokens = ops.cast(tokens, "int32")
        p, confidence = self.look(tokens)
        q = self.reader(tokens, training=training)
        return ops.where(ops.expand_dims(confidence <= self.threshold, -1), q, p)

    # Training.

    def compile(
        self,
        optimizer: Any = "adam",
        loss: Any = "sparse_categorical_crossentropy",
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        **options,
    ) -> None:
        """Compiles the networks as `keras.Model.compile` does, each with its own copy of the optimizer.

        The decision network has a loss and a metric of its own: binary cross-entropy and accuracy.
        """
        # The model is never trained as a whole, so it has no optimizer, whose slots would double its file.
        super().compile(None, loss, loss_weights, metrics, weighted_metrics, **options)
        self._networks.optimizer = keras.optimizers.get(optimizer)
        for phase, network in self._by_phase().items():
            arguments = loss, loss_weights, *keras.tree.map_structure(copy, (metrics, weighted_metrics))
            if phase == "decide":
                arguments = "binary_crossentropy", None, ["accuracy"]
            network.compile(copy(self._networks.optimizer), *arguments, **options)
            # A file then holds the slots even before training, so training can resume from any file.
            network.optimizer.build(network.trainable_variables)

    def get_compile_config(self):
        config = super().get_compile_config()
        return config and {**config, "optimizer": keras.optimizers.serialize(self._networks.optimizer)}

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))

    def train_on_batch(self, *args, **kwargs):
        raise NotImplementedError("SkimOrRead trains by `fit`; or train its `skimmer` and `reader` one by one.")

    def fit(
        self,
        x: Tensor = None,
        y: Tensor = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: list | None = None,
        validation_split: float = 0.0,
        validation_data: tuple | None = None,
        shuffle: bool = True,
        class_weight: dict | None = None,
        sample_weight: Tensor | None = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int = 1,
        *,
        phases: list | tuple | None = None,
    ) -> keras.callbacks.History:
        """Trains the networks one after the other, each by the `fit` of Keras with the same arguments.

        A second call resumes from the current weights and optimizers, also in a model that was loaded; so two calls
        with `phases` train two networks for different numbers of epochs. The same samples are held out in every call.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes, as the loss expects them: `[samples]`, or one-hot `[samples, classes]`.
            class_weight: As in `keras.Model.fit`, but not for the decision network, which has classes of its own.
            phases: List of the phases to run, from `"skim"`, `"read"` and `"decide"`, which always run in this order.
                `None` (default) runs all that the model has.
            batch_size, epochs, verbose, callbacks, validation_split, validation_data, shuffle, sample_weight,
                initial_epoch, steps_per_epoch, validation_steps, validation_batch_size, validation_freq: As in
                `keras.Model.fit`, in each phase.

        Returns: A `History`, whose names start with the phase: `"skim_loss"`.
        """
        arguments, networks = dict(locals()), self._by_phase()
        ours = {"self", "x", "y", "phases", "class_weight", "sample_weight", "validation_data", "validation_split"}
        options = {name: value for name, value in arguments.items() if name not in ours}
        _arguments.integer("epochs", epochs)
        _arguments.rate("validation_split", validation_split)
        fits = phases is None or (isinstance(phases, (list, tuple)) and set(phases) <= set(networks))
        rule = f"Argument `phases` must be a list of some of {', '.join(map(repr, networks))}, or None"
        _arguments.check(fits, rule, phases=phases)
        if not self.compiled:
            raise ValueError(f"Model '{self.name}' must be compiled before `fit`.")
        samples, validation = arrays.as_samples(x, y, sample_weight), None
        if validation_data is not None:
            validation = arrays.as_samples(*validation_data)
        elif validation_split:
            samples, validation = arrays.split_samples("validation_split", validation_split, samples)
        if self.decider is not None:
            # Any seed will do, but the samples held out must be the same whenever `fit` is called.
            samples, held_out = arrays.split_samples("held_out", self.held_out, samples, self.seed or 0)
        joined = keras.callbacks.History()
        joined.set_model(self)
        joined.on_train_begin()
        for phase, network in networks.items():
            if phases is not None and phase not in phases:
                continue
            data, checked, weights = samples, validation, class_weight
            if phase == "decide":
                data, checked, weights = self._decisions(held_out), validation and self._decisions(validation), None
            inputs, targets, sample_weight = data
            history = network.fit(
                inputs, targets, validation_data=checked, class_weight=weights, sample_weight=sample_weight, **options
            )
            joined.history |= {f"{phase}_{name}": values for name, values in history.history.items()}
        self.history = joined
        return joined

    def _decisions(self, samples):
        """Returns the samples of the decision network: features, and whether the LSTM corrects the bag of words."""
        x, y, weights = samples
        y = arrays.class_indices(y, self.classes)
        z, p, q = (
            arrays.predict(m, x, 256, verbose=0)[0] for m in (self._networks.features, self.skimmer, self.reader)
        )
        corrects = (p.argmax(axis=1) != y) & (q.argmax(axis=1) == y)
        return z, corrects[:, None].astype("float32"), weights

    # Inference.

    def predict(
        self,
        x: Tensor,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: list | None = None,
    ) -> np.ndarray:
        """Returns the probabilities of the classes, `[samples, classes]`; the LSTM reads only the inputs that need it.

        Args:
            x: Array of tokens `[samples, time]`.
            batch_size: Positive integer. `None` (default) means 32.
            steps: Positive integer, predict only the first `steps` batches of `x`. `None` (default) predicts all.
            verbose, callbacks: As in `keras.Model.predict`, first of the bag of words, and then of the LSTM.
        """
        batch_size = _arguments.integer("batch_size", 32 if batch_size is None else batch_size)
        x = arrays.as_tokens(x)
        if steps is not None:
            x = x[: _arguments.integer("steps", steps) * batch_size]
        options = {"verbose": verbose, "callbacks": callbacks}
        p, confidence = arrays.predict(self._networks.confidence, x, batch_size, **options)
        (undecided,) = np.nonzero(confidence <= self.threshold)
        if len(undecided):
            (p[undecided],) = arrays.predict(self.reader, x[undecided], batch_size, **options)
        return p

    def predict_on_batch(self, x: Tensor) -> np.ndarray:
        """Returns the same as `predict`, for a single batch."""
        return self.predict(x, batch_size=len(x), verbose=0)

    def needs_reading(self, x: Tensor, batch_size: int = 32) -> np.ndarray:
        """Returns which inputs reach the LSTM, booleans `[samples]`."""
        _, confidence = arrays.predict(self._networks.confidence, arrays.as_tokens(x), batch_size, verbose=0)
        return confidence <= self.threshold

    def curve(self, x: Tensor, y: Tensor, thresholds: Any = None, batch_size: int = 32) -> ReadingCurve:
        """Returns the accuracy, and the share of the inputs that reach the LSTM, over the threshold.

        Args:
            x, y: As in `fit`.
            thresholds: Numbers to try. `None` (default) chooses those that raise the share from 0 to 1 in even steps.
            batch_size: Positive integer. Defaults to `32`.
        """
        x, y, _ = arrays.as_samples(x, y)
        y = arrays.class_indices(y, self.classes)
        p, confidence = arrays.predict(self._networks.confidence, x, batch_size, verbose=0)
        (q,) = arrays.predict(self.reader, x, batch_size, verbose=0)
        return ReadingCurve.of(confidence, p.argmax(axis=1) == y, q.argmax(axis=1) == y, thresholds)


def apply(layers, x):
    for layer in layers:
        x = layer(x)
    return x


def copy(value):
    """Returns a new optimizer or metric like the given one, as each belongs to one model; anything else as it is."""
    is_object = isinstance(value, (keras.optimizers.Optimizer, keras.metrics.Metric))
    return type(value).from_config(value.get_config()) if is_object else value
