"""Beam search: from the keys of an old telephone to words.

On a telephone, 4663 is good, home, gone, or hood. An encoder reads the keys of three words from Python's language
reference, and a decoder writes the words letter by letter. Greedy decoding cannot take back a letter;
`evaluation.beam_search` follows the five best beginnings and finds more probable phrases, which are not necessarily
right more often. The baseline picks each key's most frequent letter.
"""

import re

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import evaluation
from keras_adaptive_rnn.layers import GRU, Mogrifier

LETTERS = " abcdefghijklmnopqrstuvwxyz"  # The space ends a word, and a line.
KEYS = np.array([0] + [int(key) - 1 for key in "22233344455566677778889999"])


def draw(words, count, length, rng):
    """Returns letters `[count, length]`: phrases of three words in a row, padded with spaces."""
    starts = rng.integers(0, len(words) - 3, size=count)
    phrases = [" ".join(words[start : start + 3])[:length].ljust(length) for start in starts]
    return np.array([[LETTERS.index(letter) for letter in phrase] for phrase in phrases])


def main(small=False):
    length, count, epochs, units, phrases = (8, 128, 3, 12, 4) if small else (20, 8000, 10, 64, 60)
    rng = np.random.default_rng(0)
    words = [word for word in re.findall("[a-z]+", _task.reference_text().lower()) if len(word) > 2]
    split = int(0.9 * len(words))
    train, unseen = draw(words[:split], count, length, rng), draw(words[split:], phrases, length, rng)

    # The decoder reads the letter before, and the keys from here on, which an encoder has read backwards.
    keys, before = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    ahead = GRU(units, return_sequences=True, go_backwards=True)(keras.layers.Embedding(9, 8)(keys))
    ahead = keras.ops.flip(ahead, axis=1)
    join, embed = keras.layers.Concatenate(), keras.layers.Embedding(28, 16)
    decoder = Mogrifier(units, rounds=4, rank=8, return_sequences=True, return_state=True)
    head = keras.layers.Dense(27, activation="log_softmax")
    written, *_ = decoder(join([embed(before), ahead]))
    model = keras.Model([keys, before], head(written))
    model.compile(
        keras.optimizers.Adam(0.005, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),  # Log-probabilities are logits.
    )
    given = np.pad(train[:, :-1], ((0, 0), (1, 0)), constant_values=27)
    losses = _task.fit("Mogrifier", model, [KEYS[train], given], train, batch_size=64, epochs=epochs)["loss"]

    token, key = keras.Input((1,), dtype="int32"), keras.Input((1, units))
    states = [keras.Input((units,)) for _ in range(2)]
    output, *after = decoder(join([embed(token), key]), initial_state=states)
    step_model, encoder = keras.Model([token, key, *states], [head(output), *after]), keras.Model(keys, ahead)

    def search(read, beam):
        def step(tokens, states):
            t, *carried = states
            log_p, *carried = step_model.predict_on_batch([tokens[:, None], read[t][:, None], *carried])
            # Every phrase has the same length, so no token ends it.
            return np.pad(log_p[:, 0], ((0, 0), (0, 1)), constant_values=-1e9), [
                np.minimum(t + 1, length - 1),
                *carried,
            ]

        states = [np.zeros(1, int), *(np.zeros((1, units), "float32") for _ in range(2))]
        return evaluation.beam_search(step, states, start=27, stop=27, beam=beam, max_length=length)[0]

    common = np.bincount(train.ravel(), minlength=27)
    best = np.array([max(np.flatnonzero(key == KEYS), key=common.__getitem__) for key in range(9)])
    rows = {"most frequent letters": {"letters right": float(np.mean(best[KEYS[unseen]] == unseen))}}
    for name, beam in (("greedy", 1), ("beam of 5", 5)):
        found = [search(read, beam) for read in encoder.predict(KEYS[unseen], verbose=0)]
        right = np.array([hypothesis.tokens[1 : length + 1] for hypothesis in found]) == unseen
        rows[name] = {
            "letters right": float(right.mean()),
            "phrases right": float(right.all(axis=1).mean()),
            "log-probability": float(np.mean([hypothesis.log_prob for hypothesis in found])),
        }
    return _task.Results(rows, losses)


if __name__ == "__main__":
    _task.run(main)
