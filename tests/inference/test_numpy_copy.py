"""`Translate` computes with NumPy where it can, always with the present weights and layers."""

import keras
import numpy as np
import pytest
from layer_contract import EAGERLY
from tiny import make_dataset, make_model
from translating import make_translate, write_run

from keras_transformer import Adam, DotProductAttention, MaskedCrossEntropy, Translate
from keras_transformer.backends import backend_module
from keras_transformer.inference import numpy_copy
from keras_transformer.models.numpy_transformer import NumpyTransformer

SENTENCES = ["one two three", "five", "four two"]


@pytest.fixture
def untrained():
    return make_model(make_dataset())


@pytest.fixture
def copies(monkeypatch):
    """The list of the copies that are made."""
    made = []

    def copy(model):
        made.append(NumpyTransformer(model))
        return made[-1]

    monkeypatch.setattr(numpy_copy, "numpy_model", copy)
    return made


def scores_of(translate):
    return [x[0].score for x in translate.hypotheses(SENTENCES)]


def with_layers(model):
    """Returns a `Translate` that computes with the layers of the model."""
    on_jax = keras.config.backend() == "jax"
    return make_translate(model, jit_compile=on_jax)


@pytest.mark.every_backend
def test_equals_the_layers(copies, untrained):
    numpy, layers = scores_of(make_translate(untrained)), scores_of(with_layers(untrained))
    assert len(copies) == 1
    np.testing.assert_allclose(numpy, layers, rtol=1e-4)


def test_unchanged_weights_are_copied_once(copies, untrained):
    translate = make_translate(untrained)
    first = translate(SENTENCES)
    assert [translate(SENTENCES) for _ in range(3)] == 3 * [first]
    assert len(copies) == 1


def assign_one(model):
    bias = model.decoder.layers[0].feed_forward.outer.bias
    bias.assign(np.linspace(-3, 3, bias.shape[0]))


def train_one_batch(model):
    model.compile(Adam(0.1), MaskedCrossEntropy(), run_eagerly=EAGERLY)
    source, target = np.array([[5, 3]]), np.array([[2, 5, 3]])
    model.train_on_batch((source, target[:, :-1]), target[:, 1:])


@pytest.mark.every_backend
@pytest.mark.parametrize("change", (assign_one, train_one_batch))
def test_changed_weights_are_used(untrained, change):
    translate = make_translate(untrained)
    before = scores_of(translate)
    change(untrained)
    after = scores_of(translate)
    assert not np.allclose(before, after, rtol=1e-3)
    np.testing.assert_allclose(after, scores_of(make_translate(untrained)), rtol=1e-5)


def test_a_model_of_a_run_can_be_changed(tmp_path):
    write_run(tmp_path / "run")
    translate = Translate.from_run(tmp_path / "run")
    before = scores_of(translate)
    assign_one(translate.model)
    assert not np.allclose(before, scores_of(translate), rtol=1e-3)


def test_weights_that_nobody_else_has_are_not_compared(tmp_path, monkeypatch):
    def compare(weights):
        raise AssertionError("this takes as long as a short sentence")

    write_run(tmp_path / "run")
    translate = Translate.from_run(tmp_path / "run")
    monkeypatch.setattr(backend_module(), "change_detector", compare)
    assert translate("one") and translate.hypotheses(["one"])
    assert translate.model.built  # who has it may change it
    with pytest.raises(AssertionError):
        translate("one")


def test_changed_code_of_a_layer_is_used(untrained, monkeypatch):
    call = DotProductAttention.call

    def changed(self, queries, *args, **kwargs):
        return call(self, -queries, *args, **kwargs)

    monkeypatch.setattr(DotProductAttention, "call", changed)
    expected = scores_of(with_layers(untrained))
    with pytest.warns(UserWarning, match="the code of a layer seems to be changed"):
        found = scores_of(make_translate(untrained))
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_options", "options"),
    (({}, {"jit_compile": True}), ({"dtype": "mixed_bfloat16"}, {})),
    ids=("XLA", "bfloat16"),
)
def test_other_models_and_xla_use_the_layers(copies, model_options, options):
    if options and keras.config.backend() == "torch":
        pytest.skip("PyTorch has no XLA")
    model = make_model(make_dataset(), **model_options)
    assert len(make_translate(model, **options)("one")) > 0
    assert not copies
