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

        self._shown: list[str] = []

    def translate(self):
        """Returns the translations."""
        return self._translate(list(self._references))

    def changed(self):
        """Formats the translations that have changed since the last call."""
        translations = self.translate()
        old = self._shown or [None] * len(translations)
        self._shown = translations
        rows = zip(self._references, translations, self._references.values(), strict=True)
        new = [row for row, before in zip(rows, old, strict=True) if row[1] != before]
        return format_samples(*zip(*new, strict=True)) if new else "  (the same translations)"


def format_samples(sources, translations, references):
    """Formats sentences with their translations (→) and references (=) in three lines each."""
    return "\n".join(
        f"  {source}\n    → {translation}\n    = {' / '.join(expected)}"
        for source, translation, expected in zip(sources, translations, references, strict=True)
    )
