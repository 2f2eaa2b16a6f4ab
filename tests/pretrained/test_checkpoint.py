"""Tests of loading published BERT and DistilBERT models, including damaged ones."""

import json

import keras
import numpy as np
import pytest
from layer_contract import numpy
from safetensors.numpy import load_file, save_file

from keras_transformer.models import AnsweringBert, Bert, EncoderClassifier, PretrainingBert
from keras_transformer.pretrained.checkpoint import Checkpoint

D, FF, V, S = 6, 10, 12, 9
BERT = {
    "model_type": "bert",
    "vocab_size": V,
    "hidden_size": D,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": FF,
    "max_position_embeddings": S,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
DISTILBERT = {
    "model_type": "distilbert",
    "vocab_size": V,
    "dim": D,
    "n_layers": 1,
    "n_heads": 2,
    "hidden_dim": FF,
    "max_position_embeddings": S,
    "activation": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.2,
}
IDS = np.array([[2, 5, 6, 3]], "int32")


def dense(name, outputs, inputs):
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def norm(name):
    return {f"{name}.weight": (D,), f"{name}.bias": (D,)}


def bert_shapes(prefix=""):
    layer = f"{prefix}encoder.layer.0"
    return {
        f"{prefix}embeddings.word_embeddings.weight": (V, D),
        f"{prefix}embeddings.position_embeddings.weight": (S, D),
        f"{prefix}embeddings.token_type_embeddings.weight": (2, D),
        **norm(f"{prefix}embeddings.LayerNorm"),
        **dense(f"{layer}.attention.self.query", D, D),
        **dense(f"{layer}.attention.self.key", D, D),
        **dense(f"{layer}.attention.self.value", D, D),
        **dense(f"{layer}.attention.output.dense", D, D),
        **norm(f"{layer}.attention.output.LayerNorm"),
        **dense(f"{layer}.intermediate.dense", FF, D),
        **dense(f"{layer}.output.dense", D, FF),
        **norm(f"{layer}.output.LayerNorm"),
        **dense(f"{prefix}pooler.dense", D, D),
    }


def distilbert_shapes(prefix=""):
    layer = f"{prefix}transformer.layer.0"
    return {
        f"{prefix}embeddings.word_embeddings.weight": (V, D),
        f"{prefix}embeddings.position_embeddings.weight": (S, D),
        **norm(f"{prefix}embeddings.LayerNorm"),
        **dense(f"{layer}.attention.q_lin", D, D),
        **dense(f"{layer}.attention.k_lin", D, D),
        **dense(f"{layer}.attention.v_lin", D, D),
        **dense(f"{layer}.attention.out_lin", D, D),
        **norm(f"{layer}.sa_layer_norm"),
        **dense(f"{layer}.ffn.lin1", FF, D),
        **dense(f"{layer}.ffn.lin2", D, FF),
        **norm(f"{layer}.output_layer_norm"),
    }


HEADS = {
    **dense("cls.predictions.transform.dense", D, D),
    **norm("cls.predictions.transform.LayerNorm"),
    "cls.predictions.bias": (V,),
    **dense("cls.seq_relationship", 2, D),
}
ALL = pytest.mark.parametrize(
    ("shapes", "config"),
    [
        (bert_shapes(), BERT),
        (bert_shapes("bert."), BERT),
        (distilbert_shapes(), DISTILBERT),
        (distilbert_shapes("distilbert."), DISTILBERT),
    ],
    ids=("bert", "bert_with_prefix", "distilbert", "distilbert_with_prefix"),
)


def publish(folder, shapes, config=BERT, **changes):
    """Writes a model folder with random weights and returns the weights."""
    rng = np.random.default_rng(0)
    weights = {
        name: np.asarray(rng.normal(size=shape), "float32") for name, shape in shapes.items()
    }
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    save_file(weights, folder / "model.safetensors")
    return weights


def check_error(folder, message, load=Bert.from_pretrained, error=ValueError):
    with pytest.raises(error, match=message):
        load(folder)


@ALL
def test_every_weight_is_loaded(tmp_path, shapes, config):
    weights = publish(tmp_path, shapes, config)
    model = Bert.from_pretrained(tmp_path)
    found = sorted(w.astype("float64").sum() for w in model.get_weights())
    np.testing.assert_allclose(found, sorted(w.astype("float64").sum() for w in weights.values()))
    assert model(IDS).shape == (1, 4, D)


def test_only_dense_kernels_are_transposed(tmp_path):
    weights = publish(tmp_path, bert_shapes())
    model = Bert.from_pretrained(tmp_path)
    embeddings = numpy(model.embedding.words.embeddings)
    np.testing.assert_array_equal(embeddings, weights["embeddings.word_embeddings.weight"])
    kernel, bias = model.encoder.layers[0].feed_forward.inner.get_weights()
    np.testing.assert_array_equal(kernel, weights["encoder.layer.0.intermediate.dense.weight"].T)
    np.testing.assert_array_equal(bias, weights["encoder.layer.0.intermediate.dense.bias"])


def test_arguments_come_from_the_config(tmp_path):
    publish(tmp_path, bert_shapes(), hidden_act="relu", layer_norm_eps=1e-3)
    config = Bert.from_pretrained(tmp_path, dtype="mixed_bfloat16").get_config()
    expected = {"vocab_size": V, "seq_length": S, "h": 2, "d_k": 3, "d_v": 3, "d_model": D}
    expected |= {"d_ff": FF, "n": 1, "rate": 0.1, "activation": "relu", "epsilon": 1e-3}
    expected["attention_rate"] = 0.2
    assert {name: config[name] for name in expected} == expected
    assert Bert.from_pretrained(tmp_path, dtype="mixed_bfloat16").compute_dtype == "bfloat16"


def test_old_norm_names_and_position_ids_are_accepted(tmp_path):
    expected = publish(tmp_path / "new", bert_shapes())
    weights = {
        name.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): x
        for name, x in expected.items()
    }
    weights["embeddings.position_ids"] = np.arange(S)[None]
    publish(tmp_path / "old", bert_shapes())
    save_file(weights, tmp_path / "old/model.safetensors")
    models = [Bert.from_pretrained(tmp_path / name) for name in ("new", "old")]
    for one, other in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_body_ignores_task_heads(tmp_path):
    shapes = {**bert_shapes("bert."), **HEADS, **dense("qa_outputs", 2, D)}
    publish(tmp_path, shapes)
    assert Bert.from_pretrained(tmp_path).pooler == "tanh"


