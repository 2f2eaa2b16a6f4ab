"""Plausible sizes of models that are described by files from untrusted sources."""

from types import MappingProxyType

from keras_transformer._utils.checks import check_integers

# Far above all published models. They keep the products of a few sizes meaningful.
_MAXIMUM = {
    "vocab_size": 1_000_000,
    "seq_length": 1_000_000,
    "num_segments": 1_000,
    "h": 1_024,
    "d_k": 65_536,
    "d_v": 65_536,
    "d_model": 65_536,
    "d_ff": 65_536,
    "n": 1_000,
}
SLACK = 1 << 24  # parameters, of 64 MiB


def check_plausible(config, fields=MappingProxyType({})):
    """Raises a ValueError if a size in a configuration is not an integer of plausible size.

    Args:
        config: dictionary, the configuration. Sizes that it lacks are skipped.
        fields: dictionary from the arguments of a model and of `BlockSettings` to the names of the
            fields in the configuration, where they differ.
    """
    for name, maximum in _MAXIMUM.items():
        field = fields.get(name, name)
        without = name == "num_segments" and config.get(field) is None
        if field in config and not without:
            check_integers(1, maximum, **{field: config[field]})


def check_parameters(settings, stacks, rows, found, path):
    """Raises a ValueError if a model has far more parameters than a file can contain.

    Building such a model could exhaust the memory, before its weights turn out to be missing.

    Args:
        settings: `BlockSettings` of the model.
        stacks: number of stacks of `settings.n` layers.
        rows: number of rows of all embeddings.
        found: number of parameters in the file.
        path: path of the file, for the message.
    """
    heads = settings.h + (settings.h_kv or settings.h)
    attention = settings.d_model * heads * (settings.d_k + settings.d_v)
    feed_forward = (3 if settings.gated else 2) * settings.d_model * settings.d_ff
    expected = stacks * settings.n * (attention + feed_forward) + rows * settings.d_model
    # Fewer are accepted, because the complete list of the missing weights is more helpful.
    if expected > 2 * found + SLACK:
        raise ValueError(
            f"The configuration of {path} must describe the model in the file: download both "
            f"again. Received: {expected:,} parameters, but {found:,} in the file"
        )
