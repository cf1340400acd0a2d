"""A random search over configurations; `python -m tools.fuzz` searches on."""

import pytest

from tests.backends import EVERY_ROW
from tests.outside.run import FIXED, forget, report, search

# Each test draws some: a process that starts a test has to wait for none of the others.
TOGETHER = 10


@pytest.mark.parametrize("first", range(0, FIXED, TOGETHER))
# Keras warns of what strangers' cells do, and of a mask that a layer of a model does not take.
@pytest.mark.filterwarnings("ignore")
def test_random_configurations(first):
    for number in range(first, min(first + TOGETHER, FIXED)):
        failure = search(number, every_check=EVERY_ROW)
        assert failure is None, report(number, failure)
    forget()
