"""Properties of every translation model, for whole sequences and step-by-step decoding.

The tests of a model subclass `TranslatorContract` and `LearningContract` and decorate each subclass
with `variants(…)`, which takes the model's keyword arguments by name of the variant.
"""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import HALF_POLICIES, dtype_of, numpy, random_weights
from model_contract import ModelContract, ModelFixture
from quick import some_of

from keras_transformer.backends import backend_module
from keras_transformer.objectives.losses import MaskedCrossEntropy, masked_cross_entropy
from keras_transformer.objectives.metrics import MaskedAccuracy, masked_accuracy
from keras_transformer.testing import check_gradients, check_no_future_leak

VOCABULARIES = {"enc_vocab_size": 11, "dec_vocab_size": 13}
SOURCE = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]], "int32")
TARGET_INPUT = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")
TARGET = np.array([[5, 7, 9, 11, 3], [12, 4, 3, 0, 0]], "int32")
# Sequences with padding at the end and between tokens.
GAPS = (
    np.array([[10, 0, 4, 3, 0, 0], [4, 5, 6, 7, 8, 9]], "int32"),
    np.array([[2, 12, 0, 4, 0], [2, 5, 5, 9, 11]], "int32"),
)


class _TranslatorFixture(ModelFixture):
    """Creates the translators under test.

    Attributes:
        model_class: class of the model.
        sizes: default arguments of the model, including `VOCABULARIES`.
        larger: sizes of a model that is large enough to learn.
    """

    @classmethod
    def arguments(cls, **kwargs):
        """Returns the model's arguments, with other sizes or options."""
        return {**cls.sizes, **kwargs}

    @classmethod
    def make(cls, **kwargs):
        model = cls.model_class(**cls.arguments(**kwargs))
        model.build(((None, None), (None, None)))
        return model

    @classmethod
    def with_random_weights(cls, **kwargs):
        """Creates a model whose weights are as large as those of a trained one."""
        model = cls.model_class(**cls.arguments(**kwargs))
        model((SOURCE, TARGET_INPUT))
        model.set_weights([weights / 2 for weights in random_weights(model)])
        return model

    @staticmethod
    def inputs(variant):
        return [SOURCE, TARGET_INPUT]


class TranslatorContract(_TranslatorFixture, ModelContract):
    """Properties of every variant of a translator."""

    def test_call_decodes_what_is_encoded(self, variant, model):
        encoder_output = model.encode(SOURCE)
        assert encoder_output.shape == (2, 6, variant.get("units", 8))
        decoded = model.decode(TARGET_INPUT, encoder_output, SOURCE)
        assert decoded.shape == (2, 5, 13)
        np.testing.assert_allclose(numpy(decoded), logits_of(model), atol=1e-5)

    def test_step_by_step_logits_match_call(self, variant, model):
        np.testing.assert_allclose(step_logits(model, *GAPS), logits_of(model, *GAPS), atol=1e-5)

    def test_one_step_changes_every_weight(self, variant):
        model = self.make(**variant)
        # Large enough for measurable gradients, small enough that no attention saturates on one
        # token.
        pairs = zip(model.get_weights(), random_weights(model), strict=True)
        model.set_weights([weights + random / 5 for weights, random in pairs])
        without = self.zero_gradients(variant)
        check_gradients(model, self.inputs(variant), without, threshold=3e-7)

    def test_initial_loss_is_about_ln_v_per_token(self, variant):
        """Logits of variance σ² cost ln V + σ²/2, with σ² about 0, or 1 for a tied output."""
        sizes = {"enc_vocab_size": 2000, "dec_vocab_size": 2000, **self.larger}
        model = self.make(**{**variant, **sizes})
        source, target_input, target = np.random.default_rng(0).integers(4, 2000, (3, 64, 6))
        total, count = masked_cross_entropy(target, model((source, target_input)))
        expected = np.log(2000) + (0.5 if variant.get("tie_output") else 0)
        assert float(total / count) == pytest.approx(expected, abs=0.15)


