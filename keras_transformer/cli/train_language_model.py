"""Trains an LSTM and a Transformer language model and compares their perplexities."""

import math
import time

import keras_transformer as kt
from keras_transformer.cli.arguments import add_data_limits, add_epochs, add_output_run
from keras_transformer.cli.startup import import_backend
from keras_transformer.data.corpus import corpus_path

BATCH_SIZE = 64
SIZES = {"h": 4, "d_model": 128, "d_ff": 256, "n": 2, "rate": 0.3}
MODELS = ("lstm", "transformer")


def add_arguments(parser):
    """Adds the text file, the output folder, the models and the prompt."""
    parser.add_argument(
        "text",
        nargs="?",
        default=corpus_path(),
        help="text file with one text per line, or .tsv of pairs (default: the bundled corpus)",
    )
    add_data_limits(parser)
    add_output_run(parser, "runs/language")
    parser.add_argument(
        "--model", nargs="+", choices=MODELS, default=MODELS, help="models to train (default: both)"
    )
    add_epochs(parser, 10)
    parser.add_argument(
        "--prompt", type=str, default="", help="prompt for the generated text (default: empty)"
    )
    parser.add_argument(
        "--prefixes",
        action="store_true",
        help="use each prefix of a text as a separate example (default: one example per text)",
    )


def run(arguments):
    """Trains and saves the models, and prints their perplexities and a generated text."""
    import_backend(tuned=True)

    texts = kt.read_documents(arguments.text, arguments.data_limits)
    cut = len(texts) // 10  # number of held-out texts
    tokenizer = kt.WordTokenizer.train(texts[cut:])
    make_examples = kt.ngram_prefixes if arguments.prefixes else kt.next_words
    examples = make_examples(tokenizer, texts[cut:])
    validation = kt.next_words(tokenizer, texts[:cut] or texts)
    _check_folder(arguments.run, tokenizer)
    tokenizer.save(arguments.run / "tokenizer.json")
    report = [_unigram_line(validation)]
    for name in arguments.model:
        report.append(_train(name, arguments, tokenizer, examples, validation))
    part = "validation" if cut else "training (fewer than ten texts, none held out)"
    print(f"{part} perplexity, model, parameters, CPU time, generated text", *report, sep="\n")


def _check_folder(folder, tokenizer):
    known = folder / "tokenizer.json"
    if not (known.exists() and any(folder.glob("*.keras"))):
        return
    if kt.WordTokenizer.load(known).to_json() != tokenizer.to_json():
        raise FileExistsError(
            f"The folder has models with another vocabulary: give another --run. Received: {folder}"
        )


def _unigram_line(validation):
    """Returns the report line with the perplexity of a unigram model."""
    from keras_transformer.data.pretraining import unigram_entropy

    targets = validation[1]
    return f"{math.exp(unigram_entropy(targets[targets > 0])):.1f} unigram baseline"


def _train(name, arguments, tokenizer, examples, validation):
    """Trains and saves one model and returns its report line."""
    import keras

    keras.utils.set_random_seed(0)
    start = time.process_time()
    steps = 1 + arguments.epochs * len(examples[0]) // BATCH_SIZE
    model = _make_model(name, tokenizer.vocab_size, steps)
    fitted = model.fit(
        *examples, BATCH_SIZE, arguments.epochs, verbose=2, validation_data=validation
    )
    perplexity, seconds = fitted.history["val_perplexity"][-1], time.process_time() - start
    model.save(arguments.run / f"{name}.keras")
    text = kt.Generate(model, tokenizer)(arguments.prompt)
    return f"{perplexity:.1f} {name}, {model.count_params():,}, {seconds:.0f} s: {text}"


def _make_model(name, vocab_size, steps):
    """Builds and compiles a model for a number of training steps."""
    import keras

    if name == "lstm":
        model = kt.LSTMLanguageModel(vocab_size, d_model=100, units=150, n=2, rate=0.3)
    else:
        model = kt.TransformerLanguageModel(vocab_size, 64, kt.BlockSettings(**SIZES))
    schedule = keras.optimizers.schedules.CosineDecay(3e-3, steps)
    optimizer = keras.optimizers.Adam(schedule, global_clipnorm=1.0)
    model.compile(optimizer, kt.MaskedCrossEntropy(), metrics=[kt.Perplexity()])
    return model
