"""The training steps of all backends and `fit` give the same losses."""

import json
import threading

import keras
import numpy as np
import pytest
from keras import ops
from other_backends import other_backends, run_on
from quick import exhaustive_on_jax
from tiny import SMOOTHED_LOSS, make_batches, make_dataset, make_model

from keras_transformer import (
    Adam,
    MaskedAccuracy,
    MaskedCrossEntropy,
    TransformerModel,
    WarmupSchedule,
    as_dataset,
)
from keras_transformer.backends import backend_module
from keras_transformer.objectives.metrics import loss_and_totals

pytestmark = pytest.mark.every_backend

EPOCHS = 2


def make_optimizer(model):
    optimizer = Adam(WarmupSchedule(32, 60, 0.3), beta_2=0.98, epsilon=1e-9)
    optimizer.build(model.trainable_variables)
    return optimizer


def losses_of_step(weights):
    """Returns the mean losses of all training and validation batches, per epoch."""
    dataset = make_dataset()
    model = make_model(dataset)
    model.load_weights(weights)
    step = backend_module().TrainingStep(model, make_optimizer(model), SMOOTHED_LOSS)
    batches, validation = make_batches(dataset)
    losses = []
    for epoch in range(EPOCHS):
        batches.set_epoch(epoch)
        training = means(step.train(batches))
        losses.append((training, means(step.evaluate(validation))))
    return losses


def means(results):
    return [float(total[0]) / float(total[2]) for total in results]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "start.weights.h5"
    make_model(make_dataset()).save_weights(path)
    return str(path)


@pytest.fixture(scope="module")
def losses(weights):
    return losses_of_step(weights)


@pytest.mark.slow
def test_loss_decreases(losses):
    assert losses[-1][1][0] < losses[0][0][0]


@exhaustive_on_jax
@pytest.mark.slow
@other_backends
def test_all_backends_give_the_same_losses(weights, losses, other):
    code = "import json, sys, test_steps as t; print(json.dumps(t.losses_of_step(sys.argv[1])))"
    printed = run_on(other, code, weights)
    for ours, theirs in zip(losses, json.loads(printed.splitlines()[-1]), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-4)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "jax", reason="pads batches for a GPU")
def test_batches_with_more_padding_give_the_same_losses(weights, losses, monkeypatch):
    monkeypatch.setattr(backend_module(), "jax_has_cuda", lambda: True)
    monkeypatch.setattr(backend_module(), "_MANY_ROWS", 1)
    monkeypatch.setattr(backend_module(), "_EVEN_ROWS", 9)
    for found, expected in zip(losses_of_step(weights), losses, strict=True):
        for some, others in zip(found, expected, strict=True):
            np.testing.assert_allclose(some, others, rtol=1e-4)


def test_fit_gives_the_same_losses(weights):
    # Keras's Adam would give other losses: on TensorFlow it squares the gradients of a repeated
    # token one by one instead of their sum. The batches are not shuffled because `fit` reads one
    # batch in advance, which counts as an epoch.
    dataset = make_dataset()
    model = make_model(dataset)
    optimizer = Adam(0.01, epsilon=1e-4)
    batches = dataset.batches(dataset.train, 16)
    _, validation = make_batches(dataset)
    model.load_weights(weights)
    jit = keras.config.backend() == "jax"  # TensorFlow runs without XLA here
    model.compile(optimizer, MaskedCrossEntropy(), metrics=[MaskedAccuracy()], jit_compile=jit)
    fitted = model.fit(
        as_dataset(batches),
        epochs=EPOCHS,
        shuffle=False,
        validation_data=as_dataset(validation),
        verbose=0,
    )

    model = make_model(dataset)
    model.load_weights(weights)
    optimizer = Adam(0.01, epsilon=1e-4)
    optimizer.build(model.trainable_variables)
    step = backend_module().TrainingStep(model, optimizer, loss_and_totals)
    for epoch in range(EPOCHS):
        expected = np.mean(means(step.train(batches)))
        assert fitted.history["loss"][epoch] == pytest.approx(expected, abs=1e-5)
        expected = np.mean(means(step.evaluate(validation)))
        assert fitted.history["val_loss"][epoch] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_errors_while_reading_batches_are_raised_unchanged():
    dataset = make_dataset()
    model = make_model(dataset)
    step = backend_module().TrainingStep(model, make_optimizer(model), loss_and_totals)

    class Unreadable:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            if index < 2:
                return dataset.batches(dataset.train, 16)[index]
            raise OSError("the disk is gone")

    trained = step.train(Unreadable())
    assert len([next(trained), next(trained)]) == 2
    with pytest.raises(OSError, match=r"^the disk is gone$"):
        next(trained)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "jax", reason="others update in place")
def test_errors_in_an_update_are_raised():
    """The input buffers have been donated by then, and there is no output."""
    import jax

    def fail(target, logits):
        loss, totals = loss_and_totals(target, logits)
        totals = jax.lax.stop_gradient(totals)
        return loss, jax.pure_callback(remember, totals, totals)

    def remember(totals):
        seen.append(totals)
        if len(seen) == 3:
            raise MemoryError("there is no room")
        return totals

    seen, dataset = [], make_dataset()
    model = make_model(dataset)
    step = backend_module().TrainingStep(model, make_optimizer(model), fail)
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="no room"):
        list(step.train(dataset.batches(dataset.train, 16)))


