"""A translation model of KerasHub layers, built as in the KerasHub translation example."""

import keras
import keras_hub


class HubModel(keras.Model):
    """A pre-norm Transformer of KerasHub layers with learned positions and tied output.

    Args:
        size: object with the attributes `d_model`, `n`, `h` and `d_ff`.
        words: pair of the source and target vocabulary sizes.
        length: maximum sequence length.
        rate: dropout rate.
        share: whether source and target share their embeddings.
        padding: whether to mask id 0 as padding.
    """

    def __init__(self, size, words, length, rate=0.0, share=False, padding=False):
        super().__init__()
        layers = keras_hub.layers
        blocks = {"num_heads": size.h, "normalize_first": True, "dropout": rate}
        self.source, self.target = (
            layers.TokenAndPositionEmbedding(n, length, size.d_model, mask_zero=padding)
            for n in words
        )
        if share:
            self.target = self.source
        self.encoders = [layers.TransformerEncoder(size.d_ff, **blocks) for _ in range(size.n)]
        self.decoders = [layers.TransformerDecoder(size.d_ff, **blocks) for _ in range(size.n)]
        self.norms = [keras.layers.LayerNormalization() for _ in range(2)]

    def encode(self, source):
        x = self.source(source)
        for layer in self.encoders:
            x = layer(x)
        return self.norms[0](x)

    def call(self, inputs):
        source, target = inputs
        encoded, x = self.encode(source), self.target(target)
        for layer in self.decoders:
            x = layer(x, encoded)
        return self.to_logits(x)

    def to_logits(self, x):
        return self.target.token_embedding(self.norms[1](x), reverse=True)
