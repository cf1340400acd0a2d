"""The layers of `DeepRNNCell`, which can run over the sequence one after the other."""

from keras import ops, tree

from keras_adaptive_rnn.cells.bases.noise import next_digits, uniform
from keras_adaptive_rnn.cells.deep import select
from keras_adaptive_rnn.loop.layer_stack import LayerStack, UpperRuns
from keras_adaptive_rnn.maps import LinearMap


class DeepLayers(LayerStack):
    """The stack of a `DeepRNNCell`.

    The carry into the lowest layer is the input; into the other layers, it is the output of the layer below and the
    input of the current block. If the cell counts steps, the step count follows.
    """

    @classmethod
    def depth_of(cls, cell):
        if cell.depth < 3:
            return 0
        # A map of the user's own may not support blocks.
        prepare_blocks = [type(linear_map).prepare_blocks for linear_map in (cell.inner_map, cell.recurrent_map)]
        return 0 if LinearMap.prepare_blocks in prepare_blocks else cell.depth

    def layer_runs(self, run):
        cell, training = self.cell, run.training
        prepared, blocks = run.prepared_by(cell), cell.blocks()
        scales = [0.0 if skip is None else skip[1] for skip in cell.skips()]
        kernels = {"recurrent": cell.recurrent_map.prepared_blocks(run)}
        if cell.use_bias:
            kernels["bias"] = ops.stack([cell.bias_layer.value(run, k) for k in range(cell.depth)])
        rows = {"starts": ops.convert_to_tensor([i == block[0] for block in blocks for i in block])}
        if any(scales):
            rows["skip"] = ops.convert_to_tensor(scales, dtype=cell.compute_dtype)
        if training and cell.block_dropout > 0:
            block_of = [k for k, block in enumerate(blocks) for _ in block]
            keys = ops.transpose(prepared["block_dropout"])
            rows["block_keys"] = ops.expand_dims(ops.take(keys, block_of, axis=0), -1)
            # Inputs of another size than the layers cannot replace the lowest block.
            rows["square"] = ops.convert_to_tensor([k > 0 or self._is_square() for k in block_of])
            rows["ends"] = ops.convert_to_tensor([i == block[-1] for block in blocks for i in block])
        if "recurrent_dropout" in prepared:
            rows["mask"] = self._per_layer(prepared["recurrent_dropout"])
        lowest = tree.map_structure(lambda t: None if t is None else t[0], {**kernels, **rows})
        kernels, rows = tree.map_structure(lambda t: None if t is None else t[1:], (kernels, rows))
        kernels["inner"] = cell.inner_map.prepared_blocks(run)
        if training and cell.dropout > 0:
            lowest["keys"] = prepared["dropout"][:, : cell.input_size]
            rows["keys"] = self._per_layer(prepared["dropout"][:, cell.input_size :])
        lowest_run = run.changed(prepared={cell: lowest, cell.kernel_map: run.prepared_by(cell.kernel_map)})
        return lowest_run, UpperRuns(lambda layer: run.changed(prepared={cell: layer}), kernels, rows)

    def _is_lowest(self, run):
        return self.cell.kernel_map in run.prepared

    def _is_square(self):
        return self.cell.input_size == self.cell.units

    def _per_layer(self, joined):
        """Returns `[layers, batch, units]` of `[batch, layers * units]`."""
        layers = joined.shape[-1] // self.cell.units
        return ops.transpose(ops.reshape(joined, (-1, layers, self.cell.units)), (1, 0, 2))

    def project(self, carry, run):
        cell, weights = self.cell, run.prepared_by(self.cell)
        x = carry[0]
        if "keys" in weights:
            kept = uniform(weights["keys"], carry[-1]) >= cell.dropout
            x = x * (ops.cast(kept, x.dtype) / (1 - cell.dropout))
        below = cell.kernel_map(x, run) if self._is_lowest(run) else cell.inner_map.product(x, weights["inner"], run)
        projected = [below + weights["bias"] if cell.use_bias else below]
        if "skip" in weights:
            projected.append(weights["skip"] * self._block_input(carry, run, below))
        if "block_keys" in weights:
            projected.append(self._kept(carry, weights))
        return projected

    def _block_input(self, carry, run, like):
        if self._is_lowest(run):
            return carry[0] if self._is_square() else ops.zeros_like(like)
        return ops.where(run.prepared_by(self.cell)["starts"], carry[0], carry[1])

    def _kept(self, carry, weights):
        """Returns whether the block is kept, `[..., batch, 1]`."""
        kept = uniform(weights["block_keys"], carry[-1]) >= self.cell.block_dropout
        return ops.cast(ops.logical_or(kept, ops.logical_not(weights["square"])), self.cell.compute_dtype)

    def step(self, projected, states, run):
        weights = run.prepared_by(self.cell)
        (old,) = states
        below, *more = projected
        read = old * ops.cast(weights["mask"], old.dtype) if "mask" in weights else old
        h = self.cell.activation(below + self.cell.recurrent_map.product(read, weights["recurrent"], run))
        if "skip" in weights:
            h = h + more[0]
        return h, [select(more[-1], h, old) if "block_keys" in weights else h]

    def to_next_layer(self, carry, output, run):
        weights = run.prepared_by(self.cell)
        block_input = self._block_input(carry, run, output)
        if "block_keys" in weights:
            kept = ops.where(weights["ends"], self._kept(carry, weights), 1)
            output = select(kept, output, block_input)
        return [output, block_input, *carry[1 if self._is_lowest(run) else 2 :]]

    def advance(self, step_count, run):
        return [next_digits(digits) for digits in step_count] if run.training else step_count

    def split(self, states):
        *above, lowest = states[self.cell.layer_states]
        return list(states[self.cell.layer_states.stop :]), [lowest], [ops.stack(above[::-1])]

    def join(self, output, step_count, lowest, above):
        layers = [above[0][k] for k in reversed(range(self.cell.depth - 1))]
        return [*([] if self.cell.reads_output else [output]), *layers, *lowest, *step_count]
