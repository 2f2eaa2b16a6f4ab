"""Assertions for attention layers and sequence models, in the style of `numpy.testing`.

Each check takes a Keras layer or model, from this package or any other, or a function from arrays
to outputs. It returns None if the property holds. Otherwise it raises an `AssertionError` that
names the position, the largest difference and the likely cause. Neither pytest nor a second backend
is required.

Shape letters: B batch, T sequence length, S key length, D vector size.

Example:
    >>> from keras_transformer import testing
    >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
    >>> x = np.random.default_rng(0).normal(size=(2, 6, 16))
    >>> testing.check_no_future_leak(lambda x: layer(x, x, use_causal_mask=True), x)
    >>> testing.check_gradients(layer, {"query": x, "value": x}, without=("key/bias",))
"""

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import ops

HALF_POLICIES = ("mixed_float16", "mixed_bfloat16")
# Far below the default tolerances, because even a small attention weight is a dependence. Rounding
# rarely reaches this value, because the same program computes both outputs.
_DEPENDENCE_THRESHOLD = 1e-6


def check_no_future_leak(
    full: Callable[..., Any], x: Any, sees_past: bool = True, atol: float = 1e-5
) -> None:
    """Asserts that no output depends on a later input.

    Changes the input at each position in turn and compares the outputs before and after.

    Args:
        full: function that maps the input, (B, T, ...), to the output, (B, T, ...), at all
            positions at once and without dropout.
        x: float vectors, (B, T, D), or integer ids, (B, T). Each sequence of ids needs at least
            two distinct ids other than the padding id 0.
        sees_past: whether every output must also depend on the input at its own and at all earlier
            positions, as under a causal mask. Pass False for sliding-window attention.
        atol: absolute tolerance.

    Raises:
        AssertionError: if an output changes with a later input; with `sees_past`, also if it does
            not change with the input at its own or an earlier position.

    Example:
        >>> from keras_transformer import testing
        >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> x = np.random.default_rng(0).normal(size=(2, 6, 16))
        >>> testing.check_no_future_leak(lambda x: layer(x, x, use_causal_mask=True), x)
        >>> testing.check_no_future_leak(lambda x: layer(x, x), x)
        Traceback (most recent call last):
            ...
        AssertionError: Future leak: changing the input at position 1 changes the output at ...
    """
    y, ignored = _numpy(full(x)), None
    for t in range(x.shape[1]):
        changed = _numpy(full(_changed(x, t)))
        change = np.abs(changed - y).reshape(*y.shape[:2], -1).max(axis=-1)  # (B, T)
        leaks = change[:, :t].max(axis=0, initial=0.0)
        if not (leaks <= atol).all():
            leak = int(leaks.argmax())
            raise AssertionError(
                f"Future leak: changing the input at position {t} changes the output at position "
                f"{leak} by {leaks[leak]:.2g}, more than {atol:.2g}. Likely cause: the causal mask "
                "is missing, inverted (True means may attend), or shifted by one position."
            )
        effects = change[:, t:].min(axis=0)
        if not ignored and not (effects > _DEPENDENCE_THRESHOLD).all():
            ignored = t, t + int(effects.argmin()), effects.min()
    # Reported last: an inverted mask also ignores the past, but the leak names its cause.
    if sees_past and ignored:
        raise AssertionError(
            f"Past ignored: changing the input at position {ignored[0]} changes the output at "
            f"position {ignored[1]} by only {ignored[2]:.2g}. Likely cause: the mask excludes the "
            "position itself (the diagonal must be True) or earlier positions."
        )


