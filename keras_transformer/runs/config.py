"""The settings of a run."""

import argparse
import dataclasses
import json
import typing

from keras_transformer import __version__
from keras_transformer._utils.checks import (
    check_choice,
    check_integers,
    check_positive,
    check_rate,
    check_sizes,
    given,
)
from keras_transformer.settings import NAMES, BlockSettings

# The attention of the encoder grows with the square of the length: without a limit, a text given as
# one sentence could fill the memory.
MAX_SOURCE_TOKENS = 1024


def _setting(default, help):
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """All settings of a training run; each says why it has its default.

    The flags of `scripts/train.py` are made of these fields, and `config.json` in the run's folder
    holds their values.

    Runs from before there was a field are read with its default, so the default of a new field must
    be what these runs did. A better value for new runs stands in `PRESETS`.

    Raises:
        ValueError: if a value is out of range.
    """

    data: str | None = _setting(
        None, "sentence pairs: .tsv, .txt or .pkl (none: the project's own corpus)"
    )
    validation: str | None = _setting(None, "pairs to watch (none: a tenth of the sentences)")
    test: str | None = _setting(None, "pairs to judge by (none: a tenth of the sentences)")
    stream: bool = _setting(
        False, "leave the pairs in their file, if they are too many for the memory"
    )
    n_sentences: int | None = _setting(None, "pairs to take, from the first (none: all there are)")
    min_count: int = _setting(
        1, "words that occur less often are unknown (1: in a small corpus most words are rare)"
    )
    tokenizer: str = _setting("words", "words, or bpe: pieces of words (words: easiest to look at)")
    vocab_size: int = _setting(8000, "ids of the BPE vocabulary, or of each of the two (8000)")
    share_vocabulary: bool = _setting(
        False, "one BPE vocabulary for both languages, and in a transformer its vectors"
    )
    bpe_dropout: float = _setting(
        0.0, "chance to leave out a merge in training (0: such a run is not repeatable to the bit)"
    )
    max_length: int = _setting(
        128, "words and signs; longer pairs are dropped (128: hardly any sentence is longer)"
    )
    seed: int = _setting(0, "of the split, the weights, the order and the dropout (any will do)")

    model: str = _setting(
        "transformer",
        "transformer (the best), or bahdanau or luong: recurrent, the state as large as d_model",
    )
    d_model: int = _setting(256, "size of the vectors (256: trains in minutes on a processor)")
    h: int = _setting(4, "heads (4: 64 dimensions each, as in the paper)")
    d_ff: int = _setting(512, "size inside the feed-forward networks (512: for small corpora)")
    n: int = _setting(3, "layers of encoder and of decoder (3: for small corpora)")
    rate: float = _setting(0.2, "dropout rate (.2: the corpora are small)")
    attention_rate: float = _setting(0.0, "dropout rate of the attention weights (0: the paper)")
    activation_rate: float = _setting(
        0.0, "dropout rate inside the feed-forward networks (0: the paper)"
    )
    norm_first: bool = _setting(True, "pre-norm: trains with high learning rates from the start")
    tie_output: bool = _setting(True, "target words also weigh the output: fewer weights to learn")

    epochs: int = _setting(
        15, "passes over the training part (15: the validation loss is flat by then)"
    )
    batch_size: int = _setting(64, "pairs in a batch (64: enough updates in few epochs)")
    batch_tokens: int | None = _setting(
        None, "tokens in a batch on each side, padding included, instead of batch_size"
    )
    accumulation: int = _setting(1, "batches for one update, where memory is short (1: it is not)")
    warmup_steps: int = _setting(
        600, "updates until the highest learning rate (600: some five epochs)"
    )
    learning_rate_scale: float | None = _setting(
        None, "factor on the paper's learning rate (none: .5, but 3 for the recurrent: scored best)"
    )
    label_smoothing: float = _setting(0.1, "share of probability given to all words (the paper)")
    clip_norm: float | None = _setting(
        None, "greatest norm of the gradients together (none: it trains well without)"
    )
    ema: float = _setting(
        0.0, "momentum of the weights' moving average, to be used instead of them (0: no average)"
    )
    monitor: str = _setting(
        "loss", "what is best: loss, or bleu of the validation part (loss: takes no time)"
    )
    patience: int = _setting(5, "epochs without a better one before it stops (5: the loss wavers)")
    keep_weights: int = _setting(
        0, "of how many last epochs the weights are kept, to be averaged (0: only the best)"
    )
    dtype: str = _setting(
        "auto", "auto: mixed_bfloat16 where the processor or GPU computes in it, else float32"
    )
    tensorboard: bool = _setting(False, "also log the curves for TensorBoard (pip install it)")

    def __post_init__(self):
        for field in dataclasses.fields(self):
            _check_type(field, getattr(self, field.name))
        values = given(**dataclasses.asdict(self))
        check_sizes(**{name: values[name] for name in _SIZES if name in values})
        check_positive(**{name: values[name] for name in _POSITIVE if name in values})
        check_rate(**{name: values[name] for name in _RATES})
        check_integers(0, 2**32 - 1, seed=self.seed, keep_weights=self.keep_weights)
        for name, choices in _CHOICES.items():
            check_choice(choices, **{name: values[name]})
        if self.model == "transformer":
            self.block_settings()
        if self.accumulation > 1 and self.dtype == "mixed_float16":
            raise ValueError(
                "Keras does not count a batch whose float16 gradients overflow, so that batches "
                "would be added up wrongly: set accumulation=1 or dtype=mixed_bfloat16. Received: "
                f"accumulation={self.accumulation}, dtype=mixed_float16"
            )
        self._check_data()

    def block_settings(self):
        """The `BlockSettings` of a transformer.

        Raises:
            ValueError: if `d_model` is not divisible by `h`.
        """
        values = dataclasses.asdict(self)
        return BlockSettings(**{name: values[name] for name in NAMES if name in values})

    def _check_data(self):
        if self.max_length > MAX_SOURCE_TOKENS:
            raise ValueError(
                f"`max_length` must be at most {MAX_SOURCE_TOKENS}: longer sentences are not "
                f"translated. Received: {self.max_length}"
            )
        words = self.tokenizer == "words"
        if words and (self.share_vocabulary or self.bpe_dropout):
            raise ValueError(
                "`share_vocabulary` and `bpe_dropout` are for tokenizer=bpe. Received: tokenizer="
                f"words, share_vocabulary={self.share_vocabulary}, bpe_dropout={self.bpe_dropout}"
            )
        if self.stream and (
            words or not (self.validation and self.test) or self.bpe_dropout or self.n_sentences
        ):
            raise ValueError(
                "Streaming needs tokenizer=bpe, files for validation and test, no bpe_dropout and "
                f"no n_sentences. Received: tokenizer={self.tokenizer}, validation="
                f"{self.validation}, test={self.test}, bpe_dropout={self.bpe_dropout}, "
                f"n_sentences={self.n_sentences}"
            )

    @classmethod
    def from_preset(cls, preset="small", **changes):
        """The settings of a preset with some changes.

        Args:
            preset: "tiny" (tries things out), "small" (the default) or "base" (the paper's).
            **changes: fields to set otherwise.

        Raises:
            ValueError: if there is no such preset or a value is out of range.
        """
        if preset not in PRESETS:
            raise ValueError(f"`preset` must be one of {list(PRESETS)}. Received: {preset!r}")
        return cls(**{**PRESETS[preset], **changes})

    def with_changes(self, **changes):
        """The settings with which a run goes on.

        Args:
            **changes: fields to set otherwise. How long it trains may change, and where the data
                is; what the run is may not.

        Raises:
            ValueError: if another field than these would change.
        """
        free = {"epochs", "patience", "data", "validation", "test"}
        other = {
            name: value
            for name, value in changes.items()
            if name not in free and value != getattr(self, name)
        }
        if other:
            raise ValueError(
                "A run goes on with the settings it was begun with: leave these out, or begin "
                f"another run. Received: {other}"
            )
        return dataclasses.replace(self, **changes)

    def to_json(self):
        """The settings as text, with the version that writes them."""
        values = {"version": __version__, **dataclasses.asdict(self)}
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def from_json(cls, text):
        """Reads what `to_json` wrote, in this version or an earlier one.

        Raises:
            ValueError: if it is not JSON, or has unknown fields or impossible values.
        """
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError(f"The settings must be a JSON object. Received: {values!r}")
        version = values.pop("version", "0.1.0")
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(
                f"Version {version} wrote settings that this version, {__version__}, does not "
                f"know: install a version that does. Received: {unknown}"
            )
        return cls(**values)


