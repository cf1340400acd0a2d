"""What a Keras user has without this package: cells written by hand for `keras.layers.RNN`, and the layers of Keras.

    python -m benchmarks.plain benchmarks/baselines.json

prints the tables of `benchmarks/README.md` and of the README, from rows of `benchmarks.time_loop`. Weights are in the
order of ours.
"""

import json
import pathlib
import statistics
import sys

import keras
from keras import ops


class PlainCell(keras.Layer):
    """A cell with an input matrix, a recurrent matrix and a bias for all of its gates."""

    gates, states = 4, 2

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size, self.output_size = [units] * self.states, units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.gates * self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.gates * self.units), name="recurrent_kernel")
        self.bias = self.add_weight(shape=(self.gates * self.units,), initializer="zeros", name="bias")


def lstm(a, c):
    """Returns the output and the memory of an LSTM from the affine parts of its gates."""
    i, f, g, o = ops.split(a, 4, axis=-1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


class LSTM(PlainCell):
    def call(self, x, states, training=False):
        h, c = states
        h, c = lstm(x @ self.kernel + h @ self.recurrent_kernel + self.bias, c)
        return h, [h, c]


class Elman(PlainCell):
    gates, states = 1, 1

    def call(self, x, states, training=False):
        h = ops.tanh(x @ self.kernel + states[0] @ self.recurrent_kernel + self.bias)
        return h, [h]


class GRU(PlainCell):
    """With the reset gate after the product, as in Keras, and so with two biases."""

    gates, states = 3, 1

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 3 * self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, 3 * self.units), name="recurrent_kernel")
        self.bias = self.add_weight(shape=(2, 3 * self.units), initializer="zeros", name="bias")

    def call(self, x, states, training=False):
        (h,) = states
        x_z, x_r, x_n = ops.split(x @ self.kernel + self.bias[0], 3, axis=-1)
        h_z, h_r, h_n = ops.split(h @ self.recurrent_kernel + self.bias[1], 3, axis=-1)
        z = ops.sigmoid(x_z + h_z)
        h = z * h + (1 - z) * ops.tanh(x_n + ops.sigmoid(x_r + h_r) * h_n)
        return h, [h]


class Mogrifier(PlainCell):
    def __init__(self, units, rounds=5, **kwargs):
        super().__init__(units, **kwargs)
        self.rounds, self.rank = rounds, min(64, units)

    def build(self, input_shape):
        super().build(input_shape)
        self.factors = []
        for i in range(self.rounds):
            read, gated = (input_shape[-1], self.units) if i % 2 else (self.units, input_shape[-1])
            right = self.add_weight(shape=(read, self.rank), name=f"right_{i}")
            self.factors.append((right, self.add_weight(shape=(self.rank, gated), name=f"left_{i}")))

    def call(self, x, states, training=False):
        h, c = states
        for i, (right, left) in enumerate(self.factors):
            if i % 2:
                h = 2 * ops.sigmoid(x @ right @ left) * h
            else:
                x = 2 * ops.sigmoid(h @ right @ left) * x
        h, c = lstm(x @ self.kernel + h @ self.recurrent_kernel + self.bias, c)
        return h, [h, c]


class MultiplicativeLSTM(PlainCell):
    def build(self, input_shape):
        super().build(input_shape)
        self.input_factor = self.add_weight(shape=(input_shape[-1], self.units), name="input_factor")
        self.state_factor = self.add_weight(shape=(self.units, self.units), name="state_factor")

    def call(self, x, states, training=False):
        h, c = states
        m = (x @ self.input_factor) * (h @ self.state_factor)
        h, c = lstm(x @ self.kernel + m @ self.recurrent_kernel + self.bias, c)
        return h, [h, c]


