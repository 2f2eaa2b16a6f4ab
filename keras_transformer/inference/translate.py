"""Translating sentences."""

import dataclasses
import itertools
import math
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, START_ID, UNKNOWN_ID
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.data.tokenizers import WordTokenizer, encode_source
from keras_transformer.inference.model_search import AttentionScores, ModelSearch
from keras_transformer.inference.options import EXTRA_LENGTH, SearchOptions
from keras_transformer.inference.rules import make_plan
from keras_transformer.inference.sentences import (
    check_length,
    check_texts,
    draw_randoms,
    until_end,
)
from keras_transformer.models.marian import read_marian
from keras_transformer.runs.folder import RunFolder


class Hypothesis(NamedTuple):
    """A translation of a sentence and how it was found.

    Args:
        text: the translation.
        score: its log probability; that of a beam is divided by the length penalty.
        tokens: the tokens of the translation with its end, as the model chose them.
        source_tokens: the tokens of the sentence with its end, as the model read them.
        attention: None unless asked for; then a dictionary of float32 arrays. With n layers, N
            heads, S source tokens and T tokens: "encoder" (n, N, S, S), "causal" (n, N, T, T) and
            "cross" (n, N, T, S). Row t of the last two is what was attended to in order to choose
            token t; the columns of "causal" are the tokens read before: the start, and those up to
            t - 1. A recurrent model has "cross" alone.
    """

    text: str
    score: float
    tokens: list
    source_tokens: list
    attention: Any = None


