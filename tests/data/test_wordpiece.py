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


def test_known_words_are_whole_and_others_are_put_together():
    tokenizer = make()
    assert tokenizer.tokens(tokenizer.encode("The cat").ids) == ["the", "cat"]
    parts = tokenizer.tokens(tokenizer.encode("catty").ids)
    assert len(parts) > 1 and "".join(part.removeprefix("##") for part in parts) == "catty"
    assert parts[0][0] != "#" and all(part.startswith("##") for part in parts[1:])


def test_signs_never_seen_are_unknown():
    tokenizer = make()
    assert tokenizer.encode("語 cat").ids == [1, *tokenizer.encode("cat").ids]


def test_capitals_stay_if_one_says_so():
    plain, cased = make(), make(lowercase=False)
    assert plain.encode("The").ids == plain.encode("the").ids
    assert cased.encode("The").ids != cased.encode("the").ids


def test_the_vocabulary_is_as_large_as_allowed_at_most():
    full = make().vocab_size
    assert make(vocab_size=full - 5).vocab_size == full - 5


def test_the_same_texts_give_the_same_file(tmp_path):
    for name in "abcd":
        make().save(tmp_path / name)
    assert len({(tmp_path / name).read_bytes() for name in "abcd"}) == 1


def test_offsets_are_places_in_the_text_as_it_was_given():
    tokenizer, text = make(), "  THE  cäts.\nunhappily "
    ids, offsets = tokenizer.encode(text)
    found = [text[start:end].lower().replace("ä", "a") for start, end in offsets]
    assert found == [token.removeprefix("##") for token in tokenizer.tokens(ids)]


def test_special_tokens_that_somebody_types_are_text():
    ids = make().encode("the [SEP] [MASK] cat").ids
    assert not {2, 3, 4} & set(ids) and len(ids) > 4


def test_continues_are_the_tokens_that_begin_no_word():
    tokenizer = make()
    continues = tokenizer.continues()
    assert continues.shape == (tokenizer.vocab_size,)
    for i, continued in enumerate(continues):
        assert tokenizer.tokens([i])[0].startswith("##") == continued


def test_decoding_leaves_out_special_tokens():
    tokenizer = make()
    ids, _ = tokenizer.add_special_tokens(tokenizer.encode("the unhappily cat").ids)
    assert tokenizer.decode([*ids, 0, 0]) == "the unhappily cat"


class TestJoin:
    def test_one_text(self):
        assert make().add_special_tokens([7, 8]) == ([2, 7, 8, 3], [0, 0, 0, 0])

    def test_two_texts(self):
        assert make().add_special_tokens([7, 8], [9]) == ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])

    def test_the_longer_text_is_cut_and_nothing_given_is_changed(self):
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

    def test_there_must_be_room(self):
        with pytest.raises(ValueError, match=r"too small for a text\. Received: length=2$"):
            make().add_special_tokens([5], [6], length=2)


def test_arrays_are_padded_and_cut():
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
    def test_loaded_is_as_saved(self, tmp_path):
        tokenizer, text = make(), "Unhappily, the HÄTS sat. 語"
        tokenizer.save(tmp_path / "tokenizer.json")
        again = WordPieceTokenizer.load(tmp_path / "tokenizer.json")
        assert again.encode(text) == tokenizer.encode(text)
        assert again.vocab_size == tokenizer.vocab_size
        assert again.decode(again.encode(text).ids) == tokenizer.decode(tokenizer.encode(text).ids)

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no tokenizer file; .*Received: "):
            WordPieceTokenizer.load(tmp_path / "tokenizer.json")

    @pytest.mark.parametrize("text", ["", "{}", "[1, 2", '{"model": 1}'])
    def test_no_tokenizer(self, tmp_path, text):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=r"is not a tokenizer file: .*Received: .*a\.json$"):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_a_tokenizer_of_another_kind(self, tmp_path):
        WordTokenizer.train(TEXTS).save(tmp_path / "a.json")
        with pytest.raises(ValueError, match=r"WordPiece vocabulary\. Received: WordLevel$"):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_a_vocabulary_without_a_mask(self, tmp_path):
        make().save(tmp_path / "a.json")
        text = (tmp_path / "a.json").read_text().replace("[MASK]", "[GAP]")
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=r"Received: the ids \[0, 1, 2, 3, None\]$"):
            WordPieceTokenizer.load(tmp_path / "a.json")

    def test_padding_that_is_not_zero(self, tmp_path):
        make().save(tmp_path / "a.json")
        content = json.loads((tmp_path / "a.json").read_text())
        content["added_tokens"] = []
        vocabulary = content["model"]["vocab"]
        vocabulary["[PAD]"], vocabulary["[UNK]"] = 1, 0
        (tmp_path / "a.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"with the id 0\. Received: the ids \[1, 0, 2"):
            WordPieceTokenizer.load(tmp_path / "a.json")


@pytest.mark.parametrize("texts", [[], [""], [" \n", ""]])
def test_texts_without_a_word_are_refused(texts):
    with pytest.raises(ValueError, match=rf"contain no word.*Received: {len(texts)} texts"):
        make(texts)
