"""Less copying from a model that copies too much: a pointer-generator, and a penalty in its beam search.

The text to write repeats the source, two of seven words as synonyms. The model may generate each word or copy it
from the source. A search for the most probable text copies every word, as that is more probable each time; the penalty
moves it to the share of generated words that is asked for, without training again:

    python examples/copy_decoding.py
    python examples/copy_decoding.py --target 0.6 --steps 3000

The run prints a table. It works on every backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

Reference: Weber et al., Controlling Decoding for More Abstractive Summaries with Copy-Based Networks (2018), for the
penalty; See et al., Get To The Point (2017), for the model. The task is one of this example.
"""

import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

import keras
import numpy as np
from keras import ops
from rich.console import Console
from rich.table import Table

from keras_adaptive_rnn import GRUCell, MogrifierCell, evaluation
from keras_adaptive_rnn.layers import RNN, PointerGenerator

START, STOP, FIRST, WORDS, LENGTH = 0, 1, 2, 20, 8
# Each word has another one of the same meaning, which no source holds.
VOCABULARY = FIRST + 2 * WORDS
FIGURES = ("synonyms", "generated", "right texts")


def draw(samples: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns sources `[samples, LENGTH]`, and texts `[samples, LENGTH + 2]`: two of seven words are synonyms."""
    source = rng.integers(FIRST, FIRST + WORDS, (samples, LENGTH))
    is_other = rng.uniform(size=source.shape) < 2 / 7
    for t in range(1, LENGTH):
        # A synonym makes the next one more likely.
        changes = rng.uniform(size=samples) < np.where(is_other[:, t - 1], 0.5, 0.2)
        is_other[:, t] = is_other[:, t - 1] ^ changes
    text = np.where(is_other, source + WORDS, source)
    return source, np.pad(text, ((0, 0), (1, 1)), constant_values=((0, 0), (START, STOP)))


def make_models(units: int) -> tuple[keras.Model, keras.Model, keras.Model]:
    """Returns the model to train, its encoder, and a step of its decoder, which share their layers."""
    embedding = keras.layers.Embedding(VOCABULARY, units)
    pointer = PointerGenerator(units, VOCABULARY, score_mode="dot", return_p_gen=True)
    encoder = RNN(GRUCell(units), return_sequences=True, return_state=True)
    decoder = RNN(MogrifierCell(units, rounds=2), return_sequences=True, return_state=True)

    source, text = keras.Input((LENGTH,), dtype="int32"), keras.Input((None,), dtype="int32")
    encoded, last = encoder(embedding(source))
    states, *_ = decoder(embedding(text), initial_state=[last, ops.zeros_like(last)])
    log_p, _ = pointer(states, encoded, source)

    token, given = keras.Input((1,), dtype="int32"), keras.Input((LENGTH, units))
    before = [keras.Input((units,)) for _ in range(2)]
    output, *after = decoder(embedding(token), initial_state=before)
    step = keras.Model([token, source, given, *before], [*pointer(output, given, source), *after])
    return keras.Model([source, text], log_p), keras.Model(source, [encoded, last]), step


def write(encoder: keras.Model, model: keras.Model, source: np.ndarray, penalty, beam: int) -> evaluation.Hypothesis:
    """Returns the text that the model writes about one source."""

    def step(tokens, states):
        given = [tokens[:, None], states["source"], states["encoded"], *states["cell"]]
        log_p, generates, *after = model.predict_on_batch(given)
        return log_p[:, 0], {**states, "cell": after}, {"p_gen": generates[:, 0]}

    encoded, last = encoder.predict_on_batch(source[None])
    states = {"source": source[None], "encoded": encoded, "cell": [last, np.zeros_like(last)]}
    found = evaluation.beam_search(step, states, START, STOP, beam, 2 * LENGTH, min_length=1, penalty=penalty)
    return found[0]


def train(units: int, steps: int, rng: np.random.Generator, verbose: int = 1) -> tuple[keras.Model, keras.Model]:
    """Returns the encoder and a step of the decoder, trained."""
    training, encoder, step = make_models(units)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    training.compile(keras.optimizers.Adam(3e-3, clipnorm=1.0), loss)
    source, text = draw(64 * steps, rng)
    training.fit([source, text[:, :-1]], text[:, 1:], batch_size=64, verbose=verbose)
    return encoder, step


def judge(encoder: keras.Model, step: keras.Model, source: np.ndarray, penalty, beam: int) -> dict[str, float]:
    """Returns the figures of the texts that are written about the sources."""
    found = [write(encoder, step, each, penalty, beam) for each in source]
    written = np.concatenate([hypothesis.tokens[1:] for hypothesis in found])
    written = written[written != STOP]
    texts = [hypothesis.tokens[1:-1] for hypothesis in found]
    meant = [np.where(text >= FIRST + WORDS, text - WORDS, text).tolist() for text in texts]
    return {
        "synonyms": float(np.mean(written >= FIRST + WORDS)),
        "generated": float(np.mean([hypothesis.extras["p_gen"].mean() for hypothesis in found])),
        "right texts": float(np.mean([text == each.tolist() for text, each in zip(meant, source, strict=True)])),
    }


def main(arguments: list[str] | None = None) -> dict[float, float]:
    """Returns the share of synonyms by strength of the penalty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=float, default=0.4, help="share of generated tokens that the penalty asks for")
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.0, 1.0, 2.0, 5.0, 10.0])
    parser.add_argument("--steps", type=int, default=2000, help="training steps")
    parser.add_argument("--units", type=int, default=64)
    parser.add_argument("--texts", type=int, default=50, help="texts to write")
    parser.add_argument("--beam", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    encoder, step = train(options.units, options.steps, rng)
    source, _ = draw(options.texts, rng)
    table, shares = Table("strength", *FIGURES), {}
    for strength in options.strengths:
        figures = judge(encoder, step, source, evaluation.CopyPenalty(options.target, strength), options.beam)
        table.add_row(f"{strength:g}", *(f"{figures[name]:.1%}" for name in FIGURES))
        shares[strength] = figures["synonyms"]
    Console().print(table)
    return shares


if __name__ == "__main__":
    main()
