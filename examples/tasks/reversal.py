"""Sequence to sequence: an encoder reads a sequence, and a decoder writes it backward.

The decoder starts from the states of the encoder and knows nothing else: the whole sequence must fit into them. In
training, it reads its own targets, one time step late; at test time, it reads what it wrote. The baselines are an LSTM
with as many weights and guessing each token.
"""

import keras
import numpy as np

from examples import synthetic
from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier


def make_models(make, vocabulary, size):
    """Returns the model to train, its encoder, and one step of its decoder, which share their layers."""
    embedding, head = keras.layers.Embedding(vocabulary + 1, size), keras.layers.Dense(vocabulary + 1)
    encoder, decoder = make(return_state=True), make(return_state=True, return_sequences=True)
    source, given = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    _, *read = encoder(embedding(source))
    written, *states = decoder(embedding(given), initial_state=read)
    before = [keras.Input((state.shape[-1],)) for state in states]
    output, *after = decoder(embedding(given), initial_state=before)
    step = keras.Model([given, *before], [head(output), *after])
    return keras.Model([source, given], head(written)), keras.Model(source, read), step


def write(encoder, step, source):
    """Returns what the decoder writes, each time the most probable token."""
    states, token, written = encoder.predict(source, verbose=0), np.zeros((len(source), 1), "int32"), []
    for _ in range(source.shape[1]):
        logits, *states = step.predict([token, *states], batch_size=len(source), verbose=0)
        token = logits.argmax(axis=-1)
        written.append(token)
    return np.concatenate(written, axis=1)


def main(small=False):
    count, length, vocabulary, units, epochs = (128, 4, 5, 8, 3) if small else (6000, 10, 20, 64, 25)
    source, given, target = synthetic.reverse_copy(count, length, vocabulary, seed=0)
    unseen, _, truth = synthetic.reverse_copy(200 if small else 500, length, vocabulary, seed=1)
    rows = {"guess": {"tokens right": 1 / vocabulary, "sequences right": vocabulary**-length}}
    accuracies, losses = {}, {}
    lstm = _task.lstm_units(Mogrifier(units, rounds=4), units)
    for name, make in (
        ("Mogrifier", lambda **kwargs: Mogrifier(units, rounds=4, **kwargs)),
        ("LSTM", lambda **kwargs: LSTM(lstm, **kwargs)),
    ):
        model, encoder, step = make_models(make, vocabulary, units)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), loss, metrics=["accuracy"])
        history = _task.fit(name, model, [source, given], target, batch_size=64, epochs=epochs)
        accuracies[name] = history["accuracy"]
        losses[name] = history["loss"]
        right = write(encoder, step, unseen) == truth
        figures = {"tokens right": float(right.mean()), "sequences right": float(right.all(axis=1).mean())}
        rows[name] = {"weights": model.count_params(), **figures}
    return _task.Results(rows, losses["Mogrifier"], _task.curves(accuracies, "tokens right, training"))


if __name__ == "__main__":
    _task.run(main)
