"""Run folders: round trips, safe file formats, and errors for damaged or mixed files."""

import dataclasses
import json
import os
import re
import shutil

import h5py
import keras
import numpy as np
import pytest
from keras import ops
from tiny import PAIRS, make_dataset

from keras_transformer import PrepareDataset, PreparedDataset, RunConfig, RunFolder, plot_losses
from keras_transformer._utils.command_line import command_line
from keras_transformer.data.references import read_references
from keras_transformer.runs.folder import build_run_model
from keras_transformer.training.checkpoints import Checkpoints

CONFIG = RunConfig(d_model=16, h=2, d_ff=32, n=1, max_length=8)
HISTORY = [
    {
        "epoch": epoch,
        "loss": 1 / 3 / epoch,
        "accuracy": 0.1 * epoch,
        "validation_loss": 2 / 3,
        "validation_accuracy": 0.7,
        "learning_rate": 1e-7,
        "tokens_per_second": 1234,
        "seconds": 5.6,
    }
    for epoch in (1, 2, 3)
]
READERS = {
    "config.json": RunFolder.read_config,
    "source_tokenizer.json": RunFolder.read_tokenizers,
    "target_tokenizer.json": RunFolder.read_tokenizers,
    "test.tsv": RunFolder.read_test,
    "history.csv": RunFolder.read_history,
    "weights/best.weights.h5": RunFolder.read_model,
}
# The files that a model is built from.
MODEL_FILES = sorted(READERS.keys() - {"test.tsv", "history.csv"})


@pytest.fixture(scope="module")
def dataset():
    return make_dataset()


@pytest.fixture(scope="module")
def model(dataset):
    return build_run_model(CONFIG, (dataset.source_tokenizer, dataset.target_tokenizer))


@pytest.fixture(scope="module")
def written(dataset, model, tmp_path_factory):
    run = RunFolder(tmp_path_factory.mktemp("runs") / "numbers")
    run.create(CONFIG, dataset)
    run.write_weights(model)
    run.write_history(HISTORY)
    return run.path


@pytest.fixture
def run(written, tmp_path):
    """Copies the run for each test, because copying weights is faster than saving them."""
    return RunFolder(shutil.copytree(written, tmp_path / "runs" / "numbers"))


def files(run):
    """Returns the content of each file by its name."""
    found = (path for path in run.path.rglob("*") if path.is_file())
    return {path.relative_to(run.path).as_posix(): path.read_bytes() for path in found}


def other_dataset():
    """Returns a dataset with a larger vocabulary."""
    return PrepareDataset(seed=1)([*PAIRS, *[(f"word{i}", f"wort{i}") for i in range(50)]])


# Round trips


def test_round_trip_of_settings_tokenizers_and_test_pairs(run, dataset):
    assert run.exists
    assert run.read_config() == CONFIG
    source_tokenizer, target_tokenizer = run.read_tokenizers()
    assert source_tokenizer.to_json() == dataset.source_tokenizer.to_json()
    assert target_tokenizer.to_json() == dataset.target_tokenizer.to_json()
    assert run.read_test() == dataset.test


def test_round_trip_of_the_weights(run, model):
    read = run.read_model()
    for a, b in zip(model.weights, read.weights, strict=True):
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))


def test_weights_are_float32_with_any_compute_dtype(run, model):
    read = run.read_model("mixed_bfloat16")
    assert read.compute_dtype == "bfloat16"
    for a, b in zip(model.weights, read.weights, strict=True):
        assert b.dtype == "float32"
        np.testing.assert_array_equal(ops.convert_to_numpy(a), ops.convert_to_numpy(b))


def test_round_trip_of_the_history_is_exact(run):
    assert run.read_history() == HISTORY
    run.write_history(HISTORY[:1])
    assert run.read_history() == HISTORY[:1]


def test_tabs_and_newlines_in_test_sentences_become_spaces(dataset, tmp_path):
    test = [("a\tb\n c", ["d\r\ne", "f\u2028g"]), ("“h”", ["i"])]
    run = RunFolder(tmp_path)
    run.create(CONFIG, dataclasses.replace(dataset, test=test))
    assert run.read_test() == [("a b c", ["d e", "f g"]), ("“h”", ["i"])]


