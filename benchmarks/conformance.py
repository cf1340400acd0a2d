"""Runs `testing.check_layer` on the recurrent layers of other libraries.

    KERAS_BACKEND=torch python -m benchmarks.conformance --json benchmarks/conformance.json

in an environment with this package and any of Flax, torchrecurrent, xlstm, ncps, keras-lmu, mingru-keras,
minGRU-pytorch and flash-linear-attention: without its dependencies, of which its reference code needs none but einops.
`--json` puts a row for each layer into the file, with the version and the date. Keras's layers run on its backend, Flax
on JAX (`JAX_ENABLE_X64=1` for float64), and modules of PyTorch on that backend. Equations are those of the papers, in
`conformance_equations.py`. `--report` writes the tables of the docs: every result, and each failure with lines that
reproduce it without this package, which `--reproduce` runs. A failure has been compared by hand with the paper and with
what the library documents: `NOTES` says what came of it.
"""

import argparse
import datetime
import functools
import importlib
import importlib.metadata
import importlib.util
import pathlib
import textwrap

import keras

from benchmarks import conformance_equations as equations
from benchmarks.conformance_equations import (
    UNITS,
    bidirectional,
    of_flax,
    of_keras,
    of_ncps,
    of_ncps_keras,
    of_torch,
    sequence,
    stacked,
)
from benchmarks.rows import add, read, write_tables
from keras_adaptive_rnn.testing import check_layer
from keras_adaptive_rnn.testing.layer_checks import LAYER_CHECKS

KEY = ("package", "layer", "backend")
SHAPE = (3, 6, UNITS)
BOTH_WAYS = dict.fromkeys(("streaming", "causality"), "it reads backwards, too")
BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


# Each returns dicts of the arguments of `check_layer`, by the name of a layer.


def keras_layers():
    layers = keras.layers

    def second(step, states):
        return sequence(step, states, functools.partial(of_keras, layer=1))

    lstm = sequence(equations.keras_lstm, 2, of_keras)
    return {
        "LSTM": {"layer": layers.LSTM(UNITS), "equation": lstm},
        "GRU": {"layer": layers.GRU(UNITS), "equation": sequence(equations.keras_gru, 1, of_keras)},
        "SimpleRNN": {"layer": layers.SimpleRNN(UNITS), "equation": sequence(equations.elman, 1, of_keras)},
        "Bidirectional(LSTM)": {
            "layer": layers.Bidirectional(layers.LSTM(UNITS)),
            "skip": BOTH_WAYS,
            "equation": bidirectional(lstm, second(equations.keras_lstm, 2)),
        },
        "RNN(StackedRNNCells)": {
            "layer": layers.RNN([layers.LSTMCell(UNITS), layers.GRUCell(UNITS)]),
            "equation": stacked(lstm, second(equations.keras_gru, 1)),
        },
    }


def mingru_keras():
    from mingru_keras import MinGRU

    return {"MinGRU": {"layer": MinGRU(UNITS), "equation": sequence(equations.linear_min_gru)}}


def keras_lmu():
    from keras_lmu import LMU

    def lmu(**arguments):
        return LMU(2, 3, 5.0, keras.layers.SimpleRNNCell(UNITS), return_sequences=True, **arguments)

    states = ((2, 3), (UNITS,))
    return {
        "LMU": {"layer": lmu(), "equation": sequence(equations.lmu, states)},
        "LMU(hidden_to_memory)": {
            "layer": lmu(hidden_to_memory=True),
            "equation": sequence(equations.lmu_to_memory, states),
        },
    }


def ncps_keras():
    from ncps.keras import LTC, CfC

    return {
        "CfC (Keras)": {
            "layer": CfC(UNITS, backbone_units=5),
            "equation": sequence(equations.cfc_keras, prepare=of_ncps_keras),
        },
        "LTC (Keras)": {"layer": LTC(UNITS)},
    }


