"""Builds the notebooks: executes their sources in this folder and saves them with the outputs.

python notebooks/build.py                             # all notebooks
python notebooks/build.py 01_attention 04_positions   # selected notebooks
"""

import argparse
import base64
import contextlib
import io
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from PIL import Image

from keras_transformer._utils.files import atomic_replace

FOLDER = Path(__file__).resolve().parent
TIMEOUT = 600  # seconds per cell
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
# The settings of the training notebooks must be made before the first of them imports Keras.
TUNE = "from keras_transformer.training.process import tune_process; tune_process()"
# Nothing of a notebook is left for the next: no names, counters of cells and layers, or styles.
RESET = """
import keras
import matplotlib
keras.utils.clear_session()
matplotlib.rcdefaults()
get_ipython().reset(new_session=True)
"""


def sources():
    """Returns the paths of the notebook sources, in order."""
    return sorted(FOLDER.glob("[0-9][0-9]_*.py"))


def read(source):
    """Returns the notebook of a source, without outputs and with reproducible cell ids."""
    cells = jupytext.read(source, fmt="py:percent").cells
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    for i, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{i + 1}", {}
    return notebook


def reject_warnings(cell, **_):
    """Raises a RuntimeError if a cell has written to stderr."""
    for output in cell.outputs:
        if output.get("name") == "stderr":
            raise RuntimeError(f"A cell wrote to stderr.\n\n{cell.source}\n\n{output.text}")


@contextlib.contextmanager
def kernel():
    """Starts the kernel that executes the notebooks one after the other, in this folder.

    A kernel of its own for each would import TensorFlow each time, which takes longer than some of
    the notebooks.
    """
    manager = KernelManager(kernel_name=KERNEL["name"])
    # Keep TensorFlow's messages about the machine in the terminal and out of the notebook.
    options = ["--IPKernelApp.capture_fd_output=False", "--IPKernelApp.log_level=ERROR"]
    manager.start_kernel(extra_arguments=options, cwd=str(FOLDER))
    try:
        run_silently(manager, TUNE)
        yield manager
    finally:
        manager.shutdown_kernel(now=True)


def run_silently(manager, code):
    """Runs code that belongs to no notebook."""
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready()
        reply = client.execute_interactive(code, store_history=False, timeout=TIMEOUT)
    finally:
        client.stop_channels()
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"The kernel cannot run {code!r}: {reply['content']}")


def execute(notebook, manager):
    """Executes all cells of a notebook and stores their outputs."""
    client = NotebookClient(
        notebook,
        km=manager,
        timeout=TIMEOUT,
        record_timing=False,
        coalesce_streams=True,
        on_cell_executed=reject_warnings,
    )
    client.execute()
    notebook.metadata["language_info"] = LANGUAGE  # the kernel adds its Python version
    for cell in notebook.cells:
        cell.metadata = {}
    run_silently(manager, RESET)


def compress_figures(notebook):
    """Reduces figures to 256 colors: a third of the bytes, with no difference to be seen."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if figure := output.get("data", {}).get("image/png"):
                png = io.BytesIO()
                image = Image.open(io.BytesIO(base64.b64decode(figure))).convert("RGB")
                colors = image.quantize(256, dither=Image.Dither.NONE)
                colors.save(png, "png", optimize=True)
                output["data"]["image/png"] = base64.b64encode(png.getvalue()).decode()


def build(source, manager):
    """Executes a source and writes the notebook next to it, atomically."""
    notebook, started = read(source), time.perf_counter()
    execute(notebook, manager)
    compress_figures(notebook)
    with atomic_replace(source.with_suffix(".ipynb")) as temporary:
        temporary.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    seconds = time.perf_counter() - started
    print(f"{source.stem}: {len(notebook.cells)} cells, {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="build.py", description="Builds the notebooks.")
    names = [source.stem for source in sources()]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"from {', '.join(names)}")
    wanted = [Path(name).stem for name in parser.parse_args().names] or names
    if unknown := sorted(set(wanted) - set(names)):
        parser.error(f"unknown notebooks: {', '.join(unknown)}")
    # Keep log messages of the libraries out of the outputs.
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", PYDEVD_DISABLE_FILE_VALIDATION="1")
    # Models this small take less CPU time with one thread.
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with kernel() as manager:
        for name in wanted:
            try:
                build(FOLDER / f"{name}.py", manager)
            except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
                sys.exit(f"{name} failed.\n\n{error}")


if __name__ == "__main__":
    main()
