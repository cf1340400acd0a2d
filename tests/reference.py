"""Every step in float64 NumPy, written from the papers' equations and from nothing in the package.

A step takes the weights by name, one time step of inputs and the list of states; it returns `output, states`. Row
vectors, as in the package: `x @ W`.
"""

import hashlib

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


def product(x, W, mask=None):
    """Returns `x W`, or with a mask `[batch, gates, size]` each gate's part of it, with what is left of `x` to it."""
    if mask is None:
        return x @ W
    gates = np.split(W, mask.shape[1], axis=1)
    return np.concatenate([(x * mask[:, g]) @ gate for g, gate in enumerate(gates)], axis=1)


def norms(w, prefix=""):
    """Returns the gains of the layer norms in order of creation: kernel, recurrent groups."""
    names = [n for n in w if n.startswith(f"{prefix}layer_normalization") and n.endswith("gamma")]
    return [w[n] for n in names]


def elman(w, x, states):
    (h,) = states
    h = np.tanh(x @ matrix(w, "kernel_map") + h @ matrix(w, "recurrent_map") + w["bias/bias"])
    return h, [h]


def gru(w, x, states, reset_after=True, layer_normalization=False, dropout=None, recurrent_dropout=None):
    """The masks are of `per_gate_dropout`."""
    (h,) = states
    first, last = (None, None) if recurrent_dropout is None else np.split(recurrent_dropout, [2], axis=1)
    kernel, recurrent, bias = matrix(w, "kernel_map"), matrix(w, "recurrent_map"), w["bias/bias"]
    gains = norms(w)
    n = h.shape[-1]
    a = product(x, kernel, dropout)
    a = layer_norm(a, gains[0]) if layer_normalization else a
    if reset_after:
        u = product(h, recurrent, recurrent_dropout) + bias[1]
        a = a + bias[0]
        z, r = sigmoid(a[:, :n] + u[:, :n]), sigmoid(a[:, n : 2 * n] + u[:, n : 2 * n])
        candidate = np.tanh(a[:, 2 * n :] + r * u[:, 2 * n :])
    else:
        a = a + bias
        u = product(h, recurrent[:, : 2 * n], first)
        u = layer_norm(u, gains[1]) if layer_normalization else u
        z, r = sigmoid(a[:, :n] + u[:, :n]), sigmoid(a[:, n : 2 * n] + u[:, n:])
        u = product(r * h, recurrent[:, 2 * n :], last)
        u = layer_norm(u, gains[2]) if layer_normalization else u
        candidate = np.tanh(a[:, 2 * n :] + u)
    h = z * h + (1 - z) * candidate
    return h, [h]


def lstm(
    w,
    x,
    states,
    tied=False,
    cap=False,
    clip=None,
    layer_normalization=False,
    dropout=None,
    recurrent_dropout=None,
    update_dropout=1.0,
):
    """The masks of input and state are of `per_gate_dropout`."""
    h, c = states
    a = product(x, matrix(w, "kernel_map"), dropout)
    u = product(h, matrix(w, "recurrent_map"), recurrent_dropout)
    if layer_normalization:
        gains = norms(w)
        a, u = layer_norm(a, gains[0]), layer_norm(u, gains[1])
    a = a + u + w["bias/bias"]
    *i, f, j, o = np.split(a, 3 if tied else 4, axis=1)
    peepholes = w.get("peephole_map/diagonal_kernel")
    *p_i, p_f, p_o = [0.0] * 3 if peepholes is None else np.split(peepholes, 2 if tied else 3)
    f = sigmoid(f + p_f * c)
    i = 1 - f if tied else sigmoid(i[0] + p_i[0] * c)
    if cap:
        i = np.minimum(i, 1 - f)
    c = f * c + i * np.tanh(j) * update_dropout
    o = sigmoid(o + p_o * c)
    normed = layer_norm(c, norms(w)[2], w["layer_normalization_2/beta"]) if layer_normalization else c
    h = o * np.tanh(normed)
    if "projection/kernel" in w:
        h = h @ w["projection/kernel"]
    return h, [h, c if clip is None else np.clip(c, -clip, clip)]


