import keras
import numpy as np
import pytest
from keras import ops
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

from keras_transformer.backend import backend_module
from keras_transformer.models import TransformerModel
from keras_transformer.training.losses import MaskedCrossEntropy, masked_cross_entropy
from keras_transformer.training.metrics import MaskedAccuracy, masked_accuracy

SIZES = {
    "enc_vocab_size": 11,
    "dec_vocab_size": 13,
    "enc_seq_length": 6,
    "dec_seq_length": 5,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff_inner": 16,
    "n": 2,
    "rate": 0.0,
}
VARIANTS = {
    "post_norm": {},
    "pre_norm": {"norm_first": True, "activation": "gelu"},
    "tied": {"tie_output": True},
    "tied_with_bias": {"tie_output": True, "output_bias": True},
    "shared": {"enc_vocab_size": 13, "share_embeddings": True},
    "tied_and_shared": {"enc_vocab_size": 13, "share_embeddings": True, "tie_output": True},
}
ALL = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
NORMS = pytest.mark.parametrize(
    "variant", (VARIANTS["post_norm"], VARIANTS["pre_norm"]), ids=("post_norm", "pre_norm")
)
SOURCE = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]], "int32")
TARGET_INPUT = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")
TARGET = np.array([[5, 7, 9, 11, 3], [12, 4, 3, 0, 0]], "int32")


def make(**kwargs):
    return TransformerModel(**{**SIZES, **kwargs})


def with_random_weights(**kwargs):
    """A model that is as far from its initial state as a trained one."""
    model = make(**kwargs)
    model((SOURCE, TARGET_INPUT))
    model.set_weights(random_weights(model))
    return model


def logits_of(model, source=SOURCE, target_input=TARGET_INPUT):
    return numpy(model((source, target_input)))


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
        built, called = make(**variant), make(**variant)
        built.build(((None, None), (None, None)))
        called((SOURCE, TARGET_INPUT))
        shapes = [[(w.name, w.shape) for w in model.weights] for model in (built, called)]
        assert shapes[0] == shapes[1]
        built.set_weights(random_weights(built))
        called.set_weights(built.get_weights())
        np.testing.assert_allclose(logits_of(built), logits_of(called), atol=1e-6)

    def test_any_length_is_allowed(self):
        model = make()
        source, target_input = np.tile(SOURCE, (1, 9)), np.tile(TARGET_INPUT, (1, 9))
        assert model((source, target_input)).shape == (2, 45, 13)
        assert model((SOURCE[:, :1], TARGET_INPUT[:, :1])).shape == (2, 1, 13)

    def test_a_graph_of_any_length_computes_the_same(self):
        model = with_random_weights()
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


@NORMS
def test_the_future_cannot_change_the_past(variant):
    model = with_random_weights(**variant)
    for t in (1, 3):
        check_future_is_unseen(lambda x: model((SOURCE, x)), np.tile(TARGET_INPUT[:1], (2, 1)), t)


@NORMS
def test_every_logit_depends_on_every_source_word(variant):
    model, source = with_random_weights(**variant), np.tile(SOURCE[:1], (2, 1))
    y = logits_of(model, source)
    for s in range(6):
        changed = source.copy()
        changed[:, s] = 3
        change = np.abs(logits_of(model, changed) - y).max(axis=-1)
        assert (change[TARGET_INPUT != 0] > 1e-5).all()


@NORMS
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


def test_a_sentence_alone_has_the_logits_that_it_has_in_a_batch():
    model = with_random_weights()
    alone = logits_of(model, SOURCE[1:, :4], TARGET_INPUT[1:, :3])
    np.testing.assert_allclose(alone[0], logits_of(model)[1, :3], atol=1e-4)


@ALL
def test_an_untrained_model_costs_about_ln_v_per_word(variant):
    """Logits of variance σ² cost ln V + σ²/2: σ² is 2·D/(D + V), nearly nothing, or 1 if tied."""
    sizes = {"enc_vocab_size": 2000, "dec_vocab_size": 2000, "d_model": 32, "d_ff_inner": 64}
    model = make(**{**variant, **sizes})
    source, target_input, target = np.random.default_rng(0).integers(4, 2000, (3, 64, 6))
    loss, words = masked_cross_entropy(target, model((source, target_input)))
    expected = np.log(2000) + (0.5 if model.tie_output else 0)
    assert float(loss / words) == pytest.approx(expected, abs=0.15)


