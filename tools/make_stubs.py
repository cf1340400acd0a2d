"""Writes the stubs (`.pyi`) that type checkers and editors read instead of the modules.

    python -m tools.make_stubs

Constructors of this package pass the arguments of their bases on as `**kwargs`, which no type checker can follow. The
stub of a module with such a class lists all arguments. It has no docstrings: editors show those of the source.

Git does not track stubs. They are written whenever the package is built or installed, also with `--editable`. Keras is
missing then, so the modules run with fakes in place of all other packages: their classes get the signatures that they
have at run time, and nothing else of them is read.
"""

import ast
import builtins
import importlib
import inspect
import os
import pathlib
import re
import sys
import types
import unittest.mock

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = "keras_adaptive_rnn"
# Rooms without layers, which need what they import: fakes, too.
FAKED = tuple(f"{PACKAGE}.{name}" for name in ("_backend", "_commands", "_keras", "_private", "engine", "hub"))
HEADER = f"""# Written by tools/make_stubs.py.
from typing import Any, Self
from {PACKAGE}._types import Activation, Constraint, Initializer, Regularizer, Tensor
"""
# Arguments of these types alone are attributes of the same type.
PLAIN = {"int", "float", "bool", "str", "list", "None"}
RETURNS = {
    "__init__": "None",
    "__init_subclass__": "None",
    "build": "None",
    "from_config": "Self",
    "get_config": "dict[str, Any]",
}


