"""Build it: a Transformer that the learner writes, in thirteen steps that are checked."""

from keras_transformer.build_it.exercise import Exercise, or_solution, step_verdict
from keras_transformer.build_it.steps import STEPS

__all__ = ["STEPS", "Exercise", "or_solution", "step_verdict"]
