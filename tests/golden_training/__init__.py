"""What other people's code computes when it trains and evaluates language models (see README.md here).

Files of the same format in the folder that the environment variable `KAR_GOLDEN_TRAINING_DIR` names are tested, too.
"""

import fnmatch
import json
import os
import pathlib

import numpy as np

FOLDERS = [pathlib.Path(__file__).parent]
if "KAR_GOLDEN_TRAINING_DIR" in os.environ:
    FOLDERS.append(pathlib.Path(os.environ["KAR_GOLDEN_TRAINING_DIR"]))


def cases(*systems, names="*"):
    """Returns a list of `(name, arrays, meta)`, one for every file of the named systems.

    `arrays` is a dict of NumPy arrays by their names in the file, and `meta` is its description. A file in the second
    folder replaces the one of the same name. For `pytest.mark.parametrize`, `ids=case_name` shows the name.

    Args:
        *systems: The systems, as `meta["system"]` has them.
        names: Pattern of the names in `meta`, where a system has files of several kinds, such as `"awd_lm_*"`.
    """
    paths = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.npz"))}
    found = []
    for name, path in paths.items():
        with np.load(path) as file:
            meta = json.loads(str(file["meta"]))
            if meta["system"] in systems and fnmatch.fnmatch(meta["name"], names):
                found.append((name, {key: file[key] for key in file.files if key != "meta"}, meta))
    assert found, f"no .npz file of {systems} in {[str(folder) for folder in FOLDERS]}"
    return found


def case_name(value):
    """Returns how a parameter of a test is shown: the name of a case, and nothing for its arrays."""
    return value if isinstance(value, str) else ""


def part(arrays, prefix):
    """Returns the arrays whose names begin with `prefix` and a dot, by the rest of their names."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
