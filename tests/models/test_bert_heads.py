import keras
import numpy as np
import pytest
from layer_contract import BLOCK_SIZES, group_settings, numpy, random_weights
from model_contract import ModelContract, variants

from keras_transformer.models import AnsweringBert, Bert, PretrainingBert
from keras_transformer.objectives.losses import MaskedCrossEntropy

SIZES = {**BLOCK_SIZES, "n": 1}
IDS = np.array([[2, 5, 4, 3, 7, 3], [2, 4, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")
POSITIONS = np.array([[2, 4], [1, 0]], "int32")
TARGET = {"words": np.array([[6, 7], [9, 0]], "int32"), "next": np.array([0, 1], "int32")}
SPANS = {"start": np.array([4, 3], "int32"), "end": np.array([4, 3], "int32")}


def body(**kwargs):
    return Bert(11, 8, **group_settings({**SIZES, **kwargs}))


def make(model_class, **kwargs):
    return model_class(body(**kwargs))


def inputs_of(model):
    return (IDS, SEGMENTS, POSITIONS) if isinstance(model, PretrainingBert) else (IDS, SEGMENTS)


def with_random_weights(model_class, **kwargs):
    model = make(model_class, **kwargs)
    model(inputs_of(model))
    model.set_weights(random_weights(model))
    return model


def outputs(model, inputs=None):
    return {name: numpy(x) for name, x in model(inputs or inputs_of(model)).items()}


def compiled(model, **options):
    classes = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    losses = {"start": classes, "end": classes}
    if isinstance(model, PretrainingBert):
        losses = {"words": MaskedCrossEntropy(), "next": classes}
    # Compiling the training step is faster on JAX and slower on TensorFlow.
    jit_compile = keras.config.backend() == "jax"
    model.compile(keras.optimizers.SGD(0.1), losses, jit_compile=jit_compile, **options)
    return model


MODEL_CLASSES = pytest.mark.parametrize("model_class", (PretrainingBert, AnsweringBert))


@variants({"pretraining": PretrainingBert, "answering": AnsweringBert})
class TestHead(ModelContract):
    @classmethod
    def make(cls, variant, **kwargs):
        return make(variant, **kwargs)

    @staticmethod
    def inputs(variant):
        return [IDS, SEGMENTS, POSITIONS] if variant is PretrainingBert else [IDS, SEGMENTS]

    @staticmethod
    def zero_gradients(variant):
        unused = ("pooling/kernel", "pooling/bias") if variant is AnsweringBert else ()
        return ("key_projection/bias", *unused)


def test_masked_token_logits_use_the_tied_embeddings():
    model = with_random_weights(PretrainingBert)
    x = numpy(model.body((IDS, SEGMENTS)))
    transformed = numpy(model.norm(model.transform(x)))
    logits = transformed @ numpy(model.body.embedding.words.embeddings).T + numpy(model.bias)
    expected = logits[np.arange(2)[:, None], POSITIONS]
    np.testing.assert_allclose(outputs(model)["words"], expected, atol=1e-4)


def test_next_sentence_logits_use_the_pooled_output():
    model = with_random_weights(PretrainingBert)
    pooled = numpy(model.body.pool(model.body((IDS, SEGMENTS))))
    kernel, bias = model.next.get_weights()
    np.testing.assert_allclose(outputs(model)["next"], pooled @ kernel + bias, atol=1e-5)


@MODEL_CLASSES
def test_padding_changes_nothing(model_class):
    model = with_random_weights(model_class)
    longer = [np.pad(x, ((0, 0), (0, 2))) for x in (IDS, SEGMENTS)]
    if model_class is PretrainingBert:
        longer.append(POSITIONS)
    found = outputs(model, tuple(longer))
    for name, expected in outputs(model).items():
        compared = IDS != 0 if model_class is AnsweringBert else slice(None)
        cut = found[name][:, : expected.shape[1]]
        np.testing.assert_allclose(cut[compared], expected[compared], atol=1e-5)


@pytest.mark.slow
def test_the_loss_covers_only_the_masked_tokens():
    """A third position that is padding does not change the loss."""
    model = compiled(with_random_weights(PretrainingBert))
    found = model.evaluate(inputs_of(model), TARGET, verbose=0, return_dict=True)
    inputs = (IDS, SEGMENTS, np.pad(POSITIONS, ((0, 0), (0, 1))))
    target = {**TARGET, "words": np.pad(TARGET["words"], ((0, 0), (0, 1)))}
    padded = model.evaluate(inputs, target, verbose=0, return_dict=True)
    assert padded == pytest.approx(found, rel=1e-5)
    logits = outputs(model)["words"]
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = -(log_p[0, 0, 6] + log_p[0, 1, 7] + log_p[1, 0, 9]) / 3
    assert found["words_loss"] == pytest.approx(expected, rel=1e-4)


def test_a_saved_body_can_be_reused_for_another_task(tmp_path):
    model = with_random_weights(PretrainingBert)
    model.body.save(tmp_path / "bert.keras")
    other = AnsweringBert(keras.models.load_model(tmp_path / "bert.keras"))
    other((IDS, SEGMENTS))
    np.testing.assert_allclose(
        numpy(other.body((IDS, SEGMENTS))), numpy(model.body((IDS, SEGMENTS))), atol=1e-6
    )


@pytest.mark.parametrize(("option", "shown"), [("num_segments", "tanh"), ("pooler", "2")])
def test_pretraining_requires_segments_and_a_pooler(option, shown):
    with pytest.raises(ValueError, match=r"Received: num_segments=.*pooler=.*"):
        make(PretrainingBert, **{option: None})
