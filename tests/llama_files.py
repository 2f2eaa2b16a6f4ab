"""Writes a tiny language model with random weights in the layout of Hugging Face."""

import json

from layer_contract import normal
from safetensors.numpy import save_file

CONFIG = {
    "model_type": "llama",
    "vocab_size": 20,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 100.0,
    "eos_token_id": 2,
    "torch_dtype": "float32",
}
SHAPES = {
    "model.embed_tokens": (20, 8),
    "lm_head": (20, 8),
    "model.norm": (8,),
    **{f"model.layers.0.self_attn.{x}_proj": (8, 8) for x in "qkvo"},
    **{f"model.layers.0.mlp.{x}_proj": (12, 8) for x in ("gate", "up")},
    "model.layers.0.mlp.down_proj": (8, 12),
    "model.layers.0.input_layernorm": (8,),
    "model.layers.0.post_attention_layernorm": (8,),
}


def write(folder, changes=(), without=()):
    config = {**CONFIG, **dict(changes)}
    config = {name: x for name, x in config.items() if name not in without}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    shapes = {**SHAPES, "model.embed_tokens": (config.get("vocab_size", 20), 8)}
    weights = {f"{name}.weight": normal(*shape) for name, shape in shapes.items()}
    save_file(weights, folder / "model.safetensors")
    return weights
