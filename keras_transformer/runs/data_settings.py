"""Settings of a run's data: files, vocabularies and limits."""

import dataclasses

from keras_transformer._utils.checks import check_rate
from keras_transformer._utils.reading import excerpt
from keras_transformer.data.limits import Limits
from keras_transformer.runs._setting import (
    ANY_SIZE,
    Settings,
    check_two_texts,
    choices,
    integers,
    setting,
)

# Encoder attention takes memory quadratic in the length. Without a limit, a whole text passed as
# one sentence could exhaust it.
MAX_SOURCE_TOKENS = 1024
MAX_SEED = 2**32 - 1  # of NumPy


def split_mix(mix: str) -> tuple[str, float]:
    """Returns the file and the share of `DataSettings.mix`.

    Raises:
        ValueError: if the share is not a number between 0 and 1.
    """
    path, _, share = mix.rpartition(":")
    try:
        number = float(share)
    except ValueError:
        number = 0.0
    if not path or not 0 < number < 1:
        raise ValueError(
            "`mix` must be a file and the share that its pairs make up, between 0 and 1, such as "
            f"old.tsv:0.5. Received: mix={excerpt(mix)}"
        )
    return path, number


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataSettings(Settings):
    """The part of a `RunConfig` that describes the data."""

    data: str | None = setting(
        None,
        "path of the sentence pairs: .tsv, .txt, .csv, .jsonl, .tmx, .zip or .pkl, or of a folder "
        "of prepare-data --tokenize (None: the bundled corpus)",
    )
    validation: str | None = setting(
        None, "path of the validation file (None: a tenth of the sentences, at most 2,000)"
    )
    test: str | None = setting(
        None, "path of the test file (None: a tenth of the sentences, at most 2,000)"
    )
    columns: tuple[str, str] | None = setting(
        None,
        "names of the columns, keys or languages of source and target in these files, such as en "
        "de (None: the first two)",
        check_two_texts,
    )
    mix: str | None = setting(
        None,
        "FILE:SHARE, other pairs that make up this share of the training part, such as those of an "
        "adapted run, which would forget them (None: only the data)",
        split_mix,
    )
    n_sentences: int | None = setting(
        None, "number of pairs to use from the start of the file (None: all)", integers(1, ANY_SIZE)
    )
    min_count: int = setting(
        1,
        "rarer words become the unknown token (1: in a small corpus most words are rare)",
        integers(1, ANY_SIZE),
    )
    tokenizer: str = setting(
        "auto",
        "words, bpe for subwords, or auto (auto: words, whose attention plots are easiest to read; "
        "bpe where other settings or a language without spaces between words need it)",
        choices("auto", "words", "bpe"),
    )
    vocab_size: int = setting(
        8000,
        "size of the BPE vocabulary of each language, or of the shared one",
        integers(1, 10**6),
    )
    share_vocabulary: bool = setting(
        False, "use one BPE vocabulary and, in a Transformer, one embedding for both languages"
    )
    bpe_dropout: float = setting(
        0.0,
        "probability of skipping a BPE merge in training (0: runs are exactly reproducible)",
        check_rate,
    )
    max_length: int = setting(
        128,
        "maximum number of tokens; longer pairs are dropped (128: longer pairs are rare)",
        integers(1, MAX_SOURCE_TOKENS),
    )
    data_limits: float = setting(
        1.0, "factor on the limits of data files: 2 GiB, 10 million lines, 100,000 characters each"
    )
    seed: int = setting(
        0,
        "random seed of the split, the weights, the batch order and dropout",
        integers(0, MAX_SEED),
    )

    def __post_init__(self):
        super().__post_init__()
        Limits.scaled(self.data_limits)
        words = self.tokenizer == "words"
        if words and (self.share_vocabulary or self.bpe_dropout):
            raise ValueError(
                "`share_vocabulary` and `bpe_dropout` exclude tokenizer=words. Received: tokenizer="
                f"words, share_vocabulary={self.share_vocabulary}, bpe_dropout={self.bpe_dropout}"
            )