class TestSharing:
    def weights(self, **variant):
        model = make(**variant)
        model.build(((None, None), (None, None)))
        return len(model.weights), model.count_params()

    def test_a_tied_output_has_no_projection_of_its_own(self):
        (weights, parameters), (tied, tied_parameters) = (
            self.weights(),
            self.weights(tie_output=True),
        )
        assert weights - tied == 2
        assert parameters - tied_parameters == 8 * 13 + 13

    def test_a_tied_output_may_have_a_bias(self):
        tied, with_bias = (self.weights(tie_output=True, output_bias=x) for x in (False, True))
        assert (with_bias[0] - tied[0], with_bias[1] - tied[1]) == (1, 13)
        model = with_random_weights(tie_output=True, output_bias=True)
        before, bias = logits_of(model), numpy(model.bias)
        model.bias.assign(bias + np.arange(13))
        expected = before + np.arange(13)
        np.testing.assert_allclose(logits_of(model), expected, atol=1e-5)

    def test_shared_embeddings_are_one_variable(self):
        apart, shared = (
            self.weights(enc_vocab_size=13, share_embeddings=share) for share in (False, True)
        )
        assert apart[0] - shared[0] == 1
        assert apart[1] - shared[1] == 8 * 13

    def test_a_tied_output_scores_with_the_words_of_the_target(self):
        model = with_random_weights(tie_output=True)
        words = model.target_embedding.words.embeddings
        before = logits_of(model)
        words.assign(
            np.concatenate([numpy(words)[:-1], 2 * numpy(words)[-1:]])
        )  # the input lacks 12
        after = logits_of(model)[:1]
        np.testing.assert_allclose(after[..., :-1], before[:1, :, :-1], atol=1e-5)
        np.testing.assert_allclose(after[..., -1], 2 * before[:1, :, -1], atol=1e-4)


class TestSaving:
    @ALL
    def test_made_again_from_its_config(self, variant):
        model = make(**variant, name="another", dtype="mixed_bfloat16")
        again = TransformerModel.from_config(model.get_config())
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

    @ALL
    def test_weights_alone_make_another_model_the_same(self, variant, tmp_path):
        model, other = with_random_weights(**variant), make(**variant)
        other.build(((None, None), (None, None)))
        assert np.abs(logits_of(other) - logits_of(model)).max() > 0.1
        model.save_weights(tmp_path / "a.weights.h5")
        other.load_weights(tmp_path / "a.weights.h5")
        np.testing.assert_allclose(logits_of(other), logits_of(model), atol=1e-6)


class TestAttentionScores:
    def test_has_an_entry_per_layer_with_a_matrix_per_head(self):
        scores = make(n=3).attention_scores(SOURCE, TARGET_INPUT)
        shapes = {"encoder": (2, 2, 6, 6), "causal": (2, 2, 5, 5), "cross": (2, 2, 5, 6)}
        assert {name: [tuple(x.shape) for x in some] for name, some in scores.items()} == {
            name: [shape] * 3 for name, shape in shapes.items()
        }

    def test_rows_sum_to_one_and_leave_out_padding_and_the_future(self):
        scores = with_random_weights().attention_scores(SOURCE, TARGET_INPUT)
        closed = {
            "encoder": np.broadcast_to(SOURCE[:, None] == 0, (2, 6, 6)),
            "causal": (TARGET_INPUT[:, None] == 0) | ~np.tri(5, dtype=bool),
            "cross": np.broadcast_to(SOURCE[:, None] == 0, (2, 5, 6)),
        }
        for name, layers in scores.items():
            for weights in layers:
                np.testing.assert_allclose(numpy(weights).sum(axis=-1), 1, atol=1e-5)
                zero = numpy(weights) == 0
                np.testing.assert_array_equal(zero, np.repeat(closed[name][:, None], 2, axis=1))

    def test_the_first_is_worked_out_from_the_projections(self):
        model = make()
        found = numpy(model.attention_scores(SOURCE, TARGET_INPUT)["encoder"][0])
        attention, x = model.encoder.layers[0].self_attention, model.source_embedding(SOURCE)
        q, k = (
            numpy(project(x)).reshape(2, 6, 2, 3).transpose(0, 2, 1, 3)
            for project in (attention.query_projection, attention.key_projection)
        )
        odds = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(3)) * (SOURCE != 0)[:, None, None]
        np.testing.assert_allclose(found, odds / odds.sum(axis=-1, keepdims=True), atol=1e-5)

    def test_layers_of_one_kind_are_told_apart(self):
        scores = with_random_weights().attention_scores(SOURCE, SOURCE)
        matrices = [numpy(x).round(3).tobytes() for some in scores.values() for x in some]
        assert len(set(matrices)) == 6


