# %% [markdown]
# # Why several heads, and what must they not see?
#
# A word may need several things at once: its verb, the noun it stands for, the word before it. One
# softmax gives away one unit of attention, and what goes to the verb is lost to the noun. So a
# transformer attends $h$ times in parallel, each time through projections of its own:
#
# $$\operatorname{head}_i = \operatorname{attention}(Q W_i^Q,\ K W_i^K,\ V W_i^V), \qquad
# \operatorname{multihead}(Q, K, V) = [\operatorname{head}_1; \dots; \operatorname{head}_h] W^O$$
#
# And there are things that a word must not see: padding, which is not a word, and, in a decoder,
# the words that are not written yet. That is what masks are for.

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

import keras_transformer as kt
from keras_transformer import (
    AttentionPage,
    DotProductAttention,
    MultiHeadAttention,
    RunFolder,
    Translate,
    combine_masks,
    hypothesis_views,
    plot_layer,
    plot_masks,
    record_attention,
)
from keras_transformer.build_it import or_solution

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Write it: attention
#
# The equation of notebook 01 for a batch, and for all heads at once: the leading axes of the
# arrays are carried along, and `ops.swapaxes(keys, -1, -2)` exchanges the last two alone. Where
# there is a mask and it is False, make the score so low, say $-10^9$, that the weight is 0.


# %%
def attention(queries, keys, values, mask=None):
    return ...  # (..., queries, size of a value)


attention = or_solution(attention)
queries, keys, values = (keras.random.normal((2, 5, 8)) for _ in range(3))
expected = DotProductAttention()(queries, keys, values, attention_mask=kt.causal_mask(5))
assert np.allclose(attention(queries, keys, values, kt.causal_mask(5)), expected, atol=1e-5)

# %% [markdown]
# The numbers of three words, in a head of size 2. Multiply a row of $Q$ with a column of $K^T$,
# make weights of the scores, and mix the rows of $V$ with them:

# %%
queries, keys, values = np.round(np.random.default_rng(4).normal(size=(3, 3, 2)), 1)
scores = queries @ keys.T / 2**0.5
weights = np.array(ops.softmax(scores))
steps = {"Q": queries, "Kᵀ": keys.T, "QKᵀ / √2": scores, "softmax": weights, "V": values}
steps["softmax · V"] = np.array(attention(queries, keys, values))
assert np.allclose(steps["softmax · V"], weights @ values, atol=1e-5)

figure, grid = plt.subplots(1, 6, figsize=(9.5, 1.9), layout="constrained")
for axes, (name, matrix) in zip(grid, steps.items(), strict=True):
    axes.imshow(matrix, "RdBu", vmin=-5, vmax=5)
    axes.set(title=name, xticks=[], yticks=[])
    for (row, column), number in np.ndenumerate(matrix):
        axes.text(column, row, f"{number:.2f}", ha="center", va="center", fontsize=8)
plt.show()

# %% [markdown]
# By hand: two keys that both have the product 0 with the query get half of the weight each, and the
# result is the mean of their values.

# %%
print(np.array(attention(np.ones((1, 2)), np.zeros((2, 2)), np.array([[1.0, 5.0], [3.0, 7.0]]))))

# %% [markdown]
# ## Write it: split and merge
#
# Eight heads need no loop: one matrix projects for all of them, and a reshape separates what
# belongs to each. An axis for the heads comes before that of the words, so that `attention` treats
# every head like a sentence of its own.


# %%
def split(x, heads):
    return ...  # (batch, heads, length, size of a head)


def merge(x):
    return ...  # (batch, length, heads * size)


split, merge = or_solution(split), or_solution(merge)
x = np.arange(12.0).reshape(1, 2, 6)  # 2 words of 6 numbers
print(x[0], np.array(split(x, 3))[0], sep="\n\n")
assert (np.array(merge(split(x, 3))) == x).all()

# %% [markdown]
# ## Write it: multi-head attention
#
# Project, split, attend, merge, project. What looks (`x`) and what is looked at (`memory`) may be
# two different things. `Dense(d)` computes $xW + b$ with a result of size $d$. (Do not call the
# last argument `mask`: Keras would fill it in itself. It has no axis for the heads yet:
# `ops.expand_dims(attention_mask, -3)` adds it.)


