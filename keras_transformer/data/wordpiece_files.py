"""Reads WordPiece tokenizers from files, which may come from untrusted sources."""

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers

from keras_transformer._utils.reading import excerpt
from keras_transformer.data.tokenizer_files import check_vocabulary, read_tokenizer_file

_BOOLEAN = (False, True)
# Sections of a file -> their type, and the supported values of their options.
_COMPONENTS = {
    "model": (
        "WordPiece",
        {
            "unk_token": ("[UNK]",),
            "continuing_subword_prefix": ("##",),
            "max_input_chars_per_word": range(1, 1001),
        },
    ),
    "normalizer": (
        "BertNormalizer",
        {
            "clean_text": _BOOLEAN,
            "handle_chinese_chars": _BOOLEAN,
            "strip_accents": (None, *_BOOLEAN),
            "lowercase": _BOOLEAN,
        },
    ),
    "pre_tokenizer": ("BertPreTokenizer", {}),
    "decoder": ("WordPiece", {"prefix": ("##",), "cleanup": _BOOLEAN}),
}
_POST_PROCESSORS = ("BertProcessing", "TemplateProcessing")
_TOKEN_OPTIONS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), bool)
_TOKEN_FIELDS = {"id": int, "content": str, **_TOKEN_OPTIONS}
_MAX_ADDED_TOKENS = 1000
_MAX_ADDED_LENGTH = 100  # characters; the library searches texts for all added tokens at once


def read_wordpiece(path):
    """Reads a WordPiece tokenizer with the components that `WordPieceTokenizer.load` lists.

    The library obeys options that exhaust the memory or abort the process. So it gets only checked
    ones; padding, truncation and post-processing are left out.

    Args:
        path: path of the JSON file.

    Returns:
        A `tokenizers.Tokenizer`.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file is not a WordPiece tokenizer, has an unsupported component, or its
            vocabulary is damaged.
    """
    content = read_tokenizer_file(path)
    kind = content["model"]["type"]
    if kind != "WordPiece":
        raise ValueError(f"{path} must have a WordPiece vocabulary. Received: {excerpt(kind)}")
    vocabulary = content["model"].pop("vocab")
    options = {name: _read_options(content, name, path) for name in _COMPONENTS}
    _check_post_processor(content["post_processor"], path)
    added = _read_added_tokens(content["added_tokens"], vocabulary, path)
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, **options["model"]))
    tokenizer.normalizer = normalizers.BertNormalizer(**options["normalizer"])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(**options["decoder"])
    tokenizer.add_tokens(added)
    return tokenizer


def _read_options(content, name, path):
    """Returns the options of a component, without its type."""
    kind, supported = _COMPONENTS[name]
    options = content[name]
    if not isinstance(options, dict) or options.get("type") != kind:
        raise ValueError(
            f"The {name} of {path} must be a {kind}; no other one is supported. "
            f"Received: {excerpt(options)}"
        )
    if set(options) != {"type", *supported}:
        raise ValueError(
            f"The {name} of {path} must have the options {list(supported)}. "
            f"Received: {excerpt(sorted(options))}"
        )
    for option, values in supported.items():
        # The type matters: 1 equals True.
        if not any(type(options[option]) is type(x) and options[option] == x for x in values):
            raise ValueError(
                f"`{option}` in {path} must be one of {excerpt(values)}. "
                f"Received: {option}={excerpt(options[option])}"
            )
    return {option: options[option] for option in supported}


def _check_post_processor(processor, path):
    kind = processor.get("type") if isinstance(processor, dict) else processor
    if kind is not None and kind not in _POST_PROCESSORS:
        raise ValueError(
            f"The post_processor of {path} must be one of {_POST_PROCESSORS} or none. "
            f"Received: {excerpt(processor)}"
        )


def _read_added_tokens(added, vocabulary, path):
    """Returns the added tokens in the order of their ids, and checks them and the vocabulary."""
    if not isinstance(added, list) or len(added) > _MAX_ADDED_TOKENS:
        raise ValueError(
            f"{path} must have a list of at most {_MAX_ADDED_TOKENS:,} added tokens. "
            f"Received: {excerpt(added)}"
        )
    for token in added:
        if not _is_added_token(token, vocabulary):
            raise ValueError(
                f"The added tokens of {path} must have the fields {list(_TOKEN_FIELDS)}, at most "
                f"{_MAX_ADDED_LENGTH} characters, and the ids of the vocabulary. "
                f"Received: {excerpt(token)}"
            )
    every = {**vocabulary, **{token["content"]: token["id"] for token in added}}
    check_vocabulary(every, f"The vocabulary of {path} with added tokens")
    return [
        AddedToken(token["content"], **{name: token[name] for name in _TOKEN_OPTIONS})
        for token in sorted(added, key=lambda token: token["id"])
    ]


def _is_added_token(token, vocabulary):
    return (
        isinstance(token, dict)
        and {name: type(value) for name, value in token.items()} == _TOKEN_FIELDS
        and 0 < len(token["content"]) <= _MAX_ADDED_LENGTH
        and vocabulary.get(token["content"], token["id"]) == token["id"]
    )
