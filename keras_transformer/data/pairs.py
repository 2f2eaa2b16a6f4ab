"""Reading and writing of sentence pairs."""

import re
from collections.abc import Iterable
from pathlib import Path

from keras_transformer._utils.command_line import KEEP_TEXT, command_line
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import check_regular
from keras_transformer._utils.types import PathLike
from keras_transformer.data.limits import Limits, open_limited, read_lines, text_lines
from keras_transformer.data.packed_pairs import (
    only_member,
    opened_zip,
    parallel_members,
    tmx_pairs,
)
from keras_transformer.data.pickled_pairs import pickled_pairs, read_pickled_pairs
from keras_transformer.data.table_pairs import (
    columns_of_header,
    csv_pairs,
    json_pairs,
    tab_separated_pairs,
)

_TABLES = {
    **dict.fromkeys((".tsv", ".txt"), tab_separated_pairs),
    ".csv": csv_pairs,
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), json_pairs),
}
_PICKLES = (".pkl", ".pickle")


def read_pairs(
    path: PathLike,
    target_path: PathLike | None = None,
    data_limits: float = 1.0,
    columns: tuple[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Reads sentence pairs from one file or from two parallel files.

    - `.pkl`, `.pickle`: a pickled NumPy array of text, of shape (n, 2). The file is decoded without
      running any code of it, so that untrusted files are safe to read.
    - `.tsv`, `.txt`: UTF-8 text, one pair per line, source and target separated by a tab. Further
      columns are ignored, and quotes have no special meaning.
    - `.csv`: the same with commas or semicolons and with quotes.
    - `.jsonl`: a JSON object per line, whose texts may stand in "translation".
    - `.tmx`: a translation memory.
    - `.zip`: two parallel texts that end in their languages, as OPUS has them, or one other file.
    - with `target_path`: UTF-8 text; line i of one file is the translation of line i of the other.

    A first line of column names (source and target, en and de, English and German, …) is skipped;
    the first two languages or sides among them are read. Files may be compressed (`.gz`). Leading
    and trailing white space of sentences is removed, and blank lines are skipped. Pairs with one
    empty side are returned; `PrepareDataset` drops them and reports their number.

    Args:
        path: path of the file, or of the source file.
        target_path: path of the target file, or None.
        data_limits: factor of the limits of a file, which may come from an untrusted source: 2 GiB
            after decompression, 10 million lines or pairs, and 100,000 characters of a line or
            sentence.
        columns: names of the columns, keys or languages of the source and the target, such as
            ("en", "de"); None for the first two.

    Returns:
        List of (source, target) texts, in the order of the file.

    Raises:
        FileNotFoundError: if a file does not exist.
        ValueError: if the suffix is unknown, the file is not a regular one, is damaged, is beyond a
            limit, has no pair or not these columns, or `data_limits` is not a number from 0.001 to
            1,000,000.

    Example:
        >>> kt.write_pairs("pairs.tsv", [("Good morning!", "Guten Morgen!")])
        >>> kt.read_pairs("pairs.tsv")
        [('Good morning!', 'Guten Morgen!')]
    """
    paths = [Path(path)] if target_path is None else [Path(path), Path(target_path)]
    limits = Limits.scaled(data_limits)
    for file in paths:
        if not file.exists():
            raise FileNotFoundError(
                f"No file of sentence pairs here; check the path. Received: {file}"
            )
        check_regular(file)
    try:
        if target_path is None:
            pairs = _read_file(paths[0], limits, columns)
        else:
            pairs = _parallel_pairs(*(_read_lines(file, limits) for file in paths))
        pairs = [(source.strip(), target.strip()) for source, target in pairs]
        pairs = [pair for pair in pairs if pair[0] or pair[1]]
        if not any(all(pair) for pair in pairs):
            raise ValueError("expected at least one pair of sentences. Received: none")
    except ValueError as error:
        names = " and ".join(map(str, paths))
        raise ValueError(f"Could not read sentence pairs from {names}: {error}") from error
    return pairs


def check_suffix(path):
    """Raises a ValueError unless `write_pairs` has a format for the suffix of a path."""
    if Path(path).suffix.lower() not in _WRITERS:
        raise ValueError(f"Use the suffix .tsv or .pkl, which selects the format. Received: {path}")


def write_pairs(path: PathLike, pairs: Iterable[tuple[str, str]]) -> None:
    """Writes sentence pairs to a file that `read_pairs` reads.

    An existing file is replaced atomically: after an error it is unchanged.

    Args:
        path: path of the file. `.tsv` and `.txt` write tab-separated text, `.pkl` and `.pickle` a
            pickled NumPy array of shape (n, 2), which is larger.
        pairs: iterable of (source, target) texts, at least one.

    Raises:
        ValueError: if the suffix is unknown, there is no pair, or the format cannot represent a
            pair.
        OSError: if the file cannot be written, for example because the disk is full.

    Example:
        >>> kt.write_pairs("pairs.tsv", [("Good morning!", "Guten Morgen!")])
        >>> print(open("pairs.tsv", encoding="utf-8").read())
        Good morning!    Guten Morgen!
    """
    # Resolved, because replacing a symbolic link would leave its target unchanged.
    path, rows = Path(path).resolve(), [tuple(pair) for pair in pairs]
    check_suffix(path)
    encode, forbidden = _WRITERS[path.suffix.lower()]
    if not rows:
        raise ValueError(f"Give at least one pair to write to {path}. Received: none")
    _check_text(rows, forbidden + _SURROGATES)
    with atomic_replace(path) as temporary:
        temporary.write_bytes(encode(rows))


def _read_file(path, limits, columns):
    if path.suffix.lower() == ".zip":
        with opened_zip(path, limits) as (chunks, names):
            if members := parallel_members(names, columns):
                return _parallel_pairs(*(list(text_lines(chunks(x), x, limits)) for x in members))
            name = only_member(names, (*_TABLES, *_PICKLES, ".tmx"))
            return _parse(chunks(name), name, limits, columns)
    with open_limited(path, limits) as chunks:
        return _parse(chunks, path.name, limits, columns)


def _parse(chunks, name, limits, columns):
    """Returns the pairs in the bytes of a file, whose name tells the format."""
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix in _PICKLES:
        data = b"".join(chunks)
        _check_not_empty(data, name)
        pairs = read_pickled_pairs(data, name, limits)
        _check_text(pairs, _SURROGATES)
        return pairs
    if suffix == ".tmx":
        return tmx_pairs(chunks, name, limits, columns)
    if suffix in _TABLES:
        lines = list(text_lines(chunks, name, limits))
        _check_not_empty(lines, name)
        return _TABLES[suffix](lines, columns)
    convert = command_line("prepare-data", name, "pairs.tsv", "--target-file", "TARGET", *KEEP_TEXT)
    raise ValueError(
        "unknown suffix; use .tsv, .txt, .csv, .jsonl, .tmx, .pkl or .zip. For two parallel files, "
        f"give `target_path`, or convert them to one file with: {convert}. Received: {name}"
    )


def _read_lines(path, limits):
    lines = read_lines(path, limits)
    _check_not_empty(lines, path.name)
    return lines


def _check_not_empty(content, name):
    if not content:
        raise ValueError(f"the file is empty; create or download it again. Received: {name}")


def _parallel_pairs(sources, targets):
    if len(sources) != len(targets):
        raise ValueError(
            "both files must have the same number of lines, with translations in the same line. "
            f"Received: {len(sources)} and {len(targets)}"
        )
    return list(zip(sources, targets, strict=True))


def _check_text(pairs, forbidden):
    pattern = re.compile(f"[{forbidden}]")
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            types = ", ".join(type(side).__name__ for side in pair[:3])
            raise ValueError(f"Pair {number} must be two texts. Received: {len(pair)} ({types})")
        for side in pair:
            if pattern.search(side):
                raise ValueError(
                    f"Pair {number} contains a character that the format cannot represent: a tab, "
                    "line break, null or surrogate; clean the pairs first. "
                    f"Received: {side[:60]!r}"
                )


def _encode_tab_separated(pairs):
    # A real header, because the reader would skip a first pair that looks like one.
    is_header = columns_of_header(pairs[0]) is not None
    rows = [("source", "target"), *pairs] if is_header else pairs
    return "".join(f"{source}\t{target}\n" for source, target in rows).encode("utf-8")


_SURROGATES = "\ud800-\udfff"  # range of a regular expression; UTF-8 cannot encode them
# Encoder and characters that the format cannot represent: NumPy drops trailing nulls of a text.
_PICKLE = (pickled_pairs, "\0")
_TSV = (_encode_tab_separated, "\t\r\n")
_WRITERS = {".pkl": _PICKLE, ".pickle": _PICKLE, ".tsv": _TSV, ".txt": _TSV}
