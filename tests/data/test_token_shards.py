"""Token ids in shards: batches of any part of the rows, resumable, with bounded memory."""

import hashlib
import io
import json
import os
import shutil
import tracemalloc

import numpy as np
import pytest
from full_disk import full_disk

from keras_transformer import PrepareDataset, PreparedDataset
from keras_transformer.data.batches import LengthBuckets, TokenBlock
from keras_transformer.data.token_shards import ShardedBuckets, TokenShards, write_token_shards

PAIRS = [(" ".join(["go"] * (1 + i % 7)) + f" {i}", f"geh {i}") for i in range(50)]
EXAMPLES = [([4] * (1 + i % 7) + [3], [2, 10 + i, 3]) for i in range(50)]
HELD_OUT = [("go 7", "geh 7")]
SETTINGS = {"tokenizer": "bpe", "vocab_size": 100, "share_vocabulary": False, "max_length": 9}


def write(folder, pairs=PAIRS):
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{x}\t{y}\n" for x, y in pairs), encoding="utf-8")
    return path


def write_shards(folder, examples=EXAMPLES, size=13):
    folder.mkdir()
    starts = range(0, len(examples), size)
    blocks = (TokenBlock.from_examples(examples[i : i + size]) for i in starts)
    write_token_shards(folder, blocks, SETTINGS, {"too long": 3})
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_shards(tmp_path / "tokens")


@pytest.fixture
def make(folder):
    return lambda seed=0, **options: ShardedBuckets(
        TokenShards(folder), 4, 100, 100, seed, **options
    )


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


# The shards


def test_shards_contain_all_pairs_in_order(folder):
    shards = TokenShards(folder)
    assert len(shards) == 50 and shards.settings == SETTINGS and shards.dropped == {"too long": 3}
    found = []
    for number in range(4):
        block = shards.read(number)
        assert block.source.dtype == "uint16"
        ends = np.cumsum(block.lengths, axis=0)
        for (s, t), (m, n) in zip(ends, block.lengths, strict=True):
            found.append((block.source[s - m : s].tolist(), block.target[t - n : t].tolist()))
    assert found == EXAMPLES
    assert shards.tokens == [sum(map(len, sum(EXAMPLES[i : i + 13], ()))) for i in range(0, 50, 13)]


def test_ids_of_large_vocabularies(tmp_path):
    folder = write_shards(tmp_path / "large", [([70_000, 3], [2, 250_000, 3])])
    assert TokenShards(folder).read(0).target.tolist() == [2, 250_000, 3]


def test_the_digest_is_that_of_all_shards(tmp_path, folder):
    digests = {TokenShards(folder).digest for _ in range(2)}
    assert len(digests) == 1
    assert TokenShards(write_shards(tmp_path / "other", EXAMPLES[::-1])).digest not in digests


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (os.remove, r"A shard of .*tokens is missing: restore it.*00001\.npy$"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "01.npy has changed since"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "01.npy must have at most"),
        (lambda path: (os.remove(path), os.mkfifo(path)), "01.npy must be a regular file"),
    ],
)
def test_a_shard_that_has_changed_is_named(folder, make, change, message):
    batches = make()
    change(folder / "00001.npy")
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        epoch(batches)


def npy(header):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"fortran_order": False, **header})
    return file.getvalue() + bytes(140)


