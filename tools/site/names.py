"""The public names of the packages, and the page of each."""

import dataclasses
import importlib
import inspect
import pathlib
import pkgutil

import keras_adaptive_rnn
import keras_rnn_compare

PACKAGE, COMPARE = "keras_adaptive_rnn", "keras_rnn_compare"
ROOT = pathlib.Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Name:
    """A public class or function.

    Args:
        value: The class or function.
        room: Name of the public module that it is shown in, such as `"layers"`, `""` for the package itself, or
            `"keras_rnn_compare"` for that other package.
        paths: All paths under which it can be imported, the shortest first.
        page: Its page, without extension, relative to the root of the site.
    """

    value: object
    room: str
    paths: tuple[str, ...]
    page: str

    @property
    def name(self):
        return self.paths[0].rpartition(".")[2]

    @property
    def file(self):
        """The path of its source, relative to the root of the repository."""
        return pathlib.Path(inspect.getsourcefile(inspect.unwrap(self.value))).relative_to(ROOT)

    @property
    def line(self):
        try:
            return inspect.getsourcelines(inspect.unwrap(self.value))[1]
        except OSError:  # A class that a function makes.
            lines = (ROOT / self.file).read_text(encoding="utf-8").splitlines()
            return next(k for k, line in enumerate(lines, 1) if line.startswith(f"{self.name} = "))


def rooms():
    """Returns the public modules by name, `""` for the package itself."""
    found = {"": keras_adaptive_rnn}
    for _, name, _ in pkgutil.iter_modules(keras_adaptive_rnn.__path__):
        if not name.startswith("_") and name not in ("engine", "loop", "one_step"):
            found[name] = importlib.import_module(f"{PACKAGE}.{name}")
    return {**found, COMPARE: keras_rnn_compare}


def module_of(room):
    """Returns the path of a public module."""
    return room if room == COMPARE else ".".join(filter(None, (PACKAGE, room)))


def listed(module):
    """Returns the names of the classes and functions that a module offers: `__all__`, or what it defines itself.

    `from x import Y as Y` offers a base class that `__all__` leaves out.
    """
    source, offered = inspect.getsource(module), list(getattr(module, "__all__", ()))
    offered += [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and ((value.__module__ == module.__name__ and not offered) or f"import {name} as {name}" in source)
    ]
    values = ((name, getattr(module, name)) for name in dict.fromkeys(offered))
    # Exceptions have no signature, and a function that raises them says when.
    return {
        name: value
        for name, value in values
        if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
    }


def public():
    """Returns a `Name` for each public class and function, ordered by room and name."""
    paths, homes = {}, {}
    for room, module in rooms().items():
        for name, value in listed(module).items():
            if value.__module__.startswith((f"{PACKAGE}.", f"{COMPARE}.")):
                paths.setdefault(value, []).append(f"{module_of(room)}.{name}")
                # The room that defines it; else the first that offers it, and the package itself last.
                defined = room and value.__module__.startswith(f"{module_of(room)}.")
                if value not in homes or not homes[value] or defined:
                    homes[value] = room
    found, pages = [], set()
    for value, where in paths.items():
        shortest = tuple(sorted(where, key=lambda path: (path.count("."), path)))
        page = "/".join(filter(None, ("api", homes[value], shortest[0].rpartition(".")[2])))
        # On some systems `LSUV.html` and `lsuv.html` are the same file.
        page = f"{page}_{'class' if inspect.isclass(value) else 'function'}" if page.lower() in pages else page
        pages.add(page.lower())
        found.append(Name(value, homes[value], shortest, page))
    return sorted(found, key=lambda name: (name.room, name.name.lower(), name.name))
