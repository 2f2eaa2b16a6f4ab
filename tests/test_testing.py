"""Each check passes for correct layers; for faulty ones it names the position and the cause."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_contract import BLOCK_SIZES, causal, normal

from keras_transformer import testing
from keras_transformer.layers import DecoderLayer, MultiHeadAttention
from keras_transformer.models import Bert, TransformerModel
from keras_transformer.settings import BlockSettings

X, Z = normal(2, 5, 8), normal(2, 7, 8, seed=1)
IDS = np.array([[3, 4, 5], [1, 2, 6]])


@keras.saving.register_keras_serializable("learner")
class SimpleAttention(keras.layers.Layer):
    """A simple causal self-attention layer with an optional fault."""

    def __init__(self, units, fault=None, **kwargs):
        super().__init__(**kwargs)
        self.units, self.fault = units, fault
        self.query = keras.layers.Dense(units, use_bias=False, dtype=self.dtype_policy)
        self.value = keras.layers.Dense(units, dtype=self.dtype_policy)

    def build(self, shape):
        self.query.build(shape)
        self.value.build(shape)

    def attention_weights(self, x, mask=None):
        scores = ops.matmul(self.query(x), ops.swapaxes(x, 1, 2)) / 8
        positions = ops.arange(ops.shape(x)[1])
        shift = {"leak": -1, "blind": 1}.get(self.fault, 0)
        allowed = positions[:, None] >= positions[None] + shift
        if self.fault == "blind":
            allowed = ops.logical_or(allowed, positions[None] == 0)
        allowed = allowed if mask is None else ops.logical_and(allowed, mask[:, None])
        masked_score = -1e9 if self.fault == "overflow" else -1e4
        scores = ops.where(allowed, scores, ops.cast(masked_score, scores.dtype))
        return ops.softmax(scores, axis=1 if self.fault == "axis" else -1)

    def call(self, x):
        values = self.value(x)
        if self.fault == "stop":
            values = ops.stop_gradient(values)
        return ops.matmul(self.attention_weights(x), values)

    def get_config(self):
        config = {**super().get_config(), "units": self.units, "fault": self.fault}
        if self.fault == "config":
            del config["units"]
        elif self.fault == "default":
            del config["fault"]
        elif self.fault == "json":
            config["units"] = np.int64(self.units)
        return config

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.units)


def fails(match):
    return pytest.raises(AssertionError, match=match)


class TestFutureLeak:
    def test_causal_attention_passes(self):
        keras_layer, ours = keras.layers.MultiHeadAttention(2, 3), MultiHeadAttention(2, 3, 5, 8)
        testing.check_no_future_leak(lambda x: keras_layer(x, x, use_causal_mask=True), X)
        mask = causal(2, 5)
        testing.check_no_future_leak(lambda x: ours(x, x, x, attention_mask=mask), X)
        testing.check_no_future_leak(SimpleAttention(8), X)

    def test_integer_ids_pass(self):
        table, ids = normal(9, 8), np.array([[3, 4, 5, 3], [1, 2, 0, 0]])
        testing.check_no_future_leak(lambda ids: np.cumsum(table[ids], axis=1), ids)

    def test_a_leak_is_detected_at_its_position(self):
        with fails(r"Future leak: changing the input at position 1 .* position 0 .*causal mask"):
            testing.check_no_future_leak(SimpleAttention(8, "leak"), X)

    def test_a_masked_diagonal_is_detected(self):
        with fails(r"Past ignored: .*position 1 .*at position 1 .*diagonal"):
            testing.check_no_future_leak(SimpleAttention(8, "blind"), X)

    def test_sliding_window_passes_without_sees_past(self):
        def window(x):
            return x + np.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]

        testing.check_no_future_leak(window, X, sees_past=False)
        with fails(r"position 0 changes the output at position 2 by only 0\. "):
            testing.check_no_future_leak(window, X)

    def test_ids_that_cannot_be_changed_are_refused(self):
        with pytest.raises(ValueError, match="at least two different ids"):
            testing.check_no_future_leak(lambda x: x, np.ones((1, 4), "int32"))

    def test_an_inverted_mask_is_reported_as_a_leak(self):
        layer, inverted = keras.layers.MultiHeadAttention(2, 3), ~causal(2, 5)
        with fails(r"Future leak: .* inverted"):
            testing.check_no_future_leak(lambda x: layer(x, x, attention_mask=inverted), X)


class TestInputsUsed:
    def test_attention_over_vectors_passes(self):
        layer = MultiHeadAttention(2, 3, 5, 8)
        testing.check_inputs_used(lambda x: layer(x, x, x), X)
        testing.check_inputs_used(lambda z: layer(X, z, z), Z)

    def test_models_of_padded_ids_pass(self):
        ids, target = np.array([[3, 4, 5, 3], [1, 2, 0, 0]]), np.array([[2, 5, 4], [2, 3, 0]])
        settings = BlockSettings(h=2, d_model=8, d_ff=16, n=1)
        model = TransformerModel(7, 7, settings=settings)
        testing.check_inputs_used(lambda ids: model((ids, target)), ids)
        testing.check_inputs_used(Bert(7, 4, settings=settings), ids)

    def test_an_input_hidden_by_a_mask_is_detected(self):
        layer, mask = keras.layers.MultiHeadAttention(2, 3), (np.arange(5) < 3)[None, None]
        with fails(r"Input ignored: .* position 3 .* position 0 by only 0\. .*another sequence"):
            testing.check_inputs_used(lambda x: layer(x, x, attention_mask=mask), X)

    def test_an_id_that_only_one_sequence_ignores_is_detected(self):
        table, ids = normal(9, 8), np.array([[3, 4, 5], [1, 2, 0]])
        with fails("Input ignored: .* position 1 .* position 0 "):
            testing.check_inputs_used(lambda ids: table[ids].sum(1) * [[1]] - table[ids[:, 1]], ids)


class TestPadding:
    def test_masked_attention_and_a_masked_mean_pass(self):
        layer, ours = keras.layers.MultiHeadAttention(2, 3), MultiHeadAttention(2, 3, 5, 8)
        testing.check_padding(lambda x, mask: layer(x, x, attention_mask=mask[:, None]), X)
        testing.check_padding(lambda x, mask: ours(x, x, x, attention_mask=mask[:, None]), X)
        testing.check_padding(lambda x, mask: (x * mask[..., None]).sum(1) / mask.sum(1), X[:1])

    def test_a_model_that_derives_the_mask_from_the_ids_passes(self):
        table = normal(9, 8)
        testing.check_padding(lambda ids, _: (table[ids] * (ids > 0)[..., None]).sum(1), IDS)

    @pytest.mark.parametrize("make_mask", (lambda mask: None, lambda mask: ~mask[:, None]))
    def test_a_missing_or_inverted_mask_is_detected(self, make_mask):
        layer = keras.layers.MultiHeadAttention(2, 3)
        with fails(
            r"Padding changes .* 3 padding positions .* at \(\d, \d, \d\) .* is missing, inverted"
        ):
            testing.check_padding(lambda x, mask: layer(x, x, attention_mask=make_mask(mask)), X)

    def test_padding_in_a_loss_is_detected(self):
        costs = normal(9)
        testing.check_padding(lambda ids, _: costs[ids].sum() - (ids == 0).sum() * costs[0], IDS)
        with fails(r"Padding changes the output"):
            testing.check_padding(lambda ids, _: costs[ids].mean(), IDS)

    def test_padding_in_a_mean_is_detected(self):
        with fails("2 padding positions .*a mean includes the padding"):
            testing.check_padding(lambda x, mask: (x * mask[..., None]).mean(axis=1), X, amount=2)


class TestWeights:
    def test_weights_of_keras_attention_pass(self):
        layer, mask = keras.layers.MultiHeadAttention(2, 3), np.arange(5) < 4
        _, weights = layer(X, X, attention_mask=mask[None, None], return_attention_scores=True)
        testing.check_weights_sum_to_one(weights, mask)
        testing.check_weights_sum_to_one(np.zeros((1, 2, 3)), np.zeros((1, 1, 3), "bool"))

    def test_each_fault_is_detected_at_its_index(self):
        weights = np.full((1, 2, 4), 0.25)
        with fails(r"weight at \(0, 0, 3\) is not 0 at a masked key: 0.25.*missing or inverted"):
            testing.check_weights_sum_to_one(weights, np.arange(4) < 3)
        with fails(r"weight at \(0, 1, 0\) is not finite: nan.*fully masked"):
            testing.check_weights_sum_to_one(np.where([[[0], [1]]], np.nan, weights))
        with fails(r"weight at \(0, 0, 0\) is negative: -1.*no softmax is applied"):
            testing.check_weights_sum_to_one(np.array([[[-1.0, 2.0]]]))

    def test_a_softmax_over_the_wrong_axis_is_detected(self):
        with fails(r"query at \(\d, \d\) sum to .* instead of 1.*key axis"):
            testing.check_weights_sum_to_one(SimpleAttention(8, "axis").attention_weights(X))


def cached_attention(shift=0):
    """Returns full and cached cumulative sums; the cached ones lag `shift` positions."""

    def step(x, cache, t):
        cache = cache.copy()
        cache[:, t] = x[:, 0]
        return cache[:, : t + 1 - shift].sum(axis=1), cache

    return lambda x: np.cumsum(x, axis=1), step


class TestCache:
    def test_the_steps_of_a_decoder_layer_pass(self):
        layer = DecoderLayer(**BLOCK_SIZES)
        layer.build(X.shape, Z.shape)
        cache, memory = layer.start(Z, 6)

        def step(x, cache, t):
            return layer.step(x, t, cache, memory, (np.arange(6) <= t)[None, None])

        def full(x):
            return layer(x, Z, self_attention_mask=causal(2, 5))

        testing.check_cache(full, step, cache, X)

        def misplaced(x, cache, t):
            return layer.step(x, t, cache, memory, (np.arange(6) <= t + 1)[None, None])

        with fails(r"differ at position 0 by .*admits positions that are not written"):
            testing.check_cache(full, misplaced, cache, X)

    def test_an_off_by_one_cache_is_detected(self):
        testing.check_cache(*cached_attention(), np.zeros_like(X), X)
        with fails(r"Cached and uncached outputs differ at position 0 .*different position"):
            testing.check_cache(*cached_attention(shift=1), np.zeros_like(X), X)

    def test_a_growing_cache_is_detected(self):
        def step(x, cache, t):
            cache = np.concatenate([cache, x], axis=1)
            return cache.sum(axis=1), cache

        with fails(r"at position 0 from \['float32\(2, 0, 8\)'\] to .*Allocate the cache"):
            testing.check_cache(lambda x: np.cumsum(x, axis=1), step, X[:, :0], X)

    @pytest.mark.parity
    def test_the_decoder_of_keras_hub_passes(self):
        keras_hub = pytest.importorskip("keras_hub")
        layer = keras_hub.layers.TransformerDecoder(intermediate_dim=16, num_heads=2)
        layer.build(X.shape)

        def step(x, cache, t):
            return layer(x, self_attention_cache=cache, self_attention_cache_update_index=t)

        cache = np.zeros((2, 2, 5, 2, 4), "float32")  # keys and values, (B, 2, T, N, D / N)
        testing.check_cache(layer, step, cache, X)
        testing.check_no_future_leak(layer, X)


class TestSaving:
    def test_keras_and_custom_layers_pass(self):
        layer = keras.layers.MultiHeadAttention(2, 3)
        testing.check_save_and_load(layer, {"query": X, "value": Z})
        testing.check_save_and_load(SimpleAttention(8), X)

    def test_a_missing_argument_is_detected(self):
        with fails(r"(?s)cannot be recreated .*units.*`get_config` lacks a constructor argument"):
            testing.check_save_and_load(SimpleAttention(8, "config"), X)

    def test_a_missing_argument_with_a_default_is_detected(self):
        with fails(r"changes its configuration|different outputs .*`get_config` lacks"):
            testing.check_save_and_load(_Scaled(3.0), X)

    def test_a_non_json_configuration_is_detected(self):
        with fails("cannot be recreated .*not JSON"):
            testing.check_save_and_load(SimpleAttention(8, "json"), X)

    def test_an_argument_changed_by_the_constructor_is_detected(self):
        with fails(r"changes its configuration .*\['factor'\] differ.*constructor changes"):
            testing.check_save_and_load(_Doubled(2.0), X)

    def test_an_untracked_sub_layer_is_detected(self):
        with fails(r"has different outputs after loading: .*at \(\d, \d, \d\).*not tracked"):
            testing.check_save_and_load(_Untracked(), X)


@keras.saving.register_keras_serializable("learner")
class _Scaled(keras.layers.Layer):
    """Multiplies by a factor that is missing in `get_config`."""

    def __init__(self, factor=1.0, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return self.factor * x

    def get_config(self):
        return super().get_config()


@keras.saving.register_keras_serializable("learner")
class _Doubled(_Scaled):
    """Stores a different factor than its argument."""

    def __init__(self, factor=1.0, **kwargs):
        super().__init__(2 * factor, **kwargs)

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@keras.saving.register_keras_serializable("learner")
class _Untracked(keras.layers.Layer):
    """Hides its only weights from Keras."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = lambda: None
        self.hidden.dense = keras.layers.Dense(4)

    def call(self, x):
        return self.hidden.dense(x)


