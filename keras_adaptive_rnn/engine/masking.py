"""The effect of a mask on one step, the same on every backend."""

from keras import ops, tree


def masked(step, zero_output_for_mask):
    """Returns a step of `(inputs, mask, output, states)` that keeps output and states where the mask is false."""

    def masked_step(inputs, mask, output, states):
        new_output, new_states = step(inputs, states)
        if mask is None:
            return new_output, new_states
        held = ops.zeros_like(output) if zero_output_for_mask else output
        return where_rows(mask, new_output, held), where_rows(mask, new_states, states)

    return masked_step


def without_masked(sequences, mask):
    """Returns sequences with zeros in masked steps: NaN there would reach gradients, even times zero."""
    return where_rows(mask, sequences, 0)


def where_rows(mask, new, old):
    """Returns the structure `new` in the rows where the mask is true, and `old` in the others."""
    return tree.map_structure(lambda new, old: _where(mask, new, old), new, old)


def _where(mask, new, old):
    # A cell from elsewhere may have a matrix as a state.
    for _ in range(len(new.shape) - len(mask.shape)):
        mask = ops.expand_dims(mask, -1)
    return ops.where(mask, new, old)
