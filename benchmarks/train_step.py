"""How fast does a model train, next to torch.nn.Transformer and KerasHub's layers?

python benchmarks/train_step.py
python benchmarks/train_step.py --model small --threads 2 --rounds 5
"""

import argparse

from timing import named, time_turns, use_cores

ROUNDS = {"small": 15, "large": 5}
TURN_SECONDS = 0.5
BATCH, SOURCE, TARGET, RATE, SMOOTHING = 64, 7, 11, 0.1, 0.1


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", choices=ROUNDS, default=list(ROUNDS))
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1, help="and cores")
    parser.add_argument("--core", type=int, help="the first core; default: the first one allowed")
    parser.add_argument("--rounds", type=int, help=f"turns of each system; default: {ROUNDS}")
    return parser.parse_args()


def make_systems(size, threads):
    """Functions that update the weights once: a dictionary with a reference last."""
    import training_peers as peers  # starts the libraries, which must follow `use_cores`

    batch = peers.make_batch(BATCH, SOURCE, TARGET)
    systems = {}
    for dtype in ("float32", "mixed_bfloat16"):
        for jit_compile in (False, True):
            name = f"keras_transformer, {dtype}, {'XLA' if jit_compile else 'graph'}"
            systems[name] = peers.make_ours(size, batch, dtype, jit_compile, RATE, SMOOTHING)
    systems["keras_transformer's layers, float32, fit"] = peers.make_fit(size, batch, RATE)
    for jit_compile in (False, True):
        name = f"KerasHub layers, float32, fit, {'XLA' if jit_compile else 'graph'}"
        systems[name] = peers.make_hub(size, batch, RATE, jit_compile)
    for dtype in ("float32", "bfloat16"):
        name = f"torch.nn.Transformer, {dtype}{' autocast' if dtype == 'bfloat16' else ''}"
        systems[name] = peers.make_torch(size, batch, dtype, RATE, SMOOTHING, threads)
    return systems


def print_table(size_name, times, gigaflop):
    import training_peers as peers

    rates = {dtype: peers.matrix_product_rate(dtype) for dtype in ("float32", "bfloat16")}
    print(f"\n{size_name}: {gigaflop:.1f} GFLOP of matrix products a step;", end=" ")
    print("products run at", ", ".join(f"{r:,.0f} GFLOP/s in {d}" for d, r in rates.items()))
    print("\n| system | processor s | wall s | tokens/s | times our best | share of that rate |")
    print("|---|---|---|---|---|---|")
    clock = 0 if peers.ON_GPU else 1
    seconds = {name: both[clock].median for name, both in times.items()}
    best = min(s for name, s in seconds.items() if name.startswith("keras_tr"))
    for name, (wall, cpu) in times.items():
        rate = rates["bfloat16" if "bfloat16" in name else "float32"]
        print(
            f"| {name} | {cpu.median:.3f} ±{cpu.relative:.0%} | {wall.median:.3f} "
            f"| {BATCH * (SOURCE + TARGET) / seconds[name]:,.0f} "
            f"| {seconds[name] / best:.2f} | {gigaflop / seconds[name] / rate:.0%} |",
            flush=True,
        )


def main():
    arguments = read_arguments()
    use_cores(arguments.threads, arguments.core)
    import training_peers as peers

    for name in arguments.model:
        size = peers.SIZES[name]
        rest = 0.25 if arguments.threads > 1 else 0.0
        rounds = arguments.rounds or ROUNDS[name]
        times = time_turns(make_systems(size, arguments.threads), rounds, TURN_SECONDS, rest)
        print_table(f"{name} {tuple(size)}", times, peers.gigaflop(size, BATCH, SOURCE, TARGET))
    libraries = ("keras", "tensorflow", "keras-hub", "torch")
    print(
        f"\n{peers.describe_device().name}, {arguments.threads} thread(s) pinned to as many cores;",
        named("versions:", *libraries) + ".",
        f"Medians of alternating turns. A step: {BATCH} pairs of {SOURCE} and {TARGET} tokens,",
        "vocabularies of {:,} and {:,} words,".format(*peers.WORDS),
        f"tied output, pre-norm, dropout {RATE}, Adam: the course's batches and vocabularies.",
        "Models are (d_model, layers of each half, heads, d_ff). Tokens/s, ratios and",
        "shares count processor time and one thread's rate; on a GPU wall time and the GPU's rate.",
    )


if __name__ == "__main__":
    main()
