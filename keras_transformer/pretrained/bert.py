"""Published weights of BERT and DistilBERT, by their names."""

from keras_transformer.pretrained.checkpoint import Checkpoint
from keras_transformer.settings import NAMES, BlockSettings

# Heads of other tasks, which the body of a BERT does without.
BERT_HEADS = ("cls.", "qa_outputs.", "classifier.", "pre_classifier.", "vocab_")
_ACTIVATIONS = ("gelu", "relu")  # theirs that are called as Keras calls them


def read_checkpoint(folder):
    """The `Checkpoint` of a BERT or a DistilBERT."""
    return Checkpoint(folder, ("bert", "distilbert"))


def bert_arguments(checkpoint):
    """The arguments of the `Bert` that a checkpoint is of.

    Raises:
        ValueError: if it is of a kind that `Bert` is not.
    """
    config, distilled = checkpoint.config, checkpoint.model_type == "distilbert"
    names = _DISTILBERT_ARGUMENTS if distilled else _BERT_ARGUMENTS
    missing = [name for name in names.values() if name not in config]
    if missing:
        raise ValueError(f"config.json lacks {', '.join(missing)}. Received: {config}")
    arguments = {ours: config[theirs] for ours, theirs in names.items()}
    _check_config(config, arguments)
    prefix = _prefix(checkpoint)
    pooler = "tanh" if checkpoint.has(f"{prefix}pooler") else None
    pooler = "relu" if checkpoint.has("pre_classifier") else pooler
    settings = BlockSettings(**{x: arguments.pop(x) for x in NAMES if x in arguments})
    return {"num_segments": None, **arguments, "settings": settings, "pooler": pooler}


def load_bert(checkpoint, body):
    """Copies a checkpoint's weights into a built `Bert`; `finish` is left to the caller."""
    prefix = _prefix(checkpoint)
    distilled = checkpoint.model_type == "distilbert"
    embedding, names = body.embedding, _DISTILBERT_LAYER if distilled else _BERT_LAYER
    checkpoint.load(embedding.words, f"{prefix}embeddings.word_embeddings")
    checkpoint.load(embedding.positions, f"{prefix}embeddings.position_embeddings")
    if body.num_segments is not None:
        checkpoint.load(embedding.segments, f"{prefix}embeddings.token_type_embeddings")
    checkpoint.load(embedding.norm, f"{prefix}embeddings.LayerNorm")
    stack = "transformer" if distilled else "encoder"
    for i, layer in enumerate(body.encoder.layers):
        for part, name in zip(_parts(layer), names, strict=True):
            checkpoint.load(part, f"{prefix}{stack}.layer.{i}.{name}")
    if body.pooler is not None:
        checkpoint.load(body.pooling, "pre_classifier" if distilled else f"{prefix}pooler.dense")


def _prefix(checkpoint):
    """What stands before the names of the body where there is a head as well."""
    prefix = checkpoint.model_type
    return f"{prefix}." if checkpoint.has(prefix) else ""


def _check_config(config, arguments):
    if arguments["activation"] not in _ACTIVATIONS:
        raise ValueError(
            f"The activation must be one of {_ACTIVATIONS}. Received: {arguments['activation']!r}"
        )
    if config.get("pad_token_id", 0) != 0:
        raise ValueError(f"Padding must be 0. Received: pad_token_id={config['pad_token_id']}")
    if config.get("is_decoder") or config.get("position_embedding_type") not in (None, "absolute"):
        raise ValueError(
            "Only encoders with absolute positions are known. Received: "
            f"is_decoder={config.get('is_decoder')}, "
            f"position_embedding_type={config.get('position_embedding_type')!r}"
        )


def _parts(layer):
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


_BERT_ARGUMENTS = {
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
_DISTILBERT_ARGUMENTS = {
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
# In the order of `_parts`.
_BERT_LAYER = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
    "intermediate.dense",
    "output.dense",
    "output.LayerNorm",
)
_DISTILBERT_LAYER = (
    "attention.q_lin",
    "attention.k_lin",
    "attention.v_lin",
    "attention.out_lin",
    "sa_layer_norm",
    "ffn.lin1",
    "ffn.lin2",
    "output_layer_norm",
)
