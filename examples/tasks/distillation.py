"""Distillation: a small cell learns from a large one what the labels do not tell it.

There are only 300 labeled texts, and many unlabeled ones. A large Mogrifier is trained on the labeled texts and
predicts the class probabilities of every text. A small cell trained on these probabilities is compared with the same
cell trained on the labels alone.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import Elman, Mogrifier


def draw(count, length, rng):
    """Returns texts of three classes, which differ in which word tends to follow which."""
    follow = np.random.default_rng(1).dirichlet(np.full(12, 0.8), size=(3, 12)).cumsum(axis=-1)
    classes = rng.integers(3, size=count)
    words = rng.integers(12, size=(count, length))
    for t in range(1, length):
        words[:, t] = (rng.uniform(size=(count, 1)) > follow[classes, words[:, t - 1]]).sum(axis=-1).clip(0, 11)
    return words, classes


def classifier(layer):
    return keras.Sequential(
        [keras.Input((None,), dtype="int32"), keras.layers.Embedding(12, 8), layer, keras.layers.Dense(3)]
    )


def train(name, model, x, y, epochs, soft=False):
    losses = keras.losses.CategoricalCrossentropy if soft else keras.losses.SparseCategoricalCrossentropy
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), losses(from_logits=True))
    return _task.fit(name, model, x, y, batch_size=50, epochs=epochs)["loss"]


def main(small=False):
    labelled, count, length, epochs, units = (100, 200, 8, 3, 8) if small else (300, 6000, 12, 30, 64)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(2000, length, rng)

    teacher = classifier(Mogrifier(units, rounds=4, dropout=0.5, recurrent_dropout=0.5))
    train("teacher, on labels", teacher, x[:labelled], y[:labelled], epochs)
    alone = classifier(Elman(units // 4))
    train("small, on labels", alone, x[:labelled], y[:labelled], epochs)
    student = classifier(Elman(units // 4))
    soft = keras.ops.convert_to_numpy(keras.ops.softmax(teacher.predict(x, verbose=0)))
    losses = train("small, from the teacher", student, x, soft, epochs, soft=True)

    models = {"teacher, Mogrifier": teacher, "small cell, on labels": alone, "small cell, from the teacher": student}
    rows = {"guess": {"right": 1 / 3}}
    for name, model in models.items():
        right = model.predict(x_test, verbose=0).argmax(axis=-1) == y_test
        rows[name] = {"weights": model.count_params(), "right": float(right.mean())}
    return _task.Results(rows, losses)


if __name__ == "__main__":
    _task.run(main)
