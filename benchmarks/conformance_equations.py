"""The equations of recurrent layers of other libraries, in NumPy, one step each, written from their papers.

A step takes the weights, the input and the states, and returns the output and the new states. Where a library documents
a matrix or a bias more than the paper has, so has the step; the order of gates is the library's. Four of
torchrecurrent's are written from what it documents of their papers: MC-LSTM, SGRN, LightRU and MiRU.
"""

import math
import re

import numpy as np

tanh = np.tanh
UNITS = 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, x)


def gates(array, count):
    return np.split(array, count, axis=-1)


def sequence(step, states=1, prepare=lambda weights: weights):
    """Returns the equation of a layer from the step of its cell, which reads the weights as `prepare` makes them.

    `states` is the number of states, which start from zero, or a tuple of their shapes, where one has another than
    `(UNITS,)`.
    """
    shapes = [(UNITS,)] * states if isinstance(states, int) else states

    def equation(weights, inputs):
        w, outputs = prepare(weights), []
        now = [np.zeros((len(inputs), *shape)) for shape in shapes]
        for t in range(inputs.shape[1]):
            output, now = step(w, inputs[:, t], *now)
            outputs.append(output)
        return np.stack(outputs, axis=1)

    return equation


def stacked(*equations):
    """Returns the equation of layers, each of which reads the outputs of the one before."""

    def equation(weights, inputs):
        for layer in equations:
            inputs = layer(weights, inputs)
        return inputs

    return equation


def bidirectional(forwards, backwards):
    def equation(weights, inputs):
        reverse = backwards(weights, inputs[:, ::-1])[:, ::-1]
        return np.concatenate([forwards(weights, inputs), reverse], axis=-1)

    return equation


# Weights.


def of_torch(weights, layer="_l0"):
    """Returns the weights of one layer of `torch.nn` or torchrecurrent, matrices for products from the right."""
    return {re.sub(rf"^cells\.0\.|{layer}$", "", name): np.transpose(value) for name, value in weights.items()}


def of_keras(weights, layer=0):
    """Returns the weights of one of the cells of a layer."""
    kernel, recurrent, bias = list(weights.values())[3 * layer : 3 * layer + 3]
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


# Hochreiter and Schmidhuber (1997), Gers et al. (2002), Krause et al. (2016), Kim et al. (2017), Zoph and Le (2017),
# the MC-LSTM (2017), Landi et al. (2021).


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


def mc_lstm(w, x, v, c):
    f, i, o, m, n = gates(affine(w, x, v), 5)
    c = sigmoid(f) * c + sigmoid(i) * tanh(n)
    return sigmoid(o) * tanh(c), [sigmoid(m) * tanh(c), c]


def working_memory_lstm(w, x, h, c):
    i, f, g, o = gates(affine(w, x, h), 4)
    (m_i, b_i), (m_f, b_f), (m_o, b_o) = zip(gates(w["weight_mh"], 3), gates(w["bias_mh"], 3), strict=True)
    c, before = sigmoid(f + tanh(c @ m_f + b_f)) * c, c
    c = c + sigmoid(i + tanh(before @ m_i + b_i)) * tanh(g)
    h = sigmoid(o + tanh(c @ m_o + b_o)) * tanh(c)
    return h, [h, c]


# Units with fewer gates: Zhou et al. (2016), van der Westhuizen and Lasenby (2018), Chen (2017), Collins et al. (2017),
# Ravanelli et al. (2018), Zhang et al. (2018), Turkoglu et al. (2019), Lee et al. (2017), Laurent and von Brecht
# (2017), Gao and Glowacka (2016), Balduzzi and Ghifary (2016), and the SGRN (2020), LightRU (2024) and MiRU (2026).


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


def intersection(w, x, h):
    y, n, g_y, g_h = gates(affine(w, x, h), 4)
    y = sigmoid(g_y) * x + (1 - sigmoid(g_y)) * relu(y)
    h = sigmoid(g_h) * h + (1 - sigmoid(g_h)) * tanh(n)
    return y, [h]


def sgu(w, x, h, output=lambda w, z: softplus(z)):
    """The hard sigmoid is that of PyTorch."""
    x_g, x_z = by_input(w, x, 2)
    (u_g, b_g), (u_z, b_z) = matrices(w, 2)
    z_g = tanh((x_g * h) @ u_g + b_g)
    z = np.clip((x_z + h @ u_z + b_z) / 6 + 1 / 2, 0, 1)
    h = (1 - z) * h + z * output(w, z_g * h)
    return h, [h]


