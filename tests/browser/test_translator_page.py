"""The page that translates gives the translations of Translate, and shows how they were found."""

import contextlib
import functools
import gzip
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import keras_transformer as kt
from keras_transformer._utils.special_tokens import UNKNOWN_ID
from keras_transformer.data.corpus import bundled_run_path, corpus_path
from keras_transformer.evaluation import score
from keras_transformer.pages.translator_page import export_page

pytest.importorskip("selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from translating import limited_model, make_translate

pytestmark = pytest.mark.browser
KINDS = ("encoder", "causal", "cross")
EVIL = "</script><script>window.run=true</script>"
SENTENCE = "We want to buy a new car tomorrow."
PAIRS = kt.read_pairs(corpus_path())[:20_000:10]
# A random model is a harder case than a trained one: its translations are long, and no word is
# much more probable than the next one.
MODELS = {
    "words, post-norm, sinusoids": (
        {"tokenizer": "words"},
        {"norm_first": False, "n": 2, "rotary_base": None},
        {},
    ),
    "lower-case BPE, pre-norm, rotary, sizes of heads": (
        {"tokenizer": "bpe", "vocab_size": 400, "share_vocabulary": True},
        {"norm_first": True, "activation": "silu", "rotary_base": 100.0, "d_k": 6, "d_v": 10},
        {"tie_output": True, "output_bias": True, "share_embeddings": True},
    ),
}


def spell(text, options):
    lower = "".join(x for x in text.lower() if x.isascii() and (x.isalnum() or x == " "))
    return lower if options["tokenizer"] == "bpe" else text


def random_translate(options, settings, arguments):
    pairs = [tuple(spell(text, options) for text in pair) for pair in PAIRS]
    dataset = kt.PrepareDataset(**options)(pairs)
    settings = kt.BlockSettings(**{"h": 4, "d_model": 32, "d_ff": 48, "n": 1, **settings})
    tokenizers = (dataset.source_tokenizer, dataset.target_tokenizer)
    sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
    model = kt.TransformerModel(*sizes, settings=settings, **arguments)
    model.build(((None, None), (None, None)))
    rng = np.random.default_rng(3)
    model.set_weights([x + rng.normal(0, 0.3, x.shape) for x in model.get_weights()])
    return kt.Translate(model, *tokenizers)


def rounded(translate):
    """Rounds the weights as a page does."""
    for weight in translate.model.weights:
        weight.assign(np.asarray(weight).astype("float16").astype("float32"))
    return translate


@functools.cache
def bundled():
    return rounded(kt.Translate.from_run(bundled_run_path()))


@pytest.fixture
def show(browser, tmp_path):
    """A function that opens the page of a translator, which logs no errors and sends nothing."""

    def open_page(translate, width=1300, **options):
        path = tmp_path / "page.html"
        export_page(translate, path, overwrite=True, **options)
        browser.get_log("performance")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.set_script_timeout(3600)
        browser.get(path.as_uri())
        wait(browser, lambda: "nothing is sent" in text_of(browser, "about"))
        return browser

    yield open_page
    assert [x for x in browser.get_log("browser") if x["level"] == "SEVERE"] == []
    requests = [x["message"] for x in browser.get_log("performance")]
    requests = [x for x in requests if '"Network.requestWillBeSent"' in x and "data:," not in x]
    assert len([x for x in requests if "blob:" not in x]) == 1
    assert browser.execute_script("return window.run") is None


def wait(browser, condition):
    WebDriverWait(browser, 60, 0.02).until(lambda _: condition())


def text_of(browser, name):
    return browser.find_element(By.ID, name).text


def ask(browser, requests):
    """Returns the answers of the page's worker to a list of requests."""
    script = (
        "const [requests, done] = arguments; (async () => { const answers = [];"
        " for (const request of requests) answers.push(await ask(request)); done(answers); })()"
    )
    # Selenium waits for two minutes at most.
    parts = [requests[i : i + 50] for i in range(0, len(requests), 50)]
    return [x for part in parts for x in browser.execute_async_script(script, part)]


def translate_in(browser, sentences, beam_size=1, n_best=1, **options):
    """Translates on the page; returns (tokens, text) and score of each hypothesis."""
    kind = {"type": "translate"}
    if beam_size > 1:
        kind = {"type": "beam", "beamSize": beam_size, "nBest": n_best}
    answers = ask(browser, [{**kind, "sentence": x, "off": [], **options} for x in sentences])
    found = [x["hypotheses"] if beam_size > 1 else [x] for x in answers]
    return [
        ([(x["tokens"], x["text"]) for x in best], [x["score"] for x in best]) for best in found
    ]


def type_in(browser, text):
    sentence = browser.find_element(By.ID, "sentence")
    sentence.clear()
    sentence.send_keys(text, Keys.ENTER)
    wait_for(browser, text)


def wait_for(browser, text):
    script = (
        "return state.sentence === arguments[0] && document.body.ariaBusy === 'false'"
        " && document.querySelector('#calculation h3') !== null"
    )
    wait(browser, lambda: browser.execute_script(script, text))


def shown_words(browser):
    script = "return [...document.querySelectorAll('#words button')].map(x => x.firstChild.data)"
    return browser.execute_script(script)


def shown_text(browser):
    return browser.execute_script("return state.result?.text")


def own_sentences(count):
    return [source for source, _ in kt.RunFolder(bundled_run_path()).read_test()][:count]


FURTHER = Path(os.environ.get("SENTENCES") or "data/multi30k/test_2016_flickr.en")
needs_further = pytest.mark.skipif(
    not FURTHER.exists(),
    reason="needs the captions of docs/data.md: make page-proof SENTENCES=file",
)


def further_sentences(count):
    """Returns the first lines of a file, some of whose words the model does not know."""
    opener = gzip.open if FURTHER.suffix == ".gz" else open
    with opener(FURTHER, "rt", encoding="utf-8") as lines:
        return lines.read().splitlines()[:count]


def check_translations(browser, translate, sentences, beam_size, n_best):
    found = translate_in(browser, sentences, beam_size, n_best)
    expected = translate.hypotheses(sentences, beam_size=beam_size, n_best=n_best)
    for sentence, (translations, scores), hypotheses in zip(
        sentences, found, expected, strict=True
    ):
        assert translations == [(x.tokens, x.text) for x in hypotheses], sentence
        assert scores == pytest.approx([x.score for x in hypotheses], abs=1e-3)


SEARCHES = [(1, 1), (4, 1), (4, 4)]


def test_the_default_model_translates_as_in_python(show):
    browser, translate = show(bundled()), bundled()
    for search in SEARCHES:
        check_translations(browser, translate, own_sentences(50), *search)


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model_translates_as_in_python(show, name):
    translate = random_translate(*MODELS[name])
    browser = show(translate)
    sentences = [spell(source, MODELS[name][0]) for source, _ in PAIRS[:50]]
    assert len(set(rounded(translate)(sentences))) > 10
    for search in SEARCHES:
        check_translations(browser, translate, sentences, *search)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "sentences", [own_sentences, pytest.param(further_sentences, marks=needs_further)]
)
def test_a_thousand_sentences_translate_as_in_python(show, sentences):
    sentences = sentences(1000)
    browser, translate = show(bundled()), bundled()
    for search in SEARCHES:
        check_translations(browser, translate, sentences, *search)