def flax():
    from flax import nnx

    def rnn(cell):
        return nnx.RNN(cell(UNITS, UNITS, rngs=nnx.Rngs(0)))

    def equation(step, states=1):
        return sequence(step, states, of_flax)

    return {
        "RNN(LSTMCell)": {"layer": rnn(nnx.LSTMCell), "equation": equation(equations.lstm, 2)},
        "RNN(OptimizedLSTMCell)": {"layer": rnn(nnx.OptimizedLSTMCell), "equation": equation(equations.lstm, 2)},
        "RNN(GRUCell)": {"layer": rnn(nnx.GRUCell), "equation": equation(equations.flax_gru)},
        "RNN(SimpleCell)": {"layer": rnn(nnx.SimpleCell), "equation": equation(equations.elman)},
    }


def torch():
    from torch import nn

    def layer(cls, **arguments):
        return cls(UNITS, UNITS, batch_first=True, **arguments)

    def second(suffix):
        return sequence(equations.lstm, 2, functools.partial(of_torch, layer=suffix))

    lstm = sequence(equations.lstm, 2, of_torch)
    return {
        "LSTM": {"layer": layer(nn.LSTM), "equation": lstm},
        "GRU": {"layer": layer(nn.GRU), "equation": sequence(equations.gru, 1, of_torch)},
        "RNN": {"layer": layer(nn.RNN), "equation": sequence(equations.elman, 1, of_torch)},
        "LSTM(num_layers=2)": {"layer": layer(nn.LSTM, num_layers=2), "equation": stacked(lstm, second("_l1"))},
        "LSTM(bidirectional)": {
            "layer": layer(nn.LSTM, bidirectional=True),
            "skip": BOTH_WAYS,
            "equation": bidirectional(lstm, second("_l0_reverse")),
        },
    }


def torchrecurrent():
    import torchrecurrent

    steps = {
        "OriginalLSTM": (equations.original_lstm, 2),
        "PeepholeLSTM": (equations.peephole_lstm, 2),
        "MultiplicativeLSTM": (equations.multiplicative_lstm, 2),
        "ResLSTM": (equations.residual_lstm, 2),
        "NAS": (equations.nas, 2),
        "MGU": (equations.mgu, 1),
        "JANET": (equations.janet, 2),
        "MinimalRNN": (equations.minimal_rnn, 1),
        "UGRNN": (equations.ugrnn, 1),
        "LiGRU": (equations.li_gru, 1),
        "ATR": (equations.atr, 1),
        "STAR": (equations.star, 1),
        "RAN": (equations.ran, 2),
        "CFN": (equations.cfn, 1),
        "MUT1": (equations.mut1, 1),
        "MUT2": (equations.mut2, 1),
        "MUT3": (equations.mut3, 1),
        "IndRNN": (equations.ind_rnn, 1),
        "FastRNN": (equations.fast_rnn, 1),
        "FastGRNN": (equations.fast_grnn, 1),
        "AntisymmetricRNN": (equations.antisymmetric, 1),
        "BR": (equations.bistable, 1),
        "NBR": (equations.neuromodulated_bistable, 1),
        "SCRN": (equations.scrn, 3),
        "LEM": (equations.lem, 2),
        "MCLSTM": (equations.mc_lstm, 2),
        "WMCLSTM": (equations.working_memory_lstm, 2),
        "IntersectionRNN": (equations.intersection, 1),
        "SGU": (equations.sgu, 1),
        "DSGU": (equations.dsgu, 1),
        "TRNN": (equations.t_rnn, 1),
        "TGRU": (equations.t_gru, 2),
        "TLSTM": (equations.t_lstm, 2),
        "SGRN": (equations.sgrn, 1),
        "LightRU": (equations.light_ru, 1),
        "MiRU1": (equations.mi_ru1, 1),
        "MiRU2": (equations.mi_ru2, 1),
        "GatedAntisymmetricRNN": (equations.gated_antisymmetric, 1),
        "coRNN": (equations.co_rnn, 2),
        "UnICORNN": (equations.unicornn, 2),
        "tauGRU": (equations.tau_gru, 2),
    }
    layers = [
        name
        for name, value in vars(torchrecurrent).items()
        if isinstance(value, type) and hasattr(torchrecurrent, f"{name}Cell")
    ]
    return {
        name: {
            "layer": getattr(torchrecurrent, name)(UNITS, UNITS, batch_first=True),
            "equation": sequence(*steps[name], of_torch) if name in steps else None,
        }
        for name in sorted(layers)
    }


