"""The settings of the core's tests; most tests here run on PyTorch alone, since what they test is not the backend's."""

import os

import pytest

from tests.conftest import *  # noqa: F403
from tests.conftest import pytest_collection_modifyitems as leave_out_for_core
from tests.conftest import pytest_configure as configure_core

# What is tested here, the protocol above all, is the same on every backend.
HERE = os.path.dirname(__file__)


def pytest_configure(config):
    configure_core(config)
    config.addinivalue_line("markers", "every_backend: runs on every backend; all others run on PyTorch alone")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leaves out, except on PyTorch, the tests that need not run on every backend, unless they were picked by name."""
    from tests.backends import RUNS_ALL

    leave_out_for_core(config, items)
    if RUNS_ALL or config.option.keyword or any("::" in argument for argument in config.args):
        return
    others = [
        item
        for item in items
        if str(item.path).startswith(HERE + os.sep) and not item.get_closest_marker("every_backend")
    ]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in set(others)]