def _check_type(field, value):
    kinds = typing.get_args(field.type) or (field.type,)
    if float in kinds:
        kinds = (*kinds, int)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(
            f"`{field.name}` must be of type {getattr(field.type, '__name__', field.type)}. "
            f"Received: {value!r}"
        )


_SIZES = (
    "n_sentences", "min_count", "max_length", "d_model", "h", "d_ff", "n", "epochs", "batch_size",
    "warmup_steps", "patience", "vocab_size", "accumulation", "batch_tokens",
)  # fmt: skip
_POSITIVE = ("clip_norm", "learning_rate_scale")
_RATES = ("rate", "attention_rate", "activation_rate", "label_smoothing", "bpe_dropout", "ema")

DTYPES = ("auto", "float32", "mixed_bfloat16", "mixed_float16")
# The greatest learning rate of the paper times this trains each of them best.
LEARNING_RATE_SCALES = {"transformer": 0.5, "bahdanau": 3.0, "luong": 3.0}
MODELS = tuple(LEARNING_RATE_SCALES)
_CHOICES = {
    "dtype": DTYPES,
    "tokenizer": ("words", "bpe"),
    "model": MODELS,
    "monitor": ("loss", "bleu"),
}

PRESETS = {
    "tiny": {"d_model": 64, "d_ff": 128, "n": 2, "epochs": 10, "warmup_steps": 400},
    "small": {},
    "base": {
        "d_model": 512,
        "h": 8,
        "d_ff": 2048,
        "n": 6,
        "rate": 0.1,
        "norm_first": False,
        "warmup_steps": 4000,
        "learning_rate_scale": 1.0,
    },
}


def add_flags(parser):
    """Adds a flag for each field of `RunConfig` to an `argparse.ArgumentParser`.

    What the user leaves out is missing from the parsed arguments: a preset or an earlier run says
    it.
    """
    for field in dataclasses.fields(RunConfig):
        help = f"{field.metadata['help']}; default: {field.default}".replace("%", "%%")
        options = {"help": help, "default": argparse.SUPPRESS}
        if field.type is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = (typing.get_args(field.type) or (field.type,))[0]
        parser.add_argument("--" + field.name.replace("_", "-"), **options)
