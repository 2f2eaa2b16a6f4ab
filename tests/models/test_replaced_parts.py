"""Every part of a Transformer can be replaced, and translating follows it."""

import dataclasses
import warnings

import keras
import numpy as np
import pytest
from layer_contract import EAGERLY, HALF_POLICIES, numpy
from quick import some_of
from replaced_parts import (
    REPLACEMENTS,
    GatedFeedForward,
    MeanAttention,
    ThreeSublayers,
    WindowedAttention,
)
from tiny import make_dataset
from translating import TARGET_LENGTH, log_likelihoods, make_translate

import keras_transformer as kt
from keras_transformer.inference.model_search import WithoutCache, stepwise
from keras_transformer.layers._parts import changed_part, walk
from keras_transformer.training.report import make_report

pytestmark = pytest.mark.every_backend

SETTINGS = kt.BlockSettings(h=2, d_model=16, d_ff=24, n=2, rate=0.0, norm_first=True)
SENTENCES = ["one two three", "five", "four two one one"]
SOURCE = np.array([[4, 5, 6, 3], [7, 3, 0, 0]], "int32")
INPUTS = (SOURCE, np.array([[2, 5, 7], [2, 8, 0]], "int32"))


def make(replace, **options):
    keras.utils.set_random_seed(3)
    dataset = make_dataset()
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    options = {"dec_seq_length": TARGET_LENGTH - 1, "settings": SETTINGS, **options}
    model = kt.TransformerModel(*sizes, **options)
    replace(model, SETTINGS)
    return model


def built(model):
    model.build(((None, None), (None, None)))
    return model


QUICK = ("several_with_cache", "several_without_cache")


@pytest.fixture(scope="module", params=some_of(list(REPLACEMENTS), QUICK))
def replacement(request):
    """A changed model with random weights, and whether its decoder has a cache."""
    replace, cached = REPLACEMENTS[request.param]
    model = built(make(replace, settings=dataclasses.replace(SETTINGS, n=1)))
    random = np.random.default_rng(0)
    model.set_weights([x + random.normal(0, 0.2, x.shape) for x in model.get_weights()])
    return model, cached


@pytest.mark.slow
def test_a_changed_model_is_built_saved_and_loaded(replacement, tmp_path):
    model, _ = replacement
    layers = {id(x): x for x in walk(model)}.values()
    assert all(layer.built for layer in layers)
    assert {id(w) for x in layers for w in x.weights} == {id(w) for w in model.weights}
    expected = numpy(model(INPUTS))
    recreated = built(kt.TransformerModel.from_config(model.get_config()))
    recreated.set_weights(model.get_weights())
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for other in (recreated, loaded):
        np.testing.assert_allclose(numpy(other(INPUTS)), expected, atol=1e-5)
        assert changed_part(other) == changed_part(model) is not None
        assert other.get_config()["parts"].keys() == model.get_config()["parts"].keys()


@pytest.mark.slow
def test_translations_have_the_probabilities_of_the_whole_model(replacement):
    """With and without a cache, in greedy and beam search."""
    model, cached = replacement
    with pytest.warns(UserWarning, match="Decoding with the layers of the model") as warned:
        translate = make_translate(model)
        greedy = [x[0] for x in translate.hypotheses(SENTENCES)]
        beam = [x[0] for x in translate.hypotheses(SENTENCES, beam_size=4, length_penalty=0.0)]
    messages = [str(x.message) for x in warned if "Decoding" in str(x.message)]
    assert len(messages) == 1 and changed_part(model) in messages[0]
    assert ("without a cache" in messages[0]) is not cached
    dataset, model.dec_seq_length = make_dataset(), None
    for found in (greedy, beam):
        scores = [x.score for x in found]
        np.testing.assert_allclose(scores, log_likelihoods(model, dataset, found), rtol=1e-3)
    assert all(x.score >= y.score - 1e-4 for x, y in zip(beam, greedy, strict=True))


def test_one_update_changes_each_weight(replacement):
    model, _ = replacement
    before, mean = model.get_weights(), any(isinstance(x, MeanAttention) for x in walk(model))
    model.compile(keras.optimizers.SGD(1e3), kt.MaskedCrossEntropy(), run_eagerly=EAGERLY)
    model.train_on_batch(INPUTS, INPUTS[1])
    for weight, old in zip(model.weights, before, strict=True):
        # Mean attention reads no queries, and softmax ignores a constant added to all scores.
        unused = "seed" in weight.path or (mean and "add_norm_2_before" in weight.path)
        constant = weight.path.endswith(("key_projection/bias", "key/bias")) or unused
        assert constant or not np.array_equal(numpy(weight), old), weight.path
    model.set_weights(before)


