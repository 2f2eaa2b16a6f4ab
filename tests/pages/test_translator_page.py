"""The page that translates holds the model, its text is harmless, and other models are refused."""

import base64
import json
import re

import keras
import numpy as np
import pytest
from full_disk import full_disk
from run_script import run_script
from tiny import make_dataset
from translating import shared_translate, write_run

import keras_transformer as kt
from keras_transformer.pages import translator_page
from keras_transformer.pages.translator_page import export_page

EVIL = "</script><script>window.run=true</script>"


def make_model(**options):
    """Returns an untrained translator; `options` are settings or arguments of the model."""
    dataset = make_dataset()
    sizes = {"h": 2, "d_model": 8, "d_ff": 12, "n": 1}
    settings = kt.BlockSettings(**{**sizes, **options.pop("settings", {})})
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    counts = [tokenizer.vocab_size for tokenizer in tokenizers]
    model = kt.TransformerModel(*counts, settings=settings, **options)
    return model, tokenizers


def build(model, tokenizers):
    model.build(((None, None), (None, None)))
    return kt.Translate(model, *tokenizers)


def parse(page):
    """Returns the JSON of a page, and its weights in a dictionary."""

    def element(name):
        return re.search(rf'<script id="{name}"[^>]*>(.*?)</script>', page, re.DOTALL)[1]

    data, content, tensors = json.loads(element("data")), base64.b64decode(element("weights")), {}

    def take(dtype, shape):
        nonlocal content
        array = np.frombuffer(content, dtype, int(np.prod(shape))).reshape(shape)
        content = content[array.nbytes :]
        return array.astype("float32")

    for x in data["tensors"]:
        if x["dtype"] == "int8":
            scales = take("<f4", (x["shape"][0], 1))
            tensors[x["name"]] = scales * take("int8", x["shape"])
        else:
            tensors[x["name"]] = take("<f2", x["shape"])
    assert content == b""
    return data, tensors


def test_the_page_has_every_weight_once(tmp_path):
    translate = shared_translate()
    export_page(translate, tmp_path / "page.html")
    data, tensors = parse((tmp_path / "page.html").read_text("utf-8"))
    weights = [np.asarray(x) for x in translate.model.get_weights()]
    found = sorted(float(abs(x).sum()) for x in tensors.values())
    expected = sorted(float(abs(x.astype("float16").astype("float32")).sum()) for x in weights)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    query = np.asarray(translate.model.encoder.layers[0].self_attention.query_projection.kernel)
    rows = tensors["encoder.0.self_attention.query.weight"]  # one for each output
    np.testing.assert_allclose(rows, query.T, rtol=1e-3, atol=1e-6)
    assert data["target"]["vocabulary"] == translate.target_tokenizer.tokens(
        range(translate.target_tokenizer.vocab_size)
    )


def test_int8_rounds_each_row_to_255_steps(tmp_path):
    for name, quantization in (("exact", None), ("small", "int8")):
        export_page(shared_translate(), tmp_path / name, quantization=quantization)
    exact, small = (parse((tmp_path / x).read_text("utf-8"))[1] for x in ("exact", "small"))
    for name, array in exact.items():
        if array.ndim == 1:
            np.testing.assert_array_equal(small[name], array)
        else:
            step = np.abs(array).max(axis=1, keepdims=True) / 127
            assert (np.abs(small[name] - array) <= 0.51 * step + 1e-3).all(), name
    assert (tmp_path / "small").stat().st_size < (tmp_path / "exact").stat().st_size


def test_text_of_the_vocabulary_cannot_become_code(tmp_path):
    words = [EVIL, "$data", "<!--", "&amp;", "\u2028"]
    tokenizer = kt.WordTokenizer.train([" ".join(words)])
    settings = kt.BlockSettings(h=1, d_model=8, d_ff=8)
    model = kt.TransformerModel(*[tokenizer.vocab_size] * 2, settings=settings)
    translate = build(model, (tokenizer, tokenizer))
    export_page(translate, tmp_path / "page.html", title=EVIL, examples=words)
    page = (tmp_path / "page.html").read_text("utf-8")
    data, _ = parse(page)
    assert data["examples"] == words
    assert page.count("</script>") == page.count("<script") == 4 and EVIL not in page


def test_the_page_has_a_policy_that_forbids_the_network(tmp_path):
    export_page(shared_translate(), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    (policy,) = re.findall(r'Policy"\s+content="(.*?)"', page, re.DOTALL)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy
    code = page.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.search(r"https?:|innerHTML|insertAdjacent|eval\(|fetch\(|import\(", code)


def test_only_a_page_is_overwritten(tmp_path):
    path = tmp_path / "page.html"
    export_page(shared_translate(), path, title="first")
    with pytest.raises(FileExistsError, match="set `overwrite`"):
        export_page(shared_translate(), path)
    export_page(shared_translate(), path, overwrite=True, title="second")
    assert "<title>second</title>" in path.read_text("utf-8")
    path.write_text("my notes", encoding="utf-8")
    with pytest.raises(FileExistsError):
        export_page(shared_translate(), path, overwrite=True)
    assert path.read_text("utf-8") == "my notes"


def test_a_failed_write_keeps_the_old_page(tmp_path):
    path = tmp_path / "page.html"
    export_page(shared_translate(), path, title="first")
    before = path.read_bytes()
    with full_disk(len(before) // 2), pytest.raises(OSError):
        export_page(shared_translate(), path, overwrite=True, title="second")
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_what_the_page_cannot_compute_is_refused_by_name(tmp_path, monkeypatch):
    def refuse(translate, message, **options):
        with pytest.raises(ValueError, match=message):
            export_page(translate, tmp_path / "page.html", **options)
        assert not list(tmp_path.iterdir())

    model, tokenizers = make_model()
    model.encoder.layers[0].feed_forward = keras.layers.Dense(8)
    refuse(build(model, tokenizers), r"Received: encoder.layers\[0\].feed_forward is a Dense")
    refuse(build(*make_model(settings={"activation": "gelu"})), "Received: 'gelu'")
    refuse(build(*make_model(settings={"gated": True, "h_kv": 1})), "Received: gated, h_kv$")
    counts = [tokenizer.vocab_size for tokenizer in tokenizers]
    recurrent = kt.RecurrentTranslator(*counts, d_model=8, units=8, rate=0.0)
    refuse(build(recurrent, tokenizers), "Received: RecurrentTranslator")
    quantized = build(*make_model())
    quantized.model.encoder.layers[0].feed_forward.inner.quantize("int8")
    refuse(quantized, "Received: quantized parts of TransformerModel")
    translate = build(*make_model())
    refuse(translate, "must be one of", quantization="int4")
    monkeypatch.setattr(translator_page, "MAX_BYTES", 1000)
    refuse(translate, "Received: .* weights, 0 MB in int8", quantization="int8")
    monkeypatch.undo()
    translate.model.weights[0].assign(translate.model.weights[0] * 0 + 1e6)
    refuse(translate, "at most 65,504 in float16. Received: a larger one in source")


@pytest.mark.parametrize("flags", [[], ["--quantization", "int8"]])
def test_a_run_is_exported_with_some_of_its_sentences(tmp_path, flags):
    write_run(tmp_path / "run")
    output = run_script("export.py", "run", "--to", "page", *flags, folder=tmp_path)
    path = tmp_path / "run/exported/translator.html"
    assert output.startswith("Written to run/exported/translator.html.")
    data, _ = parse(path.read_text("utf-8"))
    sources = [source for source, _ in make_dataset().test]
    assert data["examples"] and set(data["examples"]) <= set(sources)
