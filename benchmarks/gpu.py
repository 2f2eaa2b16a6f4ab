"""Measures training and decoding on a GPU, beside PyTorch, and where the time of a step goes.

Requires JAX, and PyTorch and transformers for the comparisons, but neither TensorFlow nor network
access. The rows are printed as they are measured, so that a time limit costs only the last ones.

python benchmarks/gpu.py
python benchmarks/gpu.py --sizes tiny --language-model tiny --updates 4 --sentences 8   # on a CPU
"""

import argparse
import contextlib
import dataclasses
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
# PyTorch needs the memory afterwards.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import keras
import numpy as np
from timing import this_version

import keras_transformer as kt
from keras_transformer.backends import backend_module
from keras_transformer.objectives.metrics import loss_and_totals
from keras_transformer.runs.folder import build_run_model


@dataclasses.dataclass(frozen=True)
class Size:
    d_model: int
    h: int
    d_ff: int
    n: int
    batch_tokens: int  # per side
    words: int
    length: int = 0  # of the texts of a language model


# small, base and big: "Attention Is All You Need", table 3. gpt2: "Language Models are Unsupervised
# Multitask Learners", table 2.
SIZES = {
    "tiny": Size(32, 2, 64, 1, 256, 200),
    "small": Size(256, 4, 512, 3, 8192, 8000),
    "base": Size(512, 8, 2048, 6, 16384, 32000),
    "big": Size(1024, 16, 4096, 6, 16384, 32000),
}
LANGUAGE_MODELS = {
    "tiny": Size(32, 2, 64, 1, 64, 200, 16),
    "gpt2": Size(768, 12, 3072, 12, 16 * 1024, 50304, 1024),
}
# Peak TFLOP/s of dense matrix products in bfloat16, from the data sheets.
PEAKS = {"A100": 312, "H100": 989, "H200": 989, "L4": 121, "V100": 125}
SHORTEST, LONGEST = 8, 40  # words per sentence, the upper bound excluded
DECODED = 24  # tokens per sentence
STEPS = 20  # timed steps of one batch
# What the names of kernels contain, by kind; the first match counts.
KINDS = {
    "attention": r"fmha|flash|sdpa|mha",
    "products": r"gemm|cutlass|cublas|dot|nvjet|wgmma",
    "optimizer": r"adam|optimizer|multi_tensor",
    "copies": r"copy|memcpy|memset|transpose",
    "other": "",
}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=["base"])
    parser.add_argument("--language-model", choices=LANGUAGE_MODELS, default="gpt2")
    parser.add_argument("--updates", type=int, default=60, help="updates per epoch (default: 60)")
    parser.add_argument("--sentences", type=int, default=256, help="to decode (default: 256)")
    parser.add_argument(
        "--dtype", default="auto", help="dtype policy (default: mixed_bfloat16 where supported)"
    )
    parser.add_argument("--first-update", help=argparse.SUPPRESS)  # folder with pairs.tsv
    return parser.parse_args()


# Rows


class Table:
    """Prints rows as they are measured; a part that fails prints its error instead."""

    def __init__(self, peak):
        self.peak = peak
        print("| what | ms | tokens/s | MFU | memory, GB | remarks |\n|---|---|---|---|---|---|")

    def add(self, what, seconds=None, tokens=0, flops=0, remark="", memory=None):
        speed = f"{tokens / seconds:,.0f}" if seconds and tokens else ""
        share = f"{flops / seconds / self.peak:.1%}" if seconds and flops else ""
        ms = f"{1e3 * seconds:,.1f}" if seconds else ""
        gigabytes = f"{memory / 1e9:.2f}" if memory else ""
        print(f"| {what} | {ms} | {speed} | {share} | {gigabytes} | {remark} |", flush=True)

    @contextlib.contextmanager
    def part(self, name):
        try:
            yield
        except Exception as error:  # the other rows are still worth having
            self.add(name, remark=f"failed: {type(error).__name__}: {str(error)[:120]}")


