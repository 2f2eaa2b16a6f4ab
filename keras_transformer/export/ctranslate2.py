"""Exports a trained model to CTranslate2, for fast inference without Keras."""

from pathlib import Path
from typing import Any, overload

import keras
import numpy as np
import tokenizers
from keras import ops

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.special_tokens import PADDING_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID
from keras_transformer._utils.types import PathLike, Texts
from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.export._tokenizers import check_tokenizers, save_tokenizers
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.inference.sentences import check_texts, check_token_count
from keras_transformer.inference.translate import Translate
from keras_transformer.layers import sinusoidal_encoding
from keras_transformer.layers._parts import changed_part
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.runs.data_settings import MAX_SOURCE_TOKENS

# CTranslate2 stores the position encodings in a table and rejects longer sequences. The table takes
# 2 MB for d_model 256.
MAX_POSITIONS = 2 * MAX_SOURCE_TOKENS + EXTRA_LENGTH
QUANTIZATIONS = (None, "int8")
_FORBIDDEN = [PADDING_ID, UNKNOWN_ID, START_ID]  # as in the search of `Translate`
_FORBIDDEN_BIAS = -3e4  # far below all logits and still finite in float16
_KNOWN = ("normalization", "gated", "h_kv", "use_bias", "qkv_bias")  # fields of `BlockSettings`
_ACTIVATIONS = {
    keras.activations.relu: "RELU",
    keras.activations.gelu: "GELU",
    keras.activations.silu: "SWISH",
}


def export_ctranslate2(
    translate: Translate, folder: PathLike, overwrite: bool = False, quantization: str | None = None
) -> None:
    """Exports a translator to CTranslate2; with greedy search, it translates the same.

    Load the folder with `CTranslate2Translate`, or without this package as in the example.

    CTranslate2 adds the start and end tokens itself. Padding, start and unknown tokens never occur
    in a translation. Sequences must be shorter than `MAX_POSITIONS` tokens. By default,
    `translate_batch` truncates sources after 1,024 tokens and translations after 256, and produces
    at least one token.

    Args:
        translate: a `Translate` with a `TransformerModel` and word or BPE tokenizers.
        folder: path of the output folder.
        overwrite: whether to replace an existing export. It is replaced only once the new one is
            complete.
        quantization: `None` for float32 or `"int8"`, which takes a quarter of the size.

    Raises:
        FileExistsError: if `folder` exists and is not an export to overwrite.
        ImportError: if `ctranslate2` is not installed.
        OSError: if writing fails.
        ValueError: if CTranslate2 does not support the model or the tokenizers, or the quantization
            is unknown.

    References:
        https://opennmt.net/CTranslate2/python/ctranslate2.specs.TransformerSpec.html

    Example:
        export_ctranslate2(Translate.from_run("runs/english-german"), "exported")

        source = tokenizers.Tokenizer.from_file("exported/source_tokenizer.json")
        target = tokenizers.Tokenizer.from_file("exported/target_tokenizer.json")
        source.encode_special_tokens = True  # "[END]" in a sentence is text
        translator = ctranslate2.Translator("exported")
        tokens = [source.encode(sentence).tokens for sentence in sentences]
        results = translator.translate_batch(tokens, beam_size=1, min_decoding_length=0)
        print([target.decoder.decode(result.hypotheses[0]) for result in results])
    """
    check_tokenizers(translate)
    _check_model(translate.model)
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {QUANTIZATIONS}. For other types, pass `compute_type` "
            f"to ctranslate2.Translator when loading. Received: {excerpt(quantization)}"
        )
    check_overwriting(folder, "model.bin", overwrite)
    spec = _make_spec(translate.model)
    spec.register_source_vocabulary(_tokens(translate.source_tokenizer))
    spec.register_target_vocabulary(_tokens(translate.target_tokenizer))
    spec.validate()
    spec.optimize(quantization=quantization)
    with atomic_replace(folder) as temporary:
        temporary.mkdir()
        spec.save(str(temporary))
        save_tokenizers(translate, temporary)