# %%
class MultiHead(keras.layers.Layer):
    def __init__(self, heads, d, **kwargs):
        super().__init__(**kwargs)
        ...  # self.query, self.key, self.value and self.output_projection, each a Dense(d)

    def call(self, x, memory, attention_mask=None):
        return ...  # (batch, length of x, d)


MultiHead = or_solution(MultiHead)

# %%
x, memory = keras.random.normal((2, 5, 32)), keras.random.normal((2, 7, 32))
yours, theirs = MultiHead(heads=4, d=32), MultiHeadAttention(h=4, d_k=8, d_v=8, d_model=32)
yours(x, memory)
expected = theirs(x, memory, memory)
yours.set_weights(theirs.get_weights())
assert np.allclose(yours(x, memory), expected, atol=1e-5)

# %% [markdown]
# The same as a picture, drawn from the library's layer: follow the shapes from bottom to top. The
# head is the second axis while the layer attends. (`B` is the number of sentences.)

# %%
plot_layer(theirs, keras.Input((5, 32)), keras.Input((7, 32)), keras.Input((7, 32))).figure

# %% [markdown]
# ## The sizes
#
# `d_k` is the size of queries and keys *in each head*, `d_v` that of the values, `d_model` that of
# the result. The sizes of the paper:

# %%
x = keras.random.normal((64, 5, 512))  # 64 sentences of 5 words
layer = MultiHeadAttention(h=8, d_k=64, d_v=64, d_model=512)
print("output", tuple(layer(x, x, x).shape))
for weight in layer.weights:
    print(f"{weight.path.split('/', 1)[1]:24} {tuple(weight.shape)}")
print(f"{layer.count_params():,} parameters")

# %% [markdown]
# One matrix holds the projections of all heads side by side; a reshape separates them. Where
# `d_k` is divided by the heads once more, as some tutorials do, about an eighth of it is left:

# %%
narrow = MultiHeadAttention(h=8, d_k=8, d_v=8, d_model=512)
narrow(x, x, x)
print(f"{narrow.count_params():,} parameters")
assert (layer.count_params(), narrow.count_params()) == (1_050_624, 131_776)

# %% [markdown]
# ## The heads
#
# What each of them attends to can be recorded while the layer runs. The weights are still random,
# and the heads already differ; training makes use of that.

# %%
words = ["the", "dog", "that", "we", "saw", "was", "asleep"]
x = keras.random.normal((1, len(words), 32))
layer = MultiHeadAttention(h=4, d_k=8, d_v=8, d_model=32)
with record_attention() as recorded:
    layer(2 * x, 2 * x, x)  # times 2: to have something to see
weights = np.array(recorded[layer.attention])
print("(batch, heads, queries, keys):", weights.shape)

figure, grid = plt.subplots(1, 4, figsize=(9.5, 3), sharey=True, layout="constrained")
for i, axes in enumerate(grid):
    picture = axes.imshow(weights[0, i], "Blues", vmin=0, vmax=1)
    axes.set_title(f"head {i + 1}")
    axes.set_xticks(range(len(words)), words, rotation=90)
grid[0].set_yticks(range(len(words)), words)
figure.colorbar(picture, ax=grid, label="weight", shrink=0.7)
plt.show()

# %% [markdown]
# What has training made of it? These are the heads of the trained encoder that comes with the
# project. Click one to enlarge it. In layer 2, head 3, *a* attends to *car*, past the adjective and
# more strongly than any other word to another: to choose between *ein* and *eine*, German needs the
# noun's gender. For most of the other heads such a short story cannot be told.

# %%
translate = Translate.from_run("../data/bundled-run")
sentence = "We want to buy a new car tomorrow."
hypothesis = translate.hypotheses(sentence, return_attention=True)[0][0]
AttentionPage(hypothesis_views(hypothesis)[:1], sentence, height=680)

# %% [markdown]
# One sentence may be an accident. So here are 120 sentences that the model has not been trained on.
# Of all their articles, how many attend most to one of the next two words, where the noun or its
# adjective stands? In layer 2, head 3 almost all, in four other heads a third to a half, in the
# others less than by chance. Yet no head is only for articles: other words use it, too, and the
# attention says where a head looks, not what the model makes of it.

