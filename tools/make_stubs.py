"""Writes the stubs (`.pyi`) that type checkers and editors read instead of the modules.

    python -m tools.make_stubs

Constructors of this package pass the arguments of their bases on as `**kwargs`, which no type checker can follow. The
stub of a module with such a class lists all arguments. It has no docstrings: editors show those of the source.

Git does not track stubs. They are written whenever the package is built or installed, also with `--editable`. Keras is
missing then, so nothing is imported: each class is defined from what in its source decides its signature (its bases, a
few attributes and the head of `__init__`), and `keras_adaptive_rnn/_signatures.py` does the rest, as at run time.
"""

import ast
import copy
import functools
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import sys

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = "keras_adaptive_rnn"
DECLARED = f"{PACKAGE}._arguments.DeclaredArguments"
SIGNATURES = f"{PACKAGE}._signatures"
# Not read: the first has no layers, and what the other takes from Keras stands for classes of Keras.
SKIPPED = (f"{PACKAGE}.engine", f"{PACKAGE}._keras")
# Methods that decide the signatures of a class and its subclasses: they run.
METHODS = ("__init_subclass__", "accepted_arguments")
# Arguments of these types alone are attributes of the same type.
PLAIN = {"int", "float", "bool", "str", "list", "None"}
ANY = "typing.Any"
METHOD_ARGUMENTS = {"training": "bool | None"}
RETURNS = {
    "__init__": "None",
    "__init_subclass__": "None",
    "build": "None",
    "get_config": "dict[str, typing.Any]",
    "from_config": "typing.Self",
}

# What classes of `keras.layers` take by position, for `positional_arguments_of`.
GATED = "units activation recurrent_activation"
INITIALIZERS = "use_bias kernel_initializer recurrent_initializer bias_initializer"
REGULARIZERS = "kernel_regularizer recurrent_regularizer bias_regularizer"
CONSTRAINTS = "kernel_constraint recurrent_constraint bias_constraint"
RATES = "dropout recurrent_dropout"
OF_CELL = f"{REGULARIZERS} {CONSTRAINTS} {RATES}"
OF_LAYER = f"{REGULARIZERS} activity_regularizer {CONSTRAINTS} {RATES}"
OF_LOOP = "return_sequences return_state go_backwards stateful unroll"
KERAS = {
    "SimpleRNNCell": f"units activation {INITIALIZERS} {OF_CELL} seed",
    "SimpleRNN": f"units activation {INITIALIZERS} {OF_LAYER} {OF_LOOP} seed",
    "GRUCell": f"{GATED} {INITIALIZERS} {OF_CELL} reset_after seed",
    "GRU": f"{GATED} {INITIALIZERS} {OF_LAYER} seed {OF_LOOP} reset_after use_cudnn",
    "LSTMCell": f"{GATED} {INITIALIZERS} unit_forget_bias {OF_CELL} seed",
    "LSTM": f"{GATED} {INITIALIZERS} unit_forget_bias {OF_LAYER} seed {OF_LOOP} use_cudnn",
}


@functools.cache
def of_another_package(path):
    """Returns a class in place of a name of a package that may be missing."""
    module, _, name = path.rpartition(".")
    attributes = {"__module__": module}
    if module == "keras.layers" and name in KERAS:
        exec(f"def __init__(self, {', '.join(KERAS[name].split())}): ...", {}, attributes)
    return type(name, (), attributes)


class Module(ast.NodeTransformer):
    """The source of a module.

    As a transformer, it replaces names that the module binds by their full paths, such as `keras.layers.Layer`.
    """

    def __init__(self, path, file):
        self.path, self.file = path, file
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        # What `__all__` leaves out, but `from x import Y as Y` passes on.
        self.full, self.nodes, self.stars, self.offered = {}, {}, [], []
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                heads = [a.name.partition(".")[0] for a in node.names]
                self.full |= {a.asname or h: a.name if a.asname else h for a, h in zip(node.names, heads, strict=True)}
            elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                self.stars.append(node.module)
            elif isinstance(node, ast.ImportFrom):
                self.full |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
                self.offered += [a.name for a in node.names if a.name == a.asname]
            else:
                names = [node.name] if hasattr(node, "name") else [t.id for t in targets(node)]
                self.nodes |= dict.fromkeys(names, node)
                self.full |= {name: f"{path}.{name}" for name in names}
        self.classes = [name for name, node in self.nodes.items() if isinstance(node, ast.ClassDef)]

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.full:
            node.id, node.is_path = self.full[node.id], True
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if not hasattr(node.value, "is_path"):
            return node
        node.value.id += f".{node.attr}"
        return node.value


def targets(node):
    """Returns the names that an assignment binds."""
    bound = [*getattr(node, "targets", ()), *([node.target] if hasattr(node, "target") else ())]
    names = [n for target in bound for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name for name in names if isinstance(name.ctx, ast.Store)]