def inside(w, name):
    """Returns the weights of a part of a cell, under their names inside it."""
    return {key[len(name) + 1 :]: value for key, value in w.items() if key.startswith(f"{name}/")}


def doubled_sigmoid(a):
    return 2 * sigmoid(a)


def mogrifier(core, w, x, states, rounds=5, zigzag=True, static=False, gate_of=doubled_sigmoid):
    """`gate_of` is the gate as a function of $h Q + b$, of $x R + b$ or, if it is static, of $b$."""
    h, *rest = states
    x_0, h_0 = x, h
    for i in range(1, rounds + 1):
        bias = w.get(f"gate_bias_{i}/bias", 0.0)
        read = (h if i % 2 else x) if zigzag else (h_0 if i % 2 else x_0)
        gate = gate_of(bias if static else read @ matrix(w, f"gate_{i}") + bias)
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


def multiplicative_integration(core, w, x, states, **options):
    """The core gets what its gates add up as its input, through an identity, and nothing of the state beside it."""
    x, u = x @ matrix(w, "kernel_map"), states[0] @ matrix(w, "recurrent_map")
    alpha, beta_1, beta_2 = w["integration/bias"]
    a = alpha * x * u + beta_1 * u + beta_2 * x
    identity, nothing = np.eye(a.shape[1]), np.zeros((states[0].shape[1], a.shape[1]))
    return core({**w, "kernel_map/kernel": identity, "recurrent_map/kernel": nothing}, a, states, **options)


def nas(w, x, states):
    h, c = states
    xs = np.split(x @ matrix(w, "kernel_map"), 8, axis=1)
    us = np.split(h @ matrix(w, "recurrent_map") + w.get("bias/bias", 0.0), 8, axis=1)
    sums = [a + b for a, b in zip(xs, us, strict=True)]
    p = np.tanh(sigmoid(sums[0]) * np.maximum(sums[1], 0))
    q = np.tanh(sigmoid(sums[2]) + np.maximum(xs[3] * us[3], 0))
    r = np.tanh(np.tanh(sums[4]) * sigmoid(sums[5]))
    s = sigmoid(np.tanh(sums[6]) + sigmoid(sums[7]))
    c = np.tanh(p + c) * q
    h = np.tanh(c * np.tanh(r + s))
    return h, [h, c]


def gates_of_lstm(w, a, c, tied=False, layer_normalization=False):
    """Returns $h$ and $c$ from the affine parts of the gates, each of which may be normalized, and $c$ too."""
    names, pieces = ("fco", 3) if tied else ("ifco", 4)
    gates = dict(zip(names, np.split(a, pieces, axis=1), strict=True))
    if layer_normalization:
        gates = {s: layer_norm(v, w[f"{s}_norm/gamma"], w[f"{s}_norm/beta"]) for s, v in gates.items()}
    f = sigmoid(gates["f"])
    c = f * c + (1 - f if tied else sigmoid(gates["i"])) * np.tanh(gates["c"])
    normed = layer_norm(c, norms(w)[0], w["layer_normalization_2/beta"]) if layer_normalization else c
    return sigmoid(gates["o"]) * np.tanh(normed), c


def hyper_lstm(w, x, states, delayed=True, tied=False, layer_normalization=False):
    """Equations 10 to 13, gate by gate."""
    h, c, hyper_h, hyper_c = states
    v, count = inside(w, "hyper"), 3 if tied else 4
    a = np.concatenate([x, h], axis=1) @ v["kernel_map/kernel"] + hyper_h @ v["recurrent_map/kernel"] + v["bias/bias"]
    new_h, new_c = gates_of_lstm(v, a, hyper_c, layer_normalization=layer_normalization)
    read = hyper_h if delayed else new_h
    z = np.split(read @ w["scale_embedding/kernel"] + w["scale_embedding_bias/bias"], 2 * count, axis=1)
    z_b = np.split(read @ w["bias_embedding/kernel"], count, axis=1)
    D, D_b = np.split(w["scale/kernel"], 2 * count, axis=1), np.split(w["bias_scale/kernel"], count, axis=1)
    W, U = (np.split(matrix(w, name), count, axis=1) for name in ("kernel_map", "recurrent_map"))
    b = np.split(w.get("bias/bias", np.zeros(sum(m.shape[1] for m in W))), count)
    gates = []
    for s in range(count):
        d_x, d_h = z[s] @ D[s], z[count + s] @ D[count + s]
        gates.append(d_x * (x @ W[s]) + d_h * (h @ U[s]) + z_b[s] @ D_b[s] + b[s])
    h, c = gates_of_lstm(w, np.concatenate(gates, axis=1), c, tied, layer_normalization)
    if "projection/kernel" in w:
        h = h @ w["projection/kernel"]
    return h, [h, c, new_h, new_c]


