"""Compares the speed of decoding a fixed shape with that of CTranslate2, KerasHub and PyTorch.

Exactly ten steps of one batch are an upper bound of the speed of each system: real sentences have
all lengths and end at different steps. `translating.py` measures those.

python benchmarks/decoding.py
python benchmarks/decoding.py --model small --batch 32 --threads 2 --rounds 5
KERAS_BACKEND=torch python benchmarks/decoding.py
"""

import argparse

from timing import made_with, time_turns, use_cores

ROUNDS = {"small": 15, "large": 6}
TURN_SECONDS = 0.3
REFERENCE = "CTranslate2 float32"
BEAM_CELL = ("small", 32)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", nargs="+", choices=ROUNDS, default=list(ROUNDS), help="model sizes"
    )
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 32], help="batch sizes")
    parser.add_argument(
        "--threads", type=int, choices=(1, 2), default=1, help="number of threads and CPU cores"
    )
    parser.add_argument("--core", type=int, help="first core to use (default: the first allowed)")
    parser.add_argument("--rounds", type=int, help=f"rounds to time (default: {ROUNDS})")
    return parser.parse_args()


def make_systems(size, batch, threads, with_beam):
    """Returns the systems to time, as two dictionaries from names to decoding functions.

    The systems of the first have the same weights, so their outputs can be compared. Those of the
    second do not, or search with a beam.
    """
    import decoding_peers as peers  # starts the libraries, so import it after `use_cores`
    import keras

    source, model = peers.make_source(batch), peers.make_model(size)
    beams = (1, 4) if with_beam else (1,)
    greedy, *beam = peers.make_ctranslate2(model, source, threads, beam_sizes=beams)
    (int8,) = peers.make_ctranslate2(model, source, threads, quantization="int8")
    ours = {"keras_transformer": peers.make_numpy(model, source)}
    others = {}
    if keras.config.backend() == "torch":
        ours["keras_transformer, PyTorch"] = peers.make_ours(model, source, jit_compile=False)
    else:
        uncached = peers.without_cache(model, size)
        ours["keras_transformer, XLA"] = peers.make_ours(model, source)
        ours["keras_transformer, graph"] = peers.make_ours(model, source, jit_compile=False)
        ours["keras_transformer without KV cache, XLA"] = peers.make_ours(uncached, source)
        others = peers.make_hub(size, source)
    ours |= {REFERENCE: greedy, "CTranslate2 int8": int8}
    others["torch.nn.Transformer"] = peers.make_torch(size, source, threads)
    others["transformers' Marian"] = peers.make_marian(size, source)
    if joeynmt := peers.make_joeynmt(size, source):
        others["JoeyNMT"] = joeynmt
    if with_beam:
        others["keras_transformer, beam 4"] = peers.make_numpy(model, source, beam_size=4)
        if keras.config.backend() != "torch":
            others["keras_transformer, XLA, beam 4"] = peers.make_ours(model, source, beam_size=4)
        others[f"{REFERENCE}, beam 4"] = beam[0]
    return ours, others


def time_cell(model, batch, arguments):
    """Times all systems on one model and batch size; returns the result of `time_turns`."""
    import decoding_peers as peers

    with_beam = (model, batch) == BEAM_CELL
    ours, others = make_systems(peers.SIZES[model], batch, arguments.threads, with_beam)
    agreement = peers.compare_words(ours)
    peers.check_lengths(others)
    print(f"{model}, batch {batch}: tokens equal to those of the first system:", end=" ")
    print(", ".join(f"{name} {share:.1%}" for name, share in agreement.items()), flush=True)
    rounds = arguments.rounds or ROUNDS[model]
    # Only threads that still spin need the pause, see `time_turns`.
    rest = 0.25 if arguments.threads > 1 else 0.0
    return time_turns({**ours, **others}, rounds, TURN_SECONDS, rest)


def print_table(title, cells, which):
    """Prints a table with a row for each system and a column for each cell.

    Args:
        title: title of the table.
        cells: dictionary from (model, batch size) to the result of `time_cell`.
        which: 0 for wall time, 1 for CPU time.
    """
    print(f"\n{title}\n")
    print("| system |", " | ".join(f"{model}, batch {batch}" for model, batch in cells), "|")
    print("|---|" + "---|" * len(cells))
    names = dict.fromkeys(name for times in cells.values() for name in times)
    for name in names:
        columns = []
        for (_, batch), times in cells.items():
            if name not in times:
                columns.append("–")
                continue
            time, reference = times[name][which], times[REFERENCE][which]
            rate, ratio = batch / time.median, reference.median / time.median
            columns.append(f"{rate:,.{1 if rate < 100 else 0}f} ±{time.relative:.0%} ({ratio:.2f})")
        print(f"| {name} |", " | ".join(columns), "|")


def print_caption(arguments):
    """Prints the hardware, the versions and the method of the measurements."""
    from decoding_peers import SIZES, SOURCE_LENGTH, STEPS, WORDS

    libraries = ("tensorflow", "ctranslate2", "keras-hub", "torch", "transformers")
    rounds = {model: arguments.rounds or ROUNDS[model] for model in arguments.model}
    models = [
        f"{name} (d_model {size.d_model}, {size.n} + {size.n} layers, {size.h} heads, "
        f"d_ff {size.d_ff})"
        for name, size in SIZES.items()
        if name in rounds
    ]
    print(
        f"\n{made_with(*libraries)}. {arguments.threads} thread(s) pinned to as many cores.",
        f"One call translates one batch: {SOURCE_LENGTH} source tokens including the end token,",
        f"exactly {STEPS} steps, vocabularies of {WORDS:,} words, tied output, pre-norm, float32",
        "unless stated otherwise. Models:",
        ", ".join(models) + ".",
        f"Rounds: {rounds}. The systems take turns in every round: one untimed call, then as many",
        f"calls as fit in {TURN_SECONDS} s, at least one, timed together. The table shows the",
        "sentences per second of the median round, ± half the interquartile range, and in",
        f"parentheses the speed relative to {REFERENCE}.",
    )


def main():
    arguments = read_arguments()
    use_cores(arguments.threads, arguments.core)
    cells = {
        (model, batch): time_cell(model, batch, arguments)
        for model in arguments.model
        for batch in arguments.batch
    }
    print_table("Sentences per second of CPU time", cells, which=1)
    print_table("Sentences per second of wall time", cells, which=0)
    print_caption(arguments)


if __name__ == "__main__":
    main()
