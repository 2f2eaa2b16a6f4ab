"""Reading and writing of sentence pairs: pickled NumPy array, tab-separated or parallel text."""

import io
import pickle
import pickletools
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from keras_transformer._utils.command_line import command_line
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import check_regular, shorten
from keras_transformer._utils.types import PathLike
from keras_transformer.data.limits import Limits, open_limited, read_lines

# Column names. A first line of two different ones is a header, not a pair of sentences.
_HEADER_WORDS = """
    source target src tgt trg en de fr es eng deu ger fra spa english german deutsch french spanish
"""

# What the pickle of an array of text refers to, in NumPy 1 (core) and NumPy 2 (_core).
_ALLOWED_NAMES = """
    numpy.ndarray numpy.dtype _codecs.encode
    numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct
    numpy.core.numeric._frombuffer numpy._core.numeric._frombuffer
"""
_ALLOWED_OPCODES = """
    PROTO FRAME STOP GLOBAL STACK_GLOBAL REDUCE BUILD MARK NONE NEWTRUE NEWFALSE
    INT BININT BININT1 BININT2 LONG1 EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3
    LIST EMPTY_LIST APPEND APPENDS
    UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
    MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
"""
# A pair takes at most six, two texts of protocol 0 that are each stored in the memo and appended.
_OPCODES_PER_PAIR = 8


