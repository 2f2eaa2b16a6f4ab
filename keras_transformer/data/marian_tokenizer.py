"""The sub-word tokenizer of published Marian models."""

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self, TypeAlias

from keras_transformer._utils.extras import extra
from keras_transformer._utils.reading import check_regular, excerpt, read_json
from keras_transformer._utils.special_tokens import SPECIAL_TOKENS, UNKNOWN_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.data.tokenizer_files import check_vocabulary
from keras_transformer.data.tokenizers import ReversibleTokenizer, Tokenizer

_MAX_MODEL = 1 << 24  # bytes; a SentencePiece model of 250,000 pieces has 5 MB
MARIAN = "marian"  # the type in the files of `MarianTokenizer.save`
_SPACE = "▁"
# The names of `SPECIAL_TOKENS` in published models, whose decoder starts with padding.
_PUBLISHED_SPECIAL_TOKENS = ("<pad>", "<unk>", "<pad>", "</s>")


class MarianTokenizer(ReversibleTokenizer):
    """Splits sentences into the sub-words of a published Marian model.

    It has the methods of `WordTokenizer` that translation needs, and
    `decode(encode(s)) == normalize(s)` holds for every sentence without unknown tokens. The
    sub-words are those of `sentencepiece`. Their ids begin with the special tokens of this package,
    followed by the other tokens in the published order. A language code at the beginning of a
    sentence, such as `>>deu<<`, is one token; models with several target languages need it.

    Args:
        processor: a `sentencepiece.SentencePieceProcessor`.
        vocabulary: dictionary from each token to its published id.

    Attributes:
        published_ids: list of the published ids in the order of the ids of this tokenizer. The
            published padding id occurs twice, because it is also the start token.

    Raises:
        ValueError: if the ids are not 0, 1, 2 and so on, or a special token is missing.

    References:
        "SentencePiece: A simple and language independent subword tokenizer and detokenizer for
        Neural Text Processing" (Kudo and Richardson, 2018).

    Example:
        source_tokenizer, target_tokenizer = kt.MarianTokenizer.load("opus-mt-en-de")
        source_tokenizer.tokenize("Good morning!")
    """

    def __init__(self, processor: Any, vocabulary: dict[str, int]) -> None:
        check_vocabulary(vocabulary, "The vocabulary")
        missing = sorted({name for name in _PUBLISHED_SPECIAL_TOKENS if name not in vocabulary})
        if missing:
            raise ValueError(
                f"The vocabulary must contain {_PUBLISHED_SPECIAL_TOKENS}. Received: no {missing}"
            )
        self._processor, self._vocabulary = processor, vocabulary
        tokens = sorted(
            vocabulary.keys() - set(_PUBLISHED_SPECIAL_TOKENS), key=vocabulary.__getitem__
        )
        self.published_ids = [vocabulary[name] for name in (*_PUBLISHED_SPECIAL_TOKENS, *tokens)]
        self._tokens = [*SPECIAL_TOKENS, *tokens]
        # Without the special tokens: "</s>" or "[END]" in a sentence is text.
        self._ids = {token: i for i, token in enumerate(tokens, len(SPECIAL_TOKENS))}

    @classmethod
    def load(cls, folder: PathLike) -> tuple[Self, Self]:
        """Loads the source and the target tokenizer of a published model.

        Args:
            folder: path of the model's folder, with `vocab.json`, `source.spm` and `target.spm`.

        Returns:
            A `MarianTokenizer` for the source language and one for the target language.

        Raises:
            FileNotFoundError: if a file is missing.
            ImportError: if `sentencepiece` is not installed.
            ValueError: if a file is damaged or too large.
        """
        folder = Path(folder)
        names = ("vocab.json", "source.spm", "target.spm")
        missing = [name for name in names if not (folder / name).exists()]
        if missing:
            raise FileNotFoundError(
                f"The tokenizers of a Marian model are in the files {', '.join(names)}. "
                f"There is no {' and no '.join(missing)}. Received: {folder}"
            )
        vocabulary = read_json(folder / names[0])
        source, target = (cls(_read_processor(folder / x), vocabulary) for x in names[1:])
        return source, target

    @classmethod
    def from_content(cls, content: dict[str, Any], path: PathLike) -> Self:
        """Makes a tokenizer from the JSON that `save` writes.

        Args:
            content: the content of the file.
            path: path of the file, for messages.

        Raises:
            ImportError: if `sentencepiece` is not installed.
            ValueError: if the content is damaged.
        """
        try:
            pieces = base64.b64decode(content["pieces"], validate=True)
            vocabulary = content["vocabulary"]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} must have the pieces and the vocabulary of a Marian tokenizer. "
                f"Received: {type(error).__name__} {excerpt(str(error))}"
            ) from None
        return cls(_make_processor(path, model_proto=pieces), vocabulary)

    def to_json(self) -> str:
        """Returns the tokenizer as JSON text, with the SentencePiece model in base64."""
        pieces = base64.b64encode(self._processor.serialized_model_proto()).decode("ascii")
        content = {"type": MARIAN, "pieces": pieces, "vocabulary": self._vocabulary}
        return json.dumps(content, ensure_ascii=False) + "\n"

    @property
    def vocab_size(self) -> int:
        """Number of tokens, including the special tokens."""
        return len(self._tokens)

    def normalize(self, sentence: str) -> str:
        """Returns the sentence as `decode` writes it: with normalized characters and spaces."""
        return self.detokenize(self.words(sentence))

    def tokenize(self, sentence: str) -> list[str]:
        """Splits a sentence into tokens; ▁ marks a space before a word."""
        return self.tokens(self.encode(sentence))

    def encode(self, sentence: str) -> list[int]:
        """Returns the ids of a sentence, without start and end token; unknown tokens get id 1."""
        return [self._ids.get(piece, UNKNOWN_ID) for piece in self.words(sentence)]

    def words(self, sentence: str) -> list[str]:
        """Returns the text of each token of a sentence, including the unknown ones.

        `sentencepiece` normalizes the text; ▁ marks a space before a word.
        """
        code, sentence = _split_code(sentence)
        return [*code, *self._processor.encode(sentence, out_type=str)]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the tokens of ids, including special tokens; ▁ marks a space before a word."""
        return [self._tokens[int(i)] for i in ids]

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Joins tokens to a sentence."""
        # `sentencepiece` keeps the ▁ of sub-words that only the other language has.
        return self._processor.decode_pieces(list(tokens)).replace(_SPACE, " ").strip()


