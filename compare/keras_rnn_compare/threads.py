"""The threads of libraries: several take many times as long as one, where models are small and cores are busy."""

import contextlib
import importlib.util


@contextlib.contextmanager
def one_thread():
    """Returns a context in which scikit-learn, linear algebra, and PyTorch on a CPU run in one thread."""
    if importlib.util.find_spec("threadpoolctl") is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    # What is loaded later has as many threads as before.
    importlib.import_module("scipy.optimize")
    with threadpool_limits(1):
        yield