def xlstm():
    from xlstm.blocks.mlstm.layer import mLSTMLayer, mLSTMLayerConfig
    from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig

    def call_slstm(layer, inputs, states=None):
        states = states or {}
        return layer(inputs, return_last_state=True, **states)

    def call_mlstm(layer, inputs, states=None):
        """The whole sequence at once, and pieces step by step: only `step` has states."""
        import torch

        outputs, last = [], states or {}
        for t in range(inputs.shape[1]):
            output, last = layer.step(inputs[:, t : t + 1], **last)
            outputs.append(output)
        return (layer(inputs) if states is None else torch.cat(outputs, 1)), last

    slstm = sLSTMLayerConfig(embedding_dim=UNITS, num_heads=2, backend="vanilla", dropout=0.0)
    mlstm = mLSTMLayerConfig(
        embedding_dim=UNITS, num_heads=2, context_length=SHAPE[1], dropout=0.0, qkv_proj_blocksize=2
    )
    return {
        "sLSTMLayer": {
            "layer": sLSTMLayer(slstm),
            "call": call_slstm,
            "equation": sequence(equations.slstm, ((4, UNITS), *[(UNITS,)] * 3)),
        },
        "mLSTMLayer": {
            "layer": mLSTMLayer(mlstm),
            "call": call_mlstm,
            "equation": sequence(equations.mlstm, ((4, 64), (2, 32, 32), (2, 32), (2, 1))),
        },
    }


def ncps():
    from ncps.torch import LTC, CfC

    return {
        "CfC": {
            "layer": CfC(UNITS, UNITS, backbone_units=5),
            "equation": sequence(equations.cfc, prepare=of_ncps),
        },
        "CfC(mixed_memory)": {
            "layer": CfC(UNITS, UNITS, backbone_units=5, mixed_memory=True),
            "equation": sequence(equations.cfc_with_memory, 2, of_ncps),
        },
        "LTC": {"layer": LTC(UNITS, UNITS), "equation": sequence(equations.ltc)},
    }


def min_gru():
    from minGRU_pytorch.minGRU import minGRU
    from minGRU_pytorch.minLSTM import minLSTM

    def call(layer, inputs, states=None):
        return layer(inputs, states, return_next_prev_hidden=True)

    return {
        cls.__name__: {"layer": cls(UNITS), "call": call, "equation": sequence(step, prepare=of_torch)}
        for cls, step in ((minGRU, equations.min_gru), (minLSTM, equations.min_lstm))
    }