AnyTokenizer: TypeAlias = Tokenizer | MarianTokenizer


def load_tokenizer(path: PathLike) -> AnyTokenizer:
    """Loads a tokenizer of any kind from the file that its `save` has written.

    Raises:
        FileNotFoundError: if the file does not exist.
        ImportError: if a package that the tokenizer needs is not installed.
        ValueError: if the file is damaged.
    """
    content = read_json(path)
    if content.get("type") == MARIAN:
        return MarianTokenizer.from_content(content, path)
    return Tokenizer.load(path)


def _split_code(sentence):
    """Returns a list of the language code, empty if there is none, and the rest of the sentence."""
    end = sentence.find("<<") + len("<<")
    if not sentence.startswith(">>") or end < len("<<"):
        return [], sentence
    return [sentence[:end]], sentence[end:]


def _read_processor(path):
    check_regular(path, _MAX_MODEL)
    return _make_processor(path, model_proto=Path(path).read_bytes())


def _make_processor(path, model_proto):
    with extra("Marian models require SentencePiece", "marian"):
        import sentencepiece
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model_proto)
    except RuntimeError as error:
        raise ValueError(
            f"{path} is not a SentencePiece model ({excerpt(str(error))}): download it again. "
            f"Received: {path}"
        ) from None
    return processor
