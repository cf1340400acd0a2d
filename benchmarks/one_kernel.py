"""How far one kernel for all steps is from the loop, in outputs and gradients, for each cell of the tests.

    KERAS_BACKEND=jax python -m benchmarks.one_kernel

It writes `docs/tables/one_kernel.csv`. Pallas interprets the kernels, in float64, so that only the order of sums
differs.
"""

import numpy as np
from rich.progress import track

from benchmarks.rows import write_tables
from tests import kernels


def largest(pairs):
    """Returns the largest difference within pairs of arrays, relative to entries above one."""
    return np.max([np.max(abs(b - a), initial=0) / max(1.0, abs(a).max()) for a, b in pairs])


def main():
    lines = [["cell", "dtype", "outputs", "gradients"]]
    with kernels.float64():
        for name in track(kernels.MAKERS, "Comparing"):
            case, in_float64 = kernels.case_of(name)
            found = [f"{largest(pairs):.1e}" for pairs in kernels.outcomes(case, training=True)]
            lines.append([name, "float64" if in_float64 else "partly float32", *found])
    write_tables({"one_kernel": lines})


if __name__ == "__main__":
    main()
