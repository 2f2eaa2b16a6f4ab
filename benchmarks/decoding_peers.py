"""The systems that `decoding.py` and `scaling.py` time.

Each system is a function without arguments that translates the same source sentences. It returns
`STEPS` target tokens per sentence, as ids or as words, without the end token. Import this module
after calling `timing.use_cores`.
"""

import statistics
import tempfile
import types
from pathlib import Path

import ctranslate2
import keras
import keras_hub
import numpy as np
import torch
import transformers
from hub_model import CachedHubSearch, HubModel, make_prompt
from keras import ops
from torch_model import TorchModel

from keras_transformer import BlockSettings, TransformerModel, Translate, WordTokenizer
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, SPECIAL_TOKENS, START_ID
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

    def call(self, request):
        source = request["source"]

        def next_logits(prompt, cache, index):
            # Unlike the example, omit the last position, which is written but never read.
            return self.model((source, prompt[:, :STEPS]))[:, index - 1], None, cache

        prompt = make_prompt(source, STEPS)
        return self.sampler(next_logits, prompt, index=1, model=self.model)[:, 1:]


def make_hub(size, source):
    """Returns a dictionary from names to decoding functions, one per way to run KerasHub."""
    model, request = HubModel(size, (WORDS, WORDS), SOURCE_LENGTH), {"source": source}
    model((source, np.zeros((len(source), STEPS), "int32")))  # builds the model
    plain, cached = HubSearch(model), CachedHubSearch(model, lambda length: STEPS)
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


def make_marian(size, source):
    """Returns a function that decodes with the Marian of `transformers`, which is post-norm."""
    config = transformers.MarianConfig(
        vocab_size=WORDS,
        d_model=size.d_model,
        encoder_layers=size.n,
        decoder_layers=size.n,
        encoder_attention_heads=size.h,
        decoder_attention_heads=size.h,
        encoder_ffn_dim=size.d_ff,
        decoder_ffn_dim=size.d_ff,
        activation_function="relu",
        max_position_embeddings=SOURCE_LENGTH + STEPS,
        pad_token_id=PADDING_ID,
        eos_token_id=END_ID,
        forced_eos_token_id=None,
        decoder_start_token_id=START_ID,
    )
    model = transformers.MarianMTModel(config).eval()
    tokens = torch.from_numpy(source.astype("int64"))
    lengths = {"min_new_tokens": STEPS, "max_new_tokens": STEPS}
    options = {"attention_mask": torch.ones_like(tokens), "num_beams": 1, **lengths}
    return lambda: model.generate(tokens, **options)[:, 1:].numpy()


def make_joeynmt(size, source):
    """Returns a function that decodes with JoeyNMT, without a KV cache; None if it is missing."""
    try:
        from joeynmt.model import build_model
        from joeynmt.search import greedy
        from joeynmt.vocabulary import Vocabulary
    except ImportError:
        return None
    symbols = ("unk", "pad", "bos", "eos")  # with the ids 0 to 3
    special = types.SimpleNamespace(sep_token=None, lang_tags=[])
    for i, name in enumerate(symbols):
        setattr(special, f"{name}_id", i)
        setattr(special, f"{name}_token", f"<{name}>")
    vocabulary = Vocabulary([f"w{i}" for i in range(WORDS - len(symbols))], special)
    part = {
        "type": "transformer",
        "hidden_size": size.d_model,
        "ff_size": size.d_ff,
        "num_layers": size.n,
        "num_heads": size.h,
        "layer_norm": "pre",
        "embeddings": {"embedding_dim": size.d_model, "scale": True},
    }
    parts = {"encoder": part, "decoder": part, "tied_softmax": True}
    model = build_model(parts, vocabulary, vocabulary).eval()
    tokens = torch.from_numpy(source.astype("int64"))
    mask = torch.ones(len(source), 1, source.shape[1]).bool()
    lengths = torch.full((len(source),), source.shape[1])

    @torch.inference_mode()
    def search():
        encoded, hidden, *_ = model(
            return_type="encode", src=tokens, src_length=lengths, src_mask=mask
        )
        output, *_ = greedy(mask, STEPS, model, encoded, hidden, min_output_length=STEPS)
        return output.numpy()

    return search


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