def check_inputs_used(full: Callable[..., Any], x: Any) -> None:
    """Asserts that every output depends on every input that is not padding.

    Changes the input at each position in turn, as `check_no_future_leak` does. Use it for encoders
    and for the source of a translator, which every output may read.

    Args:
        full: function that maps the input, (B, S, ...), to the output, (B, T, ...) or (B, D),
            without dropout.
        x: float vectors, (B, S, D), or integer ids, (B, S), padded with 0. Each sequence of ids
            needs at least two distinct ids other than 0.

    Raises:
        AssertionError: if an output does not change with an input.

    Example:
        >>> from keras_transformer import testing
        >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> x = np.random.default_rng(0).normal(size=(2, 6, 16))
        >>> testing.check_inputs_used(lambda x: layer(x, x), x)
        >>> testing.check_inputs_used(lambda x: layer(x, x, use_causal_mask=True), x)
        Traceback (most recent call last):
            ...
        AssertionError: Input ignored: changing the input at position 1 changes the output at ...
    """
    y = _numpy(full(x))
    for s in range(x.shape[1]):
        is_input = x[:, s] != 0 if x.ndim == 2 else np.ones(len(x), "bool")  # not padding
        change = np.abs(_numpy(full(_changed(x, s))) - y)
        length = y.shape[1] if y.ndim > 2 else 1
        change = change.reshape(len(x), length, -1).max(axis=-1)  # (B, T)
        effects = change[is_input].min(axis=0, initial=np.inf)
        if not (effects > _DEPENDENCE_THRESHOLD).all():
            weakest = int(effects.argmin())
            raise AssertionError(
                f"Input ignored: changing the input at position {s} changes the output at position "
                f"{weakest} by only {effects[weakest]:.2g}. Likely cause: the mask is that of "
                "another sequence, inverted, or causal; or the layer reads another input."
            )


def check_padding(full: Callable[..., Any], x: Any, amount: int = 3, atol: float = 1e-5) -> None:
    """Asserts that padding at the end of the sequences changes no output.

    Args:
        full: function that maps the input, (B, S, ...), and a boolean padding mask, (B, S), True
            where the input is not padding, to the output, without dropout. The output is
            (B, S, ...) or has a shape independent of S, such as that of a loss. A model that
            computes the mask from the ids can ignore the second argument.
        x: float vectors, (B, S, D), which are padded with large random numbers; or integer ids,
            (B, S), which are padded with 0.
        amount: number of padding positions to append.
        atol: absolute tolerance.

    Raises:
        AssertionError: if the outputs differ.

    Example:
        >>> from keras_transformer import testing
        >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> x = np.random.default_rng(0).normal(size=(2, 6, 16))
        >>> testing.check_padding(lambda x, mask: layer(x, x, attention_mask=mask[:, None]), x)
        >>> testing.check_padding(lambda x, mask: layer(x, x), x)
        Traceback (most recent call last):
            ...
        AssertionError: Padding changes the output: appending 3 padding positions changes ...
    """
    mask = np.ones(x.shape[:2], "bool")
    longer_mask = np.pad(mask, ((0, 0), (0, amount)))
    longer = np.pad(x, [(0, 0), (0, amount)] + [(0, 0)] * (x.ndim - 2))
    if x.ndim > 2:
        longer[:, x.shape[1] :] = (
            9 * np.random.default_rng(0).normal(size=longer.shape)[:, -amount:]
        )
    y, padded = _numpy(full(x, mask)), _numpy(full(longer, longer_mask))
    if padded.shape != y.shape:  # one output per position
        padded = padded[:, : y.shape[1]]
    difference, index = _largest_difference(padded, y)
    if difference > atol:
        raise AssertionError(
            f"Padding changes the output: appending {amount} padding positions changes the output"
            f"{f' at {index}' if index else ''} by {difference:.2g}, more than {atol:.2g}. Likely "
            "cause: the padding mask is missing, inverted, or not passed to this layer; or a mean "
            "includes the padding."
        )


