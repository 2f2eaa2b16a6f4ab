"""What streaming promises: the batches of a file, from anywhere, with little of it in memory."""

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
    """The word of its own that each target has, in the order in which it comes."""
    return [int(row[0]) - 10 for _, target in epoch(batches) for row in target if row[0]]


def same(first, second):
    return all(
        np.array_equal(a, b) and np.array_equal(x, y)
        for ((a, _), x), ((b, _), y) in zip(first, second, strict=True)
    )


# The file


@pytest.mark.parametrize("block_pairs", [1, 7, 50, 1000])
def test_a_file_in_blocks_is_the_file(tmp_path, block_pairs):
    file = PairFile(write(tmp_path), block_pairs=block_pairs)
    assert list(file) == PAIRS and len(file) == 50
    assert file.number_of_blocks == -(-50 // block_pairs)
    assert list(file.sentences(1)) == [target for _, target in PAIRS]
    both = file.sentences(0, 1)
    assert list(both) == list(both) == [side for pair in PAIRS for side in pair]


def test_a_header_a_mark_blank_lines_and_other_columns_are_read_as_elsewhere(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes("\ufeffen\tde\r\n\r\nä \tö\tCC-BY\r\nb\tc".encode())
    assert list(PairFile(path, block_pairs=2)) == [("ä", "ö"), ("b", "c")]


def test_says_what_it_leaves_out_and_skips_blocks_of_nothing(tmp_path):
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
    ],
)
def test_refuses_other_files(tmp_path, text, received):
    path = tmp_path / "pairs.tsv"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=received):
        PairFile(path)


@pytest.mark.parametrize("name", ["none.tsv", "pairs.pkl"])
def test_refuses_what_cannot_be_streamed(tmp_path, name):
    (tmp_path / "pairs.pkl").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=rf"prepare_data.*{name}$"):
        PairFile(tmp_path / name)


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
    # The blocks, of 13 pairs each, come in another order as well.
    assert len({tuple(dict.fromkeys(word // 13 for word in order)) for order in orders}) > 1


def test_goes_on_anywhere(make):
    batches = make()
    batches.set_epoch(2)
    expected = epoch(batches)
    for start in (0, 1, 5, len(expected) - 1):
        again = make()
        again.set_epoch(2)
        assert same(epoch(again, start), expected[start:])
    assert same([batches[3], batches[0]], [expected[3], expected[0]])


def test_is_counted_once(make):
    batches = make()
    stats = json.loads(json.dumps(batches.block_stats))
    read = []

    def encode_and_tell(pairs, seed):
        read.append(len(pairs))
        return encode(pairs, seed)

    again = StreamedBuckets(batches.file, encode_and_tell, 0)
    again.block_stats = stats
    assert (len(again), again.shapes, read) == (len(batches), batches.shapes, [])
    assert again.padding_share == batches.padding_share
    assert same(epoch(again), epoch(batches))
    other = PairFile(batches.file.path, block_pairs=20)
    others = StreamedBuckets(other, encode, 0)
    others.block_stats = stats
    assert len(others.block_stats) == 3


def test_says_so_if_it_was_counted_otherwise(make):
    batches = make()
    batches.block_stats[2][0] += 1
    received = rf"Received: {batches.block_stats[2][0]} in"
    with pytest.raises(ValueError, match=rf"Remove batches\.json.*{received}"):
        epoch(batches)


def test_one_block_gives_the_batches_of_a_list(tmp_path):
    file = PairFile(write(tmp_path))
    streamed, listed = StreamedBuckets(file, encode, seed=3), encode(PAIRS, 3)
    assert same(epoch(streamed), epoch(listed))
    assert streamed.shapes == listed.shapes
    assert streamed.padding_share == pytest.approx(listed.padding_share)


def test_without_seed_the_order_is_that_of_the_file(make):
    blocks = words(make(seed=None))
    assert [sorted(blocks[i : i + 13]) for i in (0, 13, 26)] == [
        list(range(i, i + 13)) for i in (0, 13, 26)
    ]


def test_there_are_no_more_batches_than_it_says(make):
    with pytest.raises(IndexError):
        make()[len(make())]


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Of a file five times as large, no more is in memory at any moment."""

    def peak(pairs):
        path = write(tmp_path, pairs, f"{len(pairs)}.tsv")
        tracemalloc.start()
        batches = StreamedBuckets(PairFile(path, block_pairs=200), encode, seed=0)
        found = (batches[i][1][:, 0].astype(bool).sum() for i in range(len(batches)))
        assert sum(found) == len(pairs)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    small, large = (peak([PAIRS[i % 50] for i in range(n)]) for n in (1000, 5000))
    assert large < 1.2 * small, (small, large)


# From a file to a dataset


def test_a_streamed_dataset_is_that_of_the_same_pairs_in_memory(tmp_path):
    prepare = PrepareDataset(tokenizer="bpe", vocab_size=80, share_vocabulary=True, max_length=7)
    streamed = prepare.stream(write(tmp_path), HELD_OUT, HELD_OUT)
    listed = prepare(PAIRS, HELD_OUT, HELD_OUT)
    assert sorted(streamed.train) == sorted(listed.train)
    assert streamed.validation == listed.validation and streamed.test == listed.test
    assert streamed.source_tokenizer.to_json() == listed.source_tokenizer.to_json()
    assert streamed.dropped == {why: n for why, n in listed.dropped.items() if n}
    first, second = (x.batches(x.train, None, 5, batch_tokens=64) for x in (streamed, listed))
    assert first.shapes == second.shapes and len(first) == len(second)


def test_streaming_words_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer=words$"):
        PrepareDataset().stream(write(tmp_path), HELD_OUT, HELD_OUT)
