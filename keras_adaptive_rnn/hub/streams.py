"""Training on one long text, whose states are carried from segment to segment."""

from typing import Any

import keras
import keras_hub
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.layers import RNN


def streams(ids: Any, batch_size: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts a text into parallel streams for a stateful model.

    The text is cut into `batch_size` parts of equal length, and these into segments of `steps` tokens; what is left at
    the end is dropped. Row $k B + b$ is segment $k$ of part $b$ of $B$, so that with `shuffle=False` each sample of a
    batch goes on where the same sample of the batch before has ended.

    Args:
        ids: Token ids, an integer array `[tokens]`.
        batch_size: Positive integer $B$, number of parts.
        steps: Positive integer, tokens of a segment.

    Returns: `x, y`: int32 arrays `[segments * batch_size, steps]`; `y` is the next token of each.

    Raises:
        ValueError: The text is shorter than one batch.

    Example:

    >>> from keras_adaptive_rnn import hub
    >>> x, y = hub.streams(np.arange(13), batch_size=2, steps=3)
    >>> x.tolist()
    [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]
    """
    dataset = Segments(ids, batch_size, steps)
    x, y = zip(*(dataset[k] for k in range(len(dataset))), strict=True)
    return np.concatenate(x), np.concatenate(y)


class Segments(keras.utils.PyDataset):
    """The batches of `streams`, cut from an array that may be larger than memory."""

    def __init__(self, ids, batch_size, steps):
        super().__init__()
        self.batch_size, self.steps = _arguments.integer("batch_size", batch_size), _arguments.integer("steps", steps)
        self.ids = _checked_ids(ids)
        self.segments = (len(self.ids) - 1) // (batch_size * steps)
        if not self.segments:
            raise ValueError(
                f"The text must have at least batch_size * steps + 1 = {batch_size * steps + 1:,} tokens. "
                f"Received: {len(self.ids):,} tokens, batch_size={batch_size}, steps={steps}"
            )

    def __len__(self):
        return self.segments

    def __getitem__(self, index):
        starts = (np.arange(self.batch_size) * self.segments + index) * self.steps
        rows = np.stack([self.ids[start : start + self.steps + 1] for start in starts]).astype("int32")
        return rows[:, :-1], rows[:, 1:]


def _checked_ids(ids):
    ids = ids if isinstance(ids, np.ndarray) else ops.convert_to_numpy(ids)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"Argument `ids` must be an array of integers (tokens,). Received: shape {ids.shape}, dtype {ids.dtype}"
        )
    return ids


class ResetStates(keras.callbacks.Callback):
    """Resets the states where the text begins again, and around validation."""

    def _reset(self, logs=None):
        for layer in self.model.layers:
            if getattr(layer, "stateful", False):
                layer.reset_state()

    def on_epoch_begin(self, epoch, logs=None):
        self._reset()

    on_test_begin = on_test_end = _reset


class BitsPerCharacter(keras_hub.metrics.Perplexity):
    """The binary logarithm of the perplexity."""

    def result(self):
        return ops.log2(super().result())


def streaming_model(lm: Any, batch_size: int) -> keras.Model:
    """Returns a plain `keras.Model` with the weights of a language model, which carries states from batch to batch."""
    backbone = lm.backbone
    token_ids = keras.Input((None,), batch_size=batch_size, dtype="int32", name="token_ids")
    x = backbone.token_embedding(token_ids)
    dropouts = {layer.name: layer for layer in backbone.layers if isinstance(layer, keras.layers.SpatialDropout1D)}
    if "embedding_dropout" in dropouts:
        x = dropouts["embedding_dropout"](x)
    for layer in backbone.recurrent_layers:
        # The same cell in a layer of its own, which has states of its own.
        options = {name: getattr(layer, name) for name in ("name", "recompute", "schedule")}
        x = RNN(layer.cell, return_sequences=True, stateful=True, dtype=layer.dtype_policy, **options)(x)
    if "output_dropout" in dropouts:
        x = dropouts["output_dropout"](x)
    model = keras.Model(token_ids, lm.logits(x), name=f"{lm.name}_streaming")
    model.trainable = lm.trainable
    return model


def _compiled(lm, batch_size):
    model = streaming_model(lm, batch_size)
    metrics = [keras_hub.metrics.Perplexity(from_logits=True, name="perplexity")]
    if getattr(getattr(lm.preprocessor, "tokenizer", None), "split", None) == "character":
        metrics.append(BitsPerCharacter(from_logits=True, name="bits_per_character"))
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


def _segments(lm, text, batch_size, steps, name):
    """Returns the `keras.utils.PyDataset` of a text, of ids, or the one that is given."""
    if isinstance(text, keras.utils.PyDataset):
        return text
    if isinstance(text, str):
        if lm.preprocessor is None:
            raise ValueError(
                f"Argument `{name}` must be token ids, as the model has no preprocessor. Received: a string"
            )
        text = lm.preprocessor.tokenizer(text)
    return Segments(text, batch_size, steps)


def fit_streams(lm, text, batch_size, steps, epochs, validation, callbacks, **kwargs):
    if "shuffle" in kwargs or "x" in kwargs:
        raise TypeError("`fit_streams` takes no `shuffle`, as segments follow each other, and no `x`: pass `text`.")
    dataset = _segments(lm, text, batch_size, steps, "text")
    if validation is not None:
        validation = _segments(lm, validation, batch_size, steps, "validation")
    model = _compiled(lm, batch_size)
    callbacks = [ResetStates(), *(callbacks or [])]
    # Keras would shuffle the batches.
    kwargs["shuffle"] = False
    return model.fit(dataset, epochs=epochs, validation_data=validation, callbacks=callbacks, **kwargs)