def check_weights_sum_to_one(weights: Any, attention_mask: Any = None, atol: float = 1e-5) -> None:
    """Asserts that attention weights are a distribution over the unmasked keys.

    Args:
        weights: attention weights, (..., T, S).
        attention_mask: boolean mask, broadcastable to the weights; True = may attend. A fully
            masked query must have weights of 0.
        atol: absolute tolerance.

    Raises:
        AssertionError: if a weight is negative or not finite, if it is not 0 at a masked key, or if
            the weights of a query do not sum to 1.

    Example:
        >>> from keras_transformer import testing
        >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> x, mask = np.ones((2, 6, 16)), np.tri(6, dtype=bool)
        >>> _, weights = layer(x, x, attention_mask=mask, return_attention_scores=True)
        >>> testing.check_weights_sum_to_one(weights, mask)
        >>> testing.check_weights_sum_to_one(weights / 2, mask)
        Traceback (most recent call last):
            ...
        AssertionError: The attention weights of the query at (0, 0, ...) sum to 0.5 ...
    """
    weights = _numpy(weights)
    mask = np.ones(1, "bool") if attention_mask is None else _numpy(attention_mask) > 0
    mask = np.broadcast_to(mask, weights.shape)
    for wrong, what, cause in (
        (
            ~np.isfinite(weights),
            "not finite",
            "the scores overflow, or the query is fully masked",
        ),
        (weights < 0, "negative", "no softmax is applied"),
        (~mask & (weights > atol), "not 0 at a masked key", "the mask is missing or inverted"),
    ):
        if wrong.any():
            index = _first_index(wrong)
            raise AssertionError(
                f"The attention weight at {index} is {what}: {weights[index]:.2g}. Likely cause: "
                f"{cause}."
            )
    sums, expected = weights.sum(axis=-1), mask.any(axis=-1).astype("float32")
    difference, index = _largest_difference(sums, expected)
    if difference > atol:
        raise AssertionError(
            f"The attention weights of the query at {index} sum to {sums[index]:.4g} instead of "
            f"{expected[index]:.0f}. Likely cause: the softmax is not computed over the key axis, "
            "or is computed in half precision."
        )


def check_cache(
    full: Callable[..., Any], step: Callable[..., Any], cache: Any, x: Any, atol: float = 1e-5
) -> None:
    """Asserts that step-by-step decoding with a cache matches the full forward pass.

    Args:
        full: function that maps the input, (B, T, ...), to the output, (B, T, ...).
        step: function that maps the input at one position, (B, 1, ...), the cache and the position,
            an integer, to the output, (B, 1, ...) or (B, ...), and the updated cache.
        cache: the empty cache: arrays in any structure that `keras.tree` can flatten.
        x: the input, (B, T, ...).
        atol: absolute tolerance.

    Raises:
        AssertionError: if an output differs, or if the structure, the shapes or the dtypes of the
            cache change.

    Example:
        >>> from keras_transformer import testing
        >>> x = np.arange(12.0).reshape(2, 6, 1)
        >>> def step(x, cache, index):  # the cumulative sum, with the last sum as the cache
        ...     y = cache + x[:, 0]
        ...     return y, y
        >>> testing.check_cache(lambda x: np.cumsum(x, axis=1), step, np.zeros((2, 1)), x)
    """
    y, shapes = _numpy(full(x)), _shapes_and_dtypes(cache)
    for t in range(x.shape[1]):
        output, cache = step(x[:, t : t + 1], cache, t)
        if _shapes_and_dtypes(cache) != shapes:
            raise AssertionError(
                f"The cache changes at position {t} from {shapes} to {_shapes_and_dtypes(cache)}, "
                "and every new shape is traced and compiled again. Allocate the cache for the "
                "longest output and write to it in place."
            )
        difference, index = _largest_difference(_numpy(output).reshape(y[:, t].shape), y[:, t])
        if difference > atol:
            raise AssertionError(
                f"Cached and uncached outputs differ at position {t} by up to {difference:.2g}, "
                f"more than {atol:.2g}, at {index} of the step's output. Likely cause: keys are "
                "read from a different position than they are written to, the position encoding "
                "starts at 0 in every step, or the mask admits positions that are not written yet."
            )