# %%
english = [source for source, _ in RunFolder("../data/bundled-run").read_test()][::25][:120]
found, by_chance = [], []
for (hypothesis,) in translate.hypotheses(english, return_attention=True):
    for i, token in enumerate(hypothesis.source_tokens):
        if token.removeprefix("▁").lower() in ("a", "an", "the"):
            most = hypothesis.attention["encoder"][:, :, i].argmax(axis=-1)  # (layers, heads)
            found.append((most > i) & (most <= i + 2))
            by_chance.append(2 / len(hypothesis.source_tokens))
print(f"{len(found)} articles; by chance {np.mean(by_chance):.0%}")
for number, shares in enumerate(np.mean(found, axis=0), start=1):
    print(f"layer {number}:", "  ".join(f"head {i + 1} {x:.0%}" for i, x in enumerate(shares)))

# %% [markdown]
# ## Masks
#
# A mask says for each query and each key whether the query may attend to the key: True means yes.
# It has the shape (batch, queries, keys), or one that broadcasts to it.
#
# * the **padding mask** excludes the keys that are 0, for all queries;
# * the **causal mask**, or look-ahead mask, excludes the keys that come after the query;
# * a decoder needs both.

# %%
ids = np.array([[1, 2, 3, 4, 0, 0, 0]])
masks = {
    "padding": ops.broadcast_to(kt.padding_mask(ids), (1, 7, 7)),
    "causal": kt.causal_mask(7),
    "both": combine_masks(kt.padding_mask(ids), kt.causal_mask(7)),
}
first, *_ = plot_masks(masks, tokens=[str(i) for i in ids[0]])
first.figure

# %%
print(np.array(kt.padding_mask(ids)))
print(np.array(kt.causal_mask(5)).astype(int))

# %% [markdown]
# ## Write it: the masks
#
# Both are a comparison: is the id a word? Is the position of the key at most that of the query? An
# axis of size 1 stands for "all": for padding, all queries.


# %%
def padding_mask(ids):
    return ...  # bool, (batch, 1, keys)


def causal_mask(length):
    return ...  # bool, (queries, keys)


padding_mask, causal_mask = or_solution(padding_mask), or_solution(causal_mask)
assert (np.array(padding_mask(ids)) == np.array(kt.padding_mask(ids))).all()
assert (np.array(causal_mask(5)) == np.array(kt.causal_mask(5))).all()

# %% [markdown]
# How does a mask exclude a key in the library? $-10^{38}$ is added to its score, *before* the
# softmax, so that its weight is 0 and the others still sum to 1. Setting the weight to 0 afterwards
# would leave a sum below 1.

# %%
x = keras.random.normal((1, 7, 32))
with record_attention() as recorded:
    layer(x, x, x, attention_mask=kt.padding_mask(ids))
weights = np.array(recorded[layer.attention])[0]
print(np.round(weights[0, :3], 3))  # the first head, three queries
assert np.allclose(weights.sum(axis=-1), 1, atol=1e-5)
assert (weights[..., 4:] == 0).all()

# %% [markdown]
# Two corners where many implementations stumble. What if a query may look at *nothing*? It gets
# zeros. And in float16, where such a sum is $-\infty$ and a fully masked row gives NaN? The softmax
# runs in float32.

# %%
exact = DotProductAttention()
nothing = exact(x, x, x, attention_mask=np.zeros((7, 7), bool))
assert (np.array(nothing) == 0).all()

half = DotProductAttention(dtype="float16")
tensor = ops.cast(x, "float16")
mask = np.tri(7, k=-1, dtype=bool)  # the first word may look at nothing
assert np.isfinite(half(tensor, tensor, tensor, attention_mask=mask)).all()

# %% [markdown]
# ## Try it: the past only
#
# Change a word and see which outputs change. With the causal mask, those before it cannot. Change
# `changed`, or take `masks["causal"]` away.

# %%
changed = 3
mask = masks["causal"]

before = layer(x, x, x, attention_mask=mask)
another = np.array(x)
another[0, changed] += 1
after = layer(another, another, another, attention_mask=mask)
difference = np.abs(np.array(after) - np.array(before))[0].max(axis=-1)

plt.figure(figsize=(6, 2.8))
plt.bar(range(7), difference)
plt.axvline(changed, color="black", linestyle=":", label="the word that was changed")
plt.xlabel("position of the output")
plt.ylabel("largest change")
plt.ylim(0, 1.3 * difference.max())
plt.legend(loc="upper right")
plt.show()

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Copy the weights of our layer into `keras.layers.MultiHeadAttention` and show that both
# > compute the same, with a mask. (Its kernels have an axis for the heads.)

