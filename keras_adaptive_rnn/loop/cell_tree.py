"""What the loop needs to know about a cell and the layers inside it, determined once."""

import functools

from keras_adaptive_rnn import _sequence, maps
from keras_adaptive_rnn.cells.bases.any_cell import is_traceable, parts_of
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.loop import schedules


class CellTree:
    """A cell and the layers inside it. A plain object, so that Keras does not track them twice.

    Attributes:
        parts: List of the layers inside the cell, the cell first; empty if it is not a layer.
        deciding: List of the cells that decide how much to compute, the outermost first.
        nested_deciding: List of the deciding cells inside a deciding cell.
        is_traceable: Whether every step runs the same operations.
        drawing_own_masks: List of the cells that draw masks as Keras's cells do.
    """

    def __init__(self, cell):
        self.cell = cell
        self.parts = parts_of(cell)
        self.deciding = _deciding(self.parts)
        self.nested_deciding = [inner for outer in self.deciding for inner in _deciding(parts_of(outer))[1:]]
        self.is_traceable = is_traceable(cell)
        self.drawing_own_masks = list(filter(_sequence.draws_own_masks, self.parts))

    @functools.cached_property
    def stack_depth(self):
        """The number of layers of a deep cell that can be run one by one, else 0."""
        return schedules.stack_depth(self.cell)

    @functools.cached_property
    def has_own_maps_only(self):
        """Whether every map is one of this package, whose products support layers folded into the batch axis."""
        map_classes = [type(part) for part in self.parts if isinstance(part, maps.LinearMap)]
        return all(cls.__module__.startswith(maps.__name__) for cls in map_classes)


def _deciding(parts):
    return [part for part in parts if isinstance(part, Cell) and part.aux_size]
