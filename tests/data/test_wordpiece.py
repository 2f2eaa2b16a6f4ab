import json

import numpy as np
import pytest

from keras_transformer.data.tokenizers import WordTokenizer
from keras_transformer.data.wordpiece import WordPieceTokenizer

TEXTS = ["The cat sat on the mat.", "A cat and a hat!", "The hats of the cats", "unhappily happy"]


def make(texts=TEXTS, **options):
    return WordPieceTokenizer.train(texts, **{"min_count": 1, **options})


def test_the_special_tokens_come_first():
    tokenizer = make()
    ids = (tokenizer.unknown_id, tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id)
    assert ids == (1, 2, 3, 4) and tokenizer.special_ids == (0, 1, 2, 3, 4)
    assert tokenizer.tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_known_words_stay_whole_and_others_are_split_into_sub_words():
    tokenizer = make()
    assert tokenizer.tokens(tokenizer.encode("The cat").ids) == ["the", "cat"]
    parts = tokenizer.tokens(tokenizer.encode("catty").ids)
    assert len(parts) > 1 and "".join(part.removeprefix("##") for part in parts) == "catty"
    assert parts[0][0] != "#" and all(part.startswith("##") for part in parts[1:])


def test_unseen_characters_are_unknown():
    tokenizer = make()
    assert tokenizer.encode("語 cat").ids == [1, *tokenizer.encode("cat").ids]


def test_case_is_kept_without_lowercase():
    plain, cased = make(), make(lowercase=False)
    assert plain.encode("The").ids == plain.encode("the").ids
    assert cased.encode("The").ids != cased.encode("the").ids


def test_vocab_size_limits_the_vocabulary():
    full = make().vocab_size
    assert make(vocab_size=full - 5).vocab_size == full - 5


def test_training_is_deterministic(tmp_path):
    for name in "abcd":
        make().save(tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in "abcd"}) == 1


def test_offsets_refer_to_the_original_text():
    tokenizer, text = make(), "  THE  cäts.\nunhappily "
    ids, offsets = tokenizer.encode(text)
    found = [text[start:end].lower().replace("ä", "a") for start, end in offsets]
    assert found == [token.removeprefix("##") for token in tokenizer.tokens(ids)]


def test_special_tokens_in_a_text_are_ordinary_text():
    ids = make().encode("the [SEP] [MASK] cat").ids
    assert not {2, 3, 4} & set(ids) and len(ids) > 4


def test_continues_marks_tokens_that_continue_a_word():
    tokenizer = make()
    continues = tokenizer.continues()
    assert continues.shape == (tokenizer.vocab_size,)
    for i, continues_word in enumerate(continues):
        assert tokenizer.tokens([i])[0].startswith("##") == continues_word


def test_decode_skips_special_tokens():
    tokenizer = make()
    ids, _ = tokenizer.add_special_tokens(tokenizer.encode("the unhappily cat").ids)
    assert tokenizer.decode([*ids, 0, 0]) == "the unhappily cat"


class TestAddSpecialTokens:
    def test_one_text(self):
        assert make().add_special_tokens([7, 8]) == ([2, 7, 8, 3], [0, 0, 0, 0])

    def test_two_texts(self):
        assert make().add_special_tokens([7, 8], [9]) == ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])

    def test_the_longer_text_is_truncated_without_changing_the_arguments(self):
        first, second = [5, 6], [7, 8, 9, 10]
        assert make().add_special_tokens(first, second, length=7) == (
            [2, 5, 6, 3, 7, 8, 3],
            [0] * 4 + [1] * 3,
        )
        assert make().add_special_tokens(first, second, length=5) == (
            [2, 5, 3, 7, 3],
            [0] * 3 + [1] * 2,
        )
        assert make().add_special_tokens(first, length=3) == ([2, 5, 3], [0] * 3)
        assert (first, second) == ([5, 6], [7, 8, 9, 10])

    def test_too_small_a_length_is_refused(self):
        with pytest.raises(ValueError, match=r"too small for a text\. Received: length=2$"):
            make().add_special_tokens([5], [6], length=2)


