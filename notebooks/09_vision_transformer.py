# %% [markdown]
# # Can a transformer see?
#
# A transformer reads a sequence of vectors and does not ask what they were. So cut an image of
# $H \times W$ pixels into patches of $P \times P$, write the pixels of each patch in a row, project
# it to a vector, and you have a "sentence" of
#
# $$N = \frac{HW}{P^2}$$
#
# "words". One more vector, the **class token**, is put in front: it has no pixels, looks at all
# patches, and at the end holds what the image shows. With $x_p^i$ the pixels of patch $i$, $E$ the
# projection and $E_{pos}$ the learned positions,
#
# $$z_0 = [x_{class};\ x_p^1 E;\ \dots;\ x_p^N E] + E_{pos} .$$
#
# The rest is the encoder of notebook 06. We train a small one on handwritten digits, for a minute.

# %%
from keras_transformer.training.process import tune_process

tune_process()  # training on a CPU is then faster; Keras must not be imported yet

# %%
import tempfile

import keras
import matplotlib.pyplot as plt
import numpy as np
from IPython.display import Image, display
from keras import ops
from sklearn.datasets import load_digits

from keras_transformer import AugmentedImages, BlockSettings, VisionTransformer, record_attention
from keras_transformer.plotting import (
    plot_attention_distance,
    plot_patch_filters,
    plot_position_similarity,
)

keras.utils.set_random_seed(0)

# %% [markdown]
# ## Images as sequences
#
# scikit-learn has 1,797 digits of $8 \times 8$ pixels. With patches of $2 \times 2$ an image has 16
# words of 4 numbers.

# %%
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32").reshape(-1, 8, 8, 1)
half = len(images) // 2  # the first half to train, the second to test
patch = 2

figure, grid = plt.subplots(1, 4, figsize=(8, 2.3), layout="constrained")
for i, axes in enumerate(grid):
    axes.imshow(images[i, ..., 0], "Greys", vmin=0, vmax=1)
    for line in np.arange(patch, 8, patch) - 0.5:
        axes.axhline(line, color="C1", linewidth=1)
        axes.axvline(line, color="C1", linewidth=1)
    axes.set(title=f"a {labels[i]}", xticks=[], yticks=[])
plt.show()

# %% [markdown]
# Cutting and projecting is a convolution whose steps are as long as its filters. Both ways:

# %%
settings = BlockSettings(h=4, d_model=48, d_ff=96, n=2, rate=0.0)
model = VisionTransformer(8, patch, num_classes=10, settings=settings, d_head=48)
model.build((None, 8, 8, 1))

blocks = images[:5].reshape(5, 4, patch, 4, patch).transpose(0, 1, 3, 2, 4)  # a grid of patches
rows = blocks.reshape(5, 16, patch * patch)
kernel, bias = model.embedding.projection.get_weights()
positions = ops.convert_to_numpy(model.embedding.positions)[1:]  # without the class token's
by_hand = rows @ kernel.reshape(patch * patch, 48) + bias + positions