def peak_memory():
    """Returns the most bytes that JAX has had in use, None where it does not say."""
    return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")


def matmul_flops(dtype, size):
    """Returns the FLOP/s of a product of two square matrices."""
    x = jax.numpy.ones((size, size), "bfloat16" if "bfloat16" in dtype else "float32")
    product = jax.jit(lambda x: x @ x * 1e-4)
    product(x).block_until_ready()
    started, repeats = time.perf_counter(), 10
    for _ in range(repeats):
        x = product(x)
    x.block_until_ready()
    return repeats * 2 * size**3 / (time.perf_counter() - started)


# Translation


def write_pairs(path, tokens, words):
    """Writes pairs of a random sentence and its reverse, about `tokens` tokens per side."""
    random, lines = np.random.default_rng(0), []
    while tokens > 0:
        sentence = [f"w{i}" for i in random.integers(0, words, random.integers(SHORTEST, LONGEST))]
        lines.append(f"{' '.join(sentence)}\t{' '.join(reversed(sentence))}\n")
        tokens -= len(sentence) + 1
    path.write_text("".join(lines), encoding="utf-8")


def make_config(size, folder, dtype):
    return kt.RunConfig(
        data=str(Path(folder, "pairs.tsv")), d_model=size.d_model, h=size.h, d_ff=size.d_ff,
        n=size.n, rate=0.1, dtype=dtype, batch_tokens=size.batch_tokens, rotary_base=None,
        optimizer="adam",
    )  # fmt: skip


def make_batches(config):
    """Returns the dataset, and the batches of training and validation."""
    dataset = kt.PrepareDataset(validation_share=0.03, test_share=0.03)(kt.read_pairs(config.data))
    return dataset, *(
        dataset.batches(part, seed=0, batch_tokens=config.batch_tokens)
        for part in (dataset.train, dataset.validation)
    )


def make_model(config, dataset):
    keras.utils.set_random_seed(0)
    tokenizers = dataset.source_tokenizer, dataset.target_tokenizer
    return build_run_model(config, tokenizers, config.dtype)


def translation_flops(config, dataset, batches):
    """Returns the number of target tokens of an epoch, and of FLOPs of its matrix products.

    Forward, each weight takes two FLOPs per token; backward, twice as many. The same holds for the
    products of queries, keys and values. Padding is not counted.
    """
    d_model, n = config.d_model, config.n
    feed_forward = 2 * d_model * config.d_ff
    words = dataset.target_tokenizer.vocab_size
    tokens, total = 0, 0
    for (source, _), target in batches:
        s, t = ((ids != 0).sum(axis=1) for ids in (source, target))
        # Cross-attention adds key and value projections per source token, and projections of
        # the queries and the output per target token.
        tokens += t.sum()
        total += s.sum() * n * (4 * d_model**2 + feed_forward + 2 * d_model**2)
        total += t.sum() * (n * (6 * d_model**2 + feed_forward) + d_model * words)
        total += n * 2 * d_model * (s * s + t * t / 2 + t * s).sum()
    return tokens, 6.0 * total


