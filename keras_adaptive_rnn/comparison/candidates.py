"""The cells that are compared, and the sizes at which their models are equally large."""

import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import keras

from keras_adaptive_rnn._command_line import option_name
from keras_adaptive_rnn._export import PUBLIC
from keras_adaptive_rnn.cells.bases.any_cell import check_is_cell
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from keras_adaptive_rnn.loop.rnn import RNN


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A kind of recurrent layer that can be made in any size.

    `layer(units, inputs, **kwargs)` makes the layer, and `size(units, inputs)` counts its weights without making it:
    on JAX, making one costs seconds. `key` tells it from others of the same title. The units must be a multiple of
    `multiple`. `made_by`, a function and its arguments, makes the same candidate in another process.
    """

    title: str
    layer: Callable[..., keras.Layer]
    size: Callable[[int, int], int]
    key: str = ""
    multiple: int = 1
    made_by: tuple[Any, ...] = ()

    def __reduce__(self):
        function, *arguments = self.made_by
        return function, tuple(arguments)


def offered(cls=CellLayer) -> dict[str, Candidate]:
    """Returns the candidates among `cls` and the classes derived from it: layers whose cells declare `compared`."""
    # Not inherited: a cell is larger than the one that it is derived from.
    compared = vars(cls.cell_class).get("compared") if cls in PUBLIC else None
    candidates = {option_name(cls.__name__): _declared(cls)} if compared else {}
    for subclass in cls.__subclasses__():
        candidates |= offered(subclass)
    return candidates


def _declared(cls):
    compared = vars(cls.cell_class)["compared"]

    def layer(units, inputs, **kwargs):
        return cls(units, **compared.arguments(units, inputs), **kwargs)

    return Candidate(compared.title, layer, compared.size, multiple=compared.multiple, made_by=(_declared, cls))


def resolve_candidates(cells: Any, fewest: int = 2) -> dict[str, Candidate]:
    """Returns the candidates of the argument `cells`, by name."""
    candidates = offered()
    known = ", ".join(map(repr, candidates))
    if cells is None:
        # The first one is what the others are compared with.
        return {"lstm": candidates["lstm"], **candidates}
    if isinstance(cells, dict):
        resolved = {name: custom_candidate(name, value, candidates) for name, value in cells.items()}
    elif isinstance(cells, (list, tuple)):
        unknown = [name for name in cells if not isinstance(name, str) or name not in candidates]
        if unknown:
            raise ValueError(f"Argument `cells` must name cells among {known}. Received: {unknown[0]!r}")
        if len(set(cells)) < len(cells):
            raise ValueError(f"Argument `cells` must name each cell once. Received: cells={cells!r}")
        resolved = {name: candidates[name] for name in cells}
    else:
        raise TypeError(
            f"Argument `cells` must be None, a list of names among {known}, or a dict of functions `units -> cell`. "
            f"Received: cells={cells!r}"
        )
    if len(resolved) < fewest:
        least = "two cells at least, to compare" if fewest == 2 else "a cell at least"
        raise ValueError(f"Argument `cells` must have {least}. Received: cells={cells!r}")
    return resolved


def from_command_line(names):
    """Returns the argument `cells` for names in a command, of which `module:function` makes a cell of the user's."""
    if not names or not any(":" in name for name in names):
        return names or None
    cells = {name.rpartition(":")[2]: _imported(name) for name in names}
    if len(cells) < len(names):
        raise ValueError(f"Argument `cells` must name each cell once. Received: {', '.join(names)}")
    return cells


def _imported(name):
    module, colon, function = name.partition(":")
    if not colon:
        return name
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"Argument `cells` must name what can be imported. Received: {name} ({error})") from None
    # Before it is called: there is no telling what a function does to a file that is named by its first argument.
    if not (is_class_of_cells(found) if isinstance(found, type) else _required(found) == ["units"]):
        raise ValueError(
            "Argument `cells` must name a class of Keras cells, or a function `units -> cell`, whose only argument "
            f"without a default is `units`. Received: {name}, {found!r:.100}"
        )
    return found


