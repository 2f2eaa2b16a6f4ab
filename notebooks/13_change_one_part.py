# %% [markdown]
# # What is each part good for?
#
# A transformer has a dozen kinds of parts. Somebody chose each of them, and somebody else later
# chose differently. To find out what a part does, take it out, or put another one in its place,
# and train again:
#
# $$\Delta = L_{\text{changed}} - L_{\text{unchanged}}$$
#
# with $L$ the validation loss after equally many updates. Everything else stays the same: the data,
# the order of the batches, the seed. This notebook does it eight times. Each change is a function
# of a few lines that assigns other layers to the attributes of a new model.
#
# **Before you go on**: of these eight, which one breaks the model? Which one makes it smaller
# and hardly worse? Which ones will you not be able to tell apart?
#
# 1. scores that are cosines, 2. learned positions, 3. a gate in the feed-forward network,
# 4. another normalization, 5. Keras's own attention layer, 6. no residual connections, 7. the same
# layer used twice, 8. a convolution in each encoder layer

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import os
import re
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import ops

import keras_transformer as kt
from keras_transformer import testing

# %% [markdown]
# ## A short training
#
# Ten models in two minutes: that takes a small language. These are the short sentences of the
# corpus that have only its 200 most frequent words. With more words and more updates, the
# differences are clearer; that run is below.

# %%
WORDS = int(os.environ.get("WORDS", "200"))
UPDATES = int(os.environ.get("UPDATES", "90"))

by_hand = set(kt.read_pairs("../data/everyday.tsv"))
pairs = kt.read_pairs("../data/english-german.tsv")
pairs = [pair for pair in pairs if pair not in by_hand and len(pair[0].split()) <= 6]
counts = Counter(word for english, _ in pairs for word in re.findall(r"\w+", english))
frequent = {word for word, _ in counts.most_common(WORDS)}
pairs = [pair for pair in pairs if set(re.findall(r"\w+", pair[0])) <= frequent]
dataset = kt.PrepareDataset()(pairs)
sentence, [reference] = dataset.test[2]
print(dataset)
print(sentence, "→", reference)

# %%
settings = kt.BlockSettings(h=4, d_model=128, d_ff=256, n=2, rate=0.1, norm_first=True)
vocabularies = dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size
held_out = list(dataset.batches(dataset.validation, batch_size=200))
inputs, _ = held_out[0]
cross_entropy = kt.MaskedCrossEntropy()


def make_model(change):
    keras.utils.set_random_seed(0)
    model = kt.TransformerModel(*vocabularies, settings=settings)
    change(model)
    model.build(((None, None), (None, None)))
    return model


# %% [markdown]
# One update as in notebook 07: forward pass, loss, gradients, Adam. The validation loss is noted
# five times on the way.


# %%
def make_step(model, updates):
    warm_up = updates // 5
    falling = {"warmup_target": 3e-3, "warmup_steps": warm_up}
    rate = keras.optimizers.schedules.CosineDecay(0.0, updates - warm_up, **falling)
    optimizer, ids = kt.Adam(rate, beta_2=0.98), tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids, ids], autograph=False)
    def step(source, decoder_input, target):
        with tf.GradientTape() as tape:
            loss = cross_entropy(target, model((source, decoder_input), training=True))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)

    return step


def train(model, updates=UPDATES):
    """Trains a model and returns its validation loss at five points."""
    step, losses = make_step(model, updates), []
    batches = dataset.batches(dataset.train, batch_size=48, seed=0)
    for i in range(updates + 1):
        if i in points(updates):
            losses.append(np.mean([float(cross_entropy(y, model(x))) for x, y in held_out]))
        if i < updates:
            (source, decoder_input), target = batches[i % len(batches)]
            step(source, decoder_input, target)
        if (i + 1) % len(batches) == 0:
            batches.on_epoch_end()  # shuffles
    return losses