class TestGradients:
    def test_attention_passes_except_for_the_key_bias(self):
        layer, inputs = keras.layers.MultiHeadAttention(2, 3), {"query": X, "value": Z}
        testing.check_gradients(layer, inputs, without=("key/bias",))
        before = layer.get_weights()
        with fails("key/bias receives no gradient"):
            testing.check_gradients(layer, inputs)
        for weight, old in zip(layer.get_weights(), before, strict=True):
            np.testing.assert_array_equal(weight, old)

    @pytest.mark.filterwarnings("ignore:Gradients do not exist")
    def test_a_variable_without_gradient_is_detected(self):
        testing.check_gradients(SimpleAttention(8), X)
        with fails(r"kernel receives no gradient: .*only 0 .*`stop_gradient`"):
            testing.check_gradients(SimpleAttention(8, "stop"), X)

    def test_an_unexpected_change_is_detected(self):
        layer = keras.layers.Dense(3)
        with fails(r"kernel changes by .* but should not"):
            testing.check_gradients(layer, X, without=("kernel",))

    def test_a_non_finite_gradient_is_detected(self):
        layer = keras.Sequential([keras.layers.Dense(3), keras.layers.Lambda(_sqrt_of_zero)])
        with fails("is not finite after one step"):
            testing.check_gradients(layer, X)