@pytest.mark.exhaustive
def test_int8_changes_few_translations(show):
    sentences, references = zip(*kt.RunFolder(bundled_run_path()).read_test(), strict=True)
    sentences, references = sentences[:1000], references[:1000]
    translate = kt.Translate.from_run(bundled_run_path())
    browser = show(translate, quantization="int8")
    for beam_size in (1, 4):
        found = [x[0][0][1] for x in translate_in(browser, sentences, beam_size)]
        expected = translate(sentences, beam_size=beam_size)
        same = np.mean([x == y for x, y in zip(found, expected, strict=True)])
        bleu = [score(x, references).bleu for x in (found, expected)]
        print(f"beam {beam_size}: {same:.1%} the same, BLEU {bleu[0]:.2f} and {bleu[1]:.2f}")
        assert same >= 0.99 and bleu[0] > bleu[1] - 0.3


PIECES = [
    *"aAzZäÄßéİıſΣσςǅﬁ０９٣५_-'’‘´.,!?¿…—–\"„“«»()[]{}<>&@#%/\\|~^$€😀👩‍👧🇩🇪❤️日本語한국어עברית",
    *(" ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u0085", "\u00ad"),
    *("²", "x³", "½", "\u0308", "\u0301", "e\u0301", "n\u0303", "\u0327", "\u05b0", "▁", "▁▁"),
    *("[END]", "[UNK]", "don't", "it’s", "o'clock", "3.5", "U.S.", "Straße", "İstanbul", "ΣΑΣ"),
]


