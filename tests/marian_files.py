"""Writes the tokenizer files of a published Marian model."""

import functools
import io
import json
from pathlib import Path

import pytest

sentencepiece = pytest.importorskip("sentencepiece")

PAIRS = Path(__file__).resolve().parents[1] / "data" / "english-german.tsv"


def read_sentences(number):
    """Returns the first sentences of the corpus, one tuple per language."""
    lines = PAIRS.read_text(encoding="utf-8").splitlines()[:number]
    return zip(*(line.split("\t")[:2] for line in lines), strict=True)


@functools.cache
def train_pieces(sentences, size):
    """Trains a SentencePiece model and returns its bytes and its pieces."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=model, vocab_size=size, minloglevel=2
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return model.getvalue(), [processor.id_to_piece(i) for i in range(3, processor.vocab_size())]


def publish_tokenizers(folder, sizes=(120, 130), codes=(">>deu<<", ">>nld<<")):
    """Writes the tokenizer files and returns the vocabulary, without the last piece of each."""
    pieces = []
    for name, sentences, size in zip(("source", "target"), read_sentences(500), sizes, strict=True):
        model, trained = train_pieces(sentences, size)
        (folder / f"{name}.spm").write_bytes(model)
        pieces += trained[:-1]
    names = dict.fromkeys(["</s>", "<unk>", *codes, *pieces, "<pad>"])
    vocabulary = {name: i for i, name in enumerate(names)}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    return vocabulary
