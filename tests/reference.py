"""Every step in float64 NumPy, written from the papers' equations and from nothing in the package.

A step takes the weights by name, one time step of inputs and the list of states; it returns `output, states`. Row
vectors, as in the package: `x @ W`.
"""

import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def matrix(w, name, gates=1):
    """Returns the dense matrix of a linear map, however its weights are stored, gates joined."""
    if f"{name}/kernel" in w:
        return w[f"{name}/kernel"]
    right, left = w[f"{name}/right"], w[f"{name}/left"]
    if left.ndim == 2:
        left = left[None]
    if right.ndim == 2:
        right = np.repeat(right[None], len(left), axis=0)
    blocks = [r @ factor for r, factor in zip(right, left, strict=True)]
    diagonal = w.get(f"{name}/diagonal_kernel")
    if diagonal is not None:
        blocks = [b + np.diag(d) for b, d in zip(blocks, np.split(diagonal, len(blocks)), strict=True)]
    return np.concatenate(blocks, axis=1)


def layer_norm(a, gain, bias=0.0):
    return (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-9) * gain + bias


def norms(w, prefix=""):
    """Returns the gains of the layer norms in order of creation: kernel, recurrent groups."""
    names = [n for n in w if n.startswith(f"{prefix}layer_normalization") and n.endswith("gamma")]
    return [w[n] for n in names]


def elman(w, x, states):
    (h,) = states
    h = np.tanh(x @ matrix(w, "kernel_map") + h @ matrix(w, "recurrent_map") + w["bias/bias"])
    return h, [h]


def gru(w, x, states, reset_after=True, layer_normalization=False):
    (h,) = states
    kernel, recurrent, bias = matrix(w, "kernel_map"), matrix(w, "recurrent_map"), w["bias/bias"]
    gains = norms(w)
    n = h.shape[-1]
    a = x @ kernel
    a = layer_norm(a, gains[0]) if layer_normalization else a
    if reset_after:
        u = h @ recurrent + bias[1]
        a = a + bias[0]
        z, r = sigmoid(a[:, :n] + u[:, :n]), sigmoid(a[:, n : 2 * n] + u[:, n : 2 * n])
        candidate = np.tanh(a[:, 2 * n :] + r * u[:, 2 * n :])
    else:
        a = a + bias
        u = h @ recurrent[:, : 2 * n]
        u = layer_norm(u, gains[1]) if layer_normalization else u
        z, r = sigmoid(a[:, :n] + u[:, :n]), sigmoid(a[:, n : 2 * n] + u[:, n:])
        u = (r * h) @ recurrent[:, 2 * n :]
        u = layer_norm(u, gains[2]) if layer_normalization else u
        candidate = np.tanh(a[:, 2 * n :] + u)
    h = z * h + (1 - z) * candidate
    return h, [h]


def lstm(w, x, states, tied=False, cap=False, clip=None, layer_normalization=False):
    h, c = states
    a, u = x @ matrix(w, "kernel_map"), h @ matrix(w, "recurrent_map")
    if layer_normalization:
        gains = norms(w)
        a, u = layer_norm(a, gains[0]), layer_norm(u, gains[1])
    a = a + u + w["bias/bias"]
    if tied:
        f, j, o = np.split(a, 3, axis=1)
        f = sigmoid(f)
        i = 1 - f
    else:
        i, f, j, o = np.split(a, 4, axis=1)
        i, f = sigmoid(i), sigmoid(f)
    if cap:
        i = np.minimum(i, 1 - f)
    c = f * c + i * np.tanh(j)
    normed = layer_norm(c, norms(w)[2], w["layer_normalization_2/beta"]) if layer_normalization else c
    h = sigmoid(o) * np.tanh(normed)
    if "projection/kernel" in w:
        h = h @ w["projection/kernel"]
    return h, [h, c if clip is None else np.clip(c, -clip, clip)]


def inside(w, name):
    """Returns the weights of a part of a cell, under their names inside it."""
    return {key[len(name) + 1 :]: value for key, value in w.items() if key.startswith(f"{name}/")}


def mogrifier(core, w, x, states, rounds=5, zigzag=True):
    h, *rest = states
    x_0, h_0 = x, h
    for i in range(1, rounds + 1):
        bias = w.get(f"gate_bias_{i}/bias", 0.0)
        read = (h if i % 2 else x) if zigzag else (h_0 if i % 2 else x_0)
        gate = 2 * sigmoid(read @ matrix(w, f"gate_{i}") + bias)
        if i % 2:
            x = gate * x
        else:
            h = gate * h
    return core(inside(w, "core"), x, [h, *rest])


def multiplicative(core, w, x, states):
    h, *rest = states
    m_x = x @ w["input_factor/kernel"] + w.get("input_bias/bias", 0.0)
    m_h = h @ w["state_factor/kernel"] + w.get("state_bias/bias", 0.0)
    return core(inside(w, "core"), x, [m_x * m_h, *rest])
