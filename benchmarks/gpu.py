"""How fast do training and decoding run on this machine's accelerator, next to torch?

It needs JAX, and torch for the comparison; neither TensorFlow nor a network.

python benchmarks/gpu.py
python benchmarks/gpu.py --sizes tiny --updates 4 --sentences 8     # tries it out on a CPU
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
# torch uses the same memory afterwards.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import keras
import numpy as np

import keras_transformer as kt
from keras_transformer.backends import backend_module
from keras_transformer.runs.folder import make_model

# d_model, h, d_ff, n, tokens in a batch on each side, number of words. base and big are those of
# "Attention Is All You Need", table 3.
SIZES = {
    "tiny": (32, 2, 64, 1, 256, 200),
    "small": (256, 4, 512, 3, 8192, 8000),
    "base": (512, 8, 2048, 6, 16384, 32000),
    "big": (1024, 16, 4096, 6, 16384, 32000),
}
# Dense products in bfloat16, 1e12 operations a second, as the manufacturer gives them.
PEAKS = {"A100": 312, "H100": 989, "H200": 989, "L4": 121, "V100": 125}
SHORTEST, LONGEST = 8, 40  # words of a sentence


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["small", "base", "big"])
    parser.add_argument("--updates", type=int, default=100, help="of an epoch (default: 100)")
    parser.add_argument("--sentences", type=int, default=1024, help="to decode (default: 1024)")
    parser.add_argument("--dtype", default="auto", help="default: mixed_bfloat16 on a GPU")
    return parser.parse_args()


def write_pairs(path, tokens, words):
    """Writes random sentences and the same backwards, with about so many tokens on each side."""
    random, lines = np.random.default_rng(0), []
    while tokens > 0:
        sentence = [f"w{i}" for i in random.integers(0, words, random.integers(SHORTEST, LONGEST))]
        lines.append(f"{' '.join(sentence)}\t{' '.join(reversed(sentence))}\n")
        tokens -= len(sentence) + 1
    path.write_text("".join(lines), encoding="utf-8")


def train(config, folder):
    """Trains two epochs by the public loop; returns the model, the data and the last epoch's row.

    The first epoch compiles the step, once for each length.
    """
    keras.utils.set_random_seed(0)
    dataset = kt.PrepareDataset(validation_share=0.03, test_share=0.03)(kt.read_pairs(config.data))
    batches = dataset.batches(dataset.train, seed=0, batch_tokens=config.batch_tokens)
    validation = dataset.batches(dataset.validation, batch_tokens=config.batch_tokens)
    tokenizers = dataset.source_tokenizer, dataset.target_tokenizer
    model = make_model(config, *tokenizers, config.dtype)
    trainer = kt.Trainer(model, kt.Adam(1e-4), folder, label_smoothing=0.1)
    history, _ = trainer.train(batches, validation, epochs=2)
    return model, dataset, batches, history[-1]


def decode(model, dataset, number, beam_size):
    """Returns the sentences translated per second, after a first call that compiles."""
    translate = kt.Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    sources = [source for source, _ in dataset.train[:number]]
    translate(sources, beam_size=beam_size)
    started = time.perf_counter()
    translate(sources, beam_size=beam_size)
    return len(sources) / (time.perf_counter() - started)


def train_torch(config, dataset, batches):
    """Returns the target tokens per second of `torch.nn.Transformer` on the same batches."""
    import torch
    from torch_model import TorchModel, to_tensors, update

    device = "cuda" if torch.cuda.is_available() else "cpu"
    words = dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size
    model = TorchModel(config, words, max(batches.shapes) + 1, config.rate).train().to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=device == "cuda")
    loss = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    bfloat16 = config.dtype == "mixed_bfloat16"

    def epoch():
        tokens, started = 0, time.perf_counter()
        for i in range(len(batches)):
            batch = batches[i]
            tokens += int((batch[1] != 0).sum())
            update(model, optimizer, loss, to_tensors(batch, device), bfloat16)
        if device == "cuda":
            torch.cuda.synchronize()
        return tokens / (time.perf_counter() - started)

    epoch()
    return epoch()


def work(config, dataset, batches):
    """Returns the target tokens of an epoch, and the operations of its matrix products.

    Two for each weight and token, and twice as many backwards; likewise for the products of
    queries, keys and values. Padding is left out.
    """
    d_model, n = config.d_model, config.n
    feed_forward = 2 * d_model * config.d_ff
    words = dataset.target_tokenizer.vocab_size
    tokens, total = 0, 0
    for i in range(len(batches)):
        (source, _), target = batches[i]
        s, t = ((ids != 0).sum(axis=1) for ids in (source, target))
        # The decoder has keys and values of the source as well, and queries of its own for them.
        tokens += t.sum()
        total += s.sum() * n * (4 * d_model**2 + feed_forward + 2 * d_model**2)
        total += t.sum() * (n * (6 * d_model**2 + feed_forward) + d_model * words)
        total += n * 2 * d_model * (s * s + t * t / 2 + t * s).sum()
    return tokens, 6.0 * total


def product_rate(dtype, size):
    """Operations a second of a product of two matrices of this size."""
    import jax

    x = jax.numpy.ones((size, size), "bfloat16" if "bfloat16" in dtype else "float32")
    product = jax.jit(lambda x: x @ x * 1e-4)
    product(x).block_until_ready()
    started, times = time.perf_counter(), 10
    for _ in range(times):
        x = product(x)
    x.block_until_ready()
    return times * 2 * size**3 / (time.perf_counter() - started)


def measure(name, arguments, dtype, peak):
    """Returns the row of the table for one of `SIZES`."""
    d_model, h, d_ff, n, batch_tokens, words = SIZES[name]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "pairs.tsv")
        write_pairs(data, 1.1 * arguments.updates * batch_tokens, words)
        config = kt.RunConfig(
            data=str(data), d_model=d_model, h=h, d_ff=d_ff, n=n, rate=0.1, dtype=dtype,
            batch_tokens=batch_tokens,
        )  # fmt: skip
        model, dataset, batches, history = train(config, Path(folder, "run"))
    tokens, operations = work(config, dataset, batches)
    speed = history["tokens_per_second"]
    share = operations * speed / tokens / peak
    beams = [decode(model, dataset, arguments.sentences, beam) for beam in (1, 4)]
    try:
        torch = f"{train_torch(config, dataset, batches):,.0f}"
    except ImportError:
        torch = "not installed"
    return (
        f"| {name} | {model.count_params():,} | {len(batches)} of {batch_tokens:,} | {speed:,} "
        f"| {share:.1%} | {torch} | {beams[0]:,.0f} | {beams[1]:,.0f} |"
    )


def main():
    arguments = read_arguments()
    device = backend_module().describe_device()
    dtype = arguments.dtype
    if dtype == "auto":
        dtype = "mixed_bfloat16" if device.bfloat16 else "float32"
    on_gpu = keras.distribution.list_devices()[0].startswith(("gpu", "cuda"))
    rate = product_rate(dtype, 8192 if on_gpu else 512)
    peak = next((peak * 1e12 for name, peak in PEAKS.items() if name in device.name), rate)
    rows = []
    for name in arguments.sizes:
        rows.append(measure(name, arguments, dtype, peak))
        print(rows[-1], flush=True)  # what follows may be cut off
    print("\n| model | parameters | batches | target tokens/s | share of peak | torch's tokens/s "
          "| sentences/s, greedy | beam 4 |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    print("\n".join(rows))
    print(
        f"\n{device.name}, {dtype}, {keras.config.backend()} with keras {keras.__version__}; peak:",
        f"{peak / 1e12:,.1f} TFLOP/s ({'measured' if peak == rate else 'of the manufacturer'};",
        f"a product of two matrices ran at {rate / 1e12:,.1f}). Wall time of the second epoch of",
        f"`Trainer`, from a file of random sentences of {SHORTEST} to {LONGEST - 1} words; tokens",
        "and operations without padding. Sentences: by `Translate`, at the second call.",
    )


if __name__ == "__main__":
    main()
