# %% [markdown]
# # What has changed since 2017?
#
# Less than one might think. Open the code of Llama, Mistral or Qwen, and you find the block of
# notebook 06: attention, a small network, residual connections, norms. A block of 2017 computes
#
# $$x \leftarrow \operatorname{LayerNorm}\bigl(x + \operatorname{attention}(x)\bigr), \qquad
# x \leftarrow \operatorname{LayerNorm}\bigl(x + W_2 \operatorname{relu}(W_1 x)\bigr)$$
#
# and a block of Llama
#
# $$x \leftarrow x + \operatorname{attention}\bigl(\operatorname{RMSNorm}(x)\bigr), \qquad
# x \leftarrow x + W_3 \bigl(\operatorname{silu}(W_1 y) \odot W_2 y\bigr)
# \quad\text{with } y = \operatorname{RMSNorm}(x) .$$
#
# Six parts were exchanged, two of them inside the attention. Here you exchange them one at a time,
# each in a few lines, and ask which problem each of them solves. At the end, your model reads the
# weights of a published one and computes the same numbers.
#
# **Before you go on**: 1. pre-norm, 2. RMSNorm, 3. rotary positions, 4. a gate, 5. fewer heads for
# keys and values, 6. no biases. Which of the six make a *small* translator better, and which are
# for other things? Write down a guess; the answer is measured.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import json
import tempfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import ops
from own_cells import (  # from the notebooks 04 to 06
    Embedding,
    FeedForward,
    LayerNorm,
    MultiHead,
    attention,
    causal_mask,
    merge,
    split,
)
from safetensors.numpy import load_file, save_file

import keras_transformer as kt

keras.utils.set_random_seed(0)
random = np.random.default_rng(0)
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"

# %% [markdown]
# ## The block of 2017
#
# It has your parts, with the norm *after* each sum. Under a causal mask it is a layer of a language
# model. Is it the library's? Copy the weights and compare, as in notebook 06.


# %%
class Block2017(keras.layers.Layer):
    def __init__(self, heads, d, d_ff, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.norm_1 = MultiHead(heads, d), LayerNorm()
        self.feed_forward, self.norm_2 = FeedForward(d, d_ff), LayerNorm()

    def call(self, x, mask):
        x = self.norm_1(x + self.attention(x, x, mask))
        return self.norm_2(x + self.feed_forward(x))


# %%
def compare(yours, theirs, inputs, their_inputs=None):
    """Copies the weights of your layer into the library's and compares what they compute."""
    expected = yours(*inputs)
    theirs(*(their_inputs or inputs))  # builds it
    theirs.set_weights(yours.get_weights())
    assert np.allclose(theirs(*(their_inputs or inputs)), expected, atol=1e-5)
    print(f"{yours.count_params():,} parameters, and the same numbers as the library's")


x, mask = random.normal(size=(2, 10, 64)).astype("float32"), causal_mask(10)
post_norm = kt.EncoderLayer(settings=kt.BlockSettings(h=4, d_model=64, d_ff=128, rate=0.0))
compare(Block2017(4, 64, 128), post_norm, (x, mask))

# %% [markdown]
# What each exchange is worth has been measured once and for all: the translator that `train.py`
# trains by default (two layers on each side, pre-norm, rotary positions), on 10,000 pairs of the
# corpus, with one part exchanged and everything else equal, for three seeds. The table
# is in `docs/blocks.md`, and here it is read:


# %%
def read_table(path="../docs/blocks.md"):
    """Returns the validation losses of each row, one per seed."""
    after = Path(path).read_text(encoding="utf-8").split("On 10,000 pairs")[1]
    rows = [line.split("|")[1:4] for line in after.split("\n\n")[1].splitlines()[2:]]
    losses = {name.strip(): cell.split(";")[0].split(",") for name, _, cell in rows}
    return {name: np.array(each, "float") for name, each in losses.items()}


table = read_table()


def measured(name):
    losses = table[name]
    usual = table["default run"][: len(losses)]  # of the same seeds
    changes = ", ".join(f"{change:+.2f}" for change in losses - usual)
    print(f"{name}: validation loss {losses.mean():.2f} instead of {usual.mean():.2f}")
    print(f"  seed by seed: {changes}")


# %% [markdown]
# ## 1. Normalize before, not after
#
# In post-norm, each sum passes a norm: what the first block says is rescaled at every sub-layer
# above it, and so is the gradient on its way back. Deep stacks then need a long warm-up, or never
# start. In pre-norm (Xiong et al., 2020), a block *reads* normalized numbers and *adds* to a sum
# that nothing touches. There is a free way from the loss to each block.


# %%
class PreNormBlock(Block2017):
    def call(self, x, mask):
        y = self.norm_1(x)
        x = x + self.attention(y, y, mask)
        return x + self.feed_forward(self.norm_2(x))


pre_norm = kt.BlockSettings(h=4, d_model=64, d_ff=128, rate=0.0, norm_first=True)
compare(PreNormBlock(4, 64, 128), kt.EncoderLayer(settings=pre_norm), (x, mask))

# %% [markdown]
# Eight of each, as a language model of the corpus, trained for a moment with a learning rate that
# is high from the first update on: no warm-up.


# %%
class Deep(keras.Model):
    def __init__(self, block, words, n=8, d=64):
        super().__init__()
        self.embedding, self.norm = Embedding(words, d), LayerNorm()
        self.blocks = [block(4, d, 2 * d) for _ in range(n)]
        self.projection = keras.layers.Dense(words)

    def call(self, ids):
        x, mask = self.embedding(ids), causal_mask(ops.shape(ids)[1])
        for block in self.blocks:
            x = block(x, mask)
        return self.projection(self.norm(x))


texts = [x for x in kt.read_documents("../data/english-german.tsv") if len(x.split()) == 6][:2560]
tokenizer = kt.WordTokenizer.train(texts, min_count=4)
inputs, targets = kt.next_words(tokenizer, texts)
words, cross_entropy = tokenizer.vocab_size, kt.MaskedCrossEntropy()
print(f"{len(inputs):,} sentences, {words} words")


# %%
def gradients(model):
    """The norm of the gradient of a matrix in each block, before any training."""
    with tf.GradientTape() as tape:
        loss = cross_entropy(targets[:64], model(inputs[:64]))
    weights = [block.feed_forward.outer.kernel.value for block in model.blocks]
    return [float(tf.norm(gradient)) for gradient in tape.gradient(loss, weights)]


def train(model, rate=3e-3):
    """Trains one epoch and returns the loss of each update."""
    step_losses = []
    model.compile(kt.Adam(rate), cross_entropy, jit_compile=False)
    note = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: step_losses.append(logs["loss"] * (batch + 1))
    )
    model.fit(inputs, targets, 32, epochs=1, verbose=0, callbacks=[note])
    return np.diff(step_losses, prepend=0)  # Keras reports the mean of all batches so far


# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for block, name, color in (
    (Block2017, "post-norm", ORANGE),
    (PreNormBlock, "pre-norm", BLUE),
):
    keras.utils.set_random_seed(0)
    model = Deep(block, words)
    left.plot(range(1, 9), gradients(model), "o-", color=color, label=name)
    losses = train(model)
    right.plot(range(1, len(losses) + 1), losses, color=color, label=name)
    print(f"{name}: loss {losses[-10:].mean():.2f} over the last ten updates")
left.set(title="before training", xlabel="block (the last is next to the loss)")
left.set(ylabel="norm of the gradient", ylim=(0, None))
right.set(title="no warm-up", xlabel="updates", ylabel="loss")
counts = np.bincount(targets[targets != 0])
shares = counts[counts > 0] / counts.sum()
right.axhline(-(shares * np.log(shares)).sum(), color="gray", linestyle=":", label="frequencies")
right.legend()
left.legend()
plt.show()

# %% [markdown]
# Post-norm learns how frequent each word is, the dotted line, which takes no reading at all. There
# it stays, while pre-norm goes on to what the words before say. On the left is why: before any
# training, the gradients of pre-norm are smaller, and more so towards the loss, so the first
# updates break nothing. With a warm-up, which begins with tiny updates, post-norm learns as well,
# and the two layers of the small translator learn either way:

# %%
measured("post-norm")

# %% [markdown]
# ## 2. The length, not the center
#
# LayerNorm subtracts the mean of a vector and divides by its spread. RMSNorm (Zhang and Sennrich,
# 2019) only divides by the root of the mean square: one pass over the numbers instead of two, and
# no shift to learn. It keeps what training needs, that no vector grows out of hand.


# %%
class RMSNorm(keras.layers.Layer):
    def __init__(self, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, shape):
        self.scale = self.add_weight((shape[-1],), "ones", name="scale")

    def call(self, x):
        mean_square = ops.mean(x**2, axis=-1, keepdims=True)
        return self.scale * x / ops.sqrt(mean_square + self.epsilon)


compare(RMSNorm(), keras.layers.RMSNormalization(epsilon=1e-5), (x,))