def fla():
    """The reference code of some operators, below a dense layer, from files that need no Triton."""
    import torch
    from torch.nn import functional as F

    root = pathlib.Path(importlib.util.find_spec("fla").origin).parent

    def reference(operator, function):
        path = root / "ops" / operator / "naive.py"
        spec = importlib.util.spec_from_file_location(f"{operator}_naive", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, function)

    delta = reference("gated_delta_rule", "naive_recurrent_gated_delta_rule")
    gla = reference("gla", "naive_recurrent_gla")
    kda = reference("kda", "naive_recurrent_kda")
    hgrn = reference("hgrn", "naive_recurrent_hgrn")

    def heads(layer, inputs):
        """Returns queries, keys, values and decays `[batch, time, 2, 2]`, and rates of writing."""
        *parts, rates = layer(inputs).split([4, 4, 4, 4, 2], dim=-1)
        q, k, v, g = (part.unflatten(-1, (2, 2)) for part in parts)
        return q, F.normalize(k, dim=-1), v, F.logsigmoid(g), torch.sigmoid(rates)

    def call_gated_delta(layer, inputs, states=None):
        q, k, v, g, beta = heads(layer, inputs)
        return delta(q, k, v, beta, g[..., 0], initial_state=states, output_final_state=True)

    def call_kda(layer, inputs, states=None):
        q, k, v, g, beta = heads(layer, inputs)
        return kda(q, k, v, g, beta, initial_state=states, output_final_state=True)

    def call_gla(layer, inputs, states=None):
        q, k, v, g, _ = heads(layer, inputs)
        return gla(q, k, v, g, initial_state=states, output_final_state=True)

    def call_hgrn(layer, inputs, states=None):
        x, g = layer(inputs)[..., :8].split(4, dim=-1)
        return hgrn(x, F.logsigmoid(g), initial_state=states, output_final_state=True)

    memory = ((2, 2, 2),)
    operators = {
        "gated_delta_rule": (call_gated_delta, sequence(equations.gated_delta, memory)),
        "kda": (call_kda, sequence(equations.kda, memory)),
        "gla": (call_gla, sequence(equations.gla, memory)),
        "hgrn": (call_hgrn, sequence(equations.hgrn)),
    }
    return {
        f"{name} (naive)": {"layer": torch.nn.Linear(UNITS, 18), "call": call, "equation": equation}
        for name, (call, equation) in operators.items()
    }


# The distributions, on which backends of Keras they run, and their layers.
EVERYWHERE = ("jax", "tensorflow", "torch")
SUBJECTS = {
    "keras": [(EVERYWHERE, keras_layers)],
    "torch": [(("torch",), torch)],
    "flax": [(("jax",), flax)],
    "torchrecurrent": [(("torch",), torchrecurrent)],
    "xlstm": [(("torch",), xlstm)],
    "ncps": [(("torch",), ncps), (("tensorflow",), ncps_keras)],
    "keras-lmu": [(("tensorflow",), keras_lmu)],
    "mingru-keras": [(("tensorflow",), mingru_keras)],
    "minGRU-pytorch": [(("torch",), min_gru)],
    "fla-core": [(("torch",), fla)],
}

