"""Sample translations, which show after each epoch what a model has learned."""

from keras_transformer.inference.translate import Translate

_NUMBER, _MAX_TOKENS = 3, 30


class Samples:
    """Translates the first three sentences of the validation part that have at most 30 tokens.

    Args:
        model: a `TransformerModel` or a `RecurrentTranslator`.
        dataset: a `PreparedDataset`.
    """

    def __init__(self, model, dataset):
        self._translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
        self._references = {}
        encode = dataset.source_tokenizer.encode
        for source, target in dataset.validation:
            if source in self._references:
                self._references[source].append(target)
            elif len(self._references) < _NUMBER and 0 < len(encode(source)) <= _MAX_TOKENS:
                self._references[source] = [target]

    def __str__(self):
        sources = list(self._references)
        return format_samples(sources, self._translate(sources), self._references.values())


def format_samples(sources, translations, references):
    """Formats sentences with their translations (→) and references (=) in three lines each."""
    return "\n".join(
        f"  {source}\n    → {translation}\n    = {' / '.join(expected)}"
        for source, translation, expected in zip(sources, translations, references, strict=True)
    )
