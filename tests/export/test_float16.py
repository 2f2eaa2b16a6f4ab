"""Export of a run with weights in float16."""

import h5py
import numpy as np
import pytest
from run_script import run_script
from tiny import WORDS, make_batches, make_dataset, make_trainer
from translating import shared_translate, write_run

from keras_transformer import RunConfig, RunFolder, Translate
from keras_transformer.export.float16 import export_float16
from keras_transformer.runs.folder import build_run_model


@pytest.fixture
def run(tmp_path):
    write_run(tmp_path / "run")
    return tmp_path / "run"


def test_the_export_translates_the_same_from_half_the_size(run, tmp_path):
    run_script("export.py", "run", "--to", "float16", "--output", "small", folder=tmp_path)
    sentences = [source for source, _ in make_dataset().test]
    assert Translate.from_run(tmp_path / "small")(sentences) == shared_translate()(sentences)
    assert RunFolder(tmp_path / "small").read_test() == RunFolder(run).read_test()
    dtypes = set()
    with h5py.File(RunFolder(tmp_path / "small").weights) as file:
        file.visititems(lambda _, x: dtypes.add(getattr(x, "dtype", None)))
    assert dtypes == {None, np.dtype("float16")}  # groups have none


def test_only_an_export_is_overwritten(run, tmp_path):
    export_float16(run, tmp_path / "small")
    with pytest.raises(FileExistsError):
        export_float16(run, tmp_path / "small")
    export_float16(run, tmp_path / "small", overwrite=True)
    with pytest.raises(FileExistsError):
        export_float16(tmp_path / "small", run, overwrite=True)


def test_a_recurrent_run_is_exported(tmp_path):
    dataset, config = make_dataset(), RunConfig(model="bahdanau", d_model=8)
    model = build_run_model(config, (dataset.source_tokenizer, dataset.target_tokenizer))
    RunFolder(tmp_path / "run").create(config, dataset)
    RunFolder(tmp_path / "run").write_weights(model)
    export_float16(tmp_path / "run", tmp_path / "small")
    exported = RunFolder(tmp_path / "small").read_model().get_weights()
    for found, expected in zip(exported, model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected.astype("float16"))


@pytest.mark.exhaustive
def test_a_run_of_a_trainer_without_a_config_is_exported(tmp_path):
    dataset = make_dataset()
    trainer = make_trainer(dataset, tmp_path / "run")
    trainer.dataset = dataset
    trainer.train(*make_batches(dataset), 1)
    export_float16(tmp_path / "run", tmp_path / "small")
    small, run = (Translate.from_run(tmp_path / name) for name in ("small", "run"))
    assert small(list(WORDS)) == run(list(WORDS))


def test_a_weight_that_is_too_large_for_float16_is_refused(run, tmp_path):
    folder = RunFolder(run)
    model = folder.read_model()
    model.weights[0].assign(model.weights[0] * 0 + 1e6)
    folder.write_weights(model)
    with pytest.raises(ValueError, match="must be at most 65,504"):
        export_float16(run, tmp_path / "small")
    assert not (tmp_path / "small").exists()