@pytest.mark.parametrize("policy", HALF_POLICIES)
@ALL
def test_half_precision_is_finite_also_of_sentences_of_nothing_but_padding(variant, policy):
    model = make(**{**variant, "n": 1}, dtype=policy)
    source, target_input, target = SOURCE.copy(), TARGET_INPUT.copy(), TARGET.copy()
    source[0], target_input[1], target[1] = 0, 0, 0
    logits = model((source, target_input))
    assert dtype_of(logits) == HALF_POLICIES[policy]
    assert np.isfinite(numpy(logits)).all()
    model.compile("sgd", MaskedCrossEntropy(), auto_scale_loss=False, run_eagerly=EAGERLY)
    assert np.isfinite(model.train_on_batch((source, target_input), target)).all()
    assert all(np.isfinite(numpy(w)).all() for w in model.weights)
    assert {w.dtype for w in model.weights} == {"float32"}


@pytest.mark.parametrize("policy", HALF_POLICIES)
def test_half_precision_is_close_to_single(policy):
    model, half = make(), make(dtype=policy)
    logits = logits_of(model)
    logits_of(half)
    half.set_weights(model.get_weights())
    np.testing.assert_allclose(logits_of(half), logits, atol=0.1)


@NORMS
def test_drops_out_in_training_only(variant):
    check_dropout(make(**{**variant, "rate": 0.5}), (SOURCE, TARGET_INPUT))


class TestFit:
    @ALL
    def test_one_step_changes_every_weight(self, variant):
        model = make(**variant)
        model.build(((None, None), (None, None)))
        before = model.get_weights()
        model.compile(keras.optimizers.SGD(1.0), MaskedCrossEntropy(), run_eagerly=EAGERLY)
        model.train_on_batch((SOURCE, TARGET_INPUT), TARGET)
        for weight, old in zip(model.weights, before, strict=True):
            still = weight.path.endswith("key_projection/bias")  # the same for all scores of a row
            assert (np.abs(numpy(weight) - old).max() > 1e-6) != still, weight.path

    def copying(self, sentences, length=5, symbols=8, seed=0):
        """Sentences whose translation is themselves: no word follows from those before it."""
        rng = np.random.default_rng(seed)
        source = rng.integers(4, 4 + symbols, (sentences, length)).astype("int32")
        start = np.full((sentences, 1), 2, "int32")
        return (source, np.concatenate([start, source[:, :-1]], axis=1)), source

    def test_learns_to_copy(self):
        sizes = {"d_k": 16, "d_v": 16, "d_model": 32, "d_ff_inner": 64, "n": 1}
        model = make(**sizes, enc_vocab_size=12, dec_vocab_size=12)
        adam = keras.optimizers.Adam(0.005)
        model.compile(adam, MaskedCrossEntropy(), metrics=[MaskedAccuracy()])
        history = model.fit(*self.copying(2560), batch_size=64, epochs=4, verbose=0).history
        assert history["loss"][-1] < history["loss"][0] / 2
        inputs, target = self.copying(200, seed=1)
        right = logits_of(model, *inputs).argmax(axis=-1) == target
        assert right.mean() > 0.9

    def test_reports_the_loss_and_accuracy_of_all_words(self):
        model = with_random_weights()
        model.compile("adam", MaskedCrossEntropy(), metrics=[MaskedAccuracy()], jit_compile=False)
        found = model.evaluate((SOURCE, TARGET_INPUT), TARGET, verbose=0, return_dict=True)
        loss, words = masked_cross_entropy(TARGET, logits_of(model))
        right, _ = masked_accuracy(TARGET, logits_of(model))
        assert found["loss"] == pytest.approx(float(loss / words), rel=1e-4)
        assert found["masked_accuracy"] == pytest.approx(float(right / words), rel=1e-4)


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, *SIZES.keys() - {"rate", "d_model"})
        for size in (0, -2, 8.0):
            with pytest.raises(ValueError, match=rf"Received: \w+={size}$"):
                make(d_model=size)

    def test_bad_rates_are_refused(self):
        for rate in BAD_RATES:
            check_refused(make, rate=rate)

    def test_an_odd_size_is_refused(self):
        with pytest.raises(ValueError, match=r"even.*Received: \w+=7$"):
            make(d_model=7)

    def test_a_second_bias_is_refused(self):
        with pytest.raises(ValueError, match=r"Received: output_bias=True, tie_output=False$"):
            make(output_bias=True)

    def test_vocabularies_of_two_sizes_are_not_shared(self):
        with pytest.raises(ValueError, match=r"Received: enc_vocab_size=11, dec_vocab_size=13$"):
            make(share_embeddings=True)


