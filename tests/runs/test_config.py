"""Run settings: JSON round trip, validation, changes on resuming and command-line flags."""

import argparse
import dataclasses
import json
import re
from pathlib import Path

import pytest

from keras_transformer import __version__
from keras_transformer.cli.run_flags import add_run_flags
from keras_transformer.runs.config import RunConfig
from keras_transformer.runs.recipes import RECIPES, list_recipes
from keras_transformer.settings import BlockSettings

SAVED = sorted((Path(__file__).parents[1] / "data").glob("saved_by_*/*/config.json"))
FIELDS = {field.name: field for field in dataclasses.fields(RunConfig)}
# A value other than the default for each field.
NON_DEFAULTS = {
    "data": "other.tsv",
    "validation": "watched.tsv",
    "test": "judged.tsv",
    "columns": ("en", "de"),
    "mix": "old.tsv:0.5",
    "n_sentences": 1000,
    "min_count": 2,
    "tokenizer": "bpe",
    "vocab_size": 900,
    "share_vocabulary": True,
    "bpe_dropout": 0.1,
    "max_length": 40,
    "data_limits": 2.0,
    "seed": 7,
    "model": "luong",
    "parent": "runs/old",
    "lora": 4,
    "d_model": 256,
    "h": 2,
    "d_k": 8,
    "d_v": 16,
    "d_ff": 100,
    "n": 1,
    "rate": 0.05,
    "attention_rate": 0.1,
    "activation_rate": 0.2,
    "activation": "gelu",
    "norm_first": False,
    "rotary_base": 100.0,
    "normalization": "rms",
    "gated": True,
    "h_kv": 1,
    "qk_norm": True,
    "relative_positions": "alibi",
    "window": 5,
    "use_bias": False,
    "tie_output": False,
    "output_bias": True,
    "epochs": 3,
    "batch_size": 17,
    "batch_tokens": 500,
    "accumulation": 2,
    "optimizer": "muon",
    "warmup_steps": 10,
    "decay": "inverse_sqrt",
    "learning_rate_scale": 0.7,
    "label_smoothing": 0.0,
    "clip_norm": 1.0,
    "ema": 0.9,
    "monitor": "bleu",
    "keep_weights": 3,
    "patience": 2,
    "freeze": "encoder",
    "dtype": "float32",
    "tensorboard": True,
}
CHANGEABLE = {"epochs", "patience", "data", "validation", "test", "data_limits", "columns"}


def flags(name, value):
    flag = "from" if name == "parent" else name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", *(value if isinstance(value, tuple) else [str(value)])]


def parse(*arguments):
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    return vars(parser.parse_args(arguments))


def changed_json(**changes):
    return json.dumps({**json.loads(RunConfig().to_json()), **changes})


# Values


def test_non_defaults_cover_all_fields():
    assert NON_DEFAULTS.keys() == FIELDS.keys()
    assert all(value != FIELDS[name].default for name, value in NON_DEFAULTS.items())


@pytest.mark.parametrize(
    "config", [RunConfig(), RunConfig(**NON_DEFAULTS)], ids=["defaults", "non-defaults"]
)
def test_json_round_trip(config):
    assert RunConfig.from_json(config.to_json()) == config
    values = json.loads(json.dumps(dataclasses.asdict(config)))
    assert json.loads(config.to_json()) == {"version": __version__, **values}


def test_settings_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig().epochs = 3


def test_base_has_the_sizes_of_the_paper():
    # "Attention Is All You Need", table 3, sections 5.3 and 5.4
    base = RunConfig.recipe("base")
    assert (base.n, base.d_model, base.d_ff, base.h) == (6, 512, 2048, 8)
    assert (base.rate, base.label_smoothing, base.warmup_steps) == (0.1, 0.1, 4000)
    assert not base.norm_first and base.learning_rate_scale == 1.0
    assert base.decay == "inverse_sqrt" and not base.uses_muon
    assert base.block_settings().rotary_base is None


def test_the_recipe_of_books():
    book = RunConfig.recipe("book")
    layers = BlockSettings(
        h=8, d_k=64, d_v=64, d_model=512, d_ff=2048, n=6, rate=0.1, norm_first=False
    )
    assert book.block_settings() == layers
    assert (book.n_sentences, book.batch_size, book.epochs, book.tokenizer) == (
        10_000, 64, 20, "words",
    )  # fmt: skip
    assert not book.uses_muon and (book.warmup_steps, book.decay) == (4000, "inverse_sqrt")
    assert (book.learning_rate_scale, book.label_smoothing, book.tie_output) == (1, 0, False)


