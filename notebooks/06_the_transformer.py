# %% [markdown]
# # What is inside a transformer?
#
# Surprisingly little. An **encoder** reads the source: a stack of layers, each made of
# self-attention and a small network. A **decoder** writes the target: the same, plus a second
# attention in between, which looks at what the encoder has read. Around each of these parts $f$
# there is a residual connection, and a norm that gives each vector mean 0 and variance 1,
#
# $$x \leftarrow \operatorname{norm}\bigl(x + f(x)\bigr) \quad \text{(post-norm, the paper)},
# \qquad x \leftarrow x + f\bigl(\operatorname{norm}(x)\bigr) \quad \text{(pre-norm)} ,$$
#
# so that a layer need only *correct* what came before, and the gradient finds its way back through
# many of them.

# %%
import inspect
from dataclasses import replace

import keras
import matplotlib.pyplot as plt
import numpy as np

import keras_transformer as kt
from keras_transformer import (
    BlockSettings,
    Encoder,
    MaskedCrossEntropy,
    TransformerModel,
    plot_layer,
)
from keras_transformer.build_it import or_solution

keras.utils.set_random_seed(0)

# %% [markdown]
# ## One layer of the encoder
#
# The forward pass is three lines. `add_norm.sublayer_input` normalizes its input in the pre-norm
# version and returns it unchanged in the post-norm one.

# %%
print(inspect.getsource(kt.EncoderLayer.call).split('"""')[2])

# %% [markdown]
# The pre-norm version as a picture. The arrow on the right of each part is its residual connection:
# the way on which the gradient comes back undisturbed.

# %%
pre_norm = BlockSettings(h=8, d_model=512, d_ff=2048, norm_first=True)
plot_layer(kt.EncoderLayer(settings=pre_norm), keras.Input((7, 512), name="words")).figure

# %% [markdown]
# The same as a table of Keras, with the weights of each part. `build_graph` makes a model of a
# layer for a length:

# %%
kt.EncoderLayer(settings=pre_norm).build_graph(7).summary(line_length=88, print_fn=print)

# %% [markdown]
# And the post-norm version of the paper, where each sum is normalized and every gradient must pass
# all the norms:

# %%
post_norm = replace(pre_norm, norm_first=False)
plot_layer(kt.EncoderLayer(settings=post_norm), keras.Input((7, 512), name="words")).figure

# %% [markdown]
# The sizes of a well-known course: eight heads of size 8, vectors of 512, and 2048 inside the
# feed-forward network, which is where most of the weights are.

# %%
sizes = {"h": 8, "d_k": 8, "d_v": 8, "d_model": 512, "d_ff": 2048, "rate": 0.1}
layer = kt.EncoderLayer(**sizes)
layer.build((None, None, 512))


def print_parts(layer, *parts):
    for part in parts:
        print(f"{part:16} {getattr(layer, part).count_params():9,}")
    print(f"{'in all':16} {layer.count_params():9,} parameters")


print_parts(layer, "self_attention", "add_norm_1", "feed_forward", "add_norm_2")
assert layer.count_params() == 2_233_536

# %% [markdown]
# ## One layer of the decoder
#
# One more attention, whose queries are the decoder's and whose keys and values are the encoder's
# output, and with it a third norm. (With 1,024 parameters less, 2,365,312, two of the three norms
# would be the same layer: a slip that is easy to make and hard to see.)

# %%
print(inspect.getsource(kt.DecoderLayer.call).split('"""')[2])

layer = kt.DecoderLayer(**sizes)
layer.build((None, None, 512), (None, None, 512))
parts = ("self_attention", "add_norm_1", "cross_attention", "add_norm_2")
print_parts(layer, *parts, "feed_forward", "add_norm_3")
assert layer.count_params() == 2_366_336

# %% [markdown]
# ## The whole
#
# Source ids are embedded, with their positions, and encoded; target ids are embedded and decoded;
# a last projection gives each word of the target vocabulary a score, the **logit**. Masks are
# derived from the ids, where 0 is padding.

# %%
print(inspect.getsource(TransformerModel.call).split('"""')[2])

