"""Reading and writing of sentence pairs: the published pickle, tab-separated and parallel text."""

import codecs
import gzip
import io
import pickle
import pickletools
import re
import zlib
from pathlib import Path

import numpy as np

from keras_transformer._utils.files import atomic_replace

# Words that name a column. A first line made of two different ones is no pair of sentences.
_HEADER_WORDS = """
    source target src tgt trg en de fr es eng deu ger fra spa english german deutsch french spanish
"""

# All that an array of text needs, under the names of NumPy 1 (core) and NumPy 2 (_core).
_ADMITTED_NAMES = """
    numpy.ndarray numpy.dtype _codecs.encode
    numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct
    numpy.core.numeric._frombuffer numpy._core.numeric._frombuffer
"""
_ADMITTED_OPCODES = """
    PROTO FRAME STOP GLOBAL STACK_GLOBAL REDUCE BUILD MARK NONE NEWTRUE NEWFALSE
    BININT BININT1 BININT2 LONG1 EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8
    MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET
"""


def read_pairs(path, target_path=None):
    """Reads sentence pairs from one file, or from two parallel ones.

    - `.pkl`, `.pickle`: a pickled NumPy array of text of shape (n, 2). Nothing that the pickle
      names is called, so that a stranger's file can do no harm.
    - `.tsv`, `.txt`: UTF-8, one pair per line, source and target separated by a tab; further
      columns are ignored, blank lines skipped, quotes are text. A first line that names two
      columns (source and target, en and de, English and German, ...) is skipped.
    - with `target_path`: UTF-8, line i of one file belongs to line i of the other.

    Each file may also be compressed (`.gz`). White space around a sentence is taken off, blank
    lines are skipped. One side of a pair may be empty: `clean_pairs` and `PrepareDataset` drop such
    pairs, and it is said how many.

    Args:
        path: path of the file, or of the source side.
        target_path: path of the target side, or None.

    Returns:
        List of (source, target) texts, in the order of the file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not of the kind its name says, is damaged, or holds no pair.
    """
    paths = [Path(path)] if target_path is None else [Path(path), Path(target_path)]
    for one in paths:
        if one.is_dir() or not one.exists():
            raise FileNotFoundError(
                f"No file of sentence pairs here; check the path. Received: {one}"
            )
    try:
        pairs = _read_one(*paths) if target_path is None else _read_parallel(*paths)
        pairs = [(source.strip(), target.strip()) for source, target in pairs]
        pairs = [pair for pair in pairs if any(pair)]
        if not any(all(pair) for pair in pairs):
            raise ValueError("expected at least one pair of sentences. Received: none")
    except ValueError as error:
        names = " and ".join(map(str, paths))
        raise ValueError(f"Could not read sentence pairs from {names}: {error}") from error
    return pairs


def write_pairs(path, pairs):
    """Writes sentence pairs so that `read_pairs` reads them back.

    An earlier file is either still whole or wholly replaced.

    Args:
        path: path ending in `.pkl` or `.pickle` (a NumPy array of shape (n, 2), every text as wide
            as the longest one), or in `.tsv` or `.txt` (much smaller, readable).
        pairs: iterable of (source, target) texts, at least one.

    Raises:
        ValueError: the suffix is unknown, or the format cannot hold these pairs.
        OSError: the file could not be written, for instance because the disk is full.
    """
    path, pairs = Path(path).resolve(), [tuple(pair) for pair in pairs]  # a link stays a link
    encode, forbidden = _WRITERS.get(path.suffix.lower(), (None, ""))
    if not encode:
        raise ValueError(f"Name the file .pkl or .tsv, to say its format. Received: {path}")
    if not pairs:
        raise ValueError(f"Give at least one pair to write to {path}. Received: none")
    _check_text(pairs, forbidden + _SURROGATES)
    with atomic_replace(path) as temporary:
        temporary.write_bytes(encode(pairs))


def _read_one(path):
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix in (".pkl", ".pickle"):
        return _read_pickle(path)
    if suffix in (".tsv", ".txt"):
        return _read_tab_separated(path)
    raise ValueError(
        "the name does not say the format; name it .pkl, .tsv or .txt. Two parallel files are read "
        "with `target_path`, and prepare_data.py --target-file makes one of them. "
        f"Received: {path.name}"
    )


def _read_bytes(path):
    data = path.read_bytes()
    try:
        data = gzip.decompress(data) if path.suffix.lower() == ".gz" else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"expected gzip data; fetch the file again. Received: {path.name} ({error})"
        ) from error
    if not data:
        raise ValueError(f"the file is empty; make or fetch it again. Received: {path.name}")
    return data


def _read_lines(path):
    data = _read_bytes(path).removeprefix(codecs.BOM_UTF8)
    if b"\n" not in data:  # lines that end in a carriage return only, as old Macs wrote them
        data = data.replace(b"\r", b"\n")
    try:
        # Not splitlines(): it also splits at rarer characters, which occur within sentences.
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line} of {path.name} is not UTF-8; save the file in this encoding. "
            f"Received: byte 0x{data[error.start]:02x}"
        ) from error
    return lines if lines[-1] else lines[:-1]


def _read_parallel(source_path, target_path):
    sources, targets = _read_lines(source_path), _read_lines(target_path)
    if len(sources) != len(targets):
        raise ValueError(
            "both files must have the same number of lines, line i translating line i. "
            f"Received: {len(sources)} and {len(targets)}"
        )
    return list(zip(sources, targets, strict=True))