def isan(w, x, states):
    (h,) = states
    maps = zip(np.split(matrix(w, "recurrent_map"), x.shape[1], axis=1), matrix(w, "kernel_map"), strict=True)
    h = sum(weight[:, None] * (h @ W + b) for weight, (W, b) in zip(x.T, maps, strict=True))
    return h, [h]


def weight_normalized(w, name):
    """Returns the weights with the matrices of one map replaced by their normalised ones (appendix A.2)."""

    def unit(v):
        return v / np.sqrt((v**2).sum(-2, keepdims=True))

    w = dict(w)
    if f"{name}/kernel" in w:
        w[f"{name}/kernel"] = unit(w[f"{name}/kernel"]) * w[f"{name}/gain"]
    else:
        w[f"{name}/right"] = unit(w[f"{name}/right"])
        w[f"{name}/left"] = unit(w[f"{name}/left"]) * w[f"{name}/gain"][..., None, :]
    return w


def normalized(step, w, x, states, **options):
    return step(weight_normalized(weight_normalized(w, "kernel_map"), "recurrent_map"), x, states, **options)


def weight_drop(w, x, states, rate):
    """An LSTM some of whose recurrent weights are dropped: `rate` is their mask."""
    return lstm({**w, "recurrent_map/kernel": w["recurrent_map/kernel"] * rate}, x, states)


def recurrent_highway(w, x, states, depth=5, coupled=True):
    (s,) = states
    gates = 2 if coupled else 3
    layers = np.split(matrix(w, "recurrent_map"), depth, axis=1)
    bias = np.reshape(w["bias/bias"], (depth, -1))
    for layer in range(depth):
        a = s @ layers[layer] + bias[layer]
        if layer == 0:
            a = a + x @ matrix(w, "kernel_map")
        h, t, *c = np.split(a, gates, axis=1)
        t = sigmoid(t)
        c = 1 - t if coupled else sigmoid(c[0])
        s = np.tanh(h) * t + s * c
    return s, [s]


def grid_transform(w, own, others, memory):
    """Returns one LSTM transform of a grid: gates from all hidden vectors, the memory of its own dimension."""
    a = np.concatenate(others, 1) @ w["kernel_map/kernel"] + own @ w["recurrent_map/kernel"] + w["bias/bias"]
    i, f, j, o = np.split(a, 4, axis=1)
    memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(j)
    return sigmoid(o) * np.tanh(memory), memory


def grid(w, x, states, depth=2, tied=False):
    _, *along_time = states
    h, m = np.split(x @ w["kernel_map/kernel"], 2, axis=1)
    new = []
    for layer in range(depth):
        h_time, m_time = along_time[2 * layer : 2 * layer + 2]
        k = 0 if tied else layer
        time = grid_transform(inside(w, f"time_{k}"), h_time, [h], m_time)
        h, m = grid_transform(inside(w, f"depth_{k}"), h, [h_time], m)
        new += time
    return h, [h, *new]


def grid_block(w, hidden, memory):
    """Section 3.1: one LSTM a dimension, `W_k` of the shape `[N units, 4 units]`, on all hidden vectors joined."""
    units = hidden[0].shape[1]
    pairs = []
    for k, m in enumerate(memory):
        inner = inside(w, f"layer_{k}")
        W = np.insert(inner["kernel_map/kernel"], [k * units] * units, inner["recurrent_map/kernel"], axis=0)
        i, f, j, o = np.split(np.concatenate(hidden, 1) @ W + inner["bias/bias"], 4, axis=1)
        m = sigmoid(f) * m + sigmoid(i) * np.tanh(j)
        pairs.append((sigmoid(o) * np.tanh(m), m))
    return [h for h, _ in pairs], [m for _, m in pairs]


