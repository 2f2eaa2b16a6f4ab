"""Trainer: reproducible runs, exact resumption after interrupts and kills, early stopping."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from keras import ops
from quick import some_of
from tiny import PAIRS, WORDS, CallAt, make_batches, make_dataset, make_model, make_trainer

from keras_transformer import (
    BlockSettings,
    RunConfig,
    RunFolder,
    Trainer,
    TransformerModel,
    Translate,
    WarmupSchedule,
    as_dataset,
    train_run,
    write_pairs,
)
from keras_transformer.backends import backend_module
from keras_transformer.objectives.metrics import loss_and_totals
from keras_transformer.training.checkpoints import Checkpoints
from keras_transformer.training.interrupt import interrupt_flag

EPOCHS = 3
LOSSES = ("loss", "accuracy", "validation_loss", "validation_accuracy", "learning_rate")


@pytest.fixture(scope="module", autouse=True)
def deterministic():
    backend_module().make_deterministic()


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


@pytest.fixture(scope="module")
def uninterrupted(dataset, tmp_path_factory):
    """Trains all epochs without interruption; returns the trainer and its history."""
    trainer = make_trainer(dataset, tmp_path_factory.mktemp("uninterrupted"), keep_weights=2)
    history, interrupted = trainer.train(*make_batches(dataset), EPOCHS)
    assert not interrupted
    return trainer, history


def losses(history):
    return [[row[name] for name in LOSSES] for row in history]


def assert_same_run(trainer, history, uninterrupted):
    """Checks that losses, best weights and optimizer states are equal, bit for bit."""
    other, expected = uninterrupted
    assert losses(history) == losses(expected)
    for a, b in zip(trainer.model.variables, other.model.variables, strict=True):
        np.testing.assert_array_equal(numpy(a), numpy(b), err_msg=a.path)
    for a, b in zip(trainer.optimizer.variables, other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(numpy(a), numpy(b), err_msg=a.path)


def numpy(variable):
    return ops.convert_to_numpy(variable)


@pytest.mark.slow
def test_the_weights_of_the_last_epochs_are_kept(uninterrupted):
    names = [file.name for file in uninterrupted[0].run.epoch_weights()]
    assert names == ["epoch-0002.weights.h5", "epoch-0003.weights.h5"]


@pytest.mark.slow
def test_it_learns_to_translate(dataset, tmp_path):
    trainer = make_trainer(dataset, tmp_path, rate=0.0)
    history, _ = trainer.train(*make_batches(dataset), 30)
    assert history[-1]["loss"] < history[0]["loss"] / 5
    translate = Translate(trainer.model, dataset.source_tokenizer, dataset.target_tokenizer)
    expected = dict(PAIRS)
    sources = [source for source, _ in dataset.test]
    right = [translate(source) == expected[source] for source in sources]
    assert np.mean(right) > 0.8, dict(zip(sources, translate(sources), strict=True))
    assert translate("two") in WORDS.values()


def test_a_config_does_not_describe_a_changed_model(dataset, tmp_path):
    class Variant(TransformerModel):
        pass

    model, config = make_model(dataset, model_class=Variant), RunConfig(d_model=32)
    trainer = Trainer(model, "adam", tmp_path, config=config, dataset=dataset)
    with pytest.raises(ValueError, match=r"omit `config`.* Received: the model is a Variant"):
        trainer.train(*make_batches(dataset), 1)


@pytest.mark.exhaustive
def test_another_seed_gives_another_run(dataset, uninterrupted, tmp_path):
    trainer = make_trainer(dataset, tmp_path)
    batches = dataset.batches(dataset.train, 16, seed=4)
    history, _ = trainer.train(batches, make_batches(dataset)[1], 1)
    assert losses(history)[0] != losses(uninterrupted[1])[0]


@pytest.mark.every_backend
def test_a_run_interrupted_in_mid_epoch_resumes_exactly(dataset, uninterrupted, tmp_path):
    batches, validation = make_batches(dataset)
    stop = CallAt(batches, 1, 4, lambda: signal.raise_signal(signal.SIGINT))
    history, interrupted = make_trainer(dataset, tmp_path).train(stop, validation, EPOCHS)
    assert interrupted and len(history) == 1
    resumed = make_trainer(dataset, tmp_path)
    history, interrupted = resumed.train(batches, validation, EPOCHS)
    assert not interrupted
    assert_same_run(resumed, history, uninterrupted)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.exhaustive
def test_checkpoints_are_saved_during_long_epochs(dataset, uninterrupted, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_transformer.training.trainer._SAVE_INTERVAL", 0.0)
    monkeypatch.setattr("keras_transformer.training.trainer._FETCH_INTERVAL", 3)
    found = []

    def save(checkpoints, counters, save=Checkpoints.save):
        found.append((counters["epoch"], counters["batch"]))
        save(checkpoints, counters)

    monkeypatch.setattr(Checkpoints, "save", save)
    trainer = make_trainer(dataset, tmp_path)
    history, _ = trainer.train(*make_batches(dataset), EPOCHS)
    assert_same_run(trainer, history, uninterrupted)
    assert {(0, 3), (1, 0), (1, 3), (1, 6)} <= set(found)
    batches = len(make_batches(dataset)[0])
    assert all(batch < batches for _, batch in found) and len(found) == len(set(found))


@pytest.mark.exhaustive
def test_sigterm_during_validation_stops_after_it(dataset, uninterrupted, tmp_path):
    batches, validation = make_batches(dataset)
    stop = CallAt(validation, 0, 0, lambda: signal.raise_signal(signal.SIGTERM))
    history, interrupted = make_trainer(dataset, tmp_path).train(batches, stop, EPOCHS)
    assert interrupted and losses(history) == losses(uninterrupted[1][:1])


def test_a_second_ctrl_c_stops_immediately():
    with pytest.raises(KeyboardInterrupt), interrupt_flag() as asked:
        assert not asked.is_set()
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        signal.raise_signal(signal.SIGINT)


def in_another_process(program, folder):
    """Returns arguments for `subprocess.Popen` that run a program of these tests."""
    here = os.path.dirname(__file__)
    path = os.pathsep.join([here, os.path.dirname(here)])
    environment = {**os.environ, "KERAS_BACKEND": keras.backend.backend(), "PYTHONPATH": path}
    return {"args": [sys.executable, "-c", program, str(folder)], "env": environment}


MANY_EPOCHS = 60
SAVING_FREQUENTLY = """
import sys
from test_trainer import make_batches, make_dataset, make_trainer, backend_module, MANY_EPOCHS
from keras_transformer.training import trainer
trainer._SAVE_INTERVAL, trainer._FETCH_INTERVAL = 0.0, 3
backend_module().make_deterministic()
dataset = make_dataset()
run = make_trainer(dataset, sys.argv[1], patience=MANY_EPOCHS)
run.train(*make_batches(dataset), MANY_EPOCHS)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", some_of({"3": 3, "100": 100}, quick=["3"]))
def test_a_run_killed_at_random_times_ends_with_the_same_result(dataset, tmp_path, kills):
    """Saves a checkpoint every three batches, so that kills hit both training and saving."""
    folder = tmp_path / "killed"

    def saved():
        return max((path.name for path in folder.glob("checkpoints/[0-9]*")), default="")

    positions = []
    for moment in np.random.default_rng(0).uniform(0, 6 / kills, kills):
        before = saved()
        with subprocess.Popen(**in_another_process(SAVING_FREQUENTLY, folder)) as process:
            while saved() == before and process.poll() is None:
                time.sleep(0.01)
            time.sleep(moment)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert saved() > before
        counters = json.loads((folder / "checkpoints" / saved() / "counters.json").read_text())
        positions.append((counters["epoch"], counters["batch"]))
    assert positions == sorted(set(positions)) and any(batch for _, batch in positions), positions
    runs = []
    for path in (tmp_path / "uninterrupted", folder):
        trainer = make_trainer(dataset, path, patience=MANY_EPOCHS)
        runs.append((trainer, trainer.train(*make_batches(dataset), MANY_EPOCHS)[0]))
    assert_same_run(*runs[1], runs[0])


