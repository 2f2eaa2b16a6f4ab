"""A SavedModel gives the same translations as `Translate`, also in a process without Keras."""

import json
import random
import re
import subprocess
import sys

import keras
import pytest
import tokenizers
from full_disk import full_disk
from tiny import PAIRS, WORDS, make_batches, make_dataset, make_trainer

from keras_transformer import Translate, WordTokenizer
from keras_transformer._utils.special_tokens import END_ID, SPECIAL_TOKENS
from keras_transformer.runs.config import MAX_SOURCE_TOKENS

if keras.config.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

import tensorflow as tf

from keras_transformer.export.saved_model import Decoder, Encoder, export_saved_model

pytestmark = pytest.mark.slow

SIGNATURE = [tf.TensorSpec([None], tf.string)]
ALL_CHARACTERS = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
TEXTS = {
    "plain": [source for source, _ in PAIRS],
    "German": [
        "Grüße aus Köln! Geht's dir gut?",
        "„Schöne Straße“, sagte ÄNNE – um 7:30 Uhr (fast).",
        "Der Fuß; das Maß … 50 %!",
    ],
    "phone": ["it’s fine, isn’t it?", "oh, don’t ask – là-bas ﬁn"],
}
# Combining marks in and out of canonical order, pairs that compose, unusual spaces, letters that
# become longer in lower case, apostrophes, the space marker, control characters, and edge cases of
# UTF-8.
UNUSUAL = [
    *"aAouUeEsSßẞ.,!?-_'’▁ \t\n\r\0ΑΣσςİIıKÅ🙂👩\u200d中ｱﬁ½²٣ๅกัं",
    *"\u0301\u0308\u0323\u0307\u0302\u0327\u0328\u0345\u0344\u0340\u0334\u20dd",
    *"\u00a0\u0085\u2028\u3000\u200b\u00ad\u001c\ufeff\ufffd\uffff\U000e0041\U0010ffff",
    *"ᄀ가각\u1161\u11a8ෙ\u0dcf\u0dca",
    *("[END]", "[UNK]", "[PAD]", " ▁ ", "'s", "Straße", "one", " zwei", "Köln", "don’t"),
]


@pytest.fixture(scope="module")
def translate(tmp_path_factory):
    dataset = make_dataset()
    trainer = make_trainer(dataset, tmp_path_factory.mktemp("run"), rate=0.0)
    trainer.train(*make_batches(dataset), 20)
    return Translate(trainer.model, dataset.source_tokenizer, dataset.target_tokenizer)


@pytest.fixture(scope="module")
def folder(translate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "1"
    export_saved_model(translate, folder)
    return folder


@pytest.fixture(scope="module")
def served(folder):
    function = tf.saved_model.load(str(folder)).signatures["serving_default"]

    def translations(sentences):
        found = function(sentences=tf.constant(sentences, tf.string))["translations"]
        return [sentence.decode() for sentence in found.numpy()]

    return translations


@pytest.fixture(scope="module", params=TEXTS)
def tokenizer(request):
    return WordTokenizer.train(TEXTS[request.param])


def unusual_sentences(number, longest=12):
    return ["".join(random.choices(UNUSUAL, k=random.randrange(longest))) for _ in range(number)]


def number_sentences(number, longest):
    words = [*WORDS, *WORDS, "ONE", "seven", "two,", "“three”", "fïve"]
    return [" ".join(random.choices(words, k=random.randint(1, longest))) for _ in range(number)]


def assert_same_tokens(tokenizer, sentences):
    """Compares tokens instead of ids, because most tokens map to the unknown id."""
    encoder = Encoder(tokenizer)
    tokenize = tf.function(
        lambda x: tf.strings.reduce_join(encoder.tokenize(x), axis=1, separator=" "), SIGNATURE
    )
    reference = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    for start in range(0, len(sentences), 100_000):
        part = sentences[start : start + 100_000]
        for sentence, found in zip(part, tokenize(part).numpy(), strict=True):
            normal = reference.normalizer.normalize_str(sentence)
            expected = " ".join(x for x, _ in reference.pre_tokenizer.pre_tokenize_str(normal))
            assert found.decode() == expected, ascii(sentence)


def test_a_thousand_sentences_are_translated_identically(translate, served):
    sentences = number_sentences(555, 6) + unusual_sentences(350) + number_sentences(80, 40)
    sentences += ["", " ", "\n\t", "[END]", "[END] one", "[PAD] two", "¿?", "▁one", "x" * 5000]
    sentences += [*number_sentences(4, 120), "one " * MAX_SOURCE_TOKENS, "ÓNE  Two\u00a0three "]
    random.shuffle(sentences)
    assert len(sentences) == 1000
    expected = translate(sentences)
    assert len(set(expected)) > 300
    assert served(sentences) == expected


@pytest.mark.parametrize("sentences", [[], [""], ["one"], ["", "two one"], ["five"] * 65])
def test_any_batch_size_is_accepted(translate, served, sentences):
    assert served(sentences) == translate(sentences)


def test_other_sentences_in_the_batch_change_nothing(served):
    sentences = number_sentences(20, 8)
    assert served(sentences) == [served([sentence])[0] for sentence in sentences]


def test_a_very_long_sentence_is_refused(translate, served):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"too long: split .* 10000 tokens"):
        served(["one", "one " * 10_000])
    assert served(["one"]) == [translate("one")]  # keeps serving


