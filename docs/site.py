"""MkDocs hooks: add README.md, CHANGELOG.md, the notebooks and the pages of the bundled run."""

import functools
import html
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}
SENTENCE = "We want to buy a new car tomorrow."
EXAMPLES = [
    SENTENCE,
    "Where is the new station?",
    "I have two brothers and one sister.",
    "My little sister has seen a zebra.",
]
# Code or a frame, which may contain dollar signs, or a formula between two of them or four.
_CODE_OR_FORMULA = re.compile(
    r"<(pre|code|script|style|iframe)\b.*?</\1>|\$\$(.+?)\$\$|\$([^$]+?)\$", re.DOTALL
)


# Runs before the hook of the notebook plugin, which converts only the files it finds in the list.
@event_priority(100)
def on_files(files, config):
    """Adds README.md as the start page, the change log, the notebooks, and two pages."""
    for page, name in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, "attention-page.html", content=attention_page()))
    files.append(File.generated(config, "translator.html", content=translator_page()))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.name}"
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


@functools.cache
def attention_page():
    """Returns the attention page of a sentence, translated by the bundled run."""
    import keras_transformer as kt
    from keras_transformer.pages.attention_page import make_attention_page

    translate = kt.Translate.from_run(ROOT / "data/bundled-run")
    hypothesis = translate.hypotheses(SENTENCE)[0][0]
    views = kt.translation_views(translate, hypothesis)[::-1]  # begins with cross-attention
    return make_attention_page(views, f"{SENTENCE} → {hypothesis.text}")


@functools.cache
def translator_page():
    """Returns the page that translates with the bundled run."""
    import keras_transformer as kt
    from keras_transformer.pages.translator_page import make_translator_page

    translate = kt.Translate.from_run(ROOT / "data/bundled-run")
    return make_translator_page(translate, title="English → German", examples=EXAMPLES)


def on_page_markdown(markdown, page, **_):
    """Rewrites links between folders of the repository as links between pages of the site."""
    if page.file.src_uri in PAGES:
        return markdown.replace("](docs/", "](").replace('src="docs/', 'src="')
    return re.sub(r"\]\(\.\./(notebooks/|README|CHANGELOG)", _site_link, markdown)


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
    return {"README": "](index", "CHANGELOG": "](changelog"}.get(match[1], f"]({match[1]}")
