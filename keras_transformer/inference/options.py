"""What a search may be told."""

import dataclasses

from keras_transformer._utils.checks import (
    check_integers,
    check_numbers,
    check_positive,
    check_sizes,
)


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How to search for translations.

    The default takes the most probable word at each position. A beam keeps several beginnings and
    finds better ones; a temperature above 0 draws words at random instead.

    Args:
        beam_size: number of hypotheses kept for each sentence.
        n_best: number of translations returned for each sentence: the best of the beam, or as many
            samples.
        length_penalty: exponent α of the beam's length penalty; 0 prefers short translations.
        temperature: what the logits are divided by before drawing; 0 draws nothing.
        top_k: draws from the most probable words only, so many of them; 0 from all.
        top_p: draws from the most probable words only that together have this probability.
        seed: of the drawing. The same seed draws the same translation of a sentence, wherever it
            stands.
        min_length_ratio: least number of words of a translation, as a share of the source's tokens;
            it is shorter only if every word would repeat something.
        max_length_ratio: greatest number of tokens of a translation, likewise; `EXTRA_LENGTH` more
            are always allowed.
        no_repeat_ngram_size: no sequence of so many words occurs twice; 0 allows all repetitions.
        allow_unknown: whether the unknown word may be chosen.

    Raises:
        ValueError: if a value is out of range, or two exclude each other.

    References:
        "Google's Neural Machine Translation System" (Wu et al., 2016), equation 14 (length
        penalty);
        "The Curious Case of Neural Text Degeneration" (Holtzman et al., 2020), section 3.1 (top p);
        "A Deep Reinforced Model for Abstractive Summarization" (Paulus et al., 2018), section 2.5
        (no repetitions).
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

    def __post_init__(self):
        check_sizes(beam_size=self.beam_size, n_best=self.n_best)
        values = dataclasses.asdict(self)
        check_integers(0, _MOST, **{name: values[name] for name in _INTEGERS})
        check_numbers(0, _MOST, **{name: values[name] for name in _NUMBERS})
        check_positive(top_p=self.top_p)
        check_numbers(0, 1, top_p=self.top_p)
        if self.max_length_ratio < self.min_length_ratio:
            raise ValueError(
                "`max_length_ratio` must be at least `min_length_ratio`. "
                f"Received: {self.max_length_ratio} and {self.min_length_ratio}"
            )
        self._check_combinations()

    def _check_combinations(self):
        if self.samples and self.beam_size > 1:
            raise ValueError(
                "Sampling has no beam: leave out `beam_size` or `temperature`. "
                f"Received: beam_size={self.beam_size}, temperature={self.temperature}"
            )
        if not self.samples and (self.top_k or self.top_p < 1):
            raise ValueError(
                "`top_k` and `top_p` are for sampling: give a `temperature`. "
                f"Received: top_k={self.top_k}, top_p={self.top_p}, temperature=0"
            )
        if not self.samples and self.n_best > self.beam_size:
            raise ValueError(
                "`n_best` must be at most `beam_size`: a search returns what it keeps. "
                f"Received: n_best={self.n_best}, beam_size={self.beam_size}"
            )

    @property
    def samples(self):
        """Whether words are drawn at random."""
        return self.temperature > 0

    @property
    def rows(self):
        """Number of rows that are decoded for each sentence."""
        return self.n_best if self.samples else self.beam_size


EXTRA_LENGTH = 8  # tokens that a translation may be longer, so that a short source has room

_MOST = 10**9
_INTEGERS = ("top_k", "seed", "no_repeat_ngram_size")
_NUMBERS = ("length_penalty", "temperature", "min_length_ratio", "max_length_ratio")
