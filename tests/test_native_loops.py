"""The layers in loops of PyTorch, JAX and TensorFlow, copies of them, and what `compile` and `fit` offer besides."""

import copy
import pickle
import sys

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _export, engine
from tests.backends import EVERY_ROW, dealt, in_turns, one_in
from tests.table import CELLS, LAYERS, OPTIONS

BACKEND = keras.backend.backend()
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(16, 5, 4)).astype("float32"), rng.normal(size=(16, 1)).astype("float32")


def array(tensor):
    return ops.convert_to_numpy(tensor)


def on(backend):
    return pytest.mark.skipif(backend != BACKEND, reason=f"a loop of {backend}")


def make_model(noise=0.3, **kwargs):
    keras.utils.set_random_seed(0)
    layers = [kar.Mogrifier(4, rounds=2, dropout=noise, seed=1, **kwargs), keras.layers.Dense(1)]
    return keras.Sequential([keras.Input((None, 4)), *layers])


def trained_by_keras(**kwargs):
    """The losses of `fit`, one batch at a time, and the weights after it."""
    model = make_model()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse", **kwargs)
    losses = [model.fit(X[k : k + 8], Y[k : k + 8], shuffle=False, verbose=0).history["loss"][0] for k in (0, 8)]
    return losses, model.get_weights()