def odd_sentences(count, words):
    rng, pieces = random.Random(5), [*PIECES, *words]
    characters = [chr(i) for i in range(0x3000) if chr(i).isprintable()]
    for _ in range(count):
        mixed = rng.choices([*pieces, *rng.sample(characters, 20)], k=rng.randrange(1, 15))
        yield rng.choice(["", " "]).join(mixed)


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("name", [None, *MODELS])
def test_odd_sentences_are_tokenized_as_in_python(show, name, count):
    translate = random_translate(*MODELS[name]) if name else bundled()
    browser, words = show(translate), [f" {word}" for word in " ".join(own_sentences(20)).split()]
    sentences = list(odd_sentences(count, words))
    found = ask(browser, [{"type": "tokenize", "sentence": x} for x in sentences])
    for sentence, tokens in zip(sentences, found, strict=True):
        expected = translate.source_tokenizer.encode(sentence)
        assert [x["id"] for x in tokens] == expected, repr(sentence)
        known = [x["token"] for x in tokens if x["id"] != UNKNOWN_ID]
        assert known == translate.source_tokenizer.tokens(x for x in expected if x != UNKNOWN_ID)


def test_the_attention_weights_are_those_of_the_model(show):
    translate = random_translate(*MODELS["words, post-norm, sinusoids"])
    browser = show(translate)
    rounded(translate)
    type_in(browser, PAIRS[7][0])
    expected = translate.hypotheses(PAIRS[7][0], return_attention=True)[0][0].attention
    script = "return state.weights[arguments[0]].map(x => x.map(y => y.map(z => [...z])))"
    for kind in KINDS:  # [layer][query][head][key], without the masked ones
        found = browser.execute_script(script, kind)
        for layer, queries in enumerate(found):
            for query, heads in enumerate(queries):
                keys = len(heads[0])
                weights = expected[kind][layer, :, query, :keys]
                np.testing.assert_allclose(heads, weights, atol=2e-5)
                assert not expected[kind][layer, :, query, keys:].any()


def test_the_words_of_the_translation_look_at_themselves_and_at_earlier_ones(show):
    """The query of a step is the word that the decoder reads, not the one that it writes."""
    browser = show(bundled())
    type_in(browser, SENTENCE)
    browser.find_element("css selector", "[value=causal]").click()
    left, right = (
        [item.text for item in browser.find_elements("css selector", f"#{side} li")]
        for side in ("left", "right")
    )
    assert left == right and left[0] == "[START]" and "[END]" not in left


def test_one_number_is_explained_by_its_vectors(show):
    browser = show(bundled())
    type_in(browser, SENTENCE)
    request = {"type": "cell", "kind": "causal", "layer": 1, "head": 2, "query": 4}
    script = (
        "const [request, done] = arguments; ask(request).then(x => done({ weights: [...x.weights],"
        " query: [...x.query], keys: x.keys.map(y => [...y]) }))"
    )
    cell = browser.execute_async_script(script, request)
    scores = np.array(cell["keys"]) @ cell["query"] / np.sqrt(len(cell["query"]))
    weights = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(cell["weights"], weights, rtol=1e-4)
    assert len(weights) == 5  # the start token and four words


