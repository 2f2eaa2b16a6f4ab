"""Measures how decoding time scales with sentence length and with the number of sentences.

python benchmarks/scaling.py --picture docs/scaling.png
"""

import argparse

from timing import made_with, time_turns, use_cores

BATCH, MODEL = 32, "small"
WITH, WITHOUT = "with KV cache", "without KV cache"
# Colorblind-safe colors, with distinct markers and line styles.
STYLES = {
    WITH: {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    WITHOUT: {"color": "#D55E00", "marker": "s", "linestyle": "--"},
}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="docs/scaling.png", help="path of the figure")
    parser.add_argument(
        "--lengths", nargs="+", type=int, default=[8, 16, 32, 64, 96], help="sentence lengths"
    )
    parser.add_argument(
        "--sentences", nargs="+", type=int, default=[64, 256, 1024, 4096], help="corpus sizes"
    )
    parser.add_argument("--core", type=int, help="CPU core to use (default: the first allowed)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to time (default: 3)")
    return parser.parse_args()


def time_lengths(lengths, rounds):
    """Returns CPU seconds per sentence, as `{name in STYLES: {length: seconds}}`."""
    import decoding_peers as peers  # starts the libraries, so import it after `use_cores`

    size = peers.SIZES[MODEL]
    model = peers.make_model(size)
    models = {WITH: model, WITHOUT: peers.without_cache(model, size)}
    costs = {name: {} for name in models}
    for length in lengths:
        source = peers.make_source(BATCH, length)
        systems = {name: peers.make_ours(m, source, steps=length) for name, m in models.items()}
        for name, (_, cpu) in time_turns(systems, rounds).items():
            costs[name][length] = cpu.median / BATCH
    return costs


def time_sentences(numbers, rounds):
    """Returns wall and CPU seconds per sentence, as `{number of sentences: (wall, CPU)}`."""
    import decoding_peers as peers

    from keras_transformer import Translate

    tokenizer = peers.make_tokenizer()
    translate = Translate(peers.make_model(peers.SIZES[MODEL]), tokenizer, tokenizer)
    sentences = make_sentences(max(numbers))
    systems = {n: lambda n=n: translate(sentences[:n]) for n in numbers}
    times = time_turns(systems, rounds).items()
    return {n: (wall.median / n, cpu.median / n) for n, (wall, cpu) in times}


def make_sentences(number):
    """Returns random sentences of 4 to 15 words."""
    import decoding_peers as peers
    import numpy as np

    random = np.random.default_rng(0)
    lengths = random.integers(4, 16, number)
    words = peers.WORDS - len(peers.SPECIAL_TOKENS)
    return [" ".join(f"w{i}" for i in random.integers(0, words, n)) for n in lengths]


def print_lengths(costs):
    print("\n| source and target tokens | ms with KV cache | ms without KV cache | ratio |")
    print("|---|---|---|---|")
    for length, cached in costs[WITH].items():
        full = costs[WITHOUT][length]
        print(f"| {length} | {1e3 * cached:.2f} | {1e3 * full:.2f} | {full / cached:.1f} |")
    print(f"\nCPU time per sentence, batches of {BATCH} sentences of equal length, XLA.")


def print_sentences(costs):
    print("\n| sentences | CPU ms per sentence | total seconds | sentences per second |")
    print("|---|---|---|---|")
    for number, (wall, cpu) in costs.items():
        print(f"| {number:,} | {1e3 * cpu:.2f} | {wall * number:.2f} | {1 / wall:,.0f} |")
    print("\n`Translate` with default options, sentences of 4 to 15 words. The model is untrained,")
    print("so most translations reach the maximum length. Total seconds are wall time.")


def draw(length_costs, sentence_costs, path):
    """Plots both tables side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, costs in length_costs.items():
        left.loglog(list(costs), [1e3 * x for x in costs.values()], label=name, **STYLES[name])
    left.set_xlabel("source and target tokens")
    left.set_xticks(list(length_costs[WITH]), list(length_costs[WITH]), minor=False)
    left.set_xticks([], minor=True)
    left.set_title("longer sentences: the cache saves more")
    left.legend()
    numbers = list(sentence_costs)
    costs = [1e3 * cpu for _, cpu in sentence_costs.values()]
    right.semilogx(numbers, costs, **STYLES[WITH])
    right.set_xlabel("number of sentences")
    right.set_xticks(numbers, [f"{n:,}" for n in numbers], minor=False)
    right.set_xticks([], minor=True)
    right.set_title("more sentences at once: each costs less")
    right.set_ylim(0, 1.2 * max(costs))
    for axes in (left, right):
        axes.set_ylabel("CPU time per sentence (ms)")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main():
    arguments = read_arguments()
    use_cores(1, arguments.core)
    length_costs = time_lengths(arguments.lengths, arguments.rounds)
    print_lengths(length_costs)
    sentence_costs = time_sentences(arguments.sentences, arguments.rounds)
    print_sentences(sentence_costs)
    print(f"{made_with('tensorflow')}, one core, medians of {arguments.rounds} rounds;")
    print(f"the {MODEL} model of benchmarks/decoding.py, float32.")
    draw(length_costs, sentence_costs, arguments.picture)


if __name__ == "__main__":
    main()
