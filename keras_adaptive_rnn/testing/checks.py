"""The checks of `check_cell`, one per function. `skip` takes their names.

Every function of this module is a check. A failure shows its docstring: what a cell must do, and how its author gets it
to.
"""

import functools
import inspect
import itertools
import json
import pathlib
import tempfile
import types

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn._run import Run
from keras_adaptive_rnn.cells.bases.cell import runs_in_parts
from keras_adaptive_rnn.loop.rnn import RNN
from keras_adaptive_rnn.testing.case import call, initial_states, python_loop
from keras_adaptive_rnn.testing.compare import close, require, require_dtype, run_keras_layer_test


def protocol(case):
    """A step returns the output and a list of states [batch, size] in the compute dtype; state 0 is the output.

    Declare `state_size` and `output_size`, return `output, [output, ...]` in the dtype of the inputs, and let `project`
    use the last axis alone.
    """
    cell = case.cell()
    x, is_list = ops.convert_to_tensor(case.inputs), isinstance(cell.state_size, (list, tuple))
    sizes = tree.flatten(cell.state_size)
    require(all(isinstance(size, int) for size in sizes), f"state_size must hold integers, received {cell.state_size}")
    initial = initial_states(cell, case.batch)
    shapes = [tuple(s.shape) for s in tree.flatten(initial)]
    require(shapes == [(case.batch, n) for n in sizes], f"get_initial_state gives {shapes}, state_size says {sizes}")
    output, states = cell(case.inputs[:, 0], list(case.states))
    require(
        tuple(output.shape) == (case.batch, case.output_size),
        f"output of shape {tuple(output.shape)}, output_size says {case.output_size}",
    )
    if is_list:
        require(isinstance(states, list), f"states must come back in a list, received {type(states).__name__}")
    states = tree.flatten(states)
    require([tuple(s.shape) for s in states] == shapes, f"states of shapes {[tuple(s.shape) for s in states]}")
    require_dtype([output, states], cell.compute_dtype, "a step")
    close(output, states[0], "state 0 must be the output (JAX repeats it under a mask)")
    if runs_in_parts(cell):
        of_all = tree.map_structure(lambda t: t[:, 0], cell.project(x, Run()))
        close(of_all, cell.project(x[:, 0], Run()), "project must treat any leading axes alike")


def config(case):
    """The config survives JSON and creates an equal cell.

    Put each argument of `__init__` into `get_config`, in a form that JSON can hold and `from_config` takes.
    """
    made = keras.saving.serialize_keras_object(case.copy())
    revived = keras.saving.deserialize_keras_object(json.loads(json.dumps(made)))
    again = keras.saving.serialize_keras_object(revived)
    require(json.dumps(made, sort_keys=True) == json.dumps(again, sort_keys=True), f"{made} became {again}")
    original = case.original
    before = json.dumps(original.get_config(), sort_keys=True, default=str)
    copy = case.copy()
    after = json.dumps(original.get_config(), sort_keys=True, default=str)
    require(before == after, "from_config must not change the config that it is given")
    for name in original.get_config():
        ours, theirs = getattr(original, name, None), getattr(copy, name, None)
        if name != "name" and isinstance(ours, (int, float, str, types.FunctionType)):
            require(ours == theirs, f"`{name}` is {ours}, and {theirs} in a cell made from the config")


def loops_agree(case):
    """A Python loop, keras.layers.RNN and our RNN agree in outputs, states and gradients.

    Compute a step from its inputs, its states and the weights alone, and use every weight.
    """
    cell = case.cell()
    by_loop = case.gradients(functools.partial(python_loop, functools.partial(call, cell)), cell.trainable_variables)
    for name, rnn in (("keras.layers.RNN", keras.layers.RNN), ("our RNN", RNN)):
        layer = case.layer(rnn)
        by_layer = case.gradients(lambda x, s, layer=layer: layer(x, initial_state=s), layer.cell.trainable_variables)
        close(by_layer, by_loop, f"loss and gradients of {name} and of a Python loop")
    # The states are given here, so a trained initial state has no part in the loss.
    dead = [
        variable.path
        for variable, gradient in zip(cell.trainable_variables, by_loop[1:], strict=False)
        if (gradient is None or not np.any(gradient)) and "initial_state" not in variable.name
    ]
    require(not dead, f"no gradient reaches {dead}")


def masks_and_directions(case):
    """Our RNN agrees with keras.layers.RNN with masks, backwards, unrolled, and without return_sequences.

    Let all steps run the same operations: neither count steps in Python nor branch on what they hold.
    """
    ours, keras_ = case.cell(), case.cell()
    mask = case.rng.random((case.batch, case.time)) < 0.6
    mask[:, 0] = True
    # The last read step backwards is the first in time, and Keras's backends disagree on a masked first step.
    mask[:, -1] = True
    backwards = {"go_backwards": True, "return_sequences": False}
    for arguments in ({"zero_output_for_mask": True}, backwards, {"unroll": True}):
        theirs = case.layer(keras.layers.RNN, keras_, **{**arguments, "unroll": False})
        close(
            case.run(case.layer(RNN, ours, **arguments), states=case.states, mask=mask),
            case.run(theirs, states=case.states, mask=mask),
            f"our RNN and Keras's with a mask and {arguments}",
        )


