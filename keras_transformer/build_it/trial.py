"""The learner's finished file trains on the bundled corpus and translates."""

import collections
import itertools
import re
import time
import warnings

import keras
import numpy as np

import keras_transformer as kt
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, SPECIAL_TOKENS, START_ID
from keras_transformer.data.corpus import corpus_path

_D, _WARM_UP, _BATCH, _LONGEST = 128, 400, 64, 9
_SENTENCES = ("I am hungry.", "We have a new car.", "Where is the station?", "She is very tired.")


def train_and_translate(names, seconds, seed=0, report=print):
    """Trains the learner's model for some seconds, and prints losses and translations.

    Args:
        names: dictionary of the learner's functions and classes.
        seconds: how long to train.
        seed: of the weights and of the order of the sentences.
        report: function that prints a line.

    Returns:
        The list of the losses of all updates.
    """
    keras.utils.set_random_seed(seed)
    pairs = [[_words(x) for x in pair] for pair in kt.read_pairs(corpus_path())]
    pairs = [pair for pair in pairs if max(len(x.split()) for x in pair) < _LONGEST]
    vocabularies = [_vocabulary(side) for side in zip(*pairs, strict=True)]
    sizes = [len(vocabulary) + len(SPECIAL_TOKENS) for vocabulary in vocabularies]
    model = names["Transformer"](*sizes, 4, _D, 2 * _D, 1)
    step = _make_step(names, model)
    report(f"Training on {len(pairs):,} pairs for {seconds} seconds.")
    losses, started, shown = [], None, 0.0
    for batch in _batches(names["to_ids"], pairs, vocabularies, seed):
        losses.append(float(step(*batch)))
        started = started or time.monotonic()  # the first step is compiled
        if (passed := time.monotonic() - started) >= shown:
            report(f"{passed:5.0f} s  update {len(losses):5}  loss {np.mean(losses[-50:]):.2f}")
            shown = passed + seconds / 8
        if passed > seconds:
            break
    report("")
    for sentence in _SENTENCES:
        report(f"{sentence} → {_translate(names, model, sentence, vocabularies)}")
    return losses


def _words(sentence):
    return " ".join(re.findall(r"\w+|[^\w\s]", sentence))


def _vocabulary(sentences):
    counts = collections.Counter(word for sentence in sentences for word in sentence.split())
    frequent = [word for word, count in counts.most_common(4000) if count > 1]
    return {word: i for i, word in enumerate(frequent, start=len(SPECIAL_TOKENS))}


def _batches(to_ids, pairs, vocabularies, seed):
    """Yields source, decoder input and target, again and again in another order."""
    random = np.random.default_rng(seed)
    for _ in itertools.count():
        order = random.permutation(len(pairs) // _BATCH * _BATCH)
        for rows in order.reshape(-1, _BATCH):
            sides = zip(*(pairs[i] for i in rows), strict=True)
            ids = (to_ids(*side) for side in zip(sides, vocabularies, strict=True))
            # Of one length, because JAX compiles once per shape.
            source, target = (np.pad(x, ((0, 0), (0, _LONGEST - x.shape[1]))) for x in ids)
            yield source, np.pad(target, ((0, 0), (1, 0)), constant_values=START_ID)[:, :-1], target


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, function):
        self.function = function

    def __call__(self, step):
        return self.function(step, _D, _WARM_UP)


def _make_step(names, model):
    """Returns the learner's training step; without TensorFlow, Keras's with the learner's loss."""
    optimizer = keras.optimizers.Adam(_Schedule(names["learning_rate"]), beta_2=0.98)
    if keras.config.backend() == "tensorflow":
        model((np.ones((1, 2), "int32"), np.ones((1, 2), "int32")))  # makes the weights
        return names["make_step"](model, optimizer)
    model.compile(optimizer, names["masked_loss"])
    return lambda source, read, target: model.train_on_batch((source, read), target)


def _translate(names, model, sentence, vocabularies):
    ids = names["to_ids"]([_words(sentence)], vocabularies[0])
    german = {i: word for word, i in vocabularies[1].items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first step has one key, whose softmax is always 1
        written = names["greedy"](model, ids, 20)[0]
    words = [german.get(int(i), "…") for i in written if i not in (PADDING_ID, END_ID)]
    return re.sub(r" (?=[.,?!])", "", " ".join(words))
