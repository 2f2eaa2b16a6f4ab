"""Checks the answers to the exercises of the notebooks: `from exercises import check`."""

from exercises import attention, other_models, training, transformers
from keras_transformer.build_it import step_verdict

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
    text, _ = step_verdict(CHECKS[str(name)], answer)
    return text
