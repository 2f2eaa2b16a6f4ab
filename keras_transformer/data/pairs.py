"""Reading and writing of sentence pairs: the published pickle, tab-separated and parallel text."""

import codecs
import contextlib
import gzip
import io
import os
import pickle
import pickletools
import re
import zlib
from pathlib import Path

import numpy as np

# Words that name a column. A first line made of two different ones is no pair of sentences.
_HEADER_WORDS = frozenset(
    "source target src tgt trg en de fr es eng deu ger fra spa "
    "english german deutsch french spanish".split()  # noqa: SIM905 (a list: one word per line)
)

# All that an array of text needs, under the names of NumPy 1 (core) and NumPy 2 (_core).
_ADMITTED_NAMES = frozenset(
    {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
    | {(f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")}
    | {(f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")}
)
_ADMITTED_OPCODES = frozenset(
    "PROTO FRAME STOP GLOBAL STACK_GLOBAL REDUCE BUILD MARK "
    "NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 "
    "BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 "
    "EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST APPEND APPENDS "
    "MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET".split()  # noqa: SIM905
)


def read_pairs(path, target_path=None):
    """Reads sentence pairs from one file, or from two parallel ones.

    - `.pkl`, `.pickle`: a pickled NumPy array of text of shape (n, 2). The pickle is decoded
      without calling anything that it names, so that a stranger's file can do no harm.
    - `.tsv`, `.txt`: UTF-8, one pair per line, source and target separated by a tab; further
      columns are ignored, blank lines skipped, quotes are text. The first line is skipped as a
      header if its first two columns, whatever their case, are two different words of: source,
      target, src, tgt, trg, en, de, fr, es, eng, deu, ger, fra, spa, English, German, Deutsch,
      French, Spanish.
    - with `target_path`: UTF-8, line i of one file belongs to line i of the other.

    Each file may also be compressed (`.gz`). White space around a sentence is taken off; a pair
    of which one side is empty is left out.

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
        if not one.exists():
            raise FileNotFoundError(
                f"No file of sentence pairs here; check the path. Received: {one}"
            )
    reader = _READERS.get(_kind(paths[0])) if target_path is None else _read_parallel
    try:
        if reader is None:
            raise ValueError(
                "the name does not say the format; name it .pkl, .tsv or .txt, or give the other "
                f"language's file as `target_path`. Received: {paths[0].name}"
            )
        pairs = [(source.strip(), target.strip()) for source, target in reader(*paths)]
        pairs = [pair for pair in pairs if all(pair)]
        if not pairs:
            raise ValueError("expected at least one pair of sentences. Received: none")
    except ValueError as error:
        names = " and ".join(map(str, paths))
        raise ValueError(f"Could not read sentence pairs from {names}: {error}") from error
    return pairs


def write_pairs(path, pairs):
    """Writes sentence pairs so that `read_pairs` reads them back.

    The file is written beside its place and then renamed: an earlier file is either still whole
    or wholly replaced.

    Args:
        path: path ending in `.pkl` or `.pickle` (a NumPy array of shape (n, 2), every text as wide
            as the longest one), or in `.tsv` or `.txt` (much smaller, readable).
        pairs: iterable of (source, target) texts, at least one.

    Raises:
        ValueError: the suffix is unknown, or the format cannot hold these pairs.
        OSError: the file could not be written, for instance because the disk is full.
    """
    path, pairs = Path(path), [tuple(pair) for pair in pairs]
    if path.suffix.lower() not in _WRITERS:
        raise ValueError(f"Name the file .pkl or .tsv, to say its format. Received: {path}")
    encode, forbidden = _WRITERS[path.suffix.lower()]
    if not pairs:
        raise ValueError(f"Give at least one pair to write to {path}. Received: none")
    _check_text(pairs, forbidden)
    _replace(path, encode(pairs))


def _kind(path):
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_bytes(path):
    try:
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(path.read_bytes())
        else:
            data = path.read_bytes()
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
    pairs = []
    for number, line in enumerate(_read_lines(path), start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 2:
            raise ValueError(
                f"line {number} has one column; separate source and target by a tab. "
                f"Received: {line.strip()[:60]!r}"
            )
        if pairs or not _is_header(columns):
            pairs.append((columns[0], columns[1]))
    return pairs


def _is_header(columns):
    words = {column.strip().lower() for column in columns[:2]}
    return len(words) == 2 and words <= _HEADER_WORDS


class _NotPairsError(ValueError):
    def __init__(self, received):
        expected = "expected a pickled NumPy array of text, of shape (n, 2)"
        super().__init__(f"{expected}. Received: {received}")


class _Recorded:
    """A name or a call of a pickle, written down instead of looked up or made."""

    # No __dict__, so that a pickle cannot give it attributes.
    __slots__ = ("arguments", "name", "state")

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
        if (module, name) not in _ADMITTED_NAMES:
            raise _NotPairsError(f"a call of {module}.{name}, which was not run")
        return _Recorded(name)


def _read_pickle(path):
    data = _read_bytes(path)
    try:
        _check_opcodes(data)
        pairs = _decode_array(_TextUnpickler(io.BytesIO(data)).load())
    except _NotPairsError:
        raise
    except Exception as error:  # damaged pickles raise nearly anything
        raise _NotPairsError(f"damaged data ({error})") from error
    _check_text(pairs)
    return pairs


def _check_opcodes(data):
    """Refuses what an array of text does not need, before memory is spent on it."""
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if opcode.name not in _ADMITTED_OPCODES:
            raise _NotPairsError(f"something else (opcode {opcode.name})")
        # The unpickler makes a table as long as the greatest index claimed.
        if opcode.name == "LONG_BINPUT" and argument > count:
            raise _NotPairsError(f"memo index {argument}")


def _decode_array(record):
    """Makes the pairs from the recorded calls by which NumPy pickles an array."""
    shape, dtype, order, raw = _array_parts(record)
    if len(shape) != 2 or shape[1] != 2:
        raise _NotPairsError(f"shape {shape}")
    kind, byte_order = _dtype_parts(dtype)
    if kind in ("O", "O8"):
        return _decode_objects(shape, raw)
    width = re.fullmatch(r"U([1-9]\d{0,9})", kind)
    if width is None or byte_order not in ("<", ">"):
        raise _NotPairsError(f"dtype {kind[:20]}")
    raw = _decode_bytes(raw)
    # Compared before NumPy sees it: the shape is a claim, the bytes are there.
    claimed = shape[0] * 2 * int(width[1]) * 4
    if len(raw) != claimed:
        raise _NotPairsError(f"{len(raw)} bytes for a shape and dtype that take {claimed}")
    flat = np.frombuffer(raw, dtype=f"{byte_order}{kind}") if raw else np.empty(0, "U1")
    return flat.reshape(shape, order=order).tolist()


def _array_parts(record):
    """Shape, recorded dtype, order ("C" or "F") and contents of a recorded array."""
    name = record.name if isinstance(record, _Recorded) and record.arguments else None
    match name, getattr(record, "arguments", None), getattr(record, "state", None):
        case "_reconstruct", (_Recorded(name="ndarray"), *_), (_, tuple(shape), dtype, order, raw):
            order = "F" if order else "C"
        case "_frombuffer", (raw, dtype, tuple(shape), "C" | "F" as order, *_), None:
            pass
        case _:
            received = name or type(record).__name__.lstrip("_").lower()
            raise _NotPairsError(received)
    # 64 is more axes than NumPy allows; a longer shape would only fill the message.
    if len(shape) > 64 or any(type(size) is not int or size < 0 for size in shape):
        raise _NotPairsError("a shape of something but sizes")
    return shape, dtype, order, raw


def _dtype_parts(dtype):
    """Name and byte order of a recorded dtype."""
    match dtype:
        case _Recorded(name="dtype", arguments=(str(kind), *_), state=(_, str(byte_order), *_)):
            return kind, byte_order
    raise _NotPairsError("no dtype")


def _decode_objects(shape, items):
    # NumPy lists objects in C order, whatever the order of the array.
    if not isinstance(items, list) or len(items) != shape[0] * 2:
        raise _NotPairsError(f"shape {shape} and another number of objects")
    return list(zip(items[::2], items[1::2], strict=True))


def _decode_bytes(raw):
    # Protocol 2 has no bytes: it asks for `_codecs.encode(text, "latin1")`.
    match raw:
        case _Recorded(name="encode", arguments=(str(text), "latin1")):
            return text.encode("latin1")
        case bytes() | bytearray():
            return raw
    raise _NotPairsError("contents that are not bytes")


def _check_text(pairs, forbidden=""):
    for number, pair in enumerate(pairs, start=1):
        for side in pair:
            if not isinstance(side, str):
                raise ValueError(f"Pair {number} must be text. Received: {type(side).__name__}")
            if any(sign in side for sign in forbidden):
                raise ValueError(
                    f"Pair {number} holds a sign that the format cannot: a tab, line break or "
                    f"null; clean the pairs first. Received: {side[:60]!r}"
                )
            try:
                side.encode("utf-8")
            except UnicodeEncodeError as error:
                raise ValueError(
                    f"Pair {number} must be Unicode text. Received: {side[:60]!r}"
                ) from error
        if len(pair) != 2:
            raise ValueError(f"Pair {number} must have two sides. Received: {len(pair)}")


def _encode_pickle(pairs):
    return pickle.dumps(np.array(pairs), protocol=4)


def _encode_tab_separated(pairs):
    return "".join(f"{source}\t{target}\n" for source, target in pairs).encode("utf-8")


def _replace(path, data):
    path = path.resolve()  # a link stays a link
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a full disk may speak up only here
        os.replace(beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise OSError(
            error.errno,
            "The pairs could not be written, an earlier file is as it was; free some space or "
            f"choose another folder. Received: {error.strerror}",
            str(path),
        ) from error


_READERS = {
    ".pkl": _read_pickle,
    ".pickle": _read_pickle,
    ".tsv": _read_tab_separated,
    ".txt": _read_tab_separated,
}
# How to encode, and what the format cannot hold: NumPy cuts nulls off the end of a text.
_WRITERS = {
    ".pkl": (_encode_pickle, "\0"),
    ".pickle": (_encode_pickle, "\0"),
    ".tsv": (_encode_tab_separated, "\t\r\n"),
    ".txt": (_encode_tab_separated, "\t\r\n"),
}
