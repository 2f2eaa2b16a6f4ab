"""Models exported to CTranslate2 give the same translations."""

import itertools
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import tokenizers
from full_disk import full_disk
from keras import ops
from layer_contract import group_settings
from tiny import WORDS, make_batches, make_dataset, make_trainer

from keras_transformer import RecurrentTranslator, TransformerModel, Translate
from keras_transformer._utils.special_tokens import (
    END_ID,
    PADDING_ID,
    SPECIAL_TOKENS,
    START_ID,
    UNKNOWN_ID,
)
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.corpus import bundled_run_path
from keras_transformer.data.pairs import read_pairs
from keras_transformer.data.tokenizers import SubwordTokenizer, WordTokenizer
from keras_transformer.export.ctranslate2 import MAX_POSITIONS, export_ctranslate2
from keras_transformer.inference.options import EXTRA_LENGTH

ctranslate2 = pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.slow

FILES = {
    "config.json", "model.bin", "source_tokenizer.json", "source_vocabulary.json",
    "target_tokenizer.json", "target_vocabulary.json",
}  # fmt: skip
SENTENCES = [
    " ".join(words)
    for length in (1, 2, 3, 4)
    for words in itertools.product([*WORDS, "unheard"], repeat=length)
]
SOURCE = WordTokenizer.train([" ".join(f"s{i}" for i in range(46))])
TARGET = WordTokenizer.train([" ".join(f"t{i}" for i in range(36))])
STANDALONE_CODE = """
import sys
sys.modules.update(dict.fromkeys(["keras", "tensorflow", "jax", "keras_transformer"]))
import ctranslate2, tokenizers
folder, *sentences = sys.argv[1:]
source = tokenizers.Tokenizer.from_file(folder + "/source_tokenizer.json")
target = tokenizers.Tokenizer.from_file(folder + "/target_tokenizer.json")
tokens = [source.encode(sentence).tokens for sentence in sentences]
results = ctranslate2.Translator(folder).translate_batch(tokens, beam_size=1, min_decoding_length=0)
print([target.decoder.decode(result.hypotheses[0]) for result in results])
"""


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    dataset = make_dataset()
    trainer = make_trainer(dataset, tmp_path_factory.mktemp("run"), rate=0.0)
    trainer.train(*make_batches(dataset), 20)
    return Translate(trainer.model, dataset.source_tokenizer, dataset.target_tokenizer)


@pytest.fixture
def export(ours, tmp_path):
    """Exports the trained model."""

    def export(name="exported", **options):
        export_ctranslate2(ours, tmp_path / name, **options)
        return tmp_path / name

    return export


def random_model(source=SOURCE, target=TARGET, **options):
    """Creates a model with large random weights, so that every weight affects the output."""
    sizes = {"h": 4, "d_model": 32, "d_ff": 64, "n": 2, "rate": 0.1}
    vocabularies = (source.vocab_size, target.vocab_size)
    model = TransformerModel(*vocabularies, **group_settings({**sizes, **options}))
    model.build(((None, None), (None, None)))
    for weight in model.weights:
        weight.assign(np.random.normal(weight.name in ("gamma", "scale"), 0.3, weight.shape))
    return model


def scale_rows(weight, rows, factor):
    """Multiplies rows of a weight; makes them positive if it is a bias."""
    values = ops.convert_to_numpy(weight).copy()
    values[rows] = factor * np.abs(values[rows]) if values.ndim == 1 else factor * values[rows]
    weight.assign(values)


def random_ids(tokenizer, lengths):
    return [np.random.randint(END_ID + 1, tokenizer.vocab_size, n).tolist() for n in lengths]


def tokens_of(tokenizer, sentences):
    """Converts ids to the tokens in the file of the tokenizer."""
    name = tokenizers.Tokenizer.from_str(tokenizer.to_json()).id_to_token
    return [[name(i) for i in ids] for ids in sentences]


def load(folder):
    return ctranslate2.Translator(str(folder), intra_threads=1)


def translator(folder):
    """Returns a function that translates as the example of `export_ctranslate2` does."""
    source, target = (
        tokenizers.Tokenizer.from_file(str(folder / f"{side}_tokenizer.json"))
        for side in ("source", "target")
    )
    source.encode_special_tokens = True
    loaded = load(folder)

    def translate(sentence):
        tokens = source.encode(sentence).tokens
        lengths = {"min_decoding_length": 0, "max_decoding_length": 2 * len(tokens) + EXTRA_LENGTH}
        [result] = loaded.translate_batch([tokens], beam_size=1, **lengths)
        return target.decoder.decode(result.hypotheses[0])

    return lambda sentences: list(map(translate, sentences))


