"""Settings of a run's training: batches, optimizer, loss and what is kept."""

import dataclasses

from keras_transformer._utils.checks import check_positive, check_rate
from keras_transformer.runs._setting import ANY_SIZE, Settings, choices, integers, setting

MAX_BATCH_SIZE = 2**16
MAX_EPOCHS = 10**6
DTYPES = ("auto", "float32", "mixed_bfloat16", "mixed_float16")
DECAYS = ("linear", "inverse_sqrt")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """The part of a `RunConfig` that describes the training."""

    epochs: int | None = setting(
        None,
        "maximum number of epochs (None: those of some 1,600 updates, at least 3, at most 15)",
        integers(1, MAX_EPOCHS),
    )
    batch_size: int = setting(
        96,
        "sentence pairs per batch (96: enough updates within a few epochs)",
        integers(1, MAX_BATCH_SIZE),
    )
    batch_tokens: int | None = setting(
        None,
        "tokens per batch on each side, padding included (None: use batch_size)",
        integers(1, 2**20),
    )
    accumulation: int = setting(
        1,
        "accumulate gradients over this many batches per update, to save memory (1: no need)",
        integers(1, 10**6),
    )
    optimizer: str = setting(
        "auto",
        "adam, as in the paper; muon, which makes the updates of the matrices of the layers "
        "orthogonal and needs fewer of them; or auto (auto: muon for a Transformer, else adam)",
        choices("auto", "adam", "muon"),
    )
    warmup_steps: int = setting(
        200,
        "updates until the peak learning rate; with linear decay at most a fifth of the run "
        "(200: within one epoch)",
        integers(1, ANY_SIZE),
    )
    decay: str = setting(
        "linear",
        "learning rate after its peak: linear, to 0 at the end of the last epoch, or inverse_sqrt, "
        "the paper's (linear: better in few epochs)",
        choices(*DECAYS),
    )
    learning_rate_scale: float | None = setting(
        None,
        "factor on the paper's learning rate (None: the best: 1.1; with adam 0.64; bahdanau 3; "
        "luong 1.2)",
        check_positive,
    )
    label_smoothing: float = setting(
        0.1, "probability spread over the whole vocabulary (0.1: as in the paper)", check_rate
    )
    clip_norm: float | None = setting(
        None,
        "maximum global norm of the gradients (None: trains well without clipping)",
        check_positive,
    )
    ema: float = setting(
        0.0, "momentum of the EMA of the weights, which then replaces them (0: no EMA)", check_rate
    )
    monitor: str = setting(
        "loss",
        "what selects the best epoch: validation loss or bleu (loss: takes no extra time)",
        choices("loss", "bleu"),
    )
    patience: int = setting(
        5,
        "early stopping: epochs without improvement (5: the loss fluctuates)",
        integers(1, ANY_SIZE),
    )
    keep_weights: int = setting(
        0,
        "keep the weights of this many last epochs for checkpoint averaging (0: only the best)",
        integers(0, ANY_SIZE),
    )
    freeze: str | None = setting(
        None,
        "part that keeps its weights: encoder, with the source embedding unless it is shared "
        "(None: all are trained)",
        choices("encoder"),
    )
    lora: int | None = setting(
        None,
        "rank of the adapters that are trained in place of all weights, with --from; they are "
        "merged with the weights and also written apart (None: all weights are trained)",
        integers(1, 4096),
    )
    dtype: str = setting(
        "auto",
        "float32, mixed_bfloat16, mixed_float16 or auto (auto: mixed_bfloat16 where it is fast)",
        choices(*DTYPES),
    )
    tensorboard: bool = setting(
        False, "also write TensorBoard logs (needs the package tensorboard)"
    )

    def __post_init__(self):
        super().__post_init__()
        if self.accumulation > 1 and self.dtype == "mixed_float16":
            raise ValueError(
                "Gradient accumulation is wrong with mixed_float16, because Keras does not count "
                "batches whose gradients overflow: set accumulation=1 or dtype=mixed_bfloat16. "
                f"Received: accumulation={self.accumulation}, dtype=mixed_float16"
            )