@pytest.mark.exhaustive
def test_more_epochs_continue_from_the_last_weights_not_from_the_best(
    dataset, uninterrupted, tmp_path
):
    batches = make_batches(dataset)
    make_trainer(dataset, tmp_path).train(*batches, 1)
    resumed = make_trainer(dataset, tmp_path)
    history, _ = resumed.train(*batches, EPOCHS)
    assert_same_run(resumed, history, uninterrupted)


def test_the_history_and_the_best_weights_are_saved(dataset, uninterrupted):
    trainer, history = uninterrupted
    assert losses(trainer.run.read_history()) == losses(history)
    best = make_model(dataset)
    best.load_weights(trainer.run.weights)
    total, words = 0.0, 0.0
    for loss, _, count in (
        backend_module()
        .TrainingStep(best, keras.optimizers.SGD(), loss_and_totals)
        .evaluate(make_batches(dataset)[1])
    ):
        total, words = total + float(loss), words + float(count)
    lowest = min(row["validation_loss"] for row in history)
    assert total / words == pytest.approx(lowest, abs=1e-5)


@pytest.mark.slow
def test_early_stopping(dataset, tmp_path):
    trainer = Trainer(make_model(dataset), keras.optimizers.SGD(0.0), tmp_path, patience=2)
    history, interrupted = trainer.train(*make_batches(dataset), 10)
    assert len(history) == 3 and not interrupted


