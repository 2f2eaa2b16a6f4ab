"""Translation of sentences with a trained model."""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np

from keras_transformer._utils.checks import check_sizes
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, UNKNOWN_ID
from keras_transformer._utils.types import PathLike, Texts
from keras_transformer.data.corpus import default_run_path
from keras_transformer.data.marian_tokenizer import MarianTokenizer
from keras_transformer.data.tokenizers import Tokenizer, WordTokenizer, encode_source
from keras_transformer.inference.batch_search import BatchSearch, Request
from keras_transformer.inference.constrained_search import ConstrainedSearch
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.sentences import (
    check_texts,
    check_token_count,
    max_source_tokens,
    trim_padding,
)
from keras_transformer.models._translator import Translator
from keras_transformer.models.ensemble import Ensemble
from keras_transformer.models.marian import read_marian
from keras_transformer.runs.folder import MakeModel, RunFolder


class Hypothesis(NamedTuple):
    """A translation with its score, its tokens and, optionally, its attention weights.

    Shape letters: n layers, N heads, S source tokens, T tokens of the translation.

    Args:
        text: the translation.
        score: its log probability; in beam search divided by the length penalty. None if it was not
            requested.
        tokens: the T tokens of the translation, including the end token.
        source_tokens: the S tokens of the sentence, including the end token.
        attention: the attention weights, or None if they were not requested or the sentence is
            empty. A dictionary of float32 arrays: "encoder" (n, N, S, S), "causal" (n, N, T, T) and
            "cross" (n, N, T, S). Row t of "causal" and "cross" holds the weights with which token t
            was chosen. Column 0 of "causal" is the start token, column t is token t - 1. Recurrent
            models have "cross" only.
    """

    text: str
    score: float | None
    tokens: list[str]
    source_tokens: list[str]
    attention: dict[str, np.ndarray] | None = None