def dsgu(w, x, h):
    return sgu(w, x, h, lambda w, z: sigmoid(z @ w["weight_ho"]))


def t_rnn(w, x, h):
    z, f = by_input(w, x, 2)
    h = sigmoid(f) * h + (1 - sigmoid(f)) * z
    return h, [h]


def t_gru(w, x, h, before):
    z, f, o = gates(affine(w, x, before), 3)
    h = sigmoid(f) * h + z * tanh(o)
    return h, [h, x]


def t_lstm(w, x, c, before):
    z, f, o = gates(affine(w, x, before), 3)
    c = sigmoid(f) * c + (1 - sigmoid(f)) * z
    return c * tanh(o), [c, x]


def sgrn(w, x, h):
    f = sigmoid(affine(w, x, h))
    h = tanh((1 - f) * (x @ w["weight_ih"] + w["bias_ih"]) + f * h)
    return h, [h]


def light_ru(w, x, h):
    (n, f), (u,) = by_input(w, x, 2), by_state(w, h, 1)
    h = (1 - sigmoid(f + u)) * h + sigmoid(f + u) * tanh(n)
    return h, [h]


def mi_ru1(w, x, h, kept=0.5):
    r, n = by_input(w, x, 2)
    (u_r, b_r), (u_n, b_n) = matrices(w, 2)
    r = sigmoid(r + h @ u_r + b_r)
    h = kept * h + (1 - kept) * tanh(n + (r * h) @ u_n + b_n)
    return h, [h]


def mi_ru2(w, x, h, kept=0.5, read=0.5):
    h = kept * h + (1 - kept) * tanh(affine(w, x, read * h))
    return h, [h]


# Feng et al. (2024). The gates read only the input, and the candidate is linear, or positive by $g$.


def positive(x):
    return np.where(x >= 0, x + 0.5, sigmoid(x))


def min_gru(w, x, h):
    """Without a state, it starts from zero, and not from $g(0)$."""
    n, z = gates(x @ w["to_hidden_and_gate.weight"], 2)
    h = (1 - sigmoid(z)) * h + sigmoid(z) * positive(n)
    return h, [h]


def min_lstm(w, x, h):
    n, f, i = gates(x @ w["to_hidden_and_f_i_gate.weight"], 3)
    f, i = sigmoid(f), sigmoid(i)
    h = f / (f + i) * h + i / (f + i) * positive(n)
    return h, [h]


def linear_min_gru(w, x, h):
    z, b_z, n, b_n = w.values()
    z = sigmoid(x @ z + b_z)
    h = (1 - z) * h + z * (x @ n + b_n)
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
# et al. (2021), Mikolov et al. (2014), Rusch and Mishra (2021, 2021), Rusch et al. (2022), Erichson et al. (2022).


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


def gated_antisymmetric(w, x, h):
    """The library documents a recurrent bias, in the gate and in the candidate."""
    z, n = by_input(w, x, 2)
    u = h @ (w["weight_hh"] - w["weight_hh"].T) + w["bias_hh"]
    h = h + sigmoid(z + u) * tanh(n + u)
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


def co_rnn(w, x, y, z, dt=0.1):
    """The explicit variant of the damping, with its coefficients 1."""
    z = z + dt * (tanh(affine(w, x, y) + z @ w["weight_ch"] + w["bias_ch"]) - y - z)
    y = y + dt * z
    return y, [y, z]


def unicornn(w, x, y, z, dt=0.1):
    c = dt * sigmoid(w["weight_ch"])
    z = z - c * tanh(w["weight_hh"] * y + x @ w["weight_ih"] + w["bias_ih"])
    y = y + c * z
    return y, [y, z]


def tau_gru(w, x, h, before):
    (u, z, g, a), (h_u, _, h_g, h_a), (_, h_z, *_) = by_input(w, x, 4), by_state(w, h, 4), by_state(w, before, 4)
    g, a = sigmoid(g + h_g), sigmoid(a + h_a)
    new = (1 - g) * h + g * (tanh(u + h_u) + a * tanh(z + h_z))
    return new, [new, h]


# ncps: the closed form of Hasani et al. (2022), the memory of Lechner and Hasani (2020), the solver of Hasani et al.
# (2021) for the synapses of Lechner et al. (2020), with an elapsed time of 1.


