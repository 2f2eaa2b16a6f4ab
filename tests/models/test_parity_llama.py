"""Parity of language models of the Llama family with Hugging Face `transformers`."""

import keras
import numpy as np
import pytest
import tokenizers
from layer_contract import numpy

import keras_transformer as kt
from keras_transformer._utils.special_tokens import END_ID
from keras_transformer.models.numpy_transformer import NumpyLanguageModel, supports_numpy

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity

JIT = keras.config.backend() == "jax"  # with the layers instead of NumPy
SIZES = {
    "vocab_size": 60,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 5,
    "pad_token_id": None,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0}
CASES = {
    "Llama": ("Llama", {}),
    "Llama 3": ("Llama", {"rope_parameters": LLAMA3, "head_dim": 6, "num_key_value_heads": 1}),
    "Llama, biases": ("Llama", {"attention_bias": True, "rope_parameters": LINEAR}),
    "Llama, all biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "SmolLM2": ("Llama", {"tie_word_embeddings": True, "eos_token_id": 0, "bos_token_id": 0}),
    "Mistral": ("Mistral", {"sliding_window": 4, "head_dim": 8}),
    "Qwen2": ("Qwen2", {"tie_word_embeddings": True, "sliding_window": 4}),
    "Qwen2, window": (
        "Qwen2",
        {"sliding_window": 4, "use_sliding_window": True, "max_window_layers": 0},
    ),
    "Qwen3": ("Qwen3", {"head_dim": 6, "eos_token_id": [7, 5]}),
}
TOKENS = np.random.default_rng(0).integers(0, 60, (2, 12))


def publish(folder, kind, changes, **options):
    """Saves a tiny `transformers` model with random weights and returns it."""
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, **changes})
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    model.tie_weights()
    model.save_pretrained(folder, **options)
    return model


def ours_of(tokens, end):
    """Converts published ids to those of `PublishedTokenizer`."""
    return np.where(tokens == end, END_ID, tokens + 3 + (tokens < end)).astype("int32")


@pytest.fixture(params=CASES.values(), ids=CASES)
def pair(request, tmp_path):
    theirs = publish(tmp_path, *request.param)
    ends = request.param[1].get("eos_token_id", 5)
    return tmp_path, theirs, ends[0] if isinstance(ends, list) else ends


def test_logits(pair):
    folder, theirs, end = pair
    model = kt.TransformerLanguageModel.from_pretrained(folder)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(TOKENS)).logits.numpy()
    tokens = ours_of(TOKENS, end)
    logits = numpy(model(tokens))[..., ours_of(np.arange(60), end)]
    np.testing.assert_allclose(logits, expected, atol=1e-4, rtol=1e-4)
    # The same behind a hidden start token, with a prompt that is read at once.
    cache, memory = model.start(np.zeros((2, 1)), 13)
    start = np.full((2, 1), 2, "int32")
    found, cache = model.read(np.concatenate([start, tokens[:, :7]], axis=1), 0, cache, memory)
    rows = [numpy(found)]
    for i in range(7, 12):
        found, cache = model.step(tokens[:, i], i + 1, cache, memory)
        rows.append(numpy(found))
    steps = np.stack(rows, axis=1)[..., ours_of(np.arange(60), end)]
    np.testing.assert_allclose(steps, expected[:, 6:], atol=1e-4, rtol=1e-4)


def test_numpy_computes_the_same(pair):
    folder, theirs, end = pair
    model = kt.TransformerLanguageModel.from_pretrained(folder)
    assert supports_numpy(model)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(TOKENS)).logits.numpy()
    tokens, order = ours_of(TOKENS, end), ours_of(np.arange(60), end)
    prompt = np.concatenate([np.full((2, 1), 2, "int32"), tokens], axis=1)
    engine = NumpyLanguageModel(model)
    for read in (0, 7):
        state = engine.start(tokens)
        if read:
            engine.read(prompt[:, :read], state)
        rows = [engine.step(prompt[:, i], i, state)[:, order] for i in range(read, 13)]
        found = np.stack(rows, axis=1)[:, -6:]
        np.testing.assert_allclose(found, expected[:, -6:], atol=1e-4, rtol=1e-4)


TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] | trim }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MESSAGES = [{"role": "system", "content": " Be brief."}, {"role": "user", "content": "ü or u?"}]


def publish_with_tokenizer(folder, kind, **options):
    """Saves a model with a byte-level tokenizer, which adds a start token, and returns both."""
    end, start = "<|im_end|>", "<s>"
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=290,
        special_tokens=[start, "<|im_start|>", end],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the cat sat on the mat and the dog sat there"] * 3, trainer)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[(start, 0)]
    )
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=start, eos_token=end, chat_template=TEMPLATE
    )
    theirs.save_pretrained(folder)
    ids = {"vocab_size": 300, "bos_token_id": 0, "eos_token_id": 2}
    return publish(folder, kind, ids, **options), theirs


@pytest.mark.parametrize("kind", ("Llama", "Qwen3"))
def test_texts(kind, tmp_path):
    model, tokenizer = publish_with_tokenizer(tmp_path, kind, max_shard_size="10KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    generate = kt.Generate.from_pretrained(tmp_path)
    compiled = kt.Generate(generate.model, generate.tokenizer, jit_compile=JIT)
    chat = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    assert generate.tokenizer.chat(MESSAGES) == chat
    for text in ("The cat", "Größe: 3 €", chat):
        special = {"add_special_tokens": text is not chat}
        ids = tokenizer(text, return_tensors="pt", **special)["input_ids"]
        expected = model.generate(ids, do_sample=False, max_new_tokens=20)[0, ids.shape[1] :]
        expected = expected[: (*expected, 2).index(2)]
        found = ours_of(expected.numpy(), 2).tolist()
        for way in (generate, compiled):
            given = way.tokenizer.encode(text)
            assert ours_of(ids[0].numpy(), 2).tolist() == given
            assert list(way._tokens(given, 20, kt.SearchOptions())) == found
        written = "".join(generate.stream(text, max_tokens=20))
        whole = tokenizer.decode([*ids[0], *expected], skip_special_tokens=True)
        assert whole.startswith(tokenizer.decode(ids[0], skip_special_tokens=True))
        assert whole.rstrip("\ufffd").endswith(written)
        if text is not chat:
            assert generate(text, max_tokens=20) == whole
    with pytest.raises(ValueError, match="contains an end token, such as that of a chat"):
        generate(chat)


def test_bfloat16_is_finite(pair):
    folder, theirs, end = pair
    model = kt.TransformerLanguageModel.from_pretrained(folder, dtype="bfloat16")
    logits = numpy(model(ours_of(TOKENS, end)))
    assert model.compute_dtype == model.variable_dtype == "bfloat16"
    with torch.no_grad():
        expected = theirs(torch.from_numpy(TOKENS)).logits.numpy()
    difference = logits[..., ours_of(np.arange(60), end)] - expected
    assert np.abs(difference).mean() < 0.05 * np.abs(expected).mean()
