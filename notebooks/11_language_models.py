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

from keras_transformer import (
    BlockSettings,
    Generate,
    LSTMLanguageModel,
    MaskedCrossEntropy,
    Perplexity,
    TransformerLanguageModel,
    WordTokenizer,
    next_words,
    ngram_prefixes,
    read_documents,
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
# ## Exercises
#
# 1. Show that `ngram_prefixes` and `next_words` ask the same questions: the loss of a model is the
#    same. How many more words does the first one read?
# 2. A model that only knows how often each word occurs has a perplexity, too. Compute the
#    smallest one possible, for the held-out sentences.
# 3. Change the last word of a sentence. Which logits of the transformer change?

# %% [markdown]
# ### Solution 1

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
# ### Solution 2
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
# ### Solution 3
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
