"""Runs the linter and the tests on every backend, all of it even where a part fails, and ends with one line a part.

    python tools/run_tests.py [--every-row] [PART ...] [-- PYTEST_ARGUMENT ...]

The parts are `lint`, `jax`, `tensorflow`, `torch`, `optimized` (compiled models on JAX with XLA's optimiser, which the
part `jax` turns off to compile faster) and `cross` (tests that move models between backends); all of these by default.
`docs` builds the documentation site and reads it in Chromium. With `--every-row`, each backend also runs the rows that
it otherwise leaves to another one (`tests/backends.py`): hours instead of minutes. The exit code is 0 if every part
passed and every part of tests ran some.
"""

import dataclasses
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

WORKERS = ["-n", "2", "--dist", "worksteal"]
CORE = ["tests", "--ignore=tests/cross", "--ignore=tests/site", *WORKERS]
SUITE = [*CORE, "compare/tests"]
COMPILED = "tests/test_compiled.py"
# Keras's and KerasHub's own tests, strangers' cells, and the random search.
OUTSIDE = "tests/outside"
# With every row, TensorFlow makes so many graphs that each file has processes of its own.
FOLDERS = ("tests", OUTSIDE, "compare/tests")
FILES = sorted(file for folder in FOLDERS for file in pathlib.Path(folder).glob("test_*.py"))
# The backend of each part, and what it runs, one pytest after the other.
TESTS = {
    "jax": ("jax", [[*SUITE, f"--ignore={COMPILED}"]]),
    # TensorFlow never forgets a graph that XLA has compiled: in two parts, no process grows above 2.5 GB.
    "tensorflow": (
        "tensorflow",
        [
            [*SUITE, f"--ignore={OUTSIDE}", "--ignore-glob=tests/test_[g-z]*.py"],
            [*CORE, "--ignore-glob=tests/test_[a-f]*.py"],
        ],
    ),
    "torch": ("torch", [SUITE]),
    "optimized": ("jax", [[COMPILED, *WORKERS]]),
    # Each of these tests starts processes for all backends: the tests of a file run one by one.
    "cross": ("jax", [["tests/cross", "-n", "2", "--dist", "loadfile"]]),
    "docs": ("tensorflow", [["tests/site", "-n", "2", "--dist", "loadfile"]]),
}
PARTS = ["lint", *TESTS]
# The part `docs` also needs npm and Chromium.
DEFAULT = [part for part in PARTS if part != "docs"]
NO_TESTS = 5  # The exit code of pytest where names or marks pick none.


@dataclasses.dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def lint():
    """Returns whether ruff and mypy have nothing to say."""
    # mypy must not read stubs of yesterday.
    commands = ["ruff check .", "ruff format --check .", "tools.make_stubs", "mypy"]
    codes = [run(command.split()) for command in commands]
    return not any(codes)


def test(part, arguments, every_row):
    """Returns the counts of one part, with a failure for a run that breaks off, or a part without a single test."""
    backend, selections = TESTS[part]
    environment = {"KERAS_BACKEND": backend, **({"KAR_OPTIMIZED": "1"} if part == "optimized" else {})}
    if every_row:
        environment["KAR_EVERY_ROW"] = "1"
        if part == "tensorflow":
            selections = [[str(file), *WORKERS] for file in FILES]
    total = Counts()
    for selection in selections:
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.xml"
            code = run(["pytest", "-q", *selection, *arguments, f"--junitxml={report}"], **environment)
            counts = count(report) if report.exists() else Counts()
        if counts.failed == 0 and code not in (0, NO_TESTS):
            print(f"{part}: pytest ended with code {code} and {counts}")
            counts.failed = 1
        total += counts
    if total.failed == 0 and total.passed == 0:
        print(f"{part}: no test ran")
        total.failed = 1
    return total


def count(report):
    total = Counts()
    for suite in ElementTree.parse(report).iter("testsuite"):
        tests, failures, errors, skipped = (int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped"))
        total += Counts(tests - failures - errors - skipped, failures + errors, skipped)
    return total


def largest_process():
    """Returns the most memory, in bytes, that any process of the tests has held."""
    # macOS counts bytes, Linux kilobytes.
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(module, **environment):
    print(f"\n$ {' '.join([*(f'{k}={v}' for k, v in environment.items()), *module])}", flush=True)
    # One thread a worker: two workers that each take both cores slow each other down.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", *module], env={**quiet, **os.environ, **environment}).returncode


def main(arguments):
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, for_pytest = dict.fromkeys(arguments[:split]), arguments[split + 1 :]
    every_row = "--every-row" in names
    parts = [name for name in names if name != "--every-row"] or DEFAULT
    unknown = set(parts) - set(PARTS)
    if unknown:
        sys.exit(f"Unknown: {', '.join(unknown)}. The parts are {', '.join(PARTS)}.")
    lines, total = [], Counts()
    for part in parts:
        start = time.monotonic()
        if part == "lint":
            passed = lint()
            lines.append(f"lint: {'passed' if passed else 'failed'}")
            counts = Counts(failed=0 if passed else 1)
        else:
            counts = test(part, for_pytest, every_row)
            lines.append(f"{part}: {counts} in {time.monotonic() - start:.0f} s")
        total += counts
    lines.append(f"The largest process held {largest_process() / 1e9:.1f} GB.")
    print("", *lines, *(["", total] if len(parts) > 1 else []), sep="\n")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
