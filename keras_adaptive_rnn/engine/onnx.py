"""Recurrent operations as nodes of ONNX, in files that any backend writes: one node for all steps of a layer."""

import numpy as np
from keras import ops

# For each kind of `NativeOperation`: the type of the node, its attributes, and the order of its gates.
NODES = {
    "lstm": ("LSTM", {}, (0, 3, 1, 2)),
    "gru": ("GRU", {"linear_before_reset": 1}, (0, 1, 2)),
    "rnn_tanh": ("RNN", {"activations": ["Tanh"]}, (0,)),
    "rnn_relu": ("RNN", {"activations": ["Relu"]}, (0,)),
}


def scan(node, operation, inputs, states, mask, options, arranged=None):
    """Does what `engine.native_scan` does, in nodes of ONNX.

    Args:
        node: Function of the type of a node, its inputs, each a tensor or `None`, a dict of its attributes, and the
            shapes of its outputs, all float32. It adds the node to the file, and returns its outputs.
        operation, inputs, states, mask, options: As in `engine.native_scan`.
        arranged: A function that does what `arrange` does, or `None` (default).
    """
    kind, attributes, gates = NODES[operation.kind]
    units = int(states[0].shape[-1])
    zeros = np.zeros(len(gates) * units, "float32")
    weights = (zeros if weight is None else weight for weight in operation.weights)
    kernel, recurrent_kernel, *biases = ((arranged or arrange)(weight, gates) for weight in weights)
    steps = None if mask is None else UnmaskedSteps(node, mask)
    outputs, *ends = node(
        kind,
        [
            inputs if steps is None else steps.gathered(inputs),
            kernel,
            recurrent_kernel,
            ops.concatenate(biases, axis=1),
            None if steps is None else steps.lengths,
            *(ops.reshape(state, (1, -1, units)) for state in states),
        ],
        {"hidden_size": units, **attributes},
        [(inputs.shape[0], 1, *states[0].shape), *[(1, *states[0].shape)] * len(states)],
    )
    outputs, ends = ops.squeeze(outputs, 1), [ops.squeeze(end, 0) for end in ends]
    if steps is None:
        return ends[0], outputs if options.return_sequences else None, ends
    outputs = ops.where(steps.any_before, steps.spread(outputs), states[0])
    if options.zero_output_for_mask:
        outputs = ops.where(mask, outputs, 0.0)
    ends = [ops.where(steps.any_before[-1], end, state) for end, state in zip(ends, states, strict=True)]
    return outputs[-1], outputs if options.return_sequences else None, ends


def arrange(weight, gates, library=ops):
    """Returns a kernel `[1, gates * units, size]`, or a bias `[1, gates * units]`, with the gates in another order.

    `weight` is `[size, gates * units]` or `[gates * units]`, and `library` is `keras.ops` or `numpy`.
    """
    if list(gates) != sorted(gates):
        units = int(weight.shape[-1]) // len(gates)
        weight = library.concatenate([weight[..., k * units : (k + 1) * units] for k in gates], axis=-1)
    return library.expand_dims(library.swapaxes(weight, 0, -1), 0)


class UnmaskedSteps:
    """The steps of each row that are not masked, wherever they are: a node of ONNX reads the first ones of each row.

    Args:
        node: As in `scan`.
        mask: Boolean tensor `[time, batch, 1]`.

    Attributes:
        lengths: How many steps of each row the node reads, int32 `[batch]`; one where all are masked, as runtimes do
            not agree on none.
        any_before: Whether a step or one before it is not masked, `[time, batch, 1]`.
    """

    def __init__(self, node, mask):
        self.node = node
        ones = ops.cast(mask, "int32")
        count, step = ops.cumsum(ones, axis=0), ops.cumsum(ops.ones_like(ones), axis=0)
        # Masked steps go to the places behind all others.
        self.places = ops.where(mask, count, count[-1] + step - count) - 1
        self.sources = ops.maximum(count - 1, 0)
        self.any_before = count > 0
        self.lengths = ops.reshape(ops.maximum(count[-1], 1), (-1,))

    def gathered(self, inputs):
        """Returns `inputs` `[time, batch, size]` with the unmasked steps of each row first."""
        # Every entry is written, so that it does not matter over what.
        return self._moved("ScatterElements", inputs, self.places, inputs)

    def spread(self, outputs):
        """Returns the outputs of gathered steps in the places of those steps, and in each after it that is masked."""
        return self._moved("GatherElements", outputs, self.sources)

    def _moved(self, kind, tensor, indices, *updates):
        # Both types of node read an index for each entry.
        indices = indices + ops.zeros_like(tensor, dtype="int32")
        return self.node(kind, [tensor, indices, *updates], {"axis": 0}, [tuple(tensor.shape)])[0]
