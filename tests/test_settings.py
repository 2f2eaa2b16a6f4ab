import dataclasses
import json

import numpy as np
import pytest
from layer_contract import (
    BAD_RATES,
    BLOCK_SIZES,
    check_refused,
    check_sizes_are_refused,
    normal,
    numpy,
)

import keras_transformer as kt
from keras_transformer import (
    Bert,
    BlockSettings,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    RunConfig,
    TransformerLanguageModel,
    TransformerModel,
    VisionTransformer,
)

SETTINGS = BlockSettings(h=2, d_model=8, d_ff=16, n=3, rate=0.0, attention_rate=0.2)
MAKERS = {
    "EncoderLayer": lambda **kwargs: EncoderLayer(**kwargs),
    "DecoderLayer": lambda **kwargs: DecoderLayer(**kwargs),
    "Encoder": lambda **kwargs: Encoder(**kwargs),
    "Decoder": lambda **kwargs: Decoder(**kwargs),
    "TransformerModel": lambda **kwargs: TransformerModel(11, 13, **kwargs),
    "TransformerLanguageModel": lambda **kwargs: TransformerLanguageModel(11, **kwargs),
    "Bert": lambda **kwargs: Bert(11, 8, **kwargs),
    "VisionTransformer": lambda **kwargs: VisionTransformer(4, 2, 3, **kwargs),
}
every_class = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def make_settings(**kwargs):
    return BlockSettings(**{**BLOCK_SIZES, **kwargs})


def test_bad_values_are_refused():
    check_sizes_are_refused(make_settings, "h", "d_model", "d_ff", "n")
    for size in (0, -1, 2.0, True):
        check_refused(make_settings, d_k=size)
        check_refused(make_settings, d_v=size)
    for rate in BAD_RATES:
        for name in ("rate", "attention_rate", "activation_rate"):
            check_refused(make_settings, **{name: rate})
    for epsilon in (0, -1e-5):
        check_refused(make_settings, epsilon=epsilon)
    for scaling in (2.0, (), (2.0, 3.0), (2.0, 4.0, 1.0, 16)):
        check_refused(make_settings, rotary_scaling=scaling)


def test_head_sizes_default_to_d_model_divided_by_h():
    assert (SETTINGS.d_k, SETTINGS.d_v) == (4, 4)
    assert dataclasses.replace(SETTINGS, d_k=7).d_k == 7
    with pytest.raises(ValueError, match=r"divisible.*Received: d_model=8, h=3$"):
        BlockSettings(h=3, d_model=8, d_ff=16)


@every_class
def test_config_contains_the_settings(make):
    layer = make(settings=SETTINGS)
    expected = {
        name: value
        for name, value in dataclasses.asdict(SETTINGS).items()
        if name not in ("activation", "norm_first", "epsilon")
    }
    config = layer.get_config()
    assert {name: config[name] for name in expected} == expected
    assert type(layer).from_config(config).settings == layer.settings


def test_defaults_follow_the_paper_of_each_model():
    found = {name: make(settings=SETTINGS).settings for name, make in MAKERS.items()}
    options = {name: (x.activation, x.norm_first, x.epsilon) for name, x in found.items()}
    expected = dict.fromkeys(MAKERS, ("relu", False, 1e-5))
    expected["TransformerLanguageModel"] = ("relu", True, 1e-5)
    expected["Bert"] = ("gelu", False, 1e-12)
    expected["VisionTransformer"] = ("gelu", True, 1e-6)
    assert options == expected


@every_class
def test_explicit_settings_override_the_defaults(make):
    explicit = {"activation": "silu", "norm_first": False, "epsilon": 1e-3}
    settings = dataclasses.replace(SETTINGS, **explicit)
    assert make(settings=settings).settings == settings


def test_all_layers_of_a_model_share_its_settings():
    model = TransformerModel(11, 13, settings=SETTINGS)
    for layer in (model.encoder, model.decoder, *model.encoder.layers, *model.decoder.layers):
        assert layer.settings == model.settings
    assert len(model.encoder.layers) == len(model.decoder.layers) == 3


def test_only_causal_attention_has_all_buckets_for_earlier_positions():
    settings = dataclasses.replace(SETTINGS, relative_positions="t5")
    model = TransformerModel(11, 13, settings=settings)
    language_model = TransformerLanguageModel(11, settings=settings)
    layers = (model.encoder.layers, model.decoder.layers, language_model.encoder.layers)
    kinds = [x[0].self_attention.relative_bias.kind for x in layers]
    assert kinds == ["t5", "t5_causal", "t5_causal"]
    assert not hasattr(model.decoder.layers[0].cross_attention, "relative_bias")