class Translate:
    """Translates sentences with a trained model.

    Words outside the source vocabulary are read as the unknown token. The translation of a sentence
    does not depend on the other sentences of its batch.

    On a CPU, a `TransformerModel` in float32 is copied to NumPy for the search, which needs no
    compilation; the cores share the batches. The weights are copied again when they have changed.
    Other models and devices, and the attention weights, use the layers of Keras: batches then have
    few different shapes, and each is traced or compiled once.

    Threads may share a `Translate`: concurrent calls give the same translations as one after the
    other. Weights may change between calls, not during one.

    Args:
        model: a `TransformerModel` or a `RecurrentTranslator`.
        source_tokenizer: the `WordTokenizer` of the source language.
        target_tokenizer: the `WordTokenizer` of the target language.
        batch_tokens: maximum size of a batch: number of sentences times padded source length times
            number of sequences decoded per sentence.
        jit_compile: None to search with NumPy where that is possible; True or False to search with
            the layers of Keras, with or without XLA. Where NumPy is not possible, None is True on
            JAX, which always compiles, and False on other backends; PyTorch never compiles.
        engine: what searches. "auto": NumPy if it can, on a CPU, else the layers; "numpy";
            "layers"; or "ctranslate2", on a CPU. CTranslate2 translates a `TransformerModel` into
            the same tokens with greedy search and mostly the same with a beam, does not sample, and
            computes scores with the probabilities among the tokens that may occur.
        compute_type: number type of CTranslate2, such as "float32", the default, or "int8".

    Raises:
        ImportError: if the engine is not installed.
        TypeError: if `model` is no translator, or a tokenizer is missing.
        ValueError: if the vocabulary size of a tokenizer is not the model's, `batch_tokens` is not
            positive, `jit_compile` is False on JAX or True on PyTorch, or the engine does not
            support the model.

    Example:
        translate = kt.Translate.from_run("runs/english-german")
        translate("Good morning!")
        translate(["Good morning!", "Where is the station?"], beam_size=4)
        translate.hypotheses("Good morning!", beam_size=4, n_best=4)
    """

    def __init__(
        self,
        model: Translator,
        source_tokenizer: Tokenizer | MarianTokenizer | None = None,
        target_tokenizer: Tokenizer | MarianTokenizer | None = None,
        batch_tokens: int = 2048,
        jit_compile: bool | None = None,
        engine: str = "auto",
        compute_type: str | None = None,
    ) -> None:
        if not hasattr(model, "enc_vocab_size") or not hasattr(model, "start"):
            raise TypeError(
                "Translate takes a TransformerModel, a RecurrentTranslator or a subclass of them; "
                "parts of a model can be replaced, see docs/change-one-part.md. "
                f"Received: {type(model).__name__}"
            )
        self.source_tokenizer = _check_tokenizer(source_tokenizer)
        self.target_tokenizer = _check_tokenizer(target_tokenizer)
        vocabularies = (self.source_tokenizer.vocab_size, self.target_tokenizer.vocab_size)
        if vocabularies != (model.enc_vocab_size, model.dec_vocab_size):
            raise ValueError(
                "Give the tokenizers that the model was trained with: its vocabularies have "
                f"{model.enc_vocab_size} source and {model.dec_vocab_size} target tokens. "
                f"Received: tokenizers of {vocabularies[0]} and {vocabularies[1]} tokens"
            )
        check_sizes(batch_tokens=batch_tokens)
        self._is_shared = True  # whether other code has the model and may change its weights
        self._search = BatchSearch(model, batch_tokens, jit_compile, engine, compute_type)

    @classmethod
    def from_run(
        cls,
        folder: PathLike | None = None,
        weights: str = "best",
        make_model: MakeModel | None = None,
        ensemble: Sequence[PathLike] = (),
        **kwargs: Any,
    ) -> Self:
        """Loads the model and the tokenizers of a training run.

        Args:
            folder: path of the run folder. None loads the run below `runs/` with the newest
                weights, or the bundled one if there is none, and prints which it is.
            weights: name of the weights, see `RunFolder.read_model`.
            make_model: function that makes the model of the run, see `train_run`; used for the
                runs with a model of your own.
            ensemble: folders of further runs with the same vocabularies. The translations are those
                of an `Ensemble`.
            **kwargs: further arguments of `Translate`, such as `engine`.

        Returns:
            A `Translate`.

        Raises:
            FileNotFoundError: if a file is missing.
            ImportError: if the engine is not installed.
            ValueError: if a file is damaged or belongs to another run, or a run of the ensemble has
                other vocabularies.
        """
        if folder is None:
            folder = default_run_path()
            print(f"Loading {folder}; name the folder to load another run.")
        run = RunFolder(folder)
        tokenizers = run.read_tokenizers()
        runs = [run, *map(RunFolder, ensemble)]
        for other in runs[1:]:
            _check_same_tokenizers(tokenizers, other)
        models = [x.read_model(weights=weights, make_model=make_model) for x in runs]
        model = Ensemble(models) if ensemble else models[0]
        return cls._of_own_model(model, *tokenizers, **kwargs)

    @classmethod
    def from_marian(cls, folder: PathLike, dtype: Any = "float32", **kwargs: Any) -> Self:
        """Loads a published Marian model such as Helsinki-NLP/opus-mt-en-de.

        The tokenizers are `MarianTokenizer`s. Models with several target languages expect a
        language code before each sentence, such as ">>deu<< Good morning!".

        Args:
            folder: path of the model's folder, see `read_marian`.
            dtype: dtype policy of the computation; the weights are always float32.
            **kwargs: further arguments of `Translate`.

        Returns:
            A `Translate`.

        Raises:
            FileNotFoundError: if a file is missing.
            ImportError: if `sentencepiece` is not installed.
            ValueError: if a file is damaged, or the model is of another type.
        """
        return cls._of_own_model(*read_marian(folder, dtype), **kwargs)

    @classmethod
    def _of_own_model(cls, *args, **kwargs):
        translate = cls(*args, **kwargs)
        translate._is_shared = False
        return translate

    @property
    def model(self) -> Translator:
        """The model. Translations follow changes of its weights."""
        self._is_shared = True
        return self._search.model

    @property
    def batch_tokens(self) -> int:
        """The maximum size of a batch, as it was passed."""
        return self._search.batch_tokens

    @property
    def engine(self) -> str:
        """The engine that searches: "numpy", "layers" or "ctranslate2"."""
        return self._search.engine

    @property
    def jit_compile(self) -> bool:
        """Whether XLA compiles the search and the attention weights with the layers of Keras."""
        return self._search.jit_compile

    @overload
    def __call__(
        self,
        sentences: str,
        prefixes: str | None = None,
        replace_unknown: bool = False,
        **options: Any,
    ) -> str: ...

    @overload
    def __call__(
        self,
        sentences: Texts,
        prefixes: Texts | None = None,
        replace_unknown: bool = False,
        **options: Any,
    ) -> list[str]: ...

    def __call__(
        self,
        sentences: str | Texts,
        prefixes: str | Texts | None = None,
        replace_unknown: bool = False,
        **options: Any,
    ) -> str | list[str]:
        """Translates a sentence or a list of sentences.

        Args:
            sentences: a sentence, or a list or tuple of sentences.
            prefixes: the beginning of the translation; for a list, one per sentence, "" for none.
            replace_unknown: whether the model may choose the unknown token, which is then replaced
                by the source word with the highest attention weight.
            **options: see `SearchOptions`.

        Returns:
            A string for a string, a list of strings for a list; "" for an empty sentence.

        Raises:
            TypeError: if an argument has another type, or an option does not exist.
            ValueError: if a sentence has more than 1,024 tokens or an unpaired surrogate, a prefix
                is longer than the translation may be, or an option is out of range.
        """
        single = isinstance(sentences, str)
        if single:
            sentences, prefixes = [sentences], None if prefixes is None else [prefixes]
        options = {"replace_unknown": replace_unknown, "return_scores": False, **options}
        texts = self._translate(self._make_text, str, 1, sentences, prefixes, **options)
        return texts[0] if single else texts

    def hypotheses(
        self,
        sentences: str | Texts,
        prefixes: str | Texts | None = None,
        replace_unknown: bool = False,
        return_attention: bool = False,
        return_scores: bool = True,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """Translates sentences and returns hypotheses with scores, tokens and attention weights.

        Args:
            sentences: a sentence, or a list or tuple of sentences.
            prefixes: see `__call__`.
            replace_unknown: see `__call__`.
            return_attention: whether to compute the attention weights.
            return_scores: whether to compute the scores of greedy search, which takes a third of
                its time; other searches need them anyway.
            **options: see `SearchOptions`.

        Returns:
            For each sentence a list of at most `n_best` `Hypothesis`, the best first.

        Raises:
            TypeError, ValueError: see `__call__`.
        """
        if isinstance(sentences, str):
            sentences, prefixes = [sentences], None if prefixes is None else [prefixes]
        return self._hypotheses(
            1,
            sentences,
            prefixes,
            replace_unknown=replace_unknown,
            return_attention=return_attention,
            return_scores=return_scores,
            **options,
        )

    def stream(
        self, sentences: Iterable[str], window: int = 4096, **arguments: Any
    ) -> Iterator[list[Hypothesis]]:
        """Translates an iterable of sentences with bounded memory.

        The next window is read only when the translations of the last one have been consumed, so a
        slow consumer slows the reading down. Several streams may run at the same time, each in one
        thread.

        Args:
            sentences: an iterable of sentences, such as an open file, or one sentence.
            window: number of sentences that are read, sorted by length and translated at a time.
            **arguments: see `hypotheses`; without `prefixes`.

        Yields:
            For each sentence, in order, its list of `Hypothesis`; see `hypotheses`.
        """
        check_sizes(window=window)
        sentences, first = iter([sentences] if isinstance(sentences, str) else sentences), 1
        while chunk := list(itertools.islice(sentences, window)):
            yield from self._hypotheses(first, chunk, **arguments)
            first += len(chunk)

    def _hypotheses(self, first, sentences, prefixes=None, **arguments):
        score = 0.0 if arguments.get("return_scores", True) else None
        end = SPECIAL_TOKENS[END_ID]

        def make_empty():
            return [Hypothesis("", score, [end], [end])]

        makers = (self._make_hypotheses, make_empty)
        return self._translate(*makers, first, sentences, prefixes, **arguments)

    def _translate(
        self,
        make_result,
        make_empty,
        first,
        sentences,
        prefixes,
        replace_unknown=False,
        return_attention=False,
        return_scores=True,
        **options,
    ):
        """Translates a list of sentences.

        Args:
            make_result: function from the index of a sentence in its batch, its `Request`, the
                outputs of the search, `replace_unknown` and `return_attention` to the result.
            make_empty: function without arguments that returns the result of an empty sentence.
            first: the number of the first sentence in messages.
            sentences, prefixes, replace_unknown, return_attention, return_scores, **options: see
                `hypotheses`.

        Returns:
            The list of results.
        """
        check_texts(sentences, "a list of sentences", first=first)
        prefixes = [""] * len(sentences) if prefixes is None else prefixes
        check_texts(prefixes, "a list of prefixes", len(sentences), first)
        options = _search_options({"allow_unknown": replace_unknown, **options})
        self._search.check(options)
        requests = self._make_requests(first, sentences, prefixes, options)
        results = [make_empty() for _ in sentences]
        attention = "cross" if replace_unknown else "any" if return_attention else None
        search: BatchSearch | ConstrainedSearch = self._search
        if options.is_constrained:
            search = ConstrainedSearch(
                search, self.source_tokenizer, self.target_tokenizer, options
            )
        found = search.run(requests, options, return_scores, attention, self._is_shared)
        for batch, output in found:
            for i, request in enumerate(batch):
                arguments = (i, request, output, replace_unknown, return_attention)
                results[request.position] = make_result(*arguments)
        return results

    def _make_requests(self, first, sentences, prefixes, options):
        """Returns a `Request` for each sentence that is not empty."""
        requests, limit = [], max_source_tokens(self._search.model)
        for i, (sentence, prefix) in enumerate(zip(sentences, prefixes, strict=True)):
            ids = encode_source(self.source_tokenizer, sentence)
            tokens = len(ids) - 1  # without the end token
            check_token_count(first + i, tokens, limit)
            forced = self.target_tokenizer.encode(prefix) if prefix else []
            max_length = self._search.max_length(options, tokens)
            if len(forced) >= max_length:
                raise ValueError(
                    f"Prefix {first + i} is too long: the translation of this sentence may have "
                    f"{max_length} tokens. Shorten the prefix or raise `max_length_ratio`. "
                    f"Received: {len(forced)} tokens"
                )
            if tokens:
                min_length = int(options.min_length_ratio * tokens)
                words = self.target_tokenizer.words(prefix) if prefix else []
                request = Request(i, sentence, ids, forced, words, min_length, max_length)
                requests.append(request)
        return requests

    def _make_text(self, i, request, output, replace_unknown, return_attention):
        """Returns the best translation of sentence i of a batch."""
        return self._read(i, 0, request, output, replace_unknown)[0]

    def _make_hypotheses(self, i, request, output, replace_unknown, return_attention):
        """Returns the hypotheses of sentence i of a batch."""
        hypotheses, scores = [], output.get("scores")
        for k in range(output["tokens"].shape[1]):
            score = None if scores is None else float(scores[i, k])
            if score == -np.inf:
                continue  # fewer than `n_best` sequences exist
            text, ids, attention = self._read(i, k, request, output, replace_unknown)
            hypotheses.append(
                Hypothesis(
                    text,
                    score,
                    self.target_tokenizer.tokens(ids),
                    self.source_tokenizer.tokens(request.ids),
                    attention if return_attention else None,
                )
            )
        return hypotheses

    def _read(self, i, k, request, output, replace_unknown):
        """Returns the text, the ids and the attention weights of hypothesis k of sentence i."""
        ids = trim_padding(output["tokens"][i, k])
        attention = None
        if "attention" in output:
            row = i * output["tokens"].shape[1] + k
            attention = _crop_attention(output["attention"], row, len(request.ids), len(ids))
        given = output["words"][k] if "words" in output else request.words
        words = self._unknown_replacements(
            request, ids, given, attention if replace_unknown else None
        )
        return self.target_tokenizer.decode(ids, words), ids, attention

    def _unknown_replacements(self, request, ids, given, attention):
        """Returns a word for each unknown token of a translation.

        In the prefix it is the given word, elsewhere the source word with the highest attention
        weight.
        """
        words = [*given, *[None] * len(ids)][: max(len(ids), len(given))]
        if attention is not None:
            sources = self.source_tokenizer.words(request.sentence)
            if isinstance(self.target_tokenizer, WordTokenizer):
                # Words after a bracket have no ▁ in the source but need one here. With subwords,
                # unknown tokens are single characters, which are copied as they are.
                sources = ["▁" + word.lstrip("▁") for word in sources]
            weights = attention["cross"].mean(axis=(0, 1))[:, : len(sources)]
            likely = [sources[row.argmax()] for row in weights]
            words = [word or other for word, other in zip(words, likely, strict=False)]
        unknown = "▁" + SPECIAL_TOKENS[UNKNOWN_ID]
        return [word or unknown for word, i in zip(words, ids, strict=False) if i == UNKNOWN_ID]


_kept_options = functools.lru_cache(typed=True)(SearchOptions)  # checking takes 0.03 ms


def _search_options(given):
    try:
        return _kept_options(**given)
    except TypeError:  # a value that cannot be kept
        return SearchOptions(**given)


def _check_same_tokenizers(tokenizers, run):
    others = run.read_tokenizers()
    if any(x.to_json() != y.to_json() for x, y in zip(tokenizers, others, strict=True)):
        raise ValueError(
            "The runs of an ensemble must have the same vocabularies: train them on the same files "
            "(--data, --validation, --test) and with another --seed, or one --from the other. "
            f"Received: {run.path}"
        )


def _check_tokenizer(tokenizer: Tokenizer | MarianTokenizer | None) -> Any:
    if not hasattr(tokenizer, "vocab_size"):
        raise TypeError(
            "Translate needs the tokenizers that the model was trained with: write "
            "Translate(model, source_tokenizer, target_tokenizer), or load a training run with "
            f"Translate.from_run(folder). Received: {type(tokenizer).__name__} instead of a "
            "tokenizer"
        )
    return tokenizer


def _crop_attention(scores, row, source_length, length):
    """Returns the attention weights of one row without padding, as `Hypothesis` holds them."""
    source, target = slice(source_length), slice(length)
    sizes = {"encoder": (source, source), "causal": (target, target), "cross": (target, source)}
    return {
        kind: np.stack([layer[row][:, *sizes[kind]] for layer in layers])
        for kind, layers in scores.items()
    }