def check_save_and_load(
    layer: keras.layers.Layer,
    inputs: Any,
    load: Callable[..., Any] = keras.saving.load_model,
    atol: float = 1e-6,
) -> None:
    """Asserts that a layer or model gives the same outputs after saving and loading.

    The configuration must be JSON and survive a round trip. The file has the `.keras` format.

    Args:
        layer: a Keras model, or a layer, which is saved as a model of this layer alone.
        inputs: the inputs to call the model on. For a layer: an array, or a dictionary from the
            names of the arguments of its `call` to arrays.
        load: function that maps the path of the file to a model, or to a function of the inputs,
            for example one that applies the model in another process.
        atol: absolute tolerance.

    Raises:
        AssertionError: if loading fails, or if the configuration or an output changes.

    Example:
        >>> from keras_transformer import testing
        >>> x = np.ones((2, 6, 16), "float32")
        >>> testing.check_save_and_load(kt.LayerNormalization(), x)
    """
    try:
        config = layer.get_config()
        restored = type(layer).from_config(json.loads(json.dumps(config))).get_config()
    except (NotImplementedError, TypeError, ValueError) as error:
        raise AssertionError(
            f"{layer.name} cannot be recreated from its configuration: {error}. Likely cause: "
            "`get_config` lacks a constructor argument, or returns a value that is not JSON."
        ) from error
    if json.dumps(restored) != json.dumps(config):
        names = sorted(name for name in config if restored.get(name) != config[name])
        raise AssertionError(
            f"{layer.name} changes its configuration when recreated from it: {names} differ. "
            "Likely cause: `get_config` lacks an argument that has a default, or the constructor "
            "changes an argument before storing it."
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
        actual = _apply(loaded, values) if isinstance(loaded, keras.Model) else loaded(values)
    for y, reloaded in zip(_flat(expected), _flat(actual), strict=True):
        difference, index = _largest_difference(_numpy(reloaded), _numpy(y))
        if difference > atol:
            raise AssertionError(
                f"{layer.name} has different outputs after loading: the one at {index} differs by "
                f"{difference:.2g}. Likely cause: a variable or a sub-layer is not tracked and "
                "therefore not saved, or `get_config` lacks an argument."
            )


def check_gradients(
    layer: keras.layers.Layer, inputs: Any, without: Iterable[str] = (), threshold: float = 1e-6
) -> None:
    """Asserts that all trainable variables receive a gradient and that no others change.

    Takes one large step of gradient descent toward random targets, then restores the weights.

    Args:
        layer: a Keras layer or model.
        inputs: see `check_save_and_load`.
        without: path suffixes of trainable variables that must not change, because their gradient
            is zero in theory. An example is "key/bias" in attention: it shifts all scores of a
            query equally.
        threshold: smallest absolute difference that counts as a change.

    Raises:
        AssertionError: if a variable that should change does not, if any other variable changes, or
            if a variable is not finite after the step.

    Example:
        >>> from keras_transformer import testing
        >>> layer = keras.layers.MultiHeadAttention(num_heads=2, key_dim=8)
        >>> x = np.random.default_rng(0).normal(size=(2, 6, 16))
        >>> testing.check_gradients(layer, {"query": x, "value": x}, without=("key/bias",))
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
                "a softmax over masked keys only, whose gradient can be NaN where its output is "
                "finite."
            )
        change = np.abs(_numpy(new) - _numpy(old)).max(initial=0.0)
        learns = variable.trainable and not variable.path.endswith(tuple(without))
        if learns and change <= threshold:
            raise AssertionError(
                f"{variable.path} receives no gradient: it changes by only {change:.2g} in one "
                "step. Likely cause: the output of its layer is unused, multiplied by 0, or passed "
                "through `stop_gradient`, a cast to integers or an argmax."
            )
        if not learns and change > threshold:
            raise AssertionError(
                f"{variable.path} changes by {change:.2g} in one step, but should not. Likely "
                "cause: it is trainable, or `call` updates it."
            )


def check_dtypes(
    make: Callable[..., Any], inputs: Any, policies: Iterable[str] = HALF_POLICIES
) -> None:
    """Asserts that outputs and gradients are finite and of the right dtype in half precision.

    If an input is boolean, the batch contains the inputs twice, the second time with these set to
    False: masks that let no query attend to any key.

    Args:
        make: function that maps a dtype policy to a new layer or model.
        inputs: see `check_save_and_load`.
        policies: names of dtype policies.

    Raises:
        AssertionError: if an output is not finite or does not have the compute dtype of the policy
            (a model may also return float32); or if, after one step of gradient descent, a variable
            is not finite or does not have the variable dtype.

    Example:
        >>> from keras_transformer import testing
        >>> x = np.ones((2, 6, 16), "float32")
        >>> testing.check_dtypes(lambda dtype: kt.LayerNormalization(dtype=dtype), x)
    """
    for name in policies:
        policy = keras.DTypePolicy(name)
        layer = make(name)
        model, values = as_model(layer, inputs)
        both = _with_masked_copy(values)
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
                    "softmax over scores that are all -inf, or an epsilon that is 0 in float16."
                )
            if "float" in variable.dtype and variable.dtype != policy.variable_dtype:
                raise AssertionError(
                    f"{variable.path} is {variable.dtype} in {name}, not {policy.variable_dtype}. "
                    "Likely cause: it is created with an explicit dtype."
                )


def check_overfit(
    model: keras.Model,
    inputs: Any,
    targets: Any,
    loss: Any,
    epochs: int = 100,
    learning_rate: float = 0.01,
    below: float = 0.1,
) -> None:
    """Asserts that a model can memorize a few examples, such as fifty sentence pairs.

    Trains the model with Adam on all examples in one batch. The model remains trained and compiled.

    Args:
        model: a Keras model.
        inputs: the inputs of the model.
        targets: the targets of the loss.
        loss: a Keras loss, or its name.
        epochs: number of updates.
        learning_rate: learning rate of Adam.
        below: largest allowed ratio of the last loss to the first.

    Raises:
        AssertionError: if the last loss is too large.

    Example:
        testing.check_overfit(
            model, (source, target[:, :-1]), target[:, 1:], kt.MaskedCrossEntropy()
        )
    """
    # With TensorFlow, compiling with XLA takes longer than training a small model without it.
    jit_compile = keras.config.backend() == "jax"
    model.compile(keras.optimizers.Adam(learning_rate), loss, jit_compile=jit_compile)
    losses = [float(model.train_on_batch(inputs, targets)) for _ in range(epochs)]
    if not losses[-1] <= below * losses[0]:
        raise AssertionError(
            f"The model does not memorize the examples: the loss goes from {losses[0]:.3g} to "
            f"{losses[-1]:.3g} in {epochs} updates, not below {below * losses[0]:.3g}. Likely "
            "cause: the targets do not match the inputs (shifted by one?), a mask hides the inputs "
            "that determine them, a variable receives no gradient (see `check_gradients`), or the "
            "learning rate is too small or too large."
        )


def as_model(layer: keras.layers.Layer, inputs: Any) -> tuple[keras.Model, list[Any]]:
    """Wraps a layer in a functional model.

    Args:
        layer: a Keras layer, or a model, which is returned unchanged.
        inputs: see `check_save_and_load`.

    Returns:
        A functional model that accepts any sequence length, and the list of its input arrays. If
        `layer` is a model: the model and `inputs`, unchanged.

    Example:
        >>> from keras_transformer import testing
        >>> x = np.ones((2, 6, 16), "float32")
        >>> model, inputs = testing.as_model(keras.layers.Dense(4), x)
        >>> model.output_shape
        (None, None, 4)
    """
    if isinstance(layer, keras.Model):
        if not layer.built:
            layer(inputs)
        return layer, inputs
    named = inputs if isinstance(inputs, dict) else {"x": inputs}
    symbols = {
        name: keras.Input(_example_shape(x), dtype=str(x.dtype), name=name)
        for name, x in named.items()
    }
    y = layer(**symbols) if isinstance(inputs, dict) else layer(symbols["x"])
    return keras.Model(list(symbols.values()), y), list(named.values())


def train_once(model: keras.Model, inputs: Any) -> None:
    """Takes one large step of gradient descent toward random targets, without dropout.

    Args:
        model: a Keras model.
        inputs: the inputs of the model.
    """
    flat = _FlatOutputs(model)
    # With JAX, compiling one step is faster than compiling each operation of an eager step.
    eager = keras.config.backend() != "jax"
    flat.compile(keras.optimizers.SGD(1.0), _noise_loss, run_eagerly=eager, auto_scale_loss=False)
    flat.train_on_batch(inputs, np.zeros((len(_flat(inputs)[0]), 1), "float32"))


class _FlatOutputs(keras.Model):
    """Wraps a model and concatenates all of its outputs into one vector per example."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        # Keras raises an error if no variable at all receives a gradient. This one always does.
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, inputs):
        outputs = _flat(self.model(inputs, training=False))
        rows = [ops.reshape(ops.cast(y, "float32"), (ops.shape(y)[0], -1)) for y in outputs]
        return self.scale * ops.concatenate(rows, axis=-1)


