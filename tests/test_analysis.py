"""Looking into networks: what is seen is what the layers compute."""

import keras
import numpy as np
import pytest
from keras import ops, tree

import keras_adaptive_rnn as kar
from examples.activation_dynamics import activation_dynamics
from keras_adaptive_rnn import analysis, engine, maps
from keras_adaptive_rnn.initializers import SemiOrthogonal
from tests import reference as ref
from tests.backends import dealt, in_turns
from tests.table import CELLS, OPTIONS
from tests.test_reference import named_weights

pytestmark = in_turns

X = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")


def built(cell, **kwargs):
    """Returns a layer around a cell whose weights are all drawn, none zero."""
    layer = kar.RNN(cell, return_sequences=True, **kwargs)
    layer.build((2, 5, 4))
    rng = np.random.default_rng(1)
    layer.set_weights([rng.normal(scale=0.5, size=w.shape) for w in layer.weights])
    return layer


def close(ours, theirs):
    np.testing.assert_allclose(ours, ops.convert_to_numpy(theirs), rtol=1e-5, atol=1e-5)


# Traces.


@pytest.mark.parametrize("name", dealt(CELLS))
def test_a_trace_is_a_loop_over_the_cell(name):
    """`layer.step` prepares nothing for a sequence, the layer runs a loop of the backend: three ways, one result."""
    layer = built(CELLS[name]())
    seen = analysis.trace(layer, X)
    states = None
    for t in range(X.shape[1]):
        output, states = layer.step(X[:, t], states)
        close(seen.outputs[:, t], output)
        for ours, theirs in zip(seen.states, tree.flatten(states), strict=True):
            close(ours[:, t], theirs)
    close(seen.outputs, layer(X))
    assert seen.gates or name in ("elman", "isan", "multiplicative_integration_rnn") or name.startswith("deep")
    assert all(gate.shape[:2] == (2, 5) and np.isfinite(gate).all() for gate in seen.gates.values())


LSTM_GATES = {"i", "f", "j", "o"}


def under(path, names):
    return {f"{path}/{name}" for name in names}


NAMES = {
    "lstm": LSTM_GATES,
    "gru": {"z", "r", "candidate"},
    "mogrifier": {f"gate_{i}" for i in range(1, 6)} | under("cell", LSTM_GATES),
    "mogrifier_static": {"gate_1", "gate_2"} | under("cell", LSTM_GATES),
    "mogrifier_around_keras": {"gate_1", "gate_2"},
    "multiplicative_lstm": {"m"} | under("cell", LSTM_GATES),
    "adaptive_lstm": LSTM_GATES
    | {"z"}
    | {f"policy_{k}" for k in ("x1", "h1", "x2", "h2", "b")}
    # The policy's own gates.
    | under("policy", LSTM_GATES),
    "zoneout": {"kept_0", "kept_1"} | under("cell", LSTM_GATES),
    "stack_skip": under("cells/0", LSTM_GATES),
    "grid_lstm": {f"{d}_cells/{k}/{g}" for d in ("time", "depth") for k in (0, 1) for g in LSTM_GATES},
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_gates(name):
    assert set(analysis.trace(built((CELLS | OPTIONS)[name]()), X[:, :2]).gates) == NAMES[name]


def test_gates_compute_the_states():
    seen = analysis.trace(built(kar.LSTMCell(3)), X)
    h, c = seen.states
    before = np.concatenate([np.zeros((2, 1, 3)), c[:, :-1]], axis=1)
    close(seen.gates["f"] * before + seen.gates["i"] * seen.gates["j"], c)
    close(seen.gates["o"] * np.tanh(c), h)


def test_a_cell_that_steps_twice_shows_both():
    seen = analysis.trace(built(kar.GridLSTMCell(3, depth=2, tied=True)), X)
    assert {"time_cells/0/f", "time_cells/0/f_2"} < set(seen.gates)
    assert not np.allclose(seen.gates["time_cells/0/f"], seen.gates["time_cells/0/f_2"])


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("go_backwards", [False, True])
def test_a_masked_trace(zero, go_backwards):
    mask = np.array([[True, True, False, True, False], [False, True, True, False, True]])
    layer = built(kar.LSTMCell(3), zero_output_for_mask=zero, go_backwards=go_backwards)
    states = [np.ones((2, 3), "float32"), np.full((2, 3), 0.5, "float32")]
    seen = analysis.trace(layer, X, initial_state=states, mask=mask)
    close(seen.outputs, layer(X, mask=ops.convert_to_tensor(mask), initial_state=states))
    read = mask[:, ::-1] if go_backwards else mask
    assert (np.isnan(seen.gates["f"]) == ~read[..., None]).all()
    held = ~read[:, 1:]
    for state in seen.states:
        assert (state[:, 1:][held] == state[:, :-1][held]).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.layers.LSTM(3, return_sequences=True),
        lambda: keras.layers.RNN([keras.layers.GRUCell(3), kar.LSTMCell(4)], return_sequences=True),
        lambda: kar.Mogrifier(3, return_sequences=True, dtype="mixed_bfloat16"),
    ],
    ids=["keras", "keras_stack", "mixed"],
)
def test_any_recurrent_layer_has_a_trace(make):
    layer = make()
    outputs = ops.cast(layer(X), "float32")
    seen = analysis.trace(layer, X)
    np.testing.assert_allclose(seen.outputs, ops.convert_to_numpy(outputs), rtol=1e-5, atol=2e-2)
    assert seen.outputs.dtype == "float32"
    assert len(seen.states) == len(tree.flatten(layer.cell.state_size))