def test_a_head_that_is_off_adds_nothing(show):
    translate = random_translate(*MODELS["words, post-norm, sinusoids"])
    browser, sentences = show(translate), [source for source, _ in PAIRS[:10]]
    off = ["encoder 0 1", "causal 1 0", "cross 1 3"]
    found = translate_in(browser, sentences, off=off)
    assert found != translate_in(browser, sentences)
    encoder, decoder = translate.model.encoder.layers, translate.model.decoder.layers
    for attention, head in (
        (encoder[0].self_attention, 1),
        (decoder[1].self_attention, 0),
        (decoder[1].cross_attention, 3),
    ):
        kernel = np.array(attention.output_projection.kernel)
        kernel[head * attention.d_v : (head + 1) * attention.d_v] = 0
        attention.output_projection.kernel.assign(kernel)
    expected = rounded(translate)(sentences)
    assert [translations[0][1] for translations, _ in found] == expected


def test_without_positions_the_sentence_is_a_bag_of_words(show):
    browser = show(bundled())
    words = SENTENCE.removesuffix(".").split()
    shuffled = " ".join(words[::-1])

    def first_score(sentence, off):
        step = {"type": "beam", "beamSize": 2, "nBest": 1, "sentence": sentence, "off": off}
        return ask(browser, [step])[0]["nodes"][0]["sum"]

    sentences = (" ".join(words).lower(), shuffled.lower())
    on, off = ([first_score(x, off) for x in sentences] for off in ([], ["positions"]))
    assert abs(on[0] - on[1]) > 0.1
    assert off[0] == pytest.approx(off[1], abs=1e-4)


def test_a_typed_sentence_is_translated_and_unknown_words_are_marked(show):
    browser, translate = show(bundled(), examples=["I am hungry."]), bundled()
    wait_for(browser, "I am hungry.")
    assert shown_text(browser) == translate("I am hungry.")
    type_in(browser, "My zebra is not here.")
    hypothesis = translate.hypotheses("My zebra is not here.")[0][0]
    assert shown_words(browser) == [x.removeprefix("▁") for x in hypothesis.tokens]
    assert text_of(browser, "unknown").startswith("Not in the vocabulary: zebra.")
    assert [x.text for x in browser.find_elements(By.CSS_SELECTOR, "li.unknown")] == ["zebra"]


def test_choosing_another_word_continues_from_there(show):
    browser, translate = show(bundled()), bundled()
    type_in(browser, SENTENCE)
    words = shown_words(browser)
    browser.find_elements(By.CSS_SELECTOR, "#words button")[1].click()
    rows = browser.find_elements(By.CSS_SELECTOR, "#candidates button:not([aria-pressed=true])")
    word = rows[0].text.split("\n")[0]
    rows[0].click()
    expected = translate(SENTENCE, prefixes=f"{words[0]} {word}")
    wait(browser, lambda: shown_text(browser) == expected)
    browser.find_element(By.XPATH, '//button[.="back to the model\'s own words"]').click()
    wait(browser, lambda: shown_words(browser) == words)


