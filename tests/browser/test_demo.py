"""The demo page in a browser: it translates typed sentences and escapes all text."""

import threading

import pytest
from translating import shared_translate

from keras_transformer.pages.demo import DemoServer

pytest.importorskip("selenium")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.browser
BEST = {"beam_size": 4, "n_best": 3}
EVIL = "<script>window.run = true</script><img src=x onerror='window.run = true'>"


@pytest.fixture(scope="module")
def server():
    with DemoServer(shared_translate(), port=0, name=EVIL, **BEST) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def page(browser, server):
    """The demo page, which must log no errors and send requests to the demo server only."""
    browser.get_log("browser"), browser.get_log("performance")
    browser.set_window_size(1200, 900)
    browser.get(server.address)
    yield browser
    errors = [x["message"] for x in browser.get_log("browser") if x["level"] == "SEVERE"]
    assert [x for x in errors if "status of 4" not in x and "status of 5" not in x] == []
    requests = [x["message"] for x in browser.get_log("performance")]
    requests = [x for x in requests if '"Network.requestWillBeSent"' in x and "data:," not in x]
    assert requests and all(server.address in x or "about:srcdoc" in x for x in requests)
    assert browser.execute_script("return window.run") is None


def type_in(page, text, *keys):
    sentence = page.find_element(By.ID, "sentence")
    sentence.clear()
    sentence.send_keys(text, *keys)


def wait(page, condition):
    WebDriverWait(page, 60, 0.02).until(lambda _: condition())


def text_of(page, name):
    return page.find_element(By.ID, name).text


def shown(page):
    """Returns the displayed texts and scores of the translations."""
    rows = page.find_elements(By.CSS_SELECTOR, "#hypotheses label")
    return [[x.text for x in row.find_elements(By.TAG_NAME, "span")] for row in rows]


def is_ready(page):
    picture = page.find_element(By.ID, "picture")
    return picture.is_displayed() and picture.get_attribute("aria-busy") == "false"


def in_picture(page, script):
    return page.execute_script(f"const page = find('picture').contentDocument; return {script}")


def tokens(page, side):
    return in_picture(page, f"[...page.querySelectorAll('#{side} .token')].map(x => x.textContent)")


@pytest.mark.parametrize("keys", [[Keys.ENTER], [Keys.CONTROL, Keys.ENTER], [Keys.TAB, Keys.SPACE]])
def test_typed_sentence_is_translated(page, keys):
    type_in(page, "one two three", *keys)
    wait(page, lambda: is_ready(page))
    expected = shared_translate().hypotheses("one two three", **BEST)[0]
    assert text_of(page, "translation") == expected[0].text
    found = shown(page)
    assert [text for text, _ in found] == [x.text for x in expected]
    scores = [float(score.replace("−", "-")) for _, score in found]
    assert scores == pytest.approx([x.score for x in expected], abs=2e-3)
    assert tokens(page, "queries") == [*expected[0].text.split(), "[END]"]
    assert tokens(page, "keys") == ["one", "two", "three", "[END]"]
    assert text_of(page, "error") == text_of(page, "drawing") == text_of(page, "undrawn") == ""


def test_selecting_a_translation_shows_its_attention(page):
    type_in(page, "four five", Keys.ENTER)
    wait(page, lambda: is_ready(page))
    expected = shared_translate().hypotheses("four five", **BEST)[0][2]
    page.find_elements(By.NAME, "hypothesis")[0].send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    ending = [*expected.text.split(), "[END]"]
    wait(page, lambda: is_ready(page) and tokens(page, "queries") == ending)
    assert text_of(page, "translation") == expected.text


def test_submitting_the_same_sentence_redraws_the_attention(page):
    for _ in range(2):
        type_in(page, "two three", Keys.ENTER)
        assert not is_ready(page)
        wait(page, lambda: is_ready(page))


