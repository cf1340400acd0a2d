"""Runs the notebooks of `docs/notebooks` from beginning to end, and writes their outputs into them.

    python -m tools.run_notebooks [NAME ...]

Their first cells install the package. In an environment that has it, nothing is fetched.
"""

import os
import pathlib
import re
import sys
import tempfile
import time

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).parents[1] / "docs" / "notebooks"


def run(path):
    """Returns the notebook with the outputs of a run in an empty folder.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed. The message has the cell and its traceback.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # Each notebook chooses its backend.
        environment = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"}
        nbclient.NotebookClient(
            notebook,
            timeout=600,
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,
        ).execute(env=environment)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [shown(output) for output in cell.outputs if output.get("name") != "stderr"]
            cell.outputs = [output for output in cell.outputs if output.get("text", "x").strip()]
    return notebook


def shown(output):
    """Returns an output without what pip and TensorFlow say of the machine."""
    if "text" in output:
        output.text = re.sub(r"^(INFO:tensorflow|Note: you may).*\n+", "", output.text, flags=re.MULTILINE)
    return output


def main():
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        path, start = FOLDER / f"{name}.ipynb", time.monotonic()
        nbformat.write(run(path), path)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
