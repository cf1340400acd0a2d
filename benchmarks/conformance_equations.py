"""The equations of recurrent layers of other libraries, in NumPy, one step each, written from their papers.

A step takes the weights, the input and the states, and returns the output and the new states. Where a library documents
a matrix or a bias more than the paper has, so has the step; the order of gates is the library's.
"""

import re

import numpy as np

tanh = np.tanh
UNITS = 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(array, count):
    return np.split(array, count, axis=-1)


def sequence(step, states=1, prepare=lambda weights: weights):
    """Returns the equation of a layer from the step of its cell, which reads the weights as `prepare` makes them."""

    def equation(weights, inputs):
        w, outputs = prepare(weights), []
        now = [np.zeros((len(inputs), UNITS))] * states
        for t in range(inputs.shape[1]):
            output, now = step(w, inputs[:, t], *now)
            outputs.append(output)
        return np.stack(outputs, axis=1)

    return equation


# Weights.


def of_torch(weights):
    """Returns the weights of one layer of `torch.nn` or torchrecurrent, matrices for products from the right."""
    return {re.sub(r"^cells\.0\.|_l0$", "", name): np.transpose(value) for name, value in weights.items()}


def of_keras(weights):
    kernel, recurrent, bias = weights.values()
    return {"weight_ih": kernel, "weight_hh": recurrent, "bias": bias}


def of_flax(weights):
    """Returns the weights of a cell of Flax: those of each gate, or joined."""
    w = {name.removeprefix("cell/"): value for name, value in weights.items()}
    if "hi/kernel" in w:
        w["dense_i/kernel"] = np.concatenate([w[f"{name}/kernel"] for name in ("ii", "if_", "ig", "io")], axis=-1)
        w["dense_h/kernel"] = np.concatenate([w[f"h{name}/kernel"] for name in "ifgo"], axis=-1)
        w["dense_h/bias"] = np.concatenate([w[f"h{name}/bias"] for name in "ifgo"], axis=-1)
    return {
        "weight_ih": w["dense_i/kernel"],
        "weight_hh": w["dense_h/kernel"],
        "bias": w.get("dense_i/bias", 0) + w.get("dense_h/bias", 0),
    }


def affine(w, x, h):
    """Returns the affine part of all gates of a cell whose gates are all affine in input and state."""
    bias = w["bias"] if "bias" in w else w["bias_ih"] + w["bias_hh"]
    return x @ w["weight_ih"] + h @ w["weight_hh"] + bias


def by_input(w, x, count):
    return gates(x @ w["weight_ih"] + w["bias_ih"], count)


def by_state(w, h, count):
    return gates(h @ w["weight_hh"] + w["bias_hh"], count)


def matrices(w, count):
    """Returns the recurrent matrix and the bias of each gate, for gates that read different vectors."""
    return zip(gates(w["weight_hh"], count), gates(w["bias_hh"], count), strict=True)


# Elman (1990), the LSTM of Gers et al. (2000), the GRU of Cho et al. (2014) with the reset after the product, as cuDNN.


def elman(w, x, h):
    h = tanh(affine(w, x, h))
    return h, [h]


