"""Command lines in messages, which can be typed as they are printed."""

import os
import shlex
import shutil
import sys
from pathlib import Path

_SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"  # exists in a checkout
KEEP_TEXT = ("--keep-case", "--keep-punctuation", "--keep-letters")  # prepare-data changes nothing
_SCRIPT_NAMES = {"plot": "plot_losses", "attention-page": "attention_html", "build": "build_it"}


def command_line(name, *arguments):
    """Returns the command line of a subcommand, as it can be typed in the current directory.

    It runs a script if the program was started from a script of the checkout, or if the shell does
    not find the command `keras-transformer` of this environment.
    """
    python = Path(sys.executable)
    command = python.with_name("keras-transformer")
    script = _SCRIPTS / f"{_SCRIPT_NAMES.get(name, name).replace('-', '_')}.py"
    from_script = Path(sys.argv[0]).resolve().parent == _SCRIPTS
    if script.exists() and (from_script or shutil.which(command.name) != str(command)):
        words = (_typed(python), _nearest(script))
    else:
        words = (_typed(command), name)
    return shlex.join(map(str, (*words, *arguments)))


def _typed(program):
    """Returns the name of a program if the shell finds it by its name, otherwise its path."""
    is_found = shutil.which(program.name) == str(program) or not program.exists()
    return program.name if is_found else _nearest(program)


def _nearest(path):
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative
