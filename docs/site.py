"""MkDocs hooks that add README.md, CHANGELOG.md and the notebooks to the site as pages."""

import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"index.md": "README.md", "changelog.md": "CHANGELOG.md"}


# Runs before the hook of the notebook plugin, which converts only the files it finds in the list.
@event_priority(100)
def on_files(files, config):
    """Adds README.md as the start page, the change log and the notebooks."""
    for page, name in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.name}"
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown, page, **_):
    """Rewrites links between folders of the repository as links between pages of the site."""
    if page.file.src_uri in PAGES:
        return markdown.replace("](docs/", "](")
    return re.sub(r"\]\(\.\./(notebooks/|README|CHANGELOG)", _site_link, markdown)


def _site_link(match):
    return {"README": "](index", "CHANGELOG": "](changelog"}.get(match[1], f"]({match[1]}")
