"""The start and the end of a sequence, for any cell: ours, Keras's, stacks and strangers."""

import keras
from keras import ops

from keras_adaptive_rnn._keras import DropoutRNNCell
from keras_adaptive_rnn.cells.base import Cell


def start_sequence(cell, batch_size, training, input_size):
    """Draws all that is random in `cell`, once for a sequence, and prepares its weights.

    Args:
        cell: Any built cell.
        batch_size: Integer or scalar tensor.
        training: Whether the sequence is one of training; `None` where that is not known.
        input_size: Integer, features of the cell's input.
    """
    if isinstance(cell, Cell):
        cell.start_sequence(batch_size, training)
    elif isinstance(cell, keras.layers.StackedRNNCells):
        for inner in cell.cells:
            start_sequence(inner, batch_size, training, input_size)
            input_size = output_size(inner)
    elif isinstance(cell, DropoutRNNCell) and training is not False:
        cell.get_dropout_mask(ops.ones((batch_size, input_size), dtype=cell.compute_dtype))
        cell.get_recurrent_dropout_mask(ops.ones((batch_size, output_size(cell)), dtype=cell.compute_dtype))


def end_sequence(cell):
    """Forgets what `start_sequence` drew and prepared."""
    if isinstance(cell, Cell):
        cell.end_sequence()
    elif isinstance(cell, keras.layers.StackedRNNCells):
        for inner in cell.cells:
            end_sequence(inner)
    elif isinstance(cell, DropoutRNNCell):
        cell.reset_dropout_mask()
        cell.reset_recurrent_dropout_mask()


def output_size(cell):
    """Returns the size of a cell's output, which Keras lets a cell leave out."""
    size = getattr(cell, "output_size", None)
    if size is None:
        size = cell.state_size
        size = size[0] if isinstance(size, (list, tuple)) else size
    return size
