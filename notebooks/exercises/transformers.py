"""Checks of notebooks 04 to 06: positions, heads and masks, the transformer."""

import numpy as np

from exercises.numbers import Numbers
from keras_transformer.build_it.checking import (
    Wrong,
    call,
    call_for_numbers,
    compare,
    numbers,
    several,
)


def _relative(function):
    for length, k in ((4, 2), (6, 3)):
        found = call_for_numbers(function, length, k, shape=(length, length))
        distances = np.arange(length) - np.arange(length)[:, None]
        compare(
            found,
            np.clip(distances, -k, k) + k,
            "Row i, column j: the distance j - i, cut off at -k and k, and shifted so that the "
            "smallest is 0.",
            (
                np.clip(-distances, -k, k) + k,
                "The sign is reversed: a key to the right is positive.",
            ),
            (np.clip(distances, -k, k), "Add k, so that the numbers are rows of a table, from 0."),
            (distances + k, "Distances beyond -k and k must be cut off: see np.clip."),
        )


def _rotated(x, positions, base=10000.0, sign=1, halves=False, step=2):
    d = x.shape[-1]
    angles = sign * positions[:, None] * base ** (-step * np.arange(d // 2) / d)
    a, b = (x[:, : d // 2], x[:, d // 2 :]) if halves else (x[:, ::2], x[:, 1::2])
    turned = a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)
    return np.concatenate(turned, axis=1) if halves else np.stack(turned, axis=-1).reshape(x.shape)


def _rotate(function):
    x = np.random.default_rng(0).normal(size=(5, 6))
    found = call_for_numbers(function, x, np.zeros(5), shape=(5, 6))
    compare(found, x, "At position 0 the angles are 0, and nothing is turned: that must return x.")
    positions = np.array([0.0, 1, 2, 5, 9])
    found = call_for_numbers(function, x, positions, shape=(5, 6))
    if not np.allclose(np.linalg.norm(found, axis=1), np.linalg.norm(x, axis=1), rtol=1e-4):
        raise Wrong(
            "Your vectors change their length, so this is no rotation. Use the old pair for "
            "both of the new entries, and mind the signs."
        )
    compare(
        found,
        _rotated(x, positions),
        "Pair i is x[:, 2 i] and x[:, 2 i + 1], and turns by the angle position · n ** (-2 i / d).",
        (_rotated(x, positions, sign=-1), "The pairs turn in the wrong direction: mind the signs."),
        (_rotated(x, positions, halves=True), "A pair is two entries that stand side by side."),
        (_rotated(x, positions, step=1), "The frequencies are n ** (-2 i / d), with the 2."),
    )


def _sentence_mask(function):
    for segments in ([1, 1, 1, 2, 2, 0], [1, 2, 2, 2, 2, 0, 0]):
        segments = np.array(segments)
        n = len(segments)
        found = call_for_numbers(function, segments, shape=(n, n)).astype(bool)
        past = np.tri(n, dtype=bool)
        same = segments[:, None] == segments
        words = np.broadcast_to(segments != 0, (n, n))
        if (found & ~past).any():
            raise Wrong("Some words see a later position: the mask must also be causal.")
        if (found & ~words).any():
            raise Wrong("Some positions see padding, whose number is 0. No row may.")
        if (found & ~same).any():
            raise Wrong("Some words see a word of another sentence: compare the numbers.")
        if not np.array_equal(found, past & same & words):
            raise Wrong(
                "Some words do not see what they may: the earlier words of their sentence and "
                "themselves."
            )


def _changed_logits(answer):
    lists = several(answer, ("the positions for the target", "the positions for the source"))
    target, source = (sorted(numbers(part).reshape(-1).tolist()) for part in lists)
    if target == [3, 4]:
        raise Wrong("The decoder reads word 2 at position 2: what it predicts there changes, too.")
    if target in ([0, 1, 2, 3, 4], [0, 1, 2]):
        raise Wrong(
            "The future cannot change the past: the causal mask hides target word 2 from some."
        )
    if target == [2]:
        raise Wrong("All later positions look back at target word 2.")
    if target != [2, 3, 4]:
        raise Wrong("The first list is not right. Which positions of the target see its word 2?")
    if source == [2, 3, 4]:
        raise Wrong(
            "No causal mask hides the source: the decoder may see all of it from the start."
        )
    if source != [0, 1, 2, 3, 4]:
        raise Wrong("The second list is not right. Which target positions may look at the source?")


def _layer_norm(function):
    random = np.random.default_rng(0)
    x, scale, shift = random.normal(2, 3, (2, 4)), random.normal(size=4), random.normal(size=4)

    def norm(axis=-1, ddof=0, root=np.sqrt, scale=scale, shift=shift):
        centered = x - x.mean(axis=axis, keepdims=True)
        variance = x.var(axis=axis, keepdims=True, ddof=ddof)
        return centered / root(variance + 1e-5) * scale + shift

    compare(
        call_for_numbers(function, x, scale, shift, shape=(2, 4)),
        norm(),
        "Per word: subtract the mean, divide by the root of the variance, then scale and shift.",
        (
            norm(axis=0),
            "The mean runs over the entries of a word, the last axis, not over the words.",
        ),
        (
            norm(axis=None),
            "Each word has a mean and a variance of its own: axis=-1, keepdims=True.",
        ),
        (norm(ddof=1), "The variance divides by the number of entries, not by one less."),
        (norm(root=lambda v: v), "Divide by the root of the variance."),
        (norm(scale=1, shift=0), "Scale and shift are missing."),
    )
    x = np.full((1, 4), 3.0)
    found = call_for_numbers(function, x, scale, shift, shape=(1, 4), finite=False)
    if not np.allclose(found, shift, atol=1e-3):
        raise Wrong(
            "Right, except for a word whose entries are all equal. Its variance is 0, and your "
            f"result is {np.round(found[0], 3)} instead of the shift. Add epsilon to the variance."
        )


def _post_norm(layer_class):
    import keras
    from keras import ops

    from keras_transformer import BlockSettings, EncoderLayer, causal_mask

    if layer_class is not ... and not isinstance(layer_class, type):
        raise Wrong("The check needs the class itself: its name, without parentheses after it.")
    random = np.random.default_rng(0)
    x = ops.convert_to_tensor(random.normal(size=(1, 5, 8)), "float32")
    yours = call(layer_class, 2, 8, 16, 0.0)
    if not isinstance(yours, keras.layers.Layer):
        raise Wrong("Derive the class from EncoderLayer, and write another `call`.")
    call(yours.call, x)
    weights, expected = None, []
    for norm_first in (False, True):
        layer = EncoderLayer(
            settings=BlockSettings(h=2, d_model=8, d_ff=16, rate=0.0, norm_first=norm_first)
        )
        layer(x)
        weights = weights or [w + random.normal(0, 0.3, w.shape) for w in layer.get_weights()]
        layer.set_weights(weights)
        outputs = layer(x, attention_mask=causal_mask(5)), layer(x)
        expected += [ops.convert_to_numpy(y) for y in outputs]
    if [w.shape for w in yours.get_weights()] != [w.shape for w in weights]:
        raise Wrong("Change `call` alone: the parts and their weights stay those of EncoderLayer.")
    yours.set_weights(weights)
    compare(
        call_for_numbers(yours.call, x, causal_mask(5), shape=(1, 5, 8)),
        expected[0],
        "Twice x ← norm(x + f(x)): first with the attention, then with the feed-forward network.",
        (expected[1], "The attention mask is not passed on."),
        (expected[2], "This is still pre-norm: the norm is around the sum, not in front of f."),
        (expected[3], "This is pre-norm, and the attention mask is not passed on."),
    )


_ENCODER_LAYER = 1_050_624 + (512 * 2048 + 2048 + 2048 * 512 + 512) + 2 * 1024
_DECODER_LAYER = _ENCODER_LAYER + 1_050_624 + 1024
_EXPONENTIALS = np.exp([0, np.log(3), 5])

CHECKS = {
    "4.1": Numbers(
        [3, 1, 7, 2, 0],
        "Look up each word in the list, counting from 0, and fill up to five with padding.",
        ([3, 0, 7, 2, 0], "0 is padding. A word that is not in the list has the id 1."),
        ([4, 2, 8, 3, 0], "The list begins with the id 0."),
        ([3, 1, 7, 2, 1], "Padding has the id 0."),
    ),
    "4.2": Numbers(
        [0, 1, 0, 1, 0, 1],
        "All angles are 0 at position 0: each pair is a sine and a cosine of 0.",
        ([0, 0, 0, 0, 0, 0], "The cosine of 0 is not 0."),
        ([0, 0, 0, 1, 1, 1], "Sines and cosines take turns."),
        ([1, 0, 1, 0, 1, 0], "The sine of a pair comes first."),
    ),
    "4.3": Numbers(
        [64, np.cos(7)],
        "The product is the sum of cos(ω_i (s - t)) over d / 2 pairs.",
        ([128, np.cos(7)], "d = 128 numbers are 64 pairs, and each pair gives 1."),
        ([64, np.cos(np.radians(7))], "The angle is 7 radians, not degrees."),
        ([1, np.cos(7)], "For s = t each of the 64 pairs gives cos 0 = 1, and they are added."),
    ),
    "4.4": Numbers(
        512 * 768,
        "The table has a row for each position.",
        (30_522 * 768, "That is the table of the words."),
        ((30_522 + 512) * 768, "Those are both tables. Asked are the weights that positions add."),
        (512, "Each of the 512 positions is a vector of 768 numbers."),
    ),
    "4.5": _relative,
    "4.6": _rotate,
    "5.1": Numbers(
        [0.25, 0.75, 0],
        "The masked score counts as minus infinity, and the exponential of that is 0.",
        (
            [*_EXPONENTIALS[:2] / _EXPONENTIALS.sum(), 0],
            "The weight was set to 0 after the softmax, so the others do not sum to 1.",
        ),
        (_EXPONENTIALS / _EXPONENTIALS.sum(), "The third key is not masked."),
        ([0.2, 0.6, 0.2], "A masked score is not 0 but minus infinity: the exponential of 0 is 1."),
    ),
    "5.2": Numbers(
        [[0, 0], [2, 6]],
        "In the cell `attention`, all scores of the row are equal: what does the softmax do?",
        (
            [[0, 0], [0, 0]],
            "The first row is right. In the second, all scores are -1e9: the softmax looks at "
            "differences only, and there are none.",
        ),
        (
            [[2, 6], [2, 6]],
            "The second row is right. The library returns something else: see the text.",
        ),
        ([[2, 6], [0, 0]], "The other way around: the library is the first row."),
    ),
    "5.3": Numbers(
        [[4, 5], [6, 7]],
        "Reshape fills the new array in the order of the numbers, 0 to 11, head after head.",
        ([[2, 3], [8, 9]], "That is the right split. Asked is what reshape alone gives."),
        ([[0, 1], [2, 3]], "That is head 0. Heads are counted from 0, and head 1 is asked for."),
    ),
    "5.4": Numbers(
        12,
        "Row by row: query t sees the keys 0 to t, but never the keys 3 and 4, which are padding.",
        (15, "That is one of the two masks alone. Both must allow it."),
        (6, "Padding is hidden as a key. The rows of the padding queries still see three words."),
        (9, "Query 0 sees one key, query 1 two: the causal mask counts as well."),
        (25, "That is without masks."),
    ),
    "5.5": Numbers(
        2 * (512 * 512 + 512) + 2 * (512 * 64 + 64),
        "Four projections with bias: two from 512 to 512, and two from 512 to a single head.",
        (1_050_624, "That is with keys and values for each head."),
        (2 * 512 * 512 + 2 * 512 * 64, "The biases are missing."),
        (3 * (512 * 512 + 512) + 512 * 64 + 64, "Keys and values both have a single head."),
    ),
    "5.6": _sentence_mask,
    "6.1": Numbers(
        [1.5**6, 0.5**6],
        "The derivative of x + f(x) is 1 + f'(x). Derivatives of a chain are multiplied.",
        ([1 + 0.5**6, 0.5**6], "The 1 belongs to each layer: multiply 1 + 0.5 six times."),
        ([9, 3], "Derivatives of a chain are multiplied, not added."),
        ([0.5**6, 1.5**6], "The order is: with residual connections, then without."),
    ),
    "6.2": _changed_logits,
    "6.3": Numbers(
        [6 * _ENCODER_LAYER, 6 * _DECODER_LAYER],
        "A layer: one or two attentions, the network with its biases, and a norm for each part.",
        ([_ENCODER_LAYER, _DECODER_LAYER], "Those are the numbers of one layer. There are six."),
        (
            [6 * _ENCODER_LAYER, 6 * _ENCODER_LAYER],
            "The encoder is right. A decoder layer has a second attention, and a norm for it.",
        ),
        (
            [6 * _ENCODER_LAYER, 6 * (_DECODER_LAYER - 1024)],
            "The encoder is right. A decoder layer has three norms.",
        ),
        (
            [6 * (_ENCODER_LAYER - 2560), 6 * (_DECODER_LAYER - 2560)],
            "The two biases of the feed-forward network are missing.",
        ),
        (
            [6 * (_ENCODER_LAYER - 2048), 6 * (_DECODER_LAYER - 3072)],
            "The norms are missing: each has 512 scales and 512 shifts.",
        ),
    ),
    "6.4": _layer_norm,
    "6.5": _post_norm,
}
