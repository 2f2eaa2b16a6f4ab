"""Sample translations, which show after each epoch what a model has learned."""

from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.inference.translate import Translate

_NUMBER, _MAX_WORDS = 3, 30


class Samples:
    """Translates the first three sentences of the validation part that have at most 30 words.

    Args:
        model: a `TransformerModel` or a `RecurrentTranslator`.
        dataset: a `PreparedDataset`.
    """

    def __init__(self, model, dataset):
        self._translate = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
        self._references = {}
        for source, target in dataset.validation:
            if source in self._references:
                self._references[source].append(target)
            elif len(self._references) < _NUMBER and _is_short(source):
                self._references[source] = [target]

    def __str__(self):
        sources = list(self._references)
        return format_samples(sources, self._translate(sources), self._references.values())


def _is_short(sentence):
    return 0 < WordTokenizer.count_tokens(sentence) <= _MAX_WORDS


def format_samples(sources, translations, references):
    """Formats sentences with their translations (→) and references (=) in three lines each."""
    return "\n".join(
        f"  {source}\n    → {translation}\n    = {' / '.join(expected)}"
        for source, translation, expected in zip(sources, translations, references, strict=True)
    )