def _noise_loss(_, outputs):
    noise = keras.random.normal(ops.shape(outputs), seed=0)
    return ops.mean(ops.square(outputs - noise), axis=-1)


def _apply(model, inputs):
    """Returns the outputs of a model, with as little compilation as possible."""
    if keras.config.backend() == "jax":
        return model.predict_on_batch(inputs)  # compiles once instead of once per operation
    return model(inputs)


def _check_outputs(outputs, dtypes, size, where):
    for y in _flat(outputs):
        dtype = keras.backend.standardize_dtype(y.dtype)
        if dtype not in dtypes:
            raise AssertionError(
                f"An output {where} is {dtype}, not {min(dtypes)}. Likely cause: a cast, or a "
                "sub-layer that is created without the dtype policy of the layer."
            )
        wrong = ~np.isfinite(_numpy(y))
        if wrong.any():
            row, *index = _first_index(wrong)
            masked = " for an example that may attend to no key" if row >= size else ""
            raise AssertionError(
                f"The output at {(row % size, *index)} {where} is not finite{masked}. Likely "
                "cause: the mask adds a number that float16 cannot hold (-1e9), or the softmax of "
                "a query that may attend to no key."
            )


def _numpy(x):
    """Converts a tensor of any dtype to a float32 array."""
    return ops.convert_to_numpy(x).astype("float32")