def test_errors_of_a_trace():
    layer = built(kar.LSTMCell(3))
    with pytest.raises(ValueError, match=r"`layer` must be a recurrent layer.*Dense"):
        analysis.trace(keras.layers.Dense(3), X)
    with pytest.raises(ValueError, match="must be built"):
        analysis.trace(kar.LSTM(3), X)
    with pytest.raises(ValueError, match=r"`inputs` must have shape.*\(2, 4\)"):
        analysis.trace(layer, X[:, 0])
    with pytest.raises(ValueError, match=r"`mask` must have shape \(2, 5\).*\(2, 4\)"):
        analysis.trace(layer, X, mask=np.ones((2, 4), bool))
    with pytest.raises(ValueError, match="expected states of shapes"):
        analysis.trace(layer, X, initial_state=[np.zeros((2, 3))])


# Matrices.


def test_eigenvalues_lie_in_gersgorin_discs(rng):
    for n in range(1, 20):
        matrix = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if n % 2 else 0)
        centres, radii = analysis.gersgorin_discs(matrix)
        distances = np.abs(np.linalg.eigvals(matrix)[:, None] - centres)
        assert (distances <= radii + 1e-9).any(axis=1).all()
    several = rng.normal(size=(2, 3, 4, 4))
    for discs, of_one in zip(analysis.gersgorin_discs(several), analysis.gersgorin_discs(several[1, 2]), strict=True):
        np.testing.assert_allclose(discs[1, 2], of_one)
    for refused in (np.ones((2, 3)), np.ones(3)):
        with pytest.raises(ValueError, match="square"):
            analysis.gersgorin_discs(refused)


def slopes(step, s):
    """Returns the numerical Jacobian of `step`, `[batch, from, to]`."""
    moved = [step(s + 1e-5 * row) - step(s - 1e-5 * row) for row in np.eye(s.shape[1])]
    return np.stack(moved, axis=1) / 2e-5


