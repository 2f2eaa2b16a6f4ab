# %% [markdown]
# # Where is the fault?
#
# A transformer with a fault still runs. Nothing is raised, a loss falls, words come out, and
# somewhere a line is wrong. This notebook has ten patients with one fault each. You see a symptom,
# say what you would examine, read what the examination finds, and mend one line.
#
# Six of the faults break a *property*, which a test can state without knowing the code. With $y_t$
# an output and $x_s$ an input, a decoder must not see the future, nor anybody the padding:
#
# $$\frac{\partial y_t}{\partial x_s} = 0 \quad \text{for } s > t \qquad \text{and} \qquad
# y(x_1 \dots x_n) = y(x_1 \dots x_n, 0, 0, 0) .$$
#
# The checks of `keras_transformer.testing` do that. The other four break no property: a learning
# rate, say, is not wrong in itself. They are found by comparing with what should come out.
#
# | you see | examine |
# |---|---|
# | a loss too good to be true | the future (`check_no_future_leak`), then a row of the data |
# | a loss that stays too high | gradients (`check_gradients`), then the curve beside a sound one |
# | translations that depend on the other sentences | padding (`check_padding`) |
# | attention that looks odd | sums of the weights (`check_weights_sum_to_one`), padding |
# | a good loss and bad translations | the cache (`check_cache`), and what differs in use |
# | other translations each time | what is random |
#
# The patients live in `faulty.py`. Do not read it yet: it names the diseases.

# %%
import textwrap
import warnings

import faulty
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import RunFolder, causal_mask, padding_mask, score, testing


