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
# data, looks closely at the loss, the optimizer and the learning rate, and trains the transformer
# of your own cells from English to German. That takes about a minute on a CPU.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import time

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
from keras import ops
from own_cells import Transformer, copy_weights  # notebook 06

from keras_transformer import (
    END_ID,
    Adam,
    BlockSettings,
    FeedForward,
    MaskedCrossEntropy,
    MultiHeadAttention,
    PrepareDataset,
    TransformerModel,
    Translate,
    WarmupSchedule,
    plot_schedules,
    read_pairs,
    score,
)
from keras_transformer.build_it import or_solution

keras.utils.set_random_seed(0)

# %% [markdown]
# ## The data
#
# The project brings 58,474 pairs of its own. A third of them were written by hand; the others are
# made by a grammar from some two hundred patterns. Of those, 10,000 short ones are enough here, and
# with them a model of one layer on each side. They are split by *source sentence*: all translations
# of one sentence are in the same part, because a test sentence must not occur in training. The
# vocabularies are those of the training part.

# %%
pairs = read_pairs("../data/english-german.tsv")
by_hand = set(read_pairs("../data/everyday.tsv"))
pairs = [pair for pair in pairs if pair not in by_hand and len(pair[0].split()) <= 6]
dataset = PrepareDataset(n_sentences=10_000)(pairs)
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
# ## Write it: the loss
#
# Padding is not a word: it must not count, neither in the sum nor in the $N$ by which it is
# divided. `keras.losses.sparse_categorical_crossentropy(target, logits, from_logits=True)` returns
# $-\ln p$ of each word; it makes the probabilities of the logits itself. With the natural
# logarithm, the unit is called *nat*.


# %%
def masked_loss(target, logits):
    return ...  # a scalar


masked_loss = or_solution(masked_loss)

# %%
ids = np.array([[5, 7, 0, 0]])
logits = np.random.default_rng(0).normal(size=(1, 4, 10)).astype("float32")
probabilities = np.array(ops.softmax(logits))
by_hand = -(np.log(probabilities[0, 0, 5]) + np.log(probabilities[0, 1, 7])) / 2
loss = MaskedCrossEntropy()  # the library's
assert np.isclose(masked_loss(ids, logits), by_hand) and np.isclose(loss(ids, logits), by_hand)
assert np.isclose(masked_loss(ids[:, :2], logits[:, :2]), by_hand)  # without padding: the same
print(f"{by_hand:.4f} nats per word")

# %% [markdown]
# A model that has learned nothing considers all $V$ words equally likely and pays $\ln V$. That is
# the number to expect at the start.

# %%
sizes = (4, 128, 256, 1)  # heads, d, d_ff, layers
settings = BlockSettings(h=4, d_model=128, d_ff=256, n=1, rate=0.1, norm_first=True)
vocabularies = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
model = Transformer(*vocabularies, *sizes)
first = float(masked_loss(target, model((source, decoder_input))))
print(f"first loss {first:.2f}, ln {vocabularies[1]:,} = {np.log(vocabularies[1]):.2f}")

# %% [markdown]
# ## Write it: one step
#
# The forward pass, the loss, the gradients, the update. `GradientTape` records what is computed,
# and returns the derivatives of the loss. `tf.function` turns the Python code into a graph when it
# is first called; later calls run the graph, which is several times as fast. The signature
# `@tf.function(input_signature=[ids, ids, ids], autograph=False)` leaves the shape open, or every
# new shape would be traced again. `autograph` would also translate `if` and `while`; there are none
# here, and looking for them takes seconds.


# %%
ids = tf.TensorSpec((None, None), tf.int32)


def make_step(model, optimizer):
    return ...  # a function (source, decoder_input, target) -> loss


make_step = or_solution(make_step)

# %% [markdown]
# Keras's own training does the same to the weights. (With plain gradient descent, `SGD`, and
# without dropout, which draws other random numbers.)

