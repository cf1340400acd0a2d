"""Settings that every test shares; read before Keras is imported."""

import ctypes
import gc
import importlib.metadata
import importlib.util
import os
import pathlib
import sys
import zlib

# Small graphs compiled once and run once: compiling them well costs more than it saves. The flags more than halve it.
# `tools/run_tests.py` sets KAR_OPTIMIZED for the part that runs the loops as users do.
if os.environ.get("KERAS_BACKEND") == "jax" and "KAR_OPTIMIZED" not in os.environ:
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    flags = ["--xla_cpu_parallel_codegen_split_count=1"]
    # Later versions end the process at a flag that they no longer know.
    if tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) < (0, 11):
        flags.append("--xla_cpu_use_fusion_emitters=false")
    os.environ["XLA_FLAGS"] = " ".join(flags)
# The same loop is compiled again for every call of a layer, and for every run of the tests: keep what was compiled,
# each process in a folder of its own, which no other is writing to.
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(
    os.path.dirname(__file__), "..", ".pytest_cache", "xla", os.environ.get("PYTEST_XDIST_WORKER", "main")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Test processes run side by side: threads of one would wait for those of another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

# Keras is imported where it is used: the process that deals the tests out to workers runs none, and starts at once.

# They import `keras_adaptive_rnn.hub`, and KerasHub needs a later Keras than the oldest that is tested.
if importlib.util.find_spec("keras_hub") is None:
    collect_ignore = ["test_docstrings.py", "test_documentation.py", "test_papers.py"]

# The settings that make a compiled program slow; other processes must not inherit them.
QUICK_TO_COMPILE = ("JAX_DISABLE_MOST_OPTIMIZATIONS", "XLA_FLAGS")


def _memory():
    """Returns what this process holds, in bytes; 0 where the system does not say."""
    try:
        pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    except FileNotFoundError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class _Bound:
    """Frees what the libraries keep for ever, compiled programs above all, once it has grown by `STEP`."""

    STEP = 700 * 2**20

    def __init__(self):
        self.limit = _memory() + self.STEP

    def keep(self):
        if _memory() < self.limit:
            return
        import keras

        if keras.backend.backend() == "jax":
            import jax

            jax.clear_caches()
        gc.collect()
        if sys.platform == "linux":
            # What is freed in small pieces stays with the process until the allocator is told to return it.
            ctypes.CDLL("libc.so.6").malloc_trim(0)
        self.limit = _memory() + self.STEP


def pytest_configure(config):
    config.addinivalue_line("markers", "in_turns: JAX and TensorFlow each run a thirty-second of the rows")
    config.addinivalue_line("markers", "alternating: JAX and TensorFlow each run a sixteenth of the rows")
    config.addinivalue_line("markers", "nightly: takes long and breaks seldom; runs with every row")
    config.addinivalue_line("markers", "requires_trainable_backend: a mark of Keras's own tests; all backends here are")


def pytest_collection_modifyitems(config, items):
    """Leaves out the tests that are another backend's (`tests/backends.py`), unless tests were picked by name."""
    import keras

    from tests.backends import EVERY_ROW, PLACES, RUNS_ALL

    # What the libraries keep for ever is not gone through again: it takes longer than most tests.
    gc.set_threshold(100_000, 20, 20)
    gc.freeze()
    if EVERY_ROW or config.option.keyword or any("::" in argument for argument in config.args):
        return
    backend = keras.backend.backend()

    def is_left_out(item):
        if item.get_closest_marker("nightly"):
            return True
        if RUNS_ALL:
            return False
        place = zlib.crc32(item.nodeid.encode())
        if item.get_closest_marker("in_turns"):
            return place % 32 != PLACES[backend]
        # Goldens run everywhere, and what only some backends can run, wherever it can.
        is_bound = item.name.startswith("test_golden") or item.get_closest_marker("skipif")
        return bool(item.get_closest_marker("alternating")) and not is_bound and place % 16 != PLACES[backend]

    others = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]


@pytest.fixture(scope="session")
def _bound():
    return _Bound()


@pytest.fixture(autouse=True)
def _seed(_bound):
    import keras

    keras.utils.set_random_seed(0)
    yield
    # Without a pass of the garbage collector, which takes longer than most tests.
    keras.utils.clear_session(free_memory=False)
    _bound.keep()


@pytest.fixture
def rng():
    return np.random.default_rng(0)
