"""Checks of properties that every attention layer or sequence model must have.

The checks take functions from arrays to outputs, or any Keras layer or model, of this package or
not. Each returns None, or raises an `AssertionError` that names the position, the largest
difference and the likely cause. They need neither pytest nor a second backend.

Shape letters: B batch, T sequence length, S key length, D vector size.

Example: the causal self-attention of Keras.

    import keras
    import numpy as np

    from keras_transformer import testing

    layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
    x = np.random.normal(size=(2, 6, 16)).astype("float32")

    testing.check_no_future_leak(lambda x: layer(x, x, use_causal_mask=True), x)
    testing.check_gradients(layer, {"query": x, "value": x}, without=("key/bias",))
"""

import json
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import ops

HALF_POLICIES = ("mixed_float16", "mixed_bfloat16")
# An attention weight close to 0 still counts as a dependence. Rounding hardly ever makes a
# difference here, because both outputs are computed by the same program.
_DEPENDS = 1e-6


def check_no_future_leak(full, x, sees_past=True, atol=1e-5):
    """Checks that no output depends on a later input.

    Changes the input at each position in turn, and compares the outputs before and after.

    Args:
        full: function from the input, (B, T, ...), to an output, (B, T, ...), that computes all
            positions at once, without dropout.
        x: float vectors, (B, T, D), or integer ids, (B, T). Each sequence of ids needs at least
            two different ones besides the padding id 0.
        sees_past: whether every output must also depend on its own input and on all earlier ones,
            as under a causal mask. Pass False for a layer that attends to a window.
        atol: largest difference that counts as equal.

    Raises:
        AssertionError: if an output changes with a later input, or does not change with its own or
            an earlier one.

    Example:
        check_no_future_leak(lambda x: layer(x, x, use_causal_mask=True), x)
    """
    y = _numpy(full(x))
    for t in range(x.shape[1]):
        other = _numpy(full(_changed(x, t)))
        change = np.abs(other - y).reshape(*y.shape[:2], -1).max(axis=-1)  # (B, T)
        leaks = change[:, :t].max(axis=0, initial=0.0)
        if not (leaks <= atol).all():
            leak = int(leaks.argmax())
            raise AssertionError(
                f"Future leak: changing the input at position {t} changes the output at position "
                f"{leak} by {leaks[leak]:.2g}, more than {atol:.2g}. Likely cause: the causal mask "
                "is missing, inverted (True must mean: may attend), or shifted by a position."
            )
        sees = change[:, t:].min(axis=0)
        if sees_past and not (sees > _DEPENDS).all():
            blind = int(sees.argmin())
            raise AssertionError(
                f"Blind to the past: changing the input at position {t} changes the output at "
                f"position {t + blind} by only {sees[blind]:.2g}. Likely cause: the mask closes "
                "the position itself (the diagonal must be open) or earlier positions."
            )


def check_padding(full, x, amount=3, atol=1e-5):
    """Checks that padding at the end changes no output.

    Args:
        full: function from the input, (B, S, ...), and a boolean padding mask, (B, S), True where
            the input is not padding, to an output without dropout. The output is (B, S, ...), or
            has a shape that does not depend on S. A model that computes the mask from the ids may
            ignore the second argument.
        x: float vectors, (B, S, D), padded with large random numbers; or integer ids, (B, S),
            padded with 0.
        amount: number of padding positions to append.
        atol: largest difference that counts as equal.

    Raises:
        AssertionError: if the outputs differ.

    Example:
        check_padding(lambda x, mask: layer(x, x, attention_mask=mask[:, None]), x)
    """
    mask = np.ones(x.shape[:2], "bool")
    longer_mask = np.pad(mask, ((0, 0), (0, amount)))
    longer = np.pad(x, [(0, 0), (0, amount)] + [(0, 0)] * (x.ndim - 2))
    if x.ndim > 2:
        longer[:, x.shape[1] :] = (
            9 * np.random.default_rng(0).normal(size=longer.shape)[:, -amount:]
        )
    y, padded = _numpy(full(x, mask)), _numpy(full(longer, longer_mask))
    if padded.shape != y.shape:  # one output for each position
        padded = padded[:, : y.shape[1]]
    difference, index = _largest_difference(padded, y)
    if difference > atol:
        raise AssertionError(
            f"Padding matters: {amount} positions of padding change the output at {index} by "
            f"{difference:.2g}, more than {atol:.2g}. Likely cause: the padding mask is missing, "
            "inverted, or does not reach this layer; or a mean counts the padding."
        )


