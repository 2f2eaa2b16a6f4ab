"""The attention page in a browser: it shows the weights of the selected token and heads."""

import numpy as np
import pytest

from keras_transformer.pages.attention_page import AttentionView, write_attention_page

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.browser
EVIL = "<script>window.run = true</script>"
LONG = [
    "Donaudampfschifffahr",
    "Zusammenhangsmessung",
    "Weihnachtsmannmützen",
    "Kühlwassertemperatur",
]  # 20 letters each


def make_view(name, queries, keys, layers=2, heads=3, size=4, causal=False):
    random = np.random.default_rng(len(name))
    vectors = [random.normal(size=(layers, heads, len(x), size)) for x in (queries, keys)]
    scores = vectors[0] @ vectors[1].swapaxes(-1, -2) / np.sqrt(size)
    if causal:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return AttentionView(name, queries, keys, weights, *vectors, causal)


SMALL = [
    make_view("cross", [EVIL, "eins", "&amp;", "[END]"], ["one", "two", "[END]"]),
    make_view("causal", ["a", "b", "c", "d"], ["[START]", "a", "b", "c"], causal=True),
]
LARGE = [make_view("large", LONG * 15, LONG * 15, layers=1, heads=8, size=16)]


@pytest.fixture
def show(browser, tmp_path):
    """A function that opens a page, which must log no errors and make no requests."""

    def open_page(views, width=1200):
        path = tmp_path / "page.html"
        write_attention_page(path, views, "attention")
        browser.set_window_size(width, 900)
        browser.get_log("performance")
        browser.get(path.as_uri())
        # A headless window may be wider than requested; the emulated viewport is exact.
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        settle(browser)
        return browser

    yield open_page
    assert [x for x in browser.get_log("browser") if x["level"] == "SEVERE"] == []
    requests = [x["message"] for x in browser.get_log("performance")]
    requests = [x for x in requests if '"Network.requestWillBeSent"' in x and "data:," not in x]
    assert len(requests) == 1 and "page.html" in requests[0]


def settle(browser):
    """Waits until all pending frames are drawn."""
    browser.execute_async_script(
        "const done = arguments[0], wait = (quiet) => quiet > 2 ? done()"
        " : requestAnimationFrame(() => wait(state.frame ? 0 : quiet + 1)); wait(0)"
    )


def picture(browser, canvas="#lines"):
    settle(browser)
    return browser.execute_script(f"return document.querySelector('{canvas}').toDataURL()")


def token(browser, side, index):
    return browser.find_elements(By.CSS_SELECTOR, f"#{side} li")[index]


def point(browser, element):
    ActionChains(browser).move_to_element(element).perform()
    settle(browser)


def numbers(browser, side):
    return [x.text for x in browser.find_elements(By.CSS_SELECTOR, f"#{side} .weight")]


def press(browser, text):
    path = f"//fieldset[@id='heads']/button[normalize-space()='{text}']"
    browser.find_element(By.XPATH, path).click()
    settle(browser)


def formatted(weights):
    return [f"{round(float(weight), 3):.3f}" for weight in weights]


def test_hovering_over_a_token_shows_its_lines_and_weights(show):
    browser, weights = show(SMALL), SMALL[0].weights[0, 1]
    press(browser, "none")
    empty = picture(browser)
    press(browser, "2")
    every = picture(browser)
    assert numbers(browser, "queries") == [""] * 4 and numbers(browser, "keys") == [""] * 3
    point(browser, token(browser, "queries", 1))
    of_a_query = picture(browser)
    assert numbers(browser, "keys") == formatted(weights[1])
    assert numbers(browser, "queries") == [""] * 4
    point(browser, token(browser, "keys", 2))
    of_a_key = picture(browser)
    assert numbers(browser, "queries") == formatted(weights[:, 2])
    assert numbers(browser, "keys") == [""] * 3
    point(browser, browser.find_element(By.ID, "title"))
    assert picture(browser) == every
    assert len({empty, every, of_a_query, of_a_key}) == 4


def test_weights_of_several_heads_are_averaged(show):
    browser = show(SMALL)
    press(browser, "1")
    point(browser, token(browser, "queries", 0))
    found = [float(x) for x in numbers(browser, "keys")]
    assert found == pytest.approx(SMALL[0].weights[0, 1:, 0].mean(axis=0), abs=0.0011)


def test_arrow_keys_select_tokens(show):
    browser = show(SMALL)
    press(browser, "none")
    press(browser, "3")
    token(browser, "queries", 0).send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    settle(browser)
    assert numbers(browser, "keys") == formatted(SMALL[0].weights[0, 2, 2])
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    settle(browser)
    assert numbers(browser, "queries") == formatted(SMALL[0].weights[0, 2, :, 2])


def test_toggling_a_head_twice_restores_the_picture(show):
    browser = show(SMALL)
    before = picture(browser)
    for head in ("1", "2", "3"):
        press(browser, head)
        assert picture(browser) != before
        press(browser, head)
        assert picture(browser) == before


def test_layer_and_view_can_be_selected(show):
    browser = show(SMALL)
    first = picture(browser)
    press(browser, "none")
    press(browser, "1")
    browser.find_element(By.CSS_SELECTOR, "#layer option:nth-child(2)").click()
    point(browser, token(browser, "queries", 3))
    assert numbers(browser, "keys") == formatted(SMALL[0].weights[1, 0, 3])
    browser.find_element(By.CSS_SELECTOR, "#view option:nth-child(2)").click()
    settle(browser)
    assert token(browser, "keys", 0).text == "[START]"
    point(browser, token(browser, "queries", 1))
    assert numbers(browser, "keys") == formatted(SMALL[1].weights[1, 0, 1])
    assert numbers(browser, "keys")[2:] == ["0.000", "0.000"]
    assert picture(browser) != first


