"""The settings shared by the Transformer's layers, stacks and models."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

from keras_transformer._utils.checks import (
    check_choice,
    check_groups,
    check_optional_size,
    check_positive,
    check_rate,
    check_rotary,
    check_sizes,
    given,
)
from keras_transformer._utils.reading import excerpt

_Constructor = TypeVar("_Constructor", bound=Callable[..., Any])

# Argument names of Keras, KerasHub and tutorials, and the names here.
_OUR_NAMES = {
    "d_ff_inner": "d_ff",
    "dff": "d_ff",
    "dropout": "rate",
    "dropout_rate": "rate",
    "embed_dim": "d_model",
    "intermediate_dim": "d_ff",
    "key_dim": "d_k",
    "num_heads": "h",
    "num_key_value_heads": "h_kv",
    "num_layers": "n",
    "value_dim": "d_v",
}
EPSILON = 1e-5  # default of layer normalization, as in torch.nn.Transformer
NORMALIZATIONS = ("layer", "rms")
RELATIVE_POSITIONS = ("alibi", "t5", "t5_causal")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockSettings:
    """The sizes and options of a Transformer layer, a stack of layers, or a model.

    Layers, stacks and models take it as `settings=`. It is immutable: derive a variant with
    `dataclasses.replace(settings, n=6)`.

    Args:
        h: number of attention heads.
        d_k: size of the queries and keys, per head; `d_model / h` if None, as in the paper.
        d_v: size of the values, per head; `d_model / h` if None.
        d_model: size of the hidden states.
        d_ff: size of the inner layer of the feed-forward networks.
        n: number of layers in a stack. A single layer ignores it.
        rate: dropout rate of the embeddings and of each sub-layer's output.
        activation: activation of the feed-forward networks, as accepted by
            `keras.activations.get`. The default (None) is "gelu" in `Bert` and
            `VisionTransformer`, "relu" elsewhere.
        norm_first: whether to normalize the input of each sub-layer (pre-norm) instead of the
            residual sum (post-norm). A pre-norm stack also normalizes its output. The default
            (None) is pre-norm in `TransformerLanguageModel` and `VisionTransformer`, post-norm
            elsewhere.
        epsilon: number that layer normalization adds to the variance. The default (None) is 1e-12
            in `Bert`, 1e-6 in `VisionTransformer`, 1e-5 elsewhere.
        attention_rate: dropout rate of the attention weights.
        activation_rate: dropout rate of the inner layer of the feed-forward networks.
        rotary_base: base of the rotary position embeddings of self-attention (see
            `rotary_embedding`), which `TransformerModel` and `TransformerLanguageModel` then have
            in place of the sinusoidal encodings; None for none.
        rotary_scaling: numbers that stretch the rotary positions to longer texts (see
            `rotary_embedding`); None for none.
        relative_positions: bias of the self-attention scores that depends on the distance, which
            replaces the sinusoidal encodings like `rotary_base`: "alibi", "t5", or "t5_causal" for
            causal attention (see `RelativeBias`); None for none.
        normalization: "layer", or "rms" for `keras.layers.RMSNormalization`.
        gated: whether the feed-forward networks have a gate (see `FeedForward`): SwiGLU with the
            activation "silu", GEGLU with "gelu".
        h_kv: number of heads of the keys and values, a divisor of `h`, each of which serves
            `h / h_kv` heads of the queries: grouped-query attention, or multi-query attention if
            1. None for `h`.
        window: distance from which on self-attention sees nothing (see `window_mask`); None for no
            limit.
        qk_norm: whether RMS normalization is applied to the queries and keys of each head.
        use_bias: whether the projections and feed-forward networks have biases.
        qkv_bias: whether the projections of queries, keys and values have biases; None as
            `use_bias`.

    Raises:
        ValueError: if a size is not a positive integer, a rate is not in [0, 1), `epsilon` or
            `rotary_base` is not positive, `d_k` or `d_v` is None and `h` does not divide `d_model`,
            `d_k` is odd with rotary position embeddings, `h_kv` does not divide `h`, or a choice is
            unknown.

    References:
        "Attention Is All You Need" (Vaswani et al., 2017), table 3;
        "Root Mean Square Layer Normalization" (Zhang and Sennrich, 2019);
        "GLU Variants Improve Transformer" (Shazeer, 2020);
        "GQA: Training Generalized Multi-Query Transformer Models" (Ainslie et al., 2023);
        "Longformer: The Long-Document Transformer" (Beltagy et al., 2020), section 3.1 (window);
        "Query-Key Normalization for Transformers" (Henry et al., 2020).

    Example:
        >>> settings = kt.BlockSettings(h=4, d_model=64, d_ff=128, n=2, norm_first=True)
        >>> settings.d_k
        16
    """

    h: int
    d_k: int | None = None
    d_v: int | None = None
    d_model: int
    d_ff: int
    n: int = 1
    rate: float = 0.1
    activation: str | None = None
    norm_first: bool | None = None
    epsilon: float | None = None
    attention_rate: float = 0.0
    activation_rate: float = 0.0
    rotary_base: float | None = None
    rotary_scaling: tuple[float, ...] | None = None
    relative_positions: str | None = None
    normalization: str = "layer"
    gated: bool = False
    h_kv: int | None = None
    window: int | None = None
    qk_norm: bool = False
    use_bias: bool = True
    qkv_bias: bool | None = None

    def __post_init__(self):
        for name in ("h", "d_model", "d_ff", "n", "d_k", "d_v"):
            if name in ("d_k", "d_v") and getattr(self, name) is None:
                object.__setattr__(self, name, self._head_size())
            [size] = check_sizes(**{name: getattr(self, name)})
            object.__setattr__(self, name, size)
        check_rate(
            rate=self.rate,
            attention_rate=self.attention_rate,
            activation_rate=self.activation_rate,
        )
        check_positive(**given(epsilon=self.epsilon))
        scaling = check_rotary(self.rotary_base, self.d_k, self.rotary_scaling)
        object.__setattr__(self, "rotary_scaling", scaling)
        check_choice((None, *RELATIVE_POSITIONS), relative_positions=self.relative_positions)
        check_choice(NORMALIZATIONS, normalization=self.normalization)
        object.__setattr__(self, "h_kv", check_groups(self.h, self.h_kv))
        object.__setattr__(self, "window", check_optional_size(window=self.window))

    @property
    def has_encodings(self) -> bool:
        """Whether the embeddings carry the positions, because self-attention does not."""
        return self.rotary_base is None and self.relative_positions is None

    def causal(self) -> Self:
        """Returns a copy for causal self-attention: with "t5_causal" in place of "t5"."""
        if self.relative_positions != "t5":
            return self
        return dataclasses.replace(self, relative_positions="t5_causal")

    def newer(self, known: tuple[str, ...] = ()) -> list[str]:
        """Returns the fields that change the blocks of 2017, apart from `rotary_base`.

        Args:
            known: names of fields to leave out, such as those that an exporter knows.
        """
        changed = [name for name in _NEWER if getattr(self, name) != getattr(BlockSettings, name)]
        return [name for name in changed if name not in known]

    def _head_size(self):
        if self.d_model % self.h:
            raise ValueError(
                "`d_model` must be divisible by the number of heads, `h`: change one of them, or "
                f"set `d_k` and `d_v`. Received: d_model={self.d_model}, h={self.h}"
            )
        return self.d_model // self.h

    def with_defaults(self, **defaults: Any) -> Self:
        """Returns a copy in which fields that are None have the given defaults.

        Args:
            **defaults: a default per field name.

        Returns:
            `BlockSettings`.

        Example:
            >>> settings = kt.BlockSettings(h=2, d_model=8, d_ff=16)
            >>> settings.with_defaults(activation="gelu").activation
            'gelu'
        """
        missing = {name: x for name, x in defaults.items() if getattr(self, name) is None}
        return dataclasses.replace(self, **missing)


def describe_settings(settings):
    """Describes the layers of a Transformer in a line."""
    rotary, relative = settings.rotary_base, settings.relative_positions
    positions = [f"rotary positions of base {rotary:g}"] if rotary else []
    positions += [f"{relative} positions"] if relative else []
    blocks = [f"{x} {getattr(settings, x)}" for x in settings.newer() if x != "relative_positions"]
    sizes = (
        f"{settings.h} heads of {settings.d_k}"
        if settings.d_k == settings.d_v
        else f"{settings.h} heads of d_k {settings.d_k} and d_v {settings.d_v}"
    )
    return (
        f"{settings.n} + {settings.n} layers, d_model {settings.d_model}, {sizes}, "
        f"d_ff {settings.d_ff}, {'pre' if settings.norm_first else 'post'}-norm, "
        f"{', '.join([*(positions or ['sinusoidal positions']), *blocks])}, "
        f"dropout {settings.rate:g}"
    )


SETTING_NAMES = tuple(field.name for field in dataclasses.fields(BlockSettings))
# Fields whose defaults are the blocks of 2017. The fields are in the order of their age.
_NEWER = SETTING_NAMES[SETTING_NAMES.index("rotary_scaling") :]


def names_ours(constructor: _Constructor) -> _Constructor:
    """Decorates a constructor, which then names our argument for one of another library.

    The same for a single field of `BlockSettings` where the constructor takes `settings`. Without
    this, Python or Keras would reject the argument with a message of its own.
    """
    arguments = inspect.signature(constructor).parameters

    @functools.wraps(constructor)
    def checked(self, *args, **kwargs):
        for name, value in kwargs.items():
            if name not in arguments and (ours := _our_argument(name, arguments)):
                raise TypeError(
                    f"{type(self).__name__} has no argument `{name}`: pass {ours}. "
                    f"Received: {name}={excerpt(value)}"
                )
        constructor(self, *args, **kwargs)

    # Keras compares two descriptions of the arguments, one of which ignores what `wraps` sets.
    checked.__signature__ = inspect.signature(constructor)  # type: ignore[attr-defined]
    return cast(_Constructor, checked)


def _our_argument(name, arguments):
    """Returns the code that replaces an argument, or None if there is none."""
    ours = _OUR_NAMES.get(name, name)
    if ours in arguments:
        return f"`{ours}`"
    settings = "settings" in arguments and ours in SETTING_NAMES
    return f"settings=BlockSettings({ours}=...)" if settings else None


BlockSettings.__init__ = names_ours(BlockSettings.__init__)  # type: ignore[method-assign]


def upgrade_config(config):
    """Returns the configuration of a layer or model saved by version 0.1.0 with current names."""
    config = {"d_ff" if name == "d_ff_inner" else name: x for name, x in config.items()}
    if config.get("activation", "linear") is None:  # None now means the model's default
        config["activation"] = "linear"
    return config
