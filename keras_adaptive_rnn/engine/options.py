"""Options of a loop, the same on every backend."""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `engine.scan`.

    Args:
        return_sequences, zero_output_for_mask, unroll, recompute: As in `keras_adaptive_rnn.layers.RNN`.
        variables: The Keras variables that the steps may read.
        is_traceable: Whether the step is known to apply the same operations every time, so that PyTorch may trace it.
        any_length: Whether the loop is written to a file for sequences of any length, on PyTorch, whose loops are
            written out otherwise. Defaults to `False`.
        inside_layers: Whether the loop runs one layer inside `engine.scan_layers`. Defaults to `False`.
        persistent: Whether one kernel runs all steps, on JAX. Defaults to `False`.
    """

    return_sequences: bool = False
    zero_output_for_mask: bool = False
    unroll: bool = False
    recompute: bool = False
    variables: list
    is_traceable: bool
    any_length: bool = False
    inside_layers: bool = False
    persistent: bool = False
