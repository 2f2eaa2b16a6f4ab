"""MkDocs hooks that add README.md and the notebooks to the site as pages."""

import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
# Code, which may contain dollar signs, or a formula between two of them or four.
_CODE_OR_FORMULA = re.compile(
    r"<(pre|code|script|style)\b.*?</\1>|\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL
)


# Runs before the hook of the notebook plugin, which converts only the files it finds in the list.
@event_priority(100)
def on_files(files, config):
    """Adds README.md as the start page, and the notebooks."""
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.name}"
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown, page, **_):
    """Rewrites links between folders of the repository as links between pages of the site."""
    if page.file.src_uri == "index.md":
        return markdown.replace("](docs/", "](")
    return re.sub(r"\]\(\.\./(notebooks/|README)", _site_link, markdown)


def on_page_content(content, page, **_):
    """Writes the formulas of notebooks as MathML, which browsers show without a script."""
    if not page.file.src_uri.endswith(".ipynb"):
        return content
    headings = list(page.toc)
    for heading in headings:
        headings.extend(heading.children)
        heading.title = _with_mathml(heading.title)
    return _with_mathml(content)


def _with_mathml(content):
    return _CODE_OR_FORMULA.sub(_mathml, content)


def _mathml(match):
    code, block, inline = match.groups()
    if code:
        return match[0]
    return convert(html.unescape(block or inline), display="block" if block else "inline")


def _site_link(match):
    return "](index" if match[1] == "README" else f"]({match[1]}"