# What came of each failure, by hand: a `FAULT` contradicts the paper, the library's documentation or itself; a `LIMIT`
# is documented or known, or an error says so. A name of a layer stands for all that begin with it.
FAULT, LIMIT = "✗", "○"
SIGNS = {"passed": "✓", "not applicable": ""}
IN_ONNX = """
import keras, onnxruntime
from {} import {}
x = keras.Input((6, 4))
given = [keras.InputSpec(shape=(3, 6, 4), dtype="float32")]
keras.Model(x, {}(x)).export("m.onnx", format="onnx", verbose=False, input_signature=given)
print([each.name for each in onnxruntime.InferenceSession("m.onnx").get_inputs()])
"""
NOTES = {
    ("torchrecurrent", "LEM", "equation"): (
        FAULT,
        "the output reads the memory of the step before; in the documentation, as in the paper, that of the same step",
        """
        import torch, torchrecurrent
        cell = torchrecurrent.LEMCell(1, 1)
        h, c = cell(torch.ones(1, 1))
        h.sum().backward()
        print(cell.weight_ch.grad)  # 0: h(1) does not read c(1)
        """,
    ),
    ("torchrecurrent", "SCRN", "equation"): (
        FAULT,
        "the recurrent matrix reads the output y; in the documentation, as in the paper, the hidden layer h",
        """
        import torch, torchrecurrent
        cell = torchrecurrent.SCRNCell(1, 1, bias=False, recurrent_bias=False, context_bias=False)
        for p in cell.parameters(): p.data.fill_(0.5)
        x = torch.ones(1, 1)
        y, s2 = cell(x, cell(x))
        h1 = torch.sigmoid(0.5 * torch.tensor(0.25) + 0.5 * x)
        h2 = torch.sigmoid(0.5 * s2 + 0.5 * x + 0.5 * h1)
        print(y - torch.tanh(0.5 * h2 + 0.5 * s2))  # -0.009: not 0
        """,
    ),
    ("torchrecurrent", "FastGRNN", "equation"): (
        FAULT,
        "the gate is a tanh by default; documented is a sigmoid, which `nonlinearity=` can set",
        """
        import torchrecurrent
        print(torchrecurrent.FastGRNNCell(1, 1).act)  # Tanh()
        """,
    ),
    ("torchrecurrent", "GatedAntisymmetricRNN", "equation"): (
        FAULT,
        "the gate leaves out the recurrent bias: documented for gate and candidate; the paper has none",
        """
        import torch, torchrecurrent
        cell = torchrecurrent.GatedAntisymmetricRNNCell(1, 1)
        for p in cell.parameters(): p.data.zero_()
        cell.bias_hh.data.fill_(9)
        print(cell(torch.zeros(1, 1)))  # 0.5: documented is sigmoid(9) * tanh(9), 1
        """,
    ),
    ("torchrecurrent", "tauGRU", "streaming"): (
        LIMIT,
        "the state is that of the last step, without those before it, which the delay reads: documented to be zero",
        """
        import torch, torchrecurrent
        layer, x = torchrecurrent.tauGRU(4, 4, batch_first=True), torch.randn(1, 6, 4)
        whole, (_, state) = layer(x)[0], layer(x[:, :3])
        print((layer(x[:, 3:], state)[0] - whole[:, 3:]).abs().max())  # not 0
        """,
    ),
    ("minGRU-pytorch", "minLSTM", "streaming"): (
        FAULT,
        "a carried state goes through $g$ again, as the paper's initial state does, unless pieces have one step; "
        "`minGRU` was changed for it (issue 9)",
        """
        import torch
        from minGRU_pytorch.minLSTM import minLSTM
        layer, x = minLSTM(4), torch.randn(1, 6, 4)
        whole, (_, state) = layer(x), layer(x[:, :3], return_next_prev_hidden=True)
        print((layer(x[:, 3:], state) - whole[:, 3:]).abs().max())  # not 0
        """,
    ),
    ("ncps", "LTC", "bfloat16"): (
        LIMIT,
        "the state that it starts from is float32, so that the outputs are, too",
        """
        import torch
        from ncps.torch import LTC
        print(LTC(4, 4).bfloat16()(torch.ones(1, 3, 4).bfloat16())[0].dtype)  # float32
        """,
    ),
    ("xlstm", "sLSTMLayer", "equation"): (
        LIMIT,
        "`igate` is the forget gate, and `fgate` the input gate: known, and kept for trained models (issue 98)",
        """
        import torch
        from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig
        layer = sLSTMLayer(sLSTMLayerConfig(embedding_dim=4, num_heads=2, backend="vanilla"))
        _, last = layer(torch.ones(1, 1, 4), return_last_state=True)
        last["slstm_state"][3].sum().backward()  # in the first step, what the exponential input gate reads
        print(layer.igate.weight.grad.abs().max(), layer.fgate.weight.grad.abs().max())  # 0, not 0
        """,
    ),
    **{
        ("xlstm", "sLSTMLayer", check): (
            LIMIT,
            "a step asks whether a state is zero, which `torch.export` cannot: an error says so",
            """
            import torch
            from xlstm.blocks.slstm.layer import sLSTMLayer, sLSTMLayerConfig
            layer = sLSTMLayer(sLSTMLayerConfig(embedding_dim=4, num_heads=2, backend="vanilla"))
            torch.export.export(layer, (torch.ones(1, 6, 4),))  # GuardOnDataDependentSymNode
            """,
        )
        for check in ("export", "onnx")
    },
    **{
        ("fla-core", "", check): (LIMIT, "reference code: it casts to float32, and most of it back to bfloat16", "")
        for check in ("float64", "bfloat16")
    },
    **{
        ("mingru-keras", "MinGRU", check): (
            FAULT,
            "`dtype=` does not reach its dense layers, so that the outputs are float32",
            """
            import numpy as np
            from mingru_keras import MinGRU
            print(MinGRU(4, dtype="bfloat16")(np.ones((2, 3, 4), "float32")).dtype)  # float32
            """,
        )
        for check in ("float64", "bfloat16", "keras_layer_test")
    },
    ("ncps", "CfC (Keras)", "float64"): (
        FAULT,
        "`dtype=` does not reach its cell, whose weights stay float32",
        """
        from ncps.keras import CfC
        layer = CfC(4, dtype="float64")
        layer.build((2, 3, 4))
        print({weight.dtype for weight in layer.weights})  # {'float32'}
        """,
    ),
    ("ncps", "CfC (Keras)", "keras_layer_test"): (
        LIMIT,
        "its config holds a function, which JSON does not; its `.keras` files load",
        """
        import json
        from ncps.keras import CfC
        json.dumps(CfC(4).get_config())  # TypeError
        """,
    ),
    ("ncps", "LTC (Keras)", "keras_layer_test"): (
        LIMIT,
        "its config creates no layer, without which nothing else was checked; its `.keras` files load",
        """
        from ncps.keras import LTC
        LTC.from_config(LTC(4).get_config())  # TypeError
        """,
    ),
    ("keras-lmu", "LMU(hidden_to_memory)", "bfloat16"): (
        FAULT,
        "it passes the dtype of its weights to the layer inside, and not its policy",
        """
        import keras, numpy as np
        from keras_lmu import LMU
        layer = LMU(2, 3, 5.0, keras.layers.SimpleRNNCell(4), hidden_to_memory=True, dtype="mixed_bfloat16")
        print(layer(np.ones((2, 6, 4), "float32")).dtype)  # float32
        """,
    ),
    ("keras-lmu", "", "keras_layer_test"): (
        LIMIT,
        "it has no `compute_output_shape`: an error says so",
        """
        import keras
        from keras_lmu import LMU
        LMU(2, 3, 5.0, keras.layers.SimpleRNNCell(4)).compute_output_shape((2, 3, 4))  # NotImplementedError
        """,
    ),
    ("keras-lmu", "LMU(hidden_to_memory)", "onnx"): (
        LIMIT,
        "Keras and tf2onnx write its constants as inputs of the file",
        IN_ONNX.format("keras_lmu", "LMU", "LMU(2, 3, 5.0, keras.layers.SimpleRNNCell(4), hidden_to_memory=True)"),
    ),
    ("keras-lmu", "LMU", "onnx"): (
        LIMIT,
        "tf2onnx does not write the Fourier transform: an error says so",
        IN_ONNX.format("keras_lmu", "LMU", "LMU(2, 3, 5.0, keras.layers.SimpleRNNCell(4))"),
    ),
    ("mingru-keras", "MinGRU", "onnx"): (
        LIMIT,
        "tf2onnx does not write the branches of `keras.ops.associative_scan`: an error says so",
        IN_ONNX.format("mingru_keras", "MinGRU", "MinGRU(4)"),
    ),
    ("keras", "", "float64"): (
        LIMIT,
        "on JAX and PyTorch, products and sums of float64 are computed in float32: keras-team/keras#23704, open",
        """
        import keras, numpy as np
        a = np.random.default_rng(0).normal(size=(9, 9))
        print(abs(keras.ops.convert_to_numpy(keras.ops.matmul(a, a)) - a @ a).max())  # 1e-7
        """,
    ),
}


