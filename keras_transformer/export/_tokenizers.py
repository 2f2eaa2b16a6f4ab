"""The tokenizers of a translator as files of an export."""

from keras_transformer.data.tokenizers import Tokenizer


def check_tokenizers(translate):
    """Raises a ValueError unless the tokenizers of a `Translate` can be saved in an export."""
    for tokenizer in (translate.source_tokenizer, translate.target_tokenizer):
        if not isinstance(tokenizer, Tokenizer):
            raise ValueError(
                "Only word and BPE tokenizers can be exported. Convert published models with "
                "CTranslate2's own ct2-transformers-converter. "
                f"Received: {type(tokenizer).__name__}"
            )


def save_tokenizers(translate, folder):
    """Writes the tokenizers of a `Translate` to a folder, as JSON of Hugging Face `tokenizers`."""
    translate.source_tokenizer.save(folder / "source_tokenizer.json")
    translate.target_tokenizer.save(folder / "target_tokenizer.json")
