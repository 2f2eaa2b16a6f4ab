# %% [markdown]
# # How does a transformer know the order of words?
#
# By itself it does not. Self-attention treats a sentence as a bag of words: shuffle the words and
# the outputs are shuffled, nothing else (question 2 of notebook 01). "The dog bites the man" and
# "the man bites the dog" would be the same news. So the order must be written into the words: a
# vector for the position is *added* to the vector of each word.
#
# The first transformer computes these vectors instead of learning them. Position $t$ becomes $d$
# numbers, sines and cosines of $d/2$ different wavelengths:
#
# $$P_{t,\,2i} = \sin(\omega_i t), \qquad P_{t,\,2i+1} = \cos(\omega_i t), \qquad
# \omega_i = n^{-2i/d}, \qquad i = 0, \dots, \tfrac d2 - 1 ,$$
#
# with $n = 10000$. Think of a clock: one hand is fast, one slow, and together they tell any time.
# Most language models of today *rotate* queries and keys by the same angles: that comes second.
#
# In notebooks 04 to 07 you write a whole transformer yourself, in cells of a few lines: replace the
# dots under "Write it". `or_solution` compares what you have written with the layer of the library
# and says what is wrong. Until it is right, the cells below use the solution. The same steps are in
# one file, with hints, for your own editor: `keras-transformer build`. At the end, what you wrote
# learns to translate.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import (
    MultiHeadAttention,
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
    causal_mask,
    plot_positions,
    rotary_embedding,
    sinusoidal_encoding,
)
from keras_transformer.build_it import or_solution

np.set_printoptions(precision=8, suppress=True)
plt.rcParams["figure.dpi"] = 72  # many small details: keep the plots small
keras.utils.set_random_seed(0)

# %% [markdown]
# ## Write it: the sinusoids
#
# One row for each position. The angles $\omega_i t$ are a column times a row; sine and cosine of
# each stand next to each other: `ops.stack` on a new last axis, then `ops.reshape`. (`length` may
# be a tensor, so use `ops.arange`.)


# %%
def positions(length, d, base=10000.0):
    return ...  # float32, (length, d)


positions = or_solution(positions)
assert np.allclose(positions(100, 128), sinusoidal_encoding(100, 128), atol=1e-5)

# %% [markdown]
# Small enough to check with a calculator: $n = 100$ and $d = 4$ give $\omega = 1, \frac1{10}$, so
# that row $t$ is $\sin t, \cos t, \sin\frac t{10}, \cos\frac t{10}$.

# %%
first_four = np.array(positions(4, 4, base=100))
print(first_four)

t = np.arange(4)
by_hand = np.stack([np.sin(t), np.cos(t), np.sin(t / 10), np.cos(t / 10)], axis=1)
assert np.allclose(first_four, by_hand, atol=1e-6)

# %% [markdown]
# ## As a plot
#
# A hundred positions of size 128. Each row is what is added to the word at that position.

# %%
encoding = np.array(sinusoidal_encoding(100, 128))
heat_map, waves = plot_positions(encoding)
heat_map.figure

# %% [markdown]
# On the left of the first plot the numbers change fast from position to position, on the right
# hardly at all within a sentence. Read downward, each column is a wave; the second plot shows
# five of them. Entries stand in pairs, a sine and a cosine of one wavelength, which grows from
# $2\pi$ to $10000 \cdot 2\pi$ positions.

# %% [markdown]
# ## Why waves?
#
# Because of what they make easy. The product of two positions,
#
# $$P_s \cdot P_t = \sum_i \bigl(\sin\omega_i s \sin\omega_i t + \cos\omega_i s \cos\omega_i t\bigr)
# = \sum_i \cos\bigl(\omega_i (s - t)\bigr) ,$$
#
# depends on their *distance* alone, and is largest when it is 0. Attention is made of products, so
# "near me" and "three to the left" are things it can learn to see, at any place of the sentence.

# %%
products = encoding @ encoding.T
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
picture = left.imshow(products, "viridis", interpolation="nearest")
left.set(xlabel="position", ylabel="position", title="products of positions")
figure.colorbar(picture, ax=left)
for position, style in ((20, "-"), (50, "--"), (80, ":")):
    right.plot(products[position], style, label=f"position {position}")
right.set(xlabel="with position", ylabel="product", title="three rows of it", ylim=(20, 80))
right.legend(loc="upper left", ncols=2, fontsize=8)
plt.show()

# %% [markdown]
# **Try it**: what does $n$ do? Set it to 10 and to $10^8$. With a small one the slowest wave comes
# around within the text, and far positions look alike again; with a large one many entries never
# change and are wasted.

# %%
n = 30

