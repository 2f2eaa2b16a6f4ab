"""Files of sentence pairs that are read block by block."""

import tracemalloc

import pytest

from keras_transformer.data.pair_file import PairFile

PAIRS = [(" ".join(["go"] * (1 + i % 7)) + f" {i}", f"geh {i}") for i in range(50)]


def write(folder, pairs=PAIRS, name="pairs.tsv"):
    path = folder / name
    path.write_text("".join(f"{x}\t{y}\n" for x, y in pairs), encoding="utf-8")
    return path


def pairs_of(file):
    return [pair for block in file.blocks() for pair in block]


@pytest.mark.parametrize("block_pairs", [1, 7, 50, 1000])
def test_blocks_contain_all_pairs_in_order(tmp_path, block_pairs):
    file = PairFile(write(tmp_path), block_pairs=block_pairs)
    assert pairs_of(file) == PAIRS
    assert len(list(file.blocks())) == -(-50 // block_pairs)
    assert list(file.sentences(1)) == [target for _, target in PAIRS]
    both = file.sentences(0, 1)
    assert list(both) == list(both) == [side for pair in PAIRS for side in pair]


def test_header_bom_blank_lines_and_extra_columns_are_skipped(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_bytes("\ufeffen\tde\r\n\r\nä \tö\tCC-BY\r\nb\tc".encode())
    assert pairs_of(PairFile(path, block_pairs=2)) == [("ä", "ö"), ("b", "c")]


def test_the_columns_are_those_of_the_header(tmp_path):
    (tmp_path / "pairs.tsv").write_text("id\tde\ten\n" + "7\tb\ta\n8\td\tc\n9\tf\te")
    file = PairFile(tmp_path / "pairs.tsv", block_pairs=2)
    assert pairs_of(file) == [("b", "a"), ("d", "c"), ("f", "e")]


def test_blank_lines_may_precede_the_header(tmp_path):
    (tmp_path / "pairs.tsv").write_text("\n\nsource\ttarget\na\tb\nsource\tx")
    assert pairs_of(PairFile(tmp_path / "pairs.tsv", block_pairs=2)) == [
        ("a", "b"),
        ("source", "x"),
    ]


def test_dropped_pairs_are_counted_and_empty_blocks_skipped(tmp_path):
    file = PairFile(
        write(tmp_path), lambda x, y: None if int(y.split()[1]) > 20 else "small", block_pairs=5
    )
    assert file.dropped == {"small": 21}
    assert len(list(file.blocks())) == 6
    assert [int(target.split()[1]) for _, target in pairs_of(file)] == list(range(21, 50))


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
    assert len(pairs_of(PairFile(path, data_limits=0.001))) == 10_001


def test_blocks_of_long_lines_end_early(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformer.data.pair_file.BLOCK_BYTES", 100)
    file = PairFile(write(tmp_path))
    sizes = [len(block) for block in file.blocks()]
    assert len(sizes) > 5 and max(sizes) < 50 and pairs_of(file) == PAIRS


def test_refuses_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"check the path.*none\.tsv$"):
        PairFile(tmp_path / "none.tsv")


@pytest.mark.parametrize("name", ["pairs.pkl", "none.pkl"])
def test_refuses_other_formats(tmp_path, name):
    (tmp_path / "pairs.pkl").write_bytes(b"")
    with pytest.raises(ValueError, match=rf"prepare_data.py .*--keep-case.*{name}$"):
        PairFile(tmp_path / name)


def test_refuses_a_folder(tmp_path):
    (tmp_path / "pairs.tsv").mkdir()
    with pytest.raises(ValueError, match="must be a regular file"):
        PairFile(tmp_path / "pairs.tsv")
