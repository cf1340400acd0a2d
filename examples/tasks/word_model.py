"""Word model: perplexity with a small vocabulary and the dropout of the papers.

The 1000 most frequent words and symbols of Python's language reference are kept; all others become `<unk>`. A Mogrifier
with word dropout and locked dropout is trained on 90 % of the text, chapters in random order, and tested on the
rest. The baselines are word and word-pair frequencies (mixed in the best proportion). The task needs the `hub` extra.
"""

import collections
import re

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import MogrifierCell, hub


def read(size, limit):
    """Returns the words of all chapters, the rare ones as `<unk>`, chapters in random order."""
    from pydoc_data.topics import topics

    names = np.random.default_rng(0).permutation(sorted(topics))
    words = re.findall(r"[a-z_]+|[^a-z_\s]", "\n".join(topics[name] for name in names).lower())[:limit]
    known = {word for word, _ in collections.Counter(words).most_common(size - 1)}
    return [word if word in known else "<unk>" for word in words]


def perplexities_of_counts(train, valid, size):
    """Returns the perplexity of single words and of pairs, which are mixed with single ones."""
    single = (np.bincount(train, minlength=size) + 1) / (len(train) + size)
    pairs = np.zeros((size, size))
    np.add.at(pairs, (train[:-1], train[1:]), 1)
    pairs /= np.maximum(pairs.sum(axis=1, keepdims=True), 1)
    p1, p2 = single[valid[1:]], pairs[valid[:-1], valid[1:]]
    mixed = min(np.exp(-np.log(share * p2 + (1 - share) * p1).mean()) for share in np.linspace(0, 0.95, 20))
    return float(np.exp(-np.log(p1).mean())), float(mixed)


def main(small=False):
    size, limit, epochs, steps, units = (50, 1500, 2, 10, 16) if small else (1000, 10**9, 10, 35, 128)
    words = read(size, limit)
    tokenizer = hub.VocabularyTokenizer(sorted({*words, "<unk>"}), split="word")
    size = tokenizer.vocabulary_size()
    ids = np.asarray(tokenizer(" ".join(words)))
    train, valid = ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]
    cells = [MogrifierCell(units, rounds=4, rank=16, dropout=0.3, recurrent_dropout=0.1)]
    dropout = {"word_dropout": 0.1, "embedding_dropout": 0.2, "output_dropout": 0.3}
    backbone = hub.RecurrentBackbone(size, units, cells, **dropout)
    lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=steps))
    lm.compile(keras.optimizers.Adam(0.004, global_clipnorm=1.0))
    bar = _task.Bar("Mogrifier")
    run = lm.fit_streams(train, batch_size=16, steps=steps, epochs=epochs, verbose=0, callbacks=[bar])
    single, pairs = perplexities_of_counts(train, valid, size)
    rows = {
        "frequencies of words": {"perplexity": single},
        "frequencies of pairs": {"perplexity": pairs},
        "Mogrifier": {
            "weights": lm.count_params(),
            "perplexity": float(lm.evaluate_streams(valid, verbose=False).perplexity),
        },
    }
    return _task.Results(rows, run.history["loss"])


if __name__ == "__main__":
    _task.run(main)
