"""Descriptions of models in `model.json`: round trips, and errors for files of strangers."""

import json

import pytest
from tiny import make_dataset, make_model

from keras_transformer import RecurrentTranslator
from keras_transformer.runs.model_description import ModelDescription
from keras_transformer.runs.own_model import build_model

TRANSFORMER = ModelDescription.from_model(make_model(make_dataset()))


def changed(**options):
    content = json.loads(TRANSFORMER.to_json())
    return json.dumps({**content, "options": {**content["options"], **options}})


@pytest.mark.parametrize(
    "model",
    [make_model(make_dataset()), RecurrentTranslator(7, 9, 6, 8, 0.1, "luong", "lstm", window=3)],
    ids=["transformer", "recurrent"],
)
def test_a_described_model_is_made_with_the_same_options(model):
    text = ModelDescription.from_model(model).to_json()
    made = ModelDescription.from_json(text, "model.json").make()
    assert type(made) is type(model)
    assert ModelDescription.from_model(made).to_json() == text


def test_the_dtype_is_chosen_at_loading():
    assert "dtype" not in TRANSFORMER.options
    assert build_model(TRANSFORMER.make, "mixed_bfloat16").compute_dtype == "bfloat16"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[]", "must describe a model"),
        ("{}", "must describe a model"),
        (json.dumps({"kind": "os.system", "options": {}}), "`kind` must be one of"),
        (json.dumps({"kind": "TransformerModel", "options": []}), "must describe a model"),
        (changed(activation={"class_name": "Lambda"}), "must be a number, a bool, a string"),
        (changed(d_model=10**9), "`d_model` must be an int from 1 to 65536"),
        (changed(n="3"), "`n` must be an int"),
        (changed(d_k=0), "`d_k` must be an int from 1"),
    ],
)
def test_refuses_other_content(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        ModelDescription.from_json(text, "model.json")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("options", [{"d_model": 2**15, "d_ff": 2**15}, {"dec_vocab_size": 10**9}])
def test_refuses_more_than_a_billion_parameters(options):
    description = ModelDescription.from_json(changed(**options), "model.json")
    with pytest.raises(ValueError, match="at most 1,000,000,000 parameters"):
        description.make()
