"""The tokenizers of published language models."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import tokenizers

from keras_transformer._utils.checks import check_integers
from keras_transformer._utils.extras import extra
from keras_transformer._utils.reading import excerpt, parse_json, read_json, read_text
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS
from keras_transformer._utils.types import PathLike
from keras_transformer.data.tokenizer_files import MAX_TOKENS

_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MAX_STEPS = 12  # of a part, each of which may double a text; a Llama decoder has 5
_MAX_PART = 1 << 14  # characters
_ADDED = len(SPECIAL_TOKENS) - 1  # ids that no published token has: padding, unknown and start


class PublishedTokenizer:
    """The tokenizer of a published language model, as `tokenizer.json` describes it.

    It has the methods of `WordTokenizer` that `Generate` needs. As in the published tokenizer,
    `encode` adds a start token only if the file says so, and the names of special tokens in a text,
    such as "<|im_end|>", are these tokens. Its ids begin with the special tokens of this package,
    of which only the end token is a published one; all others follow in the published order.

    Args:
        tokenizer: a `tokenizers.Tokenizer`.
        vocab_size: number of published ids, which may exceed the number of tokens.
        end_ids: the published ids that end a text, the first of which becomes the end token.
        chat_template: template of `chat`; None if there is none.

    Attributes:
        vocab_size: number of ids, including the special tokens of this package.
        end_ids: the ids that end a text.

    Raises:
        ValueError: if an id is not below `vocab_size`.

    Example:
        tokenizer = kt.PublishedTokenizer.load("SmolLM2-135M")
        tokenizer.tokenize("Good morning!")
    """

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        vocab_size: int,
        end_ids: Iterable[int],
        chat_template: str | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        end_ids = list(end_ids)
        tokenizer.no_padding()  # a file could pad each text to any length
        tokenizer.no_truncation()
        largest = max([*tokenizer.get_vocab().values(), *tokenizer.encode("").ids, *end_ids])
        if largest >= vocab_size:
            raise ValueError(
                "tokenizer.json and config.json belong to different models: expected ids below "
                f"{vocab_size}. Received: {largest}"
            )
        self.vocab_size = vocab_size + _ADDED
        self._end = end_ids[0]
        self.end_ids = [self._to_ours(i) for i in end_ids]
        self._chat_template = chat_template

    @classmethod
    def load(cls, folder: PathLike) -> Self:
        """Loads the tokenizer of a published language model.

        Args:
            folder: path of the model's folder, with `tokenizer.json` and `config.json`.

        Returns:
            A `PublishedTokenizer`.

        Raises:
            FileNotFoundError: if a file is missing.
            ValueError: if a file is damaged or too large.
        """
        folder = Path(folder)
        path = folder / "tokenizer.json"
        if not path.exists():
            raise FileNotFoundError(
                "The tokenizer of a published language model is in tokenizer.json: download it "
                f"into the same folder. Received: {folder}"
            )
        config, text = read_json(folder / "config.json"), read_text(path)
        _check_steps(parse_json(text, path), path)
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises nothing more specific
            raise ValueError(
                f"{path} is not a tokenizer file ({excerpt(str(error))}): download it again. "
                f"Received: {path}"
            ) from None
        vocab_size = config.get("vocab_size")
        check_integers(1, MAX_TOKENS, vocab_size=vocab_size)
        return cls(tokenizer, vocab_size, read_end_ids(folder, config), _read_template(folder))

    def tokenize(self, text: str) -> list[str]:
        """Splits a text into the published tokens."""
        return self._tokenizer.encode(text).tokens

    def encode(self, text: str) -> list[int]:
        """Returns the ids of a text, with the published start token if the file adds one."""
        ids = self._tokenizer.encode(text).ids
        # A chat begins with the name of the start token, which the file adds once more.
        return [self._to_ours(i) for i in (ids[1:] if ids[:1] == ids[1:2] == self._start else ids)]

    @property
    def _start(self):
        return self._tokenizer.encode("").ids[:1]

    def _to_ours(self, published):
        if published == self._end:
            return END_ID
        return published + _ADDED + (published < self._end)

    def words(self, text: str) -> list[str]:
        """Returns no words: every text consists of known tokens."""
        return []

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the published tokens of ids; the special tokens of this package by our names."""
        published = [(int(i), self._to_published(int(i))) for i in ids]
        return [
            SPECIAL_TOKENS[i] if p is None else self._tokenizer.id_to_token(p) or ""
            for i, p in published
        ]

    def _to_published(self, ours):
        if ours == END_ID:
            return self._end
        if ours < END_ID:
            return None
        return ours - _ADDED - (ours <= self._end + _ADDED)

    def decode(self, ids: Iterable[int], replacements: Iterable[str] = ()) -> str:
        """Converts ids to a text, without special tokens.

        Args:
            ids: token ids.
            replacements: ignored, because no token is unknown.

        Returns:
            The text.
        """
        published = [self._to_published(int(i)) for i in ids]
        return self._tokenizer.decode([p for p in published if p is not None])

    def chat(self, messages: list[dict[str, str]]) -> str:
        """Writes a conversation as the text that a chat model continues with its answer.

        The template comes with the model. It is rendered in a sandbox, which keeps it from running
        code and reading files, but limits neither its time nor its memory: use templates that you
        trust.

        Args:
            messages: list of dictionaries with a "role", such as "user", and the "content".

        Returns:
            The text.

        Raises:
            ImportError: if `jinja2` is not installed.
            ValueError: if the model has no chat template, or the template rejects the messages.

        Example:
            text = tokenizer.chat([{"role": "user", "content": "What is the capital of France?"}])
            print("".join(generate.stream(text)))
        """
        if self._chat_template is None:
            raise ValueError(
                "This model has no chat template: give `Generate` a text to continue. "
                f"Received: {excerpt(messages)}"
            )
        start, end = (
            "".join(self._tokenizer.id_to_token(i) or "" for i in ids)
            for ids in (self._start, [self._end])
        )
        return _render(self._chat_template, messages=messages, bos_token=start, eos_token=end)