# %%
h, size, d_model = 4, 8, 32
ours = MultiHeadAttention(h, size, size, d_model)
theirs = keras.layers.MultiHeadAttention(h, size)
expected = ours(x, x, x, attention_mask=masks["both"])
theirs(x, x)

projections = (ours.query_projection, ours.key_projection, ours.value_projection)
copied = []
for projection in projections:
    kernel, bias = projection.get_weights()
    copied += [kernel.reshape(d_model, h, size), bias.reshape(h, size)]
kernel, bias = ours.output_projection.get_weights()
theirs.set_weights([*copied, kernel.reshape(h, size, d_model), bias])

found = theirs(x, x, attention_mask=masks["both"][None])
assert np.allclose(found, expected, atol=1e-5)

# %% [markdown]
# > **2.** `d_model` is 64 and $h \cdot$ `d_k` $= h \cdot$ `d_v` $= 64$. How does the number of
# > parameters depend on $h$?
#
# Not at all: three projections from 64 to 64 and one back, $4 \cdot (64 \cdot 64 + 64)$.

# %%
for h in (1, 2, 4, 8, 64):
    layer = MultiHeadAttention(h, 64 // h, 64 // h, 64)
    layer.build((None, 5, 64), (None, 5, 64), (None, 5, 64))
    assert layer.count_params() == 4 * (64 * 64 + 64)

# %% [markdown]
# > **3.** Make a mask with which each word sees only itself and the two words before it.
#
# The causal mask, and a second one for "at most two back".

# %%
position = np.arange(7)
near = position[:, None] - position[None, :] <= 2
window = np.array(combine_masks(kt.causal_mask(7), near))
assert window.sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3, 3]
assert window[5].tolist() == [False, False, False, True, True, True, False]

# %% [markdown]
# ## Where it comes from
#
# * A. Vaswani et al., *Attention Is All You Need*, 2017, sections 3.2.2 (heads) and 3.2.3 (who may
#   see whom).

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 5.1 ★ A mask by hand
#
# A query has the scores $0$, $\ln 3$ and $5$ with three keys, and the third one is padding, which
# the mask hides. What are the weights?

# %%
weights = ...  # a list of three numbers

check("5.1", weights)

# %% [markdown]
# ### 5.2 ★ Nothing to look at
#
# A query may look at none of three keys: its row of the mask is False everywhere. The values are
# $(1, 5)$, $(2, 6)$ and $(3, 7)$. What does the library's layer return, and what does the function
# `attention`, which you have written above, return?

# %%
of_the_library = ...  # a list of two numbers
of_yours = ...

check("5.2", [of_the_library, of_yours])

# %% [markdown]
# ### 5.3 ★★ Reshape alone
#
# Two words of six numbers, `[[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]`, are to be split into three
# heads. Somebody forgets the transpose and writes `x.reshape(3, 2, 2)`: heads, words, numbers of a
# head. What does head 1 get? (Heads count from 0.) And of which words are these numbers?

# %%
head = ...  # two rows of two numbers

check("5.3", head)

# %% [markdown]
# ### 5.4 ★★ Both masks
#
# The ids are `[7, 8, 9, 0, 0]`. How many of the 25 entries of the decoder's mask are True, if the
# causal mask and the padding mask (of the keys) must both allow it?

# %%
count = ...

check("5.4", count)

# %% [markdown]
# ### 5.5 ★★ One head of keys
#
# Large language models let all heads share keys and values, to keep less in memory: *multi-query
# attention*. How many parameters has it for `d_model` 512, eight heads of queries of size 64, and a
# single head of keys and values of size 64? All four projections have a bias. (With keys and values
# for each head there were 1,050,624.)

# %%
parameters = ...

check("5.5", parameters)

# %% [markdown]
# ### 5.6 ★★★ Several sentences in a row
#
# To waste no padding, several sentences are often packed into one row. Each position has the number
# of its sentence, and padding has 0: `[1, 1, 1, 2, 2, 0]`. Write the mask with which each word sees
# itself and the earlier words of its own sentence, and nobody sees padding. The argument is an
# array of shape (T,), and the result is boolean.


# %%
def sentence_mask(segments):
    return ...  # an array of shape (T, T): a row for each query


check("5.6", sentence_mask)