def measure_training(table, name, size, arguments, folder, dtype):
    """Adds the rows of training; returns the model and the dataset."""
    write_pairs(Path(folder, "pairs.tsv"), 1.1 * arguments.updates * size.batch_tokens, size.words)
    config = make_config(size, folder, dtype)
    dataset, batches, validation = make_batches(config)
    model = make_model(config, dataset)
    all_batches = [batches[i] for i in range(len(batches))]
    tokens, flops = translation_flops(config, dataset, all_batches)
    run = Path(folder, "run")
    trainer = kt.Trainer(model, kt.Adam(1e-4), run, label_smoothing=0.1)
    history, _ = trainer.train(batches, validation, epochs=2)
    first, second = (tokens / row["tokens_per_second"] for row in history)
    compiling = f"{(first - second) / len(batches.shapes):.1f} s to compile each of "
    table.add(
        f"{name}, {model.count_params():,} parameters: `Trainer`, second epoch",
        second,
        tokens,
        flops,
        f"{len(batches)} batches; {compiling}{len(batches.shapes)} lengths",
        peak_memory(),
    )
    longest = max(all_batches, key=lambda batch: int((batch[1] != 0).sum()))
    cost = translation_flops(config, dataset, [longest])
    hand_fed(table, f"{name}: step hand-fed", model, longest, cost)
    with table.part("dropout 0"):
        plain = make_model(dataclasses.replace(config, rate=0.0), dataset)
        hand_fed(table, f"{name}: step hand-fed, dropout 0", plain, longest, cost)
    with table.part("torch.nn.Transformer"):
        measure_torch(table, config, dataset, batches, longest, tokens, flops)
    return model, dataset


class Repeated:
    """One batch again and again, for `TrainingStep`."""

    def __init__(self, batch, number):
        self.batch, self.number = batch, number

    def __len__(self):
        return self.number

    def __getitem__(self, index):
        return self.batch


def hand_fed(table, what, model, batch, cost, keep=None):
    """Adds two rows: steps that are queued, and steps that are waited for one by one."""
    optimizer = kt.Adam(1e-4)
    optimizer.build(model.trainable_variables)
    step = backend_module().TrainingStep(
        model, optimizer, lambda target, logits: loss_and_totals(target, logits, 0.1)
    )
    for way, wait in (("queued", False), ("waited for", True)):
        times = []
        for totals in step.train(Repeated(batch, STEPS + 2)):
            times.append(time.perf_counter())
            if wait or len(times) in (2, STEPS + 2):
                jax.block_until_ready(totals)
                times[-1] = time.perf_counter()
        table.add(f"{what}, {way}", (times[-1] - times[1]) / STEPS, *cost, "an upper bound")
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for totals in step.train(Repeated(batch, 5)):
                jax.block_until_ready(totals)
        profile = read_profile(folder)
    if profile:
        table.add(f"{what}: profile", remark=profile)


def read_profile(folder):
    """Returns the shares of time by kind of kernel, of the GPU's streams; empty on a CPU."""
    [path] = Path(folder).rglob("*.trace.json.gz")
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    gpus = {
        event["pid"]
        for event in events
        if event.get("name") == "process_name" and "GPU" in event["args"].get("name", "")
    }
    streams = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and "Stream" in event["args"].get("name", "")
    }
    seconds, spans = Counter(), []
    for event in events:
        if event.get("ph") != "X" or event["pid"] not in gpus:
            continue
        if (event["pid"], event["tid"]) not in streams:
            continue
        name = event["name"].lower()
        kind = next(kind for kind, pattern in KINDS.items() if re.search(pattern, name))
        seconds[kind] += event["dur"]
        spans.append((event["ts"], event["ts"] + event["dur"]))
    if not spans:
        return ""
    whole = max(end for _, end in spans) - min(start for start, _ in spans)
    shares = [f"{kind} {time / whole:.0%}" for kind, time in seconds.most_common()]
    return ", ".join([*shares, f"idle {max(0, 1 - sum(seconds.values()) / whole):.0%}"])


def measure_torch(table, config, dataset, batches, longest, tokens, flops):
    """Adds the rows of `torch.nn.Transformer`, compiled, on the same batches."""
    import torch
    from torch_model import TorchModel, to_tensors, update

    words = dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size
    model = TorchModel(config, words, max(batches.shapes) + 1, config.rate)
    model, device = prepare_torch(model)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=device == "cuda")
    loss = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    bfloat16 = config.dtype == "mixed_bfloat16"

    def seconds(batches):
        started = time.perf_counter()
        for batch in batches:
            update(model, optimizer, loss, to_tensors(batch, device), bfloat16)
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - started

    everything = [batches[i] for i in range(len(batches))]
    seconds(everything)  # compiles
    table.add(
        f"torch.nn.Transformer, torch {torch.__version__}", seconds(everything), tokens, flops
    )