def test_no_file_format_can_run_code(run, model):
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    Checkpoints(run.checkpoints, model, optimizer).save({"epoch": 1})
    plot_losses({"numbers": HISTORY}, run.curves)
    names = files(run)
    assert {os.path.splitext(name)[1] for name in names} == {
        *(".json", ".h5", ".csv", ".tsv", ".png"),
    }
    assert names.keys() == {
        *READERS,
        "data.json",
        "curves.png",
        "checkpoints/000001/counters.json",
        "checkpoints/000001/variables.h5",
    }
    for name, content in names.items():
        if name.endswith(".json"):
            json.loads(content)
        elif name.endswith(".h5"):
            assert content.startswith(b"\x89HDF\r\n\x1a\n")


# Incomplete and damaged folders


def test_a_folder_without_settings_is_not_a_run(tmp_path):
    run = RunFolder(tmp_path)
    (tmp_path / "weights").mkdir()
    assert not run.exists
    command = re.escape(command_line("train", "--run"))
    for read in READERS.values():
        with pytest.raises(FileNotFoundError, match=f"not a finished run.*{command}"):
            read(run)
    assert not RunFolder(tmp_path / "nowhere").exists


@pytest.mark.parametrize("name", READERS)
def test_error_names_the_missing_file(run, name):
    (run.path / name).unlink()
    for read in (READERS[name], *[RunFolder.read_model] * (name in MODEL_FILES)):
        with pytest.raises(FileNotFoundError, match=rf"not a finished run: it has no {name}\."):
            read(run)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"cos\nsystem\n(S'true'\ntR."])
@pytest.mark.parametrize("name", MODEL_FILES)
def test_error_names_the_damaged_file(run, name, content):
    (run.path / name).write_bytes(content)
    for read in (READERS[name], RunFolder.read_model):
        with pytest.raises(ValueError, match=f"{name} "):
            read(run)


@pytest.mark.parametrize("fraction", [0.3, 0.99])
@pytest.mark.parametrize("name", MODEL_FILES)
def test_error_names_the_truncated_file(run, name, fraction):
    content = (run.path / name).read_bytes()
    (run.path / name).write_bytes(content[: int(len(content) * fraction)])
    with pytest.raises(ValueError, match=f"{name} "):
        READERS[name](run)


def test_refuses_weights_with_a_corrupt_hdf5_structure(run):
    content = run.weights.read_bytes()
    before, _, after = content.partition(b"SNOD")  # signature of an HDF5 symbol table node
    run.weights.write_bytes(before + b"XXXX" + after)
    with pytest.raises(ValueError, match="damaged"):
        run.read_model()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "epoch,loss\n",
        "epoch,loss\n1,low\n",
        "epoch,loss\n1\n",
        "epoch\n1,2\n",
    ],
    ids=["empty", "header only", "not a number", "row too short", "row too long"],
)
def test_refuses_a_malformed_history(run, content):
    run.history.write_text(content)
    with pytest.raises(ValueError):
        run.read_history()


# Files of different runs


@pytest.mark.parametrize(
    "changes", [{"d_model": 32}, {"d_ff": 48}, {"n": 2}, {"tie_output": False}]
)
@pytest.mark.slow
def test_refuses_the_settings_of_another_run(run, changes):
    run.write_config(dataclasses.replace(CONFIG, **changes))
    with pytest.raises(ValueError, match=r"belongs to another run or is damaged\. Received: "):
        run.read_model()


@pytest.mark.parametrize("side", ["source", "target"])
def test_refuses_the_vocabulary_of_another_run(run, side):
    getattr(other_dataset(), f"{side}_tokenizer").save(run.path / f"{side}_tokenizer.json")
    with pytest.raises(ValueError, match=r"belongs to another run or is damaged\. Received: "):
        run.read_model()


def test_accepts_the_data_it_was_started_with(run, dataset):
    run.check_dataset(dataset)
    run.check_dataset(make_dataset())


