"""The base class of models with a task head."""

from typing import Any, Self

import keras

from keras_transformer.models.bert import Bert


class ModelWithHead(keras.Model):
    """Base class of models with a task head on an encoder, `body`: (B, S) ids -> (B, S, D)."""

    def __init__(self, body: Bert, **kwargs: Any) -> None:
        super().__init__(**{"dtype": body.dtype_policy, **kwargs})
        self.body = body

    def _build_body(self, input_shape):
        if not self.body.built:
            self.body.build(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "body": keras.saving.serialize_keras_object(self.body)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return cls(**{**config, "body": keras.saving.deserialize_keras_object(config["body"])})
