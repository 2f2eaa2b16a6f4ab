"""Scores of translations, by sacrebleu."""

from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF

from keras_transformer._utils.checks import check_choice

TOKENIZERS = tuple(BLEU.TOKENIZERS)  # by which BLEU can take sentences apart


class Scores(NamedTuple):
    """Corpus scores from 0 to 100 and how they were computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str

    def __str__(self):
        return (
            f"BLEU {self.bleu:.1f}  ({self.bleu_signature})\n"
            f"chrF {self.chrf:.1f}  ({self.chrf_signature})"
        )


def score(translations, references, tokenize="13a"):
    """Corpus BLEU and chrF.

    Args:
        translations: a translation of each sentence.
        references: for each sentence a list of at least one right translation.
        tokenize: how BLEU takes sentences apart: "13a", the standard, or "none" for text that is
            tokenized already. The signature says which.

    Returns:
        `Scores`.

    Raises:
        ValueError: if the numbers of sentences differ, there are none, one has no reference, or
            there is no such tokenizer.

    References:
        "A Call for Clarity in Reporting BLEU Scores" (Post, 2018);
        "chrF: character n-gram F-score for automatic MT evaluation" (Popović, 2015).
    """
    check_choice(TOKENIZERS, tokenize=tokenize)
    if (
        not translations
        or len(translations) != len(references)
        or not all(x and not isinstance(x, str) for x in references)
    ):
        raise ValueError(
            "Each translation needs a list of at least one reference. Received: "
            f"{len(translations)} translations and {len(references)} references such as "
            f"{next(iter(references), None)!r}"
        )
    most = max(map(len, references))
    # sacrebleu wants the first reference of every sentence, then the second, … None: has none.
    streams = [[x[i] if i < len(x) else None for x in references] for i in range(most)]
    # Without `force`, sacrebleu warns of text that looks tokenized, even if told so.
    bleu, chrf = BLEU(tokenize=tokenize, force=tokenize == "none"), CHRF()
    bleu_score = bleu.corpus_score(translations, streams).score
    chrf_score = chrf.corpus_score(translations, streams).score
    signatures = (str(bleu.get_signature()), str(chrf.get_signature()))
    return Scores(bleu_score, chrf_score, *signatures)
