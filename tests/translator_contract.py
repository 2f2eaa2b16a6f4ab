"""Properties that every translator has, called at once or step by step.

A translator's tests begin with subclasses of `TranslatorContract` and `LearningContract`, each
marked with `variants(…)`: keyword arguments of the model by name.
"""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import (
    EAGERLY,
    HALF_POLICIES,
    check_dropout,
    check_saved,
    dtype_of,
    numpy,
    random_weights,
)
from quick import some_of

from keras_transformer.backends import backend_module
from keras_transformer.objectives.losses import MaskedCrossEntropy, masked_cross_entropy
from keras_transformer.objectives.metrics import MaskedAccuracy, masked_accuracy
from keras_transformer.testing import check_no_future_leak

VOCABULARIES = {"enc_vocab_size": 11, "dec_vocab_size": 13}
SOURCE = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]], "int32")
TARGET_INPUT = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]], "int32")
TARGET = np.array([[5, 7, 9, 11, 3], [12, 4, 3, 0, 0]], "int32")
# Padding at the end and inside.
GAPS = (
    np.array([[10, 0, 4, 3, 0, 0], [4, 5, 6, 7, 8, 9]], "int32"),
    np.array([[2, 12, 0, 4, 0], [2, 5, 5, 9, 11]], "int32"),
)


def variants(arguments, quick):
    """Parametrizes a contract with `some_of` the arguments, a dictionary by name."""
    return pytest.mark.parametrize("variant", some_of(arguments, quick), scope="class")


class _Translators:
    """Makes the translators of a contract.

    Attributes:
        model_class: of the translator.
        sizes: its arguments, where a test does not say otherwise; `VOCABULARIES` among them.
        larger: those that tell how large it is, of a model that can learn.
        still: ends of the paths of the trainable weights whose gradient is zero by nature.
    """

    still = ()

    @classmethod
    def arguments(cls, **kwargs):
        """Those of the model with other sizes or options."""
        return {**cls.sizes, **kwargs}

    @classmethod
    def make(cls, **kwargs):
        model = cls.model_class(**cls.arguments(**kwargs))
        model.build(((None, None), (None, None)))
        return model

    @classmethod
    def with_random_weights(cls, **kwargs):
        """A model that is as far from its initial state as a trained one."""
        model = cls.make(**kwargs)
        model.set_weights([weights / 2 for weights in random_weights(model)])
        return model

    @pytest.fixture(scope="class")
    @classmethod
    def model(cls, variant):
        """A model with random weights for all tests that do not change it."""
        return cls.with_random_weights(**variant)


