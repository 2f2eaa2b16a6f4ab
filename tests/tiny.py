"""A toy translation task of number words, with a model and a trainer that learn it in seconds."""

import functools
import itertools

import keras

from keras_transformer import (
    Adam,
    BlockSettings,
    PrepareDataset,
    Trainer,
    TransformerModel,
    WarmupSchedule,
)
from keras_transformer.objectives.metrics import loss_and_totals

WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}
PAIRS = [
    (" ".join(words), " ".join(WORDS[word] for word in words))
    for length in (1, 2, 3, 4)  # at most 100 of each length
    for words in list(itertools.product(WORDS, repeat=length))[:: 1 + 5**length // 100]
]
SMOOTHED_LOSS = functools.partial(loss_and_totals, label_smoothing=0.1)


@functools.cache
def make_dataset():
    return PrepareDataset(seed=1)(PAIRS)


def make_model(dataset, rate=0.0, model_class=TransformerModel, **kwargs):
    keras.utils.set_random_seed(7)
    settings = BlockSettings(h=2, d_model=32, d_ff=64, rate=rate, norm_first=True)
    model = model_class(
        dataset.source_tokenizer.vocab_size,
        dataset.target_tokenizer.vocab_size,
        settings=settings,
        tie_output=True,
        **kwargs,
    )
    model.build(((None, None), (None, None)))
    return model


def make_batches(dataset):
    return dataset.batches(dataset.train, 16, seed=3), dataset.batches(dataset.validation, 16)


def make_trainer(dataset, folder, rate=0.1, **options):
    schedule = WarmupSchedule(d_model=32, warmup_steps=60, scale=0.3)
    optimizer = Adam(schedule, beta_2=0.98, epsilon=1e-9)
    return Trainer(make_model(dataset, rate), optimizer, folder, **options)


class CallAt:
    """Wraps training batches; calls a function when a given batch is fetched."""

    def __init__(self, batches, epoch, index, function):
        self.batches, self.when, self.function = batches, (epoch, index), function

    def __getattr__(self, name):
        return getattr(self.batches, name)

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        if (self.batches.epoch, index) == self.when:
            self.function()
        return self.batches[index]
