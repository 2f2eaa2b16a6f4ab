"""The solutions of the exercises that `exercises.check` checks, for after you have tried them."""

import itertools

import numpy as np
from own_cells import EncoderLayer  # notebook 06

SOLUTIONS = {}


def solves(name):
    """Returns a decorator that registers a function or a class as the solution of an exercise."""

    def register(function):
        SOLUTIONS[name] = function
        return function

    return register


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


# Notebook 01

# The exponentials of 0, ln 2 and ln 5 are 1, 2 and 5. Their sum is 8.
SOLUTIONS["1.1"] = [1 / 8, 2 / 8, 5 / 8]

# 1/8 · (8, 0) + 2/8 · (0, 8) + 5/8 · (8, 8)
SOLUTIONS["1.2"] = [1 + 0 + 5, 0 + 2 + 5]

# The product is a sum of 64 terms of variance 1: its variance is 64. Divided by 8, it has 1.
SOLUTIONS["1.3"] = 64**0.5

# e^c / (1 + e^c) = 0.9 means e^c = 9.
SOLUTIONS["1.4"] = np.log(9)


# A number that is subtracted from all scores of a row is a factor of all exponentials and cancels
# out. With the largest score, no exponential exceeds 1. The exponentials that become 0 are those
# that do not count.
@solves("1.5")
def stable_attention(queries, keys, values):
    scores = queries @ keys.T / np.sqrt(keys.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    return weights @ values


# Notebook 02

# (20, 29) W_h = (20 + 29, 2 · 29), and the bias (0, 1) is added.
SOLUTIONS["2.1"] = [49, 59]

# Twenty steps, each with the factor 0.9.
SOLUTIONS["2.2"] = 0.9**20

# The last start is 100 - 12 - 1 = 87, so with stride 1 there are 88. With stride 12 the starts are
# 0, 12, …, 84.
SOLUTIONS["2.3"] = [100 - 12, len(range(0, 88, 12))]

# The input goes to the first entry, and the first entry of the old state to the second: a shift
# register. Nothing else is connected.
SOLUTIONS["2.4"] = [[1, 0]], [[0, 1], [0, 0]], [0, 0]


@solves("2.5")
def gru_step(x, h, W, U, b):
    z = 1 / (1 + np.exp(-(x @ W["z"] + h @ U["z"] + b["z"])))
    r = 1 / (1 + np.exp(-(x @ W["r"] + h @ U["r"] + b["r"])))
    candidate = np.tanh(x @ W["h"] + (r * h) @ U["h"] + b["h"])
    return z * h + (1 - z) * candidate


# Notebook 03

# The scores are 0 and ln 3, the weights 1/4 and 3/4.
SOLUTIONS["3.1"] = [0.25 * 0 + 0.75 * np.log(3), 0.25 * 4 + 0.75 * 0]

# 7 - 2 to 7 + 2, but the last word is at position 8.
SOLUTIONS["3.2"] = [5, 6, 7, 8]

# 20 · 1/2; σ = 2, and exp(-(14 - 10)² / (2 · 2²)).
SOLUTIONS["3.3"] = [10, np.exp(-2)]


@solves("3.4")
def perfect_weights(n):
    return np.eye(n)[::-1]


@solves("3.5")
def luong_scores(kind, s, h, W, v):
    if kind == "dot":
        return h @ s
    if kind == "general":
        return h @ (s @ W)
    stacked = np.concatenate([np.tile(s, (len(h), 1)), h], axis=1)  # (S, a + b)
    return np.tanh(stacked @ W.T) @ v


# Notebook 04

SOLUTIONS["4.1"] = [3, 1, 7, 2, 0]

# sin 0 and cos 0, three times.
SOLUTIONS["4.2"] = [0, 1, 0, 1, 0, 1]

# 64 pairs with cos 0 = 1 each. For d = 2 there is one pair, and its frequency is 1.
SOLUTIONS["4.3"] = [64, np.cos(10 - 3)]

SOLUTIONS["4.4"] = 512 * 768


@solves("4.5")
def relative_positions(length, k):
    positions = np.arange(length)
    return np.clip(positions - positions[:, None], -k, k) + k


# The product of a rotated query and a rotated key depends on the difference of their positions
# alone. The llama family of language models uses these rotations instead of adding positions.
@solves("4.6")
def rotate_pairs(x, positions, n=10000.0):
    d = x.shape[1]
    angles = positions[:, None] * n ** (-np.arange(0, d, 2) / d)  # (T, d / 2)
    first, second = x[:, ::2], x[:, 1::2]
    turned = np.empty(x.shape)
    turned[:, ::2] = first * np.cos(angles) - second * np.sin(angles)
    turned[:, 1::2] = first * np.sin(angles) + second * np.cos(angles)
    return turned


# Notebook 05

# The exponentials are 1, 3 and, for the masked key, 0.
SOLUTIONS["5.1"] = [1 / 4, 3 / 4, 0]

# Three equal scores of -1e9 are, after the softmax, three equal weights: the padding is averaged.
SOLUTIONS["5.2"] = [[0, 0], [2, 6]]

# The numbers of head 1 are then the end of the first word and the beginning of the second.
SOLUTIONS["5.3"] = np.arange(12).reshape(3, 2, 2)[1]

# 1 + 2 + 3, and three for each of the two queries that are padding.
SOLUTIONS["5.4"] = 1 + 2 + 3 + 3 + 3

# Little more than half of 1,050,624. The cache of keys and values is an eighth.
SOLUTIONS["5.5"] = 2 * (512 * 512 + 512) + 2 * (512 * 64 + 64)


@solves("5.6")
def sentence_mask(segments):
    positions = np.arange(len(segments))
    same = segments[:, None] == segments
    return same & (positions[:, None] >= positions) & (segments != 0)


# Notebook 06

# (1 + 0.5)^6 and 0.5^6. The gradient of one chain fades, that of the other does not.
SOLUTIONS["6.1"] = [1.5**6, 0.5**6]

SOLUTIONS["6.2"] = [2, 3, 4], [0, 1, 2, 3, 4]

_ATTENTION = 4 * (512 * 512 + 512)
_FEED_FORWARD = (512 * 2048 + 2048) + (2048 * 512 + 512)
_NORM = 512 + 512
SOLUTIONS["6.3"] = [
    6 * (_ATTENTION + _FEED_FORWARD + 2 * _NORM),
    6 * (2 * _ATTENTION + _FEED_FORWARD + 3 * _NORM),
]


@solves("6.4")
def normalize(x, scale, shift, epsilon=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon) * scale + shift


@solves("6.5")
class PostNormLayer(EncoderLayer):
    def call(self, x, attention_mask=None):
        x = self.norm_1(x + self.dropout(self.attention(x, x, attention_mask)))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))