def multidimensional_grid(w, x, depth=1, tied=False):
    """Returns the hidden vectors of the last layer at every point of `x`, `[batch, d_1, ..., d_n, features]`."""
    n = x.ndim - 2
    units = w["kernel_map/kernel"].shape[1] // 2
    zeros = [np.zeros((len(x), units))] * 2
    reached, output = {}, np.zeros((*x.shape[:-1], units))
    for p in np.ndindex(*x.shape[1:-1]):
        h, m = np.split(x[(slice(None), *p)] @ w["kernel_map/kernel"], 2, axis=1)
        for layer in range(depth):
            before = [(*p[:k], p[k] - 1, *p[k + 1 :]) for k in range(n)]
            along_data = [reached.get((layer, q), [zeros] * n)[k] for k, q in enumerate(before)]
            hidden, memory = zip(*along_data, (h, m), strict=True)
            first = 0 if tied else layer * (n + 1)
            block = {
                f"layer_{k}/{name}": v for k in range(n + 1) for name, v in inside(w, f"layer_{first + k}").items()
            }
            hidden, memory = grid_block(block, hidden, memory)
            *reached[layer, p], (h, m) = zip(hidden, memory, strict=True)
        output[(slice(None), *p)] = h
    return output


def policy(w, v, states, kind):
    """Returns the latent and the states of a policy: equation 7 or 8, or another cell."""
    if kind == "static":
        return np.maximum(v @ w["policy_map/kernel"] + w["policy_bias/bias"], 0.0), []
    return (lstm if kind == "recurrent" else kind)(inside(w, "policy"), v, states)


def adaptive(core, w, x, states, kind="recurrent", adaptation="io", tied=True, context=()):
    """Equation 9, gate by gate. `core` is `lstm` or `elman`, of which only the gates' functions are left to it."""
    gates = 4 if core is lstm else 1
    count = 2 if core is lstm else 1
    own, policy_states = states[:count], states[count:]
    h = own[0]
    z, policy_states = policy(w, np.concatenate([x, h, *context], 1), policy_states, kind)
    pi = np.tanh(z @ w["sub_policies/kernel"])
    units = w["recurrent_map/kernel"].shape[1] // gates
    operands = {"x": x, "h": h}
    inner = {
        k: w[f"{k}_basis/kernel"].shape[1] // (1 if tied else gates) if adaptation == "sva" else v.shape[1]
        for k, v in operands.items()
    }
    sizes = []
    if adaptation != "output":
        sizes += [(f"{k}1", inner[k] if tied else gates * inner[k]) for k in "xh"]
    if adaptation in ("io", "output"):
        sizes += [("x2", gates * units), ("h2", gates * units)]
    if "bias/bias" in w:
        sizes.append(("b", gates * units))
    ends = np.cumsum([size for _, size in sizes])
    assert ends[-1] == pi.shape[1]
    d = dict(zip([name for name, _ in sizes], np.split(pi, ends[:-1], axis=1), strict=True))

    def of_gate(s, name):
        if name not in d:
            return 1.0
        return d[name] if tied and name[1:] == "1" else np.split(d[name], gates, axis=1)[s]

    pieces = []
    for s in range(gates):
        u = 0.0
        for k, kernel in (("x", "kernel_map"), ("h", "recurrent_map")):
            v, W = operands[k], np.split(w[f"{kernel}/kernel"], gates, axis=1)[s]
            if adaptation == "sva":
                R = w[f"{k}_basis/kernel"]
                v = v @ (R if tied else np.split(R, gates, axis=1)[s])
            u = u + of_gate(s, f"{k}2") * ((of_gate(s, f"{k}1") * v) @ W)
        if "b" in d:
            u = u + of_gate(s, "b") * np.split(w["bias/bias"], gates)[s]
        pieces.append(u)
    if core is lstm:
        i, f, j, o = pieces
        c = sigmoid(f) * own[1] + sigmoid(i) * np.tanh(j)
        h = sigmoid(o) * np.tanh(c)
        return h, [h, c, *policy_states]
    h = np.tanh(pieces[0])
    return h, [h, *policy_states]