# %%
yours, theirs = (Transformer(*vocabularies, *sizes, rate=0.0) for _ in range(2))
for each in (yours, theirs):
    each((source, decoder_input))
    each.set_weights(model.get_weights())
your_step = make_step(yours, keras.optimizers.SGD(0.1))
your_step(source, decoder_input, target)
theirs.compile(keras.optimizers.SGD(0.1), MaskedCrossEntropy(), run_eagerly=True)
theirs.train_on_batch((source, decoder_input), target)
for a, b in zip(yours.get_weights(), theirs.get_weights(), strict=True):
    assert np.allclose(a, b, atol=1e-5)

# %% [markdown]
# What does the graph bring? The same step without it, operation by operation:


# %%
def milliseconds(step, times=5):
    step(source, decoder_input, target)  # the first call may trace
    started = time.perf_counter()
    for _ in range(times):
        step(source, decoder_input, target)
    return (time.perf_counter() - started) / times * 1000


in_graph = milliseconds(your_step)
tf.config.run_functions_eagerly(True)
eager = milliseconds(your_step)
tf.config.run_functions_eagerly(False)
print(f"{eager:.0f} ms eager, {in_graph:.0f} ms in the graph: {eager / in_graph:.1f} times as fast")

# %% [markdown]
# That is for four short sentences. The larger the batch and the model, the more of the time is
# spent in the products, and the less in Python: a published course measured 155 s and 88 s for two
# epochs with a model of $d = 512$, 1.8 times.

# %% [markdown]
# ## Back-propagation by hand
#
# The tape knows the derivative of each operation and multiplies them, from the loss backward. Two
# of them are worth knowing by heart, because everything else in a transformer is a matrix product.
#
# **Softmax and cross entropy.** With $p = \operatorname{softmax}(z)$, the loss of one word $y$ is
# $-\ln p_y = \ln \sum_j e^{z_j} - z_y$. Its derivative with respect to $z_i$ is therefore
#
# $$\frac{\partial}{\partial z_i} (-\ln p_y) = p_i - [i = y] :$$
#
# what the model believes, minus what is right. Nothing could be simpler, and it never explodes.
#
# **Attention.** $A = \operatorname{softmax}(QK^\top / \sqrt d)$ and $Y = AV$. Let $\bar Y$ be the
# derivative of the loss with respect to $Y$, and likewise for the others. A product $Y = AV$ gives
# $\bar V = A^\top \bar Y$ and $\bar A = \bar Y V^\top$. The softmax $a$ of a row of scores $s$ has
# $\partial a_j / \partial s_i = a_j ([i = j] - a_i)$, so that, with $\odot$ entry by entry,
#
# $$\bar S = A \odot \bigl(\bar A - \operatorname{rowsum}(\bar A \odot A)\bigr), \qquad
# \bar Q = \bar S K / \sqrt d, \qquad \bar K = \bar S^\top Q / \sqrt d .$$


# %%
def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def cross_entropy(logits, words):
    """Returns the mean loss of the words, (T,), and its gradient, (T, V) as the logits."""
    p, rows = softmax(logits), np.arange(len(words))
    gradient = p.copy()
    gradient[rows, words] -= 1
    return -np.log(p[rows, words]).mean(), gradient / len(words)


def attention_gradients(q, k, v, y_bar):
    """Returns the attention and, from the gradient of it, those of q, k and v."""
    root = k.shape[-1] ** 0.5
    a = softmax(q @ k.T / root)
    a_bar = y_bar @ v.T
    s_bar = a * (a_bar - (a_bar * a).sum(axis=-1, keepdims=True))
    return a @ v, (s_bar @ k / root, s_bar.T @ q / root, a.T @ y_bar)


# %% [markdown]
# Two judges. *Finite differences* need no calculus: move one number a little in both directions,
# and see how much the loss moves. The tape is fast, and exact up to rounding.


# %%
def slopes(loss, x, step=1e-5):
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[place] += sign * step
            ends.append(loss(moved))
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


