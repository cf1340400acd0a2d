"""Digit classification by adaptive layers, whose matrix depends on the image: table 1 of the paper.

    python -m examples.papers.adaptive_digits --data mnist.npz

Without `--data`, Keras downloads MNIST. What the paper leaves open was chosen by `adaptive_digits_search`.

Reference: Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization (2018),
section 5.2 and table 1.
"""

import keras

from examples.papers import _adaptive, _digits, _study

CLASSES = _digits.CLASSES


def deep(rank):
    return [
        _adaptive.sva(32, rank, activation="relu"),
        _adaptive.sva(32, 32, activation="relu"),
        _adaptive.sva(CLASSES, 32),
    ]


MODELS = {
    "logistic regression, 8K": lambda: [keras.layers.Dense(CLASSES)],
    "3-layer feed-forward, 100K": _adaptive.feed_forward,
    "1-layer SVA, 8K": lambda: [_adaptive.sva(CLASSES, 7, hidden=3)],
    "1-layer SVA of features, 8K": lambda: _adaptive.sva_of_features(CLASSES, 10),
    "1-layer SVA, 100K": lambda: [_adaptive.sva(CLASSES, 62)],
    "3-layer SVA, 100K": lambda: deep(58),
}


def make(name, settings, data):
    return _adaptive.make(MODELS[name](), "0 to 1", 0.9, settings["rate"])


STUDY = _adaptive.study(
    name="adaptive_digits",
    title="Digits by adaptive layers: table 1",
    claim="One adaptive layer outperforms a logistic regression with the same number of weights and, with 100,000 "
    "weights, a three-layer feed-forward network; three adaptive layers perform best.",
    protocol="SGD at 0.001, batches of 128 and 50,000 updates, as in the paper. Pixels from 0 to 1, a momentum of 0.9 "
    "and the policy of the small layer (a network with three hidden units) were chosen on 5,000 held-out training "
    "images (see the search). Large layers have affine policies; hidden layers use ReLU.",
    models=tuple(MODELS),
    budgets={"test": _adaptive.TINY, "small": _adaptive.SETTINGS},
    make=make,
    pairs=(
        ("1-layer SVA, 8K", "logistic regression, 8K"),
        ("1-layer SVA of features, 8K", "logistic regression, 8K"),
        ("1-layer SVA, 100K", "3-layer feed-forward, 100K"),
        ("3-layer SVA, 100K", "3-layer feed-forward, 100K"),
    ),
    outcome="the table holds within 0.4 points, but our feed-forward network is 0.6 points better, and no adaptive "
    "network is ahead of it",
    found="Test accuracies are within 0.4 points of the paper's, except for the feed-forward network, which is 0.6 "
    "points better. Its training accuracy is also higher (99.1 %, against 97.57 % in the paper), perhaps because the "
    "paper's was trained without momentum. With eight thousand weights, the adaptive layer beats the logistic "
    "regression by 1.6 points (1.7 in the paper), and by 2.2 points if its policy reads the features. With a hundred "
    "thousand weights, the feed-forward network beats one or three adaptive layers by 0.2 to 0.3 points, which is not "
    "significant; the paper's claim about them is not reproduced, as its baseline is not. Three adaptive layers stay "
    "at chance for 5,000 to 15,000 updates, as products of small numbers learn slowly, and then learn as fast as the "
    "others.",
    paper={
        "logistic regression, 8K": {"training accuracy (%)": 92.00, "accuracy (%)": 92.14},
        "3-layer feed-forward, 100K": {"training accuracy (%)": 97.57, "accuracy (%)": 97.01},
        "1-layer SVA, 8K": {"training accuracy (%)": 94.05, "accuracy (%)": 93.86},
        "1-layer SVA, 100K": {"training accuracy (%)": 98.62, "accuracy (%)": 97.14},
        "3-layer SVA, 100K": {"training accuracy (%)": 99.99, "accuracy (%)": 97.65},
    },
)

if __name__ == "__main__":
    _study.main(STUDY)
