# %% [markdown]
# # What can one learn by filling in gaps?
#
# A translator needs pairs of sentences, and somebody must have made them. Plain text is everywhere.
# BERT learns from it by itself: hide some of the words and guess them from what stands on *both*
# sides. Who can fill "the woman is ▢ a book" must know something of grammar and of books.
#
# With $M$ the set of hidden places and $\tilde x$ the text with its gaps, the loss is
#
# $$L = -\frac1{|M|} \sum_{i \in M} \ln p(x_i \mid \tilde x) ,$$
#
# plus that of a second task: does this text follow that one? What an encoder like that of notebook
# 06 learns in this way is then put to use: to weigh sentences, or to find answers. We
# do all of this on a very small scale, with the English half of the project's own sentences.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import (
    Adam,
    AnsweringBert,
    AttentionPage,
    Bert,
    BlockSettings,
    Classify,
    EncoderClassifier,
    FindAnswer,
    MaskedCrossEntropy,
    PretrainingBert,
    PretrainingPairs,
    Summarize,
    WordPieceTokenizer,
    answer_examples,
    read_documents,
    read_pairs,
    text_views,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Subwords
#
# A vocabulary of all words would be endless. `WordPieceTokenizer` keeps frequent words whole and
# splits rarer ones; `##` marks a piece that continues a word. So no word is unknown as long as its
# letters are known. This one was trained on nine tenths of the sentences and kept;
# `WordPieceTokenizer.train(documents)` makes it again.

# %%
documents = read_documents("../data/english-german.tsv")
tenth = len(documents) // 10
held_out, documents = documents[:tenth], documents[tenth:]
tokenizer = WordPieceTokenizer.load("../data/small-bert/tokenizer.json")
print(f"{len(documents):,} sentences, {tokenizer.vocab_size:,} tokens")

for text in ("The woman is reading a book.", "Transformers rebuild the bookstore."):
    print(tokenizer.tokens(tokenizer.encode(text).ids))

# %% [markdown]
# ## Gaps
#
# BERT reads one text or two: `[CLS]`, the first, `[SEP]`, and perhaps the second and another
# `[SEP]`. Of the tokens, 15% are to be guessed. Of these, 80% are replaced by `[MASK]`, 10% by a
# random token and 10% stay as they are, so that the model cannot rely on a token being right only
# because it is not a mask. A sentence is cut in two, and in half of the cases its second part is
# exchanged for that of another one.

# %%
batches = PretrainingPairs(documents[:2000], tokenizer, seq_length=20, batch_size=64, seed=0)
(ids, segments, positions), target = batches[0]
for row in range(3):
    kept = ids[row] > 0
    print(" ".join(tokenizer.tokens(ids[row][kept])))
    words = target["words"][row]
    print("   to guess:", ", ".join(tokenizer.tokens(words[words > 0])), end="; ")
    print("it follows" if target["next"][row] == 0 else "it does not follow")

# %%
figure, grid = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
hidden = np.zeros(ids.shape)
for row, places in enumerate(positions):
    hidden[row, places[target["words"][row] > 0]] = 1
pictures = {
    "padding, first text, second text": np.where(ids > 0, segments + 1, 0),
    "tokens to guess": np.where(ids > 0, hidden + 1, 0),
}
for axes, (title, picture) in zip(grid, pictures.items(), strict=True):
    axes.imshow(picture[:32], "Blues", vmin=0, vmax=2.5, aspect="auto", interpolation="nearest")
    axes.set(title=title, xlabel="position", ylabel="row of the batch")
    axes.set_xticks(range(0, 20, 5))
plt.show()

# %% [markdown]
# ## Pre-training
#
# `Bert` is the encoder with its embeddings: words, positions and segments (first text or second)
# are all learned. `PretrainingBert` adds two heads, here the output layers of the two tasks. The
# number to beat is the loss of a model that guesses by frequency alone and ignores the context: the
# *entropy* of the words, $-\sum_w f_w \ln f_w$ with their frequencies $f_w$.
#
# The published BERT read 3.3 billion words for four days. A minute is short: the model below reads
# 2,000 sentences three times.

