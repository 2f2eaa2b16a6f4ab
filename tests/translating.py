"""A model that has learned the language of tiny.py, once for all tests, and its likelihoods.

And the smallest model there is: a table.
"""

import functools
import itertools
import json
import tempfile

import numpy as np
from keras import ops
from tiny import make_batches, make_dataset, make_trainer

from keras_transformer import RunConfig, RunFolder, Translate
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import encode_source

ROWS, SOURCE_LENGTH, TARGET_LENGTH = 100, 6, 20


@functools.cache
def trained():
    """The dataset, the model and the files of its last three epochs, as names and bytes.

    An untrained model says the same of everything.
    """
    dataset = make_dataset()
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(dataset, folder, rate=0.0, keep_weights=3)
        trainer.train(*make_batches(dataset), 8)
        last = [(file.name, file.read_bytes()) for file in trainer.run.epoch_weights()]
    return dataset, trainer.model, last


def make_translate(model=None, **options):
    dataset, trained_model, _ = trained()
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    return Translate(model or trained_model, *tokenizers, **options)


@functools.cache
def shared_translate():
    """One for all tests: what it has compiled is compiled."""
    return make_translate()


def write_run(folder):
    """What a training run of that model would have left."""
    dataset, model, last = trained()
    run = RunFolder(folder)
    run.create(RunConfig(d_model=32, d_ff=64, n=1, h=2, max_length=8), dataset)
    run.write_weights(model)
    for name, content in last:
        (run.weights.parent / name).write_bytes(content)


def ids_of(tokenizer, tokens):
    vocabulary = json.loads(tokenizer.to_json())["model"]["vocab"]
    return [vocabulary[token] for token in tokens]


def logits_of(model, source, target):
    """The model's logits, computed in one shape whatever is asked, for JAX compiles each one."""
    source, target = (
        np.pad(ids, ((0, ROWS - len(ids)), (0, length - ids.shape[1])))
        for ids, length in ((source, SOURCE_LENGTH), (target, TARGET_LENGTH))
    )
    return ops.convert_to_numpy(model((source, target))).astype("float64")


def translate_plainly(model, dataset, sentences, prefixes=None):
    """Greedy search as one would write it first: the whole model again for each word."""
    source = pad_ids([encode_source(dataset.source_tokenizer, x) for x in sentences], SOURCE_LENGTH)
    forced = [dataset.target_tokenizer.encode(x) for x in prefixes or [""] * len(sentences)]
    target = np.full((len(sentences), TARGET_LENGTH), PADDING_ID, "int32")
    target[:, 0] = START_ID
    for t in range(TARGET_LENGTH - 1):
        logits = logits_of(model, source, target)[:, t]
        logits[:, :END_ID] = -np.inf
        for row, ids in enumerate(forced):
            target[row, t + 1] = ids[t] if t < len(ids) else logits[row].argmax()
    return [dataset.target_tokenizer.decode(ids) for ids in target]


def markov(last, position, table):
    """A model: each row has a table of its own, (R, V, V): the logits of each word after each other
    one."""
    index = ops.broadcast_to(ops.reshape(last, (-1, 1, 1)), (ops.shape(last)[0], 1, table.shape[2]))
    return ops.squeeze(ops.take_along_axis(table, index, axis=1), 1), table


def markov_score(table, tokens):
    """The log probability of the tokens that are no padding, (V, V) being the table of the row."""
    tokens, score = [START_ID, *(t for t in tokens if t != PADDING_ID)], 0.0
    for last, following in itertools.pairwise(tokens):
        logits = table[last].astype("float64")
        score += logits[following] - np.log(np.exp(logits).sum())
    return score


def log_likelihoods(model, dataset, hypotheses):
    """The log probability of each hypothesis, among all words that there are."""
    source = [ids_of(dataset.source_tokenizer, x.source_tokens) for x in hypotheses]
    target = [[START_ID, *ids_of(dataset.target_tokenizer, x.tokens)] for x in hypotheses]
    source, target = pad_ids(source, SOURCE_LENGTH), pad_ids(target, TARGET_LENGTH + 1)
    logits = logits_of(model, source, target[:, :-1])[: len(target)]
    chosen = np.take_along_axis(logits, target[:, 1:, None], axis=2)[..., 0]
    logs = chosen - np.log(np.exp(logits).sum(axis=2))
    return np.where(target[:, 1:] == PADDING_ID, 0.0, logs).sum(axis=1)
