"""Search for translations that contain some texts and not others."""

import dataclasses
import itertools
import math
from typing import NamedTuple

import numpy as np

from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, UNKNOWN_ID
from keras_transformer.data.batches import bucket_length, next_power_of_4, pad_ids
from keras_transformer.inference.batch_search import Request
from keras_transformer.inference.options import TEXT_OPTIONS, SearchOptions
from keras_transformer.inference.sentences import trim_padding
from keras_transformer.inference.terms import (
    TermMatcher,
    count_words,
    encode_text,
    missing_texts,
    whole_words,
)

_UNKNOWN = "▁" + SPECIAL_TOKENS[UNKNOWN_ID]
_MAX_PLACES = 32  # tried for a text; a limit for long sentences
_MAX_SEARCHES = 4  # for a text at a place until no word continues it
# Log probability that a text may cost before the rest of the translation is kept. With real terms
# and with an invented word, 200 sentences each: chrF 61.8 and 98.8, without a limit 61.8 and 75.3
# (Multi30k, BPE); 81.0 and 97.5, without a limit 81.6 and 76.3 (bundled run).
_MAX_COST = 6.0
# What is tried together: without these limits, time grows with the square of the number of texts,
# and memory with the number of sentences.
_MAX_TEXTS = 4
_MAX_CHAINS = 256


class _Found(NamedTuple):
    """A hypothesis of a search."""

    ids: list[int]  # with the end token, if it was reached
    words: list[str | None]  # the given word of each token that was forced
    score: float
    text: str


