import keras
import numpy as np
import pytest
from layer_contract import check_refused, check_sizes_are_refused, group_settings, numpy
from model_contract import variants
from translator_contract import (
    SOURCE,
    TARGET_INPUT,
    VOCABULARIES,
    LearningContract,
    TranslatorContract,
    logits_of,
)

from keras_transformer.inference.translate import Translate
from keras_transformer.layers import PositionEmbeddingLayer
from keras_transformer.models import TransformerLanguageModel, TransformerModel
from keras_transformer.settings import BlockSettings

SIZES = {
    **VOCABULARIES,
    "h": 2,
    "d_k": 3,
    "d_v": 5,
    "d_model": 8,
    "d_ff": 16,
    "n": 1,
    "rate": 0.0,
}
LARGER = {"d_k": 16, "d_v": 16, "d_model": 32, "d_ff": 64, "n": 1}
VARIANTS = {
    "post_norm": {},
    "pre_norm": {"norm_first": True, "activation": "gelu"},
    "rotary": {"d_k": 4, "rotary_base": 100.0, "n": 2},
    "of_today": {
        "d_k": 4,
        "h_kv": 1,
        "rotary_base": 100.0,
        "norm_first": True,
        "normalization": "rms",
        "gated": True,
        "qk_norm": True,
        "window": 3,
        "relative_positions": "t5",
        "use_bias": False,
    },
    "tied": {"tie_output": True},
    "tied_with_bias": {"tie_output": True, "output_bias": True},
    "shared": {"enc_vocab_size": 13, "share_embeddings": True},
    "tied_and_shared": {"enc_vocab_size": 13, "share_embeddings": True, "tie_output": True},
}


class _Transformer:
    model_class = TransformerModel
    sizes = SIZES
    larger = LARGER

    @classmethod
    def arguments(cls, **kwargs):
        return group_settings({**cls.sizes, **kwargs})

    @staticmethod
    def zero_gradients(variant):
        # Softmax ignores a constant added to all scores, but not one that is rotated.
        rotary = "rotary_base" in variant
        return ("cross_attention/key_projection/bias",) if rotary else ("key_projection/bias",)


@variants(VARIANTS, quick=("rotary", "of_today", "tied_and_shared"))
class TestTransformer(_Transformer, TranslatorContract):
    pass


@variants(VARIANTS, quick=("pre_norm",))
class TestLearning(_Transformer, LearningContract):
    pass


make = TestTransformer.make
with_random_weights = TestTransformer.with_random_weights


@pytest.mark.parametrize(
    ("call", "message"),
    (
        (lambda model: model.build((None, None)), "two inputs"),
        (lambda model: model((SOURCE[0], TARGET_INPUT[0])), "two inputs"),
        (lambda model: model((SOURCE[None], TARGET_INPUT[None])), "two inputs"),
        (lambda model: built(model)((SOURCE[0], TARGET_INPUT[0])), r"\(B, T\)"),
        (lambda model: model((SOURCE, TARGET_INPUT[:1])), "same number of sentences"),
        (lambda model: model.source_embedding(SOURCE[0]), r"`ids\[None\]`"),
        (lambda model: PositionEmbeddingLayer(9, 11, 8)(SOURCE[0]), r"`ids\[None\]`"),
        (lambda model: Translate(keras.Sequential([keras.layers.Dense(1)])), "a TransformerModel"),
    ),
)
def test_inputs_of_another_kind_are_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(TransformerModel(**group_settings(SIZES)))


def built(model):
    model.build(((None, None), (None, None)))
    return model


@pytest.mark.exhaustive  # covered by the language models
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="only TensorFlow's SavedModel")
def test_an_exported_model_takes_any_length(tmp_path):
    import tensorflow as tf

    model = with_random_weights()
    model((SOURCE[:, :2], TARGET_INPUT[:, :2]))
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    served = numpy(exported.serve((SOURCE, TARGET_INPUT)))
    np.testing.assert_allclose(served, logits_of(model), atol=1e-5)


@pytest.mark.parametrize("name", ("translator", "language_model"))
@pytest.mark.slow
def test_a_quantized_model_is_not_saved(name, tmp_path):
    settings = BlockSettings(h=2, d_model=8, d_ff=16, n=1)
    model = make() if name == "translator" else TransformerLanguageModel(9, settings=settings)
    model.build(((None, None), (None, None)) if name == "translator" else (None, None))
    model.encoder.layers[0].feed_forward.inner.quantize("int8")  # as `model.quantize` does
    with pytest.raises(ValueError, match="do so before `quantize`"):
        model.save(tmp_path / "model.keras")


def test_rotary_models_have_no_sinusoids():
    same = np.full((1, 3), 5)
    for base, expected in ((100.0, True), (None, False)):
        words = numpy(make(d_k=4, rotary_base=base).source_embedding(same))
        assert np.array_equal(words, words[:, [1, 2, 0]]) is expected


