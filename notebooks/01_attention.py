# %% [markdown]
# # What is attention?
#
# A word rarely means anything alone. In "can you help me to translate this sentence", the word
# *translate* wants to know *what* is translated, and *this* wants to know *this what*. Attention is
# the operation that lets every word look at all the others, decide how much each of them matters,
# and take a mixture of what they have to say.
#
# It works like a soft look-up. Each word plays three parts:
#
# * as a **query** it asks: whom am I looking for?
# * as a **key** it answers: this is what I can be found by;
# * as a **value** it gives: this is what you get if you look at me.
#
# A dictionary returns the value of the one key that equals the query. Attention returns the average
# of *all* values, each weighted by how well its key suits the query. With the queries as the rows
# of a matrix $Q$, the keys as the rows of $K$, both of size $d$, and the values as those of $V$,
#
# $$\operatorname{attention}(Q,K,V) = \operatorname{softmax}\left(\frac{QK^\top}{\sqrt d}\right)V$$
#
# That is all. The rest of this notebook takes the formula apart until nothing in it is surprising.

# %%
import inspect

import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import AttentionPage, Translate, hypothesis_views
from keras_transformer.step_by_step import (
    general_attention,
    general_attention_of_one,
    multi_head_self_attention,
    plain_self_attention,
    self_attention,
)

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## Four words
#
# Let a word be three numbers. Where do its query, key and value come from? Each is the word times
# a matrix. Later these matrices are learned; here they are drawn at random.

# %%
words = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]], "float32")

random = np.random.RandomState(42)
w_query, w_key, w_value = (random.randint(3, size=(3, 3)) for _ in range(3))

queries, keys, values = (words @ w for w in (w_query, w_key, w_value))
print("queries", queries, "keys", keys, "values", values, sep="\n")

# %% [markdown]
# ### One query, by hand
#
# Take the third word. First the **scores**: the product of its query with every key, divided by
# $\sqrt 3$. A large product means: query and key point the same way, and are long.

# %%
query = queries[2]
scores = keys @ query / np.sqrt(3)
print(scores)

# %% [markdown]
# Then the **weights**. The softmax makes every score positive with the exponential function and
# divides by the sum: the weights add up to 1.

# %%
weights = np.exp(scores) / np.exp(scores).sum()
print(weights, "sum", weights.sum())

# %% [markdown]
# Last the **output**: the values, mixed by these weights. The third word finds itself best and the
# first one a little, and hardly looks at the others: the output is three parts of the third value
# and one part of the first.

# %%
print(weights @ values, "is close to", 0.75 * values[2] + 0.25 * values[0])

# %% [markdown]
# ### All queries
#
# The library has the same calculation twice, written to be compared: once for one query, with a
# loop over the keys, and once for all of them, with matrices. `ops` is Keras's NumPy: functions
# with the names that you know, which return the tensors of TensorFlow, JAX or PyTorch. `np.array`
# makes arrays of them again.

# %%
print(inspect.getsource(general_attention_of_one).split('"""')[2])
print(inspect.getsource(general_attention).split('"""')[2])

# %%
outputs, weights = (np.array(x) for x in general_attention(queries, keys, values))

for i, query in enumerate(queries):
    output, row = general_attention_of_one(query, keys, values)
    assert np.allclose(output, outputs[i], atol=1e-5) and np.allclose(row, weights[i], atol=1e-5)

print(outputs)

# %% [markdown]
# Loops and matrices agree. Matrices are what a computer is fast at, so all that follows uses them.
# (If you have seen this little example printed elsewhere, with the same seed: these are the
# numbers.)

# %%
published = [
    [0.98522025, 1.74174051, 0.75652026],
    [0.90965265, 1.40965265, 0.5],
    [0.99851226, 1.75849334, 0.75998108],
    [0.99560386, 1.90407309, 0.90846923],
]
assert np.allclose(outputs, published, atol=1e-6)

# %% [markdown]
# ## A sentence that looks at itself
#
# When queries, keys and values are made of the same words, we speak of **self-attention**. We take
# a sentence of eight words. Their vectors are random, as those of a network are before it has
# learned anything, so do not look for meaning in the plots, only for their structure.

# %%
sentence = ["can", "you", "help", "me", "to", "translate", "this", "sentence"]
size = 16
random = np.random.default_rng(0)
x = random.normal(size=(len(sentence), size)).astype("float32")