def assert_same_training(losses, weights):
    expected_losses, expected = trained_by_keras()
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for ours, theirs in zip(weights, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


# Loops of each framework: the same training as `fit`, noise included.


@on("torch")
# The compiler itself looks at it.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
@pytest.mark.parametrize("compiler", [None, "aot_eager"])
def test_a_torch_loop(compiler):
    import torch

    model = make_model()
    data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    call = torch.compile(model, backend=compiler) if compiler else model
    losses = []
    for x, y in torch.utils.data.DataLoader(data, batch_size=8):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(call(x, training=True), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert_same_training(losses, model.get_weights())


@on("tensorflow")
def test_a_tensorflow_loop():
    import tensorflow as tf

    model = make_model()
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    losses = [float(step(x, y)) for x, y in tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)]
    assert_same_training(losses, model.get_weights())


@on("tensorflow")
@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_a_jacobian_in_a_tensorflow_graph(kind):
    import tensorflow as tf

    layer, x = kar.Mogrifier(3), tf.constant(X)

    def found(layer, **kwargs):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = layer(x)
        return getattr(tape, kind)(outputs, x, **kwargs)

    expected = found(keras.layers.RNN(layer.cell))
    np.testing.assert_allclose(found(layer), expected, atol=1e-5)
    np.testing.assert_allclose(tf.function(found)(layer, experimental_use_pfor=False), expected, atol=1e-5)
    with pytest.raises(ValueError, match="setting experimental_use_pfor to False"):
        tf.function(found)(layer)


@on("tensorflow")
def test_a_model_with_noise_is_saved_by_tensorflow(tmp_path):
    import tensorflow as tf

    model = make_model()
    expected = model.predict(X, verbose=0)
    tf.saved_model.save(model, tmp_path)
    served = tf.saved_model.load(tmp_path).signatures["serving_default"]
    np.testing.assert_allclose(served(tf.constant(X))["output_0"], expected, atol=1e-6)


@on("jax")
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_jax_loop(checkpointed):
    import jax
    import optax

    model = make_model()
    optimizer = optax.sgd(0.1, momentum=0.9)
    weights, others = ([v.value for v in v] for v in (model.trainable_variables, model.non_trainable_variables))
    call = jax.checkpoint(lambda *args: model.stateless_call(*args, training=True))
    call = call if checkpointed else lambda *args: model.stateless_call(*args, training=True)

    @jax.jit
    def step(weights, others, state, x, y):
        def loss_of(weights):
            predicted, new = call(weights, others, x)
            return ((predicted - y) ** 2).mean(), new

        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        updates, state = optimizer.update(gradients, state)
        return loss, optax.apply_updates(weights, updates), others, state

    losses, state = [], optimizer.init(weights)
    for k in (0, 8):
        loss, weights, others, state = step(weights, others, state, X[k : k + 8], Y[k : k + 8])
        losses.append(float(loss))
    assert_same_training(losses, weights)


RECURRENT = one_in(8, [name for name, make in LAYERS.items() if isinstance(make(), kar.RNN)])


@on("jax")
@pytest.mark.parametrize("name", RECURRENT)
def test_a_layer_leaves_no_tracer_behind(name):
    import jax

    model = keras.Sequential([keras.Input((3, 2)), LAYERS[name](), keras.layers.Dense(1)])
    with jax.checking_leaks():
        model.predict_on_batch(X[:2, :3, :2])


@on("jax")
@pytest.mark.parametrize("name", ["adaptive_lstm", "skip", *(["deep_rnn"] if EVERY_ROW else [])])
def test_training_leaves_no_tracer_behind(name):
    import jax

    model = keras.Sequential([keras.Input((3, 2)), LAYERS[name](), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with jax.checking_leaks():
        model.train_on_batch(X[:2, :3, :2], np.zeros(model.output_shape[1:])[None].repeat(2, 0))


@on("jax")
def test_models_of_which_each_has_weights_of_its_own_run_at_once():
    import jax

    model = make_model()
    values = [[np.asarray(v) for v in model.trainable_variables]]
    values.append([1.1 * v + 0.1 for v in values[0]])
    others = [v.value for v in model.non_trainable_variables]

    def loss(weights, x):
        return (model.stateless_call(weights, others, x, training=True)[0] ** 2).mean()

    stacked = [np.stack(pair) for pair in zip(*values, strict=True)]
    many = jax.jit(jax.vmap(jax.value_and_grad(loss), in_axes=(0, None)))(stacked, X)
    for k in range(2):
        one = jax.jit(jax.value_and_grad(loss))(values[k], X)
        for a, b in zip(jax.tree.leaves(many), jax.tree.leaves(one), strict=True):
            np.testing.assert_allclose(a[k], b, rtol=1e-5, atol=1e-5)


@on("jax")
@pytest.mark.parametrize("name", ["lstm", "min_gru", "deep_rnn"])
def test_forward_mode_takes_an_unrolled_loop(name):
    import jax

    make = {
        "lstm": lambda **options: kar.LSTM(64, **options),
        "min_gru": lambda **options: kar.MinGRU(4, **options),
        "deep_rnn": lambda **options: kar.DeepRNN(64, depth=3, **options),
    }[name]
    x = X[:2].astype("float32")
    ours, unrolled = make(), make(unroll=True)
    theirs = keras.layers.RNN(make().cell)
    for layer in (ours, unrolled, theirs):
        layer.build(x.shape)
        layer.set_weights(ours.get_weights())

    def derivative(layer):
        values, others = (
            [v.value for v in group] for group in (layer.trainable_variables, layer.non_trainable_variables)
        )
        return jax.jvp(lambda x: layer.stateless_call(values, others, x, training=True)[0], (x,), (np.ones_like(x),))[1]

    with pytest.raises(TypeError, match="forward-mode"):
        derivative(ours)
    np.testing.assert_allclose(derivative(unrolled), derivative(theirs), rtol=1e-4, atol=1e-5)


# PyTorch's `state_dict`.


@on("torch")
@pytest.mark.parametrize("name", [*CELLS, *OPTIONS, *(name for name in LAYERS if name != "dense_belu")])
def test_a_state_dict_loads_into_another_layer(name):
    make = LAYERS.get(name) or (lambda: kar.RNN({**CELLS, **OPTIONS}[name]()))
    source, target = make(), make()
    for layer in (source, target):
        layer.build((2, 5, 4))
    source.set_weights([rng.normal(size=w.shape) for w in source.weights])
    target.load_state_dict(source.state_dict())
    for a, b in zip(source.variables, target.variables, strict=True):
        np.testing.assert_array_equal(array(a), array(b))


@on("torch")
def test_a_state_dict_of_a_stack_with_counters_of_two_digits():
    layers = [kar.Mogrifier([4] * 12, rounds=2, stateful=True, name="r") for _ in range(2)]
    for layer in layers:
        layer.build((2, 5, 4))
    source, target = layers
    for variable in source.variables:
        variable.assign(rng.integers(9, size=variable.shape))
    target.load_state_dict(source.state_dict())
    source.load_state_dict(source.state_dict())
    for a, b in zip(source.variables, target.variables, strict=True):
        np.testing.assert_array_equal(array(a), array(b))


@on("torch")
@pytest.mark.parametrize("other", [lambda: kar.Mogrifier(4, rounds=3), lambda: kar.Mogrifier(5), lambda: kar.LSTM(4)])
def test_a_state_dict_of_another_structure_is_refused(other):
    layer, other = kar.Mogrifier(4, rounds=2), other()
    for each in (layer, other):
        each.build((2, 5, 4))
    with pytest.raises(RuntimeError, match=r"(?s)loading state_dict for Mogrifier.*(Missing|size mismatch)"):
        layer.load_state_dict(other.state_dict())


@on("torch")
def test_no_class_hides_what_a_torch_module_has():
    import torch

    layer = kar.Mogrifier(4)
    layer.build((None, None, 3))
    layer.to("cpu").share_memory().requires_grad_(False)
    assert not layer(torch.ones(2, 5, 3)).requires_grad
    hidden = {
        f"{base.__name__}.{name}"
        for cls in _export.PUBLIC
        if issubclass(cls, keras.layers.Layer)
        for base in cls.__mro__
        for name in vars(base)
        if base.__module__.startswith("keras_adaptive_rnn.") and hasattr(torch.nn.Module, name) and name[:2] != "__"
    }
    # The one calls PyTorch's; the others are that of `keras.Model`.
    compile = {f"{name}.compile" for name in ("SkimOrRead", "Reinforce", "RecurrentCausalLM")}
    assert hidden <= {"StateDictByPosition._load_from_state_dict", *compile}


# Sequences of unequal lengths.


def unequal():
    """Returns forms of two sequences, of three and two steps."""
    rows = [X[0, :3], X[1, :2]]
    if BACKEND == "tensorflow":
        import tensorflow as tf

        return {"ragged": tf.RaggedTensor.from_row_lengths(np.concatenate(rows), [3, 2])}
    if BACKEND == "torch":
        import torch

        rows = [torch.tensor(row) for row in rows]
        return {
            "jagged": torch.nested.nested_tensor(rows, layout=torch.jagged),
            "nested": torch.nested.nested_tensor(rows),
            "packed": torch.nn.utils.rnn.pack_sequence(rows),
        }
    return {}


# Of nested tensors of the older kind.
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")
@pytest.mark.parametrize("form", {"torch": ["jagged", "nested", "packed"], "tensorflow": ["ragged"]}.get(BACKEND, []))
def test_unequal_lengths_are_refused_with_lines_that_pad_and_mask(form):
    layer, x = kar.Mogrifier(4), unequal()[form]
    expected = [array(layer(X[k : k + 1, :length]))[0] for k, length in enumerate((3, 2))]
    with pytest.raises(TypeError, match=r"a tensor \(batch, time, features\).*Received: \w+\.") as raised:
        layer(x)
    assert_lines_work(raised.value, layer, expected, x=x)


@in_turns
def test_lengths_are_refused_with_lines_that_mask():
    layer, x = kar.Mogrifier(4), X[:2, :3]
    expected = [array(layer(X[k : k + 1, :length]))[0] for k, length in enumerate((3, 2))]
    with pytest.raises(TypeError, match="Received: `lengths`") as raised:
        layer(x, lengths=[3, 2])
    assert_lines_work(raised.value, layer, expected, x=x, lengths=[3, 2])


def assert_lines_work(error, layer, expected, **names):
    *lines, call = [line[4:] for line in str(error).splitlines() if line.startswith("    ")]
    names |= {"layer": layer, "keras": keras, "torch": sys.modules.get("torch"), "tf": sys.modules.get("tensorflow")}
    exec("\n".join(lines), names)
    np.testing.assert_allclose(array(eval(call, names)), expected, rtol=1e-5, atol=1e-6)


# Copies and sharing.


@in_turns
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_predicts_the_same_and_trains_by_itself(copied):
    model = make_model()
    expected = array(model(X))
    other = copied(model)
    np.testing.assert_allclose(array(other(X)), expected, rtol=1e-6)
    other.compile("sgd", "mse")
    other.train_on_batch(X, Y)
    assert not np.allclose(array(other(X)), expected)
    np.testing.assert_array_equal(array(model(X)), expected)


@in_turns
def test_a_clone_has_weights_of_its_own():
    model = make_model()
    clone = keras.models.clone_model(model)
    clone.set_weights([w + 0.1 for w in model.get_weights()])
    assert not np.allclose(array(clone(X)), array(model(X)))
    clone.set_weights(model.get_weights())
    np.testing.assert_allclose(array(clone(X)), array(model(X)), rtol=1e-6)


def gradients(function, variables):
    return engine.gradients(function, variables, [])[1]


@in_turns
@pytest.mark.parametrize("shared", ["layer", "cell"])
def test_a_layer_called_twice_and_a_cell_in_two_layers(shared, tmp_path):
    """Its gradient is the sum of both uses, and a file keeps what is shared."""
    cell = kar.MogrifierCell(4, rounds=2)
    first = kar.RNN(cell)
    second = first if shared == "layer" else kar.RNN(cell, go_backwards=True)
    inputs = [keras.Input((5, 4)), keras.Input((5, 4))]
    model = keras.Model(inputs, first(inputs[0]) + second(inputs[1]))
    assert len(model.weights) == len(cell.weights)
    x = [X[:8], X[8:]]
    both = gradients(lambda: ops.sum(model(x)), cell.weights)
    alone = [gradients(lambda k=k: ops.sum((first, second)[k](x[k])), cell.weights) for k in range(2)]
    for total, *parts in zip(both, *alone, strict=True):
        np.testing.assert_allclose(total, sum(parts), rtol=1e-5, atol=1e-5)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    assert len(loaded.weights) == len(cell.weights)
    np.testing.assert_allclose(array(loaded(x)), array(model(x)), rtol=1e-6)


# What `compile` and `fit` offer.


FIT = {
    "ema": {"optimizer": lambda: keras.optimizers.Adam(0.01, use_ema=True, ema_momentum=0.5)},
    "accumulation": {"optimizer": lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)},
    "loss scale": {"optimizer": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01))},
    "steps per execution": {"steps_per_execution": 2},
}


