# %% [markdown]
# # How does a network remember?
#
# Before attention there was recurrence. A recurrent network reads a sequence one step at a time and
# carries a **state** along: a handful of numbers that must hold whatever of the past it will need.
# The next state is made of the input and the state before,
#
# $$h_t = f(x_t W_x + h_{t-1} W_h + b), \qquad h_0 = 0 ,$$
#
# with the same $W_x$, $W_h$ and $b$ at every step; $f$ is usually the tanh. We compute one by hand,
# see its memory fade, let it forecast a series, and then give it a little attention.

# %%
import inspect

import keras
import matplotlib.pyplot as plt
import numpy as np
from keras import ops

from keras_transformer import Forecaster, plot_forecast, record_attention
from keras_transformer.data.series import fibonacci, make_windows, scale
from keras_transformer.step_by_step import simple_rnn

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Unrolled
#
# Drawn in time, it is a chain of copies of one cell. The state is the only way from a step to the
# next ones.

# %%
figure, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
box = {"boxstyle": "round,pad=0.6", "facecolor": "#CFE5F3", "edgecolor": "black"}
arrow = {"arrowstyle": "->"}
for t in range(1, 5):
    axes.text(t, 1, "f", ha="center", va="center", bbox=box)
    axes.text(t, 0, f"$x_{t}$", ha="center", va="center")
    axes.annotate("$W_x$", (t, 0.75), (t, 0.2), arrowprops=arrow, ha="center", va="center")
    axes.annotate("", (t, 1.8), (t, 1.25), arrowprops=arrow)
    axes.text(t, 1.95, f"$h_{t}$", ha="center", va="center")
    axes.annotate("", (t + 0.82, 1), (t + 0.18, 1), arrowprops=arrow)
    axes.text(t + 0.5, 1.2, f"$h_{t} W_h$", ha="center")
axes.text(5, 1, "…", ha="center", va="center")
axes.set(xlim=(0.5, 5.3), ylim=(-0.2, 2.2))
axes.axis("off")
plt.show()

# %% [markdown]
# ## By hand
#
# Two hidden units, no $f$, and numbers small enough to check with a pencil:
#
# $$x = 1, 2, 3, \quad W_x = \begin{pmatrix}1 & 2\end{pmatrix}, \quad
# W_h = \begin{pmatrix}1 & 0\\ 1 & 2\end{pmatrix}, \quad b = \begin{pmatrix}0 & 1\end{pmatrix}.$$
#
# * $h_1 = (1, 2) + (0, 0) + (0, 1) = (1, 3)$
# * $h_2 = (2, 4) + (1 + 3,\ 2 \cdot 3) + (0, 1) = (6, 11)$
# * $h_3 = (3, 6) + (6 + 11,\ 2 \cdot 11) + (0, 1) = (20, 29)$

# %%
x = np.array([[1.0], [2.0], [3.0]], "float32")
kernel = np.array([[1, 2]], "float32")
recurrent_kernel = np.array([[1, 0], [1, 2]], "float32")
bias = np.array([0, 1], "float32")

states = np.array(simple_rnn(x, kernel, recurrent_kernel, bias))
print(states)
assert states.tolist() == [[1, 3], [6, 11], [20, 29]]

# %% [markdown]
# The function is just the equation in a loop, and the Keras layer computes the same.
#
# A **layer** of Keras holds weights and is called like a function. `build` makes the weights for
# inputs of a shape, where `None` stands for any number; `set_weights` replaces them. Matrices are
# called kernels. Layers take a batch of sequences, and `x[None]` is a batch of one. Without
# `return_sequences`, only the last state is returned.

# %%
print(inspect.getsource(simple_rnn).split('"""')[2])

layer = keras.layers.SimpleRNN(2, activation=None, return_sequences=True)
layer.build((None, 3, 1))
layer.set_weights([kernel, recurrent_kernel, bias])
assert np.allclose(layer(x[None])[0], states)

# %% [markdown]
# ## How long does it remember?
#
# One linear unit, one impulse: the input is 1, then 0 forever. The state is multiplied by $W_h$ at
# every step, so after $t$ more it is $W_h^t$. Below 1 it fades, above 1 it grows without bound, and
# the gradient, which flows back through the same product, does the same. This is why plain
# recurrent networks forget.
#
# **Try it**: change the factors.

