"""Writes the stubs (`.pyi`) that type checkers and editors read instead of the modules.

    python -m tools.make_stubs [--check]

Constructors of this package pass the arguments of their bases on as `**kwargs`, which no type checker can follow.
mypy's `stubgen` writes a stub of each module with such a class; this script replaces the constructors with what
`inspect.signature` shows. Docstrings are those that `help` shows, with all arguments. `--check` writes nothing and
fails if a stub is stale.
"""

import ast
import importlib
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys
import tempfile
import typing

import keras

import keras_adaptive_rnn
from keras_adaptive_rnn import _arguments, _types

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = "keras_adaptive_rnn"
# Keras has no annotations.
KERAS_ARGUMENTS = {"name": str | None, "trainable": bool, "activity_regularizer": _types.Regularizer}
BY_NAME = inspect.Parameter.KEYWORD_ONLY
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
METHOD_ARGUMENTS = {"training": "bool | None"}
RETURNS = {"__init_subclass__": "None", "build": "None", "get_config": "dict[str, Any]", "from_config": "Self"}
ALIASES = {str(value): name for name, value in vars(_types).items() if isinstance(value, type(int | str))}


def parameters(cls):
    """Returns the `inspect.Parameter` of each argument of the constructor of `cls`."""
    if "__signature__" in vars(cls):
        found = dict(cls.__signature__.parameters)
    else:
        found = dict(list(inspect.signature(cls.__init__).parameters.items())[1:])
        found.pop("kwargs", None)
        for name, declared in {**_arguments.LAYER_ARGUMENTS, **_arguments.parameters(cls)}.items():
            found.setdefault(name, declared.replace(kind=BY_NAME))
    if getattr(cls, "cell_class", cls) is None:
        # A subclass names the cell, and takes the arguments of that.
        named = [p.replace(kind=BY_NAME) for p in found.values() if p.default is not p.empty]
        found = {p.name: p for p in [inspect.Parameter("args", OPEN[0]), *named, inspect.Parameter("kwargs", OPEN[1])]}
    missing = {name: KERAS_ARGUMENTS.get(name, typing.Any) for name, p in found.items() if p.annotation is p.empty}
    return [p.replace(annotation=missing.get(p.name, p.annotation)) for p in found.values()]


def has_hidden_arguments(cls):
    """Returns whether the constructor takes arguments that its own code does not name."""
    init = vars(cls).get("__init__")
    return "__signature__" in vars(cls) or (init is not None and inspect.getfullargspec(init).varkw is not None)


