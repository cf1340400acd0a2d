"""The weights of cells and layers, as functions of their sizes, measured by building them at several sizes."""

import collections
import dataclasses
import functools
import inspect
import itertools
import math
import re

import keras

import keras_adaptive_rnn
from keras_adaptive_rnn import layers

# A name of a size in a call: its letter, a value to build with, and what it is.
SIZES = {
    "inputs": ("D", 11, "features of the input"),
    "units": ("U", 13, "units"),
    "rank": ("R", 3, "rank"),
    "policy": ("P", 5, "units of a policy"),
    "small": ("S", 6, "units of the small cell"),
    "embedding": ("E", 4, "entries of an embedding"),
    "vocabulary": ("V", 17, "tokens"),
}
# What is passed for an argument, by its name. Others that must be given are 4.
PASSED = {
    "cell": "LSTMCell(units)",
    "cells": "[LSTMCell(units), LSTMCell(units)]",
    "embedding": "vocabulary",
    "small_cell": "LSTMCell(small)",
    "units": "units",
    "vocabulary_size": "vocabulary",
}
# Of those that need not be given, because their defaults are no size.
SIZED = {
    "hyper_embedding_units": "embedding",
    "hyper_units": "small",
    "num_heads": "1",
    "policy_units": "policy",
}
# Layers without a cell that are measured.
LAYERS = (layers.AdaptiveDense, layers.Highway, layers.Maxout, layers.MixtureOfSoftmaxes, layers.TiedEmbedding)
# A second way to make a cell whose number of weights is worth knowing.
ALSO = {"MogrifierCell": "MogrifierCell(units, rank=rank)", "GRUCell": "GRUCell(units, reset_after=False)"}


def call_of(cls):
    """Returns the call that is measured, with all arguments that are sizes."""
    by_position, by_name = [], []
    for name, parameter in inspect.signature(cls).parameters.items():
        is_position = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        if name == "units" and parameter.annotation == list[int]:
            by_position.append("[units, units]")
        elif parameter.default is parameter.empty or name == "units":
            by_position += [PASSED.get(name, "4")] if is_position else []
            by_name += [] if is_position else [f"{name}={PASSED.get(name, '4')}"]
        elif name in SIZED:
            by_name.append(f"{name}={SIZED[name]}")
        elif name == "rank" and is_position:
            by_name.append("rank=rank")
    return f"{cls.__name__}({', '.join(by_position + by_name)})"


@dataclasses.dataclass
class Weights:
    """The weights of a class: a sentence about what was measured, `(name, shape)` of each, and their number."""

    sentence: str
    rows: list
    total: str


@functools.cache
def of(cls):
    """Returns the `Weights` of a class, or `None` if it is no cell and none of `LAYERS`."""
    cell = getattr(cls, "cell_class", None)
    if cell is not None and issubclass(cls, layers.RNN):
        found = of(cell)
        sentence = f"Those of its cell, [`{cell.__name__}`](/api/cells/{cell.__name__}.md). {found.sentence}"
        return dataclasses.replace(found, sentence=sentence)
    is_public = getattr(keras_adaptive_rnn, cls.__name__, None) is cls
    if not is_public or not issubclass(cls, (keras_adaptive_rnn.cells.Cell, *LAYERS)):
        return None
    call = call_of(cls)
    shapes, total = measure(call)
    letters = [f"{SIZES[s][0]} {SIZES[s][2]}" for s in sizes_in(call)]
    return Weights(f"Of `{call}`, with {', '.join(letters)}, as built at several sizes:", shapes, total)


def formula(cls):
    """Returns `(call, number of weights)` for each way to make a cell that is measured."""
    name = cls.__name__
    calls = [call_of(cls), *([ALSO[name]] if name in ALSO else [])]
    return [(call, measure(call)[1]) for call in calls]


def sizes_in(call):
    return ["inputs", *(name for name in SIZES if re.search(rf"(?<!\w){name}\b(?!=)", call) and name != "inputs")]


@functools.cache
def measure(call):
    """Returns `[(name, shape)]` and the number of all weights, as functions of the sizes.

    Each axis is an affine function of the sizes, plus multiples of the products of the inputs with each other size: the
    coefficients follow from builds at the base sizes and with one or two sizes increased. A build at other sizes must
    confirm them.
    """
    names = sizes_in(call)
    base = {name: SIZES[name][1] for name in names}
    increased = [(), *((name,) for name in names), *(("inputs", name) for name in names if name != "inputs")]
    built = {more: build(call, {name: size + (name in more) for name, size in base.items()}) for more in increased}
    shapes = [
        [fit({more: found[i][1][axis] for more, found in built.items()}, base) for axis in range(len(shape))]
        for i, (_, shape) in enumerate(built[()])
    ]
    other = {name: size + 2 + i for i, (name, size) in enumerate(base.items())}
    expected = [tuple(value(axis, other) for axis in axes) for axes in shapes]
    if expected != [shape for _, shape in build(call, other)]:
        raise ValueError(f"The shapes of the weights of {call} are no such functions of its sizes.")
    rows = [
        (name, f"[{', '.join(polynomial(axis) for axis in axes)}]")
        for (name, _), axes in zip(built[()], shapes, strict=True)
    ]
    total = collections.Counter()
    for axes in shapes:
        total.update(functools.reduce(multiply, axes, {(): 1}))
    assert value(total, other) == sum(math.prod(shape) for shape in expected)
    return rows, polynomial(total)


def fit(sizes, base):
    """Returns the polynomial that has these values where the base sizes with these names are increased by one."""
    found = collections.Counter()
    for more in sizes:
        parts = itertools.chain.from_iterable(itertools.combinations(more, k) for k in range(len(more) + 1))
        difference = sum((-1) ** (len(more) - len(part)) * sizes[part] for part in parts)
        found.update(functools.reduce(multiply, ({(name,): 1, (): -base[name]} for name in more), {(): difference}))
    return found


def value(terms, sizes):
    return sum(c * math.prod(sizes[n] for n in term) for term, c in terms.items())


def build(call, sizes):
    """Returns `[(name, shape)]` of the weights of a cell or layer with these sizes."""
    keras.utils.clear_session(free_memory=False)  # So that names are counted from the start.
    layer = eval(call, {**vars(keras_adaptive_rnn), **sizes})
    layer.build((2, sizes["inputs"]))
    return [(short(weight.path, layer), tuple(weight.shape)) for weight in layer.weights]


def short(path, layer):
    """Returns the path of a weight within its layer, without the numbers that Keras adds to the names of classes."""
    parts = path.split("/")
    parts = parts[1:] if parts[0] == layer.name else parts
    return "/".join(parts)


def multiply(a, b):
    found = collections.Counter()
    for (left, x), (right, y) in itertools.product(a.items(), b.items()):
        found[tuple(sorted(left + right))] += x * y
    return found


def polynomial(terms):
    """Returns a polynomial as text, such as `4U² + 4DU + 4U`."""
    order = list(SIZES)
    shown = []
    for term, c in sorted(terms.items(), key=lambda item: (-len(item[0]), [order.index(n) for n in item[0]])):
        if not c:
            continue
        powers = collections.Counter(term)
        letters = "".join(SIZES[n][0] + {1: "", 2: "²", 3: "³"}[powers[n]] for n in sorted(powers, key=order.index))
        size = abs(c)
        body = letters if size == 1 and letters else f"{size}{letters}"
        shown.append((("- " if c < 0 else "+ ") if shown else ("-" if c < 0 else "")) + body)
    return " ".join(shown) or "0"
