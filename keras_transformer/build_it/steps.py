"""The thirteen steps: what is written in each, how it is checked, and three hints."""

from collections.abc import Callable
from typing import Any, NamedTuple

import keras_transformer as kt
from keras_transformer.backends import backend_module
from keras_transformer.build_it import attention, layers, training
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.inference.search import greedy_search
from keras_transformer.layers._heads import merge_heads, split_heads
from keras_transformer.objectives.losses import token_losses


class Step(NamedTuple):
    """A step of the exercise.

    Args:
        title: what it is about.
        checks: dictionary from a name in the file to a function that raises `Unsolved` or `Wrong`;
            it takes a dictionary of the learner's functions and classes.
        library: what the library has in the place of these names.
        hints: three, from a question to almost the code.
    """

    title: str
    checks: dict[str, Callable[[dict[str, Any]], None]]
    library: tuple[Any, ...]
    hints: tuple[str, str, str]


def _step(title, checks, library, *hints):
    return Step(title, checks, library, hints)


STEPS = (
    _step(
        "tokens and padding",
        {"to_ids": attention.check_tokens},
        (kt.WordTokenizer.encode, encode_source),
        "Two things: a list of numbers for each sentence, then an array for all of them.",
        "vocabulary.get(word, UNKNOWN) never fails. np.full(shape, PADDING, 'int32') is an "
        "array of padding, whose rows you can overwrite from the left.",
        "rows = [[vocabulary.get(word, UNKNOWN) for word in x.split()] + [END] for x in "
        "sentences]; then ids[i, : len(row)] = row for each of them.",
    ),
    _step(
        "embedding and positions",
        {"positions": attention.check_positions, "Embedding": attention.check_embedding},
        (kt.sinusoidal_encoding, kt.PositionEmbeddingFixedWeights),
        "A column of positions times a row of frequencies is a matrix of angles, (T, D / 2).",
        "The frequencies are base ** (-np.arange(0, d, 2) / d). ops.stack([sines, cosines], "
        "axis=-1) has the shape (T, D / 2, 2), and a reshape lets them alternate.",
        "angles = ops.cast(ops.arange(length), 'float32')[:, None] * frequencies. The layer: "
        "self.words(ids) * self.d**0.5 + positions(ops.shape(ids)[1], self.d).",
    ),
    _step(
        "scaled dot-product attention",
        {"attention": attention.check_attention},
        (kt.DotProductAttention,),
        "Which matrix says how well each query fits each key? Its shape is (T, S).",
        "ops.swapaxes(keys, -1, -2) is Kᵀ. The softmax runs over the keys, the last axis.",
        "scores = ops.matmul(queries, Kᵀ) / keys.shape[-1] ** 0.5; the result is "
        "ops.matmul(ops.softmax(scores, axis=-1), values).",
    ),
    _step(
        "masks",
        {
            "padding_mask": attention.check_padding_mask,
            "causal_mask": attention.check_causal_mask,
            "attention": attention.check_masked_attention,
        },
        (kt.padding_mask, kt.causal_mask),
        "A mask is the result of a comparison: of ids with 0, of positions with positions.",
        "ops.expand_dims(x, 1) adds an axis. A column of positions >= a row of positions is a "
        "matrix. In `attention`, ops.where(mask, scores, …) replaces scores.",
        "ops.not_equal(ops.expand_dims(ids, 1), PADDING); places[:, None] >= places with places "
        "= ops.arange(length); and, if there is a mask, before the softmax: scores = "
        "ops.where(mask, scores, -1e9).",
    ),
    _step(
        "heads split and merged",
        {
            "split": attention.check_split,
            "merge": attention.check_merge,
            "MultiHead": attention.check_multi_head,
        },
        (split_heads, merge_heads, kt.MultiHeadAttention),
        "Cutting the last axis in two is a reshape. Then two axes stand in the wrong order.",
        "Reshape to (B, T, N, H), then ops.transpose(x, (0, 2, 1, 3)). Merging takes these two "
        "steps in reverse order.",
        "In `call`: queries = split(self.query(x), self.heads), keys and values likewise from "
        "memory; a mask gets the axis of the heads by ops.expand_dims(mask, -3); the result is "
        "self.output_projection(merge(attention(…))).",
    ),
    _step(
        "add and norm",
        {"LayerNorm": layers.check_norm, "add_norm": layers.check_add_norm},
        (kt.LayerNormalization, kt.AddNormalization),
        "Over which axis is the mean of one vector? Which sum is the free way back?",
        "ops.mean(x, axis=-1, keepdims=True). The variance is the mean of (x - mean) ** 2.",
        "self.scale * (x - mean) / ops.sqrt(variance + 1e-5) + self.shift; and x + "
        "sublayer(norm(x)).",
    ),
    _step(
        "feed-forward",
        {"FeedForward": layers.check_feed_forward},
        (kt.FeedForward,),
        "A keras.layers.Dense(size) works on the last axis, and so on each word alone.",
        "Dense(d_ff, activation='relu') contains the max(0, …).",
        "self.outer(self.inner(x)).",
    ),
    _step(
        "encoder and decoder layer",
        {
            "EncoderLayer": layers.check_encoder_layer,
            "DecoderLayer": layers.check_decoder_layer,
        },
        (kt.EncoderLayer, kt.DecoderLayer),
        "A line of `call` for each part: x = add_norm(x, the part as a function, its norm).",
        "The part as a function: lambda y: self.dropout(self.attention(y, y, mask)). In the "
        "cross-attention, the second argument is `encoded`.",
        "x = add_norm(x, lambda y: self.dropout(self.attention(y, y, attention_mask)), "
        "self.norm_1), then the same with feed_forward and norm_2.",
    ),
    _step(
        "model",
        {"Transformer": layers.check_model},
        (kt.TransformerModel,),
        "Who reads which mask? The source hides its padding from everyone; the target hides its "
        "padding and its future from itself.",
        "encode: embedding, dropout, each layer in turn, norm. decode: the same with the other "
        "parts, then the projection.",
        "mask = ops.logical_and(padding_mask(target), causal_mask(ops.shape(target)[1])); x = "
        "layer(x, encoded, mask, padding_mask(source)) for each layer.",
    ),
    _step(
        "masked loss",
        {"masked_loss": training.check_loss},
        (token_losses, kt.MaskedCrossEntropy),
        "The mean of what? A sum of the words' costs, divided by the number of words.",
        "is_word = ops.cast(ops.not_equal(target, PADDING), costs.dtype) is 1 and 0.",
        "ops.sum(costs * is_word) / ops.sum(is_word).",
    ),
    _step(
        "schedule",
        {"learning_rate": training.check_schedule},
        (kt.WarmupSchedule.__call__,),
        "Which of the two is smaller at the beginning, t^-0.5 or t · warm_up^-1.5?",
        "A whole number has no root in TensorFlow: ops.cast(step, 'float32') first, then + 1.",
        "d**-0.5 * ops.minimum(t**-0.5, t * warm_up**-1.5).",
    ),
    _step(
        "training step",
        {"make_step": training.check_step},
        (backend_module().TrainingStep,),
        "Four lines: compute the loss while a tape listens, ask it for the gradients, apply.",
        "import tensorflow as tf; with tf.GradientTape() as tape: …; then tape.gradient(loss, "
        "weights).",
        "@tf.function(input_signature=[ids, ids, ids]) above def step(source, decoder_input, "
        "target), and optimizer.apply_gradients(zip(gradients, weights)).",
    ),
    _step(
        "greedy decoding",
        {"greedy": training.check_greedy},
        (greedy_search,),
        "The model predicts at every position. Which position predicts the next word?",
        "Begin with a column of START. ops.convert_to_numpy(model((source, written)))[:, -1]"
        ".argmax(-1) are the next words. Remember which rows have ended, and write PADDING there.",
        "while written.shape[1] <= length and not ended.all(): …; at the end, return written[:, "
        "1:].",
    ),
)
