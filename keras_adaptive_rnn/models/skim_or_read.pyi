"""Skim or read: a bag of words answers where it is sure, and a recurrent network reads the rest."""

from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.models.base import TextClassifier
from keras_adaptive_rnn.models.curve import ReadingCurve

class SkimOrRead(TextClassifier):
    """A bag of words that classifies what it can, and a recurrent network for what it is not sure of.

    The bag of words takes the mean of the tokens' vectors, $\\bar e$, through two layers,

    $$z = \\max(0, W_z \\bar e + b_z), \\qquad p = \\mathrm{softmax}(W_p z + b_p)$$

    and the LSTM reads the tokens in order and gives $q$. The output is $q$ where the confidence $s \\le \\tau$, else $p$:

    - `decide="threshold"`: $s = \\max p$, the probability of the class that the bag of words would choose;
    - `decide="network"`: $s = 1 - d$, where $d = \\sigma(w_d \\max(0, W_d z + b_d) + c_d)$ is the probability that the
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
        threshold: Number $\\tau$ in `[0, 1]`; `None` (default) for 0.9, and for 0.5 with a decision network.
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
    vocabulary_size: int
    embedding_units: int
    classes: int
    units: int | None
    mask_zero: bool

    def __init__(
        self,
        skim_units: int = 64,
        *,
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
        trainable: bool | None = None,
    ) -> None:
        """A bag of words that classifies what it can, and a recurrent network for what it is not sure of.

        Args:
            skim_units: Positive integer, size of $z$. Defaults to `64`.
            decide: `"threshold"` (default) or `"network"`.
            threshold: Number $\\tau$ in `[0, 1]`; `None` (default) for 0.9, and for 0.5 with a decision network.
            decide_units: Positive integer, size of the layer inside the decision network. Defaults to `32`.
            held_out: Number above 0 and below 1, share of the training data that is kept for the decision
                network. Defaults to `0.2`.
            seed: Non-negative integer that chooses this share, or `None` (default).
            vocabulary_size: Positive integer, how many tokens there are; inputs are below it.
            embedding_units: Positive integer, size of the vector of a token.
            classes: Integer of at least 2, how many classes there are.
            units: Positive integer, units of the LSTM that reads; `None` (default) where `cell` is given.
            cell: Recurrent cell of any kind that reads instead, ours or Keras's; `None` (default) for
                `keras_adaptive_rnn.LSTMCell(units)`.
            mask_zero: Whether token 0 is padding. Defaults to `True`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    @property
    def threshold(self) -> Any: ...
    @threshold.setter
    def threshold(self, value: Any) -> None: ...
    @property
    def skimmer(self) -> Any: ...
    @property
    def reader(self) -> Any: ...
    @property
    def decider(self) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...
    def look(self, tokens: Any) -> Any:
        """Returns what the bag of words says, $p$, and how sure it is, $s$, `[batch]`."""

    def call(self, tokens: Any, training: bool | None = False) -> Any: ...
    def compile(
        self, optimizer: str = "adam", loss: str = "sparse_categorical_crossentropy", metrics: Any = None, **kwargs: Any
    ) -> None:
        """As `keras.Model.compile`; each phase gets an optimizer of its own, of this configuration."""

    def get_compile_config(self) -> Any: ...
    def compile_from_config(self, config: Any) -> None: ...
    def train_on_batch(self, *args: Any, **kwargs: Any) -> None: ...
    def fit(
        self,
        x: Tensor,
        y: Tensor,
        epochs: int | dict = 1,
        validation_data: tuple | None = None,
        callbacks: list | dict | None = None,
        sample_weight: Tensor | None = None,
        phases: tuple = ...,
        **kwargs: Any,
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

    @property
    def histories(self) -> Any: ...
    def predict(self, x: Tensor, batch_size: int | None = None, verbose: Any = "auto") -> np.ndarray:
        """Returns the probabilities of the classes, `[samples, classes]`; the LSTM reads only what needs it.

        Args:
            x: Array of tokens `[samples, time]`.
            batch_size: Positive integer, or `None` (default) for 32.
            verbose: `0`, or `1` or `"auto"` (default) for a progress bar.
        """

    def predict_on_batch(self, x: Tensor) -> np.ndarray:
        """As `predict`, of one batch."""

    def needs_reading(self, x: Tensor, batch_size: int = 32) -> np.ndarray:
        """Returns which inputs reach the LSTM, booleans `[samples]`."""

    def curve(self, x: Tensor, y: Tensor, thresholds: Any = None, batch_size: int = 32) -> ReadingCurve:
        """Returns the accuracy and the share of the inputs that reach the LSTM, over the threshold.

        Args:
            x: Array of tokens `[samples, time]`.
            y: Array of classes `[samples]`, or one-hot.
            thresholds: Numbers to try; `None` (default) for those that raise the share from 0 to 1 in even steps.
            batch_size: Positive integer. Defaults to `32`.
        """