def of_ncps(weights):
    """Returns the weights of a CfC of PyTorch by the paper's names, `u` of the backbone, `a` and `b` of the gate."""
    w = of_torch(weights)
    names = {"u": "backbone.0", "g": "ff1", "h": "ff2", "a": "time_a", "b": "time_b"}
    return {**w, **{new: (w[f"rnn_cell.{old}.weight"], w[f"rnn_cell.{old}.bias"]) for new, old in names.items()}}


def of_ncps_keras(weights):
    """Returns the weights of a CfC of Keras, where $g$ and $h$ change places, and the shift of time its sign."""
    h, h_bias, g, g_bias, u, u_bias, a, a_bias, b, b_bias = weights.values()
    return {"u": (u, u_bias), "g": (g, g_bias), "h": (h, h_bias), "a": (a, a_bias), "b": (-b, -b_bias)}


def cfc(w, x, h, head=tanh):
    """The gate is affine in time, where the paper has a multiple; LeCun's tanh has 0.666 for 2/3."""
    kernel, bias = w["u"]
    u = 1.7159 * tanh(0.666 * (np.concatenate([x, h], axis=-1) @ kernel + bias))
    g, h, a, b = (u @ kernel + bias for kernel, bias in (w[name] for name in "ghab"))
    time = sigmoid(-(a + b))
    h = time * head(g) + (1 - time) * head(h)
    return h, [h]


def cfc_keras(w, x, h):
    """Its $g$ and $h$ are linear, where PyTorch's end in tanh."""
    return cfc(w, x, h, head=lambda x: x)


def cfc_with_memory(w, x, h, c):
    x_part = x @ w["lstm.input_map.weight"] + w["lstm.input_map.bias"]
    z, i, f, o = gates(x_part + h @ w["lstm.recurrent_map.weight"], 4)
    c = sigmoid(f + 1) * c + sigmoid(i) * tanh(z)
    h, _ = cfc(w, x, sigmoid(o) * tanh(c))
    return h, [h, c]


def ltc(w, x, v, steps=6, epsilon=1e-8):
    """The library has affine maps of input and output, and a softplus of what has to be positive."""
    w = {name.removeprefix("rnn_cell."): value for name, value in w.items()}
    leak, capacity = softplus(w["gleak"]), steps * softplus(w["cm"])

    def synapses(v, kind=""):
        """Returns conductances and currents."""
        g = softplus(w[f"{kind}w"]) * sigmoid(w[f"{kind}sigma"] * (v[:, :, None] - w[f"{kind}mu"]))
        return np.stack([g.sum(axis=1), (g * w[f"{kind}erev"]).sum(axis=1)])

    sensory = synapses(x * w["input_w"] + w["input_b"], "sensory_")
    for _ in range(steps):
        g, current = synapses(v) + sensory
        v = (capacity * v + leak * w["vleak"] + current) / (capacity + leak + g + epsilon)
    return v * w["output_w"] + w["output_b"], [v]


# Voelker et al. (2019): two memories of order 3 for a delay of 5 steps, held between them.


def lmu(w, x, m, h, theta=5, order=3, to_memory=False):
    kernel, recurrent, bias, encoder = w.values()
    i, j = np.indices((order, order))
    a = (2 * i + 1) * np.where(i < j, -1, (-1.0) ** (i - j + 1))
    b = ((2 * i + 1) * (-1.0) ** i)[:, :1]
    system = np.pad(np.hstack([a, b]), ((0, 1), (0, 0))) / theta
    held = sum(np.linalg.matrix_power(system, n) / math.factorial(n) for n in range(40))
    u = (np.concatenate([x, h], axis=-1) if to_memory else x) @ encoder
    m = m @ held[:order, :order].T + u[:, :, None] * held[:order, order]
    h = tanh(m.reshape(len(x), -1) @ kernel + h @ recurrent + bias)
    return h, [m, h]


def lmu_to_memory(w, x, m, h):
    return lmu(w, x, m, h, to_memory=True)


# Beck et al. (2024): what their blocks have between the first normalization and the residual connection.


def silu(x):
    return x * sigmoid(x)


def blocks(x, matrices):
    """Returns the products of parts of a vector with a matrix each."""
    parts = x.reshape(len(x), len(matrices), -1)
    return np.einsum("bpi,poi->bpo", parts, matrices).reshape(len(x), -1)


