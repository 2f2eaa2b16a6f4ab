"""Typical mistakes in each step: a replacement in the solution, and words of the message.

MISTAKES maps the name of a function or class to triples: a text that occurs once in its code, what
a learner may write instead, and words of the sentence that explains it.
"""

_ROWS = "rows = [[vocabulary.get(word, UNKNOWN) for word in x.split()] + [END] for x in sentences]"
_MERGE = "ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size))"
_SPLIT = "ops.transpose(ops.reshape(x, (batch, length, heads, d // heads)), (0, 2, 1, 3))"
_WAVES = "waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)"
_EMBED = "self.words(ids) * self.d**0.5 + positions(ops.shape(ids)[1], self.d)"
_SOFTMAX = "ops.softmax(scores, axis=-1)"
_SCORES = "ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / keys.shape[-1] ** 0.5"
_WHERE = "ops.where(mask, scores, -1e9)"
_MULTI = "self.output_projection(merge(attention(queries, keys, values, mask)))"
_NORMAL = "self.scale * (x - mean) / ops.sqrt(variance + 1e-5) + self.shift"
_FIRST = (
    "x = add_norm(x, lambda y: self.dropout(self.attention(y, y, attention_mask)), self.norm_1)"
)
_SECOND = "return add_norm(x, lambda y: self.dropout(self.feed_forward(y)), self.norm_2)"
_CROSS = "self.cross_attention(y, encoded, cross_mask)"
_THIRD = "return add_norm(x, lambda y: self.dropout(self.feed_forward(y)), self.norm_3)"
_BOTH = "ops.logical_and(padding_mask(target), causal_mask(ops.shape(target)[1]))"
_MEAN = "ops.sum(costs * is_word) / ops.sum(is_word)"
_RATE = "d**-0.5 * ops.minimum(t**-0.5, t * warm_up**-1.5)"
_LOSS = "masked_loss(target, model((source, decoder_input), training=True))"
_APPLY = "optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))"