def test_tokens_are_escaped(show):
    browser = show(SMALL)
    assert [token(browser, "queries", i).text for i in range(4)] == [EVIL, "eins", "&amp;", "[END]"]
    assert browser.execute_script("return window.run") is None
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 2


def milliseconds(browser, action, canvas):
    """Returns the median time in ms of an action, including reading back a pixel."""
    times = browser.execute_script(
        "return numbersUpTo(8).map((i) => { const start = performance.now();"
        f" {action}; {canvas}.getContext('2d').getImageData(0, 0, 1, 1);"
        " return performance.now() - start; })"
    )
    return np.median(times)


def test_sixty_tokens_and_eight_heads_are_drawn_in_100_ms(show):
    browser = show(LARGE)
    first = milliseconds(
        browser, "state.pictures[i] = null; makePicture(i)", "state.pictures[i]"
    )  # each head is first drawn in a separate frame
    again = milliseconds(browser, "drawLines()", "find('lines')")
    print(f"one head's first drawing {first:.1f} ms, redrawing all heads {again:.1f} ms")
    assert first < 100 and again < 60


def test_numbers_view_shows_the_calculation_of_one_head(show):
    browser, view = show(SMALL), SMALL[0]
    browser.find_element(By.ID, "as-numbers").click()
    browser.find_element(By.CSS_SELECTOR, "#layer option:nth-child(2)").click()
    browser.find_element(By.CSS_SELECTOR, "#head option:nth-child(3)").click()
    browser.find_element(By.CSS_SELECTOR, "#query option:nth-child(2)").click()
    settle(browser)
    query, keys = view.queries[1, 2, 1], view.keys[1, 2]
    assert calculation(browser, "token") == view.key_tokens
    assert calculation(browser, "weight") == formatted(view.weights[1, 2, 1])
    scores = [float(x.replace("−", "-")) for x in calculation(browser, "score")]
    assert scores == pytest.approx(keys @ query / 2, abs=0.005)
    strip = browser.find_elements(By.CSS_SELECTOR, "#answers .products")[2]
    pixels = browser.execute_script(
        "return [...arguments[0].getContext('2d').getImageData(0, 0, 4, 1).data]", strip
    )
    for entry, (red, _, blue, opacity) in enumerate(np.reshape(pixels, (4, 4))):
        product = query[entry] * keys[2, entry]
        assert opacity < 9 or (blue > red) == (product > 0)
    offset = strip.size["width"] // 8  # right of the center: the third of four entries
    ActionChains(browser).move_to_element_with_offset(strip, offset, 0).perform()
    numbers = (f"{x:.3f}".replace("-", "−") for x in (query[2], keys[2, 2]))
    text = browser.find_element(By.ID, "entry").text
    assert text.startswith("entry 3: query {} × key {} = ".format(*numbers))
    browser.find_element(By.ID, "as-lines").click()
    point(browser, token(browser, "queries", 1))
    assert browser.find_element(By.ID, "figure").is_displayed()
    assert not browser.find_element(By.ID, "calculation").is_displayed()


def calculation(browser, name):
    return [x.text for x in browser.find_elements(By.CSS_SELECTOR, f"#answers .{name}")]


def test_masked_keys_are_labeled(show):
    browser = show(SMALL[1:])
    browser.find_element(By.ID, "as-numbers").click()
    browser.find_element(By.CSS_SELECTOR, "#query option:nth-child(2)").click()
    settle(browser)
    assert calculation(browser, "weight") == [
        *formatted(SMALL[1].weights[0, 0, 1, :2]),
        *["masked"] * 2,
    ]


def test_numbers_view_is_hidden_without_vectors(show):
    browser = show([SMALL[0]._replace(queries=None, keys=None)])
    assert not browser.find_element(By.ID, "as-numbers").is_displayed()
    assert browser.find_element(By.ID, "figure").is_displayed()


PICTURES = {"lines": "as-lines", "numbers": "as-numbers"}


@pytest.mark.parametrize("button", PICTURES.values(), ids=PICTURES)
@pytest.mark.parametrize("width", [400, 1200])
def test_labels_do_not_overlap_and_are_not_truncated(show, width, button):
    browser = show(LARGE, width)
    browser.find_element(By.ID, button).click()
    settle(browser)
    if button == "as-lines":
        point(browser, token(browser, "queries", 0))
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('li > *, h2, #legend, #controls > *, "
        "#entry, #calculation div > span')]"
        ".filter((x) => x.textContent && x.checkVisibility()).map((x) => {"
        " const box = x.getBoundingClientRect();"
        " return [box.left, box.top, box.right, box.bottom]; })"
    )
    left, top, right, bottom = np.array(boxes).T + 0.0
    assert len(boxes) > 180
    assert left.min() >= 0 and right.max() <= width
    apart = (left[:, None] >= right - 0.5) | (top[:, None] >= bottom - 0.5)
    assert (apart | apart.T | np.eye(len(boxes), dtype=bool)).all()
    tokens = "return [...document.querySelectorAll('.token')]"
    truncated = browser.execute_script(
        f"{tokens}.filter((x) => x.scrollWidth > x.clientWidth).length"
    )
    assert truncated == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
