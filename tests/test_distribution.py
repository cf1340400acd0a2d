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
from keras_adaptive_rnn import maps
from tests import distributed
from tests.backends import alternating, nightly

pytestmark = alternating

ROOT = pathlib.Path(__file__).parent.parent
BACKEND = keras.backend.backend()
FLAGS = "--xla_force_host_platform_device_count=4"


def found_on_several_devices(folder, monkeypatch):
    """Returns what `tests/distributed.py` finds in another process, on PyTorch the second of two, and in this one."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.distributed", folder],
        env={**os.environ, "XLA_FLAGS": flags, "RANK": "1"},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    here = []
    if BACKEND == "torch":
        monkeypatch.setenv("RANK", "0")
        here.append(distributed.run_torch(folder))
    error = process.communicate()[1]
    assert process.returncode == 0, error
    return [*here, json.loads((folder / "found.json").read_text())]


def test_several_devices(tmp_path, monkeypatch):
    """In one test, as its processes take longer than all that is asked of them."""
    for found in found_on_several_devices(tmp_path, monkeypatch):
        for way in ("data", *(["model"] if BACKEND == "jax" else [])):
            is_the_same_training(found[way], found["one"])
        noise_differs_and_repeats(*found["noise"])
        if BACKEND == "jax":
            kernels_and_their_moments_are_divided(found["shards"])


def is_the_same_training(several, one):
    """Of a model with carried states; on JAX with noise, too."""
    np.testing.assert_allclose(several["losses"], one["losses"], rtol=1e-5)
    for a, b in zip(several["weights"], one["weights"], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def noise_differs_and_repeats(first, again):
    """Between replicas, which read the same; with the seed."""
    assert first == again
    assert not np.isclose(first[0], first[1]).any()


def kernels_and_their_moments_are_divided(shares):
    divided = [path for path, share in shares.items() if share == 0.5]
    assert all(share in (0.5, 1) for share in shares.values())
    # Each kernel and its two moments: of the Mogrifier four, of the LSTM two.
    assert len(divided) == 3 * (4 + 2)
    assert all(any(name in path for path in divided) for name in ("kernel_map", "recurrent_map", "gate_1", "gate_2"))


# The page.

PAGE = (ROOT / "docs" / "distribution.md").read_text()
SCRIPTS = dict(re.findall(r"```python title=(\w+\.py)\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = {
    "jax": f"XLA_FLAGS={FLAGS} python train_jax.py",
    "tensorflow": "python train_tensorflow.py --virtual",
    "torch": "torchrun --standalone --nproc-per-node=2 train_torch.py",
}


@nightly
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


class GatedInputCell(kar.ElmanCell):
    divided_weights = {"input_gate/kernel": 0}

    def build(self, input_shape):
        self.gate = maps.Full(input_shape[-1], name="input_gate")
        self.gate.build((None, self.units))
        super().build(input_shape)


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
        (lambda: kar.GridLSTMCell(4, depth=1), {"kernel_map": (None, "model")}),
        (lambda: GatedInputCell(4), {"input_gate/kernel": ("model", None), "kernel_map": (None, "model")}),
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