@pytest.mark.parametrize(
    "options",
    [
        {"depth": 1},
        {"depth": 3},
        {"depth": 2, "coupled": False},
        {"depth": 1, "coupled": False},
        {"depth": 3, "recurrent_map": maps.LowRank(2, diagonal=True)},
        {"depth": 2, "use_bias": False},
    ],
    ids=lambda options: "_".join(map(str, options)),
)
def test_jacobians_of_recurrent_highways_are_their_slopes(options, rng):
    layer = built(kar.RecurrentHighwayCell(4, **options))
    x, s = rng.normal(size=(2, 3, 4))
    found = analysis.recurrent_highway_jacobians(layer, x, s)
    assert found.shape == (3, options["depth"], 4, 4)
    reference = {"depth": options["depth"], "coupled": options.get("coupled", True)}
    w = named_weights(layer.cell)
    w = ref.inside(w, layer.cell.path) or w
    if "bias/bias" not in w:
        w["bias/bias"] = np.zeros((options["depth"], 8))
    expected = slopes(lambda s: ref.recurrent_highway(w, x, [s], **reference)[0], s)
    of_step = found[:, 0]
    for k in range(1, options["depth"]):
        of_step = of_step @ found[:, k]
    np.testing.assert_allclose(of_step, expected, rtol=1e-3, atol=1e-5)

    centres, radii = analysis.gersgorin_discs(found)
    distances = np.abs(np.linalg.eigvals(found)[..., :, None] - centres[..., None, :])
    assert (distances <= radii[..., None, :] + 1e-5).any(axis=-1).all()


def test_a_recurrent_highway_that_carries_all_has_eigenvalues_of_one(rng):
    layer = built(kar.RecurrentHighwayCell(4, depth=2, activation="relu"))
    layer.cell.bias.assign(np.tile(np.repeat([0.0, -200.0], 4), (2, 1)))
    centres, radii = analysis.gersgorin_discs(analysis.recurrent_highway_jacobians(layer, *rng.normal(size=(2, 3, 4))))
    close(centres, np.ones((3, 2, 4)))
    close(radii, np.zeros((3, 2, 4)))


@pytest.mark.parametrize(
    ("cell", "shapes", "words"),
    [
        (kar.GRUCell(4), ((2, 4), (2, 4)), ["`cell`", "GRUCell"]),
        (kar.RecurrentHighwayCell(4), ((2, 3), (2, 4)), ["`inputs`", "features=4", "(2, 3)"]),
        (kar.RecurrentHighwayCell(4), ((2, 4), (3, 4)), ["`state`", "(2, 4), (3, 4)"]),
    ],
)
def test_errors_of_recurrent_highway_jacobians(cell, shapes, words):
    cell.build((2, 4))
    with pytest.raises(ValueError, match="Received") as caught:
        analysis.recurrent_highway_jacobians(cell, *map(np.ones, shapes))
    for word in words:
        assert word in str(caught.value)


def test_recurrent_matrices_of_every_map():
    cell = built(kar.LSTMCell(4, recurrent_map=maps.LowRank(2, diagonal=True))).cell
    u = cell.recurrent_map
    right, left, diagonal = (ops.convert_to_numpy(w) for w in (u.right, u.left, u.diagonal_kernel))
    for k, gate in enumerate("ifco"):
        dense = right[k] @ left[k] + np.diag(diagonal[4 * k : 4 * k + 4])
        close(analysis.recurrent_matrix(cell, gate), dense)
        close(analysis.singular_values(cell, gate), np.linalg.svd(dense, compute_uv=False))

    full = built(kar.MogrifierCell(3, core="gru", reset_after=False))
    dense = ops.convert_to_numpy(full.cell.cell.recurrent_map.kernel)
    close(analysis.recurrent_matrix(full), dense)
    close(analysis.singular_values(full, "h"), np.linalg.svd(dense[:, 6:], compute_uv=False))

    of_keras = keras.layers.LSTM(3)
    of_keras.build((2, 5, 4))
    dense = ops.convert_to_numpy(of_keras.cell.recurrent_kernel)
    close(analysis.recurrent_matrix(of_keras, "f"), dense[:, 3:6])


def test_recurrent_matrices_of_cells_with_layers():
    assert list(analysis.recurrent_matrices(built(kar.RecurrentHighwayCell(4, depth=2)))) == [
        "h_1",
        "t_1",
        "h_2",
        "t_2",
    ]
    deep = built(kar.DeepRNNCell(4, depth=3)).cell
    kernel = ops.convert_to_numpy(deep.recurrent_map.kernel)
    close(analysis.recurrent_matrix(deep, "h_3"), kernel[:, 8:])