GAPS = (  # padding at the end and inside
    np.array([[10, 0, 4, 3, 0, 0], [4, 5, 6, 7, 8, 9]], "int32"),
    np.array([[2, 12, 0, 4, 0], [2, 5, 5, 9, 11]], "int32"),
)


class StepAfterStep(keras.Model):
    """The logits of step after step, in one graph."""

    def __init__(self, model, more_room, copies):
        super().__init__()
        self.model = model
        self.more_room = more_room
        self.copies = copies
        self.built = True

    def call(self, request):
        target = request["target_input"]
        rows, length = ops.shape(target)
        cache, memory = self.model.start(request["source"], length + self.more_room, self.copies)

        def go_on(position, cache, logits):
            here = ops.take(target, position, axis=1)
            step, cache = self.model.step(here, position, cache, memory)
            step = ops.cast(ops.expand_dims(step, 1), "float32")
            return position + 1, cache, ops.slice_update(logits, (0, position, 0), step)

        logits = ops.zeros((rows, length, self.model.dec_vocab_size))
        first = (ops.convert_to_tensor(0, dtype="int32"), cache, logits)
        return ops.while_loop(lambda position, *_: position < length, go_on, first)[-1]


def steps_of(model, source, target_input, more_room=0, copies=1):
    jit_compile = keras.config.backend() == "jax"
    steps = StepAfterStep(model, more_room, copies)
    infer = backend_module().compile_inference(steps, jit_compile=jit_compile)
    return infer({"source": source, "target_input": target_input})


class TestSteps:
    @ALL
    def test_step_after_step_gives_the_logits_of_call(self, variant):
        model = with_random_weights(**variant)
        np.testing.assert_allclose(steps_of(model, *GAPS), logits_of(model, *GAPS), atol=1e-5)

    def test_more_room_than_needed_changes_nothing(self):
        model = with_random_weights()
        found = steps_of(model, *GAPS, more_room=4)
        np.testing.assert_allclose(found, logits_of(model, *GAPS), atol=1e-5)

    def test_copies_are_rows_next_to_each_other(self):
        """Each sentence is continued in three ways."""
        model = with_random_weights(tie_output=True)
        targets = np.random.default_rng(0).integers(3, 13, (6, 5)).astype("int32")
        found = steps_of(model, SOURCE, targets, copies=3)
        for i in range(3):
            expected = logits_of(model, SOURCE, targets[i::3])
            np.testing.assert_allclose(found[i::3], expected, atol=1e-5)

    def test_the_cache_keeps_its_shapes_and_the_one_given_is_not_changed(self):
        model = with_random_weights()
        cache, memory = model.start(SOURCE, 7)
        before = [numpy(x) for x in keras.tree.flatten((cache, memory))]
        _, new = model.step(TARGET_INPUT[:, 0], 0, cache, memory)
        for x, old in zip(keras.tree.flatten((cache, memory)), before, strict=True):
            np.testing.assert_array_equal(numpy(x), old)
        keras.tree.assert_same_structure(new, cache)
        for x, old in zip(keras.tree.flatten(new), keras.tree.flatten(cache), strict=True):
            assert (tuple(x.shape), dtype_of(x)) == (tuple(old.shape), dtype_of(old))
        sizes = {tuple(x.shape) for x in keras.tree.flatten(cache)}
        assert sizes == {(2, 7), (2, 2, 7, 3), (2, 2, 7, 5)}

    def test_forty_steps(self):
        model = with_random_weights(**VARIANTS["pre_norm"])
        targets = np.random.default_rng(1).integers(3, 13, (2, 40)).astype("int32")
        targets[1, [7, 20, 38, 39]] = 0
        found = steps_of(model, SOURCE, targets)
        np.testing.assert_allclose(found, logits_of(model, SOURCE, targets), atol=1e-5)

    @pytest.mark.parametrize("policy", HALF_POLICIES)
    def test_half_precision_is_finite_and_close(self, policy):
        model = with_random_weights(norm_first=True, dtype=policy)
        source = np.stack([SOURCE[0], np.zeros(6, "int32")])  # the second one is nothing
        found = steps_of(model, source, TARGET_INPUT)
        assert np.isfinite(found).all()
        expected = logits_of(model, source, TARGET_INPUT)
        np.testing.assert_allclose(found, expected, atol=0.1)
