"""A learner builds a Transformer with `build_it.py`, from the empty file to a translation."""

import inspect

import keras
import pytest
from run_script import run_script

from keras_transformer.build_it import STEPS, solution
from keras_transformer.build_it.trial import train_and_translate

SOURCE = inspect.getsource(solution)


def build(folder, *arguments, **options):
    return run_script("build_it.py", *arguments, folder=folder, **options)


def test_the_file_is_written_once_and_its_first_step_is_to_do(tmp_path):
    assert "replace the dots" in build(tmp_path)
    written = (tmp_path / "build_it.py").read_bytes()
    checked = build(tmp_path, "--check")
    assert "1 tokens and padding" in checked and "line 22" in checked and "--hint" in checked
    assert "was not changed" in build(tmp_path, expected=2)
    assert (tmp_path / "build_it.py").read_bytes() == written


def test_there_are_three_hints_for_a_step_and_then_the_solution(tmp_path):
    build(tmp_path)
    hints = [build(tmp_path, "--hint").strip() for _ in range(4)]
    expected = [f"Hint {i} of 3: {hint}" for i, hint in enumerate(STEPS[0].hints, start=1)]
    assert hints == [*expected, expected[-1]]
    code = build(tmp_path, "--solution")
    assert code.startswith("def to_ids(sentences, vocabulary):\n    rows = ")


def test_the_line_of_an_error_is_named(tmp_path):
    path = tmp_path / "mine.py"
    text = SOURCE.replace("ops.swapaxes(keys, -1, -2)", "ops.swap(keys)")
    line = next(i for i, x in enumerate(text.splitlines(), start=1) if "ops.swap(" in x)
    path.write_text(text, encoding="utf-8")
    output = " ".join(build(tmp_path, "mine.py", "--check").split())
    assert "has no attribute 'swap'" in output and f"(mine.py, line {line})" in output
    assert output.count("line ") == 1  # not that of the function as well
    path.write_text("x = 1\ny = (", encoding="utf-8")
    for flag in ("--check", "--diff"):
        output = build(tmp_path, "mine.py", flag, expected=2)
        assert "mine.py, line 2: '(' was never closed" in output
    path.write_text("x = 1\ny = x / 0", encoding="utf-8")
    output = build(tmp_path, "mine.py", "--check", expected=2)
    assert "mine.py, line 2: ZeroDivisionError" in output
    assert "writes it" in build(tmp_path, "other.py", "--check", expected=2)


def test_the_comparison_has_both_codes_of_every_step(tmp_path):
    (tmp_path / "build_it.py").write_text(SOURCE, encoding="utf-8")
    text = build(tmp_path, "--diff")
    for i, step in enumerate(STEPS, start=1):
        assert f"\n{i} {step.title}\n" in text
    assert "class DotProductAttention:" in text and "def greedy_search" in text


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="the script's default backend")
def test_a_finished_file_passes_all_steps(tmp_path):
    (tmp_path / "build_it.py").write_text(SOURCE, encoding="utf-8")
    output = build(tmp_path, "--check")
    assert output.count(" right\n") == len(STEPS) and "you wrote it" in output


@pytest.mark.slow
@pytest.mark.every_backend
def test_the_finished_file_learns_and_translates():
    lines = []
    losses = train_and_translate(vars(solution), seconds=4, report=lines.append)
    # A busy machine takes a dozen updates in this time.
    assert len(losses) > 3 and sum(losses[-3:]) < 3 * losses[0]
    assert sum(" → " in line for line in lines) == 4
