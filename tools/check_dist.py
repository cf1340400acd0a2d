"""Installs the wheels of `dist/` into an empty environment for each backend, and runs the README's Python there.

    python tools/check_dist.py [--newest] [BACKEND ...]

Each block of README.md runs by itself and as it stands, except that the line which chooses the backend names the
installed one. So does a command of the package, which must find the backend by itself. The home is empty, and no
variable is set. The versions are those of `constraints.txt`, or with `--newest` the newest that the metadata allow. The
exit code is 0 if every environment ran everything.
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
CHOICE = 'os.environ.setdefault("KERAS_BACKEND", "{}")'
WHERE = "import keras, keras_adaptive_rnn as kar; print(keras.backend.backend(), kar.__version__, kar.__file__)"
COMPARE = "-m keras_rnn_compare series.csv --target y --cells lstm,gru --weights 300 --minutes 0.02 --trials 1"


def programs(backend):
    """Returns what Python is called with, by what it is."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = {f"README.md, block {k}": block for k, block in enumerate(blocks, 1)}
    for name, block in found.items():
        if CHOICE.format("jax") not in block:
            raise ValueError(f"{name} does not choose a backend before it imports Keras")
    chosen = CHOICE.format(backend)
    found = {name: ["-c", block.replace(CHOICE.format("jax"), chosen)] for name, block in found.items()}
    options = ["--steps", "8", "--seeds", "2", "--no-memory"]
    where = ["-c", f"import os; {chosen}; {WHERE}"]
    return {**found, "compare": [*COMPARE.split(), *options], "import": where}


def check(backend, core, compare, folder, versions):
    """Returns whether everything runs with one backend and nothing else; `versions` are arguments of pip."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check"]
    wheels = [f"{core}[{backend},plot]", f"{compare}"]
    subprocess.run([*install, *versions, *wheels], check=True)
    failed = []
    for name, arguments in programs(backend).items():
        # A home for each: Keras writes its settings there, as they were at the first import.
        home = folder / "homes" / name.replace(" ", "_")
        home.mkdir(parents=True)
        (home / "series.csv").write_text("y\n" + "".join(f"{(k % 7) * (k % 5)}\n" for k in range(400)))
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        done = subprocess.run([python, *arguments], cwd=home, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            failed.append(name)
            print(f"{backend}, {name}: failed\n{done.stdout}{done.stderr}", flush=True)
    # The last program shows which package it was.
    print(done.stdout.strip(), flush=True)
    return not failed and str(folder) in done.stdout


def main():
    wheels = sorted((ROOT / "dist").resolve().glob("*.whl"))
    if [wheel.name.partition("-")[0] for wheel in wheels] != ["keras_adaptive_rnn", "keras_rnn_compare"]:
        sys.exit(f"dist/ must hold a wheel of each package, and holds {len(wheels)}: run `make dist` first")
    backends = [argument for argument in sys.argv[1:] if argument != "--newest"]
    versions = [] if "--newest" in sys.argv else ["--constraint", ROOT / "constraints.txt"]
    passed = []
    for backend in backends or BACKENDS:
        with tempfile.TemporaryDirectory() as folder:
            passed.append(check(backend, *wheels, pathlib.Path(folder).resolve() / "environment", versions))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
