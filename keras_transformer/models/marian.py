"""Loads published Marian translation models from a folder in the Hugging Face layout."""

from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer._utils.types import PathLike
from keras_transformer.data.marian_tokenizer import MarianTokenizer
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.pretrained.sizes import check_parameters, check_plausible
from keras_transformer.settings import BlockSettings

_ACTIVATIONS = ("gelu", "relu", "silu", "swish")  # published names that are also Keras's
# Names of the shared embedding matrix. A file has it under at least one of them.
_EMBEDDINGS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
# Tables of sinusoids, which `TransformerModel` computes.
_POSITIONS = ("model.encoder.embed_positions.", "model.decoder.embed_positions.")


def read_marian(
    folder: PathLike, dtype: Any = "float32"
) -> tuple[TransformerModel, MarianTokenizer, MarianTokenizer]:
    """Loads a published Marian model and its tokenizers.

    Args:
        folder: path of a folder with `config.json`, `model.safetensors`, `vocab.json`, `source.spm`
            and `target.spm`.
        dtype: dtype policy of the model, such as "mixed_bfloat16".

    Returns:
        `(model, source_tokenizer, target_tokenizer)`: a built `TransformerModel` and two
        `MarianTokenizer`s.

    Raises:
        FileNotFoundError: if a file is missing.
        ImportError: if `sentencepiece` is not installed.
        ValueError: if a file is damaged or belongs to another model, or `TransformerModel` does not
            support the architecture.

    References:
        "Marian: Fast Neural Machine Translation in C++" (Junczys-Dowmunt et al., 2018);
        "OPUS-MT – Building open translation services for the World" (Tiedemann and Thottingal,
        2020).
    """
    checkpoint = Checkpoint(folder, ("marian",))
    arguments = model_arguments(checkpoint.config)
    source, target = MarianTokenizer.load(folder)
    _check_special_ids(checkpoint.config, source)
    settings, rows = arguments["settings"], source.vocab_size
    check_parameters(settings, 2, rows, checkpoint.num_parameters, checkpoint.path)
    model = TransformerModel(source.vocab_size, target.vocab_size, **arguments, dtype=dtype)
    model.build(((None, None), (None, None)))
    _load_weights(checkpoint, model, source.published_ids)
    checkpoint.check_complete(ignored=(*_EMBEDDINGS, *_POSITIONS))
    return model, source, target


def is_published(folder: PathLike) -> bool:
    """Whether a folder has files of a published model, not of a run."""
    names = ("source.spm", "vocab.json", "model.safetensors", "pytorch_model.bin")
    return any(Path(folder, name).exists() for name in names)


