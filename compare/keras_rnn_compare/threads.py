"""The threads of libraries: several take many times as long as one, where models are small and cores are busy."""

import contextlib
import importlib.util


@contextlib.contextmanager
def one_thread():
    """Returns a context in which the loops of scikit-learn, and of PyTorch on a CPU, run in one thread."""
    if importlib.util.find_spec("threadpoolctl") is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield
