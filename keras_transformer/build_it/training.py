"""Checks of the steps 10 to 13: loss, schedule, training step and greedy decoding."""

import keras
import numpy as np
from keras import ops
from keras.ops import convert_to_numpy as to_numpy

import keras_transformer as kt
from keras_transformer._utils.special_tokens import END_ID, START_ID
from keras_transformer.build_it.attention import CLOSE
from keras_transformer.build_it.checking import (
    Wrong,
    call,
    call_for_numbers,
    compare,
    expect,
    numbers,
    softmax,
)
from keras_transformer.build_it.parts import find
from keras_transformer.inference.rules import Rules, make_constraints
from keras_transformer.inference.search import greedy_search


class Skipped(Exception):
    """A sentence that says why a step cannot be checked here."""


def check_loss(yours):
    target = np.array([[5, 2, 3, 0, 0], [4, 3, 0, 0, 0]], "int32")
    logits = np.random.default_rng(0).normal(size=(2, 5, 7)).astype("float32")
    function = find(yours, "masked_loss")
    returned = call(function, target, logits)
    found = numbers(ops.convert_to_numpy(returned))
    expect(found.shape == (), "Return one number, the mean of all words: this has the shape "
           f"{found.shape}.")  # fmt: skip
    p, is_word = softmax(logits), target != 0
    costs = -np.log(np.take_along_axis(p, target[..., None].astype(int), -1)[..., 0])
    raw = np.take_along_axis(logits, target[..., None].astype(int), -1)[..., 0]
    words = costs * is_word
    compare(
        found,
        float(kt.MaskedCrossEntropy()(target, logits)),
        "Sum -ln p of the words, and divide by their number.",
        (costs.mean(), "Padding counts as words: leave it out of the sum and of the number."),
        (words.mean(), "The sum is right, but it is divided by all places. Count the words alone."),
        (costs.sum() / is_word.sum(), "The costs of padding are in the sum: multiply them by 0."),
        (words.sum(), "This is the sum. Divide it by the number of words."),
        (words.sum() / 2, "The sum is divided by the sentences: divide it by the words."),
        ((words.sum(1) / is_word.sum(1)).mean(), "This is the mean of the sentences' means, in "
         "which a word of a short sentence counts more. Sum all words, then divide once."),
        ((costs * ~is_word).sum() / (~is_word).sum(), "The mask is inverted: only padding counts."),
        (-words.sum() / is_word.sum(), "The sign is reversed: training would make it worse."),
        (-(raw * is_word).sum() / is_word.sum(), "The softmax is missing: these are the logits."),
        ((costs * (is_word & (target != END_ID))).sum() / (is_word & (target != END_ID)).sum(),
         "END is left out, but it must be learned, or no translation would end."),
        (_from_probabilities(target, logits), "The function was not told that these are logits: "
         "from_logits=True."),
        tolerance=CLOSE,
    )  # fmt: skip
    wider = np.pad(target, ((0, 0), (0, 3))), np.pad(logits, ((0, 0), (0, 3), (0, 0)))
    expect(np.isclose(call_for_numbers(function, *wider), found), "More padding changes the loss.")


def _from_probabilities(target, logits):
    costs = ops.convert_to_numpy(keras.losses.sparse_categorical_crossentropy(target, logits))
    return (costs * (target != 0)).sum() / (target != 0).sum()


def check_schedule(yours):
    function, d, w = find(yours, "learning_rate"), 64, 16
    steps, library = (0, 5, 14, 15, 16, 99), kt.WarmupSchedule(64, 16)
    found = np.array([
        call_for_numbers(function, step, d, w, shape=(), finite=False)
        for step in ops.convert_to_tensor(steps, "int32")
    ])  # fmt: skip
    right, t = np.array([float(library(step)) for step in steps]), np.array(steps) + 1.0
    with np.errstate(divide="ignore"):
        late = d**-0.5 * np.minimum((t - 1) ** -0.5, (t - 1) * w**-1.5)
    mistakes = (
        (late, "The first update has the rate 0: steps count from 0, t from 1."),
        (d**-0.5 * np.minimum((t + 1) ** -0.5, (t + 1) * w**-1.5), "t is step + 1, not step + 2."),
        (d**-0.5 * np.maximum(t**-0.5, t * w**-1.5), "It falls, then rises: take the minimum."),
        (np.minimum(t**-0.5, t * w**-1.5), "The factor D^-0.5 is missing."),
        (d**0.5 * np.minimum(t**-0.5, t * w**-1.5), "The factor is D^-0.5, not D^0.5."),
        (d**-0.5 * t * w**-1.5, "It never falls: where is t^-0.5?"),
        (d**-0.5 * t**-0.5, "There is no warm-up: the first update has the highest rate."),
        (d**-0.5 * np.minimum(t**-0.5, t * w**-0.5), "The warm-up ends too early: warm_up^-1.5."),
        (d**-0.5 * np.minimum(t**-0.5, t / w), "At the end of the warm-up there is a step down: "
         "t · warm_up^-1.5."),
        (d**-0.5 * np.minimum(1 / t, t * w**-1.5), "It falls with 1/t, not with its root."),
    )  # fmt: skip
    compare(found, right, "d^-0.5 · min(t^-0.5, t · warm_up^-1.5), with t = step + 1.",
            *((np.float64(wrong), sentence) for wrong, sentence in mistakes),
            tolerance=CLOSE)  # fmt: skip


class _Bigrams(keras.Model):
    """A model of two weights, whose update can be computed by hand. It remembers its calls."""

    def __init__(self):
        super().__init__(name="bigrams")
        self.table = self.add_weight((6, 6), "zeros", name="table")
        self.bias = self.add_weight((6,), "zeros", name="bias")
        self.calls = []

    def call(self, inputs, training=None):
        source, target = inputs
        self.calls.append(training)
        logits = ops.take(self.table, target, axis=0) + self.bias
        return logits + 0 * ops.cast(ops.sum(source), logits.dtype)


def _updated(read, predicted):
    """Returns the table after one update with the rate 1, from zeros: logits are all equal."""
    table, is_word = np.zeros((6, 6)), predicted != 0
    for row, right in zip(read[is_word], predicted[is_word], strict=True):
        table[row] -= 1 / 6
        table[row, right] += 1
    return table / is_word.sum()


def check_step(yours):
    if keras.config.backend() != "tensorflow":
        raise Skipped("tf.function needs the TensorFlow backend: this step is not checked.")
    model = _Bigrams()
    whole = np.array([[2, 4, 5, 3], [2, 5, 3, 0]], "int32")
    batches = [(np.ones((2, n), "int32"), whole[:, :n], whole[:, 1 : n + 1]) for n in (3, 2)]
    source, read, target = batches[0]
    model((source, read))
    model.calls = []
    step = call(find(yours, "make_step"), model, keras.optimizers.SGD(1.0))
    loss = _call_step(step, source, read, target)
    found = to_numpy(model.table)
    expect(found.any(), "The weights do not change: apply the gradients with the optimizer.")
    mistakes = (
        (-_updated(read, target), "The loss grows: the sign of the gradients is reversed."),
        (_updated(target, target), "The decoder reads the target, which it must predict. It reads "
         "`decoder_input`."),
        (_updated(read, read), "Each word is predicted from itself. Predict `target`."),
        (2 * _updated(read, target), "The gradients are applied twice, or are twice as large."),
        (5 * _updated(read, target), "The gradients are of the sum, not of `masked_loss`."),
        (_updated(read, target) * 5 / 6, "Padding counts in the number: use `masked_loss`."),
    )  # fmt: skip
    compare(found, _keras_table(source, read, target), "The update is not that of `fit`.",
            *mistakes, tolerance=CLOSE)  # fmt: skip
    expect(to_numpy(model.bias).any(), "Only some weights are updated: model.trainable_variables.")
    expect(model.calls[0], "The model runs without dropout: pass training=True.")
    expect(
        np.isclose(loss, np.log(6)),
        f"The step should return the loss before the update, ln 6 = 1.792, not {loss:.3f}.",
    )
    for batch in batches * 2:
        _call_step(step, *batch)
    count = len(model.calls)
    expect(count < 5, "The Python code runs for every batch: tf.function is missing.")
    expect(count == 1, f"The step was traced {count} times, for each shape: give an "
           "input_signature of tf.TensorSpec((None, None), tf.int32).")  # fmt: skip
    _check_real_model(yours)


def _call_step(step, *batch):
    loss = numbers(ops.convert_to_numpy(call(step, *batch)))
    expect(loss.shape == (), f"The step should return the loss, one number, not {loss.shape}.")
    return float(loss)


def _keras_table(source, read, target):
    model = _Bigrams()
    model.compile(keras.optimizers.SGD(1.0), kt.MaskedCrossEntropy())
    model.train_on_batch((source, read), target)
    return to_numpy(model.table)


def _check_real_model(yours):
    """Runs the step with the learner's own model: in a graph, lengths are unknown."""
    model = call(find(yours, "Transformer"), 6, 6, 1, 4, 4, 1, 0.0)
    model((np.ones((1, 2), "int32"), np.ones((1, 2), "int32")))
    step = call(find(yours, "make_step"), model, keras.optimizers.SGD(0.1))
    try:
        batch = np.array([[[4, 5, 3]], [[2, 4, 3]], [[4, 3, 0]]], "int32")
        losses = [_call_step(step, *batch) for _ in range(3)]
    except Wrong as wrong:
        raise Wrong(
            f"{wrong}. This was your own model. While tf.function traces, lengths are unknown: use "
            "ops.shape(x) instead of x.shape, and functions of `ops` instead of NumPy's."
        ) from wrong
    expect(losses[2] < losses[0], "The loss of your own model does not fall.")


class _Counting:
    """Predicts the first word of the source, then counts up to 8, then END. It keeps its inputs."""

    def __init__(self):
        self.table = 3 * np.roll(np.eye(9, dtype="float32"), 1, axis=1)
        self.table[8] = 3 * np.eye(9)[END_ID]
        self.given = []

    def __call__(self, inputs, training=None):
        source, target = (np.array(ops.convert_to_numpy(x)) for x in inputs)
        self.given.append(target)
        starts = (target == START_ID)[..., None] * np.eye(9, dtype="float32")[source[:, :1]]
        return self.table[target] + 9 * starts


def check_greedy(yours):
    function, source = find(yours, "greedy"), np.array([[5, 3], [6, 3], [8, 3]], "int32")
    for length in (7, 4):
        _check_greedy(function, _Counting(), source, length)


def _check_greedy(function, model, source, length):
    table = [model((source, np.full((3, 1), i)))[:, 0] for i in range(9)]
    right = _library_search(np.stack(table, axis=1), length)
    steps = int((right != 0).sum(axis=1).max())
    model.given.clear()
    found, given = call_for_numbers(function, model, source, length), model.given
    expect(found.ndim == 2 and len(found) == 3, f"Expected (B, at most length), not {found.shape}.")
    expect(
        given and given[0].shape == (3, 1) and (given[0] == START_ID).all(),
        "The decoder should first read START alone, one for each sentence.",
    )
    expect(not (found[:, 0] == START_ID).all(), "START is not a part of the translation.")
    expect(
        len(given) < 2 or given[1].shape == (3, 2),
        "The decoder reads all that is written so far, START included, not only the last word.",
    )
    expect(len(given) <= length, f"{len(given)} ids were written, but `length` is {length}.")
    first = found[:, 0].tolist()
    expect(first == [5, 6, 8], f"The model predicts 5, 6 and 8 as first words. You took {first}: "
           "is it the argmax of each row, over the words?")  # fmt: skip
    expect(
        found.shape[1] < 2 or found[0, 1] == 6,
        f"After 5, the model predicts 6 at the last position. You took {found[0, 1:2]}.",
    )
    expect(
        (found[2] == END_ID).any(),
        "END belongs to the result: it says that the sentence is complete.",
    )
    expect((found[2, 2:] == 0).all(), "After END there is only PADDING: a sentence that has ended "
           "waits for the others.")  # fmt: skip
    expect(found.shape[1] >= steps, f"It stops after {found.shape[1]} ids. A longer sentence has "
           f"not ended then, and `length` is {length}.")  # fmt: skip
    expect(len(given) <= steps, "It goes on after all sentences have ended.")
    compare(found, right[:, :steps], "The result is another one than that of the library's search.")


def _library_search(table, length):
    """Returns the tokens of the library's greedy search for a table of logits (B, V, V)."""
    rules = Rules(np.stack([make_constraints(0, length, length)] * 3))

    def tokens_to_logits(last, position, state):
        index = ops.reshape(ops.cast(last, "int32"), (3, 1, 1))
        return ops.squeeze(ops.take_along_axis(state, index, axis=1), 1), state

    found = greedy_search(tokens_to_logits, ops.convert_to_tensor(table), rules)
    return to_numpy(found.tokens)[:, 0]