def binds_all(node):
    return isinstance(node, (ast.Assign, ast.AugAssign)) and "__all__" in [name.id for name in targets(node)]


class Sources:
    """The modules of the package, and the classes that they define."""

    def __init__(self, root):
        self.modules = {}
        for file in sorted((root / PACKAGE).rglob("*.py")):
            path = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            if not path.startswith(SKIPPED):
                self.modules[path] = Module(path, file)
        spec = importlib.util.spec_from_file_location(SIGNATURES, self.modules[SIGNATURES].file)
        self.signatures = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.signatures)

    @functools.cache  # noqa: B019
    def find(self, path):
        """Returns the class, function or value with a path."""
        module, _, name = path.rpartition(".")
        if path == DECLARED:
            return self.signatures.HasSignature
        if module == SIGNATURES:
            return getattr(self.signatures, name)
        if module in self.modules:
            origin = self.origin(path)
            return self.defined(module, name) if origin == path else self.find(origin)
        if path.partition(".")[0] in sys.stdlib_module_names:
            return pkgutil.resolve_name(path)
        return of_another_package(path)

    def origin(self, path):
        """Returns the path of a name where it is defined, and not only imported."""
        module, _, name = path.rpartition(".")
        if path in self.modules or module not in self.modules or path.startswith(SKIPPED):
            return path
        source = self.modules[module]
        full = source.full.get(name) or next(f"{m}.{name}" for m in source.stars if name in self.all_names(m))
        return path if full == path else self.origin(full)

    def is_declared(self, cls):
        """Returns whether the constructor of a class may take arguments that its own code does not name."""
        return issubclass(cls, self.signatures.HasSignature) and cls is not self.signatures.HasSignature

    def defined(self, module, name):
        """Returns what a module defines: of a class, only what decides its signature."""
        node = self.modules[module].visit(copy.deepcopy(self.modules[module].nodes[name]))
        if isinstance(node, ast.ClassDef):
            node.decorator_list, node.body = [], [*reversed(list(self.declarations(node)))] or [ast.Pass()]
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and "." in n.id}
        namespace = {"__name__": module, **{path: self.find(path) for path in names}}
        exec(compile(ast.fix_missing_locations(ast.Module([node], [])), module, "exec"), namespace)
        return namespace[name]

    def declarations(self, node):
        """Yields the statements of a class that decide its signature, the last one first."""
        read = set(vars(self.signatures.HasSignature))
        for statement in reversed(node.body):
            if isinstance(statement, ast.FunctionDef) and statement.name in ("__init__", *METHODS):
                for argument in all_arguments(statement.args):
                    argument.annotation = argument.annotation and ast.Constant(ast.unparse(argument.annotation))
                statement.returns = None
                statement.body = [ast.Pass()] if statement.name == "__init__" else statement.body
            elif not (isinstance(statement, ast.Assign) and read & {t.id for t in targets(statement)}):
                continue
            read |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
            read |= {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)}
            yield statement

    def all_names(self, module):
        """Returns the `__all__` of a module, which `exported` may derive, or which is put together from others."""
        found = []
        for node in self.modules[module].tree.body:
            if binds_all(node):
                value = self.modules[module].visit(copy.deepcopy(node.value))
                if isinstance(value, ast.Call):
                    found += self.exported(module)
                else:
                    found += ast.literal_eval(value) if isinstance(value, ast.List) else self.all_names(value.id[:-8])
        return found

    def exported(self, module):
        """Returns the names of the classes in a module that `export` makes public."""
        source = self.modules[module]
        names = {*source.full, *(name for star in source.stars for name in self.all_names(star))}
        return sorted(name for name in names if self.is_exported(self.origin(f"{module}.{name}")))

    def is_exported(self, path):
        module, _, name = path.rpartition(".")
        node = self.modules[module].nodes.get(name) if module in self.modules else None
        return "export" in [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", ())]


def all_arguments(arguments):
    """Returns the nodes of all arguments of a function."""
    listed = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    return [argument for argument in listed if argument is not None]


class Stub(ast.NodeVisitor):
    """Turns the source of a module into its stub."""

    def __init__(self, sources, module):
        self.sources, self.module, self.imports = sources, module, set()

    def text(self):
        tree = ast.Module(self.statements(copy.deepcopy(self.module.tree).body), [])
        body = re.sub(r":\n +\.\.\.\n+", ": ...\n", ast.unparse(ast.fix_missing_locations(tree)) + "\n")
        return "\n".join([*sorted(self.imports), body])

    def statements(self, body):
        """Returns the statements of the stub of a module or class."""
        visited = [self.visit(node) for node in body]
        return [node for part in visited for node in (part if isinstance(part, list) else [part])]

    def generic_visit(self, node):
        return node if isinstance(node, (ast.Import, ast.ImportFrom)) else []

    def annotation(self, value):
        """Returns the text of an annotation, and imports the names in it."""
        text = value if isinstance(value, str) else inspect.formatannotation(value)
        for module, name in re.findall(r"([\w.]+)\.(\w+)", text):
            if self.module.full.get(name) != f"{module}.{name}":
                self.imports.add(f"from {module} import {name}")
        return re.sub(r"[\w.]+\.(?=\w)", "", text)

    def expression(self, value):
        return ast.parse(self.annotation(value), mode="eval").body

    def visit_Assign(self, node):
        if binds_all(node):
            return ast.parse(f"__all__ = {self.sources.all_names(self.module.path)!r}").body
        return [ast.parse(f"{name.id}: {self.annotation(ANY)}").body[0] for name in targets(node)]

    def visit_AnnAssign(self, node):
        node.value = node.value and ast.Constant(...)
        return node

    def visit_FunctionDef(self, node):
        for argument in all_arguments(node.args):
            known = METHOD_ARGUMENTS.get(argument.arg)
            if known or (argument.annotation is None and argument.arg not in ("self", "cls")):
                argument.annotation = self.expression(known or ANY)
        node.returns = node.returns or self.expression(RETURNS.get(node.name, ANY))
        node.body = [ast.Expr(ast.Constant(...))]
        return node

    def visit_ClassDef(self, node):
        init = next((n for n in node.body if getattr(n, "name", "") == "__init__"), None)
        fields = dict.fromkeys(stored(init) if init else (), self.annotation(ANY))
        node.decorator_list, node.body = [], self.statements(node.body)
        cls = self.sources.find(f"{self.module.path}.{node.name}")
        if self.sources.is_declared(cls):
            own, lines = {a.arg for a in all_arguments(init.args)} if init else (), [self.constructor(cls)]
            for p in cls.__signature__.parameters.values():
                text = self.annotation(p.annotation)
                text = text if set(re.findall(r"\w+", text)) <= PLAIN else self.annotation(ANY)
                if isinstance(vars(cls).get(p.name), property):
                    lines.append(f"@property\ndef {p.name}(self) -> {text}: ...")
                elif p.name in own:
                    fields[p.name] = text
            kept = [n for n in node.body if getattr(n, "name", "") not in ("__init__", "__new__")]
            node.body = ast.parse("\n".join(lines)).body + kept
        present = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
        present |= {name.id for n in node.body for name in targets(n)}
        declared = [f"{name}: {text}" for name, text in fields.items() if name not in present]
        node.body = [*ast.parse("\n".join(declared)).body, *node.body] or [ast.Expr(ast.Constant(...))]
        return node

    def constructor(self, cls):
        """Returns the text of the constructor with all arguments."""
        texts, listed = ["self"], list(cls.__signature__.parameters.values())
        star, rest = "*", []
        if getattr(cls, "cell_class", cls) is None:
            # A subclass names the cell, and takes the arguments of that.
            star, rest = f"*args: {self.annotation(ANY)}", [f"**kwargs: {self.annotation(ANY)}"]
            listed = [p.replace(kind=p.KEYWORD_ONLY) for p in listed if p.default is not p.empty]
        for p in listed:
            if p.kind is p.KEYWORD_ONLY and star not in texts:
                texts.append(star)
            default = "" if p.default is p.empty else f" = {p.default!r}"
            texts.append(f"{p.name}: {self.annotation(p.annotation)}{default}")
        return f"def __init__({', '.join(texts + rest)}) -> None: ..."


def stored(init):
    """Returns the names of the attributes that a constructor sets."""
    found = [n for n in ast.walk(init) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    return [n.attr for n in found if ast.unparse(n.value) == "self"]


def reexports(sources, path):
    """Returns the stub of a package whose `__all__` is computed, which type checkers do not follow."""
    names, lines = sources.all_names(path), []
    for name in [*names, *sources.modules[path].offered]:
        module, _, origin = sources.origin(f"{path}.{name}").rpartition(".")
        lines.append(f"from {module} import {origin} as {name}")
    version = ["__version__: str"] if "__version__" in sources.modules[path].nodes else []
    return "\n".join([*lines, *version, f"__all__ = {names!r}", ""])


def stubs(root=ROOT):
    """Returns `{path: text}` of all stubs."""
    sources, found = Sources(root), {}
    for module in sources.modules.values():
        if any(sources.is_declared(sources.find(f"{module.path}.{name}")) for name in module.classes):
            found[module.file.with_suffix(".pyi")] = Stub(sources, module).text()
        elif any(binds_all(node) and not isinstance(node.value, ast.List) for node in module.tree.body):
            found[module.file.with_suffix(".pyi")] = reexports(sources, module.path)
    return {path: f"# Written by tools/make_stubs.py.\n{text}" for path, text in found.items()}


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