def test_invalid_utf8_is_read_as_replacement_characters(served):
    assert served([b"one \xff two \xed\xa0\x80"]) == served(["one \ufffd two \ufffd\ufffd\ufffd"])


def test_signature_fits_tensorflow_serving(folder):
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    (given,) = signature.structured_input_signature[1].items()
    assert given == ("sentences", tf.TensorSpec([None], tf.string, "sentences"))
    (returned,) = signature.structured_outputs.items()
    assert returned[0] == "translations" and returned[1].dtype == tf.string
    assert returned[1].shape.rank == 1


def test_serving_requires_only_tensorflow(folder, translate):
    code = """if True:
        import sys
        for name in ("keras_transformer", "keras", "tokenizers", "tensorflow_text"):
            sys.modules[name] = None
        import tensorflow as tf
        served = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
        found = served(sentences=tf.constant(["two Öne", "", "five ’five’ four"]))["translations"]
        sys.stdout.buffer.write(b"|".join(found.numpy()))
    """
    run = subprocess.run([sys.executable, "-c", code, folder], capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.decode().split("|") == translate(["two Öne", "", "five ’five’ four"])


@pytest.mark.exhaustive  # the next test covers the first 12,544 of them
def test_all_characters_are_tokenized_identically():
    # Trained on text with apostrophes and non-ASCII letters, the tokenizer keeps all kinds of
    # characters.
    tokenizer = WordTokenizer.train(TEXTS["phone"])
    assert_same_tokens(tokenizer, [f"{c} a{c}b{c}" for c in ALL_CHARACTERS])


def test_characters_with_marks_are_tokenized_identically(tokenizer):
    first = ALL_CHARACTERS[:0x3100]
    assert_same_tokens(
        tokenizer, [form.format(c) for c in first for form in ("{}", "a{}\u0301", " {}’s")]
    )


def test_ids_match(tokenizer):
    sentences = unusual_sentences(5000, 20)
    found = tf.function(Encoder(tokenizer), SIGNATURE)(sentences)
    assert found.dtype == tf.int32
    assert found.to_list() == [tokenizer.encode(sentence) for sentence in sentences]
    assert_same_tokens(tokenizer, sentences)


def test_capital_sigma_is_lowercased_identically():
    tokenizer = WordTokenizer.train(["σας ας ασ i̇"])
    sentences = ["ΑΣ", "ΣΑΣ ΑΣ.", "ΑΣ'Σ", "İ", "I\u0307"]
    assert_same_tokens(tokenizer, sentences)
    expected = [tokenizer.encode(sentence) for sentence in sentences]
    assert Encoder(tokenizer)(tf.constant(sentences)).to_list() == expected


def test_random_ids_are_decoded_identically(tokenizer):
    ids = [random.choices(range(tokenizer.vocab_size), k=12) for _ in range(2000)]
    ids += [random.choices(range(END_ID + 3), k=12) for _ in range(500)]  # mostly special tokens
    found = [sentence.decode() for sentence in Decoder(tokenizer)(tf.constant(ids)).numpy()]
    assert found == [tokenizer.decode(row) for row in ids]
    assert Decoder(tokenizer)(tf.zeros((2, 0), tf.int32)).numpy().tolist() == [b"", b""]


def changed(path, value):
    """Creates a tokenizer whose JSON has another value at a path."""
    rules = json.loads(WordTokenizer.train(["a"]).to_json())
    *parents, last = path
    part = rules
    for name in parents:
        part = part[name]
    part[last] = value
    return WordTokenizer(tokenizers.Tokenizer.from_str(json.dumps(rules)))


@pytest.mark.parametrize(
    "path, value, named",
    [
        (["normalizer"], {"type": "NFKC"}, '{"type": "NFKC"}'),
        (["normalizer"], None, "{}"),
        (["normalizer", "normalizers", 3], {"type": "StripAccents"}, "StripAccents"),
        (["normalizer", "normalizers", 6, "pattern"], {"Regex": r"\d"}, r"\\d"),
        (["pre_tokenizer"], {"type": "Whitespace"}, '{"pre_tokenizer": {"type": "Whitespace"}}'),
        (["pre_tokenizer", "pretokenizers", 0, "prepend_scheme"], "never", "never"),
        (["decoder"], {"type": "Fuse"}, '{"decoder": {"type": "Fuse"}}'),
        (["model"], {"type": "BPE", "vocab": {"a": 0}, "merges": []}, '{"model": {"type": "BPE"'),
        (["model", "unk_token"], "a", '"unk_token": "a"'),
    ],
)
def test_unsupported_tokenizer_rules_are_refused(path, value, named):
    expected = r"supports only the rules .* Received: .*" + re.escape(named)
    with pytest.raises(ValueError, match=expected):
        Encoder(changed(path, value))


def test_single_normalizer_is_supported():
    assert_same_tokens(changed(["normalizer"], {"type": "NFC"}), [" A\u0301 ▁ b", " ", "a  b "])


class UnsupportedTranslator:
    """A translator with an unsupported tokenizer."""

    source_tokenizer = target_tokenizer = changed(["decoder"], {"type": "Fuse"})
    batch_size = 64


def test_refused_export_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="supports only the rules"):
        export_saved_model(UnsupportedTranslator, tmp_path / "served" / "1")
    assert list(tmp_path.iterdir()) == []


