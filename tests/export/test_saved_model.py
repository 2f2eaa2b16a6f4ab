"""A SavedModel gives the same translations as `Translate`, also in a process without Keras."""

import functools
import http.server
import json
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

import keras
import numpy as np
import pytest
from full_disk import full_disk
from quick import some_of
from tiny import PAIRS, WORDS, make_batches, make_trainer
from translating import limited_model, make_translate

from keras_transformer import PrepareDataset, Translate
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS
from keras_transformer.runs.data_settings import MAX_SOURCE_TOKENS

if keras.config.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_transformer.export.saved_model import export_saved_model

OVERVIEW = Path(__file__).resolve().parents[2] / "docs/overview.md"
# Combining marks in and out of canonical order, pairs that compose, unusual spaces, letters that
# become longer in lower case, apostrophes, the space marker, control characters, and edge cases of
# UTF-8.
UNUSUAL = [
    *"aAouUeEsSßẞ.,!?-_'’▁ \t\n\r\0ΑΣσςİIıKÅ🙂👩\u200d中ｱﬁ½²٣ๅกัំ",
    *"\u0301\u0308\u0323\u0307\u0302\u0327\u0328\u0345\u0344\u0340\u0334\u20dd",
    *"\u00a0\u0085\u2028\u3000\u200b\u00ad\u001c\ufeff\ufffd\uffff\U000e0041\U0010ffff",
    *"ᄀ가각\u1161\u11a8ෙ\u0dcf\u0dca",
    *("[END]", "[UNK]", "[PAD]", " ▁ ", "'s", "Straße", "one", " zwei", "Köln", "don’t"),
]
EDGE_CASES = [
    *("", " ", "\n\t", "[END]", "[END] one", "[PAD] two", "¿?", "▁one", "ÓNE  Two\u00a0three "),
    "five " * 40,
]


def number_sentences(number, longest):
    words = [*WORDS, *WORDS, "ONE", "seven", "two,", "“three”", "fïve"]
    return [" ".join(random.choices(words, k=random.randint(1, longest))) for _ in range(number)]


def unusual_sentences(number, longest=12):
    return ["".join(random.choices(UNUSUAL, k=random.randrange(longest))) for _ in range(number)]


def client_code(folder):
    """Returns the code of the client in docs/overview.md for an export."""
    blocks = re.findall(r"```python\n(.*?)```", OVERVIEW.read_text(encoding="utf-8"), re.DOTALL)
    (local,) = (block for block in blocks if "tf.saved_model.load" in block)
    (over_http,) = (block for block in blocks if "urlopen" in block)
    local, found = re.subn('(?m)^folder = ".*"$', f"folder = {str(folder)!r}", local)
    assert found == 1
    return local + over_http


def client_of(folder):
    """Runs the client with an export and returns its names."""
    names = {}
    exec(compile(client_code(folder), "docs/overview.md", "exec"), names)
    return names


def check_same(translate, served, sentences):
    """Compares the translations of batches of sentences of similar length."""
    sentences = sorted(sentences, key=len)
    expected, found = translate(sentences), []
    for start in range(0, len(sentences), 32):
        found += served(sentences[start : start + 32])
    different = [
        (ascii(x), y, z) for x, y, z in zip(sentences, expected, found, strict=True) if y != z
    ]
    assert different == []
    return expected


# Quick: one export of the model that other tests use, too


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "1"
    export_saved_model(make_translate(), folder)
    return folder


@pytest.fixture(scope="module")
def client(folder):
    return client_of(folder)


@pytest.fixture(scope="module")
def served(client):
    return client["translate_served"]


def test_unusual_sentences_are_translated_identically(served):
    sentences = number_sentences(30, 6) + unusual_sentences(30) + EDGE_CASES
    assert len(set(check_same(make_translate(), served, sentences))) > 20


@pytest.mark.parametrize("sentences", [[""], ["one"], ["", "two one"], ["five"] * 65])
def test_any_batch_size_is_accepted(served, sentences):
    assert served(sentences) == make_translate()(sentences)