def _required(function):
    """Returns the names of the arguments that a function needs, or `None` if it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    of_any_number = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each.name for each in parameters if each.default is each.empty and each.kind not in of_any_number]


def is_class_of_cells(value):
    return isinstance(value, type) and issubclass(value, keras.layers.Layer) and not issubclass(value, keras.layers.RNN)


def maker(argument, make):
    """Returns a function `units -> cell` that raises an error if what it makes is no cell; or `None` if `make` is none.

    Args:
        argument: Name of the argument, for the message.
        make: What was passed: a class of cells, or a function in Python.
    """
    if not (is_class_of_cells(make) or (callable(make) and not isinstance(make, type) and not inspect.isbuiltin(make))):
        return None

    def made(units):
        cell = make(units)
        for each in cell if isinstance(cell, (list, tuple)) else [cell]:
            check_is_cell(argument, each)
        return cell

    return made


def custom_candidate(name, make, candidates):
    """Returns the candidate of an item of `cells`, where that is a dict."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(
            "Argument `cells` must have names of letters, digits, '_', '-' and '.', which are names of files too. "
            f"Received: {name!r}"
        )
    if isinstance(make, str) and make in candidates:
        return candidates[make]
    made = maker("cells", make)
    if made is None:
        raise TypeError(
            "Argument `cells` must have values that are classes of cells, functions `units -> cell`, or names of "
            f"cells. Received: {name}: {make!r}"
        )
    config = json.dumps(keras.saving.serialize_keras_object(made(8)), sort_keys=True, default=str)
    # Keras numbers the names of layers.
    config = re.sub(r'"name": "[^"]*"', "", config)
    key = f"{name} {hashlib.sha256(config.encode()).hexdigest()[:8]}"
    return _custom(name, make, key)


def _custom(name, make, key):
    @functools.cache
    def size(units, inputs):
        layer = RNN(make(units))
        layer.build((None, None, inputs))
        return layer.count_params()

    return Candidate(name, lambda u, i, **k: RNN(make(u), **k), size, key, made_by=(_custom, name, make, key))


class ModelShape:
    """What all models of one comparison share: everything but the recurrent layers."""

    def __init__(self, features, vocabulary, outputs, depth):
        self.features, self.vocabulary, self.outputs, self.depth = features, vocabulary, outputs, depth
        # Of the same width for all, and wide enough for each token to differ from every other.
        self.inputs = features if vocabulary is None else min(64, max(4, vocabulary // 2))

    def size(self, candidate, units):
        """Returns the number of weights of a whole model."""
        embedding = 0 if self.vocabulary is None else self.vocabulary * self.inputs
        recurrent = candidate.size(units, self.inputs) + (self.depth - 1) * candidate.size(units, units)
        return embedding + recurrent + (units + 1) * self.outputs


def nearest(shape, candidate, target):
    """Returns the sizes `{weights: units}` around a target: the next smaller one and the next larger one."""

    def size(count):
        return shape.size(candidate, count * candidate.multiple)

    low, high = 1, 2
    while size(high) < target and high < 1 << 16:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) < target else (low, middle)
    return {size(count): count * candidate.multiple for count in (low, high)}


def equal_sizes(shape, candidates, target, tolerance=0.02):
    """Returns `{name: units}` such that the models have equally many weights, and a note if that is not possible.

    Few weights leave few sizes to choose from, so the common number may be up to a tenth away from the target, and
    sizes may differ by more than `tolerance` in the end; the note says so.
    """
    best, spread = None, float("inf")
    for factor in [1 + sign * k / 200 for k in range(21) for sign in (1, -1)]:
        goal = target * factor
        picked = {}
        for name, candidate in candidates.items():
            sizes = nearest(shape, candidate, goal)
            weights = min(sizes, key=lambda w: abs(w - goal))
            picked[name] = (weights, sizes[weights])
        weights = [w for w, _ in picked.values()]
        difference = max(weights) / min(weights) - 1
        if difference < spread:
            best, spread = picked, difference
        if spread <= tolerance:
            break
    note = None
    if spread > tolerance:
        note = f"The weights differ by up to {spread:.1%}: about {target:,} leave no closer sizes."
    return {name: units for name, (_, units) in best.items()}, note
