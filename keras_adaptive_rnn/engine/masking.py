"""The effect of a mask on one step, the same on every backend."""

from keras import ops, tree


def masked(mask, new, old, zero_output_for_mask):
    """Returns `output, states` after a step: those of `new`, or where the mask is false, those of `old`.

    Args:
        mask: Boolean tensor `[batch, 1]`, or `None`.
        new: What the step returned, `(output, states)`.
        old: The output and the states before the step.
        zero_output_for_mask: Whether the output is zero, rather than the old one, where the mask is false.
    """
    if mask is None:
        return new
    (output, states), (old_output, old_states) = new, old
    held = ops.zeros_like(old_output) if zero_output_for_mask else old_output
    return where_rows(mask, output, held), where_rows(mask, states, old_states)


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