def padding(case):
    """Masked steps change nothing: at the start, at the end, in between, backwards, and if all steps are masked.

    Let no row of a batch depend on another, and keep all that a step remembers in its states.
    """
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
    close(states, case.states, "a sequence that is all masked changes the states")
    close(outputs[:, -1], case.states[0], "a sequence that is all masked repeats the first state")
    rows = np.ones((case.batch, case.time), bool)
    rows[0, cut:] = False
    short = case.run(layer, x[:, :cut], states=case.states)
    ragged = case.run(layer, np.where(rows[:, :, None], x, noise[:, :1]), states=case.states, mask=rows)
    close([s[0] for s in ragged[1:]], [s[0] for s in short[1:]], "a row's own padding changes its states")
    close([s[1] for s in ragged[1:]], [s[1] for s in plain[1:]], "a row's padding changes another row")
    backwards = case.layer(RNN, go_backwards=True)
    reversed_ = case.run(layer, np.flip(x, 1).copy(), states=case.states)
    close(case.run(backwards, states=case.states), reversed_, "go_backwards differs from reversed inputs")


def noise(case):
    """Noise is drawn anew for every batch, is absent in inference, and leaves nothing behind.

    Draw noise from a `keras.random.SeedGenerator`, only in training, and keep none of it in an attribute.
    """
    for rnn in (RNN, keras.layers.RNN):
        layer = case.layer(rnn)
        first, again = case.run(layer), case.run(layer)
        close(first, again, f"inference of {rnn.__module__} repeats itself")
        noisy = [case.run(layer, training=True)[0] for _ in range(3)]
        if any(np.abs(a - first[0]).max() > 1e-6 for a in noisy):
            change = max(np.abs(a - b).max() for a, b in itertools.pairwise(noisy))
            require(change > 1e-6, f"{rnn.__module__}: two batches of training had the same noise")
        half = case.batch - 1
        case.run(layer, case.inputs[:half], training=True)
        close(case.run(layer), first, f"inference of {rnn.__module__} after training")


def streaming(case):
    """Calls of RNN.step compute what one pass computes.

    Return the same values from every `get_initial_state`, and keep all that a step remembers in its states.
    """
    layer = case.layer(RNN)
    close(python_loop(layer.step, case.inputs), case.run(layer), "steps and one pass")


def resets(case):
    """Resets inside a sequence compute what its pieces do apart: under a mask, backwards, and step by step.

    Return from `get_initial_state` what a sequence starts with, and keep all that a step remembers in its states.
    """
    cut, x = case.time // 2, case.inputs
    flags = np.zeros((case.batch, case.time), bool)
    # The first row is a single piece.
    flags[1:, cut] = True
    mask = np.ones((case.batch, case.time), bool)
    mask[:, [0, cut]] = False
    for backwards, masked in ((False, None), (False, mask), (True, None)):
        layer = case.layer(RNN, go_backwards=backwards)
        parts = [slice(None), slice(cut), slice(cut, None)]
        masks = [{} if masked is None else {"mask": masked[:, part]} for part in parts]
        one, *two = (case.run(layer, x[:, part], **given) for part, given in zip(parts, masks, strict=True))
        two = two[::-1] if backwards else two
        outputs = np.concatenate([part[0] for part in two], axis=1)
        apart = [np.concatenate([a[:1], b[1:]]) for a, b in zip(one, [outputs, *two[-1][1:]], strict=True)]
        what = f"the pieces apart (backwards: {backwards}, with a mask: {masked is not None})"
        close(case.run(layer, resets=flags, **masks[0]), apart, what)
    layer = case.layer(RNN)
    steps = python_loop(layer.step, x, None, flags)
    close(steps, case.run(layer, resets=flags), "steps and one pass, with resets")


def stateful(case):
    """A stateful layer computes two halves like one pass, eagerly and in predict, and reset_state starts over.

    Start from constants or weights in `get_initial_state`, and keep all that a step remembers in its states.
    """
    halves = np.array_split(case.inputs, 2, axis=1)
    whole = case.run(case.layer(RNN))[0]
    layer = case.layer(RNN, stateful=True, return_state=False)
    outputs = [case.run(layer, half)[0] for half in halves]
    close(np.concatenate(outputs, 1), whole, "two stateful halves and one pass")
    layer.reset_state()
    model = keras.Sequential([keras.Input((None, case.features), batch_size=case.batch), layer])
    outputs = [model.predict(half, batch_size=case.batch, verbose=0) for half in halves]
    close(np.concatenate(outputs, 1), whole, "predict on two stateful halves and one pass")


