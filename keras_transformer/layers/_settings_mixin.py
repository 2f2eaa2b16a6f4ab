"""The configuration of layers and models by `BlockSettings`."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from keras_transformer._utils.reading import excerpt
from keras_transformer.layers._parts import PartsMixin
from keras_transformer.settings import EPSILON, SETTING_NAMES, BlockSettings, upgrade_config


class SettingsMixin(PartsMixin):
    """Stores `BlockSettings` as `settings` and saves them field by field in the configuration.

    Attributes:
        default_settings: values of the settings that are None.
    """

    default_settings: Mapping[str, Any] = MappingProxyType(
        {"activation": "relu", "norm_first": False, "epsilon": EPSILON}
    )

    def __init__(
        self,
        settings: BlockSettings | None = None,
        explicit: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Initializes the layer from its settings or from the explicit constructor arguments.

        Args:
            settings: `BlockSettings`, or None.
            explicit: dictionary of the settings that are arguments of the constructor; None if not
                given.
            **kwargs: arguments of the layer.
        """
        super().__init__(**kwargs)
        self.settings = self._resolve_settings(settings, explicit or {})

    def _resolve_settings(self, settings, explicit):
        kind = type(self).__name__
        missing = [name for name, value in explicit.items() if value is None]
        given = upgrade_config({name: x for name, x in explicit.items() if x is not None})
        if settings is None:
            if missing or not given:
                lacks = ", ".join(missing) or "its sizes"
                raise TypeError(
                    f"{kind} lacks {lacks}: pass all sizes, or settings=BlockSettings(...). "
                    f"Received: {given}"
                )
            settings = BlockSettings(**given)
        elif given:
            raise ValueError(
                f"{kind} takes either `settings` or separate sizes, not both. Received: {given}"
            )
        elif not isinstance(settings, BlockSettings):
            raise ValueError(f"`settings` must be BlockSettings. Received: {excerpt(settings)}")
        return settings.with_defaults(**self.default_settings)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {**config, **dataclasses.asdict(self.settings)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        config = upgrade_config(config)
        settings = {name: config.pop(name) for name in SETTING_NAMES if name in config}
        config = {**config, "settings": BlockSettings(**settings)}
        return super().from_config(config)