def test_each_sublayer_has_its_own_dropout_rate():
    rates = {"rate": 0.1, "attention_rate": 0.2, "activation_rate": 0.3}
    layer = DecoderLayer(settings=dataclasses.replace(SETTINGS, **rates))
    attentions = (layer.self_attention, layer.cross_attention)
    assert [part.rate for part in attentions] == [0.2, 0.2]
    assert layer.feed_forward.rate == 0.3
    norms = (layer.add_norm_1, layer.add_norm_2, layer.add_norm_3)
    assert [part.rate for part in norms] == [0.1, 0.1, 0.1]


def test_run_config_creates_the_settings():
    config = RunConfig(d_model=8, h=2, d_ff=16, n=3, rate=0.0, attention_rate=0.2)
    expected = dataclasses.replace(SETTINGS, norm_first=True, rotary_base=1000.0)
    assert config.block_settings() == expected


class TestArguments:
    @every_class
    def test_single_settings_are_refused(self, make):
        kind = type(make(settings=SETTINGS)).__name__
        with pytest.raises(TypeError, match=rf"{kind} .* settings=BlockSettings\(norm_first=...\)"):
            make(norm_first=True)

    def test_positional_sizes_create_the_same_layer(self):
        positional = EncoderLayer(2, 3, 5, 8, 16, 0.0)
        configured = EncoderLayer(settings=BlockSettings(**BLOCK_SIZES))
        x = normal(2, 5, 8)
        y = numpy(positional(x))
        configured.build(x.shape)
        configured.set_weights(positional.get_weights())
        np.testing.assert_allclose(numpy(configured(x)), y, atol=1e-6)

    @every_class
    def test_missing_settings_are_refused(self, make):
        with pytest.raises(TypeError, match=r"lacks .*or settings=BlockSettings\(...\)"):
            make()

    def test_missing_sizes_are_named(self):
        with pytest.raises(TypeError, match=r"Encoder lacks d_v, d_ff, n: "):
            Encoder(h=2, d_k=4, d_model=8, rate=0.0)

    def test_settings_together_with_sizes_are_refused(self):
        with pytest.raises(ValueError, match=r"not both. Received: {'h': 2, 'd_ff': 4}$"):
            TransformerModel(11, 13, h=2, d_ff_inner=4, settings=SETTINGS)

    def test_settings_of_another_type_are_refused(self):
        with pytest.raises(ValueError, match=r"must be BlockSettings. Received: 2$"):
            Bert(11, 8, 2)


Size = np.int64
OF_NUMPY = {
    "TransformerModel": lambda: kt.TransformerModel(
        *map(Size, (9, 9, 5, 5)), settings=numpy_sizes()
    ),
    "TransformerLanguageModel": lambda: kt.TransformerLanguageModel(
        Size(9), Size(5), numpy_sizes()
    ),
    "LSTMLanguageModel": lambda: kt.LSTMLanguageModel(*map(Size, (9, 4, 4, 1)), 0.1),
    "RecurrentTranslator": lambda: kt.RecurrentTranslator(
        *map(Size, (9, 9, 4, 4)), 0.1, attention="luong", window=Size(2)
    ),
    "VisionTransformer": lambda: kt.VisionTransformer(
        *map(Size, (8, 4, 3)), numpy_sizes(), d_head=Size(3)
    ),
    "Forecaster": lambda: kt.Forecaster(Size(3), Size(4), attention=True),
    "MultiHeadAttention": lambda: kt.MultiHeadAttention(*map(Size, (2, 3, 5, 8))),
    "AdditiveAttention": lambda: kt.AdditiveAttention(Size(3)),
    "Bert": lambda: kt.Bert(*map(Size, (9, 9)), numpy_sizes(), Size(2)),
    "LuongDecoder": lambda: kt.LuongDecoder(*map(Size, (4, 8)), window=Size(2)),
    "SegmentEmbedding": lambda: kt.SegmentEmbedding(*map(Size, (9, 9, 4, 2))),
}


def numpy_sizes():
    return BlockSettings(h=Size(2), d_model=Size(8), d_ff=Size(16), n=Size(1))


@pytest.mark.parametrize("make", OF_NUMPY.values(), ids=OF_NUMPY)
def test_sizes_may_be_integers_of_numpy(make):
    config = make().get_config()
    assert json.loads(json.dumps(config)).keys() == config.keys()


def test_a_run_may_be_configured_with_numbers_of_numpy():
    config = kt.RunConfig(n_sentences=Size(5), rate=np.float32(0.5))
    assert config == kt.RunConfig(n_sentences=5, rate=0.5)
    json.dumps(dataclasses.asdict(config))