def test_another_backend_is_refused(translate, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(RuntimeError, match=r"KERAS_BACKEND=tensorflow .* Received: jax"):
        export_saved_model(translate, tmp_path / "1")


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_saved_model_is_replaced_only_with_overwrite_and_atomically(translate, tmp_path):
    folder = tmp_path / "1"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text("old")
    (folder / "variables" / "old").write_text("old")
    before = contents(tmp_path)
    with pytest.raises(FileExistsError, match=r"set `overwrite` to replace.*Received: .*1"):
        export_saved_model(translate, folder)
    with pytest.raises(OSError, match="could not be written"), full_disk(4096):
        export_saved_model(translate, folder, overwrite=True)
    assert contents(tmp_path) == before
    export_saved_model(translate, str(folder), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["1"]
    assert not (folder / "variables" / "old").exists()
    loaded = tf.saved_model.load(str(folder))
    found = loaded.translate(tf.constant(["one two"]))["translations"]
    assert found.numpy()[0].decode() == translate("one two")


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_a_saved_model_is_overwritten(translate, tmp_path, overwrite):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(FileExistsError, match="Received"):
            export_saved_model(translate, path, overwrite=overwrite)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_special_tokens_are_never_produced(served):
    translations = served(unusual_sentences(100) + list(SPECIAL_TOKENS))
    assert not any(token in translation for translation in translations for token in SPECIAL_TOKENS)
