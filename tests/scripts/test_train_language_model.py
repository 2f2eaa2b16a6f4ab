"""train_language_model.py as a user runs it."""

import re

import keras
import pytest
from run_script import refusal, run_script

from keras_transformer import Generate, WordTokenizer

TEXT = "the cat sees the dog and runs\nthe dog sees the bird and barks\n" * 100


@pytest.mark.slow
def test_both_models_beat_the_frequency_baseline_and_continue_a_prompt(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    options = ["--epochs", 40, "--prompt", "the bird sees"]
    printed = run_script("train_language_model.py", "text.txt", *options, folder=tmp_path)
    report = printed[printed.index("validation perplexity,") :].splitlines()
    frequencies, lstm, transformer = (float(line.split()[0]) for line in report[1:])
    # Only the first animal of a sentence is unpredictable.
    assert lstm < 1.6 < frequencies / 3 and transformer < 1.6
    for kind, line in zip(("lstm", "transformer"), report[2:], strict=True):
        model = keras.models.load_model(tmp_path / f"runs/language/{kind}.keras")
        generate = Generate(model, WordTokenizer.load(tmp_path / "runs/language/tokenizer.json"))
        assert re.search(r" s: (.*)", line)[1] == generate("the bird sees")


@pytest.mark.slow
def test_training_on_prefixes(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT[:124])
    options = ["--model", "lstm", "--epochs", 1, "--prefixes"]
    printed = run_script("train_language_model.py", "text.txt", *options, folder=tmp_path)
    assert "transformer" not in printed and "training (fewer than ten texts" in printed
    assert (tmp_path / "runs/language/lstm.keras").is_file()


@pytest.mark.parametrize(
    ("text", "message"), [(None, "No text file here"), ("\n", "contains no text")]
)
def test_unusable_files_are_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "text.txt").write_text(text)
    assert message in refusal("train_language_model.py", "text.txt", folder=tmp_path)
    assert not (tmp_path / "runs").exists()