random = np.random.default_rng(0)
z, right = random.normal(size=(4, 6)), np.array([5, 0, 2, 2])
_, by_hand = cross_entropy(z, right)
assert np.allclose(by_hand, slopes(lambda z: cross_entropy(z, right)[0], z), atol=1e-8)
with tf.GradientTape() as tape:
    tape.watch(z_tensor := tf.constant(z))
    cost = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(right, z_tensor))
assert np.allclose(by_hand, tape.gradient(cost, z_tensor), atol=1e-12)

inputs = [random.normal(size=(n, 3)) for n in (4, 5, 5)]  # 4 queries, 5 keys and values
y_bar = random.normal(size=(4, 3))
_, by_hand = attention_gradients(*inputs, y_bar)
with tf.GradientTape() as tape:
    q, k, v = (tf.Variable(x) for x in inputs)
    y = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 3**0.5), v)
    cost = tf.reduce_sum(y * y_bar)
for i, (mine, theirs) in enumerate(zip(by_hand, tape.gradient(cost, [q, k, v]), strict=True)):

    def loss_of(x, i=i):
        return (attention_gradients(*inputs[:i], x, *inputs[i + 1 :], y_bar)[0] * y_bar).sum()

    assert np.allclose(mine, theirs, atol=1e-12)
    assert np.allclose(mine, slopes(loss_of, inputs[i]), atol=1e-8)
print("by hand = the tape = finite differences: softmax and cross entropy, attention")

# %% [markdown]
# What a gradient does on its way through many layers, measured: twelve layers of attention and
# feed-forward network, freshly made, and the size of the gradient at the input of each part,
# compared with that at the output.


# %%
def sizes_of_gradients(connect, depth=12):
    keras.utils.set_random_seed(0)
    x = tf.random.normal((8, 16, 64))
    upstream, states = tf.random.normal(x.shape), []
    with tf.GradientTape() as tape:
        tape.watch(x)
        for _ in range(depth):
            attention, network = MultiHeadAttention(4, 16, 16, 64), FeedForward(256, 64)
            for part in (lambda y, f=attention: f(y, y, y), network):
                states.append(x)
                x = connect(x, part, keras.layers.LayerNormalization())
        cost = tf.reduce_sum(x * upstream)
    gradients = tape.gradient(cost, [*states, x])
    norms = np.array([float(tf.norm(g)) for g in gradients])
    return norms / norms[-1]


connections = {
    "f(x)": lambda x, f, norm: f(x),
    "norm(f(x))": lambda x, f, norm: norm(f(x)),
    "norm(x + f(x)): post-norm": lambda x, f, norm: norm(x + f(x)),
    "x + f(norm(x)): pre-norm": lambda x, f, norm: x + f(norm(x)),
}
plt.figure(figsize=(7, 3.4))
gradients = {name: sizes_of_gradients(connect) for name, connect in connections.items()}
for (name, norms), style in zip(gradients.items(), (":", "-.", "--", "-"), strict=True):
    plt.semilogy(norms, style, label=name)
plt.xlabel("part: 0 is the first of the stack, 24 its output")
plt.ylabel("size of the gradient, 1 at the output")
plt.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## The optimizer
#
# Gradient descent has one learning rate for weights whose gradients are of very different sizes:
# what suits the large ones hardly moves the small ones. *Adam* keeps two moving averages for every
# weight, of its gradient $g$ and of $g^2$, and divides one by the root of the other. With $m$ and
# $v$ zero at the start, and $t = 1, 2, \dots$ the number of the update,
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1) g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2) g^2,$$
# $$w \leftarrow w - \eta\, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon} .$$
#
# Averages that begin at 0 are too small at first, the first one by the factor $1 - \beta$; the
# divisions by $1 - \beta^t$ correct that. The tiny $\epsilon$ is for weights whose gradients are
# all 0.


