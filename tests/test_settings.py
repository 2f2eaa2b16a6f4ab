import dataclasses

import keras
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
HOLDERS = {
    "EncoderLayer": lambda **kwargs: EncoderLayer(**kwargs),
    "DecoderLayer": lambda **kwargs: DecoderLayer(**kwargs),
    "Encoder": lambda **kwargs: Encoder(**kwargs),
    "Decoder": lambda **kwargs: Decoder(**kwargs),
    "TransformerModel": lambda **kwargs: TransformerModel(11, 13, **kwargs),
    "TransformerLanguageModel": lambda **kwargs: TransformerLanguageModel(11, **kwargs),
    "Bert": lambda **kwargs: Bert(11, 8, **kwargs),
    "VisionTransformer": lambda **kwargs: VisionTransformer(4, 2, 3, **kwargs),
}
every_holder = pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)


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


def test_heads_share_the_size_of_the_model_unless_told_otherwise():
    assert (SETTINGS.d_k, SETTINGS.d_v) == (4, 4)
    assert dataclasses.replace(SETTINGS, d_k=7).d_k == 7
    with pytest.raises(ValueError, match=r"divisible.*Received: d_model=8, h=3$"):
        BlockSettings(h=3, d_model=8, d_ff=16)


@every_holder
def test_a_holder_keeps_them_in_its_configuration(make):
    holder = make(settings=SETTINGS)
    kept = {
        name: value
        for name, value in dataclasses.asdict(SETTINGS).items()
        if name not in ("activation", "norm_first", "epsilon")
    }
    config = holder.get_config()
    assert {name: config[name] for name in kept} == kept
    assert type(holder).from_config(config).settings == holder.settings


def test_what_is_left_out_is_as_in_the_paper_of_the_model():
    found = {name: make(settings=SETTINGS).settings for name, make in HOLDERS.items()}
    options = {name: (x.activation, x.norm_first, x.epsilon) for name, x in found.items()}
    expected = dict.fromkeys(HOLDERS, ("relu", False, 1e-5))
    expected["TransformerLanguageModel"] = ("relu", True, 1e-5)
    expected["Bert"] = ("gelu", False, 1e-12)
    expected["VisionTransformer"] = ("gelu", True, 1e-6)
    assert options == expected


@every_holder
def test_what_is_said_is_kept(make):
    said = {"activation": "silu", "norm_first": False, "epsilon": 1e-3}
    settings = dataclasses.replace(SETTINGS, **said)
    assert make(settings=settings).settings == settings


def test_every_layer_of_a_model_has_them():
    model = TransformerModel(11, 13, settings=SETTINGS)
    for layer in (model.encoder, model.decoder, *model.encoder.layers, *model.decoder.layers):
        assert layer.settings == model.settings
    assert len(model.encoder.layers) == len(model.decoder.layers) == 3


def test_each_part_of_a_layer_drops_out_at_its_own_rate():
    rates = {"rate": 0.1, "attention_rate": 0.2, "activation_rate": 0.3}
    layer = DecoderLayer(settings=dataclasses.replace(SETTINGS, **rates))
    attentions = (layer.self_attention, layer.cross_attention)
    assert [part.rate for part in attentions] == [0.2, 0.2]
    assert layer.feed_forward.rate == 0.3
    norms = (layer.add_norm_1, layer.add_norm_2, layer.add_norm_3)
    assert [part.rate for part in norms] == [0.1, 0.1, 0.1]


def test_a_run_describes_its_layers_by_them():
    config = RunConfig(d_model=8, h=2, d_ff=16, n=3, rate=0.0, attention_rate=0.2)
    assert config.block_settings() == dataclasses.replace(SETTINGS, norm_first=True)


class TestArguments:
    @every_holder
    def test_single_ones_of_an_earlier_version_still_work_with_a_warning(self, make):
        kind = type(make(settings=SETTINGS))
        old = {**BLOCK_SIZES, "activation": "elu", "norm_first": True, "epsilon": 1e-3}
        if kind not in (EncoderLayer, DecoderLayer):
            old["n"] = 2
        expected = BlockSettings(**old)
        if issubclass(kind, keras.Model):
            old["d_ff_inner"] = old.pop("d_ff")
        with pytest.warns(FutureWarning, match=r"pass settings=BlockSettings\(.*norm_first"):
            assert make(**old).settings == expected

    def test_the_flat_ones_of_the_course_make_the_same_layer(self):
        flat = EncoderLayer(2, 3, 5, 8, 16, 0.0)
        settled = EncoderLayer(settings=BlockSettings(**BLOCK_SIZES))
        x = normal(2, 5, 8)
        y = numpy(flat(x))
        settled.build(x.shape)
        settled.set_weights(flat.get_weights())
        np.testing.assert_allclose(numpy(settled(x)), y, atol=1e-6)

    @every_holder
    def test_none_at_all_are_refused(self, make):
        with pytest.raises(TypeError, match=r"lacks .*or settings=BlockSettings\(...\)"):
            make()

    def test_missing_ones_are_named(self):
        with pytest.raises(TypeError, match=r"Encoder lacks d_v, d_ff, n: "):
            Encoder(h=2, d_k=4, d_model=8, rate=0.0)

    def test_both_kinds_are_refused(self):
        with pytest.raises(ValueError, match=r"not both. Received: {'h': 2, 'd_ff': 4}$"):
            TransformerModel(11, 13, h=2, d_ff_inner=4, settings=SETTINGS)

    def test_something_else_is_refused(self):
        with pytest.raises(ValueError, match=r"must be BlockSettings. Received: 2$"):
            Bert(11, 8, 2)
