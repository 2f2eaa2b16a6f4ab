"""Streaming: batches of a file, resumable at any step, with bounded memory."""

import json
import tracemalloc

import numpy as np
import pytest

from keras_transformer.data.batches import LengthBuckets
from keras_transformer.data.dataset import PrepareDataset
from keras_transformer.data.streaming import PairFile, StreamedBuckets

PAIRS = [(" ".join(["go"] * (1 + i % 7)) + f" {i}", f"geh {i}") for i in range(50)]
HELD_OUT = [("go 7", "geh 7")]


def write(folder, pairs=PAIRS, name="pairs.tsv"):
    path = folder / name
    path.write_text("".join(f"{x}\t{y}\n" for x, y in pairs), encoding="utf-8")
    return path


def encode(pairs, seed):
    examples = [([4] * len(x.split()) + [3], [2, 10 + int(y.split()[1]), 3]) for x, y in pairs]
    return LengthBuckets(examples, 4, 100, 100, seed)


def epoch(batches, start=0):
    return [batches[i] for i in range(start, len(batches))]


def words(batches):
    """Returns the unique word of each target, in batch order."""
    return [int(row[0]) - 10 for _, target in epoch(batches) for row in target if row[0]]


def same(first, second):
    return all(
        np.array_equal(a, b) and np.array_equal(x, y)
        for ((a, _), x), ((b, _), y) in zip(first, second, strict=True)
    )


# The file


@pytest.mark.parametrize("block_pairs", [1, 7, 50, 1000])
def test_blocks_contain_all_pairs_in_order(tmp_path, block_pairs):
    file = PairFile(write(tmp_path), block_pairs=block_pairs)
    assert list(file) == PAIRS and len(file) == 50
    assert file.number_of_blocks == -(-50 // block_pairs)
    assert list(file.sentences(1)) == [target for _, target in PAIRS]
    both = file.sentences(0, 1)
    assert list(both) == list(both) == [side for pair in PAIRS for side in pair]


def test_header_bom_blank_lines_and_extra_columns_are_skipped(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes("\ufeffen\tde\r\n\r\nä \tö\tCC-BY\r\nb\tc".encode())
    assert list(PairFile(path, block_pairs=2)) == [("ä", "ö"), ("b", "c")]


def test_dropped_pairs_are_counted_and_empty_blocks_skipped(tmp_path):
    file = PairFile(
        write(tmp_path), lambda x, y: None if int(y.split()[1]) > 20 else "small", block_pairs=5
    )
    assert file.dropped == {"small": 21} and len(file) == len(list(file)) == 29
    assert file.number_of_blocks == 6
    assert sorted(words(StreamedBuckets(file, encode, seed=1))) == list(range(21, 50))


@pytest.mark.parametrize(
    ("text", "received"),
    [
        (b"a\tb\nno tab\n", "line 2.*one column.*'no tab'"),
        (b"a\tb\n\xff\t\xff\n", "line 2.*0xff"),
        (b"", "contains no pair"),
        ("a\tb\n".encode("utf-16-le"), "looks like UTF-16"),
    ],
)
def test_refuses_invalid_files(tmp_path, text, received):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=received) as caught:
        PairFile(path)
    assert str(caught.value).count("line 2") <= 1 and str(path) in str(caught.value)


@pytest.mark.parametrize("line", [b"x" * 101, b"x" * 10_000_000, b"x\t" + "\u00e4".encode() * 99])
def test_refuses_long_lines(tmp_path, line):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\n" + line + b"\n")
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"line 2.* at most 100 characters.*--data-limits"):
        PairFile(path, data_limits=0.001)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # a line of 10 MB is not read to its end


