"""CUDA graphs of whole passes on PyTorch, on machines without a GPU too: there, a tape stands for the graph."""

import concurrent.futures
import copy
import functools
import pickle
import weakref

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar

if keras.backend.backend() != "torch":
    pytest.skip("only PyTorch has the graphs; others compile their loops", allow_module_level=True)

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import torch_graphs, tuning


class Tape(TorchDispatchMode):
    """Does with operations what a CUDA graph does: `replay` repeats them on the same memory, without Python.

    As after a capture, nothing that it has recorded has a value at first. Autograd does not see that values change, as
    they are those of `data`.
    """

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.name() in ("aten::_local_scalar_dense", "aten::nonzero", "aten::lift_fresh"):
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        results = function(*args, **kwargs)
        read = set(map(torch_graphs.memory, torch_graphs.tensors_in((*args, *kwargs.values()))))
        made = [t if torch_graphs.memory(t) not in read else None for t in torch_graphs.tensors_in((results,))]
        self.calls.append((function, args, kwargs, made))
        return results

    def replay(self):
        for function, args, kwargs, made in self.calls:
            results = torch_graphs.tensors_in((function(*args, **kwargs),))
            for own, result in zip(made, results, strict=True):
                if own is not None:
                    own.data.copy_(result)

    def forget(self):
        for tensor in (tensor for *_, made in self.calls for tensor in made):
            if tensor is not None and tensor.is_floating_point():
                tensor.data.fill_(np.nan)


class TapeRecorder:
    """Stands for `torch_graphs.Recorder`. Its tapes share memory, which each destroys for the other."""

    def __init__(self, device):
        self.recorded = []

    @staticmethod
    def is_possible(device):
        return device.type == "cpu"

    @staticmethod
    def has_memory(device):
        return True

    @staticmethod
    def stream(device):
        return None

    def warm_up(self, function):
        return function()

    def capture(self, function):
        tape = Tape()
        with tape:
            results = function()
        with torch.no_grad():
            tape.forget()
        self.recorded.append(tape)

        def replay():
            tape.replay()
            for other in self.recorded:
                if other is not tape:
                    other.forget()

        return results, replay


@pytest.fixture(autouse=True)
def replays(monkeypatch):
    """A list of the graphs that have run, which a tape stands for unless there is a GPU."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(torch_graphs, "Recorder", TapeRecorder)
    # On a CPU, it would run instead of a loop.
    monkeypatch.setattr(engine, "prefers_native", lambda *args: False)
    run, graphs = torch_graphs.Graph.__call__, []
    monkeypatch.setattr(torch_graphs.Graph, "__call__", lambda self, *args: graphs.append(self) or run(self, *args))
    return graphs


class Plain(keras.Layer):
    """A cell as users of Keras write it, of which nothing is known."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1] + self.units, self.units))

    def call(self, inputs, states):
        output = keras.ops.tanh(keras.ops.concatenate([inputs, states[0]], axis=-1) @ self.kernel)
        return output, [output]