@pytest.mark.slow
@pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
def test_mixed_precision_is_close(policy):
    def replace(model, settings):
        for name in ("feed_forward", "mean_attention", "normalization"):
            REPLACEMENTS[name][0](model, settings)

    model, half = (built(make(replace, dtype=x)) for x in ("float32", policy))
    half.set_weights(model.get_weights())
    np.testing.assert_allclose(numpy(half(INPUTS)), numpy(model(INPUTS)), atol=0.1)


@pytest.mark.slow
def test_attention_weights_of_parts_that_give_them():
    model = built(make(REPLACEMENTS["mean_attention"][0]))
    with pytest.warns(UserWarning, match="Decoding"):
        [[found]] = make_translate(model).hypotheses("one two", return_attention=True)
    assert {kind: x.shape[:2] for kind, x in found.attention.items()} == dict.fromkeys(
        ("encoder", "causal", "cross"), (2, 1)
    )
    model = built(make(REPLACEMENTS["cross_attention_of_keras"][0]))
    with pytest.warns(UserWarning, match="Decoding"):
        translate = make_translate(model)
        [[found]] = translate.hypotheses("one two", return_attention=True)
    assert found.attention.keys() == {"encoder", "causal"}
    with pytest.raises(ValueError, match=r"kt.store_attention.*cross_attention is a Multi"):
        translate("one two", replace_unknown=True)
    with pytest.raises(ValueError, match="cross"):
        kt.plot_attention(found)
    report = make_report(translate, [("one two", ["eins zwei"])], samples=10)
    assert report["worst"][0]["attended"] == []


def test_steps_inherited_below_another_call_are_not_used():
    """Even if the few tokens that are compared do not show the difference."""

    class WideWindow(WindowedAttention):
        window = 50

    model = built(make(lambda model, settings: None))
    wide = make(lambda model, settings: None)
    for layer in wide.decoder.layers:
        layer.self_attention = WideWindow.from_settings(SETTINGS)
    with pytest.warns(UserWarning, match="WideWindow has a `call` of its own, but not a `step`"):
        assert isinstance(stepwise(built(wide)), WithoutCache)
    wide.set_weights(model.get_weights())
    np.testing.assert_allclose(numpy(wide(INPUTS)), numpy(model(INPUTS)), atol=1e-6)


def test_shared_layers_have_the_attention_weights_of_each_call():
    model = built(make(REPLACEMENTS["shared_layers"][0]))
    layers = model.attention_weights(*INPUTS)["encoder"]
    assert len(layers) == 3
    assert np.abs(numpy(layers[0]) - numpy(layers[1])).max() > 1e-4


class Silent(kt.AdditiveAttention):
    def attend_step(self, *args):
        with kt.record_attention():  # so that nothing is stored outside
            return super().attend_step(*args)


