"""train_bert.py as a user runs it."""

import re

import keras
import numpy as np
import pytest
from keras import ops
from run_script import refusal, run_script

from keras_transformer.data.wordpiece import WordPieceTokenizer

NAMES = ("anna", "tom", "lena", "paul", "ida", "max", "eva", "jan", "mia", "leo", "ben", "zoe")
# Each verb has its own objects, so that context predicts masked words and next sentences.
THINGS = {
    "eats": ("bread", "soup", "rice"),
    "drinks": ("tea", "milk", "juice"),
    "reads": ("books", "letters", "papers"),
    "drives": ("cars", "trucks", "taxis"),
}
SENTENCES = [
    f"{name} {verb} {time} {thing} and {verb} {thing} .\n"
    for name in NAMES
    for verb, things in THINGS.items()
    for thing in things
    for time in ("today", "often", "daily", "again")
]


@pytest.mark.slow
def test_both_losses_fall_below_the_baselines_without_context(tmp_path):
    order = np.random.default_rng(0).permutation(len(SENTENCES))
    (tmp_path / "text.txt").write_text("".join(SENTENCES[i] for i in order))
    sizes = ["--seq-length", 16, "--d-model", 32, "--batch-size", 16, "--learning-rate", 0.004]
    printed = run_script("train_bert.py", "text.txt", "--epochs", 14, *sizes, folder=tmp_path)
    for kind in ("masked tokens", "next sentence"):
        found, baseline = map(
            float, re.search(rf"{kind}: ([\d.]+) nats; .*? ([\d.]+)", printed).groups()
        )
        assert found < 0.8 * baseline, printed
    model = keras.models.load_model(tmp_path / "runs/bert/bert.keras")
    tokenizer = WordPieceTokenizer.load(tmp_path / "runs/bert/tokenizer.json")
    inputs = tokenizer.encode_batch(["anna eats bread"], length=16)
    assert model(inputs).shape == (1, 16, 32)
    complete = keras.models.load_model(tmp_path / "runs/bert/pretraining.keras")
    assert not complete.compiled
    ids, segments = tokenizer.encode_batch(
        ["anna drives today trucks and drives trucks ."], length=16
    )
    ids[0, 4] = tokenizer.mask_id
    words = complete((ids, segments, np.array([[4]])))["words"]
    # How well it knows the context, the losses say; this is a word that can stand here.
    assert tokenizer.tokens([int(ops.argmax(words))])[0] in {x for y in THINGS.values() for x in y}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No text file here"),
        ("\n", "contains no text"),
        ("a b\n" * 20, "too little text"),
        ("a\n\n" + "b c\n" * 50, "needs at least ten documents"),
    ],
)
def test_unusable_files_are_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "text.txt").write_text(text)
    assert message in refusal("train_bert.py", "text.txt", folder=tmp_path)
    assert not (tmp_path / "runs").exists()