# %%
def ask(check, *arguments, **options):
    """Prints what a check says, and returns whether the property holds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras warns of some faults, too
            check(*arguments, **options)
    except AssertionError as error:
        print(textwrap.fill(f"✗ {check.__name__}: {error}", 100))
        return False
    print(f"✓ {check.__name__}: holds")
    return True


# %% [markdown]
# ## What health looks like
#
# Patients 1 to 5 learn to write a sequence of three to eight words in reverse: one layer, vectors
# of 32, some seconds. Words are numbers from 4 on; 0 is padding, 2 the start, 3 the end.

# %%
source, target = faulty.task(100, seed=1000)  # never trained on
reads, predicts = target[:, :-1], target[:, 1:]
print("source  ", source[0])
print("reads   ", reads[0])
print("predicts", predicts[0])

# %%
sound = faulty.learner()
losses = {"sound": faulty.train(sound)}


def share_right(model):
    """The share of the sequences that a model writes without an error."""
    return (faulty.write(model, source, 9) == predicts).all(axis=1).mean()


results = {"sound": share_right(sound)}
print(f"loss at the end {np.mean(losses['sound'][-20:]):.3f}, {results['sound']:.0%} right")
assert results["sound"] > 0.8


# %%
def draw(*names):
    plt.figure(figsize=(8.5, 2.6), layout="constrained")
    for name in names:
        smooth = np.convolve(losses[name], np.ones(10) / 10, "valid")
        style = {"color": "black", "linestyle": "--"} if name == "sound" else {}
        plt.plot(np.arange(10, 10 + len(smooth)), smooth, label=name, **style)
    plt.axhline(np.log(12), linestyle=":", color="gray", label="ln 12: guessing a word")
    plt.xlabel("updates")
    plt.ylabel("loss (mean of 10)")
    plt.ylim(0, 3)
    plt.legend(loc="upper left", bbox_to_anchor=(1, 1))
    plt.show()


def examine(number, updates=faulty.UPDATES):
    """Trains a patient and prints how it does."""
    model, name = faulty.learner(getattr(faulty, f"Patient{number}")), f"patient {number}"
    losses[name], results[name] = faulty.train(model, updates), share_right(model)
    print(f"loss at the end {np.mean(losses[name][-20:]):.3f}, {results[name]:.0%} right")
    return model


# %% [markdown]
# ## Patients 1 and 2: too good to be true
#
# Both reach a loss near 0 in a fraction of the time. And neither can write a single sequence.

# %%
patient_1, patient_2 = (examine(number, updates=100) for number in (1, 2))
draw("sound", "patient 1", "patient 2")
print("source   ", source[0])
for model in (sound, patient_1, patient_2):
    print("writes   ", faulty.write(model, source[:1], 9)[0])

# %% [markdown]
# A model that predicts perfectly and writes nonsense knows, while it is trained, something that it
# does not have when it writes: the answer. **Before you go on**: on which two ways could the answer
# have come in?
#
# One way is through the decoder, if it sees words that come later.

# %%
for name, model in (("patient 1", patient_1), ("patient 2", patient_2)):
    print(name)
    ask(testing.check_no_future_leak, lambda x, m=model: m((source[:2], x)), target[:2, :5])

# %% [markdown]
# Patient 1 looks ahead. The line:

# %%
faulty.show(patient_1.causal)

# %% [markdown]
# True means *may attend*, and this is True where the key comes *after* the query: all of the
# future and nothing of the past. Written for a layer in which 1 means *may not attend*, it is
# right, and that is how it usually gets in. (It happened to a reader of TensorFlow's tutorial:
# tensorflow/text pull request 894.)

# %%
patient_1.causal = causal_mask
assert ask(testing.check_no_future_leak, lambda x: patient_1((source[:2], x)), target[:2, :5])

# %% [markdown]
# Patient 2 passes: its decoder is in order. The other way is the data. Look at what it is given and
# what it is asked for:

# %%
given, asked = patient_2.reads_and_predicts(target[:1])
print("reads   ", given[0])
print("predicts", asked[0])
faulty.show(patient_2.reads_and_predicts)

# %% [markdown]
# It is asked for the word that it reads. No property is broken: copying is a perfectly causal
# function. The target was not *shifted*.

# %%
patient_2.reads_and_predicts = lambda target: (target[:, :-1], target[:, 1:])

given, asked = patient_2.reads_and_predicts(target)
assert (given[:, 1:] == asked[:, :-1]).all() and (given[:, 0] == 2).all()

# %% [markdown]
# ## Patients 3 and 4: they hardly learn

# %%
patient_3, patient_4 = examine(3), examine(4)
draw("sound", "patient 3", "patient 4")

# %% [markdown]
# Patient 3 learns, more slowly, and stays behind. Patient 4 is hardly better than guessing all the
# time. **What would you examine?** If a part of the model does not learn, its gradient is missing.
# Run such a check on models that are still untrained: training has already ruined patient 4 so
# much that some of its gradients are 0.

# %%
for number in (3, 4):
    print(f"patient {number}")
    model = faulty.learner(getattr(faulty, f"Patient{number}"))
    # A bias of the keys never gets a gradient: it changes all scores of a query alike.
    ask(testing.check_gradients, model, (source, reads), without=("key_projection/bias",))

# %% [markdown]
# The source embedding of patient 3, the first part of its encoder, gets nothing. Where does the
# decoder take over what the encoder has read?

# %%
faulty.show(patient_3.memory)

# %% [markdown]
# The encoder stays as it was drawn by chance. That is not useless (random vectors are still
# different for different words), so the rest learns to get along with it. Exactly this makes the
# fault hard to see: the loss falls.

# %%
mended = faulty.learner(faulty.Patient3)
mended.memory = lambda encoded: encoded
assert ask(testing.check_gradients, mended, (source, reads), without=("key_projection/bias",))

# %% [markdown]
# The gradients of patient 4 arrive. So what is done with them? A curve that hardly gets below
# guessing, from the first updates on, asks for the learning rate:

# %%
print("sound    ", sound.learning_rate(0), " patient 4", patient_4.learning_rate(0))

# %% [markdown]
# Ten times too high. There is no property to check here; one needs to know how a sound curve looks
# (and may then try a tenth of the rate).

# %%
patient_4.learning_rate = sound.learning_rate
assert patient_4.learning_rate(0) == 0.01

# %% [markdown]
# ## Patient 5: better on paper
#
# At the beginning, its loss is well *below* the sound one. In the end, it writes worse.

# %%
patient_5 = examine(5)
draw("sound", "patient 5")

# %% [markdown]
# Untrained, a model knows nothing about 16 ids and should pay about $\ln 16 = 2.8$ for each. **So
# how can a loss fall so fast?** Perhaps there are easy points. The losses by what is asked for:

# %%
for name, model in (("sound", sound), ("patient 5", patient_5)):
    logits = model((source, reads))
    words, padding = (
        float(faulty.cross_entropy(predicts, logits, where))
        for where in (predicts != 0, predicts == 0)
    )
    print(f"{name:10} per word {words:.3f}   per padding {padding:.3f}")
faulty.show(patient_5.is_counted)

# %% [markdown]
# Patient 5 was also praised for predicting padding after padding, at more than a quarter of all
# positions. That makes the number smaller, depends on how much padding a batch happens to have, and
# takes gradient away from the words.

# %%
patient_5.is_counted = lambda target: target != 0

few, many = predicts, np.pad(predicts, ((0, 0), (0, 20)))
assert patient_5.is_counted(few).sum() == patient_5.is_counted(many).sum()
print(f"{(predicts == 0).mean():.0%} of the positions are padding")

# %% [markdown]
# ## A translator to compare with
#
# Patients 6 to 10 have the weights of the translator that comes with the project. They were trained
# well; the fault is in how they are used.

# %%
test = RunFolder(faulty.RUN).read_test()[:40]
sentences, references = zip(*test, strict=True)
healthy = faulty.translator()
expected = faulty.translate(healthy, sentences)
results["translator"] = score(expected, references).bleu
print(f"BLEU {results['translator']:.1f}")
assert expected == faulty.bundled()(list(sentences))


# %%
def admit(number):
    """Makes a patient, translates the test sentences as one batch, and prints the score."""
    model = faulty.translator(getattr(faulty, f"Patient{number}"))
    translations = faulty.translate(model, sentences)
    results[f"patient {number}"] = score(translations, references).bleu
    same = sum(a == b for a, b in zip(translations, expected, strict=True))
    print(f"BLEU {results[f'patient {number}']:.1f}, {same} of {len(test)} sentences as expected")
    return model, translations


short = faulty.encode(["The concert is at seven."])
german = np.array([[2, *faulty.bundled().target_tokenizer.encode("Das Konzert ist um sieben.")]])


def padding_matters(model):
    return ask(testing.check_padding, lambda x, mask: model((x, german)), short, atol=1e-3)


# %% [markdown]
# ## Patient 6: it depends on the company
#
# **Try it**: other sentences, other neighbours.

# %%
sentence = "The concert is today at quarter past seven."
neighbour = (
    "On Sunday my brother and his friend want to go to the museum with us, but I have to work."
)

patient_6, _ = admit(6)
print("alone        ", faulty.translate(patient_6, [sentence])[0])
print("in a batch   ", faulty.translate(patient_6, [sentence, neighbour])[0])

# %% [markdown]
# What does a sentence notice of its neighbour? Only that it is padded to the same length.

# %%
padding_matters(patient_6)
faulty.show(patient_6.source_mask)

# %% [markdown]
# No mask at all. Whoever tries single sentences never sees it.

# %%
patient_6.source_mask = lambda source, vectors: padding_mask(source)
assert padding_matters(patient_6)
assert (
    faulty.translate(patient_6, [sentence, neighbour])[0]
    == faulty.translate(healthy, [sentence])[0]
)

# %% [markdown]
# ## Patient 7: it has a mask
#
# The encoder's attention for a sentence with padding, mean of the heads of the first layer. Rows
# look, columns are looked at.


# %%
def look(model, kind, ids):
    """The attention weights of the first layer: (heads, queries, keys)."""
    return np.array(model.attention_weights(ids, german)[kind][0])[0]


def draw_attention(kind, ids, rows, columns, heads=slice(None), **models):
    figure, grid = plt.subplots(1, len(models), figsize=(9, 3.4), sharey=True, layout="constrained")
    for axes, (name, model) in zip(grid, models.items(), strict=True):
        weights = look(model, kind, ids)[heads].mean(axis=0)[: len(rows)]
        picture = axes.imshow(weights, "Blues", vmin=0, vmax=1)
        axes.set_title(name.replace("_", " "))
        axes.set_xticks(range(len(columns)), columns, rotation=90)
        figure.colorbar(picture, ax=axes, shrink=0.8)
    grid[0].set_yticks(range(len(rows)), rows)
    plt.show()


english_words = [t.removeprefix("▁") for t in faulty.bundled().source_tokenizer.tokens(short[0])]
german_words = [t.removeprefix("▁") for t in faulty.bundled().target_tokenizer.tokens(german[0])]
padded = np.pad(short, ((0, 0), (0, 4)))

patient_7, _ = admit(7)
columns = [*english_words, *["padding"] * 4]
draw_attention("encoder", padded, english_words, columns, healthy=healthy, patient_7=patient_7)

# %% [markdown]
# The words look at the padding. Yet there is a mask, and it is passed on. **What is in it?**

# %%
padding_matters(patient_7)
faulty.show(patient_7.source_mask)
vectors = patient_7.source_embedding(padded)
print(np.array(patient_7.source_mask(padded, vectors)))

# %% [markdown]
# Padding is recognized by a vector of zeros. But no row of this table is zero. (In a widely used
# TensorFlow implementation the *positions* had been added, until Kyubyong/transformer pull request
# 69.) Masks are made from the ids.

# %%
patient_7.source_mask = lambda source, vectors: padding_mask(source)
assert padding_matters(patient_7)

# %% [markdown]
# ## Patient 8: a strange look

# %%
patient_8, translations = admit(8)
print(translations[0])
models = {"healthy": healthy, "patient_8": patient_8}
draw_attention("cross", short, german_words, english_words, heads=slice(2, 3), **models)

# %% [markdown]
# The third head of the first layer: a word of the translation (a row) looks at the source. Compare
# the rows of patient 8: which give away more attention than one word has, which less? **What must
# hold for each row?**

# %%
ask(testing.check_weights_sum_to_one, look(patient_8, "cross", short))
faulty.show(patient_8.attention_weights_of)

# %% [markdown]
# This is a softmax, but over the axis of the queries: each *column* sums to 1. When it translates,
# there is one query at a time, and every key gets the weight 1. The last axis is that of the keys.

# %%
patient_8.attention_weights_of = lambda scores: ops.softmax(scores, axis=-1)
assert ask(testing.check_weights_sum_to_one, look(patient_8, "cross", short))
assert faulty.translate(patient_8, sentences) == expected

# %% [markdown]
# ## Patient 9: fine, until it speaks
#
# The loss on the test pairs, where the model is given the right words so far, is exactly that of
# the healthy one. Its translations stutter now and then.

# %%
patient_9, translations = admit(9)
print(*translations[:3], sep="\n")
for model in (healthy, patient_9):
    logits = model((short, german[:, :-1]))
    print(f"loss {float(faulty.cross_entropy(german[:, 1:], logits, german[:, 1:] != 0)):.4f}")

# %% [markdown]
# **What differs between the two?** The loss comes from one pass through the whole decoder, the
# translation from steps with a cache.


# %%
def cache_agrees(model):
    cache, memory = model.start(short, german.shape[1])
    return ask(
        testing.check_cache,
        lambda x: model((short, x)),
        lambda x, cache, t: model.step(x[:, 0], t, cache, memory),
        cache,
        german,
        atol=1e-3,
    )


cache_agrees(patient_9)
faulty.show(patient_9.cache_index)

# %% [markdown]
# Each key is written one place too far, where it is not read until the next step: the model never
# sees the word that it has just written, and may write it again.

# %%
patient_9.cache_index = lambda position: position
assert cache_agrees(patient_9)
assert faulty.translate(patient_9, sentences) == expected

# %% [markdown]
# ## Patient 10: never the same twice

# %%
patient_10, first = admit(10)
second = faulty.translate(patient_10, sentences)
changed = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
print(f"{len(changed)} of {len(test)} sentences differ the second time, such as")
print(*changed[0], sep="\n")

# %% [markdown]
# The score is hardly worse, so nobody complains. But greedy search takes the largest logit, and
# nothing in it is random. **What is random in a transformer?**

# %%
y = [np.array(patient_10.encode(short, training=False)) for _ in range(2)]
print(f"the encoder twice: difference {np.abs(y[0] - y[1]).max():.2f}")
faulty.show(patient_10.training_mode)

# %% [markdown]
# Dropout, which belongs to training, also acts when it translates.

# %%
patient_10.training_mode = lambda training: training
assert faulty.translate(patient_10, sentences) == expected

# %% [markdown]
# ## What they cost
#
# On the task: the share of sequences without an error. For the translator: BLEU on 40 sentences,
# translated as one batch.

# %%
labels = [*results]
figure, grid = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
for axes, names, factor, label in (
    (grid[0], labels[:6], 100, "sequences without an error (%)"),
    (grid[1], labels[6:], 1, "BLEU"),
):
    values = [factor * results[name] for name in names]
    bars = axes.barh(names, values, color=["black", *["#4c72b0"] * 5])
    axes.bar_label(bars, fmt="%.0f", padding=3)
    axes.set(xlabel=label, xlim=(0, 112))
    axes.invert_yaxis()
plt.show()

# %% [markdown]
# Only patients that cannot write at all would have been noticed without comparison. Patients 3, 5
# to 7, 9 and 10 pass for models that need "a bit more training". Therefore test properties first,
# on an untrained model, in a second; and keep a sound curve to compare with.
#
# How to check a layer of your own, and which published bugs this finds: `docs/testing.md`.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** The loss of patient 5 does break a property, though the model does not. Which check finds
# > it?
#
# More padding must not change a loss.


# %%
def loss_of(model):
    def loss(target, _):
        given, asked = model.reads_and_predicts(target)
        counted = model.is_counted(asked)
        return faulty.cross_entropy(asked, model((source[:4], given)), counted)

    return loss


rows = target[:4, :4]  # the start and three words: no padding
assert not ask(testing.check_padding, loss_of(faulty.learner(faulty.Patient5)), rows)
assert ask(testing.check_padding, loss_of(faulty.learner()), rows)

# %% [markdown]
# > **2.** Patient 6 translates sentences one by one. How many of its translations differ from the
# > healthy ones, and why?
#
# None: a sentence that is alone is not padded.

# %%
patient_6 = faulty.translator(faulty.Patient6)
one_by_one = [faulty.translate(patient_6, [sentence])[0] for sentence in sentences[:4]]
assert one_by_one == expected[:4]

# %% [markdown]
# > **3.** Make patient 11: a causal mask that is one position too generous, so that a word sees the
# > next one. Which check finds it? And does it find one that is too strict, so that a word does not
# > see itself?
#
# The generous mask leaks. The strict one passes, because in the whole model the residual connection
# carries each word past the attention: only a check of the attention layer alone would find it.

# %%
patient_11 = faulty.learner()
patient_11.causal = lambda length: ops.arange(length)[:, None] + 1 >= ops.arange(length)
assert not ask(testing.check_no_future_leak, lambda x: patient_11((source[:2], x)), target[:2, :5])

patient_11.causal = lambda length: ops.arange(length)[:, None] > ops.arange(length)
assert ask(testing.check_no_future_leak, lambda x: patient_11((source[:2], x)), target[:2, :5])

# %% [markdown]
# ## Where it comes from
#
# * tensorflow/text pull request 894 and Kyubyong/transformer pull request 69: patients 1 and 7.
#   Patients 2, 5, 6, 9 and 10 have relatives in many repositories.
# * A. Karpathy, *A Recipe for Training Neural Networks*, 2019: look at the data first, and distrust
#   a network that trains.
# * D. Sculley et al., *Hidden Technical Debt in Machine Learning Systems*, 2015: why
#   such faults stay.