def log_probabilities(model, sources, targets):
    """Computes the log probabilities of the target tokens and the end token.

    They are normalized over the tokens that a translation may contain.
    """
    sources = [[*ids, END_ID] for ids in sources]
    targets = [[START_ID, *ids, END_ID] for ids in targets]
    source, target = (pad_ids(ids, max(map(len, ids))) for ids in (sources, targets))
    logits = ops.convert_to_numpy(model((source, target[:, :-1]))).astype("float64")
    logits[..., :END_ID] = -np.inf
    logits -= np.log(np.sum(np.exp(logits), axis=-1, keepdims=True))
    return [x[np.arange(len(ids) - 1), ids[1:]] for x, ids in zip(logits, targets, strict=True)]


def test_subwords_are_detokenized_identically(tmp_path):
    tokenizer = SubwordTokenizer.train([f"see{i} sees{i} seen{i}, unseen" for i in range(20)], 60)
    model = random_model(tokenizer, tokenizer, tie_output=True, share_embeddings=True)
    translate = Translate(model, tokenizer, tokenizer)
    export_ctranslate2(translate, tmp_path / "exported")
    sentences = [f"seen{i} see{i}: unseen, sees{i}!" for i in range(100)]
    expected = translate(sentences)
    assert len(set(expected)) > 30
    assert translator(tmp_path / "exported")(sentences) == expected


def test_a_thousand_sentences_are_translated_identically(ours, export):
    sentences = random.Random(0).sample(SENTENCES, 1000)
    expected = ours(sentences)
    assert len(set(expected)) > 300
    assert translator(export())(sentences) == expected


def test_nearly_all_int8_translations_of_a_natural_language_are_identical(tmp_path):
    translate = Translate.from_run(bundled_run_path())
    sentences = [source for source, _ in read_pairs(bundled_run_path() / "test.tsv")]
    exact, small = tmp_path / "float32", tmp_path / "int8"
    export_ctranslate2(translate, exact)
    export_ctranslate2(translate, small, quantization="int8")
    assert (small / "model.bin").stat().st_size < (exact / "model.bin").stat().st_size / 3
    assert load(small).compute_type.startswith("int8")
    expected = translate(sentences)
    assert translator(exact)(sentences) == expected
    # 99% on CPUs that accumulate int8 products exactly, 96% where the sums saturate at 16 bits.
    same = [a == b for a, b in zip(translator(small)(sentences), expected, strict=True)]
    assert np.mean(same) > 0.93


@pytest.mark.parametrize(
    "options",
    [
        *({"norm_first": a, "tie_output": b} for a in (False, True) for b in (False, True)),
        {"activation": "gelu"},
        {"activation": "swish"},
        {"rotary_base": 100.0},
        {"tie_output": True, "share_embeddings": True},
        {
            "norm_first": True,
            "normalization": "rms",
            "gated": True,
            "activation": "silu",
            "h_kv": 2,
            "rotary_base": 100.0,
            "use_bias": False,
            "qkv_bias": True,
        },
    ],
    ids=str,
)
def test_log_probabilities_match(options, tmp_path):
    source = TARGET if options.get("share_embeddings") else SOURCE
    model = random_model(source, **options)
    export_ctranslate2(Translate(model, source, TARGET), tmp_path / "exported")
    sources, targets = random_ids(source, [1, 3, 10, 30]), random_ids(TARGET, [1, 9, 2, 25])
    sources[2][5] = UNKNOWN_ID
    expected = log_probabilities(model, sources, targets)
    assert np.std(np.concatenate(expected)) > 1
    tokens = (tokens_of(source, sources), tokens_of(TARGET, targets))
    for found, row in zip(load(tmp_path / "exported").score_batch(*tokens), expected, strict=True):
        np.testing.assert_allclose(found.log_probs, row, atol=1e-4)


@pytest.mark.parametrize("quantization", [None, "int8"])
@pytest.mark.parametrize("tie_output", [False, True])
def test_special_tokens_are_never_produced(tie_output, quantization, tmp_path):
    model = random_model(tie_output=tie_output, norm_first=True)
    if tie_output:  # except the start token: a large embedding of it would hide the source
        scale_rows(model.target_embedding.words.embeddings, [PADDING_ID, UNKNOWN_ID], 20.0)
    else:
        scale_rows(model.projection.bias, [PADDING_ID, UNKNOWN_ID, START_ID], 100.0)
    sources = random_ids(SOURCE, [6] * 100)
    logits = ops.convert_to_numpy(model((np.array(sources), np.full((100, 2), START_ID))))
    # Without constraints, the model would mostly produce special tokens.
    assert np.mean(logits.argmax(-1) < END_ID) > 0.5
    translate = Translate(model, SOURCE, TARGET)
    export_ctranslate2(translate, tmp_path / "exported", quantization=quantization)
    results = load(tmp_path / "exported").translate_batch(
        tokens_of(SOURCE, sources), beam_size=3, max_decoding_length=20
    )
    produced = {word for result in results for word in result.hypotheses[0]}
    assert len(produced) > 5 and not produced & set(SPECIAL_TOKENS)