ARRAYS = {
    "no array": b"PK\3\4" + bytes(300),
    "no header": b"\x93NUMPY\1\0\x0b\0{'descr': (\n" + bytes(300),
    "false size": npy({"descr": "<u2", "shape": (10**12,)}),
    "no numbers": npy({"descr": "<u2", "shape": ()}),
    "objects": np.array([{}]),
    "floats": np.ones(70),
    "two axes": np.ones((2, 35), "uint16"),
    "other lengths": np.full(90, 2, "uint16"),
    "more ids": None,
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_refuses_shards_of_strangers(folder, kind):
    """A digest that matches does not make another array a shard."""
    path, array = folder / "00000.npy", ARRAYS[kind]
    if kind == "more ids":
        array = np.append(np.load(path), np.uint16(5))
    if isinstance(array, bytes):
        path.write_bytes(array)
    else:
        np.save(path, array)
    data = path.read_bytes()
    content = json.loads((folder / "tokens.json").read_text())
    content["shards"][0] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "tokens.json").write_text(json.dumps(content))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"00000\.npy does not match tokens\.json: prepare"):
        TokenShards(folder).read(0)
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"settings": {}},
        {"shards": []},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 2, "pairs": {}}]},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 2, "pairs": {"4": -1}}]},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 1e999, "pairs": {"4": 1}}]},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 2, "pairs": {"x": 1}}]},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 2, "pairs": {"0": 1}}]},
        {"shards": [{"bytes": 3, "sha256": "", "tokens": 2, "pairs": {"4": 10**9}}]},
        {"shards": 3},
    ],
)
def test_refuses_a_damaged_description(folder, change):
    content = json.loads((folder / "tokens.json").read_text())
    (folder / "tokens.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(ValueError, match=r"tokens\.json .*prepare the data"):
        TokenShards(folder)


def test_refuses_another_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tokens\.json, which is written by: .*--tokenize"):
        TokenShards(tmp_path)


# The batches


def test_every_pair_occurs_once_in_every_epoch(make):
    batches, orders = make(), []
    for number in range(3):
        batches.set_epoch(number)
        orders.append(words(batches))
        assert sorted(orders[-1]) == list(range(50))
    assert orders[0] != orders[1] != orders[2]
    assert words(make(seed=1)) != orders[0]
    # The order of the shards, of 13 pairs each, changes too.
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


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_parts_of_all_processes_are_the_batches_of_one(make, parts):
    """Rows, order and token counts do not depend on the number of processes."""
    own = [make() for _ in range(parts)]
    whole = make()
    for index in range(len(whole)):
        ((source, _), target), tokens = whole.read_part(index, multiple=4)
        found = [x.read_part(index, i, parts, 4) for i, x in enumerate(own)]
        for k in (0, 1):
            expected = (source, target)[k]
            rows = [((s, t)[k]) for ((s, _), t), _ in found]
            assert all(len(x) == len(expected) / parts for x in rows)
            np.testing.assert_array_equal(np.concatenate(rows), expected)
        assert {n for _, n in found} == {tokens} == {np.count_nonzero(target)}


def test_batches_are_counted_without_reading(folder, make):
    expected = make(multiple=3)
    assert len(expected) == len(epoch(expected)) and len(expected) % 3 == 0
    rows = [x for ((source, _), target) in epoch(expected) for x in (source, target)]
    padding = 1 - sum(map(np.count_nonzero, rows)) / sum(x.size for x in rows)
    for shard in range(4):
        os.remove(folder / f"0000{shard}.npy")
    counted = make(multiple=3)
    assert (len(counted), counted.shapes) == (len(expected), expected.shapes)
    # The ids that the decoder reads and predicts overlap: only nearly the same padding.
    assert counted.padding_share == pytest.approx(padding, abs=0.2)
    assert counted.padding_share == expected.padding_share


def test_one_shard_gives_the_same_batches_as_a_list(tmp_path):
    folder = write_shards(tmp_path / "one", size=50)
    in_files = ShardedBuckets(TokenShards(folder), None, 100, 100, 3, batch_tokens=32)
    in_memory = LengthBuckets(EXAMPLES, None, 100, 100, 3, batch_tokens=32)
    assert same(epoch(in_files), epoch(in_memory))
    assert in_files.shapes == in_memory.shapes
    assert in_files.padding_share == pytest.approx(in_memory.padding_share)


def test_without_seed_shards_keep_the_order_of_the_file(make):
    found = words(make(seed=None))
    assert [sorted(found[i : i + 13]) for i in (0, 13, 26)] == [
        list(range(i, i + 13)) for i in (0, 13, 26)
    ]


def test_an_index_past_the_end_raises_an_error(make):
    with pytest.raises(IndexError):
        make()[len(make())]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_shards(tmp_path):
    """Peak memory is the same, within 20%, for five times as many shards."""

    def peak(shards):
        folder = write_shards(tmp_path / f"{shards}", EXAMPLES * 40 * shards, 2000)
        tracemalloc.start()
        batches = ShardedBuckets(TokenShards(folder), 32, 100, 100, 0)
        targets = (batches[i][1] for i in range(len(batches)))
        assert sum(np.count_nonzero(target[:, 0]) for target in targets) == 2000 * shards
        peak_size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_size

    small, large = peak(5), peak(25)
    assert large < 1.2 * small, (small, large)


# Prepared folders


def test_a_prepared_folder_equals_data_in_memory(tmp_path):
    prepare = PrepareDataset(tokenizer="bpe", vocab_size=80, share_vocabulary=True, max_length=7)
    in_files = prepare.write_tokens(write(tmp_path), tmp_path / "tokens", HELD_OUT, HELD_OUT)
    in_memory = prepare(PAIRS, HELD_OUT, HELD_OUT)
    assert in_files.validation == in_memory.validation and in_files.test == in_memory.test
    assert in_files.source_tokenizer.to_json() == in_memory.source_tokenizer.to_json()
    assert in_files.dropped == {reason: n for reason, n in in_memory.dropped.items() if n}
    assert str(in_files) == str(in_memory)
    first, second = (x.batches(x.train, None, 5, batch_tokens=64) for x in (in_files, in_memory))
    assert first.shapes == second.shapes and len(first) == len(second)
    rows = [{row.tobytes() for _, target in epoch(x) for row in target} for x in (first, second)]
    assert rows[0] == rows[1]


def test_vocabularies_of_another_run_are_kept(tmp_path):
    known = PrepareDataset(tokenizer="bpe", vocab_size=60)(PAIRS[:20])
    tokenizers = (known.source_tokenizer, known.target_tokenizer)
    prepare = PrepareDataset(vocab_size=60)
    found = prepare.write_tokens(write(tmp_path), tmp_path / "x", HELD_OUT, HELD_OUT, tokenizers)
    assert found.source_tokenizer.to_json() == known.source_tokenizer.to_json()


def test_nothing_is_written_over_or_half(tmp_path):
    arguments = (write(tmp_path, PAIRS * 100), tmp_path / "tokens", HELD_OUT, HELD_OUT)
    prepare = PrepareDataset(vocab_size=60)
    with full_disk(5000), pytest.raises(OSError, match=r"could not be written.*unchanged"):
        prepare.write_tokens(*arguments)
    assert os.listdir(tmp_path) == ["pairs.tsv"]
    prepare.write_tokens(*arguments)
    with pytest.raises(FileExistsError, match=r"choose another.*tokens$"):
        prepare.write_tokens(*arguments)


def test_refuses_words(tmp_path):
    known = PrepareDataset()(PAIRS)
    words = (known.source_tokenizer, known.target_tokenizer)
    with pytest.raises(ValueError, match=r"tokenizer=bpe\. Received: a WordTokenizer"):
        PrepareDataset().write_tokens(
            write(tmp_path), tmp_path / "tokens", HELD_OUT, HELD_OUT, words
        )
    with pytest.raises(ValueError, match=r"`tokenizer` .*Received: tokenizer='?words"):
        PrepareDataset(tokenizer="words").write_tokens(
            write(tmp_path), tmp_path / "tokens", HELD_OUT, HELD_OUT
        )


def test_a_folder_without_its_other_files_is_refused(tmp_path):
    prepare = PrepareDataset(vocab_size=60)
    prepare.write_tokens(write(tmp_path), tmp_path / "tokens", HELD_OUT, HELD_OUT)
    for name in ("test.tsv", "target_tokenizer.json"):
        shutil.copytree(tmp_path / "tokens", tmp_path / name)
        os.remove(tmp_path / name / name)
        with pytest.raises(FileNotFoundError, match=name):
            PreparedDataset.load(tmp_path / name)
