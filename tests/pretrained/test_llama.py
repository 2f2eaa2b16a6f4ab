"""Checkpoints of the Llama family that are damaged or not supported are refused by name."""

import json

import numpy as np
import pytest
import tokenizers
from layer_contract import numpy
from llama_files import write
from safetensors.numpy import save_file

import keras_transformer as kt

INDEX = "model.safetensors.index.json"


def load(folder):
    return kt.TransformerLanguageModel.from_pretrained(folder)


def write_shards(folder, index):
    weights = write(folder)
    (folder / "model.safetensors").unlink()
    first = {name: weights.pop(name) for name in list(weights)[:3]}
    save_file(first, folder / "a-1.safetensors")
    save_file(weights, folder / "a-2.safetensors")
    names = {**dict.fromkeys(first, "a-1.safetensors"), **dict.fromkeys(weights, "a-2.safetensors")}
    (folder / INDEX).write_text(json.dumps({"weight_map": {**names, **index}}), encoding="utf-8")


def test_shards_give_the_same_model(tmp_path):
    write(tmp_path)
    tokens = np.array([[4, 5, 3, 9]])
    expected = numpy(load(tmp_path)(tokens))
    write_shards(tmp_path, {})
    np.testing.assert_array_equal(numpy(load(tmp_path)(tokens)), expected)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"lm_head.weight": "../a-1.safetensors"}, "in the same folder"),
        ({"lm_head.weight": 3}, "in the same folder"),
        ({"lm_head.weight": "b.safetensors"}, r"There is no b\.safetensors"),
        ({"other.weight": "a-1.safetensors"}, "each weight of its files once"),
    ],
)
def test_damaged_indexes_are_refused(index, message, tmp_path):
    write_shards(tmp_path, index)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model_type": "gemma"},
            r"expected llama or mistral or qwen2 or qwen3\. Received: 'gemma",
        ),
        ({"logit_scale": 0.5}, r"Received: {'logit_scale': 0\.5}$"),
        ({"quantization_config": {}}, r"Received: {'quantization_config': {}}$"),
        ({"partial_rotary_factor": 0.5}, r"Received: {'partial_rotary_factor': 0\.5}$"),
        ({"hidden_act": "gelu_new"}, r"Received: hidden_act='gelu_new'$"),
        (
            {"rope_scaling": {"type": "yarn", "factor": 2.0}},
            r"Received: rope_scaling=.*'yarn'",
        ),
        ({"rope_scaling": {"rope_type": "linear", "factor": -1}}, r"rotary_scaling\[0\]=-1$"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 2.0}}, "llama3"),
        ({"num_key_value_heads": 3}, "must divide `h`"),
        ({"hidden_size": 10**9}, "hidden_size"),
        ({"intermediate_size": 60000, "num_hidden_layers": 900}, "parameters, but"),
        ({"eos_token_id": None}, "eos_token_id=None"),
        ({"eos_token_id": [2, 20]}, "eos_token_id=20"),
        ({"tie_word_embeddings": True, "attention_bias": True}, r"q_proj\.bias is missing"),
        ({"vocab_size": 21}, r"has the shape \(20, 8\) instead of \(21, 8\)"),
        ({"model_type": "qwen3"}, "lacks head_dim"),
        (
            {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4},
            "Either all layers or none",
        ),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 4,
                "use_sliding_window": True,
                "max_window_layers": -(10**12),
            },
            "max_window_layers=-10",
        ),
    ],
    ids=str,
)
def test_what_is_not_supported_is_refused_by_name(changes, message, tmp_path):
    write(tmp_path, changes)
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


@pytest.mark.parametrize("field", ("hidden_size", "rms_norm_eps"))
def test_missing_fields_are_named(field, tmp_path):
    write(tmp_path, without=[field])
    with pytest.raises(ValueError, match=f"lacks {field}"):
        load(tmp_path)


def test_bad_tokenizer_files_are_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"is in tokenizer\.json"):
        kt.PublishedTokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="is not a tokenizer file"):
        kt.PublishedTokenizer.load(tmp_path)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({str(i): i for i in range(30)}, "0")
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"ids below 20\. Received: 29"):
        kt.PublishedTokenizer.load(tmp_path)
    write(tmp_path, {"vocab_size": 30})
    loaded = kt.PublishedTokenizer.load(tmp_path)
    assert loaded.tokens([0, 1, 2, *loaded.encode("2")]) == ["[PAD]", "[UNK]", "[START]", "2"]
    with pytest.raises(ValueError, match="has no chat template"):
        loaded.chat([{"role": "user", "content": "Hi"}])
    padding = {"direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "0"}
    change_tokenizer(tmp_path, padding={**padding, "strategy": {"Fixed": 10**12}})
    assert kt.PublishedTokenizer.load(tmp_path).encode("2") == loaded.encode("2")
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    insert = {"type": "Replace", "pattern": {"Regex": ""}, "content": "a"}
    for steps in ([double], [insert] * 40):
        change_tokenizer(tmp_path, normalizer={"type": "Sequence", "normalizers": steps})
        with pytest.raises(ValueError, match="at most 12 steps in its normalizer"):
            kt.PublishedTokenizer.load(tmp_path)


def change_tokenizer(folder, **parts):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **parts}), "utf-8")


@pytest.mark.parametrize(
    "template",
    (
        "{{ messages.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{% include '/etc/passwd' %}",
        "{{ raise_exception('no system message') }}",
    ),
)
def test_templates_cannot_leave_the_sandbox(template, tmp_path):
    write(tmp_path, {"vocab_size": 30})
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({str(i): i for i in range(30)}, "0")
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text(template, encoding="utf-8")
    with pytest.raises(ValueError, match="does not accept the messages"):
        kt.PublishedTokenizer.load(tmp_path).chat([])