def test_errors_of_recurrent_matrices():
    with pytest.raises(ValueError, match="must be built"):
        analysis.recurrent_matrix(kar.LSTMCell(3))
    with pytest.raises(ValueError, match=r"single recurrent map.*StackedCells"):
        analysis.recurrent_matrix(kar.StackedCells([kar.LSTMCell(3)]))
    with pytest.raises(ValueError, match=r"`gate` must be one of 'i', 'f', 'c', 'o'.*'z'"):
        analysis.recurrent_matrix(built(kar.LSTMCell(3)), "z")


def test_singular_values_are_recorded_in_training(rng):
    layer = kar.Elman(4)
    model = keras.Sequential([keras.Input((5, 4)), layer])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    callback = analysis.SingularValues(layer)
    first = analysis.singular_values(layer)[0]
    model.fit(X, rng.normal(size=(2, 4)), epochs=2, verbose=0, callbacks=[callback])
    recorded = callback.history["h"]
    assert len(recorded) == 3
    close(recorded[0], first)
    close(recorded[2], analysis.singular_values(layer)[0])
    assert recorded[1] != recorded[0]


# Dynamics.


@pytest.mark.parametrize("seed", range(3))
def test_bipolar_elu_stays_bounded_where_elu_drifts(seed):
    """Figure 2 of the paper: means drift away from zero, and variances explode, less with the bipolar activations."""
    setting = {"units": 256, "steps": 20, "runs": 9, "seed": seed}
    seen = {f: activation_dynamics(f, **setting) for f in ("elu", "belu", "relu", "brelu")}
    means = {f: np.median(s.means, axis=0) for f, s in seen.items()}
    variances = {f: np.median(s.variances, axis=0) for f, s in seen.items()}
    for v in variances.values():
        np.testing.assert_allclose(v[1], 1.0, atol=0.05)
    assert 0.7 < variances["belu"].min() < variances["belu"].max() < 1.3
    assert np.abs(means["belu"]).max() < 0.05
    assert means["elu"][10:].min() > 0.2
    assert variances["elu"][-1] > 1.2 * variances["belu"][-1]
    assert means["relu"][-1] > 10
    assert np.abs(means["brelu"]).max() < 0.1
    assert variances["relu"][-1] > 100 * variances["brelu"][-1]


def test_an_orthogonal_matrix_keeps_the_norm():
    seen = activation_dynamics("linear", 16, 3, runs=2, matrix="orthogonal", unit_variance=False)
    norms = seen.variances + seen.means**2
    np.testing.assert_allclose(norms, norms[:, :1] * np.ones(4), rtol=1e-5)


# Gradients.


def differences(layers, x, loss, level, t, h=1e-2):
    """Returns the gradient with respect to the output of a level of the last layer, by central differences."""
    chain = analysis.hooks.chain_of(layers)
    size = analysis.hooks.levels_of(chain[-1].cell)[level]
    gradient = np.zeros((len(x), size))
    for b in range(len(x)):
        for k in range(size):
            values = []
            for sign in (1, -1):
                change = np.zeros((len(x), size), "float32")
                change[b, k] = sign * h
                steps = []

                def hook(layer, at, output, change=change, steps=steps):
                    steps.append(at)
                    return (
                        output + ops.convert_to_tensor(change) if at == level and steps.count(at) == t + 1 else output
                    )

                with engine.inference():
                    y = analysis.hooks.run_chain(chain, ops.convert_to_tensor(x), hook)[:, -1]
                    values.append(float(loss(y)))
            gradient[b, k] = (values[0] - values[1]) / (2 * h)
    return np.linalg.norm(gradient, axis=-1).mean()


