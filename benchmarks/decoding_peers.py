"""The systems whose decoding is timed: ours, and those that one would use otherwise.

Each is a function without arguments that translates the same sources and returns the target tokens
of each, as ids or as words: `STEPS` of them and no end. Import this after `timing.use_cores`.
"""

import statistics
import tempfile
from pathlib import Path

import ctranslate2
import keras
import keras_hub
import numpy as np
import torch
from hub_model import HubModel
from keras import ops
from torch_model import TorchModel

from keras_transformer import BlockSettings, TransformerModel, Translate, WordTokenizer
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS, START_ID
from keras_transformer.backends import backend_module
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.inference.model_search import ModelSearch
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import GO_ON

WORDS, SOURCE_LENGTH, STEPS = 8000, 12, 10


SIZES = {
    "small": BlockSettings(h=4, d_model=256, d_ff=512, n=3, norm_first=True),
    "large": BlockSettings(h=8, d_model=512, d_ff=2048, n=6, norm_first=True),
}


def make_tokenizer():
    """A tokenizer of as many words as the models have, w0 w1 …"""
    return WordTokenizer.train([" ".join(f"w{i}" for i in range(WORDS - len(SPECIAL_TOKENS)))])


def make_source(batch, length=SOURCE_LENGTH):
    """Random words and the end, int32 (B, S)."""
    source = np.random.default_rng(0).integers(END_ID + 1, WORDS, (batch, length), "int32")
    source[:, -1] = END_ID
    return source


def make_model(size, kind=TransformerModel):
    """Our model, untrained: pre-norm, tied output, float32."""
    keras.utils.set_random_seed(0)
    model = kind(WORDS, WORDS, settings=size, tie_output=True, dtype="float32")
    model.build(((None, None), (None, None)))
    # Untrained it would repeat one word, and no comparison of words could find a mistake.
    for kernel in (w for w in model.decoder.weights if w.name == "kernel"):
        kernel.assign(3 * kernel)
    return model


class WithoutCache(TransformerModel):
    """Our model, reading everything before it again for each token."""

    def start(self, encoder_input, length, copies=1):
        tokens = ops.zeros((ops.shape(encoder_input)[0], length), "int32")
        return tokens, (self.encode(encoder_input, training=False), encoder_input)

    def step(self, tokens, position, cache, memory):
        cache = ops.slice_update(cache, (0, position), ops.expand_dims(tokens, 1))
        logits = self.decode(cache, *memory, training=False)
        return ops.take(logits, position, axis=1), cache


def without_cache(model, size):
    """The same model with the same weights."""
    other = make_model(size, WithoutCache)
    other.set_weights(model.get_weights())
    return other


def make_ours(model, source, steps=STEPS, jit_compile=True, beam_size=1):
    """Our search over a model, which may not choose the end."""
    search = ModelSearch(model, SearchOptions(beam_size=beam_size))
    infer = backend_module().compile_inference(search, jit_compile=jit_compile)
    request = {"source": source, "plan": np.full((len(source), steps), GO_ON, "int32")}
    return lambda: infer(request)["tokens"][:, 0]


def make_ctranslate2(model, source, threads, quantization=None, beam_sizes=(1,)):
    """A function for each beam size over our model, exported."""
    tokenizer = make_tokenizer()
    words = words_by_id(tokenizer)
    sentences = [[words[i] for i in row[:-1]] for row in source.tolist()]  # it adds the end itself
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder) / "model"
        translate = Translate(model, tokenizer, tokenizer)
        export_ctranslate2(translate, folder, quantization=quantization)
        translator = ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=threads)
    lengths = {"min_decoding_length": STEPS, "max_decoding_length": STEPS}

    def make(beam_size):
        options = {"beam_size": beam_size, **lengths}
        return lambda: [x.hypotheses[0] for x in translator.translate_batch(sentences, **options)]

    return [make(beam_size) for beam_size in beam_sizes]


def words_by_id(tokenizer):
    """Dictionary from the id of each word to the word as the tokenizer writes it."""
    text = " ".join(f"w{i}" for i in range(WORDS - len(SPECIAL_TOKENS)))
    return dict(zip(tokenizer.encode(text), tokenizer.tokenize(text), strict=True))


