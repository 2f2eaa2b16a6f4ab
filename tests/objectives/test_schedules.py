import json

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import check_refused, check_sizes_are_refused, dtype_of

from keras_transformer.objectives.schedules import WarmupSchedule, warmup_cosine


def paper_formula(step, d_model, warmup_steps):
    """Computes the formula of the paper, which counts updates from 1."""
    t = step + 1
    return d_model**-0.5 * min(t**-0.5, t * warmup_steps**-1.5)


def test_matches_a_hand_computed_example():
    """With d = 4 and w = 16: t / 128 up to t = 16, then 1 / (2·√t)."""
    schedule = WarmupSchedule(d_model=4, warmup_steps=16)
    expected = {0: 1 / 128, 1: 2 / 128, 14: 15 / 128, 15: 1 / 8, 24: 1 / 10, 99: 1 / 20}
    for step, rate in expected.items():
        assert float(schedule(step)) == pytest.approx(rate, rel=1e-6)


def test_equals_the_formula_of_the_paper():
    schedule = WarmupSchedule(d_model=512)
    for step in (0, 1, 10, 3998, 3999, 4000, 10_000, 1_000_000):
        assert float(schedule(step)) == pytest.approx(paper_formula(step, 512, 4000), rel=1e-5)


@pytest.mark.parametrize("warmup_steps", (1, 2, 50))
def test_peak_is_the_last_update_of_the_warm_up(warmup_steps):
    schedule = WarmupSchedule(d_model=8, warmup_steps=warmup_steps)
    rates = np.array([float(schedule(step)) for step in range(100)])
    peak = warmup_steps - 1
    assert rates.argmax() == peak
    assert rates[peak] == pytest.approx((8 * warmup_steps) ** -0.5, rel=1e-5)
    assert (np.diff(rates[: peak + 1]) > 0).all()
    assert (np.diff(rates[peak:]) < 0).all()
    assert rates[0] > 0


@pytest.mark.parametrize("warmup_steps", (1, 2, 20))
def test_linear_decay_falls_in_equal_steps_from_the_peak_to_zero(warmup_steps):
    paper = WarmupSchedule(d_model=8, warmup_steps=warmup_steps)
    linear = WarmupSchedule(d_model=8, warmup_steps=warmup_steps, total_steps=20)
    rates = np.array([float(linear(step)) for step in range(25)])
    np.testing.assert_allclose(
        rates[:warmup_steps], [float(paper(step)) for step in range(warmup_steps)], rtol=1e-6
    )
    peak = (8 * warmup_steps) ** -0.5
    decay = np.diff(rates[warmup_steps - 1 : 21])
    np.testing.assert_allclose(decay, -peak / (21 - warmup_steps), rtol=1e-5)
    assert rates[19] > 0 and not rates[20:].any()


def test_scale_is_a_factor():
    once, thrice = WarmupSchedule(8, 10), WarmupSchedule(8, 10, scale=3.0)
    for step in (0, 9, 50):
        assert float(thrice(step)) == pytest.approx(3 * float(once(step)), rel=1e-6)


def test_accumulated_batches_share_the_rate_of_their_update():
    for total in (None, 90):
        updates = WarmupSchedule(8, 10, total_steps=total)
        batches = WarmupSchedule(8, 10, accumulation=4, total_steps=total)
        for step in (0, 1, 3, 4, 39, 40, 43, 4003):
            assert float(batches(step)) == float(updates(step // 4))


@pytest.mark.parametrize("dtype", ("int32", "int64", "uint8", "float32"))
def test_accepts_steps_of_any_dtype(dtype):
    schedule = WarmupSchedule(d_model=4, warmup_steps=16)
    for step in (np.array(24, dtype), ops.convert_to_tensor(24, dtype)):
        rate = schedule(step)
        assert float(rate) == pytest.approx(0.1, rel=1e-6)
        assert (dtype_of(rate), rate.shape) == ("float32", ())


def test_warmup_cosine_peaks_after_a_tenth_of_the_updates():
    schedule = warmup_cosine(0.4, 100)
    expected = {0: 0.0, 5: 0.2, 10: 0.4, 55: 0.2, 100: 0.0, 120: 0.0}
    for step, rate in expected.items():
        assert float(schedule(step)) == pytest.approx(rate, abs=1e-6)
    for steps in (0, 1, 2):  # too few for a warm-up
        assert np.isfinite([float(warmup_cosine(0.4, steps)(step)) for step in range(4)]).all()


@pytest.mark.parametrize("optimizer_class", (keras.optimizers.SGD, keras.optimizers.Adam))
def test_works_with_keras_optimizers(optimizer_class):
    """With a constant gradient of 1, SGD and Adam change a weight by the learning rate."""
    schedule = WarmupSchedule(d_model=4, warmup_steps=2)
    optimizer, weight = optimizer_class(schedule), keras.Variable(0.0)
    moved = 0
    for step in range(5):
        optimizer.apply([ops.ones(())], [weight])
        moved += paper_formula(step, 4, 2)
        assert float(ops.convert_to_tensor(weight)) == pytest.approx(-moved, rel=1e-4)
    assert int(ops.convert_to_tensor(optimizer.iterations)) == 5


def test_recreated_from_its_config():
    optimizer = keras.optimizers.Adam(WarmupSchedule(d_model=4, warmup_steps=16, scale=2.0))
    saved = json.dumps(keras.optimizers.serialize(optimizer))
    again = keras.optimizers.deserialize(json.loads(saved))
    assert again.get_config() == optimizer.get_config()
    config = {"d_model": 4, "warmup_steps": 16, "scale": 2.0, "accumulation": 1, "total_steps": 99}
    again = WarmupSchedule.from_config(config)
    assert again.get_config() == config
    assert float(again(24)) == pytest.approx(0.25 * 75 / 84, rel=1e-6)


def test_bad_arguments_are_refused():
    def make(**kwargs):
        return WarmupSchedule(**{"d_model": 8, "warmup_steps": 10, **kwargs})

    check_sizes_are_refused(make, "d_model", "warmup_steps")
    check_refused(make, total_steps=0)
    check_refused(make, warmup_steps=10, total_steps=9)
    for scale in (0, -1.0, float("nan")):
        check_refused(make, scale=scale)
