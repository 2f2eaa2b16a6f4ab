"""Compares the training speed of `MultiHeadAttention` with that of the Keras layer."""

from timing import compare, named, use_one_core

use_one_core()

import keras  # noqa: E402
import numpy as np  # noqa: E402

from keras_transformer import MultiHeadAttention  # noqa: E402

B, T, D = 64, 16, 256


def make_step(attention):
    """Returns a function that trains a self-attention model for one step."""
    x = keras.Input((T, D))
    model = keras.Model(x, attention(x, x, x))
    model.compile(keras.optimizers.SGD(), "mse", jit_compile=False)
    batch = np.random.default_rng(0).normal(size=(B, T, D)).astype("float32")
    return lambda: model.train_on_batch(batch, batch)


if __name__ == "__main__":
    backend = keras.config.backend()
    compare(
        {
            named("keras_transformer.MultiHeadAttention", backend): make_step(
                MultiHeadAttention(h=4, d_k=64, d_v=64, d_model=D)
            ),
            named("keras.layers.MultiHeadAttention", "keras", backend): make_step(
                keras.layers.MultiHeadAttention(num_heads=4, key_dim=64)
            ),
        }
    )
