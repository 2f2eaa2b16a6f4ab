"""Parity with PyTorch's transformer, using copies of its weights."""

import numpy as np
import pytest
from layer_contract import causal, normal, numpy, padding

from keras_transformer.layers import DecoderLayer, EncoderLayer
from keras_transformer.models import TransformerModel
from keras_transformer.settings import BlockSettings

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.parametrize("norm_first", (False, True), ids=("post_norm", "pre_norm")),
    pytest.mark.parametrize("activation", ("relu", "gelu")),
]

D, HEADS, D_FF = 12, 3, 20
X, Z = normal(2, 5, D), normal(2, 7, D, seed=1)


def test_encoder_layer(norm_first, activation):
    ours = EncoderLayer(settings=settings(norm_first, activation))
    theirs = torch_layer(torch.nn.TransformerEncoderLayer, norm_first, activation)
    ours.build(X.shape)
    copy_encoder_layer(theirs, ours)
    mask = padding(5, 3) & causal(2, 5)
    y = theirs(tensor(X), src_mask=per_head(mask))
    assert_same(ours(X, attention_mask=mask), y)
    assert_same(ours(X), theirs(tensor(X)))


def test_decoder_layer(norm_first, activation):
    ours = DecoderLayer(settings=settings(norm_first, activation))
    theirs = torch_layer(torch.nn.TransformerDecoderLayer, norm_first, activation)
    ours.build(X.shape, Z.shape)
    copy_decoder_layer(theirs, ours)
    own, cross = causal(2, 5), padding(7, 3)
    masks = {"tgt_mask": per_head(own), "memory_key_padding_mask": tensor(~cross[:, 0])}
    y = theirs(tensor(X), tensor(Z), **masks)
    assert_same(ours(X, Z, self_attention_mask=own, cross_attention_mask=cross), y)
    assert_same(ours(X, Z), theirs(tensor(X), tensor(Z)))


def test_model(norm_first, activation):
    """Compares the whole model, from ids to logits; PyTorch gets its masks explicitly."""
    source = np.array([[4, 5, 6, 7, 8, 9], [10, 9, 4, 3, 0, 0]])
    target = np.array([[2, 5, 7, 9, 11], [2, 12, 4, 0, 0]])
    ours = TransformerModel(11, 13, settings=settings(norm_first, activation))
    theirs = torch_transformer(norm_first, activation)
    ours((source, target))
    copy_transformer(theirs, ours)
    y = theirs(
        tensor(embed(ours.source_embedding, source)),
        tensor(embed(ours.target_embedding, target)),
        tgt_mask=tensor(~np.tri(5, dtype=bool)),
        src_key_padding_mask=tensor(source == 0),
        tgt_key_padding_mask=tensor(target == 0),
        memory_key_padding_mask=tensor(source == 0),
    )
    kernel, bias = ours.projection.get_weights()
    assert_same(ours((source, target)), y @ tensor(kernel) + tensor(bias))


def settings(norm_first, activation):
    options = {"norm_first": norm_first, "activation": activation}
    return BlockSettings(h=HEADS, d_model=D, d_ff=D_FF, n=2, rate=0.0, **options)


def torch_layer(layer_class, norm_first, activation):
    """Creates a layer with random weights and no dropout.

    It stays in training mode, which avoids PyTorch's fused inference code.
    """
    torch.manual_seed(0)
    layer = layer_class(
        D, HEADS, D_FF, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first
    )
    return with_random_weights(layer)


def torch_transformer(norm_first, activation):
    """Creates a `torch.nn.Transformer` without the final norms that it adds to post-norm stacks."""
    nn = torch.nn
    norms = [nn.LayerNorm(D) if norm_first else None for _ in range(2)]
    layer = torch_layer(nn.TransformerEncoderLayer, norm_first, activation)
    encoder = nn.TransformerEncoder(layer, 2, norms[0], enable_nested_tensor=False)
    layer = torch_layer(nn.TransformerDecoderLayer, norm_first, activation)
    decoder = nn.TransformerDecoder(layer, 2, norms[1])
    model = nn.Transformer(
        D, HEADS, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    return with_random_weights(model)


def with_random_weights(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module


def embed(embedding, ids):
    """Computes √D times the token embedding plus the sinusoids, in NumPy."""
    angles = np.arange(ids.shape[1])[:, None] / 10000 ** (np.arange(0, D, 2) / D)
    positions = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(-1, D)
    words = numpy(embedding.words.embeddings)[ids]
    return (words * np.sqrt(D) + positions).astype("float32")


def copy_transformer(theirs, ours):
    for stack, copy in ((theirs.encoder, ours.encoder), (theirs.decoder, ours.decoder)):
        copy_layer = copy_encoder_layer if stack is theirs.encoder else copy_decoder_layer
        for layer, other in zip(stack.layers, copy.layers, strict=True):
            copy_layer(layer, other)
        if stack.norm is not None:
            copy_norm(stack.norm, copy.final_norm)


def copy_encoder_layer(theirs, ours):
    copy_attention(theirs.self_attn, ours.self_attention)
    copy_feed_forward(theirs, ours.feed_forward)
    copy_norm(theirs.norm1, ours.add_norm_1.normalization)
    copy_norm(theirs.norm2, ours.add_norm_2.normalization)


def copy_decoder_layer(theirs, ours):
    copy_encoder_layer(theirs, ours)
    copy_attention(theirs.multihead_attn, ours.cross_attention)
    copy_norm(theirs.norm3, ours.add_norm_3.normalization)


def copy_attention(theirs, ours):
    names = ("query", "key", "value")
    kernels, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for name, kernel, bias in zip(names, kernels, biases, strict=True):
        getattr(ours, f"{name}_projection").set_weights([array(kernel).T, array(bias)])
    copy_dense(theirs.out_proj, ours.output_projection)


def copy_feed_forward(theirs, ours):
    copy_dense(theirs.linear1, ours.inner)
    copy_dense(theirs.linear2, ours.outer)


def copy_dense(theirs, ours):
    ours.set_weights([array(theirs.weight).T, array(theirs.bias)])


def copy_norm(theirs, ours):
    ours.set_weights([array(theirs.weight), array(theirs.bias)])


def per_head(mask):
    """Returns the mask in PyTorch's format: (B·N, T, S), True = may not attend."""
    return tensor(~np.repeat(mask, HEADS, axis=0))


def tensor(x):
    return torch.from_numpy(np.ascontiguousarray(x))


def array(x):
    return x.detach().numpy()


def assert_same(ours, theirs):
    np.testing.assert_allclose(numpy(ours), array(theirs), atol=1e-5, rtol=1e-5)
