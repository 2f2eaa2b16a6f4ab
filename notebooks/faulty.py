"""Ten models with one fault each, for notebook 12. Find the faults before you read this file."""

import functools
import inspect
import textwrap
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import ops

import keras_transformer as kt
from keras_transformer import END_ID, START_ID
from keras_transformer.layers.record_attention import store_attention

RUN = Path(__file__).resolve().parents[1] / "data/bundled-run"
SIZES = kt.BlockSettings(h=2, d_model=32, d_ff=64, n=1, rate=0.0, norm_first=True)
WORDS = 16  # of the task: padding, unknown, start, end and twelve words
UPDATES = 240


class Patient(kt.TransformerModel):
    """A transformer in which whatever may be wrong is a function that can be replaced."""

    def causal(self, length):
        return kt.causal_mask(length)

    def source_mask(self, source, vectors):
        return kt.padding_mask(source)

    def memory(self, encoded):
        return encoded

    def attention_weights_of(self, scores):
        return ops.exp(scores - ops.logsumexp(scores, axis=-1, keepdims=True))

    def cache_index(self, position):
        return position

    def training_mode(self, training):
        return training

    def reads_and_predicts(self, target):
        return target[:, :-1], target[:, 1:]

    def is_counted(self, target):
        return target != 0

    def learning_rate(self, update):
        return 0.01 * (1 - update / UPDATES)

    def encode(self, encoder_input, training=None):
        x = self.source_embedding(encoder_input)
        mask = self.source_mask(encoder_input, x)
        return self.encoder(x, attention_mask=mask, training=self.training_mode(training))

    def decode(self, decoder_input, encoder_output, encoder_input, training=None):
        causal = self.causal(ops.shape(decoder_input)[1])
        x = self.decoder(
            self.target_embedding(decoder_input),
            self.memory(encoder_output),
            self_attention_mask=kt.combine_masks(kt.padding_mask(decoder_input), causal),
            cross_attention_mask=self._cross_mask(encoder_input),
            training=self.training_mode(training),
        )
        return self._to_logits(x)

    def _cross_mask(self, source):
        return self.source_mask(source, self.source_embedding(source))

    def start(self, encoder_input, length):
        cache, memory = self.decoder.start(self.encode(encoder_input, training=False), length + 1)
        return cache, {"layers": memory, "mask": self._cross_mask(encoder_input)}

    def step(self, tokens, position, cache, memory):
        seen = np.arange(cache[0][0].shape[2]) <= position
        x, cache = self.decoder.step(
            self.target_embedding(ops.expand_dims(tokens, 1), start=position),
            self.cache_index(position),
            cache,
            memory["layers"],
            self_attention_mask=seen[None, None],
            cross_attention_mask=memory["mask"],
        )
        return self._to_logits(ops.squeeze(x, axis=1)), cache


class _Attention(kt.DotProductAttention):
    """Attention with weights computed by a function."""

    def __init__(self, weights_of, **kwargs):
        super().__init__(**kwargs)
        self.weights_of = weights_of

    def call(self, queries, keys, values, attention_mask=None):
        scores = ops.einsum("...td,...sd->...ts", queries / keys.shape[-1] ** 0.5, keys)
        if attention_mask is not None:
            scores = ops.where(attention_mask, scores, -1e9)
        weights = self.weights_of(scores)
        store_attention(self, weights)
        return ops.matmul(weights, values)


class Patient1(Patient):
    def causal(self, length):
        return ops.arange(length)[:, None] < ops.arange(length)


class Patient2(Patient):
    def reads_and_predicts(self, target):
        return target[:, 1:], target[:, 1:]


class Patient3(Patient):
    def memory(self, encoded):
        return ops.stop_gradient(encoded)


class Patient4(Patient):
    def learning_rate(self, update):
        return 0.1 * (1 - update / UPDATES)


class Patient5(Patient):
    def is_counted(self, target):
        return target >= 0


class Patient6(Patient):
    def source_mask(self, source, vectors):
        return None


class Patient7(Patient):
    def source_mask(self, source, vectors):
        return ops.any(vectors != 0, axis=-1)[:, None]


class Patient8(Patient):
    def attention_weights_of(self, scores):
        return ops.exp(scores - ops.logsumexp(scores, axis=-2, keepdims=True))


class Patient9(Patient):
    def cache_index(self, position):
        return position + 1


class Patient10(Patient):
    def training_mode(self, training):
        return True