# %%
factors = [0.5, 0.9, 1.0, 1.05]

impulse = np.zeros((40, 1), "float32")
impulse[0] = 1
plt.figure(figsize=(6, 3.5))
for factor, style in zip(factors, ("-", "--", ":", "-."), strict=True):
    response = simple_rnn(impulse, np.eye(1), factor * np.eye(1), np.zeros(1))
    plt.plot(range(1, 41), np.array(response)[:, 0], style, label=f"$W_h$ = {factor}")
plt.yscale("log")
plt.ylim(1e-4, 20)
plt.xlabel("step")
plt.ylabel("what is left of the impulse")
plt.legend()
plt.show()

# %% [markdown]
# ## Gates
#
# The **LSTM** keeps a second state $c$, which no matrix multiplies. What is kept, added and shown
# is decided at each step by three **gates** between 0 and 1. With $\odot$ for the product entry by
# entry and the sigmoid $\sigma(x) = 1 / (1 + e^{-x})$,
#
# $$c_t = \sigma(f) \odot c_{t-1} + \sigma(i) \odot \tanh(g), \qquad
# h_t = \sigma(o) \odot \tanh(c_t), \qquad [i; f; g; o] = x_t W_x + h_{t-1} W_h + b ,$$
#
# where the four vectors $i$ (input), $f$ (forget), $g$ and $o$ (output) are the quarters of one
# product. It is a few lines:


