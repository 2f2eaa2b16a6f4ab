"""Trainer with float16, EMA, gradient accumulation, clipping, BLEU monitoring and logging."""

import dataclasses
import signal

import keras
import numpy as np
import pytest
from keras import ops
from quick import some_of
from tiny import SMOOTHED_LOSS, CallAt, make_dataset

from keras_transformer import RunConfig, Trainer
from keras_transformer.backends import backend_module
from keras_transformer.runs.folder import build_run_model
from keras_transformer.training.checkpoints import Checkpoints
from keras_transformer.training.run import make_optimizer, number_of_epochs, number_of_updates
from keras_transformer.training.trainer import _learning_rates

EPOCHS = 3
CONFIG = RunConfig(d_model=32, h=2, d_ff=64, n=1, warmup_steps=20, learning_rate_scale=0.3)
OPTIONS = {
    "float16": {"dtype": "mixed_float16"},
    "all": {"ema": 0.9, "accumulation": 3, "clip_norm": 1.0},
}
# Overflows, so that the first steps only lower the scale.
LARGE_SCALE = 2.0**30


def make_trainer(dataset, folder, scale=None, **options):
    config = dataclasses.replace(CONFIG, **options)
    keras.utils.set_random_seed(7)
    dtype = config.dtype if "dtype" in options else "float32"
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    model = build_run_model(config, tokenizers, dtype)
    trainer = Trainer(model, make_optimizer(config, dtype, 400), folder, label_smoothing=0.1)
    if scale and dtype == "mixed_float16":
        trainer.optimizer.dynamic_scale.assign(scale)
    return trainer


