"""Backward compatibility with run folders, checkpoints and `.keras` files of earlier versions."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
from layer_contract import numpy
from quick import some_of

from keras_transformer import RunFolder, Translate, train_run

FOLDERS = sorted((Path(__file__).parents[1] / "data").glob("saved_by_*"))
QUICK = {FOLDERS[0].name, FOLDERS[-1].name}
every_version = pytest.mark.parametrize("folder", some_of({x.name: x for x in FOLDERS}, QUICK))


def expected(folder, name):
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))[name]


def test_saved_files_are_found():
    assert FOLDERS


@every_version
@pytest.mark.parametrize("name", ("words", "bpe_ema", "bahdanau"))
@pytest.mark.slow
def test_a_saved_run_translates_as_before(folder, name):
    translate = Translate.from_run(folder / name)
    wanted = expected(folder, name)
    for beam in (1, 4):
        texts, scores = zip(*(found[str(beam)] for found in wanted.values()), strict=True)
        found = [best for [best] in translate.hypotheses(list(wanted), beam_size=beam)]
        assert [best.text for best in found] == list(texts)
        np.testing.assert_allclose([best.score for best in found], scores, atol=1e-4)


@every_version
@pytest.mark.parametrize("name", ("words", "bpe_ema", "bahdanau", "mid_epoch"))
def test_the_files_of_a_saved_run_can_be_read(folder, name):
    run = RunFolder(folder / name)
    assert run.read_config().data == "numbers.tsv"
    assert run.read_history()
    assert run.read_test()
    assert run.read_model().built


@every_version
@pytest.mark.parametrize("name", ("transformer", "classifier", "bert"))
def test_a_saved_keras_model_computes_the_same_output(folder, name):
    arrays = np.load(folder / f"{name}.npz")
    model = keras.models.load_model(folder / f"{name}.keras")
    output = numpy(model((arrays["first"], arrays["second"])))
    np.testing.assert_allclose(output, arrays["output"], atol=1e-4)


@pytest.mark.slow
@every_version
def test_a_run_saved_in_mid_epoch_resumes(folder, tmp_path, monkeypatch):
    shutil.copytree(folder / "mid_epoch", tmp_path / "run")
    monkeypatch.chdir(folder)  # the path of the data is relative to it
    run = RunFolder(tmp_path / "run")
    train_run(run.read_config(), run.path)
    # Backends draw different dropout masks.
    written_by = expected(folder, "written_by")["backend"]
    tolerance = 1e-3 if keras.config.backend() == written_by else 0.1
    for row, losses in zip(run.read_history(), expected(folder, "mid_epoch"), strict=True):
        for name, loss in losses.items():
            assert row[name] == pytest.approx(loss, abs=tolerance)
