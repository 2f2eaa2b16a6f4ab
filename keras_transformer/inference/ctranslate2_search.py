"""Search with CTranslate2, which has a copy of the weights."""

import itertools
import tempfile

import numpy as np

from keras_transformer._utils.cores import count_cores
from keras_transformer._utils.extras import import_ctranslate2
from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.inference.engines import MAX_POSITIONS
from keras_transformer.models.ctranslate2_model import write_ctranslate2


class CTranslate2Search:
    """Searches for the translations of a batch with CTranslate2.

    The weights are copied through a temporary folder. The search may be called by several threads;
    each call uses one core.

    Args:
        model: a built `TransformerModel`.
        compute_type: number type, see `ctranslate2.Translator`.

    Raises:
        ValueError: if CTranslate2 does not support the model.
    """

    def __init__(self, model, compute_type):
        # The ids themselves are the names of the tokens.
        sizes = (model.enc_vocab_size, model.dec_vocab_size)
        self._names = [str(i) for i in range(max(sizes))]
        tokens = [self._names[:size] for size in sizes]
        with tempfile.TemporaryDirectory() as folder:
            write_ctranslate2(model, tokens, folder, MAX_POSITIONS, allow_unknown=True)
            self._translator = import_ctranslate2().Translator(
                folder,
                "cpu",
                compute_type=compute_type,
                inter_threads=count_cores(),
                intra_threads=1,
            )

    def __call__(self, batch, options, with_scores):
        """Searches for translations.

        Args:
            batch: list of `Request`, see `common_size`.
            options: the `SearchOptions`.
            with_scores: whether greedy search computes scores.

        Returns:
            A dictionary of "tokens" (B, n, L) and, of beam search or with `with_scores`, "scores"
            (B, n), see `SearchResult`. The probabilities are those among the tokens that may
            occur.

        Raises:
            ValueError: if a translation may be too long for CTranslate2.
        """
        with_scores = with_scores or options.beam_size > 1
        found = self._translate(batch, options, with_scores)
        for i, request in enumerate(batch):
            # Greedy search had the limit of the longest sentence.
            if len(found[i][0][0]) > request.max_length:
                [found[i]] = self._translate([request], options, with_scores)
        length = max(len(names) for hypotheses in found for names, _ in hypotheses)
        tokens = np.zeros((len(batch), options.n_best, max(1, length)), "int32")  # padding
        for i, hypotheses in enumerate(found):
            for k, (names, _) in enumerate(hypotheses):
                tokens[i, k, : len(names)] = list(map(int, names))
        if not with_scores:
            return {"tokens": tokens}
        scores = np.full(tokens.shape[:2], -np.inf, "float32")
        for i, hypotheses in enumerate(found):
            scores[i, : len(hypotheses)] = [score for _, score in hypotheses]
        return {"tokens": tokens, "scores": scores}

    def _translate(self, batch, options, with_scores):
        """Returns the n best hypotheses of each request, pairs of token names and score."""
        names, limit = self._names, max(request.max_length for request in batch)
        if limit > MAX_POSITIONS:
            raise ValueError(
                f'The engine "ctranslate2" writes at most {MAX_POSITIONS:,} tokens: lower '
                '`max_length_ratio`, or choose the engine "numpy" or "layers". '
                f"Received: a sentence whose translation may have {limit:,} tokens"
            )
        sources = [[names[i] for i in request.ids[:-1]] for request in batch]
        prefixes = [[names[i] for i in request.forced] for request in batch]
        results = self._translator.translate_batch(
            sources,
            prefixes if any(prefixes) else None,
            beam_size=options.beam_size,
            # The hypotheses are ordered by another penalty here.
            num_hypotheses=options.beam_size,
            length_penalty=0,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            disable_unk=not options.allow_unknown,
            max_input_length=0,
            min_decoding_length=batch[0].min_length,
            max_decoding_length=limit,
            return_end_token=True,
            return_scores=with_scores,
        )
        hypotheses = [
            [list(pair) for pair in zip(x.hypotheses, x.scores or [0.0], strict=True)]
            for x in results
        ]
        if with_scores and any(prefixes):
            scored = self._translator.score_batch(sources, prefixes, max_input_length=0)
            for request, found, score in zip(batch, hypotheses, scored, strict=True):
                _add_prefix(request, found, score.log_probs, options)
        return [_n_best(found, options) for found in hypotheses]


def common_size(requests, options, batch_tokens):
    """Returns how many of the first requests CTranslate2 may search for together.

    A call has one minimum and one maximum of the lengths. Only greedy search is not affected by a
    higher maximum.

    Args:
        requests: list of `Request`, the longest sentence first.
        options: the `SearchOptions`.
        batch_tokens: maximum number of source tokens.
    """
    most = max(1, batch_tokens // len(requests[0].ids))
    if options.beam_size == 1 and not options.min_length_ratio:
        return most

    limits = [(x.min_length, x.max_length) for x in requests[:most]]
    return len(list(itertools.takewhile(lambda x: x == limits[0], limits)))


def _add_prefix(request, hypotheses, log_probs, options):
    """Adds the log probability of the prefix, which CTranslate2 leaves out, to the scores.

    In beam search, CTranslate2 ends a hypothesis directly after the prefix only where every other
    token would repeat an n-gram, so that one is added.
    """
    prefix, ended = log_probs[:-1], [str(i) for i in (*request.forced, END_ID)]
    for hypothesis in hypotheses:
        hypothesis[1] += sum(prefix)
    is_new = ended not in (names for names, _ in hypotheses)
    if options.beam_size > 1 and prefix and len(prefix) >= request.min_length and is_new:
        hypotheses.append([ended, sum(log_probs)])


def _n_best(hypotheses, options):
    if options.beam_size > 1:
        hypotheses = [(names, score / options.penalty(len(names))) for names, score in hypotheses]
        hypotheses.sort(key=lambda pair: -pair[1])
    return hypotheses[: options.n_best]