class LearningContract(_TranslatorFixture):
    """Properties that do not depend on the variant, so testing one is enough."""

    @pytest.mark.slow
    def test_graph_mode_matches_eager_mode_at_any_length(self, variant, model):
        for t in (3, 5):
            y = model.predict((SOURCE, TARGET_INPUT[:, :t]), verbose=0)
            np.testing.assert_allclose(y, logits_of(model)[:, :t], atol=1e-4)

    def test_future_tokens_do_not_change_earlier_logits(self, variant, model):
        target_input = np.tile(TARGET_INPUT[:1], (2, 1))
        sees_past = "window" not in variant
        check_no_future_leak(lambda x: model((SOURCE, x)), target_input, sees_past)

    def test_padding_does_not_change_logits_loss_or_metric(self, variant, model):
        logits, is_token = logits_of(model), TARGET != 0
        for source, target in ((3, 0), (0, 4), (3, 4)):
            pads = [((0, 0), (0, source)), ((0, 0), (0, target))]
            longer = logits_of(model, np.pad(SOURCE, pads[0]), np.pad(TARGET_INPUT, pads[1]))
            np.testing.assert_allclose(longer[:, :5][is_token], logits[is_token], atol=1e-4)
            for totals in (masked_cross_entropy, masked_accuracy):
                expected = [float(x) for x in totals(TARGET, logits)]
                found = [float(x) for x in totals(np.pad(TARGET, pads[1]), longer)]
                assert found == pytest.approx(expected, rel=1e-5)

    def test_logits_do_not_depend_on_the_rest_of_the_batch(self, variant, model):
        alone = logits_of(model, SOURCE[1:, :4], TARGET_INPUT[1:, :3])
        np.testing.assert_allclose(alone[0], logits_of(model)[1, :3], atol=1e-4)

    def test_the_cache_keeps_its_shapes_and_has_one_row_per_copy(self, variant, model):
        cache, memory = model.start(SOURCE, 7, copies=2)
        before = [numpy(x) for x in keras.tree.flatten((cache, memory))]
        _, new = model.step(np.repeat(TARGET_INPUT[:, 0], 2), 0, cache, memory)
        keras.tree.assert_same_structure(new, cache)
        for x, old in zip(keras.tree.flatten(new), keras.tree.flatten(cache), strict=True):
            assert (tuple(x.shape), dtype_of(x)) == (tuple(old.shape), dtype_of(old))
        for x, old in zip(keras.tree.flatten((cache, memory)), before, strict=True):
            np.testing.assert_array_equal(numpy(x), old)
        assert {x.shape[0] for x in keras.tree.flatten(cache)} == {4}

    def test_every_logit_depends_on_every_source_token(self, variant, model):
        source = np.tile(SOURCE[:1], (2, 1))
        y = logits_of(model, source)
        for s in range(6):
            changed = source.copy()
            changed[:, s] = 3
            change = np.abs(logits_of(model, changed) - y).max(axis=-1)
            assert (change[TARGET_INPUT != 0] > 1e-5).all()

    def test_saved_weights_reproduce_the_model(self, variant, model, tmp_path):
        other = self.make(**variant)
        assert np.abs(logits_of(other) - logits_of(model)).max() > 0.1
        model.save_weights(tmp_path / "a.weights.h5")
        other.load_weights(tmp_path / "a.weights.h5")
        np.testing.assert_allclose(logits_of(other), logits_of(model), atol=1e-6)

    @pytest.mark.slow
    def test_forty_steps_with_copies_and_a_longer_cache(self, variant, model):
        """Each sentence has three adjacent rows, with a continuation of its own in each."""
        targets = np.random.default_rng(0).integers(3, 13, (6, 40)).astype("int32")
        targets[1, [7, 20, 38, 39]] = 0
        found = step_logits(model, SOURCE, targets, extra_length=4, copies=3)
        for i in range(3):
            expected = logits_of(model, SOURCE, targets[i::3])
            np.testing.assert_allclose(found[i::3], expected, atol=1e-5)

    @pytest.mark.slow
    @pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
    def test_steps_in_half_precision_are_close_and_finite(self, variant, policy):
        model, half = self.make(**variant), self.make(**variant, dtype=policy)
        half.set_weights(model.get_weights())
        steps = compile_steps(half)
        np.testing.assert_allclose(steps(*GAPS), logits_of(model, *GAPS), atol=0.1)
        source, target_input = SOURCE.copy(), TARGET_INPUT.copy()
        source[0], target_input[1] = 0, 0
        assert np.isfinite(steps(source, target_input)).all()

    @pytest.mark.slow
    def test_learns_to_copy(self, variant):
        """The target is the random source, so its earlier tokens do not predict the next one."""
        source = np.random.default_rng(0).integers(4, 12, (2560, 5)).astype("int32")
        target_input = np.concatenate([np.full((2560, 1), 2, "int32"), source[:, :-1]], axis=1)
        sizes = {"enc_vocab_size": 12, "dec_vocab_size": 12, **self.larger}
        model = self.make(**{**variant, **sizes})
        model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy(), metrics=[MaskedAccuracy()])
        train, test = slice(200, None), slice(200)
        inputs = source[train], target_input[train]
        history = model.fit(inputs, source[train], batch_size=64, epochs=6, verbose=0).history
        assert history["loss"][-1] < history["loss"][0] / 2
        found = logits_of(model, source[test], target_input[test]).argmax(axis=-1)
        assert (found == source[test]).mean() > 0.9


def logits_of(model, source=SOURCE, target_input=TARGET_INPUT):
    return numpy(model((source, target_input)))


class StepByStep(keras.Model):
    """Computes the logits step by step, in one graph."""

    def __init__(self, model, extra_length, copies):
        super().__init__()
        self.model = model
        self.extra_length = extra_length
        self.copies = copies
        self.built = True

    def call(self, request):
        target = request["target_input"]
        rows, length = ops.shape(target)
        cache, memory = self.model.start(request["source"], length + self.extra_length, self.copies)

        def decode_step(position, cache, logits):
            token = ops.take(target, position, axis=1)
            step, cache = self.model.step(token, position, cache, memory)
            step = ops.cast(ops.expand_dims(step, 1), "float32")
            return position + 1, cache, ops.slice_update(logits, (0, position, 0), step)

        logits = ops.zeros((rows, length, self.model.dec_vocab_size))
        first = (ops.convert_to_tensor(0, dtype="int32"), cache, logits)
        return ops.while_loop(lambda position, *_: position < length, decode_step, first)[-1]


def compile_steps(model, extra_length=0, copies=1):
    """Returns a function that maps source and target input to step-by-step logits, (B, T, V)."""
    jit_compile = keras.config.backend() == "jax"
    steps = StepByStep(model, extra_length, copies)
    infer = backend_module().compile_inference(steps, jit_compile=jit_compile)
    return lambda source, target_input: infer({"source": source, "target_input": target_input})


def step_logits(model, source=SOURCE, target_input=TARGET_INPUT, extra_length=0, copies=1):
    """Returns the logits computed step by step, (B, T, V), float32."""
    return compile_steps(model, extra_length, copies)(source, target_input)