class ConstrainedSearch:
    """Searches until each translation contains the wanted texts and no forbidden word.

    A missing text is tried at the beginning of each word of the translation: the tokens before it
    and those of the text are forced, and the search continues from there. The place with the best
    score is chosen. If the text is so improbable that the scores say nothing, it replaces the word
    that attends to its source, and the rest of the translation is kept. A forbidden word is banned
    in the spelling that occurred, and the search is repeated.

    A sentence where nothing is missing or forbidden is searched once. For each missing text there
    are about as many searches as the translation has words, in common batches.

    Args:
        search: a `BatchSearch`.
        source_tokenizer: the tokenizer of the source language.
        target_tokenizer: the tokenizer of the target language.
        options: the `SearchOptions`.

    References:
        The problem, and a search on a grid of which this takes one path: "Lexically Constrained
        Decoding for Sequence Generation Using Grid Beam Search" (Hokamp and Liu, 2017).
    """

    def __init__(self, search, source_tokenizer, target_tokenizer, options):
        self.search = search
        self.source_tokenizer = source_tokenizer
        self.tokenizer = target_tokenizer
        self.find_texts = TermMatcher(options, target_tokenizer.normalize)
        spellings = [target_tokenizer.normalize(word) for word in options.forbidden_words]
        self._forbidden = {spelling: whole_words(spelling) for spelling in spellings if spelling}
        banned = [target_tokenizer.encode(spelling) for spelling in self._forbidden]
        self._banned = [ids for ids in banned if UNKNOWN_ID not in ids]
        self._options = dataclasses.replace(
            options,
            n_best=1 if options.samples else options.n_best,  # each sample is completed alone
            **{name: getattr(SearchOptions, name) for name in TEXT_OPTIONS},
        )

    def run(self, requests, options, with_scores, attention, check_weights):
        """Searches for all requests; see `BatchSearch.run`.

        Yields:
            A batch of one request and its outputs, with "words" in addition: the given words of
            each hypothesis.
        """
        samples = options.n_best if options.samples else 1
        chains = [
            _Chain(self, request._replace(sample=k, banned=self._banned))
            for request in requests
            for k in range(samples)
        ]
        self._complete(chains, check_weights)
        for i in range(0, len(chains), samples):
            group, request = chains[i : i + samples], chains[i].request
            found = [x for chain in group for x in chain.found[: self._options.n_best]]
            found.sort(key=lambda x: -x.score)
            output = {
                "source": self._pad_source([request.ids]),
                "tokens": self._pad_target([x.ids for x in found])[None],
                "words": [x.words for x in found],
            }
            if with_scores:
                output["scores"] = np.array([[x.score for x in found]], "float32")
            if attention:
                output["attention"] = self.search.attention_weights(output, attention)
            yield [request], output

    def _complete(self, chains, check_weights):
        """Searches until no chain has a missing text."""
        results = self._find([chain.request for chain in chains], check_weights)
        for chain, found in zip(chains, results, strict=True):
            chain.take(found)
        while incomplete := [chain for chain in chains if chain.missing][:_MAX_CHAINS]:
            alignments = self._align(incomplete)
            trials = [
                (chain, trial) for chain in incomplete for trial in chain.trials(alignments[chain])
            ]
            results = self._find([trial.request for _, trial in trials], False, whole_words=True)
            pairs = zip(trials, results, strict=True)
            for chain, group in itertools.groupby(pairs, key=lambda pair: pair[0][0]):
                chain.choose([(trial, found) for (_, trial), found in group])

    def _find(self, requests, check_weights, whole_words=False):
        """Returns the hypotheses of each request, the best first, without forbidden words.

        Args:
            requests: list of `Request`.
            check_weights: see `BatchSearch.run`.
            whole_words: whether the token after the forced ones must begin a word. A request that
                does not find such a hypothesis in a few searches has none.
        """
        requests, results = list(requests), [[] for _ in requests]
        left = list(range(len(requests)))
        searches = 0
        while left:
            searches += 1
            batches = self.search.run(
                [requests[i]._replace(position=i) for i in left],
                self._options,
                with_scores=True,
                attention=None,
                check_weights=check_weights,
            )
            left, check_weights = [], False
            for batch, output in batches:
                for i, request in enumerate(batch):
                    found = list(self._read(request, output["tokens"][i], output["scores"][i]))
                    banned = [ids for x in found for ids in self._offending(x, request)]
                    glued = [x for x in found if whole_words and self._is_glued(x, request)]
                    if glued and searches < _MAX_SEARCHES:
                        end = len(request.forced)
                        banned += [x.ids[end - 1 : end + 1] for x in glued]
                    if banned:
                        left.append(request.position)
                        banned = [*request.banned, *banned]
                        requests[request.position] = request._replace(banned=banned)
                    results[request.position] = [x for x in found if x not in glued]
        return results

    def _read(self, request, tokens, scores):
        """Yields the hypotheses of a request; those that do not exist have a score of -inf."""
        for row, score in zip(tokens, scores, strict=True):
            if score != -np.inf:
                ids = trim_padding(row)
                words = itertools.zip_longest(ids, request.words[: len(ids)])
                unknown = [word or _UNKNOWN for i, word in words if i == UNKNOWN_ID]
                text = self.tokenizer.decode(ids, unknown)
                yield _Found(ids, request.words, float(score), text)

    def _is_glued(self, found, request):
        """Returns whether the word at the end of the forced tokens continues."""
        return not self.is_word_start(found.ids, len(request.forced))

    def _offending(self, found, request):
        """Yields the shortest sequence of tokens that spells each forbidden word."""
        ids = found.ids[: found.ids.index(END_ID)] if END_ID in found.ids else found.ids
        for spelling, pattern in self._forbidden.items():
            if pattern.search(found.text):
                longest = min(len(ids), len(spelling) + 2)  # a token per character, and spaces
                spans = (
                    (end - length, end)
                    for length in range(1, longest + 1)
                    for end in range(max(len(request.forced) + 1, length), len(ids) + 1)
                )
                # A word inside the forced tokens cannot be avoided.
                end_of_forced = len(request.forced)
                spells = (
                    ids[start:end]
                    for start, end in spans
                    if self._spells(ids, start, end, pattern)
                    and not pattern.search(self.tokenizer.decode(ids[start:end_of_forced]))
                )
                yield from itertools.islice(spells, 1)

    def _spells(self, ids, start, end, pattern):
        """Returns whether some tokens spell a word, also with the tokens before and after them."""
        spans = ids[start:end], ids[max(0, start - 1) : end + 1]
        return all(pattern.search(self.tokenizer.decode(span)) for span in spans)

    def _align(self, chains):
        """Returns the attention weights (T, S) of the best hypothesis of each chain, averaged.

        They are None for models whose attention weights are not known.
        """

        def size(chain):
            return max(len(chain.request.ids), len(chain.found[0].ids))

        left, alignments = sorted(chains, key=size), {}
        while left:
            most = max(1, self.search.batch_tokens // bucket_length(size(left[-1])))
            most = 4 ** int(math.log(most, 4))  # few shapes to compile
            part, left = left[-most:], left[:-most]
            rows = np.minimum(np.arange(next_power_of_4(len(part))), len(part) - 1)
            source = self._pad_source([x.request.ids for x in part])[rows]
            tokens = self._pad_target([x.found[0].ids for x in part])[rows]
            result = {"source": source, "tokens": tokens[:, None]}
            layers = self.search.attention_weights(result, "cross", optional=True)
            for row, chain in enumerate(part):
                alignments[chain] = layers and np.mean(
                    [layer[row].mean(axis=0) for layer in layers["cross"]], axis=0
                )
        return alignments

    # Lengths that others have, too: each shape is traced or compiled once.

    def _pad_source(self, sequences):
        return pad_ids(sequences, self.search.padded(max(map(len, sequences))))

    def _pad_target(self, sequences):
        length = bucket_length(max(map(len, sequences)))
        return pad_ids(sequences, self.search.within_limit(length))

    def is_word_start(self, ids, position):
        """Returns whether no word continues at a position."""
        (token,) = self.tokenizer.tokens(ids[position : position + 1]) or [""]
        return token in SPECIAL_TOKENS or not token[:1].isalnum()

    def word_starts(self, ids, first):
        """Returns `first`, the positions after it at which a word begins, and the end."""
        end = ids.index(END_ID) if END_ID in ids else len(ids)
        inner = (i for i in range(first + 1, end) if self.is_word_start(ids, i))
        return sorted({min(first, end), *inner, end})

    def log_probability(self, found):
        """Returns the log probability of a hypothesis, without the length penalty."""
        options = self._options
        return found.score * (options.penalty(len(found.ids)) if options.beam_size > 1 else 1)

    def normalized(self, found):
        """Returns the log probability of a hypothesis with the length penalty."""
        options = self._options
        return found.score / (1 if options.beam_size > 1 else options.penalty(len(found.ids)))


class _Trial(NamedTuple):
    """A missing text at one place."""

    text: str
    place: int
    end: int  # of the tokens of the text
    request: Request


class _Chain:
    """The search for one translation, text by text from left to right.

    Args:
        search: the `ConstrainedSearch`.
        request: the `Request`.
    """

    def __init__(self, search, request):
        self._search = search
        self._texts = search.find_texts(request.sentence)
        self._encoded = {x.text: encode_text(search.tokenizer, x.text) for x in self._texts}
        length = request.max_length + sum(len(self._encoded[x.text][0]) for x in self._texts)
        self.request = request._replace(max_length=search.search.within_limit(length))
        self._fixed = len(request.forced)  # number of tokens that are final
        self.found: list[_Found] = []  # the best first
        self.missing: list[str] = []

    def take(self, found):
        """Takes the hypotheses that are complete, or all of them if none is."""
        texts = [x.text for x in self._texts]
        self.found = [x for x in found if not missing_texts(texts, x.text)] or found
        self.missing = missing_texts(texts, self.found[0].text)

    def trials(self, alignment):
        """Yields the first missing texts, each at each place where it fits.

        Args:
            alignment: attention weights (T, S) of the best hypothesis, or None.

        Raises:
            ValueError: if a text fits nowhere.
        """
        ids = self.found[0].ids
        starts = self._search.word_starts(ids, self._fixed)
        ids = [*ids[: starts[-1]], END_ID]
        # The missing texts follow one after the other, and a token must be left for the end.
        last = self.request.max_length - 1 - sum(len(self._encoded[x][0]) for x in self.missing)
        if starts[0] > last:
            raise ValueError(
                f"The translation may have {self.request.max_length} tokens, and "
                f"{', '.join(map(repr, self.missing))} does not fit: shorten the sentence or leave "
                f"out terms. Received: {self.request.sentence!r}"
            )
        texts = dict.fromkeys(x.text for x in self._texts if x.text in self.missing)
        for text in itertools.islice(texts, _MAX_TEXTS):
            span = self._replaced(text, alignment, starts)
            middle = span[0] if span else (starts[0] + starts[-1]) / 2
            places = sorted((x for x in starts if x <= last), key=lambda x: abs(x - middle))
            places = places[:_MAX_PLACES]
            yield from (self._trial(text, place) for place in places)
            kept = [span] if span else zip(places, places, strict=True)
            room = self.request.max_length - len(self._encoded[text][0])
            rests = [
                (begin, ids[end:])
                for begin, end in kept
                if begin <= last
                and len(ids) - (end - begin) <= room
                and self._search.is_word_start(ids, end)
            ]
            for place, rest in rests or [(max(places), [END_ID])]:
                yield self._trial(text, place, rest)

    def _replaced(self, text, alignment, starts):
        """Returns the beginning and the end of the words that attend to the source of a text."""
        found = next(x for x in self._texts if x.text == text)
        if alignment is None or found.span is None or len(starts) == 1:
            return None
        encode, sentence = self._search.source_tokenizer.encode, self.request.sentence
        first, last = (len(encode(sentence[:i])) for i in found.span)
        words = list(itertools.pairwise(starts))
        weights = [alignment[start:end].mean(axis=0) for start, end in words]
        best = max(range(len(words)), key=lambda i: weights[i][first:last].sum())
        aligned = [first <= row.argmax() < last for row in weights]
        begin, end = best, best + 1
        for _ in range(count_words(sentence[slice(*found.span)]) - 1):
            if end < len(words) and aligned[end]:
                end += 1
            elif begin > 0 and aligned[begin - 1]:
                begin -= 1
        return words[begin][0], words[end - 1][1]

    def _trial(self, text, place, rest=()):
        base, (ids, words) = self.found[0], self._encoded[text]
        forced = [*base.ids[:place], *ids, *rest]
        given = [*[*base.words, *[None] * place][:place], *words, *[None] * len(rest)]
        end = place + len(ids)
        return _Trial(text, place, end, self.request._replace(forced=forced, words=given))

    def choose(self, results):
        """Keeps the text whose best place is the first.

        Args:
            results: list of pairs of a `_Trial` and its hypotheses.
        """
        best = [
            self._best_place([pair for pair in results if pair[0].text == text])
            for text in dict.fromkeys(trial.text for trial, _ in results)
        ]
        trial, found = min(best, key=lambda pair: (pair[0].place, -pair[1][0].score))
        self._fixed = trial.end
        self.take(found)

    def _best_place(self, results):
        """Returns a `_Trial` and the hypotheses that have its text, of all places."""
        search = self._search

        def best(pairs):
            return max(pairs, key=lambda pair: search.normalized(pair[1][0]))

        results = [pair for pair in results if pair[1]]
        inserted = [pair for pair in results if len(pair[0].request.forced) == pair[0].end]
        kept = [pair for pair in results if len(pair[0].request.forced) > pair[0].end]
        if not inserted:
            return best(kept)
        trial, found = best(inserted)
        cost = search.log_probability(self.found[0]) - search.log_probability(found[0])
        if cost > _MAX_COST and kept:
            return best(kept)
        unique = {found[0].text: found[0]}
        pool = (x for _, some in inserted for x in some)
        for x in sorted(pool, key=lambda x: -search.normalized(x)):
            unique.setdefault(x.text, x)  # the best of equal texts
        return trial, list(unique.values())
