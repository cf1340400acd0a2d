"""Writes the table of what other libraries do better, with figures from the files of the benchmarks.

    python -m benchmarks.others

The figures are those of `baselines.json`, `gpu.json`, `time_loop.json` and `conformance.json`; what a library offers,
and where it says so, is in `PEERS`. The table is `docs/tables/others.csv`.
"""

import pathlib

from benchmarks import conformance
from benchmarks.rows import read, write_tables

KEY = ()
FOLDER = pathlib.Path(__file__).parent


def ratios(file, cell, other, what):
    """Returns the times of a contender, divided by ours, of all rows of a cell on PyTorch."""
    rows = read(FOLDER / f"{file}.json", ("backend", "device", "cell", "units", "batch", "steps", "what")).values()
    rows = [row for row in rows if (row["backend"], row["cell"], row["what"]) == ("torch", cell, what)]
    return [row["ratios"][other] for row in rows if other in row["ratios"]]


def times_ours(file, cell, other):
    """Returns in words how long another library takes, in our time."""
    found = {what: ratios(file, cell, other, what) for what in ("train", "predict")}
    ranges = {what: f"{min(each):.2f} to {max(each):.2f}" for what, each in found.items()}
    return f"{ranges['train']} of our time to train, {ranges['predict']} to predict"


def faster(cell, other):
    (ratio,) = ratios("gpu", cell, other, "train")
    return f"{1 / ratio:.1f} times"


def layers_that_pass(package):
    """Returns in words how many layers of a library have no fault."""
    rows = read(FOLDER / "conformance.json", conformance.KEY)
    layers = {key for key in rows if key[0] == package}
    faulty = {
        row[:3] for row in conformance.failures(rows) if conformance.note(*row[:2], row[3])[0] == conformance.FAULT
    }
    return f"{len(layers - faulty)} of {len(layers)} layers have no ✗ in our [checks](conformance.md)"


PEERS = [
    {
        "library": "[`torch.nn.LSTM`, `GRU`](https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html)",
        "better at": "speed on a CPU, without the work of Keras around it",
        "measured": lambda: f"LSTM of 64 to 1024 units: {times_ours('baselines', 'LSTM', 'torch_lstm')}",
        "here": "`LSTM`, `GRU` and `Elman` run the same operation where it is faster, inside a Keras layer",
        "take": "it, for an LSTM or GRU in a program of PyTorch alone",
    },
    {
        "library": "[cuDNN](https://docs.nvidia.com/deeplearning/cudnn/)",
        "better at": "LSTM and GRU on NVIDIA's GPUs",
        "measured": lambda: (
            f"H100, 256 units: its LSTM trains {faster('LSTM', 'keras_lstm')} as fast as our loop, and "
            f"{faster('Mogrifier', 'torch_lstm')} as fast as our Mogrifier"
        ),
        "here": "`LSTM` and `GRU` call it on PyTorch and TensorFlow, no other cell does",
        "take": "an LSTM or GRU on a GPU, unless another cell is much better on your data",
    },
    {
        "library": "[FlashRNN](https://pypi.org/project/flashrnn/) 1.0.8",
        "better at": "fused CUDA kernels for LSTM, GRU, Elman and sLSTM with heads",
        "measured": "not here: it needs a GPU of compute capability 8.0",
        "here": "`maps.BlockDiagonal` has the heads, and no kernel",
        "take": "it, for large batches of these cells on such a GPU, within its license",
    },
    {
        "library": "[flash-linear-attention](https://github.com/fla-org/flash-linear-attention) 0.6.0",
        "better at": "Triton kernels and training of some forty linear models, on NVIDIA, AMD and Intel",
        "measured": "its reference code fails no check but those of dtypes",
        "here": "six [linear cells](linear_cells.md), compiled by the backend",
        "take": "it, for linear language models on a GPU",
    },
    {
        "library": "[xlstm](https://pypi.org/project/xlstm/) 2.0.6",
        "better at": "the authors' code and kernels, and trained weights of [7 billion](https://huggingface.co/NX-AI/xLSTM-7b)",
        "measured": lambda: layers_that_pass("xlstm"),
        "here": "`SLSTM` and `MLSTM` on three backends, with files for other runtimes; no weights",
        "take": "it, for large models; ours for small ones on CPUs and devices",
    },
    {
        "library": "[torchrecurrent](https://pypi.org/project/torchrecurrent/) 0.2.5",
        "better at": "41 cells, most of which are not here: IndRNN, LEM, coRNN, ...",
        "measured": lambda: (
            f"{layers_that_pass('torchrecurrent')}; `MultiplicativeLSTM`: "
            f"{times_ours('time_loop', 'MultiplicativeLSTM', 'torchrecurrent')}"
        ),
        "here": "cells on three backends, masks, files, and [a guide](guides/your_own_cell.md) to write one",
        "take": "it, for a cell that we lack, in PyTorch",
    },
    {
        "library": "[ncps](https://pypi.org/project/ncps/) 1.0.1",
        "better at": "continuous time: LTC and CfC, with time spans, and sparse wirings",
        "measured": lambda: layers_that_pass("ncps"),
        "here": "none: the gap is [an input](tasks/index.md#irregular-gaps)",
        "take": "it, where the dynamics between samples matter, or few neurons must be read",
    },
    {
        "library": "[keras-tcn](https://pypi.org/project/keras-tcn/) 3.5.7",
        "better at": "convolutions over time: all steps in parallel",
        "measured": "not here",
        "here": "none; recurrent layers [stream](guides/masks_states_streaming.md#streaming) in constant memory",
        "take": "it, if a known window holds all that matters",
    },
    {
        "library": "[keras-rs](https://keras.io/keras_rs/api/) 0.4.0",
        "better at": "recommenders: sharded embeddings, retrieval, ranking; no recurrent layer",
        "measured": "nothing to compare",
        "here": "recurrent layers, which go between its embeddings and its retrieval",
        "take": "both",
    },
]


def tables(known=None):
    """Returns the table; `known` rows are in several files, which it reads itself."""
    lines = [[each() if callable(each) else each for each in peer.values()] for peer in PEERS]
    return {"others": [list(PEERS[0]), *lines]}


if __name__ == "__main__":
    write_tables(tables())