def adaptive_stack(core, w, x, states, layers=2, kind="recurrent"):
    """Equation 10: each policy also reads the latent below, the lowest the highest one's of the step before."""
    size = len(states) // layers
    of_layer = [states[size * (layers - 1 - k) : size * (layers - k)] for k in range(layers)]
    z = [of_layer[-1][-2]] if kind == "recurrent" else []
    for k in range(layers):
        x, of_layer[k] = adaptive(core, inside(w, f"layer_{k}"), x, of_layer[k], kind, context=z)
        z = [of_layer[k][-2]] if kind == "recurrent" else []
    return x, [s for states in reversed(of_layer) for s in states]


def hashed(keys, digits):
    """Returns numbers in [0, 1) for keys `[batch, size]` at the count that digits of base 128 spell.

    The 32 bits of the key, moved on by the golden ratio at each count, are mixed in two rounds: shifts of 16, 15 and 15
    with two odd factors between them. The first 24 bits of the result are the number.
    """
    count = digits.astype("int64") @ np.array([1, 128, 128**2])
    bits = (keys.astype("int64") + count[:, None] * 0x9E3779B9) % 2**32
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        bits = ((bits ^ (bits >> shift)) * factor) % 2**32
    return ((bits ^ (bits >> 15)) >> 8) / 2**24


def reset(core, w, x, states):
    """The initial states are zeros."""
    states = [np.where(x[:, -1:] > 0.5, 0, state) for state in states]
    return core(inside(w, "core"), x[:, :-1], states)


def zoneout(core, w, x, states, rates=(0.1,), keys=None):
    """Equations 2 to 4, with `keys` those of training, without them the expectation. The last state is the count."""
    *old, digits = states
    _, new = core(inside(w, "core"), x, old)
    rates = list(rates) * (len(old) if len(rates) == 1 else 1)
    if keys is None:
        kept = rates
    else:
        ends = np.cumsum([s.shape[1] for s in old])[:-1]
        kept = [u < z for u, z in zip(np.split(hashed(keys, digits), ends, axis=1), rates, strict=True)]
        # One is added to the last of the digits that can still count.
        digits = digits.copy()
        for row in digits:
            place = 0
            while row[place] == 127:
                row[place] = 0
                place += 1
            row[place] += 1
    new = [z * before + (1 - z) * after for z, before, after in zip(kept, old, new, strict=True)]
    return new[0], [*new, digits]


