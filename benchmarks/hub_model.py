"""A translation model of KerasHub layers, built as in the KerasHub translation example."""

import keras
import keras_hub
from keras import ops

from keras_transformer import START_ID


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
        self.padding = padding
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


def make_prompt(source, steps):
    """Returns the start token of each sentence and room for its translation, (B, 1 + steps)."""
    start = ops.full((ops.shape(source)[0], 1), START_ID, "int32")
    return ops.pad(start, ((0, 0), (0, steps)))


class CachedHubSearch(keras.Model):
    """Greedy search with the KV caches of the layers, which KerasHub's example does not use.

    Args:
        model: a `HubModel`.
        count_steps: function from the source length to the number of steps.
        end: id of the token at which a translation ends; None if it never ends.
        forbidden: ids of tokens that are not chosen.
    """

    def __init__(self, model, count_steps, end=None, forbidden=()):
        super().__init__()
        self.model = model
        self.count_steps = count_steps
        self.end = None if end is None else (end,)
        self.forbidden = tuple(forbidden)
        self.sampler = keras_hub.samplers.GreedySampler()
        self.built = True

    def call(self, request):
        source = request["source"]
        encoded = self.model.encode(source)
        batch, length, d_model = ops.shape(encoded)
        heads, steps = self.model.decoders[0].num_heads, self.count_steps(length)
        padding_mask = source != 0 if self.model.padding else None
        empty = [ops.zeros((batch, 2, n, heads, d_model // heads)) for n in (steps, length)]

        def step(prompt, caches, index, cross_index):
            last = ops.slice(prompt, (0, index), (batch, 1))
            x, next_caches = self.model.target(last, start_index=index), []
            for layer, (own, cross) in zip(self.model.decoders, caches, strict=True):
                x, *both = layer(
                    x,
                    encoded,
                    encoder_padding_mask=padding_mask,
                    self_attention_cache=own,
                    self_attention_cache_update_index=index,
                    cross_attention_cache=cross,
                    cross_attention_cache_update_index=cross_index,
                )
                next_caches.append(both)
            return self.model.to_logits(x)[:, 0], next_caches

        def next_logits(prompt, caches, index):
            logits, caches = step(prompt, caches, index - 1, None)
            for token in self.forbidden:
                logits = ops.where(ops.arange(ops.shape(logits)[1]) == token, -1e9, logits)
            return logits, None, caches

        prompt = make_prompt(source, steps)
        # Fills the cross-attention cache. The sampler then repeats the first step.
        _, caches = step(prompt, [empty] * len(self.model.decoders), 0, 0)
        options = {"index": 1, "stop_token_ids": self.end, "model": self.model}
        return self.sampler(next_logits, prompt, caches, **options)[:, 1:]
