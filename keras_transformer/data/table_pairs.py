"""Sentence pairs in text with columns: tab-separated, CSV and JSON lines."""

import csv
import re

from keras_transformer._utils.reading import excerpt, parse_json

# Words of column names. A first line of two different names is a header, not a pair of sentences.
_HEADER_WORDS = """
    source target src tgt trg en de fr es eng deu ger fra spa english german deutsch french spanish
    italian portuguese dutch polish russian chinese japanese arabic turkish ukrainian
    sentence sentences text texts translation original reference label labels
"""
_OTHER_COLUMNS = {"id", "index", "number", "score", "line"}
_NAME, _WORD = re.compile(r"[\w\s()/:-]+"), re.compile(r"[^\W\d_]+")


def columns_of_header(cells, columns=None):
    """Returns the indices of source and target in a first line, or None if it is no header.

    Args:
        cells: list of the texts in the columns of the line.
        columns: names of the source and the target column; None for the first two with names of
            languages or sides.

    Raises:
        ValueError: if a given column is missing.
    """
    names = [cell.strip().lower() for cell in cells]
    if columns is not None:
        return tuple(_index(name, names, cells) for name in columns)
    words = [_WORD.findall(name) if _NAME.fullmatch(name) else [] for name in names]
    header_words = _OTHER_COLUMNS.union(_HEADER_WORDS.split())
    pairs = zip(names, words, strict=True)
    # The column of an index may have no name.
    known = [not name or header_words.issuperset(x or [""]) for name, x in pairs]
    found = [i for i, x in enumerate(words) if known[i] and not _OTHER_COLUMNS.issuperset(x)]
    different = len(found) >= 2 and names[found[0]] != names[found[1]]
    return tuple(found[:2]) if all(known[:2]) and different else None


def _index(name, names, cells):
    if name.lower() not in names:
        raise ValueError(
            f"the first line has no column {name!r}: give two of its names as `columns` "
            f"(--columns). Received: {excerpt(cells)}"
        )
    return names.index(name.lower())


def parse_line(line, number, indices=(0, 1)):
    """Returns the pair in a line of tab-separated text, or None if the line is blank.

    Args:
        line: the text of the line.
        number: the line number for the error message.
        indices: those of the columns of source and target.

    Returns:
        (source, target), or None.

    Raises:
        ValueError: if the line has too few columns.
    """
    cells = line.split("\t")
    if len(cells) > max(indices):
        return cells[indices[0]], cells[indices[1]]
    if line.strip():
        has = "one column" if len(cells) == 1 else f"{len(cells)} columns"
        raise ValueError(
            f"line {number} has {has}; separate source and target by a tab. "
            f"Received: {line.strip()[:60]!r}"
        )
    return None


def tab_separated_pairs(lines, columns=None):
    """Returns the pairs of lines of tab-separated text, without a header.

    Args:
        lines: list of lines.
        columns: see `columns_of_header`.
    """
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    header = columns_of_header(lines[first].split("\t"), columns)
    start, indices = (first, (0, 1)) if header is None else (first + 1, header)
    parsed = (parse_line(x, i + 1, indices) for i, x in enumerate(lines[start:], start=start))
    return [pair for pair in parsed if pair]


def csv_pairs(lines, columns=None):
    """Returns the pairs of lines of CSV, separated by the character that is most frequent.

    Args:
        lines: list of lines. A quoted cell may contain line breaks, which become spaces.
        columns: see `columns_of_header`.

    Raises:
        ValueError: if a row has too few columns, or quotes are not closed.
    """
    first = next((line for line in lines if line.strip()), "")
    unquoted = re.sub(r'"[^"]*"', "", first)
    delimiter = max(",;\t", key=unquoted.count)
    options = {"delimiter": delimiter, "strict": True, "skipinitialspace": True}
    reader = csv.reader((f"{x}\n" for x in lines), **options)
    pairs, indices = [], None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if indices is None:
                indices = columns_of_header(cells, columns)
                if indices is not None:
                    continue
                indices = (0, 1)
            if len(cells) <= max(indices):
                raise ValueError(
                    f"line {reader.line_num} has too few columns, separated by {delimiter!r}. "
                    f"Received: {excerpt(cells)}"
                )
            pairs.append(tuple(" ".join(cells[i].split()) for i in indices))
    except csv.Error as error:
        raise ValueError(
            f"line {reader.line_num} is not valid CSV, in which a quote within quotes is doubled. "
            f"Received: {error}"
        ) from error
    return pairs


def json_pairs(lines, columns=None):
    """Returns the pairs of lines that are JSON objects.

    The texts stand in the object or in its "translation", as in data sets of Hugging Face.

    Args:
        lines: list of lines.
        columns: keys of the source and the target; None for those of the first line whose names
            are a header, or its only two texts.

    Raises:
        ValueError: if a line is not such an object, or lacks a text.
    """
    pairs, keys = [], columns
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value = parse_json(line, f"line {number}")
        inner = value.get("translation") if isinstance(value, dict) else None
        texts = inner if isinstance(inner, dict) else value
        if not isinstance(texts, dict):
            raise ValueError(f"line {number} must be a JSON object. Received: {excerpt(value)}")
        keys = _keys(texts) if keys is None else keys
        pair = tuple(texts.get(key) for key in keys)
        if not all(isinstance(text, str) for text in pair):
            raise ValueError(
                f"line {number} must have texts under {keys[0]!r} and {keys[1]!r}: other keys are "
                f"chosen by `columns` (--columns). Received: {excerpt(texts)}"
            )
        pairs.append(tuple(" ".join(text.split()) for text in pair))
    return pairs


def _keys(texts):
    keys = [key for key, value in texts.items() if isinstance(value, str)]
    header = columns_of_header(keys)
    named = [keys[i] for i in header] if header else keys
    if len(named) != 2:
        raise ValueError(
            "the keys of source and target are unknown: give them as `columns` (--columns). "
            f"Received: {excerpt(list(texts))}"
        )
    return named
