"""Measures the speed of training and decoding on a GPU, and compares training with PyTorch.

Requires JAX, and PyTorch for the comparison, but neither TensorFlow nor network access.

python benchmarks/gpu.py
python benchmarks/gpu.py --sizes tiny --updates 4 --sentences 8     # a quick test on a CPU
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
# PyTorch needs the memory afterwards.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import keras
import numpy as np
from timing import this_version

import keras_transformer as kt
from keras_transformer.backends import backend_module
from keras_transformer.runs.folder import build_run_model

# d_model, h, d_ff, n, tokens per side of a batch, vocabulary size. base and big are from
# "Attention Is All You Need", table 3.
SIZES = {
    "tiny": (32, 2, 64, 1, 256, 200),
    "small": (256, 4, 512, 3, 8192, 8000),
    "base": (512, 8, 2048, 6, 16384, 32000),
    "big": (1024, 16, 4096, 6, 16384, 32000),
}
# Peak TFLOP/s of dense matrix products in bfloat16, from the data sheets.
PEAKS = {"A100": 312, "H100": 989, "H200": 989, "L4": 121, "V100": 125}
SHORTEST, LONGEST = 8, 40  # words per sentence, the upper bound excluded


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", nargs="+", choices=SIZES, default=["small", "base", "big"], help="model sizes"
    )
    parser.add_argument("--updates", type=int, default=100, help="updates per epoch (default: 100)")
    parser.add_argument(
        "--sentences", type=int, default=1024, help="sentences to decode (default: 1024)"
    )
    parser.add_argument(
        "--dtype", default="auto", help="dtype policy (default: mixed_bfloat16 where supported)"
    )
    return parser.parse_args()


def write_pairs(path, tokens, words):
    """Writes pairs of a random sentence and its reverse, about `tokens` tokens per side."""
    random, lines = np.random.default_rng(0), []
    while tokens > 0:
        sentence = [f"w{i}" for i in random.integers(0, words, random.integers(SHORTEST, LONGEST))]
        lines.append(f"{' '.join(sentence)}\t{' '.join(reversed(sentence))}\n")
        tokens -= len(sentence) + 1
    path.write_text("".join(lines), encoding="utf-8")


def train(config, folder):
    """Trains for two epochs with `Trainer`; the first compiles the step for each bucket shape.

    Returns:
        The model, the dataset, the training batches, and the history row of the second epoch.
    """
    keras.utils.set_random_seed(0)
    dataset = kt.PrepareDataset(validation_share=0.03, test_share=0.03)(kt.read_pairs(config.data))
    batches = dataset.batches(dataset.train, seed=0, batch_tokens=config.batch_tokens)
    validation = dataset.batches(dataset.validation, batch_tokens=config.batch_tokens)
    tokenizers = dataset.source_tokenizer, dataset.target_tokenizer
    model = build_run_model(config, tokenizers, config.dtype)
    trainer = kt.Trainer(model, kt.Adam(1e-4), folder, label_smoothing=0.1)
    history, _ = trainer.train(batches, validation, epochs=2)
    return model, dataset, batches, history[-1]


def decode(model, dataset, number, beam_size):
    """Returns the sentences translated per second, after a warm-up call that compiles."""
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


def count_flops(config, dataset, batches):
    """Returns the number of target tokens of an epoch, and of FLOPs of its matrix products.

    Forward, each weight takes two FLOPs per token; backward, twice as many. The same holds for the
    products of queries, keys and values. Padding is not counted.
    """
    d_model, n = config.d_model, config.n
    feed_forward = 2 * d_model * config.d_ff
    words = dataset.target_tokenizer.vocab_size
    tokens, total = 0, 0
    for i in range(len(batches)):
        (source, _), target = batches[i]
        s, t = ((ids != 0).sum(axis=1) for ids in (source, target))
        # Cross-attention adds key and value projections per source token, and projections of
        # the queries and the output per target token.
        tokens += t.sum()
        total += s.sum() * n * (4 * d_model**2 + feed_forward + 2 * d_model**2)
        total += t.sum() * (n * (6 * d_model**2 + feed_forward) + d_model * words)
        total += n * 2 * d_model * (s * s + t * t / 2 + t * s).sum()
    return tokens, 6.0 * total


def matmul_flops(dtype, size):
    """Returns the FLOP/s of a product of two square matrices."""
    import jax

    x = jax.numpy.ones((size, size), "bfloat16" if "bfloat16" in dtype else "float32")
    product = jax.jit(lambda x: x @ x * 1e-4)
    product(x).block_until_ready()
    started, repeats = time.perf_counter(), 10
    for _ in range(repeats):
        x = product(x)
    x.block_until_ready()
    return repeats * 2 * size**3 / (time.perf_counter() - started)


def measure(name, arguments, dtype, peak):
    """Returns the table row of one model size."""
    d_model, h, d_ff, n, batch_tokens, words = SIZES[name]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "pairs.tsv")
        write_pairs(data, 1.1 * arguments.updates * batch_tokens, words)
        config = kt.RunConfig(
            data=str(data), d_model=d_model, h=h, d_ff=d_ff, n=n, rate=0.1, dtype=dtype,
            batch_tokens=batch_tokens, rotary_base=None, optimizer="adam",
        )  # fmt: skip
        model, dataset, batches, history = train(config, Path(folder, "run"))
    tokens, flops = count_flops(config, dataset, batches)
    speed = history["tokens_per_second"]
    share = flops * speed / tokens / peak
    beams = [decode(model, dataset, arguments.sentences, beam) for beam in (1, 4)]
    try:
        torch_speed = f"{train_torch(config, dataset, batches):,.0f}"
    except ImportError:
        torch_speed = "not installed"
    return (
        f"| {name} | {model.count_params():,} | {len(batches)} of {batch_tokens:,} | {speed:,} "
        f"| {share:.1%} | {torch_speed} | {beams[0]:,.0f} | {beams[1]:,.0f} |"
    )


def main():
    arguments = read_arguments()
    device = backend_module().describe_device()
    dtype = arguments.dtype
    if dtype == "auto":
        dtype = "mixed_bfloat16" if device.bfloat16 else "float32"
    on_gpu = keras.distribution.list_devices()[0].startswith(("gpu", "cuda"))
    measured = matmul_flops(dtype, 8192 if on_gpu else 512)
    peak = next((peak * 1e12 for name, peak in PEAKS.items() if name in device.name), measured)
    rows = []
    for name in arguments.sizes:
        rows.append(measure(name, arguments, dtype, peak))
        print(rows[-1], flush=True)  # printed early in case a larger model fails
    print(
        "\n| model | parameters | batches | target tokens/s | share of peak FLOP/s "
        "| PyTorch, target tokens/s | sentences/s, greedy | sentences/s, beam 4 |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    print("\n".join(rows))
    print(
        f"\n{device.name}, {dtype}, {keras.config.backend()} with keras {keras.__version__},",
        f"{', '.join(this_version())}; peak:",
        f"{peak / 1e12:,.1f} TFLOP/s ({'measured' if peak == measured else 'data sheet'}; a matrix",
        f"product reached {measured / 1e12:,.1f}). Training: wall time of the second epoch of",
        f"`Trainer` on random sentences of {SHORTEST} to {LONGEST - 1} words; tokens and FLOPs",
        "exclude padding. Decoding: second call of `Translate`.",
    )


if __name__ == "__main__":
    main()
