"""Published Marian models: a folder in the layout of Hugging Face as a translator's parts."""

import numpy as np
from keras import ops

from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID
from keras_transformer.data.marian_tokenizer import MarianTokenizer
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.settings import BlockSettings

_ACTIVATIONS = ("gelu", "relu", "silu", "swish")  # theirs that are called as Keras calls them
# All names of the one table of the words' vectors: a file has at least one of them.
_WORDS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
_POSITIONS = ("model.encoder.embed_positions.", "model.decoder.embed_positions.")  # no weights


def read_marian(folder, dtype="float32"):
    """Reads a published model for translating.

    Args:
        folder: path of a folder with `config.json`, `model.safetensors`, `vocab.json`, `source.spm`
            and `target.spm`.
        dtype: dtype policy to compute in; the weights are float32 in any case.

    Returns:
        A built `TransformerModel`, and the `MarianTokenizer`s of the source and of the target
        language.

    Raises:
        FileNotFoundError: if the folder lacks a file.
        ImportError: if `sentencepiece` is not installed.
        ValueError: if a file is damaged or of another model, or the model is of a kind that
            `TransformerModel` is not.

    References:
        "Marian: Fast Neural Machine Translation in C++" (Junczys-Dowmunt et al., 2018);
        "OPUS-MT – Building open translation services for the World" (Tiedemann and Thottingal,
        2020).
    """
    checkpoint = Checkpoint(folder, ("marian",))
    arguments = _arguments(checkpoint.config)
    source, target = MarianTokenizer.load(folder)
    _check_ids(checkpoint.config, source)
    model = TransformerModel(source.vocab_size, target.vocab_size, **arguments, dtype=dtype)
    model.build(((None, None), (None, None)))
    _load(checkpoint, model, source.published_ids)
    checkpoint.finish(ignored=(*_WORDS, *_POSITIONS))
    return model, source, target


def _arguments(config):
    missing = [name for name in _REQUIRED if name not in config]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}. Received: {config}")
    _check_kind(config)
    arguments = {ours: config[theirs] for ours, theirs in _ARGUMENTS.items()}
    options = {"tie_output": True, "share_embeddings": True, "output_bias": True}
    return {"settings": BlockSettings(**arguments), **options}


def _check_kind(config):
    known = {
        "decoder_layers": config["encoder_layers"],
        "decoder_attention_heads": config["encoder_attention_heads"],
        "decoder_ffn_dim": config["encoder_ffn_dim"],
        "decoder_vocab_size": config["vocab_size"],
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
    }
    strange = {name: config[name] for name in known if config.get(name, known[name]) != known[name]}
    if strange:
        raise ValueError(
            "Only models with as large an encoder as decoder, one vocabulary and scaled vectors of "
            f"words that are tied to the output are known. Received: {strange}"
        )
    activation = config["activation_function"]
    if activation not in _ACTIVATIONS:
        raise ValueError(f"The activation must be one of {_ACTIVATIONS}. Received: {activation!r}")


def _check_ids(config, tokenizer):
    ids = tokenizer.published_ids
    found = {
        "vocab_size": len(ids) - 1,  # padding is there twice
        "pad_token_id": ids[PADDING_ID],
        "decoder_start_token_id": ids[START_ID],
        "eos_token_id": ids[END_ID],
    }
    strange = {name: config[name] for name in found if config[name] != found[name]}
    if strange:
        raise ValueError(
            f"config.json and vocab.json are of different models: there {found}. "
            f"Received: {strange}"
        )


def _load(checkpoint, model, published_ids):
    """Copies the weights, and orders them as our layers do.

    Their positions are first all sines and then all cosines, ours take turns. To nothing else does
    the order of the D numbers of a vector matter: so all weights have them in our order.
    """
    half = np.arange(model.settings.d_model // 2)
    order = np.stack([half, half + len(half)], axis=1).ravel()
    words = len(published_ids) - 1
    name = next((name for name in _WORDS if checkpoint.has(name)), _WORDS[0])
    vectors = checkpoint.take(name, (words, model.settings.d_model))
    if vectors is not None:
        model.source_embedding.words.embeddings.assign(vectors[published_ids][:, order])
    bias = checkpoint.take("final_logits_bias", (1, words))
    if bias is not None:
        model.bias.assign(bias[0, published_ids])
    for stack, parts_of in (("encoder", _encoder_parts), ("decoder", _decoder_parts)):
        for i, layer in enumerate(getattr(model, stack).layers):
            for name, part in parts_of(layer).items():
                checkpoint.load(part, f"model.{stack}.layers.{i}.{name}")
                _reorder(part, order, reads=name.endswith(_READERS))


def _reorder(layer, order, reads):
    """Orders the D numbers of the vectors that a layer `reads`, or else of those it gives."""
    for weight in layer.weights[:1] if reads else layer.weights:
        array = ops.convert_to_numpy(weight)
        weight.assign(array[order] if reads else array[..., order])


def _encoder_parts(layer):
    return {
        **_attention_parts("self_attn", layer.self_attention, layer.add_norm_1),
        **_feed_forward_parts(layer.feed_forward, layer.add_norm_2),
    }


def _decoder_parts(layer):
    return {
        **_attention_parts("self_attn", layer.self_attention, layer.add_norm_1),
        **_attention_parts("encoder_attn", layer.cross_attention, layer.add_norm_2),
        **_feed_forward_parts(layer.feed_forward, layer.add_norm_3),
    }


def _attention_parts(name, attention, add_norm):
    return {
        f"{name}.q_proj": attention.query_projection,
        f"{name}.k_proj": attention.key_projection,
        f"{name}.v_proj": attention.value_projection,
        f"{name}.out_proj": attention.output_projection,
        f"{name}_layer_norm": add_norm.normalization,
    }


def _feed_forward_parts(feed_forward, add_norm):
    return {
        "fc1": feed_forward.inner,
        "fc2": feed_forward.outer,
        "final_layer_norm": add_norm.normalization,
    }


# What reads the vectors between the layers; the others give them.
_READERS = ("q_proj", "k_proj", "v_proj", "fc1")
_ARGUMENTS = {
    "h": "encoder_attention_heads",
    "d_model": "d_model",
    "d_ff": "encoder_ffn_dim",
    "n": "encoder_layers",
    "rate": "dropout",
    "activation": "activation_function",
    "attention_rate": "attention_dropout",
    "activation_rate": "activation_dropout",
}
_REQUIRED = (
    *dict.fromkeys(_ARGUMENTS.values()),
    "decoder_layers", "decoder_attention_heads", "decoder_ffn_dim", "scale_embedding",
    "vocab_size", "pad_token_id", "decoder_start_token_id", "eos_token_id",
)  # fmt: skip
