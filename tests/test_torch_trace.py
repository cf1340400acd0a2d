"""What PyTorch repeats of a step is what the step does."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar

if keras.backend.backend() != "torch":
    pytest.skip("only PyTorch records its steps; others compile them", allow_module_level=True)

import torch

from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn.engine import torch as torch_engine
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.torch_trace import Traced

A, B = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)


class Counted:
    """A function, and how often it was called."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *tensors):
        self.calls += 1
        return self.function(*tensors)


def in_place(a):
    b = a * 2
    b += 1
    b[:, 0] = a[:, 1]
    return [ops.tanh(b)]


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: [ops.sigmoid(a) * b, ops.concatenate([a, b], axis=-1)],
        lambda a, b: list(ops.split(ops.matmul(a, ops.transpose(b)), 2, axis=-1)),
        lambda a, b: [ops.where(a > 2, a, b), ops.take(a, 1, axis=0)[None, 1:]],
        lambda a, b: [ops.cast(a, "float16"), ops.cast(b, "float32"), ops.ones((2,))],
        lambda a, b: [ops.stop_gradient(a) + ops.max(b, axis=-1, keepdims=True), *ops.top_k(a, 2)],
        lambda a, b: in_place(a),
        lambda a, b: [a, b, a],
    ],
)
def test_it_does_the_same_without_the_function(function):
    counted = Counted(function)
    repeated = Traced(counted)
    for a, b in [(A, B), (A + 1, B * 2), (-A, B)]:
        expected = function(a, b)
        found = repeated(a, b)
        assert all(torch.equal(x, y) and x.dtype == y.dtype for x, y in zip(found, expected, strict=True))
    assert counted.calls == 1


CONSTANT = torch.zeros(2, 3)


def written(a):
    CONSTANT[0] = a[0]
    return [CONSTANT * 1]


def reset_random_numbers():
    # Keras 3.10 keeps its own generator across `set_random_seed`.
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: [a * 2] if a.sum() > 3 else [a],
        lambda a: [a * float(a.max())],
        lambda a: [ops.convert_to_tensor(ops.convert_to_numpy(a) + 1)],
        lambda a: [a + torch.rand(2, 3)],
        lambda a: [torch.nn.functional.dropout(a, 0.5)],
        lambda a: [a + torch.binomial(torch.full((2, 3), 9.0), torch.full((2, 3), 0.5))],
        lambda a: [a + torch.empty(2, 3).exponential_()],
        lambda a: [a + torch.randn(2, 3, generator=torch.Generator().manual_seed(0))],
        lambda a: [a + keras.random.normal((2, 3))],
        lambda a: [a[a > 2].sum()],
        lambda a: [torch.add(a, 1, out=torch.empty(2, 3))],
        lambda a: [torch.vmap(ops.tanh)(a)],
        lambda a: [torch.func.grad(lambda x: ops.sum(ops.square(x)))(a)],
        written,
    ],
)
def test_what_cannot_be_repeated_is_called(function):
    counted = Counted(function)
    repeated = Traced(counted)
    for a in (A, A - 7, A):
        reset_random_numbers()
        (found,) = repeated(a)
        reset_random_numbers()
        assert torch.equal(found, function(a)[0])
    assert counted.calls == 3


def test_threads_may_trace_while_others_draw(monkeypatch):
    """PyTorch locks a generator that is read; with the garbage collector in between, two threads would block."""
    for name in ("get_rng_state", "initial_seed", "seed"):
        monkeypatch.setattr(torch, name, None)
    repeated = Traced(lambda a: [a * 2])
    for a in (A, A - 7, A):
        assert torch.equal(repeated(a)[0], a * 2)


