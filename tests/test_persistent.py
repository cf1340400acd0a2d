"""One kernel for all steps computes what the loop does. Here Pallas interprets it; for a GPU it is only compiled."""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.engine.target import tracing_for
from keras_adaptive_rnn.testing.case import Case
from tests.backends import one_in
from tests.table import CELL_ROWS, CELLS, OPTIONS
