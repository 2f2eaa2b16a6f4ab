import keras
import numpy as np
import pytest
from layer_contract import (
    BAD_RATES,
    EAGERLY,
    HALF_POLICIES,
    check_dropout,
    check_future_is_unseen,
    check_refused,
    check_saved,
    check_sizes_are_refused,
    dtype_of,
    numpy,
    random_weights,
)

from keras_transformer.layers import record_attention
from keras_transformer.models import RecurrentTranslator
from keras_transformer.training.losses import MaskedCrossEntropy, masked_cross_entropy
from keras_transformer.training.metrics import MaskedAccuracy, masked_accuracy

SIZES = {"enc_vocab_size": 11, "dec_vocab_size": 13, "d_model": 6, "units": 8, "rate": 0.0}
VARIANTS = {
    "bahdanau": {},
    "bahdanau_lstm": {"cell": "lstm"},
    "luong": {"attention": "luong"},
    "luong_lstm": {"attention": "luong", "cell": "lstm", "score": "dot"},
    "monotonic": {"attention": "luong", "score": "concat", "window": 2},
    "predictive": {"attention": "luong", "window": 2, "alignment": "predictive"},
}
ALL = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
KINDS = pytest.mark.parametrize("attention", ("bahdanau", "luong"))
SOURCE = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]], "int32")
TARGET_INPUT = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")
TARGET = np.array([[5, 7, 9, 11, 3], [12, 4, 3, 0, 0]], "int32")


def make(**kwargs):
    model = RecurrentTranslator(**{**SIZES, **kwargs})
    model.build(((None, None), (None, None)))
    return model


def with_random_weights(**kwargs):
    """A model that is as far from its initial state as a trained one."""
    model = make(**kwargs)
    model.set_weights(random_weights(model))
    return model


def logits_of(model, source=SOURCE, target_input=TARGET_INPUT):
    return numpy(model((source, target_input)))


def steps_of(model, source=SOURCE, target_input=TARGET_INPUT, copies=1):
    """The logits of step after step."""
    cache, memory = model.start(source, target_input.shape[1], copies)
    logits = []
    for position, tokens in enumerate(target_input.T):
        some, cache = model.step(tokens, position, cache, memory)
        logits.append(numpy(some))
    return np.stack(logits, axis=1)


class TestShapes:
    @ALL
    def test_logits_are_scores_of_all_target_words_at_each_position(self, variant):
        model = make(**variant)
        logits = model((SOURCE, TARGET_INPUT))
        assert logits.shape == (2, 5, 13)
        assert dtype_of(logits) == "float32"
        assert model.compute_output_shape((SOURCE.shape, TARGET_INPUT.shape)) == (2, 5, 13)

    @ALL
    def test_built_is_as_good_as_called(self, variant):
        built, called = make(**variant), RecurrentTranslator(**{**SIZES, **variant})
        called((SOURCE, TARGET_INPUT))
        shapes = [[(w.path, tuple(w.shape)) for w in model.weights] for model in (built, called)]
        assert [x[1] for x in shapes[0]] == [x[1] for x in shapes[1]]
        assert len({path for path, _ in shapes[0]}) == len(shapes[0])
        built.set_weights(random_weights(built))
        called.set_weights(built.get_weights())
        np.testing.assert_allclose(logits_of(built), logits_of(called), atol=1e-6)

    @ALL
    def test_a_graph_of_any_length_computes_the_same(self, variant):
        model = with_random_weights(**variant)
        for t in (3, 5):
            y = model.predict((SOURCE, TARGET_INPUT[:, :t]), verbose=0)
            np.testing.assert_allclose(y, logits_of(model)[:, :t], atol=1e-4)


@ALL
def test_call_is_decode_of_encode(variant):
    model = with_random_weights(**variant)
    encoder_output = model.encode(SOURCE)
    assert encoder_output.shape == (2, 6, 8)
    logits = model.decode(TARGET_INPUT, encoder_output, SOURCE)
    np.testing.assert_allclose(numpy(logits), logits_of(model), atol=1e-5)


@ALL
def test_the_future_cannot_change_the_past(variant):
    model = with_random_weights(**variant)
    for t in (1, 3):
        check_future_is_unseen(lambda x: model((SOURCE, x)), np.tile(TARGET_INPUT[:1], (2, 1)), t)


@KINDS
def test_every_logit_depends_on_every_source_word(attention):
    model, source = with_random_weights(attention=attention), np.tile(SOURCE[:1], (2, 1))
    y = logits_of(model, source)
    for s in range(6):
        changed = source.copy()
        changed[:, s] = 3
        assert (np.abs(logits_of(model, changed) - y).max(axis=-1) > 1e-5).all()


