# %% [markdown]
# # What word comes next?
#
# A language model answers this question again and again: it gives each word of its vocabulary a
# probability of being the next one. The probability of a whole text is then the product
#
# $$p(w_1, \dots, w_T) = \prod_{t=1}^{T} p(w_t \mid w_1, \dots, w_{t-1})$$
#
# Recurrent networks were the first to do this well; a transformer that sees nothing of the future
# came after them. Here are both, on one text, trained the same way.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops
from own_cells import Embedding, EncoderLayer, LayerNorm, causal_mask, padding_mask  # 04 to 06

from keras_transformer import (
    END_ID,
    Adam,
    BlockSettings,
    Generate,
    LSTMLanguageModel,
    MaskedCrossEntropy,
    Perplexity,
    TransformerLanguageModel,
    WarmupSchedule,
    WordTokenizer,
    next_words,
    ngram_prefixes,
    read_documents,
    read_pairs,
    record_attention,
)

keras.utils.set_random_seed(0)
texts = read_documents("../data/english-german.tsv")[:2000]
held_out, texts = texts[:200], texts[200:]
tokenizer = WordTokenizer.train(texts, min_count=2)
print(texts[0])
print(tokenizer.vocab_size, "words")

# %% [markdown]
# ## Many questions in one sentence
#
# A sentence of four words and a question mark asks six questions: what comes first, four times what
# comes next, and what comes after the question mark, the end. Courses often write each of them in a
# row of its own, the beginning of the sentence with padding on the left, so that the last word
# stands at the end:

# %%
inputs, targets = ngram_prefixes(tokenizer, ["Can we go home?"])
for row, target in zip(inputs, targets, strict=True):
    print(f"{' '.join(tokenizer.tokens(row)):40} -> {tokenizer.tokens(target)[-1]}")

# %% [markdown]
# But a network that may not look ahead answers all of them while it reads the sentence once. So one
# row is enough, shifted by one word:

# %%
inputs, targets = next_words(tokenizer, ["Can we go home?"])
print("reads   ", *tokenizer.tokens(inputs[0]))
print("predicts", *tokenizer.tokens(targets[0]))

# %% [markdown]
# ## Two models
#
# The LSTM carries what it has read in a state of fixed size. The transformer carries nothing: at
# each word it looks back at all words before it, through the causal mask.

# %%
words = tokenizer.vocab_size
settings = BlockSettings(h=4, d_model=96, d_ff=192, n=2, rate=0.2)
models = {
    "LSTM": LSTMLanguageModel(words, d_model=96, units=128, n=1, rate=0.2),
    "transformer": TransformerLanguageModel(words, settings=settings),
}

# %% [markdown]
# The measure is the *perplexity*, the exponential of the mean cross entropy: a model of perplexity
# 20 is as uncertain as somebody who draws among 20 words with equal chances.

# %%
curves, validation = {}, next_words(tokenizer, held_out)
for name, model in models.items():
    loss, metrics = MaskedCrossEntropy(), [Perplexity()]
    model.compile(keras.optimizers.Adam(3e-3), loss, metrics=metrics, jit_compile=False)
    examples = next_words(tokenizer, texts)
    fitted = model.fit(*examples, 32, epochs=6, validation_data=validation, verbose=0)
    curves[name] = fitted.history["val_perplexity"]
    print(f"{name}: {model.count_params():,} parameters, perplexity {curves[name][-1]:.1f}")

plt.figure(figsize=(6, 3.2))
for (name, curve), style in zip(curves.items(), ("o--", "s-"), strict=True):
    plt.semilogy(range(1, len(curve) + 1), curve, style, label=name)
plt.xlabel("epoch")
plt.ylabel("perplexity of held-out sentences")
plt.yticks([20, 40, 80, 160], [20, 40, 80, 160])
plt.minorticks_off()
plt.legend()
plt.show()

# %% [markdown]
# ## Writing
#
# To write is to ask, to take a word, and to ask again with that word added. Taking the most
# probable word each time is greedy search, as in translation, but without a source.

# %%
generate = {name: Generate(model, tokenizer) for name, model in models.items()}
for name in models:
    print(f"{name:12} {generate[name](['We', 'The child', 'Can you'])}")