def test_encode_batch_pads_and_truncates():
    tokenizer = make()
    ids, segments = tokenizer.encode_batch(["the cat", "the cat sat on the mat"], length=6)
    the, cat, sat, on = tokenizer.encode("the cat sat on").ids
    np.testing.assert_array_equal(ids, [[2, the, cat, 3, 0, 0], [2, the, cat, sat, on, 3]])
    np.testing.assert_array_equal(segments, np.zeros((2, 6)))
    ids, segments = tokenizer.encode_batch(["the"], ["cat"], length=6)
    np.testing.assert_array_equal(ids, [[2, the, 3, cat, 3, 0]])
    np.testing.assert_array_equal(segments, [[0, 0, 0, 1, 1, 0]])
    assert ids.dtype == segments.dtype == np.int32


class TestFiles:
    def test_a_loaded_tokenizer_equals_the_saved_one(self, tmp_path):
        tokenizer, text = make(), "Unhappily, the HÄTS sat. 語"
        tokenizer.save(tmp_path / "tokenizer.json")
        loaded = WordPieceTokenizer.load(tmp_path / "tokenizer.json")
        assert loaded.encode(text) == tokenizer.encode(text)
        assert loaded.vocab_size == tokenizer.vocab_size
        assert loaded.decode(loaded.encode(text).ids) == tokenizer.decode(
            tokenizer.encode(text).ids
        )

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no tokenizer file; .*Received: "):
            WordPieceTokenizer.load(tmp_path / "tokenizer.json")

    @pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"model": 1}'])
    def test_a_file_that_is_not_a_tokenizer_is_refused(self, tmp_path, text):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=r"is not (valid JSON|a tokenizer file): .*Received: "):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_another_tokenizer_class_is_refused(self, tmp_path):
        WordTokenizer.train(TEXTS).save(tmp_path / "a.json")
        with pytest.raises(ValueError, match=r"WordPiece vocabulary\. Received: 'WordLevel'$"):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_a_vocabulary_without_a_mask_token_is_refused(self, tmp_path):
        make().save(tmp_path / "a.json")
        text = (tmp_path / "a.json").read_text().replace("[MASK]", "[GAP]")
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=r"Received: the ids \[0, 1, 2, 3, None\]$"):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_a_padding_id_other_than_0_is_refused(self, tmp_path):
        make().save(tmp_path / "a.json")
        content = json.loads((tmp_path / "a.json").read_text())
        content["added_tokens"] = []
        vocabulary = content["model"]["vocab"]
        vocabulary["[PAD]"], vocabulary["[UNK]"] = 1, 0
        (tmp_path / "a.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"with the id 0\. Received: the ids \[1, 0, 2"):
            WordPieceTokenizer.load(tmp_path / "a.json")


class TestPublishedFiles:
    def load(self, folder, change):
        """Loads the file of a tokenizer after `change` has modified its content."""
        make().save(folder / "a.json")
        content = json.loads((folder / "a.json").read_text())
        change(content)
        (folder / "a.json").write_text(json.dumps(content))
        return WordPieceTokenizer.load(folder / "a.json")

    @pytest.mark.parametrize(
        ("section", "value"),
        [
            ("padding", {"strategy": {"Fixed": 10**9}}),
            ("truncation", {"max_length": 1}),
            ("post_processor", {"type": "TemplateProcessing", "single": []}),
            ("post_processor", {"type": "BertProcessing"}),
        ],
    )
    def test_padding_truncation_and_post_processing_are_ignored(self, tmp_path, section, value):
        tokenizer = self.load(tmp_path, lambda content: content.update({section: value}))
        assert tokenizer.encode("the cat") == make().encode("the cat")

    @pytest.mark.parametrize("lowercase", (True, False))
    def test_loading_preserves_the_options(self, tmp_path, lowercase):
        options = {"lowercase": lowercase, "strip_accents": not lowercase, "clean_text": False}
        tokenizer = self.load(tmp_path, lambda content: content["normalizer"].update(options))
        tokenizer.save(tmp_path / "b.json")
        assert (tmp_path / "b.json").read_text() == json.dumps(
            json.loads((tmp_path / "a.json").read_text()), indent=2, ensure_ascii=False
        )

    def test_added_tokens_follow_the_vocabulary(self, tmp_path):
        size, rules = make().vocab_size, dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        rules |= {"normalized": True, "special": False}
        tokens = [{"id": size + i, "content": text, **rules} for i, text in enumerate(("xyz", "q"))]
        tokenizer = self.load(
            tmp_path, lambda content: content["added_tokens"].extend(reversed(tokens))
        )
        assert tokenizer.vocab_size == size + 2
        assert tokenizer.encode("xyz the q").ids == [size, *make().encode("the").ids, size + 1]

    @pytest.mark.parametrize(
        ("section", "changes", "message"),
        [
            ("normalizer", {"type": "NFC"}, r"must be a BertNormalizer; no other.*Received: "),
            ("normalizer", {"lowercase": 1}, r"`lowercase` in .*Received: lowercase=1$"),
            ("normalizer", {"more": 1}, r"must have the options \['clean_text'.*Received: "),
            ("pre_tokenizer", {"type": "Whitespace"}, "must be a BertPreTokenizer"),
            ("decoder", {"type": "Fuse"}, "must be a WordPiece"),
            ("decoder", {"prefix": "@@"}, r"Received: prefix='@@'$"),
            ("model", {"unk_token": "cat"}, r"Received: unk_token='cat'$"),
            ("model", {"continuing_subword_prefix": 9 * "#"}, r"subword_prefix='#########'$"),
            ("model", {"max_input_chars_per_word": 10**9}, r"per_word=1000000000$"),
            ("model", {"max_input_chars_per_word": 0}, r"per_word=0$"),
            ("model", {"max_input_chars_per_word": "1"}, r"per_word='1'$"),
        ],
        ids=str,
    )
    def test_unsupported_components_are_refused(self, tmp_path, section, changes, message):
        with pytest.raises(ValueError, match=message):
            self.load(tmp_path, lambda content: content[section].update(changes))

    @pytest.mark.parametrize("section", ("normalizer", "pre_tokenizer", "decoder"))
    def test_a_missing_component_is_refused(self, tmp_path, section):
        with pytest.raises(ValueError, match=r"no other one is supported\. Received: None$"):
            self.load(tmp_path, lambda content: content.update({section: None}))

    def test_another_post_processor_is_refused(self, tmp_path):
        processor = {"type": "RobertaProcessing"}
        with pytest.raises(ValueError, match=r"post_processor of .*Received: .*'Roberta"):
            self.load(tmp_path, lambda content: content.update(post_processor=processor))

    @pytest.mark.parametrize("number", (-1, 10**6, 2**40))
    def test_a_vocabulary_with_gaps_is_refused(self, tmp_path, number):
        with pytest.raises(ValueError, match="gaps or duplicates"):
            self.load(tmp_path, lambda content: content["model"]["vocab"].update(new=number))

    @pytest.mark.parametrize(
        "changes",
        [{"id": 0}, {"id": 4.0}, {"content": ""}, {"content": 101 * "a"}, {"more": 1}],
        ids=str,
    )
    def test_invalid_added_tokens_are_refused(self, tmp_path, changes):
        with pytest.raises(ValueError, match=r"The added tokens of .*Received: "):
            self.load(tmp_path, lambda content: content["added_tokens"][4].update(changes))

    @pytest.mark.parametrize("added", (None, 1001 * [None]))
    def test_a_wrong_list_of_added_tokens_is_refused(self, tmp_path, added):
        with pytest.raises(ValueError, match=r"list of at most 1,000 added tokens\. Received: "):
            self.load(tmp_path, lambda content: content.update(added_tokens=added))


def test_a_vocabulary_with_repeated_tokens_is_refused():
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "a"]
    with pytest.raises(ValueError, match=r"gaps or duplicates\. Received: 6 tokens, 6 ids$"):
        WordPieceTokenizer.from_vocabulary(tokens)


@pytest.mark.parametrize("texts", [[], [""], [" \n", ""]])
def test_texts_without_a_word_are_refused(texts):
    with pytest.raises(ValueError, match=rf"contain no word.*Received: {len(texts)} texts"):
        make(texts)