def test_the_beam_is_shown_and_can_translate(show):
    sentence = "The children have not found the old photo of their grandmother."
    browser, translate = show(bundled()), bundled()
    type_in(browser, sentence)
    expected = translate.hypotheses(sentence, beam_size=4, n_best=4)[0]
    rows = [
        x.text.split("\n") for x in browser.find_elements(By.CSS_SELECTOR, "#hypotheses button")
    ]
    assert [text for _, text in rows] == [x.text for x in expected]
    scores = [float(score.replace("−", "-")) for score, _ in rows]
    assert scores == pytest.approx([x.score for x in expected], abs=2e-3)
    best = browser.find_elements(By.CSS_SELECTOR, "#tree g.best text:not(.score)")
    assert [x.text for x in best] == ["[START]", *(x.removeprefix("▁") for x in expected[0].tokens)]
    browser.find_element(By.CSS_SELECTOR, "[value=beam]").click()
    wait(browser, lambda: shown_text(browser) == expected[0].text)
    browser.find_elements(By.CSS_SELECTOR, "#hypotheses button")[2].click()
    wait(browser, lambda: shown_text(browser) == expected[2].text)
    wait(browser, lambda: browser.find_element(By.CSS_SELECTOR, "#hypotheses [aria-pressed=true]"))
    pressed = browser.find_element(By.CSS_SELECTOR, "#hypotheses [aria-pressed=true]")
    assert pressed.text.endswith(expected[2].text)


def test_switches_change_the_translation_and_lead_back(show):
    browser = show(bundled())
    type_in(browser, SENTENCE)
    whole = shown_text(browser)
    for name in ("decoder 0", "cross 1 3", "positions"):
        browser.find_element(By.CSS_SELECTOR, f"[data-name='{name}']").send_keys(Keys.SPACE)
        wait_for(browser, SENTENCE)
    focused = browser.switch_to.active_element.get_attribute("data-name")
    assert focused == "positions" and shown_text(browser) != whole
    notes = text_of(browser, "notes")
    assert "decoder layer 1, cross-attention layer 2 head 4, positions" in notes
    assert f"With everything on: {whole}" in notes
    browser.find_element(By.XPATH, "//button[.='switch everything on']").click()
    wait(browser, lambda: shown_text(browser) == whole and text_of(browser, "notes") == "")


def test_the_keyboard_reaches_every_number(show):
    browser = show(bundled())
    type_in(browser, SENTENCE)
    script = "document.querySelector('#table td[tabindex=\"0\"]').focus()"
    browser.execute_script(script)
    for key in (Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT):
        browser.switch_to.active_element.send_keys(key)
    wait(browser, lambda: "“wollen” look at “to”" in text_of(browser, "cell-text"))
    slider = browser.find_element(By.ID, "entry")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert text_of(browser, "calculation").count("entry 2: ") == 1


def test_words_appear_one_by_one_when_played(show):
    browser = show(bundled())
    type_in(browser, SENTENCE)
    words = shown_words(browser)
    browser.find_element(By.ID, "play").click()
    assert shown_words(browser) == words[:1]
    wait(browser, lambda: shown_words(browser) == words[:3])
    browser.find_element(By.ID, "play").click()
    assert shown_words(browser) == words


def test_the_last_sentence_wins_and_typing_does_not_stall(show):
    browser = show(bundled())
    browser.execute_script("setSentence(arguments[0])", "dog " * 900)
    script = (
        "const [done] = arguments, started = performance.now(); setSentence('I am hungry.');"
        " setTimeout(() => done(performance.now() - started))"
    )
    assert browser.execute_async_script(script) < 500  # milliseconds
    wait_for(browser, "I am hungry.")
    assert shown_text(browser) == "Ich habe Hunger."


@pytest.mark.parametrize("limit", [4, 1024])
def test_a_sentence_that_is_too_long_is_refused(show, limit):
    browser = show(bundled() if limit == 1024 else make_translate(limited_model(enc_seq_length=5)))
    browser.execute_script("setSentence(arguments[0])", "one " * (limit + 1))
    message = f"shorten it to {limit} tokens. It has {limit + 1}."
    wait(browser, lambda: message in text_of(browser, "error"))
    browser.execute_script("setSentence('')")
    wait(browser, lambda: text_of(browser, "error") == "")
    assert not browser.find_element(By.ID, "translation").is_displayed()


