"""Measures the training time until the validation loss equals the course's best.

python benchmarks/time_to_quality.py PAIRS.pkl
"""

import argparse
import contextlib
import tempfile
import time

from timing import made_with, use_one_core


class Reached(BaseException):
    """Stops the training when the validation loss has reached the target.

    It is no `Exception`, because `Trainer` continues after those of its writer.
    """


class Clock:
    """A summary writer for `Trainer` that records the time at the end of each epoch."""

    def __init__(self, target):
        self.target, self.loss = target, float("inf")

    def add_scalar(self, name, value, epoch):
        if name == "validation_loss":
            self.loss, self.epoch = value, epoch
            self.cpu, self.wall = time.process_time(), time.perf_counter()

    def flush(self):
        if self.loss <= self.target:
            raise Reached


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", help="file of sentence pairs, such as english-german-both.pkl")
    parser.add_argument(
        "--n-sentences", type=int, default=10_000, help="number of pairs to use (default: 10,000)"
    )
    parser.add_argument(
        "--loss", type=float, default=2.51, help="target validation loss (default: 2.51)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    arguments = parser.parse_args()
    use_one_core()
    wall = time.perf_counter()
    import keras

    from keras_transformer import PrepareDataset, RunConfig, Trainer, read_pairs
    from keras_transformer.backends import backend_module
    from keras_transformer.runs.folder import build_run_model
    from keras_transformer.training.run import make_optimizer, number_of_epochs, number_of_updates

    config = RunConfig(data=arguments.pairs, n_sentences=arguments.n_sentences, seed=arguments.seed)
    dataset = PrepareDataset(config.n_sentences, seed=config.seed)(read_pairs(arguments.pairs))
    keras.utils.set_random_seed(config.seed)
    dtype = "mixed_bfloat16" if backend_module().describe_device().bfloat16 else "float32"
    model = build_run_model(config, (dataset.source_tokenizer, dataset.target_tokenizer), dtype)
    clock = Clock(arguments.loss)
    batches = dataset.batches(dataset.train, config.batch_size, config.seed)
    validation = dataset.batches(dataset.validation, config.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(
            model,
            make_optimizer(config, dtype, number_of_updates(config, batches)),
            folder,
            config.label_smoothing,
            writer=clock,
        )
        with contextlib.suppress(Reached):
            trainer.train(batches, validation, number_of_epochs(config, batches))
    if clock.loss > arguments.loss:
        raise SystemExit(
            f"The validation loss did not reach {arguments.loss}. "
            f"Received: {clock.loss:.2f} after {clock.epoch} epochs"
        )
    print("\n| validation loss | epoch | CPU s | wall s |\n|---|---|---|---|")
    print(f"| {clock.loss:.2f} | {clock.epoch} | {clock.cpu:.0f} | {clock.wall - wall:.0f} |")
    print(
        f"\n{made_with(keras.config.backend())}, one core.",
        f"Times include startup and imports; {config.n_sentences:,} pairs, default sizes, {dtype},",
        f"seed {config.seed}.",
    )


if __name__ == "__main__":
    main()
