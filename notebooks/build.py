"""Builds the notebooks: runs each source beside this file and writes it with its outputs.

python notebooks/build.py                             # all of them
python notebooks/build.py 01_attention 04_positions   # some
"""

import argparse
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from keras_transformer._utils.files import atomic_replace

FOLDER = Path(__file__).resolve().parent
SECONDS = 600  # that a cell may take
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def sources():
    """The notebooks' sources, in the order of the course."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(source):
    """A notebook without outputs; the same source always gives the same one."""
    cells = jupytext.read(source, fmt="py:percent").cells
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    for i, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{i + 1}", {}
    return notebook


def refuse_warnings(cell, **_):
    for output in cell.outputs:
        if output.get("name") == "stderr":
            raise RuntimeError(f"A cell warns.\n\n{cell.source}\n\n{output.text}")


def execute(notebook):
    """Runs all cells in a fresh process whose folder is this one; the outputs stay in them."""
    client = NotebookClient(
        notebook,
        kernel_name=KERNEL["name"],
        resources={"metadata": {"path": str(FOLDER)}},
        timeout=SECONDS,
        record_timing=False,
        coalesce_streams=True,
        on_cell_executed=refuse_warnings,
        # What TensorFlow tells about the machine shall go to the terminal, not into the notebook.
        extra_arguments=["--IPKernelApp.capture_fd_output=False", "--IPKernelApp.log_level=ERROR"],
    )
    client.execute()
    notebook.metadata["language_info"] = LANGUAGE  # without the version of this Python
    for cell in notebook.cells:
        cell.metadata = {}


def build(source):
    """Writes the notebook of a source beside it, whole or not at all."""
    notebook, started = read(source), time.perf_counter()
    execute(notebook)
    with atomic_replace(source.with_suffix(".ipynb")) as temporary:
        temporary.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    seconds = time.perf_counter() - started
    print(f"{source.stem}: {len(notebook.cells)} cells, {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="build.py", description="Builds the notebooks.")
    names = [source.stem for source in sources()]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(names)}")
    wanted = [Path(name).stem for name in parser.parse_args().names] or names
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"there is no such notebook: {', '.join(unknown)}")
    # The outputs are to be read: no messages of libraries among them.
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", PYDEVD_DISABLE_FILE_VALIDATION="1")
    for name in wanted:
        try:
            build(FOLDER / f"{name}.py")
        except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
            sys.exit(f"{name} failed.\n\n{error}")


if __name__ == "__main__":
    main()