def test_collapsed_attention_is_loaded_when_expanded(page):
    summary = page.find_element(By.TAG_NAME, "summary")
    type_in(page, "one", Keys.ENTER)
    wait(page, lambda: is_ready(page))
    summary.click()
    type_in(page, "two two", Keys.ENTER)
    wait(page, lambda: text_of(page, "translation") == shared_translate()("two two", beam_size=4))
    assert not page.find_element(By.ID, "picture").is_displayed()
    summary.click()
    wait(page, lambda: is_ready(page) and tokens(page, "keys") == ["two", "two", "[END]"])


def test_picture_is_drawn_without_a_scroll_bar(page):
    type_in(page, "one two three four", Keys.ENTER)
    wait(page, lambda: is_ready(page))
    in_picture(page, "page.getElementById('as-lines').click()")
    wait(page, lambda: in_picture(page, "page.getElementById('lines').width > 0"))
    root = "page.documentElement"
    wait(page, lambda: in_picture(page, f"{root}.scrollHeight <= {root}.clientHeight"))
    wait(
        page,
        lambda: in_picture(
            page,
            "page.getElementById('lines').getContext('2d')"
            ".getImageData(0, 0, 400, 90).data.some(x => x > 0)",
        ),
    )


def test_typed_html_is_escaped(page):
    assert page.find_element(By.CSS_SELECTOR, "h1 + p").text == EVIL
    type_in(page, f"one {EVIL}", Keys.ENTER)
    wait(page, lambda: is_ready(page))
    assert in_picture(page, "page.defaultView.run") is None
    assert in_picture(page, "page.images.length") == 0
    assert page.execute_script("return document.images.length") == 0


def test_html_in_a_translation_is_escaped(page):
    page.execute_script(
        "showTranslations('one', [{ text: arguments[0], score: -1 }, { text: '', score: 0 }])", EVIL
    )
    assert text_of(page, "translation") == EVIL
    assert shown(page) == [[EVIL, "−1.000"], ["(empty)", "0.000"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Type a sentence first."),
        ("  ", "Type a sentence first."),
        ("one " * 1025, "too long: split it into sentences of at most 1024 tokens."),
        ("a" * 70_000, "The text is too long: at most 65,536 bytes."),
    ],
    ids=["empty", "spaces", "tokens", "bytes"],
)
def test_errors_are_shown(page, text, message):
    type_in(page, "one", Keys.ENTER)
    wait(page, lambda: is_ready(page))
    page.execute_script("find('sentence').value = arguments[0]", text)
    page.find_element(By.ID, "translate").click()
    wait(page, lambda: message in text_of(page, "error"))
    assert page.find_element(By.ID, "error").get_attribute("role") == "alert"
    assert not page.find_element(By.ID, "result").is_displayed()
    type_in(page, "two", Keys.ENTER)
    wait(page, lambda: is_ready(page) and text_of(page, "error") == "")
    assert tokens(page, "keys") == ["two", "[END]"]


def test_unreachable_server_is_reported(page):
    page.execute_script("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    type_in(page, "one", Keys.ENTER)
    wait(page, lambda: "server does not respond" in text_of(page, "error"))


def test_page_shows_progress_and_sends_one_request_at_a_time(page):
    page.execute_script(
        "window.requests = 0; window.fetch = () => { requests += 1; return new Promise(() => {}); }"
    )
    type_in(page, "one", Keys.ENTER, Keys.ENTER)
    page.find_element(By.ID, "translate").click()
    assert text_of(page, "translate") == "Translating…"
    assert page.find_element(By.ID, "translate").get_attribute("aria-disabled") == "true"
    wait(page, lambda: "take a few seconds" in text_of(page, "keys"))
    assert page.execute_script("return requests") == 1


@pytest.mark.parametrize("width", [360, 380, 1280])
def test_page_fits_the_window_width(page, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    type_in(page, "one two three four " * 5, Keys.ENTER)
    wait(page, lambda: is_ready(page))
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    assert in_picture(page, "page.documentElement.scrollWidth") <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
