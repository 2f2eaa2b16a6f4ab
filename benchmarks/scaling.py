"""How does the cost of a sentence grow with its length, and with the number of sentences?

python benchmarks/scaling.py --picture docs/scaling.png
"""

import argparse

from timing import named, processor_name, time_turns, use_cores

BATCH, MODEL = 32, "small"
WITH, WITHOUT = "with the cache", "without it"
# Told apart by the colour-blind, by their shapes as well.
STYLES = {
    WITH: {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    WITHOUT: {"color": "#D55E00", "marker": "s", "linestyle": "--"},
}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default="docs/scaling.png", help="the picture to draw")
    parser.add_argument("--lengths", nargs="+", type=int, default=[8, 16, 32, 64, 96])
    parser.add_argument("--sentences", nargs="+", type=int, default=[64, 256, 1024, 4096])
    parser.add_argument("--core", type=int, help="the core; default: the first one allowed")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each measurement")
    return parser.parse_args()


def time_lengths(lengths, rounds):
    """Processor seconds of a sentence: a dictionary for each of `STYLES`, by the length."""
    import decoding_peers as peers  # starts the libraries, which must follow `use_cores`

    size = peers.SIZES[MODEL]
    model = peers.make_model(size)
    models = {WITH: model, WITHOUT: peers.without_cache(model, size)}
    costs = {name: {} for name in models}
    for length in lengths:
        source = peers.make_source(BATCH, length)
        systems = {name: peers.make_ours(m, source, steps=length) for name, m in models.items()}
        for name, (_, processor) in time_turns(systems, rounds).items():
            costs[name][length] = processor.median / BATCH
    return costs


def time_sentences(numbers, rounds):
    """Wall and processor seconds of a sentence: a dictionary of pairs by the number."""
    import decoding_peers as peers

    from keras_transformer import Translate

    tokenizer = peers.make_tokenizer()
    translate = Translate(peers.make_model(peers.SIZES[MODEL]), tokenizer, tokenizer)
    sentences = make_sentences(max(numbers))
    systems = {n: lambda n=n: translate(sentences[:n]) for n in numbers}
    times = time_turns(systems, rounds).items()
    return {n: (wall.median / n, processor.median / n) for n, (wall, processor) in times}


def make_sentences(number):
    """Random sentences of 4 to 15 words."""
    import decoding_peers as peers
    import numpy as np

    random = np.random.default_rng(0)
    lengths = random.integers(4, 16, number)
    words = peers.WORDS - len(peers.SPECIAL_TOKENS)
    return [" ".join(f"w{i}" for i in random.integers(0, words, n)) for n in lengths]


def print_lengths(costs):
    print("\n| tokens of source and of target | ms with the cache | ms without it | ratio |")
    print("|---|---|---|---|")
    for length, seconds in costs[WITH].items():
        other = costs[WITHOUT][length]
        print(f"| {length} | {1e3 * seconds:.2f} | {1e3 * other:.2f} | {other / seconds:.1f} |")
    print(f"\nProcessor time of a sentence, {BATCH} sentences at once, all of one length, XLA.")


def print_sentences(costs):
    print("\n| sentences | processor ms of each | seconds for all | sentences per second |")
    print("|---|---|---|---|")
    for number, (wall, processor) in costs.items():
        print(f"| {number:,} | {1e3 * processor:.2f} | {wall * number:.2f} | {1 / wall:,.0f} |")
    print("\n`Translate` with its defaults; sentences of 4 to 15 words; as the model is untrained,")
    print("translations seldom end before their greatest length. Seconds are wall time.")


def draw(length_costs, sentence_costs, path):
    """Draws both tables, one panel each."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, costs in length_costs.items():
        left.loglog(list(costs), [1e3 * x for x in costs.values()], label=name, **STYLES[name])
    left.set_xlabel("tokens of source and of target")
    left.set_xticks(list(length_costs[WITH]), list(length_costs[WITH]), minor=False)
    left.set_xticks([], minor=True)
    left.legend()
    numbers = list(sentence_costs)
    costs = [1e3 * processor for _, processor in sentence_costs.values()]
    right.semilogx(numbers, costs, **STYLES[WITH])
    right.set_xlabel("number of sentences")
    right.set_xticks(numbers, [f"{n:,}" for n in numbers], minor=False)
    right.set_xticks([], minor=True)
    right.set_ylim(0, 1.2 * max(costs))
    for axes in (left, right):
        axes.set_ylabel("processor time of a sentence (ms)")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


def main():
    arguments = read_arguments()
    use_cores(1, arguments.core)
    length_costs = time_lengths(arguments.lengths, arguments.rounds)
    print_lengths(length_costs)
    sentence_costs = time_sentences(arguments.sentences, arguments.rounds)
    print_sentences(sentence_costs)
    print(f"{processor_name()}, one core, {named('', 'keras', 'tensorflow').strip()}, medians of")
    print(f"{arguments.rounds} turns; the {MODEL} model of benchmarks/decoding.py, float32.")
    draw(length_costs, sentence_costs, arguments.picture)


if __name__ == "__main__":
    main()
