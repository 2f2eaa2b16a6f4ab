"""A Transformer in thirteen steps.

Replace the dots, from top to bottom. After each step:

    keras-transformer build --check

Shape letters: B sentences, T words of the target, S words of the source, N heads, H size of a head,
D size of a vector, V words of a vocabulary. T and S are often unknown until a sentence comes: ask
`ops.shape(x)` for the sizes of x. Steps of "the paper" are those of "Attention Is All You Need".
"""

import keras
import numpy as np
from keras import ops

PADDING, UNKNOWN, START, END = range(4)  # the first four words of every vocabulary


# Step 1: tokens and padding


def to_ids(sentences, vocabulary):
    """Returns the numbers of the words, one row for each sentence.

    END closes each sentence. The rows of shorter sentences are filled up with PADDING.

    Args:
        sentences: list of B texts, their words separated by spaces.
        vocabulary: dictionary from a word to its number. A word that it lacks becomes UNKNOWN.

    Returns:
        NumPy array, int32, (B, S). S is the number of words of the longest sentence and 1.

    Example:
        >>> to_ids(["i am here", "hello"], {"i": 4, "am": 5, "here": 6})
        array([[4, 5, 6, 3],
               [1, 3, 0, 0]], dtype=int32)
    """
    rows = [[vocabulary.get(word, UNKNOWN) for word in x.split()] + [END] for x in sentences]
    ids = np.full((len(rows), max(map(len, rows))), PADDING, "int32")
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    return ids


# Step 2: embedding and positions


def positions(length, d, base=10000.0):
    """Returns the position vectors: section 3.5 of the paper.

    Entry 2i of position t is sin(t / base^(2i/D)), entry 2i + 1 is the cosine of this same angle.

    Args:
        length: number of positions T, which are 0, 1, …, T - 1. It may be a tensor: use `ops`.
        d: size of the vectors D, even.
        base: 10000 in the paper.

    Returns:
        float32, (T, D).

    Example:
        >>> np.round(np.array(positions(2, 4)), 2)  # sin 0, cos 0, sin 0, cos 0; sin 1, …
        array([[0.  , 1.  , 0.  , 1.  ],
               [0.84, 0.54, 0.01, 1.  ]], dtype=float32)
    """
    frequencies = base ** (-np.arange(0, d, 2, dtype="float32") / d)  # (D / 2,)
    angles = ops.cast(ops.arange(length), "float32")[:, None] * frequencies  # (T, D / 2)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)  # (T, D / 2, 2)
    return ops.reshape(waves, (length, d))


class Embedding(keras.layers.Layer):
    """Vectors of words and their positions: √D · E[id] + position. Sections 3.4 and 3.5.

    Parts: `words`, a keras.layers.Embedding of V words. Its numbers should begin with a standard
    deviation of D^-0.5: embeddings_initializer=keras.initializers.RandomNormal(stddev=…).

    Example:
        With D = 4, a word with the vector (1, 2, 3, 4) at position 0 becomes
        2 · (1, 2, 3, 4) + (0, 1, 0, 1) = (2, 5, 6, 9).
    """

    def __init__(self, vocabulary_size, d, **kwargs):
        super().__init__(**kwargs)
        self.d = d
        normal = keras.initializers.RandomNormal(stddev=d**-0.5)
        self.words = keras.layers.Embedding(vocabulary_size, d, embeddings_initializer=normal)

    def call(self, ids):
        """Maps int32 (B, T) to float32 (B, T, D)."""
        return self.words(ids) * self.d**0.5 + positions(ops.shape(ids)[1], self.d)


# Step 3: scaled dot-product attention


def attention(queries, keys, values, mask=None):
    """Returns softmax(Q Kᵀ / √H) V: equation 1 of the paper.

    Args:
        queries: (..., T, H). There may be any number of axes before the last two.
        keys: (..., S, H).
        values: (..., S, any).
        mask: leave it alone until step 4.

    Returns:
        (..., T, any).

    Example:
        Two keys that fit the query equally well get half of the weight each. The result is the
        mean of their values:

        >>> query, keys, values = np.ones((1, 2)), np.zeros((2, 2)), np.array([[1.0], [5.0]])
        >>> float(attention(query, keys, values)[0, 0])
        3.0
    """
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / keys.shape[-1] ** 0.5
    if mask is not None:
        scores = ops.where(mask, scores, -1e9)
    return ops.matmul(ops.softmax(scores, axis=-1), values)