class Completed(ast.NodeTransformer):
    """Completes the stub of a module: its constructors, and `Any` where the source has no annotation."""

    def __init__(self, module, classes):
        self.module, self.classes = module, classes
        self.imports = {("typing", "Any"), ("typing", "Self")}

    def annotation(self, value):
        """Returns the text of an annotation, and imports the names in it."""
        if str(value) in ALIASES:
            self.imports.add((_types.__name__, ALIASES[str(value)]))
            return ALIASES[str(value)]
        text = inspect.formatannotation(value)
        self.imports.update(re.findall(r"([\w.]+)\.(\w+)", text))
        return re.sub(r"[\w.]+\.(?=\w)", "", text)

    def constructor(self, cls):
        listed = parameters(cls)
        annotated = [p.replace(annotation=p.empty, default=p.empty) for p in listed]
        node = ast.parse(f"def __init__{inspect.Signature(annotated)} -> None: ...".replace("(", "(self, ", 1)).body[0]
        by_name = {p.name: p for p in listed}
        arguments = node.args
        for argument in [*arguments.args[1:], *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None:
                argument.annotation = expression(self.annotation(by_name[argument.arg].annotation))
        has_default = [p for p in listed if p.default is not p.empty]
        arguments.defaults = [expression(repr(p.default)) for p in has_default if p.kind is p.POSITIONAL_OR_KEYWORD]
        arguments.kw_defaults = [
            expression(repr(p.default)) if p in has_default else None for p in listed if p.kind is p.KEYWORD_ONLY
        ]
        return node

    def visit_Name(self, node):
        return ast.Name("Any") if node.id == "Incomplete" else node

    def visit_Assign(self, node):
        return ast.parse(f"{ast.unparse(node.targets[0])}: Any").body[0]

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        listed = [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for argument in listed:
            known = METHOD_ARGUMENTS.get(argument.arg) if argument else None
            if argument and (known or argument.annotation is None) and argument.arg not in ("self", "cls"):
                argument.annotation = expression(known or "Any")
        node.returns = node.returns or expression(RETURNS.get(node.name, "Any"))
        return node

    def visit_ClassDef(self, node):
        self.generic_visit(node)
        cls = getattr(self.module, node.name)
        if cls not in self.classes:
            return node
        methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        own = set(_arguments.parameters(cls)) if "__init__" in methods else set()
        fields = {ast.unparse(n.target): n for n in node.body if isinstance(n, ast.AnnAssign)}
        # A constructor keeps its own arguments; a layer has a property for each argument of its cell.
        for p in parameters(cls):
            text = inspect.formatannotation(p.annotation)
            is_plain = set(re.findall(r"\w+", text)) <= {"int", "float", "bool", "str", "list", "None"}
            text = text if is_plain else "Any"
            if p.name not in methods and isinstance(vars(cls).get(p.name), property):
                fields[p.name] = ast.parse(f"@property\ndef {p.name}(self) -> {text}: ...").body[0]
            elif p.name in own - methods - {"cell"} and not isinstance(getattr(cls, p.name, None), property):
                fields[p.name] = ast.parse(f"{p.name}: {text}").body[0]
        replaced = {"__init__", "__new__"}
        kept = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name not in replaced]
        doc = ast.Expr(ast.Constant(f"{inspect.cleandoc(cls.__doc__ or '')}\n"))
        node.body = [doc, *fields.values(), self.constructor(cls), *kept]
        return node


def expression(text):
    return ast.parse(text, mode="eval").body


def reexports(module):
    """Returns the stub of a package whose `__all__` is put together at run time."""
    lines = [f'"""{module.__doc__}"""']
    for name in module.__all__:
        value = getattr(module, name)
        lines.append(f"from {module.__name__ if inspect.ismodule(value) else value.__module__} import {name}")
    version = [f"__version__: str = {module.__version__!r}"] if hasattr(module, "__version__") else []
    return "\n".join([*lines, *version, f"__all__ = {module.__all__!r}"])


def stubs():
    """Returns `{path: text}` of all stubs."""
    names = [PACKAGE, *(m.name for m in pkgutil.walk_packages(keras_adaptive_rnn.__path__, f"{PACKAGE}."))]
    modules = [importlib.import_module(name) for name in names if not name.startswith(f"{PACKAGE}.engine.")]
    classes: dict = {}
    for module in modules:
        own = [c for c in vars(module).values() if inspect.isclass(c) and c.__module__ == module.__name__]
        classes |= {c: module for c in own if issubclass(c, keras.Layer) and has_hidden_arguments(c)}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        written = sorted({module.__file__ for module in classes.values()})
        command = [pathlib.Path(sys.executable).parent / "stubgen", "--quiet", "--parse-only", "--include-docstrings"]
        subprocess.run([*command, "--export-less", "--output", folder, *written], check=True, cwd=ROOT)
        for module in modules:
            path = pathlib.Path(module.__file__).relative_to(ROOT).with_suffix(".pyi")
            if module in classes.values():
                completed = Completed(module, list(classes))
                tree = ast.fix_missing_locations(completed.visit(ast.parse((folder / path).read_text())))
                imports = [f"from {m} import {n}" for m, n in sorted(completed.imports) if m != module.__name__]
                found[path] = "\n".join([f'"""{module.__doc__}"""', *imports, ast.unparse(tree)])
            elif "__all__ +=" in pathlib.Path(module.__file__).read_text():
                found[path] = reexports(module)
        for path, text in found.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        ruff = [sys.executable, "-m", "ruff"]
        settings = ["--quiet", "--config", ROOT / "pyproject.toml", folder]
        subprocess.run([*ruff, "check", "--fix-only", "--select", "I,F401,F811,PIE790,RUF022", *settings], check=True)
        subprocess.run([*ruff, "format", *settings], check=True)
        return {ROOT / path: (folder / path).read_text() for path in found}


def main(arguments):
    wanted = stubs()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in (ROOT / PACKAGE).rglob("*.pyi") if path not in wanted]
    if arguments == ["--check"]:
        return f"Stale, run `make stubs`: {', '.join(str(path.relative_to(ROOT)) for path in stale)}" if stale else 0
    for path in stale:
        path.write_text(wanted[path]) if path in wanted else path.unlink()
    print(f"{len(wanted)} stubs, {len(stale)} of them changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
