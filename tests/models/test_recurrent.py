import numpy as np
import pytest
from layer_contract import BAD_RATES, check_refused, check_sizes_are_refused, numpy
from model_contract import variants
from quick import some_of
from translator_contract import (
    SOURCE,
    TARGET_INPUT,
    VOCABULARIES,
    LearningContract,
    TranslatorContract,
)

from keras_transformer.layers import record_attention
from keras_transformer.layers.record_attention import Recording
from keras_transformer.models import RecurrentTranslator

SIZES = {**VOCABULARIES, "d_model": 6, "units": 8, "rate": 0.0}
LARGER = {"d_model": 32, "units": 32}
VARIANTS = {
    "bahdanau": {},
    "bahdanau_lstm": {"cell": "lstm"},
    "luong": {"attention": "luong"},
    "luong_lstm": {"attention": "luong", "cell": "lstm", "score": "dot"},
    "monotonic": {"attention": "luong", "score": "concat", "window": 2},
    "predictive": {"attention": "luong", "window": 2, "alignment": "predictive"},
    "unidirectional": {"attention": "luong", "units": 7, "bidirectional": False},
}
ALL = pytest.mark.parametrize("variant", some_of(VARIANTS, quick=("luong_lstm", "predictive")))


class _Recurrent:
    model_class = RecurrentTranslator
    sizes = SIZES
    larger = LARGER


@variants(VARIANTS, quick=("bahdanau", "luong_lstm"))
class TestRecurrentTranslator(_Recurrent, TranslatorContract):
    pass


@variants(VARIANTS, quick=("luong",))
class TestLearning(_Recurrent, LearningContract):
    pass


make = TestRecurrentTranslator.make
with_random_weights = TestRecurrentTranslator.with_random_weights


class TestAttention:
    @ALL
    def test_weights_have_one_layer_and_one_head(self, variant):
        model = with_random_weights(**variant)
        attention = model.attention_weights(SOURCE, TARGET_INPUT)
        assert {kind: [tuple(x.shape) for x in layers] for kind, layers in attention.items()} == {
            "cross": [(2, 1, 5, 6)]
        }
        weights = numpy(attention["cross"][0])
        assert (weights[1, :, :, 4:] == 0).all()
        if model.alignment == "monotonic":
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)

    @ALL
    def test_step_by_step_weights_match_call(self, variant):
        model = with_random_weights(**variant)
        expected = numpy(model.attention_weights(SOURCE, TARGET_INPUT)["cross"][0])
        cache, memory = model.start(SOURCE, 5)
        for t in range(5):
            with record_attention() as weights:
                _, cache = model.step(TARGET_INPUT[:, t], t, cache, memory)
            row = numpy(model.group_attention(weights)["cross"][0])
            np.testing.assert_allclose(row[:, :, 0], expected[:, :, t], atol=1e-5)
        assert model.group_attention(Recording()) == {}


@pytest.mark.parametrize("bidirectional", (False, True))
def test_only_a_bidirectional_encoder_looks_ahead(bidirectional):
    model = with_random_weights(bidirectional=bidirectional)
    changed = SOURCE.copy()
    changed[0, -1] = 4 if SOURCE[0, -1] != 4 else 5
    difference = np.abs(numpy(model.encode(changed)) - numpy(model.encode(SOURCE))).max(axis=-1)
    assert (difference[0, :-1] > 1e-6).all() == bidirectional
    assert difference[0, -1] > 1e-6


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, *SIZES.keys() - {"rate"})

    def test_bad_rates_are_refused(self):
        for rate in BAD_RATES:
            check_refused(make, rate=rate)

    def test_odd_units_are_refused(self):
        check_refused(make, units=7)

    def test_unknown_options_are_refused(self):
        check_refused(make, attention="dot")
        check_refused(make, cell="rnn")
        for name, value in {"score": "sum", "window": 0, "alignment": "local"}.items():
            check_refused(lambda **x: make(attention="luong", **x), **{name: value})

    @pytest.mark.parametrize("option", ({"score": "dot"}, {"window": 2}))
    def test_luong_options_require_luong_attention(self, option):
        with pytest.raises(ValueError, match="options of Luong's attention"):
            make(**option)
