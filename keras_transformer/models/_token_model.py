"""The base class of models that are called on token ids."""

from typing import Any

import keras

from keras_transformer.models.lora import AdaptableModel


class TokenModel(AdaptableModel):
    """A model of token ids, (B, T), which is exported for sequences of any length."""

    def export(
        self,
        filepath: Any,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """Exports the model, see `keras.Model.export`; on TensorFlow for sequences of any length.

        Args:
            filepath, format, verbose, **kwargs: see `keras.Model.export`.
            input_signature: see `keras.Model.export`. None: token ids, (B, T), for each input.
        """
        if input_signature is None and keras.config.backend() == "tensorflow":
            input_signature = self._input_signature(
                keras.layers.InputSpec(dtype="int32", shape=(None, None))
            )
        super().export(filepath, format, verbose, input_signature, **kwargs)

    def _input_signature(self, ids):
        return [ids]