@ALL
def test_padding_changes_no_logits_loss_and_metric(variant):
    model = with_random_weights(**variant)
    logits = logits_of(model)
    for source, target in ((3, 0), (0, 4), (3, 4)):
        pads = [((0, 0), (0, source)), ((0, 0), (0, target))]
        longer = logits_of(model, np.pad(SOURCE, pads[0]), np.pad(TARGET_INPUT, pads[1]))
        words = TARGET != 0
        np.testing.assert_allclose(longer[:, :5][words], logits[words], atol=1e-4)
        for totals in (masked_cross_entropy, masked_accuracy):
            expected = [float(x) for x in totals(TARGET, logits)]
            found = [float(x) for x in totals(np.pad(TARGET, pads[1]), longer)]
            assert found == pytest.approx(expected, rel=1e-5)


@ALL
def test_a_sentence_alone_has_the_logits_that_it_has_in_a_batch(variant):
    model = with_random_weights(**variant)
    alone = logits_of(model, SOURCE[1:, :4], TARGET_INPUT[1:, :3])
    np.testing.assert_allclose(alone[0], logits_of(model)[1, :3], atol=1e-4)


@KINDS
def test_an_untrained_model_costs_about_ln_v_per_word(attention):
    sizes = {"enc_vocab_size": 2000, "dec_vocab_size": 2000, "d_model": 32, "units": 32}
    model = make(**sizes, attention=attention)
    source, target_input, target = np.random.default_rng(0).integers(4, 2000, (3, 64, 6))
    loss, words = masked_cross_entropy(target, model((source, target_input)))
    assert float(loss / words) == pytest.approx(np.log(2000), abs=0.15)


class TestConfig:
    @ALL
    def test_made_again(self, variant):
        model = make(**variant, name="another", dtype="mixed_bfloat16")
        again = RecurrentTranslator.from_config(model.get_config())
        assert again.get_config() == model.get_config()
        assert (again.name, again.dtype_policy.name) == ("another", "mixed_bfloat16")
        logits = logits_of(model)
        logits_of(again)
        again.set_weights(model.get_weights())
        np.testing.assert_allclose(logits_of(again), logits, atol=1e-6)

    @ALL
    def test_saved_here_and_loaded_elsewhere(self, variant, tmp_path, other_process):
        model = with_random_weights(**variant)
        check_saved(model, [SOURCE, TARGET_INPUT], tmp_path, other_process)

    @KINDS
    def test_weights_alone_are_saved_and_loaded(self, attention, tmp_path):
        model, other = with_random_weights(attention=attention), make(attention=attention)
        model.save_weights(tmp_path / "a.weights.h5")
        other.load_weights(tmp_path / "a.weights.h5")
        np.testing.assert_allclose(logits_of(other), logits_of(model), atol=1e-6)


class TestSteps:
    @ALL
    def test_step_after_step_gives_the_logits_of_call(self, variant):
        model = with_random_weights(**variant)
        gaps = (np.array([[10, 0, 4, 3, 0, 0], [4, 5, 6, 7, 8, 9]], "int32"), TARGET_INPUT[::-1])
        np.testing.assert_allclose(steps_of(model, *gaps), logits_of(model, *gaps), atol=1e-5)

    @KINDS
    def test_copies_are_rows_next_to_each_other(self, attention):
        """Each sentence is continued in three ways."""
        model = with_random_weights(attention=attention)
        targets = np.random.default_rng(0).integers(3, 13, (6, 5)).astype("int32")
        found = steps_of(model, SOURCE, targets, copies=3)
        for i in range(3):
            expected = logits_of(model, SOURCE, targets[i::3])
            np.testing.assert_allclose(found[i::3], expected, atol=1e-5)

    @ALL
    def test_the_cache_keeps_its_shapes_and_has_a_row_for_each_sentence(self, variant):
        model = with_random_weights(**variant)
        cache, memory = model.start(SOURCE, 7, copies=2)
        _, new = model.step(np.repeat(TARGET_INPUT[:, 0], 2), 0, cache, memory)
        keras.tree.assert_same_structure(new, cache)
        for x, old in zip(keras.tree.flatten(new), keras.tree.flatten(cache), strict=True):
            assert (tuple(x.shape), dtype_of(x)) == (tuple(old.shape), dtype_of(old))
        assert {x.shape[0] for x in keras.tree.flatten((cache, memory))} == {4}

    def test_forty_steps(self):
        model = with_random_weights(attention="luong", window=3, alignment="predictive")
        targets = np.random.default_rng(1).integers(3, 13, (2, 40)).astype("int32")
        found = steps_of(model, SOURCE, targets)
        np.testing.assert_allclose(found, logits_of(model, SOURCE, targets), atol=1e-5)


