"""The Vision Transformer."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_transformer._utils.checks import check_optional_size, check_sizes
from keras_transformer._utils.types import Shape, Tensor
from keras_transformer.layers._parts import build_further_layers, build_part, without_parts
from keras_transformer.layers._settings_mixin import SettingsMixin
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.patch_embedding import PatchEmbedding
from keras_transformer.models.lora import AdaptableModel, has_lora
from keras_transformer.settings import BlockSettings, names_ours


@keras.saving.register_keras_serializable(package="keras_transformer")
class VisionTransformer(SettingsMixin, AdaptableModel):
    """The Vision Transformer: patch embeddings, a pre-norm encoder and a classification head.

    The paper pre-trains with a hidden layer in the head (`d_head`) and fine-tunes with a linear
    head; `for_fine_tuning` makes the second model from the first.

    Shape letters: B batch, H height, W width, C channels, T tokens (class token and patches), D
    model size, K classes.

    Args:
        image_size: (H, W), or one integer for both.
        patch_size: side of a patch in pixels; divides H and W.
        num_classes: number of classes, K.
        settings: `BlockSettings` of the layers.
        d_head: size of the hidden layer of the head; None for a linear head, initialized to zeros.

    Raises:
        ValueError: if a size is not a positive integer, or `image_size` is not a multiple of
            `patch_size`.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 3 and appendix D.

    Example:
        >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
        >>> model = kt.VisionTransformer(8, patch_size=2, num_classes=10, settings=settings)
        >>> images = np.zeros((2, 8, 8, 3), "float32")
        >>> ops.shape(model(images)), ops.shape(model.encode(images))  # (B, K) and (B, T, D)
        ((2, 10), (2, 17, 16))
    """

    default_settings: Mapping[str, Any] = {
        **SettingsMixin.default_settings,
        "activation": "gelu",
        "norm_first": True,
        "epsilon": 1e-6,  # as in the published models
    }

    @names_ours
    def __init__(
        self,
        image_size: int | tuple[int, int],
        patch_size: int,
        num_classes: int,
        settings: BlockSettings | None = None,
        d_head: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(settings, **kwargs)
        [self.num_classes] = check_sizes(num_classes=num_classes)
        self.d_head = check_optional_size(d_head=d_head)

        settings, dtype = self.settings, self.dtype_policy
        self.embedding = PatchEmbedding(
            image_size, patch_size, settings.d_model, dtype=dtype, name="embedding"
        )
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        if d_head is not None:
            self.hidden = keras.layers.Dense(self.d_head, "gelu", dtype=dtype, name="hidden")
        kernel_initializer = "zeros" if d_head is None else "glorot_uniform"
        self.classifier = keras.layers.Dense(
            self.num_classes, kernel_initializer=kernel_initializer, dtype=dtype, name="classifier"
        )

    def build(self, images_shape: Shape) -> None:
        build_part(self.embedding, images_shape)
        shape = self.embedding.compute_output_shape(images_shape)
        build_part(self.encoder, shape)
        if self.d_head is not None:
            build_part(self.hidden, (shape[0], shape[-1]))
        build_part(self.classifier, (shape[0], self.d_head or shape[-1]))
        self.built = True
        size = images_shape[1:]
        if None in size:
            size = (*self.embedding.image_size, size[-1])
        build_further_layers(self, np.zeros((1, *size), "float32"))

    def call(self, images: Tensor, training: bool | None = None) -> Tensor:
        """Computes the logits of the classes: images (B, H, W, C) -> (B, K)."""
        x = self.encode(images, training=training)[:, 0]
        return self.classifier(x if self.d_head is None else self.hidden(x))

    def encode(self, images: Tensor, training: bool | None = None) -> Tensor:
        """Computes the hidden states of the last layer: images (B, H, W, C) -> (B, T, D).

        The class token comes first, then the patches row by row.
        """
        return self.encoder(self.embedding(images), training=training)

    def for_fine_tuning(
        self, num_classes: int, image_size: int | tuple[int, int] | None = None
    ) -> "VisionTransformer":
        """Builds a copy of this model for another task, to be fine-tuned.

        Args:
            num_classes: number of classes of the new task, K.
            image_size: (H, W) of the new images, or one integer for both; None for the size of this
                model. The patch size stays the same.

        Returns:
            A built `VisionTransformer` with a new linear head, initialized to zeros, and a copy of
            all other weights. Position embeddings are interpolated to the new image size.

        Raises:
            ValueError: if this model is not built, or has the adapters of `enable_lora`.

        Example:
            >>> settings = kt.BlockSettings(h=2, d_model=16, d_ff=32, n=1)
            >>> model = kt.VisionTransformer(8, 2, num_classes=10, settings=settings, d_head=32)
            >>> model.build((None, 8, 8, 3))
            >>> fine_tuned = model.for_fine_tuning(num_classes=3, image_size=16)
            >>> ops.shape(fine_tuned(np.zeros((1, 16, 16, 3), "float32")))
            (1, 3)
        """
        if not self.built:
            raise ValueError(
                "The model has no weights to copy: train it or load it first. "
                f"Received: {self.name}, not built"
            )
        if has_lora(self):
            raise ValueError(
                "Adapters are not copied: save the model, which merges them, and load it with "
                f"`keras.saving.load_model` first. Received: {self.name} with adapters"
            )
        size = self.embedding.image_size if image_size is None else image_size
        config = {**self.get_config(), "num_classes": num_classes, "image_size": size}
        config = without_parts(config, "hidden", "classifier")  # the copy has a new head
        model = VisionTransformer.from_config({**config, "d_head": None})
        channels = self.embedding.projection.kernel.shape[2]
        model.build((None, *model.embedding.image_size, channels))
        model.encoder.set_weights(self.encoder.get_weights())
        model.embedding.projection.set_weights(self.embedding.projection.get_weights())
        model.embedding.class_token.assign(self.embedding.class_token)
        model.embedding.positions.assign(self.embedding.positions_for(size))
        return model

    def get_config(self) -> dict[str, Any]:
        arguments = {
            "image_size": self.embedding.image_size,
            "patch_size": self.embedding.patch_size,
            "num_classes": self.num_classes,
            "d_head": self.d_head,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, images_shape: Shape) -> Shape:
        return (images_shape[0], self.num_classes)
