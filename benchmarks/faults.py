"""What is each fault of the course's translator worth, alone, with everything else as it is here?

python benchmarks/faults.py english-german-both.pkl
python benchmarks/faults.py english-german-both.pkl --fault "our own" "one norm twice" --seed 1
"""

import argparse
import dataclasses
import math
import tempfile

from timing import named, processor_name, use_one_core

use_one_core()  # before the libraries start

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import ops  # noqa: E402

import keras_transformer as kt  # noqa: E402
from keras_transformer._utils.special_tokens import START_ID  # noqa: E402
from keras_transformer.runs.folder import make_model  # noqa: E402
from keras_transformer.training.run import make_optimizer  # noqa: E402


class Ours:
    """No fault: the default of `train.py`."""

    name = "our own"

    def settings(self):
        """What is set otherwise."""
        return {}

    def prepare(self, pairs, config):
        return kt.PrepareDataset(config.n_sentences, seed=config.seed)(pairs)

    def make_model(self, config, dataset, dtype):
        return make_model(config, dataset.source_tokenizer, dataset.target_tokenizer, dtype)

    def make_anew(self, config, dataset, dtype, change):
        """A model that `change` has changed before it was built."""
        made = Ours().make_model(config, dataset, dtype)
        model = type(made).from_config(made.get_config())
        change(model)
        model.build(((None, None), (None, None)))
        return model

    def batches(self, dataset, config):
        return dataset.batches(dataset.train, config.batch_size, config.seed)

    def translator(self, model, dataset):
        return kt.Translate(model, dataset.source_tokenizer, dataset.target_tokenizer)


class FrozenWords(Ours):
    """The words' vectors are sinusoids of their ids, and nothing is learned about words."""

    name = "frozen word vectors"

    def settings(self):
        return {"tie_output": False}  # the output has to learn something

    def make_model(self, config, dataset, dtype):
        def freeze(model):
            for side in ("source_embedding", "target_embedding"):
                old = getattr(model, side)
                frozen = type(old).from_config({**old.get_config(), "freeze_words": True})
                setattr(model, side, frozen)

        return self.make_anew(config, dataset, dtype, freeze)


class UndividedScale(Ours):
    """d_k is divided among the heads, but scores are scaled by the root of the undivided one."""

    name = "d_k divided twice"

    def make_model(self, config, dataset, dtype):
        sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
        d_k = config.d_model // config.h  # which is divided once more
        settings = dataclasses.replace(
            config.block_settings(), d_k=d_k // config.h, d_v=d_k // config.h
        )
        model = kt.TransformerModel(
            *sizes, settings=settings, tie_output=config.tie_output, dtype=dtype
        )
        for layer in (*model.encoder.layers, *model.decoder.layers):
            for part in (layer.self_attention, getattr(layer, "cross_attention", None)):
                if part is not None:
                    part.attention = Scaled(1 / math.sqrt(config.h), dtype=part.dtype_policy)
        model.build(((None, None), (None, None)))
        return model


class Scaled(kt.DotProductAttention):
    """Multiplies the queries first."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, queries, keys, values, attention_mask=None):
        return super().call(self.factor * queries, keys, values, attention_mask)


class OneNormTwice(Ours):
    """The decoder's layers normalise twice with the same weights."""

    name = "one norm twice"

    def make_model(self, config, dataset, dtype):
        def share(model):
            for layer in model.decoder.layers:
                layer.add_norm_2 = BuiltOnce.from_config(layer.add_norm_2.get_config())
                layer.add_norm_3 = layer.add_norm_2

        return self.make_anew(config, dataset, dtype, share)


class BuiltOnce(kt.AddNormalization):
    """Can stand in several places."""

    def build(self, *shapes):
        if not self.built:
            super().build(*shapes)


class LostStart(Ours):
    """The source has a start token when translating, but had none in training."""

    name = "start token in translation only"

    def translator(self, model, dataset):
        source = WithStart(dataset.source_tokenizer._tokenizer)
        return kt.Translate(model, source, dataset.target_tokenizer)


class WithStart(kt.WordTokenizer):
    def encode(self, sentence):
        return [START_ID, *super().encode(sentence)]


class RandomSplit(Ours):
    """Pairs are split, not sentences, and the vocabularies are made of all of them."""

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


class NeverShuffled(Ours):
    """All epochs have the same batches in the same order."""

    name = "never shuffled"

    def batches(self, dataset, config):
        return Still(dataset.batches(dataset.train, config.batch_size, config.seed))


class Still:
    """Batches that stay in the order of the first epoch."""

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


FAULTS = {
    kind.name: kind()
    for kind in (
        Ours, FrozenWords, UndividedScale, OneNormTwice, LostStart, RandomSplit, NeverShuffled
    )
}  # fmt: skip


def measure(fault, pairs, seed):
    """Trains with a fault; returns the best validation loss and the `Scores` on the test part."""
    config = kt.RunConfig(n_sentences=10_000, seed=seed, **fault.settings())
    dataset = fault.prepare(pairs, config)
    keras.utils.set_random_seed(seed)
    model = fault.make_model(config, dataset, "float32")
    optimizer = make_optimizer(config, "float32")
    validation = dataset.batches(dataset.validation, config.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        trainer = kt.Trainer(model, optimizer, folder, config.label_smoothing, config.patience)
        history, _ = trainer.train(fault.batches(dataset, config), validation, config.epochs)
    sources, references = zip(*dataset.test, strict=True)
    translations = fault.translator(model, dataset)(list(sources))
    loss = min(row["validation_loss"] for row in history)
    return loss, kt.score(translations, references)


def float16_scores():
    """The weights of a row that adding -1e9 closes in float16, and what our layer returns."""
    scores, mask = np.zeros((1, 2), "float16"), np.zeros((1, 2), "float16")
    with np.errstate(over="ignore"):
        added = ops.softmax(ops.convert_to_tensor(scores + (1 - mask) * np.float16(-1e9)))
    x = np.ones((1, 2, 4), "float16")
    ours = kt.DotProductAttention(dtype="float16")(x, x, x, attention_mask=mask[None] > 0)
    return ops.convert_to_numpy(added), ops.convert_to_numpy(ours)[0, 0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", help="english-german-both.pkl, or other sentence pairs")
    parser.add_argument("--fault", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--seed", nargs="+", type=int, default=[0])
    arguments = parser.parse_args()
    pairs, rows = kt.read_pairs(arguments.pairs), []
    for name in arguments.fault:
        for seed in arguments.seed:
            loss, scores = measure(FAULTS[name], pairs, seed)
            rows.append(f"| {name} | {seed} | {loss:.2f} | {scores.bleu:.1f} | {scores.chrf:.1f} |")
            print(rows[-1], flush=True)
    print("\n| fault | seed | best validation loss | BLEU | chrF |\n|---|---|---|---|---|")
    print(*rows, sep="\n")
    added, ours = float16_scores()
    print(f"\nA mask of -1e9 in float16, a closed row: {added} by adding it, {ours} by ours")
    print(f"{processor_name()},", named("versions:", "keras", "tensorflow") + ", float32.")


if __name__ == "__main__":
    main()
