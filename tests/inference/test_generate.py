"""Text generation with a language model."""

import keras
import numpy as np
import pytest
from layer_contract import numpy
from quick import some_of

from keras_transformer import (
    BlockSettings,
    Generate,
    LSTMLanguageModel,
    MaskedCrossEntropy,
    TransformerLanguageModel,
    WordTokenizer,
    next_words,
    ngram_prefixes,
)
from keras_transformer._utils.special_tokens import END_ID, START_ID

TEXT = [
    "In the end all of them came home",
    "Nobody knew where the road began",
    "He slept well",
    "They sang, and we listened",
]
TOKENIZER = WordTokenizer.train(TEXT)
V = TOKENIZER.vocab_size
SETTINGS = BlockSettings(h=2, d_model=24, d_ff=48, n=1, rate=0.0)
MAKERS = {
    "lstm": lambda: LSTMLanguageModel(V, 24, 32, n=2, rate=0.0),
    "transformer": lambda: TransformerLanguageModel(V, settings=SETTINGS),
}


@pytest.fixture(scope="module", params=some_of(list(MAKERS), quick=("transformer",)))
def trained(request):
    """A model that has memorized the text, and its `Generate`."""
    name, make = request.param, MAKERS[request.param]
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy())
    inputs, targets = (ngram_prefixes if name == "lstm" else next_words)(TOKENIZER, TEXT)
    # One epoch of many copies: starting an epoch costs more than its updates.
    updates, rows = (60 if name == "lstm" else 150), len(inputs)
    copies = [np.tile(x, (updates, 1)) for x in (inputs, targets)]
    model.fit(*copies, batch_size=rows, shuffle=False, verbose=0)
    return model, Generate(model, TOKENIZER)


@pytest.mark.slow
def test_learned_texts_are_continued(trained):
    _, generate = trained
    assert generate("In") == TEXT[0]
    assert generate([text.split()[0] for text in TEXT]) == TEXT
    assert generate(tuple(text[:-4] for text in TEXT[:2]), beam_size=2)[0][:11] == TEXT[0][:11]


@pytest.mark.slow
def test_ngram_prefixes_and_next_words_give_the_same_loss(trained):
    """Predicting the last token of every prefix is the same task as predicting all next tokens."""
    model, _ = trained
    loss = MaskedCrossEntropy()
    examples = [make(TOKENIZER, TEXT) for make in (next_words, ngram_prefixes)]
    losses = [float(loss(y, model(x))) for x, y in examples]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_greedy_search_equals_search_without_cache(trained):
    model, generate = trained
    ids = [START_ID, *TOKENIZER.encode("all the")]
    while ids[-1] != END_ID and len(ids) < 12:
        logits = numpy(model(np.array([ids])))[0, -1]
        logits[:END_ID] = -np.inf
        ids.append(int(logits.argmax()))
    assert generate("all the", max_tokens=9) == TOKENIZER.decode(ids[1:])


@pytest.mark.parametrize("options", ({}, {"temperature": 3.0, "top_k": 9, "seed": 2}), ids=str)
def test_streams_the_text_of_a_call(trained, options):
    model, generate = trained
    layers = Generate(model, TOKENIZER, jit_compile=keras.config.backend() == "jax")
    for text in ("In", "", "They sang,"):
        expected = generate(text, max_tokens=9, **options)
        for way in (generate, layers):
            parts = list(way.stream(text, max_tokens=9, **options))
            assert len(parts) > 1 and text + "".join(parts) == expected


def test_beams_after_prompts_equal_those_of_the_layers(trained):
    model, generate = trained
    layers = Generate(model, TOKENIZER, jit_compile=keras.config.backend() == "jax")
    texts = ["In the end all", "They sang, and", "In"]
    options = {"beam_size": 3, "max_tokens": 9}
    apart = [generate(text, **options) for text in texts]
    assert apart == generate(texts, **options) == layers(texts, **options)


def test_max_tokens_limits_the_added_tokens(trained):
    _, generate = trained
    assert generate(["In", "He slept"], max_tokens=1) == ["In the", "He slept well"]


def test_samples_depend_only_on_the_seed_and_the_text(trained):
    _, generate = trained
    options = {"temperature": 3.0, "max_tokens": 8}
    samples = [generate("In", seed=seed, **options) for seed in range(6)]
    assert len(set(samples)) > 1
    assert samples == [generate(["He", "In"], seed=seed, **options)[1] for seed in range(6)]
    assert all(text.startswith("In") for text in samples)


def test_unknown_words_of_the_given_text_are_kept(trained):
    _, generate = trained
    assert generate("Xylophon-Yak slept", max_tokens=2).startswith("Xylophon-Yak slept")


def test_empty_text_generates_from_the_start(trained):
    _, generate = trained
    assert generate("") in TEXT
    assert generate([]) == []


def test_bad_arguments_are_refused(trained):
    model, generate = trained
    with pytest.raises(TypeError, match="Received: list: "):
        generate(["In", 3])
    with pytest.raises(ValueError, match="`max_tokens` must be a positive int"):
        generate("In", max_tokens=0)
    with pytest.raises(TypeError, match=r"applies to translation only.*Received: n_best=2"):
        generate("In", n_best=2)
    for texts in ("In", []):
        with pytest.raises(TypeError):
            generate(texts, beams=2)
    with pytest.raises(TypeError, match=r"Received: beam_size$"):
        generate.stream("In", beam_size=2)
    with pytest.raises(ValueError, match=r"Received: a tokenizer of 5 tokens"):
        Generate(model, WordTokenizer.train(["one"]))
