# %% [markdown]
# # Where should a translator look?
#
# The first neural translators read the whole source sentence into *one* vector and wrote the
# translation from it. Long sentences did not fit. In 2015 Bahdanau, Cho and Bengio let the writer
# look back: before each word, it weighs all the states of the reader again. That is where attention
# in today's sense began, two years before the transformer.
#
# Let $h_1 \dots h_S$ be the states of the encoder, which reads the source, and $s$ the state of the
# decoder, which writes. Then
#
# $$\alpha_j = \frac{e^{\operatorname{score}(s, h_j)}}{\sum_k e^{\operatorname{score}(s, h_k)}},
# \qquad c = \sum_j \alpha_j h_j ,$$
#
# and the **context** $c$ is what the decoder gets to see of the source. All that differs is the
# score.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import contextlib
import io
import tempfile

import keras
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image
from keras import ops

from keras_transformer import (
    AdditiveAttention,
    BlockSettings,
    LuongAttention,
    PrepareDataset,
    RecurrentTranslator,
    Trainer,
    TransformerModel,
    Translate,
    plot_alignments,
    plot_attention,
    record_attention,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Scores
#
# **Additive** (Bahdanau): a small network with one hidden layer sees both vectors,
#
# $$\operatorname{score}(s, h) = v^\top \tanh(W_1 h + W_2 s) .$$
#
# **Multiplicative** (Luong): products, which are cheaper. There are three, of which the last is the
# additive one again, written with the two vectors on top of each other:
#
# $$\text{dot: } s^\top h, \qquad \text{general: } s^\top W h, \qquad
# \text{concat: } v^\top \tanh(W [s; h]) .$$

# %%
decoder_states = keras.random.normal((1, 4, 8))  # four states s, of size 8
encoder_states = keras.random.normal((1, 6, 8))  # six states h

layers = {
    "additive": AdditiveAttention(units=8),
    "dot": LuongAttention("dot"),
    "general": LuongAttention("general"),
    "concat": LuongAttention("concat"),
}
for name, layer in layers.items():
    with record_attention() as recorded:
        context = layer(decoder_states, encoder_states)
    weights = np.array(recorded[layer])
    assert np.allclose(weights.sum(axis=-1), 1, atol=1e-5)
    print(
        f"{name:8}  context {tuple(context.shape)}, weights {weights.shape}, "
        f"{layer.count_params():3} parameters"
    )

# %% [markdown]
# Why two matrices $W_1$ and $W_2$ when one for $[s; h]$ would do? Because $W_1 h$ does not depend
# on the decoder's state: it is computed once for the sentence. The numbers are the same.

# %%
layer = layers["additive"]
w_1 = layer.value_projection.kernel
w_2 = layer.query_projection.kernel
v = layer.score.kernel

s, h = decoder_states[0, 0], encoder_states[0]
apart = ops.tanh(ops.matmul(h, w_1) + ops.matmul(s, w_2))
both = ops.concatenate([h, ops.broadcast_to(s, (6, 8))], axis=1)
together = ops.tanh(ops.matmul(both, ops.concatenate([w_1, w_2], axis=0)))
assert np.allclose(apart, together, atol=1e-5)

expected = ops.softmax(ops.matmul(apart, v)[:, 0])
with record_attention() as recorded:
    layer(decoder_states, encoder_states)
assert np.allclose(recorded[layer][0, 0], expected, atol=1e-5)

# %% [markdown]
# ## A window
#
# Why weigh all of a long source? Luong's **local** attention looks at a window of $2D + 1$
# positions. Its center is either the target's own position (*local-m*, monotonic) or predicted from
# the decoder's state (*local-p*), $p = S \cdot \operatorname{sigmoid}(v_p^\top \tanh(W_p s))$; then
# the weights are also multiplied by a bell curve around $p$ with $\sigma = D / 2$.
#
# **Try it**: change the window, and look at how wide the band is.

# %%
window = 3

source = keras.random.normal((1, 24, 8), stddev=0.5)
target = keras.random.normal((1, 20, 8), stddev=0.5)
local = {
    "global": LuongAttention("dot"),
    "local-m": LuongAttention("dot", window=window),
    "local-p, not trained": LuongAttention("dot", window=window, alignment="predictive"),
}
figure, grid = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for axes, (name, layer) in zip(grid, local.items(), strict=True):
    with record_attention() as recorded:
        layer(target, source)
    picture = axes.imshow(recorded[layer][0], "Blues", vmin=0, vmax=1)
    axes.set(title=name, xlabel="source position", ylabel="target position")
figure.colorbar(picture, ax=grid, label="weight", shrink=0.8)
plt.show()

# %% [markdown]
# ## A language that is read backwards
#
# To see an alignment, take a language whose word order we know. English says *three one four*; the
# other language has German words and says them in the opposite order, *vier eins drei*. To
# translate, one must look at the last word first.

# %%
english = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
german = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]


def draw_pair(random):
    digits = random.integers(9, size=random.integers(3, 8))
    return " ".join(english[i] for i in digits), " ".join(german[i] for i in digits[::-1])


