"""The checks of `check_cell`, one per function. A failure shows the name and the first line of its docstring."""

import json
import pathlib
import tempfile
import types

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn._keras import flatten_layers, layer_test_case
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.loop.rnn import RNN
from keras_adaptive_rnn.testing.case import call


def require(condition, message):
    """Raises `AssertionError` unless `condition` holds; `python -O` would strip an `assert`."""
    if not condition:
        raise AssertionError(message)


def to_numpy(structure):
    return [ops.convert_to_numpy(t) for t in tree.flatten(structure)]


def close(ours, theirs, what, tolerance=1e-5):
    """Raises unless two lists of arrays are close; `None` stands for a zero gradient."""
    if len(ours) != len(theirs):
        raise AssertionError(f"{what}: {len(ours)} tensors, expected {len(theirs)}")
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            other = b if a is None else a
            if other is not None and np.abs(other).max() > tolerance:
                raise AssertionError(f"{what}: tensor {k} has a gradient on one side only")
            continue
        a, b = np.asarray(a, "float32"), np.asarray(b, "float32")
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"{what}: tensor {k}")


def protocol(case):
    """A step returns the output and a list of states, each [batch, size], in the compute dtype, output first."""
    cell = case.cell()
    sizes = tree.flatten(cell.state_size)
    require(all(isinstance(size, int) for size in sizes), f"state_size must hold integers, received {cell.state_size}")
    initial = cell.get_initial_state(batch_size=case.batch)
    shapes = [tuple(s.shape) for s in tree.flatten(initial)]
    require(
        shapes == [(case.batch, n) for n in sizes], f"get_initial_state returns {shapes}, but state_size is {sizes}"
    )
    output, states = cell(case.inputs[:, 0], case.states if len(sizes) > 1 or _is_list(cell) else case.states[0])
    require(tuple(output.shape) == (case.batch, case.output_size), f"output of shape {tuple(output.shape)}")
    if _is_list(cell):
        require(isinstance(states, list), f"states must be returned in a list, received {type(states).__name__}")
    states = tree.flatten(states)
    require([tuple(s.shape) for s in states] == shapes, f"states of shapes {[tuple(s.shape) for s in states]}")
    for tensor in [output, *states]:
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        require(dtype == cell.compute_dtype, f"a tensor of dtype {dtype}, expected {cell.compute_dtype}")
    close(to_numpy([output]), to_numpy([states[0]]), "state 0 must be the output (JAX repeats it under a mask)")
    if isinstance(cell, Cell):
        given = [ops.convert_to_tensor(state) for state in case.states]
        parts = cell.step(cell.project(ops.convert_to_tensor(case.inputs[:, 0])), given)
        close(to_numpy(parts), to_numpy([output, *states]), "call must be step(project(...))")
        whole = cell.project(ops.convert_to_tensor(case.inputs))
        first = tree.map_structure(lambda t: t[:, 0], whole)
        one = cell.project(ops.convert_to_tensor(case.inputs[:, 0]))
        close(to_numpy(first), to_numpy(one), "project must treat all leading axes alike")


def _is_list(cell):
    return isinstance(cell.state_size, (list, tuple))


def config(case):
    """The config survives JSON and creates an equal cell."""
    serialized = keras.saving.serialize_keras_object(case.copy())
    revived = keras.saving.deserialize_keras_object(json.loads(json.dumps(serialized)))
    again = keras.saving.serialize_keras_object(revived)
    require(json.dumps(serialized, sort_keys=True) == json.dumps(again, sort_keys=True), f"{serialized} became {again}")
    original, copy = case.original, case.copy()
    for name in original.get_config():
        ours, theirs = getattr(original, name, None), getattr(copy, name, None)
        if name != "name" and isinstance(ours, (int, float, str, types.FunctionType)):
            require(ours == theirs, f"`{name}` is {ours}, but {theirs} in a cell created from the config")
    before = json.dumps(case.original.get_config(), sort_keys=True, default=str)
    case.copy()
    after = json.dumps(case.original.get_config(), sort_keys=True, default=str)
    require(before == after, "from_config must not modify its config")


