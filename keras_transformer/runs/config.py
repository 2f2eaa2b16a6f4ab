"""Configuration of a training run."""

import dataclasses
import json
from typing import Any, ClassVar, Self

from keras_transformer import __version__
from keras_transformer._utils.reading import excerpt, parse_json
from keras_transformer.runs.data_settings import DataSettings
from keras_transformer.runs.model_settings import ModelSettings
from keras_transformer.runs.training_settings import DECAYS, TrainingSettings
from keras_transformer.settings import SETTING_NAMES, BlockSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunConfig(TrainingSettings, ModelSettings, DataSettings):
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

    def __post_init__(self):
        super().__post_init__()
        if self._architecture == "transformer":
            self.block_settings()
        if self.lora and self.parent is None:
            raise ValueError(
                "Adapters need trained weights: begin with those of a run, --from RUN. "
                f"Received: lora={self.lora}"
            )

    @property
    def uses_muon(self) -> bool:
        """Whether the optimizer is Muon."""
        auto = self.optimizer == "auto" and self._architecture == "transformer"
        return auto or self.optimizer == "muon"

    @property
    def best_learning_rate_scale(self) -> float:
        """The factor on the paper's learning rate that is taken if none is given."""
        scale = LEARNING_RATE_SCALES[self._architecture][self.decay]
        if self.parent is not None:
            scale *= _ADAPTING_SCALE
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
        settings = {name: getattr(self, name) for name in SETTING_NAMES if hasattr(self, name)}
        return BlockSettings(**{**settings, "rate": self.dropout_rate})

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

    def adapted(self, parent: str, **changes: Any) -> Self:
        """Returns the configuration of a run that begins with the weights of this one.

        Its model and its vocabularies are those of this configuration, everything else is new. The
        dropout rates, which do not change the weights, may be others.

        Args:
            parent: path of the folder of the run with this configuration.
            **changes: fields of the new configuration.

        Raises:
            ValueError: if a field of the model or the vocabulary would change.
        """
        kept = [field.name for field in dataclasses.fields(ModelSettings)] + _VOCABULARY
        values = {name: getattr(self, name) for name in kept} | {"parent": parent}
        fixed = values.keys() - _RATES
        refused = {k: x for k, x in changes.items() if k in fixed and x != values[k]}
        if refused:
            raise ValueError(
                f"The model and the vocabularies are those of {parent}: leave these settings out. "
                f"Received: {refused}"
            )
        return type(self)(**{**values, **changes})

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
                and the paths of the data and of the parent may change. With linear decay, the
                learning rate of the remaining epochs follows the new number of epochs.

        Raises:
            ValueError: if any other field would change.
        """
        mutable = {"epochs", "patience", "data", "validation", "test", "data_limits", "columns"}
        mutable |= {name for name in ("parent", "mix") if getattr(self, name) is not None}
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

    def without_paths(self) -> dict[str, Any]:
        """Returns the values of `to_json` without the paths of files, which hosts may not share."""
        values = json.loads(self.to_json())
        return {name: x for name, x in values.items() if name not in _PATHS}

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
        values.pop("stream", None)  # of earlier versions, whose streamed runs still translate
        if values.get("rotary_base") == 0:  # earlier versions wrote 0 for none
            values["rotary_base"] = None
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise ValueError(
                f"Version {version} wrote settings that this version, {__version__}, does not "
                f"support: install one that does. Received: {excerpt(unknown)}"
            )
        return cls(**{**_EARLIER, **values})


# If the default of a new field changes the behavior of older runs, which lack the field, their
# behavior is here.
_EARLIER = {"decay": "inverse_sqrt", "rotary_base": None, "optimizer": "adam"}

# Factors on the learning rate of the paper that scored best for each model and decay.
LEARNING_RATE_SCALES = {
    "transformer": {"linear": 0.64, "inverse_sqrt": 0.5},
    "bahdanau": dict.fromkeys(DECAYS, 3.0),
    "luong": {"linear": 1.2, "inverse_sqrt": 3.0},
}
_MUON_SCALE = 1.7  # the factor of Muon on these
_ADAPTING_SCALE = 0.3  # the factor of a run that begins with trained weights
_PATHS = ("data", "validation", "test", "mix", "parent")
_RATES = {"rate", "attention_rate", "activation_rate"}
_VOCABULARY = ["tokenizer", "vocab_size", "share_vocabulary", "min_count"]
