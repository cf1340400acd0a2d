"""States of a stateful model that reads a text in segments."""

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn._seeds import resolve_seed
from keras_adaptive_rnn.datasets.token_stream import TokenStream
from keras_adaptive_rnn.loop.stateful import carried_states, carried_variables


class StreamStates(keras.callbacks.Callback):
    r"""Lets a stateful model read a text in segments: it starts each epoch and each validation from the initial states.

    Between segments the layers carry their states on, as they have `stateful=True`. Validation inside `fit` starts from
    the initial states, too, and gives the states of training back.

    Args:
        stream: The `keras_adaptive_rnn.datasets.TokenStream` that `fit` reads, or `None` (default). With it, each step
            is taken at the learning rate times `lengths[k] / steps`, as a long segment has more to say; the optimizer
            needs a plain number as its learning rate, which other callbacks may change between epochs. The lengths are
            then those of the epoch's number, so that `fit(initial_epoch=...)` goes on as an uninterrupted run does.
        drop_state: Float in `[0, 1]`, the probability that a row of the batch starts a segment of training from the
            initial state, whatever it has carried on. Defaults to `0.0`.
        seed: Non-negative integer seed of the dropped states, or `None` (default) for a random one.

    Raises:
        ValueError: The model has no stateful layer; an argument is out of range; with `stream`, the learning rate is a
            schedule, `steps_per_execution` is not 1, or a token is outside of the vocabulary of the model.
        TypeError: An argument is of the wrong type.

    Example:

    >>> stream = keras_adaptive_rnn.datasets.TokenStream(np.arange(200) % 7, batch_size=2, steps=10)
    >>> model = keras.Sequential([keras.Input(batch_shape=(2, None)), keras.layers.Embedding(7, 4)])
    >>> model.add(keras_adaptive_rnn.layers.LSTM(4, return_sequences=True, stateful=True))
    >>> model.add(keras.layers.Dense(7))
    >>> model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> states = keras_adaptive_rnn.callbacks.StreamStates(stream)
    >>> run = model.fit(stream, shuffle=False, epochs=2, verbose=0, callbacks=[states])

    Reference: Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.1, for the
    learning rate. Dropped states: `drop_state_probability` in the code of Melis, Kočiský and Blunsom, Mogrifier LSTM
    (2020).
    """

    def __init__(self, stream: TokenStream | None = None, drop_state: float = 0.0, seed: int | None = None):
        super().__init__()
        if stream is not None and not isinstance(stream, TokenStream):
            raise TypeError(
                "Argument `stream` must be a `keras_adaptive_rnn.datasets.TokenStream`, or None. "
                f"Received: stream={stream!r}"
            )
        self.stream = stream
        self.drop_state = _arguments.number("drop_state", drop_state, minimum=0, maximum=1)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self._resolved_seed = resolve_seed(self.seed)
        self._epoch = self._rate = self._before_test = None
        self._is_scaled = False

    def _layers(self):
        return [layer for layer in flatten_layers(self.model) if carried_variables(layer)]

    def _reset(self):
        for layer in self._layers():
            layer.reset_state()

    def _check(self):
        if not self._layers():
            raise ValueError(
                "`StreamStates` needs a stateful layer, such as `LSTM(..., stateful=True)`. "
                f"Received: model '{self.model.name}', which has none."
            )

    # Training.

    def on_train_begin(self, logs=None):
        self._check()
        if self.stream is None:
            return
        if self._is_scaled:  # The last run was interrupted within a step.
            self.on_train_batch_end(None)
        if not isinstance(self.model.optimizer.learning_rate, keras.Variable):
            raise ValueError(
                "`StreamStates(stream)` scales the learning rate, which must be a plain number. Received an optimizer "
                f"with the learning rate {self.model.optimizer.learning_rate!r}"
            )
        if self.model.steps_per_execution != 1:
            raise ValueError(
                "`StreamStates(stream)` scales the learning rate of every step. "
                f"Received a model compiled with steps_per_execution={self.model.steps_per_execution}"
            )
        layers = flatten_layers(self.model)
        sizes = [layer.input_dim for layer in layers if isinstance(layer, keras.layers.Embedding)]
        # It is a method of Keras's `StringLookup`.
        sizes += [layer.vocabulary_size for layer in layers if isinstance(getattr(layer, "vocabulary_size", None), int)]
        if len(sizes) == 1 and self.stream.largest >= sizes[0]:
            raise ValueError(
                f"The model has a vocabulary of {sizes[0]} tokens. Received a stream with token {self.stream.largest}"
            )

    def on_epoch_begin(self, epoch, logs=None):
        self._reset()
        self._epoch, self._rate = epoch, None
        if self.stream is not None and self.stream.epoch != epoch:
            self.stream.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if self.drop_state:
            self._drop(batch)
        if self.stream is not None:
            optimizer = self.model.optimizer
            # Reading it waits for the last step, so it is read once an epoch.
            if self._rate is None:
                self._rate = float(ops.convert_to_numpy(optimizer.learning_rate))
            self._is_scaled = True
            optimizer.learning_rate = self._rate * self.stream.lengths[batch] / self.stream.steps

    def on_train_batch_end(self, batch, logs=None):
        if self.stream is not None:
            self.model.optimizer.learning_rate = self._rate
            self._is_scaled = False

    def _drop(self, batch):
        layers = self._layers()
        rows = carried_states(layers[0])[0].shape[0]
        # A restarted run draws the same.
        dropped = np.random.default_rng([self._resolved_seed, self._epoch, batch]).random((rows, 1)) < self.drop_state
        if not dropped.any():
            return
        for layer in layers:
            for variable, first in zip(carried_states(layer), tree.flatten(layer.get_initial_state(rows)), strict=True):
                variable.assign(ops.where(dropped, ops.cast(first, variable.dtype), variable.value))

    # Validation.

    def on_test_begin(self, logs=None):
        self._check()
        variables = [variable for layer in self._layers() for variable in carried_variables(layer)]
        self._before_test = [(v, np.array(ops.convert_to_numpy(v.value))) for v in variables]
        self._reset()

    def on_test_end(self, logs=None):
        for variable, value in self._before_test:
            variable.assign(value)
        self._before_test = None
