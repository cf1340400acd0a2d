"""Runs tasks, and collects their results for the gallery, which the documentation site shows.

python -m examples.tasks                       # the list
python -m examples.tasks adding_problem all    # runs them, each in a process of its own; `all` are all
python -m examples.tasks --gallery             # copies the results from runs/tasks into docs/tasks
"""

import argparse
import ast
import json
import pathlib
import subprocess
import sys

from PIL import Image

from examples.tasks import _task

HERE = pathlib.Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
FIGURES = DOCS / "tasks" / "figures.json"
BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
NAMES = sorted(path.stem for path in HERE.glob("[!_]*.py"))
HEAD = """# Tasks

Each task is a script of 30 to 90 lines that learns something in less than two minutes on two cores, on every Keras
backend. `--small` takes a few seconds and shows that the script runs:

```sh
KERAS_BACKEND=jax python -m examples.tasks.adding_problem
KERAS_BACKEND=torch python -m examples.tasks.adding_problem --small
```

{about}
"""
ON_GITHUB = "The documentation site (`make docs-serve`) shows the results and pictures of each task on this page.\n"
ON_SITE = """\
Each result is from one run with seed 0, on the backend named, and on held-out data unless stated otherwise. The results
show that a task works; they are not a benchmark, and another seed gives other results. "Weights" counts the weights
of the recurrent layer or, with several layers or a bidirectional one, of the whole model. The text of Python's language
reference is from Python 3.11.
"""
# Pictures in a row of the first table.
ACROSS = 3


def described(name: str) -> list[str]:
    """Returns the paragraphs of the docstring."""
    return ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))).split("\n\n")


def table(rows: dict[str, dict[str, float]]) -> str:
    lines = [["", *_task.columns(rows)], ["---", *["---:"] * len(_task.columns(rows))]]
    lines += [[name, *(_task.shown(row.get(column)) for column in _task.columns(rows))] for name, row in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(name: str, result: dict) -> str:
    first, *text = described(name)
    title, about = titled(first)
    picture = DOCS / "images" / "tasks" / f"{name}.png"
    parts = [f"## {title}", f"{about[0].upper()}{about[1:]}", *text, f"    python -m examples.tasks.{name}"]
    parts += [f"With {BACKENDS[result['backend']]}:", table(result["rows"])]
    parts += [f"![{about}](../images/tasks/{name}.png)"] if picture.exists() else []
    return "\n\n".join([*parts, f"[Source](../../examples/tasks/{name}.py)"]) + "\n"


def titled(first: str) -> tuple[str, str]:
    """Returns the title of a task, and what it is about: `"Title: about."`"""
    title, about = first.split(": ", 1)
    return title, about


def anchor(title: str) -> str:
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def thumbnails(names: list[str]) -> str:
    """Returns a table of the pictures, each a link to its section."""
    cells = []
    for name in names:
        title, _ = titled(described(name)[0])
        # HTML, as Markdown cannot say how wide a picture is.
        image = f'<img src="../images/tasks/{name}.png" width="220" alt="{title}">'
        cells.append(f"[{image}](#{anchor(title)}) {title}")
    cells += [""] * (-len(cells) % ACROSS)
    rows = [[""] * ACROSS, [":---:"] * ACROSS]
    rows += [cells[k : k + ACROSS] for k in range(0, len(cells), ACROSS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def index() -> str:
    """Returns docs/tasks/index.md: the list of the tasks, each a link to its script."""
    titles = [(name, *titled(described(name)[0])) for name in NAMES]
    contents = "".join(f"- [{title}](../../examples/tasks/{name}.py): {about}\n" for name, title, about in titles)
    return f"{HEAD.format(about=ON_GITHUB)}{contents}"


def gallery() -> str:
    """Returns the page of the documentation site: the list, and a section for each task with its results."""
    results = json.loads(FIGURES.read_text(encoding="utf-8"))
    titles = [titled(described(name)[0]) for name in results]
    shown = [name for name in results if (DOCS / "images" / "tasks" / f"{name}.png").exists()]
    contents = "".join(f"- [{title}](#{anchor(title)}): {about}\n" for title, about in titles)
    sections = "\n".join(section(name, results[name]) for name in results)
    return "\n".join([HEAD.format(about=ON_SITE), thumbnails(shown), contents, sections])


def collect():
    """Copies tables and pictures from `runs/tasks`, and writes docs/tasks/index.md."""
    results = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    for name in NAMES:
        path = _task.OUTPUT / f"{name}.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"small": True}
        if found.pop("small"):
            continue
        results[name] = found
        if (_task.OUTPUT / f"{name}.png").exists():
            (DOCS / "images" / "tasks").mkdir(exist_ok=True)
            picture = Image.open(_task.OUTPUT / f"{name}.png").convert("RGB").quantize(128, dither=Image.Dither.NONE)
            picture.save(DOCS / "images" / "tasks" / f"{name}.png", optimize=True)
    results = {name: results[name] for name in NAMES if name in results}
    FIGURES.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (DOCS / "tasks" / "index.md").write_text(index(), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*NAMES, "all", []], help="tasks to run")
    parser.add_argument("--gallery", action="store_true", help="write docs/tasks from runs/tasks")
    args = parser.parse_args()
    for name in NAMES if "all" in args.names else args.names:
        subprocess.run([sys.executable, "-m", f"examples.tasks.{name}"], check=True)
    if args.gallery:
        collect()
    elif not args.names:
        for name in NAMES:
            print(f"{name:22}{described(name)[0]}")


if __name__ == "__main__":
    main()
