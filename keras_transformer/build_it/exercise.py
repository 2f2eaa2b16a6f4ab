"""The learner's file: its stubs, which step it has come to, hints, and the comparison."""

import ast
import inspect
import json
import re
import textwrap
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer._utils.files import atomic_replace
from keras_transformer.build_it import solution
from keras_transformer.build_it.checking import Unsolved, Wrong, describe
from keras_transformer.build_it.steps import STEPS
from keras_transformer.build_it.training import Skipped

MODULE = "build_it"  # of the learner's file, while it runs
_PACKAGE = "keras_transformer."
_METHODS = ("encode", "decode", "call", "_train_batch", "_gradients")
_WIDTH = 58  # of a column of the comparison
_LINE_OF_FUNCTION = re.compile(r"stopped in line \d+(?=:)")
_STUBS = {
    "__init__": ["super().__init__(**kwargs)", "..."],
    "build": ["..."],
}


def template():
    """Returns the source of an unsolved file: the solution without the bodies of its functions."""
    source = inspect.getsource(solution)
    lines = source.splitlines()
    for node in reversed(list(_functions(ast.parse(source)))):
        body = node.body[1:] if ast.get_docstring(node) else node.body
        indent = " " * (node.col_offset + 4)
        stub = [indent + line for line in _STUBS.get(node.name, ["return ..."])]
        lines[body[0].lineno - 1 : body[-1].end_lineno] = stub
    return "\n".join(lines) + "\n"


