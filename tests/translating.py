"""A model trained once for all tests on the language of tiny.py, and reference computations.

Also a fake model for the search tests: a table of logits.
"""

import functools
import itertools
import json
import tempfile

import numpy as np
from keras import ops
from tiny import make_batches, make_dataset, make_trainer

from keras_transformer import RunConfig, RunFolder, TransformerModel, Translate
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.inference.options import EXTRA_LENGTH

ROWS, SOURCE_LENGTH, TARGET_LENGTH = 100, 6, 20


@functools.cache
def trained():
    """Returns the dataset, the trained model and the weights of its last three epochs.

    The weights are pairs of file name and content. Untrained models would not do: they translate
    every sentence identically.
    """
    dataset = make_dataset()
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(dataset, folder, rate=0.0, keep_weights=3)
        trainer.train(*make_batches(dataset), 8)
        last = [(file.name, file.read_bytes()) for file in trainer.run.epoch_weights()]
    return dataset, trainer.model, last


def make_translate(model=None, **options):
    dataset = make_dataset()
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    return Translate(model or trained()[1], *tokenizers, **options)


def limited_model(**lengths):
    """Returns a model with the weights of the trained one, for sequences of limited length."""
    model = TransformerModel.from_config({**trained()[1].get_config(), **lengths})
    model.build(((None, None), (None, None)))
    model.set_weights(trained()[1].get_weights())
    return model


@functools.cache
def shared_translate():
    """Returns one `Translate` for all tests, which compiles each shape only once."""
    return make_translate()


def write_run(folder):
    """Writes a run folder as left by a training run of the model."""
    dataset, model, last = trained()
    run = RunFolder(folder)
    sizes = {"d_model": 32, "d_ff": 64, "n": 1, "h": 2, "rotary_base": None}
    run.create(RunConfig(**sizes, max_length=8), dataset)
    run.write_weights(model)
    for name, content in last:
        (run.weights.parent / name).write_bytes(content)


def ids_of(tokenizer, tokens):
    vocabulary = json.loads(tokenizer.to_json())["model"]["vocab"]
    return [vocabulary[token] for token in tokens]


def logits_of(model, source, target):
    """Computes logits, padded to a single shape because JAX compiles every new one."""
    source, target = (
        np.pad(ids, ((0, ROWS - len(ids)), (0, length - ids.shape[1])))
        for ids, length in ((source, SOURCE_LENGTH), (target, TARGET_LENGTH))
    )
    return ops.convert_to_numpy(model((source, target))).astype("float64")


def reference_greedy_translate(model, dataset, sentences, prefixes=None):
    """Translates by greedy search without a cache: a full forward pass for each token."""
    source = pad_ids([encode_source(dataset.source_tokenizer, x) for x in sentences], SOURCE_LENGTH)
    forced = [dataset.target_tokenizer.encode(x) for x in prefixes or [""] * len(sentences)]
    target = np.full((len(sentences), TARGET_LENGTH), PADDING_ID, "int32")
    target[:, 0] = START_ID
    for t in range(TARGET_LENGTH - 1):
        logits = logits_of(model, source, target)[:, t]
        logits[:, :END_ID] = -np.inf
        for row, ids in enumerate(forced):
            target[row, t + 1] = ids[t] if t < len(ids) else logits[row].argmax()
    limits = [2 * len(x.split()) + EXTRA_LENGTH for x in sentences]
    return [
        dataset.target_tokenizer.decode(ids[1 : 1 + limit])
        for ids, limit in zip(target, limits, strict=True)
    ]


def markov(last, position, table):
    """Returns the next logits of a fake model: for each row, a table by last token, (R, V, V)."""
    index = ops.broadcast_to(ops.reshape(last, (-1, 1, 1)), (ops.shape(last)[0], 1, table.shape[2]))
    return ops.squeeze(ops.take_along_axis(table, index, axis=1), 1), table


def markov_score(table, tokens):
    """Computes the log probability of tokens, without padding, under the table (V, V) of a row."""
    tokens, score = [START_ID, *(t for t in tokens if t != PADDING_ID)], 0.0
    for last, following in itertools.pairwise(tokens):
        logits = table[last].astype("float64")
        score += logits[following] - np.log(np.exp(logits).sum())
    return score


def log_likelihoods(model, dataset, hypotheses):
    """Computes the log probability of each hypothesis over the full vocabulary."""
    source = [ids_of(dataset.source_tokenizer, x.source_tokens) for x in hypotheses]
    target = [[START_ID, *ids_of(dataset.target_tokenizer, x.tokens)] for x in hypotheses]
    source, target = pad_ids(source, SOURCE_LENGTH), pad_ids(target, TARGET_LENGTH + 1)
    logits = logits_of(model, source, target[:, :-1])[: len(target)]
    chosen = np.take_along_axis(logits, target[:, 1:, None], axis=2)[..., 0]
    logs = chosen - np.log(np.exp(logits).sum(axis=2))
    return np.where(target[:, 1:] == PADDING_ID, 0.0, logs).sum(axis=1)
