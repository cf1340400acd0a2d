"""Skim or read: a bag of words answers where it is sure, and a recurrent network reads the rest."""

from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.models.base import TextClassifier
from keras_adaptive_rnn.models.curve import ReadingCurve

class SkimOrRead(TextClassifier):
    """Classifies text by a bag of words where that is confident, and by a recurrent network elsewhere.

    The bag of words passes the mean of the tokens' embeddings, $\\bar e$, through two layers,

    $$z = \\max(0, W_z \\bar e + b_z), \\qquad p = \\mathrm{softmax}(W_p z + b_p)$$

    and the LSTM reads the tokens in order and returns probabilities $q$. The output is $q$ where the confidence
    $s \\le \\tau$, and $p$ elsewhere:

    - `decide="threshold"`: $s = \\max p$, the probability of the class that the bag of words would choose;
    - `decide="network"`: $s = 1 - d$, where $d = \\sigma(w_d \\max(0, W_d z + b_d) + c_d)$ is the probability that the
      bag of words is wrong and the LSTM right.

    `fit` trains one network after the other: `"skim"`, the bag of words; `"read"`, the LSTM; and, with
    `decide="network"`, `"decide"`, the decision network. The decision network learns from samples that are held out of
    the first two phases, by which of the two networks classifies them correctly.

    `predict` and `predict_on_batch` run the LSTM only on the inputs that need it, gathered over all of `x`; calling
    the model, and `evaluate`, run both networks on every input. `threshold` may be set at any time; `curve` shows the
    accuracy and the cost of each value. A decision network is rarely sure that reading will help, so its best threshold
    may be well above 0.5.

    `skimmer`, `reader` and `decider` are the three networks, Keras models that share their weights with this one;
    `decider`, which maps $z$ to $d$, is `None` without a decision network.

    Args:
        skim_units: Positive integer, size of $z$. Defaults to `64`.
        decide: `"threshold"` (default) or `"network"`.
        threshold: Number $\\tau$ in `[0, 1]`. `None` (default) means 0.9, or 0.5 with a decision network.
        decide_units: Positive integer, size of the hidden layer of the decision network. Defaults to `32`.
        held_out: Number above 0 and below 1, share of the training data that is held out for the decision network.
            Defaults to `0.2`.
        seed: Non-negative integer that chooses the held-out samples. `None` (default) means 0.
        vocabulary_size: Positive integer, number of different tokens; inputs are below it.
        embedding_units: Positive integer, size of the embedding of a token.
        classes: Integer of at least 2, number of classes.
        units: Positive integer, units of the LSTM that reads. `None` (default) requires `cell`.
        cell: Recurrent cell to read with instead, from this package or from Keras. `None` (default) means
            `keras_adaptive_rnn.LSTMCell(units)`.
        mask_zero: Whether token 0 is padding. Defaults to `True`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        tokens: Integer tensor `[batch, time]`.
        training: Whether to apply the dropout of the cell. Defaults to `False`.

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

    skim_units: int
    decide: str
    decide_units: int
    held_out: float
    seed: int | None
    bag_layers: Any
    skim_layers: Any
    read_layers: Any
    decide_layers: Any
    built: bool
    train_function: Any
    skimmer: Any
    reader: Any
    decider: Any
    history: Any
    stop_predicting: bool
    vocabulary_size: int
    embedding_units: int
    classes: int
    units: int | None
    mask_zero: bool

    def __init__(
        self,
        *,
        skim_units: int = 64,
        decide: str = "threshold",
        threshold: float | None = None,
        decide_units: int = 32,
        held_out: float = 0.2,
        seed: int | None = None,
        vocabulary_size: int,
        embedding_units: int,
        classes: int,
        units: int | None = None,
        cell: Any = None,
        mask_zero: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    @property
    def threshold(self) -> Any: ...
    @threshold.setter
    def threshold(self, value: Any) -> None: ...
    def look(self, tokens: Any) -> Any:
        """Returns the probabilities of the bag of words, $p$, and its confidence $s$, `[batch]`."""

    def call(self, tokens: Any, training: bool | None = False) -> Any: ...
    def compile(
        self,
        optimizer: Any = "adam",
        loss: Any = "sparse_categorical_crossentropy",
        loss_weights: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        **options: Any,
    ) -> None:
        """Compiles the networks as `keras.Model.compile` does, each with its own copy of the optimizer.

        The decision network has a loss and a metric of its own: binary cross-entropy and accuracy.
        """

    def get_compile_config(self) -> Any: ...
    def compile_from_config(self, config: Any) -> None: ...
    def train_on_batch(self, *args: Any, **kwargs: Any) -> None: ...
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
        with `phases` train two networks for different numbers of epochs. Which samples are held out depends only on
        `seed` and their number, so it is the same in every call.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes, as the loss expects them: `[samples]`, or one-hot `[samples, classes]`.
            epochs: Positive integer, epochs of each phase. Defaults to `1`.
            callbacks: List of callbacks, used by every phase in turn, with that phase's network as their `model`.
                Defaults to `None`.
            class_weight: Dict of the classes' weights, for the bag of words and the LSTM; the decision network, which
                has classes of its own, takes none. Defaults to `None`.
            phases: List of the phases to run, from `"skim"`, `"read"` and `"decide"`, which always run in this order.
                `None` (default) runs all that the model has.
            batch_size, verbose, validation_split, validation_data, shuffle, sample_weight, initial_epoch,
                steps_per_epoch, validation_steps, validation_batch_size, validation_freq: As in `keras.Model.fit`.

        Returns: A `History`, whose names start with the phase: `"skim_loss"`.

        Raises:
            TypeError: `x` or `y` is not an array, or an argument is unknown or of the wrong type.
            ValueError: the model is not compiled, or an argument is out of its range.
        """

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
            verbose: `0`, `1`, `2`, or `"auto"` (default), as in `keras.Model.predict`.
            steps: Positive integer, predict only the first `steps` batches of `x`. `None` (default) predicts all.
            callbacks: List of callbacks, which see the batches of the bag of words, and then those of the LSTM.
                Defaults to `None`.

        Raises:
            TypeError: `x` is not an array, or an argument is of the wrong type.
            ValueError: an argument is out of its range.
        """

    def predict_on_batch(self, x: Tensor) -> np.ndarray:
        """Returns what `predict` does, for a single batch."""

    def needs_reading(self, x: Tensor, batch_size: int = 32) -> np.ndarray:
        """Returns which inputs reach the LSTM, booleans `[samples]`."""

    def curve(self, x: Tensor, y: Tensor, thresholds: Any = None, batch_size: int = 32) -> ReadingCurve:
        """Returns the accuracy, and the share of the inputs that reach the LSTM, over the threshold.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes `[samples]`, or one-hot `[samples, classes]`.
            thresholds: Numbers to try. `None` (default) chooses those that raise the share from 0 to 1 in even steps.
            batch_size: Positive integer. Defaults to `32`.
        """

def apply(layers: Any, x: Any) -> Any: ...
def copy(value: Any) -> Any:
    """Returns a new optimizer or metric like the given one, as each belongs to one model; anything else as it is."""
