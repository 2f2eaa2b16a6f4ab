"""What reads hostile input. Each target is drawn from a seed, and is served or refused.

A target is a function of a `random.Random` and a `Workshop`. It returns normally if the input is
served, and raises one of `REFUSALS` if it is refused. Everything else is a failure: another
exception, a long message, a crash, too much memory or time.
"""

import contextlib
import functools
import gzip
import io
import json
import pickle
import random
import shutil
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
import tokenizers
from llama_files import write
from mutations import mutate_bytes, mutate_hdf5, mutate_json, replace_by_special_file
from tiny import PAIRS, make_batches, make_dataset, make_trainer

import keras_transformer as kt
from keras_transformer.cli import COMMANDS, main, make_parser
from keras_transformer.data.series import read_series
from keras_transformer.data.tokenizers import SubwordTokenizer, Tokenizer
from keras_transformer.training.averaging import average_weights

REFUSALS = (ValueError, OSError)
MAX_MESSAGE = 3000  # characters, with paths and advice
SENTENCES = ("one two", "three", "", "four five one")


class Workshop:
    """A folder with valid files, a copy of which each target damages.

    Args:
        folder: path of an empty folder.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.valid = self.folder / "valid"
        self.dataset = make_dataset()
        self.batches = make_batches(self.dataset)
        config = kt.RunConfig(d_model=32, d_ff=64, n=1, h=2, max_length=8)
        self.trained = self.folder / "trained"
        self.trainer = make_trainer(self.dataset, self.trained, config=config)
        self.trainer.dataset = self.dataset
        self.trainer.train(*self.batches, 1)
        shutil.copytree(self.trained, self.valid / "run")
        _write_pairs(self.valid)
        pairs, prepare = self.valid / "pairs.tsv", kt.PrepareDataset(vocab_size=60)
        prepare.write_tokens(pairs, self.valid / "tokens", PAIRS[:2], PAIRS[2:4])
        for name, text in {"source.txt": "one\ntwo\n", "series.csv": "t,x\n1,2\n3,4\n"}.items():
            (self.valid / name).write_text(text)
        for kind, text in _MARKED.items():
            (self.valid / f"marked.{kind}").write_text(text)
        wordpiece = kt.WordPieceTokenizer.train([x for pair in PAIRS for x in pair], min_count=1)
        wordpiece.save(self.valid / "wordpiece.json")
        SubwordTokenizer.train(["one two three"], 30).save(self.valid / "bpe.json")
        _write_language_model(self.valid / "language-model")
        self.translate = kt.Translate.from_run(self.valid / "run")

    def copy(self, name):
        """Returns the path of a fresh copy of a valid file or folder."""
        path = self.folder / "copy" / name
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        source = self.valid / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, path)
        return path


def damaged_pairs(rng, workshop):
    """Reads pairs of some format whose bytes are changed, perhaps compressed or not a file."""
    path = workshop.copy(rng.choice([f"pairs.{suffix}" for suffix in _SUFFIXES]))
    _damage_bytes(rng, path)
    kt.read_pairs(_compressed(rng, path))


def _write_pairs(folder):
    """Writes the same pairs in each format."""
    kt.write_pairs(folder / "pairs.tsv", PAIRS)
    rows = [f'"{source}";"{target}"' for source, target in PAIRS]
    lines = [json.dumps({"translation": {"en": x, "de": y}}) for x, y in PAIRS]
    variants = [
        f'<tuv xml:lang="en"><seg>{x}</seg></tuv><tuv xml:lang="de"><seg>{y}</seg></tuv>'
        for x, y in PAIRS
    ]
    units = "".join(f"<tu>{variant}</tu>" for variant in variants)
    texts = {
        "csv": "\n".join(rows),
        "jsonl": "\n".join(lines),
        "tmx": f'<tmx version="1.4"><header/><body>{units}</body></tmx>',
    }
    for suffix, text in texts.items():
        (folder / f"pairs.{suffix}").write_text(text, encoding="utf-8")
    with zipfile.ZipFile(folder / "pairs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i, language in enumerate(("en", "de")):
            archive.writestr(f"a.en-de.{language}", "\n".join(pair[i] for pair in PAIRS))


def damaged_parallel_text(rng, workshop):
    """Reads two parallel files."""
    path = workshop.copy("source.txt")
    target = path.with_name("target.txt")
    shutil.copy(path, target)
    _damage_bytes(rng, path)
    kt.read_pairs(path, target)


def damaged_documents(rng, workshop):
    """Reads a text file of documents."""
    path = workshop.copy("source.txt")
    _damage_bytes(rng, path)
    kt.read_documents(path)


_MARKED = {
    "md": "# one *two*\n\n> three `x` [four](five)\n\n| a |\n|---|\n| b &amp; **c** |\n",
    "html": "<p>one <b>two</b> &amp; <a href='x'>three</a><br>four <code>five</code></p>\n",
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n<i>one\ntwo</i>\n\n",
    "txt": "one\n\n- two three. Four.\n",
}


def damaged_marked_documents(rng, workshop):
    """Reads a document with markup and puts other sentences in it."""
    path = workshop.copy(f"marked.{rng.choice(sorted(_MARKED))}")
    _damage_bytes(rng, path)
    document = kt.Document.read(path)
    same, other = (document.translated([x[:n] for x in document.sentences]) for n in (None, 3))
    assert same.encode() == path.read_bytes() and isinstance(other, str)


def damaged_large_pairs(rng, workshop):
    """Writes the token ids of a file of pairs that is read block by block."""
    path = workshop.copy("pairs.tsv")
    _damage_bytes(rng, path)
    prepare = kt.PrepareDataset(vocab_size=200)
    prepare.write_tokens(path, path.with_name("tokens"), PAIRS[:2], PAIRS[2:4])


def damaged_tokens(rng, workshop):
    """Makes the batches of a folder of token ids in which one file is changed."""
    path = workshop.copy("tokens")
    _damage(rng, rng.choice(sorted(path.iterdir())))
    dataset = kt.PreparedDataset.load(path)
    list(dataset.batches(dataset.train, 8))


def hostile_pickle(rng, workshop):
    """Reads a pickle: of an honest array, of anything else, or of a bomb, perhaps damaged."""
    path = workshop.copy("pairs.tsv").with_suffix(".pkl")
    data = rng.choice(_PICKLES)(rng)
    path.write_bytes(mutate_bytes(rng, data) if rng.random() < 0.5 else data)
    kt.read_pairs(_compressed(rng, path))


def _honest_array(rng):
    shape = rng.choice([np.array(PAIRS[:9]), np.array(PAIRS[:9], object), np.asfortranarray(PAIRS)])
    return pickle.dumps(shape, protocol=rng.randint(0, 5))


def _other_object(rng):
    values = [
        *([], {}, None, "text", 3, [["a", "b"]], np.zeros((3, 2)), np.array("x"), print),
        *(np.array([("a", 1)], "U9,i4"), np.array([["a"] * 3] * 2), {"a": np.array(PAIRS)}),
    ]
    return pickle.dumps(rng.choice(values), protocol=rng.randint(0, 5))


def _code(rng):
    call = rng.choice(["os\nsystem", "builtins\neval", "numpy\nfromfile", "pathlib\nPath"])
    return f"c{call}\n(S'/etc/hostname'\ntR.".encode()


def _repeated_text(rng):
    """An array that refers to one long text many times, so that it is larger than its file."""
    text = "x" * rng.choice([10, 99_999, 10**6])
    return pickle.dumps(np.array([[text, text]] * rng.choice([10, 4000]), object), protocol=4)


def _nested_references(rng):
    """A list of ten references to a list of ten references to a list, and so on."""
    value = ["x"]
    for _ in range(rng.randint(5, 40)):
        value = [value] * 10
    return pickle.dumps(value, protocol=rng.randint(1, 5))


def _false_sizes(rng):
    size = rng.choice([2**31 - 1, 2**31, 2**62, 2**64 - 1])
    opcode = rng.choice([b"\x8d", b"\x8e", b"\x96"])  # BINUNICODE8, BINBYTES8, BYTEARRAY8
    return b"\x80\x05" + opcode + size.to_bytes(8, "little") + b"abc."


_PICKLES = (
    *(_honest_array, _other_object, _code, _repeated_text, _nested_references, _false_sizes),
)


def damaged_series(rng, workshop):
    """Reads a CSV file of a time series."""
    path = workshop.copy("series.csv")
    _damage_bytes(rng, path)
    read_series(path)


def damaged_run(rng, workshop):
    """Reads everything in a run folder in which one file is changed."""
    path = workshop.copy("run")
    files = [x for x in path.rglob("*") if x.is_file() and "checkpoints" not in x.parts]
    _damage(rng, rng.choice(sorted(files)))
    run = kt.RunFolder(path)
    compare = functools.partial(run.check_dataset, workshop.dataset)
    _all(run.read_test, run.read_history, run.read_model, compare)


def damaged_checkpoint(rng, workshop):
    """Resumes a run from a checkpoint in which one file is changed."""
    shutil.rmtree(workshop.trained)
    shutil.copytree(workshop.valid / "run", workshop.trained)
    _damage(rng, rng.choice(sorted(workshop.trained.glob("checkpoints/*/*"))))
    workshop.trainer.train(*workshop.batches, 1)


def damaged_average(rng, workshop):
    """Averages two files of weights, one of which is changed."""
    path = workshop.copy("run")
    weights = path / "weights" / "best.weights.h5"
    other = shutil.copy(weights, weights.with_name("other.weights.h5"))
    _damage(rng, weights)
    average_weights(rng.sample([weights, Path(other)], 2), path / "mean.weights.h5")


# Parts of tokenizer files that `save` never writes.
_COMPONENTS = (
    {"type": "Replace", "pattern": {"String": ""}, "content": "xx"},
    {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "a"},
    {"type": "Prepend", "prepend": "x" * 10**6},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}] * 50},
    {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
    {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
     "pad_type_id": 0, "pad_token": "[PAD]"},
    {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 10**9},
    {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Split", "pattern": {"Regex": "(x*)*y"}, "behavior": "Isolated", "invert": False},
    {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]], "byte_fallback": False},
)  # fmt: skip


def damaged_tokenizer(rng, workshop):
    """Loads and uses a tokenizer file of this package."""
    name = rng.choice(["run/source_tokenizer.json", "bpe.json"])
    path = workshop.copy(name.split("/")[0])
    path = path / name.split("/")[1] if "/" in name else path
    _damage(rng, path, _COMPONENTS)
    tokenizer = Tokenizer.load(path)
    for sentence in SENTENCES:
        tokenizer.decode(tokenizer.encode(sentence))
        tokenizer.words(sentence)


def damaged_wordpiece(rng, workshop):
    """Loads and uses a WordPiece file, which may come from others."""
    path = workshop.copy("wordpiece.json")
    _damage(rng, path, _COMPONENTS)
    tokenizer = kt.WordPieceTokenizer.load(path)
    tokenizer.encode_batch(list(SENTENCES), length=8)
    tokenizer.decode(range(tokenizer.vocab_size))


def _write_language_model(folder):
    folder.mkdir()
    write(folder, {"vocab_size": 40, "tie_word_embeddings": True})
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="u", byte_fallback=True))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=40, show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    template = {"chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}"}
    for name, content in (("tokenizer", template), ("generation", {"eos_token_id": [2, 3]})):
        (folder / f"{name}_config.json").write_text(json.dumps(content))


def damaged_language_model(rng, workshop):
    """Loads a published language model of which one file is changed, and continues a chat."""
    folder = workshop.copy("language-model")
    _damage(rng, rng.choice(sorted(folder.iterdir())), _COMPONENTS)
    generate = kt.Generate.from_pretrained(folder)
    text = generate.tokenizer.chat([{"role": "user", "content": "one two"}])
    "".join(generate.stream(text, max_tokens=2))


_WORDS = (
    *(
        "",
        "-",
        "--",
        "---",
        "0",
        "-1",
        "1",
        "1e999",
        "nan",
        "9" * 400,
        "one two",
        "runs",
        "@",
        "@x",
    ),
    *("\0", "\ud800", "ü", "../..", "/dev/null", "a" * 10_000, "'", '"', "%s", "{0}", "--run"),
)


def hostile_arguments(rng, workshop):
    """Parses a command line of random flags and values."""
    command = rng.choice(COMMANDS)
    parser = make_parser(command)
    flags = [flag for action in parser._actions for flag in action.option_strings]
    argv = [rng.choice([rng.choice(flags), rng.choice(_WORDS)]) for _ in range(rng.randint(0, 6))]
    printed, output = io.StringIO(), contextlib.redirect_stdout(io.StringIO())
    try:
        with contextlib.redirect_stderr(printed), output, mock.patch("sys.stdin", io.StringIO()):
            # Commands that only need their arguments would start to train.
            if command in ("translate", "evaluate", "plot", "export", "average-checkpoints"):
                main([command, *argv])
            else:
                parser.parse_intermixed_args(argv)
    except SystemExit as ended:
        if ended.code not in (0, 2):
            raise AssertionError(f"exit code {ended.code}: {argv}") from None
        if ended.code:
            raise ValueError(printed.getvalue().strip().splitlines()[-1]) from None


_CHARACTERS = (
    *"one two three.,!?-'\"\t\n\r\0",
    *("é", "é", "ß", "İ", "ﬁ", "▁", "…", "\u200b", "\u202e", "\ufeff", "\ud800", "😀", "漢", "ا"),
    *("[END]", "[UNK]", "##", "</s>", ">>deu<<", "one ", "two "),
)


def hostile_sentences(rng, workshop):
    """Translates odd sentences with random search options."""
    sentences = [
        "".join(rng.choices(_CHARACTERS, k=rng.choice([0, 1, 5, 20, 60])))
        for _ in range(rng.randint(0, 3))
    ]
    if rng.random() < 0.1:
        sentences += [rng.choice([None, 3, b"one", "one " * 2000, "x" * 200_000, ["one"]])]
    options = {
        "beam_size": [1, 1, 2, 4, 0, 10**9],
        "n_best": [1, 1, 2, -1],
        "length_penalty": [0.0, 1.0, -1.0, 60.0, float("nan")],
        "temperature": [0.0, 1.0, 1e-45, float("inf")],
        "top_k": [0, 5, -1, 10**9],
        "top_p": [1.0, 0.5, 0.0, 2.0],
        "seed": [0, 1, -1, 2**64],
        "min_length_ratio": [0.0, 0.5, 9.0],
        "max_length_ratio": [1.0, 0.0, 1e8],
        "no_repeat_ngram_size": [0, 2, -3],
        "allow_unknown": [True, False],
    }
    chosen = rng.sample(sorted(options), rng.choice([0, 1, 2]))
    chosen = {name: rng.choice(options[name]) for name in chosen}
    try:
        translations = workshop.translate(sentences, **chosen)
    except TypeError as error:  # documented for what is no text
        raise ValueError(str(error)) from None
    assert len(translations) == len(sentences)


_SUFFIXES = ("tsv", "csv", "jsonl", "tmx", "zip")

TARGETS = {
    target.__name__: target
    for target in (
        *(damaged_pairs, damaged_parallel_text, damaged_large_pairs, damaged_tokens),
        *(damaged_documents, damaged_marked_documents, hostile_pickle, damaged_series, damaged_run),
        *(damaged_checkpoint, damaged_average, damaged_language_model),
        *(damaged_tokenizer, damaged_wordpiece, hostile_arguments, hostile_sentences),
    )
}


def _damage(rng, path, values=()):
    """Changes a file according to its kind, or replaces it."""
    if rng.random() < 0.1:
        replace_by_special_file(rng, path)
    elif path.suffix == ".json" and rng.random() < 0.8:
        path.write_text(mutate_json(rng, path.read_text(encoding="utf-8"), values))
    elif path.suffix == ".h5" and rng.random() < 0.7:
        mutate_hdf5(rng, path)
    else:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))


def _damage_bytes(rng, path):
    if rng.random() < 0.1:
        replace_by_special_file(rng, path)
    else:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))


def _compressed(rng, path):
    """Returns the path itself, or sometimes that of a compressed copy, which may be a bomb."""
    if rng.random() < 0.7 or not path.is_file() or path.is_symlink():
        return path
    packed = path.with_name(f"{path.name}.gz")
    bomb = rng.random() < 0.1
    data = gzip.compress(bytes(3 * 10**7) if bomb else path.read_bytes(), 1)
    packed.write_bytes(data if rng.random() < 0.7 else mutate_bytes(rng, data))
    return packed


def _all(*readers):
    """Calls all readers; afterwards raises the first refusal."""
    refusals = []
    for read in readers:
        try:
            read()
        except REFUSALS as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]


def attempt(name, seed, workshop):
    """Runs a target with a seed.

    Returns:
        "served" or "refused".

    Raises:
        Exception: any, if the target fails.
    """
    try:
        TARGETS[name](random.Random(f"{name} {seed}"), workshop)
    except REFUSALS as error:
        message = str(error)
        if not message or len(message) > MAX_MESSAGE:
            raise AssertionError(f"a message of {len(message)} characters") from error
        return "refused"
    return "served"
