"""The cells to compare, and the sizes at which their models are equally large."""

import dataclasses
import difflib
import functools
import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import keras

from keras_adaptive_rnn.layers import RNN
from keras_rnn_compare.models.layers import NAMED_LAYERS


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A kind of recurrent layer that can be made in any size.

    `layer(units, inputs, return_sequences=False)` makes the layer, and `size(units, inputs)` counts its weights. `key`
    distinguishes it from others of the same title. The units must be a multiple of `multiple`. `made_by`, a function
    and its arguments, makes the same candidate in another process.
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


def offered() -> dict[str, Candidate]:
    """Returns the candidates that have a name."""
    return {name: _named(name) for name in NAMED_LAYERS}


def _named(name):
    row = NAMED_LAYERS[name]

    def layer(units, inputs, return_sequences=False):
        return row.layer_class(units, **row.arguments(units, inputs), return_sequences=return_sequences)

    return Candidate(row.title, layer, row.size, multiple=row.multiple, made_by=(_named, name))


def squeezed(name: str) -> str:
    """Returns a name without case, hyphens and the like: `min_gru`, `min-gru`, `MinGRU` and `minGRU` are one cell."""
    return re.sub(r"[\W_]", "", name).lower()


def find_named(name: Any, argument: str = "cells") -> str:
    """Returns the name of the cell that `name` means, or raises an error that suggests one."""
    names = {squeezed(each): each for each in NAMED_LAYERS}
    found = names.get(squeezed(name)) if isinstance(name, str) else None
    if found is None:
        close = difflib.get_close_matches(squeezed(str(name)), names, 1)
        suggestion = f". Did you mean {names[close[0]]!r}?" if close else ""
        known = ", ".join(map(repr, NAMED_LAYERS))
        what = "name cells among" if argument == "cells" else "name a cell among"
        raise ValueError(f"Argument `{argument}` must {what} {known}. Received: {name!r}{suggestion}")
    return found


def resolve_candidates(cells: Any, fewest: int = 2) -> dict[str, Candidate]:
    """Returns the candidates of the argument `cells`, by name."""
    candidates = offered()
    if cells is None:
        # The first one is what the others are compared with.
        return {"lstm": candidates["lstm"], **candidates}
    if isinstance(cells, dict):
        resolved = {name: custom_candidate(name, value, candidates) for name, value in cells.items()}
    elif isinstance(cells, (list, tuple)):
        names = [find_named(name) for name in cells]
        if len(set(names)) < len(names):
            raise ValueError(f"Argument `cells` must name each cell once. Received: cells={cells!r}")
        resolved = {name: candidates[name] for name in names}
    else:
        raise TypeError(
            f"Argument `cells` must be None, a list of names such as 'lstm', or a dict of functions `units -> layer`. "
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
    if not (_is_class_of_layers(found) if isinstance(found, type) else _required(found) == ["units"]):
        raise ValueError(
            "Argument `cells` must name a class of recurrent layers or cells, or a function `units -> layer`, whose "
            f"only argument without a default is `units`. Received: {name}, {found!r:.100}"
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


def _is_class_of_layers(value):
    return isinstance(value, type) and issubclass(value, keras.layers.Layer)


def maker(argument, make):
    """Returns a function `(units, return_sequences=False) -> layer`, or `None` if `make` is no class or function.

    The function raises an error if what `make` returns is neither a recurrent layer nor a cell.

    Args:
        argument: Name of the argument, for the message.
        make: A class of recurrent layers or cells, or a function in Python that returns one, or a list of cells, which
            is a stack.
    """
    is_function = callable(make) and not isinstance(make, type) and not inspect.isbuiltin(make)
    if not is_function and not _is_class_of_layers(make):
        return None

    def layer(units, return_sequences=False):
        made = make(units)
        if isinstance(made, keras.layers.Layer) and hasattr(made, "return_sequences"):
            if isinstance(made, keras.layers.Bidirectional):
                raise ValueError(f"Argument `{argument}` must make layers that read forwards alone. Received: {made!r}")
            made.return_sequences = return_sequences
            return made
        for each in made if isinstance(made, (list, tuple)) else [made]:
            if isinstance(each, type) or not callable(each) or getattr(each, "state_size", None) is None:
                raise ValueError(
                    f"Argument `{argument}` must make a recurrent layer, which has `return_sequences`, or a cell, an "
                    f"object that is callable and has a `state_size`. Received: {each!r}"
                )
        return RNN(made, return_sequences=return_sequences)

    return layer


def custom_candidate(name, make, candidates):
    """Returns the candidate of an item of `cells`, where that is a dict."""
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(
            "Argument `cells` must have names of letters, digits, '_', '-' and '.', which are names of files too. "
            f"Received: {name!r}"
        )
    if isinstance(make, str):
        return candidates[find_named(make)]
    layer = maker("cells", make)
    if layer is None:
        raise TypeError(
            "Argument `cells` must have values that are classes of recurrent layers or cells, functions "
            f"`units -> layer`, or names of cells. Received: {name}: {make!r}"
        )
    config = json.dumps(keras.saving.serialize_keras_object(layer(8)), sort_keys=True, default=str)
    # Keras numbers the names of layers.
    config = re.sub(r'"name": "[^"]*"', "", config)
    key = f"{name} {hashlib.sha256(config.encode()).hexdigest()[:8]}"
    return _custom(name, make, key)


def _custom(name, make, key):
    new_layer = maker("cells", make)

    def layer(units, inputs, return_sequences=False):
        return new_layer(units, return_sequences)

    @functools.cache
    def size(units, inputs):
        built = new_layer(units)
        built.build((None, None, inputs))
        return built.count_params()

    return Candidate(name, layer, size, key, made_by=(_custom, name, make, key))


# The fewest features that recurrent layers read. With one, a cell without recurrent matrices would need fifty times the
# units of an LSTM for as many weights, and take as much longer.
NARROWEST = 16


class ModelShape:
    """What all models of one comparison share: everything but the recurrent layers."""

    def __init__(self, features, vocabulary, outputs, depth):
        self.features, self.vocabulary, self.outputs, self.depth = features, vocabulary, outputs, depth
        # Of the same width for all, and wide enough for each token to differ from every other.
        self.inputs = max(features, NARROWEST) if vocabulary is None else min(64, max(4, vocabulary // 2))

    @property
    def is_widened(self):
        """Whether a linear layer widens the inputs."""
        return self.vocabulary is None and self.inputs > self.features

    def size(self, candidate, units):
        """Returns the number of weights of a whole model."""
        embedded = self.features if self.is_widened else self.vocabulary or 0
        embedding = embedded * self.inputs
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
