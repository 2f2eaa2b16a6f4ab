"""A report on translations as a web page without scripts."""

import html
import json
from pathlib import Path
from typing import Any

from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.types import PathLike

_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#c9d3de, #4a5460); --bar: #2171b5; }
body { margin: 0 auto; padding: 20px 16px 48px; max-width: 960px;
  font: 15px/1.45 system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
h1 { font-size: 22px; } h2 { font-size: 17px; margin-top: 32px; }
table { border-collapse: collapse; } td, th { padding: 4px 12px 4px 0; text-align: left;
  border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: 10px; background: var(--bar); }
article { border-top: 1px solid var(--line); padding: 10px 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: 7.5em 1fr; gap: 2px 10px; margin: 0; }
dt { opacity: .7; } dd { margin: 0; } .attended span { margin-right: 10px; }
small { font-size: 12px; opacity: .75; }
"""


def write_report(path: PathLike, report: dict[str, Any], title: str) -> None:
    """Writes a report as a web page, and as JSON beside it.

    Args:
        path: path of the page; the other file has the suffix `.json`.
        report: what `make_report` returns.
        title: heading of the page.

    Raises:
        OSError: if a file cannot be written; each is replaced completely or not at all.
        ValueError: if the suffix of `path` is that of the other file.
    """
    page, data = report_files(path)
    report_text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    for file, text in ((data, report_text), (page, _page(report, title))):
        with atomic_replace(file) as temporary:
            # The title may be the name of a folder that is not UTF-8.
            temporary.write_text(text, encoding="utf-8", errors="replace")


def report_files(path):
    """Returns the paths of the page and the JSON file; a ValueError if they are the same."""
    page, data = Path(path), Path(path).with_suffix(".json")
    if page == data:
        raise ValueError(f"Give the path of a web page, such as report.html. Received: {path}")
    return page, data


def _page(report, title):
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{report['sentences']:,} sentences; {report['exact']:.1f}% equal a reference, except "
        "for punctuation at the end.</p>",
        _scores(report["scores"]),
        "<p><small>Intervals of 95% by bootstrap; p: the probability of a difference this large if "
        f"both were equally good. {html.escape('; '.join(report['signatures']))}</small></p>",
        "<h2>By length</h2>",
        _groups(report["by_length"]),
        "<h2>By unknown tokens of the source</h2>",
        _groups(report["by_unknown"]),
        f"<h2>The {len(report['worst'])} sentences with the lowest chrF</h2>",
        *map(_sentence, report["worst"]),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _scores(scores):
    with_other = "other" in scores["BLEU"]
    heads = ["", "score", "95% interval", *(["other run", "p"] if with_other else [])]
    rows = []
    for name, x in scores.items():
        cells = [f"{x['score']:.1f}", f"{x['low']:.1f} to {x['high']:.1f}"]
        cells += [f"{x['other']:.1f}", f"{x['p']:.3f}"] if with_other else []
        rows.append([name, *cells])
    return _table(heads, rows)


def _groups(groups):
    heads = ["", "sentences", "BLEU", "chrF", ""]
    rows = [
        [x["group"], f"{x['sentences']:,}", f"{x['BLEU']:.1f}", f"{x['chrF']:.1f}", x["chrF"]]
        for x in groups
    ]
    return _table(heads, rows)


def _table(heads, rows):
    lines = ["".join(f"<th{_number(i)}>{x}</th>" for i, x in enumerate(heads))]
    for row in rows:
        cells = [f"<td{_number(i)}>{_cell(x)}</td>" for i, x in enumerate(row)]
        lines.append("".join(cells))
    return "<table>" + "".join(f"<tr>{line}</tr>\n" for line in lines) + "</table>"


_BARS = 4  # the column of the bars, and that of "p" without bars


def _number(column):
    return ' class="number"' if 0 < column < _BARS else ""


def _cell(x):
    if isinstance(x, float):  # drawn as a bar
        return f'<span class="bar" style="width:{2 * x:.0f}px"></span>'
    return html.escape(x)


def _sentence(entry):
    parts = [("source", entry["source"])]
    parts += [("reference", x) for x in entry["references"]]
    parts.append(("translation", entry["translation"] or "(empty)"))
    if "other" in entry:
        parts.append(("other run", entry["other"] or "(empty)"))
    rows = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in parts)
    attended = " ".join(
        f"<span><bdi>{html.escape(token)}</bdi> ← <bdi>{html.escape(source)}</bdi> "
        f"<small>{weight:.0%}</small></span>"
        for token, source, weight in entry["attended"]
    )
    if attended:
        rows += f'<dt>attends to</dt><dd class="attended">{attended}</dd>'
    return f"<article><dl><dt>chrF</dt><dd>{entry['chrF']:.1f}</dd>{rows}</dl></article>"