# Notebook 07

SOLUTIONS["7.1"] = -(np.log(1 / 2) + np.log(1 / 4)) / 2

SOLUTIONS["7.2"] = [[2, 7, 8, 9], [7, 8, 9, 3]]

# Targets: 0.9 + 0.1 / 5 for the right word, 0.1 / 5 for each of the other four.
SOLUTIONS["7.3"] = -(0.92 * np.log(0.6) + 4 * 0.02 * np.log(0.1))

# (256 w)^(-1/2) = 0.001 means 256 w = 1,000,000.
SOLUTIONS["7.4"] = 1_000_000 / 256


@solves("7.5")
def adamw_step(w, g, m, v, t, rate, beta_1, beta_2, epsilon, decay):
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g**2
    corrected_m, corrected_v = m / (1 - beta_1**t), v / (1 - beta_2**t)
    step = corrected_m / (np.sqrt(corrected_v) + epsilon)
    return w - rate * (step + decay * w), m, v


# Notebook 08

# Found: all words but "kleines"; "das ist" and "ist ein"; "das ist ein"; nothing. BLEU is therefore
# 0 for this sentence alone. sacrebleu smooths zeros, and a whole test set hardly ever has one.
SOLUTIONS["8.1"] = [4 / 5, 2 / 4, 1 / 3, 0 / 2, 1]