def check_weights_sum_to_one(weights, attention_mask=None, atol=1e-5):
    """Checks that attention weights are a distribution over the keys that the mask leaves open.

    Args:
        weights: attention weights, (..., T, S).
        attention_mask: boolean, broadcastable to the weights; True = may attend. The weights of a
            query that may attend to no key must all be 0.
        atol: largest difference that counts as equal.

    Raises:
        AssertionError: if a weight is negative or not finite, if it is not 0 at a masked key, or if
            the weights of a query do not sum to 1.

    Example:
        y, weights = layer(x, x, attention_mask=mask, return_attention_scores=True)
        check_weights_sum_to_one(weights, mask)
    """
    weights = _numpy(weights)
    mask = np.ones(1, "bool") if attention_mask is None else _numpy(attention_mask) > 0
    mask = np.broadcast_to(mask, weights.shape)
    for wrong, what, cause in (
        (~np.isfinite(weights), "not finite", "the scores overflow, or the query has no open key"),
        (weights < 0, "negative", "there is no softmax"),
        (~mask & (weights > atol), "not 0 at a masked key", "the mask is missing or inverted"),
    ):
        if wrong.any():
            index = _first(wrong)
            raise AssertionError(
                f"The attention weight at {index} is {what}: {weights[index]:.2g}. Likely cause: "
                f"{cause}."
            )
    sums, expected = weights.sum(axis=-1), mask.any(axis=-1).astype("float32")
    difference, index = _largest_difference(sums, expected)
    if difference > atol:
        raise AssertionError(
            f"The attention weights of the query at {index} sum to {sums[index]:.4g} instead of "
            f"{expected[index]:.0f}. Likely cause: the softmax runs over another axis than that of "
            "the keys, or in half precision."
        )


def check_cache(full, step, cache, x, atol=1e-5):
    """Checks that decoding step by step with a cache computes what the full pass computes.

    Args:
        full: function from the input, (B, T, ...), to the output, (B, T, ...).
        step: function from the input at one position, (B, 1, ...), the cache and the position, an
            integer, to the output, (B, 1, ...) or (B, ...), and the next cache.
        cache: the empty cache: arrays in any structure that `keras.tree` can flatten.
        x: the input, (B, T, ...).
        atol: largest difference that counts as equal.

    Raises:
        AssertionError: if an output differs, or if the cache changes its structure, shapes or
            dtypes.

    Example:
        cache = layer.start(batch_size=2, length=6)
        check_cache(layer, lambda x, cache, index: layer.step(x, index, cache), cache, x)
    """
    y, shapes = _numpy(full(x)), _shapes_and_dtypes(cache)
    for t in range(x.shape[1]):
        output, cache = step(x[:, t : t + 1], cache, t)
        if _shapes_and_dtypes(cache) != shapes:
            raise AssertionError(
                f"The cache changes at position {t} from {shapes} to {_shapes_and_dtypes(cache)}. "
                "A step is traced or compiled again for every new shape. Allocate the cache for "
                "the longest output, and write to it at the position."
            )
        difference, index = _largest_difference(_numpy(output).reshape(y[:, t].shape), y[:, t])
        if difference > atol:
            raise AssertionError(
                f"Cached and uncached outputs differ at position {t} by {difference:.2g}, more "
                f"than {atol:.2g}, most at {index} of the step's output. Likely cause: keys are "
                "written to another position than they are read from, the position encoding starts "
                "at 0 in every step, or the mask opens positions that are not written yet."
            )