def prepare_torch(model):
    """Returns the model, compiled on a GPU, and its device."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.train().to(device)
    return (torch.compile(model, dynamic=False) if device == "cuda" else model), device


# The language model


def measure_language_model(table, size, dtype):
    """Adds the rows of a language model trained by `fit`, and of the same in PyTorch."""
    rows = size.batch_tokens // size.length
    ids = np.random.default_rng(0).integers(4, size.words, (rows, size.length + 1), "int32")
    settings = kt.BlockSettings(
        h=size.h, d_model=size.d_model, d_ff=size.d_ff, n=size.n, rate=0.0, activation="gelu"
    )
    model = kt.TransformerLanguageModel(size.words, settings=settings, dtype=dtype)
    model.compile(kt.Adam(1e-4), kt.MaskedCrossEntropy())
    batch = (ids[:, :-1], ids[:, 1:])
    model.fit(*batch, batch_size=rows, epochs=2, verbose=0)
    clock = _Clock()
    repeated = [np.tile(x, (STEPS, 1)) for x in batch]
    model.fit(*repeated, batch_size=rows, epochs=1, verbose=0, shuffle=False, callbacks=[clock])
    parameters = model.count_params()
    # A token attends to half of the text on average.
    flops = size.batch_tokens * (6 * parameters + 6 * size.n * size.d_model * size.length)
    what = f"language model, {parameters:,} parameters, {rows} × {size.length}"
    table.add(
        f"{what}: `fit`", clock.seconds / STEPS, size.batch_tokens, flops, memory=peak_memory()
    )
    with table.part("language model in PyTorch"):
        seconds = torch_language_model(size, batch, "bfloat16" in dtype)
        table.add(f"{what}: plain PyTorch", seconds, size.batch_tokens, flops)


class _Clock(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.started = time.perf_counter()

    def on_train_end(self, logs=None):
        jax.block_until_ready([v.value for v in self.model.trainable_variables])
        self.seconds = time.perf_counter() - self.started


def torch_language_model(size, batch, bfloat16):
    """Returns the seconds of a step of a plain PyTorch model on the same batch."""
    import torch
    from torch_model import TorchLanguageModel

    model, device = prepare_torch(TorchLanguageModel(size, size.words, size.length))
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=device == "cuda")
    ids, target = (torch.from_numpy(x.astype("int64")).to(device) for x in batch)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16, enabled=bfloat16):
            logits = model(ids)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(3):
        step().item()
    started = time.perf_counter()
    for _ in range(STEPS):
        loss = step()
    loss.item()
    return (time.perf_counter() - started) / STEPS


# Decoding and starting


def measure_decoding(table, model, dataset, number):
    """Adds the rows of translations that are as long as their sources."""
    random = np.random.default_rng(1)
    words = " ".join(source for source, _ in dataset.train).split()
    sources = [" ".join(random.choice(words, DECODED)) for _ in range(number)]
    translate = kt.Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)
    for beam_size, name in ((1, "greedy"), (4, "beam 4")):
        # The cap also allows 8 further tokens, which a trained model would not use.
        options = {"beam_size": beam_size, "min_length_ratio": 1.0, "max_length_ratio": 1.0}
        times = []
        for _ in range(3):
            started = time.perf_counter()
            found = translate.hypotheses(sources, **options)
            times.append(time.perf_counter() - started)
        tokens = sum(len(best[0].tokens) + 1 for best in found)
        remark = (
            f"{number} sentences, {tokens / number:.1f} tokens each; first call {times[0]:.1f} s"
        )
        table.add(f"translate, {name}", min(times[1:]), tokens, remark=remark)


def measure_marian(table, size, number, dtype):
    """Adds the rows of Marian of transformers with random weights, for translations as long."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=size.words, d_model=size.d_model, encoder_layers=size.n, decoder_layers=size.n,
        encoder_attention_heads=size.h, decoder_attention_heads=size.h, encoder_ffn_dim=size.d_ff,
        decoder_ffn_dim=size.d_ff, pad_token_id=0, eos_token_id=3, decoder_start_token_id=2,
        forced_eos_token_id=None,
    )  # fmt: skip
    device = "cuda" if torch.cuda.is_available() else "cpu"
    half = torch.bfloat16 if "bfloat16" in dtype else torch.float32
    model = MarianMTModel(config).eval().to(device, half)
    ids = torch.randint(4, size.words, (number, DECODED), device=device)
    for beams, name in ((1, "greedy"), (4, "beam 4")):
        lengths = {"min_new_tokens": DECODED + 1, "max_new_tokens": DECODED + 1}
        times = []
        for _ in range(3):
            started = time.perf_counter()
            model.generate(ids, num_beams=beams, do_sample=False, **lengths)
            if device == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
        table.add(f"Marian of transformers, {name}", min(times[1:]), number * (DECODED + 1))


