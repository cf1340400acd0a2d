r"""Linear recurrences, $h_t = a_t \odot h_{t-1} + b_t$: as an associative scan, and their gradient."""

from keras import ops


def associative(a, b, h, reverse=False):
    """Returns $h$ after each step, in a number of operations that grows with the logarithm of the steps.

    Args:
        a, b: Tensors `[time, batch, size]`, of at least one step.
        h: Tensor `[batch, size]`, the state before the first step.
        reverse: Whether the last step comes first. Defaults to `False`.
    """
    first, others = (b[-1:], b[:-1]) if reverse else (b[:1], b[1:])
    first = first + (a[-1:] if reverse else a[:1]) * h
    b = ops.concatenate([others, first] if reverse else [first, others])
    return ops.associative_scan(_after, (a, b), reverse=reverse, axis=0)[1]


def _after(first, second):
    """Returns the coefficients of one step after another."""
    return first[0] * second[0], second[0] * first[1] + second[1]


def gradients(recurrence, a, h, states, gradient, reverse=False):
    """Returns the gradients of `a`, `b` and `h`, which are the same recurrence in the other direction.

    Args:
        recurrence: Function of `(a, b, h, reverse)` that returns the states after each step.
        a, h, reverse: The arguments of the recurrence, as in `associative`.
        states: Its result.
        gradient: The gradient of these states.
    """
    # The gradient starts from zero, so what that is multiplied by does not matter.
    shifted = [a[-1:], a[:-1]] if reverse else [a[1:], a[:1]]
    d_b = recurrence(ops.concatenate(shifted), gradient, ops.zeros_like(h), not reverse)
    d_a = d_b * ops.concatenate([states[1:], h[None]] if reverse else [h[None], states[:-1]])
    return d_a, d_b, a[-1] * d_b[-1] if reverse else a[0] * d_b[0]
