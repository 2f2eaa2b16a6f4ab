"""Gradient accumulation: several small batches update the weights as one large batch does."""

import numpy as np
import pytest
from quick import some_of
from tiny import SMOOTHED_LOSS, make_dataset, make_model

from keras_transformer import Adam
from keras_transformer.backends import backend_module
from keras_transformer.data.batches import LengthBuckets
from keras_transformer.data.tokenizers import encode_source, encode_target
from keras_transformer.objectives.schedules import WarmupSchedule

pytestmark = pytest.mark.every_backend


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


def make_batches(dataset, batch_size, multiple=1):
    # All pairs are in one bucket. With several, large batches would not consist of small ones.
    source, target = dataset.source_tokenizer, dataset.target_tokenizer
    examples = [(encode_source(source, x), encode_target(target, y)) for x, y in dataset.train]
    kept = [example for example in examples if len(example[0]) <= 4][:72]
    sizes = (source.vocab_size, target.vocab_size)
    return LengthBuckets(kept, batch_size, *sizes, multiple=multiple)


def train(dataset, batches, **options):
    model = make_model(dataset)
    steps = options.get("gradient_accumulation_steps", 1)
    schedule = WarmupSchedule(d_model=16, warmup_steps=4, scale=0.1, accumulation=steps)
    optimizer = Adam(schedule, epsilon=1e-4, **options)
    optimizer.build(model.trainable_variables)
    step = backend_module().TrainingStep(model, optimizer, SMOOTHED_LOSS)
    totals = [np.array(x) for x in step.train(batches)]
    return model.get_weights(), np.sum(totals, axis=0)


@pytest.fixture(scope="module")
def unclipped(dataset):
    """Returns the weights after training without clipping, and the totals."""
    return train(dataset, make_batches(dataset, 16))


@pytest.mark.parametrize("clip", some_of({"unclipped": None, "clipped": 0.05}, quick=["unclipped"]))
@pytest.mark.slow
def test_two_accumulated_batches_equal_one_of_twice_the_size(dataset, unclipped, clip):
    large = make_batches(dataset, 16)
    small = make_batches(dataset, 8, multiple=2)
    words = {np.count_nonzero(small[i][1]) for i in range(len(small))}
    assert len(words) > 1 and len(small) == 2 * len(large) > 4
    expected, totals = train(dataset, large, global_clipnorm=clip) if clip else unclipped
    weights, same_totals = train(
        dataset, small, global_clipnorm=clip, gradient_accumulation_steps=2
    )
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)
    assert same_totals[2] == totals[2]


@pytest.mark.exhaustive
def test_clipping_changes_the_weights(dataset, unclipped):
    clipped, _ = train(dataset, make_batches(dataset, 16), global_clipnorm=1e-4)
    assert max(np.abs(a - b).max() for a, b in zip(unclipped[0], clipped, strict=True)) > 1e-3
