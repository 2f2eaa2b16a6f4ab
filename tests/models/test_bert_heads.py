import keras
import numpy as np
import pytest
from layer_contract import HALF_POLICIES, check_dropout, group_settings, numpy, random_weights
from quick import some_of

from keras_transformer.models import AnsweringBert, Bert, PretrainingBert
from keras_transformer.objectives.losses import MaskedCrossEntropy

SIZES = {"h": 2, "d_k": 3, "d_v": 5, "d_model": 8, "d_ff": 16, "n": 1, "rate": 0.0}
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
SHAPES = {
    PretrainingBert: {"words": (2, 2, 11), "next": (2, 2)},
    AnsweringBert: {"start": (2, 6), "end": (2, 6)},
}


@MODEL_CLASSES
def test_output_shapes(model_class):
    model = make(model_class)
    inputs = inputs_of(model)
    assert {name: x.shape for name, x in outputs(model).items()} == SHAPES[model_class]
    assert model.compute_output_shape([x.shape for x in inputs]) == SHAPES[model_class]


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


@MODEL_CLASSES
@pytest.mark.filterwarnings("error:Gradients do not exist")
def test_one_step_changes_every_weight(model_class):
    model = compiled(make(model_class))
    # Softmax ignores a constant added to all scores of a row, so these weights get no gradient.
    zero_gradient = ("key_projection/bias",)
    if model_class is AnsweringBert:
        zero_gradient += ("layer_0/add_norm_2/norm/beta", "span/bias")
        zero_gradient += ("pooling/kernel", "pooling/bias")  # not used
    inputs = inputs_of(model)
    model(inputs)
    before = model.get_weights()
    model.train_on_batch(inputs, TARGET if model_class is PretrainingBert else SPANS)
    for weight, old in zip(model.weights, before, strict=True):
        change = np.abs(numpy(weight) - old).max()
        assert (change > 1e-7) != weight.path.endswith(zero_gradient), weight.path


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


class TestSaving:
    @MODEL_CLASSES
    def test_recreated_from_its_config(self, model_class):
        model = make(model_class, dtype="mixed_bfloat16")
        recreated = model_class.from_config(model.get_config())
        assert recreated.get_config() == model.get_config()
        assert recreated.dtype_policy.name == "mixed_bfloat16"

    @MODEL_CLASSES
    def test_loaded_model_gives_the_same_output(self, model_class, tmp_path):
        model = with_random_weights(model_class)
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        for name, expected in outputs(model).items():
            np.testing.assert_allclose(outputs(loaded)[name], expected, atol=1e-6)

    @MODEL_CLASSES
    def test_saved_and_loaded(self, model_class, tmp_path, process):
        model = with_random_weights(model_class)
        symbolic = [keras.Input((None,), dtype="int32") for _ in inputs_of(model)]
        first = next(iter(model(tuple(symbolic))))
        keras.Model(symbolic, model(tuple(symbolic))[first]).save(tmp_path / "model.keras")
        found = process.load(tmp_path / "model.keras")(inputs_of(model))
        np.testing.assert_allclose(found, outputs(model)[first], atol=1e-5)

    def test_a_saved_body_can_be_reused_for_another_task(self, tmp_path):
        model = with_random_weights(PretrainingBert)
        model.body.save(tmp_path / "bert.keras")
        other = AnsweringBert(keras.models.load_model(tmp_path / "bert.keras"))
        other((IDS, SEGMENTS))
        np.testing.assert_allclose(
            numpy(other.body((IDS, SEGMENTS))), numpy(model.body((IDS, SEGMENTS))), atol=1e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize("policy", some_of(list(HALF_POLICIES), quick=("mixed_float16",)))
@MODEL_CLASSES
def test_half_precision_is_finite_even_for_all_padding(model_class, policy):
    model = compiled(make(model_class, dtype=policy), auto_scale_loss=False)
    ids = IDS * np.array([[1], [0]], "int32")
    inputs = (ids, *inputs_of(model)[1:])
    assert all(np.isfinite(x).all() for x in outputs(model, inputs).values())
    target = TARGET if model_class is PretrainingBert else SPANS
    assert np.isfinite(model.train_on_batch(inputs, target)).all()
    assert all(np.isfinite(numpy(w)).all() for w in model.weights)


@MODEL_CLASSES
def test_dropout_is_active_only_in_training(model_class):
    model = make(model_class, rate=0.5)
    name = "words" if model_class is PretrainingBert else "start"

    def first(inputs, training=None):
        return model(inputs, training=training)[name]

    check_dropout(first, inputs_of(model))


@pytest.mark.parametrize(("option", "shown"), [("num_segments", "tanh"), ("pooler", "2")])
def test_pretraining_requires_segments_and_a_pooler(option, shown):
    with pytest.raises(ValueError, match=r"Received: num_segments=.*pooler=.*"):
        make(PretrainingBert, **{option: None})