# Step 4: masks. Return to `attention` as well: where the mask is False, the weight becomes 0.


def padding_mask(ids):
    """Returns where there is a word and no padding: every query may attend there.

    Args:
        ids: int32, (B, S).

    Returns:
        bool, (B, 1, S): True where the query may attend. The axis of 1 stands for all queries.

    Example:
        >>> np.array(padding_mask(np.array([[5, 7, 0]])))
        array([[[ True,  True, False]]])
    """
    return ops.not_equal(ops.expand_dims(ids, 1), PADDING)


def causal_mask(length):
    """Returns which positions are not later than the query's own: section 3.2.3.

    Args:
        length: T, an integer or a tensor.

    Returns:
        bool, (T, T): row t is True at the positions 0 to t.

    Example:
        >>> np.array(causal_mask(3))
        array([[ True, False, False],
               [ True,  True, False],
               [ True,  True,  True]])
    """
    places = ops.arange(length)
    return places[:, None] >= places


# Step 5: heads split and merged


def split(x, heads):
    """Returns the vectors cut into heads, with the axis of the heads in front of that of the words.

    Args:
        x: (B, T, D).
        heads: number of heads N. D is N · H.

    Returns:
        (B, N, T, H).

    Example:
        >>> x = np.array([[[1, 2, 3, 4], [5, 6, 7, 8]]])  # two words
        >>> np.array(split(x, heads=2)).tolist()  # two words of each of two heads
        [[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]
    """
    batch, length, d = ops.shape(x)
    return ops.transpose(ops.reshape(x, (batch, length, heads, d // heads)), (0, 2, 1, 3))


def merge(x):
    """Returns the vectors of all heads joined again, (B, N, T, H) to (B, T, D): undoes `split`."""
    batch, heads, length, size = ops.shape(x)
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size))


class MultiHead(keras.layers.Layer):
    """Multi-head attention: section 3.2.2. Project, split, attend, merge, project.

    Parts: `query`, `key`, `value` and `output_projection`, each a keras.layers.Dense(d).

    Example:
        With 8 heads and D = 64, each head attends with vectors of H = 8, and √8 divides its scores.
    """

    def __init__(self, heads, d, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.query, self.key, self.value = (keras.layers.Dense(d) for _ in range(3))
        self.output_projection = keras.layers.Dense(d)

    def call(self, x, memory, attention_mask=None):
        """Attends from x to memory.

        Args:
            x: what looks, the source of the queries, (B, T, D).
            memory: what is looked at, the source of keys and values, (B, S, D).
            attention_mask: bool, (B, T, S) or (B, 1, S); True = may attend. No axis of heads yet.

        Returns:
            (B, T, D).
        """
        projected = self.query(x), self.key(memory), self.value(memory)
        queries, keys, values = (split(y, self.heads) for y in projected)
        mask = None if attention_mask is None else ops.expand_dims(attention_mask, -3)
        return self.output_projection(merge(attention(queries, keys, values, mask)))


# Step 6: add and norm


class LayerNorm(keras.layers.Layer):
    """Layer normalization: scale · (x - mean) / √(variance + 1e-5) + shift, for each vector.

    Parts, made in `build`: the weights `scale`, ones at first, and `shift`, zeros: each (D,), by
    self.add_weight(shape, "ones").

    Example:
        The mean of (1, 3) is 2 and its variance is 1. It becomes (-1, 1).
    """

    def build(self, shape):
        self.scale = self.add_weight((shape[-1],), "ones", name="scale")
        self.shift = self.add_weight((shape[-1],), "zeros", name="shift")

    def call(self, x):
        """Maps (..., D) to (..., D)."""
        mean = ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean((x - mean) ** 2, axis=-1, keepdims=True)
        return self.scale * (x - mean) / ops.sqrt(variance + 1e-5) + self.shift


def add_norm(x, sublayer, norm):
    """Returns x + sublayer(norm(x)): a residual connection, pre-norm ("On Layer Normalization in
    the Transformer Architecture", figure 1).

    Args:
        x: (B, T, D).
        sublayer: function from (B, T, D) to (B, T, D).
        norm: a `LayerNorm`.

    Example:
        >>> add_norm(3, sublayer=lambda y: 10 * y, norm=lambda x: x - 2)  # 3 + 10 · (3 - 2)
        13
    """
    return x + sublayer(norm(x))


# Step 7: feed-forward


class FeedForward(keras.layers.Layer):
    """Two dense layers for each word alone: max(0, x W₁ + b₁) W₂ + b₂. Equation 2.

    Parts: `inner`, a keras.layers.Dense(d_ff) with relu, and `outer`, a keras.layers.Dense(d).

    Example:
        With D = 64 and d_ff = 128, a vector of 64 becomes one of 128, and one of 64 again.
    """

    def __init__(self, d, d_ff, **kwargs):
        super().__init__(**kwargs)
        self.inner = keras.layers.Dense(d_ff, activation="relu")
        self.outer = keras.layers.Dense(d)

    def call(self, x):
        """Maps (B, T, D) to (B, T, D)."""
        return self.outer(self.inner(x))


# Step 8: encoder and decoder layer


class EncoderLayer(keras.layers.Layer):
    """Self-attention, then the feed-forward network, each in an `add_norm`: figure 1, left.

    Parts: `attention`, `feed_forward`, and a norm for each, `norm_1` and `norm_2`; `dropout`, a
    keras.layers.Dropout(rate) for what each of them returns (section 5.4).

    Example:
        `add_norm` wants a function: lambda y: self.dropout(self.feed_forward(y))
    """

    def __init__(self, heads, d, d_ff, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.norm_1 = MultiHead(heads, d), LayerNorm()
        self.feed_forward, self.norm_2 = FeedForward(d, d_ff), LayerNorm()
        self.dropout = keras.layers.Dropout(rate)

    def call(self, x, attention_mask=None):
        """Maps (B, S, D) to (B, S, D); the mask is bool, (B, 1, S)."""
        x = add_norm(x, lambda y: self.dropout(self.attention(y, y, attention_mask)), self.norm_1)
        return add_norm(x, lambda y: self.dropout(self.feed_forward(y)), self.norm_2)


class DecoderLayer(keras.layers.Layer):
    """Self-attention, cross-attention to the encoded source, feed-forward: figure 1, right.

    Parts: `attention`, `cross_attention`, `feed_forward`; their norms `norm_1`, `norm_2`, `norm_3`;
    and `dropout`.

    Example:
        The queries of the cross-attention come from x, keys and values from encoded. Only x is
        normalized: the encoder has normalized its output.
    """

    def __init__(self, heads, d, d_ff, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.norm_1 = MultiHead(heads, d), LayerNorm()
        self.cross_attention, self.norm_2 = MultiHead(heads, d), LayerNorm()
        self.feed_forward, self.norm_3 = FeedForward(d, d_ff), LayerNorm()
        self.dropout = keras.layers.Dropout(rate)

    def call(self, x, encoded, self_mask=None, cross_mask=None):
        """Maps x, (B, T, D), and encoded, (B, S, D), to (B, T, D).

        The masks are bool: self_mask (B, T, T), for x, and cross_mask (B, 1, S), for encoded.
        """
        x = add_norm(x, lambda y: self.dropout(self.attention(y, y, self_mask)), self.norm_1)
        x = add_norm(
            x, lambda y: self.dropout(self.cross_attention(y, encoded, cross_mask)), self.norm_2
        )
        return add_norm(x, lambda y: self.dropout(self.feed_forward(y)), self.norm_3)


# Step 9: model


class Transformer(keras.Model):
    """The whole model: figure 1 of the paper.

    Parts: `source_embedding` and `target_embedding`; `encoder_layers` and `decoder_layers`, two
    lists of n layers; `encoder_norm` and `decoder_norm`, for what the last layer of each returns;
    `dropout`, for the embeddings; `projection`, a keras.layers.Dense to the target vocabulary.

    Example:
        decode(target, encode(source), source) is what `call` computes for (source, target).
    """

    def __init__(self, source_words, target_words, heads, d, d_ff, n, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.source_embedding = Embedding(source_words, d)
        self.target_embedding = Embedding(target_words, d)
        self.encoder_layers = [EncoderLayer(heads, d, d_ff, rate) for _ in range(n)]
        self.decoder_layers = [DecoderLayer(heads, d, d_ff, rate) for _ in range(n)]
        self.encoder_norm, self.decoder_norm = LayerNorm(), LayerNorm()
        self.dropout = keras.layers.Dropout(rate)
        self.projection = keras.layers.Dense(target_words)

    def encode(self, source):
        """Maps source ids, int32 (B, S), to vectors, (B, S, D)."""
        x = self.dropout(self.source_embedding(source))
        for layer in self.encoder_layers:
            x = layer(x, padding_mask(source))
        return self.encoder_norm(x)

    def decode(self, target, encoded, source):
        """Maps target ids, int32 (B, T), to logits, (B, T, V); the source ids are for a mask.

        A word of the target may look where causal_mask and the mask of its padding are both True.
        """
        mask = ops.logical_and(padding_mask(target), causal_mask(ops.shape(target)[1]))
        x = self.dropout(self.target_embedding(target))
        for layer in self.decoder_layers:
            x = layer(x, encoded, mask, padding_mask(source))
        return self.projection(self.decoder_norm(x))

    def call(self, inputs):
        """Maps a pair of ids, source (B, S) and target (B, T), to logits, (B, T, V).

        Logits are scores before the softmax: at position t, of the words that may follow word t.
        """
        source, target = inputs
        return self.decode(target, self.encode(source), source)


# Step 10: masked loss


def masked_loss(target, logits):
    """Returns the mean of -ln p of the right words, in nats. Padding is no word.

    Args:
        target: the right ids, int32, (B, T).
        logits: (B, T, V). p is their softmax. keras.losses.sparse_categorical_crossentropy with
            from_logits=True returns -ln p of each word, (B, T).

    Returns:
        A scalar.

    Example:
        >>> target, logits = np.array([[1, 0]]), np.array([[[0.0, np.log(3)], [9.0, 1.0]]])
        >>> round(float(masked_loss(target, logits)), 4)  # p = 3 / (1 + 3): -ln 0.75
        0.2877
    """
    costs = keras.losses.sparse_categorical_crossentropy(target, logits, from_logits=True)
    is_word = ops.cast(ops.not_equal(target, PADDING), costs.dtype)
    return ops.sum(costs * is_word) / ops.sum(is_word)


# Step 11: schedule


def learning_rate(step, d, warm_up):
    """Returns D^-0.5 · min(t^-0.5, t · warm_up^-1.5): equation 3. It rises, then falls.

    Args:
        step: number of updates that were made, an integer tensor. The first update has step 0 and
            t = 1.
        d: size of the vectors D.
        warm_up: update t with the highest rate.

    Returns:
        float32, a scalar.

    Example:
        >>> round(float(learning_rate(15, d=4, warm_up=16)), 4)  # t = 16: 4^-0.5 · 16^-0.5
        0.125
    """
    t = ops.cast(step, "float32") + 1
    return d**-0.5 * ops.minimum(t**-0.5, t * warm_up**-1.5)


# Step 12: training step


def make_step(model, optimizer):
    """Returns a function that makes one update of the weights and returns the loss. (TensorFlow.)

    Args:
        model: a `Transformer`. Its weights are model.trainable_variables.
        optimizer: a Keras optimizer. optimizer.apply_gradients takes pairs (gradient, weight).

    Returns:
        A function (source, decoder_input, target) -> `masked_loss`, compiled by tf.function: with
        an input_signature of three tf.TensorSpec((None, None), tf.int32), once for all shapes. It
        predicts the target from the other two, with training=True, which turns dropout on.

    Example:
        Of the sentence 2 7 8 3, the decoder reads 2 7 8, and the target is 7 8 3.
    """
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids, ids], autograph=False)
    def step(source, decoder_input, target):
        with tf.GradientTape() as tape:
            loss = masked_loss(target, model((source, decoder_input), training=True))
        weights = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    return step


# Step 13: greedy decoding


def greedy(model, source, length):
    """Returns the translations: again and again, the word with the highest logit is appended.

    Args:
        model: called with (source, target), arrays of ids, it returns logits (B, T, V).
        source: int32, (B, S).
        length: highest number of ids to write.

    Returns:
        NumPy array, int32, (B, at most length): without START, with END, and PADDING after it. It
        ends when all rows have ended.

    Example:
        The decoder reads START and predicts "ich". It reads START ich and predicts "bin".
    """
    written = np.full((len(source), 1), START, "int32")
    ended = np.zeros(len(source), bool)
    while written.shape[1] <= length and not ended.all():
        logits = ops.convert_to_numpy(model((source, written)))
        best = np.where(ended, PADDING, logits[:, -1].argmax(axis=-1))
        written = np.concatenate([written, best[:, None].astype("int32")], axis=1)
        ended |= best == END
    return written[:, 1:]
