# %% [markdown]
# # How does a transformer know the order of words?
#
# By itself it does not. Self-attention treats a sentence as a bag of words: shuffle the words and
# the outputs are shuffled, nothing else (exercise 2 of notebook 01). "The dog bites the man" and
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
#
# In notebooks 04 to 07 you write a whole transformer yourself, in cells of a few lines. After each
# one, an assertion compares it with the layer of the library. At the end, what you have written
# learns to translate.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import (
    PositionEmbeddingFixedWeights,
    PositionEmbeddingLayer,
    plot_positions,
    sinusoidal_encoding,
)

np.set_printoptions(precision=8, suppress=True)
plt.rcParams["figure.dpi"] = 80  # many small details: keep the plots small
keras.utils.set_random_seed(0)

# %% [markdown]
# ## Write it: the sinusoids
#
# One row for each position. The angles $\omega_i t$ are a column times a row; sine and cosine of
# each stand next to each other.


# %%
def position_vectors(length, d, n=10000.0):
    frequencies = n ** (-np.arange(0, d, 2) / d)  # (d / 2,)
    angles = np.arange(length)[:, None] * frequencies  # (length, d / 2)
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (length, d / 2, 2)
    return waves.reshape(length, d).astype("float32")


assert np.allclose(position_vectors(100, 128), sinusoidal_encoding(100, 128), atol=1e-5)

# %% [markdown]
# Small enough to check with a calculator: $n = 100$ and $d = 4$ give $\omega = 1, \frac1{10}$, so
# that row $t$ is $\sin t, \cos t, \sin\frac t{10}, \cos\frac t{10}$.

# %%
positions = position_vectors(4, 4, n=100)
print(positions)

t = np.arange(4)
by_hand = np.stack([np.sin(t), np.cos(t), np.sin(t / 10), np.cos(t / 10)], axis=1)
assert np.allclose(positions, by_hand, atol=1e-6)

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
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
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
# drowned by the positions. That is the whole layer:


# %%
class Embedding(keras.layers.Layer):
    def __init__(self, vocab_size, d, max_length=128, **kwargs):
        super().__init__(**kwargs)
        normal = keras.initializers.RandomNormal(stddev=d**-0.5)
        self.words = keras.layers.Embedding(vocab_size, d, embeddings_initializer=normal)
        self.positions = ops.convert_to_tensor(position_vectors(max_length, d))

    def call(self, ids):
        words = self.words(ids) * self.positions.shape[1] ** 0.5  # (batch, length, d)
        return words + self.positions[: ops.shape(ids)[1]]


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
# ## Exercises
#
# 1. The paper says that the wavelengths grow from $2\pi$ to $10000 \cdot 2\pi$. What is the longest
#    one exactly, for $d = 128$?
# 2. All position vectors have the same length. Which?
# 3. Find the matrix that turns the encoding of *any* position $t$ into that of $t + k$. (Begin with
#    one pair of entries.)

# %% [markdown]
# ### Solution 1
#
# The last pair has $i = d/2 - 1$ and the wavelength $2\pi\, n^{(d-2)/d}$: a little less than
# $2\pi n$, which is where the series would end with one pair more.

# %%
longest = 2 * np.pi * 10000 ** (126 / 128)
assert 54_000 < longest < 2 * np.pi * 10000
last_sine = np.array(sinusoidal_encoding(2, 128))[1, 126]
assert np.isclose(np.arcsin(last_sine), 2 * np.pi / longest)

# %% [markdown]
# ### Solution 2
#
# $\sin^2 + \cos^2 = 1$ for each of the $d/2$ pairs, so the length is $\sqrt{d/2}$.

# %%
lengths = np.linalg.norm(sinusoidal_encoding(100, 128), axis=1)
assert np.allclose(lengths, np.sqrt(64))

# %% [markdown]
# ### Solution 3
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
# ### 4.6 ★★★ Positions as rotations
#
# Most language models of today add nothing. They *rotate* queries and keys: at position $t$, the
# entries $2i$ and $2i + 1$ of a vector are turned by the angle $\omega_i t$, with the $\omega_i$ of
# the sinusoids,
#
# $$(a, b) \mapsto
# (a \cos \omega_i t - b \sin \omega_i t,\ a \sin \omega_i t + b \cos \omega_i t) .$$
#
# The product of a query and a key then depends on their distance. (Why? See exercise 3 above.)
# Rotate all rows of `x`, which has the shape (T, d); `positions` has the shape (T,).


# %%
def rotate_pairs(x, positions, n=10000.0):
    return ...  # an array of shape (T, d)


check("4.6", rotate_pairs)
