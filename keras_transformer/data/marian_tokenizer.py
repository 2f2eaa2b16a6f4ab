"""Parts of words as ids, as the published Marian models read and write them."""

import json
from pathlib import Path

from keras_transformer._utils.deprecation import renamed_method
from keras_transformer._utils.special_tokens import (
    END_ID,
    PADDING_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNKNOWN_ID,
)

_SPACE = "▁"
# Their names of what `SPECIAL_TOKENS` names. The decoder begins with padding.
_PUBLISHED = ("<pad>", "<unk>", "<pad>", "</s>")


class MarianTokenizer:
    """Takes sentences apart into the pieces of a published Marian model, and joins them again.

    It stands wherever a `Tokenizer` does: `decode(encode(s)) == normalize(s)` for every sentence
    that holds nothing unknown. The pieces are those of `sentencepiece`; the ids begin with our
    special tokens, and those of the other pieces follow in the published order. A code such as
    `>>deu<<` at the beginning of a sentence, with which models of several target languages are
    told which one to write, is one token.

    Args:
        processor: the `sentencepiece.SentencePieceProcessor` that does the work.
        vocabulary: dictionary from each piece to its published id.

    Attributes:
        published_ids: list of the published ids, in the order of ours. That of the padding is in it
            twice, for the start is no token of its own there.

    Raises:
        ValueError: if the ids are not 0, 1, 2 and so on, or a special token is missing.

    References:
        "SentencePiece: A simple and language independent subword tokenizer and detokenizer for
        Neural Text Processing" (Kudo and Richardson, 2018).
    """

    def __init__(self, processor, vocabulary):
        if set(vocabulary.values()) != set(range(len(vocabulary))):
            raise ValueError(
                "The vocabulary must number its tokens 0, 1, 2 and so on. "
                f"Received: {len(vocabulary)} tokens, {len(set(vocabulary.values()))} ids"
            )
        missing = sorted({name for name in _PUBLISHED if name not in vocabulary})
        if missing:
            raise ValueError(f"The vocabulary must have {_PUBLISHED}. Received: no {missing}")
        self._processor = processor
        words = sorted(vocabulary.keys() - set(_PUBLISHED), key=vocabulary.get)
        self.published_ids = [vocabulary[name] for name in (*_PUBLISHED, *words)]
        self._tokens = [*SPECIAL_TOKENS, *words]
        # Text like "</s>" that somebody types is text, and so are our own names.
        self._ids = {word: i for i, word in enumerate(words, len(SPECIAL_TOKENS))}

    @classmethod
    def load(cls, folder):
        """Reads the vocabulary and the pieces of a published model.

        Args:
            folder: path of a folder with `vocab.json`, `source.spm` and `target.spm`.

        Returns:
            The `MarianTokenizer` of the source language and that of the target language.

        Raises:
            FileNotFoundError: if the folder lacks a file.
            ImportError: if `sentencepiece` is not installed.
            ValueError: if a file is damaged.
        """
        folder = Path(folder)
        names = ("vocab.json", "source.spm", "target.spm")
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(
                f"The tokenizers of a Marian model are the files {', '.join(names)}. "
                f"There is no {' and no '.join(missing)}. Received: {folder}"
            )
        vocabulary = _read_vocabulary(folder / names[0])
        return tuple(cls(_read_pieces(folder / name), vocabulary) for name in names[1:])

    @property
    def vocab_size(self):
        """Number of ids, the special ones included."""
        return len(self._tokens)

    def normalize(self, sentence):
        """The sentence as the pieces write it."""
        return self.detokenize(self.words(sentence))

    def tokenize(self, sentence):
        """The tokens of a sentence; ▁ stands for the space before a word."""
        return self.tokens(self.encode(sentence))

    def encode(self, sentence):
        """The ids of a sentence, without start or end; unknown pieces are `UNKNOWN_ID`."""
        return [self._ids.get(piece, UNKNOWN_ID) for piece in self.words(sentence)]

    def words(self, sentence):
        """The text of each token of a sentence, known or not, as `sentencepiece` normalizes it; ▁
        stands for the space before a word."""
        code, sentence = _split_code(sentence)
        return [*code, *self._processor.encode(sentence, out_type=str)]

    def tokens(self, ids):
        """The tokens of some ids, special ones included; ▁ stands for the space before a word."""
        return [self._tokens[int(i)] for i in ids]

    def decode(self, ids, replacements=()):
        """The sentence of some ids.

        Args:
            ids: token ids. Padding and start are left out, the end ends the sentence.
            replacements: what to write for the unknown pieces, one after the other, with ▁ for a
                space before it; those that are left are written as the unknown word.

        Returns:
            The sentence.
        """
        ids = [int(i) for i in ids if int(i) not in (PADDING_ID, START_ID)]
        if END_ID in ids:
            ids = ids[: ids.index(END_ID)]
        texts, unknown = iter(replacements), _SPACE + SPECIAL_TOKENS[UNKNOWN_ID]
        return self.detokenize(
            next(texts, unknown) if i == UNKNOWN_ID else self._tokens[i] for i in ids
        )

    def detokenize(self, tokens):
        """The sentence of some tokens."""
        # Of pieces that are those of the other language the library keeps the mark.
        return self._processor.decode_pieces(list(tokens)).replace(_SPACE, " ").strip()

    join = renamed_method("join", "detokenize")


def _split_code(sentence):
    """The code of the target language, a list of one or none, and the sentence after it."""
    end = sentence.find("<<") + len("<<")
    if not sentence.startswith(">>") or end < len("<<"):
        return [], sentence
    return [sentence[:end]], sentence[end:]


def _read_vocabulary(path):
    try:
        vocabulary = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}. Received: {path}") from None
    if not isinstance(vocabulary, dict) or not all(type(i) is int for i in vocabulary.values()):
        raise ValueError(f"{path} must hold a dictionary of integers. Received: {path}")
    return vocabulary


def _read_pieces(path):
    try:
        import sentencepiece
    except ImportError as error:
        raise ImportError(
            f"Please pip install keras-transformer[marian]. Received: {error}"
        ) from error
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except RuntimeError as error:
        raise ValueError(f"{path} holds no SentencePiece: {error}. Received: {path}") from None