def states_output(core, w, x, states, counts=False):
    _, *own = states
    digits = [own.pop()] if counts else []
    _, own = core(inside(w, "core"), x, own)
    if counts:
        places = 128 ** np.arange(3)
        digits = [((digits[0].astype(int) @ places + 1)[:, None] // places % 128).astype(float)]
    output = np.concatenate(own, axis=1)
    return output, [output, *own, *digits]


def stacked(cores, w, x, states, connection=None):
    """`cores` are pairs of a step and its number of states, the lowest first."""
    states, outputs = list(states), []
    new = []
    below = x
    for k, (core, count) in enumerate(cores):
        own = [states.pop() for _ in range(count)][::-1]
        h, own = core(inside(w, f"layer_{k}"), below, own)
        below = h + below if connection == "residual" and k > 0 else h
        outputs.append(h)
        new = own + new
    output = sum(outputs) if connection == "skip" else below
    return output, new if connection is None else [output, *new]


def belu(x):
    def elu(v):
        return np.where(v > 0, v, np.exp(np.minimum(v, 0)) - 1)

    odd = np.arange(x.shape[1]) % 2 == 1
    return np.where(odd, -elu(-x), elu(x))


def deep(w, x, states, depth=4, skip_every=4, skip_scale=0.99, block_dropout=False):
    """With `block_dropout` the output is a state before those of the layers, and a count of steps one after them."""
    first, count = (1, states[-1:]) if block_dropout else (0, [])
    h = states[first : first + depth][::-1]
    units = h[0].shape[1]
    W = np.split(w["recurrent_map/kernel"], depth, axis=1)
    U = [w["kernel_map/kernel"], *(np.split(w["inner_map/kernel"], depth - 1, axis=1) if depth > 1 else [])]
    bias = np.reshape(w["bias/bias"], (depth, -1))
    outputs = [x]
    for k in range(depth):
        out = belu(outputs[-1] @ U[k] + h[k] @ W[k] + bias[k])
        if skip_every and (k + 1) % skip_every == 0 and outputs[k + 1 - skip_every].shape[1] == units:
            out = out + skip_scale * outputs[k + 1 - skip_every]
        outputs.append(out)
    return outputs[-1], [*(outputs[-1:] if block_dropout else []), *outputs[:0:-1], *count]


def affine_gates(w, x, count):
    """Returns the pieces of $x W + b$ of a linear cell."""
    return np.split(x @ w["kernel_map/kernel"] + w.get("bias/bias", 0), count, axis=1)


def min_gru(w, x, states, activation=lambda v: v, negative=False):
    (h,) = states
    z, candidate = affine_gates(w, x, 2)
    z = sigmoid(z)
    h = (1 - 2 * z if negative else 1 - z) * h + z * activation(candidate)
    return h, [h]


def min_lstm(w, x, states, negative=False):
    (h,) = states
    f, i, candidate = affine_gates(w, x, 3)
    f, i = sigmoid(f), sigmoid(i)
    kept = f / (f + i)
    h = (2 * kept - 1 if negative else kept) * h + i / (f + i) * candidate
    return h, [h]


def positive(v):
    return np.where(v < 0, sigmoid(v), v + 0.5)


def dense(kernel, gates):
    """Returns the full matrix of a kernel, whose blocks may be those on the diagonal of each gate's matrix."""
    if kernel.ndim == 2:
        return kernel
    of_gates = []
    for gate in range(gates):
        pieces = [np.split(block, gates, axis=1)[gate] for block in kernel]
        of_gates.append(
            np.block([[a if j == k else np.zeros_like(a) for k, a in enumerate(pieces)] for j in range(len(pieces))])
        )
    return np.concatenate(of_gates, axis=1)


def rg_lru(w, x, states):
    (h,) = states
    (u,) = affine_gates(w, x, 1)
    r, i = np.split(sigmoid(u @ dense(w["gate_map/kernel"], 2) + w["gate_bias/bias"]), 2, axis=1)
    a = sigmoid(w["decay"]) ** (8 * r)
    h = a * h + np.sqrt(1 - a**2) * i * u
    return h, [h]


def slstm(w, x, states, exponential=False):
    """Without the stabilizer: in float64 and over a few steps, no exponential overflows."""
    h, c, n, m = states
    # Divided by exp(m), if there is anything.
    c, n = (np.where(n > 0, state * np.exp(m), 0) for state in (c, n))
    a = x @ w["kernel_map/kernel"] + h @ dense(w["recurrent_map/kernel"], 4) + w["bias/bias"]
    i, f, z, o = np.split(a, 4, axis=1)
    m = np.where(n > 0, np.maximum((f if exponential else np.log(sigmoid(f))) + m, i), i)
    i, f = np.exp(i), np.exp(f) if exponential else sigmoid(f)
    c, n = f * c + i * np.tanh(z), f * n + i
    h = sigmoid(o) * c / n
    return h, [h, c / np.exp(m), n / np.exp(m), m]


def mlstm(w, x, states, heads, exponential=False):
    """Head by head, without the stabilizer."""
    _, C, n, m = states
    units, size = C.shape[1] // n.shape[1] * heads, C.shape[1] // n.shape[1]
    a = x @ w["kernel_map/kernel"] + w["bias/bias"]
    gates = x @ w["gate_map/kernel"] + w["gate_bias/bias"]
    h, (C, n, m) = np.zeros((len(x), units)), (np.copy(state) for state in (C, n, m))
    for row in range(len(x)):
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            q, k, v, o = (piece[part] for piece in np.split(a[row], 4))
            k = k / np.sqrt(size)
            i, f = gates[row, head], gates[row, heads + head]
            f = f if exponential else np.log(sigmoid(f))
            cells = slice(head * size**2, (head + 1) * size**2)
            scale = np.exp(m[row, head])
            memory = np.exp(f) * scale * C[row, cells].reshape(size, size) + np.exp(i) * np.outer(k, v)
            sums = np.exp(f) * scale * n[row, part] + np.exp(i) * k
            h[row, part] = sigmoid(o) * (q @ memory) / max(abs(q @ sums), 1)
            m[row, head] = max(f + m[row, head], i, 0)
            C[row, cells], n[row, part] = memory.ravel() / np.exp(m[row, head]), sums / np.exp(m[row, head])
    return h, [h, C, n, m]


def gated_delta_net(w, x, states, heads, negative=False, query_scale=1.0, epsilon=1e-5):
    """Head by head, with the matrix that multiplies the memory written out."""
    _, S = states
    size = round(np.sqrt(S.shape[1] // heads))

    def silu(v):
        return v * sigmoid(v)

    a = silu(x @ w["kernel_map/kernel"] + w.get("bias/bias", 0))
    gates = x @ w["gate_map/kernel"] + w.get("gate_bias/bias", 0)
    h, S = np.zeros((len(x), heads * size)), np.copy(S)
    for row in range(len(x)):
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            q, k, v, g = (piece[part] for piece in np.split(a[row], 4))
            q, k = (y / np.sqrt(y @ y + 1e-6) for y in (q, k))
            step = np.log1p(np.exp(gates[row, head] + w["width"][head]))
            alpha = np.exp(-np.exp(w["rate"][head]) * step)
            beta = (2 if negative else 1) * sigmoid(gates[row, heads + head])
            cells = slice(head * size**2, (head + 1) * size**2)
            before = S[row, cells].reshape(size, size)
            after = alpha * (np.eye(size) - beta * np.outer(k, k)) @ before + beta * np.outer(k, v)
            read = query_scale * q @ after
            h[row, part] = g * read / np.sqrt(np.mean(read**2) + epsilon) * w["gain"]
            S[row, cells] = after.ravel()
    return h, [h, S]


def adaptive_linear(w, x, states, policy=lstm, memory=min_gru):
    h, *policy_states = states
    p, policy_states = policy(inside(w, "policy"), x, policy_states)
    h, states = memory(inside(w, "memory"), np.concatenate([x, p], axis=1), [h])
    return h, [*states, *policy_states]


def permuted(z, seed):
    """In the order of the hashes of the places: the first 31 bits of the SHA-256 of the seed and the place."""
    hashes = [hashlib.sha256(f"{seed} {k}".encode()).digest()[:4] for k in range(z.shape[1])]
    return z[:, np.argsort([int.from_bytes(h, "big") // 2 for h in hashes], kind="stable")]


def urnn(w, x, states, use_bias=True, permutation_seed=0):
    """With complex numbers, and the fast Fourier transform."""
    (h,) = states
    n = h.shape[1] // 2

    def as_complex(v):
        return v[..., :n] + 1j * v[..., n:]

    def reflect(z, v):
        return z - 2 * (z @ np.conj(v))[:, None] * v / np.vdot(v, v).real

    d_1, d_2, d_3 = np.exp(1j * w["recurrent_map/phases"].T)
    v_1, v_2 = as_complex(w["recurrent_map/reflections"].T)
    z = reflect(np.fft.fft(as_complex(h) * d_1, norm="ortho"), v_1)
    z = reflect(np.fft.ifft(permuted(z, permutation_seed) * d_2, norm="ortho"), v_2) * d_3
    z = z + as_complex(x @ matrix(w, "kernel_map"))
    if use_bias:
        z = np.maximum(np.abs(z) + w["bias/bias"], 0) * np.exp(1j * np.angle(z))
    h = np.concatenate([z.real, z.imag], axis=1)
    return h, [h]
