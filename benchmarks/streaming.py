"""Does streaming need the same memory and the same time for a pair, however large the file?

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
    parser.add_argument("--pairs", nargs="+", type=int, default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--vocab-size", type=int, default=8000)
    return parser.parse_args()


def write_pairs(path, number):
    """Sentences of 4 to 15 words out of 50,000, the frequent ones as frequent as in a language."""
    random = np.random.default_rng(0)
    words = np.array(["".join(random.choice(SYLLABLES, 1 + i % 4)) for i in range(50_000)])
    with path.open("w", encoding="utf-8") as file:
        for _ in range(number):
            ranks = random.zipf(1.3, random.integers(8, 31)) % len(words)
            half = len(ranks) // 2
            file.write(f"{' '.join(words[ranks[:half]])}\t{' '.join(words[ranks[half:]])}\n")


def measure(path, vocab_size):
    """Prepares a file and reads all of its batches, in a process of its own."""
    from keras_transformer import PrepareDataset

    start = time.process_time()
    prepare = PrepareDataset(tokenizer="bpe", vocab_size=vocab_size)
    dataset = prepare.stream(path, HELD_OUT, HELD_OUT)
    prepared = time.process_time()
    batches = dataset.batches(dataset.train, None, seed=0, batch_tokens=4096)
    tokens = sum(int(np.count_nonzero(batches[i][1])) for i in range(len(batches)))
    seconds = (prepared - start, time.process_time() - prepared)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # on Linux in KiB
    return *seconds, len(batches), tokens, most


def main():
    arguments = read_arguments()
    context = multiprocessing.get_context("spawn")
    print("| pairs | file | vocabularies, µs a pair | epoch, µs a pair | batches | most memory |")
    print("|---|---|---|---|---|---|")
    for number in arguments.pairs:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pairs.tsv"
            write_pairs(path, number)
            with ProcessPoolExecutor(1, mp_context=context) as process:
                measured = process.submit(measure, path, arguments.vocab_size)
            prepared, epoch, batches, _, most = measured.result()
            size = path.stat().st_size / 1e6
        print(
            f"| {number:,} | {size:.0f} MB | {1e6 * prepared / number:.0f} "
            f"| {1e6 * epoch / number:.0f} | {batches:,} | {most:,.0f} MiB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
