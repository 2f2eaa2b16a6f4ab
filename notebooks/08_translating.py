# %% [markdown]
# # How do probabilities become a sentence?
#
# A trained model does not translate. It answers one question, again and again: how probable is each
# word as the next one? A whole translation $y$ of a source $x$ has the probability
#
# $$p(y \mid x) = \prod_t p(y_t \mid y_1 \dots y_{t-1}, x), \qquad
# \ln p(y \mid x) = \sum_t \ln p(y_t \mid y_1 \dots y_{t-1}, x) ,$$
#
# and to translate is to *search* for a sentence that makes this large. With 2,000 words and ten
# places there are $10^{33}$ sentences, so a search must be modest. We look at two, greedy and beam,
# at what makes them fast, at where the model looks meanwhile, and at how translations are scored.

# %%
import itertools
import tempfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image
from keras import ops

from keras_transformer import (
    END_ID,
    START_ID,
    AttentionPage,
    RunFolder,
    Translate,
    hypothesis_views,
    plot_attention,
    score,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# The small translator that comes with the project (`make bundled-run` made it, in twenty minutes).
# If you have trained one, write its folder instead, such as `../runs/english-german`.

# %%
folder = Path("../data/bundled-run")

translate = Translate.from_run(folder)
test = RunFolder(folder).read_test()
print(translate("We want to buy a new car tomorrow."))

# %% [markdown]
# ## Greedy
#
# Take the most probable word, append it, and repeat. After each step, we print the three best
# candidates.

# %%
model = translate.model
sentence = "We want to buy a new car tomorrow."
source = np.array([[*translate.source_tokenizer.encode(sentence), END_ID]])


def name(token):
    return translate.target_tokenizer.tokens([token])[0].removeprefix("▁")


cache, memory = model.start(source, length=20)
token, written, step_logits = START_ID, [], []
while token != END_ID and len(written) < 20:
    logits, cache = model.step(np.array([token]), len(written), cache, memory)
    probabilities = np.array(ops.softmax(logits))[0]
    best = np.argsort(-probabilities)[:3]
    print("   ".join(f"{name(i):>9} {probabilities[i]:6.1%}" for i in best))
    token = int(best[0])
    written.append(token)
    step_logits.append(np.array(logits)[0])

print(translate.target_tokenizer.decode(written))
assert translate.target_tokenizer.decode(written) == translate(sentence)

# %% [markdown]
# ## The cache
#
# `step` reads *one* token. Yet the decoder attends to all words before it: their keys and values
# are kept in the cache, since they never change (the future cannot change the past!). Those of the
# source, the memory, are computed once. The logits are those of the whole decoder, which reads
# everything again for each word:

# %%
decoder_input = np.array([[START_ID, *written[:-1]]])
whole = np.array(model((source, decoder_input)))[0]
assert np.allclose(whole, step_logits, atol=1e-3)

# %% [markdown]
# The keys of the first head of the first layer, after one step, after three, and at the end. A step
# adds a row and changes none:

# %%
cache, memory = model.start(source, length=12)
figure, grid = plt.subplots(1, 3, figsize=(8, 2.6), sharey=True, layout="constrained")
for position, token in enumerate(decoder_input[0]):
    _, cache = model.step(np.array([token]), position, cache, memory)
    if position in (shown := [0, 2, len(written) - 1]):
        axes, keys = grid[shown.index(position)], np.array(cache["layers"][0][0])[0, 0]
        axes.imshow(keys, "RdBu", vmin=-3, vmax=3, aspect="auto")
        axes.set(title=f"after step {position + 1}", xlabel="entry of the key")
grid[0].set(ylabel="position")
plt.show()

# %% [markdown]
# Without a cache, the number of positions that the decoder computes grows with the square of the
# length:

# %%
length = np.arange(1, 41)
plt.figure(figsize=(6, 3))
plt.plot(length, length * (length + 1) / 2, "--", label="the whole decoder at each step")
plt.plot(length, length, "-", label="with a cache")
plt.xlabel("words of the translation")
plt.ylabel("positions computed")
plt.legend()
plt.show()

# %% [markdown]
# ## Beam
#
# Greedy search never takes a word back. A **beam** keeps the best $k$ prefixes at each step,
# extends all of them, and keeps the best $k$ of the results. Long sentences multiply more
# probabilities and so look worse; therefore the sum of logarithms is divided by a **length
# penalty**, $\left(\frac{5 + T}{6}\right)^{\alpha}$ for $T$ words.
#
# In a few lines, without cache, batches and penalty: `beam` holds pairs of a sum and the ids.


# %%
def extend(beam, size):
    """Returns the best extensions of all prefixes; finished ones compete unchanged."""
    candidates = [entry for entry in beam if entry[1][-1] == END_ID]
    for total, ids in beam:
        if ids[-1] != END_ID:
            padded = np.array([ids + [0] * (20 - len(ids))])
            logits = np.array(model((source, padded)))[0, len(ids) - 1]
            gains = np.array(ops.log_softmax(logits))
            gains[:END_ID] = -np.inf  # padding, unknown words, start
            best = np.argsort(-gains)[:size]
            candidates += [(total + gains[i], [*ids, int(i)]) for i in best]
    return sorted(candidates, key=lambda entry: -entry[0])[:size]


# %%
beams = [[(0.0, [START_ID])]]
while any(ids[-1] != END_ID for _, ids in beams[-1]):
    beams.append(extend(beams[-1], size=3))
total, ids = beams[-1][0]
best = translate.hypotheses(sentence, beam_size=3, length_penalty=0.0)[0][0]
assert translate.target_tokenizer.decode(ids[1:]) == best.text
assert np.isclose(total, best.score, atol=1e-3)

# %% [markdown]
# The beam is a tree of which only three branches live at a time. Black is the path of the winner:

# %%
plt.figure(figsize=(9.5, 2.8))
for position, (before, after) in enumerate(itertools.pairwise(beams), start=1):
    for rank, (_, prefix) in enumerate(after):
        if len(prefix) <= position:
            continue  # has ended before
        parent = [ids for _, ids in before].index(prefix[:-1])
        color = "black" if ids[: len(prefix)] == prefix else "#888888"
        plt.plot([position - 1, position], [-parent, -rank], color=color, linewidth=0.8, zorder=0)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        plt.text(position, -rank, name(prefix[-1]), color=color, ha="center", va="center", bbox=box)
plt.axis("off")
plt.show()

# %% [markdown]
# The library's search lists them with their scores, here with its usual $\alpha = 0.6$.
#
# **Try it**: other sentences (the model knows the words of its corpus only), other sizes of the
# beam, `length_penalty=0`.

# %%
sentences = ["She couldn't find the old book.", "When do you have to get up tomorrow?"]
beam_size = 4

for hypotheses in translate.hypotheses(sentences, beam_size=beam_size, n_best=beam_size):
    for hypothesis in hypotheses:
        print(f"{hypothesis.score:7.3f}  {hypothesis.text}")
    print()

# %% [markdown]
# ## Where it looks
#
# The cross-attention of each layer and head, one row for each word that was written. German puts
# the verb at the end: *to buy* stands in the middle, *kaufen* comes last. (The rows are read
# while the word is being *chosen*; the end of the source often serves as a place to rest.)

# %%
scratch = tempfile.TemporaryDirectory()  # deleted when the notebook ends
hypothesis = translate.hypotheses(sentence, return_attention=True)[0][0]
plot_attention(hypothesis, f"{scratch.name}/attention.png")
Image(f"{scratch.name}/attention.png", width=760)

# %% [markdown]
# Another sentence, to look at head by head: click one to enlarge it. English *did … buy* becomes
# *hat … gekauft*. In layer 2, head 3, *hat* attends to *did*, and *gekauft* to *buy*. But look at
# *nicht*: head 1 of layer 2 attends to *buy* while it is chosen, the other heads of that layer to
# *not*. An average over the heads would hide that, and no single head is "the" alignment.
#
# `scripts/demo.py` opens a page that shows this for the sentences that you type: all heads, the
# most probable words at each step, where you may choose another one, and the beam as a tree
# (`docs/page.md`).
#
# ![The page for one sentence](../docs/page.png)

# %%
negated = "The old woman did not buy the book."
hypothesis = translate.hypotheses(negated, return_attention=True)[0][0]
AttentionPage(hypothesis_views(hypothesis)[-1:], f"{negated} → {hypothesis.text}", height=680)

# %% [markdown]
# ## How good is it?
#
# **BLEU** compares with translations made by people: how many of the words, and of the runs of two,
# three and four words, are in a reference too? (Each counts at most as often as it occurs there.)
# With $p_n$ the share of runs of $n$ words,
#
# $$\mathrm{BLEU} = B \cdot \Bigl(\prod_{n=1}^4 p_n\Bigr)^{1/4}, \qquad
# B = \min\bigl(1,\ e^{1 - r / c}\bigr) ,$$
#
# where the factor $B$ punishes translations of $c$ words in all that are shorter than the $r$ words
# of the references. **chrF** does the same with characters and forgives a wrong ending. Both are
# computed by sacrebleu, whose signature says how, so that scores can be compared. For the first
# thousand sentences (`scripts/evaluate.py` does the same for all):

# %%
sources, references = zip(*test[:1000], strict=True)
for beam_size in (4, 1):  # the greedy translations last: they are read below
    translations = translate(sources, beam_size=beam_size)
    scores = score(translations, references)
    print(f"beam {beam_size}  BLEU {scores.bleu:.1f}  chrF {scores.chrf:.1f}")
print(scores.bleu_signature)

# %% [markdown]
# A score is one number about a thousand sentences. Read them too. The first of those that differ
# from their reference:

# %%
triples = zip(sources, translations, references, strict=True)
wrong = [(english, german, right) for english, german, right in triples if german not in right]
print(f"{len(wrong)} of {len(translations):,} differ")
for english, german, right in wrong[:5]:
    print(f"\n{english}\n  written    {german}\n  reference  {' / '.join(right)}")

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** The score of a greedy translation is its log probability. Compute it from the logits.

# %%
log_probabilities = np.array(ops.log_softmax(np.array(step_logits)))[range(len(written)), written]
print(f"{log_probabilities.sum():.4f}")
assert np.isclose(translate.hypotheses(sentence)[0][0].score, log_probabilities.sum(), atol=1e-3)

# %% [markdown]
# > **2.** Compute the BLEU of "die Katze sitzt auf dem Stuhl" against the reference "die Katze
# > sitzt auf dem alten Stuhl" by hand. (There is one reference; count runs of 1 to 4 words.)
#
# The 6 words are all in the reference. Of 5 pairs 4 are, of 4 triples 3, of 3 runs of four 2. The
# reference has 7 words, so that $B = e^{1 - 7/6}$.

# %%
by_hand = np.exp(1 - 7 / 6) * (6 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25
found = score(["die Katze sitzt auf dem Stuhl"], [["die Katze sitzt auf dem alten Stuhl"]]).bleu
print(f"{100 * by_hand:.2f}")
assert np.isclose(found, 100 * by_hand)

# %% [markdown]
# > **3.** Show on some sentences that a beam of 1 is the greedy search, and that a beam of 4 never
# > ends with a worse score when the length penalty is off. For how many is it better?
#
# In general a beam could lose: it may drop the greedy prefix for others that look better at that
# point. The library's beam never drops it.

# %%
some = [english for english, _ in test[:40]]
assert translate(some, beam_size=1) == translate(some)

narrow = translate.hypotheses(some)
wide = translate.hypotheses(some, beam_size=4, length_penalty=0.0)
gains = [w[0].score - n[0].score for n, w in zip(narrow, wide, strict=True)]
assert min(gains) > -1e-3
print(f"better in {sum(gain > 1e-3 for gain in gains)} of {len(some)} sentences")

# %% [markdown]
# ## Where it comes from
#
# * K. Papineni et al., *BLEU: a Method for Automatic Evaluation of Machine Translation*, 2002.
# * M. Popović, *chrF: character n-gram F-score for automatic MT evaluation*, 2015.
# * M. Post, *A Call for Clarity in Reporting BLEU Scores*, 2018.
# * Y. Wu et al., *Google's Neural Machine Translation System*, 2016, section 7: the length penalty.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 8.1 ★ Count the runs
#
# The translation is "das ist ein kleines Haus", and the only reference is "das ist ein Haus". What
# are $p_1, p_2, p_3, p_4$ and $B$?

# %%
p_1, p_2, p_3, p_4, B = ..., ..., ..., ..., ...

check("8.1", [p_1, p_2, p_3, p_4, B])

# %% [markdown]
# ### 8.2 ★ Which hypothesis wins?
#
# One hypothesis has $T = 4$ tokens and a log probability of -2.0, another has 9 tokens and -2.9.
# What are their scores with the length penalty $\alpha = 1$? Which one wins, and which one without
# a penalty?

# %%
short, long = ..., ...

check("8.2", [short, long])

# %% [markdown]
# ### 8.3 ★★ Greedy is not the best
#
# Sentences of two words from a vocabulary of three. The first word and the one after it have these
# probabilities:
#
# | | a | b | c |
# |---|---|---|---|
# | first word | 0.5 | 0.4 | 0.1 |
# | after a | 0.3 | 0.3 | 0.4 |
# | after b | 0.9 | 0.1 | 0 |
# | after c | 0.2 | 0.2 | 0.6 |
#
# What is the probability of the sentence that greedy search finds, and of the one that a beam of 2
# finds?

# %%
greedy, beam = ..., ...

check("8.3", [greedy, beam])

# %% [markdown]
# ### 8.4 ★★★ A cache of your own
#
# One step of causal self-attention: the new word has a query, a key and a value, each of shape
# (d,). The cache is `None` before the first word, then a pair: the keys and the values of all words
# so far, each of shape (t, d). Return the output for the new word, and the cache with that word.


# %%
def cached_attention(query, key, value, cache):
    return ..., ...  # the output, (d,), and the cache: the keys and the values


check("8.4", cached_attention)

# %% [markdown]
# ### 8.5 ★★★ A beam search
#
# `log_probabilities(words)` returns an array of three numbers for the words 0, 1 and 2, given the
# list of the words so far (empty at first); word 0 ends the sentence, which does so by itself after
# a few words. Return the best hypothesis as a pair, the sum of its log probabilities and the list
# of its words, 0 included. There is no length penalty; finished hypotheses compete unchanged. The
# check compares a beam of 1 with greedy search, and a beam of 15 with all sentences that exist:
# there are 15.


# %%
def beam_search(log_probabilities, size):
    return ..., ...  # the sum, and the words


check("8.5", beam_search)