# %%
def adam(w, g, m, v, t, rate, beta_1=0.9, beta_2=0.98, epsilon=1e-9):
    m = beta_1 * m + (1 - beta_1) * g
    v = beta_2 * v + (1 - beta_2) * g**2
    mean, square = m / (1 - beta_1**t), v / (1 - beta_2**t)
    return w - rate * mean / (square**0.5 + epsilon), m, v


weight, optimizer = keras.Variable(np.zeros(3)), Adam(0.1, beta_2=0.98, epsilon=1e-9)
w, m, v = np.zeros(3), 0, 0
for t, size in enumerate((1, 2, -1), start=1):
    g = size * np.array([0.001, -1, 1000])
    w, m, v = adam(w, g, m, v, t, rate=0.1)
    optimizer.apply([ops.convert_to_tensor(g, "float32")], [weight])
    assert np.allclose(w, weight, atol=1e-5)
    print(f"after update {t}:", np.round(w, 3))

# %% [markdown]
# The first update is $\pm\eta$, however large the gradient is. The gradients of these three weights
# differ a millionfold, and yet they move alike.
#
# To Adam, a matrix is a bag of numbers. But a matrix maps vectors: it turns them, stretches them
# along perpendicular directions, and turns them again, $G = U S V^\top$. The stretches, on the
# diagonal of $S$, are its *singular values*. In a gradient, a few are large and most are small. The
# authors of *Muon* suspect that the small ones matter, too, and are learned late. So Muon
# (momentum, orthogonalized) leaves the directions as they are and makes all stretches about 1: the
# update is nearly $U V^\top$.
#
# How, without computing $U$ and $V$? Note that $X X^\top X = U S^3 V^\top$. So the iteration of
# Newton and Schulz
#
# $$X \leftarrow a X + b\, (X X^\top) X + c\, (X X^\top)^2 X$$
#
# leaves $U$ and $V$ alone and sends each singular value $s$ to $a s + b s^3 + c s^5$. It takes
# products of matrices only. The coefficients 3.4445, -4.7750 and 2.0315 are chosen to lift small
# values fast. Large ones do not become 1, only something between 0.7 and 1.2, which is enough.


# %%
def orthogonalize(x, iterations=5):
    if x.shape[0] > x.shape[1]:
        return ops.transpose(orthogonalize(ops.transpose(x), iterations))
    x = x / ops.norm(x)  # now no singular value is above 1
    for _ in range(iterations):
        square = x @ ops.transpose(x)
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x


# %% [markdown]
# On the left the singular values of a real gradient: of the first matrix of the encoder's
# feed-forward network, for 48 sentences. On the right what the iterations do to any value. (The
# last value on the left is 0 and stays 0: the inputs of this matrix come from a norm, so they sum
# to 0, and one direction has no gradient.)

# %%
x, y = dataset.batches(dataset.train, batch_size=48, seed=1)[0]
kernel = next(w for w in model.trainable_variables if tuple(w.shape) == (128, 256))
with tf.GradientTape() as tape:
    cost = masked_loss(y, model(x))
gradient = tape.gradient(cost, kernel)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
scale = np.geomspace(1e-3, 1, 400)
for iterations, style in ((0, ":"), (1, "-."), (3, "--"), (5, "-")):
    name = f"iterations: {iterations}" if iterations else "the gradient"
    matrix = orthogonalize(gradient, iterations)
    left.semilogy(np.linalg.svd(matrix, compute_uv=False), style, label=name)
    lifted = scale
    for _ in range(iterations):
        lifted = 3.4445 * lifted - 4.7750 * lifted**3 + 2.0315 * lifted**5
    right.loglog(scale, lifted, style, label=name)
left.set(title="a gradient, divided by its norm", xlabel="number", ylabel="singular value")
right.set(title="any singular value", xlabel="before", ylabel="after")
for axes in (left, right):
    axes.set_ylim(1e-3, 2)
left.legend(fontsize=8)
plt.show()

# %% [markdown]
# The whole step adds momentum, a sum of the earlier gradients that fade with $\mu = 0.95$, looked
# at one step ahead (Nesterov). The factor at the end makes the entries of an update about as large
# as Adam's, so that one learning rate serves both.