random = np.random.default_rng(0)
dataset = PrepareDataset()([draw_pair(random) for _ in range(4000)])
print(dataset)
print(dataset.train[0])

# %% [markdown]
# The 13 tokens are nine words and four signs: padding, unknown word, start and end of a sentence.
#
# `RecurrentTranslator` is the whole system: embeddings (learned vectors of the words), an encoder,
# a decoder of either kind, and a dense layer that scores all words. Bahdanau's encoder reads in
# both directions, so that a state knows what stands before and after its word; Luong's reads from
# left to right only. Bahdanau's decoder looks *before* each step, with the state it had; Luong's
# looks *after* it and makes $\tanh(W[c; s])$ of what it saw and knew. `Trainer` trains as `fit`
# does, and writes the results to a folder. Four passes over the 2,900 pairs are enough.

# %%
scratch = tempfile.TemporaryDirectory()  # deleted when the notebook ends
translators = {}
for kind in ("bahdanau", "luong"):
    keras.utils.set_random_seed(0)
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    both = kind == "bahdanau"  # directions
    model = RecurrentTranslator(*sizes, 32, 64, rate=0.0, attention=kind, bidirectional=both)
    model.build(((None, None), (None, None)))
    trainer = Trainer(model, keras.optimizers.Adam(5e-3), f"{scratch.name}/{kind}")
    with contextlib.redirect_stdout(io.StringIO()):  # hide the progress bar
        history, _ = trainer.train(
            dataset.batches(dataset.train, batch_size=32, seed=0),
            dataset.batches(dataset.validation, batch_size=64),
            epochs=4,
        )
    right = [f"{row['validation_accuracy']:.1%}" for row in history]
    print(f"{kind}: accuracy after each epoch {', '.join(right)}")
    translators[kind] = Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)

# %%
sentence = "three one four one five nine"
for kind, translate in translators.items():
    print(f"{kind}: {translate(sentence)}")

# %% [markdown]
# And where did it look? One row for each word that was written, one column for each word that was
# read. Nobody has told the network which word belongs to which; it has found out, because nothing
# else makes the loss small.

# %%
hypothesis = translators["bahdanau"].hypotheses(sentence, return_attention=True)[0][0]
plot_attention(hypothesis, f"{scratch.name}/attention.png")
Image(f"{scratch.name}/attention.png", width=420)

# %% [markdown]
# That is what the picture of the two architectures looks like. Without attention, all that the
# writer learns of the source has to pass through the last state of the reader; with it, every word
# that is written has its own connection to every word that was read, here as dark as its weight.


# %%
def draw_chain(axes, words, y, color):
    for i, word in enumerate(words):
        box = {"boxstyle": "round", "facecolor": color, "edgecolor": "black"}
        axes.text(i, y, word.removeprefix("▁"), ha="center", va="center", bbox=box, fontsize=8)
        if i:
            axes.annotate("", (i - 0.25, y), (i - 0.75, y), arrowprops={"arrowstyle": "->"})


weights = hypothesis.attention["cross"][0, 0]
read, written = hypothesis.source_tokens, hypothesis.tokens
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 2.6), layout="constrained")
for axes, title in ((left, "without attention"), (right, "with attention")):
    draw_chain(axes, read, 0, "#CFE5F3")
    draw_chain(axes, written, 1, "#FCE3D0")
    axes.set(title=title, xlim=(-0.6, len(read) - 0.4), ylim=(-0.3, 1.3))
    axes.axis("off")
left.annotate("", (0, 0.85), (len(read) - 1, 0.15), arrowprops={"arrowstyle": "->"})
for (t, s), weight in np.ndenumerate(weights):
    right.plot([s, t], [0.15, 0.85], color="black", alpha=float(weight))
plt.show()

# %%
looked_at = weights[:-1].argmax(axis=1)  # without the row of the end
for word, i in zip(hypothesis.tokens, looked_at, strict=False):
    print(f"{word[1:]:>6} looked most at {hypothesis.source_tokens[i][1:]}")  # without the ▁

# %% [markdown]
# Two years later the transformer dropped the recurrence and kept the attention. Here is a small
# one, with one layer and one head (notebooks 04 to 06 build it), trained on the same pairs for as
# long, and beside them on the same sentence. It finds much the same alignment, but a paler one, and
# it is less often right: no state is carried along from which it could see how far it has
# come, so it has to find *the fourth word from the end* by position encodings alone, which takes
# longer to learn. Toward the end of this sentence, it hesitates between several words.

# %%
keras.utils.set_random_seed(0)
settings = BlockSettings(h=1, d_model=64, d_ff=128, n=1, rate=0.0, norm_first=True)
sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
model = TransformerModel(*sizes, settings=settings)
model.build(((None, None), (None, None)))
trainer = Trainer(model, keras.optimizers.Adam(3e-3), f"{scratch.name}/transformer")
with contextlib.redirect_stdout(io.StringIO()):  # hide the progress bar
    history, _ = trainer.train(
        dataset.batches(dataset.train, batch_size=32, seed=0),
        dataset.batches(dataset.validation, batch_size=64),
        epochs=4,
    )
