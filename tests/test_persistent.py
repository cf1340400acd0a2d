"""One kernel for all steps computes what the loop does. Pallas interprets it, or compiles it for another machine."""

import csv

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

import keras_adaptive_rnn as kar
from benchmarks import rows
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.engine.target import tracing_for
from keras_adaptive_rnn.testing.case import Case
from tests.backends import one_in

on_jax = pytest.mark.skipif(keras.backend.backend() != "jax", reason="Only JAX makes kernels of a cell.")
if keras.backend.backend() == "jax":
    import jax
    from jax import export

    from tests import kernels

NAMES = list(kernels.MAKERS) if keras.backend.backend() == "jax" else []
MASK = np.array([[True, True, False, True], [False, False, True, True], [True, False, False, False]])
RESETS = np.array([[False, True, False, True], [True, False, False, False], [False, False, True, True]])


# The largest differences of outputs and of gradients. In float64, they show that only the order of sums differs.
LIMITS = {"float64": (1e-14, 1e-14), "float32": (1e-6, 4e-6), "mixed_bfloat16": (1e-2, 4e-2)}


@pytest.fixture
def in_float64():
    with kernels.float64():
        yield


def agree(case, dtype, **options):
    for pairs, limit in zip(kernels.outcomes(case, **options), LIMITS[dtype], strict=True):
        for a, b in pairs:
            np.testing.assert_allclose(b, a, rtol=0, atol=limit * max(1.0, abs(a).max()))


@on_jax
@pytest.mark.parametrize("name", one_in(10, NAMES))
def test_the_numbers_of_the_loop(in_float64, name):
    case, in_float64 = kernels.case_of(name)
    agree(case, "float64" if in_float64 else "float32", training=True)