def _check_steps(content, path):
    """Raises a ValueError if a tokenizer could make a text millions of times longer.

    A few dozen replacements of "a" by "aa" would exhaust the memory.

    Args:
        content: content of tokenizer.json.
        path: path of the file, for the message.
    """
    for name in _STEPS:
        part = content.get(name) if isinstance(content, dict) else None
        steps = list(_steps(part))
        if len(steps) > _MAX_STEPS or len(str(part)) > _MAX_PART or any(map(_grows, steps)):
            raise ValueError(
                f"{path} must have at most {_MAX_STEPS} steps in its {name}, none of which "
                f"replaces a text by a longer one. Received: {excerpt(part)}"
            )


def _steps(part):
    """Yields the objects in a part of tokenizer.json that have a type."""
    if isinstance(part, dict) and "type" in part:
        yield part
    children = part.values() if isinstance(part, dict) else part
    for child in children if isinstance(part, (dict, list)) else ():
        yield from _steps(child)


def _grows(step):
    pattern = step.get("pattern")
    old = pattern.get("String") if isinstance(pattern, dict) else None
    is_longer = len(str(step.get("content") or "")) > max(1, len(str(old or "")))
    return is_longer or step["type"] == "Precompiled"


def read_end_ids(folder: PathLike, config: dict[str, Any]) -> list[int]:
    """Returns the published ids that end a text: those of generation_config.json, if it has any.

    Args:
        folder: path of the model's folder.
        config: content of its config.json.

    Raises:
        ValueError: if there are none, or one is not an id of the vocabulary.
    """
    path = Path(folder) / "generation_config.json"
    found = read_json(path).get("eos_token_id") if path.exists() else None
    found = config.get("eos_token_id") if found is None else found
    ids: list[Any] = found if isinstance(found, list) else [found]
    for end_id in ids or [None]:
        check_integers(0, config["vocab_size"] - 1, eos_token_id=end_id)
    return ids


def _read_template(folder):
    path = folder / "chat_template.jinja"
    if path.exists():
        return read_text(path, _MAX_TEMPLATE)
    path = folder / "tokenizer_config.json"
    template = read_json(path).get("chat_template") if path.exists() else None
    if template is not None and not (isinstance(template, str) and len(template) < _MAX_TEMPLATE):
        raise ValueError(
            f"{path} must have one chat template, a text of at most {_MAX_TEMPLATE:,} characters. "
            f"Received: {excerpt(template)}"
        )
    return template


_MAX_TEMPLATE = 1 << 20  # bytes


def _render(template, **names):
    with extra("Chat templates require Jinja", "chat"):
        import jinja2
        from jinja2.sandbox import ImmutableSandboxedEnvironment

    def reject(message):
        raise jinja2.TemplateError(message)

    extensions = ["jinja2.ext.loopcontrols"]
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=extensions
    )
    environment.globals["raise_exception"] = reject
    try:
        return environment.from_string(template).render(add_generation_prompt=True, **names)
    except Exception as error:  # whatever the code of a template raises
        raise ValueError(
            f"The chat template of the model does not accept the messages ({excerpt(str(error))}). "
            f"Received: {excerpt(names['messages'])}"
        ) from None