def _sqrt_of_zero(x):
    return ops.sqrt(x - x)


class TestHalfPrecision:
    def test_attention_passes_with_fully_masked_queries(self):
        inputs = {"queries": X, "keys": Z, "values": Z, "attention_mask": np.ones((2, 1, 7), bool)}
        testing.check_dtypes(lambda dtype: MultiHeadAttention(2, 3, 5, 8, dtype=dtype), inputs)

    def test_float16_overflow_is_detected(self):
        def make(dtype):
            return keras.layers.Lambda(lambda x: x * 0 + ops.cast(1e9, x.dtype), dtype=dtype)

        with fails(r"output at \(0, 0, 0\) in mixed_float16 is not finite.*-1e9"):
            testing.check_dtypes(make, X)
        testing.check_dtypes(make, X, policies=["mixed_bfloat16"])

    def test_a_softmax_over_masked_keys_only_is_detected(self):
        def make(dtype):
            def call(inputs):
                x, mask = inputs
                scores = ops.where(mask, ops.cast(0, x.dtype), ops.cast(-np.inf, x.dtype))
                return ops.softmax(scores) @ x

            x, mask = keras.Input((None, 8)), keras.Input((None, None), dtype="bool")
            return keras.Model([x, mask], keras.layers.Lambda(call, dtype=dtype)([x, mask]))

        with fails(r"\(0, 0, 0\) in mixed_float16 is not finite for an example that may"):
            testing.check_dtypes(make, [X, np.ones((2, 5, 5), "bool")])

    def test_a_wrong_output_dtype_is_detected(self):
        def make(dtype):
            return keras.layers.Lambda(lambda x: ops.cast(x, "float32"), dtype=dtype)

        with fails("An output in mixed_float16 is float32, not float16"):
            testing.check_dtypes(make, X)


class TestOverfit:
    def model(self, seen=6):
        ids = keras.Input((6,), dtype="int32")
        x = keras.layers.Embedding(9, 8)(ids[:, :seen])
        return keras.Model(ids, keras.layers.Dense(9)(keras.layers.Flatten()(x)))

    @pytest.mark.exhaustive
    def test_only_a_model_that_uses_its_input_can_overfit(self):
        rng = np.random.default_rng(0)
        ids, targets = rng.integers(1, 9, (30, 6)), rng.integers(0, 9, 30)
        ids[:, 0] = 1
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        testing.check_overfit(self.model(), ids, targets, loss, epochs=60, learning_rate=0.05)
        with fails(r"does not memorize .* in 20 updates, not below .*mask hides"):
            testing.check_overfit(self.model(seen=1), ids, targets, loss, epochs=20)