@pytest.mark.parametrize(
    "other",
    [
        lambda: dataclasses.replace(make_dataset(), test=make_dataset().test[:-1]),
        lambda: PrepareDataset(seed=2)(PAIRS),
        lambda: PrepareDataset(seed=1)(PAIRS[:-1]),
        lambda: PrepareDataset(seed=1)([(target, source) for source, target in PAIRS]),
        other_dataset,
        lambda: dataclasses.replace(make_dataset(), train=make_dataset().train[::-1]),
        lambda: dataclasses.replace(make_dataset(), validation=make_dataset().validation[1:]),
    ],
    ids=[
        "another test set",
        "another split",
        "fewer pairs",
        "swapped languages",
        "another vocabulary",
        "another order",
        "another validation set",
    ],
)
def test_refuses_different_data(run, other):
    before = files(run)
    with pytest.raises(ValueError, match=r"started with different data.*Received: "):
        run.check_dataset(other())
    assert files(run) == before


def test_refuses_other_shards(run, tmp_path):
    def in_files(pairs, name):
        lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / "pairs.tsv").write_text(lines, encoding="utf-8")
        prepare = PrepareDataset(tokenizer="bpe", vocab_size=60)
        held_out = (PAIRS[:5], PAIRS[5:10])
        return prepare.write_tokens(tmp_path / "pairs.tsv", tmp_path / name, *held_out)

    run.create(CONFIG, in_files(PAIRS, "first"))
    run.check_dataset(PreparedDataset.load(tmp_path / "first"))
    with pytest.raises(ValueError, match=r"Received: a different training part$"):
        run.check_dataset(in_files(PAIRS[::-1], "other"))


def test_a_finished_run_says_which_weights_it_has_and_how_it_is_continued(run, model, dataset):
    run.write_weights(model)
    run.write_weights(model, "epoch-0003")
    with pytest.raises(FileNotFoundError, match=r"'averag', but \['best', 'epoch-0003'\]"):
        run.read_model(weights="averag")
    (run.path / "data.json").unlink()  # as in an exported run
    with pytest.raises(FileNotFoundError, match=r"cannot be resumed.*train.* --from "):
        run.check_dataset(dataset)


@pytest.mark.parametrize("content", ['{"training": ', "[1]", "3"])
def test_error_names_the_damaged_digest_file(run, dataset, content):
    (run.path / "data.json").write_text(content)
    with pytest.raises(ValueError, match=r"data\.json is damaged\. Received: "):
        run.check_dataset(dataset)


# Writing


def test_settings_are_written_last(dataset, tmp_path, monkeypatch):
    run = RunFolder(tmp_path)
    monkeypatch.setattr(run, "write_config", lambda config: None)
    run.create(CONFIG, dataset)
    assert not run.exists
    assert sorted(files(run)) == [
        "data.json",
        "source_tokenizer.json",
        "target_tokenizer.json",
        "test.tsv",
    ]


@pytest.mark.parametrize(
    "write",
    [
        lambda run, model: run.write_config(CONFIG.with_changes(epochs=99)),
        lambda run, model: run.write_history(HISTORY[:1]),
        lambda run, model: run.write_weights(model),
        lambda run, model: run.create(CONFIG, other_dataset()),
    ],
    ids=["config", "history", "weights", "create"],
)
def test_a_failed_write_leaves_the_run_unchanged(run, model, monkeypatch, write):
    def fail(*arguments):
        raise OSError("disk full")

    before = files(run)
    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match=r"disk full\. Existing data is unchanged"):
        write(run, model)
    assert files(run) == before


@pytest.mark.parametrize("content", ["", "one source\n", "a\tb\nno reference\n"])
def test_refuses_a_test_file_without_references(run, content):
    (run.path / "test.tsv").write_text(content)
    with pytest.raises(ValueError, match=r"test\.tsv must have lines of"):
        run.read_test()