# The longer one wins. Without the penalty, the shorter one did.
SOLUTIONS["8.2"] = [-2 / ((5 + 4) / 6), -2.9 / ((5 + 9) / 6)]

# Greedy: a, then c. The beam also keeps b, which is followed by a.
SOLUTIONS["8.3"] = [0.5 * 0.4, 0.4 * 0.9]


@solves("8.4")
def cached_attention(query, key, value, cache):
    if cache is None:
        keys, values = key[None], value[None]
    else:
        keys, values = (np.vstack(pair) for pair in zip(cache, (key, value), strict=True))
    weights = softmax(keys @ query / np.sqrt(len(query)))
    return weights @ values, (keys, values)


@solves("8.5")
def beam_search(log_probabilities, size):
    beam = [(0.0, [])]
    while any(words[-1:] != [0] for _, words in beam):
        candidates = []
        for total, words in beam:
            if words[-1:] == [0]:
                candidates.append((total, words))
            else:
                gains = log_probabilities(words)
                candidates += [(total + gains[word], [*words, word]) for word in range(3)]
        beam = sorted(candidates, key=lambda entry: -entry[0])[:size]
    return beam[0]


# Notebook 09

# 8 · 8 patches and the class token; 4 · 4 pixels of three colors.
SOLUTIONS["9.1"] = [8 * 8 + 1, 4 * 4 * 3]

SOLUTIONS["9.2"] = [True, False, True]

# The projection, its bias, the class token, the positions.
SOLUTIONS["9.3"] = 48 * 64 + 64 + 64 + 65 * 64


@solves("9.4")
def to_patches(images, size):
    batch, height, width, channels = images.shape
    grid = images.reshape(batch, height // size, size, width // size, size, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, -1, size * size * channels)


# Exchanging the same two axes again undoes the transpose.
@solves("9.5")
def from_patches(rows, height, width, size):
    batch, _, numbers = rows.shape
    channels = numbers // size**2
    grid = rows.reshape(batch, height // size, width // size, size, size, channels)
    return grid.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height, width, channels)


# Notebook 10

SOLUTIONS["10.1"] = [0.8 * 150, 0.1 * 150, 0.1 * 150]

# Not the pieces that make sense, but the longest one at each place.
SOLUTIONS["10.2"] = ["una", "##ffa", "##ble"]

# 0.6 · 0.4 = 0.24. The larger product 0.6 · 0.5 would end before it begins.
SOLUTIONS["10.3"] = [1, 2]


@solves("10.4")
def word_pieces(word, vocabulary):
    found, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in vocabulary:
                found.append(prefix + word[start:end])
                start = end
                break
        else:
            return ["[UNK]"]
    return found


@solves("10.5")
def hide_words(ids, random):
    chosen = (ids >= 5) & (random.random(ids.shape) < 0.15)
    fate = random.random(ids.shape)
    others = random.integers(5, 1000, ids.shape)
    replaced = np.where(fate < 0.8, 4, np.where(fate < 0.9, others, ids))
    return np.where(chosen, replaced, ids), chosen


# Notebook 11

# The third root of 2 · 4 · 8.
SOLUTIONS["11.1"] = np.exp((np.log(2) + np.log(4) + np.log(8)) / 3)

# Divided by T = 1/2 the logarithms are doubled: the probabilities are as 1² to 2².
SOLUTIONS["11.2"] = [1 / 5, 4 / 5]

# 0.5 + 0.25 is not yet 0.8. With the third word the sum is 0.9.
SOLUTIONS["11.3"] = [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]

# A gibibyte for one text.
SOLUTIONS["11.4"] = 32 * 32 * 128 * 2048 * 2 * 2


@solves("11.5")
def top_k_probabilities(logits, k):
    smallest = np.sort(logits)[-k]
    return softmax(np.where(logits >= smallest, logits, -np.inf))


# Beginning each count with 1 keeps pairs possible that the text happens not to have.
@solves("11.6")
def bigram_probabilities(sentences, words):
    counts = np.ones((words, words))
    for sentence in sentences:
        for before, after in itertools.pairwise(sentence):
            counts[before, after] += 1
    return counts / counts.sum(axis=1, keepdims=True)
