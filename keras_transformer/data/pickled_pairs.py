"""Reading and writing of pickled NumPy arrays of text, which are decoded without running code."""

import io
import pickle
import pickletools
import re

import numpy as np

from keras_transformer._utils.reading import shorten

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


def pickled_pairs(pairs):
    """Returns the bytes of pickled pairs, a NumPy array of shape (n, 2)."""
    return pickle.dumps(np.array(pairs), protocol=4)


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


def read_pickled_pairs(data, name, limits):
    """Reads the pairs of a pickled NumPy array of text, without running any code of it.

    Args:
        data: bytes of the file.
        name: name of the file for messages.
        limits: the `Limits`.

    Returns:
        List of lists of two texts, or of whatever the array has.

    Raises:
        ValueError: if the file is something else, damaged or beyond a limit.
    """
    try:
        _check_opcodes(data, limits)
        pairs = _decode_array(_TextUnpickler(io.BytesIO(data)).load())
    except Exception as error:  # a damaged pickle can raise any exception
        raise ValueError(
            "expected a pickled NumPy array of text, of shape (n, 2); create or download it again. "
            f"Received: {shorten(str(error), 200) or type(error).__name__}"
        ) from error
    _check_size(pairs, name, limits)
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


def _check_size(pairs, name, limits):
    """Raises a ValueError for too much text, of which repeated references are counted each time."""
    lengths = [len(side) for pair in pairs for side in pair if isinstance(side, str)]
    limits.check_lines(len(pairs), name)
    limits.check_line(max(lengths, default=0), f"each sentence of {name}")
    limits.check_bytes(sum(lengths), name)


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
