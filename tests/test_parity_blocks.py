"""Parity of the blocks of today's language models with Hugging Face `transformers`."""

import numpy as np
import pytest
from layer_contract import causal, normal, numpy

from keras_transformer.layers import AddNormalization, FeedForward, MultiHeadAttention, RelativeBias
from keras_transformer.masks import distances

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity


def assert_same(ours, theirs):
    np.testing.assert_allclose(numpy(ours), theirs.detach().numpy(), atol=1e-5, rtol=1e-5)


def test_rms_normalization():
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    x, scale = normal(2, 5, 8), normal(8, seed=1)
    theirs = LlamaRMSNorm(8, eps=0.1)
    theirs.weight.data = torch.from_numpy(scale)
    ours = AddNormalization(norm_first=True, epsilon=0.1, normalization="rms")
    ours.build(x.shape, x.shape)
    ours.set_weights([scale])
    assert_same(ours.sublayer_input(x), theirs(torch.from_numpy(x)))


@pytest.mark.parametrize("activation", ("silu", "gelu"), ids=("SwiGLU", "GEGLU"))
def test_gated_feed_forward(activation):
    from transformers.models.llama.modeling_llama import LlamaMLP

    config = transformers.LlamaConfig(
        hidden_size=8, intermediate_size=12, num_attention_heads=2, hidden_act=activation
    )
    torch.manual_seed(0)
    theirs, x = LlamaMLP(config), normal(2, 5, 8)
    ours = FeedForward(12, 8, activation, gated=True, use_bias=False)
    ours.build(x.shape)
    linear = (theirs.gate_proj, theirs.up_proj, theirs.down_proj)
    ours.set_weights([layer.weight.detach().numpy().T for layer in linear])
    assert_same(ours(x), theirs(torch.from_numpy(x)))


@pytest.mark.parametrize("heads", (4, 6))
def test_alibi(heads):
    """Theirs is relative to the first key, which the softmax does not see in causal attention."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    theirs = build_alibi_tensor(torch.ones(1, 7), heads, torch.float32).reshape(heads, 1, 7)
    ours = numpy(RelativeBias(heads, "alibi")(distances(7, 7))).transpose(2, 0, 1)
    ours, theirs = (np.where(np.tri(7), x, 0) for x in (ours - ours[:, :, :1], theirs.numpy()))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("kind", ("t5", "t5_causal"))
def test_attention_with_the_relative_bias_of_t5(kind):
    from transformers.models.t5.modeling_t5 import T5Attention

    is_decoder = kind == "t5_causal"
    config = transformers.T5Config(d_model=8, d_kv=4, num_heads=3, is_decoder=is_decoder)
    torch.manual_seed(0)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).eval()
    torch.nn.init.normal_(theirs.relative_attention_bias.weight)
    x = normal(2, 150, 8)
    ours = MultiHeadAttention(3, 4, 4, 8, relative_positions=kind, use_bias=False)
    ours.build(x.shape, x.shape, x.shape)
    for part, name in zip(("query", "key", "value", "output"), "qkvo", strict=True):
        kernel = getattr(theirs, name).weight.detach().numpy().T
        # T5 does not divide the scores by the square root of the size.
        getattr(ours, f"{part}_projection").set_weights([kernel * (2 if name == "q" else 1)])
    ours.relative_bias.set_weights([theirs.relative_attention_bias.weight.detach().numpy()])
    mask = causal(2, 150) if is_decoder else np.ones((2, 150, 150), bool)
    hidden = torch.from_numpy(np.where(mask, 0, np.float32(-1e9))[:, None])
    expected = theirs(torch.from_numpy(x), mask=hidden)[0]
    assert_same(ours(x, x, x, attention_mask=mask), expected)