@pytest.mark.slow
def test_a_non_finite_loss_stops_training_and_keeps_the_checkpoint(
    dataset, uninterrupted, tmp_path
):
    batches, validation = make_batches(dataset)
    trainer = make_trainer(dataset, tmp_path)

    def corrupt():
        trainer.model.variables[0].assign(np.nan * numpy(trainer.model.variables[0]))

    # Corrupts the weights before the second epoch, because JAX reads them only at its start.
    with pytest.raises(FloatingPointError, match="last checkpoint is kept"):
        corrupted = CallAt(batches, 1, 0, lambda: None)
        corrupted.set_epoch = lambda epoch: (batches.set_epoch(epoch), epoch == 1 and corrupt())
        trainer.train(corrupted, validation, EPOCHS)
    assert losses(trainer.run.read_history()) == losses(uninterrupted[1][:1])
    resumed = make_trainer(dataset, tmp_path)
    counters = Checkpoints(resumed.run.checkpoints, resumed.model, resumed.optimizer).restore()
    assert (counters["epoch"], counters["batch"]) == (1, 0)
    assert all(np.isfinite(numpy(variable)).all() for variable in resumed.model.variables)


def test_a_trained_run_without_checkpoints_is_not_overwritten(dataset, uninterrupted, tmp_path):
    ignored = shutil.ignore_patterns("checkpoints")
    shutil.copytree(uninterrupted[0].run.path, tmp_path, ignore=ignored, dirs_exist_ok=True)
    trainer = make_trainer(dataset, tmp_path)
    for epochs in (3, 1):
        history = trainer.run.read_history()[:epochs]
        trainer.run.write_history(history)
        with pytest.raises(ValueError, match=rf"choose another folder\. Received: {epochs} epoch"):
            trainer.train(*make_batches(dataset), 1)
        assert trainer.run.read_history() == history


class OwnBatches(keras.utils.PyDataset):
    """Batches of int64 without the further attributes of `LengthBuckets`."""

    def __init__(self, batches):
        super().__init__()
        self._batches = batches

    def __len__(self):
        return len(self._batches)

    def __getitem__(self, index):
        (source, target_input), target = self._batches[index]
        return [source.astype("int64"), target_input.tolist()], ops.convert_to_tensor(target)

    def on_epoch_end(self):
        self._batches.on_epoch_end()


@pytest.mark.slow
@pytest.mark.every_backend
def test_a_py_dataset_trains_as_the_batches_that_it_wraps(dataset, uninterrupted, tmp_path):
    trainer = make_trainer(dataset, tmp_path)
    history, _ = trainer.train(*map(OwnBatches, make_batches(dataset)), 1)
    assert losses(history) == losses(uninterrupted[1][:1])


def make_lists(dataset):
    return [[batches[i] for i in range(len(batches))] for batches in make_batches(dataset)]


IDS = np.ones((4, 3), "int32")
GOOD = ((IDS, IDS), IDS)