class HubSearch(keras.Model):
    """The loop of KerasHub's example: the whole model anew for each token."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.sampler = keras_hub.samplers.GreedySampler()
        self.built = True

    def prompt(self, source):
        start = ops.full((ops.shape(source)[0], 1), START_ID, "int32")
        return ops.pad(start, ((0, 0), (0, STEPS)))

    def call(self, request):
        source = request["source"]

        def next_logits(prompt, cache, index):
            # The last place is only written to; the example has the model read it as well.
            return self.model((source, prompt[:, :STEPS]))[:, index - 1], None, cache

        prompt = self.prompt(source)
        return self.sampler(next_logits, prompt, index=1, model=self.model)[:, 1:]


class CachedHubSearch(HubSearch):
    """The same layers with the caches they offer, which the example does not use."""

    def call(self, request):
        encoded = self.model.encode(request["source"])
        batch, length, d_model = ops.shape(encoded)
        heads = self.model.decoders[0].num_heads
        empty = [ops.zeros((batch, 2, n, heads, d_model // heads)) for n in (STEPS, length)]

        def step(prompt, caches, index, cross_index):
            last = ops.slice(prompt, (0, index), (batch, 1))
            x, next_caches = self.model.target(last, start_index=index), []
            for layer, (own, cross) in zip(self.model.decoders, caches, strict=True):
                x, *both = layer(
                    x,
                    encoded,
                    self_attention_cache=own,
                    self_attention_cache_update_index=index,
                    cross_attention_cache=cross,
                    cross_attention_cache_update_index=cross_index,
                )
                next_caches.append(both)
            return self.model.to_logits(x)[:, 0], next_caches

        def next_logits(prompt, caches, index):
            logits, caches = step(prompt, caches, index - 1, None)
            return logits, None, caches

        prompt = self.prompt(request["source"])
        # Only what it computes from the source is wanted; the first token comes again.
        _, caches = step(prompt, [empty] * len(self.model.decoders), 0, 0)
        return self.sampler(next_logits, prompt, caches, 1, model=self.model)[:, 1:]


def make_hub(size, source):
    """Dictionary from a name to a function for each way to run KerasHub's layers."""
    model, request = HubModel(size, (WORDS, WORDS), SOURCE_LENGTH), {"source": source}
    model((source, np.zeros((len(source), STEPS), "int32")))  # makes the weights
    plain, cached = HubSearch(model), CachedHubSearch(model)
    compile_inference = backend_module().compile_inference
    plain_graph, cached_graph = (
        compile_inference(search, jit_compile=True) for search in (plain, cached)
    )
    return {
        "KerasHub layers, its example's loop": lambda: np.asarray(plain(request)),
        "KerasHub layers, its example's loop, XLA": lambda: plain_graph(request),
        "KerasHub layers, with their caches, XLA": lambda: cached_graph(request),
    }


def make_torch(size, source, threads):
    """A loop over `torch.nn.Transformer`."""
    torch.set_num_threads(threads)
    model = TorchModel(size, (WORDS, WORDS), SOURCE_LENGTH).eval()
    tokens = torch.from_numpy(source.astype("int64"))
    return lambda: model.search(tokens, STEPS, START_ID).numpy()


def check_lengths(systems):
    """What the systems find: a list of rows each.

    Raises:
        ValueError: if a translation has not `STEPS` tokens.
    """
    found = {name: [list(row) for row in run()] for name, run in systems.items()}
    for name, rows in found.items():
        if {len(row) for row in rows} != {STEPS}:
            raise ValueError(f"{name} must find {STEPS} tokens a sentence. Received: {rows}")
    return found


def compare_words(systems):
    """The share of words that each system of one model finds as the first one does."""
    words = words_by_id(make_tokenizer())
    found = {
        name: [words.get(x, x) for row in rows for x in row]
        for name, rows in check_lengths(systems).items()
    }
    first = next(iter(found.values()))
    return {
        name: statistics.mean(x == y for x, y in zip(first, other, strict=True))
        for name, other in found.items()
    }
