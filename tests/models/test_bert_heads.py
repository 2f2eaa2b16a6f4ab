import keras
import numpy as np
import pytest
from layer_contract import BLOCK_SIZES, group_settings, numpy
from model_contract import ModelContract, variants

from keras_transformer.models import AnsweringBert, Bert, PretrainingBert
from keras_transformer.objectives.losses import MaskedCrossEntropy

IDS = np.array([[2, 5, 4, 3, 7, 3], [2, 4, 3, 10, 3, 0]], "int32")
SEGMENTS = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]], "int32")
POSITIONS = np.array([[2, 4], [1, 0]], "int32")
INPUTS = [IDS, SEGMENTS, POSITIONS]
TARGET = {"words": np.array([[6, 7], [9, 0]], "int32"), "next": np.array([0, 1], "int32")}


class Head(ModelContract):
    @classmethod
    def make(cls, **kwargs):
        return cls.model_class(Bert(11, 8, **group_settings({**BLOCK_SIZES, "n": 1, **kwargs})))

    def test_padding_changes_nothing(self, variant, model):
        ids, segments, *others = self.inputs(variant)
        longer = [np.pad(x, ((0, 0), (0, 2))) for x in (ids, segments)]
        found = outputs(model, [*longer, *others])
        for name, expected in outputs(model, self.inputs(variant)).items():
            compared = ids != 0 if expected.shape == ids.shape else slice(None)
            cut = found[name][:, : expected.shape[1]]
            np.testing.assert_allclose(cut[compared], expected[compared], atol=1e-5)


@variants({"pretraining": {}})
class TestPretrainingBert(Head):
    model_class = PretrainingBert

    @staticmethod
    def inputs(variant):
        return INPUTS

    @staticmethod
    def zero_gradients(variant):
        return ("key_projection/bias",)


@variants({"answering": {}})
@pytest.mark.filterwarnings("ignore:Gradients do not exist")
class TestAnsweringBert(Head):
    model_class = AnsweringBert

    @staticmethod
    def inputs(variant):
        return [IDS, SEGMENTS]

    @staticmethod
    def zero_gradients(variant):
        return ("key_projection/bias", "pooling/kernel", "pooling/bias")  # the pooler is not used


def outputs(model, inputs):
    return {name: numpy(x) for name, x in model(inputs).items()}


@pytest.fixture
def pretraining():
    return TestPretrainingBert.with_random_weights()


def test_masked_token_logits_use_the_tied_embeddings(pretraining):
    x = numpy(pretraining.body((IDS, SEGMENTS)))
    transformed = numpy(pretraining.norm(pretraining.transform(x)))
    embeddings, bias = pretraining.body.embedding.words.embeddings, pretraining.bias
    logits = transformed @ numpy(embeddings).T + numpy(bias)
    expected = logits[np.arange(2)[:, None], POSITIONS]
    np.testing.assert_allclose(outputs(pretraining, INPUTS)["words"], expected, atol=1e-4)


def test_next_sentence_logits_use_the_pooled_output(pretraining):
    pooled = numpy(pretraining.body.pool(pretraining.body((IDS, SEGMENTS))))
    kernel, bias = pretraining.next.get_weights()
    found = outputs(pretraining, INPUTS)["next"]
    np.testing.assert_allclose(found, pooled @ kernel + bias, atol=1e-5)


@pytest.mark.slow
def test_the_loss_covers_only_the_masked_tokens(pretraining):
    """A third position that is padding does not change the loss."""
    classes = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # Compiling the training step is faster on JAX and slower on TensorFlow.
    jit_compile = keras.config.backend() == "jax"
    losses = {"words": MaskedCrossEntropy(), "next": classes}
    pretraining.compile("sgd", losses, jit_compile=jit_compile)
    found = pretraining.evaluate(INPUTS, TARGET, verbose=0, return_dict=True)
    inputs = (IDS, SEGMENTS, np.pad(POSITIONS, ((0, 0), (0, 1))))
    target = {**TARGET, "words": np.pad(TARGET["words"], ((0, 0), (0, 1)))}
    padded = pretraining.evaluate(inputs, target, verbose=0, return_dict=True)
    assert padded == pytest.approx(found, rel=1e-5)
    logits = outputs(pretraining, INPUTS)["words"]
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    expected = -(log_p[0, 0, 6] + log_p[0, 1, 7] + log_p[1, 0, 9]) / 3
    assert found["words_loss"] == pytest.approx(expected, rel=1e-4)


def test_a_saved_body_can_be_reused_for_another_task(pretraining, tmp_path):
    pretraining.body.save(tmp_path / "bert.keras")
    other = AnsweringBert(keras.models.load_model(tmp_path / "bert.keras"))
    other((IDS, SEGMENTS))
    found, expected = (numpy(x.body((IDS, SEGMENTS))) for x in (other, pretraining))
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("option", ["num_segments", "pooler"])
def test_pretraining_requires_segments_and_a_pooler(option):
    with pytest.raises(ValueError, match=r"Received: num_segments=.*pooler=.*"):
        TestPretrainingBert.make(**{option: None})