class TranslatorContract(_Translators):
    """Properties of every variant of a translator."""

    def test_call_gives_a_logit_for_each_target_word_at_each_position(self, variant, model):
        logits = model((SOURCE, TARGET_INPUT))
        assert logits.shape == (2, 5, 13)
        assert dtype_of(logits) == "float32"
        assert model.compute_output_shape((SOURCE.shape, TARGET_INPUT.shape)) == (2, 5, 13)
        encoder_output = model.encode(SOURCE)
        assert encoder_output.shape == (2, 6, 8)
        decoded = model.decode(TARGET_INPUT, encoder_output, SOURCE)
        np.testing.assert_allclose(numpy(decoded), numpy(logits), atol=1e-5)

    def test_built_is_as_good_as_called(self, variant, model):
        called = self.model_class(**self.arguments(**variant))
        called((SOURCE, TARGET_INPUT))
        shapes = [[(w.path, tuple(w.shape)) for w in x.weights] for x in (model, called)]
        assert [shape for _, shape in shapes[0]] == [shape for _, shape in shapes[1]]
        assert len({path for path, _ in shapes[0]}) == len(shapes[0])
        called.set_weights(model.get_weights())
        np.testing.assert_allclose(logits_of(called), logits_of(model), atol=1e-6)

    def test_made_again_from_its_config(self, variant):
        model = self.make(**variant, name="another", dtype="mixed_bfloat16")
        again = self.model_class.from_config(model.get_config())
        assert again.get_config() == model.get_config()
        assert (again.name, again.dtype_policy.name) == ("another", "mixed_bfloat16")
        again.build(((None, None), (None, None)))
        again.set_weights(model.get_weights())
        np.testing.assert_allclose(logits_of(again), logits_of(model), atol=1e-6)

    def test_saved_here_and_loaded_elsewhere(self, variant, model, tmp_path, other_process):
        check_saved(model, [SOURCE, TARGET_INPUT], tmp_path, other_process)

    def test_step_after_step_gives_the_logits_of_call(self, variant, model):
        np.testing.assert_allclose(steps_of(model, *GAPS), logits_of(model, *GAPS), atol=1e-5)

    def test_one_step_changes_every_weight(self, variant):
        model = self.make(**variant)
        # Far enough from zero, and not so far that any attention looks at one word only.
        near = zip(model.get_weights(), random_weights(model), strict=True)
        before = [weights + random / 5 for weights, random in near]
        model.set_weights(before)
        model.compile(keras.optimizers.SGD(1.0), MaskedCrossEntropy(), run_eagerly=EAGERLY)
        model.train_on_batch((SOURCE, TARGET_INPUT), TARGET)
        for weight, old in zip(model.weights, before, strict=True):
            change = np.abs(numpy(weight) - old).max()
            learns = weight.trainable and not weight.path.endswith(self.still)
            assert (change > 3e-7) == learns, f"{weight.path} changed by {change}"

    def test_an_untrained_model_costs_about_ln_v_per_word(self, variant):
        """Logits of variance σ² cost ln V + σ²/2: σ² is nearly nothing, or 1 if tied."""
        sizes = {"enc_vocab_size": 2000, "dec_vocab_size": 2000, **self.larger}
        model = self.make(**{**variant, **sizes})
        source, target_input, target = np.random.default_rng(0).integers(4, 2000, (3, 64, 6))
        loss, words = masked_cross_entropy(target, model((source, target_input)))
        expected = np.log(2000) + (0.5 if variant.get("tie_output") else 0)
        assert float(loss / words) == pytest.approx(expected, abs=0.15)