def test_other_sentences_and_padding_change_nothing(served, client):
    sentences = number_sentences(10, 8)
    assert served(sentences) == [served([sentence])[0] for sentence in sentences]
    ids = np.pad([client["source"].encode("two three").ids], ((0, 1), (0, 9)))
    (first, second), (alone,) = client["serve"](ids), client["serve"](ids[:1, :2])
    assert first == [*alone, *[0] * (len(first) - len(alone))] and any(alone) and not any(second)


def test_nothing_is_translated_to_nothing_by_a_model_that_never_ends(folder, client):
    loaded = tf.saved_model.load(folder)
    signature, words = loaded.signatures["serving_default"], client["target"].get_vocab_size()
    for variable in signature.variables:
        if variable.shape[0] == words:  # embeddings, of which those of the target are the output
            is_end = tf.range(words)[:, None] == END_ID
            variable.assign(tf.where(is_end, -1.0, tf.ones_like(variable)))
        elif len(variable.shape) == 1:  # the last normalization has a positive sum
            variable.assign(tf.ones_like(variable))
    ids = [client["source"].encode("two").ids, [0]]
    some, nothing = signature(source=tf.constant(ids, tf.int32))["target"].numpy()
    assert some[0] and not any(nothing)


def test_a_very_long_sentence_is_refused(served):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too long: split .* 10000 tokens"):
        served(["one", "one " * 10_000])
    assert served(["one"]) == [make_translate()("one")]  # keeps serving


@pytest.mark.parametrize("i", [-1, 99])
def test_other_ids_are_refused(client, i):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Ids must be in the source vocabul"):
        client["serve"]([[5, i]])


def test_signature_fits_tensorflow_serving(folder):
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    (given,) = signature.structured_input_signature[1].items()
    assert given == ("source", tf.TensorSpec([None, None], tf.int32, "source"))
    (returned,) = signature.structured_outputs.items()
    assert returned[0] == "target" and returned[1].dtype == tf.int32
    assert returned[1].shape.rank == 2