def _functions(tree):
    """Yields the functions and methods of a module, in their order."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node)


def step_verdict(check, names):
    """Returns what is wrong with a step, or "Right."; and the exception that caused it, or None.

    Args:
        check: function of `Step.checks`.
        names: dictionary of the learner's functions and classes.
    """
    try:
        # The check says what a warning would.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(names)
    except Unsolved:
        return "Still to do: replace the dots.", Unsolved()
    except Skipped as reason:
        return str(reason), None
    except Wrong as wrong:
        return f"Not yet. {wrong}", wrong
    except Exception as error:
        return f"Not yet. The check cannot use it: {describe(error)}", error
    return "Right.", None


def or_solution(written: Any) -> Any:
    """Checks a function or class of a notebook; returns it if it is right, else the solution.

    It prints what is wrong.

    Args:
        written: a function or class with the name of one in the file that `keras-transformer build`
            writes, such as `attention`.

    Returns:
        `written` or the solution, so that the cells below work.

    Example:
        def causal_mask(length):
            return ...

        causal_mask = or_solution(causal_mask)  # causal_mask: Still to do: replace the dots. …
    """
    name, names = written.__name__, {**vars(solution), written.__name__: written}
    checks = [step.checks[name] for step in STEPS if name in step.checks]
    results = (step_verdict(check, names) for check in checks)
    text, error = next((result for result in results if result[1] is not None), ("Right.", None))
    print(f"{name}: {text}" + (" The cells below use the solution." if error else ""))
    return written if error is None else getattr(solution, name)


class Exercise:
    """A learner's file.

    Args:
        path: path of the file.
    """

    def __init__(self, path):
        self.path = Path(path)
        self._hints = self.path.with_name(f".{self.path.stem}.hints.json")

    def create(self):
        """Writes the unsolved file; raises a FileExistsError if there is a file."""
        with open(self.path, "x", encoding="utf-8") as file:
            file.write(template())

    def load(self):
        """Runs the file and returns its names.

        Raises:
            FileNotFoundError: if there is no file.
            ValueError: if the file cannot be run; the message names the line.
        """
        names = {"__name__": MODULE, "__file__": str(self.path)}
        code = self._compile(self._read())
        try:
            exec(code, names)
        except Exception as error:
            raise ValueError(f"{self._place(error)}{describe(error)}") from error
        return names

    def _read(self):
        if not self.path.exists():
            raise FileNotFoundError(
                f"There is no {self.path}: `keras-transformer build {self.path}` writes it."
            )
        return self.path.read_text(encoding="utf-8")

    def _compile(self, source):
        try:
            return compile(source, str(self.path), "exec")
        except SyntaxError as error:
            raise ValueError(
                f"{self.path}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
            ) from None

    def check(self, names, report=print):
        """Checks the steps one after another; returns the index of the first wrong one, or None."""
        for i, step in enumerate(STEPS):
            for name, check in step.checks.items():
                text, error = step_verdict(check, names)
                if error is not None:
                    report(f"{i + 1:2} {step.title}\n")
                    text = _LINE_OF_FUNCTION.sub("stopped", text)  # the line of the file follows
                    text = f"{name}: {text}{self._line_of(name, error)}"
                    report(textwrap.indent(textwrap.fill(text, 90), "   "))
                    return i
            report(f"{i + 1:2} {step.title:30} {'right' if text == 'Right.' else text}")
        return None

    def _line_of(self, name, error):
        """Returns where the code stopped or, if it did not, where it begins."""
        cause = error.__cause__
        if isinstance(error, Unsolved) or cause is None:
            tree = ast.parse(self.path.read_text(encoding="utf-8"))
            lines = [node.lineno for node in tree.body if getattr(node, "name", None) == name]
            return f" ({self.path.name}, line {lines[0]})" if lines else ""
        place = self._place(cause if cause.__cause__ is None else cause.__cause__)
        return f" ({place.removesuffix(': ')})" if place else ""

    def _place(self, error):
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(self.path)]
        return f"{self.path.name}, line {lines[-1]}: " if lines else ""

    def solution(self, i):
        """Returns the code of step i, without its docstrings."""
        source = inspect.getsource(solution)
        code = {x.name: ast.get_source_segment(source, x) for x in _definitions(source)}
        return "\n\n\n".join(_without_docstrings(code[name]) for name in STEPS[i].checks)

    def hint(self, i):
        """Returns the next of three hints for step i; after the last one, again the last one."""
        shown = json.loads(self._hints.read_text()) if self._hints.exists() else {}
        number = min(shown.get(str(i), 0) + 1, len(STEPS[i].hints))
        with atomic_replace(self._hints) as temporary:
            temporary.write_text(json.dumps({**shown, str(i): number}))
        return f"Hint {number} of {len(STEPS[i].hints)}: {STEPS[i].hints[number - 1]}"

    def compare(self):
        """Returns the learner's functions beside the library's code, as text of two columns."""
        blocks = []
        source = self._read()
        self._compile(source)
        own = {node.name: ast.get_source_segment(source, node) for node in _definitions(source)}
        for i, step in enumerate(STEPS):
            mine = [_without_docstrings(own.pop(name)) for name in step.checks if name in own]
            theirs = map(_library_code, step.library)
            text = _beside("\n\n".join(mine), "\n\n".join(theirs))
            blocks.append(f"\n{i + 1} {step.title}\n\n{text}")
        counts = [sum(1 for x in text.splitlines() if x.strip()) for text in (source, template())]
        return "\n".join([*blocks, "", f"{counts[0]} lines, {counts[1]} of them were given."])


def _definitions(source):
    nodes = ast.parse(source).body
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _library_code(item):
    """Returns the code of a function, or of the constructor and the call of a layer."""
    if not inspect.isclass(item):
        return _without_docstrings(textwrap.dedent(inspect.getsource(item)))
    methods = [getattr(item, name) for name in _METHODS if hasattr(item, name)]
    own = [x for x in methods if getattr(x, "__module__", "").startswith(_PACKAGE)]
    codes = [_without_docstrings(textwrap.dedent(inspect.getsource(x))) for x in own]
    return f"class {item.__name__}:\n" + textwrap.indent("\n\n".join(codes), "    ")


def _without_docstrings(code):
    lines, nodes = code.splitlines(), [*ast.walk(ast.parse(code))]
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            text = node.body[0]
            lines[text.lineno - 1 : text.end_lineno] = [None] * (text.end_lineno - text.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def _beside(left, right):
    columns = [
        [part for line in text.splitlines() for part in textwrap.wrap(
            line, _WIDTH, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 8),
            drop_whitespace=False) or [""]]
        for text in (left, right)
    ]  # fmt: skip
    height = max(map(len, columns))
    rows = zip(*(column + [""] * (height - len(column)) for column in columns), strict=True)
    return "\n".join(f"{mine:{_WIDTH}} | {theirs}".rstrip() for mine, theirs in rows)
