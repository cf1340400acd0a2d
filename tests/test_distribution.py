"""Training on several devices is training on one: data and model parallelism, noise and carried states."""

import json
import os
import pathlib
import re
import runpy
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar

ROOT = pathlib.Path(__file__).parent.parent
BACKEND = keras.backend.backend()
FLAGS = "--xla_force_host_platform_device_count=4"


def started(command, **environment):
    """Starts a process that has several devices."""
    environment = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}", **environment}
    return subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="session")
def found(tmp_path_factory):
    """What each process has found, from `tests/distributed.py`."""
    folder = tmp_path_factory.mktemp("devices")
    ranks = "01" if BACKEND == "torch" else "0"
    processes = [started([sys.executable, "-m", "tests.distributed", folder], RANK=rank) for rank in ranks]
    errors = [process.communicate()[1] for process in processes]
    assert not any(process.returncode for process in processes), errors
    return [json.loads((folder / f"found_{rank}.json").read_text()) for rank in ranks]


@pytest.mark.parametrize("way", ["data", *(["model"] if BACKEND == "jax" else [])])
def test_training_on_several_devices_is_training_on_one(found, way):
    """Of a model with carried states; on JAX with noise, too."""
    for one, several in ((each["one"], each[way]) for each in found):
        np.testing.assert_allclose(several["losses"], one["losses"], rtol=1e-5)
        for a, b in zip(several["weights"], one["weights"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_noise_differs_between_replicas_and_repeats_with_the_seed(found):
    for first, again in (each["noise"] for each in found):
        assert first == again
        assert not np.isclose(first[0], first[1]).any()


@pytest.mark.skipif(BACKEND != "jax", reason="Keras divides weights on JAX only")
def test_kernels_and_their_moments_are_divided(found):
    shares = found[0]["shards"]
    divided = {path.rsplit("_cell", 1)[-1] for path, share in shares.items() if share == 0.5}
    kernels = ("kernel_map", "recurrent_map", "gate_1", "gate_2")
    assert all(any(kernel in path for path in divided) for kernel in kernels)
    assert all(share in (0.5, 1) for share in shares.values())
    # Each kernel and its two moments: of the Mogrifier four, of the adaptive LSTM two.
    assert sum(share == 0.5 for share in shares.values()) == 3 * (4 + 2)


# The page.

PAGE = (ROOT / "docs" / "distribution.md").read_text()
SCRIPTS = dict(re.findall(r"```python title=(\w+\.py)\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = {
    "jax": f"XLA_FLAGS={FLAGS} python train_jax.py",
    "tensorflow": "python train_tensorflow.py --virtual",
    "torch": "torchrun --standalone --nproc-per-node=2 train_torch.py",
}


def test_the_script_of_the_page_on_several_devices_and_on_one(tmp_path, monkeypatch, capfd):
    command = COMMANDS[BACKEND]
    assert f"`{command}`" in PAGE
    script = tmp_path / f"train_{BACKEND}.py"
    script.write_text(SCRIPTS[script.name])
    # Of this environment, as if it were activated.
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, shell=True, cwd=tmp_path, env=environment, check=True)
    several = float(capfd.readouterr().out.splitlines()[-1])
    # One process, for `torch.distributed`.
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}.items():
        monkeypatch.setenv(name, value)
    runpy.run_path(str(script))
    np.testing.assert_allclose(several, float(capfd.readouterr().out.splitlines()[-1]), rtol=1e-5)


# Layouts.


def mesh():
    return keras.distribution.DeviceMesh((1, 1), ("batch", "model"), ["cpu:0"])


@pytest.mark.parametrize(
    ("make", "axes"),
    [
        (lambda: kar.MogrifierCell(4, rounds=2), {"gate_1": ("model", None), "gate_2": (None, "model")}),
        (lambda: kar.MogrifierCell(4, rounds=1, rank=2), {"gate_1": None}),
        (lambda: kar.DeepRNNCell(4, depth=2), {"inner_map": (None, "model"), "bias": None}),
        (lambda: kar.MultiplicativeLSTMCell(4), {"factor": (None, "model"), "recurrent_map": (None, "model")}),
        (lambda: kar.AdaptiveRNNCell(4, policy_units=3), {"policy": None, "recurrent_map": (None, "model")}),
        (lambda: kar.ZoneoutCell(cell=keras.layers.GRUCell(4)), {"gru_cell/kernel": (None, "model"), "bias": None}),
        (lambda: keras.layers.LSTMCell(4), {"recurrent_kernel": (None, "model")}),
    ],
)
def test_layouts(make, axes):
    layouts = kar.distribution.layout_map(mesh())
    layer = kar.RNN(make())
    layer.build((None, None, 3))
    for name, expected in axes.items():
        paths = [w.path for w in layer.weights if name in w.path and ("policy" not in w.path or name == "policy")]
        assert paths
        found = [layouts[path] for path in paths]
        assert [layout and layout.axes for layout in found] == [expected] * len(paths)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: kar.distribution.layout_map("model"), TypeError, ["`device_mesh`", "DeviceMesh", "'model'"]),
        (lambda: kar.distribution.layout_map(mesh(), "gates"), ValueError, ["`model_dim_name`", "'gates'", "'batch'"]),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert all(word in str(raised.value) for word in words)
