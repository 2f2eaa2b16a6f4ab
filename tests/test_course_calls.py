"""Calls in the style of courses and other libraries work, or are refused with what to write."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
from layer_contract import normal, numpy

import keras_transformer
from keras_transformer import (
    AddNormalization,
    Bert,
    BlockSettings,
    Decoder,
    DecoderLayer,
    DotProductAttention,
    Dropout,
    Encoder,
    EncoderLayer,
    FeedForward,
    LuongAttention,
    MultiHeadAttention,
    PrepareDataset,
    RecurrentTranslator,
    TransformerModel,
    Translate,
)

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = (ROOT / "docs/from-the-course.md").read_text(encoding="utf-8")
SETUP, LOOP = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
SETTINGS = BlockSettings(h=2, d_model=8, d_ff=16, rate=0.5)
X = normal(2, 3, 8)
IDS = np.array([[4, 5, 3], [6, 3, 0]])
MASK = np.array([[[True, True, False]]])
BLOCKS = (EncoderLayer, DecoderLayer)
STACKS = (Encoder, Decoder)
LENGTHS = (
    r"{0} takes neither a vocabulary size nor .*: write {0}\(h, d_k, d_v, d_model, d_ff, {1}\)"
)


def ids_of(value):
    return getattr(value, "__name__", None)


def make_model(**kwargs):
    return TransformerModel(11, 13, settings=SETTINGS, **kwargs)


# The document


def table_calls():
    """Returns the calls in the second columns of the tables that compare calls."""
    tables = re.findall(r"^\| course code .*\n\|---.*\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    rows = [row.split(" | ") for table in tables for row in table.splitlines()]
    return [call for row in rows for call in re.findall(r"`(.+?)`", row[1])]


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The names that the first block of the document defines."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    defined = {}
    exec(SETUP, defined)
    return defined


def test_the_calls_in_the_document_run(names):
    calls = table_calls()
    assert len(calls) > 35
    for call in calls:
        eval(call, names)


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "tensorflow", reason="a loop of TensorFlow")
def test_the_training_loop_in_the_document_runs(names):
    exec(LOOP, names)
    assert np.isfinite(float(names["loss"]))


# Constructors


@pytest.mark.parametrize("layer_class", BLOCKS, ids=ids_of)
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((5, 2, 4, 4, 8, 16, 0.1), {}),
        ((5, 2, 4, 4, 8, 16), {}),
        ((5, 2, 4, 4, 8, 16), {"rate": 0.1}),
        ((100, 5, 2, 4, 4, 8, 16, 0.1), {}),
        ((2, 4, 4, 8, 16, 0.1), {"sequence_length": 5}),
    ],
)
def test_a_sequence_length_is_refused_by_layers(layer_class, args, kwargs):
    with pytest.raises(TypeError, match=LENGTHS.format(layer_class.__name__, "rate")) as caught:
        layer_class(*args, **kwargs)
    expected = [*map(repr, args), *(f"{name}={value}" for name, value in kwargs.items())]
    assert str(caught.value).endswith(f"Received: {', '.join(expected)}")


@pytest.mark.parametrize("stack_class", STACKS, ids=ids_of)
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((100, 5, 2, 4, 4, 8, 16, 3, 0.1), {}),
        ((5, 2, 4, 4, 8, 16, 1, 0.1), {}),
        ((100, 5, 2, 4, 4, 8, 16), {"n": 3, "rate": 0.1}),
        ((5, 2, 4, 4, 8, 16), {"n": 3, "rate": 0.1}),
        ((2, 4, 4, 8, 16, 3, 0.1), {"vocab_size": 100}),
    ],
)
def test_a_vocabulary_size_is_refused_by_stacks(stack_class, args, kwargs):
    with pytest.raises(TypeError, match=LENGTHS.format(stack_class.__name__, "n, rate")):
        stack_class(*args, **kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"), [((2, 4, 4, 8, 16, 0.1, "relu"), {}), ((2, 4), {"h": 2})]
)
def test_other_wrong_arguments_get_the_message_of_python(args, kwargs):
    with pytest.raises(TypeError, match=r"__init__\(\)") as caught:
        EncoderLayer(*args, **kwargs)
    assert "sequence length" not in str(caught.value)


def test_subclasses_may_have_other_arguments():
    class Embedded(EncoderLayer):
        def __init__(self, sequence_length, num_heads, **kwargs):
            settings = BlockSettings(h=num_heads, d_model=8, d_ff=16)
            super().__init__(settings=settings, **kwargs)

    assert Embedded(2048, 4).settings.h == Embedded(5, num_heads=4).settings.h == 4


@pytest.mark.parametrize(
    ("make", "replacement"),
    [
        (lambda: BlockSettings(num_heads=2, d_model=8, d_ff=16), "num_heads.*: pass `h`"),
        (lambda: EncoderLayer(2, 4, 4, 8, 16, dropout_rate=0.1), "dropout_rate.*: pass `rate`"),
        (lambda: Decoder(h=2, key_dim=4), "key_dim.*: pass `d_k`"),
        (lambda: Encoder(num_layers=6), "num_layers.*: pass `n`"),
        (lambda: TransformerModel(11, 13, dropout_rate=0.1), "dropout_rate.*: pass `rate`"),
        (lambda: TransformerModel(11, 13, dff=16), r"dff.*settings=BlockSettings\(d_ff=...\)"),
        (lambda: Bert(11, 8, num_heads=2), r"num_heads.*settings=BlockSettings\(h=...\)"),
        (lambda: RecurrentTranslator(11, 13, 8, 8, dropout=0.1), "dropout.*: pass `rate`"),
        (lambda: MultiHeadAttention(num_heads=8, key_dim=4), "num_heads.*: pass `h`"),
        (lambda: DotProductAttention(dropout=0.1), "dropout.*: pass `rate`"),
        (lambda: AddNormalization(dropout_rate=0.1), "dropout_rate.*: pass `rate`"),
        (lambda: FeedForward(16, 8, dropout_rate=0.1), "dropout_rate.*: pass `rate`"),
        (lambda: FeedForward(intermediate_dim=16), "intermediate_dim.*: pass `d_ff`"),
        (lambda: Dropout(dropout_rate=0.1), "dropout_rate.*: pass `rate`"),
    ],
)
def test_argument_names_of_other_libraries_are_refused(make, replacement):
    with pytest.raises(TypeError, match=rf"has no argument `{replacement}\W+Received: \w+="):
        make()


def test_names_without_a_counterpart_keep_the_message_of_keras():
    with pytest.raises(ValueError, match="Unrecognized keyword arguments"):
        LuongAttention(num_heads=2)


# Calls


@pytest.mark.parametrize("layer_class", (*BLOCKS, *STACKS), ids=ids_of)
def test_training_may_be_the_last_positional_argument(layer_class):
    layer = layer_class(settings=SETTINGS)
    inputs = (X,) if layer_class in (EncoderLayer, Encoder) else (X, X, None)
    expected = numpy(layer(*inputs, MASK))
    np.testing.assert_array_equal(numpy(layer(*inputs, MASK, False)), expected)
    assert np.abs(numpy(layer(*inputs, MASK, True)) - expected).max() > 0.1
    assert np.abs(numpy(layer(*inputs, None, False)) - expected).max() > 1e-3


def test_the_inputs_of_a_model_may_be_separate_arguments():
    model = make_model()
    expected = numpy(model((IDS, IDS)))
    for outputs in (
        model(IDS, IDS),
        model(IDS, IDS, False),
        model(IDS, IDS, training=False),
        model([IDS, IDS], False),
    ):
        np.testing.assert_array_equal(numpy(outputs), expected)
    for outputs in (model(IDS, IDS, True), model(IDS, IDS, training=True)):
        assert np.abs(numpy(outputs) - expected).max() > 0.1


def test_separate_arguments_build_a_functional_model_that_can_be_saved(tmp_path):
    inputs = [keras.Input((None,), dtype="int32", name=name) for name in ("source", "target")]
    model = keras.Model(inputs, make_model()(*inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(numpy(loaded([IDS, IDS])), numpy(model([IDS, IDS])), atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: DotProductAttention()(X, X, X, 8),
            TypeError,
            r"omit it and call attention\(queries, keys, values, .*Received: d_k=8$",
        ),
        (lambda: DotProductAttention()(X, X, X, 8, MASK), TypeError, "Received: d_k=8$"),
        (lambda: DotProductAttention()(X, X, X, d_k=8), TypeError, "Received: d_k=8$"),
        (
            lambda: Encoder(settings=SETTINGS)(IDS, None, True),
            ValueError,
            r"embed token ids first.*Received: shape \(2, 3\)$",
        ),
        (
            lambda: Decoder(settings=SETTINGS)(IDS, X, None, None, True),
            ValueError,
            r"embed token ids first.*Received: shape \(2, 3\)$",
        ),
        (
            lambda: make_model()(IDS),
            TypeError,
            r"two arrays.*: write model\(\(encoder_input, decoder_input\).*Received: ndarray$",
        ),
        (lambda: make_model()(IDS, IDS, MASK), TypeError, "Received: ndarray, ndarray, ndarray$"),
        (lambda: make_model()({"source": IDS, "target": IDS}), TypeError, "Received: dict$"),
        (
            lambda: Translate(make_model()),
            TypeError,
            r"write Translate\(model, source_tokenizer, target_tokenizer\).*"
            r"Translate\.from_run\(folder\)\. Received: NoneType",
        ),
        (lambda: Translate(make_model(), "a.pkl", "b.pkl"), TypeError, "Received: str instead of"),
    ],
)
def test_calls_in_the_style_of_courses_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_unpacking_a_data_set_is_refused():
    dataset = PrepareDataset()([(f"word {i}", f"Wort {i}") for i in range(10)])
    with pytest.raises(TypeError, match=r"read its attributes `train`, .*`source_tokenizer`"):
        _train, _validation, *_others = dataset


def test_keras_names_the_ending_of_weight_files(tmp_path):
    """The document says so."""
    model = make_model()
    model(IDS, IDS)
    with pytest.raises(ValueError, match=r"\.weights\.h5"):
        model.save_weights(tmp_path / "wghts1.ckpt")


def test_names_and_methods_of_courses_say_what_to_write():
    for name in ("LRScheduler", "loss_fcn", "accuracy_fcn", "lookahead_mask"):
        with pytest.raises(AttributeError, match=r": write kt\.\w+\(.*see docs/from-the-course"):
            getattr(keras_transformer, name)
    for name in ("padding_mask", "lookahead_mask"):
        with pytest.raises(AttributeError, match=r"write kt\.\w+\(\w+\); True = may attend"):
            getattr(make_model(), name)(IDS)


def test_calls_of_courses_work(tmp_path):
    model = make_model()
    model((IDS, IDS))
    for layer in (model.encoder.layers[0], model.decoder.layers[0]):
        assert layer.build_graph().output_shape == (None, None, 8)
    model.save_weights(tmp_path / "weights" / "wghts1.weights.h5")
    assert (tmp_path / "weights" / "wghts1.weights.h5").exists()