@pytest.mark.skipif(keras.config.backend() != "torch", reason="others compile the update")
@pytest.mark.parametrize("memory", ["GPU", "CPU"])
def test_an_update_without_memory_changes_nothing_and_ends_the_thread_of_the_batches(memory):
    import torch

    def exhaust(target, logits):
        if memory == "CPU":
            torch.empty(1 << 60)
        raise torch.OutOfMemoryError("GPU out of memory")

    dataset = make_dataset()
    model = make_model(dataset)
    step = backend_module().TrainingStep(model, make_optimizer(model), exhaust)
    variables = [*model.variables, *step.optimizer.variables]
    before = [ops.convert_to_numpy(x).copy() for x in variables]
    with pytest.raises(RuntimeError, match=f"{memory}.* memory"), backend_module().distribution():
        list(step.train(dataset.batches(dataset.train, 16)))
    for variable, value in zip(variables, before, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(variable), value)
    assert not [x for x in threading.enumerate() if x.name.startswith("batches")]


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() == "torch", reason="PyTorch traces nothing")
def test_at_most_one_trace_per_shape():
    traced = []

    class Traced(TransformerModel):
        def call(self, inputs, training=None):
            if training is not None:
                traced.append(training)
            return super().call(inputs, training=training)

    dataset = make_dataset()
    model = make_model(dataset, model_class=Traced)
    step = backend_module().TrainingStep(model, make_optimizer(model), loss_and_totals)
    batches, validation = make_batches(dataset)
    assert len(batches.shapes) > 1
    for _ in range(2):
        assert len(list(step.train(batches))) == len(batches)
        assert len(list(step.evaluate(validation))) == len(validation)
    assert 1 <= traced.count(True) <= len(batches.shapes)
    assert 1 <= traced.count(False) <= len(validation.shapes)


def test_describe_device():
    device = backend_module().describe_device()
    assert device.name and device.bfloat16 in (True, False)


@pytest.mark.slow
def test_every_update_has_a_different_dropout_mask_and_validation_has_none():
    dataset = make_dataset()
    model = make_model(dataset, rate=0.5)
    step = backend_module().TrainingStep(model, keras.optimizers.SGD(0.0), loss_and_totals)
    step.optimizer.build(model.trainable_variables)
    batch = make_batches(dataset)[0][0]
    assert len(set(means(step.train([batch] * 3)))) == 3  # the weights are the same
    assert len(set(means(step.evaluate([batch] * 3)))) == 1


class Unusual(keras.layers.Layer):
    """A layer with statistics, an unused weight, a regularizer and an added loss."""

    def __init__(self):
        super().__init__()
        self.normalization = keras.layers.BatchNormalization()
        self.dense = keras.layers.Dense(8, kernel_regularizer=keras.regularizers.L2(0.3))

    def build(self, shape):
        self.normalization.build(shape)
        self.dense.build(shape)
        self.unused = self.add_weight(shape=(3,), name="unused")

    def call(self, x, training=None):
        x = self.dense(self.normalization(x, training=training))
        self.add_loss(0.2 * ops.mean(ops.square(x)))
        return x


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.slow
def test_a_step_updates_unusual_layers_as_fit_does():
    weights = []
    ids = np.arange(1, 13, dtype="int32").reshape(2, 6) % 7 + 1  # no padding
    for fit in (True, False):
        keras.utils.set_random_seed(7)
        source, target_input = (
            keras.Input((None,), dtype="int32"),
            keras.Input((None,), dtype="int32"),
        )
        x = keras.layers.Embedding(9, 8)(source) + keras.layers.Embedding(9, 8)(target_input)
        model = keras.Model([source, target_input], keras.layers.Dense(9)(Unusual()(x)))
        optimizer = keras.optimizers.SGD(0.1)
        if fit:
            model.compile(optimizer, MaskedCrossEntropy())
            model.train_on_batch([ids, ids], ids)
        else:
            optimizer.build(model.trainable_variables)
            step = backend_module().TrainingStep(model, optimizer, loss_and_totals)
            list(step.train([((ids, ids), ids)]))
        weights.append({x.path: ops.convert_to_numpy(x) for x in model.variables})
    for a, b in zip(*(x.values() for x in weights), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.slow
def test_padding_rows_change_neither_loss_nor_weights():
    """A batch extended by rows of padding gives the same update."""
    dataset = make_dataset()
    (sources, inputs), targets = make_batches(dataset)[0][0]
    rows = np.zeros((5, targets.shape[1]), "int32")
    filled = [np.concatenate([x, rows[:, : x.shape[1]]]) for x in (sources, inputs, targets)]
    results, weights = [], []
    for source, target_input, target in ([sources, inputs, targets], filled):
        model = make_model(dataset)
        step = backend_module().TrainingStep(model, keras.optimizers.SGD(0.1), loss_and_totals)
        step.optimizer.build(model.trainable_variables)
        results += list(step.train([((source, target_input), target)]))
        weights.append([ops.convert_to_numpy(w) for w in model.weights])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)
    for a, b in zip(*weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