small = BlockSettings(h=4, d_model=64, d_ff=128, n=2, rate=0.1)
words = 1000
model = TransformerModel(words, words, settings=small)

random = np.random.default_rng(0)
source = random.integers(4, words, size=(2, 7))
target = random.integers(4, words, size=(2, 10))
logits = model((source, target))
print("logits", tuple(logits.shape))
parts = ("source_embedding", "target_embedding", "encoder", "decoder", "projection")
print_parts(model, *parts)

# %% [markdown]
# The whole as a picture, drawn from the model itself: its layers, how many there are of each, and
# their parameters. Follow one word from the bottom to the top.

# %%
kt.draw(model).figure

# %% [markdown]
# What does it know before it has learned anything? Nothing, and so each of the $V$ words should get
# about the probability $1/V$, which costs $\ln V$. A first loss far from this betrays a mistake.

# %%
loss = float(MaskedCrossEntropy()(target, logits))
print(f"loss {loss:.2f}, ln V = {np.log(words):.2f}")

# %% [markdown]
# ## Write it: the layers
#
# `from own_cells import …` takes the attention and the embedding from your notebooks, if you have
# written them, and otherwise from the solution. What is missing? First the norm, with a `scale` of
# ones and a `shift` of zeros that are learned (`self.add_weight(shape, "ones")`), and the residual
# connection around a part, which is given as a function. Here it is pre-norm.


# %%
class LayerNorm(keras.layers.Layer):
    def build(self, shape): ...  # self.scale and self.shift, each of shape (d,)

    def call(self, x):
        return ...  # add 1e-5 to the variance


def add_norm(x, sublayer, norm):
    return ...


LayerNorm, add_norm = or_solution(LayerNorm), or_solution(add_norm)

# %% [markdown]
# Then the small network, through which each word goes alone.


# %%
class FeedForward(keras.layers.Layer):
    def __init__(self, d, d_ff, **kwargs):
        super().__init__(**kwargs)
        ...  # self.inner, a Dense with relu, and self.outer

    def call(self, x):
        return ...


FeedForward = or_solution(FeedForward)

# %% [markdown]
# And the layer: attention and network, each in an `add_norm`. In training, `Dropout` sets a share
# `rate` of what each of them returns to 0.


