"""Search options."""

import dataclasses
from collections.abc import Mapping

from keras_transformer._utils.checks import (
    check_integers,
    check_numbers,
    check_positive,
    check_sizes,
)


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """Options of a search: greedy search, beam search or sampling.

    Greedy search, the default, takes the most probable token at each position. Beam search
    (`beam_size` > 1) keeps several hypotheses and finds more probable translations. Sampling
    (`temperature` > 0) draws the tokens at random.

    Args:
        beam_size: number of hypotheses kept per sentence; 1 for greedy search.
        n_best: number of translations returned per sentence: the best of the beam, or independent
            samples.
        length_penalty: exponent α of the beam's length penalty, up to 10. Lower values favor short
            translations; 0 switches the penalty off.
        temperature: divisor of the logits when sampling, from 0.01 to 100; 0 for no sampling.
        top_k: samples from the k most probable tokens only; 0 for all tokens.
        top_p: samples from the smallest set of most probable tokens whose probabilities add up to
            at least p.
        seed: seed of the sampling. The same seed gives the same samples of a sentence, whichever
            batch it is in.
        min_length_ratio: minimum length of a translation, as a multiple of the number of source
            tokens. A translation is shorter only where `no_repeat_ngram_size` leaves no token, or a
            term replaces a longer word.
        max_length_ratio: maximum length of a translation, as a multiple of the number of source
            tokens, up to 100; 8 further tokens are always allowed.
        no_repeat_ngram_size: size of the n-grams that occur at most once in a translation; 0
            allows all repetitions.
        allow_unknown: whether the unknown token may be chosen.
        glossary: dictionary, or pairs, of source terms and their translations, which come out in
            this form. A term in lowercase also matches capitalized words; of overlapping terms the
            longest counts.
        required_words: words or phrases that every translation contains.
        forbidden_words: words or phrases that no translation contains. Other words that begin with
            the same tokens may be avoided, too.
        copy_spans: whether URLs, e-mail addresses, numbers and placeholders such as `{name}` or
            `%s` come out unchanged.

    Raises:
        TypeError: if a term or word is not a string.
        ValueError: if a value is out of range, or two options exclude each other.

    References:
        "Google's Neural Machine Translation System" (Wu et al., 2016), equation 14 (length
        penalty);
        "The Curious Case of Neural Text Degeneration" (Holtzman et al., 2020), section 3.1 (top p);
        "A Deep Reinforced Model for Abstractive Summarization" (Paulus et al., 2018), section 2.5
        (no repetitions).

    Example:
        >>> options = kt.SearchOptions(temperature=0.8, top_p=0.9, n_best=3)
        >>> options.samples, options.rows
        (True, 3)
    """

    beam_size: int = 1
    n_best: int = 1
    length_penalty: float = 0.6
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    min_length_ratio: float = 0.0
    max_length_ratio: float = 2.0
    no_repeat_ngram_size: int = 0
    allow_unknown: bool = False
    glossary: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    required_words: tuple[str, ...] = ()
    forbidden_words: tuple[str, ...] = ()
    copy_spans: bool = False

    def __post_init__(self):
        check_sizes(beam_size=self.beam_size, n_best=self.n_best)
        values = vars(self)
        check_integers(0, _MAX, **{name: values[name] for name in _INTEGERS})
        for name, maximum in _MAXIMA.items():
            check_numbers(0, maximum, **{name: values[name]})
        if self.temperature:
            # Logits divided by a much smaller number overflow.
            check_numbers(0.01, _MAXIMA["temperature"], temperature=self.temperature)
        check_positive(top_p=self.top_p)
        check_numbers(0, 1, top_p=self.top_p)
        if self.max_length_ratio < self.min_length_ratio:
            raise ValueError(
                "`max_length_ratio` must be at least `min_length_ratio`. "
                f"Received: max_length_ratio={self.max_length_ratio}, "
                f"min_length_ratio={self.min_length_ratio}"
            )
        self._check_combinations()
        self._read_texts()
        self._check_texts()

    def _check_combinations(self):
        if self.samples and self.beam_size > 1:
            raise ValueError(
                "Sampling has no beam: give `beam_size` or `temperature`, not both. "
                f"Received: beam_size={self.beam_size}, temperature={self.temperature}"
            )
        if not self.samples and (self.top_k or self.top_p < 1):
            raise ValueError(
                "`top_k` and `top_p` are for sampling: give a `temperature` above 0. "
                f"Received: top_k={self.top_k}, top_p={self.top_p}, temperature=0"
            )
        if not self.samples and self.n_best > self.beam_size:
            raise ValueError(
                "`n_best` must be at most `beam_size`: raise `beam_size` or lower `n_best`. "
                f"Received: n_best={self.n_best}, beam_size={self.beam_size}"
            )

    def _read_texts(self):
        """Makes tuples of the texts: options are hashed."""
        glossary = self.glossary
        pairs = glossary.items() if isinstance(glossary, Mapping) else glossary
        object.__setattr__(self, "glossary", tuple(map(tuple, pairs)))
        for name in ("required_words", "forbidden_words"):
            words = getattr(self, name)
            if isinstance(words, str):
                raise TypeError(f"`{name}` must be a list of words. Received: {words!r}")
            object.__setattr__(self, name, tuple(words))

    def _check_texts(self):
        targets: dict[str, str] = {}
        for pair in self.glossary:
            if len(pair) != 2:
                raise ValueError(
                    f"Give a translation for each term of the glossary. Received: {pair!r}"
                )
            if targets.setdefault(*pair) != pair[1]:
                raise ValueError(
                    "A term of the glossary has two translations: leave one out. "
                    f"Received: {pair[0]!r}: {targets[pair[0]]!r} and {pair[1]!r}"
                )
        wanted = {*targets.values(), *self.required_words}
        for text in (*targets, *wanted, *self.forbidden_words):
            if not isinstance(text, str):
                raise TypeError(f"Terms and words must be strings. Received: {text!r}")
            if not text.strip():
                raise ValueError(f"Terms and words must not be empty. Received: {text!r}")
        if both := sorted(wanted.intersection(self.forbidden_words)):
            raise ValueError(
                "A word cannot be required, or the translation of a term, and forbidden. "
                f"Received: {both[0]!r}"
            )

    @property
    def is_constrained(self) -> bool:
        """Whether texts are required or forbidden."""
        return any(getattr(self, name) for name in TEXT_OPTIONS)

    def penalty(self, length: int) -> float:
        """Computes the length penalty, equation 14 of Wu et al., by which scores are divided."""
        return ((5 + length) / 6) ** self.length_penalty

    @property
    def samples(self) -> bool:
        """Whether tokens are sampled."""
        return self.temperature > 0

    @property
    def rows(self) -> int:
        """Number of sequences decoded per sentence."""
        return self.n_best if self.samples else self.beam_size


# Options that `Translate` meets with several searches; a single search knows nothing of them.
TEXT_OPTIONS = ("glossary", "required_words", "forbidden_words", "copy_spans")
# Tokens added to the maximum length: `max_length_ratio` alone is too tight for short sentences.
EXTRA_LENGTH = 8

_MAX = 10**9
_INTEGERS = ("top_k", "seed", "no_repeat_ngram_size")
# The power of a length overflows with larger exponents; longer translations exhaust the memory.
_MAXIMA = {
    "length_penalty": 10,
    "temperature": 100,
    "min_length_ratio": 100,
    "max_length_ratio": 100,
}