def read_pairs(
    path: PathLike, target_path: PathLike | None = None, data_limits: float = 1.0
) -> list[tuple[str, str]]:
    """Reads sentence pairs from one file or from two parallel files.

    - `.pkl`, `.pickle`: a pickled NumPy array of text, of shape (n, 2). The file is decoded without
      running any code of it, so that untrusted files are safe to read.
    - `.tsv`, `.txt`: UTF-8 text, one pair per line, source and target separated by a tab. Further
      columns are ignored, and quotes have no special meaning. A first line of two column names
      (source and target, en and de, English and German, …) is skipped.
    - with `target_path`: UTF-8 text; line i of one file is the translation of line i of the other.

    Files may be compressed (`.gz`). Leading and trailing white space of sentences is removed, and
    blank lines are skipped. Pairs with one empty side are returned; `PrepareDataset` drops them and
    reports their number.

    Args:
        path: path of the file, or of the source file.
        target_path: path of the target file, or None.
        data_limits: factor of the limits of a file, which may come from an untrusted source: 2 GiB
            after decompression, 10 million lines or pairs, and 100,000 characters of a line or
            sentence.

    Returns:
        List of (source, target) texts, in the order of the file.

    Raises:
        FileNotFoundError: if a file does not exist.
        ValueError: if the suffix is unknown, the file is not a regular one, is damaged, is beyond a
            limit or has no pair, or `data_limits` is not a number from 0.001 to 1,000,000.

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
            pairs = _read_file(paths[0], limits)
        else:
            pairs = _read_parallel(paths[0], paths[1], limits)
        pairs = [(source.strip(), target.strip()) for source, target in pairs]
        pairs = [pair for pair in pairs if pair[0] or pair[1]]
        if not any(all(pair) for pair in pairs):
            raise ValueError("expected at least one pair of sentences. Received: none")
    except ValueError as error:
        names = " and ".join(map(str, paths))
        raise ValueError(f"Could not read sentence pairs from {names}: {error}") from error
    return pairs


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
    encode, forbidden = _WRITERS.get(path.suffix.lower(), (None, ""))
    if not encode:
        raise ValueError(f"Use the suffix .tsv or .pkl, which selects the format. Received: {path}")
    if not rows:
        raise ValueError(f"Give at least one pair to write to {path}. Received: none")
    _check_text(rows, forbidden + _SURROGATES)
    with atomic_replace(path) as temporary:
        temporary.write_bytes(encode(rows))


def _read_file(path, limits):
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in (".pkl", ".pickle"):
        return _read_pickle(path, limits)
    if suffix in (".tsv", ".txt"):
        return _read_tab_separated(path, limits)
    convert = command_line("prepare-data", path, "pairs.tsv", "--target-file", "TARGET")
    raise ValueError(
        "unknown suffix; use .pkl, .tsv or .txt. For two parallel files, give `target_path`, or "
        f"convert them to one file with: {convert}. Received: {path.name}"
    )


def _read_lines(path, limits):
    lines = read_lines(path, limits)
    _check_not_empty(lines, path)
    return lines


def _check_not_empty(content, path):
    if not content:
        raise ValueError(f"the file is empty; create or download it again. Received: {path.name}")


def _read_parallel(source_path, target_path, limits):
    sources, targets = _read_lines(source_path, limits), _read_lines(target_path, limits)
    if len(sources) != len(targets):
        raise ValueError(
            "both files must have the same number of lines, with translations in the same line. "
            f"Received: {len(sources)} and {len(targets)}"
        )
    return list(zip(sources, targets, strict=True))


def _read_tab_separated(path, limits):
    lines = _read_lines(path, limits)
    pairs = [parse_line(line, i) for i, line in enumerate(lines, start=1)]
    pairs = [pair for pair in pairs if pair]
    return pairs[1:] if pairs and is_header(pairs[0]) else pairs


def parse_line(line, number):
    """Returns the pair in a line of tab-separated text, or None if the line is blank.

    Args:
        line: the text of the line.
        number: the line number for the error message.

    Returns:
        (source, target), or None.

    Raises:
        ValueError: if the line has only one column.
    """
    columns = line.split("\t")
    if len(columns) >= 2:
        return columns[0], columns[1]
    if line.strip():
        raise ValueError(
            f"line {number} has one column; separate source and target by a tab. "
            f"Received: {line.strip()[:60]!r}"
        )
    return None


def is_header(pair):
    """Returns whether a first line has column names instead of a pair of sentences."""
    words = {side.strip().lower() for side in pair}
    return len(words) == 2 and words.issubset(_HEADER_WORDS.split())


class _Recorded:
    """A function named in a pickle, or a call of it, recorded instead of imported and run."""

    # Without __dict__, a pickle cannot set attributes.
    __slots__ = __match_args__ = ("name", "arguments", "state")

    def __init__(self, name, arguments=None):
        self.name, self.arguments, self.state = name, arguments, None

    def __call__(self, *arguments):
        return _Recorded(self.name, arguments)

    def __setstate__(self, state):
        self.state = state


class _TextUnpickler(pickle.Unpickler):
    """Decodes the pickle of an array of text to `_Recorded` objects, without running any call.

    Even calls of NumPy's functions are only recorded. With arguments from a malicious pickle, they
    can allocate any amount of memory or interpret bytes of the file as pointers to objects.
    """

    def find_class(self, module, name):
        full_name = f"{module}.{name}"
        if full_name not in _ALLOWED_NAMES.split():
            raise ValueError(f"a call of {full_name[:60]!r}, which was not run")
        return _Recorded(name)


def _read_pickle(path, limits):
    with open_limited(path, limits) as chunks:
        data = b"".join(chunks)
    _check_not_empty(data, path)
    try:
        _check_opcodes(data, limits)
        pairs = _decode_array(_TextUnpickler(io.BytesIO(data)).load())
    except Exception as error:  # a damaged pickle can raise any exception
        raise ValueError(
            "expected a pickled NumPy array of text, of shape (n, 2); create or download it again. "
            f"Received: {shorten(str(error), 200) or type(error).__name__}"
        ) from error
    _check_size(pairs, path, limits)
    _check_text(pairs, _SURROGATES)
    return pairs


def _check_opcodes(data, limits):
    """Raises a ValueError for opcodes that an array of text does not need, before unpickling."""
    allowed = frozenset(_ALLOWED_OPCODES.split())
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if opcode.name not in allowed:
            raise ValueError(f"a pickle of something else (opcode {opcode.name})")
        # The unpickler allocates a table for the largest index, so a false one exhausts memory.
        if opcode.name in ("PUT", "LONG_BINPUT") and argument > count:
            raise ValueError(f"memo index {argument}")
        if count > 1000 + _OPCODES_PER_PAIR * limits.max_lines:
            raise ValueError(f"more than {count:,} opcodes")


def _check_size(pairs, path, limits):
    """Raises a ValueError for too much text, of which repeated references are counted each time."""
    lengths = [len(side) for pair in pairs for side in pair if isinstance(side, str)]
    limits.check_lines(len(pairs), path.name)
    limits.check_line(max(lengths, default=0), f"each sentence of {path.name}")
    limits.check_bytes(sum(lengths), path.name)


def _decode_array(record):
    """Returns the pairs from the recorded calls with which NumPy pickles an array."""
    shape, dtype_name, byte_order, order, contents = _array_parts(record)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"shape {str(shape)[:60]}")
    if dtype_name in ("O", "O8"):
        # NumPy pickles objects in C order, whatever the memory order of the array.
        if not isinstance(contents, list) or len(contents) != shape[0] * 2:
            raise ValueError(f"a number of objects that does not match shape {shape}")
        return list(zip(contents[::2], contents[1::2], strict=True))
    if not re.fullmatch(r"U[1-9][0-9]{0,9}", dtype_name) or byte_order not in ("<", ">"):
        raise ValueError(f"dtype {dtype_name[:20]!r}")
    match contents:
        case _Recorded("encode", (str(text), "latin1")):  # protocol 2 has no bytes type
            contents = text.encode("latin1")
    # Compared before NumPy allocates the array, because the shape may be false.
    expected = shape[0] * 2 * int(dtype_name[1:]) * 4
    if not isinstance(contents, bytes | bytearray) or len(contents) != expected:
        raise ValueError(f"contents other than the {expected} bytes of its shape and dtype")
    return np.ndarray(shape, f"{byte_order}{dtype_name}", contents, order=order).tolist()


def _array_parts(record):
    """Returns the shape, dtype name, byte order, memory order ("C" or "F") and contents."""
    match record:
        case _Recorded("_reconstruct", (_Recorded("ndarray"), *_), (_, shape, dtype, order, data)):
            order = "F" if order else "C"
        case _Recorded("_frombuffer", (data, dtype, shape, "C" | "F" as order, *_), None):
            pass
        case _:
            raise ValueError(getattr(record, "name", type(record).__name__))
    match shape, dtype:
        case tuple(), _Recorded("dtype", (str(dtype_name), *_), (_, str(byte_order), *_)):
            if all(type(size) is int and size >= 0 for size in shape):
                return shape, dtype_name, byte_order, order, data
    raise ValueError("an array without shape or dtype")


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
    rows = [("source", "target"), *pairs] if is_header(pairs[0]) else pairs
    return "".join(f"{source}\t{target}\n" for source, target in rows).encode("utf-8")


_SURROGATES = "\ud800-\udfff"  # range of a regular expression; UTF-8 cannot encode them
# Encoder and characters that the format cannot represent: NumPy drops trailing nulls of a text.
_PICKLE = (lambda pairs: pickle.dumps(np.array(pairs), protocol=4), "\0")
_TSV = (_encode_tab_separated, "\t\r\n")
_WRITERS = {".pkl": _PICKLE, ".pickle": _PICKLE, ".tsv": _TSV, ".txt": _TSV}