class Own(kar.cells.Cell):
    """A user's cell in two parts, whose step reads a weight by itself and makes a tensor of a number."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.output_size = units
        self.state_size = [units]

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units))
        self.decay = self.add_weight(name="decay", shape=(self.units,))
        super().build(input_shape)

    def project(self, inputs, run):
        return inputs @ self.kernel

    def step(self, projected, states, run):
        h = keras.ops.tanh(projected + keras.ops.multiply(self.decay * states[0], keras.ops.convert_to_tensor(0.5)))
        return h, [h]


CELLS = {
    "lstm": lambda: kar.LSTMCell(4, dropout=0.3, recurrent_dropout=0.3, trainable_initial_state=True, seed=1),
    "gru": lambda: kar.GRUCell(4, layer_normalization=True),
    "mogrifier": lambda: kar.MogrifierCell(4, rank=2),
    "adaptive": lambda: kar.AdaptiveLSTMCell(4, policy_units=3),
    "zoneout": lambda: kar.ZoneoutCell(4, zoneout=0.4, seed=1),
    "weight drop": lambda: kar.WeightDropLSTMCell(4, recurrent_weight_dropout=0.5, seed=1),
    "linear": lambda: kar.MinGRUCell(4),
    "stack": lambda: kar.StackedCells([kar.GRUCell(4), kar.LSTMCell(4)], connection="skip"),
    "layers": lambda: kar.DeepRNNCell(4, depth=3),
    "deciding": lambda: kar.SkimCell(kar.LSTMCell(4), kar.LSTMCell(2), seed=1),
    "keras": lambda: keras.layers.GRUCell(4, dropout=0.3, seed=1),
    "own": lambda: Own(4),
    "plain": lambda: Plain(4),
}


def pair(make, graphs=True, size=3, **options):
    """Returns a layer with graphs and one without, with the same weights, large enough to matter."""
    options = {"return_sequences": True, "return_state": True, **options}
    layer, loop = kar.RNN(make(), graphs=graphs, **options), kar.RNN(make(), graphs=False, **options)
    for each in (layer, loop):
        each.build((2, None, size))
    rng = np.random.default_rng(1)
    for weight in layer.trainable_weights:
        weight.assign(0.6 * rng.normal(size=weight.shape))
    loop.set_weights(layer.get_weights())
    return layer, loop


def numpy(tensors):
    return [None if t is None else t.detach().cpu().double().numpy() for t in keras.tree.flatten(tensors)]


def alike(ours, theirs):
    for a, b in zip(numpy(ours), numpy(theirs), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def inputs(seed=0, shape=(2, 4, 3), dtype="float32"):
    x = np.random.default_rng(seed).normal(size=shape)
    return keras.ops.convert_to_tensor(x, dtype).requires_grad_()


def results_of(layer, x, wanted=None, **call):
    """Returns the results of a call, and the gradients of the inputs and weights."""
    results = keras.tree.flatten(layer(x, **call))
    wanted = [x, *(weight.value for weight in layer.trainable_weights)] if wanted is None else wanted
    loss = sum((each.float() ** 2).sum() for each in results)
    return [*results, *torch.autograd.grad(loss, wanted, allow_unused=True)]


def check(layer, loop, *args, **call):
    alike(results_of(layer, *args, **call), results_of(loop, *args, **call))


@pytest.mark.parametrize("name", CELLS)
def test_numbers_and_gradients_are_those_of_the_loop(name, replays):
    layer, loop = pair(CELLS[name], return_decisions=name == "deciding")
    for seed in range(3):
        check(layer, loop, inputs(seed), training=True)
        for weight, other in zip(layer.trainable_weights, loop.trainable_weights, strict=True):
            weight.assign_add(0.1 * np.ones(weight.shape))
            other.assign(weight)
    with torch.no_grad():
        alike(layer(inputs(4), training=True), loop(inputs(4), training=True))
    assert len(replays) == 4
    assert len(set(replays)) == 2


OPTIONS = {
    "backwards": {"go_backwards": True, "zero_output_for_mask": True},
    "layers": {"schedule": "layers", "return_sequences": False, "return_state": False},
    "wavefront": {"schedule": "wavefront"},
    "stateful": {"stateful": True},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_masks_resets_and_states(name, replays):
    cells = [lambda: kar.LSTMCell(3, trainable_initial_state=True)] * 3
    layer, loop = pair(lambda: kar.StackedCells([make() for make in cells]), **OPTIONS[name])
    mask, resets = np.array([[1, 1, 0, 1], [0, 1, 1, 0]], bool), np.array([[0, 0, 1, 0], [0, 1, 0, 0]], bool)
    states = [inputs(k, (2, 3)) for k in range(6)]
    for seed in (0, 1):
        check(layer, loop, inputs(seed))
        check(layer, loop, inputs(seed), mask=mask)
        x = inputs(seed)
        check(layer, loop, x, wanted=[x, *states], mask=mask, initial_state=states)
        check(layer, loop, inputs(seed), mask=mask[::-1] & mask, resets=resets)
        check(layer, loop, inputs(seed), resets=mask)
    # Given states take the graph of those that the cell begins with, which have gradients too.
    assert len(set(replays)) == 4
    assert len(replays) == 10


def test_weights_may_move(replays, tmp_path):
    layer, loop = pair(lambda: kar.MogrifierCell(4, rank=2))
    models = [keras.Sequential([keras.Input((4, 3)), each]) for each in (layer, loop)]
    check(layer, loop, inputs())
    for weight in layer.trainable_weights:
        weight.value.data = -2 * weight.value.data
    loop.set_weights(layer.get_weights())
    check(layer, loop, inputs())
    models[1].save_weights(tmp_path / "m.weights.h5")
    for weight in layer.trainable_weights:
        weight._value = torch.nn.Parameter(torch.zeros_like(weight.value))
    models[0].load_weights(tmp_path / "m.weights.h5")
    check(layer, loop, inputs())
    layer.trainable = loop.trainable = False
    check(layer, loop, inputs())
    assert [replays.index(each) for each in replays] == [0, 0, 0, 3]


def test_training_of_a_model(replays, rng):
    x, y = rng.normal(size=(10, 4, 3)).astype("float32"), rng.normal(size=(10, 1)).astype("float32")
    found = []
    for graphs in (True, False):
        keras.utils.set_random_seed(0)
        layer = kar.Mogrifier(4, dropout=0.2, rank=2, seed=1, graphs=graphs)
        model = keras.Sequential([keras.Input((4, 3)), keras.layers.Masking(), layer, keras.layers.Dense(1)])
        model.compile("adam", "mse")
        model.fit(x, y, epochs=2, batch_size=4, verbose=0, shuffle=False)
        found.append([*model.get_weights(), model.predict(x, verbose=0)])
    # Two sizes of batches in training, and one in prediction.
    assert len(replays) == 7
    assert len(set(replays)) == 3
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_noise_is_new_in_each_pass(replays):
    layer, loop = pair(lambda: kar.LSTMCell(4, dropout=0.5, recurrent_dropout=0.5, seed=1))
    with torch.no_grad():
        first, again = (layer(inputs(), training=True)[0] for _ in range(2))
        assert not np.allclose(*numpy([first, again]))
        alike([first, again], [loop(inputs(), training=True)[0] for _ in range(2)])
    # Another rate leaves no noise to a place, or to another one.
    for each in (layer, loop):
        each.cell.dropout = 0.0
    check(layer, loop, inputs(), training=True)
    assert [replays.index(each) for each in replays] == [0, 0, 2]


def test_attributes_may_change(replays):
    layer, loop = pair(lambda: kar.GRUCell(4))
    for activation in (keras.activations.tanh, keras.activations.elu, keras.activations.tanh):
        layer.cell.activation = loop.cell.activation = activation
        check(layer, loop, inputs())
    assert [replays.index(each) for each in replays] == [0, 1, 0]


def test_a_function_is_not_taken_for_a_later_one_with_its_id(replays):
    layer, loop = pair(lambda: kar.GRUCell(4))

    def scaled(factor):
        return lambda x: factor * keras.ops.tanh(x)

    def use(activation):
        layer.cell.activation = loop.cell.activation = activation
        check(layer, loop, inputs())
        return id(activation)

    gone = use(scaled(2.0))
    use(keras.activations.elu)
    later = [scaled(3.0) for _ in range(100_000)]
    use(min(later, key=lambda function: id(function) != gone))
    assert len(set(replays)) == 3


def test_shapes_and_dtypes_have_graphs_of_their_own_and_few_are_kept(replays):
    layer, loop = pair(lambda: kar.GRUCell(4))
    graphs = layer.runner._graphs._captured
    for shape in [(2, 4, 3), (3, 4, 3), (2, 5, 3), (2, 1, 3), (1, 4, 3), (2, 4, 3)]:
        check(layer, loop, inputs(0, shape))
        assert len(graphs) <= tuning.GRAPHS
    # The last two find no place, and are too rare to take one.
    assert len(set(replays)) == tuning.GRAPHS
    for _ in range(tuning.GRAPH_CALLS):
        check(layer, loop, inputs(0, (1, 4, 3)))
    assert len(set(replays)) == tuning.GRAPHS + 1
    assert len(graphs) == tuning.GRAPHS
    for dtype in ("float64", "bfloat16"):
        layer, loop = pair(functools.partial(kar.GRUCell, 4, dtype=dtype), dtype=dtype)
        check(layer, loop, inputs(dtype=dtype))
    assert len(set(replays)) == tuning.GRAPHS + 3


def test_automatic_graphs_begin_after_some_calls(replays):
    layer, loop = pair(lambda: kar.GRUCell(4), graphs="auto")
    for seed in range(tuning.GRAPH_CALLS + 2):
        assert len(replays) == max(0, seed + 1 - tuning.GRAPH_CALLS)
        check(layer, loop, inputs(seed))
    layer, loop = pair(lambda: Plain(4), graphs="auto")
    for _ in range(tuning.GRAPH_CALLS + 1):
        check(layer, loop, inputs())
    assert len(replays) == 3


def test_automatic_graphs_leave_half_of_the_memory(replays, monkeypatch):
    monkeypatch.setattr(torch_graphs.Recorder, "has_memory", lambda device: False)
    layer, loop = pair(lambda: kar.GRUCell(4), graphs="auto")
    for _ in range(tuning.GRAPH_CALLS + 1):
        check(layer, loop, inputs())
    assert not replays


def test_results_outlive_later_passes(replays):
    layer, loop = pair(lambda: kar.GRUCell(4))
    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            results = [layer(inputs(seed)) for seed in range(3)]
            alike(results, [loop(inputs(seed)) for seed in range(3)])
    gradients = []
    for each in (layer, loop):
        for seed in range(3):
            sum(state.sum() for state in each(inputs(seed))).backward()
        gradients.append([weight.value.grad for weight in each.trainable_weights])
    alike(*gradients)
    assert len(replays) == 9
    assert len(set(replays)) == 2


def test_passes_before_a_gradient_take_other_graphs(replays):
    layer, loop = pair(lambda: kar.GRUCell(4), return_state=False)
    for count in (2, 6, 2):
        found = []
        for each in (layer, loop):
            xs = [inputs(seed) for seed in range(count)]
            product = torch.stack([each(x) for x in xs]).prod(0).sum()
            found.append(torch.autograd.grad(product, [*xs, *(weight.value for weight in each.trainable_weights)]))
        alike(*found)
    # In the loop, as all graphs were in use, and would be soon again.
    assert len(replays) == 2 + tuning.GRAPHS + 2
    # A pass without a gradient leaves its graph.
    layer(inputs())
    check(layer, loop, inputs())
    assert len(set(replays)) == tuning.GRAPHS


def test_one_layer_in_two_places_of_a_model(replays):
    layer, loop = pair(lambda: kar.GRUCell(3), return_state=False)
    for _ in range(2):
        found = []
        for each in (layer, loop):
            x = inputs()
            loss = (each(each(x)) ** 2).sum()
            found.append(torch.autograd.grad(loss, [x, *(weight.value for weight in each.trainable_weights)]))
        alike(*found)
    assert len(replays) == 4
    assert len(set(replays)) == 2


def test_more_than_one_gradient_of_a_pass(replays):
    layer, loop = pair(lambda: kar.MogrifierCell(4, rank=2), return_state=False)
    found = []
    for each in (layer, loop):
        x, weights = inputs(), [weight.value for weight in each.trainable_weights]
        output = each(x)
        first = torch.autograd.grad(output.sum(), [x, *weights], retain_graph=True)
        each(inputs(1)).sum().backward()
        second = torch.autograd.grad((output**2).sum(), [x, *weights], create_graph=True)
        third = torch.autograd.grad(sum((gradient**2).sum() for gradient in second), [x, *weights])
        found.append([*first, *second, *third])
    alike(*found)
    assert len(replays) == 2
    output = layer(inputs()).sum()
    output.backward()
    with pytest.raises(RuntimeError, match="second time"):
        output.backward()


def test_gradients_in_batches(replays):
    layer, loop = pair(lambda: kar.GRUCell(4), return_state=False)

    def rows(layer):
        x = inputs()
        output, again = layer(x), layer(x)
        batch = torch.stack([torch.ones_like(output), output.detach()])
        one = torch.autograd.grad(output, [x], batch, is_grads_batched=True)
        return [*one, torch.func.vmap(lambda row: torch.autograd.grad(again, x, row)[0])(batch)]

    alike(rows(layer), rows(loop))
    assert len(replays) == 2


def test_threads(replays):
    layer, loop = pair(lambda: kar.MogrifierCell(4, rank=2))
    expected = [results_of(loop, inputs(seed)) for seed in range(4)]

    def passes(seed):
        found = [results_of(layer, inputs(seed)) for _ in range(3)]
        with torch.no_grad():
            return [*found, layer(inputs(seed))]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for seed, (*found, states) in enumerate(pool.map(passes, range(4))):
            for each in found:
                alike(each, expected[seed])
            alike(states, expected[seed][: len(states)])
    assert replays


class Changed(kar.ElmanCell):
    def step(self, projected, states, run):
        h, _ = super().step(projected, states, run)
        h = self.changed(h)
        return h, [h]


class Waits(Changed):
    def changed(self, h):
        return h if float(h.detach().sum()) < 1e9 else 2 * h


class Selects(Changed):
    def changed(self, h):
        return h + h[h > -2].sum()


class Draws(Changed):
    def changed(self, h):
        return h + torch.rand_like(h)


class ReadsAnother(Changed):
    memory = torch.ones(1)

    def changed(self, h):
        return h * self.memory.to(h.device)


class Assigns(Changed):
    def build(self, input_shape):
        super().build(input_shape)
        self.count = self.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

    def changed(self, h):
        self.count.assign(self.count + 1)
        return h


class Writes(kar.ElmanCell):
    def step(self, projected, states, run):
        with torch.no_grad():
            states[0].mul_(0.5)
        return super().step(projected, states, run)


REFUSED = {
    "waits": (lambda: Waits(4), {}, "waits for the GPU"),
    "selects": (lambda: Selects(4), {}, "waits for the GPU"),
    "draws": (lambda: Draws(4), {}, "random numbers"),
    "reads another": (lambda: ReadsAnother(4), {}, "no input, state or weight"),
    "assigns": (lambda: Assigns(4), {}, "assigns a variable"),
    "writes": (lambda: Writes(4), {}, "writes into a tensor"),
    "recomputes": (lambda: kar.GRUCell(4), {"recompute": True}, "recompute=True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_steps_run_in_the_loop(name, replays):
    make, options, reason = REFUSED[name]
    layer, loop = pair(make, **options)
    with torch.no_grad():
        with pytest.warns(UserWarning, match=reason):
            found = layer(inputs())
        # Once: another warning would be an error.
        layer(inputs())
        if name != "draws":
            alike(found, loop(inputs()))
    if name == "assigns":
        assert int(layer.cell.count) == 8
    assert not replays
    layer, loop = pair(make, graphs="auto", **options)
    for _ in range(tuning.GRAPH_CALLS + 1):
        layer(inputs())
    assert not replays


def test_cells_that_skip_run_in_the_loop_without_gradients(replays):
    layer, loop = pair(lambda: kar.SkimCell(kar.GRUCell(4), kar.GRUCell(2)))
    with torch.no_grad(), pytest.warns(UserWarning, match="skips computation"):
        alike(layer(inputs()), loop(inputs()))
    check(layer, loop, inputs())
    assert len(replays) == 1


def test_other_programs_run_in_the_loop(replays):
    layer, loop = pair(lambda: kar.GRUCell(4), return_state=False)

    def checkpointed(layer, x):
        return torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)

    def forward(layer, x):
        return torch.func.jvp(layer, (x,), (torch.ones_like(x),))[1]

    def each_row(layer, x):
        return torch.func.vmap(torch.func.grad(lambda row: layer(row[None]).sum()))(x)

    def autocast(layer, x):
        with torch.autocast(x.device.type, torch.bfloat16):
            return layer(x)

    for reason, call in {
        "hooks": checkpointed,
        "torch.func`|forward derivatives": forward,
        "torch.func": each_row,
        "autocast": autocast,
    }.items():
        layer.runner._graphs._warnings.clear()
        with pytest.warns(UserWarning, match=reason):
            found = call(layer, inputs())
        alike(found, call(loop, inputs()))
    assert not replays
    found = [torch.func.grad(lambda x, each=each: each(x).sum())(inputs()) for each in (loop, loop)]
    alike(*found)


def test_a_capture_that_fails_and_a_graph_that_computes_something_else_are_not_used(replays, monkeypatch):
    def failing(self, function):
        raise RuntimeError("CUDA error: out of memory")

    def stale(self, function):
        return capture(self, function)[0], lambda: None

    capture = torch_graphs.Recorder.capture
    for broken, reason in ((failing, "out of memory"), (stale, "AssertionError")):
        monkeypatch.setattr(torch_graphs.Recorder, "capture", broken)
        layer, loop = pair(lambda: kar.GRUCell(4))
        with pytest.warns(UserWarning, match=reason):
            check(layer, loop, inputs())
        check(layer, loop, inputs())
    assert not replays


def test_a_graph_keeps_what_its_memory_is_read_of(replays, monkeypatch):
    """A tape would keep it by itself."""
    made, forgetful = [], lambda self, function: (function(), lambda: None)

    class Watched(torch_graphs.Constants):
        def __torch_function__(self, *args):
            result = super().__torch_function__(*args)
            made.extend(weakref.ref(constant) for constant in self.values[len(made) :])
            return result

    monkeypatch.setattr(torch_graphs, "Constants", Watched)
    monkeypatch.setattr(torch_graphs.Recorder, "capture", forgetful)
    layer, _ = pair(lambda: Own(4))
    layer(inputs())
    assert made
    assert None not in [reference() for reference in made]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_loop_runs(monkeypatch):
    monkeypatch.undo()
    layer, loop = pair(lambda: kar.GRUCell(4))
    with pytest.warns(UserWarning, match="cpu cannot capture"):
        check(layer, loop, inputs())
    check(*pair(lambda: kar.GRUCell(4), graphs="auto"), inputs())


def test_files_and_copies_have_no_graphs(replays, tmp_path):
    model = keras.Sequential([keras.Input((4, 3)), kar.Mogrifier(4, rank=2, graphs=True)])
    x = inputs().detach()
    expected = model.predict(x, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for copied in (loaded, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        layer = copied.layers[-1]
        assert layer.graphs is True
        assert not layer.runner._graphs._captured
        np.testing.assert_allclose(copied.predict(x, verbose=0), expected, rtol=1e-6, atol=1e-6)
    assert len(set(replays)) == 4
    assert "graphs=True" in repr(layer)
    assert kar.Mogrifier(4).get_config()["graphs"] is False
    for wrong in ("always", 1, None):
        with pytest.raises(ValueError, match="`graphs` must be 'auto', True or False"):
            kar.Mogrifier(4, graphs=wrong)
