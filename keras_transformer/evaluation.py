"""Evaluation of translations with BLEU and chrF, computed by sacrebleu."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF

from keras_transformer._utils.checks import check_choice
from keras_transformer._utils.writing import is_unsegmented

TOKENIZERS = tuple(BLEU.TOKENIZERS)  # names of the tokenizers of BLEU


def check_tokenize(tokenize):
    """Raises an error if `tokenize` is not None and BLEU has no such tokenizer.

    Raises:
        ImportError: if the tokenizer needs a package that is not installed.
        ValueError: if there is no such tokenizer.
    """
    check_choice((None, *TOKENIZERS), tokenize=tokenize)
    try:
        BLEU(tokenize=tokenize)
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            f"This tokenizer of BLEU needs another package: {str(error).strip()}. "
            f"Received: tokenize={tokenize!r}"
        ) from error


class Scores(NamedTuple):
    """Scores from 0 to 100, and the sacrebleu signatures to report BLEU and chrF with.

    `exact` is the percentage of translations that equal a reference, except for punctuation at the
    end.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    exact: float

    def __str__(self):
        return (
            f"BLEU {self.bleu:.1f}  ({self.bleu_signature})\n"
            f"chrF {self.chrf:.1f}  ({self.chrf_signature})\n"
            f"exact {self.exact:.1f}%  (equal to a reference, except for final punctuation)"
        )


def score(
    translations: Sequence[str], references: Sequence[Sequence[str]], tokenize: str | None = None
) -> Scores:
    """Computes corpus BLEU, chrF and the share of exact translations.

    Args:
        translations: a list with the translation of each sentence.
        references: a list with a list of one or more reference translations of each sentence.
        tokenize: the tokenizer of BLEU: "none" for text that is already tokenized, or another one
            of sacrebleu. None: "13a", the standard, or "char" (characters) if the references are
            written without spaces between words. It is part of the signature.

    Returns:
        `Scores`, a named tuple of `bleu`, `chrf`, `bleu_signature`, `chrf_signature` and `exact`.

    Raises:
        ValueError: if there are no translations, their number is not that of the references, a
            sentence has no reference, or the tokenizer is unknown.

    References:
        "A Call for Clarity in Reporting BLEU Scores" (Post, 2018);
        "chrF: character n-gram F-score for automatic MT evaluation" (Popović, 2015).

    Example:
        >>> translations = ["The cat sat on the mat.", "It is raining."]
        >>> references = [["The cat sat on the mat."], ["It rains.", "It is raining."]]
        >>> print(kt.score(translations, references))
        BLEU 100.0  (nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:...)
        chrF 100.0  (nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:...)
        exact 100.0%  (equal to a reference, except for final punctuation)
    """
    check_tokenize(tokenize)
    if (
        not translations
        or len(translations) != len(references)
        or not all(x and not isinstance(x, str) for x in references)
    ):
        raise ValueError(
            "Give a list of at least one reference for each translation. Received: "
            f"{len(translations)} translations and {len(references)} references such as "
            f"{next(iter(references), None)!r}"
        )
    if tokenize is None:
        tokenize = "char" if is_unsegmented(x for y in references for x in y) else "13a"
    most = max(map(len, references))
    # sacrebleu expects the first references of all sentences, then the second ones, and so on, with
    # None where a sentence has fewer.
    streams = [[x[i] if i < len(x) else None for x in references] for i in range(most)]
    # `force` silences sacrebleu's warning that the text looks tokenized where that is intended.
    bleu, chrf = BLEU(tokenize=tokenize, force=tokenize == "none"), CHRF()
    bleu_score = bleu.corpus_score(translations, streams).score
    chrf_score = chrf.corpus_score(translations, streams).score
    signatures = (str(bleu.get_signature()), str(chrf.get_signature()))
    exact = [_bare(x) in map(_bare, y) for x, y in zip(translations, references, strict=True)]
    return Scores(bleu_score, chrf_score, *signatures, 100 * sum(exact) / len(exact))


def _bare(sentence):
    """Returns a sentence without the punctuation at its end."""
    return sentence.rstrip(" .!?…")
