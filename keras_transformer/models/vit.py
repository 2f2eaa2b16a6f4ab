"""The vision transformer."""

import keras

from keras_transformer._utils.checks import check_sizes, given
from keras_transformer.layers._block import WithSettings
from keras_transformer.layers.encoder import Encoder
from keras_transformer.layers.patch_embedding import PatchEmbedding


@keras.saving.register_keras_serializable(package="keras_transformer")
class VisionTransformer(WithSettings, keras.Model):
    """Classifies images: patches, a pre-norm encoder, and a head that reads the class token.

    Trained from scratch its head has a hidden layer; `for_fine_tuning` gives a model with a linear
    one, for other classes and larger images.

    Shape letters: B batch, H height, W width, C channels, T tokens (the class token and the
    patches), D model size.

    Args:
        image_size: (H, W), or one integer for both.
        patch_size: side of a patch; it divides both sides of the image.
        num_classes: number of classes.
        settings: `BlockSettings` of its layers.
        d_head: size of the head's hidden layer; None for a linear head, zero at first.

    Raises:
        ValueError: if a size is not a positive integer, or `image_size` is not a multiple of
            `patch_size`.

    References:
        "An Image is Worth 16x16 Words" (Dosovitskiy et al., 2021), section 3 and appendix D.
    """

    default_settings = WithSettings.default_settings | {
        "activation": "gelu",
        "norm_first": True,
        "epsilon": 1e-6,  # as in the published models
    }

    def __init__(self, image_size, patch_size, num_classes, settings=None, d_head=None, **kwargs):
        super().__init__(settings, **kwargs)
        check_sizes(num_classes=num_classes)
        check_sizes(**given(d_head=d_head))
        self.num_classes = num_classes
        self.d_head = d_head

        settings, dtype = self.settings, self.dtype_policy
        self.embedding = PatchEmbedding(
            image_size, patch_size, settings.d_model, dtype=dtype, name="embedding"
        )
        self.encoder = Encoder(settings=settings, dtype=dtype, name="encoder")
        if d_head is not None:
            self.hidden = keras.layers.Dense(d_head, "gelu", dtype=dtype, name="hidden")
        start = "zeros" if d_head is None else "glorot_uniform"
        self.classifier = keras.layers.Dense(
            num_classes, kernel_initializer=start, dtype=dtype, name="classifier"
        )

    def build(self, images_shape):
        self.embedding.build(images_shape)
        shape = self.embedding.compute_output_shape(images_shape)
        self.encoder.build(shape)
        if self.d_head is not None:
            self.hidden.build((shape[0], shape[-1]))
        self.classifier.build((shape[0], self.d_head or shape[-1]))
        self.built = True

    def call(self, images, training=None):
        """(B, H, W, C) images -> (B, number of classes) logits."""
        x = self.encode(images, training=training)[:, 0]
        return self.classifier(x if self.d_head is None else self.hidden(x))

    def encode(self, images, training=None):
        """(B, H, W, C) images -> (B, T, D); the class token comes first, then row by row."""
        return self.encoder(self.embedding(images), training=training)

    def for_fine_tuning(self, num_classes, image_size=None):
        """A model for another task that begins with what this one knows.

        Args:
            num_classes: number of classes of the new task.
            image_size: its (H, W), or one integer for both; None for this model's. The patches keep
                their size, so larger images have more of them.

        Returns:
            A new, built `VisionTransformer` with a linear head of zeros and a copy of all other
            weights, where the positions are interpolated.

        Raises:
            ValueError: if this model is not built.
        """
        if not self.built:
            raise ValueError(f"Train the model first, or load it. Received: {self.name}, not built")
        size = self.embedding.image_size if image_size is None else image_size
        config = {**self.get_config(), "num_classes": num_classes, "image_size": size}
        model = VisionTransformer.from_config({**config, "d_head": None})
        channels = self.embedding.projection.kernel.shape[2]
        model.build((None, *model.embedding.image_size, channels))
        model.encoder.set_weights(self.encoder.get_weights())
        model.embedding.projection.set_weights(self.embedding.projection.get_weights())
        model.embedding.class_token.assign(self.embedding.class_token)
        model.embedding.positions.assign(self.embedding.positions_for(size))
        return model

    def get_config(self):
        arguments = {
            "image_size": self.embedding.image_size,
            "patch_size": self.embedding.patch_size,
            "num_classes": self.num_classes,
            "d_head": self.d_head,
        }
        return {**super().get_config(), **arguments}

    def compute_output_shape(self, images_shape):
        return (images_shape[0], self.num_classes)