encoding = np.array(sinusoidal_encoding(400, 32, base=n))
plt.figure(figsize=(8, 2.6))
plt.plot(encoding @ encoding[0])
plt.xlabel("distance")
plt.ylabel("product")
plt.title(f"n = {n}")
plt.show()

# %% [markdown]
# ## Words and positions together
#
# A layer first needs ids. Two sentences and a vocabulary of seven entries, where 0 is padding and 1
# an unknown word:

# %%
vocabulary = ["", "[UNK]", "robot", "you", "too", "i", "am", "a"]
sentences = ["I am a robot", "you too robot"]
rows = [[vocabulary.index(word) for word in sentence.lower().split()] for sentence in sentences]
ids = np.array([row + [0] * (5 - len(row)) for row in rows])
print(ids)

# %% [markdown]
# `PositionEmbeddingFixedWeights` adds a vector of the word and the sinusoids of its position. In a
# model the words' vectors are learned. To have something to look at, `freeze_words` fixes them too,
# to the sinusoids of their *ids*: an odd choice that teaches a model nothing, but then all numbers
# are known.

# %%
fixed = PositionEmbeddingFixedWeights(5, 10, 6, freeze_words=True)
vectors = np.array(fixed(ids))
print("shape", vectors.shape)
print("first", vectors[0, 0])
print("last ", vectors[1, 4])

words = np.array(sinusoidal_encoding(10, 6))
assert np.allclose(vectors, words[ids] + np.array(sinusoidal_encoding(5, 6)), atol=1e-6)

# %%
learned = PositionEmbeddingFixedWeights(None, 10, 6)  # None: no maximum length
parts = {
    "words, fixed": words[ids[0]],
    "positions": sinusoidal_encoding(5, 6),
    "their sum": vectors[0],
    "learned words + positions": learned(ids)[0],
}
figure, grid = plt.subplots(1, 4, figsize=(9.5, 3), sharey=True, layout="constrained")
for axes, (name, values) in zip(grid, parts.items(), strict=True):
    picture = axes.imshow(values, "RdBu", vmin=-3, vmax=3)
    axes.set_title(name, fontsize=10)
    axes.set_xlabel("entry")
grid[0].set_yticks(range(5), [*sentences[0].split(), "(padding)"])
figure.colorbar(picture, ax=grid, shrink=0.7)
plt.show()

# %% [markdown]
# ## Write it: the embedding
#
# A layer of your own is a class: `__init__` makes its parts, and `call` computes. Keras has an
# `Embedding`, too, a table with a learned row for each id; its weights are made when it is called
# for the first time. The rows are multiplied by $\sqrt d$ before the sum, so that they are not
# drowned by the positions. That is the whole layer, and `ops.shape(ids)[1]` is the length:


# %%
class Embedding(keras.layers.Layer):
    def __init__(self, vocabulary_size, d, **kwargs):
        super().__init__(**kwargs)
        ...  # self.words, whose numbers begin with the standard deviation d ** -0.5

    def call(self, ids):
        return ...  # (batch, length, d)


Embedding = or_solution(Embedding)
yours = Embedding(10, 6)
yours(ids)  # creates the weights
yours.set_weights(learned.get_weights())
assert np.allclose(yours(ids), learned(ids), atol=1e-5)

# %% [markdown]
# Only the words have weights: 10 words of 6 numbers. The library computes positions when they are
# needed, so no sentence is too long.
#
# The alternative is to learn the positions as well, as BERT does. Then there is a table of them,
# and a longest sentence.

# %%
table = PositionEmbeddingLayer(5, 10, 6)
print("shape", tuple(table(ids).shape), "weights", [tuple(w.shape) for w in table.weights])
assert learned.count_params() == 60 and table.count_params() == 60 + 30

longer = np.ones((1, 50), "int32")
print("computed positions:", tuple(learned(longer).shape))
try:
    table(longer)
except ValueError:
    print("learned positions: refused, the sequence is longer than the table")

# %% [markdown]
# ## Rotary positions
#
# A sum mixes two things in the same numbers, and the attention has to separate them again. *Rotary*
# positions add nothing. The entries of each query and each key are taken in pairs, each pair is a
# point in the plane, and at position $t$ the pair $i$ is turned by the angle $\omega_i t$, with the
# $\omega_i$ of the sinusoids:
#
# $$(a, b) \mapsto
# (a \cos \omega_i t - b \sin \omega_i t,\ a \sin \omega_i t + b \cos \omega_i t) .$$
#
# Which entries are a pair? In the paper neighbours, $2i$ and $2i + 1$. In the library $i$ and
# $i + d/2$, one from each half, because halves are easy to separate and to join. That is the same
# up to the order of the entries, and that is learned with the projections that make them.


