"""What MkDocs is told besides: README.md and the notebooks are pages of the site as well."""

import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]


@event_priority(100)  # before the plugin that shows notebooks
def on_files(files, config):
    """Adds them to the files of `docs/`."""
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        name = f"notebooks/{path.name}"
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown, page, **_):
    """Turns links between the folders of the repository into links between pages."""
    if page.file.src_uri == "index.md":
        return markdown.replace("](docs/", "](")
    return re.sub(r"\]\(\.\./(notebooks/|README)", _inside, markdown)


def _inside(link):
    return "](index" if link[1] == "README" else f"]({link[1]}"
