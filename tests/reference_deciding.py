"""The cells that decide how much to compute, in float64 NumPy, as `tests/reference.py` has the others.

Wherever a cell rounds, `choose(value, estimate)` says what the step goes on with: `value`, or for the gradient of a
straight-through estimator, which is that of `estimate`, a smooth function through `value`.
"""

import numpy as np

from tests.reference import hashed, inside, sigmoid


def value(value, estimate):
    return value


class Surrogate:
    """What has the gradient of a straight-through estimator: the estimate, moved to go through the rounded value.

    The first run, at the point of the gradient, notes how far to move each estimate; the runs after `freeze` do it.
    """

    def __init__(self):
        self.moves, self.run = [], None

    def freeze(self):
        self.run = iter(self.moves)

    def __call__(self, value, estimate):
        if self.run is None:
            self.moves.append(value - estimate)
            return value
        return estimate + next(self.run)


def affine(w, *read):
    return np.concatenate(read, axis=1) @ w["decision_kernel"] + w["decision_bias"]


def skip(core, w, x, states, memory=0, held=False, choose=value):
    """Equations 2 to 6; `held` is the authors' code, with the increment of the step that was taken last."""
    *old, increment, accumulated = states
    p = np.maximum(accumulated + np.minimum(increment, 1 - accumulated), 0)
    u = choose(np.round(p), p)
    _, new = core(inside(w, "core"), x, old)
    mixed = [u * after + (1 - u) * before for after, before in zip(new, old, strict=True)]
    increment = u * sigmoid(affine(w, new[memory])) + (1 - u) * increment if held else sigmoid(affine(w, mixed[memory]))
    return mixed[0], [*mixed, increment, (1 - u) * p], u


def skip_paper(core, w, x, s, p, memory=0):
    """The equations as the paper has them: one probability, computed from the state in every step."""
    u = np.round(p)
    _, new = core(inside(w, "core"), x, s)
    s = [u * after + (1 - u) * before for after, before in zip(new, s, strict=True)]
    increment = sigmoid(affine(w, s[memory]))
    return s, u * increment + (1 - u) * (p + np.minimum(increment, 1 - p)), u


def skim(big, small, w, x, states, places=(0,), count=1, keys=None, choose=value):
    """`places` are those of the small cell's states, `count` how many the big one has; with `keys`, of training."""
    *states, digits = states
    h = states[0]
    a = affine(w, x, h)
    p = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    if keys is None:
        read = (p[:, :1] >= p[:, 1:]).astype("float64")
        r = choose(np.concatenate([read, 1 - read], axis=1), p)
    else:
        g = -np.log(-np.log(np.maximum(hashed(keys, digits), 2.0**-25)))
        r = np.exp((np.log(p) + g) / w["temperature"])
        r = r / r.sum(1, keepdims=True)
        digits = digits + np.array([1.0, 0.0, 0.0])
    full = [*big(inside(w, "core"), x, states[:count])[1], *states[count:]]
    sizes = [w["small_sizes"][k] for k in range(len(places))]
    own = [states[place][:, :size] for place, size in zip(places, sizes, strict=True)]
    _, own = small(inside(w, "small"), np.concatenate([x, h[:, sizes[0] :]], axis=1), own)
    short = list(states)
    for place, state in zip(places, own, strict=True):
        short[place] = np.concatenate([state, states[place][:, state.shape[1] :]], axis=1)
    new = [r[:, :1] * a + r[:, 1:] * b for a, b in zip(full, short, strict=True)]
    return new[0], [*new, digits], r[:, :1]


def variable_computation(w, x, states, core="rnn", training=False, epsilon=0.01, choose=value):
    (h,) = states
    D = h.shape[1]
    m = sigmoid(affine(w, x, h))

    def mask(size):
        i = np.arange(1, size + 1)
        e = sigmoid(w["sharpness"] * (m * size - i))
        e = np.where(e > 1 - epsilon, 1.0, np.where(e < epsilon, 0.0, e))
        return e if training else choose((i <= np.ceil(m * size)).astype("float64"), e)

    cost = choose(np.ceil(m * D) / D, m)
    e = mask(D)
    x, h_bar = mask(x.shape[1]) * x, e * h
    W, U, b = w["kernel_map/kernel"], w["recurrent_map/kernel"], w["bias/bias"]
    if core == "rnn":
        return (h := e * np.tanh(x @ W + h_bar @ U + b) + (1 - e) * h), [h], cost
    W_k, W_r, W_h = np.split(W, 3, axis=1)
    U_k, U_r, U_h = np.split(U, 3, axis=1)
    b_k, b_r, b_h = np.split(b, 3)
    z = e * (1 - sigmoid(x @ W_k + h_bar @ U_k + b_k))
    r = sigmoid(x @ W_r + h_bar @ U_r + b_r)
    h = z * np.tanh(x @ W_h + (r * h_bar) @ U_h + b_h) + (1 - z) * h
    return h, [h], cost
