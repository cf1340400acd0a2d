"""The gradients that the engine forms itself are those of a loop whose products are the backend's own."""

import importlib
import inspect
import itertools
import json
import math
import re
import subprocess
import sys
import threading
import types

import keras
import numpy as np
import pytest
from keras import ops, tree

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import flatten_layers, takes_training
from keras_adaptive_rnn._products import plain_matmul, product_per_layer
from keras_adaptive_rnn.cells import Run
from keras_adaptive_rnn.engine import base, tuning
from keras_adaptive_rnn.engine.target import tracing_for
from keras_adaptive_rnn.testing.case import Case
from tests.backends import dealt, in_turns, nightly, one_in
from tests.table import CELLS, OPTIONS

# One weight for several rows of inputs: the blocks of an untied low-rank map share a factor.
SHARED = {
    "adaptive_rnn_shared": lambda: kar.AdaptiveRNNCell(
        4, policy_units=2, tied=False, recurrent_map=kar.maps.LowRank(2, tied=True)
    )
}
ALL = {**CELLS, **OPTIONS, **SHARED}
# Products of every shape, weights outside the maps, noise, and cells of Keras inside.
NAMES = [
    "adaptive_lstm",
    *SHARED,
    "deep_rnn",
    "gru_reset_before",
    "low_rank_lstm",
    "mogrifier_around_keras",
    "recurrent_highway",
    "weight_drop_lstm",
    "zoneout",
]
# Sizes from which each backend computes in another way.
BOUNDS = ("BATCHED_GRADIENT_ENTRIES", "DEFERRED_GRADIENT_ENTRIES", "HALVED_MULTIPLICATIONS")
BACKEND = importlib.import_module(f"keras_adaptive_rnn.engine.{keras.backend.backend()}")


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch):
    for name in ("RECOMPUTED_STEPS", "BACKWARD_STEPS"):
        monkeypatch.setattr(tuning, name, 3)
    monkeypatch.setattr(tuning, "GRADIENT_ROWS", 4)
    for name in BOUNDS:
        monkeypatch.setattr(tuning, name, 0)


def loss_and_gradients(cell, **kwargs):
    keras.utils.set_random_seed(1)
    case = Case(cell(), (2, 7, 4))
    layer = case.layer(kar.RNN, **kwargs)
    mask = np.array([[True] * 7, [True, True, False, True, True, False, False]])
    weights = ops.convert_to_tensor(np.random.default_rng(2).normal(size=(2, 7, case.output_size)).astype("float32"))

    def loss(inputs, *states):
        states = tree.pack_sequence_as(layer.get_initial_state(2), list(states))
        outputs, *last = layer(inputs, initial_state=states, mask=mask, training=True)
        return ops.sum(outputs * weights) + sum(ops.sum(ops.square(s)) for s in tree.flatten(last))

    value, by_variable, by_tensor = engine.gradients(
        loss, layer.trainable_variables, [case.inputs, *case.states], compiled=True
    )
    return [value, *(np.float32(0) if g is None else g for g in [*by_variable, *by_tensor])]


@in_turns
@pytest.mark.parametrize("name", NAMES)
def test_gradients_formed_in_few_products_are_the_same(name, monkeypatch):
    formed = [loss_and_gradients(ALL[name], recompute=recompute) for recompute in (False, True)]
    for bound in BOUNDS:
        monkeypatch.setattr(tuning, bound, math.inf)
    formed.append(loss_and_gradients(ALL[name]))
    monkeypatch.setattr(Run, "matmul", lambda run, a, kernel: product_per_layer(plain_matmul, a, kernel))
    plain = loss_and_gradients(ALL[name])
    for found in formed:
        for a, b in zip(plain, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5 * max(1, np.abs(a).max()))


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the other backends ask where a program is compiled")
def test_only_a_cpu_forms_the_gradient_of_a_weight_once():
    import torch

    from keras_adaptive_rnn.engine.torch import Products

    made = {}
    for device in ("cpu", "meta"):
        x, kernel = (torch.ones(300, 300, device=device, requires_grad=True) for _ in range(2))
        made[device] = type(Products(8)(x, kernel).grad_fn).__name__
    assert made == {"cpu": "MatmulDeferredBackward", "meta": "MmBackward0"}


