"""Compares the translations of a run's exports with its own: python .ci/compare_exports.py RUN"""

import sys
from pathlib import Path

import ctranslate2
import tensorflow as tf

from keras_transformer import RunFolder, Translate, score
from keras_transformer.data.batches import pad_ids
from keras_transformer.data.tokenizers import Tokenizer

NUM_SENTENCES = 200  # of the test set
MIN_BLEU = 30  # 63 after the three epochs of .ci/train, about 0 after the first
MIN_EQUAL = 0.97  # rounding may decide between two tokens of nearly equal probability


def load_saved_model(folder):
    """Returns a function that translates sentences with the SavedModel in a folder."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    source, target = (Tokenizer.load(folder / f"{x}_tokenizer.json") for x in ("source", "target"))

    def translate(texts):
        ids = [source.encode(text) for text in texts]
        ids = pad_ids(ids, max(map(len, ids)))
        return [target.decode(row) for row in signature(source=tf.constant(ids))["target"].numpy()]

    return translate


def load_ctranslate2(folder):
    """Returns a function that translates sentences with the CTranslate2 model in a folder."""
    translator = ctranslate2.Translator(str(folder))
    source, target = (Tokenizer.load(folder / f"{x}_tokenizer.json") for x in ("source", "target"))

    def translate(texts):
        tokens = [source.tokenize(text) for text in texts]
        results = translator.translate_batch(tokens, beam_size=1, min_decoding_length=0)
        return [target.detokenize(result.hypotheses[0]) for result in results]

    return translate


def main():
    run = Path(sys.argv[1])
    sources, references = zip(*RunFolder(run).read_test()[:NUM_SENTENCES], strict=True)
    expected = Translate.from_run(run)(list(sources))
    bleu = score(expected, references).bleu
    print(f"BLEU {bleu:.1f} on {len(sources)} sentences")
    failed = bleu < MIN_BLEU
    exports = {
        "CTranslate2": load_ctranslate2(run / "exported/ctranslate2"),
        "SavedModel": load_saved_model(run / "exported/saved_model/1"),
    }
    for name, translate in exports.items():
        found = translate(list(sources))
        equal = sum(a == b for a, b in zip(found, expected, strict=True)) / len(expected)
        print(f"{name}: {equal:.1%} of the translations equal those of the run")
        failed |= equal < MIN_EQUAL
    if failed:
        sys.exit(f"Expected BLEU >= {MIN_BLEU} and {MIN_EQUAL:.0%} equal translations.")


if __name__ == "__main__":
    main()