def wrappers(case):
    """It works inside Bidirectional and StackedRNNCells.

    Make the parts of a cell in `__init__` or `build`: those in a default argument or a class attribute are shared.
    """
    bidirectional = keras.layers.Bidirectional(case.layer(RNN, return_state=False))
    bidirectional.build(case.input_shape)
    received, expected = len(bidirectional.weights), 2 * len(case.weights)
    require(received == expected, f"Bidirectional has {received} weights, expected {expected}: two copies share some")
    bidirectional.set_weights([*case.weights, *case.weights])
    mask = np.ones((case.batch, case.time), bool)
    mask[0, -1] = False
    both = case.run(bidirectional, mask=mask)[0]
    ahead, back = (
        case.run(case.layer(RNN, go_backwards=back, zero_output_for_mask=True), mask=mask)[0] for back in (False, True)
    )
    close(both, np.concatenate([ahead, np.flip(back, 1)], -1), "Bidirectional and its two sides")
    cells = [case.copy(), case.copy()]
    stack = RNN(keras.layers.StackedRNNCells(cells), return_sequences=True)
    stacked = case.run(stack)
    one, two = (RNN(cell, return_sequences=True) for cell in cells)
    close(stacked, two(one(case.inputs)), "a stack and its layers one by one")
    plain = keras.layers.RNN(cells, return_sequences=True)
    close(case.run(plain), stacked, "keras.layers.RNN over a stack")
    for layer in (plain, stack):
        case.run(layer, training=True)


def mixed_precision(case):
    """Under both mixed policies, weights stay float32, and results have the compute dtype and are close.

    Make weights with `add_weight`, cast what is not an input to `self.compute_dtype`, and pass `dtype` to inner layers.
    """
    expected = case.run(case.layer(RNN))
    for name, rnns in (("mixed_bfloat16", (RNN, keras.layers.RNN)), ("mixed_float16", (RNN,))):
        cell = case.cell(dtype=name)
        for layer in flatten_layers(cell):
            require(layer.compute_dtype == cell.compute_dtype, f"{layer.path} computes in {layer.compute_dtype}")
        for weight in cell.weights:
            require(weight.dtype == "float32", f"{weight.path} is {weight.dtype} under {name}")
        step = call(cell, case.inputs[:, 0], initial_states(cell, case.batch))
        require_dtype(step, cell.compute_dtype, f"a step under {name}")
        for rnn in rnns:
            layer = case.layer(rnn, cell, dtype=name)
            result = layer(case.inputs)
            require_dtype(result, layer.compute_dtype, f"{rnn.__module__} under {name}")
            close(result, expected, f"{rnn.__module__} under {name} and float32", tolerance=0.1)


def unknown_sizes(case):
    """It accepts symbolic inputs of unknown batch size and length, and then any batch size and length.

    Take the batch size from `ops.shape(inputs)[0]` in a step, not from `build`.
    """
    inputs = keras.Input((None, case.features))
    layer = case.layer(RNN, return_state=False)
    outputs = layer(inputs)
    require(tuple(outputs.shape) == (None, None, case.output_size), f"symbolic output of shape {tuple(outputs.shape)}")
    model = keras.Model(inputs, outputs)
    whole = case.run(layer)[0]
    for batch, time in ((case.batch, case.time), (1, case.time - 1)):
        outputs = model.predict(case.inputs[:batch, :time], verbose=0)
        close(outputs, whole[:batch, :time], f"predict of {time} steps")


def training(case):
    """fit runs, and its losses and weights are finite.

    Avoid roots, divisions and logarithms at zero, where states begin and gradients are infinite or not a number.
    """
    model = keras.Sequential([keras.Input((None, case.features)), case.layer(RNN, return_state=False)])
    model.compile("sgd", "mse")
    targets = case.normal((case.batch, case.time, case.output_size))
    history = model.fit(case.inputs, targets, epochs=2, verbose=0).history["loss"]
    require(np.isfinite(history).all(), f"losses {history}")
    require(all(np.isfinite(w).all() for w in model.get_weights()), "a weight is not finite after training")


def saving(case):
    """A model with the cell loads from its `.keras` file and computes the same, in our RNN and in Keras's.

    Register the class with `keras.saving.register_keras_serializable`, and create all weights in `build`.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        for rnn in (RNN, keras.layers.RNN):
            layer = case.layer(rnn, return_state=False)
            model = keras.Sequential([keras.Input((None, case.features)), layer])
            model.save(path)
            loaded = keras.models.load_model(path)
            close(loaded(case.inputs), model(case.inputs), f"{rnn.__module__}: a loaded model and the saved one")


def keras_layer_test(case):
    """Keras's own run_layer_test passes in keras.layers.RNN; `check_layer` runs it on layers of our RNN.

    The message is that of Keras. Declare `output_size` truly, and create all state in `__init__` or `build`.
    """

    def make(**changes):
        return keras.layers.RNN(case.copy(**changes), **changes)

    run_keras_layer_test(make, case.input_shape)


CELL_CHECKS = [f for f in list(vars().values()) if inspect.isfunction(f) and f.__module__ == __name__]