def test_large_weights_in_another_form_train_alike(monkeypatch):
    """PyTorch packs weights from a size on that no other test reaches; the others compile."""
    for name in ("REORDERED_ENTRIES", "REORDERED_STEPS"):
        monkeypatch.setattr(tuning, name, 1)
    monkeypatch.setattr(tuning, "REORDERED_VENDOR", "")
    case = Case(kar.MogrifierCell(5, rounds=2), (12, 6, 4))
    trained = []
    for rnn in (kar.RNN, keras.layers.RNN):
        model = keras.Sequential([keras.Input(case.inputs.shape[1:]), rnn(case.cell())])
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=keras.backend.backend() != "torch")
        model.train_on_batch(case.inputs, case.inputs[:, 0, :1])
        trained.append([*model.get_weights(), model.predict_on_batch(case.inputs)])
    for a, b in zip(*trained, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


LOOPS = [(False, False), (True, False), *([] if keras.backend.backend() == "torch" else [(True, True)])]


@pytest.mark.parametrize(("recompute", "jit"), LOOPS)
def test_a_length_that_no_graph_knows_trains_alike(recompute, jit):
    rng = np.random.default_rng(0)
    case = Case(kar.MogrifierCell(4, rounds=2), (2, 7, 3))
    batches = [tuple(rng.normal(size=(2, steps, n)).astype("float32") for n in (3, 4)) for steps in (3, 8)]
    trained = []
    for rnn, options, compiled in ((kar.RNN, {"recompute": recompute}, jit), (keras.layers.RNN, {}, False)):
        model = keras.Sequential([keras.Input((None, 3)), rnn(case.cell(), return_sequences=True, **options)])
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=compiled)
        model.fit((batch for batch in batches), steps_per_epoch=len(batches), verbose=0)
        trained.append(model.get_weights())
    for a, b in zip(*trained, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("recompute", [False, True])
def test_no_steps_have_a_gradient_of_zero(recompute):
    layer = kar.RNN(kar.LSTMCell(3), recompute=recompute)
    layer.build((2, None, 4))

    def loss(x):
        return ops.sum(layer(x, training=True))

    value, by_variable, _ = engine.gradients(
        loss, layer.trainable_variables, [np.zeros((2, 0, 4), "float32")], compiled=True
    )
    assert float(value) == 0
    assert all(g is None or not np.any(ops.convert_to_numpy(g)) for g in by_variable)


NO_STEPS = {
    "lstm": lambda **kwargs: kar.LSTM(3, **kwargs),
    "stack": lambda **kwargs: kar.LSTM([3] * 3, **kwargs),
    "deep_rnn": lambda **kwargs: kar.DeepRNN(3, depth=9, **kwargs),
    "of_keras": lambda **kwargs: kar.RNN(keras.layers.GRUCell(3), **kwargs),
    "skip": lambda **kwargs: kar.RNN(kar.SkipCell(kar.GRUCell(3)), return_decisions=True, **kwargs),
    "skim": lambda **kwargs: kar.RNN(kar.SkimCell(kar.LSTMCell(3), kar.LSTMCell(2)), return_decisions=True, **kwargs),
    "variable": lambda **kwargs: kar.RNN(kar.VariableComputationCell(3), return_decisions=True, **kwargs),
}


NO_STEPS_OPTIONS = [{}, {"unroll": True}, {"recompute": True}]


@pytest.mark.parametrize(("name", "options"), dealt(itertools.product(NO_STEPS, NO_STEPS_OPTIONS)), ids=str)
def test_no_steps_change_no_state(name, options):
    layer = NO_STEPS[name](return_sequences=True, return_state=True, **options)
    layer.build((2, 0, 4))
    rng = np.random.default_rng(0)
    states = [rng.normal(size=s.shape).astype("float32") for s in tree.flatten(layer.get_initial_state(2))]
    for training in (False, True):
        outputs, *rest = layer(np.zeros((2, 0, 4), "float32"), initial_state=states, training=training)
        assert tuple(outputs.shape) == (2, 0, 3)
        for old, new in zip(states, rest, strict=False):
            np.testing.assert_array_equal(ops.convert_to_numpy(new), old)
        assert [tuple(decisions.shape) for decisions in rest[len(states) :]] == [(2, 0)] * layer.return_decisions
    layer.return_sequences = False
    output = ops.convert_to_numpy(layer(np.zeros((2, 0, 4), "float32"), initial_state=states)[0])
    assert any(np.array_equal(output, state) for state in states)


@pytest.mark.parametrize("return_sequences", [False, True])
def test_a_model_trains_and_predicts_without_a_step(return_sequences):
    x = np.zeros((2, 0, 4), "float32")
    model = keras.Sequential([keras.Input((None, 4), batch_size=2), kar.LSTM(3, return_sequences=return_sequences)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    y = model.predict(x, verbose=0)
    assert y.shape == ((2, 0, 3) if return_sequences else (2, 3))
    if keras.backend.backend() == "tensorflow":
        return  # `fit` makes a graph of unknown batch size, in which TensorFlow cannot stack the gradients of no step.
    model.fit(x, y, verbose=0)
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_threads_share_a_compiled_function(monkeypatch):
    """Eight at once, all of which meet a new function, and shapes that push out each other's traces."""
    monkeypatch.setattr(tuning, "TRACED_SHAPES", 1)
    switch_interval = sys.getswitchinterval()
    layer = keras.layers.Dense(3)
    layer.build((None, 4))
    kernel, bias = layer.get_weights()
    errors = []

    def run(seed, function, start):
        rng = np.random.default_rng(seed)
        start.wait()
        for _ in range(15):
            x = rng.normal(size=(rng.integers(1, 4), 4)).astype("float32")
            try:
                with engine.inference():
                    (y,) = function([ops.convert_to_tensor(x)])
                np.testing.assert_allclose(ops.convert_to_numpy(y), x @ kernel + bias, rtol=1e-5, atol=1e-5)
            except Exception as error:
                errors.append(error)

    sys.setswitchinterval(1e-6)
    try:
        for repeat in range(2):
            function, start = engine.compiled(lambda x: [layer(x[0])], layer, True), threading.Barrier(8)
            threads = [threading.Thread(target=run, args=(8 * repeat + k, function, start)) for k in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(switch_interval)
    assert not errors, errors[:3]


# Names of each library that its next version may not have.
PRIVATE = {
    "jax": [],
    "tensorflow": [
        "tensorflow.compiler.tf2xla.python.xla.optimization_barrier",
        "tensorflow.python.eager.record.could_possibly_record",
        "tensorflow.__internal__.FuncGraph",
        "tensorflow.__internal__.get_enclosing_xla_context",
    ],
    "torch": [
        "torch._C._functorch.maybe_current_level",
        "torch._C._current_graph_task_id",
        "torch.ops.mkldnn._linear_pointwise",
    ],
}[keras.backend.backend()]


def found_module(path):
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        parent, _, last = path.rpartition(".")
        return getattr(found_module(parent), last)


def trained_and_predicted():
    """Returns what depends on every private name: weights trained with XLA, predictions with and without decisions."""
    keras.utils.set_random_seed(1)
    x = np.random.default_rng(0).normal(size=(12, 4, 3)).astype("float32")
    layers = [kar.ElmanCell(4), kar.VariableComputationCell(4)]
    model = keras.Sequential([keras.Input(x.shape[1:]), *(kar.RNN(cell, return_sequences=True) for cell in layers)])
    model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=keras.backend.backend() != "torch")
    model.train_on_batch(x, np.tanh(x[:, :, :1]))
    return [*model.get_weights(), model.predict_on_batch(x)]


@pytest.fixture(scope="module")
def with_private_names():
    with pytest.MonkeyPatch.context() as patch:
        for bound in ("REORDERED_ENTRIES", "REORDERED_STEPS"):
            patch.setattr(tuning, bound, 1)
        patch.setattr(tuning, "REORDERED_VENDOR", "")
        yield trained_and_predicted()


@pytest.mark.parametrize("name", PRIVATE)
def test_without_a_private_name_the_numbers_are_the_same(name, with_private_names, monkeypatch):
    internals = importlib.import_module(f"keras_adaptive_rnn.engine._{keras.backend.backend()}_internals")
    path, _, last = name.rpartition(".")
    with monkeypatch.context() as gone:
        if path == "torch.ops.mkldnn":
            # It would find an operator again.
            gone.setattr("torch.ops.mkldnn", types.SimpleNamespace(_reorder_linear_weight=None))
        else:
            gone.delattr(found_module(path), last)
        with pytest.warns(UserWarning, match=re.escape(f"`{name}`")) as warned:
            importlib.reload(internals)
    try:
        # Another warning would be an error.
        found = trained_and_predicted()
    finally:
        importlib.reload(internals)
    assert len(warned) == 1
    for a, b in zip(with_private_names, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


WITHOUT_KERAS = """
import importlib, json, sys, warnings
import keras, numpy as np

gone = [name.rsplit(".", 1) for name in sys.argv[1:]]
modules = [importlib.import_module(module) for module, _ in gone]
kept = [module.__dict__.pop(name) for module, (_, name) in zip(modules, gone)]
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    import keras_adaptive_rnn as kar
    [importlib.import_module(f"keras_adaptive_rnn.{name}") for name in ("_keras", f"engine.{keras.backend.backend()}")]
for module, (_, name), value in zip(modules, gone, kept):
    setattr(module, name, value)

keras.utils.set_random_seed(1)
x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
inside = kar.ZoneoutCell(cell=keras.layers.GRUCell(2))
layers = [kar.LSTM(3, dropout=0.5, seed=1, return_sequences=True), kar.RNN(inside)]
model = keras.Sequential([keras.Input(x.shape[1:]), keras.layers.Masking(), *layers])
model.compile(keras.optimizers.SGD(0.5), "mse")
model.train_on_batch(x, x[:, 0, :1])
output, _ = layers[0].step(x[:, 0])
found = [*model.get_weights(), model.predict_on_batch(x), keras.ops.convert_to_numpy(output)]
texts = [str(w.message) for w in warned if "keras_adaptive_rnn" in str(w.message)]
print(json.dumps([texts, [a.tolist() for a in found]]))
"""
OF_KERAS = [
    "keras.src.backend.common.variables.AutocastScope",
    "keras.src.backend.common.masking.get_keras_mask",
    "keras.src.backend.common.stateless_scope.in_stateless_scope",
    "keras.src.layers.rnn.dropout_rnn_cell.DropoutRNNCell",
    "keras.src.trainers.trainer.model_supports_jit",
]


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="Keras is the same on every backend")
@nightly
def test_without_private_names_of_keras_the_numbers_are_the_same():
    results = []
    for gone in ([], OF_KERAS):
        process = subprocess.run([sys.executable, "-c", WITHOUT_KERAS, *gone], capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        results.append(json.loads(process.stdout.splitlines()[-1]))
    (no_warnings, expected), (warned, found) = results
    assert no_warnings == []
    # The class is found in another way.
    named = [next(name for name in OF_KERAS if name in text) for text in warned]
    assert sorted(named) == sorted([*OF_KERAS[:3], OF_KERAS[4]])
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


def test_the_backend_overrides_the_base():
    for name in base.__all__:
        expected = list(inspect.signature(getattr(base, name)).parameters)
        module = BACKEND if name in BACKEND.__all__ else base
        assert getattr(engine, name) is getattr(module, name)
        # A class of contexts of the backend has arguments of its own.
        if inspect.isfunction(getattr(module, name)):
            assert list(inspect.signature(getattr(module, name)).parameters) == expected, name
    assert set(BACKEND.__all__) <= set(base.__all__)


def test_layers_inside_are_found_without_keras(monkeypatch):
    layer = kar.RNN(kar.StackedCells([kar.LSTMCell(3, kernel_map=kar.maps.LowRank(2)), keras.layers.GRUCell(2)]))
    layer.build((2, 5, 4))
    expected = [{id(part) for part in layer._flatten_layers(recursive=recursive)} for recursive in (True, False)]
    monkeypatch.delattr(keras.Layer, "_flatten_layers")
    for recursive, parts in zip((True, False), expected, strict=True):
        found = flatten_layers(layer, recursive=recursive)
        assert found[0] is layer
        assert {id(part) for part in found} == parts
        assert flatten_layers(layer, include_self=False, recursive=recursive) == found[1:]


def test_what_takes_training():
    class Plain(keras.Layer):
        def call(self, inputs, states):
            return inputs, states

    assert takes_training(kar.LSTMCell(2))
    assert takes_training(keras.layers.LSTMCell(2))
    assert not takes_training(Plain())
    assert not takes_training(lambda inputs, states, training: (inputs, states))


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="names of operations of JAX")
def test_jax_knows_every_name_of_cheap_arithmetic():
    """One that was renamed would be kept for the gradient again, which is slower and breaks nothing."""
    import jax

    def function(x, y):
        a, b = jax.numpy.split(jax.numpy.concatenate([-x, y - x], -1) * 2 + 1, 2, -1)
        picked = jax.numpy.where(x > y, jax.numpy.maximum(a, 0), jax.numpy.minimum(b, y))
        total = jax.numpy.squeeze(picked[:, :1].T, 0).astype("float16").reshape((1, -1)) + x[0, 0]
        return total.sum() + jax.numpy.broadcast_to(picked[0], picked.shape).sum() + (x * x).sum()

    found = set()

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            found.add(equation.primitive.name)
            for value in equation.params.values():
                if hasattr(value, "jaxpr"):
                    walk(value.jaxpr)

    walk(jax.make_jaxpr(jax.grad(function))(np.ones((3, 3), "float32"), np.ones((3, 3), "float32")).jaxpr)
    assert found >= BACKEND.ARITHMETIC, BACKEND.ARITHMETIC - found


def squared_gradient(rnn):
    """Returns the gradient by the inputs of the squared gradient by the inputs."""
    case = Case(kar.LSTMCell(3), (2, 4, 2))
    layer = case.layer(rnn, return_state=False)
    if keras.backend.backend() == "jax":
        import jax

        first = jax.grad(lambda x: ops.sum(ops.square(layer(x))))
        return jax.grad(lambda x: ops.sum(ops.square(first(x))))(ops.convert_to_tensor(case.inputs))
    if keras.backend.backend() == "torch":
        import torch

        x = torch.tensor(case.inputs, requires_grad=True)
        (first,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0].detach()
    import tensorflow as tf

    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(layer(x) ** 2)
            squared = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return outer.gradient(squared, x)

    return second(tf.convert_to_tensor(case.inputs))


def test_second_derivatives_are_right_or_an_error():
    if keras.backend.backend() == "tensorflow":
        with pytest.raises(NotImplementedError, match="unroll=True"):
            squared_gradient(kar.RNN)
    else:
        ours, expected = (ops.convert_to_numpy(squared_gradient(rnn)) for rnn in (kar.RNN, keras.layers.RNN))
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def gradient_of_squared_gradients(layer, x):
    """Returns the gradients, by inputs and weights, of the sum of all squared gradients."""
    if keras.backend.backend() == "jax":
        import jax

        weights, others = ([v.value for v in of] for of in (layer.trainable_variables, layer.non_trainable_variables))

        def loss(x, weights):
            return ops.sum(layer.stateless_call(weights, others, x)[0] ** 2)

        def penalty(*args):
            return sum(ops.sum(g**2) for g in jax.tree.leaves(jax.grad(loss, argnums=(0, 1))(*args)))

        return jax.tree.leaves(jax.grad(penalty, argnums=(0, 1))(ops.convert_to_tensor(x), weights))
    import torch

    wanted = [torch.tensor(x, requires_grad=True), *(v.value for v in layer.trainable_variables)]
    first = torch.autograd.grad(layer(wanted[0]).square().sum(), wanted, create_graph=True)
    return [g.detach() for g in torch.autograd.grad(sum(g.square().sum() for g in first), wanted)]


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="raises an error, as tested above")
@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("cell", [kar.LSTMCell, kar.MogrifierCell], ids=lambda cell: cell.__name__)
def test_second_derivatives_by_weights_whose_gradient_is_formed_in_few_products(cell, recompute):
    plain = keras.layers.RNN(cell(4))
    x = np.random.default_rng(0).normal(size=(2, 8, 3)).astype("float32")
    plain.build(x.shape)
    ours = kar.RNN(plain.cell, recompute=recompute)
    ours.build(x.shape)
    for a, b in zip(*(gradient_of_squared_gradients(layer, x) for layer in (ours, plain)), strict=True):
        a, b = ops.convert_to_numpy(a), ops.convert_to_numpy(b)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * max(1, np.abs(b).max()))


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="others have no graph to go through twice")
def test_recomputed_steps_can_be_differentiated_again():
    import torch

    x = torch.tensor(np.random.default_rng(0).normal(size=(2, 8, 3)).astype("float32"), requires_grad=True)
    found = []
    plain = kar.LSTM(4)
    for layer in (plain, kar.RNN(plain.cell, recompute=True)):
        output = layer(x)
        found.append([torch.autograd.grad(output[:, k].sum(), x, retain_graph=True)[0] for k in (0, 1)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="fuses no product with a sum")
def test_no_sum_of_a_product_and_a_single_row_looks_like_a_bias():
    """Whether TensorFlow fuses them depends on the processor, so the graph itself is read."""
    import tensorflow as tf

    layer = kar.LSTM(1, recompute=True)
    layer.build((None, None, 1))

    @tf.function(input_signature=[tf.TensorSpec((None, None, 1))], autograph=False)
    def gradients(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(layer(x, training=True))
        return tape.gradient(y, [v.value for v in layer.trainable_variables])

    graphs, known, sums = [gradients.get_concrete_function().graph], set(), []
    while graphs:
        graph = graphs.pop()
        for name, function in graph._functions.items():
            if name not in known:
                known.add(name)
                graphs.append(function.graph)
        sums += [op.inputs for op in graph.get_operations() if op.type in ("Add", "AddV2")]
    for pair in sums:
        for product, other in itertools.permutations(pair, 2):
            assert not (product.op.type == "MatMul" and other.shape.rank == 2 and other.shape[0] == 1), pair


TRACED = {
    "mogrifier": lambda: kar.MogrifierCell(4, rank=2),
    "low_rank_lstm": lambda: kar.LowRankLSTMCell(4, rank=2),
    "lstm": lambda: kar.LSTMCell(4),
    "gru": lambda: kar.GRUCell(4),
    "adaptive_lstm": lambda: kar.AdaptiveLSTMCell(4, policy_units=3),
    "deep_rnn": lambda: kar.DeepRNNCell(4, depth=3),
    "stack": lambda: kar.StackedCells([kar.LSTMCell(4), kar.ElmanCell(4)]),
    "min_gru": lambda: kar.MinGRUCell(4),
}


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX traces for another platform than it runs on")
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", one_in(2, TRACED))
def test_what_is_traced_for_a_gpu_computes_the_same(name, dtype, rng):
    layer = kar.RNN(TRACED[name](), return_sequences=True, dtype=dtype)
    x = rng.normal(size=(2, 7, 3)).astype("float32")
    layer.build(x.shape)
    found = []
    for platform in ("cpu", "gpu"):
        with tracing_for(platform):
            gradients = engine.gradients(
                lambda x: ops.sum(ops.square(ops.cast(layer(x, training=False), "float32"))),
                layer.trainable_variables,
                [x],
                compiled=True,
            )
        found.append(keras.tree.flatten(gradients))
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 0.05, "atol": 0.05}
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(np.asarray(one, "float32"), np.asarray(other, "float32"), **tolerance)


@pytest.mark.parametrize(
    ("make", "schedule"),
    [
        (lambda: kar.LowRankGRUCell(4, rank=2, diagonal=True, reset_after=False), "auto"),
        (lambda: kar.VariableComputationCell(6, core="gru", recurrent_map=kar.maps.LowRank(3)), "auto"),
        (lambda: kar.StackedCells([kar.LowRankLSTMCell(4, rank=3) for _ in range(3)]), "wavefront"),
    ],
)
def test_low_rank_blocks_are_one_product_on_a_gpu(make, schedule, monkeypatch):
    case, found = Case(make(), (2, 5, 4)), []
    for where in (False, True):
        monkeypatch.setattr(engine, "on_accelerator", lambda tensor, where=where: where)
        layer = kar.RNN(case.cell(), return_sequences=True, schedule=schedule)
        found.append(keras.Sequential([layer]).predict(case.inputs, verbose=0))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX traces for another platform than it runs on")
@pytest.mark.parametrize("name", one_in(2, ["mogrifier", "gru"]))
def test_second_derivatives_of_what_is_traced_for_a_gpu(name, rng):
    import jax

    layer, x = kar.RNN(TRACED[name](), return_sequences=True), rng.normal(size=(2, 5, 3)).astype("float32")
    layer.build(x.shape)
    values, others = ([v.value for v in group] for group in (layer.trainable_variables, layer.non_trainable_variables))
    mask = np.array([[True] * 5, [True, True, True, False, False]])

    def of_platform(platform):
        def loss(values, x):
            return ops.sum(ops.square(layer.stateless_call(values, others, x, mask=mask)[0]))

        def norm(values, x):
            return sum(ops.sum(ops.square(each)) for each in jax.tree.leaves(jax.grad(loss, argnums=(0, 1))(values, x)))

        with tracing_for(platform):
            return jax.jit(jax.grad(norm, argnums=(0, 1)))(values, x)

    for one, other in zip(*(jax.tree.leaves(of_platform(platform)) for platform in ("cpu", "gpu")), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="a version of JAX's compiler")
def test_a_compiler_of_wrong_numbers_is_told_of(recwarn):
    for version, flags in (("0.10.1", ""), ("0.10.2", "--xla_cpu_experimental_ynn_fusion_type=")):
        engine.jax.warn_of_wrong_numbers(version, flags)
    assert not recwarn
    with pytest.warns(UserWarning, match=r'jaxlib 0\.10\.2.*pip install "jax!=0\.10\.2"'):
        engine.jax.warn_of_wrong_numbers("0.10.2", "--xla_cpu_multi_thread_eigen=false")


@nightly
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow's optimizer of memory")
def test_the_xlstm_trains_twice_on_thousands_of_steps(rng):
    """TensorFlow left a temporary variable of the first step behind: a sum of three that read a loop variable."""
    model = keras.Sequential([keras.Input((4000, 256)), kar.SLSTM(256, return_sequences=True)])
    model.compile("adam", "mse")
    x, y = rng.normal(size=(20, 4000, 256)).astype("float32"), np.zeros((20, 4000, 256), "float32")
    losses = [model.train_on_batch(x, y) for _ in range(2)]
    assert losses[1] < losses[0]
