"""Skim or read: a bag of words answers where it is sure, and a recurrent network reads the rest."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.layers import RNN
from keras_adaptive_rnn.models.base import MaskedMean, TextClassifier
from keras_adaptive_rnn.models.curve import ReadingCurve
from keras_adaptive_rnn.models.phases import PHASES, Phases, classes_of


@export
class SkimOrRead(TextClassifier):
    r"""A bag of words that classifies what it can, and a recurrent network for what it is not sure of.

    The bag of words takes the mean of the tokens' vectors, $\bar e$, through two layers,

    $$z = \max(0, W_z \bar e + b_z), \qquad p = \mathrm{softmax}(W_p z + b_p)$$

    and the LSTM reads the tokens in order and gives $q$. The output is $q$ where the confidence $s \le \tau$, else $p$:

    - `decide="threshold"`: $s = \max p$, the probability of the class that the bag of words would choose;
    - `decide="network"`: $s = 1 - d$, where $d = \sigma(w_d \max(0, W_d z + b_d) + c_d)$ is the probability that the
      bag of words is wrong and the LSTM right.

    `fit` trains it in its phases, each by Keras's own `fit`: `"skim"`, the bag of words; `"read"`, the LSTM; with a
    decision network both on a part of the data only, and then `"decide"`, that network, on the rest, where it is known
    which of the two was right.

    `predict` and `predict_on_batch` run the LSTM on those inputs only that need it, gathered over all of `x`; calling
    the model, and `evaluate`, runs both on all. `threshold` may be set at any time; `curve` shows what to expect of it.
    A decision network is rarely sure that reading will help, so that the best threshold may be well above 0.5.

    `skimmer`, `reader` and `decider` are the three networks, Keras models of their own that share the weights; the
    decider takes $z$.

    Args:
        skim_units: Positive integer, size of $z$. Defaults to `64`.
        decide: `"threshold"` (default) or `"network"`.
        threshold: Number $\tau$ in `[0, 1]`; `None` (default) for 0.9, and for 0.5 with a decision network.
        decide_units: Positive integer, size of the layer inside the decision network. Defaults to `32`.
        held_out: Number above 0 and below 1, share of the training data that is kept for the decision network.
            Defaults to `0.2`.
        seed: Non-negative integer that chooses this share, or `None` (default).
        **kwargs: As in `TextClassifier`: vocabulary_size, embedding_units, classes, units, cell, mask_zero, name,
            dtype, trainable.

    Call arguments:
        tokens: Integer tensor `[batch, time]`.
        training: Whether the cell drops.

    Output shape: `[batch, classes]`, probabilities.

    Raises:
        TypeError: an argument is unknown or of the wrong type.
        ValueError: an argument is out of its range.

    Example:

    >>> model = keras_adaptive_rnn.models.SkimOrRead(vocabulary_size=20, embedding_units=4, classes=2, units=8)
    >>> model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    >>> x, y, _ = keras_adaptive_rnn.datasets.mixed_difficulty(64)
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

        vectors = {"input_dim": self.vocabulary_size, "output_dim": self.embedding_units, "dtype": self.dtype_policy}
        # Probabilities in half precision have two or three digits.
        precise = keras.backend.result_type(self.compute_dtype, "float32")
        self.bag_layers = [
            keras.layers.Embedding(**vectors, mask_zero=self.mask_zero),
            MaskedMean(dtype=self.dtype_policy),
            keras.layers.Dense(self.skim_units, activation="relu", dtype=self.dtype_policy),
        ]
        self.skim_layers = [
            keras.layers.Dense(self.classes, dtype=self.dtype_policy),
            keras.layers.Softmax(dtype=precise),
        ]
        self.read_layers = [
            keras.layers.Embedding(**vectors, mask_zero=self.mask_zero),
            RNN(self.cell, dtype=self.dtype_policy),
            keras.layers.Dense(self.classes, dtype=self.dtype_policy),
            keras.layers.Softmax(dtype=precise),
        ]
        self.decide_layers = []
        if self.decide == "network":
            self.decide_layers = [
                keras.layers.Dense(self.decide_units, activation="relu", dtype=self.dtype_policy),
                keras.layers.Dense(1, dtype=self.dtype_policy),
                keras.layers.Activation("sigmoid", dtype=precise),
            ]
        self._phases = Phases(self)
        # Its parts are.
        self.built = True

    @property
    def threshold(self):
        return self._threshold

    @threshold.setter
    def threshold(self, value):
        value = _arguments.number("threshold", value, minimum=0)
        if value > 1:
            raise ValueError(f"Argument `threshold` must be a number in [0, 1]. Received: threshold={value!r}")
        self._threshold = value
        # What was compiled has the old one in it.
        self.train_function = self.test_function = self.predict_function = None

    @property
    def skimmer(self):
        return self._phases.models["skim"]

    @property
    def reader(self):
        return self._phases.models["read"]

    @property
    def decider(self):
        return self._phases.models.get("decide")

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.classes)

    def look(self, tokens):
        """Returns what the bag of words says, $p$, and how sure it is, $s$, `[batch]`."""
        z = self._phases.bag(tokens)
        p = z
        for layer in self.skim_layers:
            p = layer(p)
        return p, ops.max(p, axis=-1) if self.decider is None else 1 - self.decider(z)[..., 0]

    def call(self, tokens, training=False):
        p, confidence = self.look(tokens)
        q = self.reader(tokens, training=training)
        return ops.where(ops.expand_dims(confidence <= self.threshold, -1), q, p)

    # Training.

    def compile(self, optimizer="adam", loss="sparse_categorical_crossentropy", metrics=None, **kwargs) -> None:
        """As `keras.Model.compile`; each phase gets an optimizer of its own, of this configuration."""
        # No phase trains the model as a whole, so it has no optimizer, whose slots would double its file.
        super().compile(optimizer=None, loss=loss, metrics=metrics, **kwargs)
        self._phases.compile(keras.optimizers.get(optimizer), loss, metrics, kwargs)

    def get_compile_config(self):
        config = super().get_compile_config()
        return config and {**config, "optimizer": keras.optimizers.serialize(self._phases.optimizer)}

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))

    def train_on_batch(self, *args, **kwargs):
        raise NotImplementedError("SkimOrRead trains by `fit`, or its parts `skimmer` and `reader` one by one.")

    def fit(
        self,
        x: Tensor,
        y: Tensor,
        epochs: int | dict = 1,
        validation_data: tuple | None = None,
        callbacks: list | dict | None = None,
        sample_weight: Tensor | None = None,
        phases: tuple = PHASES,
        **kwargs,
    ) -> keras.callbacks.History:
        """Trains the parts one after the other, each by the `fit` of Keras.

        A second call goes on from where the parts and their optimizers are, also in a model that was loaded. Which
        samples are held out depends on `seed` and their number only, so they are the same in every call.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes, as the loss takes them: `[samples]`, or one-hot.
            epochs: Positive integer, or a dict of them by the names of the phases. Defaults to `1`.
            validation_data: `(x, y)`, or `None` (default).
            callbacks: List of callbacks, which every phase uses in turn, or a dict of lists by the names of the
                phases. Defaults to `None`.
            sample_weight: Array `[samples]`, or `None` (default).
            phases: The names of the phases to run, of `"skim"`, `"read"` and `"decide"`, which run in this order.
                Defaults to all.
            **kwargs: `batch_size`, `verbose` and `shuffle`, as in `keras.Model.fit`; `class_weight` for the bag of
                words and the LSTM.

        Returns: A `History`; the names in its `history` begin with that of the phase: `"skim_loss"`. The `History` of
            each phase is in the dict `histories` of the model.

        Raises:
            TypeError: `x` or `y` is no array, an argument is unknown.
            ValueError: the model is not compiled; an argument is out of its range.
        """
        return self._phases.fit(x, y, epochs, validation_data, callbacks, sample_weight, phases, kwargs)

    @property
    def histories(self):
        return self._phases.histories

    # Inference.

    def predict(self, x: Tensor, batch_size: int | None = None, verbose: Any = "auto") -> np.ndarray:
        """Returns the probabilities of the classes, `[samples, classes]`; the LSTM reads only what needs it.

        Args:
            x: Array of tokens `[samples, time]`.
            batch_size: Positive integer, or `None` (default) for 32.
            verbose: `0`, or `1` or `"auto"` (default) for a progress bar.
        """
        batch_size = _arguments.integer("batch_size", batch_size or 32)
        x = self._phases.array("x", x)
        progress = keras.utils.Progbar(len(x)) if verbose else None
        p, confidence = self._phases.look(x, batch_size)
        (undecided,) = np.nonzero(confidence <= self.threshold)
        if progress:
            progress.update(len(x) - len(undecided), finalize=len(undecided) == 0)
        if len(undecided):
            (p[undecided],) = self._phases.in_batches(self.reader, x[undecided], batch_size)
            if progress:
                progress.update(len(x), finalize=True)
        return p

    def predict_on_batch(self, x: Tensor) -> np.ndarray:
        """As `predict`, of one batch."""
        return self.predict(x, batch_size=len(x), verbose=0)

    def needs_reading(self, x: Tensor, batch_size: int = 32) -> np.ndarray:
        """Returns which inputs reach the LSTM, booleans `[samples]`."""
        return self._phases.look(self._phases.array("x", x), batch_size)[1] <= self.threshold

    def curve(self, x: Tensor, y: Tensor, thresholds: Any = None, batch_size: int = 32) -> ReadingCurve:
        """Returns the accuracy and the share of the inputs that reach the LSTM, over the threshold.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes `[samples]`, or one-hot.
            thresholds: Numbers to try; `None` (default) for those that raise the share from 0 to 1 in even steps.
            batch_size: Positive integer. Defaults to `32`.
        """
        x, y = self._phases.array("x", x), classes_of(self._phases.array("y", y), self.classes)
        p, confidence = self._phases.look(x, batch_size)
        (q,) = self._phases.in_batches(self.reader, x, batch_size)
        return ReadingCurve.of(confidence, p.argmax(axis=1) == y, q.argmax(axis=1) == y, thresholds)
