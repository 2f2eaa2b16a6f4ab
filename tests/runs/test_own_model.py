"""Runs with models of the user: the folder keeps the name of the function, never code."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
from layer_contract import numpy
from quick import some_of
from replaced_parts import REPLACEMENTS, GatedFeedForward
from tiny import PAIRS, make_batches, make_dataset
from translating import write_run

import keras_transformer as kt
from keras_transformer.cli import run_command
from keras_transformer.layers._parts import changed_part

pytestmark = pytest.mark.every_backend

SIZES = {"d_model": 16, "d_ff": 16, "n": 1, "h": 2, "epochs": 1, "optimizer": "adam"}
FILE = """
import keras, keras_transformer as kt

class Scaled(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight((), "ones")
    def call(self, x):
        return x * self.scale

def make_model(config, source_vocab_size, target_vocab_size):
    model = kt.make_model(config, source_vocab_size, target_vocab_size)
    model.decoder.layers[0].feed_forward = Scaled()
    return model
"""


def make_gated(config, source_vocab_size, target_vocab_size):
    model = kt.make_model(config, source_vocab_size, target_vocab_size)
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward = GatedFeedForward(config.d_ff, config.d_model)
    return model


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    kt.write_pairs(path, PAIRS)
    return path


@pytest.fixture(scope="module")
def gated_run(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "gated"
    with pytest.warns(UserWarning, match="GatedFeedForward"):
        kt.train_run(kt.RunConfig(data=str(pairs), **SIZES), folder, make_gated)
    return folder


@pytest.mark.slow
def test_a_run_of_an_own_model_is_loaded_with_its_function(gated_run):
    assert json.loads((gated_run / "config.json").read_text())["model"] == f"{__name__}:make_gated"
    translate = kt.Translate.from_run(gated_run, make_model=make_gated)
    assert isinstance(translate.model.encoder.layers[0].feed_forward, GatedFeedForward)
    with pytest.warns(UserWarning, match="GatedFeedForward"):
        _, translations = kt.evaluate_run(gated_run, make_model=make_gated)
    assert len(translations) == len(kt.RunFolder(gated_run).read_test())
    with pytest.raises(ValueError, match=rf"{__name__}:make_gated.*make_model.*--model"):
        kt.Translate.from_run(gated_run)
    with pytest.raises(ValueError, match="does not match"):
        kt.Translate.from_run(gated_run, make_model=kt.make_model)
    with pytest.raises(ZeroDivisionError):
        kt.Translate.from_run(gated_run, make_model=lambda *arguments: 1 / 0)


@pytest.mark.exhaustive
def test_an_own_model_is_resumed_with_its_function(gated_run, pairs, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(gated_run, folder)
    config = kt.RunConfig(data=str(pairs), **{**SIZES, "epochs": 2})
    with pytest.raises(ValueError, match="make_gated"):
        kt.train_run(kt.RunFolder(folder).read_config(), folder)
    with pytest.warns(UserWarning, match="GatedFeedForward"):
        kt.train_run(config, folder, make_gated)
    assert len(kt.RunFolder(folder).read_history()) == 2


def test_own_layers_take_the_precision_of_the_run(pairs):
    config = kt.RunConfig(data=str(pairs), **SIZES)
    from keras_transformer.runs.own_model import build_model

    model = build_model(lambda: make_gated(config, 9, 9), "mixed_bfloat16")
    part = model.encoder.layers[0].feed_forward
    assert part.dtype_policy.name == part.gate.dtype_policy.name == "mixed_bfloat16"
    assert keras.config.dtype_policy().name == "float32"


def test_a_folder_runs_no_code(tmp_path, monkeypatch):
    write_run(tmp_path / "run")
    file = tmp_path / "stranger.py"
    file.write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n{FILE}")
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "run" / "config.json"
    for name in ("stranger:make_model", "stranger.py", f"{file}:make_model"):
        values = json.loads(config.read_text())
        config.write_text(json.dumps({**values, "model": name}))
        with pytest.raises(ValueError, match="stranger"):
            kt.Translate.from_run(tmp_path / "run")
        with pytest.raises(SystemExit):
            run_command("translate", ["run", "one"])
        with pytest.raises(SystemExit):
            run_command("train", ["--run", "run", "--resume"])
    assert not Path("executed").exists()


@pytest.mark.slow
def test_the_commands_load_a_named_function(tmp_path, pairs, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("scaled_model.py").write_text(FILE)
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SIZES.items()]
    with pytest.warns(UserWarning, match="Scaled"):
        run_command(
            "train", ["--data", str(pairs), "--run", "r", "--model", "scaled_model.py", *flags]
        )
    assert "--model scaled_model.py" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="feed_forward is a Scaled"):
        run_command("translate", ["r", "--model", "scaled_model.py:make_model", "one two"])
    assert capsys.readouterr().out.strip()
    for arguments, expected in (
        (["r", "one"], "scaled_model.py"),
        (["r", "--model", "nowhere:f", "one"], "nowhere:f"),
        (["r", "--model", "scaled_model:f", "one"], "scaled_model:f"),
        (["r", "--model", "scaled_model", "one"], "package.module:function"),
    ):
        with pytest.raises(SystemExit):
            run_command("translate", arguments)
        error = capsys.readouterr().err
        assert expected in error.splitlines()[-1] and "Traceback" not in error


@pytest.mark.slow
@pytest.mark.parametrize("change", some_of(("replaced", "subclass"), quick=("replaced",)))
def test_a_trainer_describes_a_changed_model(change, tmp_path):
    class Subclass(kt.TransformerModel):
        pass

    dataset = make_dataset()
    model_class = Subclass if change == "subclass" else kt.TransformerModel

    def make(*sizes):
        model = model_class(*sizes, settings=kt.BlockSettings(h=2, d_model=16, d_ff=16))
        if change == "replaced":
            REPLACEMENTS["feed_forward"][0](model, model.settings)
        model.build(((None, None), (None, None)))
        return model

    model = make(dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    trainer = kt.Trainer(model, kt.Adam(1e-3), tmp_path, dataset=dataset)
    with pytest.warns(UserWarning, match="Decoding"):
        trainer.train(*make_batches(dataset), 1)
    part = changed_part(model)
    assert json.loads((tmp_path / "model.json").read_text())["options"] == {"changed_part": part}
    with pytest.raises(ValueError, match=r"a model of your own.*make_model") as raised:
        kt.Translate.from_run(tmp_path)
    assert part in str(raised.value)
    loaded = kt.RunFolder(tmp_path).read_model(make_model=lambda config, *sizes: make(*sizes))
    inputs = (np.array([[4, 5, 3]]), np.array([[2, 5]]))
    np.testing.assert_allclose(numpy(loaded(inputs)), numpy(model(inputs)), atol=1e-6)


@pytest.mark.slow
def test_a_part_without_a_configuration_can_be_trained(tmp_path):
    class Part(keras.layers.Layer):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def call(self, x):
            return self.layer(x)

    dataset = make_dataset()
    model = kt.TransformerModel(
        dataset.source_tokenizer.vocab_size,
        dataset.target_tokenizer.vocab_size,
        settings=kt.BlockSettings(h=2, d_model=16, d_ff=16),
    )
    model.encoder.layers[0].feed_forward = Part(keras.layers.Dense(16))
    model.build(((None, None), (None, None)))
    trainer = kt.Trainer(model, kt.Adam(1e-3), tmp_path)
    assert len(trainer.train(*make_batches(dataset), 1)[0]) == 1