def test_dropout_is_off_for_the_bundled_corpus_only():
    for config, rate in (
        (RunConfig(), 0),
        (RunConfig(data="a.tsv"), 0.1),
        (RunConfig(rate=0.3), 0.3),
    ):
        assert config.block_settings().rate == rate


def test_muon_is_the_default_of_a_transformer():
    assert RunConfig().uses_muon and not RunConfig(model="luong").uses_muon
    assert not RunConfig(optimizer="adam").uses_muon
    assert RunConfig(model="luong", optimizer="muon").uses_muon


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_can_be_overridden(name):
    recipe = RunConfig.recipe(name)
    assert RunConfig.recipe(name, epochs=3) == dataclasses.replace(recipe, epochs=3)


def test_a_recipe_contains_another():
    base, wmt = RunConfig.recipe("base"), RunConfig.recipe("wmt14-base")
    assert wmt.block_settings() == base.block_settings() and (base.epochs, wmt.epochs) == (15, 17)


def test_refuses_an_unknown_recipe():
    with pytest.raises(ValueError, match=r"one of .*tiny.*Received: recipe='huge'"):
        RunConfig.recipe("huge")


def test_the_list_of_recipes_has_two_lines_each():
    lines = list_recipes().splitlines()
    assert [line.split(":")[0] for line in lines[::2]] == list(RECIPES)
    assert all(line.startswith("    ") and len(line) > 30 for line in lines[1::2])


def test_values_chosen_by_a_run_are_written_and_chosen_again():
    config = RunConfig(epochs=3)
    text = config.with_automatic(rate=0.1, optimizer="muon", dtype="float32", epochs=3).to_json()
    written = json.loads(text)
    assert (written["rate"], written["optimizer"], written["dtype"]) == (0.1, "muon", "float32")
    assert written["automatic"] == {"rate": None, "optimizer": "auto", "dtype": "auto"}
    assert RunConfig.from_json(text) == config
    with pytest.raises(ValueError, match="must be a JSON object of settings"):
        RunConfig.from_json('{"automatic": [1]}')


def test_recurrent_models_ignore_the_number_of_heads():
    assert RunConfig(model="luong", d_model=150).d_model == 150
    with pytest.raises(ValueError, match="`d_model` must be even"):
        RunConfig(model="luong", d_model=151)


INVALID = [
    ("d_model", 255),
    ("h", 3),
    ("epochs", 0),
    ("epochs", -1),
    ("batch_size", 0),
    ("patience", 0),
    ("label_smoothing", 1.0),
    ("label_smoothing", -0.1),
    ("dtype", "float16"),
    ("dtype", "bfloat16"),
    ("tokenizer", "letters"),
    ("monitor", "accuracy"),
    ("bpe_dropout", 1.0),
    ("ema", 1.0),
    ("attention_rate", -0.1),
    ("clip_norm", 0.0),
    ("batch_tokens", 0),
    ("accumulation", 0),
    ("keep_weights", -1),
    ("h", 0),
    ("d_model", "256"),
    ("epochs", "10"),
    ("columns", "en"),
    ("columns", ("en", "")),
    ("mix", "old.tsv"),
    ("mix", "old.tsv:1"),
    ("mix", ":0.5"),
    ("freeze", "decoder"),
]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_refuses_invalid_values(name, value):
    expected = rf"`\w+` .*Received: .*{re.escape(str(value))}"
    with pytest.raises(ValueError, match=expected):
        RunConfig(**{name: value})
    with pytest.raises(ValueError, match=expected):
        RunConfig.from_json(changed_json(**{name: value}))


def test_refuses_accumulation_in_float16():
    with pytest.raises(ValueError, match=r"Received: accumulation=2, dtype=mixed_float16$"):
        RunConfig(dtype="mixed_float16", accumulation=2)


def test_streamed_runs_of_earlier_versions_are_read():
    assert RunConfig.from_json(changed_json(stream=True)) == RunConfig.from_json(changed_json())


