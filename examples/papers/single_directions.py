"""A network that has memorized random labels leans on single units; one that has learned true labels does not.

    python -m examples.papers.single_directions --data mnist.npz

Without `--data`, Keras downloads MNIST.

Reference: Morcos et al., On the importance of single directions for generalization (2018), sections 2.1, 3.1 and 3.3.
"""

import keras

from examples import memorization
from examples.papers import _study

AXIS, METRIC = "share of ablated units", "training accuracy"


def read(path, settings):
    return memorization.read_data(path, settings["images"])


def train(name, seed, settings, data):
    x, y = data
    labels = y if name == "true labels" else memorization.random_labels(y, seed)
    keras.utils.set_random_seed(seed)
    model = memorization.train(x, labels, settings["units"], settings["epochs"], verbose=0)
    curve, index = memorization.judge(model, x, labels, settings["repeats"], seed, verbose=False)
    points = [
        {AXIS: float(share), METRIC: float(accuracy)}
        for share, accuracy in zip(curve.shares, curve.accuracies.mean(axis=0), strict=True)
    ]
    figures = {"area under the curve": curve.area, METRIC: points[0][METRIC], "selectivity": float(index.mean())}
    return model.count_params(), figures, points


SMALL = {"images": 2000, "units": 128, "epochs": 200, "repeats": 10, "rounds": 1}
STUDY = _study.Study(
    name="single_directions",
    title="Single directions: units that a network leans on",
    claim="Networks that memorized random labels lose accuracy with fewer ablated units than networks that generalize "
    "(figure 1 of the paper).",
    protocol="Two layers of 128 units are trained with Adam until all 2,000 MNIST training images are classified "
    "correctly; units of the second layer are then clamped to zero in ten random orders. The paper uses 2,000 units "
    "and all images.",
    models=("true labels", "random labels"),
    budgets={
        "test": {**SMALL, "images": 20, "units": 8, "epochs": 2, "repeats": 2},
        "small": SMALL,
        "paper": {**SMALL, "images": 60_000, "units": 2000, "epochs": 500},
    },
    read=read,
    train=train,
    metric=METRIC,
    axis=AXIS,
    prior={"chance": 0.1},
    outcome="the one of the paper's three claims that was tried holds on a smaller network",
    found="With half of the units clamped to zero, the network that learned the true labels still gets nine images in "
    "ten right, and the one that memorized random labels seven. Units of the former are also more class-selective, "
    "which in the paper says little about a unit's importance. The paper's other two claims, about that and about "
    "batch normalization, were not tried.",
)

if __name__ == "__main__":
    _study.main(STUDY)
