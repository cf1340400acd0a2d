"""The body of a function in C that computes a list of operations."""

import collections
import dataclasses
import math
import re

import keras
import numpy as np

from keras_adaptive_rnn.one_step.c_tensors import (
    TYPES,
    VARIABLES,
    Buffer,
    Expression,
    Stored,
    bare,
    block,
    converted,
    elements,
    literals,
    loops_over,
    nested,
)
from keras_adaptive_rnn.one_step.composed import unsupported
from keras_adaptive_rnn.one_step.operations import accepted

# Operations on single numbers, as expressions in C. Arguments are converted to the dtype of the result.
FUNCTIONS = (
    "Arccos acos, Arccosh acosh, Arcsin asin, Arcsinh asinh, Arctan atan, Arctanh atanh, Ceil ceil, Cos cos, "
    "Cosh cosh, Erf erf, Exp exp, Exp2 exp2, Expm1 expm1, Floor floor, Log log, Log10 log10, Log1p log1p, Log2 log2, "
    "Round rint, Sin sin, Sinh sinh, Sqrt sqrt, Tan tan, Tanh tanh, Trunc trunc"
)
ARITHMETIC = {
    **{name: f"{function}f({{0}})" for name, function in map(str.split, FUNCTIONS.split(","))},
    "Absolute": "fabsf({0})",
    "Add": "({0} + {1})",
    "Arctan2": "atan2f({0}, {1})",
    "Cast": "{0}",
    "Divide": "({0} / {1})",
    "Elu": "({0} > 0 ? {0} : {alpha} * expm1f({0}))",
    "FloorDivide": "floorf({0} / {1})",
    "LeakyRelu": "({0} > 0 ? {0} : {negative_slope} * {0})",
    "Maximum": "({0} > {1} ? {0} : {1})",
    "Minimum": "({0} < {1} ? {0} : {1})",
    "Mod": "({0} - {1} * floorf({0} / {1}))",
    "Multiply": "({0} * {1})",
    "Negative": "(-{0})",
    "Power": "powf({0}, {1})",
    "Reciprocal": "(1 / {0})",
    "Relu": "({0} > 0 ? {0} : 0)",
    "Rsqrt": "(1 / sqrtf({0}))",
    "Selu": "(1.05070099f * ({0} > 0 ? {0} : 1.67326324f * expm1f({0})))",
    "Sigmoid": "(1 / (1 + expf(-{0})))",
    "Sign": "(float)(({0} > 0) - ({0} < 0))",
    "Silu": "({0} / (1 + expf(-{0})))",
    "Softsign": "({0} / (1 + fabsf({0})))",
    "Square": "({0} * {0})",
    "Subtract": "({0} - {1})",
    "TrueDivide": "({0} / {1})",
}
INTEGER_ARITHMETIC = {
    "Absolute": "({0} < 0 ? -{0} : {0})",
    "FloorDivide": "({0} / {1} - ({0} % {1} != 0 && ({0} < 0) != ({1} < 0)))",
    "Mod": "(({0} % {1} + {1}) % {1})",
    "Sign": "(({0} > 0) - ({0} < 0))",
}
# Arguments keep their dtype.
LOGIC = {
    "Equal": "({0} == {1})",
    "Greater": "({0} > {1})",
    "GreaterEqual": "({0} >= {1})",
    "Less": "({0} < {1})",
    "LessEqual": "({0} <= {1})",
    "LogicalAnd": "({0} && {1})",
    "LogicalNot": "(!{0})",
    "LogicalOr": "({0} || {1})",
    "LogicalXor": "(!{0} != !{1})",
    "NotEqual": "({0} != {1})",
    "Where": "({0} ? {1} : {2})",
}
# The number to start with, and the next number, given one of the tensor.
REDUCTIONS = {
    "All": ("true", "total && x"),
    "Any": ("false", "total || x"),
    "Max": ("-INFINITY", "x > total ? x : total"),
    "Min": ("INFINITY", "x < total ? x : total"),
    "Prod": ("1", "total * x"),
    "Sum": ("0", "total + x"),
}
INTEGER_LIMITS = {"-INFINITY": "{}_MIN", "INFINITY": "{}_MAX"}
# Operations that move numbers, as functions of an array, with the names that Keras gives to their options.
MOVES = {
    "BroadcastTo": np.broadcast_to,
    "ExpandDims": np.expand_dims,
    "Flip": np.flip,
    "GetItem": lambda x, key: x[key],
    "Moveaxis": np.moveaxis,
    "Ravel": lambda x: x.reshape(-1),
    "Repeat": np.repeat,
    "Reshape": lambda x, newshape: x.reshape(newshape),
    "Roll": np.roll,
    "Split": np.split,
    "Squeeze": lambda x, axis: np.squeeze(x, axis if axis is None else tuple(np.atleast_1d(axis))),
    "Swapaxes": np.swapaxes,
    "Tile": lambda x, repeats: np.tile(x, repeats),
    "Transpose": np.transpose,
    "Unstack": lambda x, axis: list(np.moveaxis(x, axis, 0)),
}
ALIASES = {"Abs": "Absolute", "Amax": "Max", "Amin": "Min"}
# Options that are not written, with the only value that they may have.
FIXED = {"decimals": 0, "initial": None}
# An expression of more operations is hard to read.
MOST_OPERATIONS = 6
# As many terms of a sum are added at once.
MOST_TERMS = 4
# Functions and variables of the statements, which no argument of the function may be called.
RESERVED = {name for template in ARITHMETIC.values() for name in re.findall(r"\w+(?=\()", template)}
RESERVED |= {"state", "total", "x", *VARIABLES, *map("x{}".format, range(MOST_TERMS))}