class TestSharing:
    def weights(self, **variant):
        model = make(**variant)
        return len(model.weights), model.count_params()

    def test_a_tied_output_has_no_separate_projection(self):
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
        separate, shared = (
            self.weights(enc_vocab_size=13, share_embeddings=share) for share in (False, True)
        )
        assert separate[0] - shared[0] == 1
        assert separate[1] - shared[1] == 8 * 13

    def test_a_tied_output_uses_the_target_embeddings(self):
        model = with_random_weights(tie_output=True)
        embeddings = model.target_embedding.words.embeddings
        before = logits_of(model)
        # The first target input does not contain token 12, so only its logits double.
        embeddings.assign(np.concatenate([numpy(embeddings)[:-1], 2 * numpy(embeddings)[-1:]]))
        after = logits_of(model)[:1]
        np.testing.assert_allclose(after[..., :-1], before[:1, :, :-1], atol=1e-5)
        np.testing.assert_allclose(after[..., -1], 2 * before[:1, :, -1], atol=1e-4)


class TestAttentionWeights:
    def test_one_entry_per_layer_with_one_matrix_per_head(self):
        attention = make(n=3).attention_weights(SOURCE, TARGET_INPUT)
        shapes = {"encoder": (2, 2, 6, 6), "causal": (2, 2, 5, 5), "cross": (2, 2, 5, 6)}
        assert {name: [tuple(x.shape) for x in layers] for name, layers in attention.items()} == {
            name: [shape] * 3 for name, shape in shapes.items()
        }

    def test_rows_sum_to_one_and_exclude_padding_and_the_future(self):
        attention = with_random_weights().attention_weights(SOURCE, TARGET_INPUT)
        masked = {
            "encoder": np.broadcast_to(SOURCE[:, None] == 0, (2, 6, 6)),
            "causal": (TARGET_INPUT[:, None] == 0) | ~np.tri(5, dtype=bool),
            "cross": np.broadcast_to(SOURCE[:, None] == 0, (2, 5, 6)),
        }
        for name, layers in attention.items():
            for weights in layers:
                np.testing.assert_allclose(numpy(weights).sum(axis=-1), 1, atol=1e-5)
                zero = numpy(weights) == 0
                np.testing.assert_array_equal(zero, np.repeat(masked[name][:, None], 2, axis=1))

    def test_first_encoder_layer_matches_numpy(self):
        model = make()
        found = numpy(model.attention_weights(SOURCE, TARGET_INPUT)["encoder"][0])
        attention, x = model.encoder.layers[0].self_attention, model.source_embedding(SOURCE)
        q, k = (
            numpy(project(x)).reshape(2, 6, 2, 3).transpose(0, 2, 1, 3)
            for project in (attention.query_projection, attention.key_projection)
        )
        exp = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(3)) * (SOURCE != 0)[:, None, None]
        np.testing.assert_allclose(found, exp / exp.sum(axis=-1, keepdims=True), atol=1e-5)

    def test_layers_have_distinct_weights(self):
        attention = with_random_weights(n=2).attention_weights(SOURCE, SOURCE)
        matrices = [numpy(x).round(3).tobytes() for layers in attention.values() for x in layers]
        assert len(set(matrices)) == 6


class TestArguments:
    def test_bad_sizes_are_refused(self):
        check_sizes_are_refused(make, *VOCABULARIES)
        check_refused(make, enc_seq_length=0)
        check_refused(make, dec_seq_length=0)

    def test_the_course_arguments_give_the_same_settings(self):
        flat = {**SIZES, "d_ff_inner": SIZES["d_ff"]}
        del flat["d_ff"]
        assert TransformerModel(**flat).settings == make().settings

    def test_sequences_longer_than_the_maximum_are_refused(self):
        model = make(enc_seq_length=6, dec_seq_length=5)
        assert model((SOURCE, TARGET_INPUT)).shape == (2, 5, 13)
        for side, inputs in (
            ("enc", (np.tile(SOURCE, 2), TARGET_INPUT)),
            ("dec", (SOURCE, np.tile(TARGET_INPUT, 2))),
        ):
            with pytest.raises(ValueError, match=rf"longer than `{side}_seq_length`"):
                model(inputs)

    def test_an_odd_size_is_refused(self):
        with pytest.raises(ValueError, match=r"even.*Received: \w+=7$"):
            make(d_model=7)

    def test_output_bias_requires_a_tied_output(self):
        with pytest.raises(ValueError, match=r"Received: output_bias=True, tie_output=False$"):
            make(output_bias=True)

    def test_shared_embeddings_require_equal_vocabulary_sizes(self):
        with pytest.raises(ValueError, match=r"Received: enc_vocab_size=11, dec_vocab_size=13$"):
            make(share_embeddings=True)
