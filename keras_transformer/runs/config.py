"""Configuration of a training run."""

import dataclasses
import json
import numbers
import typing
from typing import Any, ClassVar, Self

from keras_transformer import __version__
from keras_transformer._utils.checks import (
    check_choice,
    check_integers,
    check_numbers,
    check_positive,
    check_rate,
    given,
)
from keras_transformer._utils.reading import excerpt, parse_json
from keras_transformer.data.limits import Limits
from keras_transformer.settings import SETTING_NAMES, BlockSettings

# Encoder attention takes memory quadratic in the length. Without a limit, a whole text passed as
# one sentence could exhaust it.
MAX_SOURCE_TOKENS = 1024
MAX_BATCH_SIZE = 2**16
MAX_EPOCHS = 10**6
MAX_SEED = 2**32 - 1  # of NumPy


def _setting(default, help):
    return dataclasses.field(default=default, metadata={"help": help})


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Configuration of a training run.

    Each field becomes a flag of `keras-transformer train`, whose help describes it and explains its
    default. A run stores its values in `config.json`, also those that it has chosen for "auto" or
    None.

    A field that is missing from an older `config.json` takes its default, except `decay`,
    `rotary_base` and `optimizer`: earlier versions had inverse-square-root decay, sinusoids and
    Adam only.

    Raises:
        ValueError: if a value is out of range.

    Example:
        >>> config = kt.RunConfig(d_model=256, epochs=3)
        >>> config.d_model, config.epochs, config.batch_size
        (256, 3, 96)
        >>> kt.RunConfig.from_json(config.to_json()) == config
        True
    """

    # Values that a run has chosen, by field; see `with_automatic`.
    _values: ClassVar[dict[str, Any]] = {}

    # If the default of a new field changes the behavior of older runs, which lack the field, add
    # the older behavior to `_EARLIER`.
    data: str | None = _setting(
        None, "path of the sentence pairs: .tsv, .txt or .pkl (None: the bundled corpus)"
    )
    validation: str | None = _setting(
        None, "path of the validation file (None: a tenth of the sentences, at most 2,000)"
    )
    test: str | None = _setting(
        None, "path of the test file (None: a tenth of the sentences, at most 2,000)"
    )
    stream: bool = _setting(
        False, "read the pairs from disk while training, for files that do not fit into memory"
    )
    n_sentences: int | None = _setting(
        None, "number of pairs to use from the start of the file (None: all)"
    )
    min_count: int = _setting(
        1, "rarer words become the unknown token (1: in a small corpus most words are rare)"
    )
    tokenizer: str = _setting(
        "auto",
        "words, bpe for subwords, or auto (auto: words, whose attention plots are easiest to read; "
        "bpe where other settings or a language without spaces between words need it)",
    )
    vocab_size: int = _setting(
        8000, "size of the BPE vocabulary of each language, or of the shared one"
    )
    share_vocabulary: bool = _setting(
        False, "use one BPE vocabulary and, in a Transformer, one embedding for both languages"
    )
    bpe_dropout: float = _setting(
        0.0, "probability of skipping a BPE merge in training (0: runs are exactly reproducible)"
    )
    max_length: int = _setting(
        128, "maximum number of tokens; longer pairs are dropped (128: longer pairs are rare)"
    )
    data_limits: float = _setting(
        1.0, "factor on the limits of data files: 2 GiB, 10 million lines, 100,000 characters each"
    )
    seed: int = _setting(0, "random seed of the split, the weights, the batch order and dropout")

    model: str = _setting(
        "transformer",
        "transformer; the recurrent bahdanau or luong with d_model units; or your own, made by "
        "package.module:function or file.py:function (transformer: best)",
    )
    d_model: int = _setting(128, "model size (128: trains in minutes on a CPU)")
    h: int = _setting(4, "number of attention heads (4: head size 32)")
    d_k: int | None = _setting(
        None, "size of the queries and keys of each head (None: d_model / h, as in the paper)"
    )
    d_v: int | None = _setting(
        None, "size of the values of each head (None: d_model / h, as in the paper)"
    )
    d_ff: int = _setting(256, "hidden size of the feed-forward layers (256: for small corpora)")
    n: int = _setting(2, "number of layers in the encoder and the decoder (2: for small corpora)")
    rate: float | None = _setting(
        None,
        "dropout rate (None: 0.1, as in the paper, but 0 with the bundled corpus, which is seen "
        "only three times)",
    )
    attention_rate: float = _setting(
        0.0, "dropout rate of the attention weights (0: as in the paper)"
    )
    activation_rate: float = _setting(
        0.0, "dropout rate inside the feed-forward layers (0: as in the paper)"
    )
    norm_first: bool = _setting(
        True, "normalize before each sublayer (True: stable at high learning rates)"
    )
    rotary_base: float = _setting(
        1000.0,
        "base of rotary position embeddings, or 0 for the paper's sinusoids (1000: knows the order "
        "of words after fewer updates than sinusoids)",
    )
    tie_output: bool = _setting(
        True, "share the target embedding with the output layer (True: fewer weights to learn)"
    )

    epochs: int | None = _setting(
        None, "maximum number of epochs (None: those of some 1,600 updates, at least 3, at most 15)"
    )
    batch_size: int = _setting(
        96, "sentence pairs per batch (96: enough updates within a few epochs)"
    )
    batch_tokens: int | None = _setting(
        None, "tokens per batch on each side, padding included (None: use batch_size)"
    )
    accumulation: int = _setting(
        1, "accumulate gradients over this many batches per update, to save memory (1: no need)"
    )
    optimizer: str = _setting(
        "auto",
        "adam, as in the paper; muon, which makes the updates of the matrices of the layers "
        "orthogonal and needs fewer of them; or auto (auto: muon for a Transformer, else adam)",
    )
    warmup_steps: int = _setting(
        200,
        "updates until the peak learning rate; with linear decay at most a fifth of the run "
        "(200: within one epoch)",
    )
    decay: str = _setting(
        "linear",
        "learning rate after its peak: linear, to 0 at the end of the last epoch, or inverse_sqrt, "
        "the paper's (linear: better in few epochs)",
    )
    learning_rate_scale: float | None = _setting(
        None,
        "factor on the paper's learning rate (None: the best: 1.1; with adam 0.64; bahdanau 3; "
        "luong 1.2)",
    )
    label_smoothing: float = _setting(
        0.1, "probability spread over the whole vocabulary (0.1: as in the paper)"
    )
    clip_norm: float | None = _setting(
        None, "maximum global norm of the gradients (None: trains well without clipping)"
    )
    ema: float = _setting(
        0.0, "momentum of the EMA of the weights, which then replaces them (0: no EMA)"
    )
    monitor: str = _setting(
        "loss", "what selects the best epoch: validation loss or bleu (loss: takes no extra time)"
    )
    patience: int = _setting(
        5, "early stopping: epochs without improvement (5: the loss fluctuates)"
    )
    keep_weights: int = _setting(
        0, "keep the weights of this many last epochs for checkpoint averaging (0: only the best)"
    )
    dtype: str = _setting(
        "auto",
        "float32, mixed_bfloat16, mixed_float16 or auto (auto: mixed_bfloat16 where it is fast)",
    )
    tensorboard: bool = _setting(
        False, "also write TensorBoard logs (needs the package tensorboard)"
    )

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, numbers.Number) and hasattr(value, "item"):
                object.__setattr__(self, field.name, value.item())  # JSON has no numbers of NumPy
            _check_type(field, getattr(self, field.name))
        values = given(**dataclasses.asdict(self))
        for name, maximum in MAX_SIZES.items():
            check_integers(1, maximum, **{name: values[name]} if name in values else {})
        check_positive(**{name: values[name] for name in _POSITIVE if name in values})
        check_rate(**{name: values[name] for name in _RATES if name in values})
        check_numbers(0, _ANY_SIZE, rotary_base=self.rotary_base)
        if self.d_model % 2:
            raise ValueError(
                "`d_model` must be even: position encodings pair each sine with a cosine, and each "
                f"direction of a recurrent encoder has half of it. Received: d_model={self.d_model}"
            )
        check_integers(0, MAX_SEED, seed=self.seed, keep_weights=self.keep_weights)
        values["model"] = self._architecture
        for name, choices in _CHOICES.items():
            check_choice(choices, **{name: values[name]})
        if self._architecture == "transformer":
            self.block_settings()
        if self.accumulation > 1 and self.dtype == "mixed_float16":
            raise ValueError(
                "Gradient accumulation is wrong with mixed_float16, because Keras does not count "
                "batches whose gradients overflow: set accumulation=1 or dtype=mixed_bfloat16. "
                f"Received: accumulation={self.accumulation}, dtype=mixed_float16"
            )
        self._check_data()

    @property
    def has_own_model(self) -> bool:
        """Whether `model` names a function of the user."""
        return ":" in self.model or self.model.endswith(".py")

    @property
    def _architecture(self):
        return "transformer" if self.has_own_model else self.model

    @property
    def uses_muon(self) -> bool:
        """Whether the optimizer is Muon."""
        auto = self.optimizer == "auto" and self._architecture == "transformer"
        return auto or self.optimizer == "muon"

    @property
    def best_learning_rate_scale(self) -> float:
        """The factor on the paper's learning rate that is taken if none is given."""
        scale = LEARNING_RATE_SCALES[self._architecture][self.decay]
        return scale * _MUON_SCALE if self.uses_muon else scale

    @property
    def dropout_rate(self) -> float:
        """The dropout rate of the model."""
        if self.rate is not None:
            return self.rate
        return 0.1 if self.data else 0.0

    def block_settings(self) -> BlockSettings:
        """Returns the `BlockSettings` of a Transformer.

        Raises:
            ValueError: if `d_model` is not divisible by `h`.
        """
        values = dataclasses.asdict(self)
        settings = {name: values[name] for name in SETTING_NAMES if name in values}
        settings |= {"rate": self.dropout_rate, "rotary_base": self.rotary_base or None}
        return BlockSettings(**settings)

    def _check_data(self):
        Limits.scaled(self.data_limits)
        words = self.tokenizer == "words"
        if words and (self.share_vocabulary or self.bpe_dropout):
            raise ValueError(
                "`share_vocabulary` and `bpe_dropout` exclude tokenizer=words. Received: tokenizer="
                f"words, share_vocabulary={self.share_vocabulary}, bpe_dropout={self.bpe_dropout}"
            )
        if self.stream and (
            words or not (self.validation and self.test) or self.bpe_dropout or self.n_sentences
        ):
            raise ValueError(
                "Streaming needs a validation file and a test file, and excludes tokenizer=words, "
                f"bpe_dropout and n_sentences. Received: tokenizer={self.tokenizer}, validation="
                f"{self.validation}, test={self.test}, bpe_dropout={self.bpe_dropout}, "
                f"n_sentences={self.n_sentences}"
            )

    @classmethod
    def recipe(cls, name: str, **changes: Any) -> Self:
        """Returns the configuration of a recipe, with some fields replaced.

        Args:
            name: "book" (the run of books and courses), "base" (the sizes of the paper), "tiny"
                (for quick experiments) or another one of `keras-transformer train --list-recipes`.
            **changes: fields to replace.

        Raises:
            ValueError: if there is no such recipe or a value is out of range.

        Example:
            >>> base = kt.RunConfig.recipe("base", epochs=5)
            >>> base.d_model, base.n, base.epochs
            (512, 6, 5)
        """
        from keras_transformer.runs.recipes import read_recipe

        return cls(**{**read_recipe(name), **changes})

    def with_automatic(self, **values: Any) -> Self:
        """Returns a copy whose `to_json` also has the values that a run has chosen for itself.

        Args:
            **values: values of fields that are None, "auto" or limited by the data.
        """
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "_values", values)
        return copy

    def with_changes(self, **changes: Any) -> Self:
        """Returns the configuration for resuming a run, with some fields replaced.

        Args:
            **changes: fields to replace. Only the length of the training (`epochs`, `patience`)
                and the paths of the data may change. With linear decay, the learning rate of the
                remaining epochs follows the new number of epochs.

        Raises:
            ValueError: if any other field would change.
        """
        mutable = {"epochs", "patience", "data", "validation", "test", "data_limits"}
        # The meaning of None depends on the path of the data, but the run keeps its rate.
        if changes.get("rate") in (None, self.dropout_rate):
            changes["rate"] = self.rate
        refused = {
            name: value
            for name, value in changes.items()
            if name not in mutable and value != getattr(self, name)
        }
        if refused:
            raise ValueError(
                "A run is resumed with the settings it was started with: leave these out, or start "
                f"a new run. Received: {refused}"
            )
        changed = dataclasses.replace(self, **changes)
        if changed.dropout_rate != self.dropout_rate:
            changed = dataclasses.replace(changed, rate=self.dropout_rate)
        return changed

    def to_json(self) -> str:
        """Returns the configuration as JSON text, including the version of this package.

        After `with_automatic`, the text has the values that a run uses, and as "automatic" those
        that were configured in their place, from which a resumed run chooses again.
        """
        configured = dataclasses.asdict(self)
        values: dict[str, Any] = {"version": __version__, **configured, **self._values}
        automatic = {k: configured[k] for k, x in self._values.items() if x != configured[k]}
        if automatic:
            values["automatic"] = automatic
        return json.dumps(values, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Builds a configuration from the output of `to_json` of this or an earlier version.

        Raises:
            ValueError: if the text is not JSON, a field is unknown or a value is out of range.
        """
        values = parse_json(text, "The configuration")
        if not isinstance(values, dict):
            raise ValueError(
                f"The configuration must be a JSON object. Received: {excerpt(values)}"
            )
        version = excerpt(values.pop("version", "0.1.0")).strip("'")
        automatic = values.pop("automatic", {})
        if not isinstance(automatic, dict):
            raise ValueError(
                f'"automatic" must be a JSON object of settings. Received: {excerpt(automatic)}'
            )
        values |= automatic
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(
                f"Version {version} wrote settings that this version, {__version__}, does not "
                f"support: install one that does. Received: {excerpt(unknown)}"
            )
        return cls(**{**_EARLIER, **values})


def _check_type(field, value):
    kinds = typing.get_args(field.type) or (field.type,)
    if float in kinds:
        kinds = (*kinds, int)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ValueError(
            f"`{field.name}` must be of type {getattr(field.type, '__name__', field.type)}. "
            f"Received: {excerpt(value)}"
        )


# Values of fields that earlier versions did not have, where they differ from the defaults.
_EARLIER = {"decay": "inverse_sqrt", "rotary_base": 0.0, "optimizer": "adam"}

_ANY_SIZE = 10**9
# Those of the model also limit what a `config.json` from elsewhere can make `make_model` build.
MAX_SIZES = {
    **dict.fromkeys(("d_model", "d_k", "d_v", "d_ff"), 2**16),
    "h": 2**10,
    "n": 2**7,
    "max_length": MAX_SOURCE_TOKENS,
    "vocab_size": 10**6,
    "batch_size": MAX_BATCH_SIZE,
    "batch_tokens": 2**20,
    "epochs": MAX_EPOCHS,
    "accumulation": 10**6,
    **dict.fromkeys(("n_sentences", "min_count", "warmup_steps", "patience"), _ANY_SIZE),
}
_POSITIVE = ("clip_norm", "learning_rate_scale")
_RATES = ("rate", "attention_rate", "activation_rate", "label_smoothing", "bpe_dropout", "ema")

DTYPES = ("auto", "float32", "mixed_bfloat16", "mixed_float16")
DECAYS = ("linear", "inverse_sqrt")
# Factors on the learning rate of the paper that scored best for each model and decay.
LEARNING_RATE_SCALES = {
    "transformer": {"linear": 0.64, "inverse_sqrt": 0.5},
    "bahdanau": dict.fromkeys(DECAYS, 3.0),
    "luong": {"linear": 1.2, "inverse_sqrt": 3.0},
}
_MUON_SCALE = 1.7  # the factor of Muon on these
MODELS = tuple(LEARNING_RATE_SCALES)
RECURRENT = ("bahdanau", "luong")
_CHOICES = {
    "dtype": DTYPES,
    "tokenizer": ("auto", "words", "bpe"),
    "model": MODELS,
    "decay": DECAYS,
    "optimizer": ("auto", "adam", "muon"),
    "monitor": ("loss", "bleu"),
}
