"""A program that uses the public API. `make check` checks its types; it is never run."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import keras_transformer as kt


def translate(folder: str) -> None:
    translate = kt.Translate.from_run(folder)
    assert_type(translate, kt.Translate)
    assert_type(translate("Good morning!"), str)
    assert_type(translate(["Good morning!"], beam_size=4), list[str])
    assert_type(translate.hypotheses("Good morning!")[0], list[kt.Hypothesis])
    translate(1)  # type: ignore[call-overload]
    scores, translations = kt.evaluate_run(folder, beam_size=4)
    assert_type(scores.bleu, float)
    assert_type(translations, list[str])


def train(path: str) -> None:
    dataset = kt.PrepareDataset(n_sentences=1000)(kt.read_pairs(path))
    settings = kt.BlockSettings(h=2, d_model=8, d_ff=16)
    sizes = (dataset.source_tokenizer.vocab_size, dataset.target_tokenizer.vocab_size)
    model = kt.TransformerModel(*sizes, settings=settings)
    trainer = kt.Trainer(model, kt.Adam(kt.WarmupSchedule(8)), "run", dataset=dataset)
    batches = dataset.batches(dataset.train, batch_size=8)
    history, interrupted = trainer.train(batches, batches, epochs=2)
    assert_type(history, list[dict[str, float]])
    assert_type(interrupted, bool)
    kt.BlockSettings(h="2", d_model=8, d_ff=16)  # type: ignore[arg-type]


def check_layers() -> None:
    layer = kt.MultiHeadAttention(h=2, d_k=4, d_v=4, d_model=8)
    keys, values = layer.start(batch_size=1, length=3)
    layer.step(np.ones((1, 1, 8)), 0, (keys, values))
    kt.MultiHeadAttention(h=2, d_k=4, d_v=4)  # type: ignore[call-arg]
    encoding: Callable[[int, int], Any] = kt.sinusoidal_encoding
    encoding(3, 4)
    kt.sinusoidal_encoding("3", 4)  # type: ignore[arg-type]
    kt.a_missing_name  # type: ignore[attr-defined] # noqa: B018
