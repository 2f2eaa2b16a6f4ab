"""How fast is greedy decoding, next to CTranslate2, KerasHub and torch?

python benchmarks/decoding.py
python benchmarks/decoding.py --model small --batch 32 --threads 2 --rounds 5
"""

import argparse

from timing import named, processor_name, time_turns, use_cores

ROUNDS = {"small": 15, "large": 6}
TURN_SECONDS = 0.3
REFERENCE = "CTranslate2 float32"
BEAM_CELL = ("small", 32)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", choices=ROUNDS, default=list(ROUNDS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 32])
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1, help="and cores")
    parser.add_argument("--core", type=int, help="the first core; default: the first one allowed")
    parser.add_argument("--rounds", type=int, help=f"turns of each system; default: {ROUNDS}")
    return parser.parse_args()


def make_systems(size, batch, threads, with_beam):
    """Functions that decode: a dictionary of those with our model, and one of the others."""
    import decoding_peers as peers  # starts the libraries, which must follow `use_cores`

    source, model = peers.make_source(batch), peers.make_model(size)
    slow = peers.without_cache(model, size)
    beams = (1, 4) if with_beam else (1,)
    greedy, *beam = peers.make_ctranslate2(model, source, threads, beam_sizes=beams)
    (int8,) = peers.make_ctranslate2(model, source, threads, quantization="int8")
    ours = {
        "keras_transformer, XLA": peers.make_ours(model, source),
        "keras_transformer, without XLA": peers.make_ours(model, source, jit_compile=False),
        "keras_transformer without its cache, XLA": peers.make_ours(slow, source),
        REFERENCE: greedy,
        "CTranslate2 int8": int8,
    }
    others = peers.make_hub(size, source)
    others["torch.nn.Transformer"] = peers.make_torch(size, source, threads)
    if with_beam:
        others["keras_transformer, XLA, beam 4"] = peers.make_ours(model, source, beam_size=4)
        others[f"{REFERENCE}, beam 4"] = beam[0]
    return ours, others


def time_cell(model, batch, arguments):
    """Times all systems on one model and batch: what `time_turns` returns, for a sentence."""
    import decoding_peers as peers

    with_beam = (model, batch) == BEAM_CELL
    ours, others = make_systems(peers.SIZES[model], batch, arguments.threads, with_beam)
    same = peers.compare_words(ours)
    peers.check_lengths(others)
    print(f"{model}, batch {batch}: words as those of the first system:", end=" ")
    print(", ".join(f"{name} {share:.1%}" for name, share in same.items()), flush=True)
    rounds = arguments.rounds or ROUNDS[model]
    # Resting is for systems of several threads only, see `time_turns`.
    rest = 0.25 if arguments.threads > 1 else 0.0
    return time_turns({**ours, **others}, rounds, TURN_SECONDS, rest)


def print_table(title, cells, which):
    """A row for each system, a column for each cell.

    Args:
        title: what is printed above.
        cells: dictionary from (model, batch) to what `time_cell` returned.
        which: 0 for the wall time, 1 for the processor time.
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
    """What was measured, how, and with what."""
    from decoding_peers import SIZES, SOURCE_LENGTH, STEPS, WORDS

    libraries = ("keras", "tensorflow", "ctranslate2", "keras-hub", "torch")
    rounds = {model: arguments.rounds or ROUNDS[model] for model in arguments.model}
    print(
        f"\n{processor_name()}, {arguments.threads} thread(s) pinned to as many cores;",
        named("versions:", *libraries) + ".",
        f"A call translates a batch: {SOURCE_LENGTH} source tokens with the end, exactly {STEPS}",
        f"steps, vocabularies of {WORDS:,} words, tied output, pre-norm, float32 unless named;",
        f"models {', '.join(f'{name} {tuple(SIZES[name])}' for name in rounds)} are",
        "(d_model, layers of each half, heads, d_ff).",
        f"Rounds: {rounds}. In each, every system has a turn: one call that is not timed, then as",
        f"many as last {TURN_SECONDS} s together, at least one, timed together. Sentences per",
        "second are those of the median turn; ± is half the interquartile range; in brackets",
        f"stands the speed as a multiple of that of {REFERENCE}.",
    )


def main():
    arguments = read_arguments()
    use_cores(arguments.threads, arguments.core)
    cells = {
        (model, batch): time_cell(model, batch, arguments)
        for model in arguments.model
        for batch in arguments.batch
    }
    print_table("Sentences per second of processor time", cells, which=1)
    print_table("Sentences per second of wall time", cells, which=0)
    print_caption(arguments)


if __name__ == "__main__":
    main()
