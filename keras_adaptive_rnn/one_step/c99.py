"""A model of one time step as plain C99: a function, its weights as constants, and a header."""

import collections
import math
import re

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn.one_step.c_program import RESERVED, Program, key_of
from keras_adaptive_rnn.one_step.c_tensors import TYPES, Buffer, Stored, indented, literals
from keras_adaptive_rnn.one_step.operations import operations_of

HEADER = """\
/* One time step of a recurrent model in C99.

   {prefix}_reset starts a sequence, and each {prefix}_step reads one time step. Everything that changes is in a
   {prefix}_state, one for each sequence. Tensors are arrays, row by row, and must not overlap. */

#ifndef {name}_H
#define {name}_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{sizes}

typedef struct {{
{members}
}} {prefix}_state;

void {prefix}_reset({prefix}_state *state);
void {prefix}_step({parameters});

#ifdef __cplusplus
}}
#endif

#endif
"""

SOURCE = """\
#include "{prefix}.h"

#include <math.h>
#include <string.h>

{constants}
void {prefix}_reset({prefix}_state *state) {{
{reset}
}}

void {prefix}_step({parameters}) {{
{body}
}}
"""

# Keywords of C and C++.
KEYWORDS = (
    "asm auto bool break case catch char class const continue default delete do double else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new operator private protected public "
    "register restrict return short signed sizeof static struct switch template this throw true try typedef typeid "
    "typename union unsigned using virtual void volatile while"
)


def write(path, model, step, weight_dtype=None):
    """Writes the model `step` as a C file and a header, in whose comments are the paths of the weights of `model`."""
    inputs, operations, outputs = operations_of(step)
    states = [name for name in inputs if f"next_{name}" in outputs]
    results = {name: x for name, x in outputs.items() if name.removeprefix("next_") not in states}
    taken, names, tensors = {*KEYWORDS.split(), *RESERVED}, {}, {}
    for name, x in {**inputs, **results}.items():
        names[name] = name if name in states else _identifier(name, taken)
        c_name = f"state->{name}" if name in states else names[name]
        buffer = Buffer(c_name, keras.backend.standardize_dtype(x.dtype), math.prod(x.shape))
        tensors[name] = Stored.whole(buffer, x.shape)
    reads = tree.flatten([[operation.args for operation in operations], list(outputs.values())])
    uses = collections.Counter(id(x) for x in reads if isinstance(x, keras.KerasTensor))
    paths = {key_of(np.asarray(ops.convert_to_numpy(weight))): weight.path for weight in model.weights}
    program = Program({id(x): tensors[name] for name, x in inputs.items()}, uses, weight_dtype, paths, taken)
    for operation in operations:
        program.add(operation)
    for name, x in results.items():
        program.assign(tensors[name], program.value(x))
    program.update([(tensors[name], program.value(outputs[f"next_{name}"])) for name in states])
    body, scratch = _body(program.statements)
    used = {key for _, buffers in program.statements for key in buffers}
    prefix = path.stem
    macros = {name: f"{prefix}_{c_name}_size".upper() for name, c_name in names.items()}
    declared = {name: f"{TYPES[x.dtype]} {names[name]}[{macros[name]}]" for name, x in tensors.items()}
    parameters = [f"{'const ' * (name in inputs)}{declared[name]}" for name in tensors if name not in states]
    members = [declared[name] for name in states]
    members += [f"{TYPES[dtype]} {_scratch(dtype)}[{size}]" for dtype, size in scratch.items()]
    sizes = [f"#define {macros[name]} {x.buffer.size} /* {list(x.shape)} */" for name, x in tensors.items()]
    unread = [names[name] for name, x in tensors.items() if id(x.buffer) not in used and name not in states]
    values = {
        "prefix": prefix,
        "name": prefix.upper(),
        "sizes": "\n".join(sizes),
        "members": "\n".join(indented(f"{member};" for member in members)),
        "parameters": ", ".join([f"{prefix}_state *state", *parameters]),
        "constants": "\n".join(_constant(*each) for each in program.constants.values()),
        "reset": "\n".join(indented(f"memset(state->{name}, 0, sizeof state->{name});" for name in states)),
        "body": "\n".join(indented([*[f"(void){name};" for name in unread], *body])),
    }
    path.write_text(SOURCE.format(**values), encoding="utf-8")
    path.with_suffix(".h").write_text(HEADER.format(**values), encoding="utf-8")


def _identifier(name, taken):
    """Returns a name in C that is not in the set `taken`, and adds it."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    name = f"_{name}" if name[0].isdigit() else name
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _constant(buffer, array, comment):
    """Returns the definition of a constant."""
    numbers, comment = literals(array), comment.replace("*/", "* /")
    rows = ["  " + ", ".join(numbers[k : k + 8]) + "," for k in range(0, len(numbers), 8)]
    return "\n".join(
        [
            f"/* {f'{comment} '.lstrip()}{list(array.shape)} */",
            f"static const {TYPES[buffer.dtype]} {buffer.name}[{buffer.size}] = {{",
            *rows,
            "};\n",
        ]
    )


def _scratch(dtype):
    return f"scratch_{TYPES[dtype].removesuffix('_t')}"


def _body(statements):
    """Returns the lines of statements, and the sizes of the scratch memory that they need, by dtype.

    Each buffer lies at the lowest place that no other one has at the same time.
    """
    last = {key: k for k, (_, buffers) in enumerate(statements) for key in buffers}
    lines, places, sizes = [], {}, {}
    for k, (statement, buffers) in enumerate(statements):
        for key, buffer in buffers.items():
            if not buffer.is_scratch or key in places:
                continue
            place = 0
            for start, end, until, dtype in sorted(places.values()):
                if dtype == buffer.dtype and until >= k and place + buffer.size > start:
                    place = max(place, end)
            places[key] = place, place + buffer.size, last[key], buffer.dtype
            sizes[buffer.dtype] = max(sizes.get(buffer.dtype, 0), place + buffer.size)
            where = f"state->{_scratch(buffer.dtype)}" + (f" + {place}" if place else "")
            lines.append(f"{TYPES[buffer.dtype]} *const {buffer.name} = {where};")
        lines += statement
    return lines, sizes