def measure_start(table, name, folder):
    """Adds the seconds from the start of a process to its first update, compiled and cached."""
    command = [sys.executable, __file__, "--sizes", name, "--first-update", folder]
    environment = os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(Path(folder, "cache")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    for which in ("first", "second"):
        started = time.perf_counter()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            while (line := child.stdout.readline()) and "updated" not in line:
                pass
            seconds = time.perf_counter() - started
            child.kill()
        table.add(f"{name}: {which} run, until its first update", seconds if line else None)


def update_once(size, folder, dtype):
    """Makes one update of the run in a folder, in a process of its own."""
    config = make_config(size, folder, dtype)
    dataset, batches, _ = make_batches(config)
    model, optimizer = make_model(config, dataset), kt.Adam(1e-4)
    optimizer.build(model.trainable_variables)
    step = backend_module().TrainingStep(
        model, optimizer, lambda target, logits: loss_and_totals(target, logits, 0.1)
    )
    jax.block_until_ready(next(iter(step.train(batches))))
    print("updated", flush=True)


def main():
    arguments = read_arguments()
    device = backend_module().describe_device()
    dtype = arguments.dtype
    if dtype == "auto":
        dtype = "mixed_bfloat16" if device.bfloat16 else "float32"
    if arguments.first_update:
        update_once(SIZES[arguments.sizes[0]], arguments.first_update, dtype)
        return
    on_gpu = keras.distribution.list_devices()[0].startswith(("gpu", "cuda"))
    measured = matmul_flops(dtype, 8192 if on_gpu else 512)
    peak = next((peak * 1e12 for name, peak in PEAKS.items() if name in device.name), measured)
    print(
        f"{device.name}, {dtype}, jax {jax.__version__}, keras {keras.__version__},",
        f"{', '.join(this_version())}; peak: {peak / 1e12:,.1f} TFLOP/s",
        f"({'measured' if peak == measured else 'data sheet'}; a matrix product reached",
        f"{measured / 1e12:,.1f}).\nMFU: FLOPs of the matrix products, without padding, over time",
        f"and peak. Sentences have {SHORTEST} to {LONGEST - 1} random words.\n",
    )
    table = Table(peak)
    for name in arguments.sizes:
        size = SIZES[name]
        with tempfile.TemporaryDirectory() as folder, table.part(name):
            model, dataset = measure_training(table, name, size, arguments, folder, dtype)
            with table.part("decoding"):
                measure_decoding(table, model, dataset, arguments.sentences)
            del model
            with table.part("Marian"):
                measure_marian(table, size, arguments.sentences, dtype)
            with table.part("start"):
                measure_start(table, name, folder)
    with table.part("language model"):
        measure_language_model(table, LANGUAGE_MODELS[arguments.language_model], dtype)


if __name__ == "__main__":
    main()