def loops_agree(case):
    """A Python loop, keras.layers.RNN and our RNN agree in outputs, states and gradients."""
    cell = case.cell()
    flat = _is_list(cell)
    by_loop = case.gradients(lambda x, s: case.python_loop(cell, x, s), cell.trainable_variables)
    results = {"a Python loop": by_loop}
    for name, rnn in (("keras.layers.RNN", keras.layers.RNN), ("our RNN", RNN)):
        layer = case.layer(rnn)
        results[name] = case.gradients(
            lambda x, s, layer=layer: layer(x, initial_state=s if flat else s[0]), layer.cell.trainable_variables
        )
    for name, result in results.items():
        close(result, by_loop, f"loss and gradients of {name} and of a Python loop")
    # The states are passed here, so a trained initial state does not affect the loss.
    dead = [
        variable.path
        for variable, gradient in zip(cell.trainable_variables, by_loop[1:], strict=False)
        if (gradient is None or not np.any(gradient)) and "initial_state" not in variable.name
    ]
    require(not dead, f"no gradient reaches {dead}")


def masks_and_directions(case):
    """Our RNN agrees with keras.layers.RNN with masks, backwards, unrolled and without sequences."""
    ours, keras_ = case.cell(), case.cell()
    mask = case.rng.random((case.batch, case.time)) < 0.6
    mask[:, 0] = True
    # Backwards, the last step comes first, and Keras's backends disagree about a masked first step.
    mask[:, -1] = True
    for arguments in (
        {"zero_output_for_mask": True},
        {"go_backwards": True, "return_sequences": False},
        {"unroll": True},
    ):
        keras_arguments = {**arguments, "unroll": False}
        close(
            case.run(case.layer(RNN, ours, **arguments), states=case.states, mask=mask),
            case.run(case.layer(keras.layers.RNN, keras_, **keras_arguments), states=case.states, mask=mask),
            f"our RNN and Keras's RNN with a mask and {arguments}",
        )


def padding(case):
    """Masked steps change nothing: at the start, in between, at the end, backwards, or all of them."""
    layer = case.layer(RNN)
    plain = case.run(layer, states=case.states)
    noise = 1e3 * np.ones((case.batch, 2, case.features), "float32")
    x = case.inputs
    cut = case.time // 2
    padded = np.concatenate([noise, x[:, :cut], noise, x[:, cut:], noise], axis=1)
    holes = np.array([False] * 2 + [True] * cut + [False] * 2 + [True] * (case.time - cut) + [False] * 2)
    mask = np.tile(holes, (case.batch, 1))
    outputs, *states = case.run(layer, padded, states=case.states, mask=mask)
    close([outputs[:, holes], *states], plain, "masked padding changes outputs or states")
    outputs, *states = case.run(layer, states=case.states, mask=np.zeros((case.batch, case.time), bool))
    close(states, case.states, "a fully masked sequence changes the states")
    close([outputs[:, -1]], [case.states[0]], "a fully masked sequence repeats the first state")
    rows = np.ones((case.batch, case.time), bool)
    rows[0, cut:] = False
    short = case.run(layer, x[:, :cut], states=case.states)
    ragged = case.run(layer, states=case.states, mask=rows)
    close([s[0] for s in ragged[1:]], [s[0] for s in short[1:]], "a row's own padding changes its states")
    close([s[1] for s in ragged[1:]], [s[1] for s in plain[1:]], "a row's padding changes another row")
    backwards = case.layer(RNN, go_backwards=True)
    reversed_ = case.run(layer, np.flip(x, 1).copy(), states=case.states)
    close(case.run(backwards, states=case.states), reversed_, "go_backwards differs from reversed inputs")