FUNCTIONAL = torch.nn.functional
DRAWS = {
    "rand": lambda: torch.rand(2, 3),
    "randn": lambda: torch.randn(2, 3),
    "randint": lambda: torch.randint(9, (2, 3)),
    "randperm": lambda: torch.randperm(3),
    "like": lambda: torch.rand_like(B0) + torch.randn_like(B0) + torch.randint_like(B0, 9),
    "normal": lambda: torch.normal(B0, 1.0),
    "bernoulli": lambda: torch.bernoulli(B0 / 2),
    "poisson": lambda: torch.poisson(B0 * 99),
    "multinomial": lambda: torch.multinomial(B0, 3),
    "binomial": lambda: torch.binomial(B0 * 99, B0 / 2),
    "distributions": lambda: torch.distributions.Dirichlet(B0).sample() + torch.distributions.Gamma(B0, B0).sample(),
    "gumbel_softmax": lambda: FUNCTIONAL.gumbel_softmax(B0),
    "rrelu": lambda: FUNCTIONAL.rrelu(-B0, training=True),
    "alpha_dropout": lambda: FUNCTIONAL.alpha_dropout(B0, 0.5, training=True),
    "feature_alpha_dropout": lambda: FUNCTIONAL.feature_alpha_dropout(torch.ones(40, 3), 0.5, training=True)[:2],
    "dropout1d": lambda: FUNCTIONAL.dropout1d(torch.ones(40, 3), 0.5)[:2],
    "dropout2d": lambda: FUNCTIONAL.dropout2d(torch.ones(1, 40, 1, 1), 0.5)[0, :3, 0, 0],
    "dropout3d": lambda: FUNCTIONAL.dropout3d(torch.ones(1, 40, 1, 1, 1), 0.5)[0, :3, 0, 0, 0],
    "max_pool": lambda: FUNCTIONAL.fractional_max_pool2d(POOLED, 2, output_size=5)[0, :2, :3],
    "lowrank": lambda: torch.svd_lowrank(POOLED[0], 1, niter=0)[0][:2, :1].abs() * 1e3,
    "operation": lambda: torch.ops.aten.rand([2, 3]),
    "of somebody else": lambda: torch.ops.third_party.noise(B0),
}
B0 = torch.linspace(0.3, 0.9, 6).reshape(2, 3)
POOLED = torch.randn(1, 12, 12)


@torch.library.custom_op("third_party::noise", mutates_args=())
def noise(like: torch.Tensor) -> torch.Tensor:
    return torch.rand(like.shape)


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_is_no_constant(name):
    repeated = Traced(lambda a: [a + DRAWS[name]()])
    found = [repeated(A)[0] for _ in range(12)]
    assert not all(torch.equal(each, found[-1]) for each in found[2:-1])


@pytest.mark.parametrize("other", [A.double(), A[:1]])
def test_what_the_second_call_finds_changed_is_called(other):
    counted = Counted(lambda a: [ops.cast(a, "float32") * 2])
    repeated = Traced(counted)
    repeated(A)
    for _ in range(2):
        (found,) = repeated(other)
        assert torch.equal(found, other.float() * 2)
    assert counted.calls == 3


def test_one_tensor_in_two_places_is_two_arguments():
    repeated = Traced(lambda a, b: [a - b])
    repeated(A, A)
    assert torch.equal(repeated(A, B)[0], A - B)


def test_weights_are_read_anew_and_constants_are_not():
    weight, constant, made = torch.nn.Parameter(torch.ones(3)), torch.ones(3), []

    def function(a):
        made.append(constant * 3)
        return [a * (weight * 2) + made[-1]]

    repeated = Traced(function)
    repeated(A)
    with torch.no_grad():
        weight.fill_(5)
        constant.fill_(9)
    assert torch.equal(repeated(A)[0], A * 10 + 3)


def test_gradients_are_those_of_the_function():
    def function(a, b):
        c = ops.tanh(a * b)
        return [ops.stop_gradient(c) * a + ops.sigmoid(b)]

    repeated, found = Traced(function), []
    repeated(A, B)
    for run in (repeated, function):
        a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
        found.append(torch.autograd.grad(run(a, b)[0].square().sum(), [a, b]))
    assert all(torch.equal(x, y) for x, y in zip(*found, strict=True))


