"""Checks the answers to the exercises of the notebooks: `from exercises import check`."""

import numpy as np

from exercises import attention, other_models, training, transformers
from keras_transformer.build_it.checking import Unsolved, Wrong

CHECKS = attention.CHECKS | transformers.CHECKS | training.CHECKS | other_models.CHECKS


def check(name, answer):
    """Prints "Right.", or what is wrong with an answer and what to think about.

    Args:
        name: text, the number of the exercise, such as `"1.3"`.
        answer: a number, an array, a function or a class, as the exercise asks.

    Example:
        >>> check("1.3", 64)
        1.3: Not yet. 64 is the variance. The standard deviation is its root.
    """
    print(f"{name}: {verdict(name, answer)}")


def verdict(name, answer):
    """Returns the text that `check` prints, and never raises an exception."""
    if str(name) not in CHECKS:
        return 'There is no such exercise. The first argument is its number, such as "1.3".'
    try:
        with np.errstate(all="ignore"):  # the check says what a warning would
            CHECKS[str(name)](answer)
    except Unsolved:
        return "Still to do: replace the dots."
    except Wrong as wrong:
        return f"Not yet. {wrong}"
    except Exception as error:
        return f"Not yet. The check cannot read this answer: {type(error).__name__}: {error}"
    return "Right."
