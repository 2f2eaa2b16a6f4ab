"""Tests of loading published Marian models, including damaged and unsupported ones."""

import json
import sys

import numpy as np
import pytest
from layer_contract import numpy
from marian_files import (
    FF,
    MARIAN,
    D,
    publish_marian,
    publish_tokenizers,
    read_sentences,
    sentencepiece,
    train_pieces,
)
from safetensors.numpy import load_file, save_file

from keras_transformer import BlockSettings, MarianTokenizer, TransformerModel, Translate
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.data.tokenizers import WordTokenizer, encode_source
from keras_transformer.export.ctranslate2 import export_ctranslate2
from keras_transformer.models.marian import read_marian

ORDER = [0, 3, 1, 4, 2, 5]  # permutation of the model axis that interleaves sines and cosines
FILES = ("config.json", "model.safetensors", "vocab.json", "source.spm", "target.spm")
SENTENCES = ["The sun is shining.", "", "We are at home.", "日 is unknown"]


@pytest.fixture
def folder(tmp_path):
    publish_marian(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    """The tokenizers of the source and the target language."""
    folder = tmp_path_factory.mktemp("tokenizers")
    publish_tokenizers(folder)
    return MarianTokenizer.load(folder)


def change_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    return config["vocab_size"]


def check_error(folder, message, error=ValueError):
    with pytest.raises(error, match=message):
        Translate.from_marian(folder)


class TestModel:
    def test_every_weight_is_loaded(self, folder):
        weights = load_file(folder / "model.safetensors")
        model, source, _ = read_marian(folder)
        # The published row of padding is loaded twice, as [PAD] and as [START].
        for name, axis in (("model.shared.weight", 0), ("final_logits_bias", 1)):
            weights[name] = np.take(weights[name], source.published_ids, axis=axis)
        found = sorted(w.astype("float64").sum() for w in model.get_weights())
        expected = sorted(w.astype("float64").sum() for w in weights.values())
        np.testing.assert_allclose(found, expected, rtol=1e-6)

    def test_special_tokens_come_first(self, folder):
        weights = load_file(folder / "model.safetensors")
        vectors, bias = weights["model.shared.weight"], weights["final_logits_bias"][0]
        model = Translate.from_marian(folder).model
        found = numpy(model.source_embedding.words.embeddings)
        for ours, theirs in ((PADDING_ID, -1), (UNKNOWN_ID, 1), (START_ID, -1), (END_ID, 0)):
            np.testing.assert_array_equal(found[ours], vectors[theirs, ORDER])
            assert numpy(model.bias)[ours] == bias[theirs]
        np.testing.assert_array_equal(found[4:], vectors[2:-1, ORDER])

    def test_sinusoids_are_interleaved(self, folder):
        """Marian concatenates sines and cosines, so loading permutes the model axis."""
        weights = load_file(folder / "model.safetensors")
        translate = Translate.from_marian(folder)
        angles = np.arange(5)[:, None] / 10000 ** (np.arange(0, D, 2) / D)
        positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        theirs = weights["model.shared.weight"][10:15] * np.sqrt(D) + positions
        published = translate.source_tokenizer.published_ids
        ids = np.array([[published.index(i) for i in range(10, 15)]])
        ours = numpy(translate.model.source_embedding(ids))
        np.testing.assert_allclose(ours[0], theirs[:, ORDER], atol=1e-5)

    def test_feed_forward_weights_are_permuted_on_the_model_axis(self, folder):
        weights = load_file(folder / "model.safetensors")
        layer = Translate.from_marian(folder).model.decoder.layers[0]
        inner, outer = (
            [numpy(weight) for weight in part.weights]
            for part in (layer.feed_forward.inner, layer.feed_forward.outer)
        )
        name = "model.decoder.layers.0.fc"
        np.testing.assert_array_equal(inner[0], weights[f"{name}1.weight"][:, ORDER].T)
        np.testing.assert_array_equal(inner[1], weights[f"{name}1.bias"])
        np.testing.assert_array_equal(outer[0], weights[f"{name}2.weight"][ORDER].T)
        np.testing.assert_array_equal(outer[1], weights[f"{name}2.bias"][ORDER])

    def test_arguments_come_from_the_config(self, folder):
        change_config(folder, activation_function="relu")
        model = Translate.from_marian(folder, dtype="mixed_bfloat16").model
        config, expected = model.get_config(), {"h": 2, "d_k": 3, "d_v": 3, "d_model": D, "n": 1}
        expected |= {"rate": 0.1, "attention_rate": 0.2, "activation_rate": 0.3, "d_ff": FF}
        expected |= {"activation": "relu", "enc_seq_length": None, "dec_seq_length": None}
        expected |= {"tie_output": True, "share_embeddings": True, "output_bias": True}
        assert {name: config[name] for name in expected} == expected
        assert model.compute_dtype == "bfloat16" and not model.settings.norm_first

    def test_tied_copies_and_position_tables_are_ignored(self, folder):
        expected = Translate.from_marian(folder).model.get_weights()
        vocab_size = change_config(folder)
        weights = load_file(folder / "model.safetensors")
        for name in ("lm_head.weight", "model.decoder.embed_tokens.weight"):
            weights[name] = weights["model.shared.weight"]
        weights["model.encoder.embed_positions.weight"] = np.zeros((64, D), "float32")
        assert weights.pop("model.shared.weight").shape == (vocab_size, D)
        save_file(weights, folder / "model.safetensors")
        for one, other in zip(
            Translate.from_marian(folder).model.get_weights(), expected, strict=True
        ):
            np.testing.assert_array_equal(one, other)


class TestTranslating:
    def test_streaming_beam_search_and_prefixes(self, folder):
        translate = Translate.from_marian(folder, batch_tokens=64)
        plain = translate(SENTENCES)
        assert plain[1] == "" and all(isinstance(text, str) for text in plain)
        assert [x[0].text for x in translate.stream(iter(SENTENCES), window=2)] == plain
        best = translate.hypotheses(SENTENCES, beam_size=2, n_best=2)
        assert [len(hypotheses) for hypotheses in best] == [2, 1, 2, 2]
        continued = translate(SENTENCES[0], prefixes="Die Sonne")
        assert continued.startswith("Die Sonne")
        assert "[UNK]" not in translate(SENTENCES[-1], replace_unknown=True)

    def test_attention_is_aligned_with_the_tokens(self, folder):
        translate = Translate.from_marian(folder)
        (found,) = translate.hypotheses(SENTENCES[0], return_attention=True)[0]
        source = translate.source_tokenizer
        assert found.source_tokens == [*source.tokenize(SENTENCES[0]), "[END]"]
        shape = (1, 2, len(found.tokens), len(found.source_tokens))
        assert found.attention["cross"].shape == shape

    @pytest.mark.slow
    def test_ctranslate2_has_the_output_bias(self):
        pytest.importorskip("ctranslate2")
        tokenizer = WordTokenizer.train([" ".join(f"w{i}" for i in range(30))])
        settings = BlockSettings(h=2, d_model=8, d_ff=16)
        sizes = (tokenizer.vocab_size, tokenizer.vocab_size)
        model = TransformerModel(*sizes, settings=settings, tie_output=True, output_bias=True)
        model.build(((None, None), (None, None)))
        model.bias.assign(np.random.default_rng(0).normal(scale=3.0, size=tokenizer.vocab_size))
        translate = Translate(model, tokenizer, tokenizer, engine="ctranslate2")
        sentences = [f"w{i} w{i + 1} w7" for i in range(29)]
        expected = translate(sentences)
        assert Translate(model, tokenizer, tokenizer)(sentences) == expected
        model.bias.assign(np.zeros(tokenizer.vocab_size))
        assert Translate(model, tokenizer, tokenizer)(sentences) != expected

    def test_ctranslate2_export_of_marian_is_refused(self, folder, tmp_path):
        translate = Translate.from_marian(folder)
        with pytest.raises(ValueError, match=r"converter\. Received: MarianTokenizer$"):
            export_ctranslate2(translate, tmp_path / "exported")


class TestTokenizer:
    def test_decoding_inverts_encoding(self, tokenizers):
        for tokenizer, sentences in zip(tokenizers, read_sentences(100), strict=True):
            for sentence in sentences:
                ids = tokenizer.encode(sentence)
                if UNKNOWN_ID not in ids:
                    assert tokenizer.decode([START_ID, *ids, END_ID, 7]) == sentence
            assert tokenizer.normalize("  two   spaces ") == "two spaces"

    def test_published_ids_follow_the_special_tokens(self, tokenizers):
        source, target = tokenizers
        size = source.vocab_size
        assert size == target.vocab_size == len(set(source.published_ids)) + 1
        assert source.published_ids == [size - 2, 1, size - 2, 0, *range(2, size - 2)]
        assert source.tokens(range(4)) == ["[PAD]", "[UNK]", "[START]", "[END]"]

    def test_a_language_code_is_a_token_only_at_the_start(self, tokenizers):
        source, _ = tokenizers
        assert source.tokenize(">>deu<< The sun")[0] == ">>deu<<"
        assert source.encode(">>xyz<< The sun")[0] == UNKNOWN_ID
        assert source.words(">>xyz<< The sun")[0] == ">>xyz<<"
        assert ">>deu<<" not in source.words("The >>deu<< sun") + source.words(">> The sun")
        assert source.normalize(">>deu<<The sun") == ">>deu<< The sun"

    def test_special_token_names_are_treated_as_text(self, tokenizers):
        source, _ = tokenizers
        for text in ("</s>", "<unk>", "<pad>", "[PAD]", "[END]"):
            assert min(set(source.encode(text)) - {UNKNOWN_ID}, default=END_ID + 1) > END_ID
        pieces, _ = train_pieces("日本語" * 9, 7)
        processor = sentencepiece.SentencePieceProcessor(model_proto=pieces)
        vocabulary = {"</s>": 0, "<unk>": 1, "▁": 2, "<pad>": 3}
        tokenizer = MarianTokenizer(processor, vocabulary)
        assert tokenizer.words("</s>") == ["▁", "</s>"]  # SentencePiece merges unknown characters
        assert tokenizer.encode("</s>") == [END_ID + 1, UNKNOWN_ID]

    def test_unknown_pieces_can_be_replaced(self, tokenizers):
        _, target = tokenizers
        ids = target.encode("Das 日 ist 本.")
        assert ids.count(UNKNOWN_ID) == 2
        unknown = [w for w, i in zip(target.words("Das 日 ist 本."), ids, strict=True) if i == 1]
        assert unknown == ["日", "本"]
        assert target.decode(ids, unknown) == target.normalize("Das 日 ist 本.") == "Das 日 ist 本."
        assert target.decode(ids, ["x"]).count("[UNK]") == 1
        assert target.decode([PADDING_ID, *ids, PADDING_ID], unknown) == "Das 日 ist 本."

    def test_empty_text_has_no_tokens(self, tokenizers):
        for tokenizer in tokenizers:
            assert tokenizer.encode("") == tokenizer.encode("  ") == []
            assert encode_source(tokenizer, "") == [END_ID] and tokenizer.decode([]) == ""


class TestInvalidFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_a_missing_file_is_named(self, folder, name):
        (folder / name).unlink()
        check_error(folder, rf"There is no {name}\. Received: ", FileNotFoundError)

    def test_all_missing_tokenizer_files_are_named(self, folder):
        for name in FILES[2:]:
            (folder / name).unlink()
        message = r"There is no vocab\.json and no source\.spm and no target\.spm\."
        check_error(folder, message, FileNotFoundError)

    @pytest.mark.parametrize("name", FILES[2:])
    @pytest.mark.parametrize("fraction", (0.0, 0.5, 0.99))
    def test_a_truncated_tokenizer_file_is_refused(self, folder, name, fraction):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(fraction * len(content))])
        check_error(
            folder, rf"{name} is not (valid JSON|a SentencePiece model).*Received: .*{name}$"
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"model_type": "bert"}, r"another architecture: expected marian\. Received: 'bert'$"),
            ({"scale_embedding": False}, r"supported\. Received: \{'scale_embedding': False\}$"),
            ({"decoder_layers": 2}, r"Received: \{'decoder_layers': 2\}$"),
            ({"tie_word_embeddings": False}, r"Received: \{'tie_word_embeddings': False\}$"),
            ({"decoder_vocab_size": 7}, r"Received: \{'decoder_vocab_size': 7\}$"),
            ({"activation_function": "tanh"}, r"activation must be one of.*Received: 'tanh'$"),
            ({"eos_token_id": 2}, r"different models: .*Received: \{'eos_token_id': 2\}$"),
            ({"vocab_size": 9}, r"different models: .*Received: \{'vocab_size': 9\}$"),
        ],
    )
    def test_an_unsupported_config_is_refused(self, folder, change, message):
        change_config(folder, **change)
        check_error(folder, message)

    def test_a_config_without_a_size_is_refused(self, folder):
        config = {name: value for name, value in MARIAN.items() if name != "d_model"}
        (folder / "config.json").write_text(json.dumps(config))
        check_error(folder, r"config\.json lacks d_model, vocab_size, pad_token_id, decoder_start")

    @pytest.mark.parametrize(
        ("vocabulary", "message"),
        [
            ([], r"vocab\.json must contain a JSON object\. Received: \[\]$"),
            ({"</s>": "0"}, r"must be a dictionary of integers\. Received: "),
            ({"</s>": 0, "\ud800": 1}, r"no surrogates\. Received: "),
            ({"</s>": 0, "<unk>": 1, "<pad>": 3}, r"0, 1, 2.*Received: 3 tokens, 3 ids$"),
            ({"</s>": 0, "<unk>": 1, "<pad>": 1}, r"0, 1, 2.*Received: 3 tokens, 2 ids$"),
            ({"</s>": 0, "a": 1}, r"Received: no \['<pad>', '<unk>'\]$"),
        ],
    )
    def test_an_invalid_vocabulary_is_refused(self, folder, vocabulary, message):
        (folder / "vocab.json").write_text(json.dumps(vocabulary))
        check_error(folder, message)

    @pytest.mark.parametrize("name", FILES)
    def test_a_file_that_is_not_regular_is_refused(self, folder, name):
        (folder / name).unlink()
        (folder / name).mkdir()
        check_error(folder, rf"{name} must be a regular file\. Received: ")

    def test_a_huge_sentencepiece_model_is_refused(self, folder):
        with open(folder / "target.spm", "r+b") as file:
            file.truncate(1 << 30)  # sparse
        check_error(folder, r"target\.spm must have at most 16,777,216 bytes\. Received: ")

    @pytest.mark.parametrize("seed", range(3))
    def test_a_sentencepiece_model_of_random_bytes_is_refused(self, folder, seed):
        (folder / "source.spm").write_bytes(np.random.default_rng(seed).bytes(1000))
        check_error(folder, r"source\.spm is not a SentencePiece model")

    @pytest.mark.parametrize("field", ("d_model", "encoder_layers", "encoder_attention_heads"))
    @pytest.mark.parametrize("size", (10**9, 0, 1.5, "8", None))
    def test_an_implausible_size_is_refused(self, folder, field, size):
        change_config(folder, **{field: size})
        check_error(folder, rf"`{field}` must be an int from 1 to \d+\. Received: {field}=")

    def test_a_model_far_larger_than_its_file_is_refused(self, folder):
        change_config(folder, d_model=60_000, encoder_ffn_dim=60_000, decoder_ffn_dim=60_000)
        check_error(folder, r"describe the model in the file.*Received: [\d,]+ parameters, but")

    def test_sentencepiece_is_required(self, folder, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        check_error(folder, r"pip install 'keras3-transformer\[marian\]'\. Received: ", ImportError)
