"""The description of a run's model: its class and its options, stored as JSON."""

import dataclasses
import json
from typing import Any

from keras_transformer import __version__
from keras_transformer._utils.checks import check_choice, check_integers, given
from keras_transformer._utils.reading import excerpt, parse_json
from keras_transformer.layers._parts import changed_part
from keras_transformer.models.recurrent import RecurrentTranslator
from keras_transformer.models.transformer import TransformerModel
from keras_transformer.runs.model_settings import MAX_SIZES

_CLASSES = {cls.__name__: cls for cls in (TransformerModel, RecurrentTranslator)}
_CHANGED = "changed"  # the kind of a model that a function of the user makes
_NOT_OPTIONS = ("name", "trainable", "dtype")  # of `get_config`
_MAX_PARAMETERS = 10**9
# Integers of `model.json`, which limit what a file from elsewhere can make `make` build.
_LIMITS = {**MAX_SIZES, "units": MAX_SIZES["d_model"]}


@dataclasses.dataclass(frozen=True)
class ModelDescription:
    """The class of a translator, and its options.

    Args:
        kind: name of the class, "TransformerModel" or "RecurrentTranslator"; or "changed".
        options: dictionary of the arguments of its `from_config`, without name and dtype; of a
            changed model the name of the function that makes it, or its changed part.
    """

    kind: str
    options: dict[str, Any]

    @classmethod
    def from_model(cls, model):
        """Describes a model.

        Raises:
            ValueError: if the model has an option that JSON cannot store.
        """
        kind = type(model).__name__
        if changed := changed_part(model) or (None if kind in _CLASSES else f"it is a {kind}"):
            return cls(_CHANGED, {"changed_part": changed})
        config = model.get_config()
        description = cls(kind, {k: x for k, x in config.items() if k not in _NOT_OPTIONS})
        description.check()
        return description

    @classmethod
    def from_config(cls, config, vocab_sizes):
        """Describes the model of a `RunConfig` with a source and a target vocabulary size."""
        sizes = dict(zip(("enc_vocab_size", "dec_vocab_size"), vocab_sizes, strict=True))
        if config.has_own_model:
            return cls(_CHANGED, {"function": config.model})
        if config.model == "transformer":
            ties = {"tie_output": config.tie_output, "share_embeddings": config.share_vocabulary}
            ties["output_bias"] = config.output_bias
            settings = given(**dataclasses.asdict(config.block_settings()))
            return cls("TransformerModel", {**settings, **sizes, **ties})
        units = {"d_model": config.d_model, "units": config.d_model}
        options = {**sizes, **units, "rate": config.dropout_rate, "attention": config.model}
        return cls("RecurrentTranslator", options)

    @classmethod
    def from_json(cls, text, name):
        """Reads the output of `to_json`.

        Args:
            text: the JSON text.
            name: name of the file for messages.

        Raises:
            ValueError: if the text is not such a description.
        """
        content = parse_json(text, name)
        try:
            description = cls(content["kind"], content["options"])
            description.check()
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"{name} must describe a model. Received: {type(error).__name__} {excerpt(content)}"
            ) from None
        return description

    def to_json(self):
        """Returns the description as JSON text, including the version of this package."""
        content = {"version": __version__, "kind": self.kind, "options": self.options}
        return json.dumps(content, indent=2) + "\n"

    def check(self):
        """Raises a ValueError if the class is unknown or an option is not a plain value."""
        check_choice((*_CLASSES, _CHANGED), kind=self.kind)
        for name, value in self.options.items():
            numbers = value if isinstance(value, (list, tuple)) else ()  # rotary_scaling
            if not isinstance(value, (int, float, str, list, tuple, type(None))) or not all(
                isinstance(x, (int, float)) for x in numbers
            ):
                raise ValueError(
                    f"`{name}` must be a number, a bool, a string, None or a list of numbers. "
                    f"Received: {name}={excerpt(value)}"
                )
        for name, limit in _LIMITS.items():
            if name in self.options:
                check_integers(1, limit, **{name: self.options[name]})

    def least_parameters(self):
        """Returns a lower bound of the number of parameters, without building the model."""
        x = self.options
        words = max(x["enc_vocab_size"], x["dec_vocab_size"])
        if self.kind == "RecurrentTranslator":
            return x["d_model"] * words + x["units"] ** 2
        per_layer = (x["h"] + (x.get("h_kv") or x["h"])) * (x["d_k"] + x["d_v"]) + x["d_ff"]
        return x["d_model"] * (words + x["n"] * per_layer)

    def make(self):
        """Makes the model, which is not built.

        Returns:
            A `TransformerModel` or `RecurrentTranslator`.

        Raises:
            ValueError: if it would have more than a billion parameters.
        """
        least = self.least_parameters()
        if least > _MAX_PARAMETERS:
            sizes = {name: x for name, x in self.options.items() if name in _LIMITS}
            raise ValueError(
                f"The model must have at most {_MAX_PARAMETERS:,} parameters: choose smaller "
                f"sizes. Received: {least:,} or more, with {sizes}"
            )
        return _CLASSES[self.kind].from_config(self.options)

    @property
    def made_by_library(self):
        """Whether `make` can make the model, not only a function of the user."""
        return self.kind != _CHANGED

    def check_made_by_library(self, path):
        """Raises a ValueError if only a function of the user can make the model of a run."""
        if not self.made_by_library:
            function = self.options.get("function", "function")
            raise ValueError(
                f"{path} was trained with a model of your own: pass the {str(function)[:200]} that "
                "makes it as `make_model`, or its name as --model (see `train_run`). Received: no "
                f"function for {excerpt(self.options)}"
            )
