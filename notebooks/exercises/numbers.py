"""The check of an exercise that asks for numbers."""

import numpy as np

from keras_transformer.build_it.checking import compare, numbers


class Numbers:
    """Checks a number or an array of numbers.

    Three digits are enough. Where all of them are whole, they may be off by 0.005 at most.

    Args:
        right: the right answer.
        hint: sentence for an unexpected answer; it names a way to the right one.
        mistakes: pairs of a wrong answer and a sentence that names the mistake.
    """

    def __init__(self, right, hint, *mistakes):
        self.right, self.hint, self.mistakes = np.array(right, "float64"), hint, mistakes

    def __call__(self, answer):
        found = numbers(answer, self.right.shape)
        compare(found, self.right, self.hint, *self.mistakes, tolerance=5e-3)
