"""The benchmarks run, on sizes that say nothing of speed, and what they compare computes the same."""

import csv
import importlib
import json
import pathlib

import keras
import numpy as np
import pytest

from tests.backends import in_turns, nightly

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
if not (pathlib.Path(__file__).parents[1] / "benchmarks").exists():
    pytest.skip("the benchmarks are not part of the source distribution", allow_module_level=True)

import keras_adaptive_rnn as kar
from benchmarks import contenders, deep_stack, gpu, linear_parts, memory, plain, plot, rows, start_up, time_loop

pytestmark = in_turns

ROOT = pathlib.Path(__file__).parents[1]
SIZES = {"units": 3, "batch": 2, "steps": 4}
ARGUMENTS = [f"--{name}={size}" for name, size in SIZES.items()]


def test_contenders_compute_the_same():
    on_torch = keras.backend.backend() == "torch"
    for cell in ("Mogrifier", "AdaptiveLSTM") if on_torch else ("Elman",):
        same = {"ours", "keras", *(["plain"] if on_torch else [])}
        found = contenders.contenders({"cell": cell, **SIZES}, same)
        assert set(found) == same
        losses = {name: each["train"]() for name, each in found.items()}
        for name in same:
            np.testing.assert_allclose(losses[name], losses["ours"], rtol=1e-6)


@pytest.mark.parametrize("cell", plain.CELLS)
def test_plain_cells_compute_the_same(cell):
    names = {"ours", "keras", "keras_plain", *(["keras_layer"] if cell in plain.LAYERS else [])}
    found = contenders.contenders({"cell": cell, **SIZES}, names)
    assert set(found) == names
    for what in ("predict", "train", "predict"):
        results = {name: each[what]() for name, each in found.items()}
        for each in results.values():
            np.testing.assert_allclose(each, results["ours"], rtol=1e-5, atol=1e-6)


def test_the_summary_of_the_readme():
    rows = [
        {"backend": backend, "what": what, "ratios": {"keras_plain": plain_cell + more, "keras_layer": layer}}
        for backend, plain_cell, layer in (("jax", 1.6, 2.0), ("jax", 0.9, 2.0), ("torch", 3.0, 1.0))
        for what, more in (("train", 0), ("predict", 1))
    ]
    table, lowest = plain.summary(rows)
    assert table.splitlines() == [
        "| times as fast in training, in prediction | PyTorch | JAX |",
        "| --- | ---: | ---: |",
        "| as plain cells in `keras.layers.RNN` | 3.00, 4.00 | 1.20, 2.22 |",
        "| as `keras.layers.LSTM`, `GRU`, `SimpleRNN` | 1.00, 1.00 | 2.00, 2.00 |",
    ]
    assert lowest == "the lowest single ratio is 0.90"


@pytest.mark.parametrize(
    "name",
    [
        *("c_step", "conformance", "edge", "exports", "generation", "linear_parts", "microcontrollers", "one_step"),
        *("others", "platforms"),
    ],
)
def test_the_tables_of_the_docs_are_those_of_the_rows(name):
    module = importlib.import_module(f"benchmarks.{name}")
    known = rows.read(ROOT / "benchmarks" / f"{name}.json", module.KEY)
    for table, lines in module.tables(known).items():
        with (ROOT / "docs" / "tables" / f"{table}.csv").open(newline="", encoding="utf-8") as file:
            assert list(csv.reader(file)) == lines


def test_a_memory_that_reads_a_policy_is_the_adaptive_linear_one(rng):
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    policy, memory = kar.LSTMCell(2), kar.MinGRUCell(4)
    layer = keras.layers.RNN(linear_parts.SkipStackCell(policy, memory))
    like = keras.layers.RNN(kar.AdaptiveLinearCell(4, policy_units=2))
    expected = like(x)
    layer.build(x.shape)
    layer.set_weights(like.get_weights())
    np.testing.assert_allclose(
        keras.ops.convert_to_numpy(layer(x)), keras.ops.convert_to_numpy(expected), rtol=1e-5, atol=1e-6
    )


def test_values_move_with_their_places(rng):
    for tokens, targets, counted in zip(*linear_parts.moving_places(rng, 20, 16), strict=True):
        held, last = [], None
        for token, target, counts in zip(tokens, targets, counted, strict=True):
            if len(held) < 2:
                last = token - 1
                held.append(last)
            elif token == 0:
                held.reverse()
            elif token < 5:
                held[0] = last = token - 1
            assert counts == (token == 5 and held[0] != last)
            assert target == (held[0] if counts else 0)


def test_streaming_contenders_compute_the_same():
    outputs = {name: read() for name, read in contenders.streaming_contenders({"cell": "LSTM", **SIZES}).items()}
    for each in outputs.values():
        np.testing.assert_allclose(each, outputs["ours"], rtol=1e-5, atol=1e-6)