# %%
def muon(w, g, m, rate, momentum=0.95, iterations=5):
    m = momentum * m + g
    update = orthogonalize(g + momentum * m, iterations)
    return w - rate * 0.2 * max(w.shape) ** 0.5 * update, m


random = np.random.default_rng(0)
for shape, iterations in (((4, 6), 5), ((6, 4), 3)):
    w, m = random.normal(size=shape).astype("float32"), 0
    weight = keras.Variable(w)
    optimizer = keras.optimizers.Muon(0.1, weight_decay=None, ns_steps=iterations)
    for g in random.normal(size=(3, *shape)).astype("float32"):
        w, m = muon(w, g, m, rate=0.1, iterations=iterations)
        optimizer.apply([g], [weight])
        assert np.allclose(w, weight, atol=1e-4)

# %% [markdown]
# Muon is for the matrices in the layers. Biases and norms are no matrices, and an embedding is a
# table of which a batch touches few rows: they keep Adam. That is the default of `train.py` for a
# transformer: `keras.optimizers.Muon` with three iterations, which score as well as five, and with
# twice the learning rate for the embeddings.
#
# What does it bring? Each update teaches more and costs more. The products of Muon take the same
# time for any batch, so they pay with large ones. In `docs/benchmarks.md` (41,306 pairs, one seed,
# sinusoids and rotary positions), four epochs of batches of 96 with Muon took 399 CPU seconds and
# reached BLEU 94.6; five epochs of batches of 48 with Adam took 433 and reached 93.8. Of beginners'
# sentences, 72% came out right instead of 65%. With sinusoids alone the gain was small: 91.9
# instead of 91.6, in 338 instead of 375 seconds.
#
# In the training below, with batches of 48, Muon gains nothing per second. Two seeds were measured
# on one core: after four epochs the validation loss was 0.50 and 0.51 with Muon, 0.59 and 0.54 with
# Adam; but three epochs with Muon, which take as long as four with Adam, ended at 0.61 and 0.63.

# %% [markdown]
# ## Write it: the learning rate
#
# With Adam and Muon, the learning rate alone decides how large a step is. It grows linearly for the
# first $w$ updates, the warm-up, while the averages are young and the layers not yet adapted to
# each other, and then falls with the root of the number $t$ of updates:
#
# $$\eta(t) = d^{-1/2} \cdot \min\bigl(t^{-1/2},\ t \cdot w^{-3/2}\bigr) .$$
#
# That is the paper's schedule. An optimizer counts the updates from 0 and passes an integer:
# `ops.cast(step, "float32")`, then $t$ is one more.


# %%
def learning_rate(step, d, warm_up):
    return ...  # a scalar


learning_rate = or_solution(learning_rate)

# %% [markdown]
# It does not need to know how long the training is. Who knows it gets further in few epochs with a
# rate that falls from the same peak in a straight line to 0. Keras calls a schedule with the step.


# %%
class RiseAndFall(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d, warm_up, updates):
        self.d, self.warm_up, self.end = d, warm_up, updates + 1

    def __call__(self, step):
        t = ops.cast(step, "float32") + 1  # optimizers count from 0, the formula from 1
        rise = t / self.warm_up
        fall = (self.end - t) / (self.end - self.warm_up)
        peak = (self.d * self.warm_up) ** -0.5
        return peak * ops.maximum(ops.minimum(rise, fall), 0)


steps = np.arange(1000)
expected = WarmupSchedule(512, 100, total_steps=1000)(steps)
assert np.allclose(RiseAndFall(512, 100, 1000)(steps), expected, rtol=1e-4)

# %% [markdown]
# **Try it**: change $d$ and the warm-ups, and predict how the peak will move.

# %%
d_model = 512
warm_ups = [1000, 4000, 8000]