# %% [markdown]
# Why may the mean stay? Because it is nearly 0 anyway. Here are the vectors between the layers of
# the bundled translator, which was trained *with* LayerNorm: their means, in units of their root
# mean square, and all of their numbers after one norm and after the other.

# %%
run = kt.RunFolder("../data/bundled-run")
translator, (english, _) = run.read_model(), run.read_tokenizers()
sentences = [source for source, _ in run.read_test()[:50]]
vectors = []
for sentence in sentences:
    x_sentence = translator.source_embedding(np.array([english.encode(sentence)]))
    for layer in translator.encoder.layers:
        x_sentence = layer(x_sentence)
        vectors.append(np.array(x_sentence)[0])
vectors = np.concatenate(vectors)
means = vectors.mean(axis=-1) / np.sqrt((vectors**2).mean(axis=-1))
by_layer, by_rms = LayerNorm()(vectors), RMSNorm()(vectors)
print(f"half of the means are within ±{np.median(np.abs(means)):.3f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.hist(means, np.linspace(-0.2, 0.2, 41), color=BLUE)
left.set(title="means of the vectors", xlabel="mean / root mean square", ylabel="vectors")
left.set_xticks([-0.2, -0.1, 0, 0.1, 0.2])
some = random.choice(vectors.size, 3000, replace=False)
right.plot(np.ravel(by_layer)[some], np.ravel(by_rms)[some], ".", color=BLUE, markersize=2)
right.axline((0, 0), slope=1, color="gray", linewidth=0.8)
right.set(title="3,000 of their numbers", xlabel="after LayerNorm", ylabel="after RMSNorm")
right.set_aspect("equal")
plt.show()

# %% [markdown]
# A vector of 128 numbers has 128 directions, and LayerNorm takes away one of them. The translator
# does not mind which norm it has:

# %%
measured("RMS normalization")

# %% [markdown]
# ## 3. Distances instead of places
#
# Notebook 04 has the idea: add nothing, but *rotate* each query and key by an angle that grows with
# its position (Su et al., 2021). The score of a query and a key then depends on what they are and
# on their distance, wherever in the text they stand. With heads, `x` has the shape
# (batch, heads, length, size).


# %%
def rotate_heads(x, base=10000.0):
    size, places = x.shape[-1], ops.arange(ops.shape(x)[-2], dtype="float32")
    angles = places[:, None] * base ** (-np.arange(0, size, 2, dtype="float32") / size)
    sines, cosines = ops.sin(angles), ops.cos(angles)  # (length, size / 2)
    a, b = ops.split(x, 2, axis=-1)
    return ops.concatenate([a * cosines - b * sines, a * sines + b * cosines], axis=-1)


heads = random.normal(size=(2, 4, 10, 16)).astype("float32")
assert np.allclose(rotate_heads(heads), kt.rotary_embedding(heads), atol=1e-5)

# %% [markdown]
# On the left, one query and one key, always three words apart, move through a text. With sinusoids
# added, as in 2017, the score changes with the place; rotated, it cannot. On the right, a vector
# meets itself at growing distances: the score falls, and a larger base stretches the curve. That is
# why Llama 3, which reads long texts, has the base 500,000 instead of 10,000.

# %%
length, size = 400, 64
query, key = random.normal(size=(2, size)).astype("float32")
waves = np.array(kt.sinusoidal_encoding(length, size))
added = ((query + waves[3:]) * (key + waves[:-3])).sum(axis=-1)
queries, keys = (np.array(rotate_heads(np.tile(v, (length, 1)))) for v in (query, key))
rotated = (queries[3:] * keys[:-3]).sum(axis=-1)
assert np.ptp(rotated) < 1e-3 < 1 < np.ptp(added)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(added, color=ORANGE, label="sinusoids, added")
left.plot(rotated, color=BLUE, label="rotated")
left.set(title="three words apart", xlabel="position of the key", ylabel="query · key")
left.legend(loc="center right", bbox_to_anchor=(1, 0.3))
ones, bins = np.ones((20_000, 128), "float32"), np.geomspace(1, 20_000, 30).astype(int)
bins = np.unique(bins)
for base, color in ((10_000.0, BLUE), (500_000.0, GREEN)):
    turned = np.array(rotate_heads(ones, base))
    scores = turned @ turned[0] / 128
    means = [part.mean() for part in np.split(scores, bins)[1:-1]]  # smooths the ripples
    right.semilogx(bins[:-1], means, color=color, label=f"base {base:,.0f}")
right.set(title="a vector and itself", xlabel="distance (words)", ylabel="score, at 0 it is 1")
right.axhline(0, color="gray", linewidth=0.8)
right.legend()
plt.show()

# %% [markdown]
# The default run has rotary positions already, so here the row is the step back:

# %%
measured("sinusoids")

# %% [markdown]
# ## 4. A gate
#
# The small network is where most weights are. Shazeer (2020) gave it a third matrix: one product
# decides *how much* passes, the other *what*. (Of the reason he wrote: "we attribute their success,
# as all else, to divine benevolence".) With two thirds of $d_{\text{ff}}$, three matrices have the
# parameters of two. Llama's activation is silu, $z \cdot \operatorname{sigmoid}(z)$, and the whole
# is called SwiGLU.


# %%
class SwiGLU(keras.layers.Layer):
    def __init__(self, d, d_ff, **kwargs):
        super().__init__(**kwargs)
        self.gate = keras.layers.Dense(d_ff, "silu", use_bias=False)
        self.up = keras.layers.Dense(d_ff, use_bias=False)
        self.down = keras.layers.Dense(d, use_bias=False)

    def call(self, x):
        return self.down(self.gate(x) * self.up(x))


gated = kt.FeedForward(85, 64, activation="silu", gated=True, use_bias=False)
compare(SwiGLU(64, 85), gated, (x,))

# %% [markdown]
# What can one number inside the network say? With relu, it is 0 on one side of a line and grows on
# the other, whatever else the word is. With a gate it depends on two questions about the word, and
# its sign on both.

# %%
z = np.linspace(-4, 4, 101)
silu = np.array(ops.silu(z))
surfaces = {
    "relu: one question": np.tile(np.maximum(z, 0), (101, 1)),
    "SwiGLU: two questions": silu[None] * z[:, None],
}
figure, axes = plt.subplots(1, 3, figsize=(10, 2.9), layout="constrained")
axes[0].plot(z, np.maximum(z, 0), color=ORANGE, label="relu")
axes[0].plot(z, silu, color=BLUE, label="silu")
axes[0].set(title="two activations", xlabel="$z = w_1 x$")
axes[0].legend()
for panel, (title, surface) in zip(axes[1:], surfaces.items(), strict=True):
    extent = {"origin": "lower", "extent": (-4, 4, -4, 4)}
    picture = panel.imshow(surface, "RdBu", vmin=-8, vmax=8, **extent)
    panel.set(title=title, xlabel="$w_1 x$", ylabel="$w_2 x$")
figure.colorbar(picture, ax=axes[1:], label="what passes", extend="both")
plt.show()

# %% [markdown]
# For the translator, the gate is a step back, too. In notebook 13, where Adam trained and not Muon,
# a gate was ahead early and level later. An exchange is measured in *one* setting, not for ever.

# %%
measured("SwiGLU, d_ff 170")

# %% [markdown]
# ## 5. Fewer keys and values
#
# This one is not about quality at all. While a model writes, it keeps the keys and values of all
# words so far (notebook 11), and for each new word it must read all of them from memory. In long
# texts, that is more than the weights. So let several heads of queries share one head of keys and
# values (Ainslie et al., 2023): *grouped-query attention*, and with a single one *multi-query
# attention* (Shazeer, 2019). The cache shrinks by the size of the groups.


# %%
class GroupedQueryAttention(keras.layers.Layer):
    def __init__(self, heads, kv_heads, size, d, base=10000.0, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.kv_heads, self.base = heads, kv_heads, base
        self.query = keras.layers.Dense(heads * size, use_bias=False)
        self.key, self.value = (
            keras.layers.Dense(kv_heads * size, use_bias=False) for _ in range(2)
        )
        self.output_projection = keras.layers.Dense(d, use_bias=False)

    def call(self, x, mask):
        queries = rotate_heads(split(self.query(x), self.heads), self.base)
        keys = rotate_heads(split(self.key(x), self.kv_heads), self.base)
        values = split(self.value(x), self.kv_heads)
        keys, values = (ops.repeat(y, self.heads // self.kv_heads, axis=1) for y in (keys, values))
        return self.output_projection(merge(attention(queries, keys, values, mask)))


sizes = {"h": 4, "d_k": 16, "d_v": 16, "d_model": 64, "rotary_base": 10000.0, "use_bias": False}
for kv_heads in (4, 2, 1):
    theirs = kt.MultiHeadAttention(**sizes, h_kv=kv_heads)
    compare(GroupedQueryAttention(4, kv_heads, 16, 64), theirs, (x, mask), (x, x, x, mask))

# %% [markdown]
# The numbers of Llama 3 with eight billion weights: 32 layers of 32 heads of size 128, two bytes
# for each number. What does the cache of one text take?


# %%
def cache_bytes(layers, kv_heads, size, length, bytes_per_number=2):
    return 2 * layers * kv_heads * size * length * bytes_per_number  # 2: keys and values


lengths = np.array([1_000, 128_000])
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for kv_heads, name, color in (
    (32, "32 heads of keys: 2017", ORANGE),
    (8, "8: Llama 3", BLUE),
    (1, "1: multi-query", GREEN),
):
    sizes_gb = cache_bytes(32, kv_heads, 128, lengths) / 1e9
    axes.loglog(lengths, sizes_gb, "-", color=color, label=name)
    print(f"{name}: {sizes_gb[-1]:.1f} GB for 128,000 words")
axes.axhline(16, color="gray", linestyle=":", label="all weights")
axes.set(xlabel="length of the text", ylabel="cache of one text (GB)")
axes.set_xticks([1_000, 8_000, 32_000, 128_000], ["1,000", "8,000", "32,000", "128,000"])
axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
axes.minorticks_off()
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# The library's cache is what the formula says: 4 bytes for each number in float32.

# %%
for kv_heads in (4, 2, 1):
    layer = kt.MultiHeadAttention(**sizes, h_kv=kv_heads)
    cache = layer.start(batch_size=1, length=100)
    found = sum(np.array(part).nbytes for part in cache)
    assert found == cache_bytes(1, kv_heads, 16, 100, bytes_per_number=4)
    print(f"h_kv={kv_heads}: {found:,} bytes")

# %% [markdown]
# The price is quality, because there is less to attend with. The translator pays it in full, with
# one head of keys and values for four; large models have so many heads that few of them miss
# anything. In return, it translates a quarter faster, and the cache has a quarter of the bytes
# (`docs/blocks.md`).

# %%
measured("multi-query attention")

# %% [markdown]
# ## 6. No biases
#
# PaLM (Chowdhery et al., 2022) left them out, and large models trained more stably; Llama followed.
# They are few: of 1,000 weights of a dense layer of 128, less than eight. And one of them never did
# anything. A bias $b$ of the keys adds $q \cdot b$ to *all* scores of a query, and a softmax does
# not see what is added to all. Give each projection a random bias in turn: how much do the outputs
# change?


# %%
def change_by_bias(part, base):
    layer = kt.MultiHeadAttention(4, 16, 16, 64, rotary_base=base)
    before = np.array(layer(x, x, x, mask))
    bias = getattr(layer, f"{part}_projection").bias
    bias.assign(random.normal(size=bias.shape))
    return np.abs(np.array(layer(x, x, x, mask)) - before).mean()


parts = ("query", "key", "value", "output")
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
for shift, base, name, color in (
    (-0.2, None, "as in 2017", ORANGE),
    (0.2, 10000.0, "with rotary positions", BLUE),
):
    changes = [change_by_bias(part, base) for part in parts]
    axes.bar(np.arange(4) + shift, changes, 0.4, color=color, label=name)
    assert (changes[1] < 1e-6) == (base is None)
axes.set_xticks(range(4), [f"bias of the\n{part}" for part in parts])
axes.set(ylabel="change of the outputs")
axes.legend()
plt.show()

# %% [markdown]
# The bias of the keys is nothing, to the last digit, until the keys are rotated: then it becomes a
# score that depends on the distance alone. Qwen2 keeps the biases of queries, keys and values for
# this reason, and no others.

# %%
measured("no biases")

# %% [markdown]
# ## Coda: Qwen3 and Mistral
#
# Two more changes fit in a line each. **QK-norm** (Henry et al., 2020; Qwen3) normalizes the
# queries and keys of each head before they are rotated. However large the weights become in a long
# training, the scores stay small, and no head gets stuck on one word. A **sliding window** (Beltagy
# et al., 2020; Mistral) hides all words but the last few. A layer sees only those, but the next
# layer sees what *they* have seen: the reach grows with the depth, the work does not with the text.


# %%
def largest_weight(scale, qk_norm):
    queries, keys = scale * random.normal(size=(2, 1, 200, 64)).astype("float32")
    if qk_norm:
        queries, keys = RMSNorm()(queries), RMSNorm()(keys)
    weights = attention(queries, keys, np.eye(200, dtype="float32")[None])
    return np.array(weights).max(axis=-1).mean()


def window_mask(length, window):
    places = np.arange(length)
    back = places[:, None] - places
    return (back >= 0) & (back < window)


assert (window_mask(30, 4) == np.array(kt.causal_mask(30) & kt.window_mask(30, 4))).all()
seen = np.linalg.matrix_power(window_mask(30, 4).astype(int), 4) > 0  # through four layers

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3), layout="constrained")
scales = np.geomspace(0.5, 16, 11)
for qk_norm, name, color in ((False, "without", ORANGE), (True, "with QK-norm", BLUE)):
    curve = [largest_weight(scale, qk_norm) for scale in scales]
    left.semilogx(scales, curve, "o-", color=color, label=name)
left.set(title="200 keys", xlabel="scale of queries and keys", ylabel="largest weight")
left.set_xticks([0.5, 1, 2, 4, 8, 16], ["½", "1", "2", "4", "8", "16"])
left.minorticks_off()
left.legend()
right.imshow(seen * 0.35 + window_mask(30, 4) * 0.65, "Blues", vmin=0, vmax=1)
right.set(title="window of 4: one layer, four (light)")
right.set(xlabel="word that is seen", ylabel="word that is read")
plt.show()
measured("QK-normalization")
measured("window of 4")

# %% [markdown]
# ## The whole
#
# Your parts make a model. `config` is a dictionary with the names that Hugging Face gives to the
# sizes, because that is what the file of a published model has.


# %%
class Block(keras.layers.Layer):
    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        d, heads = config["hidden_size"], config["num_attention_heads"]
        kv_heads, base = config["num_key_value_heads"], config["rope_theta"]
        self.attention = GroupedQueryAttention(heads, kv_heads, d // heads, d, base)
        self.feed_forward = SwiGLU(d, config["intermediate_size"])
        self.norm_1, self.norm_2 = (RMSNorm(config["rms_norm_eps"]) for _ in range(2))

    def call(self, x, mask):
        x = x + self.attention(self.norm_1(x), mask)
        return x + self.feed_forward(self.norm_2(x))


class Llama(keras.Model):
    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        words, d = config["vocab_size"], config["hidden_size"]
        self.embedding = keras.layers.Embedding(words, d)
        self.blocks = [Block(config) for _ in range(config["num_hidden_layers"])]
        self.norm = RMSNorm(config["rms_norm_eps"])
        self.projection = keras.layers.Dense(words, use_bias=False)

    def call(self, ids):
        x, mask = self.embedding(ids), causal_mask(ops.shape(ids)[1])
        for block in self.blocks:
            x = block(x, mask)
        return self.projection(self.norm(x))


# %% [markdown]
# A published model is a folder: `config.json` and `model.safetensors`, a file of named arrays.
# These are the names of Llama, and your parts that they belong to. (A dense layer of PyTorch keeps
# its matrix transposed.)


# %%
def named_parts(model):
    yield "model.embed_tokens", model.embedding
    for i, block in enumerate(model.blocks):
        mine, theirs = block.attention, f"model.layers.{i}.self_attn"
        yield from zip(
            [f"{theirs}.{letter}_proj" for letter in "qkvo"],
            [mine.query, mine.key, mine.value, mine.output_projection],
            strict=True,
        )
        for name in ("gate", "up", "down"):
            yield f"model.layers.{i}.mlp.{name}_proj", getattr(block.feed_forward, name)
        yield f"model.layers.{i}.input_layernorm", block.norm_1
        yield f"model.layers.{i}.post_attention_layernorm", block.norm_2
    yield "model.norm", model.norm
    yield "lm_head", model.projection


def load(folder):
    model = Llama(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    model(np.array([[0, 0]]))  # builds it
    weights = load_file(folder / "model.safetensors")
    weights.setdefault("lm_head.weight", weights["model.embed_tokens.weight"])  # tied, in SmolLM2
    for name, part in named_parts(model):
        array = weights.pop(f"{name}.weight")
        part.set_weights([array.T if isinstance(part, keras.layers.Dense) else array])
    assert not weights, f"left over: {list(weights)}"
    return model


# %% [markdown]
# Such a folder of your own, with the proportions of SmolLM2 (nine heads, three of keys and values)
# and random numbers:

# %%
config = {
    "model_type": "llama",
    "vocab_size": 500,
    "hidden_size": 144,
    "intermediate_size": 384,
    "num_hidden_layers": 4,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "eos_token_id": 0,
}
folder = Path(tempfile.mkdtemp())
(folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
published = Llama(config)
published(np.array([[0, 0]]))
arrays = {}
for name, part in named_parts(published):
    [array] = part.get_weights()
    array = array.T if isinstance(part, keras.layers.Dense) else array
    noise = random.normal(size=array.shape).astype("float32") / 10
    arrays[f"{name}.weight"] = np.ascontiguousarray(array + noise)
save_file(arrays, folder / "model.safetensors")
print(f"{len(arrays)} arrays, {sum(x.size for x in arrays.values()):,} numbers")

# %% [markdown]
# Your model reads it, and the library reads it. Do they say the same? (The library keeps the first
# three ids for padding, unknown words and the start, and moves the end to 3, which is the first
# one here. So its ids are 3 higher.)

# %%
yours, theirs = load(folder), kt.TransformerLanguageModel.from_pretrained(folder)
ids = random.integers(1, 500, size=(3, 40))
logits, expected = np.array(yours(ids)), np.array(theirs(ids + 3))[..., 3:]
print(f"logits {logits.shape} between {logits.min():.1f} and {logits.max():.1f}")
print(f"largest difference below 1e-4: {np.abs(logits - expected).max() < 1e-4}")
assert np.allclose(logits, expected, atol=1e-4)
assert yours.count_params() == sum(x.size for x in arrays.values())

# %% [markdown]
# The same forty lines read SmolLM2-135M from its folder (its files hold bfloat16: convert them to
# float32 first), and with its tokenizer the library writes with it:
# `kt.Generate.from_pretrained(folder)`. The settings that were loaded are your six steps:

# %%
changed = ("norm_first", "normalization", "rotary_base", "gated", "activation", "h_kv", "use_bias")
print(*(f"{name}={getattr(theirs.settings, name)!r}" for name in changed), sep="\n")

# %% [markdown]
# ## What is it worth?
#
# Now compare with your guess. A row is one exchange in the small translator, a dot is a seed: the
# validation loss with it minus the one of the default run of the same seed. The gray band is what
# the seed alone does to the default run.

# %%
usual = table["default run"]
rows = {name: x - usual[: len(x)] for name, x in table.items() if name != "default run"}
order = sorted(rows, key=lambda name: rows[name].mean())
spread = np.abs(usual - usual.mean()).max()
figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
axes.axvspan(-spread, spread, color="0.9")
axes.axvline(0, color="black", linewidth=0.8)
for i, name in enumerate(order):
    axes.plot(rows[name], [i] * len(rows[name]), "o", color=BLUE, alpha=0.6)
    axes.plot(rows[name].mean(), i, "|", color="black", markersize=14)
axes.set_yticks(range(len(order)), order)
axes.invert_yaxis()
axes.set(xlabel="change of the validation loss (left is better)")
axes.grid(axis="x", alpha=0.3)
plt.show()

# %% [markdown]
# Two exchanges help this translator with every seed, and both are of the coda. QK-norm also helps
# on the longer sentences of Multi30k. (Its relative, scores that are cosines, was ahead in
# notebook 13.) The window does not: there, a decoder that sees four words begins to repeat itself.
# Pre-norm, RMSNorm, rotary positions and no biases change no more than the seed does. The gate and
# the shared keys cost quality, and Llama's block as a whole costs most.
#
# So is Llama worse? No: it is made for other problems. Pre-norm lets eighty layers learn, and here
# are two. RMSNorm and no biases save a little time in each of a trillion steps. Grouped queries let
# the cache of a long text fit into the memory, and here a sentence has ten words. Besides, 352
# updates measure how *fast* a model learns, not how good it can become. What to take along is not a
# list of parts, but two questions: which problem does a part solve, and do you have it?
#
# ## Try it: other models
#
# The file `config.json` of a published model says which changes it made. How large are they, and
# what does a text of 8,000 words cost in the cache? Add a row: any model whose config you find.

# %%
family = {  # layers, d, heads, heads of keys, d_ff, words, tied
    "Llama 2 7B": (32, 4096, 32, 32, 11008, 32000, False),
    "Llama 3 8B": (32, 4096, 32, 8, 14336, 128256, False),
    "Mistral 7B": (32, 4096, 32, 8, 14336, 32000, False),
    "SmolLM2 135M": (30, 576, 9, 3, 1536, 49152, True),
}
for name, (layers, d, heads, kv_heads, *_) in family.items():
    gigabytes = cache_bytes(layers, kv_heads, d // heads, 8000) / 1e9
    print(f"{name:13} {gigabytes:5.2f} GB of cache, {heads} heads, {kv_heads} of keys and values")

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Count the parameters of these models from their sizes. SmolLM2 135M has 134,515,008. How
# > many would Llama 3 8B have with 32 heads of keys and values?
#
# Four matrices of attention, three of the gate, two norms; then the embeddings, once or twice.


# %%
def parameters(layers, d, heads, kv_heads, d_ff, words, tied):
    attention_weights = 2 * d * d + 2 * d * (d // heads * kv_heads)
    layer = attention_weights + 3 * d * d_ff + 2 * d
    return layers * layer + d + words * d * (1 if tied else 2)


for name, numbers in family.items():
    print(f"{name:13} {parameters(*numbers):13,}")
assert parameters(*family["SmolLM2 135M"]) == 134_515_008
more = parameters(32, 4096, 32, 32, 14336, 128256, False) - parameters(*family["Llama 3 8B"])
print(f"with 32 heads of keys and values: {more:,} more")
assert more == 32 * 2 * 4096 * (4096 - 1024)

# %% [markdown]
# > **2.** Your model computes all words again for each new one. Write the attention of one more
# > word with a cache of keys and values. Why must the keys in the cache be rotated already, and why
# > do the queries need no cache?
#
# A key is rotated by its own position, which never changes. A query is needed once, when its word
# is read.


# %%
def step(layer, word, keys, values):
    """Attention of one word (batch, 1, d), with the keys and values of those before it."""
    place, kv_heads = keys.shape[2], layer.kv_heads
    shifted = np.zeros((len(word), place + 1, word.shape[-1]), "float32")
    shifted[:, -1:] = word  # `rotate_heads` then turns it by its place
    query = rotate_heads(split(layer.query(shifted), layer.heads), layer.base)[:, :, -1:]
    key = rotate_heads(split(layer.key(shifted), kv_heads), layer.base)[:, :, -1:]
    keys = np.concatenate([keys, key], axis=2)
    values = np.concatenate([values, split(layer.value(word), kv_heads)], axis=2)
    all_keys, all_values = (np.repeat(y, layer.heads // kv_heads, axis=1) for y in (keys, values))
    return layer.output_projection(merge(attention(query, all_keys, all_values))), keys, values


layer = GroupedQueryAttention(4, 2, 16, 64)
whole = np.array(layer(x, mask))
keys = rotate_heads(split(layer.key(x[:, :2]), 2))  # of the first two words
values = split(layer.value(x[:, :2]), 2)
for t in range(2, 10):
    output, keys, values = step(layer, x[:, t : t + 1], keys, values)
    assert np.allclose(output[:, 0], whole[:, t], atol=1e-5)
print("cache:", keys.shape, "keys for", layer.heads, "heads of queries")

# %% [markdown]
# > **3.** A model has read texts of 2,000 words, and should read 4,000. *Position interpolation*
# > divides all positions by 2. Show that `kt.rotary_embedding(…, scaling=(2.0,))` does so.
#
# With half of the angle, position 2t turns as far as position t did.

# %%
vector = np.tile(random.normal(size=16).astype("float32"), (20, 1))
stretched = np.array(kt.rotary_embedding(vector, scaling=(2.0,)))
assert np.allclose(stretched[::2], np.array(rotate_heads(vector))[:10], atol=1e-5)

# %% [markdown]
# ## Where it comes from
#
# * R. Xiong et al., *On Layer Normalization in the Transformer Architecture*, 2020: pre-norm.
# * B. Zhang and R. Sennrich, *Root Mean Square Layer Normalization*, 2019.
# * J. Su et al., *RoFormer: Enhanced Transformer with Rotary Position Embedding*, 2021.
# * N. Shazeer, *GLU Variants Improve Transformer*, 2020.
# * N. Shazeer, *Fast Transformer Decoding: One Write-Head is All You Need*, 2019, and J. Ainslie et
#   al., *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints*,
#   2023.
# * A. Chowdhery et al., *PaLM: Scaling Language Modeling with Pathways*, 2022: no biases.
# * A. Henry et al., *Query-Key Normalization for Transformers*, 2020.
# * I. Beltagy et al., *Longformer: The Long-Document Transformer*, 2020: the window.
# * S. Chen et al., *Extending Context Window of Large Language Models via Positional
#   Interpolation*, 2023.
# * H. Touvron et al., *LLaMA: Open and Efficient Foundation Language Models*, 2023; A. Jiang et
#   al., *Mistral 7B*, 2023; A. Yang et al., *Qwen3 Technical Report*, 2025.
# * S. Narang et al., *Do Transformer Modifications Transfer Across Implementations and
#   Applications?*, 2021: most do not; the gate and RMSNorm did.