def test_the_number_of_lines_is_not_limited(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\n" * 10_001)
    assert len(PairFile(path, data_limits=0.001)) == 10_001


def test_blocks_of_long_lines_end_early(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformer.data.streaming.BLOCK_BYTES", 100)
    file = PairFile(write(tmp_path))
    sizes = [len(file.read_block(i)) for i in range(file.number_of_blocks)]
    assert len(sizes) > 5 and max(sizes) < 50 and list(file) == PAIRS


def test_refuses_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"check the path.*none\.tsv$"):
        PairFile(tmp_path / "none.tsv")


@pytest.mark.parametrize("name", ["pairs.pkl", "none.pkl"])
def test_refuses_other_formats(tmp_path, name):
    (tmp_path / "pairs.pkl").write_bytes(b"")
    with pytest.raises(ValueError, match=rf"prepare_data.py .*{name}$"):
        PairFile(tmp_path / name)


def test_refuses_a_folder(tmp_path):
    (tmp_path / "pairs.tsv").mkdir()
    with pytest.raises(ValueError, match="must be a regular file"):
        PairFile(tmp_path / "pairs.tsv")


# The batches


@pytest.fixture
def make(tmp_path):
    file = PairFile(write(tmp_path), block_pairs=13)
    return lambda seed=0: StreamedBuckets(file, encode, seed)


def test_every_pair_occurs_once_in_every_epoch(make):
    batches, orders = make(), []
    for number in range(3):
        batches.set_epoch(number)
        orders.append(words(batches))
        assert sorted(orders[-1]) == list(range(50))
    assert orders[0] != orders[1] != orders[2]
    assert words(make(seed=1)) != orders[0]
    # The order of the blocks, of 13 pairs each, changes too.
    assert len({tuple(dict.fromkeys(word // 13 for word in order)) for order in orders}) > 1


def test_resumes_at_any_batch(make):
    batches = make()
    batches.set_epoch(2)
    expected = epoch(batches)
    for start in (0, 1, 5, len(expected) - 1):
        resumed = make()
        resumed.set_epoch(2)
        assert same(epoch(resumed, start), expected[start:])
    assert same([batches[3], batches[0]], [expected[3], expected[0]])


def test_block_stats_avoid_counting_again(make):
    batches = make()
    stats = json.loads(json.dumps(batches.block_stats))
    block_sizes = []

    def recording_encode(pairs, seed):
        block_sizes.append(len(pairs))
        return encode(pairs, seed)

    restored = StreamedBuckets(batches.file, recording_encode, 0)
    restored.block_stats = stats
    assert (len(restored), restored.shapes, block_sizes) == (len(batches), batches.shapes, [])
    assert restored.padding_share == batches.padding_share
    assert same(epoch(restored), epoch(batches))
    # Statistics of other blocks are discarded.
    other = StreamedBuckets(PairFile(batches.file.path, block_pairs=20), encode, 0)
    other.block_stats = stats
    assert len(other.block_stats) == 3


def test_refuses_wrong_block_stats(make):
    batches = make()
    batches.block_stats[2][0] += 1
    received = rf"Received: {batches.block_stats[2][0]} in"
    with pytest.raises(ValueError, match=rf"Remove batches\.json.*{received}"):
        epoch(batches)


def test_one_block_gives_the_same_batches_as_a_list(tmp_path):
    file = PairFile(write(tmp_path))
    streamed, in_memory = StreamedBuckets(file, encode, seed=3), encode(PAIRS, 3)
    assert same(epoch(streamed), epoch(in_memory))
    assert streamed.shapes == in_memory.shapes
    assert streamed.padding_share == pytest.approx(in_memory.padding_share)


def test_without_seed_blocks_keep_the_order_of_the_file(make):
    blocks = words(make(seed=None))
    assert [sorted(blocks[i : i + 13]) for i in (0, 13, 26)] == [
        list(range(i, i + 13)) for i in (0, 13, 26)
    ]


def test_an_index_past_the_end_raises_an_error(make):
    with pytest.raises(IndexError):
        make()[len(make())]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Peak memory is the same, within 20%, for a file five times as large."""

    def peak(pairs):
        path = write(tmp_path, pairs, f"{len(pairs)}.tsv")
        tracemalloc.start()
        batches = StreamedBuckets(PairFile(path, block_pairs=200), encode, seed=0)
        found = (batches[i][1][:, 0].astype(bool).sum() for i in range(len(batches)))
        assert sum(found) == len(pairs)
        peak_size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_size

    small, large = (peak([PAIRS[i % 50] for i in range(n)]) for n in (1000, 5000))
    assert large < 1.2 * small, (small, large)


# Streamed datasets


def test_a_streamed_dataset_equals_one_in_memory(tmp_path):
    prepare = PrepareDataset(tokenizer="bpe", vocab_size=80, share_vocabulary=True, max_length=7)
    streamed = prepare.stream(write(tmp_path), HELD_OUT, HELD_OUT)
    in_memory = prepare(PAIRS, HELD_OUT, HELD_OUT)
    assert sorted(streamed.train) == sorted(in_memory.train)
    assert streamed.validation == in_memory.validation and streamed.test == in_memory.test
    assert streamed.source_tokenizer.to_json() == in_memory.source_tokenizer.to_json()
    assert streamed.dropped == {reason: n for reason, n in in_memory.dropped.items() if n}
    first, second = (x.batches(x.train, None, 5, batch_tokens=64) for x in (streamed, in_memory))
    assert first.shapes == second.shapes and len(first) == len(second)


def test_streaming_words_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer=words$"):
        PrepareDataset(tokenizer="words").stream(write(tmp_path), HELD_OUT, HELD_OUT)