@pytest.mark.parametrize(
    "make",
    [
        lambda: kar.DeepRNNCell(3, depth=3, activation="tanh", skip_every=2),
        lambda: kar.StackedCells([kar.LSTMCell(3), keras.layers.GRUCell(2)]),
    ],
    ids=["deep", "stack"],
)
def test_gradient_flow_is_that_of_finite_differences(make):
    layer, x = built(make()), X[:, :3]

    def loss(y):
        return ops.sum(ops.sin(y))

    flow = analysis.gradient_flow(layer, x, loss)
    assert flow.shape == (len(analysis.hooks.levels_of(layer.cell)), 3)
    for level in range(len(flow)):
        for t in (0, 2):
            np.testing.assert_allclose(flow[level, t], differences(layer, x, loss, level, t), rtol=2e-2, atol=1e-3)
    # The cell is as it was.
    close(analysis.trace(layer, x).outputs, layer(x))


def test_gradient_flow_of_one_layer_by_hand():
    layer = built(kar.ElmanCell(3, activation="linear"))
    u = analysis.recurrent_matrix(layer)
    y = ops.convert_to_numpy(layer(X))[:, -1]
    expected = [np.linalg.norm(y @ np.linalg.matrix_power(u.T, k), axis=-1).mean() for k in (4, 3, 2, 1, 0)]
    close(analysis.gradient_flow(layer, X), [expected])


def test_gradient_flow_of_a_model():
    model = keras.Sequential(
        [keras.layers.Embedding(7, 4), kar.LSTM(3, return_sequences=True), keras.layers.LSTM(2), keras.layers.Dense(5)]
    )
    ids = np.arange(10).reshape(2, 5) % 7
    model(ids)
    flow = analysis.gradient_flow(model, ids)
    assert flow.shape == (2, 5)
    assert (flow > 0)[:, :4].all()
    # The lower layer is read by the upper one in the last step too, and skips only where there is a path.
    assert flow[0, 4] > 0
    assert analysis.gradient_flow(model.layers[1:], np.ones((2, 5, 4), "float32")).shape == (2, 5)


def test_skip_connections_carry_the_gradient():
    """To the fourth layer, whose output the top layer adds to its own by way of the eighth."""
    reached = {}
    for skip in (None, 4):
        same = {role: SemiOrthogonal(0.7, seed=0) for role in ("kernel_initializer", "recurrent_initializer")}
        layer = kar.RNN(kar.DeepRNNCell(8, depth=12, skip_every=skip, **same))
        layer(X)
        flow = analysis.gradient_flow(layer, X)
        reached[skip] = flow[3, -1] / flow[-1, -1]
    assert reached[None] < 0.2
    assert reached[4] > 0.8


def test_errors_of_chains():
    dense = keras.layers.Dense(3)
    dense.build((2, 5, 4))
    with pytest.raises(ValueError, match="must hold a recurrent layer"):
        analysis.gradient_flow(dense, X)
    with pytest.raises(ValueError, match="must be built"):
        analysis.gradient_flow(kar.LSTM(3), X)
    with pytest.raises(ValueError, match="must be built"):
        analysis.layer_statistics([keras.layers.Dense(3)], X)
    inputs = keras.Input((5, 4))
    with pytest.raises(ValueError, match=r"Sequential.*Functional"):
        analysis.gradient_flow(keras.Model(inputs, kar.LSTM(3)(inputs)), X)
    with pytest.raises(ValueError, match="`layers`"):
        analysis.layer_statistics("lstm", X)


# Statistics.


def test_layer_statistics():
    deep = built(kar.DeepRNNCell(4, depth=2, skip_every=2), name="deep")
    dense = keras.layers.Dense(3, name="dense")
    y = ops.convert_to_numpy(dense(deep(X)))
    seen = analysis.layer_statistics([deep, dense], X)
    assert seen.names == ["deep/1", "deep/2", "dense"]
    h_2, h_1 = analysis.trace(deep, X).states
    # The second level is seen before its skip connection, which comes from the inputs.
    arrays = [h_1, h_2 - deep.cell.skip_scale * X, y]
    close(seen.means, [a.mean() for a in arrays])
    close(seen.deviations, [a.std() for a in arrays])