@pytest.mark.parametrize(
    ("batches", "received"),
    [
        ([], r"Pass a list .* with at least one batch.* Received: \[\]"),
        (iter([GOOD]), r"Pass a list .* `kt.as_dataset` is for `model.fit`"),
        ((IDS, IDS), r"Received: 'int32 \(4, 3\)'"),
        ([(IDS, IDS)], r"Received: \('int32 \(4, 3\)', 'int32 \(4, 3\)'\)"),
        ([((IDS, IDS), IDS[:, :2])], r"Received: .*'int32 \(4, 2\)'\)"),
        ([((IDS[:3], IDS), IDS)], r"Received: \(\('int32 \(3, 3\)'"),
        ([((IDS, IDS[0]), IDS)], r"Received: .*'int32 \(3,\)'"),
        ([((IDS, IDS), IDS.astype("float32"))], r"Received: .*'float32 \(4, 3\)'\)"),
        ([((IDS, [[1], [1, 2]]), IDS)], r"Received: "),
        ([{"source": IDS, "target": IDS}], r"Received: {'source': 'int32 \(4, 3\)'"),
    ],
)
def test_batches_of_another_structure_are_refused_before_training(
    dataset, finished, batches, received
):
    for arguments in ((batches, [GOOD]), ([GOOD], batches)):
        with pytest.raises(ValueError, match=received) as caught:
            finished[0].train(*arguments, EPOCHS)
        assert "Pass a list" in str(caught.value) or "((B, S), (B, T)) and" in str(caught.value)


@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="others return the batches")
def test_a_dataset_for_fit_is_refused(dataset, finished):
    with pytest.raises(ValueError, match=r"`kt.as_dataset` is for `model.fit`"):
        finished[0].train(as_dataset(make_batches(dataset)[0]), [GOOD], EPOCHS)


@pytest.mark.slow
def test_a_list_and_a_keras_loss_train_as_the_defaults_do(dataset, uninterrupted, tmp_path):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    trainer = make_trainer(dataset, tmp_path, loss=loss)
    history, _ = trainer.train(*make_lists(dataset), 1)
    np.testing.assert_allclose(losses(history), losses(uninterrupted[1][:1]), atol=1e-4)


def test_an_optimizer_may_be_named(dataset, tmp_path):
    optimizer = Trainer(make_model(dataset), "adam", tmp_path).optimizer
    assert isinstance(optimizer, keras.optimizers.Adam)


def test_an_own_loss_has_no_label_smoothing(dataset, tmp_path):
    with pytest.raises(ValueError, match=r"`label_smoothing` must be .*0\.0.*Received: .*0\.1"):
        Trainer(make_model(dataset), "sgd", tmp_path, 0.1, loss=lambda target, logits: 0.0)


def test_incomplete_groups_of_accumulated_batches_are_refused(dataset, tmp_path):
    batches = make_batches(dataset)
    steps = len(batches[0]) - 1
    optimizer = keras.optimizers.Adam(gradient_accumulation_steps=steps)
    with pytest.raises(ValueError, match=rf"pass `multiple={steps}` to"):
        Trainer(make_model(dataset), optimizer, tmp_path).train(*batches, 1)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_sentences_that_cannot_be_translated_are_refused_before_training(tmp_path, part):
    write_pairs(tmp_path / "train.tsv", PAIRS)
    write_pairs(tmp_path / "long.tsv", [PAIRS[0], ("one " * 1025, "eins")])
    files = {"data": str(tmp_path / "train.tsv"), part: str(tmp_path / "long.tsv")}
    with pytest.raises(ValueError, match=rf"Sentence 2 of the {part} part, 'one .* 1,025 tokens"):
        train_run(RunConfig(**files, monitor="bleu"), tmp_path / "run")


def test_an_unbuilt_model_is_refused(dataset, tmp_path):
    model = TransformerModel(9, 9, settings=BlockSettings(h=2, d_model=8, d_ff=8))
    with pytest.raises(ValueError, match="Build the model first"):
        Trainer(model, keras.optimizers.SGD(), tmp_path)


def test_a_checkpoint_with_another_head_size_is_refused(dataset, uninterrupted):
    """The shapes of all weights match the checkpoint; only the settings differ."""
    saved = make_model(dataset)
    config = {**saved.get_config(), "h": 4, "d_k": 8, "d_v": 8}
    model = TransformerModel.from_config(config)
    model.build(((None, None), (None, None)))
    assert [w.shape for w in model.weights] == [w.shape for w in saved.weights]
    optimizer = keras.optimizers.Adam()
    with pytest.raises(ValueError, match=r'the model is .*"h": 4.*Received: .*"h": 2'):
        Trainer(model, optimizer, uninterrupted[0].run.path).train(*make_batches(dataset), EPOCHS)


