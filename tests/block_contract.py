"""Tests that the encoder and decoder layers and their stacks must pass."""

import numpy as np
import pytest
from layer_contract import (
    BLOCK_SIZES,
    LayerContract,
    causal,
    check_dropout,
    group_settings,
    normal,
    numpy,
    output,
    padding,
)

from keras_transformer.testing import check_no_future_leak

STACK_SIZES = {**BLOCK_SIZES, "n": 2}
# The mask of each input.
ENCODER_MASKS = {"x": "attention_mask"}
DECODER_MASKS = {"x": "self_attention_mask", "encoder_output": "cross_attention_mask"}
PRE_NORM = {"activation": "gelu", "norm_first": True}


def make_block(block, **settings):
    """Creates a small layer or stack from settings."""
    return block(**group_settings({**STACK_SIZES, **settings}))


class BlockContract(LayerContract):
    """Tests that every layer and stack must pass.

    Attributes:
        block: the class.
        sizes: arguments of the constructor of the course.
        options: settings that this constructor does not have.
        masks: `ENCODER_MASKS` or `DECODER_MASKS`.
    """

    zero_gradients = ("key_projection/bias",)  # a constant in each row of scores
    sizes = BLOCK_SIZES
    options = None

    def make(self, **kwargs):
        if self.options:
            return make_block(self.block, **self.options, **kwargs)
        return self.block(**{**self.sizes, **kwargs})

    def vectors(self):
        """Returns the inputs without masks."""
        lengths = zip(self.masks, (5, 7), strict=False)
        return {name: normal(2, n, 8, seed=i) for i, (name, n) in enumerate(lengths)}

    def inputs(self):
        masks = dict(zip(self.masks.values(), (causal(2, 5), padding(7, 3)), strict=False))
        return {**self.vectors(), **masks}

    def test_padding_changes_nothing(self, called):
        layer, inputs = called.layer, self.vectors()
        expected = output(layer, inputs)
        for name, mask in self.masks.items():
            length = inputs[name].shape[1]
            longer = np.concatenate([inputs[name], 9 * normal(2, 3, 8, seed=3)], axis=1)
            mask = {mask: padding(length, length + 3)[:1]}
            padded, seen = (output(layer, {**inputs, name: longer, **x})[:, :5] for x in (mask, {}))
            np.testing.assert_allclose(padded, expected, atol=1e-5)
            assert np.abs(seen - expected).max() > 0.01

    def test_causal_mask_prevents_future_leaks(self, called):
        inputs, mask = self.vectors(), {self.masks["x"]: causal(2, 5)}
        check_no_future_leak(lambda x: called.layer(**{**inputs, "x": x, **mask}), inputs["x"])

    def test_dropout_is_active_only_in_training(self):
        check_dropout(self.make(rate=0.5), *self.vectors().values())


class OneLayerContract(BlockContract):
    """Tests that the encoder layer and the decoder layer must pass."""

    def test_graph_shares_the_weights_of_the_layer(self):
        inputs = [normal(2, 5, 8, seed=i) for i, _ in enumerate(self.masks)]
        layer = self.make()
        graph = layer.build_graph(5)
        model = graph if len(inputs) == 1 else lambda *inputs: graph(inputs)
        for change in (0, 1):
            layer.feed_forward.outer.bias.assign_add(change * np.arange(8.0))
            np.testing.assert_allclose(numpy(model(*inputs)), numpy(layer(*inputs)), atol=1e-6)
        assert len(graph.weights) == len(layer.weights)

    def test_vectors_of_another_size_are_refused(self):
        x, *others = self.vectors().values()
        with pytest.raises(ValueError, match=r"must have the size `d_model`=8\. Received: 6"):
            self.make()(x[..., :6], *others)


class StackContract(BlockContract):
    """Tests that every stack must pass."""

    sizes = STACK_SIZES

    def test_applies_its_layers_in_sequence(self, called):
        stack, inputs = called.layer, dict(called.inputs)
        x = inputs.pop("x")
        assert len(stack.layers) == 2
        for layer in stack.layers:
            x = layer(x, **inputs)
        np.testing.assert_allclose(numpy(stack.final_norm(x)), called.output, atol=1e-5)

    def test_output_is_normalized_once(self):
        stack, inputs = self.make(), self.vectors()
        y = output(stack, {**inputs, "x": 10 * inputs["x"]})
        np.testing.assert_allclose(y.mean(axis=-1), 0, atol=1e-5)
        np.testing.assert_allclose(y.std(axis=-1), 1, atol=1e-3)
        assert bool(stack.final_norm.weights) == stack.settings.norm_first


class PreNormStackContract(StackContract):
    """Tests that every stack with pre-norm must pass."""

    options = PRE_NORM

    def test_activation_is_passed_to_its_layers(self, called):
        other = make_block(self.block, **{**PRE_NORM, "activation": "relu"})
        other(**called.inputs)
        other.set_weights(called.layer.get_weights())
        assert np.abs(output(other, called.inputs) - called.output).max() > 1e-3

    def test_dropout_applies_to_the_input(self):
        stack, ones = self.make(rate=0.5), {x: np.ones_like(y) for x, y in self.vectors().items()}
        stack(**ones)
        stack.set_weights([np.zeros(w.shape) for w in stack.weights])  # every sub-layer outputs 0
        stack.final_norm.gamma.assign(np.ones(8))
        # The norm outputs zeros unless some inputs are dropped.
        np.testing.assert_allclose(numpy(stack(**ones, training=False)), 0, atol=1e-6)
        assert np.abs(numpy(stack(**ones, training=True))).max() > 0.1
