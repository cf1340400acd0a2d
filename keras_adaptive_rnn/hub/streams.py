"""Training on one long text, whose states are carried from segment to segment."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, evaluation
from keras_adaptive_rnn.callbacks import StreamStates
from keras_adaptive_rnn.datasets import TokenStream


def streams(ids: Any, batch_size: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a text into parallel streams for a stateful model.

    The text is cut into `batch_size` parts of equal length, and these into segments of `steps` tokens; what is left at
    the end is dropped. Row $k B + b$ is segment $k$ of part $b$ of $B$, so that with `shuffle=False` each sample
    continues the same sample of the batch before.

    Args:
        ids: Token ids, an integer array `[tokens]`.
        batch_size: Positive integer $B$, number of parts.
        steps: Positive integer, tokens of a segment.

    Returns: `x, y`: int32 arrays `[segments * batch_size, steps]`; `y` is the next token of each.

    Raises:
        ValueError: The text is shorter than one batch.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> x, y = hub.streams(np.arange(14), batch_size=2, steps=3)
    >>> x.tolist()
    [[0, 1, 2], [7, 8, 9], [3, 4, 5], [10, 11, 12]]
    """
    stream = _stream(ids, batch_size, steps)
    x, y = zip(*stream, strict=True)
    return np.concatenate(x), np.concatenate(y)


def _stream(ids, batch_size, steps, name="ids"):
    """Returns a stream of segments of `steps` tokens, without what is left at the end."""
    batch_size, steps = _arguments.integer("batch_size", batch_size), _arguments.integer("steps", steps)
    ids = ids if isinstance(ids, np.ndarray) else ops.convert_to_numpy(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"Argument `{name}` must be a string, or token ids, an array of integers (tokens,). "
            f"Received: shape {ids.shape}, dtype {ids.dtype}"
        )
    segments = (len(ids) // batch_size - 1) // steps
    if segments < 1:
        raise ValueError(
            f"Argument `{name}` must have at least batch_size * (steps + 1) = {batch_size * (steps + 1):,} tokens. "
            f"Received: {len(ids):,} tokens, batch_size={batch_size}, steps={steps}"
        )
    return TokenStream(ids[: batch_size * (segments * steps + 1)], batch_size, steps, spread=0, half=0)


class BitsPerCharacter(evaluation.Perplexity):
    """The binary logarithm of the perplexity."""

    def result(self):
        return ops.log2(super().result())


def _compiled(lm, batch_size):
    model = lm.streaming_model(batch_size)
    metrics = [evaluation.Perplexity()]
    if getattr(getattr(lm.preprocessor, "tokenizer", None), "split", None) == "character":
        metrics.append(BitsPerCharacter("bits_per_character"))
    model.compile(
        lm.optimizer,
        lm.loss,
        metrics=metrics,
        run_eagerly=lm.run_eagerly,
        jit_compile=lm.jit_compile,
        steps_per_execution=lm.steps_per_execution,
    )
    known = [id(variable) for variable in lm.trainable_variables]
    if [id(variable) for variable in model.trainable_variables] != known:
        raise RuntimeError(
            "The streaming model orders its variables unlike the language model, and the optimizer by them."
        )
    return model


def _stream_of(lm, text, batch_size, steps, name):
    """Returns the stream that is given, or one of a string or of token ids."""
    stream = text
    if not isinstance(text, keras.utils.PyDataset):
        stream = _stream(ids_of(lm, text, name), batch_size, steps, name)
    size = lm.backbone.vocabulary_size
    if isinstance(stream, TokenStream) and stream.largest >= size:
        raise ValueError(
            f"Argument `{name}` must hold token ids from 0 to {size - 1}, the vocabulary of the model. "
            f"Received: {stream.largest}"
        )
    return stream


def ids_of(lm, text, name):
    if not isinstance(text, str):
        return text
    if lm.preprocessor is None:
        raise ValueError(f"Argument `{name}` must be token ids, as the model has no preprocessor. Received: {text!r}")
    return lm.preprocessor.tokenizer(text)


def fit_streams(lm, text, batch_size, steps, epochs, validation, callbacks, **kwargs):
    if "shuffle" in kwargs or "x" in kwargs:
        raise TypeError("`fit_streams` takes no `shuffle`, as segments follow each other, and no `x`: pass `text`.")
    stream = _stream_of(lm, text, batch_size, steps, "text")
    batch_size = stream[0][0].shape[0]
    if validation is not None:
        validation = _stream_of(lm, validation, batch_size, steps, "validation")
        rows = validation[0][0].shape[0]
        if rows != batch_size:
            raise ValueError(
                f"Argument `validation` must be a stream of {batch_size} rows, as `text` is. Received: one of {rows}"
            )
    model = _compiled(lm, batch_size)
    callbacks = list(callbacks or [])
    of_user = [callback for callback in callbacks if isinstance(callback, StreamStates)]
    for states in of_user:
        if states.stream not in (None, stream):
            raise ValueError(
                "Argument `callbacks` must hold a `StreamStates` of the stream that is read, or of none. "
                f"Received: one of {states.stream!r}, and text={text!r}"
            )
    if not of_user:
        # A stream of unequal segments scales the learning rate by their lengths.
        is_scaled = isinstance(stream, TokenStream) and not stream.is_fixed
        callbacks = [StreamStates(stream if is_scaled else None), *callbacks]
    return model.fit(stream, epochs=epochs, validation_data=validation, callbacks=callbacks, shuffle=False, **kwargs)


class Rounds(keras.utils.PyDataset):
    """The batches of a stream, over and over, in rounds of equal length, so that a run can be resumed after each."""

    def __init__(self, stream, steps):
        super().__init__()
        self.stream, self.steps, self.round = stream, steps, 0

    def __len__(self):
        return self.steps

    def place(self, batch):
        """Returns the number of the segment that is a batch of this round."""
        return (self.round * self.steps + batch) % len(self.stream)

    def __getitem__(self, index):
        return self.stream[self.place(index)]


class RoundStates(StreamStates):
    """Resets the states at the start of the text, and carries them from round to round."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def on_epoch_begin(self, epoch, logs=None):
        self.rounds.round = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if self.rounds.place(batch) == 0:
            self._reset()


def fit_rounds(lm, ids, batch_size, steps, round_steps, validation, callbacks, begin=None):
    """Trains, until a callback ends it, in epochs of `round_steps` steps, whatever the length of the text.

    `begin` takes the streaming model and the stream of validation, and returns the first epoch, or `None` where there
    is nothing left to train.
    """
    rounds = Rounds(_stream(ids, batch_size, steps), round_steps)
    if validation is not None:
        validation = _stream(validation, batch_size, steps)
    model = _compiled(lm, batch_size)
    first = 0 if begin is None else begin(model, validation)
    if first is None:
        return model
    model.fit(
        rounds,
        # A number of epochs that no run reaches.
        epochs=10**9,
        initial_epoch=first,
        validation_data=validation,
        callbacks=[RoundStates(rounds), *callbacks],
        shuffle=False,
        verbose=0,
    )
    return model
