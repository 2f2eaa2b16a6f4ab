"""A copy of a `TransformerModel` for CTranslate2, which computes it in C++ without Keras."""

import keras
import numpy as np
from keras import ops

from keras_transformer._utils.extras import import_ctranslate2
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.layers import sinusoidal_encoding
from keras_transformer.layers._parts import changed_part, check_not_quantized
from keras_transformer.models.transformer import TransformerModel

_FORBIDDEN_BIAS = -3e4  # far below all logits and still finite in float16
_KNOWN = ("normalization", "gated", "h_kv", "use_bias", "qkv_bias")  # fields of `BlockSettings`
_ACTIVATIONS = {
    keras.activations.relu: "RELU",
    keras.activations.gelu: "GELU",
    keras.activations.silu: "SWISH",
}


def write_ctranslate2(model, tokens, folder, positions, allow_unknown=False, quantization=None):
    """Writes a model in the format of CTranslate2.

    CTranslate2 adds the start and end tokens itself. Padding and start tokens are never produced.

    Args:
        model: a built `TransformerModel`.
        tokens: the source and the target tokens, two lists by id.
        folder: path of an existing folder.
        positions: size of the table of position encodings; longer sequences are rejected.
        allow_unknown: whether the unknown token may be produced.
        quantization: None for float32 or "int8".

    Raises:
        ImportError: if `ctranslate2` is not installed.
        ValueError: if CTranslate2 does not support the model.
    """
    _check_model(model)
    spec = _make_spec(model, tokens[1], positions)
    spec.decoder.projection.bias[[PADDING_ID, START_ID]] = _FORBIDDEN_BIAS
    if not allow_unknown:
        spec.decoder.projection.bias[UNKNOWN_ID] = _FORBIDDEN_BIAS
    spec.register_source_vocabulary(tokens[0])
    spec.register_target_vocabulary(tokens[1])
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(folder))


def _check_model(model):
    if not isinstance(model, TransformerModel) or not model.built:
        raise ValueError(f"CTranslate2 takes only a built `TransformerModel`. Received: {model!r}")
    check_not_quantized(model)
    if changed := changed_part(model):
        raise ValueError(
            'CTranslate2 has only the layers of the published models: choose the engine "layers", '
            "or export this model with `export_saved_model` (`--to saved_model`). "
            f"Received: {changed}"
        )
    settings = model.settings
    if settings.d_k != settings.d_v or settings.h * settings.d_k != settings.d_model:
        raise ValueError(
            "CTranslate2 cannot express heads unless d_k = d_v = d_model / h. "
            f"Received: d_k={settings.d_k}, d_v={settings.d_v}, d_model={settings.d_model}, "
            f"h={settings.h}"
        )
    if newer := settings.newer(known=_KNOWN):
        raise ValueError(
            'CTranslate2 cannot express all layers of this model: choose the engine "layers", or '
            "export it with `export_saved_model` (`--to saved_model`). "
            f"Received: {', '.join(newer)}"
        )
    if keras.activations.get(settings.activation) not in _ACTIVATIONS:
        raise ValueError(
            "CTranslate2 cannot express activations other than "
            f"{[x.__name__ for x in _ACTIVATIONS]}. Received: {settings.activation!r}"
        )