class AdaptiveLSTM(keras.Layer):
    """With a recurrent policy and IO-adaptation."""

    def __init__(self, units, policy_units=100, **kwargs):
        super().__init__(**kwargs)
        self.units, self.policy_units = units, policy_units
        self.state_size, self.output_size = [units, units, policy_units, policy_units], units

    def build(self, input_shape):
        inputs, units, policy_units = input_shape[-1], self.units, self.policy_units
        self.ends = [inputs, inputs + units, inputs + 5 * units, inputs + 9 * units]
        self.kernel = self.add_weight(shape=(inputs, 4 * units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(units, 4 * units), name="recurrent_kernel")
        self.policy_kernel = self.add_weight(shape=(inputs + units, 4 * policy_units), name="policy_kernel")
        self.policy_recurrent = self.add_weight(shape=(policy_units, 4 * policy_units), name="policy_recurrent")
        self.policy_bias = self.add_weight(shape=(4 * policy_units,), initializer="zeros", name="policy_bias")
        self.sub_policies = self.add_weight(shape=(policy_units, inputs + 13 * units), name="sub_policies")
        self.bias = self.add_weight(shape=(4 * units,), initializer="zeros", name="bias")

    def call(self, x, states, training=False):
        h, c, latent, memory = states
        a = ops.concatenate([x, h], axis=-1) @ self.policy_kernel + latent @ self.policy_recurrent + self.policy_bias
        latent, memory = lstm(a, memory)
        x_1, h_1, x_2, h_2, b = ops.split(ops.tanh(latent @ self.sub_policies), self.ends, axis=-1)
        products = x_2 * ((x_1 * x) @ self.kernel) + h_2 * ((h_1 * h) @ self.recurrent_kernel)
        h, c = lstm(products + b * self.bias, c)
        return h, [h, c, latent, memory]


class LowRankGRU(PlainCell):
    """With a low-rank plus diagonal recurrent matrix for each gate, and the reset gate before the product."""

    gates, states = 3, 1

    def build(self, input_shape):
        units, rank = self.units, min(64, self.units)
        self.kernel = self.add_weight(shape=(input_shape[-1], 3 * units), name="kernel")
        self.right = self.add_weight(shape=(3, units, rank), name="right")
        self.left = self.add_weight(shape=(3, rank, units), name="left")
        self.diagonal = self.add_weight(shape=(3 * units,), name="diagonal")
        self.bias = self.add_weight(shape=(3 * units,), initializer="zeros", name="bias")

    def call(self, x, states, training=False):
        (h,) = states
        a_z, a_r, a_n = ops.split(x @ self.kernel + self.bias, 3, axis=-1)
        d_z, d_r, d_n = ops.split(self.diagonal, 3)
        z = ops.sigmoid(a_z + h @ self.right[0] @ self.left[0] + h * d_z)
        r = ops.sigmoid(a_r + h @ self.right[1] @ self.left[1] + h * d_r)
        reset = r * h
        h = z * h + (1 - z) * ops.tanh(a_n + reset @ self.right[2] @ self.left[2] + reset * d_n)
        return h, [h]


CELLS = {cls.__name__: cls for cls in (LSTM, GRU, Elman, Mogrifier, MultiplicativeLSTM, AdaptiveLSTM, LowRankGRU)}
# Keras has these cells as layers, too.
LAYERS = {"LSTM": keras.layers.LSTM, "GRU": keras.layers.GRU, "Elman": keras.layers.SimpleRNN}


WHATS = ("train", "predict")
BACKENDS = {"torch": "PyTorch", "jax": "JAX", "tensorflow": "TensorFlow"}


def summary(rows):
    """Returns the table of the README, geometric means by backend of rows of `time_loop`, and the lowest ratio."""

    def ratios(contender, what, backends):
        return [
            row["ratios"][contender]
            for row in rows
            if row["what"] == what and row["backend"] in backends and contender in row["ratios"]
        ]

    backends = [key for key in BACKENDS if any(row["backend"] == key for row in rows)]
    lines = [
        ["times as fast in training, in prediction", *(BACKENDS[key] for key in backends)],
        ["---", *["---:"] * len(backends)],
    ]
    contenders = {
        "keras_plain": "as plain cells in `keras.layers.RNN`",
        "keras_layer": "as `keras.layers.LSTM`, `GRU`, `SimpleRNN`",
    }
    for contender, title in contenders.items():
        means = [
            [f"{statistics.geometric_mean(ratios(contender, what, [key])):.2f}" for what in WHATS] for key in backends
        ]
        lines.append([title, *map(", ".join, means)])
    lowest = min(min(ratios(contender, what, backends)) for contender in contenders for what in WHATS)
    return markdown(lines), f"the lowest single ratio is {lowest:.2f}"


def markdown(lines):
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table(rows):
    """Returns a table in Markdown: by backend and size, geometric means over cells, and the lowest in brackets."""
    columns = {
        "plain cell / ours": lambda ratios: ratios.get("keras_plain"),
        "Keras layer / ours": lambda ratios: ratios.get("keras_layer"),
        "plain cell / our cell": lambda ratios: (
            ratios["keras_plain"] / ratios["keras"] if "keras_plain" in ratios else None
        ),
    }
    names = [f"{name}, {what}" for name in columns for what in WHATS]
    lines = [["backend", "units", "rows", *names], ["---", *["---:"] * (2 + len(names))]]
    sizes = {(row["backend"], row["units"], row["batch"]) for row in rows}
    for size in sorted(sizes, key=lambda size: (list(BACKENDS).index(size[0]), *size[1:])):
        alike = [row for row in rows if (row["backend"], row["units"], row["batch"]) == size]
        line = list(map(str, size))
        for of in columns.values():
            for what in WHATS:
                values = [of(row["ratios"]) for row in alike if row["what"] == what]
                values = [value for value in values if value is not None]
                line.append(f"{statistics.geometric_mean(values):.2f} ({min(values):.2f})")
        lines.append(line)
    return markdown(lines)


if __name__ == "__main__":
    found = json.loads(pathlib.Path(sys.argv[1]).read_text())
    print(table(found), *summary(found), sep="\n\n")