# %%
class EncoderLayer(keras.layers.Layer):
    def __init__(self, heads, d, d_ff, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        ...  # self.attention, self.norm_1, self.feed_forward, self.norm_2, self.dropout

    def call(self, x, attention_mask=None):
        return ...


EncoderLayer = or_solution(EncoderLayer)

# %% [markdown]
# The decoder's layer has one attention more. Its queries come from what is written, its keys and
# values from what was read.


# %%
class DecoderLayer(keras.layers.Layer):
    def __init__(self, heads, d, d_ff, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        ...  # as above, and self.cross_attention and self.norm_3

    def call(self, x, encoded, self_mask=None, cross_mask=None):
        return ...


DecoderLayer = or_solution(DecoderLayer)

# %% [markdown]
# ## Write it: the model
#
# Embed, dropout, the layers one after the other, and a norm at the end; twice. Source and target
# hide their padding, the target also its future: `ops.logical_and` of two masks.


# %%
class Transformer(keras.Model):
    def __init__(self, source_words, target_words, heads, d, d_ff, n, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        ...  # self.source_embedding, self.target_embedding, self.dropout, self.projection
        ...  # self.encoder_layers and self.decoder_layers, lists; encoder_norm and decoder_norm

    def encode(self, source):
        return ...  # (batch, length of the source, d)

    def decode(self, target, encoded, source):
        return ...  # (batch, length of the target, target_words)

    def call(self, inputs):
        source, target = inputs
        return self.decode(target, self.encode(source), source)


Transformer = or_solution(Transformer)

# %% [markdown]
# Is it the library's transformer? Copy the weights, part by part, and compare the logits.


# %%
def pairs_of_parts(yours, theirs):
    for name in ("source_embedding", "target_embedding", "projection"):
        yield getattr(yours, name), getattr(theirs, name)
    for name in ("encoder", "decoder"):
        stack = getattr(theirs, name)
        yield getattr(yours, f"{name}_norm"), stack.final_norm
        for block, layer in zip(getattr(yours, f"{name}_layers"), stack.layers, strict=True):
            yield block.attention, layer.self_attention
            yield block.feed_forward, layer.feed_forward
            for i in (1, 2) if name == "encoder" else (1, 2, 3):
                yield getattr(block, f"norm_{i}"), getattr(layer, f"add_norm_{i}")
            if name == "decoder":
                yield block.cross_attention, layer.cross_attention


def copy_weights(yours, theirs):
    for part, counterpart in pairs_of_parts(yours, theirs):
        counterpart.set_weights(part.get_weights())


# %%
yours = Transformer(words, words, 4, 64, 128, 2)
theirs = TransformerModel(words, words, settings=replace(small, norm_first=True))
yours((source, target))
theirs((source, target))
copy_weights(yours, theirs)
assert yours.count_params() == theirs.count_params()
assert np.allclose(yours((source, target)), theirs((source, target)), atol=1e-5)
print(f"{yours.count_params():,} parameters, and the same logits")

# %% [markdown]
# ## The future cannot change the past
#
# In training, the decoder is given the whole target at once and predicts each word from those
# before it. If any later word shone through, it would learn to copy instead of to write, and fail
# when it has to write alone. A test need not read the code: change one target word and see which
# logits change.


# %%
def influence(model, source, target):
    """Entry (j, t): how much the logits at position t change if word j of the target changes."""
    length = target.shape[1]
    changed = np.repeat(target, length, axis=0)  # a row for each word to change
    changed[range(length), range(length)] += 1
    sources = np.repeat(source, length, axis=0)
    base = np.array(model((source, target)))
    return np.abs(np.array(model((sources, changed))) - base).max(axis=-1)


changes = influence(model, source[:1], target[:1])
future = np.tril_indices(10, k=-1)  # t < j
assert changes[future].max() < 1e-5 < changes.diagonal().min()


# %%
def draw(axes, changes, title):
    picture = axes.imshow(changes / changes.max(), "Blues", vmin=0, vmax=1)
    axes.set(title=title, xlabel="position of the logits", ylabel="target word that was changed")
    axes.set(xticks=range(10), yticks=range(10))
    return picture


figure, axes = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
figure.colorbar(draw(axes, changes, "effect of each word"), label="change, the largest = 1")
plt.show()

# %% [markdown]
# Nothing left of the diagonal: no word changes what was predicted before it. The source is another
# matter: every word of it may change every logit. Padding may change none of them.

# %%
padded = np.pad(source, ((0, 0), (0, 5)))
assert np.allclose(model((padded, target)), logits, atol=1e-5)

# %% [markdown]
# ## Try it: deeper
#
# Where do the weights go? Change the sizes, say `d_model` or `n`, and compare the shares. In a
# small model with many words the embeddings weigh most; in a deep one, the layers.
#
# What a single head, a layer or the positions do, a trained model shows: `scripts/demo.py` opens a
# page that translates in the browser, where each of them can be switched off (`docs/page.md`).
#
# ![The page for one sentence](../docs/page.png)

# %%
variants = {
    "small": TransformerModel(words, words, settings=small),
    "wide": TransformerModel(words, words, settings=BlockSettings(h=4, d_model=256, d_ff=512, n=2)),
    "deep": TransformerModel(words, words, settings=replace(small, n=12)),
    "tied output": TransformerModel(words, words, settings=small, tie_output=True),
}
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
left = np.zeros(len(variants))
models = variants.values()
for each in models:
    each.build(((None, None), (None, None)))
for part, hatch in zip(parts, ("", "//", "..", "xx", "--"), strict=True):
    layers = [getattr(each, part) for each in models]  # a tied output has no projection: None
    counts = [0 if layer is None else layer.count_params() for layer in layers]
    shares = np.array(counts) / [each.count_params() for each in models]
    axes.barh(list(variants), shares, left=left, label=part, hatch=hatch, edgecolor="white")
    left += shares
axes.invert_yaxis()
axes.set(xlabel="share of the parameters", xlim=(0, 1))
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=5, fontsize=8, frameon=False)
plt.show()

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Compute the 2,233,536 parameters of the encoder's layer by hand.
#
# Attention: three projections from 512 to $8 \cdot 8 = 64$ and one back. The network: to 2048 and
# back. Two norms, each with a scale and a shift for every entry.

# %%
attention = 3 * (512 * 64 + 64) + (64 * 512 + 512)
feed_forward = (512 * 2048 + 2048) + (2048 * 512 + 512)
norms = 2 * (512 + 512)
assert attention + feed_forward + norms == 2_233_536

# %% [markdown]
# > **2.** May the future change the past in an *encoder*? Say what you expect, then test it. When
# > is that wanted, and when not?
#
# Yes: each word sees all others, the later ones included. To understand a sentence that is wanted;
# to write one it is not.

# %%
encoded = np.array(model.encode(source))
another = source.copy()
another[:, -1] += 1  # the last word
assert np.abs(np.array(model.encode(another)) - encoded)[:, 0].max() > 1e-4  # the first output

# %% [markdown]
# > **3.** A pre-norm stack has one norm more than a post-norm stack of the same depth. Why, and
# > where?
#
# Pre-norm normalizes what each part *reads* and leaves the sum as it is. The last sum would never
# be normalized, so the stack does it at its end.

# %%
stacks = {}
for norm_first in (False, True):
    stacks[norm_first] = Encoder(settings=replace(small, norm_first=norm_first))
    stacks[norm_first].build((None, None, 64))
assert stacks[True].count_params() - stacks[False].count_params() == 64 + 64

# %% [markdown]
# ## Where it comes from
#
# * A. Vaswani et al., *Attention Is All You Need*, 2017, section 3.1 and figure 1.
# * R. Xiong et al., *On Layer Normalization in the Transformer Architecture*, 2020: post-norm and
#   pre-norm.
# * K. He et al., *Deep Residual Learning for Image Recognition*, 2016, and J. Ba et al., *Layer
#   Normalization*, 2016: the two things around each part.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 6.1 ★ The way back
#
# Six layers in a chain, $f$ has the derivative 0.5 in each. By what number is the gradient
# multiplied on its way back through all six, with residual connections, $x + f(x)$, and without
# them, $f(x)$? (No norms.)

# %%
with_residuals, without = ..., ...

check("6.1", [with_residuals, without])

# %% [markdown]
# ### 6.2 ★ What changes?
#
# A source of four words and a target of five, with positions from 0. First, word 2 of the *target*
# that the decoder reads is changed: at which target positions may the logits change? Then, instead,
# word 2 of the *source*.

# %%
target_positions, source_positions = ..., ...  # two lists

check("6.2", [target_positions, source_positions])

# %% [markdown]
# ### 6.3 ★★ The parameters of the paper's model
#
# `d_model` 512, eight heads of size 64, 2048 inside the feed-forward network, six layers each, all
# projections with biases, post-norm: how many parameters have the six layers of the encoder, and
# the six of the decoder? (One multi-head attention has 1,050,624, see notebook 05.)

# %%
of_the_encoder, of_the_decoder = ..., ...

check("6.3", [of_the_encoder, of_the_decoder])

# %% [markdown]
# ### 6.4 ★★★ The norm
#
# Write layer normalization with NumPy. `x` has the shape (T, d), and `scale` and `shift` have the
# shape (d,). Add `epsilon` to the variance, or a word whose entries are all equal gives NaN.


# %%
def normalize(x, scale, shift, epsilon=1e-5):
    return ...  # an array of shape (T, d)


check("6.4", normalize)

# %% [markdown]
# ### 6.5 ★★★ The layer of the paper
#
# `EncoderLayer` is pre-norm. Write the post-norm version: only `call` differs. The check
# compares it with the library's layer on the same weights.


# %%
class PostNormLayer(EncoderLayer):
    def call(self, x, attention_mask=None):
        return ...  # your code


check("6.5", PostNormLayer)