class Fake(types.ModuleType):
    """A module, a function or an object of a package that may be missing. What begins with a capital is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        fake = Fake(f"{self.__name__}.{name}")
        if name.lstrip("_")[:1].isupper():
            fake = type(name, (), {"__module__": self.__name__, "__init__": lambda self, *args, **kwargs: None})
        setattr(self, name, fake)
        return fake

    def __call__(self, *args, **kwargs):
        return lambda decorated: decorated

    def __or__(self, other):
        return self

    __ror__ = __or__


class Sources:
    """The modules of the package, run with fakes."""

    def __init__(self, root):
        self.files, self.modules = {}, {}
        for file in sorted((root / PACKAGE).rglob("*.py")):
            path = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if not path.startswith(FAKED):
                self.files[path] = file
        # Data classes look for their module there.
        with unittest.mock.patch.dict(sys.modules):
            for path in self.files:
                self.module(path)

    def module(self, path):
        """Returns a module of the package, or a fake."""
        if path.partition(".")[0] in sys.stdlib_module_names:
            return importlib.import_module(path)
        parent, _, name = path.rpartition(".")
        outer = self.module(parent) if parent else None
        if path not in self.modules:
            self.modules[path] = module = types.ModuleType(path) if path in self.files else Fake(path)
            if outer:
                setattr(outer, name, module)
            if path in self.files:
                sys.modules[path] = module
                self.run(module, self.files[path])
        return self.modules[path]

    def run(self, module, file):
        """Runs each statement of a module with fakes. Values that only the true packages have are left out."""
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": self.import_module}
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            try:
                exec(compile(ast.Module([statement], []), file, "exec"), vars(module))
            except Exception:
                if isinstance(statement, (ast.ClassDef, ast.Import, ast.ImportFrom)):
                    raise

    def import_module(self, path, globals=None, locals=None, fromlist=(), level=0):
        found = self.module(path)
        for name in fromlist or ():
            inner = f"{path}.{name}"
            if inner in self.files or inner in FAKED:
                self.module(inner)
        return found if fromlist else self.module(path.partition(".")[0])

    def classes(self, module):
        """Returns the classes that a module defines whose constructors pass arguments on, by name."""
        named = vars(self.modules[module]).items()
        classes = {name: value for name, value in named if getattr(value, "__module__", "") == module}
        signed = self.modules[f"{PACKAGE}._signatures"].HasSignature
        return {n: c for n, c in classes.items() if isinstance(c, type) and issubclass(c, signed) and c is not signed}


class Stub(ast.NodeTransformer):
    """Turns the source of a module into its stub."""

    def __init__(self, classes, public):
        self.classes, self.public = classes, public

    def text(self, source):
        tree = self.visit(ast.parse(source))
        return re.sub(r":\n +\.\.\.\n+", ": ...\n", ast.unparse(ast.fix_missing_locations(tree)) + "\n")

    def visit_Expr(self, node):
        return None

    def visit_AugAssign(self, node):
        return None

    def visit_Assign(self, node):
        names = [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        if names == ["__all__"]:
            return ast.parse(f"__all__ = {self.public!r}").body
        made = self.classes.get(names[0])
        if made is None:
            return ast.parse("\n".join(f"{name}: Any" for name in names)).body
        fields = "".join(f"    {name}: {text}\n" for name, text in arguments_of(made).items())
        return ast.parse(f"class {made.__name__}({made.__bases__[0].__name__}):\n{fields}    {constructor(made)}").body

    def visit_AnnAssign(self, node):
        node.value = node.value and ast.Constant(...)
        return node

    def visit_FunctionDef(self, node):
        if node.name == "__getattr__":  # It would let any name through.
            return None
        arguments = node.args
        listed = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        for argument in filter(None, listed):
            if argument.annotation is None and argument.arg not in ("self", "cls"):
                argument.annotation = ast.Name("bool | None" if argument.arg == "training" else "Any")
        node.returns = node.returns or ast.Name(RETURNS.get(node.name, "Any"))
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_ClassDef(self, node):
        cls, found = self.classes.get(node.name), ast.walk(node)
        stored = [n.attr for n in found if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
        fields = dict.fromkeys(stored, "Any")
        self.generic_visit(node)
        node.decorator_list = []
        if cls is not None:
            node.body = [n for n in node.body if getattr(n, "name", "") not in ("__init__", "__new__")]
            node.body += ast.parse(constructor(cls)).body
            fields |= arguments_of(cls)
        present = {getattr(n, "name", "") for n in node.body}
        present |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
        texts = [f"{name}: {text}" for name, text in fields.items() if name not in present]
        node.body = [*ast.parse("\n".join(texts)).body, *node.body] or [ast.Expr(ast.Constant(...))]
        return node


def full_annotation(parameter):
    """Returns the annotation of an argument as text, with the modules of its names; `Any` if it has none."""
    return "Any" if parameter.annotation is parameter.empty else inspect.formatannotation(parameter.annotation)


def annotation(parameter):
    return re.sub(r"[\w.]+\.(?=\w)", "", full_annotation(parameter))


def imports(classes):
    """Returns the text that imports the names in the annotations of the arguments."""
    texts = [full_annotation(p) for cls in classes for p in cls.__signature__.parameters.values()]
    names = {pair for text in texts for pair in re.findall(r"([\w.]+)\.(\w+)", text)}
    return "".join(f"from {module} import {name}\n" for module, name in sorted(names))


def arguments_of(cls):
    """Returns the types of the attributes that hold the arguments, by name."""
    texts = {name: annotation(parameter) for name, parameter in cls.__signature__.parameters.items()}
    return {name: text if set(re.findall(r"\w+", text)) <= PLAIN else "Any" for name, text in texts.items()}


def constructor(cls):
    """Returns the text of the constructor with all arguments."""
    texts, listed, rest = ["self"], list(cls.__signature__.parameters.values()), []
    if getattr(cls, "cell_class", cls) is None:
        # A subclass names the cell, and takes the arguments of that.
        texts, rest = ["self", "*args: Any"], ["**kwargs: Any"]
        listed = [p.replace(kind=p.KEYWORD_ONLY) for p in listed if p.default is not p.empty]
    for p in listed:
        if p.kind is p.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        texts.append(f"{p.name}: {annotation(p)}" + ("" if p.default is p.empty else f" = {p.default!r}"))
    return f"def __init__({', '.join(texts + rest)}) -> None: ..."


def stubs(root=ROOT):
    """Returns `{path: text}` of the stubs of modules with such classes, and of packages whose `__all__` is computed."""
    sources, found = Sources(root), {}
    for path, file in sources.files.items():
        source, classes = file.read_text(encoding="utf-8"), sources.classes(path)
        if classes or re.search(r"^__all__ \+?= [a-z]", source, flags=re.MULTILINE):
            public = getattr(sources.modules[path], "__all__", [])
            found[file.with_suffix(".pyi")] = HEADER + imports(classes.values()) + Stub(classes, public).text(source)
    return found


def write(root=ROOT):
    """Writes the stubs that are stale, and removes those of modules that have none."""
    wanted = stubs(root)
    for path in (root / PACKAGE).rglob("*.pyi"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            # Other processes may be reading or writing it.
            unfinished = path.with_suffix(f".{os.getpid()}.tmp")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
    return wanted


class BuildHook(BuildHookInterface):
    """Writes the stubs before a wheel is built, or an editable one."""

    def initialize(self, version, build_data):
        write(pathlib.Path(self.root))


if __name__ == "__main__":
    print(f"{len(write())} stubs")