def note(package, layer, check):
    """Returns the note on a failure.

    Raises:
        LookupError: Nobody has looked at it yet.
    """
    for (of_package, of_layer, of_check), found in NOTES.items():
        if (package, check) == (of_package, of_check) and layer.startswith(of_layer):
            return found
    raise LookupError(f"Compare by hand, and write a note: {package}, {layer}, {check}")


def reproduction(package, layer, check):
    return textwrap.dedent(note(package, layer, check)[2]).strip()


def failures(rows):
    """Yields package, layer, backend, check and result of each failure."""
    for (package, layer, backend), row in rows.items():
        for check, found in row["checks"].items():
            if found["status"] == "failed":
                yield package, layer, backend, check, found


def tables(rows):
    """Returns two tables: a line for each layer, with a column for each check, and a line for each kind of failure."""
    checks = list(next(iter(rows.values()))["checks"])
    lines = [["library", "version", "layer", "Keras on", *(check.replace("_", " ") for check in checks)]]
    for package, layer, backend in sorted(rows, key=lambda key: (list(SUBJECTS).index(key[0]), key[2], key[1])):
        row = rows[package, layer, backend]
        shown = [
            note(package, layer, check)[0] if found["status"] == "failed" else SIGNS[found["status"]]
            for check, found in row["checks"].items()
        ]
        on = BACKENDS[backend] if package == "keras" else ""
        lines.append([package, row["version"], f"`{layer}`", on, *shown])
    told = {}
    for package, layer, backend, check, found in failures(rows):
        told.setdefault((package, check, *note(package, layer, check)[:2]), []).append((layer, backend, found))
    notes = [["", "library", "layer", "check", "off by", "allowed", "by hand", "lines that reproduce it"]]
    for (package, check, sign, text), found in sorted(told.items(), key=lambda each: (each[0][2] != FAULT, each[0])):
        worst = max((each for *_, each in found), key=lambda each: each.get("value", 0))
        off = [f"{worst[what]:.1g}" if what in worst else "" for what in ("value", "allowed")]
        layers = ", ".join(dict.fromkeys(f"`{layer}`" for layer, *_ in found))
        code = "<br>".join(f"`{line}`" for line in reproduction(package, found[0][0], check).splitlines())
        notes.append([sign, package, layers, check.replace("_", " "), *off, text, code])
    return {"conformance": lines, "conformance_failures": notes}


