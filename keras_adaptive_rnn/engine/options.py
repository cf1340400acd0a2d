"""How a loop is to be run, on every backend."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of `engine.scan`.

    Args:
        return_sequences: Whether to keep the outputs of all steps.
        zero_output_for_mask: Whether a masked step puts out zeros; else it repeats the output before it.
        unroll: Whether to lay the loop out in the graph, for a known number of steps.
        training: Whether the steps are those of training; else a gradient is possible, but rarely asked for.
        differentiable: Whether the loop needs a gradient.
        recompute: Whether the gradient computes the steps again from states, in place of keeping what they made.
        variables: The Keras variables that the steps may read.
        resume: Function that returns a context in which a step can be run when the sequence has ended.
        is_traceable: Whether the step is known to do the same to its tensors every time, so that PyTorch may record it.
        inside_layers: Whether the loop is that of one layer in `engine.scan_layers`. Defaults to `False`.
    """

    return_sequences: bool
    zero_output_for_mask: bool
    unroll: bool
    training: bool
    differentiable: bool
    recompute: bool
    variables: list
    resume: Callable
    is_traceable: bool
    inside_layers: bool = False