def points(updates):
    return [updates * quarter // 4 for quarter in range(5)]


# %% [markdown]
# A changed model shall do all that the unchanged one does: translate, and be the same after it was
# saved and loaded. The translator says in a warning what it makes of the change.

# %%
results = {}


def try_out(change):
    """Trains a changed model, translates with it, saves and loads it."""
    model, name = make_model(change), change.__name__
    losses = train(model)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        translate = kt.Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
        text = translate(sentence)
    said = [str(x.message) for x in warned if "Decoding" in str(x.message)]
    check_saving(model)
    cache = "no" if any("without a cache" in message for message in said) else "yes"
    results[name] = model.count_params(), losses, text, cache
    print(f"{model.count_params():,} parameters, validation loss {losses[-1]:.3f}\n→ {text}")
    return model


def check_saving(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.keras")
        loaded = keras.saving.load_model(Path(folder) / "model.keras")
    assert np.allclose(loaded(inputs), model(inputs), atol=1e-5)


# %%
def unchanged(model):
    pass


model = try_out(unchanged)

# %% [markdown]
# ## Which layers have such a part?
#
# Self-attention is in all layers, cross-attention in those of the decoder only.


# %%
def places(model, *names):
    """Yields each layer of encoder and decoder with those of the attributes that it has."""
    for layer in (*model.encoder.layers, *model.decoder.layers):
        yield from ((layer, name) for name in names if hasattr(layer, name))


for layer, name in places(model, "self_attention", "cross_attention"):
    print(type(layer).__name__, name)

# %% [markdown]
# ## 1. Must a score be a dot product?
#
# A dot product is large if two vectors point the same way, *or* if they are long. A cosine sees
# only the direction. It is at most 1, though, and a softmax of numbers between −1 and 1 can hardly
# prefer one word to another. So the cosines are divided by a temperature, and each attention learns
# its own.


# %%
@keras.saving.register_keras_serializable()
class CosineAttention(kt.DotProductAttention):
    def build(self, queries_shape, keys_shape, values_shape):
        self.temperature = self.add_weight((), keras.initializers.Constant(0.2), name="temperature")

    def call(self, queries, keys, values, attention_mask=None):
        queries, keys = (ops.normalize(x, epsilon=1e-6) for x in (queries, keys))
        queries = queries * (keys.shape[-1] ** 0.5 / self.temperature)
        return super().call(queries, keys, values, attention_mask)


def own_score(model):
    for layer, name in places(model, "self_attention", "cross_attention"):
        getattr(layer, name).attention = CosineAttention()


model = try_out(own_score)
for layer, name in places(model, "self_attention", "cross_attention"):
    print(f"{name:16} {float(getattr(layer, name).attention.temperature):.3f}")

# %% [markdown]
# ## 2. Must positions be sinusoids?
#
# A table can learn a vector for each position, from nothing. What it never sees, it does not learn:
# a position beyond the longest training sentence keeps the vector that was drawn by chance.


# %%
def learned_positions(model):
    length, size = 64, model.settings.d_model
    model.enc_seq_length = model.dec_seq_length = length
    model.source_embedding = kt.PositionEmbeddingLayer(length, model.enc_vocab_size, size)
    model.target_embedding = kt.PositionEmbeddingLayer(length, model.dec_vocab_size, size)


model = try_out(learned_positions)

# %% [markdown]
# ## 3. What does a gate do?
#
# The feed-forward network computes $d_{\text{ff}}$ numbers from each word, and its activation cuts
# each of them off by looking at that number alone. A gate decides by a second product:
#
# $$f(x) = W_3 \left( \text{gelu}(W_1 x) \odot W_2 x \right)$$
#
# Where the first factor is near 0, nothing passes, whatever the second one says. And where both
# vary, their product is quadratic in $x$: *this and that* costs one multiplication. With
# two thirds of $d_{\text{ff}}$, three matrices have the parameters of two.


# %%
@keras.saving.register_keras_serializable()
class GatedFeedForward(keras.layers.Layer):
    def __init__(self, d_ff, d_model, **kwargs):
        super().__init__(**kwargs)
        self.sizes = {"d_ff": d_ff, "d_model": d_model}
        self.gate, self.inner = keras.layers.Dense(d_ff, "gelu"), keras.layers.Dense(d_ff)
        self.outer = keras.layers.Dense(d_model)

    def call(self, x):
        return self.outer(self.gate(x) * self.inner(x))

    def get_config(self):
        return {**super().get_config(), **self.sizes}


def gated_feed_forward(model):
    for layer, name in places(model, "feed_forward"):
        sizes = model.settings.d_ff * 2 // 3, model.settings.d_model
        setattr(layer, name, GatedFeedForward(*sizes))


model = try_out(gated_feed_forward)

# %% [markdown]
# ## 4. Must the mean be 0?
#
# Layer normalization subtracts the mean of a vector, divides by its spread, then scales and shifts.
# RMS normalization only divides by the root of the mean square, and scales. What is it that
# training needs, the center or the length? Look at the loss.


# %%
def rms_normalization(model):
    for layer, name in places(model, "add_norm_1", "add_norm_2", "add_norm_3"):
        getattr(layer, name).normalization = keras.layers.RMSNormalization()
    for stack in (model.encoder, model.decoder):
        stack.final_norm = keras.layers.RMSNormalization()


model = try_out(rms_normalization)

# %% [markdown]
# ## 5. Must it be this library's attention?
#
# No. Keras's layer computes the same function with as many parameters; only the random numbers at
# the start are others. This is the change that should change nothing, so it tells how much of a
# difference is chance.


# %%
def attention_of_keras(model):
    for layer, name in places(model, "self_attention", "cross_attention"):
        sizes = model.settings.h, model.settings.d_k, model.settings.d_v
        setattr(layer, name, keras.layers.MultiHeadAttention(*sizes))


model = try_out(attention_of_keras)

# %% [markdown]
# It cannot compute one position alone, with the keys and values of those before it kept in a
# cache. So each new word costs a pass over all words so far. The translation is the same as with a
# cache, but slower.
#
# ## 6. What if nothing is added?
#
# A residual connection passes on $x + f(x)$. Without it, a layer passes on only $f(x)$.


# %%
@keras.saving.register_keras_serializable()
class NoResidual(kt.AddNormalization):
    def call(self, x, sublayer_output):
        return self.dropout(sublayer_output)


def no_residuals(model):
    for layer, name in places(model, "add_norm_1", "add_norm_2", "add_norm_3"):
        setattr(layer, name, NoResidual.from_settings(model.settings))


model = try_out(no_residuals)

# %% [markdown]
# What has it learned? Compare with a guess that knows how frequent each word is, and nothing else.

# %%
ids = np.concatenate([y[y != 0] for _, y in held_out])
shares = np.bincount(ids)[np.unique(ids)] / len(ids)
frequencies = -(shares * np.log(shares)).sum()
print(f"by frequencies {frequencies:.3f}, without residuals {results['no_residuals'][1][-1]:.3f}")

# %% [markdown]
# Hardly more than that. **Why?** Attention returns averages of
# other words. With $x + f(x)$ a word remains itself and learns something about the others. With
# $f(x)$ it is replaced by an average, and the next layer averages the averages: the words of a
# sentence become one another. How alike are they? Compare the cosines between the encoded words of
# one sentence, in models that have not been trained at all.


# %%
def likeness(model, source):
    """The mean cosine between two different words of an encoded sentence."""
    x = np.array(model.encode(source[None]))[0, : (source != 0).sum()]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return (x @ x.T)[~np.eye(len(x), dtype=bool)].mean()


untrained = {change: make_model(change) for change in (unchanged, no_residuals)}
sources = [source for source in inputs[0] if source.any()][:20]
alike = {
    change: np.mean([likeness(model, source) for source in sources])
    for change, model in untrained.items()
}
print(*(f"{change.__name__}: {value:.2f}" for change, value in alike.items()), sep="\n")
assert alike[no_residuals] > 0.9 > alike[unchanged]

# %% [markdown]
# With residual connections, the words are different before any training; without them, they are
# nearly the same vector. What the decoder then reads says little about the sentence, and the
# gradient that could change it comes back through the same averages.
#
# ## 7. Must layers differ?
#
# The same layer twice is as deep and does as much work, with fewer weights. It need not be worse: a
# layer that improves a representation a little can do so again. And if data are few, what must
# serve twice is fitted less to their accidents.


# %%
def shared_layers(model):
    for stack in (model.encoder, model.decoder):
        stack.layers = [stack.layers[0]] * len(stack.layers)


model = try_out(shared_layers)

# %% [markdown]
# ## 8. Is two the right number of sub-layers?
#
# Attention compares a word with all others, wherever they are. For the neighbors there is a simpler
# layer: a convolution. It is a third sub-layer with a residual connection and a normalization of
# its own. But it knows no mask: the last word of a sentence has padding as its neighbor, so padding
# is set to 0 first.


# %%
@keras.saving.register_keras_serializable()
class ThreeSublayers(kt.EncoderLayer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.convolution = keras.layers.Conv1D(self.settings.d_model, 3, padding="same")
        self.add_norm_3 = kt.AddNormalization.from_settings(self.settings)

    def call(self, x, attention_mask=None):
        x = super().call(x, attention_mask=attention_mask)
        is_word = ops.cast(ops.swapaxes(attention_mask, 1, 2), x.dtype)  # (B, S, 1)
        y = self.convolution(self.add_norm_3.sublayer_input(x) * is_word)
        return self.add_norm_3(x, y)


def third_sublayer(model):
    layers = model.encoder.layers
    model.encoder.layers = [ThreeSublayers(settings=layer.settings) for layer in layers]


model = try_out(third_sublayer)

# %% [markdown]
# ## All of them

# %%
for name, (parameters, losses, text, cache) in results.items():
    label = name.replace("_", " ")
    print(f"| {label} | {parameters:,} | {losses[-1]:.3f} | {text} | {cache} |")

# %%
final = {name.replace("_", " "): losses for name, (_, losses, _, _) in results.items()}
order = sorted(final, key=lambda name: final[name][-1])
marked = {"unchanged": ("#000000", "s"), "no residuals": ("#D55E00", "v")}

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
for name, losses in final.items():
    color, marker = marked.get(name, ("#999999", None))
    left.plot(points(UPDATES), losses, color=color, marker=marker, zorder=2 + (name in marked))
    if name in marked:
        below = (0, -26) if name == "unchanged" else (0, 8)
        where = {"xytext": below, "textcoords": "offset points", "ha": "center", "color": color}
        left.annotate(name, (points(UPDATES)[-2], losses[-2]), **where)
left.set(title="all nine while they learn", xlabel="updates", ylabel="validation loss")
left.text(0.97, 0.95, "gray: the other seven", transform=left.transAxes, ha="right", va="top")
left.set_ylim(0)

eight = [name for name in order if name != "no residuals"]
for i, name in enumerate(eight):
    color, marker = marked.get(name, ("#0072B2", "o"))
    right.plot(final[name][-1], i, marker, color=color)
right.axvline(final["unchanged"][-1], color="black", linewidth=0.8, linestyle=":")
right.set(title="eight of them at the end", xlabel="validation loss (left is better)")
right.set(yticks=range(len(eight)), yticklabels=eight)
right.invert_yaxis()
right.grid(axis="x", alpha=0.3)
plt.show()

# %% [markdown]
# Only one change breaks the model. Most of the others are so close to the unchanged model that a
# second seed could reverse their order: Keras's attention, which computes the same, shows how much
# is chance. Learned positions start later, because each has to be learned from the few words at its
# place; the gate is ahead early. Of such a short training you may believe the large differences
# only.
#
# With 1,000 words, 800 updates take about a minute of one core for each model. In this folder,
# `WORDS=1000 UPDATES=800 MPLBACKEND=agg python 13_change_one_part.py` prints the table that is in
# `docs/change-one-part.md`.
#
# ## Try it: a change of your own
#
# Another activation? Attention in one direction only? No dropout? Only the encoder without residual
# connections? Say first which way the loss will move. Here, the networks get a smooth activation.


# %%
def your_change(model):
    for layer, name in places(model, "feed_forward"):
        sizes = model.settings.d_ff, model.settings.d_model
        setattr(layer, name, kt.FeedForward(*sizes, activation="silu"))


model = try_out(your_change)

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** How many parameters does sharing save? Compute it from the layers.
#
# Of two layers on each side, one is left.

# %%
whole = make_model(unchanged)
saved = whole.encoder.layers[1].count_params() + whole.decoder.layers[1].count_params()
assert whole.count_params() - make_model(shared_layers).count_params() == saved
print(f"{saved:,}")

# %% [markdown]
# > **2.** Take the positions away altogether: `base=None` in `PositionEmbeddingFixedWeights`. What
# > does the encoder do to the words of a source, if their order is reversed?
#
# The same, in reverse: to attention, a sentence without positions is a set of words.


# %%
def no_positions(model):
    words, size = model.enc_vocab_size, model.settings.d_model
    model.source_embedding = kt.PositionEmbeddingFixedWeights(None, words, size, base=None)


source = sources[-1][sources[-1] != 0][None]
for change, expected in ((no_positions, True), (unchanged, False)):
    model = make_model(change)
    encoded, reverse = np.array(model.encode(source)), np.array(model.encode(source[:, ::-1]))
    assert np.allclose(reverse[:, ::-1], encoded, atol=1e-5) == expected

# %% [markdown]
# > **3.** Leave out `is_word` in the third sub-layer. Nothing fails. Which check of
# > `keras_transformer.testing` finds it?
#
# More padding must not change anything, but the last word now sees it as its neighbor.


# %%
class Unmasked(ThreeSublayers):
    def call(self, x, attention_mask=None):
        x = kt.EncoderLayer.call(self, x, attention_mask=attention_mask)
        return self.add_norm_3(x, self.convolution(self.add_norm_3.sublayer_input(x)))


def forget_the_mask(model):
    model.encoder.layers = [Unmasked(settings=model.settings)]


for change, expected in ((third_sublayer, True), (forget_the_mask, False)):
    model = make_model(change)
    try:
        testing.check_padding(lambda ids, mask, m=model: m.encode(ids), source)
        found = True
    except AssertionError as error:
        print(error)
        found = False
    assert found == expected

# %% [markdown]
# ## Where it comes from
#
# * S. Narang et al., *Do Transformer Modifications Transfer Across Implementations and
#   Applications?*, 2021: what this notebook does, with large models and many more changes.
# * A. Henry et al., *Query-Key Normalization for Transformers*, 2020: cosines as scores.
# * J. Gehring et al., *Convolutional Sequence to Sequence Learning*, 2017: learned positions.
# * N. Shazeer, *GLU Variants Improve Transformer*, 2020: the gate.
# * B. Zhang and R. Sennrich, *Root Mean Square Layer Normalization*, 2019.
# * Y. Dong, J.-B. Cordonnier and A. Loukas, *Attention Is Not All You Need: Pure Attention Loses
#   Rank Doubly Exponentially with Depth*, 2021: why words become alike without residuals.
# * M. Dehghani et al., *Universal Transformers*, 2019, and Z. Lan et al., *ALBERT*, 2020: shared
#   layers.
# * A. Gulati et al., *Conformer*, 2020: convolution beside attention.
