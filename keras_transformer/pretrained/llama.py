"""Maps published language models of the Llama family to `TransformerLanguageModel`."""

from typing import Any

import numpy as np

from keras_transformer._utils.checks import check_integers
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.data.published_tokenizer import read_end_ids
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.pretrained.sizes import check_parameters, check_plausible
from keras_transformer.settings import BlockSettings

MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")
_ACTIVATIONS = ("gelu", "relu", "silu")  # published names that are also Keras's
_SIZES = {
    "vocab_size": "vocab_size",
    "h": "num_attention_heads",
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "n": "num_hidden_layers",
}
_REQUIRED = (*_SIZES.values(), "hidden_act", "rms_norm_eps")
# Fields that say how a model is built, each read below.
_READ = {
    *_REQUIRED, "attention_bias", "attention_dropout", "eos_token_id", "head_dim",
    "layer_types", "max_position_embeddings", "max_window_layers", "mlp_bias",
    "num_key_value_heads", "rope_parameters", "rope_scaling", "rope_theta", "sliding_window",
    "tie_word_embeddings", "use_sliding_window",
}  # fmt: skip
# Fields that change no number of a forward pass: names, versions, training, and other tasks.
_HARMLESS = {
    "_attn_implementation_autoset", "_name_or_path", "architectures", "bos_token_id",
    "chunk_size_feed_forward", "dtype", "finetuning_task", "id2label", "initializer_range",
    "is_llama_config", "label2id", "model_type", "output_attentions", "output_hidden_states",
    "pad_token_id", "prefix", "pretraining_tp", "problem_type", "return_dict", "sep_token_id",
    "task_specific_params", "tokenizer_class", "torch_dtype", "torchscript",
    "transformers.js_config", "transformers_version", "unk_token_id", "use_cache",
}  # fmt: skip
# Further fields, which may only have these values.
_FIXED: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False,),
    "is_decoder": (False, True),
    "is_encoder_decoder": (False,),
    "partial_rotary_factor": (1, None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "rope_interleaved": (False, None),
    "tie_encoder_decoder": (False,),
}
_LINEAR = ("factor",)
_LLAMA3 = (*_LINEAR, "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
_SCALINGS = {"default": (), "linear": _LINEAR, "llama3": _LLAMA3}


def read_checkpoint(folder):
    """Opens the `Checkpoint` of a language model in a folder."""
    return Checkpoint(folder, MODEL_TYPES)


def llama_arguments(checkpoint):
    """Returns the constructor arguments of the `TransformerLanguageModel` in a checkpoint.

    Raises:
        ValueError: if config.json lacks a field or has one that is not supported, or the model is
            far larger than the files of the weights.
    """
    config = checkpoint.config
    missing = [field for field in _REQUIRED if config.get(field) is None]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}. Received: {excerpt(config)}")
    check_plausible(config, {**_SIZES, "d_k": "head_dim"} if config.get("head_dim") else _SIZES)
    _check_fields(config)
    sizes = {name: config[field] for name, field in _SIZES.items()}
    vocab_size = sizes.pop("vocab_size")
    head = config.get("head_dim") or _default_head(checkpoint)
    biases = _biases(checkpoint)
    settings = BlockSettings(
        **sizes,
        d_k=head,
        d_v=head,
        h_kv=config.get("num_key_value_heads"),
        rate=0.0,
        attention_rate=config.get("attention_dropout") or 0.0,
        activation=config["hidden_act"],
        norm_first=True,
        epsilon=config["rms_norm_eps"],
        normalization="rms",
        gated=True,
        qk_norm=checkpoint.model_type == "qwen3",
        use_bias=biases["output"] or biases["feed_forward"],
        qkv_bias=biases["qkv"],
        window=_window(checkpoint),
        **_rotary(config),
    )
    rows = vocab_size * (1 if config.get("tie_word_embeddings") else 2)
    check_parameters(settings, 1, rows, checkpoint.num_parameters, checkpoint.path)
    return {
        "vocab_size": vocab_size + END_ID,
        "seq_length": config.get("max_position_embeddings"),
        "settings": settings,
        "tie_output": bool(config.get("tie_word_embeddings")),
        "scale_embeddings": False,
        "hide_start": True,
    }


