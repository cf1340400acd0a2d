"""Says that the backend of Keras is missing or misspelt, before Keras is imported and names only a missing module.

A command of this package runs on an installed backend instead, unless `KERAS_BACKEND` names the missing one.
"""

import difflib
import importlib.util
import json
import os
import pathlib
import re
import sys

NAMES = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
KNOWN = (*NAMES, "numpy", "openvino")
# What else they are called, in small letters.
CALLED = {**{name: name for name in KNOWN}, "pytorch": "torch", "tf": "tensorflow", "np": "numpy"}
VARIABLE = "KERAS_BACKEND"


def check():
    """Raises an error if Keras has no backend of the name that it is told, or the backend is not installed."""
    if "keras" in sys.modules:
        return
    backend, chosen_by = configured()
    if backend not in KNOWN:
        near = difflib.get_close_matches(str(backend).strip().lower(), CALLED, n=1)
        hint = f'did you mean "{CALLED[near[0]]}"?' if near else f"choose one of {', '.join(KNOWN)}."
        unknown = f"{backend!r}, {chosen_by}, is not the name of a backend: {hint}"
        if is_command():
            sys.exit(f"error: {unknown}")
        raise ValueError(unknown)
    if backend not in NAMES or is_installed(backend):
        return
    installed = [name for name in NAMES if is_installed(name)]
    missing = f"{NAMES[backend]}, {chosen_by}, is not installed"
    if not is_command():
        raise ImportError(f"{missing}. {advice(backend, installed)}", name=backend)
    if not installed or os.environ.get(VARIABLE):
        sys.exit(f"error: {missing}. {advice(backend, installed)}")
    os.environ[VARIABLE] = installed[0]
    print(f"{missing}: running on {NAMES[installed[0]]}. The variable {VARIABLE} chooses another.", file=sys.stderr)


def configured():
    """Returns the backend that Keras will import, and, for a message, what has chosen it."""
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE], f"which {VARIABLE} names"
    home = os.path.expanduser("~")
    folder = os.environ.get("KERAS_HOME", os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras"))
    path = os.path.expanduser(os.path.join(folder, "keras.json"))
    try:
        with open(path) as file:
            backend = json.load(file)["backend"]
    except (OSError, ValueError, KeyError, TypeError):
        # Keras, too, takes its default where there is no such file, or one that says nothing.
        return "tensorflow", "the default backend of Keras"
    return backend, f"the backend in {path}, a file that Keras writes when it is first imported"


def is_installed(name):
    spec = importlib.util.find_spec(name)
    # A folder of this name without Python files is no module.
    return spec is not None and spec.origin is not None


def advice(backend, installed):
    install = f'pip install "keras_adaptive_rnn[{backend}]"'
    if not installed:
        return f"Install a backend, such as {NAMES[backend]}: {install}"
    choices = " or ".join(f'os.environ["{VARIABLE}"] = "{name}"' for name in installed)
    return f"Choose one that is, before anything imports Keras: {choices}. Or install it: {install}"


def is_command():
    """Returns whether a command is importing this package: `python -m keras_adaptive_rnn...`, or keras-rnn-compare."""
    if sys.argv and pathlib.PurePath(sys.argv[0]).stem == "keras-rnn-compare":
        return True
    # While Python looks for the module, its name is only in the command line.
    if sys.argv[:1] != ["-m"]:
        return False
    return any(re.fullmatch(rf"(-\w*m)?{__package__}(\.\w+)*", argument) for argument in sys.orig_argv[1:])
