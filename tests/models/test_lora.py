import keras
import numpy as np
import pytest
from layer_contract import EAGERLY, numpy, random_weights

import keras_transformer as kt
from keras_transformer.models.numpy_transformer import NumpyLanguageModel

TOKENS = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 3, 0]], "int32")


def make(d_model=8):
    keras.utils.set_random_seed(0)
    settings = kt.BlockSettings(
        h=2, h_kv=1, d_model=d_model, d_ff=12, n=2, rate=0.0, gated=True, use_bias=False
    )
    model = kt.TransformerLanguageModel(13, settings=settings)
    model.build((None, None))
    model.set_weights(random_weights(model))
    return model


@pytest.fixture(scope="module")
def adapted():
    """A model whose adapters were trained, and the weights that it had before."""
    model = make()
    before = model.get_weights()
    expected = numpy(model(TOKENS))
    kt.enable_lora(model, rank=2, alpha=3)
    np.testing.assert_allclose(numpy(model(TOKENS)), expected, atol=1e-6)
    model.compile(keras.optimizers.Adam(0.01), kt.MaskedCrossEntropy(), run_eagerly=EAGERLY)
    losses = [model.train_on_batch(TOKENS[:, :-1], TOKENS[:, 1:]) for _ in range(9)]
    assert losses[-1] < losses[0]
    return model, before


@pytest.mark.every_backend
@pytest.mark.slow
def test_only_the_adapters_are_trained(adapted):
    model, before = adapted
    assert {x.name for x in model.trainable_variables} == {"lora_kernel_a", "lora_kernel_b"}
    assert len(model.trainable_variables) == 2 * 2 * 7
    others = [x for x in model.variables if not x.name.startswith(("lora", "seed"))]
    for variable, value in zip(others, before, strict=True):
        np.testing.assert_array_equal(numpy(variable.value), value)
    assert np.abs(numpy(model(TOKENS)) - numpy(make()(TOKENS))).max() > 0.01


@pytest.mark.slow
def test_they_are_merged_where_the_model_is_saved(adapted, tmp_path):
    model, _ = adapted
    expected = numpy(model(TOKENS))
    model.save(tmp_path / "merged.keras")
    loaded = keras.saving.load_model(tmp_path / "merged.keras", compile=False)
    assert len(loaded.weights) == len(make().weights)
    np.testing.assert_allclose(numpy(loaded(TOKENS)), expected, atol=1e-5)
    state = (engine := NumpyLanguageModel(model)).start(TOKENS)
    steps = np.stack([engine.step(x, i, state).copy() for i, x in enumerate(TOKENS.T)], axis=1)
    np.testing.assert_allclose(steps[0], expected[0], atol=1e-4)


@pytest.mark.every_backend
@pytest.mark.slow
def test_they_are_merged_in_float32_by_a_model_that_computes_in_bfloat16(tmp_path):
    settings = kt.BlockSettings(h=2, d_model=8, d_ff=12)
    model = kt.VisionTransformer(4, 2, 3, settings=settings, dtype="mixed_bfloat16")
    model.build((None, 4, 4, 1))
    kt.enable_lora(model, rank=2)
    model.set_weights(random_weights(model))
    layer = model.encoder.layers[0].feed_forward.inner
    product = numpy(layer.lora_kernel_a.value) @ numpy(layer.lora_kernel_b.value)
    kernel = next(x for x in layer.weights if x.name == "kernel").value
    expected = numpy(kernel) + layer.lora_alpha / layer.lora_rank * product
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    found = numpy(loaded.encoder.layers[0].feed_forward.inner.kernel.value)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert loaded.dtype_policy.name == layer.dtype_policy.name == "mixed_bfloat16"
    with pytest.raises(ValueError, match="Adapters are not copied"):
        model.for_fine_tuning(2)


@pytest.mark.every_backend
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["default", "layers"])
def test_a_text_that_was_continued_before_is_continued_with_them(engine):
    tokenizer = kt.WordTokenizer.train(["a b c d e f g h i"])
    model, options = make(), {} if engine == "default" else {"jit_compile": EAGERLY is False}
    generate, given = kt.Generate(model, tokenizer, **options), [*"abcdefgh"]
    before = [generate(given, 5, temperature=2.0) for _ in range(2)]  # the second traces a graph
    kt.enable_lora(model, rank=2)
    random = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(random.normal(size=variable.shape))
    expected = kt.Generate(model, tokenizer, **options)(given, 5, temperature=2.0)
    assert generate(given, 5, temperature=2.0) == expected != before[0]


def test_they_are_written_apart_and_read_into_the_model_that_they_adapt(adapted, tmp_path):
    model, _ = adapted
    path = tmp_path / "adapters.safetensors"
    kt.save_lora(model, path)
    again = make()
    kt.load_lora(again, path)
    np.testing.assert_allclose(numpy(again(TOKENS)), numpy(model(TOKENS)), atol=1e-5)
    kt.load_lora(again, path)  # once more, into the same adapters
    other = make()
    kt.enable_lora(other, rank=2)
    with pytest.raises(ValueError, match=r"other adapters.*alpha=3\.0"):
        kt.load_lora(other, path)
    with pytest.raises(ValueError, match="has adapters of another model"):
        kt.load_lora(make(d_model=16), path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="is damaged"):
        kt.load_lora(make(), path)


def test_models_without_layers_or_with_adapters_are_refused(adapted, tmp_path):
    with pytest.raises(ValueError, match="14 with adapters"):
        kt.enable_lora(adapted[0], rank=2)
    with pytest.raises(ValueError, match="Received: LSTMLanguageModel, built=False, 0 dense"):
        kt.enable_lora(kt.LSTMLanguageModel(9, 4, 4, 1, 0.0), rank=2)
    with pytest.raises(ValueError, match="Call `enable_lora` first"):
        kt.save_lora(make(), tmp_path / "adapters.safetensors")
    with pytest.raises(ValueError, match="rank=0"):
        kt.enable_lora(make(), rank=0)
