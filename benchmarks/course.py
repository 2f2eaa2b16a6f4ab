"""How much faster is our search than decoding as courses teach it, on the same model?

The course's way: one sentence at a time, without a graph, the whole model again for each token.
"""

import argparse

from timing import named, processor_name, time_turns, use_cores

# The size of the course's model, whose 64 dimensions of keys are divided over 8 heads.
SIZES = {"h": 8, "d_k": 8, "d_v": 8, "d_model": 512, "d_ff_inner": 2048, "n": 6, "rate": 0.1}
SOURCE_WORDS, TARGET_WORDS = 2404, 3864  # of the vocabularies
BATCH, SOURCE_LENGTH, STEPS = 64, 6, 6  # sentences of five words and the end


def make_ours(model, source):
    """Decodes all sentences together."""
    import numpy as np

    from keras_transformer import SearchOptions
    from keras_transformer.backends import backend_module
    from keras_transformer.inference.model_search import ModelSearch
    from keras_transformer.inference.rules import GO_ON

    search = backend_module().compile_inference(ModelSearch(model, SearchOptions()), True)
    request = {"source": source, "plan": np.full((len(source), STEPS), GO_ON, "int32")}
    return lambda: search(request)["tokens"][:, 0]


def make_course(model, source):
    """Decodes the first sentence."""
    import numpy as np
    from keras import ops

    from keras_transformer._utils.special_tokens import END_ID, START_ID

    def decode():
        target = np.array([[START_ID]], "int32")
        for _ in range(STEPS):
            logits = ops.convert_to_numpy(model((source[:1], target), training=False))[:, -1]
            logits[:, : END_ID + 1] = -np.inf  # all are to do the same number of steps
            target = np.append(target, logits.argmax(axis=1, keepdims=True), axis=1)
        return target[:, 1:]

    return decode


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1, help="and cores")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    use_cores(arguments.threads)
    import numpy as np

    from keras_transformer import TransformerModel

    model = TransformerModel(SOURCE_WORDS, TARGET_WORDS, SOURCE_LENGTH, STEPS, **SIZES)
    model.build(((None, None), (None, None)))
    random = np.random.default_rng(0)
    source = random.integers(4, SOURCE_WORDS, (BATCH, SOURCE_LENGTH), "int32")
    systems = {
        f"keras_transformer, XLA, {BATCH} sentences together": make_ours(model, source),
        "the course's way": make_course(model, source),
    }
    ours, course = (run() for run in systems.values())
    assert (ours[:1] == course).all(), "the two must choose the same words"
    times = time_turns(systems, arguments.rounds, turn_seconds=0.5, rest=0.25)
    print(
        f"\n{processor_name()}, {arguments.threads} threads; {named('', 'keras', 'tensorflow')}\n"
    )
    print("| system | sentences/s, wall | sentences/s, processor |\n|---|---|---|")
    rates = []
    for (name, (wall, cpu)), sentences in zip(times.items(), (BATCH, 1), strict=True):
        rates.append((sentences / wall.median, sentences / cpu.median))
        print(f"| {name} | {rates[-1][0]:.1f} | {rates[-1][1]:.1f} |")
    ratios = [ours / course for ours, course in zip(*rates, strict=True)]
    print(f"\nRatio: {ratios[0]:.0f} of wall time, {ratios[1]:.0f} of processor time.")


if __name__ == "__main__":
    main()
