"""attention_html.py as a user runs it."""

import json
import re

import pytest
from run_script import refusal, run_script
from translating import shared_translate

from keras_transformer import Bert, BlockSettings, WordPieceTokenizer

TEXTS = ["the train leaves at seven", "anna has the tickets"]


@pytest.fixture(scope="module")
def folder(folder):
    """Adds a BERT model to the folder."""
    tokenizer = WordPieceTokenizer.train(TEXTS, min_count=1)
    tokenizer.save(folder / "bert" / "tokenizer.json")
    model = Bert(tokenizer.vocab_size, 16, BlockSettings(h=2, d_model=8, d_ff=8, n=2))
    model.build((None, None))
    model.save(folder / "bert" / "bert.keras")
    return folder


def data_of(path):
    page = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page)[1])


@pytest.mark.slow
def test_it_shows_the_attention_weights_of_a_translator(folder):
    output = run_script("attention_html.py", "run", "one two three", folder=folder)
    assert output == "attention.html\n"
    data = data_of(folder / "attention.html")
    assert data["title"] == f"one two three → {shared_translate()('one two three')}"
    kinds = [view["name"].split(":")[0] for view in data["views"]]
    assert kinds == ["encoder", "decoder", "cross"]
    assert all(view["vectors"] for view in data["views"])


@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]], ids=len)
def test_it_shows_the_attention_weights_of_a_bert(folder, texts):
    arguments = ["--bert", "bert", *texts, "--output", "pages/bert.html"]
    assert run_script("attention_html.py", *arguments, folder=folder) == "pages/bert.html\n"
    data = data_of(folder / "pages" / "bert.html")
    assert data["title"] == " | ".join(texts)
    assert data["views"][0]["queryTokens"].count("[SEP]") == len(texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "one", "two"], "give the folder of a run and one sentence"),
        (["--bert", "bert", "one", "two", "three"], "give one or two texts"),
        (["--bert", "bert", "one", "--beam", "2"], "--beam cannot be combined with --bert"),
        (["run", "one", "--weights", "epoch-9"], "has no weights 'epoch-9', but "),
        (["run", " "], "the sentence has no words."),
        (["nowhere", "one"], "nowhere"),
        (["--bert", "nowhere", "one"], "nowhere"),
        (["--bert", "bert", "train " * 20], "shorten the text. Received: 22 tokens"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    arguments = [*arguments, "--output", "no.html"]
    assert message in refusal("attention_html.py", *arguments, folder=folder)
    assert not (folder / "no.html").exists()