# %%
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, h, c, kernel, recurrent_kernel, bias):
    i, f, g, o = np.split(x @ kernel + h @ recurrent_kernel + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


# %% [markdown]
# Keras's layer computes the same:

# %%
lstm = keras.layers.LSTM(2)
last = np.array(lstm(x[None]))[0]  # the state after the last step

h, c = np.zeros(2), np.zeros(2)
for x_t in x:
    h, c = lstm_step(x_t, h, c, *lstm.get_weights())
assert np.allclose(h, last, atol=1e-5)

# %% [markdown]
# The **GRU** makes do with one state and two gates: $z$ weighs the old state against a new one, and
# $r$ says how much of the old one goes into the new. You write it in exercise 2.5.
#
# The forget gate $\sigma(f)$ takes the place of the factor $W_h$ above, but it is learned, differs
# from unit to unit, and changes with the input: a unit can keep a number for a hundred steps and
# then drop it. Keras starts the bias of $f$ at 1, so that a young network remembers a little.

# %%
for bias in (0, 1, 5):
    steps = np.log(0.5) / np.log(sigmoid(bias))
    print(f"bias {bias}: the gate is {sigmoid(bias):.3f}, half is left after {steps:.0f} steps")

# %% [markdown]
# ## Forecasting a series
#
# The number of sunspots rises and falls about every eleven years. The records are well worth a
# look, but they are not part of this project; here is a synthetic series with a similar rhythm,
# strong and weak cycles, and noise.

# %%
random = np.random.default_rng(0)
month = np.arange(2820)
strength = 80 * (1 + 0.4 * np.sin(2 * np.pi * month / 1100))
wave = strength * (0.5 - 0.5 * np.cos(2 * np.pi * month / 131)) ** 1.3
series = scale(np.maximum(wave + random.normal(0, 8, len(month)), 0))

plt.figure(figsize=(9, 2.5))
plt.plot(month / 12, series, linewidth=0.7)
plt.xlabel("year")
plt.ylabel("scaled to 0 … 1")
plt.show()

# %% [markdown]
# The first four fifths are for training, the rest is the test: the network must not see the future.
# Both are cut into windows of twelve months without overlap, each with the month that follows it. A
# `Forecaster` is a recurrent layer, here with eight units, and a **dense** layer, a matrix and a
# bias, that reads its last state.
#
# `compile` says how a Keras model is to learn: which loss (`"mse"`, the mean squared error) and
# which optimizer moves the weights (Adam, with steps that become smaller). `fit` goes through the
# windows in batches, `epochs` times. Notebook 07 writes such a training itself. The RMSE is the
# root of the mean squared error.

# %%
steps = 12
cut = int(0.8 * len(series))
train, test = (make_windows(part, steps, stride=steps) for part in (series[:cut], series[cut:]))
print("windows", train[0].shape, "next months", train[1].shape)


def fit(model, windows, targets, batch_size, epochs):
    updates = epochs * len(windows) // batch_size
    rate = keras.optimizers.schedules.CosineDecay(0.01, updates)
    model.compile(keras.optimizers.Adam(rate), "mse", steps_per_execution=16)
    model.fit(windows, targets, batch_size=batch_size, epochs=epochs, verbose=0)


def rmse(prediction, targets):
    return float(np.sqrt(np.mean((prediction - targets) ** 2)))


keras.utils.set_random_seed(0)
model = Forecaster(units=8, steps=steps)
fit(model, *train, batch_size=1, epochs=20)

for name, (windows, targets) in {"training": train, "test": test}.items():
    predicted = np.array(model(windows))
    print(
        f"{name}: RMSE {rmse(predicted, targets):.3f}, "
        f"if the next month were like the last {rmse(windows[:, -1], targets):.3f}"
    )

# %%
plot_forecast(test[1], {"like the last month": test[0][:, -1], "predicted": predicted}).figure

# %% [markdown]
# Always compare with the simplest guess: a network that is no better than "like last month" has
# learned nothing. It cannot predict the noise, and nobody can.
#
# With the real records in a file, `python scripts/forecast.py --csv sunspots.csv --plot test.png`
# does all this. There, "like the last month" has an error of 0.063 in training and 0.080 in the
# test, and the network one of 0.057 and 0.077: it has learned something, but not much.

# %% [markdown]
# ## A little attention
#
# The dense layer sees the *last* state only. Let it see all of them, weighted. The simplest
# attention has no query at all; it scores each state by itself,
#
# $$e_t = \tanh(w^\top h_t + b_t), \qquad \alpha = \operatorname{softmax}(e), \qquad
# c = \sum_t \alpha_t h_t ,$$
#
# with a weight for each of the features and a bias for each of the steps. It adds $2 + 20 = 22$
# weights to a network of 2 units and 20 steps.

# %%
numbers = fibonacci(1200)
windows, targets = make_windows(scale(numbers), 20)
order = np.random.RandomState(13).permutation(len(windows))
train_rows, test_rows = np.split(order, [int(0.7 * len(order))])

keras.utils.set_random_seed(0)
models = {
    "last state": Forecaster(units=2, steps=20),
    "attention": Forecaster(units=2, steps=20, attention=True),
    "LSTM": keras.Sequential([keras.layers.LSTM(2), keras.layers.Dense(1)]),
}
for name, model in models.items():
    fit(model, windows[train_rows], targets[train_rows], batch_size=32, epochs=30)
    error = rmse(np.array(model(windows[test_rows])), targets[test_rows]) ** 2
    print(f"{name}: {model.count_params()} parameters, MSE on the test {error:.1e}")

# %% [markdown]
# Do not make too much of these errors. Fibonacci numbers grow so fast that, scaled to 0 … 1,
# nearly all of them are as good as 0:

# %%
print(f"{np.sum(targets > 0.01)} of {len(targets)} numbers are above 0.01")

predicted = np.array(models["attention"](windows[-1:]))
print(f"predicted {predicted.item():.3f}, the last number is {targets[-1].item():.0f}")

# %% [markdown]
# To have the numbers themselves back, undo the scaling: times the range, plus the smallest number.

# %%
back = predicted.item() * (numbers.max() - numbers.min()) + numbers.min()
print(f"predicted {back:.3g}, the last number is {numbers[-1]:.3g}")
assert np.allclose(targets[-1] * (numbers.max() - numbers.min()) + numbers.min(), numbers[-1])

# %% [markdown]
# The error is decided by the few large ones that happen to be in the test. Another seed can turn
# the order of the three around. What is worth seeing is *where* the second network looks when it
# reads the last window, whose numbers end in 0.38, 0.62 (and the next is 1): at all steps a little,
# and most at the last few.

# %%
with record_attention() as recorded:
    models["attention"](windows[-1:])
weights = np.array(recorded[models["attention"].pooling])[0, 0]

plt.figure(figsize=(6, 3))
plt.bar(range(1, 21), weights)
plt.axhline(1 / 20, color="black", linestyle=":", label="all weights equal")
plt.xticks(range(1, 21), fontsize=8)
plt.xlabel("step of the window; 20 is the last one read")
plt.ylabel("attention")
plt.legend()
plt.show()
assert np.isclose(weights.sum(), 1)

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** How many parameters does a `Forecaster` with $u$ units have if it reads one number at a
# > time? And with attention to $T$ steps?
#
# $W_x$ has $u$ entries, $W_h$ has $u^2$, $b$ has $u$; the dense layer has $u + 1$. Attention adds
# $u + T$.


# %%
def parameters(u, steps, attention):
    return u + u * u + u + (u + 1) + (u + steps if attention else 0)


assert parameters(2, 20, False) == 11 and parameters(2, 20, True) == 33
for u, attention in ((1, True), (3, False), (5, True)):
    model = Forecaster(u, 7, attention)
    model.build((None, 7, 1))
    assert model.count_params() == parameters(u, 7, attention)

# %% [markdown]
# > **2.** For which $W_h$ has the impulse fallen to half after exactly ten more steps?
#
# $W_h^{10} = \frac12$, so it is the tenth root of a half, about 0.933.

# %%
factor = 0.5**0.1
response = np.array(simple_rnn(impulse, np.eye(1), factor * np.eye(1), np.zeros(1)))[:, 0]
assert np.isclose(response[10], 0.5 * response[0])

# %% [markdown]
# > **3.** The scores above go through a tanh. By what factor can the largest weight exceed the
# > smallest at most?
#
# The scores lie between -1 and 1, and the ratio of two weights is $e$ to the difference of their
# scores: less than $e^2 \approx 7.4$. Such attention can prefer, but never ignore.

# %%
assert weights.max() / weights.min() < np.exp(2)
extreme = np.array(ops.softmax(np.array([1.0, -1.0])))
assert np.isclose(extreme[0] / extreme[1], np.exp(2))

# %% [markdown]
# ## Where it comes from
#
# * J. Elman, *Finding Structure in Time*, 1990: the simple recurrent network.
# * Y. Bengio, P. Simard and P. Frasconi, *Learning Long-Term Dependencies with Gradient Descent is
#   Difficult*, 1994: why it forgets.
# * C. Raffel and D. Ellis, *Feed-Forward Networks with Attention Can Solve Some Long-Term Memory
#   Problems*, 2015: attention without a query.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 2.1 ★ One step further
#
# In the calculation by hand above, the state after three inputs is $h_3 = (20, 29)$. The fourth
# input is 0. What is $h_4$?

# %%
state = ...  # a list of two numbers

check("2.1", state)

# %% [markdown]
# ### 2.2 ★ What is left of a gradient
#
# A linear network has one unit and $W_h = 0.9$. By what factor does a small change of $h_1$ reach
# $h_{21}$? (The gradient comes back by the same factor.)

# %%
factor = ...

check("2.2", factor)

# %% [markdown]
# ### 2.3 ★★ Counting windows
#
# A series of 100 numbers is cut into windows of 12, each with the number that follows it as its
# target. How many are there if a window begins at every number (stride 1), and how many if they do
# not overlap (stride 12)?

# %%
counts = ...  # a list of two numbers

check("2.3", counts)

# %% [markdown]
# ### 2.4 ★★ A memory of two numbers
#
# Choose the weights of a linear network with two units, so that its state always holds the last two
# inputs, the newer one first: $h_t = (x_t, x_{t-1})$. The equation is that at the top, with
# $f(x) = x$: $W_x$ has the shape (1, 2), $W_h$ (2, 2), and $b$ has two numbers.

# %%
W_x = ...
W_h = ...
b = ...

check("2.4", (W_x, W_h, b))

# %% [markdown]
# ### 2.5 ★★★ A unit with gates
#
# The gated recurrent unit (GRU) decides itself what it keeps. With the sigmoid
# $\sigma(x) = 1 / (1 + e^{-x})$ and $\odot$ for the product entry by entry,
#
# $$z = \sigma(x W_z + h U_z + b_z), \qquad r = \sigma(x W_r + h U_r + b_r),$$
# $$\tilde h = \tanh(x W_h + (r \odot h) U_h + b_h), \qquad
# h' = z \odot h + (1 - z) \odot \tilde h .$$
#
# Where $z$ is 1, the state passes unchanged, however many steps it takes. Write one step for a
# batch: `x` has the shape (B, n), `h` (B, u), and the matrices are `W["z"]`, `W["r"]`, `W["h"]` and
# so on.


# %%
def gru_step(x, h, W, U, b):
    return ...  # the new state, (B, u)


check("2.5", gru_step)
