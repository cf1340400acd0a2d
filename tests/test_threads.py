"""Many threads use one model: no error and no wrong number, from the first call on.

The threads call the model as a server would: with `predict` on TensorFlow and PyTorch, with a compiled `stateless_call`
on JAX. Keras's `predict` on JAX takes the weights away from the model while it runs, whatever the layers.
`keras.layers.LSTM` runs the same tests.
"""

import sys
import threading

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import analysis
from tests.backends import RUNS_ALL, dealt
from tests.table import LAYERS, MODELS

BACKEND = keras.backend.backend()
THREADS, CALLS, FEATURES = 8, 3, 4
SIZES = [(1, 5), (3, 7), (4, 7)]
ROWS = {
    "keras_lstm": lambda: keras.layers.LSTM(4),
    "stack": lambda: kar.LSTM([4] * 3),
    "wide_stack": lambda: kar.Mogrifier([16] * 4, rank=2),
    "deep_wavefront": lambda: kar.DeepRNN(4, depth=8, schedule="steps" if BACKEND == "tensorflow" else "wavefront"),
    "keras_cell": lambda: kar.RNN(kar.MogrifierCell(cell=keras.layers.GRUCell(4, dropout=0.2))),
    "two_deciding": lambda: kar.Skip(kar.StackedCells([kar.VariableComputationCell(4), kar.GRUCell(4)])),
    "in_keras_loop": lambda: keras.layers.RNN(kar.MogrifierCell(4)),
    **{name: make for name, make in LAYERS.items() if isinstance(make(), keras.layers.RNN)},
}
# Those whose run is the thread's current one, in a call as Keras makes it, run on every backend.
EVERYWHERE = ["keras_lstm", "keras_cell", "in_keras_loop"]
DEALT = [*EVERYWHERE, *(name for name in dealt(ROWS)[:: 1 if RUNS_ALL else 4] if name not in EVERYWHERE)]


@pytest.fixture(autouse=True)
def _switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(*actions):
    """Runs actions side by side, starting at the same time, and returns their results; the first error is raised."""
    start, results, errors = threading.Barrier(len(actions)), [None] * len(actions), []

    def run(k):
        try:
            start.wait()
            results[k] = actions[k]()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def numpy(structure):
    return [np.asarray(keras.ops.convert_to_numpy(tensor)) for tensor in keras.tree.flatten(structure)]


def served(model):
    """Returns the function by which a server calls a model on this backend."""
    if BACKEND == "torch":
        return lambda x: numpy(model.predict(x, verbose=0))
    if BACKEND == "tensorflow":
        # `predict` ends by waiting for all threads, in which TensorFlow has once aborted the process.
        return lambda x: numpy(model.predict_on_batch(x))
    import jax

    # Copies, as Keras's train step takes the buffers of the variables over.
    groups = model.trainable_variables, model.non_trainable_variables
    values = [[keras.ops.copy(v.value) for v in group] for group in groups]
    call = jax.jit(lambda x: model.stateless_call(*values, x, training=False)[0])
    return lambda x: numpy(call(x))


def close(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def check(call, data, expected=None):
    """Calls `call` on all data in each of many threads, in other orders, and compares every result."""

    def calls(k):
        return [(j % len(data), call(data[j % len(data)])) for j in range(k, k + CALLS)]

    results = in_threads(*(lambda k=k: calls(k) for k in range(THREADS)))
    expected = [call(x) for x in data] if expected is None else expected
    for result in results:
        for j, ours in result:
            close(ours, expected[j])


def inputs(rng):
    return [rng.normal(size=(batch, time, FEATURES)).astype("float32") for batch, time in SIZES]


@pytest.mark.parametrize("name", DEALT)
def test_a_layer_serves_many_threads_from_the_first_call_on(name, rng):
    model = keras.Sequential([keras.Input((None, FEATURES)), ROWS[name]()])
    check(served(model), inputs(rng))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_serves_many_threads(name, rng):
    model = MODELS[name]()
    data = [rng.integers(1, 9, size=(batch, 3 * time)) for batch, time in SIZES]
    # Built, as a loaded model is; Keras builds no model in two threads at once.
    model(data[0])
    check(served(model), data)


@pytest.mark.skipif(BACKEND == "jax", reason="JAX compiles an eager call anew each time, for a minute in eight threads")
@pytest.mark.parametrize("name", dealt([*EVERYWHERE, "stack", "skim", "variable_computation"]))
def test_eager_calls_in_many_threads(name, rng):
    layer = ROWS[name]()
    data = inputs(rng)
    layer.build(data[0].shape)
    check(lambda x: numpy(layer(x)), data)


@pytest.mark.parametrize("name", ["stack", "mogrifier", "skim", "variable_computation"])
def test_every_thread_takes_steps_with_states_of_its_own(name, rng):
    layer = ROWS[name]()
    data = inputs(rng)
    layer.build(data[0].shape)

    def steps(x):
        states, outputs = None, []
        for t in range(x.shape[1]):
            output, states = layer.step(x[:, t], states)
            outputs.append(output)
        return numpy(outputs[-1])

    check(steps, data)


@pytest.mark.parametrize("make", [lambda: kar.Mogrifier(4), lambda: kar.LSTM([4] * 3)], ids=["mogrifier", "stack"])
def test_a_trace_is_its_own_thread_s(make, rng):
    layer, data = make(), inputs(rng)
    layer.build(data[0].shape)

    def trace(x):
        found = analysis.trace(layer, x)
        return [found.outputs, *found.states, *(found.gates[name] for name in sorted(found.gates))]

    check(trace, data[:2])


@pytest.mark.parametrize(
    "make",
    # With a seed, as Keras draws from the generator that all threads share on PyTorch otherwise.
    [
        lambda: kar.LSTM([4] * 3, dropout=0.3, recurrent_dropout=0.3, seed=5),
        lambda: kar.Zoneout(4, zoneout=0.3, seed=5),
    ],
    ids=["stack", "zoneout"],
)
def test_training_beside_predictions(make, rng):
    def trained(beside=None):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((None, FEATURES)), make(), keras.layers.Dense(1)])
        # The weights stay as they are, so that every prediction is known.
        model.compile(keras.optimizers.SGD(0.0), "mse")
        call = served(model)
        x, y = np.linspace(-1, 1, 32 * 6 * FEATURES).reshape(32, 6, FEATURES), np.ones((32, 1))

        def fit():
            return model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0).history["loss"]

        if beside is None:
            return fit(), [call(x) for x in beside_data]
        losses, *found = in_threads(fit, *(lambda: [call(x) for x in beside * CALLS] for _ in range(3)))
        return losses, found

    beside_data = inputs(rng)[:2]
    alone, expected = trained()
    losses, found = trained(beside_data)
    # The noise of training is what it is alone: predictions draw none, and end no sequence but their own.
    np.testing.assert_allclose(losses, alone, rtol=1e-5)
    for results in found:
        for ours, theirs in zip(results, expected * CALLS, strict=True):
            close(ours, theirs)
