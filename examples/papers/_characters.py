"""What the studies of characters share: the text, windows of it to train on, and the bits of what follows."""

import functools

import keras
import numpy as np

from examples import word_language_model
from examples.papers import _study

BATCH = 32
# Settings of studies of 2,400 updates, and what their protocols say of them.
SHORT = {"steps": 50, "rate": 2e-3, "anneal": 0.5}
SHORT_IN_WORDS = (
    "Adam at 0.002, gradients clipped to a norm of 1, batches of 32 sequences of 50 characters, 2,400 updates, the "
    "learning rate constant for half of them and then falling to a tenth."
)


def read(path, settings):
    """Returns the number of characters, and the ids of each part."""
    parts = word_language_model.read_parts(path, split_punctuation=False)
    characters = {character: k for k, character in enumerate(sorted(set("".join(parts.values()))))}
    return len(characters), {part: np.array([characters[c] for c in text], "int32") for part, text in parts.items()}


def compiled(tokens, logits, settings, clip=None):
    model = keras.Model(tokens, logits)
    model.compile(
        keras.optimizers.Adam(settings["rate"], global_clipnorm=clip),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def draw(rng, updates, settings, data):
    text, steps = data[1]["train"], settings["steps"]
    starts = rng.integers(len(text) - steps, size=updates * BATCH)
    rows = text[starts[:, None] + np.arange(steps + 1)]
    return rows[:, :-1], rows[:, 1:]


def score(model, settings, data, part):
    """Reads windows of `read`, or else of `steps`, characters, each from a state of zeros."""
    text, steps = data[1][part], settings.get("read", settings["steps"])
    count = min(settings["judged"], len(text) - 1) // steps
    x, y = (text[k : k + count * steps].reshape(count, steps) for k in (0, 1))
    return {"bits": model.evaluate(x, y, batch_size=64, verbose=0) / np.log(2)}


study = functools.partial(_study.Study, read=read, draw=draw, batch=BATCH, score=score, metric="bits")


def budgets(settings, weights, **more):
    """Returns budgets for `study`.

    Args:
        settings: Those that all budgets share.
        weights: The weights of the smallest form, of the small one and of the paper.
        more: Dicts of other settings of a budget.
    """
    sizes = {
        "test": {"steps": 4, "judged": 40, "rounds": 1, "updates": 2},
        "small": {"judged": 100_000, "rounds": 8, "updates": 300},
        "paper": {"judged": 10**9, "rounds": 200, "updates": 1000},
    }
    return {
        name: {**settings, "weights": number, **size, **more.get(name, {})}
        for (name, size), number in zip(sizes.items(), weights, strict=True)
    }
