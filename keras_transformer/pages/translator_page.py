"""A trained translator as one HTML file, which translates in the browser and shows how."""

import base64
import contextlib
import html
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from keras import ops

from keras_transformer._utils.checks import check_choice
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.export._tokenizers import check_tokenizers
from keras_transformer.export.float16 import to_float16
from keras_transformer.inference.sentences import max_source_tokens
from keras_transformer.inference.translate import Translate
from keras_transformer.layers._parts import changed_part, check_not_quantized
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.pages._assembly import content_hash, fill, read_parts, to_json
from keras_transformer.runs.folder import RunFolder

MAX_BYTES = 100_000_000
QUANTIZATIONS = (None, "int8")
_ACTIVATIONS = {"relu": "relu", "silu": "silu", "swish": "silu"}
_MARKER = '<meta name="generator" content="keras_transformer">'  # in page.html
_INFERENCE = ("tensors", "tokenizer", "model", "search", "worker")
_EXAMPLE_LENGTHS = (8, 6, 5, 4)  # in words
_VIEWS = ("client", "translation", "words", "attention", "numbers", "beam", "start")


def export_page(
    translate: Translate,
    path: PathLike,
    overwrite: bool = False,
    quantization: str | None = None,
    title: str = "Translator",
    examples: Sequence[str] = (),
) -> None:
    """Writes a translator as one HTML file that translates in the browser, without a network.

    The page shows how each word is chosen: attention weights, probabilities, the beam, and the
    numbers of a single attention weight. Greedy search and beam search give the translations of
    `Translate` with the rounded weights.

    The file contains the weights as base64, one tensor after the other in the order of the list
    "tensors" in its JSON, which has the name, the shape and the dtype of each. A matrix has a row
    for each output. In float16, all numbers are IEEE half precision, little-endian. In int8, a
    matrix is a float32 scale for each row, the largest absolute value divided by 127, followed by
    the rows of integers; vectors stay float16. The JSON also has the settings of the model, and of
    each tokenizer the vocabulary in the order of the ids, the merges, and the rules of its
    `tokenizers` file. A page keeps working with later versions, because it contains its own code.

    Args:
        translate: a `Translate` with a `TransformerModel` and word or BPE tokenizers.
        path: path of the HTML file.
        overwrite: whether to replace an earlier page.
        quantization: `None` for float16 or `"int8"`, which takes half the size.
        title: title of the page.
        examples: sentences that the page offers to translate.

    Raises:
        FileExistsError: if `path` exists and is not a page to overwrite.
        OSError: if writing fails; an existing file is left unchanged.
        ValueError: if the page cannot compute the model, the file would be larger than 100 MB, a
            weight is too large for float16, or the quantization is unknown.

    Example:
        export_page(Translate.from_run("runs/english-german"), "translator.html")
    """
    path = Path(path)
    check_tokenizers(translate)
    _check_model(translate.model)
    check_choice(QUANTIZATIONS, quantization=quantization)
    _check_size(translate.model, quantization)
    if path.exists() and not (overwrite and _is_page(path)):
        raise FileExistsError(
            "The file already exists. Choose a different one, or set `overwrite` to replace an "
            f"earlier page. Received: {path}"
        )
    page = make_translator_page(translate, quantization, title, examples)
    with atomic_replace(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")  # the title may be a path


def export_run_page(run, path, overwrite=False, quantization=None, **load_options):
    """Writes the page of a run, with its name as the title and some of its test sentences.

    Args:
        run: path of the run folder.
        path, overwrite, quantization: see `export_page`.
        **load_options: arguments of `Translate.from_run`.
    """
    translate = Translate.from_run(run, **load_options)
    examples = []
    with contextlib.suppress(FileNotFoundError, ValueError):  # a page needs no test part
        examples = _choose_examples(source for source, _ in RunFolder(run).read_test())
    title = f"Translator: {Path(run).resolve().name}"
    export_page(translate, path, overwrite, quantization, title, examples)


def _choose_examples(sentences):
    """Returns the first sentence of each of some lengths, the longest first."""
    by_length = {len(sentence.split()): sentence for sentence in reversed(list(sentences))}
    return [by_length[length] for length in _EXAMPLE_LENGTHS if length in by_length]


def make_translator_page(translate, quantization=None, title="Translator", examples=()):
    """Returns the HTML text that `export_page` writes."""
    tensors, weights = _encode(dict(_tensors(translate.model)), quantization)
    data = {
        "settings": _settings(translate.model),
        "examples": list(examples),
        "source": _tokenizer(translate.source_tokenizer),
        "target": _tokenizer(translate.target_tokenizer),
        "tensors": tensors,
    }
    style = read_parts("translator/page.css")
    script = read_parts("drawing.js", *(f"translator/{name}.js" for name in _VIEWS))
    return fill(
        read_parts("translator/page.html"),
        title=html.escape(title),
        style=style,
        style_hash=content_hash(style),
        script=script,
        script_hash=content_hash(script),
        worker=read_parts(*(f"translator/{name}.js" for name in _INFERENCE)),
        data=to_json(data),
        weights=base64.b64encode(weights).decode(),
    )


def _is_page(path):
    if not path.is_file():
        return False
    with open(path, encoding="utf-8", errors="replace") as file:
        return _MARKER in file.read(1000)


def _check_model(model):
    if type(model) is not TransformerModel or not model.built:
        raise ValueError(
            "Only a built `TransformerModel` can be exported to a page. "
            f"Received: {type(model).__name__}"
        )
    check_not_quantized(model)
    if changed := changed_part(model):
        raise ValueError(
            "A page has only the layers of this package: export this model with "
            f"`export_saved_model` (`--to saved_model`). Received: {changed}"
        )
    if newer := model.settings.newer():
        raise ValueError(
            "A page computes the layers of 2017 and rotary positions only: export this model with "
            f"`export_saved_model` (`--to saved_model`). Received: {', '.join(newer)}"
        )
    if model.settings.activation not in _ACTIVATIONS:
        raise ValueError(
            f"A page computes the activations {list(_ACTIVATIONS)}. "
            f"Received: {excerpt(model.settings.activation)}"
        )


def _check_size(model, quantization):
    numbers = model.count_params()
    size = numbers * (2 if quantization is None else 1) * 4 // 3  # base64
    if size > MAX_BYTES:
        raise ValueError(
            f"A page can have {MAX_BYTES // 10**6} MB: export a smaller model, or this one to "
            "CTranslate2. "
            f"Received: {numbers:,} weights, {size // 10**6} MB in {quantization or 'float16'}"
        )


def _settings(model):
    settings = model.settings
    return {
        "h": settings.h,
        "n": settings.n,
        "d_model": settings.d_model,
        "norm_first": bool(settings.norm_first),
        "activation": _ACTIVATIONS[settings.activation],
        "epsilon": settings.epsilon,
        "base": model.source_embedding.base,
        "rotary_base": settings.rotary_base,
        "target_size": model.dec_vocab_size,
        "source_limit": max_source_tokens(model),
        "limit": model.dec_seq_length,
        "weights": model.count_params(),
    }


def _tokenizer(tokenizer):
    content = json.loads(tokenizer.to_json())
    vocabulary = content["model"]["vocab"]
    return {
        "normalizer": content["normalizer"],
        "pre_tokenizer": content["pre_tokenizer"],
        "vocabulary": sorted(vocabulary, key=vocabulary.__getitem__),
        "merges": content["model"].get("merges"),
    }


def _tensors(model):
    """Yields the name and the array of each weight; see model.js."""
    yield "source", model.source_embedding.words.embeddings
    if not model.share_embeddings:
        yield "target", model.target_embedding.words.embeddings
    for stack, attentions in (
        ("encoder", ("self_attention",)),
        ("decoder", ("self_attention", "cross_attention")),
    ):
        layers = getattr(model, stack)
        for i, layer in enumerate(layers.layers):
            name, sublayers = f"{stack}.{i}", (*attentions, "feed_forward")
            for j, sublayer in enumerate(sublayers, start=1):
                norm = getattr(layer, f"add_norm_{j}").normalization
                yield from _norm(f"{name}.{sublayer}", norm)
            for attention in attentions:
                for part in ("query", "key", "value", "output"):
                    dense = getattr(getattr(layer, attention), f"{part}_projection")
                    yield from _dense(f"{name}.{attention}.{part}", dense)
            for part in ("inner", "outer"):
                yield from _dense(f"{name}.feed_forward.{part}", getattr(layer.feed_forward, part))
        if model.settings.norm_first:
            yield from _norm(stack, layers.final_norm)
    if not model.tie_output:
        yield from _dense("output", model.projection)
    elif model.output_bias:
        yield "output.bias", model.bias


def _dense(name, layer):
    yield f"{name}.weight", ops.transpose(layer.kernel)  # a row for each output
    yield f"{name}.bias", layer.bias


def _norm(name, layer):
    yield f"{name}.gamma", layer.gamma
    yield f"{name}.beta", layer.beta


def _encode(tensors, quantization):
    """Returns the description of each tensor and the bytes of all of them."""
    descriptions, parts = [], []
    for name, tensor in tensors.items():
        array = ops.convert_to_numpy(ops.cast(tensor, "float32"))
        dtype = "int8" if quantization == "int8" and array.ndim == 2 else "float16"
        descriptions.append({"name": name, "shape": list(array.shape), "dtype": dtype})
        parts += _quantize(array) if dtype == "int8" else [to_float16(array, name).astype("<f2")]
    return descriptions, b"".join(part.tobytes() for part in parts)


def _quantize(matrix):
    """Returns the scales of the rows, float32, and their integers; symmetric, so that 0 stays 0."""
    scales = np.abs(matrix).max(axis=1, keepdims=True) / 127
    scales[scales == 0] = 1
    return scales.astype("<f4"), np.round(matrix / scales).astype("int8")