def test_a_vocabulary_of_words_excludes_what_needs_subwords():
    for settings in ({"share_vocabulary": True}, {"bpe_dropout": 0.1}):
        assert RunConfig(**settings).tokenizer == "auto"
        with pytest.raises(ValueError, match="exclude tokenizer=words"):
            RunConfig(tokenizer="words", **settings)


# Malformed and older files


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        '"d_model"',
        "__import__('os').system('true')",
        "!!python/object/apply:os.system ['true']",
        "(lp0\n.",
        changed_json(__class__="os.system"),
        changed_json(wings=2),
    ],
)
def test_refuses_malformed_settings(text):
    with pytest.raises(ValueError):
        RunConfig.from_json(text)


def test_error_names_unknown_fields_and_the_writing_version():
    text = '{"version": "9.1", "wings": 2, "epochs": 3}'
    with pytest.raises(ValueError, match=r"^Version 9\.1 wrote .* Received: \['wings'\]$"):
        RunConfig.from_json(text)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.parent.name)
def test_a_missing_field_takes_its_default_or_the_earlier_behavior(path):
    """Runs of earlier versions lack the fields that were added later."""
    earlier = {"decay": "inverse_sqrt", "rotary_base": None, "optimizer": "adam"}
    text = path.read_text(encoding="utf-8")
    saved = RunConfig.from_json(text)
    for field in dataclasses.fields(RunConfig):
        values = json.loads(text)
        values.pop(field.name, None)  # absent if the field is newer than the file
        expected = {**dataclasses.asdict(saved), field.name: earlier.get(field.name, field.default)}
        try:
            expected = RunConfig(**expected)
        except ValueError:  # the default is incompatible with the other values
            continue
        assert RunConfig.from_json(json.dumps(values)) == expected


# Resuming


def test_a_resumed_run_can_train_longer_and_read_moved_data():
    changes = {"epochs": 30, "patience": 9, "data": "elsewhere.tsv"}
    changed = RunConfig().with_changes(**changes)
    assert changed == RunConfig(**changes, rate=0.0)  # the default depends on `data`
    assert changed.with_changes(**dataclasses.asdict(RunConfig(**changes))) == changed
    assert RunConfig().with_changes(**dataclasses.asdict(changed)) == changed
    assert RunConfig().with_changes() == RunConfig()


@pytest.mark.parametrize(("name", "moved"), [("parent", "new/opus"), ("mix", "new.tsv:0.5")])
def test_what_an_adapted_run_was_made_of_may_move(name, moved):
    config = RunConfig(rate=0.1, **{name: NON_DEFAULTS[name]})
    assert config.with_changes(**{name: moved}) == dataclasses.replace(config, **{name: moved})


@pytest.mark.parametrize("name", FIELDS.keys() - CHANGEABLE)
def test_a_resumed_run_keeps_all_other_settings(name):
    same = {name: FIELDS[name].default}
    assert RunConfig().with_changes(**same, epochs=30) == RunConfig(epochs=30)
    with pytest.raises(ValueError, match=rf"start a new run. Received: {{'{name}': "):
        RunConfig().with_changes(**{name: NON_DEFAULTS[name]}, epochs=30)


@pytest.mark.parametrize("name", CHANGEABLE)
def test_a_resumed_run_accepts_changeable_fields(name):
    change = {name: NON_DEFAULTS[name]}
    config = RunConfig(rate=0.1)
    assert config.with_changes(**change) == dataclasses.replace(config, **change)


def test_changes_are_validated():
    with pytest.raises(ValueError, match="Received: epochs=0"):
        RunConfig().with_changes(epochs=0)


# Flags


def test_none_replaces_the_number_of_a_recipe():
    assert parse("--rotary-base", "none", "--d-k", "None") == {"rotary_base": None, "d_k": None}
    assert RunConfig.from_json(changed_json(rotary_base=0)).rotary_base is None


def test_only_given_flags_are_parsed():
    assert parse() == {}
    given = [flag for name, value in NON_DEFAULTS.items() for flag in flags(name, value)]
    assert RunConfig(**parse(*given)) == RunConfig(**NON_DEFAULTS)


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_has_a_help_text(name):
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    text = FIELDS[name].metadata["help"]
    assert len(text) > 10
    assert text in " ".join(parser.format_help().split())


def test_refuses_a_value_of_the_wrong_type(capsys):
    with pytest.raises(SystemExit):
        parse("--epochs", "many")
    assert "--epochs" in capsys.readouterr().err
