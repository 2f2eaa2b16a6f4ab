"""The solution of every step is right, and each typical mistake gets the message meant for it."""

import ast
import doctest
import inspect
import re

import keras
import pytest
from build_it.mistakes import MISTAKES

from keras_transformer.build_it import STEPS, or_solution, solution, step_verdict
from keras_transformer.build_it.checking import describe
from keras_transformer.build_it.exercise import template

SOURCE = inspect.getsource(solution)
CHECKS = [
    pytest.param(name, check, id=f"{i}-{name}")
    for i, step in enumerate(STEPS, start=1)
    for name, check in step.checks.items()
]
SLOW = ("EncoderLayer", "DecoderLayer", "Transformer", "make_step")  # half a second to five each
tensorflow_only = pytest.mark.skipif(
    keras.config.backend() != "tensorflow", reason="the messages do not depend on the backend"
)


def examples():
    for name, mistakes in MISTAKES.items():
        for i, mistake in enumerate(mistakes, start=1):
            marks = pytest.mark.exhaustive if name in SLOW and i > 1 else ()
            yield pytest.param(name, *mistake, id=f"{name}-{i}", marks=marks)


def run(source):
    names = {"__name__": "build_it"}
    exec(compile(source, "build_it.py", "exec"), names)
    return names


def with_mistake(name, old, new):
    """Returns the names of a file in which one text of a definition is replaced."""
    (node,) = [x for x in ast.parse(SOURCE).body if getattr(x, "name", None) == name]
    code = ast.get_source_segment(SOURCE, node)
    body = code.rpartition('"""')[2] if code.count('"""') == 2 else code
    assert old in body, f"{old} is not in {name}"
    return run(SOURCE.replace(code, code.removesuffix(body) + body.replace(old, new)))


def test_there_are_ten_mistakes_of_each_step():
    for step in STEPS:
        names = {*step.checks, step.title} & set(MISTAKES)
        assert sum(len(MISTAKES[name]) for name in names) >= 10, step.title


@tensorflow_only
@pytest.mark.parametrize(("name", "old", "new", "words"), list(examples()))
def test_a_typical_mistake_gets_its_message(name, old, new, words):
    """Words of None: nobody but the learner of dropout is harmed."""
    is_mask = name == "masks"  # of the function that was written in the step before
    name = "attention" if is_mask else name
    steps = [step for step in STEPS if name in step.checks]
    check = steps[-1 if is_mask else 0].checks[name]
    text, _ = step_verdict(check, with_mistake(name, old, new))
    found = [text == "Right."] if words is None else [x in text for x in words.split("|")]
    assert any(found), text


@pytest.mark.every_backend
@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_the_solution_of_every_step_is_right(name, check):
    text, error = step_verdict(check, vars(solution))
    assert error is None, text
    assert text == "Right." or (name == "make_step" and keras.config.backend() != "tensorflow")


@tensorflow_only
@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_a_stub_is_still_to_do(name, check):
    stubs = run(template())
    text, _ = step_verdict(check, {**vars(solution), name: stubs[name]})
    assert text == "Still to do: replace the dots."


def test_the_stubs_have_the_docstrings_and_examples_of_the_solution():
    stubs = ast.parse(template())
    for stub, node in zip(stubs.body, ast.parse(SOURCE).body, strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert ast.get_docstring(stub) == ast.get_docstring(node)
            assert "Example:" in ast.get_docstring(node) or node.name == "merge"
    assert len(template().splitlines()) < len(SOURCE.splitlines()) - 50


def test_the_examples_of_the_file_are_right():
    flags = doctest.NORMALIZE_WHITESPACE
    results = doctest.testmod(solution, optionflags=flags)
    assert results.failed == 0 and results.attempted >= 10


def test_a_cell_that_is_not_written_gets_the_solution(capsys):
    def split(x, heads):
        return ...

    assert or_solution(split) is solution.split
    assert or_solution(solution.merge) is solution.merge
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "split: Still to do: replace the dots. The cells below use the solution.",
        "merge: Right.",
    ]


def test_an_exception_is_reported_without_the_words_of_keras():
    names = with_mistake("FeedForward", "self.inner(x)", "self.inner(y)")
    text, _ = step_verdict(STEPS[6].checks["FeedForward"], names)
    assert re.fullmatch(r"Not yet\. Your code stopped.*: NameError: name 'y' is not defined", text)


def test_an_exception_is_reported_without_the_words_of_tensorflow():
    error = ValueError(
        "{{function_node __wrapped__Sub_device_/job:x/CPU:0}} 2 vs. 3 [Op:Sub] name: "
    )
    assert describe(error) == "ValueError: 2 vs. 3"
