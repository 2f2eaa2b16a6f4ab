"""Checks of the steps 1 to 5: from tokens to multi-head attention."""

import math

import keras
import numpy as np
from keras.ops import convert_to_numpy as to_numpy

import keras_transformer as kt
from keras_transformer._utils.special_tokens import END_ID, PADDING_ID, START_ID, UNKNOWN_ID
from keras_transformer.build_it.checking import (
    Wrong,
    call,
    call_for_numbers,
    compare,
    expect,
    numbers,
    softmax,
)
from keras_transformer.build_it.parts import HEADS, copy_weights, find, make, shake
from keras_transformer.data.tokenizers import encode_source

CLOSE = 1e-5  # the difference that is allowed, relative


def check_tokens(yours):
    sentences = ["we are here now", "hello zebra", "we"]
    tokenizer = kt.WordTokenizer.train(["we are here now", "hello"])
    vocabulary = {token: i for i, token in enumerate(tokenizer.tokens(range(tokenizer.vocab_size)))}
    rows = [encode_source(tokenizer, sentence) for sentence in sentences]
    right = np.array([row + [PADDING_ID] * (5 - len(row)) for row in rows])
    plain = {token.removeprefix("▁"): i for token, i in vocabulary.items() if i > END_ID}
    returned = call(find(yours, "to_ids"), sentences, plain)
    found = numbers(returned)
    expect(found.shape != right.T.shape, "A sentence is a column. It should be a row.")
    expect(found.ndim == 2 and len(found) == 3, "Expected an array with a row for each sentence.")
    expect(
        np.asarray(returned).dtype.kind in "iu",
        f"The numbers of words are whole, dtype int32. Yours have {np.asarray(returned).dtype}.",
    )
    expect(START_ID not in found, "START is for what the decoder reads. A source has only END.")
    expect((found == END_ID).any(axis=1).all(), "A sentence has no END (3) after its last word.")
    length = found.shape[1]
    expect(length >= 5, f"{length} numbers in a row. The longest sentence has 4 words and END.")
    expect(length == 5, f"{length} numbers in a row. 5 are enough for 4 words and END.")
    expect((found[0] != right[0, [3, 2, 1, 0, 4]]).any(), "The words stand in reverse order.")
    expect(found[2, 0] not in (0, END_ID), "The padding stands in front. Words come first.")
    expect(found[2, 1] == END_ID, "END follows the last word; the padding comes after END.")
    expect(found[1, 2] == END_ID, "An unknown word was left out. It becomes UNKNOWN (1).")
    expect(found[1, 1] != PADDING_ID, "An unknown word became PADDING, and nobody will see it.")
    expect(found[1, 1] == UNKNOWN_ID, f"An unknown word became {found[1, 1]:.0f}, not UNKNOWN (1).")
    expect(
        (found[right == 0] == 0).all(),
        f"The rows are filled up with {found[2, -1]:.0f}. PADDING is 0.",
    )
    compare(found, right, "Look each word up in the vocabulary.")


def check_positions(yours):
    function, right = find(yours, "positions"), to_numpy(kt.sinusoidal_encoding(6, 8))
    t, i = np.arange(6.0)[:, None], np.arange(0, 8, 2)
    found = call_for_numbers(function, 6, 8, shape=(6, 8))

    def waves(angles, order=(0, 1)):
        both = np.sin(angles), np.cos(angles)
        return np.stack([both[k] for k in order], axis=-1).reshape(6, 8)

    angles, odd = t / 10000 ** (i / 8), np.arange(8) % 2 == 1
    each = t / 10000 ** (np.arange(8) / 8)
    compare(
        found,
        right,
        "Write down positions(2, 4) by hand and compare.",
        (np.concatenate([np.sin(angles), np.cos(angles)], 1), "All sines stand before all cosines. "
         "They should alternate: stack both on a new last axis, then reshape."),
        (waves(angles, (1, 0)), "Sine and cosine are exchanged: entry 0 is a sine."),
        (np.where(odd, np.cos(each), np.sin(each)), "Entry 2i + 1 is the cosine of the same angle "
         "as entry 2i: the exponent of both is 2i/D."),
        (waves((t + 1) / 10000 ** (i / 8)), "The first position is 0, not 1."),
        (waves(t / 10000 ** (2 * i / 8)), "The exponent is 2i/D, and 2i is already 0, 2, 4, …"),
        (waves(t * 10000 ** (i / 8)), "The exponent is negative: t is divided by 10000^(2i/D)."),
        (waves(t * 0 + 10000 ** (-i / 8)), "All positions are equal. Where is t?"),
        tolerance=CLOSE,
    )  # fmt: skip