# %% [markdown]
# ## Try it: temperature
#
# Drawing words by their probability gives other texts each time. The logits are divided by the
# *temperature* before the softmax: one below 1 makes the probable words more probable, one above 1
# evens them out. Only the `top_k` most probable words can be drawn. Change the numbers.

# %%
for temperature in (0.5, 1.0, 2.0):
    drawn = [
        generate["transformer"]("We", temperature=temperature, top_k=50, seed=seed, max_tokens=12)
        for seed in range(3)
    ]
    print(temperature, *drawn, sep="\n  ")

# %% [markdown]
# ## GPT, from the blocks
#
# A decoder without a source is an encoder with a causal mask: embedding, layers, a norm, and the
# embedding once more, transposed, for the logits. From the blocks of notebooks 04 to 06 it takes
# these lines, and it is the library's model.


# %%
class GPT(keras.Model):
    def __init__(self, words, heads, d, d_ff, n, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.embedding, self.norm = Embedding(words, d), LayerNorm()
        self.blocks = [EncoderLayer(heads, d, d_ff, rate) for _ in range(n)]
        self.dropout = keras.layers.Dropout(rate)

    def call(self, ids):
        x = self.dropout(self.embedding(ids))
        mask = ops.logical_and(padding_mask(ids), causal_mask(ops.shape(ids)[1]))
        for block in self.blocks:
            x = block(x, mask)
        return ops.matmul(self.norm(x), ops.transpose(self.embedding.words.embeddings))


# %%
def to_library(gpt, heads, d, d_ff, n):
    """Returns the library's model with the same weights."""
    sizes = BlockSettings(h=heads, d_model=d, d_ff=d_ff, n=n, norm_first=True)
    model = TransformerLanguageModel(vocabulary, settings=sizes, tie_output=True)
    model.build((None, None))
    parts = [(gpt.embedding, model.embedding), (gpt.norm, model.encoder.final_norm)]
    for block, layer in zip(gpt.blocks, model.encoder.layers, strict=True):
        parts += [(block.attention, layer.self_attention), (block.feed_forward, layer.feed_forward)]
        parts += [(block.norm_1, layer.add_norm_1), (block.norm_2, layer.add_norm_2)]
    for yours, theirs in parts:
        theirs.set_weights(yours.get_weights())
    return model


sentences = [english for english, _ in read_pairs("../data/english-german.tsv")]
gpt_tokenizer = WordTokenizer.train(sentences, min_count=5)
vocabulary, sizes = gpt_tokenizer.vocab_size, (4, 128, 256, 2)
gpt = GPT(vocabulary, *sizes)
ids = np.array([[5, 9, 7, 6]])
gpt(ids)
assert np.allclose(gpt(ids), to_library(gpt, *sizes)(ids), atol=1e-5)
print(f"{gpt.count_params():,} parameters, and the same logits as the library's")

# %% [markdown]
# Its text is the English half of the project's corpus, one sentence after another, in rows of 48
# words. A third of the rows is another text, a *chorus*: a few words drawn at random, and again,
# and again. No grammar predicts it. It can be predicted only by looking back: what followed this
# word the last time?

# %%
random = np.random.default_rng(0)
random.shuffle(sentences)
stream = np.concatenate([[*gpt_tokenizer.encode(sentence), END_ID] for sentence in sentences])
length = 48
rows = stream[: len(stream) // (length + 1) * (length + 1)].reshape(-1, length + 1)


def chorus(period):
    return np.resize(random.integers(4, vocabulary, period), length + 1)


choruses = np.stack([chorus(random.integers(5, 16)) for _ in range(len(rows) // 2)])
unseen, text = rows[:200], np.concatenate([rows[200:], choruses])
random.shuffle(text)
again = np.stack([chorus(12) for _ in range(32)])  # of new words, for watching
print(" ".join(gpt_tokenizer.tokens(unseen[0])[:20]).replace("▁", ""))

# %% [markdown]
# Two minutes of training. Meanwhile we watch two losses on the choruses that it has never seen: in
# the first round, where nobody can know what comes, and from the second round on.

# %%
watched = []


def watch(batch, logs):
    if batch % 50 == 0:
        p = np.array(ops.log_softmax(gpt(again[:, :-1])))
        costs = -np.take_along_axis(p, again[:, 1:, None].astype(int), axis=-1)[..., 0]
        watched.append((costs[:, :11].mean(), costs[:, 12:].mean()))


def train(model, text, epochs, callbacks=()):
    updates = epochs * (len(text) // 32 + 1)
    schedule = WarmupSchedule(128, 200, scale=0.6, total_steps=updates)
    model.compile(Adam(schedule, beta_2=0.98), MaskedCrossEntropy(), jit_compile=False)
    inputs, targets = text[:, :-1].astype("int32"), text[:, 1:].astype("int32")
    model.fit(inputs, targets, 32, epochs=epochs, verbose=0, callbacks=list(callbacks))
    return float(MaskedCrossEntropy()(unseen[:, 1:], model(unseen[:, :-1])))


loss = train(gpt, text, 3, [keras.callbacks.LambdaCallback(on_train_batch_end=watch)])
print(f"held-out sentences: {loss:.2f} nats per word, ln V = {np.log(vocabulary):.2f}")

plt.figure(figsize=(6, 3))
updates = 50 * np.arange(len(watched))
for name, curve, style in zip(
    ("first round", "later rounds"), zip(*watched, strict=True), ("--", "-"), strict=True
):
    plt.plot(updates, curve, style, label=name)
plt.axhline(np.log(vocabulary), color="gray", linestyle=":", label="ln V: knowing nothing")
plt.xlabel("updates")
plt.ylabel("loss on a chorus (nats)")
plt.legend()
plt.show()

# %% [markdown]
# For some hundred updates little happens. Then, within two hundred more, it learns to repeat.
# Something has formed in it. What?
#
# ## An induction head
#
# To continue a chorus takes two steps, and so two layers. The first layer tells each word what
# stood *before* it. A head of the second looks for the places whose predecessor is the current
# word: one behind each earlier time that it occurred. What stands there comes next. Such a head is
# called an *induction head*. To find it, ask each head how much of its attention goes to the five
# words before the current one, and how much to the places after its earlier occurrences:

# %%
model = to_library(gpt, *sizes)
with record_attention() as recorded:
    model(again[:, :-1])
weights = np.stack([np.array(x) for x in recorded.values()])  # (layers, rows, heads, T, S)
late, places = np.arange(24, length)[:, None], np.arange(length)
back = late - places  # how far each place is behind the word that is read
wanted = {
    "the five words before": (back >= 1) & (back <= 5),
    "after the same word": (back > 0) & (back % 12 == 11),
}
for name, where in wanted.items():
    shares = (weights[:, :, :, 24:] * where).sum(axis=-1).mean(axis=(1, 3))  # (layers, heads)
    for number, heads in enumerate(shares, start=1):
        print(f"{name:22} layer {number}: " + "  ".join(f"{share:.2f}" for share in heads))

layer, head = np.unravel_index(shares.argmax(), shares.shape)
assert layer == 1 and shares[layer, head] > 0.5

# %%
names = [token.removeprefix("▁") for token in gpt_tokenizer.tokens(again[0, :36])]
figure, axes = plt.subplots(figsize=(5.6, 5), layout="constrained")
picture = axes.imshow(weights[layer, 0, head, :36, :36], "Blues", vmin=0, vmax=1)
axes.set_xticks(range(36), names, rotation=90, fontsize=6)
axes.set_yticks(range(36), names, fontsize=6)
axes.set(xlabel="word that is attended to", ylabel="word that is read")
axes.set_title(f"the induction head: layer {layer + 1}, head {head + 1}")
figure.colorbar(picture, label="attention weight", shrink=0.7)
plt.show()

# %% [markdown]
# In the first round, at the top, it has nowhere to look. From the second round on there are
# diagonals, eleven and 23 words back: each word attends to the places right after its own earlier
# occurrences.
#
# ## Drawing a word
#
# The model gives a distribution; how to draw from it is another choice. The *temperature* divides
# the logits. *Top-k* keeps the k most probable words, *top-p* as few as have the probability p
# together; the rest gets 0, and what is kept is scaled to the sum 1.


# %%
def distribution(logits, temperature=1.0, top_k=None, top_p=1.0):
    p = np.exp((logits - logits.max()) / temperature)
    p /= p.sum()
    order = p.argsort()[::-1]
    before = p[order].cumsum() - p[order]  # the probability of all words that are more probable
    kept = (before < top_p) & (np.arange(len(p)) < (top_k or len(p)))
    p[order[~kept]] = 0
    return p / p.sum()


def next_logits(text):
    ids = np.array(
        [[END_ID, *gpt_tokenizer.encode(text)]]
    )  # a sentence begins after the last one ended
    return np.array(gpt(ids))[0, -1]


options = {
    "as it is": {},
    "temperature 0.5": {"temperature": 0.5},
    "temperature 2": {"temperature": 2.0},
    "top-k 4": {"top_k": 4},
    "top-p 0.6": {"top_p": 0.6},
}
logits = next_logits("We want to")
shown = logits.argsort()[::-1][:8]
figure, grid = plt.subplots(1, 5, figsize=(9.5, 2.4), sharey=True, layout="constrained")
for axes, (name, option) in zip(grid, options.items(), strict=True):
    axes.barh(range(8), distribution(logits, **option)[shown])
    axes.set(title=name, xlim=(0, 0.5))
grid[0].set_yticks(range(8), [token.removeprefix("▁") for token in gpt_tokenizer.tokens(shown)])
grid[0].invert_yaxis()
figure.supxlabel("probability of the next word after “We want to”", fontsize=9)
plt.show()


# %%
def write(start, words=12, seed=0, **option):
    random, ids = np.random.default_rng(seed), gpt_tokenizer.encode(start)
    while len(ids) < words and ids[-1] != END_ID:
        logits = np.array(gpt(np.array([[END_ID, *ids]])))[0, -1]
        ids.append(int(random.choice(len(logits), p=distribution(logits, **option))))
    return gpt_tokenizer.decode([i for i in ids if i != END_ID])


for name, option in options.items():
    print(f"{name:16} " + " | ".join(write("We want to", seed=seed, **option) for seed in range(3)))

# %% [markdown]
# ## The cache
#
# `write` computes the whole text again for each word, although keys and values of what is already
# there cannot change: the mask hides the future from them. The library's model keeps them. `start`
# allocates the cache, `step` reads one word, and the logits are the same.

# %%
ids = np.array([[END_ID, *gpt_tokenizer.encode("We want to go home tomorrow.")]], "int32")
cache, memory = model.start(ids, length=40)
whole = np.array(model(ids))
for place in range(ids.shape[1]):
    logits, cache = model.step(ids[:, place], place, cache, memory)
    assert np.allclose(logits, whole[:, place], atol=1e-4)
shapes = [tuple(x.shape) for x in keras.tree.flatten(cache["layers"])]
numbers = sum(np.prod(shape) for shape in shapes)
print("keys and values of each layer, (text, heads, places, size):", shapes[:2])
print(f"{numbers:,} numbers for 40 words; without it, word 40 costs 40 times as much as word 1")

# %% [markdown]
# ## Larger is better, slowly
#
# The same text once, without the choruses, for three sizes.

# %%
counts, losses = [], []
for size in ((2, 32, 64, 1), (4, 64, 128, 2), (4, 128, 256, 3)):
    keras.utils.set_random_seed(0)
    small = GPT(vocabulary, *size)
    losses.append(train(small, rows[200:], 1))
    counts.append(small.count_params())
    print(f"{counts[-1]:9,} parameters, {losses[-1]:.2f} nats per word")

plt.figure(figsize=(4.5, 2.8))
plt.semilogx(counts, losses, "o-")
plt.minorticks_off()
plt.xticks(counts, [f"{count:,}" for count in counts], fontsize=8)
plt.xlabel("parameters")
plt.ylabel("loss on held-out text")
plt.show()
assert losses == sorted(losses, reverse=True)

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Show that `ngram_prefixes` and `next_words` ask the same questions: the loss of a model
# > is the same. How many more words does the first one read?

# %%
loss, some = MaskedCrossEntropy(), held_out[:20]
losses, read = [], []
for make in (next_words, ngram_prefixes):
    inputs, targets = make(tokenizer, some)
    losses.append(float(loss(targets, models["LSTM"](inputs))))
    read.append(int((inputs != 0).sum()))
print(f"{read[1] / read[0]:.1f} times as many words")
assert np.isclose(*losses, rtol=1e-3)
assert read[1] > 3 * read[0]

# %% [markdown]
# > **2.** A model that only knows how often each word occurs has a perplexity, too. Compute the
# > smallest one possible, for the held-out sentences.
#
# The exponential of the entropy of their frequencies.

# %%
targets = validation[1][validation[1] != 0]
_, counts = np.unique(targets, return_counts=True)
shares = counts / counts.sum()
best_guess = np.exp(-(shares * np.log(shares)).sum())
print(f"{best_guess:.1f}")
assert max(curve[-1] for curve in curves.values()) < best_guess

# %% [markdown]
# > **3.** Change the last word of a sentence. Which logits of the transformer change?
#
# Only those after it: the future cannot change the past.

# %%
inputs, _ = next_words(tokenizer, ["We want to go home."])
changed = inputs.copy()
changed[0, -1] += 1
before, after = (np.array(models["transformer"](x)) for x in (inputs, changed))
differs = np.abs(after - before).max(axis=-1)[0] > 1e-4
assert differs.tolist() == [False] * (len(differs) - 1) + [True]

# %% [markdown]
# ## Where it comes from
#
# * Y. Bengio et al., *A Neural Probabilistic Language Model*, 2003.
# * W. Zaremba et al., *Recurrent Neural Network Regularization*, 2014.
# * P. J. Liu et al., *Generating Wikipedia by Summarizing Long Sequences*, 2018, section 4.2.3: the
#   decoder alone.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 11.1 ★ Perplexity by hand
#
# A model gave the three words of a text the probabilities 1/2, 1/4 and 1/8. What is its perplexity?

# %%
perplexity = ...

check("11.1", perplexity)

# %% [markdown]
# ### 11.2 ★ Half the temperature
#
# Two words have the probabilities 1/3 and 2/3. What do they have at a temperature of 0.5?

# %%
probabilities = ...  # a list of two numbers

check("11.2", probabilities)

# %% [markdown]
# ### 11.3 ★★ Top-p
#
# Four words have the probabilities 0.5, 0.25, 0.15 and 0.1. Top-p sampling with $p = 0.8$ keeps the
# smallest set of the most probable words that have at least this probability together. With what
# probabilities are the four words drawn?

# %%
probabilities = ...  # a list of four numbers

check("11.3", probabilities)

# %% [markdown]
# ### 11.4 ★★ The memory of a large model
#
# A model has 32 layers with 32 heads of size 128, and keeps keys and values of all words in its
# cache, two bytes for each number. How many bytes are that for a text of 2,048 tokens? (The model
# itself does not count. Remember multi-query attention, exercise 5.5?)

# %%
count = ...

check("11.4", count)

# %% [markdown]
# ### 11.5 ★★★ Top-k
#
# Write the probabilities with which top-k sampling draws: the softmax over the `k` largest logits,
# and 0 for all others. `logits` has the shape (V,), and no two are equal.


# %%
def top_k_probabilities(logits, k):
    return ...  # an array of shape (V,)


check("11.5", top_k_probabilities)

# %% [markdown]
# ### 11.6 ★★★ A language model without a network
#
# Count how often word $j$ follows word $i$ within a sentence, and begin each count with 1, so that
# nothing is impossible. Return the probabilities $p(j \mid i)$: a row for each word before, a
# column for each word after. `sentences` is a list of lists of ids from 0 to `words - 1`.


# %%
def bigram_probabilities(sentences, words):
    return ...  # an array of shape (words, words)


check("11.6", bigram_probabilities)

# %% [markdown]
# This was the last model of the course. Two things are left: ten models with a fault each, which
# you find in notebook 12, and a project, a translator for two languages of your own:
# `docs/project.md`.