def test_layer_statistics_of_a_model_with_branches():
    inputs = keras.Input((5, 4), name="sequence")
    shared = keras.layers.Dense(4, "relu", name="shared")
    block = keras.Sequential([keras.layers.Dense(4, name="inner")], name="block")
    encoder = keras.layers.LSTM(3, return_sequences=True, return_state=True, name="encoder")
    read, *states = encoder(shared(keras.layers.Add(name="skip")([inputs, block(inputs)])))
    decoder = kar.LSTM(3, return_sequences=True, name="decoder")
    out = keras.layers.Bidirectional(kar.GRU(2, name="gru"), name="both")(decoder(shared(inputs), initial_state=states))
    model = keras.Model(inputs, out)
    tensors = [node.output_tensors for node in shared._inbound_nodes]
    ends = [model.get_layer("skip").output, *(t for (t,) in tensors), read, decoder.output]
    skip, once, twice, read, decoded = keras.Model(inputs, ends)(X)
    before = ops.convert_to_numpy(model(X))
    seen = analysis.layer_statistics(model, X)
    found = dict(zip(seen.names, zip(seen.means, seen.deviations, strict=True), strict=True))
    arrays = {"inner": block(X), "skip": skip, "shared": ops.stack([once, twice]), "encoder": read, "decoder": decoded}
    assert found.keys() - {name for name in found if "gru" in name} == arrays.keys()
    assert len(found) == len(arrays) + 2
    for name, y in arrays.items():
        y = ops.convert_to_numpy(y)
        close(found[name], [y.mean(), y.std()])
    assert (ops.convert_to_numpy(model(X)) == before).all()


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.recurrent, self.dense = kar.Mogrifier(3, name="mogrifier"), keras.layers.Dense(2, name="dense")

    def call(self, inputs):
        return self.dense(self.recurrent(inputs["x"]))


def test_layer_statistics_of_a_subclassed_model():
    model = Subclassed()
    y = ops.convert_to_numpy(model({"x": X}))
    seen = analysis.layer_statistics(model, {"x": X})
    assert seen.names == ["mogrifier", "dense"]
    close([seen.means[1], seen.deviations[1]], [y.mean(), y.std()])


# Adaptation.


def test_adaptation_spectrum_of_a_dense_layer():
    layer = kar.AdaptiveDense(3, adaptation="sva", rank=2, policy="glu", use_bias=False)
    y = layer(X)
    d = analysis.adaptation_spectrum(layer, X)["x"]
    assert d.shape == (2, 5, 2)
    first, second = (ops.convert_to_numpy(m.kernel) for m in layer.kernel_maps)
    close((d * (X @ first)) @ second, y)
    matrix = first @ np.diag(d[0, 0]) @ second
    close(np.sort(np.abs(d[0, 0]))[::-1], np.linalg.svd(matrix, compute_uv=False)[:2])


def test_adaptation_spectrum_of_cells():
    layer = built(kar.AdaptiveLSTMCell(4, policy_units=3, adaptation="sva", rank=2))
    spectrum = analysis.adaptation_spectrum(layer, X)
    assert {name: d.shape for name, d in spectrum.items()} == {"x": (2, 5, 2), "h": (2, 5, 2)}
    assert (np.abs(spectrum["h"]) <= 1).all()
    stack = built(kar.StackedAdaptiveRNNCells([3, 4], policy_units=2, adaptation="sva"))
    assert set(analysis.adaptation_spectrum(stack, X)) == {"cells/0/x", "cells/0/h", "cells/1/x", "cells/1/h"}
    for layer in (kar.AdaptiveDense(3), built(kar.AdaptiveLSTMCell(4, policy_units=3)), keras.layers.Dense(3)):
        with pytest.raises(ValueError, match="adaptation='sva'"):
            analysis.adaptation_spectrum(layer, X)
    with pytest.raises(ValueError, match="must be built"):
        analysis.adaptation_spectrum(kar.AdaptiveDense(3, adaptation="sva"), X)