def test_the_curve_has_the_learning_rates_of_the_optimizer():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.5, 0.25])
    optimizer = keras.optimizers.SGD(schedule, gradient_accumulation_steps=4)
    assert [_learning_rates(optimizer)(updates) for updates in (1, 2)] == [0.5, 0.25]

    class Unregistered(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.125

    assert _learning_rates(keras.optimizers.SGD(Unregistered()))(9) == 0.125


def test_dtypes_that_checkpoints_cannot_store_are_refused(dataset, tmp_path):
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    model = build_run_model(CONFIG, tokenizers, "bfloat16")
    with pytest.raises(ValueError, match=r'"mixed_bfloat16"\. Received: .*, bfloat16$'):
        Trainer(model, "adam", tmp_path)


def make_batches(dataset, accumulation=1, **options):
    batches = dataset.batches(dataset.train, 16, seed=3, multiple=accumulation)
    return batches, dataset.batches(dataset.validation, 16)


def make_step(trainer):
    return backend_module().TrainingStep(trainer.model, trainer.optimizer, SMOOTHED_LOSS)


def values(trainer):
    variables = [*trainer.model.variables, *trainer.optimizer.variables]
    return [ops.convert_to_numpy(variable) for variable in variables]


def assert_same(trainer, history, uninterrupted):
    columns = ("loss", "validation_loss", "validation_accuracy")
    ours, theirs = (
        [[row[x] for x in columns] for row in rows] for rows in (history, uninterrupted[1])
    )
    assert ours == theirs
    for value, expected in zip(values(trainer), values(uninterrupted[0]), strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.fixture(scope="module", autouse=True)
def deterministic():
    backend_module().make_deterministic()


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


@pytest.fixture(scope="module", params=OPTIONS)
def options(request):
    return OPTIONS[request.param]


@pytest.fixture(scope="module")
def uninterrupted(dataset, options, tmp_path_factory):
    trainer = make_trainer(
        dataset, tmp_path_factory.mktemp("uninterrupted"), LARGE_SCALE, **options
    )
    history, _ = trainer.train(*make_batches(dataset, **options), EPOCHS)
    return trainer, history


@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("options", ["float16"], indirect=True)
def test_float16_trains_and_adapts_its_loss_scale(uninterrupted):
    trainer, history = uninterrupted
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    assert all(np.isfinite(value).all() for value in values(trainer))
    scale = float(trainer.optimizer.dynamic_scale)
    assert 1 < scale < LARGE_SCALE and np.log2(scale) % 1 == 0


@pytest.mark.slow
def test_an_interrupted_run_resumes_exactly(dataset, options, uninterrupted, tmp_path):
    batches, validation = make_batches(dataset, **options)
    # With accumulation, the interrupt is in the middle of an update.
    stop = CallAt(batches, 1, 3, lambda: signal.raise_signal(signal.SIGINT))
    trainer = make_trainer(dataset, tmp_path, LARGE_SCALE, **options)
    history, interrupted = trainer.train(stop, validation, EPOCHS)
    assert interrupted and len(history) == 1
    resumed = make_trainer(dataset, tmp_path, **options)  # with another loss scale
    history, _ = resumed.train(batches, validation, EPOCHS)
    assert_same(resumed, history, uninterrupted)


@pytest.mark.slow
def test_ema_weights_are_validated_and_saved(dataset, tmp_path):
    batches, validation = make_batches(dataset)
    trainer = make_trainer(dataset, tmp_path / "by hand", ema=0.9)
    step = make_step(trainer)
    average = None
    for i in range(len(batches)):
        list(step.train([batches[i]]))
        weights = trainer.model.get_weights()
        average = average or weights  # in the first step
        average = [0.9 * a + 0.1 * w for a, w in zip(average, weights, strict=True)]
    trainer = make_trainer(dataset, tmp_path, ema=0.9)
    history, _ = trainer.train(batches, validation, 1)
    for a, b in zip(trainer.model.get_weights(), average, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert max(np.abs(a - b).max() for a, b in zip(average, weights, strict=True)) > 1e-3
    totals = np.sum([np.array(x) for x in make_step(trainer).evaluate(validation)], axis=0)
    assert history[0]["validation_loss"] == pytest.approx(totals[0] / totals[2], abs=1e-6)
    # A resumed run continues from the weights, not from their average.
    resumed = make_trainer(dataset, tmp_path, ema=0.9)
    Checkpoints(resumed.run.checkpoints, resumed.model, resumed.optimizer).restore()
    for a, b in zip(resumed.model.get_weights(), weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def schedule_of(config, updates=1000):
    return make_optimizer(config, "float32", updates).get_config()["learning_rate"]["config"]


@pytest.mark.parametrize(
    ("model", "decay", "scale"),
    [
        ("transformer", "linear", 0.64),
        ("transformer", "inverse_sqrt", 0.5),
        ("luong", "linear", 1.2),
        ("luong", "inverse_sqrt", 3),
        ("bahdanau", "linear", 3),
    ],
)
def test_each_model_has_its_own_default_learning_rate_scale(model, decay, scale):
    for given in (None, 0.7):
        sizes = {"d_model": 64, "warmup_steps": 100}
        options = {"optimizer": "adam", "decay": decay, "learning_rate_scale": given}
        config = RunConfig(model=model, **options, **sizes)
        expected = {"accumulation": 1, "total_steps": 1000 if decay == "linear" else None}
        assert schedule_of(config) == {**sizes, "scale": given or scale, **expected}


def test_a_short_run_has_a_short_warm_up_to_the_same_peak():
    def peak(schedule):
        return schedule["scale"] * (schedule["d_model"] * schedule["warmup_steps"]) ** -0.5

    long, short = (schedule_of(RunConfig(warmup_steps=100), n) for n in (500, 40))
    assert (long["warmup_steps"], short["warmup_steps"]) == (100, 8)
    assert peak(short) == pytest.approx(peak(long))
    assert schedule_of(RunConfig(), 1)["warmup_steps"] == 1
    # The paper's schedule does not depend on the length of the run.
    paper = RunConfig(decay="inverse_sqrt")
    assert schedule_of(paper, 1) == schedule_of(paper, 10**6)


@pytest.mark.parametrize(
    ("settings", "batches", "epochs"),
    [
        ({}, 10, 15),  # a small corpus is not repeated until it is memorized
        ({}, 200, 8),
        ({}, 10**6, 3),
        ({"accumulation": 2}, 400, 8),
        ({"epochs": 3}, 10, 3),
    ],
)
def test_the_default_number_of_epochs_depends_on_the_number_of_batches(settings, batches, epochs):
    config = RunConfig(**settings)
    assert number_of_epochs(config, range(batches)) == epochs
    assert number_of_updates(config, range(batches)) == epochs * batches // config.accumulation


def test_make_optimizer_follows_the_settings():
    def options(**settings):
        return make_optimizer(RunConfig(**settings), "float32", 400).get_config()

    paper = options(optimizer="adam")  # section 5.3
    assert (paper["beta_1"], paper["beta_2"], paper["epsilon"]) == (0.9, 0.98, 1e-9)
    assert not paper["use_ema"] and not paper["global_clipnorm"]
    muon = options(clip_norm=1.5)
    assert (muon["adam_beta_2"], muon["ns_steps"], muon["global_clipnorm"]) == (0.98, 3, 1.5)
    assert RunConfig().best_learning_rate_scale == pytest.approx(1.1, abs=0.02)
    assert options(model="bahdanau", clip_norm=1.5)["global_clipnorm"] == 1.5
    assert muon["weight_decay"] is muon["adam_weight_decay"] is None
    averaged = options(ema=0.9, accumulation=4)
    assert averaged["use_ema"] and averaged["gradient_accumulation_steps"] == 4
    assert averaged["ema_momentum"] ** 4 == pytest.approx(0.9)  # applied after each of four batches


class Writer(list):
    """Records what is logged, with the interface of a TensorBoard writer."""

    fails = False

    def add_scalar(self, name, value, epoch):
        self.append((name, value, epoch))

    def flush(self):
        if self.fails:
            raise OSError("the disk\nis full")
        self.append("flush")


SCORES = [1.0, 3.0, 2.0, 3.0, 4.0]
PATIENT = {"patience": 2, "keep_weights": 10}


def make_scored_trainer(dataset, folder, scores, **options):
    trainer = make_trainer(dataset, folder)
    scores = iter([0.0, *scores])  # the first is that of the trial before training

    def bleu():
        score = next(scores)
        if isinstance(score, Exception):
            raise score
        return score

    bleu = {"monitor": "bleu", "bleu": bleu}
    return Trainer(trainer.model, trainer.optimizer, folder, **{**bleu, **options})


@pytest.fixture(scope="module")
def scored(dataset, tmp_path_factory):
    """Trains a run with the best BLEU in its second epoch; returns it, its history and its log."""
    writer = Writer()
    folder = tmp_path_factory.mktemp("scored")
    trainer = make_scored_trainer(dataset, folder, SCORES, writer=writer, **PATIENT)
    history, _ = trainer.train(*make_batches(dataset), 9)
    return trainer, history, writer


@pytest.mark.slow
def test_bleu_can_select_the_best_weights_and_stop_early(scored):
    """The loss still falls, so that it would select the last epoch."""
    trainer, history, _ = scored
    assert [row["validation_bleu"] for row in history] == [1.0, 3.0, 2.0, 3.0]
    assert history[-1]["validation_loss"] < history[1]["validation_loss"]
    best = [ops.convert_to_numpy(weight) for weight in trainer.model.weights]
    trainer.model.load_weights(trainer.run.weights_file("epoch-0002"))
    for a, b in zip(trainer.model.weights, best, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), b)


@pytest.mark.slow
def test_every_number_of_the_history_is_logged(scored):
    _, history, writer = scored
    expected = ["flush"]  # before training
    for row in history:
        expected += [*((name, value, row["epoch"]) for name, value in row.items()), "flush"]
    assert writer == expected


@pytest.mark.slow
def test_a_run_with_bleu_cannot_resume_without_it(dataset, scored):
    trainer = make_scored_trainer(dataset, scored[0].run.path, [], monitor="loss", bleu=None)
    with pytest.raises(ValueError, match="start a new run"):
        trainer.train(*make_batches(dataset), 10)


def fail(*arguments):
    raise TypeError("code of the user")


@pytest.mark.parametrize(
    "options",
    [{"bleu": fail}, {"bleu": lambda: float("nan")}, {"bleu": dict}, {"writer": object()}],
    ids=str,
)
def test_what_cannot_work_raises_before_training(dataset, tmp_path, options):
    trainer = make_scored_trainer(dataset, tmp_path, SCORES, **options)
    with pytest.raises(ValueError, match=r"Before training.*or leave them out\. Received: \w+"):
        trainer.train(*make_batches(dataset), 1)
    assert int(trainer.optimizer.iterations) == 0


@pytest.mark.slow
def test_samples_and_writers_are_tried_before_training_and_never_end_it(
    dataset, tmp_path, monkeypatch, capsys
):
    trainer = make_trainer(dataset, tmp_path)
    trainer.dataset, trainer.writer = dataset, Writer()
    with monkeypatch.context() as patch:
        patch.setattr("keras_transformer.training.samples.format_samples", fail)
        with pytest.raises(ValueError, match=r"sample translations of `dataset`.* user"):
            trainer.train(*make_batches(dataset), 1)
    batches, validation = make_batches(dataset)

    def break_both():
        trainer.writer.fails = True
        monkeypatch.setattr("keras_transformer.training.samples.format_samples", fail)

    history, _ = trainer.train(CallAt(batches, 1, 0, break_both), validation, 2)
    assert len(history) == 2 and len(trainer.run.read_history()) == 2
    warnings = [x for x in capsys.readouterr().out.splitlines() if x.startswith("Warning")]
    assert [x.partition(" failed")[0] for x in warnings] == [
        "Warning: The sample translations",
        "Warning: `writer`",
    ]
    assert "code of the user" in warnings[0] and "is full" in warnings[1]


@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("fails", some_of(["bleu", "validation"], quick=["bleu"]))
def test_an_epoch_whose_evaluation_fails_is_not_trained_again(dataset, scored, tmp_path, fails):
    scores = [*SCORES[:1], RuntimeError("user"), *SCORES] if fails == "bleu" else SCORES
    trainer = make_scored_trainer(dataset, tmp_path, scores, **PATIENT)
    batches, validation = make_batches(dataset)

    class Failing(list):
        def __getitem__(self, index):
            if fails == "validation" and trainer.run.history.exists():
                raise RuntimeError("user")
            return super().__getitem__(index)

    failing = Failing(validation[i] for i in range(len(validation)))
    with pytest.raises(RuntimeError, match="user"):
        trainer.train(batches, failing, 9)
    resumed = make_scored_trainer(dataset, tmp_path, SCORES[1:], **PATIENT)
    untouched = CallAt(batches, 1, 0, lambda: pytest.fail("the second epoch is trained again"))
    history, _ = resumed.train(untouched, validation, 9)
    assert_same(resumed, history, scored)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_replaces_no_checkpoint(dataset, tmp_path):
    trainer = make_scored_trainer(dataset, tmp_path, [1.0, FloatingPointError("NaN")])
    with pytest.raises(FloatingPointError):
        trainer.train(*make_batches(dataset), 2)
    saved = Checkpoints(trainer.run.checkpoints, trainer.model, trainer.optimizer).restore()
    assert (saved["epoch"], saved["batch"]) == (1, 0)