class Program:
    """The statements of a function, and the constants that they read.

    Args:
        inputs: Dict of tensors, `Stored`, by the ID of the symbolic tensors that they are.
        uses: Dict of how many times the operations read a symbolic tensor, by its ID.
        weight_dtype: As in `export_step`.
        comments: Dict of what to say of constants, by `key_of` the arrays.
        taken: Set of the names of the arguments of the function.

    Attributes:
        statements: List of pairs: lines, and a dict of the buffers that they read and write, by ID.
        constants: Dict of triples, by `key_of` the array: a buffer, the array and a comment.
    """

    def __init__(self, inputs, uses, weight_dtype, comments, taken):
        self.statements, self.constants = [], {}
        self._values, self._uses, self._weight_dtype = dict(inputs), uses, weight_dtype
        self._comments, self._reserved, self._counts = comments, taken, collections.Counter()

    # Tensors.

    def value(self, x):
        """Returns a symbolic tensor, an array, or numbers, as `Stored` or `Expression`."""
        if isinstance(x, keras.KerasTensor):
            return self._values[id(x)]
        if not isinstance(x, (np.ndarray, np.generic)):
            x = np.asarray(x)
            x = x.astype({"i": "int32", "f": "float32"}.get(x.dtype.kind, x.dtype))
        if x.size == 1:
            return Expression(literals(x)[0], [], x.shape, x.dtype.name)
        return self.constant(x)

    def constant(self, array, comment=""):
        """Returns an array as `Stored`. Equal arrays are one constant."""
        key = key_of(array)
        if key not in self.constants:
            buffer = self._buffer("matrix" if array.ndim > 1 else "vector", array.shape, array.dtype.name)
            self.constants[key] = buffer, array, self._comments.get(key, comment)
        return Stored.whole(self.constants[key][0], array.shape)

    def new(self, name, shape, dtype):
        """Returns a new tensor in scratch memory."""
        return Stored.whole(self._buffer(name, shape, dtype, is_scratch=True), shape)

    def _buffer(self, name, shape, dtype, **kwargs):
        self._counts[name] += 1
        numbered = f"{name}_{self._counts[name]}"
        if numbered in self._reserved:
            return self._buffer(name, shape, dtype, **kwargs)
        return Buffer(numbered, dtype, math.prod(shape), **kwargs)

    def stored(self, value, name="value"):
        """Returns a value as `Stored`."""
        return value if isinstance(value, Stored) else self.copied(value, name)

    def copied(self, value, name="copy"):
        """Returns a copy of a value, row by row."""
        target = self.new(name, value.shape, value.dtype)
        self.assign(target, value)
        return target

    def packed(self, value):
        """Returns a value as `Stored`, row by row without gaps."""
        value = self.stored(value)
        loops = loops_over(value.shape, [value.steps(value.shape)])
        return value if loops in ([], [(math.prod(value.shape), [1])]) else self.copied(value)

    # Statements.

    def _append(self, tensors, lines):
        """Adds a statement that reads and writes these tensors."""
        self.statements.append((lines, {id(tensor.buffer): tensor.buffer for tensor in tensors}))

    def assign(self, target, value):
        """Writes a value into a tensor of the same shape."""
        tensors = [target, *value.leaves()]
        loops = loops_over(target.shape, [tensor.steps(target.shape) for tensor in tensors])
        numbers = iter(elements(tensors, loops))
        self._append(tensors, nested(loops, [f"{next(numbers)} = {bare(value.text(numbers))};"]))

    def update(self, states):
        """Writes the next states, pairs of a state and a value, after the last of their old numbers is read."""
        new = [self.stored(value, "next") for _, value in states]
        old = [id(state.buffer) for state, _ in states]
        pairs = [(state, value) for (state, _), value in zip(states, new, strict=True) if value != state]
        for state, value in [(state, self.copied(v) if id(v.buffer) in old else v) for state, v in pairs]:
            self.assign(state, value)

    def add(self, operation):
        """Adds an operation."""
        name = ALIASES.get(operation.name, operation.name)
        for option, value in FIXED.items():
            if operation.options.get(option, value) != value:
                raise unsupported(f"`{name}` of {option}={operation.options[option]!r}")
        if name in MOVES:
            results = self._move(MOVES[name], operation)
        elif name in ARITHMETIC or name in LOGIC:
            results = [self._elementwise(name, operation)]
        elif name in REDUCTIONS:
            results = [self._reduce(name, operation)]
        elif name == "Concatenate":
            results = [self._concatenate(operation)]
        elif name in ("Matmul", "Take"):
            results = [self._with_weights(name, operation)]
        else:
            raise unsupported(f"`{name}`")
        for x, value in zip(operation.outputs, results, strict=True):
            is_long = isinstance(value, Expression) and value.count > MOST_OPERATIONS
            # What is read twice is computed once.
            self._values[id(x)] = self.stored(value, snake_case(name)) if is_long or self._uses[id(x)] > 1 else value

    def _elementwise(self, name, operation):
        (output,) = operation.outputs
        operands = list(map(self.value, operation.args))
        template = LOGIC.get(name) or ARITHMETIC[name]
        if name in ARITHMETIC:
            operands = [converted(x, output.dtype) for x in operands]
            template = template if output.dtype == "float32" else INTEGER_ARITHMETIC.get(name, template)
        for k, x in enumerate(operands):
            is_repeated = template.count(f"{{{k}}}") > 1 or math.prod(x.shape) < math.prod(output.shape)
            operands[k] = self.stored(x) if is_repeated and x.leaves() else x
        for option in re.findall(r"{(\w*[a-z])}", template):
            template = template.replace(f"{{{option}}}", literals(np.float32(operation.options[option]))[0])
        return Expression(template, operands, output.shape, output.dtype)

    def _reduce(self, name, operation):
        (output,) = operation.outputs
        value = converted(self.value(operation.args[0]), output.dtype)
        axes, axis = range(len(value.shape)), operation.options["axis"]
        inside = [k % len(axes) for k in (axes if axis is None else np.atleast_1d(axis))]
        outside = [k for k in axes if k not in inside]
        target = self.new(snake_case(name), output.shape, output.dtype)
        tensors = [Stored.whole(target.buffer, [value.shape[k] if k in outside else 1 for k in axes]), *value.leaves()]
        steps = [tensor.steps(value.shape) for tensor in tensors]
        outer, inner = (
            loops_over([value.shape[k] for k in part], [[each[k] for k in part] for each in steps])
            for part in (outside, inside)
        )
        numbers = iter(elements(tensors, outer + inner))
        first, following = REDUCTIONS[name]
        if output.dtype != "float32":
            first = INTEGER_LIMITS.get(first, first).format(output.dtype.upper())
        result, c_name = next(numbers), TYPES[output.dtype]
        number = [f"const {c_name} x = {bare(value.text(numbers))};", f"total = {following};"]
        lines = [f"{c_name} total = {first};", *(nested(inner, number, len(outer)) if inner else block(number))]
        lines.append(f"{result} = total;")
        self._append(tensors, nested(outer, lines) if outer else block(lines))
        return target

    def _concatenate(self, operation):
        (output,), axis = operation.outputs, operation.options["axis"]
        target, start = self.new("concatenated", output.shape, output.dtype), 0
        for part in map(self.value, operation.args[0]):
            self.assign(Stored(target.buffer, part.shape, target.strides, start * target.strides[axis]), part)
            start += part.shape[axis]
        return target

    def _move(self, function, operation):
        value = self.stored(self.value(operation.args[0]))
        options = accepted(function, operation.options)

        def moved(value):
            results = function(value.positions(), *operation.args[1:], **options)
            results = results if isinstance(results, list) else [results]
            return results, [Stored.at(value.buffer, positions) for positions in results]

        results, tensors = moved(value)
        if None in tensors:
            # Copied row by row, or else number by number.
            value = self.packed(value)
            results, tensors = moved(value)
        return [
            self._take(Stored.whole(value.buffer, (value.buffer.size,)), self.constant(positions.astype("int32")), 0)
            if stored is None
            else stored
            for stored, positions in zip(tensors, results, strict=True)
        ]

    def _with_weights(self, name, operation):
        """Adds a product of matrices or a look-up in one. The scales of a matrix of 8 bits apply to the result."""
        (output,), (first, second) = operation.outputs, operation.args
        matrix = second if name == "Matmul" else first

        def result(matrix):
            if name == "Matmul":
                return self._multiply(
                    converted(self.value(first), output.dtype), self.stored(self.value(matrix)), output
                )
            return self._take(self.value(matrix), self.value(second), operation.options["axis"])

        has_columns = name == "Matmul" or (operation.options["axis"] == 0 and len(matrix.shape) == 2)
        found = quantized(matrix, self._weight_dtype) if isinstance(matrix, np.ndarray) and has_columns else None
        if found is None:
            return result(matrix)
        integers, scales = found
        scales = scales if len(output.shape) >= matrix.ndim else scales[..., 0, :]
        path = self._comments.get(key_of(matrix), "")
        self.constant(integers, path)
        scales = self.constant(scales, f"{path} scales")
        return Expression("({0} * {1})", [result(integers), scales], output.shape, output.dtype)

    def _multiply(self, x, matrix, output):
        if len(matrix.shape) == 1:
            matrix = Stored(matrix.buffer, (*matrix.shape, 1), (*matrix.strides, 0), matrix.offset)
        rows, (size, columns) = (1, *x.shape)[-2], matrix.shape[-2:]
        outer = (*np.broadcast_shapes(x.shape[:-2], matrix.shape[:-2]), rows)
        target = self.new("product", (*outer, columns), output.dtype)
        tensors = [target, matrix, *x.leaves()]
        # The steps of the tensors along the outer axes, along the terms of a sum, and along the columns.
        to_matrix = matrix.steps((*outer[:-1], size, columns))
        to_x = [leaf.steps((*outer, size)) for leaf in x.leaves()]
        along = [0, to_matrix[-2], *[steps[-1] for steps in to_x]]
        # Compilers vectorize a loop over columns, but not one over the terms of a sum, whose order they must keep. To
        # write a column for each term would take longer than the product itself.
        width = max(number for number in range(1, MOST_TERMS + 1) if size % number == 0)
        across = loops_over((columns,), [(1,), to_matrix[-1:], *[(0,) for _ in to_x]])
        terms = loops_over((size // width,), [(width * step,) for step in along])
        outer = loops_over(outer, [target.strides[:-1], (*to_matrix[:-2], 0), *[steps[:-1] for steps in to_x]])
        products, sums = [], []
        for k in range(width):
            here = [dataclasses.replace(x, offset=x.offset + k * step) for x, step in zip(tensors, along, strict=True)]
            result, weight, *numbers = elements(here, outer + terms + across)
            sums.append(f"const {TYPES[output.dtype]} x{k} = {bare(x.text(iter(numbers)))};")
            products.append(f"x{k} * {weight}")

        def over_columns(line):
            return nested(across, [line], len(outer + terms))

        sums += over_columns(f"{result} += {' + '.join(products)};")
        sums = nested(terms, sums, len(outer)) if terms else block(sums)
        self._append(tensors, nested(outer, [*over_columns(f"{result} = 0;"), *sums]))
        return Stored.whole(target.buffer, output.shape)

    def _take(self, table, indices, axis):
        table, indices = self.packed(table), self.packed(indices)
        shape = table.shape if axis is not None else (math.prod(table.shape),)
        axis = 0 if axis is None else axis % len(shape)
        target = self.new("taken", (*shape[:axis], *indices.shape, *shape[axis + 1 :]), table.dtype)
        outer, size, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        count = math.prod(indices.shape)
        loops = [
            loop
            for length, *steps in [(outer, count * inner, size * inner, 0), (count, inner, 0, 1), (inner, 1, 1, 0)]
            for loop in loops_over((length,), [(step,) for step in steps])
        ]
        tensors = [target, table, indices]
        result, number, index = elements(tensors, loops)
        number = number.replace("[", f"[{inner} * {index} + " if inner > 1 else f"[{index} + ").replace(" + 0]", "]")
        self._append(tensors, nested(loops, [f"{result} = {number};"]))
        return target


def key_of(array):
    """Returns what is the same for arrays of equal contents."""
    return array.dtype.name, array.shape, array.tobytes()


def snake_case(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def quantized(matrix, weight_dtype):
    """Returns a matrix as integers of 8 bits and a scale for each column, or `None`.

    If `weight_dtype` is `None`, only if nothing is lost, as in a quantized model: if the numbers of every column are
    multiples of one of them.
    """
    if matrix.dtype != "float32" or matrix.ndim < 2 or matrix.shape[-2] == 1:
        return None
    highest = np.abs(matrix).max(axis=-2, keepdims=True)

    def scales_of(levels):
        return np.where(highest, highest / np.float32(levels), 1).astype("float32")

    if weight_dtype == "int8":
        scales = scales_of(127)
    elif matrix.shape[-1] > 1 and quantized(matrix[..., :1], None) is None:
        # The first column rules out most matrices.
        return None
    else:
        scales = np.zeros_like(highest)
        for each in map(scales_of, range(1, 128)):
            distance = np.abs(np.round(matrix / each) * each - matrix).max(axis=-2, keepdims=True)
            scales = np.where((scales == 0) & (distance <= 1e-6 * highest), each, scales)
    return (np.round(matrix / scales).astype("int8"), scales) if scales.all() else None