print(f"transformer: accuracy after the last epoch {history[-1]['validation_accuracy']:.1%}")
tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
three = {**translators, "transformer": Translate(model, *tokenizers)}
three = {
    name: translate.hypotheses(sentence, return_attention=True)[0][0]
    for name, translate in three.items()
}
plot_alignments(three, f"{scratch.name}/alignments.png")
Image(f"{scratch.name}/alignments.png", width=760)

# %% [markdown]
# Luong's network looks one word too far to the right, and is right all the same: its encoder reads
# from left to right, and its state at a word still knows the word before. Attention shows where
# information was taken, not what it means.
#
# The same two models learn English and German as well: `python scripts/train.py --model luong`.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** How many parameters does each score have if queries have size $a$ and the encoder's
# > states size $b$? Check *general* and *additive* (with $u$ units).
#
# *dot* none; *general* $ab$; *additive* $bu + au + u$. (*concat* is the additive score with $u = a$
# in our layer.)

# %%
a, b, u = 6, 10, 7
shapes = ((None, None, a), (None, None, b))
general, additive = LuongAttention("general"), AdditiveAttention(u)
general.build(*shapes)
additive.build(*shapes)
assert general.count_params() == a * b
assert additive.count_params() == b * u + a * u + u

# %% [markdown]
# > **2.** Which of the three scores "dot", "general" and "concat" can be made equal to another one
# > by a choice of its weights?
#
# *General* with the identity as its matrix is *dot*. *Concat* is neither: its scores never exceed
# the sum of the sizes of $v$'s entries, while products grow with the vectors.

# %%
general, dot = LuongAttention("general"), LuongAttention("dot")
general.build((1, 4, 8), (1, 6, 8))
general.set_weights([np.eye(8)])
assert np.allclose(
    general(decoder_states, encoder_states), dot(decoder_states, encoder_states), atol=1e-5
)

concat = layers["concat"]
long = concat.scores(100 * decoder_states, concat.project(100 * encoder_states))
assert np.max(np.abs(long)) <= np.abs(concat.additive.score.kernel).sum() + 1e-5

# %% [markdown]
# > **3.** The source has 10 words, the target 20, and the attention is local-m with $D = 2$. From
# > which target position on does the decoder see nothing?
#
# The last source position is 9 (from 0), so position 11 still sees it and position 12 sees nothing:
# its context is zero.

# %%
local = LuongAttention("dot", window=2)
context = np.array(local(keras.random.normal((1, 20, 8)), keras.random.normal((1, 10, 8))))[0]
sees = np.any(context != 0, axis=1)
assert sees[:12].all() and not sees[12:].any()

# %% [markdown]
# ## Where it comes from
#
# * D. Bahdanau, K. Cho and Y. Bengio, *Neural Machine Translation by Jointly Learning to Align and
#   Translate*, 2015, section 3 and appendix A.
# * M.-T. Luong, H. Pham and C. Manning, *Effective Approaches to Attention-based Neural Machine
#   Translation*, 2015, section 3.
# * K. Cho et al., *On the Properties of Neural Machine Translation*, 2014: long sentences do not
#   fit in one vector.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 3.1 ★ A context by hand
#
# The decoder's state is $s = (1, 0)$, and the encoder has two states, $h_1 = (0, 4)$ and
# $h_2 = (\ln 3, 0)$. The score is *dot*. What is the context $c$?

# %%
context = ...  # a list of two numbers

check("3.1", context)

# %% [markdown]
# ### 3.2 ★ Through a window
#
# The attention is local-m with $D = 2$, and the source has nine words. Which source positions does
# the decoder see at target position 7? Positions count from 0.

# %%
positions = ...  # a list

check("3.2", positions)

# %% [markdown]
# ### 3.3 ★★ A predicted center
#
# The attention is local-p with $D = 4$, the source has $S = 20$ words, and
# $v_p^\top \tanh(W_p s) = 0$. Where is the center $p$, and by what is the weight of position
# $j = 14$ multiplied? The bell curve is $e^{-(j - p)^2 / (2 \sigma^2)}$ with $\sigma = D / 2$.

# %%
center, factor = ..., ...

check("3.3", [center, factor])

# %% [markdown]
# ### 3.4 ★★ A perfect alignment
#
# A translator for the language that is read backwards looks at the right word and at nothing else.
# Return its attention weights for a sentence of $n$ words: a row for each word that is written, a
# column for each word that is read, without the ends of the sentences.


# %%
def perfect_weights(n):
    return ...  # an array of shape (n, n)


check("3.4", perfect_weights)

# %% [markdown]
# ### 3.5 ★★★ Luong's three scores
#
# Write the three scores of one state $s$, with the shape (a,), and all states $h$ of the encoder,
# with the shape (S, b). The result has the shape (S,). `W` has the shape (a, b) for "general" and
# (u, a + b) for "concat", and `v` has the shape (u,); "dot" needs neither.


# %%
def luong_scores(kind, s, h, W, v):
    if kind == "dot":
        return ...
    if kind == "general":
        return ...
    return ...  # concat: s is above h


check("3.5", luong_scores)