@on_jax
def test_the_page_says_how_large_the_differences_of_its_table_are():
    with (rows.TABLES / "one_kernel.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert {line["cell"] for line in lines} <= set(kernels.MAKERS)
    exact = [line for line in lines if line["dtype"] == "float64"]
    assert max(float(line[what]) for line in exact for what in ("outputs", "gradients")) <= 1e-15
    page = " ".join((rows.TABLES.parent / "one_kernel.md").read_text(encoding="utf-8").split())
    rest = {3: "three"}[len(lines) - len(exact)]
    assert f"all {len(lines)} cells agree with the loop to 1e-15, but for {rest} whose layer normalization" in page


@on_jax
@pytest.mark.parametrize(
    "options",
    [
        {"mask": MASK, "resets": RESETS, "go_backwards": True},
        {"mask": MASK, "zero_output_for_mask": True, "return_sequences": False, "recompute": True},
    ],
    ids=lambda options: "-".join(options),
)
def test_masks_and_resets(in_float64, options):
    agree(Case(kar.GRUCell(5, trainable_initial_state=True), (3, 4, 2)), "float64", **options)


@on_jax
def test_sizes_that_are_no_powers_of_two(in_float64, monkeypatch):
    # Tiles with padding, products of several tiles, weights that are read in every step, and two blocks of rows.
    monkeypatch.setattr(tuning, "TILE", 16)
    monkeypatch.setattr(tuning, "RESIDENT_BYTES", 0)
    agree(Case(kar.MogrifierCell(20, rounds=1, rank=3, dropout=0.2), (17, 2, 18)), "float64", training=True)


@on_jax
@settings(max_examples=2, deadline=None, derandomize=True)
@given(
    st.sampled_from([kar.GRUCell, kar.SLSTMCell, kar.LowRankGRUCell]),
    st.tuples(st.integers(1, 18), st.integers(1, 3), st.integers(1, 5)),
    st.integers(1, 20),
    st.booleans(),
    st.sampled_from(["float32", "mixed_bfloat16"]),
)
def test_any_size(cell, shape, units, masked, dtype):
    rank = {"rank": 2} if cell is kar.LowRankGRUCell else {}
    mask = {"mask": np.random.default_rng(0).uniform(size=shape[:2]) > 0.3} if masked else {}
    agree(Case(cell(units, dtype=dtype, **rank), shape), dtype, **mask)


@on_jax
@pytest.mark.parametrize("name", one_in(9, NAMES))
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_kernels_for_cuda(name, dtype):
    case = Case(kernels.MAKERS[name](), (17, 4, 4))
    cell = case.cell(dtype=dtype) if dtype != "float32" else case.cell()
    with tracing_for("gpu"):
        function, args = kernels.loss_of(case, cell=cell, schedule="persistent", training=True)
        kernel = export.DisabledSafetyCheck.custom_call("__gpu$xla.gpu.triton")
        exported = export.export(jax.jit(function), platforms=["cuda"], disabled_checks=[kernel])(*args)
    program = exported.mlir_module()
    # One forward and one backward, and no loop outside.
    assert program.count("@__gpu$xla.gpu.triton") == 2
    assert "stablehlo.while" not in program


class Step(kar.cells.Cell):
    """A cell whose step is any function of inputs and state."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self.function, self.state_size, self.output_size = function, [4], 4

    def step(self, projected, states, run):
        output = self.function(projected, states[0])
        return output, [output]


@on_jax
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, h: ops.sort(x + h), "a step applies `sort`"),
        # Not by indices, which are a `gather` with JAX 0.8.1.
        (lambda x, h: x + jax.lax.slice(h, (0, 0), h.shape, (1, 2)).repeat(2, axis=1), "a step skips entries"),
        (lambda x, h: x + ops.mean(h, axis=0, keepdims=True), "a step mixes the rows of a batch"),
        (lambda x, h: x + h * np.arange(12.0, dtype="float32").reshape(3, 4), "a step reads tensors other than"),
    ],
)
def test_a_step_that_no_kernel_can_run(function, reason):
    layer = kar.RNN(Step(function), schedule="persistent")
    with pytest.raises(ValueError, match=f'Argument `schedule` cannot be "persistent" for this cell: {reason}'):
        layer(np.ones((3, 2, 4), "float32"))


@on_jax
def test_a_step_that_reads_a_tensor_of_the_outer_function():
    def outer(tensor):
        return kar.RNN(Step(lambda x, h: x + h * tensor), schedule="persistent")(np.ones((3, 2, 4), "float32"))

    with pytest.raises(ValueError, match="reads tensors other than its inputs"):
        jax.jit(outer)(np.ones((4,), "float32"))


@on_jax
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: kar.LSTM(4, unroll=True, schedule="persistent"), "with unroll=True"),
        (lambda: kar.Skip(kar.GRUCell(4), schedule="persistent"), "for a cell that decides how much to compute"),
    ],
)
def test_a_layer_that_no_kernel_can_run(make, reason):
    with pytest.raises(ValueError, match=f'Argument `schedule` cannot be "persistent" {reason}'):
        make()


@on_jax
@pytest.mark.parametrize(
    ("make", "training", "expected"),
    [
        (lambda: kar.GRU(4), True, "persistent"),
        (lambda: kar.GRU(4), False, "steps"),
        (lambda: kar.GRU(5), True, "steps"),
        (lambda: kar.LSTM(4), True, "steps"),
        (lambda: kar.GRU(4, unroll=True), True, "steps"),
        (lambda: kar.GRU(4, recompute=True), True, "steps"),
        (lambda: kar.Skip(kar.GRUCell(4)), True, "steps"),
    ],
)
def test_where_a_measurement_says_so(make, training, expected, monkeypatch):
    layer = make()
    layer.build((None, 3, 2))
    assert layer.running_schedule(64, training) == "steps"
    monkeypatch.setattr(tuning, "PERSISTENT_UNITS", {"GRUCell": (4, 3)})
    assert layer.running_schedule(64, training) == "steps"
    with tracing_for("gpu"):
        assert layer.running_schedule(64, training) == expected


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX makes kernels of a cell.")
def test_other_backends():
    with pytest.raises(ValueError, match=f'cannot be "persistent" on the Keras backend {keras.backend.backend()}'):
        kar.LSTM(4, schedule="persistent")