def model_arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of `TransformerModel` from the content of `config.json`.

    Raises:
        ValueError: if a field is missing or has no plausible value, or the architecture is not
            supported.
    """
    missing = [field for field in _REQUIRED_FIELDS if field not in config]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}. Received: {excerpt(config)}")
    check_plausible(config, _SETTINGS_FIELDS)
    _check_supported(config)
    settings = BlockSettings(**{name: config[field] for name, field in _SETTINGS_FIELDS.items()})
    options = {"tie_output": True, "share_embeddings": True, "output_bias": True}
    return {"settings": settings, **options}


def _check_supported(config):
    supported = {
        "decoder_layers": config["encoder_layers"],
        "decoder_attention_heads": config["encoder_attention_heads"],
        "decoder_ffn_dim": config["encoder_ffn_dim"],
        "decoder_vocab_size": config["vocab_size"],
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
    }
    unsupported = {
        field: config[field]
        for field, value in supported.items()
        if config.get(field, value) != value
    }
    if unsupported:
        raise ValueError(
            "Only models with an encoder and a decoder of the same size, one vocabulary and scaled "
            f"embeddings tied to the output are supported. Received: {excerpt(unsupported)}"
        )
    activation = config["activation_function"]
    if activation not in _ACTIVATIONS:
        raise ValueError(
            f"The activation must be one of {_ACTIVATIONS}. Received: {excerpt(activation)}"
        )


def _check_special_ids(config, tokenizer):
    ids = tokenizer.published_ids
    expected = {
        "vocab_size": len(ids) - 1,  # `published_ids` has padding twice: as padding and as start
        "pad_token_id": ids[PADDING_ID],
        "decoder_start_token_id": ids[START_ID],
        "eos_token_id": ids[END_ID],
    }
    different = {field: config[field] for field in expected if config[field] != expected[field]}
    if different:
        raise ValueError(
            f"config.json and vocab.json belong to different models: expected {expected}. "
            f"Received: {excerpt(different)}"
        )


def _load_weights(checkpoint, model, published_ids):
    """Copies the weights, with the D features of the hidden states in the order of this package.

    A published position encoding is all sines, then all cosines; `sinusoidal_encoding` interleaves
    them. No other layer depends on the order of the features, so the same permutation of all
    weights gives an equivalent model.
    """
    half = np.arange(model.settings.d_model // 2)
    order = np.stack([half, half + len(half)], axis=1).ravel()
    vocab_size = len(published_ids) - 1
    name = next((name for name in _EMBEDDINGS if checkpoint.has(name)), _EMBEDDINGS[0])
    embeddings = checkpoint.pop(name, (vocab_size, model.settings.d_model))
    if embeddings is not None:
        model.source_embedding.words.embeddings.assign(embeddings[published_ids][:, order])
    bias = checkpoint.pop("final_logits_bias", (1, vocab_size))
    if bias is not None:
        model.bias.assign(bias[0, published_ids])
    for stack, sublayers in (("encoder", _encoder_sublayers), ("decoder", _decoder_sublayers)):
        for i, layer in enumerate(getattr(model, stack).layers):
            for name, sublayer in sublayers(layer).items():
                checkpoint.load_layer(sublayer, f"model.{stack}.layers.{i}.{name}")
                _permute_features(sublayer, order, inputs=name.endswith(_INPUT_LAYERS))


def _permute_features(layer, order, inputs):
    """Permutes the weights of a layer along its inputs, or else along its outputs."""
    for weight in layer.weights[:1] if inputs else layer.weights:
        array = ops.convert_to_numpy(weight)
        weight.assign(array[order] if inputs else array[..., order])


def _encoder_sublayers(layer):
    return {
        **_attention_sublayers("self_attn", layer.self_attention, layer.add_norm_1),
        **_feed_forward_sublayers(layer.feed_forward, layer.add_norm_2),
    }


def _decoder_sublayers(layer):
    return {
        **_attention_sublayers("self_attn", layer.self_attention, layer.add_norm_1),
        **_attention_sublayers("encoder_attn", layer.cross_attention, layer.add_norm_2),
        **_feed_forward_sublayers(layer.feed_forward, layer.add_norm_3),
    }


def _attention_sublayers(name, attention, add_norm):
    return {
        f"{name}.q_proj": attention.query_projection,
        f"{name}.k_proj": attention.key_projection,
        f"{name}.v_proj": attention.value_projection,
        f"{name}.out_proj": attention.output_projection,
        f"{name}_layer_norm": add_norm.normalization,
    }


def _feed_forward_sublayers(feed_forward, add_norm):
    return {
        "fc1": feed_forward.inner,
        "fc2": feed_forward.outer,
        "final_layer_norm": add_norm.normalization,
    }


# Layers that read hidden states of size D. All others output them.
_INPUT_LAYERS = ("q_proj", "k_proj", "v_proj", "fc1")
# Fields of `BlockSettings` -> fields of config.json.
_SETTINGS_FIELDS = {
    "h": "encoder_attention_heads",
    "d_model": "d_model",
    "d_ff": "encoder_ffn_dim",
    "n": "encoder_layers",
    "rate": "dropout",
    "activation": "activation_function",
    "attention_rate": "attention_dropout",
    "activation_rate": "activation_dropout",
}
_REQUIRED_FIELDS = (
    *dict.fromkeys(_SETTINGS_FIELDS.values()),
    "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim", "scale_embedding",
    "vocab_size", "pad_token_id", "decoder_start_token_id", "eos_token_id",
)  # fmt: skip
