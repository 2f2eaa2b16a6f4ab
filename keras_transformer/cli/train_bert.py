"""Pre-trains a small BERT on a text file (default: the English side of the bundled corpus)."""

import math

import keras_transformer as kt
from keras_transformer.cli.arguments import (
    add_data_limits,
    add_epochs,
    add_learning_rate,
    add_number,
    add_output_run,
    integer,
)
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import corpus_path
from keras_transformer.runs.data_settings import MAX_SOURCE_TOKENS
from keras_transformer.runs.training_settings import MAX_BATCH_SIZE

HEADS = 4


def add_arguments(parser):
    """Adds the text file, the output folder, the model size and the training options."""
    parser.add_argument(
        "text",
        nargs="?",
        default=corpus_path(),
        help="text file with one document per line, or .tsv of pairs (default: the bundled corpus)",
    )
    add_data_limits(parser)
    add_output_run(parser, "runs/bert")
    add_epochs(parser, 12)
    batch_size = integer(1, MAX_BATCH_SIZE)
    seq_length = integer(5, MAX_SOURCE_TOKENS)  # two words and three special tokens
    add_number(parser, "--batch-size", batch_size, 64, "number of text pairs in a batch")
    description = "sequence length: tokens of both texts together"
    add_number(parser, "--seq-length", seq_length, 24, description)
    description = "model size: length of the hidden states"
    add_number(parser, "--d-model", integer(HEADS, 2**16), 128, description)
    add_learning_rate(parser, 1e-3)


def run(arguments):
    """Trains the model, saves it, its body and its tokenizer, and prints the validation losses."""
    import_backend(tuned=True)

    import keras

    keras.utils.set_random_seed(0)
    held_out, documents = _split(kt.read_documents(arguments.text, arguments.data_limits))
    tokenizer = kt.WordPieceTokenizer.train(documents)
    sizes = (arguments.seq_length, arguments.batch_size, 0)  # 0: the seed
    batches = kt.PretrainingPairs(documents, tokenizer, *sizes)
    validation = kt.PretrainingPairs(held_out, tokenizer, *sizes, dynamic=False)
    model = _make_model(arguments, tokenizer.vocab_size, arguments.epochs * len(batches))
    history = _fit(model, batches, validation, arguments.epochs)
    tokenizer.save(arguments.run / "tokenizer.json")
    model.body.save(arguments.run / "bert.keras")
    _without_optimizer(model).save(arguments.run / "pretraining.keras")
    _print_losses(history, validation.word_entropy())


def _split(documents):
    """Splits off a tenth of the documents for validation; returns (validation, training)."""
    if len(documents) < 10:
        raise ValueError(
            "The text file needs at least ten documents: put each on a line of its own. "
            f"Received: {len(documents)}"
        )
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
        shuffle=False,  # `PretrainingPairs` shuffles itself
        verbose=2,
    )
    return fitted.history


def _without_optimizer(model):
    """Returns a copy of a model that is not compiled, so that only its weights are saved."""
    copy = type(model).from_config(model.get_config())
    copy.build([(None, None)] * 3)  # token ids, segments and masked positions
    copy.set_weights(model.get_weights())
    return copy


def _print_losses(history, word_entropy):
    words, following = history["val_words_loss"][-1], history["val_next_loss"][-1]
    print(f"masked tokens: {words:.3f} nats; unigram baseline {word_entropy:.3f}")
    print(f"next sentence: {following:.3f} nats; chance level {math.log(2):.3f}")