def test_a_checkpoint_of_another_model_is_refused(dataset, uninterrupted):
    model = make_model(OtherDataset())
    with pytest.raises(ValueError, match="does not match this run"):
        Trainer(model, keras.optimizers.SGD(), uninterrupted[0].run.path).train(
            *make_batches(dataset), EPOCHS
        )


@pytest.mark.parametrize(
    "damage",
    [
        {"wings": 2},
        {"epoch": "3"},
        {"epoch": 10**9},
        {"epoch": EPOCHS - 1},
        {"batch": -1},
        {"batch": 10**9},
        {"batch": 1},
        {"batch": 1, "totals": [1.0, 1.0, 0.0], "seconds": 1.0},
        {"batch": 1, "totals": [1.0, 1.0, 1.0], "seconds": 0.0},
        {"totals": [1.0]},
        {"totals": 3},
        {"totals": [1.0, "x" * 10**6, 1.0]},
        {"seconds": float("nan")},
        {"history": {}},
        {"history": {"a": 1}},
        {"history": [1, 2, 3]},
        {"history": [{"epoch": 1}]},
    ],
    ids=lambda damage: str(damage)[:40],
)
def test_impossible_counters_are_refused(dataset, finished, damage):
    trainer, file = finished
    before = file.read_text()
    try:
        file.write_text(json.dumps({**json.loads(before), **damage}))
        with pytest.raises(ValueError, match=r"counters in .* are damaged") as caught:
            trainer.train(*make_batches(dataset), EPOCHS + 1)
    finally:
        file.write_text(before)
    assert len(str(caught.value)) < 1000


@pytest.fixture(scope="module")
def finished(dataset, uninterrupted, tmp_path_factory):
    """Returns a trainer for a copy of a finished run, and the file of its counters."""
    folder = tmp_path_factory.mktemp("finished")
    shutil.copytree(uninterrupted[0].run.path, folder, dirs_exist_ok=True)
    [file] = folder.glob("checkpoints/*/counters.json")
    return make_trainer(dataset, folder), file


class OtherDataset:
    """Stands in for a dataset with another vocabulary."""

    class source_tokenizer:
        vocab_size = 5

    target_tokenizer = source_tokenizer


@pytest.mark.exhaustive
def test_overfitting_is_remarked_once(dataset, tmp_path, capsys):
    batches, _ = make_batches(dataset)
    validation = [(inputs, np.where(target, target % 5 + 4, 0)) for inputs, target in batches]
    trainer = make_trainer(dataset, tmp_path, patience=9)
    history, _ = trainer.train(batches, validation, 6)
    risen = [b > a for a, b in itertools.pairwise(x["validation_loss"] for x in history)]
    assert any(a and b for a, b in itertools.pairwise(risen))
    assert capsys.readouterr().out.count("begins to memorize the training part") == 1


@pytest.mark.slow
def test_the_log_shows_only_samples_that_changed(dataset, tmp_path, capsys):
    trainer = Trainer(make_model(dataset), keras.optimizers.SGD(0.0), tmp_path, dataset=dataset)
    trainer.train(*make_batches(dataset), 2)
    first, second = capsys.readouterr().out.split("Epoch 2")
    assert first.count("→") == 3 and "→" not in second
    assert "(the same translations)" in second


def test_the_curve_has_points_within_epochs(uninterrupted, dataset):
    trainer, history = uninterrupted
    curve = trainer.run.read_curve()
    updates, losses, rates = np.transpose(curve)
    batches = len(make_batches(dataset)[0])  # ten, after each of which there is a point
    assert updates.tolist() == [batches * row["epoch"] for row in history]
    schedule = WarmupSchedule(d_model=32, warmup_steps=60, scale=0.3)
    assert rates == pytest.approx([float(schedule(int(x) - 1)) for x in updates], rel=1e-5)
    assert losses == pytest.approx([row["loss"] for row in history])


@pytest.mark.parametrize(
    "text", ["updates,loss,learning_rate\n1,2\n", "a\n1,nan,3\n", "a\nb,c,d\n"]
)
def test_a_damaged_curve_is_refused(text, tmp_path):
    (tmp_path / "curve.csv").write_text(text)
    with pytest.raises(ValueError, match="must have numbers in the columns"):
        RunFolder(tmp_path).read_curve()
