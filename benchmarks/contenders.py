"""What is timed: a cell in our loop and in Keras's, what a user has without it, and the products of any loop."""

import collections
import math

import keras
import numpy as np
from keras import ops

import keras_adaptive_rnn as kar
from benchmarks import NAMES, OF_PYTORCH, plain
from keras_adaptive_rnn import _run, engine
from keras_adaptive_rnn.cells.bases.any_cell import initial_states, parts_of

CELLS = {
    "LSTM": lambda units: kar.LSTMCell(units),
    "GRU": lambda units: kar.GRUCell(units),
    "Elman": lambda units: kar.ElmanCell(units),
    "Mogrifier": lambda units: kar.MogrifierCell(units, rounds=5, rank=min(64, units)),
    "MultiplicativeLSTM": lambda units: kar.MultiplicativeLSTMCell(units),
    "AdaptiveLSTM": lambda units: kar.AdaptiveLSTMCell(units, policy_units=100),
    "AdaptiveRNN": lambda units: kar.AdaptiveRNNCell(units, policy_units=100),
    "MinGRU": lambda units: kar.MinGRUCell(units),
    "MinLSTM": lambda units: kar.MinLSTMCell(units),
    "RGLRU": lambda units: kar.RGLRUCell(units),
    "SLSTM": lambda units: kar.SLSTMCell(units),
    "MLSTM": lambda units: kar.MLSTMCell(units),
    "GatedDeltaNet": lambda units: kar.GatedDeltaNetCell(units),
    "LowRankGRU": lambda units: kar.LowRankGRUCell(units, rank=min(64, units)),
    "LowRankLSTM": lambda units: kar.LowRankLSTMCell(units, rank=min(64, units)),
    "RecurrentHighway": lambda units: kar.RecurrentHighwayCell(units, depth=5),
    "DeepRNN": lambda units: kar.DeepRNNCell(units, depth=8),
    "GridLSTM": lambda units: kar.GridLSTMCell(units, depth=2),
    "WeightDropLSTM": lambda units: kar.WeightDropLSTMCell(units, recurrent_weight_dropout=0.5),
    "Zoneout": lambda units: kar.ZoneoutCell(units, zoneout=[0.05, 0.5]),
    "stack": lambda units: kar.StackedCells([kar.LSTMCell(units), kar.LSTMCell(units)]),
}


JIT = {"auto": "auto", "on": True, "off": False}


def device():
    """Returns where Keras computes, `"cpu"` or `"gpu"`."""
    where = str(ops.convert_to_tensor(0.0).device).lower()
    return "gpu" if "gpu" in where or "cuda" in where else "cpu"


def contenders(job, wanted, jit="auto"):
    """Returns by name, for each of `wanted` that there is, a train step and a prediction.

    A train step is forward, mean squared error, backward and Adam's update; it returns a number. A prediction returns
    the outputs of all steps. Both take NumPy arrays and give NumPy values, so their time holds the whole computation.

    Args:
        job: Dict of `cell`, a key of `CELLS`, `units`, which is also the size of the inputs, `batch` and `steps`.
        wanted: Some of `NAMES`. Those that do not exist for the cell, or do not run here, are left out.
        jit: Keras's `jit_compile`, a key of `JIT`.
    """
    units, batch, steps = job["units"], job["batch"], job["steps"]
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(batch, steps, units)).astype("float32") for _ in range(2))
    make = CELLS[job["cell"]]
    ours = kar.RNN(make(units), return_sequences=True, graphs=False)
    ours.build(x.shape)
    weights = ours.get_weights()

    def compiled(layer, weights=None):
        model = keras.Sequential([keras.Input((steps, units), batch_size=batch), layer])
        model.compile("adam", "mse", jit_compile=JIT[jit])
        if weights is not None:
            model.set_weights(weights)
        return {"train": lambda: model.train_on_batch(x, y), "predict": lambda: model.predict_on_batch(x)}

    cell, layer = plain.CELLS.get(job["cell"]), plain.LAYERS.get(job["cell"])
    known = {
        "ours": lambda: compiled(ours),
        "graph": lambda: compiled(kar.RNN(make(units), return_sequences=True, graphs=True), weights),
        "recompute": lambda: compiled(kar.RNN(make(units), return_sequences=True, recompute=True), weights),
        "persistent": lambda: compiled(kar.RNN(make(units), return_sequences=True, schedule="persistent"), weights),
        "keras": lambda: compiled(keras.layers.RNN(make(units), return_sequences=True), weights),
        "keras_lstm": lambda: compiled(keras.layers.LSTM(units, return_sequences=True)),
        "keras_alone": lambda: compiled(Alone(units, weights), weights),
        "products": lambda: multiplications(ours.cell, batch, steps),
    }
    if cell is not None:
        known["keras_plain"] = lambda: compiled(keras.layers.RNN(cell(units), return_sequences=True), weights)
    if layer is not None:
        known["keras_layer"] = lambda: compiled(layer(units, return_sequences=True), weights)
    if set(wanted) & set(OF_PYTORCH):
        from benchmarks import pytorch

        known |= pytorch.contenders(job["cell"], x, y, weights)
    made = {name: known[name]() for name in NAMES if name in wanted and name in known}
    return {name: actions for name, actions in made.items() if actions is not None}


