"""Pre-trains a small BERT on a text file; without arguments on the project's English sentences."""

import math

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_epochs,
    add_learning_rate,
    add_output_run,
    integer,
)
from keras_transformer.data.corpus import corpus_path
from keras_transformer.training.process import tune_process

HEADS = 4


def add_arguments(parser):
    """Adds the text, the folder to write and the sizes of model and training."""
    parser.add_argument(
        "text",
        nargs="?",
        default=corpus_path(),
        help="text file, one document a line, or .tsv of pairs (default: the project's corpus)",
    )
    add_output_run(parser, "runs/bert")
    add_epochs(parser, 12)
    parser.add_argument(
        "--batch-size",
        type=integer(1),
        default=64,
        metavar="INT",
        help="examples in a batch (default: %(default)s)",
    )
    parser.add_argument(
        "--seq-length",
        type=integer(5),  # two words and three special tokens
        default=24,
        metavar="INT",
        help="tokens of both texts together (default: %(default)s)",
    )
    parser.add_argument(
        "--d-model",
        type=integer(HEADS),
        default=128,
        metavar="INT",
        help="size of the hidden states (default: %(default)s)",
    )
    add_learning_rate(parser, 1e-3)


def run(arguments):
    """Trains, saves the body and the tokenizer, and prints the validation losses."""
    tune_process()  # before Keras is imported

    import keras

    keras.utils.set_random_seed(0)
    held_out, documents = _split(kt.read_documents(arguments.text))
    tokenizer = kt.WordPieceTokenizer.train(documents)
    sizes = (arguments.seq_length, arguments.batch_size, 0)  # and the seed
    batches = kt.PretrainingPairs(documents, tokenizer, *sizes)
    validation = kt.PretrainingPairs(held_out, tokenizer, *sizes, dynamic=False)
    model = _make_model(arguments, tokenizer.vocab_size, arguments.epochs * len(batches))
    history = _fit(model, batches, validation, arguments.epochs)
    tokenizer.save(arguments.run / "tokenizer.json")
    model.body.save(arguments.run / "bert.keras")
    _print_losses(history, validation.word_entropy())


def _split(documents):
    """Returns a tenth of the documents, for validation, and the others."""
    if len(documents) < 10:
        raise ValueError(f"Give ten documents or more, see --help. Received: {len(documents)}")
    cut = len(documents) // 10
    return documents[:cut], documents[cut:]


def _make_model(arguments, vocab_size, steps):
    """Builds and compiles the model for a number of training steps."""
    import keras

    d_model = arguments.d_model
    settings = kt.BlockSettings(h=HEADS, d_model=d_model, d_ff=4 * d_model, n=2, rate=0.1)
    body = kt.Bert(vocab_size, arguments.seq_length, settings)
    model = kt.PretrainingBert(body)
    losses = {
        "words": kt.MaskedCrossEntropy(),
        "next": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    }
    optimizer = keras.optimizers.AdamW(kt.warmup_cosine(arguments.learning_rate, steps))
    model.compile(optimizer, losses, metrics={"next": ["accuracy"]})
    return model


def _fit(model, batches, validation, epochs):
    """Trains the model and returns the history."""
    fitted = model.fit(
        kt.as_dataset(batches),
        validation_data=kt.as_dataset(validation),
        epochs=epochs,
        shuffle=False,  # the batches shuffle themselves
        verbose=2,
    )
    return fitted.history


def _print_losses(history, word_entropy):
    words, following = history["val_words_loss"][-1], history["val_next_loss"][-1]
    print(f"masked words: {words:.3f} nats; without context {word_entropy:.3f} at best")
    print(f"next sentence: {following:.3f} nats; by chance {math.log(2):.3f}")
