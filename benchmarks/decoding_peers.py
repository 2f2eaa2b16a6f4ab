"""The systems that `decoding.py` and `scaling.py` time.

Each system is a function without arguments that translates the same source sentences. It returns
`STEPS` target tokens per sentence, as ids or as words, without the end token. Import this module
after calling `timing.use_cores`.
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
from keras_transformer.inference.numpy_search import NumpySearch
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.rules import NOT_END
from keras_transformer.models.numpy_transformer import NumpyTransformer

WORDS, SOURCE_LENGTH, STEPS = 8000, 12, 10

SIZES = {
    "small": BlockSettings(h=4, d_model=256, d_ff=512, n=3, norm_first=True),
    "large": BlockSettings(h=8, d_model=512, d_ff=2048, n=6, norm_first=True),
}


def make_tokenizer():
    """Returns a tokenizer with the vocabulary of the models: w0, w1, …"""
    return WordTokenizer.train([" ".join(f"w{i}" for i in range(WORDS - len(SPECIAL_TOKENS)))])


def make_source(batch, length=SOURCE_LENGTH):
    """Returns random source ids with an end token, int32 (B, S)."""
    source = np.random.default_rng(0).integers(END_ID + 1, WORDS, (batch, length), "int32")
    source[:, -1] = END_ID
    return source


def make_model(size, kind=TransformerModel):
    """Returns an untrained `TransformerModel` with tied output, in float32."""
    keras.utils.set_random_seed(0)
    model = kind(WORDS, WORDS, settings=size, tie_output=True, dtype="float32")
    model.build(((None, None), (None, None)))
    # An untrained model repeats one word, which would hide differences between the systems.
    for kernel in (w for w in model.decoder.weights if w.name == "kernel"):
        kernel.assign(3 * kernel)
    return model


class WithoutCache(TransformerModel):
    """A `TransformerModel` that runs the decoder on the whole prefix again for each token."""

    def start(self, encoder_input, length, copies=1):
        tokens = ops.zeros((ops.shape(encoder_input)[0], length), "int32")
        return tokens, (self.encode(encoder_input, training=False), encoder_input)

    def step(self, tokens, position, cache, memory):
        cache = ops.slice_update(cache, (0, position), ops.expand_dims(tokens, 1))
        logits = self.decode(cache, *memory, training=False)
        return ops.take(logits, position, axis=1), cache


def without_cache(model, size):
    """Returns a copy of a model that decodes without the KV cache."""
    copy = make_model(size, WithoutCache)
    copy.set_weights(model.get_weights())
    return copy


def make_request(source, steps=STEPS):
    """Returns the input of a search that takes a number of steps and never chooses the end."""
    return {"source": source, "constraints": np.full((len(source), steps), NOT_END, "int32")}


def make_ours(model, source, steps=STEPS, jit_compile=True, beam_size=1):
    """Returns a function that decodes with `ModelSearch`, never choosing the end token."""
    search = ModelSearch(model, SearchOptions(beam_size=beam_size))
    infer = backend_module().compile_inference(search, jit_compile=jit_compile)
    request = make_request(source, steps)
    return lambda: infer(request)["tokens"][:, 0]


def make_numpy(model, source, beam_size=1):
    """Returns a function that decodes with `NumpySearch`, as `Translate` does on a CPU."""
    search = NumpySearch(NumpyTransformer(model), SearchOptions(beam_size=beam_size))
    request = make_request(source)
    return lambda: search(request)["tokens"][:, 0]


def make_ctranslate2(model, source, threads, quantization=None, beam_sizes=(1,)):
    """Exports a model to CTranslate2; returns a decoding function for each beam size."""
    tokenizer = make_tokenizer()
    words = words_by_id(tokenizer)
    # CTranslate2 adds the end token itself.
    sentences = [[words[i] for i in row[:-1]] for row in source.tolist()]
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
    """Returns a dictionary from the id of each word to its token."""
    text = " ".join(f"w{i}" for i in range(WORDS - len(SPECIAL_TOKENS)))
    return dict(zip(tokenizer.encode(text), tokenizer.tokenize(text), strict=True))


class HubSearch(keras.Model):
    """The decoding loop of KerasHub's example: runs the whole model again for each token."""

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
            # Unlike the example, omit the last position, which is written but never read.
            return self.model((source, prompt[:, :STEPS]))[:, index - 1], None, cache

        prompt = self.prompt(source)
        return self.sampler(next_logits, prompt, index=1, model=self.model)[:, 1:]


class CachedHubSearch(HubSearch):
    """The same layers with their KV caches, which the example does not use."""

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
        # Fills the cross-attention cache. The sampler then repeats the first step.
        _, caches = step(prompt, [empty] * len(self.model.decoders), 0, 0)
        return self.sampler(next_logits, prompt, caches, 1, model=self.model)[:, 1:]


def make_hub(size, source):
    """Returns a dictionary from names to decoding functions, one per way to run KerasHub."""
    model, request = HubModel(size, (WORDS, WORDS), SOURCE_LENGTH), {"source": source}
    model((source, np.zeros((len(source), STEPS), "int32")))  # builds the model
    plain, cached = HubSearch(model), CachedHubSearch(model)
    compile_inference = backend_module().compile_inference
    plain_graph, cached_graph = (
        compile_inference(search, jit_compile=True) for search in (plain, cached)
    )
    return {
        "KerasHub layers, loop of its example": lambda: np.asarray(plain(request)),
        "KerasHub layers, loop of its example, XLA": lambda: plain_graph(request),
        "KerasHub layers, with KV cache, XLA": lambda: cached_graph(request),
    }


def make_torch(size, source, threads):
    """Returns a function that decodes with `torch.nn.Transformer`, without a KV cache."""
    torch.set_num_threads(threads)
    model = TorchModel(size, (WORDS, WORDS), SOURCE_LENGTH).eval()
    tokens = torch.from_numpy(source.astype("int64"))
    return lambda: model.search(tokens, STEPS, START_ID).numpy()


def check_lengths(systems):
    """Runs each system once; returns a dictionary from names to lists of translations.

    Raises:
        ValueError: if a translation does not have `STEPS` tokens.
    """
    outputs = {name: [list(row) for row in run()] for name, run in systems.items()}
    for name, rows in outputs.items():
        if {len(row) for row in rows} != {STEPS}:
            raise ValueError(f"{name} must return {STEPS} tokens per sentence. Received: {rows}")
    return outputs


def compare_words(systems):
    """Returns the share of tokens in which each system agrees with the first one."""
    words = words_by_id(make_tokenizer())
    outputs = {
        name: [words.get(x, x) for row in rows for x in row]
        for name, rows in check_lengths(systems).items()
    }
    first = next(iter(outputs.values()))
    return {
        name: statistics.mean(x == y for x, y in zip(first, output, strict=True))
        for name, output in outputs.items()
    }