class Alone(keras.Layer):
    """A layer with the weights of another one and no time loop: what is left is what Keras does around a layer."""

    def __init__(self, units, like):
        super().__init__()
        self.units, self.shapes = units, [each.shape for each in like]

    def build(self, input_shape):
        for k, shape in enumerate(self.shapes):
            self.add_weight(shape=shape, name=f"weight_{k}")

    def call(self, inputs):
        scale = sum(ops.reshape(weight, (-1,))[0] for weight in self.weights)
        return scale * inputs[..., : self.units]


def products(cell, batch):
    """Returns the shapes of the factors of each product with a weight in one step, and whether the first is the data.

    The data need no gradient: a train step forms that of the product by its weight alone.
    """
    x = ops.zeros((batch, cell.input_size), dtype=cell.compute_dtype)
    found = []

    def matmul_impl(a, kernel):
        found.append((tuple(a.shape), tuple(kernel.shape), a is x))
        return ops.matmul(a, kernel)

    # What is prepared for a sequence is no part of a step.
    with engine.inference():
        run = _run.start(parts_of(cell), batch, False, cell.compute_dtype).changed(matmul_impl=matmul_impl)
        cell.step(cell.project(x, run), initial_states(cell, batch, cell.compute_dtype), run)
    return found


def multiplications(cell, batch, steps):
    """Returns actions that form the products of a train step and of a prediction, and nothing else.

    Each is formed for all steps at once, out of matrices that lie as they are read: as fast as this backend can, which
    a loop cannot, as its next state is not known before the last one.
    """
    shapes = {"train": collections.Counter(), "predict": collections.Counter()}
    for a, (*blocks, inputs, outputs), is_data in products(cell, batch):
        rows = steps * math.prod(a[:-1]) // math.prod(blocks)
        forward, by_input, by_weight = (rows, inputs, outputs), (rows, outputs, inputs), (inputs, rows, outputs)
        shapes["predict"][*blocks, *forward] += 1
        for shape in (forward, by_weight) if is_data else (forward, by_weight, by_input):
            shapes["train"][*blocks, *shape] += 1

    product = backend_product()

    def action(counts):
        operands = [
            (keras.random.normal((*blocks, m, k)), keras.random.normal((*blocks, k, n)), count)
            for (*blocks, m, k, n), count in counts.items()
        ]

        def multiply():
            for a, b, count in operands:
                for _ in range(count):
                    result = product(a, b)
                    if hasattr(result, "block_until_ready"):
                        # JAX would run products that do not need each other side by side.
                        result.block_until_ready()
            ops.convert_to_numpy(result[..., -1, -1])

        return multiply

    return {what: action(counts) for what, counts in shapes.items()}


def backend_product():
    """Returns the backend's own product, without what Keras does around it: a small one takes less time than that."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(jax.numpy.matmul)
    if keras.backend.backend() == "tensorflow":
        import tensorflow

        return tensorflow.matmul
    import torch

    return torch.matmul


def streaming_contenders(job, jit="auto"):
    """Returns by name functions that read `steps` steps one by one, and return the output of each.

    `ours` is `layer.step`; `keras` is Keras's `RNN` called on one step with the last states, `keras_model` a compiled
    model around it, whose `predict_on_batch` takes and gives the states, `keras_compiled` the same call in a function
    that the user has compiled by means of JAX or TensorFlow.
    """
    units, batch, steps = job["units"], job["batch"], job["steps"]
    xs = np.random.default_rng(0).normal(size=(steps, batch, 1, units)).astype("float32")
    make = CELLS[job["cell"]]
    ours = kar.RNN(make(units))
    ours.build((batch, None, units))
    theirs = keras.layers.RNN(make(units), return_state=True)
    first = ours.get_initial_state(batch)
    state_inputs = [keras.Input(state.shape[1:], batch_size=batch) for state in first]
    inputs = keras.Input((1, units), batch_size=batch)
    model = keras.Model([inputs, *state_inputs], theirs(inputs, initial_state=state_inputs))
    model.compile(jit_compile=JIT[jit])
    model.set_weights(ours.get_weights())

    def step_of_ours(x, states):
        return ours.step(x[:, 0], states)

    def step_of_keras(x, states):
        output, *states = theirs(x, initial_state=states)
        return output, states

    def step_of_model(x, states):
        output, *states = model.predict_on_batch([x, *map(ops.convert_to_numpy, states)])
        return output, states

    compiled = engine.compiled(step_of_keras, theirs, True)

    def reader(step):
        def read():
            outputs, states = [], first
            with engine.inference():
                for x in xs:
                    output, states = step(x, states)
                    outputs.append(ops.convert_to_numpy(output))
            return np.stack(outputs)

        return read

    steps = {"ours": step_of_ours, "keras": step_of_keras, "keras_model": step_of_model}
    if keras.backend.backend() != "torch":
        steps["keras_compiled"] = compiled
    return {name: reader(step) for name, step in steps.items()}