class CTranslate2Translate:
    """Translates with CTranslate2, using a folder written by `export_ctranslate2`.

    Args:
        folder: path of the exported folder.
        **kwargs: arguments of `ctranslate2.Translator`, such as `intra_threads` or
            `compute_type="int8"`.

    Raises:
        FileNotFoundError: if a file of the export is missing.
        ImportError: if `ctranslate2` is not installed.

    Example:
        translate = CTranslate2Translate("exported", intra_threads=4)
        translate(["Good morning!", "Good night!"])
    """

    def __init__(self, folder: PathLike, **kwargs: Any) -> None:
        folder = Path(folder)
        if not (folder / "model.bin").exists():
            raise FileNotFoundError(
                f"There is no exported model: run `export_ctranslate2` first. Received: {folder}"
            )
        self._source_tokenizer = WordTokenizer.load(folder / "source_tokenizer.json")
        self._target_tokenizer = WordTokenizer.load(folder / "target_tokenizer.json")
        self._translator = _import_ctranslate2().Translator(str(folder), **kwargs)

    @overload
    def __call__(self, sentences: str, beam_size: int = 1, length_penalty: float = 0.6) -> str: ...

    @overload
    def __call__(
        self, sentences: Texts, beam_size: int = 1, length_penalty: float = 0.6
    ) -> list[str]: ...

    def __call__(
        self, sentences: str | Texts, beam_size: int = 1, length_penalty: float = 0.6
    ) -> str | list[str]:
        """Translates one or more sentences.

        With `beam_size=1`, the translations equal those of `Translate`. With a larger beam they may
        differ: CTranslate2 refills the beam when a hypothesis ends and defines the length penalty
        differently.

        Args:
            sentences: a string, or a list or tuple of strings.
            beam_size: beam size; 1 is greedy search.
            length_penalty: exponent of the length by which CTranslate2 divides scores.

        Returns:
            A string for a string, a list of strings otherwise. The translation of an empty sentence
            is "".

        Raises:
            TypeError: if `sentences` has another type.
            ValueError: if a sentence has more than 1,024 tokens.
        """
        if isinstance(sentences, str):
            return self([sentences], beam_size, length_penalty)[0]
        check_texts(sentences, "a list of sentences")
        lengths: dict[int, list[tuple[int, list[str]]]] = {}
        for i, sentence in enumerate(sentences):
            tokens = self._source_tokenizer.tokenize(sentence)
            check_token_count(i + 1, len(tokens))
            if tokens:
                lengths.setdefault(len(tokens), []).append((i, tokens))
        translations = [""] * len(sentences)
        # CTranslate2 has one maximum length per call, so sentences are grouped by length.
        for length, members in lengths.items():
            results = self._translator.translate_batch(
                [tokens for _, tokens in members],
                max_batch_size=64,
                max_input_length=0,
                beam_size=beam_size,
                length_penalty=length_penalty,
                min_decoding_length=0,
                max_decoding_length=int(SearchOptions.max_length_ratio * length) + EXTRA_LENGTH,
            )
            for (i, _), result in zip(members, results, strict=True):
                translations[i] = self._target_tokenizer.detokenize(result.hypotheses[0])
        return translations


def _check_model(model):
    if not isinstance(model, TransformerModel) or not model.built:
        raise ValueError(f"Only a built `TransformerModel` can be exported. Received: {model!r}")
    if changed := changed_part(model):
        raise ValueError(
            "CTranslate2 has only the layers of the published models: export this model with "
            f"`export_saved_model`. Received: {changed}"
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
            "CTranslate2 cannot express all layers of this model: export it with "
            f"`export_saved_model`. Received: {', '.join(newer)}"
        )
    if keras.activations.get(settings.activation) not in _ACTIVATIONS:
        raise ValueError(
            "CTranslate2 cannot express activations other than "
            f"{[x.__name__ for x in _ACTIVATIONS]}. Received: {settings.activation!r}"
        )


def _make_spec(model):
    specs, settings = _import_ctranslate2().specs, model.settings
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
    _, spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = SPECIAL_TOKENS
    spec.config.decoder_start_token = SPECIAL_TOKENS[START_ID]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = settings.epsilon
    _fill_embedding(spec.encoder, spec.encoder.embeddings[0], model.source_embedding)
    _fill_embedding(spec.decoder, spec.decoder.embeddings, model.target_embedding)
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


def _import_ctranslate2():
    try:
        import ctranslate2
    except ImportError as error:
        raise ImportError(
            "The export requires CTranslate2: pip install 'keras3-transformer[ctranslate2]'. "
            f"Received: {error}"
        ) from error
    return ctranslate2


def _fill_embedding(stack_spec, words_spec, embedding):
    words_spec.weight = _array(embedding.words.embeddings)  # CTranslate2 scales them by √D, too
    if embedding.base is None:  # rotary: CTranslate2 adds no encodings either
        return
    # CTranslate2's default encodings have all sines before all cosines, so ours are stored.
    positions = sinusoidal_encoding(MAX_POSITIONS, embedding.output_dim, embedding.base)
    stack_spec.position_encodings.encodings = _array(positions)


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
    if feed_forward.gated:
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
    spec.bias[_FORBIDDEN] = _FORBIDDEN_BIAS


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


def _tokens(tokenizer):
    library_tokenizer = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    return [library_tokenizer.id_to_token(i) for i in range(tokenizer.vocab_size)]