def checked(package, name, arguments):
    """Returns the row of a layer."""
    row = {
        "package": package,
        "layer": name,
        "backend": keras.backend.backend(),
        "version": importlib.metadata.version(package),
        "date": datetime.date.today().isoformat(),
    }
    try:
        report = check_layer(**arguments, input_shape=SHAPE, on_fail=None)
    except Exception as failure:
        # It cannot be copied by its config, which Keras's own test asks for.
        checks = {check.__name__: {"status": "not applicable", "reason": "it was not copied"} for check in LAYER_CHECKS}
        checks["keras_layer_test"] = {"status": "failed", "reason": f"{type(failure).__name__}: {failure}"[:300]}
        return {**row, "checks": checks}
    found = {
        each["check"]: {
            "status": each["status"],
            **{what: each[what] for what in ("value", "allowed") if each[what] is not None},
            **({"reason": each["reason"][:300]} if each["reason"] else {}),
        }
        for each in report.rows
    }
    return {**row, "checks": found}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--resume", action="store_true", help="leave out the layers that are in the file")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--reproduce", action="store_true", help="run the lines of the failures of the backend")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    if options.reproduce:
        known = failures(read(options.json, KEY))
        for lines in dict.fromkeys(
            reproduction(*row[:2], row[3]) for row in known if row[2] == keras.backend.backend()
        ):
            print(f"{lines}\n")
            try:
                exec(lines, {})
            except Exception as error:
                print(f"{type(error).__name__}: {error}"[:300])
        return None
    for package in options.packages:
        for backends, layers in SUBJECTS[package]:
            if keras.backend.backend() not in backends:
                continue
            try:
                importlib.metadata.version(package)
                found = layers()
            except ImportError as error:
                print(f"{package}: {error}")
                continue
            known = read(options.json, KEY) if options.resume else {}
            for name, subject in found.items():
                if (package, name, keras.backend.backend()) in known:
                    continue
                row = checked(package, name, subject)
                failed = {
                    check: found["reason"] for check, found in row["checks"].items() if found["status"] == "failed"
                }
                print(package, name, failed or "passed", flush=True)
                if options.json:
                    add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