def lstm(w, x, h, c):
    i, f, g, o = gates(affine(w, x, h), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h, [h, c]


def keras_lstm(w, x, h, c):
    """Keras has i, f, c, o, as PyTorch."""
    return lstm(w, x, h, c)


def gru(w, x, h):
    (r, z, n), (hr, hz, hn) = by_input(w, x, 3), by_state(w, h, 3)
    z, n = sigmoid(z + hz), tanh(n + sigmoid(r + hr) * hn)
    h = (1 - z) * n + z * h
    return h, [h]


def keras_gru(w, x, h):
    """Keras has z, r, h."""
    (z, r, n), (hz, hr, hn) = (
        gates(v @ w[name] + b, 3) for v, name, b in zip((x, h), ("weight_ih", "weight_hh"), w["bias"], strict=True)
    )
    z, n = sigmoid(z + hz), tanh(n + sigmoid(r + hr) * hn)
    h = (1 - z) * n + z * h
    return h, [h]


def flax_gru(w, x, h):
    """Flax documents a GRU without a bias of the recurrent product."""
    r, z, n = gates(x @ w["weight_ih"] + w["bias"], 3)
    hr, hz, hn = gates(h @ w["weight_hh"], 3)
    z, n = sigmoid(z + hz), tanh(n + sigmoid(r + hr) * hn)
    h = (1 - z) * n + z * h
    return h, [h]


# Hochreiter and Schmidhuber (1997), Gers et al. (2002), Krause et al. (2016), Kim et al. (2017), Zoph and Le (2017).


def original_lstm(w, x, h, c):
    i, g, o = gates(affine(w, x, h), 3)
    c = c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h, [h, c]


def peephole_lstm(w, x, h, c):
    i, f, g, o = gates(affine(w, x, h), 4)
    p_i, p_f, p_o = gates(w["weight_ph"], 3)
    c, before = sigmoid(f + p_f * c) * c, c
    c = c + sigmoid(i + p_i * before) * tanh(g)
    h = sigmoid(o + p_o * c) * tanh(c)
    return h, [h, c]


def multiplicative_lstm(w, x, h, c):
    m, i, f, g, o = by_input(w, x, 5)
    m = m * (h @ w["weight_hh"] + w["bias_hh"])
    i, f, g, o = (a + b for a, b in zip((i, f, g, o), gates(m @ w["weight_mh"] + w["bias_mh"], 4), strict=True))
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    return h, [h, c]


def residual_lstm(w, x, h, c):
    i, f, g, o = gates(affine(w, x, h), 4)
    p_i, p_f, p_o = gates(w["weight_ph"], 3)
    c = sigmoid(f + p_f * c) * c + sigmoid(i + p_i * c) * tanh(g)
    h = sigmoid(o + p_o * c) * (tanh(c) @ w["weight_proj"] + x @ w["weight_res"])
    return h, [h, c]


def nas(w, x, h, c):
    g = gates(affine(w, x, h), 8)
    g = [f(a) for f, a in zip([sigmoid, relu, sigmoid, relu, tanh, sigmoid, tanh, sigmoid], g, strict=True)]
    c = tanh(tanh(g[0] * g[1]) + c) * tanh(g[2] + g[3])
    h = tanh(c * tanh(tanh(g[4] * g[5]) + sigmoid(g[6] + g[7])))
    return h, [h, c]


def relu(x):
    return np.maximum(x, 0)


# Units with fewer gates: Zhou et al. (2016), van der Westhuizen and Lasenby (2018), Chen (2017), Collins et al. (2017),
# Ravanelli et al. (2018), Zhang et al. (2018), Turkoglu et al. (2019), Lee et al. (2017), Laurent and von Brecht
# (2017).


def mgu(w, x, h):
    f, n = by_input(w, x, 2)
    (u_f, b_f), (u_n, b_n) = matrices(w, 2)
    f = sigmoid(f + h @ u_f + b_f)
    h = (1 - f) * h + f * tanh(n + (f * h) @ u_n + b_n)
    return h, [h]


def janet(w, x, h, c):
    s, n = gates(affine(w, x, h), 2)
    c = sigmoid(s) * c + (1 - sigmoid(s - w["beta"])) * tanh(n)
    return c, [c, c]


def minimal_rnn(w, x, h):
    z = tanh(x @ w["weight_ih"] + w["bias_ih"])
    u = sigmoid(h @ w["weight_hh"] + z @ w["weight_mm"] + w["bias_hh"])
    h = u * h + (1 - u) * z
    return h, [h]


def ugrnn(w, x, h):
    n, g = gates(affine(w, x, h), 2)
    h = sigmoid(g) * h + (1 - sigmoid(g)) * tanh(n)
    return h, [h]


def li_gru(w, x, h):
    z, n = gates(affine(w, x, h), 2)
    h = sigmoid(z) * h + (1 - sigmoid(z)) * relu(n)
    return h, [h]


def atr(w, x, h):
    (p,), (q,) = by_input(w, x, 1), by_state(w, h, 1)
    h = sigmoid(p + q) * p + sigmoid(p - q) * h
    return h, [h]


def star(w, x, h):
    (z, k), (q,) = by_input(w, x, 2), by_state(w, h, 1)
    k = sigmoid(k + q)
    h = tanh((1 - k) * h + k * tanh(z))
    return h, [h]


def ran(w, x, h, c):
    content, i, f = gates(x @ w["weight_ih"], 3)
    i, f = (sigmoid(a + b + d) for a, b, d in zip((i, f), gates(w["bias_ih"], 2), by_state(w, h, 2), strict=True))
    c = i * content + f * c
    return tanh(c), [tanh(c), c]


def cfn(w, x, h):
    (theta, eta, n), (h_theta, h_eta) = by_input(w, x, 3), by_state(w, h, 2)
    h = sigmoid(theta + h_theta) * tanh(h) + sigmoid(eta + h_eta) * tanh(n)
    return h, [h]


# Jozefowicz et al. (2015), with a matrix for the input where the paper adds the input itself.


def mut1(w, x, h):
    z, r, n = by_input(w, x, 3)
    (u_r, b_r), (u_n, b_n) = matrices(w, 2)
    z, r = sigmoid(z), sigmoid(r + h @ u_r + b_r)
    h = tanh((r * h) @ u_n + tanh(n) + b_n) * z + h * (1 - z)
    return h, [h]


def mut2(w, x, h, inner=lambda h: h):
    z, r, n = by_input(w, x, 3)
    (u_z, b_z), (u_r, b_r), (u_n, b_n) = matrices(w, 3)
    z, r = sigmoid(z + inner(h) @ u_z + b_z), sigmoid(r + h @ u_r + b_r)
    h = tanh((r * h) @ u_n + n + b_n) * z + h * (1 - z)
    return h, [h]


def mut3(w, x, h):
    return mut2(w, x, h, tanh)


# Without gates, or from differential equations: Li et al. (2018), Kusupati et al. (2018), Chang et al. (2019), Vecoven
# et al. (2021), Mikolov et al. (2014), Rusch et al. (2021, 2021, 2022).


def ind_rnn(w, x, h):
    h = tanh(x @ w["weight_ih"] + w["bias_ih"] + w["vector_u"] * h + w["bias_hh"])
    return h, [h]


def fast_rnn(w, x, h):
    h = sigmoid(w["alpha"]) * tanh(affine(w, x, h)) + sigmoid(w["beta"]) * h
    return h, [h]


def fast_grnn(w, x, h):
    shared = x @ w["weight_ih"] + h @ w["weight_hh"]
    b_z, b_n = gates(w["bias_ih"] + w["bias_hh"], 2)
    z = sigmoid(shared + b_z)
    h = (sigmoid(w["zeta"]) * (1 - z) + sigmoid(w["nu"])) * tanh(shared + b_n) + z * h
    return h, [h]


def antisymmetric(w, x, h):
    antisymmetric = w["weight_hh"] - w["weight_hh"].T
    h = h + tanh(x @ w["weight_ih"] + w["bias_ih"] + h @ antisymmetric + w["bias_hh"])
    return h, [h]


def bistable(w, x, h, product=np.multiply):
    (a, c, n), u, b = by_input(w, x, 3), gates(w["weight_hh"], 2), gates(w["bias_hh"], 2)
    a, c = 1 + tanh(a + product(h, u[0]) + b[0]), sigmoid(c + product(h, u[1]) + b[1])
    h = c * h + (1 - c) * tanh(n + a * h)
    return h, [h]


def neuromodulated_bistable(w, x, h):
    return bistable(w, x, h, np.matmul)


def scrn(w, x, y, h, s):
    """The recurrent matrix reads the hidden layer of the step before, not its output."""
    (b, a), (u_h, b_h), (u_y, b_y) = by_input(w, x, 2), *matrices(w, 2)
    s = (1 - w["alpha"]) * b + w["alpha"] * s
    p, v = gates(s @ w["weight_ch"] + w["bias_ch"], 2)
    h = sigmoid(p + a + h @ u_h + b_h)
    y = tanh(h @ u_y + b_y + v)
    return y, [y, h, s]


def lem(w, x, y, z):
    """The output reads the memory of the same step."""
    (t_y, t_z, n_z, n_y), (u_y, u_z, u_n) = by_input(w, x, 4), by_state(w, y, 3)
    t_y, t_z = sigmoid(t_y + u_y), sigmoid(t_z + u_z)
    z = (1 - t_z) * z + t_z * tanh(n_z + u_n)
    y = (1 - t_y) * y + t_y * tanh(n_y + z @ w["weight_ch"] + w["bias_ch"])
    return y, [y, z]