@pytest.mark.parametrize("name", dealt(FIT))
def test_fit_is_that_of_keras_loop(name):
    """With our loop and with that of `keras.layers.RNN`."""
    if BACKEND == "torch" and name == "steps per execution":
        pytest.skip("Keras refuses it on PyTorch")

    def trained(rnn):
        keras.utils.set_random_seed(0)
        layers = [rnn(kar.MogrifierCell(4, rounds=2)), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((5, 4)), *layers])
        arguments = {"optimizer": keras.optimizers.Adam, **FIT[name]}
        model.compile(**{**arguments, "optimizer": arguments["optimizer"]()}, loss="mse")
        model.fit(X, Y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        return model.get_weights()

    for ours, theirs in zip(trained(kar.RNN), trained(keras.layers.RNN), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@in_turns
def test_a_loss_scale_saves_gradients_from_vanishing():
    """The smallest float16 is 6e-8."""
    keras.utils.set_random_seed(0)
    layers = [kar.Mogrifier(4, rounds=2, dtype="mixed_float16"), keras.layers.Dense(1, dtype="mixed_float16")]
    model = keras.Sequential([keras.Input((5, 4)), *layers])
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.01, epsilon=1e-12))
    model.compile(optimizer, lambda y, predicted: 1e-8 * ops.mean(ops.square(y - predicted)))
    before = model.get_weights()
    model.fit(X, Y, epochs=2, verbose=0)
    for new, old in zip(model.get_weights(), before, strict=True):
        assert np.isfinite(new).all()
        assert np.abs(new - old).max() > 1e-3


@pytest.mark.filterwarnings("ignore::DeprecationWarning:keras_tuner")
@in_turns
def test_a_tuner_searches_layers_and_sizes(tmp_path):
    keras_tuner = pytest.importorskip("keras_tuner")

    def build(hp):
        layer = {"mogrifier": kar.Mogrifier, "low_rank": kar.LowRankGRU}[hp.Choice("layer", ["mogrifier", "low_rank"])]
        model = keras.Sequential([keras.Input((5, 4)), layer(hp.Int("units", 3, 4), rank=2), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        return model

    tuner = keras_tuner.GridSearch(build, "val_loss", max_trials=2, directory=tmp_path, overwrite=True)
    tuner.search(X, Y, validation_data=(X, Y), epochs=1, verbose=0)
    best = build(tuner.get_best_hyperparameters()[0])
    assert isinstance(best.layers[0], kar.Mogrifier | kar.LowRankGRU)
    assert len(tuner.oracle.trials) == 2