def draw(axes, weights, title, names=sentence):
    picture = axes.imshow(weights, "Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set(title=title, xlabel="looked at", ylabel="looking")
    return picture


# %% [markdown]
# Three versions, from the simplest to the one that transformers use:
#
# 1. **without parameters**: $\operatorname{softmax}(XX^\top)X$. Each word asks with its own vector
#    and is found by it, so it mostly finds itself;
# 2. **with a projection for each part**: $Q = XW_Q$, $K = XW_K$, $V = XW_V$. Now a word may look
#    for something unlike itself, and *A looks at B* no longer implies *B looks at A*;
# 3. **with several heads**: version 2 several times side by side with smaller matrices. The outputs
#    are concatenated and projected once more. Each head may look for something else.

# %%
_, plain = plain_self_attention(x)


def projections(count, output_size):
    return [random.normal(size=(size, output_size)).astype("float32") / 4 for _ in range(count)]


_, projected = self_attention(x, *projections(3, size))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
draw(left, np.array(plain), "1: without parameters")
bar = draw(right, np.array(projected), "2: with projections")
figure.colorbar(bar, ax=(left, right), label="weight; each row sums to 1", shrink=0.6)
plt.show()

# %%
heads = [projections(3, size // 8) for _ in range(8)]
output, weights = multi_head_self_attention(x, heads, projections(1, size)[0])
weights = np.array(weights)
print("output", output.shape, "weights", weights.shape)

figure, grid = plt.subplots(2, 4, figsize=(9, 5), layout="constrained")
for i, axes in enumerate(grid.flat):
    bar = axes.imshow(weights[i], "Blues", vmin=0, vmax=1)
    axes.set(title=f"head {i + 1}", xticks=[], yticks=[])
for axes in grid[:, 0]:
    axes.set_yticks(range(8), sentence)
for axes in grid[1]:
    axes.set_xticks(range(8), sentence, rotation=90)
figure.colorbar(bar, ax=grid, label="weight", shrink=0.6)
plt.show()

# %% [markdown]
# In every plot each row sums to 1: a word has one unit of attention to give away.

# %%
for matrix in (np.array(plain), np.array(projected), *weights):
    assert np.allclose(matrix.sum(axis=-1), 1, atol=1e-5)

# %% [markdown]
# ## After learning
#
# So far all matrices were random. What do the weights look like once they are learned? The small
# translator that comes with the project attends from each German word that it writes (a row) to
# the English words (the columns), in two layers of four heads each: notebook 05 says why there are
# several. Click a head to enlarge it. In layer 2, head 3, *kaufen*, at the end of the German
# sentence, finds *buy* in the middle of the English one. In layer 1, head 2, it looks mostly at the
# period: not every head is a dictionary.

# %%
translate = Translate.from_run("../data/bundled-run")
english = "We want to buy a new car tomorrow."
hypothesis = translate.hypotheses(english, return_attention=True)[0][0]
cross = hypothesis_views(hypothesis)[-1]
assert np.allclose(cross.weights.sum(axis=-1), 1, atol=1e-5)
AttentionPage([cross], f"{english} → {hypothesis.text}", height=680)

# %% [markdown]
# ## Try it: why divide by $\sqrt d$?
#
# If the entries of a query and a key are independent with mean 0 and variance 1, their product has
# variance $d$: the larger the vectors, the larger the scores, and the more the softmax turns into
# "all for one". Then its derivative is almost zero and hardly anything can be learned. Dividing by
# $\sqrt d$ keeps the variance at 1, whatever $d$ is.
#
# Change `number_of_keys`, or what the scores are divided by, and run the cell again.

# %%
number_of_keys = 10
dividers = {"undivided": lambda d: 1, "divided by √d": lambda d: np.sqrt(d)}

sizes = [1, 4, 16, 64, 256, 1024]
random = np.random.default_rng(1)
scores = {}
for d in sizes:
    some_queries, some_keys = random.normal(size=(2, 1000, number_of_keys, d))
    scores[d] = np.sum(some_queries[:, :1] * some_keys, axis=-1)  # of 1000 queries

for style, (name, divider) in zip(("o--", "s-"), dividers.items(), strict=True):
    weights = [np.array(ops.softmax(scores[d] / divider(d))) for d in sizes]
    plt.plot(sizes, [w.max(axis=1).mean() for w in weights], style, label=name)
plt.axhline(1 / number_of_keys, color="gray", linestyle=":", label="all weights equal")
plt.gcf().set_size_inches(6, 3.5)
plt.xscale("log")
plt.xticks(sizes, sizes)
plt.minorticks_off()
plt.ylim(0, 1.05)
plt.xlabel("size d of queries and keys")
plt.ylabel("largest of the weights, on average")
plt.legend()
plt.show()

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Which query makes the output the plain average of all values, whatever the keys are?
#
# The zero vector: all its scores are 0, so all weights are equal.

# %%
output, row = general_attention_of_one(np.zeros(3, "float32"), keys, values)
assert np.allclose(row, 1 / 4)
assert np.allclose(output, values.mean(axis=0))

# %% [markdown]
# > **2.** Shuffle the words of the sentence. What happens to the output of self-attention? (The
# > answer is the reason for notebook 04.)
#
# The outputs are shuffled in the same way, and are otherwise the same: to self-attention a sentence
# is a bag of words.

# %%
w = projections(3, size)
order = [3, 1, 0, 2, 7, 6, 5, 4]
output, _ = self_attention(x, *w)
shuffled, _ = self_attention(x[order], *w)
assert np.allclose(shuffled, np.array(output)[order], atol=1e-5)

# %% [markdown]
# > **3.** Make the look-up hard: give queries and keys such that attention returns, to three
# > digits, the value of one chosen key, as a dictionary does.
#
# Keys that are at right angles to each other, and queries that are long: the longer the query, the
# harder the look-up.

# %%
hard_keys = np.eye(4, dtype="float32")
hard_queries = 40 * hard_keys[[2, 0]]  # looks for the third value, then for the first
output, row = general_attention(hard_queries, hard_keys, values)
assert np.allclose(output, values[[2, 0]], atol=1e-3)
print(np.array(row))

# %% [markdown]
# ## Where it comes from
#
# * D. Bahdanau, K. Cho and Y. Bengio, *Neural Machine Translation by Jointly Learning to Align and
#   Translate*, 2015: attention between two sentences, see notebook 03.
# * A. Vaswani et al., *Attention Is All You Need*, 2017, section 3.2: the formula above, the
#   division by $\sqrt d$ and its reason, and several heads.

# %% [markdown]
# ## Practice
#
# Exercises that answer. Replace the dots and run the cell: `check` says "Right.", or what is
# wrong and what to think about. Three digits are enough.
#
# * ★ read and predict: with pencil and paper;
# * ★★ calculate or change: a few lines of NumPy help;
# * ★★★ write: a function.
#
# The solutions are in `solutions.py`, next to the notebooks.

# %%
from exercises import check

# %% [markdown]
# ### 1.1 ★ Three weights
#
# A query has the scores 0, $\ln 2$ and $\ln 5$ with three keys, already divided by $\sqrt d$. What
# are the three weights?

# %%
weights = ...  # a list of three numbers

check("1.1", weights)

# %% [markdown]
# ### 1.2 ★ And their mixture
#
# The values of the three keys are $(8, 0)$, $(0, 8)$ and $(8, 8)$. What is the output?

# %%
output = ...  # a list of two numbers

check("1.2", output)

# %% [markdown]
# ### 1.3 ★ Why the root?
#
# The entries of a query and a key of size 64 are independent, with mean 0 and variance 1. What is
# the standard deviation of their product $q \cdot k$, before it is divided by anything?

# %%
deviation = ...

check("1.3", deviation)

# %% [markdown]
# ### 1.4 ★★ How long must a query be?
#
# A query has the scores 0 and 1 with two keys. By what number must it be multiplied, so that the
# larger weight is 0.9? (Both scores are multiplied by it, too.)

# %%
factor = ...

check("1.4", factor)

# %% [markdown]
# ### 1.5 ★★★ Attention that survives large scores
#
# Write attention with NumPy alone: queries $(T, d)$, keys $(S, d)$ and values $(S, m)$ give outputs
# $(T, m)$. It must also work for scores of 1000, whose exponential is infinite: what may you
# subtract from the scores of a query without changing its weights?


# %%
def stable_attention(queries, keys, values):
    return ...  # your code


check("1.5", stable_attention)
