"""Settings of a run's model."""

import dataclasses

from keras_transformer._utils.checks import check_choice, check_positive, check_rate
from keras_transformer.runs._setting import ANY_SIZE, Settings, choices, integers, setting
from keras_transformer.settings import NORMALIZATIONS

RECURRENT = ("bahdanau", "luong")
MODELS = ("transformer", *RECURRENT)
# These also limit what a file from elsewhere can make `make_model` build.
MAX_SIZES = {**dict.fromkeys(("d_model", "d_k", "d_v", "d_ff"), 2**16), "h": 2**10, "n": 2**7}


def _is_own(model):
    return ":" in model or model.endswith(".py")


def _check_model(model):
    if not _is_own(model):
        check_choice(MODELS, model=model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings):
    """The part of a `RunConfig` that describes the model."""

    model: str = setting(
        "transformer",
        "transformer; the recurrent bahdanau or luong with d_model units; or your own, made by "
        "package.module:function or file.py:function (transformer: best)",
        _check_model,
    )
    parent: str | None = setting(
        None,
        "folder of the run, or of the published Marian model, whose weights, vocabularies and "
        "model this run begins with, to adapt it to other data (None: begin anew)",
    )
    d_model: int = setting(
        128, "model size (128: trains in minutes on a CPU)", integers(1, MAX_SIZES["d_model"])
    )
    h: int = setting(4, "number of attention heads (4: head size 32)", integers(1, MAX_SIZES["h"]))
    d_k: int | None = setting(
        None,
        "size of the queries and keys of each head (None: d_model / h, as in the paper)",
        integers(1, MAX_SIZES["d_k"]),
    )
    d_v: int | None = setting(
        None,
        "size of the values of each head (None: d_model / h, as in the paper)",
        integers(1, MAX_SIZES["d_v"]),
    )
    d_ff: int = setting(
        256,
        "hidden size of the feed-forward layers (256: for small corpora)",
        integers(1, MAX_SIZES["d_ff"]),
    )
    n: int = setting(
        2,
        "number of layers in the encoder and the decoder (2: for small corpora)",
        integers(1, MAX_SIZES["n"]),
    )
    rate: float | None = setting(
        None,
        "dropout rate (None: 0.1, as in the paper, but 0 with the bundled corpus, which is seen "
        "only three times)",
        check_rate,
    )
    attention_rate: float = setting(
        0.0, "dropout rate of the attention weights (0: as in the paper)", check_rate
    )
    activation_rate: float = setting(
        0.0, "dropout rate inside the feed-forward layers (0: as in the paper)", check_rate
    )
    activation: str | None = setting(
        None,
        "activation of the feed-forward layers: relu, gelu, silu or swish (None: relu, as in the "
        "paper)",
        choices("relu", "gelu", "silu", "swish"),
    )
    norm_first: bool = setting(
        True, "normalize before each sublayer (True: stable at high learning rates)"
    )
    rotary_base: float | None = setting(
        1000.0,
        "base of rotary position embeddings, or none for the paper's sinusoids (1000: knows the "
        "order of words after fewer updates than sinusoids)",
        check_positive,
    )
    normalization: str = setting(
        "layer",
        "layer or rms, which has no mean and no offset (layer: as in the paper)",
        choices(*NORMALIZATIONS),
    )
    gated: bool = setting(
        False,
        "multiply the feed-forward layers by a gate: SwiGLU with the activation silu, GEGLU with "
        "gelu (False: as in the paper)",
    )
    h_kv: int | None = setting(
        None,
        "number of heads of the keys and values, a divisor of h; 1 is multi-query attention "
        "(None: h, as in the paper)",
        integers(1, MAX_SIZES["h"]),
    )
    qk_norm: bool = setting(
        False, "normalize the queries and keys of each head (False: as in the paper)"
    )
    relative_positions: str | None = setting(
        None,
        "alibi or t5: a bias of self-attention that depends on the distance, meant for "
        "--rotary-base none (None: no bias)",
        choices("alibi", "t5"),
    )
    window: int | None = setting(
        None,
        "distance from which on self-attention sees nothing (None: sees everything)",
        integers(1, ANY_SIZE),
    )
    use_bias: bool = setting(
        True, "add biases in attention and feed-forward layers (True: as in the paper)"
    )
    tie_output: bool = setting(
        True, "share the target embedding with the output layer (True: fewer weights to learn)"
    )
    output_bias: bool = setting(
        False,
        "add a bias to the logits of a shared embedding (False: the embedding learns it)",
    )

    def __post_init__(self):
        super().__post_init__()
        if self.d_model % 2:
            raise ValueError(
                "`d_model` must be even: position encodings pair each sine with a cosine, and each "
                f"direction of a recurrent encoder has half of it. Received: d_model={self.d_model}"
            )

    @property
    def has_own_model(self) -> bool:
        """Whether `model` names a function of the user."""
        return _is_own(self.model)

    @property
    def _architecture(self):
        return "transformer" if self.has_own_model else self.model
