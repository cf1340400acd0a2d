"""The layers of `DeepRNNCell`, which can run over the sequence one after the other."""

import contextlib

from keras import ops, tree

from keras_adaptive_rnn import _sequence
from keras_adaptive_rnn.cells.bases.noise import next_digits, uniform
from keras_adaptive_rnn.loop.layer_stack import LayerStack
from keras_adaptive_rnn.maps import LinearMap


class DeepLayers(LayerStack):
    """The stack of a `DeepRNNCell`.

    The carry into the lowest layer is the input; into the other layers, it is the output of the layer below and the
    input of the current block. If the cell counts steps, the step count follows.
    """

    def __init__(self, cell, training):
        self.cell = cell
        self.training = training
        kept = _sequence.kept_by(cell)
        self._drops = training and cell.dropout > 0
        self._drops_blocks = training and cell.block_dropout > 0
        self._is_square = cell.input_size == cell.units
        kernels = {
            "recurrent": cell.recurrent_map.prepared_blocks(training),
            "bias": ops.stack([cell.bias.value(k) for k in range(cell.depth)]) if cell.use_bias else None,
        }
        rows = self._block_tensors()
        masks = kept.get("recurrent_dropout")
        if masks is not None:
            rows["mask"] = self._per_layer(masks, cell.depth)
        self._lowest = tree.map_structure(lambda t: None if t is None else t[0], {**kernels, **rows})
        kernels, rows = tree.map_structure(lambda t: None if t is None else t[1:], (kernels, rows))
        kernels["inner"] = cell.inner_map.prepared_blocks(training)
        if self._drops:
            keys = kept["dropout"]
            self._lowest["keys"] = keys[:, : cell.input_size]
            rows["keys"] = self._per_layer(keys[:, cell.input_size :], cell.depth - 1)
        super().__init__(kernels, rows)

    @classmethod
    def depth_of(cls, cell):
        if cell.depth < 3:
            return 0
        # A map of the user's own may not support blocks.
        prepare_blocks = [type(linear_map).prepare_blocks for linear_map in (cell.inner_map, cell.recurrent_map)]
        return 0 if LinearMap.prepare_blocks in prepare_blocks else cell.depth

    def _per_layer(self, values, layers):
        """Reshapes `[batch, layers * units]` to `[layers, batch, units]`."""
        return ops.transpose(ops.reshape(values, (-1, layers, self.cell.units)), (1, 0, 2))

    def _block_tensors(self):
        """Returns the tensors that depend on the position of each layer in its block."""
        cell = self.cell
        blocks = cell._blocks()
        positions = [(k, block) for k, block in enumerate(blocks) for _ in block]
        # Inputs whose size is not `units` can neither be added to a layer nor replace it.
        square = [k > 0 or self._is_square for k, _ in positions]
        full = [len(block) == cell.skip_every for _, block in positions]
        first, last = ([i == block[end] for i, (_, block) in enumerate(positions)] for end in (0, -1))
        scales = [cell.skip_scale * all(skips) for skips in zip(square, full, last, strict=True)]
        self._skips = any(scales)
        tensors = {"starts": ops.convert_to_tensor(first)}
        if self._skips:
            tensors["skip"] = ops.convert_to_tensor(scales, dtype=cell.compute_dtype)
        if self._drops_blocks:
            keys = ops.transpose(_sequence.kept_by(cell)["block_dropout"])
            tensors["block_keys"] = ops.expand_dims(ops.take(keys, [k for k, _ in positions], axis=0), -1)
            tensors["square"], tensors["ends"] = ops.convert_to_tensor(square), ops.convert_to_tensor(last)
        return tensors

    def with_weights_of(self, layer):
        return contextlib.nullcontext()

    def project(self, carry, layer):
        cell, own = self.cell, layer or self._lowest
        x = carry[0]
        if self._drops:
            kept = uniform(own["keys"], carry[-1]) >= cell.dropout
            x = x * (ops.cast(kept, x.dtype) / (1 - cell.dropout))
        below = cell.kernel_map(x) if layer is None else cell.inner_map.product(x, own["inner"])
        projected = [below if own["bias"] is None else below + own["bias"]]
        if self._skips:
            projected.append(own["skip"] * self._block_input(carry, layer, below))
        if self._drops_blocks:
            projected.append(self._kept(carry, own))
        return projected

    def _block_input(self, carry, layer, like):
        if layer is None:
            return carry[0] if self._is_square else ops.zeros_like(like)
        return ops.where(layer["starts"], carry[0], carry[1])

    def _kept(self, carry, own):
        """Returns whether the block is kept, `[..., batch, 1]`."""
        kept = uniform(own["block_keys"], carry[-1]) >= self.cell.block_dropout
        return ops.cast(ops.logical_or(kept, ops.logical_not(own["square"])), self.cell.compute_dtype)

    def step(self, projected, states, layer):
        own = layer or self._lowest
        (old,) = states
        below, *more = projected
        read = old * ops.cast(own["mask"], old.dtype) if "mask" in own else old
        h = self.cell.activation(below + self.cell.recurrent_map.product(read, own["recurrent"]))
        if self._skips:
            h = h + more[0]
        return h, [more[-1] * h + (1 - more[-1]) * old if self._drops_blocks else h]

    def to_next_layer(self, carry, output, layer):
        own = layer or self._lowest
        block_input = self._block_input(carry, layer, output)
        if self._drops_blocks:
            kept = ops.where(own["ends"], self._kept(carry, own), 1)
            output = kept * output + (1 - kept) * block_input
        return [output, block_input, *carry[1 if layer is None else 2 :]]

    def advance(self, step_count):
        return [next_digits(digits) for digits in step_count] if self.training else step_count

    def divide(self, states):
        start = 0 if self.cell.reads_output else 1
        end = start + self.cell.depth
        *above, lowest = states[start:end]
        return list(states[end:]), [lowest], [ops.stack(above[::-1])]

    def join(self, output, step_count, lowest, above):
        layers = [above[0][k] for k in reversed(range(self.cell.depth - 1))]
        return [*([] if self.cell.reads_output else [output]), *layers, *lowest, *step_count]