def test_products_of_a_step():
    cell = contenders.CELLS["Mogrifier"](3)
    cell.build((None, 3))
    gates = [((2, 3), (3, 3), False)] * 10
    # The first round gates the data, so that nothing reads them as they are.
    assert contenders.products(cell, 2) == [*gates, ((2, 3), (3, 12), False), ((2, 3), (3, 12), False)]
    cell = contenders.CELLS["LSTM"](3)
    cell.build((None, 3))
    assert contenders.products(cell, 2) == [((2, 3), (3, 12), True), ((2, 3), (3, 12), False)]


def test_run(tmp_path, capsys, monkeypatch):
    path, picture = tmp_path / "rows.json", tmp_path / "rows.png"
    other = {"backend": "another", "device": "cpu", "jit": "auto", "cell": "GRU", **SIZES, "what": "train"}
    path.write_text(json.dumps([{**other, "seconds": {"ours": 2.0}, "ratios": {"keras": 3.0}, "rounds": 5}]))
    arguments = [*ARGUMENTS, "--cells=Elman", "--contenders=products", "--repeats=3", f"--json={path}"]
    time_loop.main(arguments)
    first = json.loads(path.read_text())
    assert [row["what"] for row in first] == ["train", "train", "predict"]
    assert all(row["rounds"] == 3 and set(row["seconds"]) == {"ours", "products"} for row in first[1:])

    monkeypatch.setattr(time_loop, "measure", None)
    time_loop.main([*arguments, "--resume"])
    assert json.loads(path.read_text()) == first

    capsys.readouterr()
    time_loop.main(["--report", f"--json={path}", "--markdown"])
    assert "| another | GRU | 3 | 2 | 4 | train | 2000 |  | 3.00 |  | 5 |" in capsys.readouterr().out

    plot.main([str(path), str(picture), "--cell=Elman", *ARGUMENTS])
    assert picture.read_bytes().startswith(b"\x89PNG")


@nightly
def test_one_command_for_a_gpu(tmp_path, capsys):
    path = tmp_path / "rows.json"
    arguments = ["--backends", keras.backend.backend(), f"--json={path}"]
    assert gpu.main([*arguments, "--small"]) is None
    assert [row["what"] for row in json.loads(path.read_text())] == ["train", "predict", "memory"]
    assert "| Elman |" in path.with_suffix(".md").read_text()
    if keras.backend.backend() == "jax":
        assert "PERSISTENT_UNITS = {" in (tmp_path / "rows_persistent.md").read_text()
    if contenders.device() == "cpu":
        assert "No backend" in gpu.main(arguments)
        assert "sees no GPU" in capsys.readouterr().out


def test_the_limits_that_a_gpu_shows():
    def row(cell, what, units, ratio):
        return {"cell": cell, "what": what, "units": units, "ratios": {"persistent": ratio}}

    measured = [
        *(row("LSTM", "train", units, ratio) for units, ratio in ((64, 0.5), (64, 0.97), (256, 0.5))),
        *(row("LSTM", "predict", units, 0.5) for units in (256, 64)),
        *(row("GRU", what, 64, 1.2) for what in ("train", "predict")),
        *(row("Mogrifier", what, units, units / 200) for what in ("train", "predict") for units in (64, 256)),
    ]
    assert gpu.limits(measured) == {"LSTMCell": (0, 256), "MogrifierCell": (64, 64)}


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="a contender of PyTorch")
def test_flashrnn_computes_the_same_lstm():
    pytest.importorskip("flashrnn")
    sizes = {"cell": "LSTM", "units": 4, "batch": 3, "steps": 5}
    made = contenders.contenders(sizes, ["ours", "flashrnn"])
    np.testing.assert_allclose(made["flashrnn"]["predict"](), made["ours"]["predict"](), atol=1e-6)


def test_schedules_of_deep_stacks(tmp_path):
    path = tmp_path / "rows.json"
    sizes = {"units": 3, "depth": 3, "batch": 2, "steps": 4}
    arguments = ["--stacks=Elman", *(f"--{name}={size}" for name, size in sizes.items())]
    for schedules in (["layers"], ["layers", "wavefront", *deep_stack.KERAS]):
        deep_stack.main([*arguments, "--schedules", *schedules, "--repeats=3", f"--json={path}"])
    (row,) = json.loads(path.read_text())
    assert list(row["schedules"]) == schedules
    assert all(row[name] == size for name, size in sizes.items())
    assert row["schedules"]["layers"]["times_first"] == 1
    assert row["schedules"]["wavefront"]["rounds"] == 3
    with pytest.raises(SystemExit):
        deep_stack.main(["--stacks=DeepRNN", "--schedules", "Keras layers"])