def noise(case):
    """Noise is new for every batch, absent in inference, and leaves no trace."""
    for rnn in (RNN, keras.layers.RNN):
        layer = case.layer(rnn)
        first, again = case.run(layer), case.run(layer)
        close(first, again, f"inference of {rnn.__module__} is deterministic")
        noisy = [case.run(layer, training=True)[0] for _ in range(3)]
        differs = any(np.abs(a - first[0]).max() > 1e-6 for a in noisy)
        if differs:
            require(
                np.abs(noisy[0] - noisy[1]).max() > 1e-6 or np.abs(noisy[1] - noisy[2]).max() > 1e-6,
                f"{rnn.__module__}: two batches of training had the same noise",
            )
        half = case.batch - 1
        case.run(layer, case.inputs[:half], training=True)
        close(case.run(layer), first, f"inference of {rnn.__module__} after training")


def streaming(case):
    """RNN.step, step by step, equals one pass, and states of another batch size raise."""
    layer = case.layer(RNN)
    states, outputs = None, []
    for t in range(case.time):
        output, states = layer.step(case.inputs[:, t], states)
        outputs.append(ops.convert_to_numpy(output))
    close([np.stack(outputs, 1), *to_numpy(states)], case.run(layer), "steps and one pass")
    try:
        layer.step(case.inputs[:1, 0], states)
    except ValueError:
        return
    raise AssertionError("a batch of 1 with the states of a larger batch did not raise")


def stateful(case):
    """Two stateful halves equal one pass, eagerly and in predict, and reset_state resets the states."""
    cut = case.time // 2
    whole = case.run(case.layer(RNN))[0]
    layer = case.layer(RNN, stateful=True, return_state=False)
    halves = [case.run(layer, case.inputs[:, :cut])[0], case.run(layer, case.inputs[:, cut:])[0]]
    close([np.concatenate(halves, 1)], [whole], "two stateful halves and one pass")
    layer.reset_state()
    model = keras.Sequential([keras.Input((None, case.features), batch_size=case.batch), layer])
    parts = case.inputs[:, :cut], case.inputs[:, cut : 2 * cut]
    halves = [model.predict(x, batch_size=case.batch, verbose=0) for x in parts]
    close([np.concatenate(halves, 1)], [whole[:, : 2 * cut]], "predict on two stateful halves and one pass")


def wrappers(case):
    """The cell works inside Bidirectional and StackedRNNCells."""
    bidirectional = keras.layers.Bidirectional(case.layer(RNN, return_state=False))
    bidirectional.build(case.input_shape)
    bidirectional.set_weights([*case.weights, *case.weights])
    mask = np.ones((case.batch, case.time), bool)
    mask[0, -1] = False
    both = case.run(bidirectional, mask=mask)[0]
    sides = [
        case.run(case.layer(RNN, go_backwards=back, zero_output_for_mask=True), mask=mask)[0] for back in (False, True)
    ]
    close([both], [np.concatenate([sides[0], np.flip(sides[1], 1)], -1)], "Bidirectional and its two sides")
    first, second = case.copy(), case.copy()
    stack = RNN(keras.layers.StackedRNNCells([first, second]), return_sequences=True)
    stack.build(case.input_shape)
    stacked = case.run(stack)[0]
    one = RNN(first, return_sequences=True)
    two = RNN(second, return_sequences=True)
    close([stacked], [ops.convert_to_numpy(two(one(case.inputs)))], "a stack and its layers one by one")
    plain = keras.layers.RNN([first, second], return_sequences=True)
    close(case.run(plain), [stacked], "keras.layers.RNN over a stack")
    case.run(plain, training=True)
    case.run(stack, training=True)