# %%
epochs = 3
watched = PretrainingPairs(held_out[:1000], tokenizer, 20, 64, seed=0, dynamic=False)


def warm_up_and_fall(highest, updates):
    warm = {"warmup_target": highest, "warmup_steps": updates // 10}
    return keras.optimizers.schedules.CosineDecay(0.0, updates - updates // 10, **warm)


settings = BlockSettings(h=4, d_model=64, d_ff=256, n=2, rate=0.0)
beginner = PretrainingBert(Bert(tokenizer.vocab_size, seq_length=32, settings=settings))
beginner.compile(
    Adam(warm_up_and_fall(2e-3, epochs * len(batches))),
    {
        "words": MaskedCrossEntropy(),
        "next": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    },
)
options = {"epochs": epochs, "shuffle": False, "verbose": 0}
history = beginner.fit(batches, validation_data=watched, **options).history

# %% [markdown]
# So here is another one of the same size, which `make small-bert` made in ten minutes and which was
# kept in `data/small-bert`. It has read the 53,000 sentences of the corpus twelve times, without
# those that are held out here.

# %%
model = keras.models.load_model("../data/small-bert/pretraining.keras")
model.compile(loss=beginner.loss)
of_model = model.evaluate(watched, return_dict=True, verbose=0)

figure, grid = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
by_chance = {"words": watched.word_entropy(), "next": np.log(2)}
titles = {"words": "hidden words", "next": "does it follow?"}
for axes, (name, chance) in zip(grid, by_chance.items(), strict=True):
    axes.axhline(chance, color="black", linestyle=":", label="without context")
    axes.plot(range(1, epochs + 1), history[f"val_{name}_loss"], "o-", label="three epochs here")
    axes.axhline(of_model[f"{name}_loss"], color="C1", linestyle="--", label="the kept model")
    axes.set(title=titles[name], xlabel="epoch", ylabel="loss of held-out text (nats)")
    axes.set(ylim=(0, 1.25 * chance), xticks=range(1, epochs + 1))
    axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# After three epochs the beginner is still above the dotted line of the hidden words: it does not
# even know how frequent they are, let alone their context. That takes more text. The kept model's
# loss was 4.9, 3.7 and 3.3 after its first three epochs, each of 26 times as many sentences.
#
# Below, ▢ is the gap. Read the percentages: after *wants to* the kept model expects an infinitive,
# as it should, and *buy* comes first. But it is sure of nothing. At the first gap it knows that
# somebody is doing something, and not what one does with books; and *we are* … *ing* makes it think
# of languages that are learned, not of what one drinks. Which *kind* of word fits is learned long
# before which word.
#
# **Try it**: sentences of your own, also with words that the corpus does not have.


# %%
def fill(text, best=5):
    before, after = (tokenizer.encode(part).ids for part in text.split("▢"))
    ids, segments = tokenizer.add_special_tokens([*before, tokenizer.mask_id, *after])
    place = np.array([[1 + len(before)]])
    logits = model((np.array([ids]), np.array([segments]), place))["words"]
    probabilities = np.array(ops.softmax(logits))[0, 0]
    order = np.argsort(-probabilities)[:best]
    return [(tokenizer.tokens([i])[0], float(probabilities[i])) for i in order]


for text in ("The woman is ▢ a book.", "Maria wants to ▢ a bike.", "We are drinking ▢."):
    print(text, "  ", ", ".join(f"{word} {share:.0%}" for word, share in fill(text)))

# %% [markdown]
# And does one text follow the other? The second task, asked once for the two halves of a sentence
# and for halves of two:


# %%
def follows(first, second):
    parts = (tokenizer.encode(text).ids for text in (first, second))
    ids, segments = tokenizer.add_special_tokens(*parts)
    logits = model((np.array([ids]), np.array([segments]), np.array([[0]])))["next"]
    return float(ops.softmax(logits)[0, 0])


for second in ("because it is raining.", "a bike to the library?"):
    print(f"We are staying at home … {second}  {follows('We are staying at home', second):.0%}")

# %% [markdown]
# ## Praise or blame
#
# A class of the whole text is one dense layer away. The project has 300 opinions of its own, half
# of them praise, in which no single word decides. 240 of them train the classifier, which is
# little; 60 are held out. Beside it, the same network from nothing.

# %%
opinions, labels = zip(*read_pairs("../data/sentiment.tsv"), strict=True)
is_praise = np.array([label == "positive" for label in labels], "int32")
ids = tokenizer.encode_batch(opinions, length=24)[0]


def kept_body():
    """A copy of what has been pre-trained, without its heads and its dropout."""
    body = Bert(tokenizer.vocab_size, seq_length=32, settings=settings)
    body.build((None, None))
    body.set_weights(model.body.get_weights())
    return body


def train_classifier(body):
    classifier = EncoderClassifier(body, num_labels=2, pooling="mean")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    classifier.compile(keras.optimizers.AdamW(1e-3), loss, jit_compile=False)
    classifier.fit(ids[:240], is_praise[:240], batch_size=16, epochs=8, verbose=0)
    guesses = np.array(classifier(ids[240:])).argmax(axis=1)
    return classifier, (guesses == is_praise[240:]).mean()


classifier, share = train_classifier(kept_body())
_, from_nothing = train_classifier(Bert(tokenizer.vocab_size, seq_length=32, settings=settings))
print(f"right: {share:.0%} after pre-training, {from_nothing:.0%} from nothing")

classify = Classify(classifier, tokenizer, ["blame", "praise"])
for text in ("The film was wonderful.", "The soup was cold and nobody was sorry."):
    print(text, classify(text))

# %% [markdown]
# Counting words alone is right in some 68% of such splits, and neither network is better than that;
# the margin of error of 60 sentences is 6 percentage points. What has been read here says who reads
# which book, not what is good or bad, and the first of the two opinions above is misunderstood:
# what pre-training brings depends on what was read. The published BERT, which has read what people
# write of films and hotels, is right in 93% of such cases after the same fine-tuning (section 4.1
# of its paper, SST-2).

# %% [markdown]
# ## A summary
#
# The model has made a vector of every token; their mean stands for a sentence. `Summarize` groups
# the sentences' vectors into $k$ groups and takes from each the sentence nearest to its center. It
# writes nothing, it selects. It has not been trained for this.

# %%
text = (
    "The coffee is hot. The tea is hot too. My brother is repairing his old bike. He wants to sell "
    "the bike. We are going to the mountains on Sunday. They are going to the beach on Monday."
)
summarize = Summarize(model.body, tokenizer)
print(summarize(text, num_sentences=3))

# %% [markdown]
# ## Questions
#
# To answer a question from a text, BERT reads both, and a head of two scores for each token says
# how well it would begin the answer, and how well end it. The score of an answer is the product of
# the two probabilities. This head has to be trained, on questions whose answers are known. We make
# some, with a pattern: three facts, sometimes six, and a question about one of them. (Six facts are
# more than this model can read at once. Then it reads parts, and if the answer is not in a part, it
# should point at `[CLS]`.)

# %%
names = ["Maria", "Paul", "Lena", "Lukas", "Emma", "Sophie"]
things = ["bike", "car", "book", "letter", "hat", "phone", "bottle", "chair", "pizza", "sweater"]
verbs = {
    "bought": "buy", "sold": "sell", "found": "find", "cleaned": "clean", "forgot": "forget",
    "washed": "wash",
}  # fmt: skip


def make_example(random):
    """A question, a text, and where in it the answer begins and ends."""
    count = random.choice([3, 3, 3, 3, 6])
    who, did, what = (random.permutation(x)[:count] for x in (names, list(verbs), things))
    facts = [f"{a} {b} the {c}." for a, b, c in zip(who, did, what, strict=True)]
    i = random.integers(count)
    begin = sum(len(fact) + 1 for fact in facts[:i])
    if random.random() < 0.5:
        question, answer = f"Who {did[i]} the {what[i]}?", who[i]
    else:
        question, answer = f"What did {who[i]} {verbs[did[i]]}?", f"the {what[i]}"
    start = begin + facts[i].index(answer)
    return question, " ".join(facts), start, start + len(answer)


random = np.random.default_rng(0)
examples = [make_example(random) for _ in range(2000)]
question, context, start, end = examples[0]
print(context, question, "→", context[start:end])

# %%
answering = AnsweringBert(kept_body())
inputs, spans = answer_examples(tokenizer, examples, length=32)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
updates = 12 * (len(inputs[0]) // 64)
answering.compile(
    keras.optimizers.AdamW(warm_up_and_fall(2e-3, updates)), {"start": loss, "end": loss}
)
answering.fit(inputs, spans, batch_size=64, epochs=12, verbose=0)

find = FindAnswer(answering, tokenizer)
tests = [make_example(random) for _ in range(50)]
right = sum(find(q, text)["answer"] == text[start:end] for q, text, start, end in tests)
print(f"{right} of 50 new questions answered")

text = "Paul sold the car. Emma bought the bike. Lena found the hat."
for question in ("Who bought the bike?", "What did Lena find?", "Who sold the car?"):
    print(question, find(question, text))

# %% [markdown]
# The answer is always a piece of the text, with its place in it. Here are the two probabilities of
# each token for the first question.

# %%
question_ids, context_ids = (tokenizer.encode(x).ids for x in ("Who bought the bike?", text))
ids, segments = tokenizer.add_special_tokens(question_ids, context_ids)
scores = answering((np.array([ids]), np.array([segments])))
figure, axes = plt.subplots(figsize=(9.5, 2.8), layout="constrained")
for name, shift in (("start", -0.2), ("end", 0.2)):
    shares = np.array(ops.softmax(scores[name]))[0]
    hatch = "//" if name == "end" else None
    axes.bar(np.arange(len(ids)) + shift, shares, 0.4, label=name, hatch=hatch, edgecolor="white")
axes.set_xticks(range(len(ids)), tokenizer.tokens(ids), rotation=90)
axes.set_ylabel("probability")
axes.legend()
plt.show()

# %% [markdown]
# How does the answer get out of the text? Something has to connect the two. Below are the attention
# weights of all layers and heads; select the texts *A → B*, and only those with which the question
# (A) attends to the text (B) are left. The number under each head is the share of the question's
# attention that goes to the text. *B → A* is the other direction, in which a token of the text can
# find out that the question is about it. Click a head to enlarge it.

# %%
views = text_views(answering, tokenizer, "Who bought the bike?", text)
AttentionPage(views, "Who bought the bike?", height=680)

# %% [markdown]
# The words of the question occur in the text, too, so a head that looks for *the same word in the
# other text* would help. Is there one? Here is the mean weight from each word to the same word in
# the other text, beside the mean weight to any token of it. One large number says that a head does
# this for these texts, and no more: which head it is depends on chance, and it may do other things
# for others.

# %%
view = views[0]
words, segment = np.array(view.key_tokens), np.array(view.segments)
special = np.char.startswith(words, "[")
other = (segment[:, None] != segment) & ~special & ~special[:, None]
same = other & (words[:, None] == words) & np.char.isalpha(words)
for i, head in np.ndindex(view.weights.shape[:2]):
    means = view.weights[i, head][same].mean(), view.weights[i, head][other].mean()
    print(f"layer {i + 1}, head {head + 1}: same word {means[0]:.3f}, any word {means[1]:.3f}")

# %% [markdown]
# Published weights can be loaded from a folder: `Bert.from_pretrained(folder)` and
# `AnsweringBert.from_pretrained(folder)` with `WordPieceTokenizer.load`. The classes are the same;
# only then do they know something of the world.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** What share of the tokens to guess should be `[MASK]`? Count over some batches.

# %%
masked, count = 0, 0
for i in range(20):
    (ids, _, positions), target = batches[i]
    to_guess = target["words"] > 0
    masked += (np.take_along_axis(ids, positions, axis=1)[to_guess] == tokenizer.mask_id).sum()
    count += to_guess.sum()
print(f"{masked / count:.1%} of {count}")
assert 0.77 < masked / count < 0.83

# %% [markdown]
# > **2.** Why can this model not *write* a text word by word, as the decoder of notebook 06 does?
# > Show it with a change of the last word.
#
# Every token sees every other one, the later ones too: the first vector changes with the last word.
# There is no "so far" in it.

# %%
pair = tokenizer.encode_batch(["Maria sold the car.", "Maria sold the hat."], length=10)
vectors = np.array(model.body(pair))
assert np.abs(vectors[0, 1] - vectors[1, 1]).max() > 1e-3  # of "maria"

# %% [markdown]
# > **3.** Give `FindAnswer` a text that is longer than the model can read, with the answer near its
# > end. How can it come from there?
#
# It reads the text in windows, each overlapping the next by half, and takes the best answer of all.
# That is why a model must be able to say "not here", which it does with `[CLS]`. The answer below
# comes from the end of the text.

# %%
did = [verb for verb in verbs if verb != "sold"]
rest = [thing for thing in things if thing != "car"]
facts = [f"{names[i % 6]} {did[i % 5]} the {thing}." for i, thing in enumerate(rest)]
long = " ".join([*facts, "Lukas sold the car."])
assert len(tokenizer.encode(long).ids) > answering.body.seq_length
found = find("Who sold the car?", long)
print(found)
assert long[found["start"] : found["end"]] == found["answer"]

# %% [markdown]
# ## Where it comes from
#
# * J. Devlin et al., *BERT: Pre-training of Deep Bidirectional Transformers for Language
#   Understanding*, 2019: sections 3.1 (gaps, two texts) and 4.2 (questions).
# * Y. Wu et al., *Google's Neural Machine Translation System*, 2016, section 4.1: WordPiece.
# * D. Miller, *Leveraging BERT for Extractive Text Summarization on Lectures*, 2019.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 10.1 ★ Three fates
#
# A text has 1,000 tokens (and no special ones). How many of them become `[MASK]`, how many become a
# random token, and how many are to be guessed although nothing has changed? Give the expected
# numbers.

# %%
masked, random_ones, unchanged = ..., ..., ...

check("10.1", [masked, random_ones, unchanged])

# %% [markdown]
# ### 10.2 ★ Pieces
#
# WordPiece reads from left to right, and always takes the longest piece that the vocabulary has;
# `##` marks the pieces that continue a word. The vocabulary is "un", "una", "##a", "##aff",
# "##ffa", "##able", "##ble", "##le", "##b". What are the pieces of "unaffable"?

# %%
pieces = ...  # a list of texts

check("10.2", pieces)

# %% [markdown]
# ### 10.3 ★★ The best answer
#
# For three tokens, the probabilities of being the start are 0.1, 0.6 and 0.3, and those of being
# the end are 0.5, 0.1 and 0.4. Which start and end make the best answer? Tokens count from 0, and
# the end may be the start, but not come before it.

# %%
start, end = ..., ...

check("10.3", [start, end])

# %% [markdown]
# ### 10.4 ★★★ Write it: pieces
#
# Write the splitting of exercise 10.2. A word that cannot be spelled to its end is `["[UNK]"]`.


# %%
def word_pieces(word, vocabulary):
    return ...  # a list of texts


check("10.4", word_pieces)

# %% [markdown]
# ### 10.5 ★★★ Write it: gaps
#
# Choose 15% of the words, each by chance, and hide them: 80% of these become 4, the id of `[MASK]`,
# 10% become random words, from 5 to 999, and 10% stay. Ids below 5 are special, and never chosen.
# `ids` has the shape (B, T), and `random` is `np.random.default_rng(...)`.


# %%
def hide_words(ids, random):
    return ..., ...  # the ids with gaps, and True where a word was chosen, both (B, T)


check("10.5", hide_words)
