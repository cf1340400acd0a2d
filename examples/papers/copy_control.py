"""A penalty in the beam search of a pointer-generator changes the share of words that it copies.

    python -m examples.papers.copy_control

Reference: Weber et al., Controlling Decoding for More Abstractive Summaries with Copy-Based Networks (2018).
"""

import keras
import numpy as np

from examples import copy_decoding
from examples.papers import _study
from keras_adaptive_rnn import evaluation

AXIS, METRIC, RIGHT = "strength of the penalty", "synonyms", "right texts"


def train(name, seed, settings, data):
    keras.utils.set_random_seed(seed)
    encoder, step = copy_decoding.train(settings["units"], settings["steps"], np.random.default_rng(seed), verbose=0)
    source, _ = copy_decoding.draw(settings["texts"], _study.judging("test"))
    curve, figures = [], {}
    for strength in settings["strengths"]:
        penalty = evaluation.CopyPenalty(settings["target"], strength)
        found = copy_decoding.judge(encoder, step, source, penalty, settings["beam"])
        curve.append({AXIS: strength, **found})
        if strength in settings["shown"]:
            figures |= {f"{figure} at {strength:g}": found[figure] for figure in (METRIC, RIGHT)}
    # The embedding is in both models.
    weights = {weight.path: weight for weight in (*encoder.trainable_weights, *step.trainable_weights)}
    return sum(int(np.prod(weight.shape)) for weight in weights.values()), figures, curve


SMALL = {"target": 0.4, "strengths": [0, 1, 2, 3, 4, 5, 7, 10], "shown": [0, 5, 10]}
SMALL |= {"units": 64, "steps": 2000, "texts": 100, "beam": 8, "rounds": 1}
STUDY = _study.Study(
    name="copy_control",
    title="Copy control: fewer copied words without retraining",
    claim="A penalty in the search, not in training, makes summaries less extractive.",
    protocol="The task is ours: a text of eight words is rewritten, with two in seven words replaced by synonyms. One "
    "model per seed, a beam of 8; the penalty asks for a mean probability of generating of 40 %, at strengths from 0 "
    "to 10. A text is right if every word is the source word or its synonym.",
    models=("pointer-generator",),
    budgets={
        "test": {**SMALL, "strengths": [0, 5], "units": 8, "steps": 4, "texts": 2, "beam": 2},
        "small": SMALL,
        "paper": {**SMALL, "units": 256, "steps": 20_000, "texts": 1000},
    },
    train=train,
    metric=METRIC,
    axis=AXIS,
    prior={"synonyms in training": 2 / 7},
    outcome="holds on our own task",
    found="Without the penalty, the search copies every word, although two in seven were synonyms in training. With "
    "it, the mean probability of generating a word rises from 30 % to 42 to 46 % at strengths from 4 on, slightly "
    "more than the requested 40 %, and 48 to 63 % of the words are synonyms. Every text stays right.",
)

if __name__ == "__main__":
    _study.main(STUDY)