def test_the_client_translates_over_http(client):
    """The server answers as TensorFlow Serving's predict API does, in its column format."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps({"outputs": client["serve"](request["inputs"]["source"])})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1/models/translator:predict"
        serve = functools.partial(client["serve_over_http"], url=url)
        found = client["translate_served"](["one two", "", "five"], serve)
        server.shutdown()
    assert found == make_translate()(["one two", "", "five"])


def test_special_tokens_are_never_produced(served):
    translations = served(unusual_sentences(30) + list(SPECIAL_TOKENS))
    assert not any(token in translation for translation in translations for token in SPECIAL_TOKENS)


class UnsupportedTranslator:
    """A translator with other tokenizers."""

    source_tokenizer = target_tokenizer = object()


def test_refused_export_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"Only word and BPE tokenizers .* Received: object"):
        export_saved_model(UnsupportedTranslator, tmp_path / "served" / "1")
    assert list(tmp_path.iterdir()) == []


def test_another_backend_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match=r"KERAS_BACKEND=tensorflow .* Received: jax"):
        export_saved_model(make_translate(), tmp_path / "1")


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_a_saved_model_is_overwritten(tmp_path, overwrite):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(FileExistsError, match="Received"):
            export_saved_model(make_translate(), path, overwrite=overwrite)
    assert (tmp_path / "notes.txt").read_text() == "mine"


# Slow: sub-words, further exports, other processes


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    pairs = [*PAIRS, *((x.title() + "!", y.title() + "!") for x, y in PAIRS)]
    prepare = PrepareDataset(seed=1, tokenizer="bpe", vocab_size=60, share_vocabulary=True)
    dataset = prepare(pairs)
    trainer = make_trainer(dataset, tmp_path_factory.mktemp("run"), rate=0.0)
    trainer.train(*make_batches(dataset), 20)
    translate = Translate(trainer.model, dataset.source_tokenizer, dataset.target_tokenizer)
    folder = tmp_path_factory.mktemp("subwords") / "1"
    export_saved_model(translate, folder)
    return translate, client_of(folder)["translate_served"]


@pytest.mark.slow
@pytest.mark.parametrize("number", some_of({"1000": 1000, "10000": 10_000}, quick=["1000"]))
def test_sentences_are_translated_identically_with_subwords(subwords, number):
    translate, served = subwords
    sentences = number_sentences(number * 6 // 10, 6) + unusual_sentences(number * 3 // 10)
    sentences += number_sentences(number // 20, 40) + unusual_sentences(number // 20, 60)
    expected = check_same(translate, served, sentences + EDGE_CASES + ["x" * 1000])
    assert len(set(expected)) > min(number // 3, 2000)


@pytest.mark.slow
def test_a_sentence_of_the_maximum_length_is_translated_identically(subwords):
    translate, served = subwords
    (word,) = (x for x in ("one",) if len(translate.source_tokenizer.encode(f"{x} {x}")) == 2)
    sentence = f"{word} " * MAX_SOURCE_TOKENS
    assert served([sentence]) == [translate(sentence)]


@pytest.mark.slow
def test_serving_requires_only_tensorflow_and_tokenizers(folder):
    blocked = "import sys; sys.modules.update(keras=None, keras_transformer=None)\n"
    code = blocked + client_code(folder) + "print(translate_served(['two Öne', '', '’five’ four']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    expected = make_translate()(["two Öne", "", "’five’ four"])
    assert run.stdout.splitlines()[-1] == str(expected)


@pytest.mark.slow
def test_saved_model_cli_runs_the_signature(folder, client, tmp_path):
    ids = client["source"].encode("two three").ids
    np.save(tmp_path / "ids.npy", np.array([ids], "int32"))
    command = [
        *(Path(sys.executable).with_name("saved_model_cli"), "run", "--dir", folder),
        *("--tag_set", "serve", "--signature_def", "serving_default"),
        *("--inputs", f"source={tmp_path / 'ids.npy'}"),
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = re.search(r"Result for output key target:\n\[\[(.*?)\]\]", run.stdout, re.DOTALL)
    assert list(map(int, found[1].split())) == client["serve"]([ids])[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"beam_size": 3},
        {"min_length_ratio": 1.5, "max_length_ratio": 1.7, "no_repeat_ngram_size": 2},
        {"allow_unknown": True},
    ],
    ids=lambda options: "-".join(options),
)
def test_search_options_are_exported(tmp_path, options):
    export_saved_model(make_translate(), tmp_path / "1", **options)
    sentences = number_sentences(60, 6)
    expected = make_translate().hypotheses(sentences, **options)
    client = client_of(tmp_path / "1")
    ids = client["serve"]([encoding.ids for encoding in client["source"].encode_batch(sentences)])
    tokens = [[client["target"].id_to_token(i) for i in row if i] for row in ids]
    end = SPECIAL_TOKENS[END_ID]
    assert tokens == [[x for x in y[0].tokens if x != end] for y in expected]


@pytest.mark.slow
def test_the_lengths_of_the_model_hold(tmp_path):
    translate = make_translate(limited_model(enc_seq_length=5, dec_seq_length=3))
    export_saved_model(translate, tmp_path / "1")
    loaded = tf.saved_model.load(str(tmp_path / "1"))

    def serve(sentence):
        ids = [translate.source_tokenizer.encode(sentence)]
        return loaded.signatures["serving_default"](source=tf.constant(ids, tf.int32))

    found = serve("one two three four")["target"].numpy()
    assert found.shape == (1, 3)
    assert translate.target_tokenizer.decode(found[0]) == translate("one two three four")
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 4 tokens"):
        serve("one two three four five")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_saved_model_is_replaced_only_with_overwrite_and_atomically(tmp_path):
    folder = tmp_path / "1"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text("old")
    (folder / "variables" / "old").write_text("old")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"set `overwrite` to replace.*Received: .*1"):
        export_saved_model(make_translate(), folder)
    with pytest.raises(OSError, match="could not be written"), full_disk(4096):
        export_saved_model(make_translate(), folder, overwrite=True)
    assert contents(tmp_path) == before
    export_saved_model(make_translate(), str(folder), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert not (folder / "variables" / "old").exists()
    assert client_of(folder)["translate_served"](["one two"]) == [make_translate()("one two")]