schedules = {f"warm-up {warm_up:,}": WarmupSchedule(d_model, warm_up) for warm_up in warm_ups}
schedules["4,000, linear decay"] = RiseAndFall(d_model, 4000, 20000)
plot_schedules(schedules, steps=20000).figure

# %% [markdown]
# ## Your transformer learns
#
# An epoch is one pass through the training part. The validation part is only looked at. The
# library's `Adam` is Keras's, computed in one pass through the weights.

# %%
batches = dataset.batches(dataset.train, batch_size=48, seed=0)
epochs = 4
schedule = RiseAndFall(128, 200, epochs * len(batches))
train_step = make_step(model, Adam(schedule, beta_2=0.98))


# %%
@tf.function(input_signature=[ids, ids], autograph=False)
def predict(source, decoder_input):
    return model((source, decoder_input))


held_out = dataset.batches(dataset.validation, batch_size=48)
losses, validation, weights_after = [], [], []
print("epoch   loss  validation")
for epoch in range(epochs):
    for i in range(len(batches)):
        (source, decoder_input), target = batches[i]
        losses.append(float(train_step(source, decoder_input, target)))
    batches.on_epoch_end()  # shuffles
    checks = [held_out[i] for i in range(len(held_out))]
    validation.append(np.mean([float(masked_loss(y, predict(*x))) for x, y in checks]))
    print(f"{epoch + 1:5}  {np.mean(losses[-len(batches) :]):5.2f}  {validation[-1]:10.2f}")
    weights_after.append(model.get_weights())

# %%
plt.figure(figsize=(7, 3))
plt.plot(np.arange(len(losses)) + 1, losses, linewidth=0.5, label="each batch of the training part")
ends = len(batches) * np.arange(1, epochs + 1)
plt.plot(ends, validation, "o--", color="black", label="validation part, after each epoch")
plt.axhline(np.log(vocabularies[1]), linestyle=":", color="gray", label="ln V: knowing nothing")
plt.xlabel("updates")
plt.ylabel("loss (nats per word)")
plt.legend()
plt.show()

# %% [markdown]
# In the table, the validation loss is *below* the training loss for two epochs: the latter is a
# mean over the whole epoch, most of it with weights that were still worse, and with dropout. Then
# it is above: the model begins to learn its training sentences by heart. In the plot, which has
# each batch at its own time, it starts level with the curve and ends clearly above it.
#
# ## Write it: the translation
#
# Greedy: begin with the start token (2), ask for the next word of each sentence, append the most
# probable one, and ask again, until all have written the end token (3). Sentences that wait for the
# others get padding. (Notebook 08 makes this fast and looks further ahead.)


# %%
def greedy(model, source, length):
    return ...  # int32, (batch, at most length), without the start token


greedy = or_solution(greedy)


# %%
def translate(sentence):
    ids = np.array([[*dataset.source_tokenizer.encode(sentence), END_ID]], "int32")
    return dataset.target_tokenizer.decode(greedy(lambda x: predict(*x), ids, 40)[0])


# %% [markdown]
# Sentences of the test part, none of which it has seen:

# %%
sentences, references = zip(*dataset.test, strict=True)
for sentence, expected in zip(sentences[:8], references[:8], strict=True):
    print(f"{sentence}\n    → {translate(sentence)}\n    = {' / '.join(expected)}")

# %% [markdown]
# The first two after each epoch. The grammar comes early; the right words come last, if they come:

# %%
for sentence in sentences[:2]:
    print(sentence)
    for epoch, weights in enumerate(weights_after):
        model.set_weights(weights)
        print(f"    {epoch + 1}: {translate(sentence)}")

# %% [markdown]
# The library's `Translate` finds the same with your weights, and is fast enough for a score on the
# whole test part. BLEU goes from 0 to 100 and counts the runs of words that are in the references,
# too (notebook 08):

# %%
theirs = TransformerModel(*vocabularies, settings=settings)
theirs((source, decoder_input))
copy_weights(model, theirs)
fast = Translate(theirs, dataset.source_tokenizer, dataset.target_tokenizer)
assert fast(sentences[:8]) == [translate(sentence) for sentence in sentences[:8]]

