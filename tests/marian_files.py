"""Writes the files of a published Marian model with random weights."""

import functools
import io
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

sentencepiece = pytest.importorskip("sentencepiece")

D, FF = 6, 10
MARIAN = {
    "architectures": ["MarianMTModel"],
    "model_type": "marian",
    "activation_function": "swish",
    "d_model": D,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": FF,
    "decoder_ffn_dim": FF,
    "dropout": 0.1,
    "attention_dropout": 0.2,
    "activation_dropout": 0.3,
    "max_position_embeddings": 64,
    "scale_embedding": True,
    "eos_token_id": 0,
}

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


def dense(name, outputs, inputs):
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name):
    return {f"{name}.weight": (D,), f"{name}.bias": (D,)}


def layer_shapes(layer, attentions):
    shapes = {}
    for name in attentions:
        for part in ("q", "k", "v", "out"):
            shapes |= dense(f"{layer}.{name}.{part}_proj", D, D)
        shapes |= norm(f"{layer}.{name}_layer_norm")
    feed_forward = {**dense(f"{layer}.fc1", FF, D), **dense(f"{layer}.fc2", D, FF)}
    return {**shapes, **feed_forward, **norm(f"{layer}.final_layer_norm")}


def publish_weights(folder, vocab_size, omitted=(), **extra):
    """Writes random weights and returns them."""
    shapes = {
        "model.shared.weight": (vocab_size, D),
        "final_logits_bias": (1, vocab_size),
        **layer_shapes("model.encoder.layers.0", ["self_attn"]),
        **layer_shapes("model.decoder.layers.0", ["self_attn", "encoder_attn"]),
        **extra,
    }
    rng = np.random.default_rng(0)
    weights = {
        name: rng.normal(size=shape).astype("float32")
        for name, shape in shapes.items()
        if name not in omitted
    }
    save_file(weights, folder / "model.safetensors")
    return weights


def publish_marian(folder):
    """Writes all files."""
    last = len(publish_tokenizers(folder)) - 1
    ids = {"vocab_size": last + 1, "pad_token_id": last, "decoder_start_token_id": last}
    (folder / "config.json").write_text(json.dumps({**MARIAN, **ids}))
    publish_weights(folder, last + 1)