class LearningContract(_Translators):
    """Properties that do not depend on the variant: one will do."""

    def test_a_graph_of_any_length_computes_the_same(self, variant, model):
        for t in (3, 5):
            y = model.predict((SOURCE, TARGET_INPUT[:, :t]), verbose=0)
            np.testing.assert_allclose(y, logits_of(model)[:, :t], atol=1e-4)

    def test_the_future_cannot_change_the_past(self, variant, model):
        target_input = np.tile(TARGET_INPUT[:1], (2, 1))
        check_no_future_leak(lambda x: model((SOURCE, x)), target_input)

    def test_padding_changes_no_logits_loss_and_metric(self, variant, model):
        logits, words = logits_of(model), TARGET != 0
        for source, target in ((3, 0), (0, 4), (3, 4)):
            pads = [((0, 0), (0, source)), ((0, 0), (0, target))]
            longer = logits_of(model, np.pad(SOURCE, pads[0]), np.pad(TARGET_INPUT, pads[1]))
            np.testing.assert_allclose(longer[:, :5][words], logits[words], atol=1e-4)
            for totals in (masked_cross_entropy, masked_accuracy):
                expected = [float(x) for x in totals(TARGET, logits)]
                found = [float(x) for x in totals(np.pad(TARGET, pads[1]), longer)]
                assert found == pytest.approx(expected, rel=1e-5)

    def test_a_sentence_alone_has_the_logits_that_it_has_in_a_batch(self, variant, model):
        alone = logits_of(model, SOURCE[1:, :4], TARGET_INPUT[1:, :3])
        np.testing.assert_allclose(alone[0], logits_of(model)[1, :3], atol=1e-4)

    def test_the_cache_keeps_its_shapes_and_has_a_row_for_each_sentence(self, variant, model):
        cache, memory = model.start(SOURCE, 7, copies=2)
        given = [numpy(x) for x in keras.tree.flatten((cache, memory))]
        _, new = model.step(np.repeat(TARGET_INPUT[:, 0], 2), 0, cache, memory)
        keras.tree.assert_same_structure(new, cache)
        for x, old in zip(keras.tree.flatten(new), keras.tree.flatten(cache), strict=True):
            assert (tuple(x.shape), dtype_of(x)) == (tuple(old.shape), dtype_of(old))
        for x, old in zip(keras.tree.flatten((cache, memory)), given, strict=True):
            np.testing.assert_array_equal(numpy(x), old)
        assert {x.shape[0] for x in keras.tree.flatten(cache)} == {4}

    def test_every_logit_depends_on_every_source_word(self, variant, model):
        source = np.tile(SOURCE[:1], (2, 1))
        y = logits_of(model, source)
        for s in range(6):
            changed = source.copy()
            changed[:, s] = 3
            change = np.abs(logits_of(model, changed) - y).max(axis=-1)
            assert (change[TARGET_INPUT != 0] > 1e-5).all()

    def test_weights_alone_make_another_model_the_same(self, variant, model, tmp_path):
        other = self.make(**variant)
        assert np.abs(logits_of(other) - logits_of(model)).max() > 0.1
        model.save_weights(tmp_path / "a.weights.h5")
        other.load_weights(tmp_path / "a.weights.h5")
        np.testing.assert_allclose(logits_of(other), logits_of(model), atol=1e-6)

    def test_forty_steps_of_copies_with_room_to_spare(self, variant, model):
        """Each sentence is continued in three ways, which are rows next to each other."""
        targets = np.random.default_rng(0).integers(3, 13, (6, 40)).astype("int32")
        targets[1, [7, 20, 38, 39]] = 0
        found = steps_of(model, SOURCE, targets, more_room=4, copies=3)
        for i in range(3):
            expected = logits_of(model, SOURCE, targets[i::3])
            np.testing.assert_allclose(found[i::3], expected, atol=1e-5)

    @pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
    def test_half_precision_is_close_and_finite_also_of_sentences_of_only_padding(
        self, variant, policy
    ):
        model, half = self.make(**variant), self.make(**variant, dtype=policy)
        half.set_weights(model.get_weights())
        steps = compiled_steps(half)
        np.testing.assert_allclose(logits_of(half), logits_of(model), atol=0.1)
        np.testing.assert_allclose(steps(*GAPS), logits_of(model, *GAPS), atol=0.1)
        source, target_input, target = SOURCE.copy(), TARGET_INPUT.copy(), TARGET.copy()
        source[0], target_input[1], target[1] = 0, 0, 0
        logits = half((source, target_input))
        assert dtype_of(logits) == HALF_POLICIES[policy]
        assert np.isfinite(numpy(logits)).all()
        assert np.isfinite(steps(source, target_input)).all()
        half.compile("sgd", MaskedCrossEntropy(), auto_scale_loss=False, run_eagerly=EAGERLY)
        assert np.isfinite(half.train_on_batch((source, target_input), target)).all()
        assert all(np.isfinite(numpy(w)).all() for w in half.weights)
        assert {w.dtype for w in half.weights} == {"float32"}

    def test_drops_out_in_training_only(self, variant):
        check_dropout(self.make(**{**variant, "rate": 0.5}), (SOURCE, TARGET_INPUT))

    @pytest.mark.slow
    def test_learns_to_copy(self, variant):
        """Sentences whose translation is themselves: no word follows from those before it."""
        source = np.random.default_rng(0).integers(4, 12, (2560, 5)).astype("int32")
        target_input = np.concatenate([np.full((2560, 1), 2, "int32"), source[:, :-1]], axis=1)
        sizes = {"enc_vocab_size": 12, "dec_vocab_size": 12, **self.larger}
        model = self.make(**{**variant, **sizes})
        model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy(), metrics=[MaskedAccuracy()])
        seen, unseen = slice(200, None), slice(200)
        inputs = source[seen], target_input[seen]
        history = model.fit(inputs, source[seen], batch_size=64, epochs=4, verbose=0).history
        assert history["loss"][-1] < history["loss"][0] / 2
        found = logits_of(model, source[unseen], target_input[unseen]).argmax(axis=-1)
        assert (found == source[unseen]).mean() > 0.9


def logits_of(model, source=SOURCE, target_input=TARGET_INPUT):
    return numpy(model((source, target_input)))


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


def compiled_steps(model, more_room=0, copies=1):
    """Function from source and target input to the logits of step after step, (B, T, V)."""
    jit_compile = keras.config.backend() == "jax"
    steps = StepAfterStep(model, more_room, copies)
    infer = backend_module().compile_inference(steps, jit_compile=jit_compile)
    return lambda source, target_input: infer({"source": source, "target_input": target_input})


def steps_of(model, source=SOURCE, target_input=TARGET_INPUT, more_room=0, copies=1):
    """The logits of step after step, (B, T, V), float32."""
    return compiled_steps(model, more_room, copies)(source, target_input)
