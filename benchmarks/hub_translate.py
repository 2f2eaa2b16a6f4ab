"""Translates with KerasHub's layers, on the weights of a run of this package."""

import numpy as np
from hub_model import CachedHubSearch, HubModel

from keras_transformer import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import bucket_length, pad_ids
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.layers.sinusoidal_encoding import sinusoidal_encoding

MAX_LENGTH, EXTRA = 128, 8  # a translation has at most so many tokens more than its batch
BATCH = 64
FORBIDDEN = (PADDING_ID, START_ID, UNKNOWN_ID)


class HubTranslate:
    """Translates greedily with KerasHub's layers, their KV caches and XLA.

    The weights are those of a `Translate`, so that the translations are the same and end at the
    same steps. Batches have 1 or 64 rows and few different lengths, each of which compiles once.

    Args:
        translate: a `Translate` with a pre-norm `TransformerModel` with tied output.
    """

    def __init__(self, translate):
        self.translate = translate
        model = translate.model
        words = (model.enc_vocab_size, model.dec_vocab_size)
        self.model = HubModel(model.settings, words, MAX_LENGTH, padding=True)
        ids = np.ones((1, 2), "int32")
        self.model((ids, ids))  # builds it
        _copy_weights(model, self.model)
        search = CachedHubSearch(self.model, lambda length: length + EXTRA, END_ID, FORBIDDEN)
        self._search = backend_module().compile_inference(search, jit_compile=True)

    def __call__(self, sentences, beam_size=1):
        """Translates a sentence or a list of sentences."""
        if beam_size != 1:
            raise ValueError(f"beam_size must be 1. Received: {beam_size}")
        if isinstance(sentences, str):
            return self([sentences])[0]
        rows = [encode_source(self.translate.source_tokenizer, x) for x in sentences]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]), reverse=True)
        results = [None] * len(rows)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            for i, tokens in zip(batch, self._translate([rows[i] for i in batch]), strict=False):
                results[i] = self.translate.target_tokenizer.decode(tokens)
        return results

    def _translate(self, rows):
        number = 1 if len(rows) == 1 else BATCH
        filled = rows + rows[-1:] * (number - len(rows))
        source = pad_ids(filled, bucket_length(len(rows[0])))
        for tokens in np.asarray(self._search({"source": source})).tolist():
            yield tokens[: tokens.index(END_ID)] if END_ID in tokens else tokens


def _copy_weights(model, hub):
    scale = model.settings.d_model**0.5  # the tied output is scaled, too, but the order is the same
    embeddings = (model.source_embedding, hub.source), (model.target_embedding, hub.target)
    for ours, theirs in embeddings:
        table = np.array(ours.words.embeddings) * scale
        waves = np.array(sinusoidal_encoding(MAX_LENGTH, model.settings.d_model, ours.base))
        _assign(theirs, [table, waves])
    for ours, theirs in zip(model.encoder.layers, hub.encoders, strict=True):
        weights = ours.get_weights()
        _assign(theirs, [*weights[:10], *weights[14:], *weights[10:14]])  # norms come first there
    for ours, theirs in zip(model.decoder.layers, hub.decoders, strict=True):
        _assign(theirs, ours.get_weights())
    for ours, theirs in zip((model.encoder, model.decoder), hub.norms, strict=True):
        _assign(theirs, ours.final_norm.get_weights())


def _assign(layer, weights):
    shapes = [weight.shape for weight in layer.weights]
    layer.set_weights([x.reshape(shape) for x, shape in zip(weights, shapes, strict=True)])
