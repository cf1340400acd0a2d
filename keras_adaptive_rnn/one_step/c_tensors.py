"""Tensors in C: numbers in a buffer, or expressions that compute them, and the loops over them."""

import dataclasses
import math

import numpy as np

TYPES = {
    "float32": "float",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "bool": "bool",
}
# Of loops, from the outermost one on.
VARIABLES = "ijklmnpqrs"
NOT_FINITE = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}


def c_type(dtype):
    """Returns the name of a dtype in C, or raises an error."""
    if dtype not in TYPES:
        raise ValueError(
            f"Argument `model` must compute in {', '.join(TYPES)} for format='c99'. Received: a model that computes in "
            f"{dtype}"
        )
    return TYPES[dtype]


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory for numbers of one type: scratch, a constant, an argument of the function or a state."""

    name: str
    dtype: str
    size: int
    is_scratch: bool = False

    def __post_init__(self):
        c_type(self.dtype)


@dataclasses.dataclass
class Stored:
    """A tensor in a buffer: `strides` says how far apart neighbors along each axis are."""

    buffer: Buffer
    shape: tuple
    strides: tuple
    offset: int = 0

    @classmethod
    def whole(cls, buffer, shape):
        """Returns the tensor that fills a buffer, row by row."""
        return cls(buffer, tuple(shape), tuple(math.prod(shape[k + 1 :]) for k in range(len(shape))))

    @classmethod
    def at(cls, buffer, positions):
        """Returns the tensor whose numbers are at these positions, an array, or `None` if they are spaced unevenly."""
        offset = int(positions.flat[0])
        ends = [np.take(positions, min(1, size - 1), axis).flat[0] for axis, size in enumerate(positions.shape)]
        stored = cls(buffer, positions.shape, tuple(int(end) - offset for end in ends), offset)
        return stored if np.array_equal(stored.positions(), positions) else None

    @property
    def dtype(self):
        return self.buffer.dtype

    def positions(self):
        """Returns the places of all numbers in the buffer, as an array."""
        axes = np.indices(self.shape, sparse=True)
        steps = sum(stride * axis for stride, axis in zip(self.strides, axes, strict=True))
        return np.broadcast_to(self.offset + steps, self.shape)

    def steps(self, shape):
        """Returns the strides of the tensor, broadcast to a shape."""
        own = [0 if size == 1 else stride for size, stride in zip(self.shape, self.strides, strict=True)]
        return (0,) * (len(shape) - len(own)) + tuple(own)

    def leaves(self):
        """Returns the stored tensors that the tensor reads, itself."""
        return [self]

    def text(self, numbers):
        """Returns C for a number of the tensor, the next of `numbers`, an iterator over those of the leaves."""
        return next(numbers)


@dataclasses.dataclass
class Expression:
    """A tensor that is not stored: each number is computed where it is needed.

    `template` is an expression in C, with the operands in braces: `Stored` or `Expression`, whose shapes broadcast.
    """

    template: str
    operands: list
    shape: tuple
    dtype: str

    def __post_init__(self):
        c_type(self.dtype)

    @property
    def count(self):
        """The number of operations in the expression."""
        return 1 + sum(each.count for each in self.operands if isinstance(each, Expression))

    def leaves(self):
        """Returns the stored tensors that the expression reads, in order."""
        return [leaf for each in self.operands for leaf in each.leaves()]

    def text(self, numbers):
        """As in `Stored`."""
        return self.template.format(*[each.text(numbers) for each in self.operands])


def literals(array):
    """Returns the numbers of an array in C, as a list of texts."""
    texts = array.ravel().astype(str).tolist()
    if array.dtype != "float32":
        return [text.lower() for text in texts]
    return [NOT_FINITE.get(text, f"{text}f") for text in texts]


def converted(value, dtype):
    """Returns a value as one of another dtype."""
    if value.dtype == dtype:
        return value
    return Expression("({0} != 0)" if dtype == "bool" else f"({c_type(dtype)}){{0}}", [value], value.shape, dtype)


def loops_over(shape, strides):
    """Returns as few loops over a shape as possible, for a list of strides: pairs of a size and the steps along it."""
    loops = []
    for size, *steps in zip(shape, *strides, strict=True):
        if loops and all(outer == size * step for outer, step in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = loops[-1][0] * size, steps
        elif size != 1:
            loops.append((size, steps))
    return loops


def elements(tensors, loops):
    """Returns C for the number of each tensor inside these loops."""
    texts = []
    for k, tensor in enumerate(tensors):
        steps = [(steps[k], variable) for (_, steps), variable in zip(loops, VARIABLES, strict=False) if steps[k]]
        terms = [variable if step == 1 else f"{step} * {variable}" for step, variable in steps]
        terms += [str(tensor.offset)] if tensor.offset or not terms else []
        texts.append(f"{tensor.buffer.name}[{' + '.join(terms)}]")
    return texts


def nested(loops, lines, depth=0):
    """Returns lines inside loops, which are themselves inside `depth` other ones."""
    for (size, _), variable in reversed(list(zip(loops, VARIABLES[depth:], strict=False))):
        header = f"for (int {variable} = 0; {variable} < {size}; ++{variable})"
        lines = [header, *indented(lines)] if len(lines) == 1 else [f"{header} {{", *indented(lines), "}"]
    return lines


def block(lines):
    """Returns lines as a block, so that what they declare is theirs."""
    return ["{", *indented(lines), "}"]


def indented(lines):
    return [f"  {line}" for line in lines]


def bare(text):
    """Returns an expression without the parentheses around it."""
    depth, ends = 0, []
    for k, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        ends += [k] if depth == 0 else []
    return text[1:-1] if text.startswith("(") and ends == [len(text) - 1] else text