# %%
def rotate(x, n=10000.0):
    length, d = x.shape
    angles = np.arange(length)[:, None] * n ** (-np.arange(0, d, 2) / d)  # (length, d / 2)
    first, second = np.split(x, 2, axis=1)
    sines, cosines = np.sin(angles), np.cos(angles)
    halves = first * cosines - second * sines, first * sines + second * cosines
    return np.concatenate(halves, axis=1)


x = np.random.default_rng(0).normal(size=(100, 64)).astype("float32")
assert np.allclose(rotate(x), rotary_embedding(x), atol=1e-4)

# %% [markdown]
# The same vector at eight positions. With $d = 8$ and $n = 1000$, the first of its four pairs is
# the fast hand of the clock, and the second turns by ten degrees per position.

# %%
turned = rotate(np.tile([[1.0, 1, 1, 1, 0, 0, 0, 0]], (8, 1)), n=1000.0)
figure, panels = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
for i, axes in enumerate(panels):
    for t, (a, b) in enumerate(turned[:, [i, i + 4]]):
        color = plt.cm.viridis(t / 9)
        axes.annotate("", (a, b), (0, 0), arrowprops={"arrowstyle": "->", "color": color})
        axes.text(1.2 * a, 1.2 * b, t, ha="center", va="center", color=color)
    degrees = np.degrees(1000.0 ** (-i / 4))
    axes.set(title=f"pair {i}: {degrees:.0f}° per position", aspect="equal")
    axes.set(xlabel=f"entry {i}", ylabel=f"entry {i + 4}", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
figure.suptitle("two pairs of a vector at the positions 0 to 7")
plt.show()

# %% [markdown]
# Turn two arrows by the same angle, and the angle between them stays. The product of two points
# depends on their lengths and on that angle, so only the *difference* of two positions counts. With
# $R_t$ for all rotations of position $t$,
#
# $$(R_s q) \cdot (R_t k) = q \cdot (R_{t - s} k) .$$
#
# A query and a key, at positions that are shifted together:

# %%
query, key = np.random.default_rng(2).normal(size=(2, 64))
queries, keys = (rotate(np.tile(vector, (24, 1))) for vector in (query, key))
for s, t in (0, 3), (10, 13), (20, 23), (3, 0):
    print(f"query at {s:2}, key at {t:2}: {queries[s] @ keys[t]:.4f}")
assert np.isclose(queries[0] @ keys[3], queries[10] @ keys[13])
assert np.isclose(queries[0] @ keys[3], queries[20] @ keys[23])

# %% [markdown]
# All positions of the query with all of the key: on each diagonal, where the distance is the same,
# stands one number. Where sinusoids are added, the product also contains those of the query with
# the position of the key and the other way around, and these depend on the place.

# %%
places = np.array(positions(24, 64))
products = {"rotated": queries @ keys.T, "sinusoids added": (query + places) @ (key + places).T}
figure, panels = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained")
for axes, (name, values) in zip(panels, products.items(), strict=True):
    picture = axes.imshow(values, "viridis", interpolation="nearest")
    axes.set(title=name, xlabel="position of the key", ylabel="position of the query")
    figure.colorbar(picture, ax=axes, label="product")
plt.show()
diagonal = np.diagonal(products["rotated"], 3)
assert np.allclose(diagonal, diagonal[0])

# %% [markdown]
# In the library, the attention itself rotates (notebook 05): with a `rotary_base`, it turns the
# queries and keys of all heads; the values, which are what is passed on, stay as they are. That
# alone tells it the order. Without, words in reverse order give the same outputs in reverse order:

# %%
x = keras.random.normal((1, 6, 8))
for base in None, 1000.0:
    layer = MultiHeadAttention(h=2, d_k=4, d_v=4, d_model=8, rotary_base=base)
    forward, backward = (np.array(layer(words, words, words)) for words in (x, x[:, ::-1]))
    is_bag = np.allclose(forward, backward[:, ::-1], atol=1e-5)
    print(f"rotary_base={base}: {'a bag of words' if is_bag else 'the order counts'}")
    assert is_bag == (base is None)

# %% [markdown]
# A translator writes one word after the other and keeps the keys of those before (notebook 08).
# Such a step sees a single word, which must be turned by its true position, not by 0. The keys in
# the cache are turned already. So the steps are equal to the call with all words:

# %%
expected = layer(x, x, x, attention_mask=causal_mask(6))
cache, outputs = layer.start(batch_size=1, length=6), []
for t in range(6):
    up_to_now = (np.arange(6) <= t)[None, None]
    output, cache = layer.step(x[:, t : t + 1], t, cache, up_to_now)
    outputs.append(output)
assert np.allclose(ops.concatenate(outputs, axis=1), expected, atol=1e-5)

# %% [markdown]
# The transformers that `train.py` trains have rotary positions by default, with the base 1000 and
# *instead of* the sinusoids, in self-attention only: between a source and a target position there
# is no distance. `--rotary-base none` goes back to sinusoids. In one comparison of
# `docs/benchmarks.md` (41,306 pairs, four epochs, one seed), rotary positions raised BLEU from 91.9
# to 93.8 and the share of beginners' sentences that come out right from 62% to 68%, for 383 instead
# of 338 CPU seconds.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** The paper says that the wavelengths grow from $2\pi$ to $10000 \cdot 2\pi$. What is the
# > longest one exactly, for $d = 128$?
#
# The last pair has $i = d/2 - 1$ and the wavelength $2\pi\, n^{(d-2)/d}$: a little less than
# $2\pi n$, which is where the series would end with one pair more.

# %%
longest = 2 * np.pi * 10000 ** (126 / 128)
assert 54_000 < longest < 2 * np.pi * 10000
last_sine = np.array(sinusoidal_encoding(2, 128))[1, 126]
assert np.isclose(np.arcsin(last_sine), 2 * np.pi / longest)

# %% [markdown]
# > **2.** All position vectors have the same length. Which?
#
# $\sin^2 + \cos^2 = 1$ for each of the $d/2$ pairs, so the length is $\sqrt{d/2}$.

# %%
lengths = np.linalg.norm(sinusoidal_encoding(100, 128), axis=1)
assert np.allclose(lengths, np.sqrt(64))

# %% [markdown]
# > **3.** Find the matrix that turns the encoding of *any* position $t$ into that of $t + k$.
# > (Begin with one pair of entries.)
#
# Each pair is a hand of a clock, and $k$ steps turn it by the angle $\omega_i k$: a rotation, which
# does not ask what time it was.


# %%
def turn(size, k, n=10000.0):
    matrix = np.zeros((size, size))
    for i in range(size // 2):
        angle = k * n ** (-2 * i / size)
        sine, cosine = np.sin(angle), np.cos(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cosine, sine], [-sine, cosine]]
    return matrix


encoding = np.array(sinusoidal_encoding(60, 16))
for k in (1, 7, 25):
    assert np.allclose(encoding[: 60 - k] @ turn(16, k).T, encoding[k:], atol=1e-4)

# %% [markdown]
# ## Where it comes from
#
# * A. Vaswani et al., *Attention Is All You Need*, 2017, sections 3.4 and 3.5.
# * J. Gehring et al., *Convolutional Sequence to Sequence Learning*, 2017: learned positions.
# * J. Devlin et al., *BERT*, 2019, figure 2: words, positions and segments.
# * J. Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*, 2021, section
#   3.2.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 4.1 ★ Words to ids
#
# With the vocabulary of seven entries above (`["", "[UNK]", "robot", "you", "too", "i", "am", "a"]`
# counts the padding, too), what are the ids of "You are a robot", padded to five?

# %%
row = ...  # a list of five numbers

check("4.1", row)

# %% [markdown]
# ### 4.2 ★ The first position
#
# What is the position vector of $t = 0$ for $d = 6$?

# %%
vector = ...  # a list of six numbers

check("4.2", vector)

# %% [markdown]
# ### 4.3 ★★ Two products
#
# What is the product of a position vector with itself for $d = 128$, and what is the product of
# those of positions 3 and 10 for $d = 2$? Use the formula under "Why waves?", not the code.

# %%
with_itself, of_3_and_10 = ..., ...

check("4.3", [with_itself, of_3_and_10])

# %% [markdown]
# ### 4.4 ★ The price of learning them
#
# BERT has 30,522 tokens and at most 512 positions, and its vectors have 768 numbers. How many
# weights do its learned positions add?

# %%
weights = ...

check("4.4", weights)

# %% [markdown]
# ### 4.5 ★★ Relative positions
#
# Another way: give attention the *distance* of query $i$ and key $j$ instead of their positions. A
# table then has a row for each distance $j - i$ from $-k$ to $k$, and larger distances count as $k$
# or $-k$. Return the matrix of the row numbers, $0$ to $2k$: for length 3 and $k = 1$ it is
# [[1, 2, 2], [0, 1, 2], [0, 0, 1]].


# %%
def relative_positions(length, k):
    return ...  # an array of shape (length, length)


check("4.5", relative_positions)

# %% [markdown]
# ### 4.6 ★★★ Rotary positions of the paper
#
# In the paper, the pairs are neighbours: at position $t$, the entries $2i$ and $2i + 1$ of a vector
# are turned by the angle $\omega_i t = t\, n^{-2i/d}$. And the positions need not begin at 0.
# Rotate all rows of `x`, which has the shape (T, d); `positions` has the shape (T,).


# %%
def rotate_pairs(x, positions, n=10000.0):
    return ...  # an array of shape (T, d)


check("4.6", rotate_pairs)
