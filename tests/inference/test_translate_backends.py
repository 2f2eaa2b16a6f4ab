"""Models computed by the layers of Keras give the same on every backend."""

import json

import keras
import numpy as np
import pytest
from keras import ops
from other_backends import other_backends, run_on

from keras_transformer import Translate, read_pairs
from keras_transformer.data.corpus import bundled_run_path, corpus_path

KINDS = {
    "greedy": {},
    "beam": {"beam_size": 4},
    "n-best": {"beam_size": 4, "n_best": 3, "no_repeat_ngram_size": 3},
    "prefix": {"prefixes": "Ich"},
    "sampling": {"temperature": 1.0, "n_best": 2, "top_k": 50, "top_p": 0.9},
}
IDS = [[5, 3, 0, 0], [4, 6, 7, 3]]
SAVE = """
import sys
import numpy as np
from test_translate_backends import logits_of
from tiny import make_dataset, make_model
model = make_model(make_dataset())
model.save(sys.argv[1])
np.save(sys.argv[2], logits_of(model))
"""


def tokens_of_translations(number=40):
    """Returns the tokens and the scores of some sentences, translated by the bundled run."""
    # Without `jit_compile`, NumPy would translate on every backend.
    translate = Translate.from_run(bundled_run_path(), jit_compile=keras.config.backend() == "jax")
    sources = [source for source, _ in read_pairs(corpus_path())[:: 58_000 // number]][:number]
    found = {}
    for kind, options in KINDS.items():
        if "prefixes" in options:
            options = {"prefixes": [options["prefixes"]] * number}
        hypotheses = [x for xs in translate.hypotheses(sources, **options) for x in xs]
        found[kind] = [x.tokens for x in hypotheses], [x.score for x in hypotheses]
    return found


@pytest.mark.slow
@other_backends
def test_all_backends_translate_the_same(other):
    code = (
        "import json, test_translate_backends as t; print(json.dumps(t.tokens_of_translations()))"
    )
    theirs = json.loads(run_on(other, code).splitlines()[-1])
    for kind, (tokens, scores) in tokens_of_translations().items():
        assert tokens == theirs[kind][0], kind
        np.testing.assert_allclose(scores, theirs[kind][1], atol=1e-4)


def logits_of(model):
    return ops.convert_to_numpy(model((np.array(IDS), np.array(IDS))))


@pytest.mark.slow
@other_backends
def test_a_model_saved_on_another_backend_computes_the_same(tmp_path, other):
    path, logits = tmp_path / "model.keras", tmp_path / "logits.npy"
    run_on(other, SAVE, path, logits)
    model = keras.models.load_model(path)
    np.testing.assert_allclose(logits_of(model), np.load(logits), atol=1e-5)