def learner(kind=Patient):
    """Returns an untrained model for the task; two of them have the same weights."""
    keras.utils.set_random_seed(0)
    model = kind(WORDS, WORDS, settings=SIZES)
    model.build(((None, None), (None, None)))
    return model


def translator(kind=Patient):
    """Returns a model with the weights of the bundled run."""
    trained = bundled().model
    model = kind.from_config(trained.get_config())
    for layer in (*model.encoder.layers, *model.decoder.layers):
        for name in ("self_attention", "cross_attention"):
            if part := getattr(layer, name, None):
                part.attention = _Attention(
                    lambda scores: model.attention_weights_of(scores), name="attention"
                )
    model.build(((None, None), (None, None)))
    model.set_weights(trained.get_weights())
    return model


@functools.cache
def bundled():
    """Returns the `Translate` of the bundled run."""
    return kt.Translate.from_run(RUN)


def show(function):
    """Prints the code of a function."""
    print(textwrap.dedent(inspect.getsource(function)).rstrip())


def task(count, seed):
    """Returns 3 to 8 words, and the same words in reverse: padded sources and targets."""
    rng = np.random.default_rng(seed)
    source, target = np.zeros((count, 9), "int32"), np.zeros((count, 10), "int32")
    for i, length in enumerate(rng.integers(3, 9, count)):
        words = rng.integers(4, WORDS, length)
        source[i, : length + 1] = *words, END_ID
        target[i, : length + 2] = START_ID, *words[::-1], END_ID
    return source, target


def train(model, updates=UPDATES):
    """Trains a model on the task; returns the loss of each update."""
    ids, counts = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, None), tf.bool)
    optimizer = kt.Adam(0.01)
    optimizer.build(model.trainable_variables)

    @tf.function(input_signature=[ids, ids, ids, counts], autograph=False)
    def step(source, reads, predicts, is_counted):
        with tf.GradientTape() as tape:
            loss = cross_entropy(predicts, model((source, reads)), is_counted)
        weights = model.trainable_variables
        gradients = tape.gradient(loss, weights)
        # Zero instead of None, because Keras's warning would name the fault of one patient.
        pairs = zip(gradients, weights, strict=True)
        gradients = [ops.zeros_like(w) if g is None else g for g, w in pairs]
        optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    losses = []
    for update in range(updates):
        source, target = task(32, seed=update)
        reads, predicts = model.reads_and_predicts(target)
        optimizer.learning_rate = model.learning_rate(update)
        losses.append(float(step(source, reads, predicts, model.is_counted(predicts))))
    return losses


def cross_entropy(target, logits, is_counted):
    """The mean loss of the positions that are counted."""
    costs = keras.losses.sparse_categorical_crossentropy(target, logits, from_logits=True)
    is_counted = ops.cast(is_counted, "float32")
    return ops.sum(costs * is_counted) / ops.sum(is_counted)


def write(model, source, length):
    """Returns the ids that greedy search writes, (B, length), with the whole decoder each time."""
    written = np.zeros((len(source), length + 1), "int32")
    written[:, 0] = START_ID
    for t in range(length):
        logits = np.array(model((source, written)))[:, t]
        written[:, t + 1 : t + 2] = best(logits, written[:, t : t + 1])
    return written[:, 1:]


def write_with_cache(model, source, length):
    """Returns the ids that greedy search writes, up to the last end, from steps with a cache."""
    cache, memory = model.start(source, length)
    written = np.full((len(source), 1), START_ID, "int32")
    for t in range(length):
        logits, cache = model.step(written[:, t], t, cache, memory)
        written = np.concatenate([written, best(np.array(logits), written[:, t:])], axis=1)
        if (written[:, -1] == 0).all():
            break
    return written[:, 1:]


def best(logits, last):
    """Returns the most probable words, and padding after the end."""
    words = END_ID + logits[:, END_ID:].argmax(axis=1, keepdims=True)
    return np.where((last == END_ID) | (last == 0), 0, words).astype("int32")


def translate(model, sentences, length=16):
    """Translates sentences, as one batch, with the cache."""
    source = encode(sentences)
    written = write_with_cache(model, source, length)
    return [bundled().target_tokenizer.decode(row[row > END_ID]) for row in written]


def encode(sentences):
    """Returns the padded ids of sentences."""
    rows = [[*bundled().source_tokenizer.encode(sentence), END_ID] for sentence in sentences]
    ids = np.zeros((len(rows), max(map(len, rows))), "int32")
    for row, words in zip(ids, rows, strict=True):
        row[: len(words)] = words
    return ids
