"""Compares `Generate` with `transformers` on random weights in the sizes of a small Llama.

Both continue the same prompt greedily, one token at a time and alternately, on one core. The first
token includes reading the prompt.
"""

import argparse
import statistics
import tempfile
import time

from timing import made_with, use_one_core

SIZES = {
    "tiny": {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 300},
    # The sizes of SmolLM2-135M.
    "small": {
        "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "vocab_size": 49152,
        "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True,
    },
}  # fmt: skip


def main():
    """Prints a table with a row per system and dtype."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--prompt", type=int, default=128, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=20, help="tokens of the continuation")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    use_one_core()
    rows = [row for dtype in arguments.dtypes for row in _compare(arguments, dtype)]
    print(f"\n{made_with('transformers', 'torch')}, one core, {arguments.prompt} + ", end="")
    print(f"{arguments.tokens} tokens, medians of {arguments.rounds} rounds, CPU time")
    print("| system | ms to the first token | ms per further token | relative | same tokens |")
    print("|---|---|---|---|---|")
    print(*rows, sep="\n")


def _compare(arguments, dtype):
    import numpy as np
    import torch
    import transformers

    import keras_transformer as kt

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        **{"num_attention_heads": 4, **SIZES[arguments.size]}, max_position_embeddings=2048
    )
    config.eos_token_id = config.vocab_size - 1
    theirs = transformers.LlamaForCausalLM(config).eval()
    for parameter in theirs.parameters():  # so that the tokens differ
        torch.nn.init.normal_(parameter, 1.0 if parameter.ndim == 1 else 0.0, 0.05)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        model = kt.TransformerLanguageModel.from_pretrained(folder, dtype=dtype)
    theirs = theirs.to(getattr(torch, dtype))
    generate = kt.Generate(model, _NoTokenizer(model.vocab_size))
    prompt = np.random.default_rng(0).integers(0, config.vocab_size - 1, arguments.prompt)
    systems = {
        f"keras_transformer, {dtype}": lambda: list(_ours(generate, prompt, arguments.tokens)),
        f"transformers, {dtype}": lambda: list(_theirs(theirs, prompt, arguments.tokens)),
    }
    times = {name: [] for name in systems}
    tokens = {}
    for round_number in range(arguments.rounds + 1):
        for name, run in systems.items():
            found = run()
            tokens[name] = [token for token, _ in found]
            if round_number:
                times[name].append([seconds for _, seconds in found])
    first, further = (
        {name: statistics.median(map(part, rounds)) for name, rounds in times.items()}
        for part in (lambda x: x[0], lambda x: statistics.median(x[1:]))
    )
    *_, reference = systems
    same = np.mean(np.equal(*tokens.values()))
    for name in systems:
        ratio = f"{further[reference] / further[name]:.2f}"
        cells = (f"{1e3 * first[name]:.0f}", f"{1e3 * further[name]:.1f}", ratio, f"{same:.0%}")
        yield f"| {name} | {' | '.join(cells)} |"


def _ours(generate, prompt, tokens):
    """Yields each published id and the CPU seconds that it took."""
    import keras_transformer as kt

    given, start = [int(i) + 4 for i in prompt], time.process_time()  # the end token is the last
    for token in generate._tokens(given, tokens, kt.SearchOptions()):
        yield token - 4, time.process_time() - start
        start = time.process_time()


def _theirs(model, prompt, tokens):
    import torch
    from transformers.generation.streamers import BaseStreamer

    found, clock = [], [time.process_time()]

    class Clock(BaseStreamer):
        def put(self, value):
            if found or len(clock) > 1 or value.numel() == 1:
                found.append((int(value.ravel()[-1]), time.process_time() - clock[-1]))
                clock.append(time.process_time())

        def end(self):
            pass

    ids = torch.from_numpy(prompt[None])
    options = {"do_sample": False, "max_new_tokens": tokens, "eos_token_id": None}
    model.generate(ids, attention_mask=torch.ones_like(ids), streamer=Clock(), **options)
    return found


class _NoTokenizer:
    def __init__(self, vocab_size):
        self.vocab_size = vocab_size


if __name__ == "__main__":
    main()
