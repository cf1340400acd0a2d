"""A LiteRT file as C source: an array, and a header that describes its inputs and outputs."""

import pathlib
import re

import numpy as np

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.one_step.c_tensors import TYPES

HEADER = """\
/* One time step of a recurrent model, a LiteRT file as an array.

   The interpreter knows tensors by the numbers {name}_INPUT_... and {name}_OUTPUT_.... The states are zeros before the
   first step, and outputs {prefix}_state_outputs[k] are inputs {prefix}_state_inputs[k] of the next step. An output may
   lie where an input was: copy all of them out before the first one goes in. */

#ifndef {name}_H
#define {name}_H

#ifdef __cplusplus
extern "C" {{
#endif

extern const unsigned char {prefix}_model[];
extern const unsigned int {prefix}_model_bytes;

{tensors}

#define {name}_STATES {count}
#define {name}_STATE_BYTES {total}
{states}

#ifdef __cplusplus
}}
#endif

#endif
"""


def check_filepath(filepath, format):
    """Returns the path of a C file as a `pathlib.Path`, or raises an error."""
    path = pathlib.Path(filepath)
    if path.suffix != ".c" or not re.fullmatch(r"[A-Za-z_]\w*", path.stem, re.ASCII):
        raise ValueError(
            f"Argument `filepath` must end in `.c` for the format {format!r}, after a name in C: letters, digits "
            f"and underscores. Received: filepath={str(filepath)!r}"
        )
    return path


def write(path, contents):
    """Writes a LiteRT file as `path`, a C file, and a header beside it."""
    prefix = path.stem
    inputs, outputs = engine.litert_tensors(contents)
    tensors = [
        line
        for kind, found in (("INPUT", inputs), ("OUTPUT", outputs))
        for each, tensor in sorted(found.items(), key=lambda item: item[1][0])
        for line in defined(re.sub(r"\W", "_", f"{prefix}_{kind}_{each}".upper(), flags=re.ASCII), *tensor)
    ]
    states = [f"state_{k}" for k in range(sum(f"next_{each}" in outputs for each in inputs))]
    listed = {
        "inputs": [inputs[each][0] for each in states],
        "outputs": [outputs[f"next_{each}"][0] for each in states],
        "bytes": [size_of(*inputs[each][1:]) for each in states],
    }
    header = HEADER.format(
        name=prefix.upper(),
        prefix=prefix,
        tensors="\n".join(tensors),
        count=len(states),
        total=sum(listed["bytes"]),
        states="\n".join(
            f"static const int {prefix}_state_{each}[] = {{{', '.join(map(str, values))}}};"
            for each, values in listed.items()
        ),
    )
    path.with_suffix(".h").write_text(header)
    rows = ",\n".join(", ".join(map(str, contents[k : k + 20])) for k in range(0, len(contents), 20))
    path.write_text(
        f'#include "{path.with_suffix(".h").name}"\n\n'
        "#ifdef __GNUC__\n__attribute__((aligned(16)))\n#endif\n"
        f"const unsigned char {prefix}_model[] = {{\n{rows}\n}};\n\n"
        f"const unsigned int {prefix}_model_bytes = {len(contents)};\n"
    )


def defined(macro, number, shape, dtype):
    """Returns the lines of a tensor: its number, its type and shape, and its size."""
    dtype_name = np.dtype(dtype).name
    declared = TYPES.get(dtype_name, dtype_name) + "".join(f"[{size}]" for size in shape)
    return [f"#define {macro} {number} /* {declared} */", f"#define {macro}_BYTES {size_of(shape, dtype)}"]


def size_of(shape, dtype):
    return int(np.prod(shape)) * np.dtype(dtype).itemsize
