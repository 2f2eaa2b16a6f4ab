"""demo.py as a user runs it."""

import webbrowser
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from run_script import refusal, run_script
from translating import write_run

from keras_transformer.data.corpus import bundled_run_path


@pytest.mark.parametrize(
    ("arguments", "title", "opens"),
    [(["run"], "run", True), ([], "run", False), ([bundled_run_path()], "bundled-run", True)],
)
def test_it_opens_the_page_of_a_run(tmp_path, monkeypatch, arguments, title, opens):
    write_run(tmp_path / ("run" if arguments else "runs/run"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # reads TMPDIR again
    addresses = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or opens)
    output = run_script("demo.py", *arguments, folder=tmp_path)
    path = Path(url2pathname(urlsplit(*addresses).path))
    assert output == f"{'Opened' if opens else 'Open this page in a browser:'} {path}\n"
    assert f"<title>Translator: {title}</title>" in path.read_text("utf-8")


def test_a_missing_run_is_refused(folder):
    assert "nowhere" in refusal("demo.py", "nowhere", folder=folder)
