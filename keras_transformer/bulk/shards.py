"""Reading of shards and writing of their translations, piece by piece.

A shard is a file with a sentence per line, or per row of a column: text, tab-separated text or
Parquet. Text may be compressed with gzip. Shards of any size take the same memory.
"""

import codecs
import contextlib
import gzip

from keras_transformer._utils.checks import check_integers
from keras_transformer._utils.extras import extra
from keras_transformer._utils.reading import check_regular
from keras_transformer.data.limits import open_limited, refuse_utf16

# The number of sentences that are sorted by length and translated together, as in `translate`.
PIECE = 4096
_PIECE_BYTES = 1 << 24  # ends a piece of very long lines earlier
_ROW_GROUP_BYTES = 1 << 30  # of a column in Parquet, uncompressed
# A translation is one line, or one field of it.
_SEPARATORS = str.maketrans("\t\n\r", "   ")
_NO_COLUMN = object()


def is_parquet(path):
    """Returns whether a path has the suffix of Parquet."""
    return path.suffix.lower() == ".parquet"


def check_column(column):
    """Raises a ValueError if a column of tab-separated text is not a positive number.

    Args:
        column: a text or an integer; None for the default.
    """
    if column is not None:
        number = int(column) if str(column).isdecimal() else column
        check_integers(1, 10**6, column=number)


def read_pieces(path, column, limits):
    """Reads the sentences of a shard.

    Args:
        path: a `Path`.
        column: the number of a column of tab-separated text, from 1, or the name of a column of
            Parquet. Defaults to the first one, or the only one of text.
        limits: the `Limits`. Longer lines are not refused but reported.

    Yields:
        Lists of (sentence, reason). The reason says why a line cannot be translated; its sentence
        is then "". It is None for other lines.

    Raises:
        ValueError: if the file cannot be read, is damaged, is not of its format or is beyond a
            limit.
    """
    try:
        number, piece, size = 0, [], 0
        for cell in _read_cells(path, column, limits):
            number += 1
            piece.append(_decode(cell, limits))
            size += len(piece[-1][0])
            if len(piece) == PIECE or size > _PIECE_BYTES:
                limits.check_lines(number, path.name)
                yield piece
                piece, size = [], 0
        limits.check_lines(number, path.name)
        if piece:
            yield piece
    except OSError as error:
        raise ValueError(f"{path} could not be read: {error}") from error


def _decode(cell, limits):
    """Returns the sentence of a cell, bytes, and the reason why it cannot be translated."""
    if cell is _NO_COLUMN:
        return "", "the line does not have this column"
    if len(cell) < limits.refused_line_bytes:
        try:
            text = cell.decode("utf-8")
        except UnicodeDecodeError as error:
            return "", f"not UTF-8: byte 0x{cell[error.start]:02x}"
        if len(text) <= limits.max_line:
            return text, None
    return "", f"more than {limits.max_line:,} characters"


def _read_cells(path, column, limits):
    """Yields the cells of a shard, bytes, cut where they are certainly too long."""
    if is_parquet(path):
        yield from _read_parquet(path, column, limits)
        return
    with open_limited(path, limits) as chunks:
        lines = _split_lines(_without_mark(chunks, path.name), limits.refused_line_bytes)
        if is_tab_separated(path):
            index = int(column or 1) - 1
            yield from (_cell(line, index) for line in lines)
        else:
            yield from lines


def is_tab_separated(path):
    """Returns whether a path has the suffix of tab-separated text, which may be compressed."""
    return path.name.lower().removesuffix(".gz").endswith(".tsv")


def _cell(line, index):
    cells = line.split(b"\t", index + 1)
    return cells[index] if index < len(cells) else _NO_COLUMN


def _without_mark(chunks, name):
    for number, chunk in enumerate(chunks):
        if number == 0:
            refuse_utf16(chunk, name)
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        yield chunk


def _split_lines(chunks, max_bytes):
    """Yields lines without their line break, LF or CRLF, and at most `max_bytes` of each."""
    rest = b""  # the beginning of an unfinished line
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest = (rest + first)[:max_bytes]
        for line in others:
            yield rest.removesuffix(b"\r")
            rest = line
    if rest:
        yield rest.removesuffix(b"\r")


