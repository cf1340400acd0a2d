"""Character model: learn to write Python's language reference, letter by letter.

`hub.RecurrentCausalLM` reads the text in parallel streams and carries the states along. The table compares its bits
per letter on the held-out end of the text with those of letter frequencies and letter-pair frequencies. The printed
sample is what the model writes after a few words. The task needs the `hub` extra.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import MogrifierCell, hub


def bits_of_counts(train, valid, size, pairs):
    """Returns the bits per letter of a table of how often each letter, or each pair of letters, is in the text."""
    counts = np.ones((size if pairs else 1, size))
    before, after = (train[:-1], valid[:-1]) if pairs else (0 * train[1:], 0 * valid[1:])
    np.add.at(counts, (before, train[1:]), 1)
    return float(-np.log2(counts[after, valid[1:]] / counts[after].sum(axis=-1)).mean())


def main(small=False):
    letters, epochs, steps, units = (3000, 2, 15, 16) if small else (300_000, 6, 60, 128)
    text = _task.reference_text()[:letters]
    train, valid = text[: int(0.95 * letters)], text[int(0.95 * letters) :]
    tokenizer = hub.VocabularyTokenizer.from_text(text, split="character")
    size = tokenizer.vocabulary_size()
    backbone = hub.RecurrentBackbone(size, units, [MogrifierCell(units, rounds=4, rank=16)])
    lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=steps))
    lm.compile(keras.optimizers.Adam(0.005, global_clipnorm=1.0), sampler="top_k")
    history = lm.fit_streams(train, batch_size=16, steps=steps, epochs=epochs, verbose=0, callbacks=[_task.Bar("lm")])

    ids = [np.searchsorted(sorted(set(text)), list(part)) for part in (train, valid)]
    rows = {
        "frequencies of letters": {"bits per letter": bits_of_counts(*ids, size, pairs=False)},
        "frequencies of pairs": {"bits per letter": bits_of_counts(*ids, size, pairs=True)},
        "Mogrifier": {
            "weights": lm.count_params(),
            "bits per letter": lm.evaluate_streams(valid, verbose=False).bits,
        },
    }
    if not small:
        print(lm.generate("The statement", max_length=200))
    return _task.Results(rows, history.history["loss"])


if __name__ == "__main__":
    _task.run(main)