def _read_tab_separated(path):
    pairs = [parse_line(line, i) for i, line in enumerate(_read_lines(path), start=1)]
    pairs = [pair for pair in pairs if pair]
    return pairs[1:] if pairs and is_header(pairs[0]) else pairs


def parse_line(line, number):
    """The pair in a line of tab-separated text, or None if it is blank.

    Raises:
        ValueError: if the line, whose number is given, has one column.
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
    """Whether a first line names the columns instead of being a pair of sentences."""
    words = {side.strip().lower() for side in pair}
    return len(words) == 2 and words.issubset(_HEADER_WORDS.split())


class _Recorded:
    """A name or a call of a pickle, written down instead of looked up or made."""

    # No __dict__, so that a pickle cannot give it attributes.
    __slots__ = __match_args__ = ("name", "arguments", "state")

    def __init__(self, name, arguments=None):
        self.name, self.arguments, self.state = name, arguments, None

    def __call__(self, *arguments):
        return _Recorded(self.name, arguments)

    def __setstate__(self, state):
        self.state = state


class _TextUnpickler(pickle.Unpickler):
    """Decodes the pickle of an array of text into `_Recorded` calls; nothing of it is run.

    Even NumPy's own functions are only recorded. Called with arguments of the pickle's choice,
    they can reserve any amount of memory, or take bytes of the file for pointers to objects.
    """

    def find_class(self, module, name):
        called = f"{module}.{name}"
        if called not in _ADMITTED_NAMES.split():
            raise ValueError(f"a call of {called[:60]!r}, which was not run")
        return _Recorded(name)


def _read_pickle(path):
    data = _read_bytes(path)
    try:
        _check_opcodes(data)
        pairs = _decode_array(_TextUnpickler(io.BytesIO(data)).load())
    except Exception as error:  # damaged pickles raise nearly anything
        raise ValueError(
            "expected a pickled NumPy array of text, of shape (n, 2); make or fetch it again. "
            f"Received: {str(error) or type(error).__name__}"
        ) from error
    _check_text(pairs, _SURROGATES)
    return pairs


def _check_opcodes(data):
    """Refuses what an array of text does not need, before memory is spent on it."""
    admitted = frozenset(_ADMITTED_OPCODES.split())
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if opcode.name not in admitted:
            raise ValueError(f"something else (opcode {opcode.name})")
        # The unpickler makes a table as long as the greatest index claimed.
        if opcode.name == "LONG_BINPUT" and argument > count:
            raise ValueError(f"memo index {argument}")


def _decode_array(record):
    """Makes the pairs from the recorded calls by which NumPy pickles an array."""
    shape, kind, byte_order, order, contents = _array_parts(record)
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"shape {str(shape)[:60]}")
    if kind in ("O", "O8"):
        # NumPy lists objects in C order, whatever the order of the array.
        if not isinstance(contents, list) or len(contents) != shape[0] * 2:
            raise ValueError(f"shape {shape} and another number of objects")
        return list(zip(contents[::2], contents[1::2], strict=True))
    if not re.fullmatch(r"U[1-9][0-9]{0,9}", kind) or byte_order not in ("<", ">"):
        raise ValueError(f"dtype {kind[:20]!r}")
    match contents:
        case _Recorded("encode", (str(text), "latin1")):  # protocol 2 has no bytes
            contents = text.encode("latin1")
    # Compared before NumPy sees it: the shape is a claim, the bytes are there.
    claimed = shape[0] * 2 * int(kind[1:]) * 4
    if not isinstance(contents, bytes | bytearray) or len(contents) != claimed:
        raise ValueError(f"something else than the {claimed} bytes of its shape and dtype")
    return np.ndarray(shape, f"{byte_order}{kind}", contents, order=order).tolist()


def _array_parts(record):
    """Shape, name and byte order of the dtype, order ("C" or "F") and contents of an array."""
    match record:
        case _Recorded("_reconstruct", (_Recorded("ndarray"), *_), (_, shape, dtype, order, data)):
            order = "F" if order else "C"
        case _Recorded("_frombuffer", (data, dtype, shape, "C" | "F" as order, *_), None):
            pass
        case _:
            raise ValueError(getattr(record, "name", type(record).__name__))
    match shape, dtype:
        case tuple(), _Recorded("dtype", (str(kind), *_), (_, str(byte_order), *_)):
            if all(type(size) is int and size >= 0 for size in shape):
                return shape, kind, byte_order, order, data
    raise ValueError("an array without sizes or dtype")


def _check_text(pairs, forbidden):
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            kinds = ", ".join(type(side).__name__ for side in pair[:3])
            raise ValueError(f"Pair {number} must be two texts. Received: {len(pair)} ({kinds})")
        for side in pair:
            if re.search(f"[{forbidden}]", side):
                raise ValueError(
                    f"Pair {number} holds a sign that the format cannot: a tab, line break, null "
                    f"or half a character; clean the pairs first. Received: {side[:60]!r}"
                )


def _encode_tab_separated(pairs):
    # A first pair that reads like a header is kept from being skipped by a real one.
    rows = [("source", "target"), *pairs] if is_header(pairs[0]) else pairs
    return "".join(f"{source}\t{target}\n" for source, target in rows).encode("utf-8")


_SURROGATES = "\ud800-\udfff"  # halves of characters, in a regular expression
# How to encode, and what the format cannot hold: NumPy cuts nulls off the end of a text.
_PICKLE = (lambda pairs: pickle.dumps(np.array(pairs), protocol=4), "\0")
_TABS = (_encode_tab_separated, "\t\r\n")
_WRITERS = {".pkl": _PICKLE, ".pickle": _PICKLE, ".tsv": _TABS, ".txt": _TABS}