MISTAKES = {
    "to_ids": [
        (" + [END] for", " for", "has no END"),
        (_ROWS, _ROWS.replace("[END]", "[END][:0]") + "\n    rows = [[*x, *[0] * (4 - len(x)), 3] "
         "for x in rows]", "the padding comes after END"),
        ("ids[i, : len(row)]", "ids[i, -len(row) :]", "padding stands in front"),
        (", UNKNOWN)", ", PADDING)", "nobody will see it"),
        ("for word in x.split()]", "for word in x.split() if word in vocabulary]", "was left out"),
        (", PADDING, ", ", UNKNOWN, ", "filled up with 1"),
        ("[[vocabulary", "[[START] + [vocabulary", "A source has only END"),
        ("x.split()]", "x.split()[::-1]]", "reverse order"),
        ('"int32"', '"float32"', "dtype int32. Yours have float32"),
        ("return ids", "return ids.T", "should be a row"),
    ],
    "positions": [
        (_WAVES, "waves = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)",
         "alternate"),
        (_WAVES, "waves = ops.stack([ops.cos(angles), ops.sin(angles)], axis=-1)", "a sine"),
        ("ops.stack([ops.sin(angles), ops.cos(angles)]", "ops.stack([ops.sin(angles), "
         "ops.cos(angles * base ** (-1 / d))]", "cosine of the same angle"),
        ("ops.arange(length)", "ops.arange(length) + 1", "The first position is 0"),
        ("0, d, 2, dtype", "0, 2 * d, 4, dtype", "2i is already"),
        ("-np.arange", "np.arange", "exponent is negative"),
        ("[:, None] * frequencies", "[:, None] * 0 + frequencies", "Where is t?"),
    ],
    "Embedding": [
        (" * self.d**0.5", "", "drown them"),
        (" * self.d**0.5", " * self.d", "D instead of its root"),
        (_EMBED, "(self.words(ids) + positions(ops.shape(ids)[1], self.d)) * self.d**0.5",
         "scale, then add"),
        (" + positions(ops.shape(ids)[1], self.d)", "", "word order would not matter"),
        ("ops.shape(ids)[1], self.d)", "1, self.d)", "Every word gets position 0"),
        ("ops.shape(ids)[1]", "len(np.zeros(ids.shape[1]))", "sentences of any length"),
        ("stddev=d**-0.5", "stddev=1.0", "standard deviation of 1.00"),
    ],
    "attention": [
        (" / keys.shape[-1] ** 0.5", "", "not divided by √H"),
        ("keys.shape[-1] ** 0.5", "keys.shape[-1]", "H instead of its root"),
        ("/ keys.shape[-1]", "/ keys.shape[-2]", "number of keys instead"),
        (_SOFTMAX, "ops.softmax(scores, axis=-2)", "each column sums to 1"),
        (_SOFTMAX, "ops.reshape(ops.softmax(ops.reshape(scores, (ops.shape(scores)[0], -1))), "
         "ops.shape(scores))", "A softmax of its own".lower()),
        (_SOFTMAX, "scores", "is there a softmax?"),
        (_SOFTMAX, "ops.sigmoid(scores)", "softmax over the right axis"),
        (_SCORES, "ops.matmul(queries, ops.swapaxes(keys, -1, -2))\n    values = values / "
         "keys.shape[-1] ** 0.5", "not the weights after the softmax"),
        (f"ops.matmul({_SOFTMAX}, values)", _SOFTMAX, "Expected an array of shape (2, 3, 4)"),
        ("ops.swapaxes(keys, -1, -2)", "ops.transpose(keys, (0, 2, 1))", "last two axes only"),
    ],
    "masks": [
        (_WHERE, "ops.where(mask, -1e9, scores)", "wrong way round"),
        (_WHERE, "scores", "ignores the mask"),
        (_WHERE, "scores * ops.cast(mask, scores.dtype)", "e⁰ is 1"),
        (_WHERE, "ops.where(mask, scores, -np.inf)", "gives NaN"),
        (f"        scores = {_WHERE}\n    return ops.matmul({_SOFTMAX}, values)", f"        return "
         f"ops.matmul({_SOFTMAX} * ops.cast(mask, 'float32'), values)\n    return "
         f"ops.matmul({_SOFTMAX}, values)", "applied after the softmax"),
    ],
    "padding_mask": [
        ("ops.not_equal(", "ops.equal(", "inverted"),
        ("ops.expand_dims(ids, 1)", "ids", "axis for the queries is missing"),
        ("ops.expand_dims(ids, 1)", "ops.expand_dims(ids, -1)", "before that of the keys"),
        ("ops.not_equal(ops.expand_dims(ids, 1), PADDING)",
         "ops.expand_dims(ids, 1) > UNKNOWN", "UNKNOWN (1) is masked"),
    ],
    "causal_mask": [
        (">= places", "> places", "does not see itself"),
        (">= places", "<= places", "upper triangle"),
        (">= places", "< places", "inverted"),
        ("return places[:, None] >= places", "return ops.tril(ops.ones((length, length)))",
         "float32"),
    ],
    "split": [
        (_SPLIT, "ops.reshape(x, (batch, heads, length, d // heads))", "Reshape alone mixes"),
        (_SPLIT, "ops.reshape(x, (batch, length, heads, d // heads))", "attends to its own heads"),
        (_SPLIT, "ops.transpose(ops.reshape(x, (batch, length, d // heads, heads)), (0, 3, 1, 2))",
         "every fourth number"),
    ],
    "merge": [
        (_MERGE, "ops.reshape(x, (batch, length, heads * size))", "Heads merged by reshape alone"),
        ("(0, 2, 1, 3))", "(0, 2, 3, 1))", "numbers of the heads alternate"),
    ],
    "MultiHead": [
        (_MULTI, "merge(attention(queries, keys, values, mask))",
         "`output_projection` of MultiHead is never called"),
        (_MULTI, "self.output_projection(attention(self.query(x), self.key(memory), "
         "self.value(memory)))", "only one head"),
        ("self.value(memory)\n", "self.key(memory)\n", "`value` of MultiHead is never called"),
        ("self.query(x), self.key(memory), self.value(memory)",
         "self.query(memory), self.key(x), self.value(x)", "Queries come from x"),
        ("self.key(memory), self.value(memory)", "self.key(x), self.value(x)", "memory is ignored"),
        ("values, mask)))", "values)))", "not passed on"),
        ("(keras.layers.Dense(d) for _ in range(3))", "[keras.layers.Dense(d)] * 3",
         "are one layer"),
        (_MULTI, "self.output_projection(merge(attention(queries * (queries.shape[-1] ** 0.5) / "
         "x.shape[-1] ** 0.5, keys, values, mask)))", "√D divides"),
    ],
    "LayerNorm": [
        ("axis=-1", "axis=1", "mean runs over the words"),
        ("ops.sqrt(variance + 1e-5)", "(ops.sqrt(variance) + 1e-5)", "added to the root"),
        ("ops.sqrt(variance + 1e-5)", "ops.sqrt(variance)", "1e-5 is missing"),
        ("ops.sqrt(variance + 1e-5)", "(variance + 1e-5)", "root of the variance"),
        ("self.scale * (x - mean)", "self.scale * x", "mean is not subtracted"),
        (" + self.shift", "", "`shift` is not added"),
        ('"zeros", name="shift"', '"ones", name="shift"', "`scale` begins with 1"),
    ],
    "add_norm": [
        ("x + sublayer(norm(x))", "norm(x + sublayer(x))", "post-norm"),
        ("x + sublayer(norm(x))", "sublayer(norm(x))", "residual connection is missing"),
        ("x + sublayer(norm(x))", "norm(x) + sublayer(norm(x))", "The normalized x is added"),
        ("x + sublayer(norm(x))", "x + sublayer(x)", "norm is not used"),
        ("x + sublayer(norm(x))", "x + norm(sublayer(x))", "around the sub-layer's output"),
        ("x + sublayer(norm(x))", "x + norm(x)", "sub-layer is not used"),
    ],
    "FeedForward": [
        (', activation="relu"', "", "they are one matrix"),
        ("keras.layers.Dense(d)", 'keras.layers.Dense(d, activation="relu")', "only grow"),
        (', activation="relu")\n        self.outer = keras.layers.Dense(d)',
         ')\n        self.outer = keras.layers.Dense(d, activation="relu")', "The relu is at"),
        ('"relu"', '"tanh"', "activation is tanh"),
        ('"relu"', '"gelu"', "activation is gelu"),
        ('"relu"', '"softmax"', "activation is softmax"),
        ("self.outer(self.inner(x))", "self.inner(x)", "`outer` is missing"),
        ("self.outer(self.inner(x))", "x + self.outer(self.inner(x))", "`add_norm` does that"),
        ("Dense(d_ff,", "Dense(2 * d_ff,", "compare the sizes"),
        ("Dense(d)", "Dense(d, use_bias=False)", "leave the biases in"),
    ],
    "EncoderLayer": [
        ("y, y, attention_mask)", "y, y)", "mask is not passed"),
        (_SECOND, _SECOND.replace("norm_2", "norm_1"), "`norm_2` of EncoderLayer is never called"),
        (_SECOND, "return self.feed_forward(self.norm_2(x))", "around the feed-forward"),
        (_FIRST, "y = self.norm_1(x)\n        x = self.attention(y, y, attention_mask)",
         "around attention"),
        (_SECOND, "return x", "`feed_forward` of EncoderLayer is never called"),
        ("y, y, attention_mask", "y, x, attention_mask", "not normal"),
        (_FIRST, "x = self.norm_1(x + self.attention(x, x, attention_mask))\n        return "
         "self.norm_2(x + self.feed_forward(x))", "post-norm"),
        ("LayerNorm()\n        self.dropout", "self.norm_1\n        self.dropout", "are one layer"),
    ],
    "DecoderLayer": [
        ("y, y, self_mask)", "y, y)", "self_mask is not used"),
        ("encoded, cross_mask)", "encoded)", "cross_mask is not used"),
        (_CROSS, "self.cross_attention(y, y, self_mask)", "with self_mask"),
        (_CROSS, "self.cross_attention(y, y)", "Cross-attention looks at x"),
        (_CROSS, "self.attention(y, encoded, cross_mask)",
         "`cross_attention` of DecoderLayer is never called"),
        (_CROSS, "self.cross_attention(y, self.norm_2(encoded), cross_mask)", "once more"),
        ("self.dropout(self.attention(y, y, self_mask))", "0 * y",
         "`attention` of DecoderLayer is never called"),
    ],
    "Transformer": [
        (_BOTH, "padding_mask(target)", "A later word changes"),
        (_BOTH, "causal_mask(ops.shape(target)[1])[None]", "padding of the target is seen"),
        ("layer(x, padding_mask(source))", "layer(x)", "Padding of the source"),
        ("return self.encoder_norm(x)", "return x",
         "`encoder_norm` of Transformer is never called"),
        ("self.projection(self.decoder_norm(x))", "self.projection(x)",
         "`decoder_norm` of Transformer is never called"),
        ("self.projection(self.decoder_norm(x))",
         "ops.softmax(self.projection(self.decoder_norm(x)))", "These are probabilities"),
        ("self.encode(source), source)", "self.encode(source) * 0, source)", "has no influence"),
        ("[EncoderLayer(heads, d, d_ff, rate) for _ in range(n)]",
         "[EncoderLayer(heads, d, d_ff, rate)] * n", "the same layer 2 times"),
        ("x = layer(x, padding_mask(source))",
         "encoded = layer(x, padding_mask(source))\n            x = "
         "encoded if layer is self.encoder_layers[0] else x",
         "Only the first layer of the encoder"),
        ("in self.decoder_layers:", "in self.decoder_layers[::-1]:", "run backwards"),
        ("self.target_embedding(target))", "self.source_embedding(target))",
         "`target_embedding` of Transformer is never called"),
    ],
    "masked_loss": [
        (_MEAN, "ops.mean(costs)", "Padding counts as words"),
        (_MEAN, "ops.mean(costs * is_word)", "divided by all places"),
        (_MEAN, "ops.sum(costs) / ops.sum(is_word)", "costs of padding are in the sum"),
        (_MEAN, "ops.sum(costs * is_word)", "This is the sum"),
        (_MEAN, "ops.sum(costs * is_word) / len(target)", "divided by the sentences"),
        (_MEAN, "ops.mean(ops.sum(costs * is_word, 1) / ops.sum(is_word, 1))", "means"),
        ("not_equal", "equal", "mask is inverted"),
        ("from_logits=True", "from_logits=False", "from_logits=True"),
        (_MEAN, f"-{_MEAN}", "sign is reversed"),
        ("ops.not_equal(target, PADDING)", "target > END", "END is left out|words"),
    ],
    "learning_rate": [
        (' + 1', '', "The first update has the rate 0"),
        (' + 1', ' + 2', "not step + 2"),
        ("ops.minimum", "ops.maximum", "take the minimum"),
        ("d**-0.5 * ", "", "factor D^-0.5 is missing"),
        ("d**-0.5 * ", "d**0.5 * ", "not D^0.5"),
        (_RATE, "d**-0.5 * t * warm_up**-1.5", "It never falls"),
        (_RATE, "d**-0.5 * t**-0.5", "no warm-up"),
        ("warm_up**-1.5", "warm_up**-0.5", "ends too early"),
        ("warm_up**-1.5", "warm_up**-1", "a step down"),
        ("t**-0.5, t *", "t**-1, t *", "falls with 1/t"),
    ],
    "make_step": [
        ("(source, decoder_input)", "(source, target)", "It reads `decoder_input`"),
        ("masked_loss(target,", "masked_loss(decoder_input,", "predicted from itself"),
        (_APPLY, "optimizer.apply_gradients([(-g, w) for g, w in zip(tape.gradient(loss, weights), "
         "weights)])", "The loss grows"),
        (_APPLY, "tape.gradient(loss, weights)", "weights do not change"),
        (_APPLY,
         "g = tape.gradient(loss, weights)\n        optimizer.apply_gradients(zip(g, weights))"
         "\n        optimizer.apply_gradients(zip(g, weights))", "applied twice"),
        (", training=True", "", "pass training=True"),
        ("@tf.function(input_signature=[ids, ids, ids], autograph=False)", "# eager",
         "tf.function is missing"),
        ("input_signature=[ids, ids, ids], ", "", "give an input_signature"),
        ("model.trainable_variables", "model.trainable_variables[:1]", "Only some weights"),
        ("return loss", "pass", "returns None|stopped"),
    ],
    "greedy": [
        ("logits[:, -1]", "logits[:, 0]", "at the last position"),
        ("argmax", "argmin", "argmax of each row"),
        ("written[:, 1:]", "written", "START is not a part"),
        ("1), START", "1), END", "first read START"),
        ("model((source, written))", "model((source, written[:, -1:]))", "not only the last"),
        ("and not ended.all()", "", "goes on after all"),
        ("np.where(ended, PADDING, logits[:, -1].argmax(axis=-1))", "logits[:, -1].argmax(axis=-1)",
         "waits for the others"),
        ("<= length", "< length", "It stops after"),
        ("<= length", "<= length + 2", "`length` is 4"),
        ("logits[:, -1].argmax(axis=-1)", "logits[0, -1].argmax(axis=-1)", "argmax of each row"),
        ("written[:, 1:]", "written[:, 1:] * (written[:, 1:] != END)", "END belongs"),
    ],
}  # fmt: skip
