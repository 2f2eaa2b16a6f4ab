"""Sentences with one or more reference translations, in tab-separated text."""

from keras_transformer._utils.reading import read_text
from keras_transformer.data.table_pairs import columns_of_header

MAX_TEXT = 1 << 31  # bytes


def read_references(path, header=True):
    """Reads sentences and their reference translations from tab-separated text.

    Blank lines, empty references, and lines without a sentence or a reference are skipped.

    Args:
        path: path of a UTF-8 file. Each line has a sentence and one or more references, separated
            by tabs.
        header: whether a first line of two column names is skipped, see `read_pairs`.

    Returns:
        List of (sentence, list of references).

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if it is not such a file.
    """
    # Not `splitlines`, which splits at separators of Unicode in the middle of a sentence, too.
    lines = [line for line in read_text(path, MAX_TEXT).split("\n") if line.strip()]
    cells = [[cell.strip() for cell in line.split("\t")] for line in lines]
    cells = cells[1:] if header and cells and columns_of_header(cells[0]) else cells
    rows = [(source, [x for x in references if x]) for source, *references in cells]
    rows = [row for row in rows if all(row)]
    if not rows or min(map(len, cells)) < 2:
        raise ValueError(
            f"{path} must have lines of a source and its references, separated by tabs. "
            f"Received: {len(rows)} lines"
        )
    return rows


def reference_lines(rows):
    """Returns the text of a file of (sentence, list of references) rows, for `read_references`."""
    lines = [[source, *references] for source, references in rows]
    return "".join("\t".join(" ".join(x.split()) for x in line) + "\n" for line in lines)