def mixed_precision(case):
    """Under both mixed-precision policies, weights are float32, and results have the compute dtype and are close."""
    expected = case.run(case.layer(RNN))
    for name, rnns in (("mixed_bfloat16", (RNN, keras.layers.RNN)), ("mixed_float16", (RNN,))):
        cell = case.cell(dtype=name)
        for layer in flatten_layers(cell):
            require(layer.compute_dtype == cell.compute_dtype, f"{layer.path} computes in {layer.compute_dtype}")
        for weight in cell.weights:
            require(weight.dtype == "float32", f"{weight.path} is {weight.dtype} under {name}")
        step = call(cell, case.inputs[:, 0], cell.get_initial_state(batch_size=case.batch))
        for tensor in tree.flatten(step):
            dtype = keras.backend.standardize_dtype(tensor.dtype)
            require(dtype == cell.compute_dtype, f"a step under {name} returns {dtype}")
        for rnn in rnns:
            layer = case.layer(rnn, cell, dtype=name)
            result = layer(case.inputs)
            for tensor in tree.flatten(result):
                dtype = keras.backend.standardize_dtype(tensor.dtype)
                require(dtype == layer.compute_dtype, f"{rnn.__module__} returns {dtype} under {name}")
            result = [ops.convert_to_numpy(ops.cast(t, "float32")) for t in tree.flatten(result)]
            close(result, expected, f"{rnn.__module__} under {name} and float32", tolerance=0.1)


def unknown_sizes(case):
    """A layer built on inputs of unknown batch and time size accepts batches of any size and length."""
    inputs = keras.Input((None, case.features))
    layer = case.layer(RNN, return_state=False)
    outputs = layer(inputs)
    require(tuple(outputs.shape) == (None, None, case.output_size), f"symbolic output of shape {tuple(outputs.shape)}")
    model = keras.Model(inputs, outputs)
    whole = case.run(layer)[0]
    for batch, time in ((case.batch, case.time), (1, case.time - 1)):
        close(
            [model.predict(case.inputs[:batch, :time], verbose=0)], [whole[:batch, :time]], f"predict of {time} steps"
        )


def training(case):
    """fit gives a finite loss and finite weights."""
    model = keras.Sequential([keras.Input((None, case.features)), case.layer(RNN, return_state=False)])
    model.compile("sgd", "mse")
    targets = case.normal((case.batch, case.time, case.output_size))
    history = model.fit(case.inputs, targets, epochs=2, verbose=0).history["loss"]
    require(np.isfinite(history).all(), f"losses {history}")
    require(all(np.isfinite(w).all() for w in model.get_weights()), "a weight is not finite after training")


def saving(case):
    """A model loads from its `.keras` file and computes the same, with our RNN and with Keras's RNN."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        for rnn in (RNN, keras.layers.RNN):
            layer = case.layer(rnn, return_state=False)
            model = keras.Sequential([keras.Input((None, case.features)), layer])
            model.save(path)
            loaded = keras.models.load_model(path)
            expected, received = (ops.convert_to_numpy(m(case.inputs)) for m in (model, loaded))
            close([received], [expected], f"{rnn.__module__}: a loaded model and the saved model")


def keras_layer_test(case):
    """Keras's own run_layer_test passes with keras.layers.RNN; `check_layer` runs it with our RNN."""

    def make(**changes):
        return keras.layers.RNN(case.copy(**changes), **changes)

    run_keras_layer_test(make, case.input_shape)


def run_keras_layer_test(make, input_shape):
    layer = make()
    layer.build(input_shape)
    layer_test_case().run_layer_test(
        make,
        init_kwargs={},
        input_shape=tuple(input_shape),
        expected_output_shape=layer.compute_output_shape(input_shape),
        expected_num_trainable_weights=len(layer.trainable_weights),
        expected_num_non_trainable_weights=len(layer.non_trainable_weights),
        supports_masking=True,
        # Keras warns about training a model without trainable weights.
        run_training_check=bool(layer.trainable_weights),
    )


CELL_CHECKS = (
    protocol,
    config,
    loops_agree,
    masks_and_directions,
    padding,
    noise,
    streaming,
    stateful,
    wrappers,
    mixed_precision,
    unknown_sizes,
    training,
    saving,
    keras_layer_test,
)