@pytest.mark.parametrize("adaptation", ["io", "input", "output", "sva", [2, 4]], ids=str)
def test_adapted_matrices_of_a_dense_layer(adaptation):
    layer = kar.AdaptiveDense(3, adaptation, policy="tanh", use_bias=False)
    y = layer(X)
    matrices = analysis.adapted_matrices(layer, X)["x"]
    assert matrices.shape == (2, 5, X.shape[-1], 3)
    close(np.einsum("bti,btio->bto", X, matrices), y)


def gate(matrix, k, units=4):
    return matrix[..., k * units : (k + 1) * units]


def test_adapted_matrices_of_cells():
    layer = built(kar.AdaptiveLSTMCell(4, policy_units=3))
    gates, found = analysis.trace(layer, X).gates, analysis.adapted_matrices(layer, X)
    kernels = {"x": layer.cell.kernel_map.kernel, "h": layer.cell.recurrent_map.kernel}
    for name, kernel in kernels.items():
        first, second = gates[f"policy_{name}1"], gates[f"policy_{name}2"]
        close(found[name], first[..., None] * ops.convert_to_numpy(kernel) * second[..., None, :])
    # Without ties, each gate has a diagonal of its own.
    layer = built(kar.AdaptiveLSTMCell(4, policy_units=3, adaptation="input", tied=False))
    first, found = analysis.trace(layer, X).gates["policy_h1"], analysis.adapted_matrices(layer, X)["h"]
    for k in range(4):
        kernel = gate(ops.convert_to_numpy(layer.cell.recurrent_map.kernel), k)
        close(gate(found, k), gate(first, k)[..., None] * kernel)
    layer = built(kar.AdaptiveRNNCell(4, policy_units=3, adaptation="sva", rank=2))
    middle, found = analysis.trace(layer, X).gates["policy_x1"], analysis.adapted_matrices(layer, X)["x"]
    basis, kernel = (ops.convert_to_numpy(m.kernel) for m in (layer.cell.bases["x"], layer.cell.kernel_map))
    close(found, (basis * middle[..., None, :]) @ kernel)
    stack = built(kar.StackedAdaptiveRNNCells([3, 4], policy_units=2))
    assert {name: each.shape[2:] for name, each in analysis.adapted_matrices(stack, X).items()} == {
        "cells/0/x": (X.shape[-1], 3),
        "cells/0/h": (3, 3),
        "cells/1/x": (3, 4),
        "cells/1/h": (4, 4),
    }
    for other in (built(kar.LSTMCell(4)), keras.layers.Dense(3)):
        with pytest.raises(ValueError, match="around adaptive cells"):
            analysis.adapted_matrices(other, X)
    with pytest.raises(ValueError, match="must be built"):
        analysis.adapted_matrices(kar.AdaptiveDense(3), X)


# Pictures.


def test_pictures(tmp_path):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from examples import plots

    axes = iter(figure.subplots(3, 3).flat)
    dynamics = {"relu": activation_dynamics("relu", 8, 3, runs=2)}
    seen = {"model": analysis.layer_statistics(built(kar.DeepRNNCell(4, depth=2)), X)}
    for what in ("means", "variances"):
        plots.activation_dynamics(next(axes), dynamics, what)
    for what in ("means", "deviations"):
        plots.layer_statistics(next(axes), seen, what)
    plots.gradient_flow(next(axes), np.ones((3, 4)))
    plots.gersgorin_discs(next(axes), np.random.default_rng(0).normal(size=(4, 4)))
    plots.singular_values(next(axes), {"h": [1.0, 0.9]})
    plots.adaptation_spectrum(next(axes), np.ones((4, 2)))
    curve = analysis.AblationCurve(np.arange(3), np.arange(3) / 2, np.array([[1.0, 0.5, 0.1], [1.0, 0.7, 0.1]]))
    plots.ablation_curve(next(axes), {"true labels": curve})
    figure.savefig(tmp_path / "all.png")
    legends = [axes.get_legend() for axes in figure.axes if axes.get_ylabel() not in ("layer", "gradient norm")]
    assert len(legends) == 8
    assert all(legends)
