"""Operations of a time step on PyTorch, counted as on a GPU, without one.

    KERAS_BACKEND=torch python -m benchmarks.torch_operations --json benchmarks/torch_operations.json

The tensors are on PyTorch's device `meta`, which has shapes and no numbers. There the engine makes the choices that it
makes on a GPU, since only a CPU is special to it; an operation that waits for a number raises an error; and a tensor
that is made on another device is seen. For each cell, in our layer and in `keras.layers.RNN`: operations a step that
make a tensor (views are free), forward and backward, and how many of the tensors are elsewhere. A GPU launches at least
one kernel for each operation, so these numbers are lower bounds.
"""

import argparse
import collections
import json
import pathlib
import sys

import keras
import torch
from rich.progress import track
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import keras_adaptive_rnn as kar
from benchmarks.contenders import CELLS
from benchmarks.rows import add, read, worse_than_known

KEY = ("cell", "layer", "what")
ALLOWED = dict.fromkeys(("forward", "backward", "elsewhere"), (1, 0))
LAYERS = {"ours": kar.RNN, "keras": keras.layers.RNN}
UNITS, BATCH = 256, 20
# What a step takes is the difference between these lengths, divided by that of the lengths. At the third call, a trace
# is known to be right.
LENGTHS, CALLS = (35, 70), 3


class Meta(str):
    """The name of the device, equal to it: Keras moves a tensor to another device without its gradient."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return str(other) == "meta"

    def __ne__(self, other):
        return not self == other

    def lower(self):
        return self


class Counted(TorchDispatchMode):
    """Counts operations that make a tensor, and tensors that are not on the device."""

    def __init__(self):
        super().__init__()
        self.operations, self.elsewhere = collections.Counter(), collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        # PyTorch does not call this one a view, as it gives the tensor away; it launches nothing either.
        is_view = func.is_view or func is torch.ops.aten._unsafe_view.default
        self.operations[str(func)] += not is_view
        self.elsewhere[str(func)] += any(isinstance(x, torch.Tensor) and not x.is_meta for x in tree_leaves(results))
        return results


def passes(make, what, steps, units=UNITS):
    """Returns the counts of a forward and of a backward pass over `steps` steps of the layer that `make` returns."""
    layer = make()
    layer.build((BATCH, steps, units))
    for weight in layer.weights:
        value = torch.empty(tuple(weight.shape), dtype=weight.value.dtype, device="meta")
        weight._value = torch.nn.Parameter(value, requires_grad=weight.trainable and value.is_floating_point())
    with keras.device(Meta("meta")), torch.set_grad_enabled(what == "train"):
        x = torch.zeros((BATCH, steps, units), device="meta")
        for _ in range(CALLS):
            forward, backward = Counted(), Counted()
            with forward:
                loss = layer(x, training=what == "train").sum()
            if what == "train":
                with backward:
                    loss.backward()
    return forward, backward


def row(cell, layer, what, units=UNITS):
    """Returns what a step takes."""

    def make():
        return LAYERS[layer](CELLS[cell](units), return_sequences=True)

    few, many = (passes(make, what, steps, units) for steps in LENGTHS)
    more = LENGTHS[1] - LENGTHS[0]
    found = {"cell": cell, "layer": layer, "what": what}
    for k, name in enumerate(["forward", "backward"]):
        found[name] = round((many[k].operations.total() - few[k].operations.total()) / more, 2)
    found["elsewhere"] = (sum(c.elsewhere.total() for c in many) - sum(c.elsewhere.total() for c in few)) / more
    return found


def table(rows):
    """Returns lines of Markdown."""
    of = collections.defaultdict(dict)
    for each in rows:
        of[each["cell"]][each["layer"], each["what"]] = each
    lines = [
        "| cell | train, forward: ours | Keras's loop | backward: ours | Keras's loop | predict: ours | Keras's loop |",
        "| --- |" + " ---: |" * 6,
    ]
    for cell, found in of.items():
        numbers = [
            f"{found[layer, what][name]:g}"
            for what, name in (("train", "forward"), ("train", "backward"), ("predict", "forward"))
            for layer in LAYERS
        ]
        lines.append(f"| `{cell}` | {' | '.join(numbers)} |")
    return lines


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to")
    parser.add_argument("--table", action="store_true", help="only print the file as a table")
    parser.add_argument("--check", action="store_true", help="fail where ours takes more than the file says")
    options = parser.parse_args(argv)
    if options.table:
        print(*table(read(options.json, KEY).values()), sep="\n")
        return None
    faults = []
    jobs = [(c, layer, what) for c in options.cells for layer in LAYERS for what in ("train", "predict")]
    for job in track(jobs, "Counting", disable=not sys.stderr.isatty()):
        found = row(*job)
        print(json.dumps(found), flush=True)
        if options.check:
            faults.append(worse_than_known(options.json, KEY, found, ALLOWED))
        elif options.json is not None:
            add(options.json, KEY, [found])
    return "\n".join(filter(None, faults)) or None


if __name__ == "__main__":
    sys.exit(main())
