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

        self._shown = {}  # by source sentence

    def __len__(self):
        return len(self._references)

    def __str__(self):
        return self._format(self._translations())

    def changed(self):
        """Formats the translations that have changed since the last call."""
        old, self._shown = self._shown, self._translations()
        new = {source: x for source, x in self._shown.items() if x != old.get(source)}
        return self._format(new) if new else "  (the same translations)"

    def _translations(self):
        sources = list(self._references)
        return dict(zip(sources, self._translate(sources), strict=True))

    def _format(self, translations):
        references = [self._references[source] for source in translations]
        return format_samples(translations, translations.values(), references)


def format_samples(sources, translations, references):
    """Formats sentences with their translations (→) and references (=) in three lines each."""
    return "\n".join(
        f"  {source}\n    → {translation}\n    = {' / '.join(expected)}"
        for source, translation, expected in zip(sources, translations, references, strict=True)
    )