class TestHeads:
    def test_pretraining(self, tmp_path):
        weights = publish(tmp_path, {**bert_shapes("bert."), **HEADS})
        model = PretrainingBert.from_pretrained(tmp_path)
        np.testing.assert_array_equal(numpy(model.bias), weights["cls.predictions.bias"])
        kernel = weights["cls.seq_relationship.weight"].T
        np.testing.assert_array_equal(numpy(model.next.kernel), kernel)

    def test_question_answering(self, tmp_path):
        weights = publish(tmp_path, {**bert_shapes("bert."), **dense("qa_outputs", 2, D)})
        model = AnsweringBert.from_pretrained(tmp_path)
        np.testing.assert_array_equal(numpy(model.span.kernel), weights["qa_outputs.weight"].T)

    def test_distilbert_classifier(self, tmp_path):
        heads = {**dense("pre_classifier", D, D), **dense("classifier", 4, D)}
        weights = publish(tmp_path, {**distilbert_shapes("distilbert."), **heads}, DISTILBERT)
        model = EncoderClassifier.from_pretrained(tmp_path)
        assert model(IDS).shape == (1, 4) and model.body.pooler == "relu"
        pooling = numpy(model.body.pooling.kernel)
        np.testing.assert_array_equal(pooling, weights["pre_classifier.weight"].T)

    @pytest.mark.parametrize("model_class", (AnsweringBert, EncoderClassifier, PretrainingBert))
    def test_another_task_is_refused(self, tmp_path, model_class):
        publish(tmp_path, bert_shapes("bert."), architectures=["BertModel"])
        message = r"lacks the weights for this task: \w+.* is missing\..*'BertModel'"
        check_error(tmp_path, message, model_class.from_pretrained)