scores = score(fast(sentences), references)
print(f"BLEU {scores.bleu:.0f} on {len(sentences):,} sentences")

# %% [markdown]
# The test sentences are made from the same patterns as the training sentences. The score says that
# the patterns were learned, not how it would do on a newspaper.
#
# Other things to try: `n_sentences=2000`, and watch the curves part; `rate=0`; Muon in the place of
# Adam, with the same schedule; `norm_first=False`, once you have written it.
#
# The library's training does the same and more: it saves checkpoints and resumes, stops early,
# weighs all words alike whatever batch they are in, and leaves a folder with everything that a
# translator needs. `make train`, or `python scripts/train.py --help`; from Python, `Trainer` and
# `train_run`.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** Where is the peak of the learning rate, and how high is it?
#
# Where the two terms of the minimum are equal: $t = w$, and there $\eta = (d w)^{-1/2}$.

# %%
rates = np.array(WarmupSchedule(512, 4000)(np.arange(20000)))
assert rates.argmax() + 1 == 4000
assert np.isclose(rates.max(), (512 * 4000) ** -0.5)

# %% [markdown]
# > **2.** One batch has 2 words and the mean loss 1, another has 8 words and the mean loss 2. What
# > is the loss of both together, and why is it not 1.5?
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
# > **3.** Label smoothing asks for the right word with probability $1 - \varepsilon$ only and
# > spreads $\varepsilon$ over all $V$ words alike. What is then the smallest loss that any model
# > can reach? Take $\varepsilon = 0.1$ and $V = 10$.
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
# * D. Kingma and J. Ba, *Adam: A Method for Stochastic Optimization*, 2015.
# * K. Jordan et al., *Muon: An optimizer for hidden layers in neural networks*, 2024,
#   <https://kellerjordan.github.io/posts/muon/>.
# * J. Liu et al., *Muon is Scalable for LLM Training*, 2025: the factor of its update.
# * I. Loshchilov and F. Hutter, *Decoupled Weight Decay Regularization*, 2019: exercise 7.5.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 7.1 ★ A loss by hand
#
# A target of two words and a padding. The model gave the right words the probabilities 1/2 and 1/4,
# and the padding 1/8. What is the loss, in nats per word?

# %%
loss = ...

check("7.1", loss)

# %% [markdown]
# ### 7.2 ★ Read and predict
#
# A sentence has the ids 7, 8, 9; the start token is 2 and the end token 3. What does the decoder
# read in training, and what must it predict at the same positions?

# %%
reads, predicts = ..., ...  # two lists of four numbers

check("7.2", [reads, predicts])

# %% [markdown]
# ### 7.3 ★★ Smoothed labels by hand
#
# The vocabulary has five words, $\varepsilon = 0.1$ is spread over all of them, and the model gives
# the right word 0.6 and each other one 0.1. What is the loss of this word?

# %%
loss = ...

check("7.3", loss)

# %% [markdown]
# ### 7.4 ★★ The peak that you want
#
# With $d = 256$, the learning rate of the paper's schedule is to rise to 0.001. How many updates of
# warm-up does that take?

# %%
warm_up = ...

check("7.4", warm_up)

# %% [markdown]
# ### 7.5 ★★★ The optimizer with weight decay
#
# Large weights that are not needed do harm: they fit the noise. AdamW (notebooks 09 and 10) also
# makes each weight smaller, by the share $\eta\lambda$ of it. The averages $m$ and $v$ know nothing
# of that, or the division by $\sqrt v$ would undo most of it for weights with large gradients:
#
# $$w \leftarrow w - \eta \left( \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}
# + \lambda w \right) .$$


# %%
def adamw_step(w, g, m, v, t, rate, beta_1, beta_2, epsilon, decay):
    return ..., ..., ...  # the new w, m and v


check("7.5", adamw_step)
