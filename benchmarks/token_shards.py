"""Measures token ids in files: preparing, batches of one and several processes, and memory.

python benchmarks/token_shards.py
"""

import argparse
import json
import math
import multiprocessing
import os
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

SYLLABLES = [c + v for c in "bdfghklmnprst" for v in "aeiou"]
HELD_OUT = [("one sentence", "ein Satz")]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=400_000, help="number of pairs")
    parser.add_argument("--vocab-size", type=int, default=8000, help="size of each vocabulary")
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2, 4, 8, 64])
    parser.add_argument(
        "--gigabytes", type=float, default=20, help="size of a folder of many links to the shards"
    )
    return parser.parse_args()


def write_pairs(path, number):
    """Writes random pairs of 4 to 15 words per side, from 50,000 words with Zipf frequencies."""
    random = np.random.default_rng(0)
    words = np.array(["".join(random.choice(SYLLABLES, 1 + i % 4)) for i in range(50_000)])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(number):
            ranks = random.zipf(1.3, random.integers(8, 31)) % len(words)
            half = len(ranks) // 2
            file.write(f"{' '.join(words[ranks[:half]])}\t{' '.join(words[ranks[half:]])}\n")


def prepare(path, folder, vocab_size):
    """Writes the token ids; returns the CPU seconds."""
    from keras_transformer import PrepareDataset

    start = time.process_time()
    PrepareDataset(vocab_size=vocab_size).write_tokens(path, folder, HELD_OUT, HELD_OUT)
    return time.process_time() - start


def read(folder, processes):
    """Makes the batches of the first of several processes.

    Returns:
        The target tokens of all processes, the CPU seconds and the bytes of memory added.
    """
    from keras_transformer import PreparedDataset

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    dataset = PreparedDataset.load(folder)
    batches = dataset.batches(dataset.train, None, seed=0, batch_tokens=4096 * processes)
    parts = (batches.read_part(i, 0, processes, processes) for i in range(len(batches)))
    tokens = sum(tokens for _, tokens in parts)
    seconds = time.process_time() - start
    return tokens, seconds, 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def link_many(folder, large, size):
    """Makes a folder with links to the shards of another one until it has `size` bytes."""
    content = json.loads((folder / "tokens.json").read_text())
    shards, repeated = content["shards"], []
    large.mkdir()
    for _ in range(math.ceil(size / sum(shard["bytes"] for shard in shards))):
        for number, shard in enumerate(shards):
            os.link(folder / f"{number:05d}.npy", large / f"{len(repeated):05d}.npy")
            repeated.append(shard)
    (large / "tokens.json").write_text(json.dumps({**content, "shards": repeated}))
    for path in folder.glob("*.[jt]s*"):
        if path.name != "tokens.json":
            os.link(path, large / path.name)
    return len(repeated)


def in_process(function, *arguments):
    """Returns the result of a function in a process of its own, whose memory is measured."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(function, *arguments).result()


def main():
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        path, folder = Path(temporary) / "pairs.tsv", Path(temporary) / "tokens"
        write_pairs(path, arguments.pairs)
        seconds = in_process(prepare, path, folder, arguments.vocab_size)
        size = sum(file.stat().st_size for file in folder.glob("*.npy"))
        print(
            f"{arguments.pairs:,} pairs, {path.stat().st_size / 1e6:.0f} MB of text, "
            f"{size / 1e6:.0f} MB of token ids; prepared in {1e6 * seconds / arguments.pairs:.0f} "
            "µs per pair\n\n| processes | million target tokens per second of one core | MB |"
            "\n|---|---|---|",
            flush=True,
        )
        for processes in arguments.processes:
            tokens, seconds, memory = in_process(read, folder, processes)
            print(
                f"| {processes} | {tokens / seconds / 1e6:.1f} | {memory / 1e6:.0f} |", flush=True
            )
        large = Path(temporary) / "large"
        number = link_many(folder, large, 1e9 * arguments.gigabytes)
        tokens, seconds, memory = in_process(read, large, 64)
        print(
            f"\n{arguments.gigabytes:g} GB in {number:,} shards, one of 64 processes: "
            f"{tokens:,} target tokens in {seconds:.0f} s, {memory / 1e6:.0f} MB of memory"
        )


if __name__ == "__main__":
    main()
