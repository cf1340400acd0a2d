"""A loop over sequences of any length, in files of ONNX that PyTorch writes from a trace."""

import collections

import torch

from keras_adaptive_rnn.engine import _torch_internals as internals

# PyTorch reads a script again after the trace that calls it, and does not keep it.
_scripts: collections.deque = collections.deque(maxlen=1000)

SCRIPT = """
def run({arguments}):
    outputs = []
    for t in range({first}.size(0)):
        {carry}, = step({now}, {rest})
        {collect}
    return {results},
"""


def exports_loop():
    is_known = None not in (internals.tracing_state, internals.set_tracing_state)
    return torch.jit.is_tracing() and torch.onnx.is_in_onnx_export() and is_known


def looped(flat_step, sequences, carry, weights, return_sequences):
    """Runs a step over sequences in a loop that the file will hold.

    Args:
        flat_step: Function of the inputs of a step, the carry and the weights, all of them tensors, which returns the
            next carry, a tuple of tensors of which the first is the output. It reads nothing else.
        sequences: List of tensors `[time, batch, ...]`.
        carry, weights: Lists of tensors.
        return_sequences: Whether to return the outputs of all steps.

    Returns:
        `(carry, outputs)`, the last carry, and the outputs or `None`.
    """
    # Each with a shape of its own: PyTorch declares those of two states of zeros as equal.
    carry = [state.reshape(-1, int(state.shape[-1])) for state in carry]
    step = _traced(flat_step, [*(x[0] for x in sequences), *carry, *weights])
    xs, states, others = (
        [f"{letter}{k}" for k in range(len(of))] for letter, of in (("x", sequences), ("c", carry), ("w", weights))
    )
    text = SCRIPT.format(
        arguments=", ".join(f"{name}: Tensor" for name in [*xs, *states, *others]),
        first=xs[0],
        carry=", ".join(states),
        now=", ".join(f"{x}[t]" for x in xs),
        rest=", ".join([*states, *others]),
        collect="outputs.append(c0)" if return_sequences else "",
        results=", ".join([*states, *(["torch.stack(outputs)"] if return_sequences else [])]),
    )
    # It finds `step` among the variables of this function.
    script = torch.jit.CompilationUnit(text)
    _scripts.append((script, step))
    results = script.run(*sequences, *carry, *weights)
    return results[: len(carry)], results[len(carry)] if return_sequences else None


def _traced(function, tensors):
    """Returns a function as a script, traced apart from the trace that goes on."""
    state = internals.tracing_state()
    internals.set_tracing_state(None)
    try:
        return torch.jit.trace(function, [tensor.detach().clone() for tensor in tensors], check_trace=False)
    finally:
        internals.set_tracing_state(state)
