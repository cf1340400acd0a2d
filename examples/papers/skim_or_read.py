"""Skim or read: a bag of words answers where it is sure, an LSTM reads the rest.

    python -m examples.papers.skim_or_read

Reference: Johansen and Socher, Learning When to Skim and When to Read (2017), sections 3 and 4.
"""

import keras
import numpy as np

from examples import jump_and_skim
from examples.papers import _study

AXIS, METRIC = "share that is read", "accuracy"
SHARES = (0.0, 0.25, 0.5, 1.0)


def train(name, seed, settings, data):
    argv = [f"--{option}={settings[option]}" for option in ("samples", "length", "epochs")]
    keras.utils.set_random_seed(seed)
    arguments = jump_and_skim.parse(["skim", *argv, f"--decide={name}", f"--seed={seed}", "--verbose=0"])
    model, curve = jump_and_skim.train_skimmer(arguments)
    points = [{AXIS: float(x), METRIC: float(y)} for x, y in zip(curve.shares, curve.accuracies, strict=True)]
    figures = {f"accuracy at {share:.0%}": float(np.interp(share, curve.shares, curve.accuracies)) for share in SHARES}
    return model.count_params(), figures, points


STUDY = _study.Study(
    name="skim_or_read",
    title="Skim or read: a bag of words, and an LSTM where it is unsure",
    claim="An LSTM need not read what a bag of words is sure of: most of its work is saved at little loss of accuracy.",
    protocol="The task is ours: seven in ten sequences of up to 20 tokens can be classified by their words, the "
    "others by the order of two words. The decision is a threshold on the bag's largest probability, or a network of "
    "its own, with weights beside those of the models, that is trained on a fifth of the data, which these have not "
    "seen. Adam at 0.005, batches of 50, 20,000 sequences; figures are on 2,000 others.",
    models=("threshold", "network"),
    budgets={
        "test": {"samples": 100, "length": 8, "epochs": 1, "rounds": 1},
        "small": {"samples": 20_000, "length": 20, "epochs": 5, "rounds": 1},
    },
    train=train,
    metric=METRIC,
    axis=AXIS,
    pairs=(),
    outcome="holds on our own task",
    found="The bag of words alone gets 85 % right, all that it can: it guesses three in ten. Once the LSTM reads those "
    "and little else, 30 to 35 % of the sequences, all are right. Up to there, accuracy rises evenly, and the network "
    "decides no better than the threshold: on this task, the bag is sure wherever it is right.",
)

if __name__ == "__main__":
    _study.main(STUDY)
