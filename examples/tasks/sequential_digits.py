"""Sequential digits: recognize an image that is read pixel by pixel.

Digits in six typefaces are rotated, shifted, covered with noise, and read as 100 pixels, one by one, so the network
must remember where strokes were. All three cells have about as many weights. Guessing is right one time in ten.
"""

import keras
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import GRU, LSTM, Mogrifier


def glyph(digit, family, weight):
    """Returns a digit as an array `[48, 48]`, one where there is ink."""
    figure = Figure(figsize=(0.5, 0.5), dpi=96)
    figure.text(0.5, 0.5, str(digit), ha="center", va="center", size=32, family=family, weight=weight)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return 1 - np.asarray(canvas.buffer_rgba())[..., 0] / 255


def draw(count, size, glyphs, rng):
    """Returns pictures as sequences of pixels, `[count, size * size, 1]`, and their digits."""
    digits, angle = rng.integers(10, size=count), rng.uniform(-0.3, 0.3, size=(count, 1, 1))
    shift, zoom = rng.uniform(-3, 3, size=(2, count, 1, 1)), rng.uniform(3.6, 4.6, size=(count, 1, 1))
    row, column = np.meshgrid(*[np.arange(size) - (size - 1) / 2] * 2, indexing="ij")
    y = (zoom * (np.cos(angle) * row - np.sin(angle) * column) + 23.5 + shift[0]).round().astype(int).clip(0, 47)
    x = (zoom * (np.sin(angle) * row + np.cos(angle) * column) + 23.5 + shift[1]).round().astype(int).clip(0, 47)
    pictures = glyphs[digits, rng.integers(glyphs.shape[1], size=count)][np.arange(count)[:, None, None], y, x]
    return (pictures + rng.normal(0, 0.1, pictures.shape)).reshape(count, -1, 1), digits


def main(small=False):
    size, count, epochs, units = (5, 128, 4, 12) if small else (10, 4000, 15, 64)
    rng = np.random.default_rng(0)
    faces = [(f"DejaVu {family}", weight) for family in ("Sans", "Serif", "Sans Mono") for weight in ("normal", "bold")]
    glyphs = np.array([[glyph(digit, *face) for face in faces[: 1 if small else 6]] for digit in range(10)])
    (x, y), (x_test, y_test) = draw(count, size, glyphs, rng), draw(1000, size, glyphs, rng)
    mogrifier = Mogrifier(units, rounds=4)
    lstm = _task.lstm_units(mogrifier, 1)
    layers = {"Mogrifier": mogrifier, "LSTM": LSTM(lstm), "GRU": GRU(round(1.15 * lstm))}
    rows, right, losses = {"guess": {"right": 0.1}}, {}, {}
    for name, layer in layers.items():
        model = keras.Sequential([keras.Input((None, 1)), layer, keras.layers.Dense(10, activation="softmax")])
        optimizer = keras.optimizers.Adam(0.003, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        history = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)
        right[name], losses[name] = history["accuracy"], history["loss"]
        rows[name] = {"weights": layer.count_params(), "right": model.evaluate(x_test, y_test, verbose=0)[1]}

    figure = _task.curves(right, "right, training")
    figure.axes[0].legend(loc="lower right")
    for k in range(4):
        axes = figure.add_axes((0.12 + 0.11 * k, 0.78, 0.1, 0.17))
        axes.imshow(x_test[k].reshape(size, size), cmap="gray_r")
        axes.set_axis_off()
    return _task.Results(rows, losses["Mogrifier"], figure)


if __name__ == "__main__":
    _task.run(main)
