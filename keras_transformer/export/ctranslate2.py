"""Exports a trained model to CTranslate2, for fast inference without Keras."""

import tokenizers

from keras_transformer._utils.files import atomic_replace, check_overwriting
from keras_transformer._utils.reading import excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.export._tokenizers import check_tokenizers, save_tokenizers
from keras_transformer.inference.engines import MAX_POSITIONS
from keras_transformer.inference.translate import Translate
from keras_transformer.models.ctranslate2_model import write_ctranslate2

QUANTIZATIONS = (None, "int8")


def export_ctranslate2(
    translate: Translate, folder: PathLike, overwrite: bool = False, quantization: str | None = None
) -> None:
    """Exports a translator to CTranslate2; with greedy search, it translates the same.

    The folder is for programs without this package, as in the example. With it,
    `Translate.from_run(folder, engine="ctranslate2")` needs no export.

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
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {QUANTIZATIONS}. For other types, pass `compute_type` "
            f"to ctranslate2.Translator when loading. Received: {excerpt(quantization)}"
        )
    check_overwriting(folder, "model.bin", overwrite)
    tokens = [_tokens(x) for x in (translate.source_tokenizer, translate.target_tokenizer)]
    with atomic_replace(folder) as temporary:
        temporary.mkdir()
        model = translate.model
        write_ctranslate2(model, tokens, temporary, MAX_POSITIONS, quantization=quantization)
        save_tokenizers(translate, temporary)


def _tokens(tokenizer):
    library_tokenizer = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    return [library_tokenizer.id_to_token(i) for i in range(tokenizer.vocab_size)]