class Nested(keras.layers.Layer):
    """A layer that only a call builds."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, x):
        return self.layer(x)


class Other(keras.layers.Layer):
    """A decoder whose attention has another name."""

    def __init__(self, decoder):
        super().__init__()
        self.inner = decoder

    def build(self, x_shape, encoder_output_shape):
        self.inner.build(x_shape, encoder_output_shape)

    def call(self, x, encoder_output, attention_mask=None):
        return self.inner(x, encoder_output, attention_mask=attention_mask)

    def compute_output_shape(self, x_shape, encoder_output_shape):
        return x_shape


def test_parts_of_a_recurrent_translator_may_store_nothing_and_need_no_build():
    for kind, part in (("luong", "combination"), ("bahdanau", "maxout")):
        model = kt.RecurrentTranslator(9, 9, 8, 8, 0.0, attention=kind)
        setattr(model.decoder, part, Nested(getattr(model.decoder, part)))
        if kind == "bahdanau":
            model.decoder.attention = Silent(8)
        with kt.record_attention() as weights:
            assert model(INPUTS).shape == (2, 3, 9)
        assert len(weights) == (kind == "luong")
    model = kt.RecurrentTranslator(9, 9, 8, 8, 0.0)
    model.decoder = Other(model.decoder)
    assert numpy(model.attention_weights(*INPUTS)["cross"][0]).shape == (2, 1, 3, 4)


class WithBuild(kt.TransformerModel):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.further = keras.layers.Dense(self.dec_vocab_size)

    def build(self, input_shape):
        super().build(input_shape)
        self.gain = self.add_weight((), "ones", name="gain")
        self.further.build((None, None, self.dec_vocab_size))

    def decode(self, *args, **kwargs):
        return self.further(super().decode(*args, **kwargs)) * self.gain


def test_a_subclass_may_build_its_layers_itself():
    models = [kind(9, 9, settings=SETTINGS) for kind in (kt.TransformerModel, WithBuild)]
    assert {model(INPUTS).shape for model in models} == {(2, 3, 9)}
    assert len(models[1].weights) == len(models[0].weights) + 3


def test_an_unchanged_model_uses_numpy_without_a_warning():
    model = built(make(lambda model, settings: None))
    assert changed_part(model) is None and "parts" not in model.get_config()
    assert stepwise(model) is model
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        make_translate(model)("one two")


@pytest.mark.parametrize(
    ("replace", "description"),
    (
        (
            lambda m: setattr(m.encoder.layers[1], "feed_forward", GatedFeedForward(8, 16)),
            r"encoder.layers\[1\].feed_forward is a GatedFeedForward",
        ),
        (
            lambda m: setattr(m.decoder.layers[0].add_norm_1, "dropout", kt.Dropout(0.5)),
            r"decoder.layers\[0\].add_norm_1.dropout is a Dropout",
        ),
        (
            lambda m: vars(m.decoder.layers[0]).update(feed_forward=GatedFeedForward(8, 16)),
            r"decoder.layers\[0\].feed_forward is a GatedFeedForward",
        ),
        (
            lambda m: setattr(m.encoder, "layers", [ThreeSublayers(settings=SETTINGS)]),
            r"encoder.layers\[0\] is a ThreeSublayers",
        ),
        (
            lambda m: setattr(m.encoder, "layers", m.encoder.layers[:1]),
            r"encoder.layers\[0\] is a EncoderLayer",
        ),
    ),
)
def test_the_changed_part_is_named(replace, description):
    model = make(lambda model, settings: replace(model))
    assert changed_part(model) == description.replace("\\", "")


def test_a_part_is_replaced_before_the_model_is_built():
    model = built(make(lambda model, settings: None))
    with pytest.raises(ValueError, match=r"before the model is built.*Received: projection"):
        model.projection = keras.layers.Dense(5)
    with pytest.raises(TypeError):  # Keras would not train it
        model.encoder.layers[0] = ThreeSublayers(settings=SETTINGS)


@pytest.mark.slow
def test_a_layer_in_several_places_is_shared_in_a_file(tmp_path):
    shared = GatedFeedForward(8, 16)

    def replace(model, settings):
        for layer in (*model.encoder.layers, *model.decoder.layers):
            layer.feed_forward = shared

    model = built(make(replace))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(numpy(loaded(INPUTS)), numpy(model(INPUTS)), atol=1e-6)
    assert loaded.encoder.layers[0].feed_forward is loaded.decoder.layers[1].feed_forward


@pytest.mark.parametrize("value", ([], None, keras.layers.Dense, len))
def test_only_layers_are_parts(value):
    model = make(lambda model, settings: None)
    with pytest.raises(ValueError, match="A part is replaced by a layer"):
        model.encoder.layers = value


def test_replaced_parts_leave_no_trace():
    """The summary, the layers and the weights are those of the new parts only."""
    model = make(REPLACEMENTS["output_projection"][0])
    assert len(model.layers) == 5 and model.projection in model.layers
    kept = model.projection
    model.projection = keras.layers.Dense(7)
    model.projection = kept
    assert len(model.layers) == 5


def test_a_tied_output_needs_a_target_embedding_with_logits():
    model = make(lambda model, settings: None, tie_output=True)
    model.target_embedding = keras.layers.Embedding(model.dec_vocab_size, 16)
    with pytest.raises(ValueError, match=r"tie_output=False.*Received: Embedding"):
        built(model)
    model = make(REPLACEMENTS["output_projection"][0], tie_output=True)
    assert not any(x is model.target_embedding for x in walk(model.projection))
    assert built(model)(INPUTS).shape == (2, 3, model.dec_vocab_size)


@pytest.mark.slow
def test_learned_positions_limit_the_length_of_translations():
    def replace(model, settings):
        for name in ("source_embedding", "target_embedding"):
            size = getattr(model, name).vocab_size
            setattr(model, name, kt.PositionEmbeddingLayer(9, size, settings.d_model))

    model = built(make(replace, enc_seq_length=9, dec_seq_length=9))
    with pytest.warns(UserWarning):
        [[found]] = make_translate(model).hypotheses("one two three")
    assert len(found.tokens) <= 9


@pytest.mark.slow
def test_a_language_model_decodes_with_replaced_parts():
    def model_with(attention):
        keras.utils.set_random_seed(0)
        model = kt.TransformerLanguageModel(12, settings=SETTINGS)
        for layer in model.encoder.layers:
            layer.feed_forward = GatedFeedForward(8, 16)
            layer.self_attention = attention or layer.self_attention
        model.build((None, None))
        return model

    for attention, cached in ((None, True), (MeanAttention(), False)):
        with pytest.warns(UserWarning, match="Decoding"):
            assert isinstance(stepwise(model_with(attention)), WithoutCache) is not cached
