"""Two numbers out of hundreds are added by thin recurrent matrices.

    python -m examples.papers.addition

Reference: Miceli Barone, Low-Rank Passthrough Neural Networks (2016), section 3.0.2.
"""

import keras
import numpy as np

from examples.papers import _study, memory


def make(name, settings, data):
    inputs = keras.Input((settings["steps"], 2))
    outputs = memory.make_layer(name, settings, 2)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    model.compile(keras.optimizers.RMSprop(settings["rate"], clipvalue=1.0), "mse")
    return model


def sequences(rng, count, steps):
    """Returns numbers beside marks, one in each half, and the sum of the two that are marked."""
    x = np.zeros((count, steps, 2), "float32")
    x[..., 0] = rng.uniform(size=(count, steps))
    rows = np.arange(count)
    places = [rng.integers(steps // 2, size=count), rng.integers(steps // 2, steps, size=count)]
    for place in places:
        x[rows, place, 1] = 1
    return x, sum(x[rows, place, 0] for place in places)[:, None]


def draw(rng, updates, settings, data):
    return sequences(rng, updates * STUDY.batch, settings["steps"])


def score(model, settings, data, part):
    x, y = sequences(_study.judging(part), 512, settings["steps"])
    return {"squared error": model.evaluate(x, y, batch_size=128, verbose=0)}


SMALL = {"steps": 200, "units": 128, "rank": 24, "diagonal": False, "rate": 1e-3, "rounds": 50, "updates": 100}
STUDY = _study.Study(
    name="addition",
    title="Addition: two marked numbers of a long sequence",
    claim="Over 750 steps, a GRU of 128 units and rank 24 reaches a mean squared error of 0.003 in 14,500 updates.",
    protocol="The paper's settings: RMSProp at 0.001, every entry of the gradient clipped to 1, batches of 20, "
    "update-gate biases that start at 4, a trained initial state. Every batch is fresh. The full-rank GRU has as many "
    "weights. The small budget has 200 steps.",
    models=("low rank", "full rank"),
    budgets={
        "test": {**SMALL, "steps": 6, "units": 8, "rank": 2, "rounds": 2, "updates": 4},
        "small": SMALL,
        "paper": {**SMALL, "steps": 750, "rounds": 145},
    },
    make=make,
    draw=draw,
    batch=20,
    score=score,
    metric="squared error",
    log=True,
    prior={"always 1, expected": 1 / 6},
    paper={"low rank": {"squared error": 0.003}},
    outcome="nearly: every seed is below 0.003 at some evaluation, two of three at the end, and the mean of the last "
    "2,000 updates is 0.0039 ± 0.0004; a full-rank GRU with as many weights is ahead with every seed",
    found="The low-rank GRU predicts a constant for 9,000 updates or more, and then learns to add: it is first below "
    "the paper's 0.003 after 11,900 to 12,700 updates. The full-rank GRU, with as many weights, learns to add 2,000 "
    "updates earlier. All errors vary by several thousandths between evaluations, so the figures at the end say "
    "little: over the last twenty evaluations on validation data, the means are 0.0035, 0.0047 and 0.0035 for the "
    "low-rank GRU, 0.0027, 0.0026 and 0.0025 for the full-rank one.",
)

if __name__ == "__main__":
    _study.main(STUDY)