def _read_parquet(path, column, limits):
    check_regular(path)
    pyarrow, parquet = _import_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            name = _text_column(file.schema_arrow, column, path)
            _check_row_groups(file.metadata, name, path)
        # Values that repeat are stored once. Decoding them takes memory without bound, so that
        # their size is computed before.
        with parquet.ParquetFile(path, read_dictionary=[name]) as file:
            for batch in file.iter_batches(PIECE, columns=[name], use_threads=False):
                yield from _decode_column(pyarrow, batch.column(0), limits, path)
    except pyarrow.ArrowException as error:
        raise ValueError(f"{path} cannot be read as Parquet. Received: {error}") from error


def _text_column(schema, column, path):
    import pyarrow.types as types

    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_dictionary)
    names = [x.name for x in schema if any(is_kind(x.type) for is_kind in kinds)]
    chosen = names if column is None else [name for name in names if name == column]
    if len(chosen) != 1:
        raise ValueError(
            f"{path} must have this column of text, or no other if `column` is not given "
            f"(--column). Received: column={column!r}, columns of text: {names[:20]}"
        )
    return chosen[0]


def _check_row_groups(metadata, name, path):
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        columns = [group.column(j) for j in range(group.num_columns)]
        size = sum(x.total_uncompressed_size for x in columns if x.path_in_schema == name)
        if size > _ROW_GROUP_BYTES:
            raise ValueError(
                f"{path} must have at most {_ROW_GROUP_BYTES:,} bytes of this column in a row "
                f"group: write it with smaller row groups. Received: {size:,} bytes"
            )


def _decode_column(pyarrow, column, limits, path):
    """Returns the cells of a column of Parquet as bytes, b"" for null."""
    import pyarrow.compute as compute

    if isinstance(column, pyarrow.DictionaryArray):
        lengths = compute.take(compute.binary_length(column.dictionary), column.indices)
        size = compute.sum(lengths).as_py() or 0
        if size > PIECE * limits.refused_line_bytes or size > 1 << 30:
            raise ValueError(
                f"{path} has {len(column):,} rows that are too large; split their texts. "
                f"Received: {size:,} bytes"
            )
        column = column.dictionary_decode()
    return [cell or b"" for cell in column.cast(pyarrow.large_binary()).to_pylist()]


def _import_pyarrow():
    with extra("Parquet needs pyarrow", "ray"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


@contextlib.contextmanager
def open_writer(path, with_scores=False, n_best=1):
    """Opens a file for the translations of a shard.

    - Text, also compressed: a line per sentence. With scores, each translation follows its score
      and a tab; several translations of a sentence are separated by tabs.
    - Parquet: a row per sentence with the column "translation" and, with scores, "score"; for
      several translations, both are lists.

    Args:
        path: a `Path`, whose suffix selects the format.
        with_scores: whether to write the scores.
        n_best: number of translations per sentence.

    Yields:
        A function that writes a list with an entry for each sentence, the list of its (translation,
        score) or None if it could not be translated.
    """
    open_format = _open_parquet if is_parquet(path) else _open_text
    with open_format(path, with_scores, n_best) as write:
        yield write


@contextlib.contextmanager
def _open_text(path, with_scores, n_best):
    def write(entries):
        lines = (_make_line(entry or (), with_scores) for entry in entries)
        file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))

    with open(path, "wb") as raw:
        if path.suffix.lower() != ".gz":
            file = raw
            yield write
            return
        # Without name and time, the same translations give the same bytes.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
            yield write


def _make_line(entry, with_scores):
    fields = []
    for text, score in entry:
        fields += [f"{score:.3f}"] if with_scores else []
        fields.append(text.translate(_SEPARATORS))
    return "\t".join(fields)


@contextlib.contextmanager
def _open_parquet(path, with_scores, n_best):
    pyarrow, parquet = _import_pyarrow()
    types = {"translation": pyarrow.string()}
    if with_scores:
        types["score"] = pyarrow.float32()
    if n_best > 1:
        types = {name: pyarrow.list_(kind) for name, kind in types.items()}
    schema = pyarrow.schema(types)

    def write(entries):
        columns = {"translation": [], "score": []}
        for entry in entries:
            texts, scores = [text for text, _ in entry or ()], [score for _, score in entry or ()]
            if n_best == 1:
                texts, scores = (texts or [""])[0], (scores or [None])[0]
            columns["translation"].append(texts)
            columns["score"].append(scores)
        writer.write_table(pyarrow.table({x: columns[x] for x in types}, schema=schema))

    with parquet.ParquetWriter(path, schema) as writer:
        yield write
