"""The base class of models with a task head."""

from typing import Any, Self

import keras

from keras_transformer.models.bert import Bert
from keras_transformer.models.lora import AdaptableModel


class ModelWithHead(AdaptableModel):
    """Base class of models with a task head on an encoder, `body`: (B, S) ids -> (B, S, D).

    A pooler of the body that the head does not use would get no gradients, and Keras would warn of
    them in every training. Therefore, it is made non-trainable.
    """

    def __init__(self, body: Bert, uses_pooler: bool, **kwargs: Any) -> None:
        super().__init__(**{"dtype": body.dtype_policy, **kwargs})
        self.body = body
        if not uses_pooler and getattr(body, "pooler", None) is not None:
            body.pooling.trainable = False

    def _build_body(self, input_shape):
        if not self.body.built:
            self.body.build(input_shape)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "body": keras.saving.serialize_keras_object(self.body)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return cls(**{**config, "body": keras.saving.deserialize_keras_object(config["body"])})
