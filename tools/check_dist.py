"""Installs the wheel of `dist/` into an empty environment for each backend, and runs the README's first example there.

    python tools/check_dist.py [BACKEND ...]

The versions are those of `constraints.txt`. The exit code is 0 if every environment ran it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).parent.parent
BACKENDS = ("jax", "tensorflow", "torch")
# What the example leaves to its reader: to see that the model trains, and which package it was made with.
TRAIN = """
import numpy as np
import keras_adaptive_rnn

x, y = np.random.default_rng(0).integers(1, 10_000, size=(8, 12)), np.arange(8) % 2
history = model.fit(x, y, epochs=2, verbose=0)
assert np.isfinite(history.history["loss"]).all()
print(keras.backend.backend(), keras_adaptive_rnn.__version__, keras_adaptive_rnn.__file__)
"""


def check(backend, wheel, folder):
    """Returns whether the README's first example runs with one backend and nothing else."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", ROOT / "constraints.txt", f"{wheel}[{backend}]"], check=True)
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)[1]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([python, "-c", code + TRAIN], cwd=folder, env=environment, capture_output=True, text=True)
    print(done.stdout.strip() if done.returncode == 0 else f"{backend}: failed\n{done.stderr}", flush=True)
    return done.returncode == 0 and str(folder) in done.stdout


def main():
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit(f"dist/ must hold one wheel, and holds {len(wheels)}: run `make dist` first")
    passed = []
    for backend in sys.argv[1:] or BACKENDS:
        with tempfile.TemporaryDirectory() as folder:
            passed.append(check(backend, wheels[0].resolve(), pathlib.Path(folder).resolve() / "environment"))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