@pytest.mark.parametrize("architectures", (["MyBert"], [], 5, {"a": 1}, [5]))
def test_pickled_weights_are_refused(tmp_path, architectures):
    publish(tmp_path, bert_shapes(), architectures=architectures)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    name = "MyBert" if architectures == ["MyBert"] else "AutoModel"
    check_error(tmp_path, rf"{name}\.from_pretrained\(folder\)", error=FileNotFoundError)


class TestInvalidFiles:
    @ALL
    def test_every_missing_weight_is_named(self, tmp_path, shapes, config):
        names = [name for name in shapes if "pooler" not in name][::4]
        publish(tmp_path, {n: s for n, s in shapes.items() if n not in names}, config)
        with pytest.raises(ValueError, match=f"with {len(names)} mismatched weights$") as error:
            Bert.from_pretrained(tmp_path)
        assert all(f"{name} is missing" in str(error.value) for name in names)

    @ALL
    def test_every_unexpected_weight_is_named(self, tmp_path, shapes, config):
        publish(tmp_path, {**shapes, "more.weight": (1,), "layer.1.bias": (2,)}, config)
        message = r"match the model: layer\.1\.bias is unexpected; more\.weight is unexpected\."
        check_error(tmp_path, message)

    def test_a_weight_of_another_shape_is_named(self, tmp_path):
        shapes = {**bert_shapes(), "pooler.dense.bias": (7,)}
        publish(tmp_path, shapes)
        check_error(tmp_path, r"pooler\.dense\.bias has the shape \(7,\) instead of \(6,\)")

    @pytest.mark.parametrize("kind", ("marian", None))
    def test_another_architecture_is_refused(self, tmp_path, kind):
        publish(tmp_path, bert_shapes(), model_type=kind)
        check_error(tmp_path, rf"expected bert or distilbert\. Received: {kind!r}$")

    @pytest.mark.parametrize("fraction", (0.0, 0.01, 0.5, 0.99))
    def test_truncated_weights_are_refused(self, tmp_path, fraction):
        publish(tmp_path, bert_shapes())
        path = tmp_path / "model.safetensors"
        content = path.read_bytes()
        path.write_bytes(content[: int(fraction * len(content))])
        check_error(tmp_path, r"damaged or truncated: download it again.*Received: .*safetensors$")

    @pytest.mark.parametrize("text", ("", "{", "[]"))
    def test_a_damaged_config_is_refused(self, tmp_path, text):
        publish(tmp_path, bert_shapes())
        (tmp_path / "config.json").write_text(text)
        check_error(
            tmp_path, r"config\.json (is not valid JSON|must contain a JSON object).*Received: "
        )

    @pytest.mark.parametrize("name", ("config.json", "model.safetensors"))
    def test_a_missing_file_is_named(self, tmp_path, name):
        publish(tmp_path, bert_shapes())
        (tmp_path / name).unlink()
        check_error(tmp_path, f"There is no {name}", error=FileNotFoundError)

    def test_a_missing_folder_is_refused(self, tmp_path):
        check_error(tmp_path / "none", "There is no config.json", error=FileNotFoundError)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"hidden_act": "gelu_new"}, r"activation must be one of.*Received: 'gelu_new'$"),
            ({"pad_token_id": 1}, r"padding id must be 0\. Received: pad_token_id=1$"),
            ({"is_decoder": True}, r"Received: is_decoder=True"),
            ({"position_embedding_type": "relative_key"}, "relative_key"),
        ],
    )
    def test_an_unsupported_config_is_refused(self, tmp_path, change, message):
        publish(tmp_path, bert_shapes(), **change)
        check_error(tmp_path, message)

    @pytest.mark.parametrize("field", ("vocab_size", "hidden_size", "num_hidden_layers"))
    @pytest.mark.parametrize("size", (10**9, 0, 1.5, "8", None, True))
    def test_an_implausible_size_is_refused(self, tmp_path, field, size):
        publish(tmp_path, bert_shapes(), **{field: size})
        check_error(tmp_path, rf"`{field}` must be an int from 1 to \d+\. Received: {field}=")

    @pytest.mark.parametrize(
        "sizes",
        [
            {"hidden_size": 60_000, "intermediate_size": 60_000},
            {"hidden_size": 60_000, "vocab_size": 10**6},
            {"hidden_size": 6_000, "num_hidden_layers": 1_000},
        ],
        ids=str,
    )
    def test_a_model_far_larger_than_its_file_is_refused(self, tmp_path, sizes):
        publish(tmp_path, bert_shapes(), **sizes)
        message = r"describe the model in the file.*Received: [\d,]+ parameters, but [\d,]+ in"
        check_error(tmp_path, message)

    @pytest.mark.parametrize("dtype", ("int8", "bool"))
    def test_a_weight_that_is_not_of_floats_is_named(self, tmp_path, dtype):
        weights = publish(tmp_path, bert_shapes())
        weights["pooler.dense.bias"] = np.ones(D, dtype)
        save_file(weights, tmp_path / "model.safetensors")
        check_error(tmp_path, r"pooler\.dense\.bias has the dtype (I8|BOOL) instead of one of ")

    def test_a_weight_of_another_shape_is_not_read(self, tmp_path):
        """A sparse file can declare a weight that is larger than the memory."""
        publish(tmp_path, bert_shapes(), vocab_size=10**6)
        size = 4 * D * 10**10
        header = {
            "embeddings.word_embeddings.weight": {
                "dtype": "F32",
                "shape": [10**10, D],
                "data_offsets": [0, size],
            }
        }
        content = json.dumps(header).encode()
        with open(tmp_path / "model.safetensors", "wb") as file:
            file.write(len(content).to_bytes(8, "little") + content)
            file.truncate(8 + len(content) + size)
        check_error(tmp_path, r"word_embeddings\.weight has the shape \(10000000000, 6\) instead")

    @pytest.mark.parametrize("name", ("config.json", "model.safetensors"))
    def test_a_file_that_is_not_regular_is_refused(self, tmp_path, name):
        publish(tmp_path, bert_shapes())
        (tmp_path / name).unlink()
        (tmp_path / name).mkdir()
        check_error(tmp_path, rf"{name} must be a regular file\. Received: ")

    def test_messages_about_a_config_are_short(self, tmp_path):
        publish(tmp_path, bert_shapes(), hidden_act=10_000 * "a")
        with pytest.raises(ValueError, match="activation must be one of") as error:
            Bert.from_pretrained(tmp_path)
        assert len(str(error.value)) < 400

    def test_a_config_without_a_size_is_refused(self, tmp_path):
        config = {name: value for name, value in BERT.items() if name != "hidden_size"}
        publish(tmp_path, bert_shapes(), config)
        check_error(tmp_path, r"config\.json lacks hidden_size")


@pytest.mark.parametrize("shape", [(), (0,), (10**9, 0)])
def test_the_shape_of_an_empty_weight_is_refused(tmp_path, shape):
    publish(tmp_path, {"a": shape})
    with pytest.raises(ValueError, match=r"a must be a non-empty array\. Received: shape \("):
        Checkpoint(tmp_path, ("bert",)).shape("a")


def test_a_checkpoint_loads_each_weight_once(tmp_path):
    publish(tmp_path, dense("a", 2, 3))
    checkpoint = Checkpoint(tmp_path, ("bert",))
    assert checkpoint.has("a") and checkpoint.has("a.bias") and not checkpoint.has("b")
    assert checkpoint.shape("a.weight") == (2, 3)
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    checkpoint.load_layer(layer, "a")
    checkpoint.check_complete()
    expected = load_file(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(numpy(layer.kernel), expected["a.weight"].T)
    checkpoint.load_layer(layer, "a")
    with pytest.raises(ValueError, match=r"a\.weight is missing; a\.bias is missing"):
        checkpoint.check_complete()
