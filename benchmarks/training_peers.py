"""The systems whose training is timed: ours, and those that one would use otherwise.

Each is a function without arguments that updates the weights once. Import this after
`timing.use_cores`.
"""

import time

import decoding_peers
import keras
import numpy as np
import tensorflow as tf
import torch
from course import SOURCE_WORDS, TARGET_WORDS
from decoding_peers import SIZES

from keras_transformer import Adam, MaskedCrossEntropy, TransformerModel
from keras_transformer.training.tensorflow_step import TrainingStep, describe_device

__all__ = ["SIZES", "WORDS", "describe_device"]

WORDS = SOURCE_WORDS, TARGET_WORDS

# The processor waits for a GPU: what it spends itself says nothing.
ON_GPU = bool(tf.config.list_physical_devices("GPU"))


def make_batch(rows, source_length, target_length):
    """Random words, `((source, target_input), target)`, int32."""
    random = np.random.default_rng(0)
    source = random.integers(4, SOURCE_WORDS, (rows, source_length), "int32")
    target = random.integers(4, TARGET_WORDS, (rows, target_length + 1), "int32")
    return (source, target[:, :-1]), target[:, 1:]


def make_model(size, dtype, rate):
    head = size.d_model // size.h
    model = TransformerModel(
        *WORDS, 16, 16, size.h, head, head, size.d_model, size.d_ff, size.n, rate,
        norm_first=True, tie_output=True, dtype=dtype,
    )  # fmt: skip
    model.build(((None, None), (None, None)))
    return model


def make_ours(size, batch, dtype, jit_compile, rate, label_smoothing):
    """Our step."""
    model, optimizer = make_model(size, dtype, rate), Adam(1e-4)
    optimizer.build(model.trainable_variables)
    step = TrainingStep(model, optimizer, label_smoothing, jit_compile)
    # Prepared as the step's own loop does, but once: that takes place beside the computation.
    inputs, target = tf.nest.map_structure(tf.constant, batch)
    words = tf.constant(float(target.shape[0] * target.shape[1]))
    return lambda: step._train_batch(inputs, target, words).numpy()


def make_fit(size, batch, rate):
    """Our layers, trained by Keras."""
    return _fit(make_model(size, "float32", rate), batch, MaskedCrossEntropy(), False)


def make_hub(size, batch, rate, jit_compile):
    """KerasHub's layers, trained by Keras."""
    model = decoding_peers.HubModel(size, rate, WORDS)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return _fit(model, batch, loss, jit_compile)


def _fit(model, batch, loss, jit_compile):
    model.compile(keras.optimizers.Adam(1e-4), loss, jit_compile=jit_compile)
    inputs, target = tf.nest.map_structure(tf.constant, batch)
    return lambda: model.train_on_batch(inputs, target)


def make_torch(size, batch, dtype, rate, label_smoothing, threads):
    """`torch.nn.Transformer` in eager mode."""
    torch.set_num_threads(threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = decoding_peers.TorchModel(size, rate, WORDS).train().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    (source, inputs), target = batch
    arrays = (x.astype("int64") for x in (source, inputs, target))
    source, inputs, target = (torch.from_numpy(x).to(device) for x in arrays)
    mask = model.body.generate_square_subsequent_mask(inputs.shape[1]).to(device)

    def update():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=dtype == "bfloat16"):
            x, y = model.embed(model.source, source), model.embed(model.target, inputs)
            logits = model.body(x, y, tgt_mask=mask, tgt_is_causal=True) @ model.target.weight.T
        loss(logits.float().flatten(0, 1), target.flatten()).backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()

    return update


def gigaflop(size, rows, source_length, target_length):
    """The work of the matrix products of a step, forwards and backwards, in GFLOP.

    Two for each weight and token, and twice as many backwards; without the products of queries,
    keys and values among each other, which are small at these lengths.
    """
    square, inner = size.d_model**2, 2 * size.d_model * size.d_ff
    source = size.n * (4 * square + inner + 2 * square)  # with the keys and values of the decoder
    target = size.n * (6 * square + inner) + size.d_model * TARGET_WORDS
    return 6 * rows * (source_length * source + target_length * target) / 1e9


def matrix_product_rate(dtype, size=8192 if ON_GPU else 1024):
    """GFLOP per second of TensorFlow's matrix product: of processor time, or of a GPU's."""
    clock = time.perf_counter if ON_GPU else time.process_time
    x = tf.cast(tf.random.normal((size, size)), dtype)
    tf.matmul(x, x)[0, 0].numpy()
    times = []
    for _ in range(5):
        start = clock()
        for _ in range(10):
            y = tf.matmul(x, x)
        y[0, 0].numpy()  # waits for all of them
        times.append((clock() - start) / 10)
    return 2 * size**3 / sorted(times)[2] / 1e9