def _example_shape(x):
    """Returns the shape of one example, with every axis but that of the vectors left open."""
    if x.dtype.kind in "bi":
        return (None,) * (x.ndim - 1)
    return (*(None,) * (x.ndim - 2), x.shape[-1])


def _with_masked_copy(inputs):
    """Appends to the batch a copy of it in which all boolean inputs are False."""
    if not any(x.dtype == bool for x in _flat(inputs)):
        return inputs
    return keras.tree.map_structure(
        lambda x: np.concatenate([x, np.zeros_like(x) if x.dtype == bool else x]), inputs
    )


def _changed(x, t):
    """Returns a copy of the input with a different vector or id at position t."""
    changed = np.array(x)
    if x.ndim > 2:
        # Change only one component: layer normalization would undo a shift of the whole vector.
        changed[(slice(None), t) + (0,) * (x.ndim - 2)] += 1
        return changed
    for row in changed:
        others = np.setdiff1d(row, [0, row[t]])
        if not len(others):
            raise ValueError(
                "Each sequence must contain at least two different ids other than the padding id "
                f"0. Received: {row}"
            )
        row[t] = others[t % len(others)]
    return changed


def _shapes_and_dtypes(cache):
    return [f"{keras.backend.standardize_dtype(x.dtype)}{tuple(x.shape)}" for x in _flat(cache)]


def _flat(structure):
    return keras.tree.flatten(structure)


def _largest_difference(actual, expected):
    """Returns the largest absolute difference, NaN counting as infinite, and its index."""
    if actual.shape != expected.shape:
        raise AssertionError(f"Shapes differ: {actual.shape} instead of {expected.shape}.")
    difference = np.nan_to_num(np.abs(actual - expected), nan=np.inf)
    index = np.unravel_index(difference.argmax(), difference.shape)
    return float(difference[index]), tuple(map(int, index))


def _first_index(wrong):
    return tuple(map(int, np.argwhere(wrong)[0]))