def check_embedding(yours):
    layer, ids = make(yours, "Embedding", 9, 8), np.array([[5, 7, 5], [1, 0, 8]])
    theirs = kt.PositionEmbeddingFixedWeights(None, 9, 8)
    right = theirs(ids)
    found = call_for_numbers(layer, ids)
    copy_weights(layer, theirs, {"words": "words"})
    found = call_for_numbers(layer, ids, shape=(2, 3, 8))
    words = theirs.get_weights()[0][ids]
    place = to_numpy(kt.sinusoidal_encoding(3, 8))
    compare(
        found,
        to_numpy(right),
        "The result is √D · E[id] + position.",
        (words + place, "The words are not multiplied by √D: the positions drown them."),
        (words * 8 + place, "The words are multiplied by D instead of its root."),
        ((words + place) * 8**0.5, "The positions are multiplied by √D as well: scale, then add."),
        (words * 8**0.5, "The positions are missing: word order would not matter."),
        (words * 8**0.5 * place, "Positions are added to the words, not multiplied."),
        (words * 8**0.5 + place[ids // 9], "Every word gets position 0. Positions count the words "
         "of a sentence, the second axis of ids."),
        tolerance=CLOSE,
    )  # fmt: skip
    try:
        layer(keras.Input((None,), dtype="int32"))
    except Exception as error:
        raise Wrong(
            "It fails for sentences of any length, as when a model is traced and the length is a "
            "tensor: use `ops` instead of NumPy for what depends on it."
        ) from error
    large = make(yours, "Embedding", 50, 512)
    call(large, np.array([[1]]))
    spread = float(np.std(to_numpy(large.weights[0])))
    expect(0.02 < spread < 0.08, f"The numbers of `words` begin with a standard deviation of "
           f"{spread:.2f} for D = 512. It should be 512^-0.5 = 0.04.")  # fmt: skip


def check_attention(yours):
    random = np.random.default_rng(0)
    q, k, v = (random.normal(size=(2, n, 4)).astype("float32") for n in (3, 5, 5))
    function, library = find(yours, "attention"), kt.DotProductAttention()
    found = call_for_numbers(function, q, k, np.eye(5, dtype="float32")[None], shape=(2, 3, 5))
    _check_rows(found)
    s = q @ k.swapaxes(1, 2)
    compare(
        found,
        to_numpy(library(q, k, np.eye(5, dtype="float32")[None])),
        "With the identity as values, the result is the weights. They are no softmax of Q Kᵀ / √H.",
        (softmax(s), "The scores are not divided by √H: large ones would leave no gradient."),
        (softmax(s / 4), "The scores are divided by H instead of its root."),
        (softmax(s * 2), "The scores are multiplied by √H instead of divided."),
        (softmax(s / 5**0.5), "√ of the number of keys instead of √H: H is the last axis of keys."),
        tolerance=CLOSE,
    )  # fmt: skip
    found = call_for_numbers(function, q, k, v, shape=(2, 3, 4))
    compare(
        found, to_numpy(library(q, k, v)), "Multiply the weights by the values, as matrices.",
        (to_numpy(library(q, k, k)), "The keys are mixed instead of the values."), tolerance=CLOSE,
    )  # fmt: skip
    arrays = [np.stack([x, 2 * x]) for x in (q, k, v)]
    _compare_leading(function, library, arrays)


def _check_rows(weights):
    sums, columns = weights.sum(axis=-1), weights.sum(axis=-2)
    if not np.allclose(sums, 1, atol=CLOSE):
        b, row = np.argwhere(~np.isclose(sums, 1, atol=CLOSE))[0]
        text = f"The sum of row {row} is {sums[b, row]:.2f}, not 1"
        expect(
            not np.allclose(columns, 1, atol=1e-4),
            f"{text}, but each column sums to 1: the softmax runs over the queries. It should run "
            "over the keys, the last axis.",
        )
        expect(
            not np.allclose(weights.sum(axis=(-2, -1)), 1, atol=1e-4),
            f"{text}: all weights of a sentence together are 1. Each query has a softmax of its "
            "own, over the last axis.",
        )
        expect((weights >= 0).all(), f"{text}, and some weights are negative: is there a softmax?")
        expect(
            not np.allclose(sums, 0.5, atol=1e-4),
            f"{text}: divide the scores by √H, not the weights after the softmax.",
        )
        raise Wrong(f"{text}: is it a softmax over the right axis, and nothing after it?")
    expect((weights >= 0).all(), "Some weights are negative. A softmax has none.")


def _compare_leading(function, library, arrays):
    try:
        found = call_for_numbers(function, *arrays, shape=(2, 2, 3, 4))
    except Wrong as wrong:
        raise Wrong(f"{wrong} This was with an axis more in front: exchange and multiply the last "
                    "two axes only, ops.swapaxes(keys, -1, -2).") from wrong  # fmt: skip
    right = to_numpy(library(*arrays))
    compare(found, right, "With an axis more in front, the result is another.", tolerance=CLOSE)


def _boolean(mask):
    dtype = keras.backend.standardize_dtype(getattr(mask, "dtype", "float"))
    expect(dtype == "bool", f"The mask has the dtype {dtype}. Compare, and the result is bool.")
    return keras.ops.convert_to_numpy(mask)


def check_padding_mask(yours):
    function = find(yours, "padding_mask")
    ids = np.array([[5, 1, 3, 0], [4, 3, 0, 0]], "int32")
    found, right = _boolean(call(function, ids)), to_numpy(kt.padding_mask(ids))
    expect(
        found.shape != (2, 4),
        "The axis for the queries is missing: (B, 1, S), or the mask of one sentence is taken for "
        "that of another query.",
    )
    expect(found.shape != (2, 4, 1), "The axis of 1 is for the queries, before that of the keys.")
    expect(found.shape == (2, 1, 4), f"Expected (B, 1, S) = (2, 1, 4), not {found.shape}.")
    expect((found == right).any(), "The mask is inverted: True = may attend, where a word is.")
    expect(found[0, 0, 1], "UNKNOWN (1) is masked. It is a word, if not a known one.")
    expect(found[0, 0, 2], "END (3) is masked. Only 0 is padding.")
    expect((found == right).all(), "True where the id is not 0, and False where it is.")


def check_causal_mask(yours):
    function = find(yours, "causal_mask")
    found, right = _boolean(call(function, 4)), to_numpy(kt.causal_mask(4))
    expect(found.shape == (4, 4), f"Expected the shape (T, T) = (4, 4), not {found.shape}.")
    expect(not found.all(), "Everything is True: the future is not hidden.")
    expect((found == right).any(), "The mask is inverted: it hides the past. True = may attend.")
    expect(found.diagonal().any(), "A position does not see itself: the diagonal must be True.")
    expect(not (found == right.T).all(), "This is the upper triangle: row t may attend to 0 … t.")
    expect((found == right).all(), "Row t is True at the positions 0 to t.")


def check_masked_attention(yours):
    function = find(yours, "attention")
    random, eye = np.random.default_rng(1), np.eye(4, dtype="float32")[None]
    q, k = (random.normal(size=(2, 4, 3)).astype("float32") for _ in range(2))
    ids = np.array([[5, 7, 8, 3], [4, 3, 0, 0]], "int32")
    mask = to_numpy(kt.combine_masks(kt.padding_mask(ids), kt.causal_mask(4)))
    found = call_for_numbers(function, q, k, eye, mask=mask, finite=False, shape=(2, 4, 4))
    scores, right = q @ k.swapaxes(1, 2) / 3**0.5, kt.DotProductAttention()(q, k, eye, mask)
    right = to_numpy(right)
    compare(
        found,
        right,
        "Where the mask is False, make the score so low that its weight is 0, before the softmax.",
        (softmax(scores), "`attention` ignores the mask: return to step 3 and use it."),
        (np.where(mask, softmax(scores), 0), "The mask is applied after the softmax, and the "
         "rows no longer sum to 1: mask the scores before it."),
        (softmax(np.where(mask, scores, 0)), "A masked score is 0, but e⁰ is 1: it gets weight. "
         "It must be very low, such as -1e9."),
        (softmax(np.where(mask, -1e9, scores)), "`attention` sees exactly what is masked: the mask "
         "is used the wrong way round."),
        tolerance=CLOSE,
    )  # fmt: skip
    nothing = call_for_numbers(function, q, k, eye, mask=np.zeros((2, 4, 4), bool), finite=False)
    expect(
        np.isfinite(nothing).all(),
        "A query that may attend to nothing gives NaN: fill masked scores with -1e9, not with "
        "minus infinity.",
    )


def check_split(yours):
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    by_head = x.reshape(2, 3, 4, 2).transpose(0, 2, 1, 3)
    found = call_for_numbers(find(yours, "split"), x, 4)
    expect(
        found.shape != (2, 3, 4, 2),
        "The heads are cut, but their axis stands behind that of the words: exchange the two, or "
        "each word attends to its own heads.",
    )
    expect(found.shape != (2, 4, 2, 3), "The last two axes are exchanged: (B, N, T, H).")
    expect(found.shape == (2, 4, 3, 2), f"Expected (B, N, T, H) = (2, 4, 3, 2), not {found.shape}.")
    compare(
        found,
        by_head,
        "Head 0 has the first H numbers of every word.",
        (x.reshape(2, 4, 3, 2), "Reshape alone mixes the words: head 0 has numbers of the first "
         "word only. Reshape to (B, T, N, H), then transpose."),
        (x.reshape(2, 3, 2, 4).transpose(0, 3, 1, 2), "Head 0 takes every fourth number. Reshape "
         "to (B, T, N, H), with the heads before their size."),
        tolerance=CLOSE,
    )  # fmt: skip


def check_merge(yours):
    x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    by_head = x.reshape(2, 3, 4, 2).transpose(0, 2, 1, 3)
    found = call_for_numbers(find(yours, "merge"), by_head)
    expect(found.shape == (2, 3, 8), f"`merge` gives (B, T, D) = (2, 3, 8), not {found.shape}.")
    compare(
        found,
        x,
        "`merge` must undo `split`.",
        (by_head.reshape(2, 3, 8), "Heads merged by reshape alone: transpose back to (B, T, N, H) "
         "before."),
        (x.reshape(2, 3, 4, 2).swapaxes(2, 3).reshape(2, 3, 8), "Transposed to (B, T, H, N): the "
         "numbers of the heads alternate. It should be (B, T, N, H)."),
        tolerance=CLOSE,
    )  # fmt: skip


def check_multi_head(yours):
    random = np.random.default_rng(1)
    x, memory = (random.normal(size=(2, n, 8)).astype("float32") for n in (3, 5))
    layer, theirs = make(yours, "MultiHead", 4, 8), kt.MultiHeadAttention(4, 2, 2, 8)
    theirs(x, memory, memory)
    shake(theirs)
    call(layer, x, memory)
    copy_weights(layer, theirs, HEADS)
    found = call_for_numbers(layer, x, memory)
    expect(found.shape != memory.shape, "Queries come from x, keys and values from memory.")
    expect(found.shape == x.shape, f"Expected (B, T, D) = {x.shape}, not {found.shape}.")
    weights = theirs.get_weights()
    w = {name: weights[2 * i : 2 * i + 2] for i, name in enumerate("qkvo")}  # kernel and bias
    compare(
        found,
        to_numpy(theirs(x, memory, memory)),
        "Project, split, attend, merge, project.",
        (_mixture(w, x, memory, heads=1), "There is only one head: split before you attend."),
        (_mixture(w, x, memory, root=8), "√D divides the scores instead of √H."),
        (_mixture(w, x, memory, reshape=True), "Heads merged by reshape alone: use `merge`."),
        (_mixture(w, x, x), "memory is ignored: keys and values should come from it."),
        tolerance=CLOSE,
    )  # fmt: skip
    mask = np.arange(5)[None, None] < np.array([5, 2])[:, None, None]
    found = call_for_numbers(layer, x, memory, attention_mask=mask, shape=x.shape)
    right = to_numpy(theirs(x, memory, memory, attention_mask=mask))
    ignored = "The mask is not passed on to `attention`."
    compare(
        found, right, "With a mask, the result is another. It has no axis of heads: add one.",
        (_mixture(w, x, memory), ignored), tolerance=CLOSE,
    )  # fmt: skip


def _mixture(w, x, memory, heads=4, root=None, reshape=False):
    """Computes multi-head attention, or what one of the mistakes gives."""
    inputs = zip((x, memory, memory), "qkv", strict=True)
    q, k, v = (y @ w[name][0] + w[name][1] for y, name in inputs)
    q, k, v = (y.reshape(2, -1, heads, 8 // heads).swapaxes(1, 2) for y in (q, k, v))
    mixed = softmax(q @ k.swapaxes(2, 3) / math.sqrt(root or 8 // heads)) @ v
    mixed = (mixed if reshape else mixed.swapaxes(1, 2)).reshape(2, -1, 8)
    return mixed @ w["o"][0] + w["o"][1]
