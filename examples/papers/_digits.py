"""The images of handwritten digits that several studies read."""

import keras
import numpy as np

CLASSES, PIXELS = 10, 784
MEAN, DEVIATION = 33.32, 78.57  # Of the pixels of the training part.
HELD_OUT = 5000  # Images of the training part that the choices are made on.


def read(path: str | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Returns images `[count, 784]`, from 0 to 255, and labels, of the parts train, valid and test."""
    if path is None:
        parts = keras.datasets.mnist.load_data()
    else:
        try:
            with np.load(path) as file:
                parts = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"cannot read MNIST from {path}: {error}") from None
    (x, y), test = ((x.reshape(-1, PIXELS).astype("float32"), y.astype("int32")) for x, y in parts)
    held_out = min(HELD_OUT, len(x) // 2)
    return {"train": (x[:-held_out], y[:-held_out]), "valid": (x[-held_out:], y[-held_out:]), "test": test}


def draw(rng: np.random.Generator, count: int, data: dict) -> tuple[np.ndarray, np.ndarray]:
    """Returns images of the training part, drawn at random, and labels."""
    x, y = data["train"]
    chosen = rng.integers(len(x), size=count)
    return x[chosen], y[chosen]


def score(model: keras.Model, settings: dict, data: dict, part: str) -> dict[str, float]:
    """Returns the accuracies of logits, in percent, on a part and on the training part."""
    found = {}
    for name in ("train", part):
        x, y = data[name]
        found[name] = 100 * float(np.mean(model.predict(x, batch_size=5000, verbose=0).argmax(axis=1) == y))
    return {"accuracy (%)": found[part], "training accuracy (%)": found["train"]}
