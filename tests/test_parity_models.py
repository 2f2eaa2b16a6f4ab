"""Parity with the models of Hugging Face `transformers`, using their weights."""

import numpy as np
import pytest
from layer_contract import normal, numpy
from safetensors.numpy import load_file

from keras_transformer.data.wordpiece import WordPieceTokenizer
from keras_transformer.models import (
    AnsweringBert,
    Bert,
    EncoderClassifier,
    PretrainingBert,
    VisionTransformer,
)
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.settings import BlockSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity

BERT = {
    "vocab_size": 40,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 9,
}
DISTILBERT = {
    "vocab_size": 40,
    "dim": 12,
    "n_layers": 2,
    "n_heads": 3,
    "hidden_dim": 20,
    "max_position_embeddings": 9,
}
IDS = np.array([[2, 5, 6, 3, 7, 8, 3, 0], [2, 9, 3, 10, 3, 0, 0, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0, 0, 0]], "int32")
IS_TOKEN = IDS != 0


def publish(name, folder, **changes):
    """Saves a tiny `transformers` model with random weights and returns it."""
    distilled = name.startswith("DistilBert")
    configs = transformers.DistilBertConfig if distilled else transformers.BertConfig
    config = configs(**{**(DISTILBERT if distilled else BERT), **changes})
    torch.manual_seed(0)
    model = getattr(transformers, name)(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.tie_weights()
    model.save_pretrained(folder)
    return model


def apply(model, ids=IDS, segments=SEGMENTS):
    inputs = {"input_ids": tensor(ids), "attention_mask": tensor(ids != 0)}
    if "DistilBert" not in type(model).__name__:
        inputs["token_type_ids"] = tensor(segments)
    with torch.no_grad():
        return model(**inputs)


def tensor(x):
    return torch.from_numpy(np.ascontiguousarray(x)).long()


def assert_same(ours, theirs):
    np.testing.assert_allclose(numpy(ours), theirs.numpy(), atol=1e-4, rtol=1e-4)


def assert_same_at_tokens(ours, theirs):
    """Compares all positions that are not padding."""
    np.testing.assert_allclose(
        numpy(ours)[IS_TOKEN], theirs.numpy()[IS_TOKEN], atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize("changes", ({}, {"hidden_act": "relu", "layer_norm_eps": 0.1}))
def test_bert(tmp_path, changes):
    theirs = apply(publish("BertModel", tmp_path, **changes))
    ours = Bert.from_pretrained(tmp_path)
    hidden = ours((IDS, SEGMENTS))
    assert_same_at_tokens(hidden, theirs.last_hidden_state)
    assert_same(ours.pool(hidden), theirs.pooler_output)


def test_bert_without_a_pooler(tmp_path):
    """Published models of other tasks have no pooler."""
    model = publish("BertForMaskedLM", tmp_path)
    ours = Bert.from_pretrained(tmp_path)
    assert ours.pooler is None
    assert_same_at_tokens(ours((IDS, SEGMENTS)), apply(model.bert).last_hidden_state)


def test_pretraining_heads(tmp_path):
    theirs = apply(publish("BertForPreTraining", tmp_path))
    ours = PretrainingBert.from_pretrained(tmp_path)
    all_positions = np.tile(np.arange(8, dtype="int32"), (2, 1))
    found = ours((IDS, SEGMENTS, all_positions))
    assert_same_at_tokens(found["words"], theirs.prediction_logits)
    assert_same(found["next"], theirs.seq_relationship_logits)
    positions = np.array([[1, 4], [3, 1]], "int32")
    expected = theirs.prediction_logits.numpy()[np.arange(2)[:, None], positions]
    found = numpy(ours((IDS, SEGMENTS, positions))["words"])
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


def test_distilbert(tmp_path):
    theirs = apply(publish("DistilBertModel", tmp_path))
    assert_same_at_tokens(Bert.from_pretrained(tmp_path)(IDS), theirs.last_hidden_state)


@pytest.mark.parametrize("kind", ("Bert", "DistilBert"))
def test_classification(tmp_path, kind):
    theirs = apply(publish(f"{kind}ForSequenceClassification", tmp_path, num_labels=4))
    inputs = IDS if kind == "DistilBert" else (IDS, SEGMENTS)
    assert_same(EncoderClassifier.from_pretrained(tmp_path)(inputs), theirs.logits)


@pytest.mark.parametrize("kind", ("Bert", "DistilBert"))
def test_question_answering(tmp_path, kind):
    theirs = apply(publish(f"{kind}ForQuestionAnswering", tmp_path))
    inputs = IDS if kind == "DistilBert" else (IDS, SEGMENTS)
    found = AnsweringBert.from_pretrained(tmp_path)(inputs)
    assert_same_at_tokens(found["start"], theirs.start_logits)
    assert_same_at_tokens(found["end"], theirs.end_logits)


def test_tokens(tmp_path):
    texts = ["The quick (brown) fox, it's [MASK]ed!", "Naïve  Übungen\tin tokenization", "語 a"]
    vocabulary = WordPieceTokenizer.train(texts * 2, min_count=3)
    theirs = transformers.BertTokenizer(
        vocab={vocabulary.tokens([i])[0]: i for i in range(vocabulary.vocab_size)}
    )
    theirs.save_pretrained(tmp_path)
    ours = WordPieceTokenizer.load(tmp_path / "tokenizer.json")
    for first in texts:
        for second in (*texts, None):
            expected = theirs(first, second, split_special_tokens=True)
            pair = [None if text is None else ours.encode(text).ids for text in (first, second)]
            assert ours.add_special_tokens(*pair) == (
                expected["input_ids"],
                expected["token_type_ids"],
            )
    expected = theirs(texts[1], return_offsets_mapping=True, add_special_tokens=False)
    assert ours.encode(texts[1]).offsets == expected["offset_mapping"]


def test_vision_transformer(tmp_path):
    config = transformers.ViTConfig(
        image_size=8,
        patch_size=2,
        num_channels=3,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        layer_norm_eps=1e-6,
        num_labels=5,
    )
    torch.manual_seed(0)
    theirs = transformers.ViTForImageClassification(config).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.save_pretrained(tmp_path)
    images = normal(2, 8, 8, 3)
    ours = VisionTransformer(8, 2, 5, BlockSettings(h=3, d_model=12, d_ff=20, n=2, rate=0.0))
    ours.build(images.shape)
    copy_vit(tmp_path, ours)
    pixels = torch.from_numpy(images.transpose(0, 3, 1, 2).copy())
    with torch.no_grad():
        hidden = theirs(pixels, output_hidden_states=True).hidden_states[0]
        assert_same(ours.embedding(images), hidden)
        assert_same(ours.encode(images), theirs.vit(pixels).last_hidden_state)
        assert_same(ours(images), theirs(pixels).logits)


def copy_vit(folder, ours):
    checkpoint = Checkpoint(folder, ("vit",))
    for i, layer in enumerate(ours.encoder.layers):
        attention, name = layer.self_attention, f"vit.encoder.layer.{i}"
        for part in ("query", "key", "value"):
            projection = getattr(attention, f"{part}_projection")
            checkpoint.load_layer(projection, f"{name}.attention.attention.{part}")
        checkpoint.load_layer(attention.output_projection, f"{name}.attention.output.dense")
        checkpoint.load_layer(layer.add_norm_1.normalization, f"{name}.layernorm_before")
        checkpoint.load_layer(layer.feed_forward.inner, f"{name}.intermediate.dense")
        checkpoint.load_layer(layer.feed_forward.outer, f"{name}.output.dense")
        checkpoint.load_layer(layer.add_norm_2.normalization, f"{name}.layernorm_after")
    checkpoint.load_layer(ours.encoder.final_norm, "vit.layernorm")
    checkpoint.load_layer(ours.classifier, "classifier")
    checkpoint.check_complete(ignored=("vit.embeddings.",))
    weights = load_file(folder / "model.safetensors")
    embedding, name = ours.embedding, "vit.embeddings.patch_embeddings.projection"
    embedding.class_token.assign(weights["vit.embeddings.cls_token"][0])
    embedding.positions.assign(weights["vit.embeddings.position_embeddings"][0])
    kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)
    embedding.projection.set_weights([kernel, weights[f"{name}.bias"]])
