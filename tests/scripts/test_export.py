"""export.py as a user runs it."""

import keras
import pytest
from run_script import refusal, run_script
from translating import shared_translate, write_run

from keras_transformer.data.batches import pad_ids

SENTENCES = ["one two three", "", "five", "four unheard two"]
ON_TENSORFLOW = keras.config.backend() == "tensorflow"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    write_run(tmp_path / "run")
    return tmp_path


def export(*arguments, **options):
    return run_script("export.py", *arguments, **options)


def test_ctranslate2_in_int8_is_smaller(folder):
    pytest.importorskip("ctranslate2")
    printed = export("run", "--to", "ctranslate2", folder=folder)
    assert printed.startswith("Written to run/exported/ctranslate2. ")
    other = ["--quantization", "int8", "--output", "small"]
    assert "Written to small. " in export("run", "--to", "ctranslate2", *other, folder=folder)
    sizes = [
        (folder / name / "model.bin").stat().st_size
        for name in ("small", "run/exported/ctranslate2")
    ]
    assert sizes[0] < sizes[1]


def test_an_earlier_export_is_replaced_only_with_overwrite(folder):
    pytest.importorskip("ctranslate2")
    command = ["run", "--to", "ctranslate2"]
    export(*command, folder=folder)
    (folder / "run/exported/ctranslate2/notes.txt").touch()
    assert "run/exported/ctranslate2" in refusal("export.py", *command, folder=folder)
    assert (folder / "run/exported/ctranslate2/notes.txt").exists()
    export(*command, "--overwrite", folder=folder)
    assert not (folder / "run/exported/ctranslate2/notes.txt").exists()
    refusal("export.py", *command, "--overwrite", "--output", "run", folder=folder)
    assert (folder / "run/config.json").exists()


@pytest.mark.skipif(not ON_TENSORFLOW, reason="needs TensorFlow")
@pytest.mark.slow
def test_a_saved_model_gives_the_same_translations(folder):
    import tensorflow as tf

    translate, command = shared_translate(), ["run", "--to", "saved_model"]
    printed = export(*command, "--beam", 2, folder=folder)
    assert printed.startswith("Written to run/exported/saved_model/1. ")
    served = tf.saved_model.load(str(folder / "run/exported/saved_model/1"))
    ids = tf.constant(pad_ids([translate.source_tokenizer.encode(x) for x in SENTENCES], 8))
    found = served.signatures["serving_default"](source=ids)["target"].numpy()
    expected = translate(SENTENCES, beam_size=2)
    assert [translate.target_tokenizer.decode(row) for row in found] == expected
    assert "run/exported/saved_model/1" in refusal("export.py", *command, folder=folder)
    export(*command, "--overwrite", folder=folder)


@pytest.mark.skipif(ON_TENSORFLOW, reason="TensorFlow exports it")
def test_only_tensorflow_writes_a_saved_model(folder):
    error = refusal("export.py", "run", "--to", "saved_model", folder=folder)
    assert "error: Set KERAS_BACKEND=tensorflow" in error
    assert not (folder / "run/exported").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "the following arguments are required: --to"),
        (["run", "--to", "onnx"], "invalid choice: 'onnx'"),
        (["run", "--to", "ctranslate2", "--beam", "0"], "--beam requires --to saved_model"),
        (["run", "--to", "ctranslate2", "--quantization", "int4"], "invalid choice: 'int4'"),
        (["run", "--to", "saved_model", "--quantization", "int8"], "--quantization requires --to"),
        (["missing", "--to", "ctranslate2"], "missing is not a finished run: it has no "),
        (["run", "--to", "saved_model", "--beam", "0"], "Received: beam_size=0"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    assert message in refusal("export.py", *arguments, folder=folder)
    assert not (folder / "run/exported").exists()
