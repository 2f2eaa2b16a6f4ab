"""Measures the memory and the time per pair of streamed datasets, by file size.

python benchmarks/streaming.py
"""

import argparse
import multiprocessing
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
    parser.add_argument(
        "--pairs", nargs="+", type=int, default=[100_000, 300_000, 1_000_000], help="file sizes"
    )
    parser.add_argument("--vocab-size", type=int, default=8000, help="size of each vocabulary")
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


def measure(path, vocab_size):
    """Prepares a file and reads all of its batches, in a separate process for the memory."""
    from keras_transformer import PrepareDataset

    start = time.process_time()
    prepare = PrepareDataset(tokenizer="bpe", vocab_size=vocab_size)
    dataset = prepare.stream(path, HELD_OUT, HELD_OUT)
    prepared = time.process_time()
    batches = dataset.batches(dataset.train, None, seed=0, batch_tokens=4096)
    tokens = sum(int(np.count_nonzero(batches[i][1])) for i in range(len(batches)))
    seconds = (prepared - start, time.process_time() - prepared)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB: Linux reports KiB
    return *seconds, len(batches), tokens, peak


def main():
    arguments = read_arguments()
    context = multiprocessing.get_context("spawn")
    print("| pairs | file | vocabularies, µs/pair | epoch, µs/pair | batches | peak memory |")
    print("|---|---|---|---|---|---|")
    for number in arguments.pairs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.tsv"
            write_pairs(path, number)
            with ProcessPoolExecutor(1, mp_context=context) as process:
                measured = process.submit(measure, path, arguments.vocab_size)
            prepared, epoch, batches, _, peak = measured.result()
            size = path.stat().st_size / 1e6
        print(
            f"| {number:,} | {size:.0f} MB | {1e6 * prepared / number:.0f} "
            f"| {1e6 * epoch / number:.0f} | {batches:,} | {peak:,.0f} MiB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
