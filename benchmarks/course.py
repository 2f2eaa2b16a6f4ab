"""Compares batched decoding with the decoding loop of the course, on the same model.

The course decodes one sentence at a time, eagerly, and runs the whole model again for each token.
"""

import argparse

from timing import made_with, time_turns, use_cores

# The sizes of the course's model, which divides its `d_k` of 64 among 8 heads.
SIZES = {"h": 8, "d_k": 8, "d_v": 8, "d_model": 512, "d_ff_inner": 2048, "n": 6, "rate": 0.1}
SOURCE_WORDS, TARGET_WORDS = 2404, 3864  # vocabulary sizes
BATCH, SOURCE_LENGTH, STEPS = 64, 6, 6  # sentences of five words and the end token


def make_ours(model, source):
    """Returns a function that decodes all sentences in one batch."""
    import numpy as np

    from keras_transformer import SearchOptions
    from keras_transformer.backends import backend_module
    from keras_transformer.inference.model_search import ModelSearch
    from keras_transformer.inference.rules import NOT_END

    search = backend_module().compile_inference(ModelSearch(model, SearchOptions()), True)
    request = {"source": source, "constraints": np.full((len(source), STEPS), NOT_END, "int32")}
    return lambda: search(request)["tokens"][:, 0]


def make_course(model, source):
    """Returns a function that decodes the first sentence as the course does."""
    import numpy as np
    from keras import ops

    from keras_transformer import END_ID, START_ID

    def decode():
        target = np.array([[START_ID]], "int32")
        for _ in range(STEPS):
            logits = ops.convert_to_numpy(model((source[:1], target), training=False))[:, -1]
            logits[:, : END_ID + 1] = -np.inf  # force the same number of steps everywhere
            target = np.append(target, logits.argmax(axis=1, keepdims=True), axis=1)
        return target[:, 1:]

    return decode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--threads", type=int, choices=(1, 2), default=1, help="number of threads and CPU cores"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds to time (default: 7)")
    arguments = parser.parse_args()
    use_cores(arguments.threads)
    import numpy as np

    from keras_transformer import TransformerModel

    model = TransformerModel(SOURCE_WORDS, TARGET_WORDS, SOURCE_LENGTH, STEPS, **SIZES)
    model.build(((None, None), (None, None)))
    random = np.random.default_rng(0)
    source = random.integers(4, SOURCE_WORDS, (BATCH, SOURCE_LENGTH), "int32")
    systems = {
        f"keras_transformer, XLA, batches of {BATCH}": make_ours(model, source),
        "course, one sentence at a time": make_course(model, source),
    }
    ours, course = (run() for run in systems.values())
    assert (ours[:1] == course).all(), "both systems must produce the same tokens"
    times = time_turns(systems, arguments.rounds, turn_seconds=0.5, rest=0.25)
    print(f"\n{made_with('tensorflow')}, {arguments.threads} threads\n")
    print("| system | sentences/s, wall time | sentences/s, CPU time |\n|---|---|---|")
    rates = []
    for (name, (wall, cpu)), sentences in zip(times.items(), (BATCH, 1), strict=True):
        rates.append((sentences / wall.median, sentences / cpu.median))
        print(f"| {name} | {rates[-1][0]:.1f} | {rates[-1][1]:.1f} |")
    ratios = [ours / course for ours, course in zip(*rates, strict=True)]
    print(f"\nSpeedup: {ratios[0]:.0f} in wall time, {ratios[1]:.0f} in CPU time.")


if __name__ == "__main__":
    main()