def convolution(w, past, x):
    """Returns a convolution of the last inputs of each feature, and those inputs."""
    past = np.concatenate([past[:, 1:], x[:, None]], axis=1)
    return np.einsum("btf,ft->bf", past, w["conv1d.conv.weight"][:, 0]) + w["conv1d.conv.bias"], past


def group_norm(x, weight):
    """Normalizes each head; the library adds 1 to the weight."""
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)
    return x.reshape(len(x), -1) * (1 + weight)


def slstm(w, x, past, h, c, n):
    u, past = convolution(w, past, x)
    kernel = w["slstm_cell._recurrent_kernel_"].reshape(2, 4, 2, 2)
    recurrent = np.einsum("bpi,pgoi->gbpo", h.reshape(-1, 2, 2), kernel).reshape(4, -1, UNITS)
    i, f, z, o = (
        blocks(read, w[f"{gate}gate.weight"]) + from_state + bias
        for read, gate, from_state, bias in zip(
            (silu(u), silu(u), x, x), "ifzo", recurrent, gates(w["slstm_cell._bias_"], 4), strict=True
        )
    )
    c = sigmoid(f) * c + np.exp(i) * tanh(z)
    n = sigmoid(f) * n + np.exp(i)
    h = sigmoid(o) * c / n
    return group_norm(h.reshape(-1, 2, 2), w["group_norm.weight"]), [past, h, c, n]


def mlstm(w, x, past, c, n, largest):
    """The gates read the queries, keys and values of all heads; 1e-6 is added to the divisor, which is stabilized."""
    x, z = gates(x @ w["proj_up.weight"].T, 2)
    u, past = convolution(w, past, x)
    q, k, v = (blocks(each, w[f"{name}_proj.weight"]) for each, name in ((silu(u), "q"), (silu(u), "k"), (x, "v")))
    i, f = (
        np.concatenate([q, k, v], axis=-1) @ w[f"mlstm_cell.{gate}gate.weight"].T + w[f"mlstm_cell.{gate}gate.bias"]
        for gate in "if"
    )
    q, k, v = (each.reshape(len(x), 2, -1) for each in (q, k, v))
    k = k / np.sqrt(k.shape[-1])
    f, i = sigmoid(f)[..., None], np.exp(i)[..., None]
    c = f[..., None] * c + i[..., None] * v[..., :, None] * k[..., None, :]
    n = f * n + i * k
    largest = np.maximum(f * largest, i)
    divisor = np.maximum(np.abs((n * q).sum(axis=-1, keepdims=True)), 1) + 1e-6 * largest
    h = np.einsum("bpvk,bpk->bpv", c, q) / divisor
    h = group_norm(h, w["mlstm_cell.outnorm.weight"]) + w["learnable_skip"] * silu(u)
    return (h * silu(z)) @ w["proj_down.weight"].T, [past, c, n, largest]


# Linear attention with two heads of size 2, below a dense layer: Yang et al. (2024, 2025), Kimi Team (2025), Qin et al.
# (2023). The queries are scaled as in attention.


def heads(w, x):
    """Returns columns of queries, keys and values, decays, and rates of writing."""
    *parts, rates = np.split(x @ w["weight"].T + w["bias"], [4, 8, 12, 16], axis=-1)
    q, k, v, decays = (part.reshape(-1, 2, 2, 1) for part in parts)
    k = k / np.linalg.norm(k, axis=2, keepdims=True)
    return q / np.sqrt(2), k, v, sigmoid(decays), sigmoid(rates)[..., None, None]


def transposed(columns):
    return np.swapaxes(columns, -1, -2)


def gla(w, x, s):
    q, k, v, decays, _ = heads(w, x)
    s = s * transposed(decays) + v @ transposed(k)
    return (s @ q)[..., 0], [s]


def kda(w, x, s, scalar=False):
    q, k, v, decays, rates = heads(w, x)
    s = s * (decays[:, :, :1] if scalar else transposed(decays))
    s = s @ (np.eye(2) - rates * k @ transposed(k)) + rates * v @ transposed(k)
    return (s @ q)[..., 0], [s]


def gated_delta(w, x, s):
    return kda(w, x, s, scalar=True)


def hgrn(w, x, h):
    """The operator reads the gated input."""
    c, f = gates((x @ w["weight"].T + w["bias"])[:, :8], 2)
    h = sigmoid(f) * h + c
    return h, [h]
