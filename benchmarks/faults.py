"""Measures what each fault of the course's translator costs in loss and BLEU.

Each fault is added alone to a translator, which is then trained and scored.

python benchmarks/faults.py english-german-both.pkl
python benchmarks/faults.py english-german-both.pkl --recipe book --epochs 2 --fault none all
"""

import argparse
import dataclasses
import math
import tempfile

from timing import made_with, use_one_core

use_one_core()  # before the libraries start

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import ops  # noqa: E402

import keras_transformer as kt  # noqa: E402
from keras_transformer import START_ID  # noqa: E402
from keras_transformer.runs.recipes import RECIPES, read_recipe  # noqa: E402
from keras_transformer.training.run import make_optimizer, number_of_updates  # noqa: E402


class Default:
    """A translator without a fault."""

    name = "none"

    def settings(self):
        """Returns the fields of `RunConfig` that the fault changes."""
        return {}

    def prepare(self, pairs, config):
        return kt.PrepareDataset(config.n_sentences, seed=config.seed)(pairs)

    def make_model(self, config, dataset):
        sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
        settings = self.block_settings(config)
        model = kt.TransformerModel(*sizes, settings=settings, tie_output=config.tie_output)
        self.change(model)
        model.build(((None, None), (None, None)))
        return model

    def block_settings(self, config):
        return config.block_settings()

    def change(self, model):
        """Replaces parts of the model, which is not built yet."""

    def batches(self, dataset, config):
        return dataset.batches(dataset.train, config.batch_size, config.seed)

    def translator(self, model, dataset):
        return kt.Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)


class FrozenEmbeddings(Default):
    """The word embeddings are sinusoids of the token ids and are not trained."""

    name = "frozen embeddings"

    def settings(self):
        return {"tie_output": False}  # a tied output would be frozen as well

    def change(self, model):
        super().change(model)
        for side in ("source_embedding", "target_embedding"):
            old = getattr(model, side)
            setattr(model, side, old.from_config({**old.get_config(), "freeze_words": True}))


class WrongScale(Default):
    """d_k is divided among the heads, but the scores by the square root of the undivided d_k."""

    name = "d_k divided twice"

    def block_settings(self, config):
        settings = super().block_settings(config)
        size = settings.d_k // settings.h
        return dataclasses.replace(settings, d_k=size, d_v=size)

    def change(self, model):
        super().change(model)
        factor = 1 / math.sqrt(model.settings.h)
        for layer in (*model.encoder.layers, *model.decoder.layers):
            for part in (layer.self_attention, getattr(layer, "cross_attention", None)):
                if part is not None:
                    part.attention = Scaled(factor, dtype=part.dtype_policy)


