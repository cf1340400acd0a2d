"""What cells decide in a sequence: collected behind the output of each step, a loss and a result after the loop."""

import dataclasses

import keras
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from keras_adaptive_rnn.cells.bases.cell import Cell


def deciding_cells(cell):
    """Returns the cells that decide how much to compute, `cell` and those inside it, the outermost first."""
    parts = cell._flatten_layers() if isinstance(cell, keras.layers.Layer) else []
    return [part for part in parts if isinstance(part, Cell) and part.aux_size]


def is_watched(cell):
    """Returns whether somebody looks at the gates of a cell, or of one inside it."""
    return any(part._watched.values is not None for part in cell._flatten_layers() if isinstance(part, Cell))


class Decisions:
    """The decisions of one pass of a layer; a plain object, so that Keras does not track its tensors."""

    def __init__(self, layer):
        self.layer = layer
        self.recorded = None

    @property
    def cells(self):
        """The cells whose decisions somebody wants."""
        cells = deciding_cells(self.layer.cell)
        return cells if self.layer.return_decisions else [cell for cell in cells if cell.adds_loss]

    def may_save(self):
        """Returns whether steps of inference may leave out what they do not need."""
        deciding = deciding_cells(self.layer.cell)
        if not deciding:
            return False
        # What is computed in a part of the rows alone can be neither collected nor looked at.
        inside = [part for cell in deciding for part in deciding_cells(cell)[1:]]
        wanted = self.cells
        return not any(cell is part for cell in wanted for part in inside) and not is_watched(self.layer.cell)

    def scan(self, step, inputs, states, output, mask, options):
        """Returns what `engine.scan` does, and what the cells record in each step, which travels behind its output."""
        cells = self.cells
        if not cells:
            return *engine.scan(step, inputs, states, output, mask, options), None

        def recording_step(inputs, states):
            # A step may be traced more than once, also after the loop: nothing of a trace is left behind.
            for cell in cells:
                cell._recorded.values = []
            try:
                output, states = step(inputs, states)
                return join([output, *(value for cell in cells for value in cell._recorded.values)]), states
            finally:
                for cell in cells:
                    cell._recorded.values = None

        # In float32: what is summed over time is not summed in half precision.
        def join(tensors):
            return ops.concatenate([ops.cast(tensor, "float32") for tensor in tensors], axis=-1)

        sizes = [output.shape[-1], sum(cell.aux_size for cell in cells)]
        start = join([output, ops.zeros((ops.shape(output)[0], sizes[1]))])
        recording = dataclasses.replace(options, return_sequences=True)
        last, outputs, states = engine.scan(recording_step, inputs, states, start, mask, recording)
        outputs, recorded = split_sizes(outputs, sizes)
        last = ops.cast(last[..., : sizes[0]], output.dtype)
        return last, ops.cast(outputs, output.dtype) if options.return_sequences else None, states, recorded

    def take(self, mask):
        """Adds the losses of the pass to the layer and returns the decisions, `[batch, time]` for each cell."""
        if self.recorded is None:
            return []
        layer, cells = self.layer, self.cells
        recorded, self.recorded = ops.transpose(self.recorded, (1, 0, 2)), None
        counted = ops.ones_like(recorded[..., 0])
        if mask is not None:
            counted = ops.cast(ops.reshape(mask, ops.shape(counted)), "float32")
            counted = ops.flip(counted, axis=1) if layer.go_backwards else counted
        recorded = split_sizes(recorded * ops.expand_dims(counted, -1), [cell.aux_size for cell in cells])
        by_cell = list(zip(cells, recorded, strict=True))
        losses = [cell.sequence_loss(values, counted) for cell, values in by_cell if cell.adds_loss]
        if losses:
            layer.add_loss(ops.mean(sum(losses)))
        return [ops.cast(values[..., 0], layer.compute_dtype) for _, values in by_cell]