def test_text_of_the_reader_and_of_the_vocabulary_is_harmless(show):
    words = [EVIL, "<img src=x onerror=run=true>", "$data", "<!--<script>", "&lt;"]
    tokenizer = kt.WordTokenizer.train([" ".join(words)])
    size = tokenizer.vocab_size
    settings = kt.BlockSettings(h=1, d_model=8, d_ff=8)
    model = kt.TransformerModel(size, size, settings=settings)
    model.build(((None, None), (None, None)))
    browser = show(kt.Translate(model, tokenizer, tokenizer), title=EVIL, examples=words)
    browser.execute_script("setSentence(arguments[0])", EVIL + words[1])
    wait(browser, lambda: browser.execute_script("return state.result !== null"))
    assert browser.execute_script("return document.images.length") == 0
    assert browser.title == EVIL and len(browser.find_elements(By.TAG_NAME, "script")) == 1


def test_the_page_can_send_nothing(browser, tmp_path):
    export_page(bundled(), tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    script = "fetch('https://example.org').then(() => arguments[0]('sent'), arguments[0])"
    assert browser.execute_async_script(script) != "sent"
    assert "violates the following Content Security Policy" in str(browser.get_log("browser"))


@pytest.mark.parametrize("width", [390, 1300])
def test_the_page_fits_the_width_and_has_no_small_text(show, width):
    browser = show(bundled(), width=width)
    type_in(browser, SENTENCE + " My teacher has forgotten the red umbrella.")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    script = (
        "return Math.min(...[...document.querySelectorAll('body *')]"
        ".map(x => parseFloat(getComputedStyle(x).fontSize)))"
    )
    assert browser.execute_script(script) >= 12


def worker_memory(browser):
    """Returns the private memory of the process of Chromium that has a web worker, in bytes."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process may have ended
            parents[int(path.parent.name)] = int(path.read_text("utf-8").rsplit(")")[-1].split()[1])
    descendants = {browser.service.process.pid}
    while new := {x for x, parent in parents.items() if parent in descendants} - descendants:
        descendants |= new
    folders = [Path("/proc", str(process)) for process in descendants]
    (folder,) = (x for x in folders if any(map(is_worker, x.glob("task/*/comm"))))
    lines = (folder / "smaps_rollup").read_text("utf-8").splitlines()
    return 1024 * sum(int(x.split()[1]) for x in lines if x.startswith("Private_"))


def is_worker(thread):
    return thread.read_text("utf-8").startswith("DedicatedWorker")


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of processes from /proc")
@pytest.mark.parametrize(("quantization", "max_size"), [(None, 8e6), ("int8", 4e6)])
def test_it_is_small_and_fast(show, browser, tmp_path, quantization, max_size):
    show(bundled(), quantization=quantization, examples=["I am hungry."])
    started = time.perf_counter()
    browser.get((tmp_path / "page.html").as_uri())
    wait_for(browser, "I am hungry.")
    opened = time.perf_counter() - started
    time.sleep(40)  # Chromium frees what is no longer needed when the page is idle
    memory = worker_memory(browser)
    sentences = [x for x in own_sentences(2000) if len(x.split()) in (11, 12)][:100]
    script = (
        "const [sentences, done] = arguments; (async () => { const times = [];"
        " for (const sentence of sentences) { const started = performance.now();"
        " await ask({ type: 'translate', sentence, off: [] });"
        " times.push(performance.now() - started); } done(times); })()"
    )
    duration = np.median(browser.execute_async_script(script, sentences))
    size = (tmp_path / "page.html").stat().st_size
    print(
        f"{size / 1e6:.1f} MB, first translation {opened:.1f} s after opening, 12 words in "
        f"{duration:.0f} ms (median), {memory / 1e6:.0f} MB of memory"
    )
    browser.get_log("performance")  # this test opens more than one page
    browser.get((tmp_path / "page.html").as_uri())
    # Chromium uses one process for all files, which keeps some memory of the earlier tests.
    assert size <= max_size and opened < 2 and duration <= 100 and memory < 80e6