def test_growth_of_memory():
    assert memory.growth({100: 300.0}) is None
    np.testing.assert_allclose(memory.growth({100: 300.0, 200: 350.0, 400: None}), 0.5)


def test_start_up(tmp_path, capsys):
    path = tmp_path / "rows.json"
    start_up.main(["--cells=Elman", "--repeats=1", *ARGUMENTS, f"--json={path}"])
    rows = json.loads(path.read_text())
    assert [row["what"] for row in rows] == ["train", "predict"]
    assert all(row["ratio"] > 0 and set(row["seconds"]) == {"ours", "keras"} for row in rows)
    assert "Elman" in capsys.readouterr().out


LAUNCHES = """
000: kCommandBuffer [source       | next=006 (1)]
    001: kCopy         [source       | sink        ] kCopy
006: kWhile         [prev=000 (1) | next=018 (1)]
condition:
    007: kCustomKernel [source | sink] loop_compare_fusion grid: [1, 1, 1]
  body:
    000: kCommandBuffer [source | sink]
        008: kCustomKernel [source       | next=009 (1)] gemm_fusion_dot_general_5
        009: kCustomKernel [prev=008 (1) | next=010 (1)] loop_divide_multiply_slice_fusion_1
    010: kCustomKernel [source | sink] fusion
    011: kWhile         [prev=000 (1) | next=018 (1)]
    condition:
        012: kCustomKernel [source | sink] compare
      body:
        013: kCustomKernel [source | sink] fusion
018: kCustomKernel  [prev=006 (1) | sink        ] wrapped_transpose_1
"""

PROGRAM = """\
HloModule jit_f, is_scheduled=true

%fused (p.1: f32[4]) -> f32[4] {
  %p.1 = f32[4]{0} parameter(0)
  ROOT %e.1 = f32[4]{0} exponential(%p.1)
}

%command_buffer (p.2: f32[4]) -> f32[4] {
  %p.2 = f32[4]{0} parameter(0)
  %gemm.1 = f32[4]{0} custom-call(%p.2), custom_call_target="__cublas$gemm"
  ROOT %f.1 = f32[4]{0} fusion(%gemm.1), kind=kLoop, calls=%fused
}

%inner (t.1: (s32[], f32[4])) -> (s32[], f32[4]) {
  %t.1 = (s32[], f32[4]{0}) parameter(0)
  %g.1 = f32[4]{0} get-tuple-element(%t.1), index=1
  %f.2 = f32[4]{0} fusion(%g.1), kind=kLoop, calls=%fused
  ROOT %t.2 = (s32[], f32[4]{0}) tuple(%g.1, %f.2)
}

%body (t.3: (s32[], /*index=1*/f32[4])) -> (s32[], f32[4]) {
  %t.3 = (s32[], f32[4]{0}) parameter(0)
  %g.2 = f32[4]{0} get-tuple-element(%t.3), index=1
  %c.1 = f32[4]{0} call(%g.2), to_apply=%command_buffer
  %w.1 = (s32[], /*index=1*/f32[4]{0}) while(%t.3), body=%inner, backend_config={"known_trip_count":{"n":"3"}}
  %copy.1 = f32[4]{0:S(5)} copy(%c.1)
  ROOT %t.4 = (s32[], f32[4]{0}) tuple(%g.2, %c.1)
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %f.3 = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
  %t.5 = (s32[], f32[4]{0}) tuple(%x, %f.3)
  %w.2 = (s32[], f32[4]{0}) while(%t.5), condition=%c, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  ROOT %g.3 = f32[4]{0} get-tuple-element(%w.2), index=1
}
"""


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="programs of XLA, as JAX shows them")
def test_kernels_of_a_program_are_counted():
    from benchmarks import gpu_programs

    found = gpu_programs.launches(*gpu_programs.computations(PROGRAM))
    # In each of five steps: a product and a fusion in a command buffer, three fusions in a loop, and a copy.
    assert (found["once"], found["in loops"], found["trips"]) == (1, 5 * (2 + 3 + 1), [5, 3])
    assert found["host"]
    # In each of five rounds: a command buffer, a kernel, and a loop of three rounds of one kernel.
    assert gpu_programs.launches_on_host(LAUNCHES, [5, 3]) == {"once": 2, "in loops": 5 * (1 + 1 + 3)}
    before = {"kernels a step": 6.0, "kernels once": 1, "temporary MB": 2.0}
    now = {**before, "copies to or from the host": False}
    assert gpu_programs.worse(now, before) is None
    assert gpu_programs.worse({**now, "kernels a step": 7.0}, before) == "kernels a step: 7, and 6 before"
    assert "host" in gpu_programs.worse({**now, "copies to or from the host": True}, before)


