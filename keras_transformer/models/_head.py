"""What the models with a head have in common."""

import keras


class ModelWithHead(keras.Model):
    """Keeps the body, a model that reads token ids: (B, S) -> (B, S, D)."""

    def __init__(self, body, **kwargs):
        super().__init__(**{"dtype": body.dtype_policy, **kwargs})
        self.body = body

    def _build_body(self, input_shape):
        if not self.body.built:
            self.body.build(input_shape)

    def get_config(self):
        return {**super().get_config(), "body": keras.saving.serialize_keras_object(self.body)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "body": keras.saving.deserialize_keras_object(config["body"])})
