# %% [markdown]
# # How does a translator learn?
#
# By guessing the next word, again and again. Given the source $x$ and the words $y_1 \dots y_{t-1}$
# that a person has written, the model gives every word of its vocabulary a probability. The loss is
# what it costs to be surprised by the word $y_t$ that really came, averaged over all $N$ words,
#
# $$L = -\frac1N \sum_{t} \ln p(y_t \mid y_1 \dots y_{t-1}, x) ,$$
#
# and the weights are moved a little in the direction in which it falls. This notebook prepares the
# data, looks closely at the loss and the learning rate, and trains a small translator from English
# to German. That takes a minute or two on a CPU; notebook 08 continues with the result.

# %%
import contextlib
import io
import shutil
from pathlib import Path

import keras
import numpy as np
from IPython.display import Image
from keras import ops

from keras_transformer import (
    BlockSettings,
    MaskedCrossEntropy,
    PrepareDataset,
    RunConfig,
    RunFolder,
    TransformerModel,
    WarmupSchedule,
    plot_schedules,
    read_pairs,
    train_run,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The data
#
# The project brings 41,306 pairs of its own, of which the first 20,000 are enough here. They are
# split by *source sentence*: all translations of one sentence are in the same part, because a test
# sentence must not occur in training. The vocabularies are those of the training part.

# %%
pairs = read_pairs("../data/english-german.tsv")
dataset = PrepareDataset(n_sentences=20_000)(pairs)
print(dataset)
for english, german in dataset.train[:3]:
    print(f"  {english}  →  {german}")

# %% [markdown]
# A batch is padded to one length. The decoder *reads* the target from its start token on and has to
# *predict* the same one position further, up to its end token.

# %%
(source, decoder_input), target = dataset.batches(dataset.train, batch_size=4, seed=1)[0]


def show(what, tokenizer, ids):
    words = [token.removeprefix("▁") for token in tokenizer.tokens(ids)]  # ▁: a space before it
    print(f"{what:16}" + " ".join(f"{word:10}" for word in words).rstrip())


show("encoder reads", dataset.source_tokenizer, source[0])
show("decoder reads", dataset.target_tokenizer, decoder_input[0])
show("and predicts", dataset.target_tokenizer, target[0])

# %% [markdown]
# ## The loss
#
# Padding is not a word: it must not count, neither in the sum nor in the $N$ by which it is
# divided.

# %%
loss = MaskedCrossEntropy()

ids = np.array([[5, 7, 0, 0]])
logits = np.random.default_rng(0).normal(size=(1, 4, 10)).astype("float32")
probabilities = np.array(ops.softmax(logits))
by_hand = -(np.log(probabilities[0, 0, 5]) + np.log(probabilities[0, 1, 7])) / 2
assert np.isclose(loss(ids, logits), by_hand)
assert np.isclose(loss(ids[:, :2], logits[:, :2]), by_hand)  # without the padding: the same
print(f"{by_hand:.4f} nats per word")

# %% [markdown]
# A model that has learned nothing considers all $V$ words equally likely and pays $\ln V$. That is
# the number to expect at the start.

# %%
settings = BlockSettings(h=4, d_model=128, d_ff=256, n=2, rate=0.1, norm_first=True)
vocabularies = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
model = TransformerModel(*vocabularies, settings=settings)
first = float(loss(target, model((source, decoder_input))))
print(f"first loss {first:.2f}, ln {vocabularies[1]:,} = {np.log(vocabularies[1]):.2f}")

# %% [markdown]
# ## The learning rate
#
# It grows linearly for $w$ updates, while the averages of the optimizer are young and the layers
# not yet adapted to each other, and then falls with the root of the number $t$ of updates:
#
# $$\eta(t) = d^{-1/2} \cdot \min\bigl(t^{-1/2},\ t \cdot w^{-3/2}\bigr) .$$
#
# That is the paper's schedule, which does not need to know how long the training is. Who knows it
# gets further in few epochs with a rate that falls from the same peak in a straight line to 0.
#
# **Try it**: change $d$ and the warm-ups, and predict how the peak will move.

# %%
d_model = 512
warm_ups = [1000, 4000, 8000]

schedules = {f"warm-up {warm_up:,}": WarmupSchedule(d_model, warm_up) for warm_up in warm_ups}
schedules["4,000, linear decay"] = WarmupSchedule(d_model, 4000, total_steps=20000)
plot_schedules(schedules, steps=20000).figure

# %% [markdown]
# Optimizers count from 0, the formula from 1: with $t = 0$ it would divide by zero. The schedule
# takes the step plus 1, so the very first update learns something.

# %%
print(f"{float(WarmupSchedule(512)(0)):.3g}")

# %% [markdown]
# ## The training
#
# A `RunConfig` holds all settings, and each has a reason (`python scripts/train.py --help` prints
# them). `train_run` does the rest and leaves everything in one folder: settings, vocabularies,
# weights, history. The line that removes the folder makes this notebook start from scratch each
# time; leave it out, and an interrupted run resumes.

# %%
config = RunConfig(n_sentences=20_000, epochs=6)
folder = Path("../runs/course")

shutil.rmtree(folder, ignore_errors=True)
progress = io.StringIO()
with contextlib.redirect_stdout(progress):
    scores = train_run(config, folder)

run = RunFolder(folder)
print("epoch   loss  validation     accuracy")
for row in run.read_history():
    numbers = (row["loss"], row["validation_loss"], row["validation_accuracy"])
    print("{:5.0f}  {:5.2f}  {:10.2f}  {:11.1%}".format(row["epoch"], *numbers))

# %% [markdown]
# The curves are drawn from the history that the run has saved. Do not be surprised if the
# validation loss is *below* the training loss: the latter is measured with dropout, and during the
# epoch, with weights that were still worse. Where the two curves cross and part, the model begins
# to learn its training sentences by heart.

# %%
Image(run.curves, width=620)

# %% [markdown]
# And does it translate? Sentences of the test part, none of which it has seen:

# %%
report = progress.getvalue().split("Test part")[1].split("The curves")[0]
print("\n".join(report.splitlines()[5:20]))
print(f"BLEU {scores.bleu:.0f} on the whole test part")

# %% [markdown]
# The corpus is made of some hundred patterns, and the test sentences are of the same patterns. The
# score says that the patterns were learned, not how it would do on a newspaper.
#
# Other things to try: `n_sentences=2000`, and watch the curves part; `rate=0`;
# `norm_first=False`; `label_smoothing=0`. (Train into another folder: a run resumes only with the
# settings it was started with.)

# %% [markdown]
# ## Exercises
#
# 1. Where is the peak of the learning rate, and how high is it?
# 2. One batch has 2 words and the mean loss 1, another has 8 words and the mean loss 2. What is the
#    loss of both together, and why is it not 1.5?
# 3. Label smoothing asks for the right word with probability $1 - \varepsilon$ only and spreads
#    $\varepsilon$ over all $V$ words alike. What is then the smallest loss that any model can
#    reach? Take $\varepsilon = 0.1$ and $V = 10$.

# %% [markdown]
# ### Solution 1
#
# Where the two terms of the minimum are equal: $t = w$, and there $\eta = (d w)^{-1/2}$.

# %%
rates = np.array(WarmupSchedule(512, 4000)(np.arange(20000)))
assert rates.argmax() + 1 == 4000
assert np.isclose(rates.max(), (512 * 4000) ** -0.5)

# %% [markdown]
# ### Solution 2
#
# $(2 \cdot 1 + 8 \cdot 2) / 10 = 1.8$: each *word* counts alike, not each batch. Therefore the
# library's losses are pairs, a sum and a count, which are added up before the division.

# %%
rows = [logits[:, :2], np.random.default_rng(1).normal(size=(1, 8, 10)).astype("float32")]
targets = [np.array([[5, 7]]), np.arange(1, 9)[None]]
each = [float(loss(t, x)) for t, x in zip(targets, rows, strict=True)]
together = float(loss(np.concatenate(targets, axis=1), np.concatenate(rows, axis=1)))
assert np.isclose(together, (2 * each[0] + 8 * each[1]) / 10)
assert (2 * 1 + 8 * 2) / 10 == 1.8

# %% [markdown]
# ### Solution 3
#
# The best answer is the smoothed distribution itself, and its cost is its entropy: 0.91 for the
# right word and 0.01 for each of nine others.

# %%
smoothed = np.full(10, 0.1 / 10)
smoothed[3] += 0.9
entropy = -(smoothed * np.log(smoothed)).sum()
best = MaskedCrossEntropy(label_smoothing=0.1)(np.array([[3]]), np.log(smoothed)[None, None])
assert np.isclose(best, entropy)
surer = np.log(np.where(np.arange(10) == 3, 0.99, 0.01 / 9))[None, None]
assert MaskedCrossEntropy(label_smoothing=0.1)(np.array([[3]]), surer) > best
print(f"{entropy:.3f} nats")

# %% [markdown]
# ## Where it comes from
#
# * A. Vaswani et al., *Attention Is All You Need*, 2017, section 5: batches, schedule, label
#   smoothing.
# * C. Szegedy et al., *Rethinking the Inception Architecture for Computer Vision*, 2016, section 7:
#   label smoothing.
# * D. Kingma and J. Ba, *Adam: A Method for Stochastic Optimization*, 2015: the optimizer.
