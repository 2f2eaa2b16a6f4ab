"""Trains a text classifier (default: questions and statements of the bundled corpus)."""

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_data_limits,
    add_epochs,
    add_learning_rate,
    add_output_run,
)
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import corpus_path

BATCH_SIZE = 32
SIZES = {"h": 4, "d_model": 128, "d_ff": 512, "n": 2, "rate": 0.1}


def add_arguments(parser):
    """Adds the labeled texts, the BERT to fine-tune and the output folder."""
    parser.add_argument(
        "data",
        nargs="?",
        help="file with a text, a tab and a label on each line (default: questions and statements)",
    )
    add_data_limits(parser)
    parser.add_argument(
        "--bert",
        help="folder of a BERT to fine-tune, trained with train-bert or published (default: train "
        "a small one from scratch)",
    )
    add_output_run(parser, "runs/labels")
    add_epochs(parser, 3)
    add_learning_rate(parser, 5e-4, "; published BERTs: 2e-5")


def run(arguments):
    """Trains and saves the classifier, and prints its accuracy on held-out texts."""
    import_backend(tuned=True)

    import keras
    import numpy as np

    keras.utils.set_random_seed(0)
    texts, labels, names = _read_examples(arguments.data, arguments.data_limits)
    cut = max(1, len(texts) // 10)  # number of held-out texts
    body, tokenizer = kt.read_bert(arguments.bert) if arguments.bert else _make_bert(texts[cut:])
    model = _make_model(body, len(names), arguments, len(texts))
    ids = tokenizer.encode_batch(texts, length=body.seq_length)[0]
    ids = ids[:, : np.count_nonzero(ids, axis=1).max()]  # pads to the longest text only
    model.fit(ids[cut:], labels[cut:], BATCH_SIZE, arguments.epochs, verbose=2)
    kt.Classify(model, tokenizer, names).save(arguments.run)
    _, accuracy = model.evaluate(ids[:cut], labels[:cut], verbose=0)
    baseline = np.bincount(labels[:cut]).max() / cut
    print(f"{', '.join(names)}: accuracy {accuracy:.1%}, majority class {baseline:.1%}")


def _read_examples(path, data_limits):
    """Returns shuffled texts, their label indices and the label names."""
    import numpy as np

    examples = kt.read_pairs(path, data_limits=data_limits) if path else _questions_and_statements()
    np.random.default_rng(0).shuffle(examples)
    texts, labels = zip(*examples, strict=True)
    names, numbers = np.unique(labels, return_inverse=True)
    return list(texts), numbers, names.tolist()


def _questions_and_statements():
    """Returns (text, label) for the English sentences of the corpus, final punctuation removed."""
    return [
        (text.rstrip("?!."), "question" if "?" in text else "statement")
        for text in kt.read_documents(corpus_path())
    ]


def _make_bert(texts):
    tokenizer = kt.WordPieceTokenizer.train(texts)
    return kt.Bert(tokenizer.vocab_size, 64, kt.BlockSettings(**SIZES)), tokenizer


def _make_model(body, num_labels, arguments, num_texts):
    """Builds and compiles the classifier."""
    import keras

    model = kt.EncoderClassifier(body, num_labels, pooling="mean")
    schedule = kt.warmup_cosine(arguments.learning_rate, arguments.epochs * num_texts // BATCH_SIZE)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(schedule), loss, metrics=["accuracy"])
    return model
