"""Reads answers, calls functions written by learners, and compares what they return."""

import copy
import inspect
import re
import textwrap
import traceback

import numpy as np


class Unsolved(Exception):
    """The answer is still the dots of the exercise."""


class Wrong(Exception):
    """A sentence that says what is wrong with an answer."""


def numbers(answer, shape=None, finite=True):
    """Returns an answer as a float64 array.

    Args:
        answer: anything that was given as an answer.
        shape: the shape that it must have; None for any.
        finite: whether NaN and infinite numbers are wrong.

    Raises:
        Unsolved: if dots are left in the answer.
        Wrong: if it has another shape, or is anything but numbers.
    """
    reject_dots(answer)
    if answer is None:
        raise Wrong("The answer is None, which is nothing. Is a `return` missing?")
    if isinstance(answer, str):
        raise Wrong("The answer is a text. Write numbers, without quotes.")
    if callable(answer) and not hasattr(answer, "shape"):
        raise Wrong("The answer is a function or a class. This exercise asks for numbers.")
    if isinstance(answer, set | frozenset | dict):
        raise Wrong("The numbers need an order: write a list, with square brackets.")
    if hasattr(answer, "detach"):  # of PyTorch: NumPy refuses gradients, and the memory of a GPU
        answer = answer.detach().cpu()
    try:
        array = np.asarray(answer, "float64")
    except Exception:
        raise Wrong(
            "These are not numbers in rows of equal length. Compare the brackets with the exercise."
        ) from None
    if shape is not None and array.shape != tuple(shape):
        raise Wrong(f"Expected {_describe(tuple(shape))}, but this is {_describe(array.shape)}.")
    if finite and np.isnan(array).any():
        raise Wrong("There is a NaN among the numbers: 0 / 0, or infinity minus infinity.")
    if finite and np.isinf(array).any():
        raise Wrong("There is an infinite number: something divides by 0 or grows too large.")
    return array


def reject_dots(answer):
    """Raises `Unsolved` if an answer, or a part of it, is still the dots of the exercise."""
    if answer is ...:
        raise Unsolved
    if isinstance(answer, list | tuple):
        for part in answer:
            reject_dots(part)


def compare(found, right, hint, *mistakes, tolerance=1e-3):
    """Raises `Wrong` unless two arrays of the same shape are equal.

    Args:
        found: float array.
        right: the array that is expected, of the same shape.
        hint: sentence for an unexpected difference.
        mistakes: pairs of an array that a known mistake gives, and the sentence that names it; an
            array of another shape names no mistake.
        tolerance: difference that is allowed: relative, or absolute if all of `right` is whole.
    """
    close = _close(found, right, tolerance)
    if close.all():
        return
    for mistake, sentence in mistakes:
        mistake = np.asarray(mistake, "float64")
        if mistake.shape == found.shape and _close(found, mistake, tolerance).all():
            raise Wrong(sentence)
    if found.size > 1 and (count := int(close.sum())):
        are = "is" if count == 1 else "are"
        hint = f"{count} of {found.size} numbers {are} right. {hint}"
    raise Wrong(hint)


def expect(condition, sentence):
    """Raises `Wrong` with a sentence unless the condition holds."""
    if not condition:
        raise Wrong(sentence)


def call(function, *arguments, **options):
    """Returns what a learner's function returns for copies of the arguments.

    Raises:
        Unsolved: if the function returns the dots of the exercise.
        Wrong: if it is not a function, raises an exception or returns None.
    """
    if function is ...:
        raise Unsolved
    if not callable(function):
        raise Wrong("The check needs the function itself: its name, without parentheses after it.")
    try:
        # One by one, because two may be the same array. A model is no data.
        copies = [x if callable(x) else copy.deepcopy(x) for x in arguments]
        found = function(*copies, **options)
    except Exception as error:  # KeyboardInterrupt still stops the cell
        raise Wrong(f"Your code stopped{_line(error, function)}: {describe(error)}") from error
    if found is ...:
        raise Unsolved
    if found is None:
        raise Wrong("Your function returns None. Is a `return` missing?")
    return found


def call_for_numbers(function, *arguments, shape=None, finite=True, **options):
    """Returns the array that a learner's function or layer returns: see `call` and `numbers`."""
    return numbers(call(function, *arguments, **options), shape, finite)


def softmax(scores, axis=-1):
    """Computes the softmax with NumPy, for what a mistake would give."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def several(found, names):
    """Returns a tuple, list or array as its parts: there must be one for each name.

    Raises:
        Unsolved: if one of them is still the dots of the exercise.
        Wrong: if it is anything else, or of another length.
    """
    reject_dots(found)
    if getattr(found, "ndim", 0) > 1:
        found = list(found)  # the parts are the rows of an array
    if not isinstance(found, tuple | list) or len(found) != len(names):
        raise Wrong(f"Expected {len(names)} things: {', '.join(names)}.")
    return found


# Colors, and what TensorFlow says of its own function around the reason.
_NOISE = re.compile(r"\x1b\[\d+m|\{\{.*?\}\} ?|( \[Op:\w+\])? name: *$", re.MULTILINE)


def describe(error):
    """Returns the kind of an exception and the beginning of its message, without Keras's frame."""
    text = _NOISE.sub("", str(error))
    lines = [x for x in text.splitlines() if x.strip() and "Exception encountered" not in x]
    text = textwrap.shorten(lines[0], 200, placeholder=" …") if lines else ""
    return ": ".join(filter(None, [type(error).__name__, text]))


def _close(found, right, tolerance):
    sizes = 1.0 if np.all(right == np.round(right)) else np.abs(right)
    return np.abs(found - right) <= 1e-5 + tolerance * sizes


def _describe(shape):
    if shape == ():
        return "one number"
    if len(shape) == 1:
        return f"a list of {shape[0]} numbers" if shape[0] != 1 else "a list of one number"
    return "an array of shape (" + ", ".join(map(str, shape)) + ")"


def _line(error, function):
    """Returns " in line N of it" for the last line of the function that was reached."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == code.co_filename and frame.lineno >= code.co_firstlineno:
            return f" in line {frame.lineno - code.co_firstlineno + 1}"
    return ""
