"""Names of version 0.1.0 still work, with a warning that states the new name."""

import keras
import numpy as np
import pytest

from keras_transformer import (
    AddNormalization,
    AugmentedImages,
    BlockSettings,
    PositionEmbeddingFixedWeights,
    TransformerModel,
    WordPieceTokenizer,
    WordTokenizer,
    __version__,
    sinusoidal_encoding,
    warmup_cosine,
)
from keras_transformer._utils.deprecation import REMOVED_IN
from keras_transformer.data.cleaning import clean, clean_pairs


def word_pieces():
    return WordPieceTokenizer.train(["the cat sat", "the dog"], min_count=1)


def translator():
    keras.utils.set_random_seed(0)
    return TransformerModel(9, 9, settings=BlockSettings(h=1, d_model=4, d_ff=4))


def images(**kwargs):
    batches = AugmentedImages(np.ones((2, 4, 4, 1), "float32"), np.arange(2), 2, 0, **kwargs)
    return [batches.rotation, batches.scale, batches.shear, batches.shift]


IDS = np.array([[4, 5, 3]])
OLD_AND_NEW = {
    "Tokenizer.join": (
        lambda: WordTokenizer.train(["a b"]).join(["▁a", "▁b"]),
        lambda: WordTokenizer.train(["a b"]).detokenize(["▁a", "▁b"]),
    ),
    "WordPieceTokenizer.join": (
        lambda: word_pieces().join([7, 8], [9], length=5),
        lambda: word_pieces().add_special_tokens([7, 8], [9], length=5),
    ),
    "WordPieceTokenizer.arrays": (
        lambda: word_pieces().arrays(["the cat"], length=5),
        lambda: word_pieces().encode_batch(["the cat"], length=5),
    ),
    "WordPieceTokenizer.of_vocabulary": (
        lambda: WordPieceTokenizer.of_vocabulary(VOCABULARY).encode("cat").ids,
        lambda: WordPieceTokenizer.from_vocabulary(VOCABULARY).encode("cat").ids,
    ),
    "AddNormalization.before": (
        lambda: AddNormalization(0.0, norm_first=True).before(np.eye(2)),
        lambda: AddNormalization(0.0, norm_first=True).sublayer_input(np.eye(2)),
    ),
    "TransformerModel.attention_scores": (
        lambda: translator().attention_scores(IDS, IDS)["cross"],
        lambda: translator().attention_weights(IDS, IDS)["cross"],
    ),
    "AugmentedImages(turn, …)": (
        lambda: images(turn=1.0, stretch=0.2, slant=0.3, move=4.0),
        lambda: images(rotation=1.0, scale=0.2, shear=0.3, shift=4.0),
    ),
    "warmup_cosine(highest)": (
        lambda: float(warmup_cosine(highest=0.4, steps=9)(1)),
        lambda: float(warmup_cosine(peak=0.4, steps=9)(1)),
    ),
    "sinusoidal_encoding(n)": (
        lambda: sinusoidal_encoding(3, 4, n=10.0),
        lambda: sinusoidal_encoding(3, 4, base=10.0),
    ),
    "clean(keep_umlauts)": (
        lambda: clean("schön", keep_umlauts=True),
        lambda: clean("schön", keep_letters=True),
    ),
    "clean_pairs(keep_umlauts)": (
        lambda: clean_pairs([("a", "schön")], keep_umlauts=True),
        lambda: clean_pairs([("a", "schön")], keep_letters=True),
    ),
    "PositionEmbeddingFixedWeights(n)": (
        lambda: PositionEmbeddingFixedWeights(3, 4, 2, n=10.0).base,
        lambda: PositionEmbeddingFixedWeights(3, 4, 2, base=10.0).base,
    ),
}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat"]


@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW.values(), ids=OLD_AND_NEW)
def test_old_name_warns_and_equals_the_new_one(old, new, recwarn):
    with pytest.warns(FutureWarning, match=r"is deprecated: use .*\. Version 0\.3 removes"):
        found = old()
    recwarn.clear()
    expected = new()
    assert not [warning for warning in recwarn if warning.category is FutureWarning]
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_deprecated_names_are_removed_after_one_version():
    version = tuple(map(int, __version__.split(".")[:2]))
    assert version < tuple(map(int, REMOVED_IN.split("."))), "remove the deprecated names"


def test_old_configurations_are_read_without_a_warning(recwarn):
    config = PositionEmbeddingFixedWeights(3, 4, 2, base=10.0).get_config()
    config["n"] = config.pop("base")
    assert PositionEmbeddingFixedWeights.from_config(config).base == 10.0
    config = translator().get_config()
    config["d_ff_inner"] = config.pop("d_ff")
    del config["epsilon"]
    assert TransformerModel.from_config(config).settings == translator().settings
    assert not [warning for warning in recwarn if warning.category is FutureWarning]