def check_save_and_load(layer, inputs, load=keras.saving.load_model, atol=1e-6):
    """Checks that a layer or model computes the same after it is saved to a `.keras` file.

    Args:
        layer: a Keras model, or a layer, which is saved as a model of this one layer.
        inputs: what the model is called on. For a layer: an array, or a dictionary of the
            arguments of its `call` by name.
        load: function from the path of the file to a model, or to a function of the inputs that
            applies it in another process.
        atol: largest difference that counts as equal.

    Raises:
        AssertionError: if it cannot be loaded, or if its configuration or its outputs change.

    Example:
        check_save_and_load(layer, {"query": x, "value": x})
    """
    try:
        config = layer.get_config()
        again = type(layer).from_config(json.loads(json.dumps(config))).get_config()
    except (NotImplementedError, TypeError, ValueError) as error:
        raise AssertionError(
            f"{layer.name} cannot be recreated from its configuration: {error}. Likely cause: "
            "`get_config` lacks an argument of the constructor, or returns something that is not "
            "JSON."
        ) from error
    if json.dumps(again) != json.dumps(config):
        names = sorted(name for name in config if again.get(name) != config[name])
        raise AssertionError(
            f"{layer.name} has another configuration when it is recreated from its own: {names} "
            "differ. Likely cause: `get_config` lacks an argument that has a default, or the "
            "constructor changes an argument before storing it."
        )
    model, values = as_model(layer, inputs)
    expected = _apply(model, values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        try:
            loaded = load(path)
        except (TypeError, ValueError) as error:
            raise AssertionError(
                f"{layer.name} cannot be loaded: {error}. Likely cause: its class is not "
                "registered with `keras.saving.register_keras_serializable`, or its weights are "
                "created in `call` instead of `build`."
            ) from error
        found = _apply(loaded, values) if isinstance(loaded, keras.Model) else loaded(values)
    for y, other in zip(_flat(expected), _flat(found), strict=True):
        difference, index = _largest_difference(_numpy(other), _numpy(y))
        if difference > atol:
            raise AssertionError(
                f"{layer.name} computes something else after loading: the output at {index} "
                f"differs by {difference:.2g}. Likely cause: a variable or a sub-layer is not "
                "tracked, so it is not saved, or `get_config` lacks an argument."
            )


def check_gradients(layer, inputs, without=(), threshold=1e-6):
    """Checks that every trainable variable receives a gradient, and that no other one changes.

    Makes one large step of gradient descent towards random targets, then restores the weights.

    Args:
        layer: a Keras layer or model.
        inputs: see `check_save_and_load`.
        without: ends of the paths of variables whose gradient is zero in theory, such as
            "key/bias" in attention, which shifts all scores of a query equally.
        threshold: smallest change that counts as one.

    Raises:
        AssertionError: if a variable that should change does not, if another one changes, or if
            one is not finite after the step.

    Example:
        check_gradients(layer, {"query": x, "value": x}, without=("key/bias",))
    """
    model, values = as_model(layer, inputs)
    before = model.get_weights()
    train_once(model, values)
    after = model.get_weights()
    model.set_weights(before)
    for variable, old, new in zip(model.weights, before, after, strict=True):
        if not np.isfinite(_numpy(new)).all():
            raise AssertionError(
                f"{variable.path} is not finite after one step. Likely cause: a division by 0, or "
                "a softmax over no key, whose gradient is NaN although the output is finite."
            )
        change = np.abs(_numpy(new) - _numpy(old)).max(initial=0.0)
        learns = variable.trainable and not variable.path.endswith(tuple(without))
        if learns and change <= threshold:
            raise AssertionError(
                f"{variable.path} receives no gradient: it changes by only {change:.2g} in one "
                "step. Likely cause: its output is not used, is multiplied by 0, or passes "
                "through `stop_gradient`, a cast to integers or an argmax."
            )
        if not learns and change > threshold:
            raise AssertionError(
                f"{variable.path} changes by {change:.2g} in one step, and should not. Likely "
                "cause: it is trainable, or `call` updates it."
            )


def check_dtypes(make, inputs, policies=HALF_POLICIES):
    """Checks that outputs and gradients stay finite in half precision.

    The batch holds the inputs, and then the same inputs with all boolean ones set to False: masks
    that let no query attend to any key.

    Args:
        make: function from a dtype policy to a new layer or model.
        inputs: see `check_save_and_load`.
        policies: names of dtype policies.

    Raises:
        AssertionError: if an output is not finite or does not have the compute dtype of the policy
            (float32 is accepted from a model), or if a variable, after a step of gradient descent,
            is not finite or does not have the variable dtype.

    Example:
        check_dtypes(lambda dtype: EncoderLayer(settings=settings, dtype=dtype), x)
    """
    for name in policies:
        policy = keras.DTypePolicy(name)
        layer = make(name)
        model, values = as_model(layer, inputs)
        both = _open_and_closed(values)
        dtypes = {policy.compute_dtype}
        if isinstance(layer, keras.Model):
            dtypes.add("float32")
        size = len(_flat(values)[0])
        _check_outputs(_apply(model, both), dtypes, size, f"in {name}")
        train_once(model, both)
        _check_outputs(_apply(model, both), dtypes, size, f"in {name} after one step")
        for variable in model.weights:
            if not np.isfinite(_numpy(variable)).all():
                raise AssertionError(
                    f"{variable.path} is not finite after one step in {name}. Likely cause: a "
                    "softmax over scores of -inf, or an epsilon that is 0 in float16."
                )
            if "float" in variable.dtype and variable.dtype != policy.variable_dtype:
                raise AssertionError(
                    f"{variable.path} is {variable.dtype} in {name}, not {policy.variable_dtype}. "
                    "Likely cause: it is created with a dtype of its own."
                )


def check_overfit(model, inputs, targets, loss, epochs=100, learning_rate=0.01, below=0.1):
    """Checks that a model can memorize a few examples, such as fifty sentence pairs.

    Trains the model with Adam on all examples at once. The model stays trained and compiled.

    Args:
        model: a Keras model.
        inputs: what the model is called on.
        targets: what the loss compares with its outputs.
        loss: a Keras loss, or its name.
        epochs: number of updates.
        learning_rate: learning rate of Adam.
        below: fraction of the first loss that the last one must not exceed.

    Raises:
        AssertionError: if the loss does not fall far enough.

    Example:
        check_overfit(model, (source, target[:, :-1]), target[:, 1:], MaskedCrossEntropy())
    """
    # XLA takes TensorFlow longer to compile than a small model takes to train.
    jit_compile = keras.config.backend() == "jax"
    model.compile(keras.optimizers.Adam(learning_rate), loss, jit_compile=jit_compile)
    losses = [float(model.train_on_batch(inputs, targets)) for _ in range(epochs)]
    if not losses[-1] <= below * losses[0]:
        raise AssertionError(
            f"The model does not memorize its examples: the loss goes from {losses[0]:.3g} to "
            f"{losses[-1]:.3g} in {epochs} updates, not below {below * losses[0]:.3g}. Likely "
            "cause: the targets do not belong to the inputs (shifted by one?), a mask hides what "
            "determines them, a variable receives no gradient (see `check_gradients`), or the "
            "learning rate is too small or too large."
        )


def as_model(layer, inputs):
    """Returns a Keras model of a layer, and the arrays to call it on.

    Args:
        layer: a Keras layer, or a model, which is returned unchanged.
        inputs: see `check_save_and_load`.

    Returns:
        A functional model that accepts any sequence length, and the list of its input arrays.
    """
    if isinstance(layer, keras.Model):
        if not layer.built:
            layer(inputs)
        return layer, inputs
    named = inputs if isinstance(inputs, dict) else {"x": inputs}
    symbols = {
        name: keras.Input(_open_shape(x), dtype=str(x.dtype), name=name)
        for name, x in named.items()
    }
    y = layer(**symbols) if isinstance(inputs, dict) else layer(symbols["x"])
    return keras.Model(list(symbols.values()), y), list(named.values())


def train_once(model, inputs):
    """Makes one large step of gradient descent towards random targets, without dropout.

    Args:
        model: a Keras model.
        inputs: what the model is called on.
    """
    rows = _Rows(model)
    # JAX compiles one step sooner than each of its operations.
    eagerly = keras.config.backend() != "jax"
    rows.compile(keras.optimizers.SGD(1.0), _noise_loss, run_eagerly=eagerly, auto_scale_loss=False)
    rows.train_on_batch(inputs, np.zeros((len(_flat(inputs)[0]), 1), "float32"))


class _Rows(keras.Model):
    """A model whose outputs are concatenated to one row of numbers for each example."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        # Keras refuses to train a model of which no variable receives a gradient.
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, inputs):
        outputs = _flat(self.model(inputs, training=False))
        rows = [ops.reshape(ops.cast(y, "float32"), (ops.shape(y)[0], -1)) for y in outputs]
        return self.scale * ops.concatenate(rows, axis=-1)


def _noise_loss(_, rows):
    return ops.mean(ops.square(rows - keras.random.normal(ops.shape(rows), seed=0)), axis=-1)


def _apply(model, inputs):
    """The outputs of a model, computed in the way that compiles least."""
    if keras.config.backend() == "jax":
        return model.predict_on_batch(inputs)  # one program instead of one for each operation
    return model(inputs)


def _check_outputs(outputs, dtypes, size, where):
    for y in _flat(outputs):
        dtype = keras.backend.standardize_dtype(y.dtype)
        if dtype not in dtypes:
            raise AssertionError(
                f"An output {where} is {dtype}, not {min(dtypes)}. Likely cause: a cast, or a "
                "sub-layer that does not receive the dtype policy of the layer."
            )
        wrong = ~np.isfinite(_numpy(y))
        if wrong.any():
            row, *index = _first(wrong)
            closed = " for an example that may attend to no key" if row >= size else ""
            raise AssertionError(
                f"The output at {(row % size, *index)} {where} is not finite{closed}. Likely "
                "cause: the mask adds a number that float16 cannot hold (-1e9), or the softmax of "
                "a query that may attend to no key."
            )


def _numpy(x):
    """Any tensor as a float32 array."""
    return ops.convert_to_numpy(x).astype("float32")


def _open_shape(x):
    """The shape of one example of any length: only the size of vectors is fixed."""
    if x.dtype.kind in "bi":
        return (None,) * (x.ndim - 1)
    return (*(None,) * (x.ndim - 2), x.shape[-1])


def _open_and_closed(inputs):
    """The inputs, followed in the same batch by themselves with the boolean ones set to False."""
    if not any(x.dtype == bool for x in _flat(inputs)):
        return inputs
    return keras.tree.map_structure(
        lambda x: np.concatenate([x, np.zeros_like(x) if x.dtype == bool else x]), inputs
    )


def _changed(x, t):
    """The input with another vector, or another id, at position t."""
    changed = np.array(x)
    if x.ndim > 2:
        # One number of the vector, because layer normalization removes a shift of all of them.
        changed[(slice(None), t) + (0,) * (x.ndim - 2)] += 1
        return changed
    for row in changed:
        others = np.setdiff1d(row, [0, row[t]])
        if not len(others):
            raise ValueError(f"Give sequences of at least two different ids. Received: {row}")
        row[t] = others[t % len(others)]
    return changed


def _shapes_and_dtypes(cache):
    return [f"{keras.backend.standardize_dtype(x.dtype)}{tuple(x.shape)}" for x in _flat(cache)]


def _flat(structure):
    return keras.tree.flatten(structure)


def _largest_difference(found, expected):
    """The largest difference of two arrays, infinite if it is NaN, and its index."""
    if found.shape != expected.shape:
        raise AssertionError(f"Shapes differ: {found.shape} instead of {expected.shape}.")
    difference = np.nan_to_num(np.abs(found - expected), nan=np.inf)
    index = np.unravel_index(difference.argmax(), difference.shape)
    return float(difference[index]), tuple(map(int, index))


def _first(wrong):
    return tuple(map(int, np.argwhere(wrong)[0]))
