"""Checks that the versions agree and the checkout is clean: python .ci/check_release.py"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read_version():
    tree = ast.parse((ROOT / "keras_transformer/__init__.py").read_text(encoding="utf-8"))
    [version] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__version__"
    ]
    return version


def git(*arguments):
    return subprocess.check_output(("git", *arguments), cwd=ROOT, text=True).strip()


def problems(version):
    """Yields what is missing for the release of this commit."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"__version__ must be MAJOR.MINOR.PATCH. Received: {version}"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## (.*)$", changes, re.MULTILINE)[1]
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        yield f"CHANGELOG.md must begin with {version} and its date. Received: {heading}"
    if not (ROOT / f"tests/data/saved_by_{version}").is_dir():
        yield f"Save files of version {version}: python tests/data/write_saved_files.py"
    if changed := git("status", "--porcelain"):
        yield f"Commit all changes. Received:\n{changed}"
    tag = f"v{version}"
    if tag in git("tag", "--list", tag) and git("rev-list", "-1", tag) != git("rev-parse", "HEAD"):
        yield f"{tag} is another commit: increase __version__."


def main():
    version = read_version()
    if found := list(problems(version)):
        sys.exit("\n".join(found))
    print(f"Version {version} can be released.")


if __name__ == "__main__":
    main()