def test_exported_folder_is_self_contained(ours, export):
    folder = export()
    assert set(os.listdir(folder)) == FILES
    sentences = ["two three", "one unheard four", ""]
    command = [sys.executable, "-c", STANDALONE_CODE, str(folder), *sentences]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(ours(sentences))


def test_export_leaves_the_model_unchanged(ours, export):
    before = [weight.copy() for weight in ours.model.get_weights()]
    export(quantization="int8")
    assert all(map(np.array_equal, before, ours.model.get_weights()))


def test_number_of_positions_is_limited(export):
    translator = load(export())
    options = {"max_input_length": 0, "max_decoding_length": 1}
    assert translator.translate_batch([["▁one"] * (MAX_POSITIONS - 1)], **options)
    with pytest.raises(RuntimeError, match="positions"):
        translator.translate_batch([["▁one"] * MAX_POSITIONS], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_k": 4, "d_v": 4}, r"cannot express heads .*Received: d_k=4"),
        ({"d_v": 4}, r"cannot express heads .*Received: d_k=8, d_v=4"),
        ({"window": 3, "qk_norm": True}, r"cannot express all layers.*: window, qk_norm$"),
        ({"activation": "elu"}, r"cannot express activations .*Received: 'elu'"),
        ({"activation": "linear"}, r"cannot express activations .*Received: 'linear'"),
    ],
)
def test_unsupported_options_are_refused(options, message, tmp_path):
    translate = Translate(random_model(**options), SOURCE, TARGET)
    with pytest.raises(ValueError, match=message):
        export_ctranslate2(translate, tmp_path / "exported")
    assert not os.listdir(tmp_path)


def test_unbuilt_and_recurrent_models_are_refused(tmp_path):
    unbuilt = TransformerModel(50, 40, 8, 8, 4, 8, 8, 32, 64, 2, 0.1)
    for model in (unbuilt, RecurrentTranslator(50, 40, 8, 8, 0.1)):
        with pytest.raises(ValueError, match=rf"only a built.*Received: <{type(model).__name__}"):
            export_ctranslate2(Translate(model, SOURCE, TARGET), tmp_path / "exported")


def test_a_quantized_model_is_refused(tmp_path):
    model = random_model()
    model.decoder.layers[0].feed_forward.inner.quantize("int8")
    with pytest.raises(ValueError, match="do so before `quantize`"):
        export_ctranslate2(Translate(model, SOURCE, TARGET), tmp_path / "exported")


@pytest.mark.parametrize("quantization", ["int4", "float32", 8, ""])
def test_an_unknown_quantization_is_refused(quantization, export, tmp_path):
    with pytest.raises(ValueError, match=rf"None, 'int8'.*Received: {quantization!r}"):
        export(quantization=quantization)
    assert not os.listdir(tmp_path)


def test_missing_ctranslate2_error_names_the_extra_to_install(export, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ImportError, match=r"pip install 'keras3-transformer\[ctranslate2\]'"):
        export()
    assert not os.listdir(tmp_path)


def test_existing_export_is_replaced_only_with_overwrite(export, tmp_path):
    folder = export()
    (folder / "notes.txt").touch()
    with pytest.raises(FileExistsError, match=r"Received: .*exported"):
        export()
    assert set(os.listdir(folder)) == {*FILES, "notes.txt"}
    export(overwrite=True)
    assert set(os.listdir(folder)) == FILES
    assert os.listdir(tmp_path) == ["exported"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_only_an_export_is_overwritten(kind, export, tmp_path):
    run = tmp_path / "run"
    run.mkdir() if kind == "folder" else run.touch()
    with pytest.raises(FileExistsError, match=r"earlier export.*Received: .*run"):
        export("run", overwrite=True)
    assert os.listdir(tmp_path) == ["run"]


def test_full_disk_keeps_the_earlier_export(ours, export, tmp_path):
    folder = export()
    with full_disk(10_000), pytest.raises(OSError, match="is unchanged"):
        export(quantization="int8", overwrite=True)
    assert os.listdir(tmp_path) == ["exported"]
    assert translator(folder)(SENTENCES[:50]) == ours(SENTENCES[:50])
