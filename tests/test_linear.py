"""Cells whose state is a linear recurrence run the same step by step and in a scan, and so does their gradient."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.testing.case import Case
from tests.backends import alternating

MASK = np.array([[True, True, False, True, False, True], [False, True, True, True, True, False]])


@keras.saving.register_keras_serializable("test_linear")
class GatedOutput(kar.cells.LinearCell):
    """A cell of a user, whose output is not its state."""

    gates = ("a", "b", "o")

    def coefficients(self, inputs, run):
        a, b, _ = self.split(self.affine(inputs, run))
        return ops.sigmoid(a), b

    def read_out(self, h, inputs, run):
        return ops.tanh(h) * ops.sigmoid(self.split(self.affine(inputs, run))[2])


CELLS = {
    "min_gru": lambda: kar.MinGRUCell(4, dropout=0.3, negative_eigenvalues=True, trainable_initial_state=True, seed=1),
    "min_lstm": lambda: kar.MinLSTMCell(4, dropout=0.3, kernel_map=kar.maps.LowRank(2), seed=1),
    "rg_lru": lambda: kar.RGLRUCell(4, dropout=0.3, seed=1),
    "stack": lambda: kar.StackedCells([kar.MinGRUCell(4), kar.RGLRUCell(3)], trainable_initial_state=True),
    "stack_skip": lambda: kar.StackedCells([kar.MinGRUCell(4), GatedOutput(4), kar.RGLRUCell(4)], connection="skip"),
    "stack_residual": lambda: kar.StackedCells(
        [kar.MinLSTMCell(4, dropout=0.3, seed=1), kar.RGLRUCell(4, dropout=0.3, seed=2)], connection="residual"
    ),
    "mlstm": lambda: kar.MLSTMCell(4, num_heads=2, dropout=0.3, trainable_initial_state=True, seed=1),
    "mlstm_exponential": lambda: kar.MLSTMCell(4, num_heads=2, forget_gate="exponential"),
    "delta": lambda: kar.GatedDeltaNetCell(4, num_heads=2, dropout=0.3, negative_eigenvalues=True, seed=1),
    "stack_mixed": lambda: kar.StackedCells([kar.LSTMCell(4, dropout=0.3, seed=1), kar.MinGRUCell(4)], "skip"),
    "adaptive": lambda: kar.AdaptiveLinearCell(4, 2, dropout=0.3, trainable_initial_state=True, seed=1),
    "stack_matrices": lambda: kar.StackedCells(
        [kar.MLSTMCell(4, num_heads=2), kar.GatedDeltaNetCell(4)], connection="residual"
    ),
    "gated_output": lambda: GatedOutput(4, dropout=0.3, seed=1),
}


def outcome(name, schedule, mask, **options):
    keras.utils.set_random_seed(1)
    case = Case(CELLS[name](), (2, 6, 3))
    layer = case.layer(kar.RNN, schedule=schedule, **options)

    def forward(inputs, states):
        return layer(inputs, initial_state=states, mask=mask, training=True)

    return case.gradients(forward, layer.trainable_variables)


@alternating
@pytest.mark.parametrize("options", [{}, {"go_backwards": True, "zero_output_for_mask": True}], ids=["", "backwards"])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("name", CELLS)
def test_a_scan_is_the_loop(name, mask, options):
    by_step = outcome(name, "steps", mask, **options)
    for schedule in ("scan", "associative"):
        for a, b in zip(by_step, outcome(name, schedule, mask, **options), strict=True):
            if a is None:
                # What does not matter: the output before the first step, trained states where others are given.
                a, b = 0, 0 if b is None else b
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("associative", [False, True])
def test_the_scan_of_long_sequences(associative):
    rng = np.random.default_rng(0)
    # TensorFlow, in no graph, takes a millisecond a step.
    steps = 5_000 if keras.backend.backend() == "tensorflow" else 50_000
    a, b = rng.uniform(-1, 1, size=(steps, 1, 8)), rng.normal(size=(steps, 1, 8))
    a[: steps // 2] = np.abs(a[: steps // 2]) ** 0.001
    h, states = np.ones((1, 8)), []
    for now, added in zip(a, b, strict=True):
        h = now * h + added
        states.append(h)
    a, b, h = (ops.convert_to_tensor(x.astype("float32")) for x in (a, b, np.ones((1, 8))))
    with engine.inference():
        found = ops.convert_to_numpy(engine.linear_scan(a, b, h, associative))
    scale = np.abs(states).max()
    np.testing.assert_allclose(found, np.stack(states), rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX knows the memory of a program before it runs")
def test_the_memory_of_a_scan():
    """A scan, and its gradient, hold twice their inputs and outputs at most."""
    import jax

    def gradients(*args):
        return jax.grad(lambda *args: ops.sum(engine.linear_scan(*args, False) ** 2), (0, 1, 2))(*args)

    args = np.ones((50, 8, 16), "float32"), np.ones((50, 8, 16), "float32"), np.ones((8, 16), "float32")
    for function in (lambda *args: engine.linear_scan(*args, False), gradients):
        memory = jax.jit(function).lower(*args).compile().memory_analysis()
        in_and_out = memory.argument_size_in_bytes + memory.output_size_in_bytes
        assert memory.temp_size_in_bytes < 1.01 * in_and_out


def test_which_schedule_runs():
    x = np.ones((2, 5, 3), "float32")
    layer = kar.MinGRU(4)
    layer(x)
    assert layer.running_schedule(2, training=True) == "scan"
    assert layer.running_schedule(2, training=False) == ("steps" if keras.backend.backend() == "jax" else "scan")
    assert kar.MinGRU(4, unroll=True).running_schedule(2) == "steps"
    assert kar.MinGRU(4, recompute=True).running_schedule(2) == "steps"
    # Its coefficients depend on the state.
    assert kar.RNN(kar.MogrifierCell(cell=kar.MinGRUCell(4))).running_schedule(2) == "steps"
    with pytest.raises(ValueError, match="`schedule` must be one of 'auto', 'steps'"):
        kar.LSTM(4, schedule="scan")


def test_a_step_of_its_own_is_no_scan():
    class Own(kar.MinGRUCell):
        def step(self, projected, states, run):
            output, states = super().step(projected, states, run)
            return 2 * output, [2 * states[0]]

    layer, keras_layer = kar.RNN(Own(4)), keras.layers.RNN(Own(4))
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    outputs = layer(x)
    keras_layer.build(x.shape)
    keras_layer.set_weights(layer.get_weights())
    assert layer.running_schedule(2) == "steps"
    np.testing.assert_allclose(
        ops.convert_to_numpy(outputs), ops.convert_to_numpy(keras_layer(x)), rtol=1e-5, atol=1e-6
    )


def test_second_derivatives():
    if keras.backend.backend() != "torch":
        pytest.skip("written with the backend's own functions")
    import torch

    rng = np.random.default_rng(0)
    tensors = [torch.tensor(rng.normal(size=size), requires_grad=True) for size in ((5, 2, 3), (5, 2, 3), (2, 3))]
    for associative in (False, True):
        assert torch.autograd.gradcheck(lambda *t, k=associative: engine.linear_scan(*t, k), tensors)
        assert torch.autograd.gradgradcheck(lambda *t, k=associative: engine.linear_scan(*t, k), tensors)


def large_then_zero(scale):
    x = np.zeros((2, 6, 3), "float32")
    x[:, :3] = scale * np.random.default_rng(0).normal(size=(2, 3, 3))
    return x


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("schedule", ["steps", "scan"])
def test_an_mlstm_divides_by_no_zero(schedule, dtype):
    """The query of zeros is zero, and so is, after a large gate, the number that the denominator is at least."""
    # The memory of float16 does not hold the squares of much larger numbers.
    x = large_then_zero(30 if dtype == "mixed_float16" else 1000)
    layer = kar.MLSTM(8, return_sequences=True, schedule=schedule, dtype=dtype, seed=0)
    outputs = ops.convert_to_numpy(ops.cast(layer(x), "float32"))
    assert np.isfinite(outputs).all()
    assert not outputs[:, 3:].any()
    if dtype == "float32":
        model = keras.Sequential([keras.Input((6, 3)), layer])
        model.compile("sgd", "mae")
        model.train_on_batch(x, np.ones((2, 6, 8)))
        assert all(np.isfinite(weight).all() for weight in model.get_weights())


@pytest.mark.parametrize("schedule", ["steps", "scan"])
def test_a_closed_gate_of_an_mlstm_is_no_masked_step(schedule):
    """Gates as far below zero as those of inputs that nobody standardized: nothing is written, and nothing learned."""
    layer = kar.MLSTM(8, return_sequences=True, schedule=schedule)
    model = keras.Sequential([keras.Input((6, 3)), layer])
    layer.cell.gate_bias.bias.assign(ops.full((8,), -6000.0))
    before = model.get_weights()
    model.compile("sgd", "mae")
    model.train_on_batch(np.ones((2, 6, 3)), np.ones((2, 6, 8)))
    for new, old in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize("schedule", ["steps", "scan"])
def test_gated_delta_net_normalizes_in_half_precision(schedule):
    """Squares of large numbers are infinite there, and the small number added to those of zeros vanishes."""
    x, layers = large_then_zero(500), {}
    for dtype in ("float32", "mixed_float16"):
        layers[dtype] = kar.GatedDeltaNet(256, return_sequences=True, schedule=schedule, dtype=dtype, seed=0)
        layers[dtype].build((None, None, 3))
        layers[dtype].set_weights(layers["float32"].get_weights())
    precise, half = (ops.convert_to_numpy(ops.cast(layer(x), "float32")) for layer in layers.values())
    np.testing.assert_allclose(half, precise, atol=0.02 * np.abs(precise).max())


# They forget so little that coefficients would be 1 in bfloat16.
LONG = {
    "min_gru": partial(kar.MinGRU, 8, bias_initializer=keras.initializers.Constant(-5)),
    "rg_lru": partial(kar.RGLRU, 8, min_decay=0.999, max_decay=0.9995),
    "delta": partial(kar.GatedDeltaNet, 64),
    "mlstm": partial(kar.MLSTM, 8, num_heads=2),
    "mlstm_exponential": partial(kar.MLSTM, 8, num_heads=2, forget_gate="exponential"),
}


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("name", LONG)
def test_a_thousand_steps_in_half_precision(name, dtype, rng):
    x, layers = rng.normal(size=(2, 1000, 3)).astype("float32"), []
    for policy in ("float32", dtype):
        layers.append(LONG[name](return_sequences=True, dtype=policy, seed=0))
        layers[-1].build((None, None, 3))
    layers[1].set_weights(layers[0].get_weights())
    precise, half = (ops.convert_to_numpy(ops.cast(layer(x), "float32")) for layer in layers)
    # Not the mean: the exponential forget gate divides by numbers near zero.
    assert np.median(np.abs(half - precise)) < 0.02 * np.median(np.abs(precise))
