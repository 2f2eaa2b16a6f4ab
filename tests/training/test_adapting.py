"""Training that begins with another run: its weights, its vocabularies, what is mixed in."""

import dataclasses
import shutil
import signal

import numpy as np
import pytest
from layer_contract import numpy
from quick import exhaustive_on_jax
from run_script import refusal, run_script
from tiny import PAIRS, WORDS, CallAt, make_dataset

import keras_transformer as kt
from keras_transformer.models.marian import read_marian
from keras_transformer.training.adapting import describe_fit, mixed_pairs
from keras_transformer.training.run import make_batches

SIZES = {"d_model": 16, "d_ff": 16, "n": 1, "h": 2, "dtype": "float32", "batch_size": 64}
# The same words in another order, and one that the vocabulary lacks.
OTHER = [(" ".join(reversed(x.split())), y) for x, y in PAIRS] + [("six", "sechs")] * 9


def weights(run):
    return kt.RunFolder(run).read_model().get_weights()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a trained run and a file of other pairs."""
    folder = tmp_path_factory.mktemp("adapting")
    kt.write_pairs(folder / "first.tsv", PAIRS)
    kt.write_pairs(folder / "other.tsv", OTHER)
    config = kt.RunConfig(data=str(folder / "first.tsv"), epochs=1, **SIZES)
    kt.train_run(config, folder / "first")
    return folder


def adapted(folder, **changes):
    parent = kt.RunFolder(folder / "first").read_config()
    data = {"data": str(folder / "other.tsv"), "dtype": "float32", "batch_size": 64}
    return parent.adapted(str(folder / "first"), **{**data, "epochs": 1, **changes})


@pytest.mark.slow
def test_a_run_begins_with_the_weights_and_vocabularies_of_another(folder, capsys):
    run = folder / "begun"
    kt.train_run(adapted(folder, learning_rate_scale=1e-9), run)
    for ours, theirs in zip(weights(run), weights(folder / "first"), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    first, begun = (kt.RunFolder(x).read_tokenizers() for x in (folder / "first", run))
    assert [x.to_json() for x in begun] == [x.to_json() for x in first]
    assert "Unknown to the vocabularies: 0." in capsys.readouterr().out
    config = kt.RunFolder(run).read_config()
    assert config.parent == str(folder / "first")
    kt.train_run(config.with_changes(epochs=2), run)  # resumes, and needs the parent no more
    assert len(kt.RunFolder(run).read_history()) == 2


@pytest.mark.slow
def test_a_frozen_encoder_keeps_its_weights(folder):
    kt.train_run(adapted(folder, freeze="encoder"), folder / "frozen")
    before, after = (kt.RunFolder(folder / x).read_model() for x in ("first", "frozen"))
    for name, changes in {"encoder": False, "source_embedding": False, "decoder": True}.items():
        pairs = zip(*(getattr(x, name).get_weights() for x in (before, after)), strict=True)
        assert any((a != b).any() for a, b in pairs) == changes, name


@pytest.mark.slow
def test_an_interrupted_adapted_run_resumes_exactly(folder, monkeypatch):
    mix = f"{folder / 'first.tsv'}:0.5"
    config = adapted(folder, epochs=2, freeze="encoder", mix=mix)
    kt.train_run(config, folder / "whole")

    def stopping(*arguments):
        train, validation = make_batches(*arguments)
        return CallAt(train, 1, 2, lambda: signal.raise_signal(signal.SIGINT)), validation

    with monkeypatch.context() as patch:
        patch.setattr("keras_transformer.training.run.make_batches", stopping)
        with pytest.raises(KeyboardInterrupt):
            kt.train_run(config, folder / "stopped")
    assert len(kt.RunFolder(folder / "stopped").read_history()) == 1
    kt.train_run(config, folder / "stopped")
    runs = [kt.RunFolder(folder / name) for name in ("whole", "stopped")]
    losses = ("loss", "accuracy", "validation_loss", "validation_accuracy", "learning_rate")
    first, second = ([[row[x] for x in losses] for row in run.read_history()] for run in runs)
    assert first == second and len(first) == 2
    for one, other in zip(weights(runs[0].path), weights(runs[1].path), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_adapted_run_without_a_checkpoint_begins_again(folder, monkeypatch):
    """A process that is killed in the first epoch leaves none."""
    config, begun = adapted(folder, freeze="encoder"), []

    def fail(trainer, *arguments):
        begun.append(trainer.model.encoder.get_weights())
        raise MemoryError

    monkeypatch.setattr(kt.Trainer, "_train_epoch", fail)
    for _ in range(2):
        with pytest.raises(MemoryError):
            kt.train_run(config, folder / "killed")
    for x, y in zip(*begun, strict=True):
        np.testing.assert_array_equal(x, y)


@exhaustive_on_jax
@pytest.mark.slow
def test_a_published_marian_model_is_adapted_resumed_and_adapted_again(tmp_path):
    from marian_files import publish_marian, read_sentences  # skips without SentencePiece

    (tmp_path / "opus").mkdir()
    publish_marian(tmp_path / "opus")
    pairs = [(x[:9], y[:9]) for x, y in zip(*read_sentences(200), strict=True)]  # few lengths
    kt.write_pairs(tmp_path / "mine.tsv", pairs)

    def train(*arguments):
        common = ("--dtype", "float32", "--batch-size", "32")
        return run_script("train.py", *arguments, *common, folder=tmp_path)

    first = ("--from", "opus", "--data", "mine.tsv", "--mix", "mine.tsv:0.5", "--run", "first")
    train(*first, "--epochs", "1", "--learning-rate-scale", "1e-9")
    model, *tokenizers = read_marian(tmp_path / "opus")
    for ours, theirs in zip(weights(tmp_path / "first"), model.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    shutil.rmtree(tmp_path / "opus")  # the run needs only its folder, and the mixed pairs
    read = kt.RunFolder(tmp_path / "first").read_tokenizers()
    assert [x.to_json() for x in read] == [x.to_json() for x in tokenizers]
    sentences = [source for source, _ in pairs[:5]]
    translate = kt.Translate.from_run(tmp_path / "first")
    assert translate(sentences) == kt.Translate(model, *tokenizers)(sentences)
    train("--from", "first", "--data", "mine.tsv", "--run", "second", "--epochs", "1")
    config = kt.RunFolder(tmp_path / "second").read_config()
    assert config.parent == "first" and config.activation == "swish"
    resume = ("--run", "second", "--resume", "--epochs", "2")
    printed = train(*resume)
    assert "Epoch 2/2" in printed and "demo.py" not in printed


def damage(path, name):
    """Damages a copy of a run."""
    run = kt.RunFolder(path)
    if name == "BERT":
        (path / "config.json").write_text('{"model_type": "bert"}')
        (path / "model.safetensors").touch()
    elif name == "unfinished":
        run.weights.unlink()
    elif name == "another vocabulary":
        words = [*PAIRS, *((f"{x} {x}s", x) for x, _ in PAIRS)]
        other = kt.PrepareDataset()(words).source_tokenizer
        other.save(path / "source_tokenizer.json")
    else:
        file = next(path.rglob(name))
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "is not a finished run: it has no config.json"),
        ("config.json", "config.json cannot be loaded: The configuration is not valid JSON"),
        ("target_tokenizer.json", "target_tokenizer.json is not valid JSON"),
        ("best.weights.h5", "does not match"),
        ("unfinished", "is not a finished run: it has no weights/best.weights.h5"),
        ("BERT", "expected marian. Received: 'bert'"),
        ("another vocabulary", "belongs to another run or is damaged"),
    ],
)
@pytest.mark.slow
def test_a_damaged_parent_is_one_line_and_begins_nothing(folder, tmp_path, name, message):
    if name != "missing":
        shutil.copytree(folder / "first", tmp_path / "old")
        damage(tmp_path / "old", name)
    command = ("--from", "old", "--data", folder / "other.tsv", "--run", "new", "--epochs", "1")
    assert message in refusal("train.py", *command, folder=tmp_path)
    assert {x.name for x in tmp_path.iterdir()} <= {"old"}


@pytest.mark.slow
def test_adapters_are_merged_and_written_apart(folder):
    run = folder / "lora"
    kt.train_run(adapted(folder, lora=2, dtype="mixed_bfloat16"), run)
    trained, parent = (kt.RunFolder(x).read_model() for x in (run, folder / "first"))
    ids = (np.array([[4, 5, 3]]), np.array([[2, 5, 6]]))
    expected = numpy(trained(ids))
    assert np.abs(numpy(parent(ids)) - expected).max() > 1e-4
    kt.load_lora(parent, run / "weights/adapters.safetensors")
    np.testing.assert_allclose(numpy(parent(ids)), expected, atol=1e-4)
    config = kt.RunFolder(run).read_config()
    kt.train_run(config.with_changes(epochs=2), run)  # resumes
    assert len(kt.RunFolder(run).read_history()) == 2


def test_the_model_and_the_vocabularies_cannot_change():
    config = kt.RunConfig(d_model=64, tokenizer="bpe", epochs=9)
    adapted = config.adapted("runs/old", data="mine.tsv", tokenizer="bpe")
    assert adapted == kt.RunConfig(d_model=64, tokenizer="bpe", parent="runs/old", data="mine.tsv")
    assert adapted.best_learning_rate_scale < config.best_learning_rate_scale
    assert config.adapted("runs/old", rate=0.3).rate == 0.3  # dropout has no weights
    with pytest.raises(ValueError, match=r"are those of runs/old.*Received: \{'d_model': 32\}"):
        config.adapted("runs/old", d_model=32)


def test_mixed_pairs_are_a_share_of_the_training_part_only(tmp_path):
    kt.write_pairs(tmp_path / "old.tsv", PAIRS)
    config = kt.RunConfig(mix=f"{tmp_path / 'old.tsv'}:0.25")
    found = mixed_pairs(config, 90)
    assert len(found) == len(set(found)) == 30 and set(found) <= set(PAIRS)
    assert found == mixed_pairs(config, 90) != mixed_pairs(dataclasses.replace(config, seed=1), 90)
    new = [(f"new {x}", y) for x, y in PAIRS]
    (tmp_path / "old.csv").write_text("de,en\nja,yes\n")
    mix = f"{tmp_path / 'old.csv'}:0.5"
    assert mixed_pairs(kt.RunConfig(mix=mix, columns=("en", "de")), 9) == [("yes", "ja")]
    dataset = kt.PrepareDataset()(new, PAIRS[:5], PAIRS[5:9], mixed=PAIRS)
    assert {*dataset.train} == {*new, *PAIRS[9:]} - {*PAIRS[:9]}


def test_swapped_columns_are_noticed():
    dataset = make_dataset()
    assert len(list(describe_fit(dataset))) == 1
    swapped = dataclasses.replace(dataset, train=[(y, x) for x, y in dataset.train])
    unknown, warning = describe_fit(swapped)
    assert "100.0% of the source" in unknown and "columns swapped" in warning
    assert set(WORDS) & set(WORDS.values()) == set()
