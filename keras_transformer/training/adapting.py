"""Training that begins with the weights of another run, or of a published Marian model."""

import dataclasses
import itertools

import numpy as np

from keras_transformer._utils.special_tokens import UNKNOWN_ID
from keras_transformer.data.dataset import normalize_sentence
from keras_transformer.data.marian_tokenizer import MarianTokenizer
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.token_shards import TokenShards
from keras_transformer.data.tokenizers import unknown_share
from keras_transformer.models.marian import is_published, model_arguments, read_marian
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.data_settings import split_mix
from keras_transformer.runs.folder import RunFolder
from keras_transformer.settings import SETTING_NAMES

_COMPARED = 1000  # pairs
_UNKNOWN_COST = 10  # tokens


class MarianFolder:
    """Reads a published Marian model as `RunFolder` reads a run that is adapted.

    Args:
        path: path of the folder, see `read_marian`.
    """

    def __init__(self, path):
        self.path = path

    def read_config(self):
        """Returns a `RunConfig` of its model and its vocabularies."""
        config = Checkpoint(self.path, ("marian",)).config
        options = model_arguments(config)
        settings = dataclasses.asdict(options.pop("settings"))
        names = {field.name for field in dataclasses.fields(RunConfig)} & {*SETTING_NAMES}
        values = {name: settings[name] for name in names if settings[name] is not None}
        values |= {"norm_first": False, "rotary_base": None, "tokenizer": "bpe"}
        values["vocab_size"] = config["vocab_size"]
        options["share_vocabulary"] = options.pop("share_embeddings")
        return RunConfig(**values, **options)

    def read_tokenizers(self):
        """Returns the source tokenizer and the target tokenizer."""
        return MarianTokenizer.load(self.path)

    def read_model(self, make_model=None):
        """Returns the model."""
        return read_marian(self.path)[0]

    def read_test(self):
        """Returns the test part, which is unknown."""
        return []


def parent_folder(path):
    """Returns the `RunFolder`, or the `MarianFolder`, that a run adapts."""
    return MarianFolder(path) if is_published(path) else RunFolder(path)


def mixed_pairs(config, number):
    """Returns a sample of the other pairs that `RunConfig.mix` adds to a number of pairs.

    It has no sentence of the test part of the adapted run, which can then show what is forgotten.
    """
    path, share = split_mix(config.mix)
    pairs = read_pairs(path, data_limits=config.data_limits, columns=config.columns)
    if config.parent:
        tested = {source for source, _ in parent_folder(config.parent).read_test()}
        pairs = [pair for pair in pairs if normalize_sentence(pair[0]) not in tested]
    wanted = round(number * share / (1 - share))
    order = np.random.default_rng(config.seed).permutation(len(pairs))
    return [pairs[i] for i in order[:wanted]]


def describe_fit(dataset):
    """Yields a line on how the vocabularies of a run fit other data, and perhaps a warning.

    Args:
        dataset: a `PreparedDataset` with the tokenizers of the run.
    """
    source, target = dataset.source_tokenizer, dataset.target_tokenizer
    in_files = isinstance(dataset.train, TokenShards)
    pairs = itertools.islice(dataset.validation if in_files else dataset.train, _COMPARED)
    sources, targets = map(list, zip(*pairs, strict=True))
    yield (
        f"Unknown to the vocabularies: {unknown_share(source, sources):.1%} of the source and "
        f"{unknown_share(target, targets):.1%} of the target tokens"
    )
    swapped = _cost(source, targets) + _cost(target, sources)
    if swapped < 0.9 * (_cost(source, sources) + _cost(target, targets)):
        yield "Warning: each vocabulary fits the other language better. Are the columns swapped?"


def _cost(tokenizer, texts):
    """Returns a number that is small if the texts are in the language of a tokenizer."""
    ids = [i for text in texts for i in tokenizer.encode(text)]
    return len(ids) + _UNKNOWN_COST * ids.count(UNKNOWN_ID)


def freeze_encoder(model):
    """Makes the encoder non-trainable, and the source embedding unless the target shares it.

    Raises:
        ValueError: if the model has no such parts.
    """
    parts = [getattr(model, name, None) for name in ("encoder", "source_embedding")]
    if None in parts:
        raise ValueError(
            "The model has no `encoder` and `source_embedding` to freeze: leave `freeze` out. "
            f"Received: {type(model).__name__}"
        )
    encoder, embedding = parts
    encoder.trainable = False
    if embedding is not model.target_embedding:
        embedding.trainable = False
