"""Auxiliary loss: one network learns two targets, and the second helps with the first.

From 60 noisy samples, the network must tell which of two hidden rhythms is faster. Only 60 sequences are labeled. The
same layer also predicts the next sample, which needs no label and can be learned from all 3000. Trained on both
losses, it predicts the labels better than with their loss alone.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def draw(count, length, rng):
    """Returns two sums of noise and rhythm, `[count, length, 2]`, and which rhythm is faster."""
    speeds = rng.uniform(0.3, 0.9, size=(count, 1, 2))
    phases = rng.uniform(0, 2 * np.pi, size=(count, 1, 2))
    signals = np.sin(speeds * np.arange(length)[:, None] + phases)
    return signals + rng.normal(0, 0.5, signals.shape), speeds[:, 0].argmax(axis=-1)


def main(small=False):
    length, count, labelled, epochs, units = (10, 128, 32, 4, 8) if small else (60, 3000, 60, 15, 32)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(1000, length, rng)
    has_label = (np.arange(count) < labelled).astype("float32")
    rows, losses = {"guess": {"right": 0.5}}, {}
    for name, loss_weights in (("labels alone", (1.0, 0.0)), ("labels and next samples", (5.0, 1.0))):
        inputs = keras.Input((None, 2))
        states = Mogrifier(units, rounds=4, return_sequences=True)(inputs)
        faster = keras.layers.Dense(2, activation="softmax", name="faster")(states[:, -1])
        following = keras.layers.Dense(2, name="following")(states[:, :-1])
        model = keras.Model(inputs, [faster, following])
        model.compile(
            keras.optimizers.Adam(0.005, clipnorm=1.0),
            ["sparse_categorical_crossentropy", "mse"],
            loss_weights=list(loss_weights),
        )
        # Both take as many steps. Without the second loss, only labelled sequences are of any use.
        chosen = np.arange(count) if loss_weights[1] else np.arange(count) % labelled
        weights = [has_label[chosen], np.ones((count, length - 1), "float32")]
        targets = [y[chosen], x[chosen, 1:]]
        fit = {"sample_weight": weights, "batch_size": 50, "epochs": epochs}
        losses[name] = _task.fit(name, model, x[chosen], targets, **fit)["loss"]
        right = model.predict(x_test, verbose=0)[0].argmax(axis=-1) == y_test
        rows[name] = {"right": float(right.mean())}
    return _task.Results(rows, losses["labels and next samples"])


if __name__ == "__main__":
    _task.run(main)