class TestAttention:
    @ALL
    def test_has_the_shape_of_one_layer_with_one_head(self, variant):
        model = with_random_weights(**variant)
        scores = model.attention_scores(SOURCE, TARGET_INPUT)
        assert {kind: [tuple(x.shape) for x in some] for kind, some in scores.items()} == {
            "cross": [(2, 1, 5, 6)]
        }
        weights = numpy(scores["cross"][0])
        assert (weights[1, :, :, 4:] == 0).all()
        if model.alignment == "monotonic":
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)

    @ALL
    def test_step_by_step_it_is_the_same(self, variant):
        model = with_random_weights(**variant)
        together = numpy(model.attention_scores(SOURCE, TARGET_INPUT)["cross"][0])
        cache, memory = model.start(SOURCE, 5)
        for t in range(5):
            with record_attention() as weights:
                _, cache = model.step(TARGET_INPUT[:, t], t, cache, memory)
            row = numpy(model.name_attention(weights)["cross"][0])
            np.testing.assert_allclose(row[:, :, 0], together[:, :, t], atol=1e-5)
        assert model.name_attention({}) == {}


@ALL
@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_is_finite_also_of_sentences_of_nothing_but_padding(variant, policy):
    model = make(**variant, dtype=policy)
    source, target_input, target = SOURCE.copy(), TARGET_INPUT.copy(), TARGET.copy()
    source[0], target_input[1], target[1] = 0, 0, 0
    logits = model((source, target_input))
    assert dtype_of(logits) == HALF_POLICIES[policy]
    assert np.isfinite(numpy(logits)).all()
    assert np.isfinite(steps_of(model, source, target_input)).all()
    model.compile("sgd", MaskedCrossEntropy(), auto_scale_loss=False, run_eagerly=EAGERLY)
    assert np.isfinite(model.train_on_batch((source, target_input), target)).all()
    assert all(np.isfinite(numpy(w)).all() for w in model.weights)
    assert {w.dtype for w in model.weights} == {"float32"}


@ALL
def test_half_precision_is_close_to_single(variant):
    model, half = make(**variant), make(**variant, dtype="mixed_bfloat16")
    half.set_weights(model.get_weights())
    np.testing.assert_allclose(logits_of(half), logits_of(model), atol=0.1)
    np.testing.assert_allclose(steps_of(half), logits_of(model), atol=0.1)


@KINDS
def test_drops_out_in_training_only(attention):
    check_dropout(make(attention=attention, rate=0.5), (SOURCE, TARGET_INPUT))


class TestFit:
    @ALL
    def test_one_step_changes_every_weight(self, variant):
        model = with_random_weights(**variant)
        before = model.get_weights()
        model.compile(keras.optimizers.SGD(1.0), MaskedCrossEntropy(), run_eagerly=EAGERLY)
        model.train_on_batch((SOURCE, TARGET_INPUT), TARGET)
        for weight, old in zip(model.weights, before, strict=True):
            changes = np.abs(numpy(weight) - old).max() > 1e-6
            assert changes == weight.trainable, weight.path

    @KINDS
    def test_learns_to_copy(self, attention):
        """Sentences whose translation is themselves: no word follows from those before it."""
        rng = np.random.default_rng(0)
        source = rng.integers(4, 12, (2560, 5)).astype("int32")
        target_input = np.concatenate([np.full((2560, 1), 2, "int32"), source[:, :-1]], axis=1)
        sizes = {"enc_vocab_size": 12, "dec_vocab_size": 12, "d_model": 32, "units": 32}
        model = make(**sizes, attention=attention)
        model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy(), metrics=[MaskedAccuracy()])
        model.fit((source[200:], target_input[200:]), source[200:], epochs=4, verbose=0)
        right = logits_of(model, source[:200], target_input[:200]).argmax(axis=-1) == source[:200]
        assert right.mean() > 0.9


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, *SIZES.keys() - {"rate"})

    def test_bad_rates_are_refused(self):
        for rate in BAD_RATES:
            check_refused(make, rate=rate)

    def test_odd_units_are_refused(self):
        check_refused(make, units=7)

    def test_unknown_choices_are_refused(self):
        check_refused(make, attention="dot")
        check_refused(make, cell="rnn")
        for name, value in {"score": "sum", "window": 0, "alignment": "local"}.items():
            check_refused(lambda **x: make(attention="luong", **x), **{name: value})

    @pytest.mark.parametrize("choice", ({"score": "dot"}, {"window": 2}))
    def test_choices_of_luong_are_not_of_bahdanau(self, choice):
        with pytest.raises(ValueError, match="of Luong's attention"):
            make(**choice)
