"""Checks of tokenizer files, which may come from untrusted sources."""

import os
import re

from keras_transformer._utils.reading import excerpt, read_json

MAX_TOKENS = 1_000_000
_SECTIONS = {
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
    "post_processor", "decoder", "model",
}  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can contain half of a character


def read_tokenizer_file(path):
    """Reads the JSON of Hugging Face `tokenizers`, without passing it to that library.

    Args:
        path: path of the file.

    Returns:
        A dictionary of the sections of the file. "model" is a dictionary with a "type" and a valid
        "vocab"; the others are not checked.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file is not a tokenizer file.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no tokenizer file; check the path. Received: {path}")
    content = read_json(path)
    model = content.get("model")
    if set(content) != _SECTIONS or content["version"] != "1.0" or not isinstance(model, dict):
        raise ValueError(
            f"{path} is not a tokenizer file: it must have version 1.0, a model and the other "
            f"sections. Received: {excerpt(sorted(content))}"
        )
    if not isinstance(model.get("type"), str):
        raise ValueError(
            f"{path} must have a type of model. Received: {excerpt(model.get('type'))}"
        )
    check_vocabulary(model.get("vocab"), f"The vocabulary of {path}")
    return content


def check_vocabulary(vocabulary, name):
    """Raises a ValueError unless a vocabulary maps tokens to the ids 0, 1, 2 and so on.

    Args:
        vocabulary: dictionary from each token to its id.
        name: name of the vocabulary in the message, at the beginning of a sentence.
    """
    if not isinstance(vocabulary, dict) or not all(type(i) is int for i in vocabulary.values()):
        raise ValueError(
            f"{name} must be a dictionary of integers. Received: {excerpt(vocabulary)}"
        )
    if len(vocabulary) > MAX_TOKENS:
        raise ValueError(
            f"{name} must have at most {MAX_TOKENS:,} tokens. Received: {len(vocabulary):,} tokens"
        )
    ids = set(vocabulary.values())
    if ids != set(range(len(vocabulary))):
        raise ValueError(
            f"The ids must be 0, 1, 2 and so on, each once. {name} has gaps or duplicates. "
            f"Received: {len(vocabulary)} tokens, {len(ids)} ids"
        )
    invalid = next(filter(_SURROGATE.search, vocabulary), None)
    if invalid is not None:
        raise ValueError(
            f"{name} must contain only valid Unicode, no surrogates. Received: {excerpt(invalid)}"
        )


def check_merges(merges, vocabulary, path):
    """Raises a ValueError unless the merges of byte-pair encoding fit to the vocabulary.

    Args:
        merges: list of pairs of tokens, `[first, second]`.
        vocabulary: dictionary of the tokens.
        path: path of the file, for the message.
    """
    if not isinstance(merges, list):
        raise ValueError(f"{path} must have a list of merges. Received: {excerpt(merges)}")
    for merge in merges:
        if not _is_merge(merge, vocabulary):
            raise ValueError(
                f"The merges of {path} must be pairs of tokens that together are a token. "
                f"Received: {excerpt(merge)}"
            )
    if len({tuple(merge) for merge in merges}) < len(merges):
        raise ValueError(
            f"The merges of {path} must be different. Received: {len(merges)} merges with repeats"
        )


def _is_merge(merge, vocabulary):
    return (
        isinstance(merge, list)
        and len(merge) == 2
        and all(isinstance(token, str) and token in vocabulary for token in merge)
        and "".join(merge) in vocabulary
    )


def added_tokens(tokens):
    """Returns the section "added_tokens" of a file that declares special tokens.

    Args:
        tokens: the special tokens, whose ids are 0, 1, 2 and so on.

    Returns:
        List of dictionaries.
    """
    rules = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return [{"id": i, "content": x, **rules, "special": True} for i, x in enumerate(tokens)]