def test_a_gradient_of_its_own_is_kept():
    @keras.ops.custom_gradient
    def tripled(x):
        return x * 1, lambda *args, upstream=None: (upstream if upstream is not None else args[0]) * 3

    repeated = Traced(lambda a: [tripled(a)])
    for _ in range(3):
        a = A.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(repeated(a)[0].sum(), a)
        assert torch.equal(gradient, torch.full_like(A, 3))


def test_each_function_of_a_choice_is_called_once():
    less, more = Counted(lambda a, b: [a - b]), Counted(lambda a, b: [ops.tanh(a) + b])
    repeated = Traced(lambda a, b: kar.engine.switch(ops.cast(ops.sum(b) > 0, "int32"), [less, more], [a, b]))
    for b in (B, -B, B * 2, -B * 3):
        (found,) = repeated(A, b)
        assert torch.equal(found, torch.tanh(A) + b if b.sum() > 0 else A - b)
    assert (less.calls, more.calls) == (1, 1)


def test_a_choice_that_returns_what_it_is_given_is_still_a_choice():
    kept, swapped = (lambda a, b: [a, a]), (lambda a, b: [a + b, b])
    repeated = Traced(lambda a, b: kar.engine.switch(ops.cast(ops.sum(b) > 0, "int32"), [kept, swapped], [a, b]))
    for b in (-B, B, -B * 2):
        for x, y in zip(repeated(A, b), [A + b, b] if b.sum() > 0 else [A, A], strict=True):
            assert torch.equal(x, y)


GENERATOR = torch.Generator()


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.binomial(torch.full_like(x, 1e6), torch.full_like(x, 0.5)),
        lambda x: torch._standard_gamma(torch.ones_like(x)),
        lambda x: torch.empty_like(x).bernoulli_(torch.full_like(x, 0.5)) + torch.empty_like(x).cauchy_(),
        lambda x: torch.nn.functional.dropout(torch.ones_like(x), 0.5) * keras.random.normal(x.shape),
        lambda x: torch.normal(torch.zeros_like(x), 1, generator=GENERATOR),
    ],
)
def test_a_step_draws_new_numbers_each_time(draw):
    class Noisy(kar.ElmanCell):
        def step(self, projected, states, run):
            output = draw(states[0])
            return output, [output]

    outputs = ops.convert_to_numpy(kar.RNN(Noisy(8), return_sequences=True)(np.zeros((1, 6, 3), "float32")))[0]
    assert len(np.unique(outputs, axis=0)) == 6


class Stranger(keras.layers.LSTMCell):
    """A cell that may do something else in every step."""


@pytest.mark.parametrize(
    "make", [kar.MogrifierCell, keras.layers.LSTMCell, lambda units: kar.ZoneoutCell(cell=Stranger(units)), Stranger]
)
@pytest.mark.parametrize("training", [False, True])
def test_a_loop_calls_the_step_of_a_cell_it_knows_once(make, training, monkeypatch):
    layer = kar.RNN(make(4), return_sequences=True)
    x = np.random.default_rng(0).normal(size=(2, 7, 3)).astype("float32")
    layer.build(x.shape)
    calls = []
    # What follows a step that is not replayed.
    monkeypatch.setattr(torch_engine, "masked", lambda *args: calls.append(1) or masked(*args))
    with torch.set_grad_enabled(training):
        layer(x, training=training)
    known = not any(isinstance(part, Stranger) for part in flatten_layers(layer.cell))
    assert len(calls) == (1 if known else 7)


# The compiler itself looks at it.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
def test_a_compiler_leaves_the_layer_as_it_is(rng):
    layer = kar.LSTM(4)
    x = torch.tensor(rng.normal(size=(2, 5, 3)).astype("float32"))
    expected = layer(2 * x) + 1
    operations = []

    def compiler(graph, _):
        operations.extend(node.target.__name__ for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    result = torch.compile(lambda x: layer(2 * x) + 1, backend=compiler)(x)
    np.testing.assert_array_equal(ops.convert_to_numpy(result), ops.convert_to_numpy(expected))
    assert operations == ["mul", "add"]