def load_llama(checkpoint, model):
    """Copies the weights into a built `TransformerLanguageModel`."""
    biases, [end, *_] = _biases(checkpoint), read_end_ids(checkpoint.folder, checkpoint.config)
    shape = (model.vocab_size - END_ID, model.settings.d_model)
    table = checkpoint.pop("model.embed_tokens.weight", shape)
    if table is not None:
        model.embedding.words.embeddings.assign(_reordered(table, end))
    for i, layer in enumerate(model.encoder.layers):
        name, attention, feed_forward = (
            f"model.layers.{i}",
            layer.self_attention,
            layer.feed_forward,
        )
        parts = {"q": "query", "k": "key", "v": "value", "o": "output"}
        for letter, part in parts.items():
            has_bias = biases["output" if letter == "o" else "qkv"]
            projection = getattr(attention, f"{part}_projection")
            _load_dense(checkpoint, projection, f"{name}.self_attn.{letter}_proj", has_bias)
        if model.settings.qk_norm:
            checkpoint.load_layer(attention.query_norm, f"{name}.self_attn.q_norm")
            checkpoint.load_layer(attention.key_norm, f"{name}.self_attn.k_norm")
        parts = {"gate": feed_forward.gate, "up": feed_forward.inner, "down": feed_forward.outer}
        for part, dense in parts.items():
            _load_dense(checkpoint, dense, f"{name}.mlp.{part}_proj", biases["feed_forward"])
        checkpoint.load_layer(layer.add_norm_1.normalization, f"{name}.input_layernorm")
        checkpoint.load_layer(layer.add_norm_2.normalization, f"{name}.post_attention_layernorm")
    checkpoint.load_layer(model.encoder.final_norm, "model.norm")
    ignored = ["lm_head.weight"] if model.tie_output else []
    if not model.tie_output:
        table = checkpoint.pop("lm_head.weight", shape)
        if table is not None:
            model.projection.kernel.assign(_reordered(table, end).T)
    checkpoint.check_complete(ignored=ignored)


def _load_dense(checkpoint, dense, name, has_bias):
    """Loads a layer; a bias that only this package has stays 0."""
    checkpoint.load_variable(dense.kernel, f"{name}.weight", transpose=True)
    if has_bias:
        checkpoint.load_variable(dense.bias, f"{name}.bias")


def _reordered(table, end):
    """Returns the rows in the order of the ids of `PublishedTokenizer`."""
    zeros = np.zeros((END_ID, table.shape[1]), table.dtype)
    return np.concatenate([zeros, table[end : end + 1], table[:end], table[end + 1 :]])


def _check_fields(config):
    unknown = sorted(config.keys() - _READ - _HARMLESS - _FIXED.keys())
    wrong = [name for name, values in _FIXED.items() if config.get(name, values[0]) not in values]
    if unknown or wrong:
        fields = {name: config[name] for name in (*wrong, *unknown)}
        raise ValueError(
            "config.json has fields that this package does not know, or with values that it does "
            "not support, so the model would compute something else. "
            f"Received: {excerpt(fields)}"
        )
    if config["hidden_act"] not in _ACTIVATIONS:
        raise ValueError(
            f"The activation must be one of {_ACTIVATIONS}. "
            f"Received: hidden_act={excerpt(config['hidden_act'])}"
        )


def _default_head(checkpoint):
    config = checkpoint.config
    if checkpoint.model_type == "qwen3":
        raise ValueError(f"config.json lacks head_dim. Received: {excerpt(config)}")
    return None


def _biases(checkpoint):
    """Returns which dense layers have biases."""
    attention = bool(checkpoint.config.get("attention_bias"))
    is_qwen2 = checkpoint.model_type == "qwen2"
    feed_forward = bool(checkpoint.config.get("mlp_bias"))
    return {"qkv": attention or is_qwen2, "output": attention, "feed_forward": feed_forward}


def _window(checkpoint):
    """Returns the size of the window if all layers have one, None if no layer has."""
    config, kind = checkpoint.config, checkpoint.model_type
    n, field = config["num_hidden_layers"], "layer_types"
    size = config.get("sliding_window", 4096)  # the default of `transformers`
    if kind == "llama" or (kind != "mistral" and not config.get("use_sliding_window")):
        size = None
    types = config.get(field)
    if types is None:
        field = "max_window_layers"
        first = config.get(field, 28) if kind != "mistral" else 0
        first = n if size is None else first
        check_integers(0, 1 << 20, max_window_layers=first)
        types = ["full_attention"] * min(first, n) + ["sliding_attention"] * max(0, n - first)
    if types not in (["full_attention"] * n, ["sliding_attention"] * n):
        raise ValueError(
            "Either all layers or none must have a sliding window. "
            f"Received: {field}={excerpt(config.get(field))}"
        )
    return size if types[0] == "sliding_attention" else None


def _rotary(config):
    """Returns the settings of the rotary position embeddings."""
    parameters = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(parameters, dict):
        raise ValueError(f"The rotary scaling must be an object. Received: {excerpt(parameters)}")
    values = dict(parameters)
    base = values.pop("rope_theta", None) or config.get("rope_theta") or 10000.0
    kinds = [values.pop(name, None) for name in ("rope_type", "type")]
    kind = kinds[0] or kinds[1] or "default"
    names = _SCALINGS.get(kind) if isinstance(kind, str) else None
    partial = values.pop("partial_rotary_factor", None)
    if names is None or set(values) != set(names) or partial not in (None, 1):
        raise ValueError(
            f"The rotary scaling must be one of {list(_SCALINGS)} with its numbers "
            f"{list(_LLAMA3)}. Received: rope_scaling={excerpt(parameters)}"
        )
    scaling = tuple(values[name] for name in names) or None
    return {"rotary_base": base, "rotary_scaling": scaling}
