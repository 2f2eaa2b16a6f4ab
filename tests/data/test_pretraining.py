import gzip
import math

import numpy as np
import pytest

from keras_transformer.data.pretraining import PretrainingPairs, read_documents, unigram_entropy
from keras_transformer.data.wordpiece import WordPieceTokenizer

WORDS = [f"w{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
# Document i holds the words i, i + 1, …: their order shows whether one text follows another.
DOCUMENTS = [" ".join(WORDS[i : i + 5 + i % 4]) for i in range(50)]
LONG = " ".join(WORDS)
TOKENIZER = WordPieceTokenizer.train([*DOCUMENTS, LONG], min_count=1)
IDS = dict(zip(TOKENIZER.encode(LONG).ids, range(len(WORDS)), strict=True))
CLS, SEP, MASK = TOKENIZER.cls_id, TOKENIZER.sep_id, TOKENIZER.mask_id


def make(documents=DOCUMENTS, **options):
    options = {"seq_length": 16, "batch_size": 10, "seed": 1, **options}
    return PretrainingPairs(documents, TOKENIZER, **options)


def rows(batches):
    """Yields the ids of each example, its original ids, segments, masked positions and label."""
    for index in range(len(batches)):
        (ids, segments, positions), target = batches[index]
        for i in range(len(ids)):
            masked = target["words"][i] > 0
            original = ids[i].copy()
            original[positions[i][masked]] = target["words"][i][masked]
            yield ids[i], original, segments[i], positions[i][masked], target["next"][i]


def rows_of_20_epochs(**options):
    batches, found = make(**options), []
    for epoch in range(20):
        batches.set_epoch(epoch)
        found += rows(batches)
    return found


def texts(original, segments):
    """Returns the two texts between the special tokens, as indices into `WORDS`."""
    end = np.flatnonzero(original == SEP)
    first, second = original[1 : end[0]], original[end[0] + 1 : end[1]]
    assert original[0] == CLS and not original[end[1] + 1 :].any() and len(end) == 2
    np.testing.assert_array_equal(np.flatnonzero(segments), np.arange(end[0] + 1, end[1] + 1))
    return [IDS[i] for i in first], [IDS[i] for i in second]


def test_shapes_and_dtypes():
    (ids, segments, positions), target = make()[0]
    assert ids.shape == segments.shape == (10, 16)
    assert positions.shape == target["words"].shape == (10, 2)  # 15% of 13
    assert target["next"].shape == (10,)
    for x in (ids, segments, positions, *target.values()):
        assert x.dtype == np.int32


def test_half_of_the_second_texts_follow_the_first():
    follows = []
    for _, original, segments, _, label in rows_of_20_epochs():
        first, second = texts(original, segments)
        assert first and second
        assert np.all(np.diff(first) == 1) and np.all(np.diff(second) == 1)
        follows.append(label == 0)
        if label == 0:
            assert second[0] == first[-1] + 1
    assert np.mean(follows) == pytest.approx(0.5, abs=0.05)
    assert len(follows) == 20 * 50


def test_random_second_texts_rarely_follow_the_first():
    random = [
        texts(original, segments)
        for _, original, segments, _, label in rows_of_20_epochs()
        if label == 1
    ]
    assert np.mean([second[0] == first[-1] + 1 for first, second in random]) < 0.1


def test_masked_words_are_80_percent_mask_10_random_10_unchanged():
    kinds = []
    for ids, original, _, positions, _ in rows_of_20_epochs():
        changed = np.flatnonzero(ids != original)
        assert set(changed) <= set(positions)  # all other tokens are unchanged
        assert set(original[positions]) <= set(IDS)  # special tokens are never masked
        for found, right in zip(ids[positions], original[positions], strict=True):
            kinds.append("mask" if found == MASK else "same" if found == right else "random")
            assert found == MASK or found not in TOKENIZER.special_ids
    shares = {kind: kinds.count(kind) / len(kinds) for kind in ("mask", "random", "same")}
    assert shares["mask"] == pytest.approx(0.8, abs=0.03)
    assert shares["random"] == pytest.approx(0.1, abs=0.03)
    assert shares["same"] == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize(
    ("rate", "words", "count"),
    [(0, 10, 1), (0.15, 10, 2), (0.15, 3, 1), (0.5, 10, 5), (0.9, 10, 9)],
)
def test_mask_rate_sets_the_number_of_masked_words(rate, words, count):
    documents = [" ".join(WORDS[i : i + words]) for i in range(20)]
    counts = {
        len(positions)
        for _, original, segments, positions, label in rows(make(documents, mask_rate=rate))
        if label == 0
    }
    assert counts == {count}


def test_epochs_differ_and_are_reproducible():
    one, other = make(), make()
    first = one[0][0][0]
    np.testing.assert_array_equal(first, other[0][0][0])
    one.on_epoch_end()
    assert not np.array_equal(one[0][0][0], first)
    other.set_epoch(1)
    np.testing.assert_array_equal(one[3][0][0], other[3][0][0])
    one.set_epoch(0)
    np.testing.assert_array_equal(one[0][0][0], first)
    assert not np.array_equal(make(seed=2)[0][0][0], first)


def test_static_masking_is_the_same_in_every_epoch():
    batches = make(dynamic=False)
    first = batches[0][0][0]
    batches.on_epoch_end()
    np.testing.assert_array_equal(batches[0][0][0], first)


def test_windows_of_long_documents_begin_elsewhere_in_each_epoch():
    batches = make([LONG, LONG], batch_size=1)
    beginnings = set()
    for epoch in range(5):
        batches.set_epoch(epoch)
        seen = []
        for _, original, segments, _, label in rows(batches):
            first, second = texts(original, segments)
            assert len(first) + len(second) <= 13
            seen += [*first, *(second if label == 0 else ())]
            beginnings.add(first[0])
        assert len(seen) > len(WORDS)
    assert len(beginnings) > 15


def test_the_second_text_begins_with_a_whole_word():
    """Uses a text with words of several sub-words."""
    tokenizer = WordPieceTokenizer.train(["ab ac bc"], min_count=9)
    batches = PretrainingPairs(["abc cab bca aabb"] * 20, tokenizer, 24, 20, seed=1)
    continues = tokenizer.continues()
    assert continues.any()
    for _, original, segments, _, _ in rows(batches):
        assert not continues[original[np.flatnonzero(segments)[0]]]


@pytest.mark.parametrize("documents", [[], ["wa"], ["waa"] * 20, [DOCUMENTS[0]] * 9])
def test_too_little_text_is_refused(documents):
    with pytest.raises(ValueError, match=r"too little text.*Received: \d windows, batch_size=10$"):
        make(documents)


@pytest.mark.parametrize(
    "options", [{"seq_length": 4}, {"batch_size": 0}, {"mask_rate": 1.0}, {"seq_length": 3.0}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="Received: "):
        make(**options)


def test_unigram_entropy_matches_hand_computed_values():
    assert unigram_entropy([1, 2, 3, 4] * 5) == pytest.approx(math.log(4))
    assert unigram_entropy([7, 7]) == 0
    half, quarter = math.log(2) / 2, math.log(4) / 4
    assert unigram_entropy(np.array([[1, 1], [2, 3]])) == pytest.approx(half + 2 * quarter)


class TestReadDocuments:
    def read(self, tmp_path, text, name="text.txt"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_documents(tmp_path / name)

    def test_every_line_is_a_document(self, tmp_path):
        assert self.read(tmp_path, "One  two.\n Three. \n") == ["One two.", "Three."]

    def test_blank_lines_separate_documents(self, tmp_path):
        found = self.read(tmp_path, "\ufeffOne\ntwo.\n\n \nThree.\r\nFour.\n\n")
        assert found == ["One two.", "Three. Four."]

    def test_reads_the_source_sentences_of_a_pair_file(self, tmp_path):
        assert self.read(tmp_path, "One\tEins\nTwo\tZwei\n", "a.tsv") == ["One", "Two"]

    def test_other_line_separators_separate_documents(self, tmp_path):
        assert self.read(tmp_path, "One\x85two\u2028\nthree\rfour") == ["One two", "three four"]

    @pytest.mark.parametrize("name", ["text.txt.gz", "a.tsv.gz"])
    def test_reads_compressed_files(self, tmp_path, name):
        (tmp_path / name).write_bytes(gzip.compress(b"One\tEins\n"))
        expected = ["One"] if ".tsv" in name else ["One Eins"]
        assert read_documents(tmp_path / name) == expected

    @pytest.mark.parametrize("text", ["", "\n \n\n"])
    def test_an_empty_file_is_refused(self, tmp_path, text):
        with pytest.raises(ValueError, match=r"contains no text\. Received: .*text\.txt$"):
            self.read(tmp_path, text)

    def test_a_missing_file_is_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="check the path"):
            read_documents(tmp_path / "text.txt")

    @pytest.mark.parametrize("name", ["text.txt", "text.TSV"])
    def test_limits_can_be_raised(self, tmp_path, name):
        text = "x" * 100_001
        content = f"{text}\ty\n" if name == "text.TSV" else text
        (tmp_path / name).write_text(content)
        assert read_documents(tmp_path / name, data_limits=1.1) == [text]
