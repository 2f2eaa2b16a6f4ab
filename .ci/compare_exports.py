"""Compares the exports of a trained run with the run itself: python .ci/compare_exports.py RUN"""

import sys
from pathlib import Path

import tensorflow as tf

from keras_transformer import RunFolder, Translate, score
from keras_transformer.export.ctranslate2 import CTranslate2Translate

NUMBER = 200  # sentences of the test part
LEAST_BLEU = 30  # 72 after the four epochs of .ci/train, about 0 after the first
LEAST_EQUAL = 0.97  # rounding may decide between two tokens of nearly equal probability


def served(folder):
    """Returns a function from sentences to translations by the SavedModel in a folder."""
    signature = tf.saved_model.load(str(folder)).signatures["serving_default"]
    return lambda texts: [
        text.decode() for text in signature(sentences=tf.constant(texts))["translations"].numpy()
    ]


def main():
    run = Path(sys.argv[1])
    sources, references = zip(*RunFolder(run).read_test()[:NUMBER], strict=True)
    expected = Translate.from_run(run)(list(sources))
    bleu = score(expected, references).bleu
    print(f"BLEU {bleu:.1f} on {len(sources)} sentences")
    failed = bleu < LEAST_BLEU
    exports = {
        "CTranslate2": CTranslate2Translate(run / "exported/ctranslate2"),
        "SavedModel": served(run / "exported/saved_model/1"),
    }
    for name, translate in exports.items():
        found = translate(list(sources))
        equal = sum(a == b for a, b in zip(found, expected, strict=True)) / len(expected)
        print(f"{name}: {equal:.1%} of the translations equal those of the run")
        failed |= equal < LEAST_EQUAL
    if failed:
        sys.exit(f"Expected BLEU >= {LEAST_BLEU} and {LEAST_EQUAL:.0%} equal translations.")


if __name__ == "__main__":
    main()
