"""How fast does the small preset train, next to torch.nn.Transformer of the same size?"""

from timing import compare, named, use_one_core

use_one_core()

import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from keras_transformer import RunConfig, TransformerModel  # noqa: E402
from keras_transformer.backend import backend_module  # noqa: E402

B, T, SOURCE_WORDS, TARGET_WORDS = 64, 8, 2011, 3167
CONFIG = RunConfig()


def make_batch():
    random = np.random.default_rng(0)
    source = random.integers(4, SOURCE_WORDS, (B, T), "int32")
    target = random.integers(4, TARGET_WORDS, (B, T + 1), "int32")
    return (source, target[:, :-1]), target[:, 1:]


def make_our_step(dtype):
    size = CONFIG.d_model // CONFIG.h
    model = TransformerModel(
        SOURCE_WORDS, TARGET_WORDS, T, T, CONFIG.h, size, size, CONFIG.d_model, CONFIG.d_ff,
        CONFIG.n, CONFIG.rate, norm_first=True, tie_output=True, dtype=dtype,
    )  # fmt: skip
    model.build(((B, T), (B, T)))
    optimizer = keras.optimizers.Adam(1e-4)
    optimizer.build(model.trainable_variables)
    step = backend_module().TrainingStep(model, optimizer, CONFIG.label_smoothing)
    batches = [make_batch()] * 10
    return lambda: list(step.train(batches))


class TorchModel(torch.nn.Module):
    """The same model of torch's parts.

    It differs in three points: the positions are learned, there are no padding masks (the batch has
    no padding), and the attention weights have dropout as well.
    """

    def __init__(self):
        super().__init__()
        d, h, n = CONFIG.d_model, CONFIG.h, CONFIG.n
        self.source = torch.nn.Embedding(SOURCE_WORDS, d)
        self.target = torch.nn.Embedding(TARGET_WORDS, d)
        self.positions = torch.nn.Parameter(torch.zeros(T, d))
        sizes = (d, h, n, n, CONFIG.d_ff, CONFIG.rate)
        self.body = torch.nn.Transformer(*sizes, batch_first=True, norm_first=True)
        self.mask = self.body.generate_square_subsequent_mask(T)

    def forward(self, source, target):
        scale = CONFIG.d_model**0.5
        source, target = (
            embedding(ids) * scale + self.positions
            for embedding, ids in ((self.source, source), (self.target, target))
        )
        return self.body(source, target, tgt_mask=self.mask) @ self.target.weight.T


def make_torch_step():
    torch.set_num_threads(1)
    model = TorchModel()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=CONFIG.label_smoothing)
    (source, inputs), target = make_batch()
    source, inputs, target = (torch.from_numpy(x.astype("int64")) for x in (source, inputs, target))

    def update():
        for _ in range(10):
            optimizer.zero_grad()
            loss(model(source, inputs).flatten(0, 1), target.flatten()).backward()
            optimizer.step()

    return update


if __name__ == "__main__":
    backend = keras.config.backend()
    dtypes = ("float32", "mixed_bfloat16") if backend == "tensorflow" else ("float32",)
    ours = {
        named(f"keras_transformer {dtype}", "keras", backend): make_our_step(dtype)
        for dtype in dtypes
    }
    compare({**ours, named("torch.nn.Transformer float32", "torch"): make_torch_step()}, rounds=10)
    print("Ten updates of the small preset, 64 pairs of 8 tokens.")