class Translate:
    """Translates sentences with a trained model.

        translate = Translate.from_run("runs/english-german")
        translate("Good morning!")
        translate(["Good morning!", "Where is the station?"], beam_size=4)
        translate.hypotheses("Good morning!", beam_size=4, n_best=4)

    A word that the source vocabulary lacks is read as unknown. Each sentence is translated the same
    whatever stands beside it.

    Sentences of similar length are translated together, in few shapes of batches, each of which is
    compiled or traced once. With XLA a shape takes seconds to compile, and is then decoded 1.2 to
    2 times as fast on one core (docs/benchmarks.md): use it where many sentences follow.

    Args:
        model: a `TransformerModel` or a `RecurrentTranslator`.
        source_tokenizer: a `WordTokenizer` of the source language.
        target_tokenizer: a `WordTokenizer` of the target language.
        batch_tokens: how many source tokens are translated at once, padding and the rows of the
            beam included.
        jit_compile: whether XLA compiles the search. None: on JAX, which always does, but not on
            TensorFlow.

    Raises:
        ValueError: if a vocabulary is not the model's, `batch_tokens` is not positive, or the
            backend cannot do without XLA.
    """

    def __init__(
        self, model, source_tokenizer, target_tokenizer, batch_tokens=1024, jit_compile=None
    ):
        vocabularies = (source_tokenizer.vocab_size, target_tokenizer.vocab_size)
        if vocabularies != (model.enc_vocab_size, model.dec_vocab_size):
            raise ValueError(
                "The tokenizers must be those the model was trained with: it knows "
                f"{model.enc_vocab_size} source and {model.dec_vocab_size} target words. "
                f"Received: tokenizers of {vocabularies[0]} and {vocabularies[1]} words"
            )
        check_sizes(batch_tokens=batch_tokens)
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.batch_tokens = batch_tokens
        self.jit_compile = jit_compile
        if jit_compile is None:
            self.jit_compile = keras.config.backend() == "jax"
        self._searches = {}
        self._compiled(SearchOptions(), False)  # refuses at once what the backend cannot do
        self._attention_scores = None  # compiled when it is first wanted

    @classmethod
    def from_run(cls, folder, weights="best", **kwargs):
        """The translator that a training run has left in its folder.

        Args:
            folder: path of the run's folder.
            weights: name of the weights, see `RunFolder.read_model`.
            **kwargs: further arguments of `Translate`.

        Raises:
            FileNotFoundError: if the folder lacks a file.
            ValueError: if a file is damaged or of another run.
        """
        run = RunFolder(folder)
        return cls(run.read_model(weights=weights), *run.read_tokenizers(), **kwargs)

    @classmethod
    def from_marian(cls, folder, dtype="float32", **kwargs):
        """The translator that a published Marian model is, such as Helsinki-NLP/opus-mt-en-de.

        Its tokenizers are `MarianTokenizer`s. A model of several target languages expects the code
        of one before each sentence, such as ">>deu<< Good morning!".

        Args:
            folder: path of the folder, see `read_marian`.
            dtype: dtype policy to compute in; the weights are float32 in any case.
            **kwargs: further arguments of `Translate`.

        Raises:
            FileNotFoundError: if the folder lacks a file.
            ImportError: if `sentencepiece` is not installed.
            ValueError: if a file is damaged or of another model, or the model of another kind.
        """
        return cls(*read_marian(folder, dtype), **kwargs)

    def __call__(self, sentences, prefixes=None, replace_unknown=False, **options):
        """Translates.

        Args:
            sentences: a sentence, or a list or tuple of sentences; not changed.
            prefixes: the words with which the translation must begin; for several sentences as many
                prefixes, "" for none.
            replace_unknown: whether the model may choose the unknown word, which is then replaced
                by the source word that it attended to most.
            **options: see `SearchOptions`.

        Returns:
            A sentence for a sentence, a list for a list; "" for an empty sentence.

        Raises:
            TypeError: if something else is given, or an option that does not exist.
            ValueError: if a sentence has more than 1,024 tokens, a prefix is longer than its
                translation may be, or an option is out of range.
        """
        if isinstance(sentences, str):
            prefixes = None if prefixes is None else [prefixes]
            return self([sentences], prefixes, replace_unknown, **options)[0]
        found = self.hypotheses(sentences, prefixes, replace_unknown, **options)
        return [hypotheses[0].text for hypotheses in found]

    def hypotheses(
        self, sentences, prefixes=None, replace_unknown=False, return_attention=False, **options
    ):
        """Translates and tells more.

        Args:
            sentences: a list or tuple of sentences, or one sentence; not changed.
            prefixes: see `__call__`.
            replace_unknown: see `__call__`.
            return_attention: whether to return what was attended to.
            **options: see `SearchOptions`.

        Returns:
            For each sentence a list of at most `n_best` `Hypothesis`, the best first.

        Raises:
            TypeError, ValueError: see `__call__`.
        """
        if isinstance(sentences, str):
            sentences, prefixes = [sentences], None if prefixes is None else [prefixes]
        arguments = {"replace_unknown": replace_unknown, "return_attention": return_attention}
        return self._hypotheses(1, sentences, prefixes, **arguments, **options)

    def stream(self, sentences, window=4096, **arguments):
        """Translates any number of sentences, keeping few of them in memory.

        Args:
            sentences: an iterable of sentences, such as a file, or one sentence.
            window: how many are read, sorted by length and translated at a time.
            **arguments: see `hypotheses`; no prefixes.

        Yields:
            For each sentence, in their order, what `hypotheses` returns for it.
        """
        check_sizes(window=window)
        sentences, first = iter([sentences] if isinstance(sentences, str) else sentences), 1
        while some := list(itertools.islice(sentences, window)):
            yield from self._hypotheses(first, some, **arguments)
            first += len(some)

    def _hypotheses(
        self,
        first,
        sentences,
        prefixes=None,
        replace_unknown=False,
        return_attention=False,
        **options,
    ):
        """See `hypotheses`; `first` is the number that errors give the first sentence."""
        check_texts(sentences, "a list of sentences")
        prefixes = [""] * len(sentences) if prefixes is None else prefixes
        check_texts(prefixes, "a list of prefixes", len(sentences))
        options = SearchOptions(**{"allow_unknown": replace_unknown, **options})
        requests = self._requests(first, sentences, prefixes, options)
        found = [[self._nothing()] for _ in sentences]
        for batch, length in self._batches(requests, options):
            result = self._search(batch, length, options)
            if return_attention or replace_unknown:
                result["attention"] = self._attend(result)
            for i, request in enumerate(batch):
                found[request.index] = self._read(
                    i, request, result, return_attention, replace_unknown
                )
        return found

    def _requests(self, first, sentences, prefixes, options):
        """What is to be translated: the sentences that are not empty."""
        requests = []
        for i, (sentence, prefix) in enumerate(zip(sentences, prefixes, strict=True)):
            ids = encode_source(self.source_tokenizer, sentence)
            words = len(ids) - 1
            check_length(first + i, words)
            forced = self.target_tokenizer.encode(prefix)
            longest = int(options.max_length_ratio * words) + EXTRA_LENGTH
            if len(forced) >= longest:
                raise ValueError(
                    f"Prefix {first + i} is too long: the translation of this sentence may have "
                    f"{longest} tokens. Received: {len(forced)} tokens"
                )
            if words:
                shortest = int(options.min_length_ratio * words)
                requests.append(_Request(i, sentence, prefix, ids, forced, shortest, longest))
        return requests

    def _batches(self, requests, options):
        """Requests of similar length and the length to pad them to, the longest first."""
        requests = sorted(requests, key=lambda request: len(request.ids), reverse=True)
        while requests:
            length = bucket_length(len(requests[0].ids))
            size = self._full_batch(length, options)
            yield requests[:size], length
            requests = requests[size:]

    def _full_batch(self, length, options):
        return 1 << max(0, (self.batch_tokens // (length * options.rows)).bit_length() - 1)

    def _search(self, batch, source_length, options):
        """The source ids of a batch, and what `ModelSearch` finds."""
        length = int(options.max_length_ratio * source_length) + EXTRA_LENGTH
        plans = [make_plan(x.shortest, x.longest, length, x.forced) for x in batch]
        ids = [x.ids for x in batch]
        rows = len(batch)
        if self.jit_compile and rows > 1:
            # Each number of rows is compiled anew. Few of them: 1, 4, 16, … and that of a full
            # batch, filled up with copies of the last one, which end when it does.
            rows = min(4 ** math.ceil(math.log(rows, 4)), self._full_batch(source_length, options))
        row = np.minimum(np.arange(rows), len(batch) - 1)
        inputs = {"source": pad_ids(ids, source_length)[row], "plan": np.stack(plans)[row]}
        if options.samples:
            inputs["randoms"] = draw_randoms(ids, length, options)[row].reshape(-1, length)
        with_forced = any(x.forced for x in batch)
        found = self._compiled(options, with_forced)(inputs)
        return {"source": inputs["source"], **found}

    def _attend(self, result):
        """What `AttentionScores` finds, with a row for each sequence of each sentence."""
        if self._attention_scores is None:
            scores = AttentionScores(self.model)
            self._attention_scores = backend_module().compile_inference(scores, self.jit_compile)
        tokens = result["tokens"]
        target = np.roll(tokens, 1, axis=2)
        target[:, :, 0] = START_ID
        source = np.repeat(result["source"], tokens.shape[1], axis=0)
        return self._attention_scores(
            {"source": source, "target": target.reshape(-1, tokens.shape[2])}
        )

    def _compiled(self, options, with_forced):
        # These are in the plan and the random numbers: what is compiled is the same.
        options = dataclasses.replace(options, seed=0, min_length_ratio=0.0, max_length_ratio=0.0)
        key = (options, with_forced)
        if key not in self._searches:
            search = ModelSearch(self.model, options, with_forced, with_scores=True)
            self._searches[key] = backend_module().compile_inference(search, self.jit_compile)
        return self._searches[key]

    def _read(self, i, request, result, return_attention, replace_unknown):
        """The hypotheses of sentence i of a batch."""
        hypotheses = []
        for k, score in enumerate(result["scores"][i]):
            if score == -np.inf:
                continue  # there are no more sequences than this
            ids = until_end(result["tokens"][i, k])
            attention = None
            if "attention" in result:
                row = i * len(result["scores"][i]) + k
                attention = _attention(result["attention"], row, len(request.ids), len(ids))
            words = self._unknown_words(request, ids, attention if replace_unknown else None)
            hypotheses.append(
                Hypothesis(
                    self.target_tokenizer.decode(ids, words),
                    float(score),
                    self.target_tokenizer.tokens(ids),
                    self.source_tokenizer.tokens(request.ids),
                    attention if return_attention else None,
                )
            )
        return hypotheses

    def _unknown_words(self, request, ids, attention):
        """What to write for the unknown words: those of the prefix as they are given, for others
        the source word that was attended to most."""
        words = self.target_tokenizer.words(request.prefix)
        if attention is not None:
            sources = self.source_tokenizer.words(request.sentence)
            if isinstance(self.target_tokenizer, WordTokenizer):
                # After a bracket it stands without a space there. What subwords do not know is a
                # single character, which stays as it is.
                sources = ["▁" + word.lstrip("▁") for word in sources]
            weights = attention["cross"].mean(axis=(0, 1))[:, : len(sources)]
            words += [sources[row.argmax()] for row in weights[len(words) :]]
        return [word for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]

    def _nothing(self):
        end = SPECIAL_TOKENS[END_ID]
        return Hypothesis("", 0.0, [end], [end])


class _Request(NamedTuple):
    """A sentence to translate; see `make_plan`."""

    index: int
    sentence: str
    prefix: str
    ids: list
    forced: list
    shortest: int
    longest: int


def _attention(scores, row, source_length, length):
    """See `Hypothesis`: that of one row of `AttentionScores`, without the padding."""
    source, target = slice(source_length), slice(length)
    sizes = {"encoder": (source, source), "causal": (target, target), "cross": (target, source)}
    return {
        kind: np.stack([layer[row][:, *sizes[kind]] for layer in layers])
        for kind, layers in scores.items()
    }
