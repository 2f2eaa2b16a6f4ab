"""train_classifier.py as a user runs it."""

import re

import pytest
from run_script import refusal, run_script

from keras_transformer import Bert, BlockSettings, Classify, WordPieceTokenizer

ANIMALS, TOOLS = ("cat", "dog", "bird", "fish"), ("saw", "axe", "pen", "key")
LINES = [
    f"{name} has a {thing} {when}\t{label}\n"
    for name in ("anna", "tom", "lena", "paul", "ida", "max")
    for when in ("now", "today", "again", "here")
    for label, things in (("animal", ANIMALS), ("tool", TOOLS))
    for thing in things
]


@pytest.mark.slow
def test_labels_are_learned_from_scratch_and_with_a_bert(tmp_path):
    (tmp_path / "labels.tsv").write_text("".join(LINES))
    tokenizer = WordPieceTokenizer.train([line.split("\t")[0] for line in LINES])
    tokenizer.save(tmp_path / "bert/tokenizer.json")
    body = Bert(tokenizer.vocab_size, 12, BlockSettings(h=4, d_model=64, d_ff=128, rate=0.0))
    body.build((None, None))
    body.save(tmp_path / "bert/bert.keras")
    for options in (["--epochs", 10], ["--bert", "bert", "--epochs", 20]):
        printed = run_script("train_classifier.py", "labels.tsv", *options, folder=tmp_path)
        accuracy = re.search(r"^animal, tool: accuracy ([\d.]+)%", printed, re.MULTILINE)[1]
        assert float(accuracy) > 95, printed
    found = Classify.from_run(tmp_path / "runs/labels")(["tom has a cat now", "ida has a axe here"])
    assert [result["label"] for result in found] == ["animal", "tool"]
    run_script("attention_html.py", "--bert", "runs/labels", "tom has a cat", folder=tmp_path)
    assert "tom" in (tmp_path / "attention.html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "No file of sentence pairs here"), ("a text without a label\n", "tab")],
)
def test_unusable_files_are_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "labels.tsv").write_text(text)
    assert message in refusal("train_classifier.py", "labels.tsv", folder=tmp_path)
    assert not (tmp_path / "runs").exists()