vectors = np.array(model.embedding(images[:5]))
print("tokens:", vectors.shape[1], "=", "1 +", 8 * 8 // patch**2)
assert np.allclose(vectors[:, 1:], by_hand, atol=1e-5)
print(f"{model.count_params():,} parameters")

# %% [markdown]
# ## Training
#
# A transformer has no notion of neighborhood: that a pixel belongs to the one beside it, it has to
# learn from examples. With 898 of them that is hard, so each is rotated, scaled, sheared and
# shifted a little, differently in each epoch. The loss is that of notebook 07, with one class for
# each image; AdamW is Adam that also makes all weights a little smaller in each step.
#
# **Try it**: more epochs (`scripts/train_vit.py` takes 300), no changes (`rotation=0` and so on),
# another `patch` above.

# %%
epochs = 20


def fit(model, images, epochs, highest_rate):
    side = images.shape[1]
    changes = {"rotation": 15.0, "scale": 0.15, "shear": 0.2, "shift": side / 11}
    batches = AugmentedImages(images[:half], labels[:half], batch_size=32, seed=0, **changes)
    warm = {"warmup_target": highest_rate, "warmup_steps": epochs * len(batches) // 10}
    rate = keras.optimizers.schedules.CosineDecay(0.0, 9 * warm["warmup_steps"], **warm)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(rate, weight_decay=0.05), loss, jit_compile=False)
    history = model.fit(batches, epochs=epochs, shuffle=False, verbose=0).history
    return history["loss"]


def right(model, images):
    return (np.array(model(images[half:])).argmax(axis=1) == labels[half:]).mean()


losses = fit(model, images, epochs, highest_rate=3e-3)
print(f"{right(model, images):.1%} of the test digits are right")

plt.figure(figsize=(6, 2.8))
plt.plot(range(1, epochs + 1), losses)
plt.axhline(np.log(10), color="black", linestyle=":", label="ln 10: guessing")
plt.xlabel("epoch")
plt.xticks(range(0, epochs + 1, 5))
plt.ylabel("training loss")
plt.ylim(bottom=0)
plt.legend()
plt.show()

# %% [markdown]
# ## A convolutional network beside it
#
# A convolution looks at neighbors only and treats every place alike; max pooling keeps the largest
# of each $2 \times 2$ numbers. What the transformer has to learn, it has built in: that is its
# *inductive bias*. With about as many weights, and the same training:

# %%
convolution = {"padding": "same", "activation": "relu"}
network = keras.Sequential(
    [
        keras.layers.Conv2D(32, 3, **convolution),
        keras.layers.Conv2D(48, 3, **convolution),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(48, "relu"),
        keras.layers.Dense(10),
    ]
)
fit(network, images, epochs, highest_rate=3e-3)
print(f"{network.count_params():,} parameters, {right(network, images):.1%} are right")

# %% [markdown]
# With few images, what is built in wins. The paper's point is the other end: beyond some hundred
# million images, the transformer, which is free to look anywhere, overtakes.
#
# ## What has it learned?
#
# Each filter is one column of $E$, drawn as a patch: how it weighs the four pixels. Red is
# negative, blue positive. With four pixels there are edges, corners, and light against dark.

# %%
scratch = tempfile.TemporaryDirectory()  # deleted when the notebook ends
plot_patch_filters(model, f"{scratch.name}/filters.png", count=16)
display(Image(f"{scratch.name}/filters.png", width=520))

# %% [markdown]
# Nobody told it which patches are neighbors. In the next plot each small square belongs to the
# patch at its place and shows how similar that patch's learned position is to those of all patches.
# After this short training there is hardly a pattern; in figure 7 of the paper, after a long one,
# near patches are alike, and rows and columns show.

# %%
plot_position_similarity(model, f"{scratch.name}/positions.png")
display(Image(f"{scratch.name}/positions.png", width=460))

# %% [markdown]
# How far do the patches look? One point for each head: the mean distance to the patches that it
# looks at. In figure 7 of the paper, the lower layers have heads that look around their own patch,
# as a convolution does, beside heads that look everywhere; higher up, all of them look far. These
# images are only four patches wide, so there is little room for such a difference.

# %%
plot_attention_distance(model, images[half : half + 100]).figure

# %% [markdown]
# And where does the class token look in the last layer? Below each image, one square per patch: the
# mean of the weights over the heads.

# %%
with record_attention() as recorded:
    model(images[half : half + 6])
attention = np.array(recorded[model.encoder.layers[-1].self_attention.attention])
looks = attention[:, :, 0, 1:].mean(axis=1).reshape(-1, 4, 4)

figure, grid = plt.subplots(2, 6, figsize=(8.5, 3), layout="constrained")
for i in range(6):
    grid[0, i].imshow(images[half + i, ..., 0], "Greys", vmin=0, vmax=1)
    picture = grid[1, i].imshow(looks[i], "Blues", vmin=0, vmax=looks.max())
    grid[0, i].set_title(f"a {labels[half + i]}", fontsize=10)
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
figure.colorbar(picture, ax=grid[1], label="weight")
plt.show()

# %% [markdown]
# ## Larger images
#
# `for_fine_tuning` makes a model for a new task from one that has learned: its head is new, linear
# and zero, and all else is copied. (This *head* is no attention head: it is the last part of the
# model, which makes the scores of the classes from the class token.) The images may be larger.
# Patches keep their size, so there are more of them, and the learned positions are interpolated in
# two dimensions. Digits of $16 \times 16$ have $8 \times 8$ patches:

# %%
large = np.array(ops.image.resize(images, (16, 16)))
tuned = model.for_fine_tuning(num_classes=10, image_size=16)
print("positions", model.embedding.positions.shape, "→", tuned.embedding.positions.shape)
assert np.all(np.array(tuned(large[:3])) == 0)  # its head is zero: it prefers nothing yet

untrained = VisionTransformer(16, 2, 10, settings)
for name, each in {"fine-tuned": tuned, "from nothing": untrained}.items():
    fit(each, large, epochs=1, highest_rate=1e-3)
    print(f"{name}: {right(each, large):.1%} of the test digits are right after one epoch")

# %% [markdown]
# What it has learned from small images is worth many epochs on large ones. More of them do not make
# it better than it was before, though: these large images are the small ones, smoothed, and contain
# nothing new. In the paper, whose photographs do have more detail, fine-tuning on larger ones pays.

# %% [markdown]
# ## Three questions, answered
#
# Say what you expect before you read on.

# %% [markdown]
# > **1.** A photograph of $224 \times 224$ pixels has how many patches of $16 \times 16$? By what
# > factor does the number of attention weights of a head grow if the side of the image is doubled?
#
# $14 \cdot 14 = 196$, and 784 after doubling. With the class token, the weights grow from $197^2$
# to $785^2$: almost sixteenfold.

# %%
photograph = VisionTransformer(224, 16, 1000, settings)
assert photograph.embedding.grid == (14, 14)
assert np.isclose((4 * 196 + 1) ** 2 / (196 + 1) ** 2, 15.9, atol=0.1)

# %% [markdown]
# > **2.** Shuffle the patches *together with* their positions. Does the model mind?
#
# No: the encoder sees a bag of vectors, and all that says where a patch was is in its vector. Only
# the class token must stay in its place, because the head reads the first vector.

# %%
x = np.array(model.embedding(images[:5]))
order = np.concatenate([[0], 1 + np.random.default_rng(0).permutation(16)])
as_it_is = np.array(model.encoder(x))[:, 0]
shuffled = np.array(model.encoder(x[:, order]))[:, 0]
assert np.allclose(as_it_is, shuffled, atol=1e-4)

# %% [markdown]
# > **3.** Which of the model's weights depend on the size of the image? Compare the two models
# > above.
#
# Only the positions: $(64 - 16) \cdot 48$ more of them. Everything else, but for the head, has the
# same shape.

# %%
assert tuned.embedding.count_params() - model.embedding.count_params() == (64 - 16) * 48
assert tuned.encoder.count_params() == model.encoder.count_params()

# %% [markdown]
# ## Where it comes from
#
# * A. Dosovitskiy et al., *An Image is Worth 16x16 Words: Transformers for Image Recognition at
#   Scale*, 2021: section 3 for the model, figure 7 for the two plots.
# * E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine Learning
#   Repository, 1998: the digits, as scikit-learn brings them.

# %% [markdown]
# ## Practice
#
# Exercises that answer, as in notebook 01: ★ predict, ★★ calculate or change, ★★★ write. Replace
# the dots, and run the cell. The solutions are in `solutions.py`.

# %%
from exercises import check

# %% [markdown]
# ### 9.1 ★ Photographs in color
#
# Images of $32 \times 32$ pixels in three colors are cut into patches of $4 \times 4$. How many
# tokens does the encoder read, the class token included, and how many numbers has a patch?

# %%
tokens, numbers = ..., ...

check("9.1", [tokens, numbers])

# %% [markdown]
# ### 9.2 ★ Which exchange is noticed?
#
# The head reads the first of the vectors at the end. Does what it reads change, if one exchanges
#
# * a: the *pixels* of patches 3 and 7 in the image,
# * b: the *vectors* of patches 3 and 7 after the positions have been added,
# * c: the vectors of the class token and of patch 3 after the positions have been added?

# %%
a, b, c = ..., ..., ...  # True or False

check("9.2", [a, b, c])

# %% [markdown]
# ### 9.3 ★★ The parameters of the embedding
#
# The images of exercise 9.1, and vectors of size 64: how many parameters are in $E$ and its bias,
# the class token and the learned positions together?

# %%
parameters = ...

check("9.3", parameters)

# %% [markdown]
# ### 9.4 ★★★ Patches
#
# Cut images of shape (B, H, W, C) into patches of `size` × `size` pixels, with one reshape, one
# transpose and another reshape. Patches are read row by row, and so are the pixels of each. Height
# and width may differ.


# %%
def to_patches(images, size):
    return ...  # an array of shape (B, number of patches, size * size * C)


check("9.4", to_patches)

# %% [markdown]
# ### 9.5 ★★★ And back
#
# Put the images together again.


# %%
def from_patches(rows, height, width, size):
    return ...  # an array of shape (B, height, width, C)


check("9.5", from_patches)
