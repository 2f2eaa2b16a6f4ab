"""Low-rank adapters (LoRA), with which a model is adapted by training few weights."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
from keras import ops
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from keras_transformer._utils.checks import check_integers, check_positive, given
from keras_transformer._utils.files import atomic_replace
from keras_transformer._utils.reading import check_regular, excerpt
from keras_transformer._utils.types import PathLike
from keras_transformer.layers._block import TransformerStack
from keras_transformer.layers._parts import walk

_MAX_RANK = 4096
_PARTS = ("a", "b")


def enable_lora(model: keras.Model, rank: int, alpha: float | None = None) -> None:
    """Makes low-rank adapters the only weights of a model that are trained.

    Each dense layer of its Transformer layers then computes xW + (α / rank)·xAB, where W is frozen
    and A and B have `rank` columns and rows. B is zero at first, so the model computes what it did.
    The adapters are merged with the weights wherever the model is saved, so that the file is that
    of an ordinary model; `save_lora` writes them apart.

    Args:
        model: a built model with an encoder or a decoder.
        rank: size of the adapters.
        alpha: α, the scale of the adapters; None for `rank`.

    Raises:
        ValueError: if the rank is not an integer from 1 to 4096, the model is not built, has
            no Transformer layers, or has adapters.

    References:
        "LoRA: Low-Rank Adaptation of Large Language Models" (Hu et al., 2022), section 4.1.

    Example:
        model = kt.TransformerLanguageModel.from_pretrained("SmolLM2-135M")
        kt.enable_lora(model, rank=8)
        model.compile(keras.optimizers.Adam(1e-4), kt.MaskedCrossEntropy())
    """
    check_integers(1, _MAX_RANK, rank=rank)
    check_positive(**given(alpha=alpha))
    layers = dense_layers(model)
    if not model.built or not layers or any(layer.lora_enabled for layer in layers):
        raise ValueError(
            "Adapters are added once to a built model with Transformer layers. "
            f"Received: {type(model).__name__}, built={model.built}, {len(layers)} dense layers, "
            f"{sum(layer.lora_enabled for layer in layers)} with adapters"
        )
    for variable in model.trainable_variables:
        variable.trainable = False
    for layer in layers:
        layer.enable_lora(rank, alpha)


def save_lora(model: keras.Model, path: PathLike) -> None:
    """Writes the adapters of a model to a `safetensors` file.

    Args:
        model: a model after `enable_lora`.
        path: path of the file.

    Raises:
        ValueError: if the model has no adapters.

    Example:
        kt.save_lora(model, "adapters.safetensors")
    """
    layers = dense_layers(model)
    if not has_lora(model):
        raise ValueError(f"Call `enable_lora` first. Received: {type(model).__name__}")
    arrays = {
        f"{i}.{part}": ops.convert_to_numpy(getattr(layer, f"lora_kernel_{part}"))
        for i, layer in enumerate(layers)
        for part in _PARTS
    }
    metadata = {"rank": str(layers[0].lora_rank), "alpha": str(float(layers[0].lora_alpha))}
    with atomic_replace(path) as temporary:
        save_file(arrays, temporary, metadata)


@contextlib.contextmanager
def merged_in_float32(model: Any) -> Iterator[None]:
    """Lets Keras merge adapters without rounding while the model is saved in the `with` block.

    Otherwise it saves the merged weights in the dtype of the computations.
    """
    layers = [layer for layer in dense_layers(model) if layer.lora_enabled]
    policies = [layer.dtype_policy for layer in layers]
    try:
        for layer in layers:
            layer.dtype_policy = "float32"
        yield
    finally:
        for layer, policy in zip(layers, policies, strict=True):
            layer.dtype_policy = policy


class AdaptableModel(keras.Model):
    """A model that is saved with its adapters merged in float32, whatever it computes in."""

    def save(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Saves the model, see `keras.Model.save`."""
        with merged_in_float32(self):
            super().save(filepath, *args, **kwargs)

    def save_weights(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Saves the weights, see `keras.Model.save_weights`."""
        with merged_in_float32(self):
            super().save_weights(filepath, *args, **kwargs)


def load_lora(model: keras.Model, path: PathLike) -> None:
    """Reads adapters that `save_lora` wrote for a model of the same sizes.

    Args:
        model: a built model, without adapters or with adapters of the same rank and `alpha`.
        path: path of the file.

    Raises:
        FileNotFoundError: if the file does not exist.
        ValueError: if the file is damaged or belongs to another model, or the model has other
            adapters.

    Example:
        model = kt.TransformerLanguageModel.from_pretrained("SmolLM2-135M")
        kt.load_lora(model, "adapters.safetensors")
        model.save("merged.keras")
    """
    check_regular(path)
    try:
        with safe_open(Path(path), framework="numpy") as file:
            rank, alpha = _read_numbers(file.metadata() or {}, path)
            layers = dense_layers(model)
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            expected: dict[str, tuple[int, int]] = {}
            for i, layer in enumerate(layers):
                rows, columns = layer.kernel.shape
                expected |= {f"{i}.a": (rows, rank), f"{i}.b": (rank, columns)}
            if found != expected:
                raise ValueError(
                    f"{path} has adapters of another model. Received: {excerpt(found)}"
                )
            if not has_lora(model):
                enable_lora(model, rank, alpha)
            if any((x.lora_rank, x.lora_alpha) != (rank, alpha) for x in layers):
                raise ValueError(
                    "The model has other adapters: load these into a model without adapters. "
                    f"Received: rank={rank}, alpha={alpha}"
                )
            for i, layer in enumerate(layers):
                for part in _PARTS:
                    getattr(layer, f"lora_kernel_{part}").assign(file.get_tensor(f"{i}.{part}"))
    except SafetensorError as error:
        raise ValueError(
            f"{path} is damaged: write it again with `save_lora` ({excerpt(str(error))}). "
            f"Received: {path}"
        ) from None


def has_lora(model: Any) -> bool:
    """Returns whether a model has adapters."""
    return any(layer.lora_enabled for layer in dense_layers(model))


def _read_numbers(metadata, path):
    try:
        rank, alpha = int(metadata["rank"]), float(metadata["alpha"])
    except (KeyError, ValueError):
        raise ValueError(
            f"{path} must be written by `save_lora`. Received: {excerpt(metadata)}"
        ) from None
    check_integers(1, _MAX_RANK, rank=rank)
    check_positive(alpha=alpha)
    return rank, alpha


def dense_layers(model):
    """Returns the dense layers of the Transformer layers, each once."""
    stacks = [part for part in walk(model) if isinstance(part, TransformerStack)]
    layers = [part for stack in stacks for part in walk(stack)]
    return list({id(x): x for x in layers if isinstance(x, keras.layers.Dense)}.values())