def _make_spec(model, target_tokens, positions):
    specs, settings = import_ctranslate2().specs, model.settings
    activation = specs.Activation[_ACTIVATIONS[keras.activations.get(settings.activation)]]
    kind = {
        "pre_norm": settings.norm_first,
        "activation": activation,
        "rms_norm": settings.normalization == "rms",
        "ffn_glu": settings.gated,
        "num_heads_kv": settings.h_kv,
    }
    if settings.rotary_base is not None:
        kind |= {"rotary_dim": settings.d_k, "rotary_interleave": False}
        kind["rotary_base"] = settings.rotary_base
    stacks = (specs.TransformerEncoderSpec, specs.TransformerDecoderSpec)
    spec = specs.TransformerSpec(*(stack(settings.n, settings.h, **kind) for stack in stacks))
    names = {"unk": UNKNOWN_ID, "bos": START_ID, "eos": END_ID, "decoder_start": START_ID}
    for name, i in names.items():
        setattr(spec.config, f"{name}_token", target_tokens[i])
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = settings.epsilon
    words = (spec.encoder.embeddings[0], spec.decoder.embeddings)
    _fill_embedding(spec.encoder, words[0], model.source_embedding, positions)
    _fill_embedding(spec.decoder, words[1], model.target_embedding, positions)
    for layer_spec, layer in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        _fill_attention(layer_spec.self_attention, layer.self_attention, layer.add_norm_1)
        _fill_feed_forward(layer_spec.ffn, layer.feed_forward, layer.add_norm_2)
    for layer_spec, layer in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        _fill_attention(layer_spec.self_attention, layer.self_attention, layer.add_norm_1)
        _fill_attention(layer_spec.attention, layer.cross_attention, layer.add_norm_2)
        _fill_feed_forward(layer_spec.ffn, layer.feed_forward, layer.add_norm_3)
    if settings.norm_first:
        _fill_norm(spec.encoder.layer_norm, model.encoder.final_norm)
        _fill_norm(spec.decoder.layer_norm, model.decoder.final_norm)
    _fill_projection(spec.decoder.projection, model)
    return spec


def _fill_embedding(stack_spec, words_spec, embedding, positions):
    words_spec.weight = _array(embedding.words.embeddings)  # CTranslate2 scales them by √D, too
    if embedding.base is None:  # rotary: CTranslate2 adds no encodings either
        return
    # CTranslate2's default encodings have all sines before all cosines, so ours are stored.
    encodings = sinusoidal_encoding(positions, embedding.output_dim, embedding.base)
    stack_spec.position_encodings.encodings = _array(encodings)


def _fill_attention(spec, attention, add_norm):
    inputs = [attention.query_projection, attention.key_projection, attention.value_projection]
    *products, output = spec.linear
    # CTranslate2 fuses projections with the same input: in self-attention all three, in
    # cross-attention key and value.
    groups = [inputs] if len(products) == 1 else [inputs[:1], inputs[1:]]
    for product, dense in zip(products, groups, strict=True):
        _fill_linear(product, *dense)
    _fill_linear(output, attention.output_projection)
    _fill_norm(spec.layer_norm, add_norm.normalization)


def _fill_feed_forward(spec, feed_forward, add_norm):
    if hasattr(feed_forward, "gate"):
        _fill_linear(spec.linear_0, feed_forward.gate)
        _fill_linear(spec.linear_0_noact, feed_forward.inner)
    else:
        _fill_linear(spec.linear_0, feed_forward.inner)
    _fill_linear(spec.linear_1, feed_forward.outer)
    _fill_norm(spec.layer_norm, add_norm.normalization)


def _fill_projection(spec, model):
    if model.tie_output:
        spec.weight = _array(model.target_embedding.words.embeddings)
        spec.bias = np.zeros(model.dec_vocab_size, "float32")
        if model.output_bias:
            spec.bias = _array(model.bias)
    else:
        _fill_linear(spec, model.projection)
        if not model.projection.use_bias:
            spec.bias = np.zeros(model.dec_vocab_size, "float32")


def _fill_linear(spec, *dense):
    spec.weight = np.concatenate([_array(layer.kernel).T for layer in dense])  # (out, in)
    if dense[0].use_bias:
        spec.bias = np.concatenate([_array(layer.bias) for layer in dense])


def _fill_norm(spec, norm):
    if isinstance(norm, keras.layers.RMSNormalization):
        spec.gamma = _array(norm.scale)
    else:
        spec.gamma, spec.beta = _array(norm.gamma), _array(norm.beta)


def _array(variable):
    # Copies, because CTranslate2 quantizes in place.
    return np.array(ops.convert_to_numpy(variable), "float32")