def test_a_file_of_references_may_have_a_header_blank_lines_and_separators_of_unicode(run):
    content = "source\ttarget\na\u2028b\tc\u0085d\t e \t\n\n\tno source\nno reference\t\nf\tg\r\n"
    (run.path / "test.tsv").write_bytes(content.encode())
    expected = [("a\u2028b", ["c\u0085d", "e"]), ("f", ["g"])]
    assert read_references(run.path / "test.tsv") == expected
    assert run.read_test() == [("source", ["target"]), *expected]  # it is written without one


def test_a_run_without_a_checkpoint_is_described_again(dataset, model, tmp_path):
    run, other = RunFolder(tmp_path), other_dataset()
    run.begin(None, dataset, model)
    run.begin(CONFIG, other)
    assert run.read_config() == CONFIG and run.read_test() == other.test
    run.check_dataset(other)
    run.begin(None, dataset, model)
    (run.checkpoints / "000001").mkdir(parents=True)
    run.begin(None, dataset, model)
    for config in (None, CONFIG):
        with pytest.raises(ValueError, match="different data"):
            run.begin(config, other, model)
    with pytest.raises(ValueError, match="by a `Trainer` without a `RunConfig`"):
        run.read_config()


# Hostile folders


@pytest.mark.parametrize(
    "changes",
    [
        {"d_model": 10**9},
        {"d_model": 2**16, "h": 1},
        {"d_ff": 2**16},
        {"n": 10**6},
        {"n": 2**7},
        {"h": 10**6},
        {"vocab_size": 10**400},
        {"seed": [0] * 10**6},
    ],
    ids=str,
)
def test_absurd_sizes_are_refused_before_a_model_is_built(run, changes):
    values = {**json.loads(CONFIG.to_json()), **changes}
    (run.path / "config.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=r"config\.json") as caught:
        run.read_model()
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("name", ["config.json", "data.json", "history.csv", "test.tsv"])
def test_a_pipe_in_place_of_a_file_is_refused(run, dataset, name):
    (run.path / name).unlink()
    os.mkfifo(run.path / name)
    with pytest.raises(ValueError, match="must be a regular file"):
        READERS.get(name, lambda run: run.check_dataset(dataset))(run)


@pytest.mark.parametrize(
    "row",
    ["x" * 200_000, "1,2,3,4,5,6,7," + "9" * 200_000, "1,2,nan,4,5,6,7,8", "1,2,inf,4,5,6,7,8"],
    ids=["long text", "long number", "NaN", "infinite"],
)
def test_a_history_without_finite_numbers_is_refused(run, row):
    header = run.history.read_text().splitlines()[0]
    run.history.write_text(f"{header}\n{row}\n")
    with pytest.raises(ValueError, match="must have numbers in the columns") as caught:
        run.read_history()
    assert len(str(caught.value)) < 1000


def test_a_group_in_place_of_weights_is_refused(run):
    with h5py.File(run.weights, "r+") as file:
        names = []
        file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
        del file[names[0]]
        file.create_group(names[0])
    with pytest.raises(ValueError, match="does not match"):
        run.read_model()


def test_weights_from_another_file_are_refused(run, tmp_path):
    """HDF5 would follow the link, and read numbers from wherever it points."""
    run.weights.rename(tmp_path / "secret.h5")
    with h5py.File(run.weights, "w") as file:
        file["layers"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/layers")
    with pytest.raises(ValueError, match="must not contain soft or external links"):
        run.read_model()


@pytest.mark.parametrize("value", (np.nan, np.inf))
def test_weights_that_are_not_finite_are_refused(run, model, value):
    weight = model.weights[3]
    before = ops.convert_to_numpy(weight)
    weight.assign(np.full(weight.shape, value))
    run.write_weights(model)
    weight.assign(before)
    with pytest.raises(ValueError, match="weights must be finite"):
        run.read_model()


def test_weights_of_integers_are_refused(run):
    with h5py.File(run.weights, "r+") as file:
        names = []
        file.visititems(lambda name, x: names.append(name) if isinstance(x, h5py.Dataset) else None)
        for name in names:
            values = file[name][()].astype("int32")
            del file[name]
            file[name] = values
    with pytest.raises(ValueError, match="it has 0 weights"):
        run.read_model()
