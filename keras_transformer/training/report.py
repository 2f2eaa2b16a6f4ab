"""A report on the translations of a test set: where they are good, where not, and how certain."""

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from keras_transformer.data.tokenizers import unknown_share
from keras_transformer.evaluation import check_tokenize, score
from keras_transformer.inference.translate import Translate

_WORST = 20  # sentences that are shown
_LONGEST = (5, 10, 15, 20, 30)  # words, of the groups of sentences
_UNKNOWN = (0.0, 0.1, 0.25)  # shares of unknown tokens, likewise


def make_report(
    translate: Translate,
    rows: Sequence[tuple[str, Sequence[str]]],
    tokenize: str | None = None,
    against: Translate | None = None,
    samples: int = 1000,
    **options: Any,
) -> dict[str, Any]:
    """Translates a test set and describes the translations.

    Args:
        translate: a `Translate`.
        rows: list of (source, references), as `RunFolder.read_test` returns it.
        tokenize: tokenizer of BLEU, see `score`.
        against: another `Translate`, with which the scores are compared; or None.
        samples: number of bootstrap samples of the intervals, and of randomizations for "p".
        **options: see `SearchOptions`.

    Returns:
        A dictionary that JSON can store: "scores", one dictionary for "BLEU" and "chrF" each, with
        "score", the ends "low" and "high" of its 95% interval, and with `against` the score of the
        "other" and the "p" value of the difference; "exact", in percent; "by_length" and
        "by_unknown", lists of scores of groups of sentences; "worst", the sentences with the lowest
        chrF.

    References:
        "Statistical Significance Tests for Machine Translation Evaluation" (Koehn, 2004).
    """
    check_tokenize(tokenize)
    sources, references = (list(x) for x in zip(*rows, strict=True))
    translations = translate(sources, **options)
    others = None if against is None else against(sources, **options)
    whole = score(translations, references, tokenize)
    lengths = [len(source.split()) for source in sources]
    unknown = [unknown_share(translate.source_tokenizer, [source]) for source in sources]
    groups = (translations, references, tokenize)
    report = {
        "sentences": len(sources),
        "scores": _intervals(translations, others, references, whole, samples),
        "signatures": [whole.bleu_signature, whole.chrf_signature],
        "exact": whole.exact,
        "by_length": _by_group(lengths, _LONGEST, _words, *groups),
        "by_unknown": _by_group([100 * x for x in unknown], [100 * x for x in _UNKNOWN],
                                _unknown_tokens, *groups),
    }  # fmt: skip
    chrf = CHRF()
    single = [
        chrf.sentence_score(x, list(y)).score for x, y in zip(translations, references, strict=True)
    ]
    worst = [int(i) for i in np.argsort(single)[:_WORST]]
    attended = _attended(translate, [sources[i] for i in worst], options)
    report["worst"] = [
        {
            "chrF": single[i],
            "source": sources[i],
            "references": list(references[i]),
            "translation": translations[i],
            **({} if others is None else {"other": others[i]}),
            "attended": words,
        }
        for i, words in zip(worst, attended, strict=True)
    ]
    return report


def _intervals(translations, others, references, whole, samples):
    tokenize = whole.bleu_signature.split("tok:")[1].split("|")[0]
    metrics = {"BLEU": BLEU(tokenize=tokenize, force=True), "chrF": CHRF()}
    most = max(map(len, references))
    # A sentence with fewer references has its first one several times, which changes no score.
    streams = [[x[i] if i < len(x) else x[0] for x in references] for i in range(most)]
    systems = [("other", others or translations), ("this", translations)]
    with contextlib.redirect_stderr(io.StringIO()):  # its progress
        _, found = PairedTest(systems, metrics, streams, "ar", samples, samples)()
    scores = {}
    for name, value in (("BLEU", whole.bleu), ("chrF", whole.chrf)):
        other, this = found[name if name == "BLEU" else "chrF2"]
        low, high = float(this.mean - this.ci), float(this.mean + this.ci)
        entry = {"score": value, "low": low, "high": high}
        if others is not None:
            # sacrebleu does not count the randomizations that differ as much as the systems.
            p = 1.0 if this.score == other.score else float(this.p_value)
            entry |= {"other": float(other.score), "p": p}
        scores[name] = entry
    return scores


def _by_group(values, limits, describe, translations, references, tokenize):
    """Returns the scores of the sentences between two limits each."""
    groups, indices = [], np.searchsorted(limits, values, side="left")
    for i in range(len(limits) + 1):
        members = np.flatnonzero(indices == i)
        if len(members):
            low, high = limits[i - 1] if i else None, limits[i] if i < len(limits) else None
            found = score(
                [translations[j] for j in members], [references[j] for j in members], tokenize
            )
            groups.append(
                {
                    "group": describe(low, high),
                    "sentences": len(members),
                    "BLEU": found.bleu,
                    "chrF": found.chrf,
                }
            )
    return groups


def _words(low, high):
    if high is None:
        return f"more than {low} words"
    return f"up to {high} words" if low is None else f"{low + 1} to {high} words"


def _unknown_tokens(low, high):
    if low is None:
        return "none"
    return f"more than {low:.0f}%" if high is None else f"up to {high:.0f}%"


def _attended(translate, sentences, options):
    """Returns, for each token of each translation, the source token it attended to most."""
    try:
        found = translate.hypotheses(sentences, return_attention=True, **options)
    except ValueError:  # attention layers of the user that store no weights
        return [[] for _ in sentences]
    described = []
    for best, *_ in found:
        cross = (best.attention or {}).get("cross")  # None: of a layer that stores no weights
        weights = () if cross is None else cross.mean(axis=(0, 1))  # (T, S)
        described.append(
            [
                [_shown(token), _shown(best.source_tokens[row.argmax()]), float(row.max())]
                for token, row in zip(best.tokens, weights, strict=False)
            ]
        )
    return described


def _shown(token):
    return token.lstrip("▁") or "▁"