SAID = """ptxas info    : Compiling entry function 'persistent_backward' for 'sm_90a'
ptxas info    : Function properties for persistent_backward
    144 bytes stack frame, 140 bytes spill stores, 148 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 144 bytes cumulative stack size
"""
LAUNCHED = "008: kCustomKernel persistent_backward grid: [4, 1, 1] threads: [256, 1, 1]  shared_memory: 512 bytes"


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="kernels that JAX makes")
def test_what_a_kernel_takes_of_a_gpu():
    from benchmarks import gpu_programs

    found = gpu_programs.resources(SAID, LAUNCHED)
    assert found == {"backward registers": 255, "backward spilled": 140, "backward shared": 512}
    assert gpu_programs.worse({"backward spilled": 200, "copies to or from the host": False}, found) is not None


def test_a_row_that_is_worse_than_the_known_one(tmp_path):
    from benchmarks import rows

    names, allowed, known = ("cell", "bits"), {"bytes": (1.1, 0)}, {"cell": "LSTM", "bits": 8, "bytes": 100}
    rows.add(tmp_path / "rows.json", names, [known])

    def fault(row):
        return rows.worse_than_known(tmp_path / "rows.json", names, row, allowed)

    assert fault({**known, "bytes": 110}) is None
    assert fault({**known, "bytes": 111}) == "LSTM, 8: bytes: 111, and 100 before"
    # A file that no longer runs has fewer figures.
    assert "100 before" in fault({"cell": "LSTM", "bits": 8})


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="programs of JAX, and operations of PyTorch")
def test_the_tables_of_what_a_gpu_would_launch_are_those_of_the_files():
    name = {"jax": "gpu_programs", "torch": "torch_operations"}[keras.backend.backend()]
    module, folder = importlib.import_module(f"benchmarks.{name}"), ROOT / "benchmarks"
    lines = module.table(list(rows.read(folder / f"{name}.json", module.KEY).values()))
    page = (folder / "README.md").read_text("utf-8")
    for table in "\n".join(lines).split("\n\n"):
        assert table in page


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="JAX traces for another platform than it runs on")
def test_a_program_is_traced_for_the_platform_that_is_told():
    import jax

    from keras_adaptive_rnn.engine.target import tracing_for

    layer = kar.MinGRU(3)
    x = np.zeros((2, 8, 3), "float32")
    layer(x)

    def program(x):
        return str(jax.make_jaxpr(lambda x: layer(x))(x))

    here = program(x)
    with tracing_for("gpu"):
        there = program(x)
    # Linear cells run in a loop on a CPU, and as an associative scan on a GPU.
    assert "scan" in here
    assert "scan[" not in there
    assert program(x) == here


@nightly
@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="TensorFlow writes LiteRT files")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", ["digits", "sensor", "letters"])
def test_files_of_8_bits(task):
    pytest.importorskip("ai_edge_litert")
    from benchmarks import edge

    row = edge.measured(task, "LowRankGRU", 16, small=True)
    assert row["float32"]["right"] == pytest.approx(row["predict"], abs=0.01)
    assert row["int8"]["right"] == pytest.approx(row["predict"], abs=0.1)
    assert f"{row['int8']['bytes'] / 1000:.1f}" in edge.report([row])[-1]


class Careless(keras.layers.SimpleRNNCell):
    """A cell that makes a tensor on another device in every step, and may wait for one of its numbers."""

    waits = False

    def call(self, inputs, states, training=False):
        import torch

        size = torch.ones((), device="cpu") * 2
        if self.waits:
            states = [states[0] * float(inputs.sum())]
        output, states = super().call(inputs, states, training)
        return output * size, states


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="counts operations of PyTorch")
@pytest.mark.parametrize(
    ("cell", "lengths"),
    [("GRU", (4, 8)), *(pytest.param(cell, (35, 70), marks=nightly) for cell in ("Mogrifier", "MLSTM"))],
)
def test_operations_as_on_a_gpu(cell, lengths, monkeypatch):
    from benchmarks import torch_operations

    monkeypatch.setattr(torch_operations, "LENGTHS", lengths)
    ours, theirs = (torch_operations.row(cell, layer, "train", 64) for layer in ("ours", "keras"))
    assert ours["elsewhere"] == 0
    assert 0 < ours["forward"] < theirs["forward"]
    assert 0 < ours["backward"] < theirs["backward"]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="counts operations of PyTorch")
def test_operations_elsewhere_are_counted_and_waits_refused(monkeypatch):
    from benchmarks import torch_operations

    monkeypatch.setattr(torch_operations, "LENGTHS", (4, 8))
    monkeypatch.setitem(contenders.CELLS, "careless", Careless)
    assert torch_operations.row("careless", "ours", "train", 4)["elsewhere"] >= 1
    monkeypatch.setattr(Careless, "waits", True)
    with pytest.raises(RuntimeError, match="item"):
        torch_operations.row("careless", "ours", "train", 4)
