"""Maps published BERT and DistilBERT weights to the layers of `Bert`."""

from keras_transformer._utils.reading import excerpt
from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.pretrained.sizes import check_parameters, check_plausible
from keras_transformer.settings import SETTING_NAMES, BlockSettings

# Prefixes of the weights of task heads, which a `Bert` does not have.
BERT_HEADS = ("cls.", "qa_outputs.", "classifier.", "pre_classifier.", "vocab_")
_ACTIVATIONS = ("gelu", "relu")  # published names that are also Keras's


def read_checkpoint(folder):
    """Opens the `Checkpoint` of a BERT or DistilBERT in a folder."""
    return Checkpoint(folder, ("bert", "distilbert"))


def bert_arguments(checkpoint):
    """Returns the constructor arguments of the `Bert` in a checkpoint.

    Raises:
        ValueError: if config.json lacks a field, `Bert` does not support the architecture, or the
            model is far larger than the file of the weights.
    """
    config, distilled = checkpoint.config, checkpoint.model_type == "distilbert"
    fields = _DISTILBERT_FIELDS if distilled else _BERT_FIELDS
    missing = [field for field in fields.values() if field not in config]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}. Received: {excerpt(config)}")
    check_plausible(config, fields)
    arguments = {name: config[field] for name, field in fields.items()}
    _check_supported(config, arguments)
    prefix = _body_prefix(checkpoint)
    pooler = "tanh" if checkpoint.has(f"{prefix}pooler") else None
    pooler = "relu" if checkpoint.has("pre_classifier") else pooler
    settings = BlockSettings(
        **{name: arguments.pop(name) for name in SETTING_NAMES if name in arguments}
    )
    arguments = {"num_segments": None, **arguments}
    rows = sum(arguments[name] or 0 for name in ("vocab_size", "seq_length", "num_segments"))
    check_parameters(settings, 1, rows, checkpoint.num_parameters, checkpoint.path)
    return {**arguments, "settings": settings, "pooler": pooler}


def load_bert(checkpoint, body):
    """Copies the weights of the encoder into a built `Bert`; does not call `check_complete`."""
    prefix = _body_prefix(checkpoint)
    distilled = checkpoint.model_type == "distilbert"
    embedding, names = body.embedding, _DISTILBERT_SUBLAYERS if distilled else _BERT_SUBLAYERS
    checkpoint.load_layer(embedding.words, f"{prefix}embeddings.word_embeddings")
    checkpoint.load_layer(embedding.positions, f"{prefix}embeddings.position_embeddings")
    if body.num_segments is not None:
        checkpoint.load_layer(embedding.segments, f"{prefix}embeddings.token_type_embeddings")
    checkpoint.load_layer(embedding.norm, f"{prefix}embeddings.LayerNorm")
    stack = "transformer" if distilled else "encoder"
    for i, layer in enumerate(body.encoder.layers):
        for sublayer, name in zip(_sublayers(layer), names, strict=True):
            checkpoint.load_layer(sublayer, f"{prefix}{stack}.layer.{i}.{name}")
    if body.pooler is not None:
        pooling = "pre_classifier" if distilled else f"{prefix}pooler.dense"
        checkpoint.load_layer(body.pooling, pooling)


def _body_prefix(checkpoint):
    """Returns the prefix of the encoder's weights, which they have only in a model with a head."""
    prefix = checkpoint.model_type
    return f"{prefix}." if checkpoint.has(prefix) else ""


def _check_supported(config, arguments):
    if arguments["activation"] not in _ACTIVATIONS:
        raise ValueError(
            f"The activation must be one of {_ACTIVATIONS}. "
            f"Received: {excerpt(arguments['activation'])}"
        )
    if config.get("pad_token_id", 0) != 0:
        raise ValueError(
            f"The padding id must be 0. Received: pad_token_id={excerpt(config['pad_token_id'])}"
        )
    if config.get("is_decoder") or config.get("position_embedding_type") not in (None, "absolute"):
        raise ValueError(
            "Only encoders with absolute positions are supported. Received: "
            f"is_decoder={excerpt(config.get('is_decoder'))}, "
            f"position_embedding_type={excerpt(config.get('position_embedding_type'))}"
        )


def _sublayers(layer):
    attention, feed_forward = layer.self_attention, layer.feed_forward
    return (
        attention.query_projection,
        attention.key_projection,
        attention.value_projection,
        attention.output_projection,
        layer.add_norm_1.normalization,
        feed_forward.inner,
        feed_forward.outer,
        layer.add_norm_2.normalization,
    )


# Arguments of `Bert` and `BlockSettings` -> fields of config.json.
_BERT_FIELDS = {
    "vocab_size": "vocab_size",
    "seq_length": "max_position_embeddings",
    "h": "num_attention_heads",
    "d_model": "hidden_size",
    "d_ff": "intermediate_size",
    "n": "num_hidden_layers",
    "rate": "hidden_dropout_prob",
    "attention_rate": "attention_probs_dropout_prob",
    "activation": "hidden_act",
    "num_segments": "type_vocab_size",
    "epsilon": "layer_norm_eps",
}
_DISTILBERT_FIELDS = {
    "vocab_size": "vocab_size",
    "seq_length": "max_position_embeddings",
    "h": "n_heads",
    "d_model": "dim",
    "d_ff": "hidden_dim",
    "n": "n_layers",
    "rate": "dropout",
    "attention_rate": "attention_dropout",
    "activation": "activation",
}
# Names of the sub-layers of an encoder layer, in the order of `_sublayers`.
_BERT_SUBLAYERS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
_DISTILBERT_SUBLAYERS = (
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    "attention.out_lin",
    "sa_layer_norm",
    "ffn.lin1",
    "ffn.lin2",
    "output_layer_norm",
)