class Scaled(kt.DotProductAttention):
    """Dot-product attention with an additional factor on the scores."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, queries, keys, values, attention_mask=None):
        return super().call(self.factor * queries, keys, values, attention_mask)


class SharedNorm(Default):
    """Two layer normalizations of each decoder layer share their weights."""

    name = "shared norm"

    def change(self, model):
        super().change(model)
        for layer in model.decoder.layers:
            layer.add_norm_2 = BuiltOnce.from_config(layer.add_norm_2.get_config())
            layer.add_norm_3 = layer.add_norm_2


class BuiltOnce(kt.AddNormalization):
    """Can be used in several places, because it is built only once."""

    def build(self, *shapes):
        if not self.built:
            super().build(*shapes)


class ExtraStart(Default):
    """The source has a start token in inference, but not in training."""

    name = "start token in inference only"

    def translator(self, model, dataset):
        source = WithStart(dataset.source_tokenizer._tokenizer)
        return kt.Translate(model, source, dataset.target_tokenizer)


class WithStart(kt.WordTokenizer):
    def encode(self, sentence):
        return [START_ID, *super().encode(sentence)]


class RandomSplit(Default):
    """The pairs are split at random, and the vocabularies are built from all of them.

    One source sentence can therefore be in several parts.
    """

    name = "random split"

    def prepare(self, pairs, config):
        pairs = [
            pairs[i] for i in np.random.default_rng(config.seed).permutation(config.n_sentences)
        ]
        tokenizers = [kt.WordTokenizer.train(side) for side in zip(*pairs, strict=True)]
        tenth = len(pairs) // 10
        test = [(source, [target]) for source, target in pairs[:tenth]]
        return kt.PreparedDataset(
            pairs[2 * tenth :], pairs[tenth : 2 * tenth], test, *tokenizers, {}
        )


class NoReshuffling(Default):
    """All epochs have the same batches in the same order."""

    name = "no reshuffling"

    def batches(self, dataset, config):
        return FixedOrder(dataset.batches(dataset.train, config.batch_size, config.seed))


class FixedOrder:
    """Wraps batches to keep the order of the first epoch."""

    def __init__(self, batches):
        self.batches = batches

    def set_epoch(self, epoch):
        pass

    def __getattr__(self, name):
        return getattr(self.batches, name)

    def __getitem__(self, index):
        return self.batches[index]

    def __len__(self):
        return len(self.batches)


SINGLE = (FrozenEmbeddings, WrongScale, SharedNorm, ExtraStart, RandomSplit, NoReshuffling)


class All(*SINGLE):
    """All faults at once."""

    name = "all"


FAULTS = {kind.name: kind() for kind in (Default, *SINGLE, All)}


SETTINGS = {
    "d_model": 256, "d_ff": 512, "n": 3, "rate": 0.2, "epochs": 15, "batch_size": 64,
    "warmup_steps": 600, "decay": "inverse_sqrt", "rotary_base": None, "optimizer": "adam",
}  # fmt: skip


def measure(fault, pairs, settings):
    """Trains with a fault; returns the history and the `Scores` on the test part."""
    config = kt.RunConfig(**{**settings, **fault.settings()})
    dataset = fault.prepare(pairs, config)
    keras.utils.set_random_seed(config.seed)
    model = fault.make_model(config, dataset)
    batches = fault.batches(dataset, config)
    optimizer = make_optimizer(config, "float32", number_of_updates(config, batches))
    validation = dataset.batches(dataset.validation, config.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        trainer = kt.Trainer(model, optimizer, folder, config.label_smoothing, config.patience)
        history, _ = trainer.train(batches, validation, config.epochs)
    sources, references = zip(*dataset.test, strict=True)
    translations = fault.translator(model, dataset)(list(sources))
    return history, kt.score(translations, references)


def table_row(name, history, scores):
    """Returns a row: loss and accuracy of the first two epochs, best validation loss, scores."""
    first = " | ".join(f"{row['loss']:.2f}, {row['accuracy']:.3f}" for row in history[:2])
    best = min(row["validation_loss"] for row in history)
    return f"| {name} | {first} | {best:.2f} | {scores.bleu:.1f} | {scores.chrf:.1f} |"


def float16_scores():
    """Returns the float16 attention weights of a fully masked query under a mask of -1e9.

    The second value is the output of `DotProductAttention` for such a query.
    """
    scores, mask = np.zeros((1, 2), "float16"), np.zeros((1, 2), "float16")
    with np.errstate(over="ignore"):
        added = ops.softmax(ops.convert_to_tensor(scores + (1 - mask) * np.float16(-1e9)))
    x = np.ones((1, 2, 4), "float16")
    ours = kt.DotProductAttention(dtype="float16")(x, x, x, attention_mask=mask[None] > 0)
    return ops.convert_to_numpy(added), ops.convert_to_numpy(ours)[0, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", help="file of sentence pairs, such as english-german-both.pkl")
    parser.add_argument(
        "--fault", nargs="+", choices=FAULTS, default=list(FAULTS), help="faults (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed (default: 0)")
    parser.add_argument("--recipe", choices=RECIPES, help="settings (default: see SETTINGS)")
    parser.add_argument("--epochs", type=int, help="number of epochs (default: of the settings)")
    arguments = parser.parse_args()
    settings = read_recipe(arguments.recipe) if arguments.recipe else SETTINGS
    given = {"n_sentences": 10_000, "data": arguments.pairs, "seed": arguments.seed}
    settings = {**settings, **given, **({"epochs": arguments.epochs} if arguments.epochs else {})}
    pairs, rows = kt.read_pairs(arguments.pairs), []
    for name in arguments.fault:
        rows.append(table_row(name, *measure(FAULTS[name], pairs, settings)))
        print(rows[-1], flush=True)
    print("\n| fault | epoch 1: loss, accuracy | epoch 2 | best validation loss | BLEU | chrF |")
    print("|---|---|---|---|---|---|", *rows, sep="\n")
    added, ours = float16_scores()
    print(f"\nFully masked query in float16: weights {added} with a mask of -1e9,")
    print(f"output {ours} of `DotProductAttention`.")
    print(f"{made_with('tensorflow')}, one core, float32.")


if __name__ == "__main__":
    main()
