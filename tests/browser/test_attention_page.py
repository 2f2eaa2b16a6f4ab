"""The attention page in a browser: it shows the weights of the selected token and heads."""

import numpy as np
import pytest

from keras_transformer.pages.attention_page import (
    AttentionPage,
    AttentionView,
    write_attention_page,
)

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

    def open_page(views, width=1200, picture="lines"):
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
        if picture:
            choose(browser, picture)
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


def choose(browser, picture):
    browser.find_element(By.ID, f"as-{picture}").click()
    settle(browser)


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
    browser = show(SMALL[1:], picture="numbers")
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


@pytest.mark.parametrize("picture", ["lines", "numbers"])
@pytest.mark.parametrize("width", [390, 1200])
def test_labels_do_not_overlap_and_are_not_truncated(show, width, picture):
    browser = show(LARGE, width, picture)
    if picture == "lines":
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


# All heads, and one of them


def panels(browser):
    return browser.find_elements(By.CSS_SELECTOR, "#overview .panel")


def texts(browser, selector):
    found = browser.find_elements(By.CSS_SELECTOR, selector)
    return [x.get_attribute("textContent") for x in found]


def colors(browser, panel):
    """Returns the pixels of a panel, (queries, keys, red, green and blue)."""
    script = (
        "const canvas = arguments[0].querySelector('canvas'), { width, height } = canvas;"
        "const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);"
        "return [height, width, [...data]]"
    )
    height, width, data = browser.execute_script(script, panel)
    return np.reshape(data, (height, width, 4))[..., :3]


def numbers_of_cells(browser):
    """Returns the numbers in the cells of the matrix; cells without a number count as 0."""
    rows = browser.find_elements(By.CSS_SELECTOR, "#matrix tbody tr")
    cells = [[x.text for x in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    return [[float(x or 0) for x in row] for row in cells]


def select(browser, name, value):
    browser.find_element(By.CSS_SELECTOR, f"#{name} option:nth-child({value})").click()
    settle(browser)


def luminance(colors):
    return colors @ [0.2126, 0.7152, 0.0722]


def test_the_page_opens_with_a_panel_for_each_head_of_each_layer(show):
    browser, view = show(SMALL, picture=None), SMALL[0]
    assert browser.find_element(By.ID, "as-heads").get_attribute("aria-pressed") == "true"
    assert texts(browser, "#overview h2") == ["layer 1", "layer 2"]
    assert texts(browser, ".panel") == [f"head {i}" for i in (1, 2, 3)] * 2
    for panel, weights in zip(panels(browser), view.weights.reshape(6, 4, 3), strict=True):
        found = colors(browser, panel)
        assert found.shape == (4, 3, 3)
        order = np.argsort(weights, axis=None)
        assert (np.diff(luminance(found).ravel()[order]) <= 0.8).all()  # darker is more
        assert (found[..., 2] >= found[..., 0]).all()  # one hue


def test_the_colors_of_weights_get_darker_in_one_hue(show):
    browser = show(SMALL, picture="heads")
    scale = np.array(browser.execute_script("return numbersUpTo(101).map((i) => shade(i / 100))"))
    assert (np.diff(luminance(scale)) < 0).all()
    assert (np.diff(scale, axis=1) >= 0).all()  # red <= green <= blue


def test_clicking_a_panel_enlarges_it(show):
    browser, view = show(SMALL, picture="heads"), SMALL[0]
    panels(browser)[4].click()  # layer 2, head 2
    assert texts(browser, "#matrix thead th") == view.key_tokens
    assert texts(browser, "#matrix tbody th") == view.query_tokens
    weights = view.weights[1, 1]
    np.testing.assert_allclose(numbers_of_cells(browser), weights, atol=0.0101)
    cell = browser.find_elements(By.CSS_SELECTOR, "#matrix tbody td")[5]
    point(browser, cell)
    reading = browser.find_element(By.ID, "reading")
    assert reading.text == f"eins → [END]: {weights[1, 2]:.3f}"
    select(browser, "layer", 1)
    select(browser, "head", 3)
    np.testing.assert_allclose(numbers_of_cells(browser), view.weights[0, 2], atol=0.0101)
    choose(browser, "heads")
    assert len(panels(browser)) == 6 and not browser.find_element(By.ID, "matrix").is_displayed()


def test_the_heads_can_be_read_with_the_keyboard(show):
    browser, view = show(SMALL, picture="heads"), SMALL[0]
    tab_stops = "return panels().filter((x) => x.tabIndex === 0).length"
    panels(browser)[0].send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.execute_script(tab_stops) == 1
    browser.switch_to.active_element.send_keys(Keys.ENTER)  # layer 2, head 3
    reading, weights = browser.find_element(By.ID, "reading"), view.weights[1, 2]
    assert reading.text == f"{EVIL} → one: {weights[0, 0]:.3f}"
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)  # stays in the first column
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert reading.text == f"&amp; → two: {weights[2, 1]:.3f}"
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label == "layer 2, head 3"


def test_masked_cells_are_marked_and_not_numbered(show):
    browser = show(SMALL[1:], picture="head")
    masked = (
        "return [...document.querySelectorAll('tbody td')].map((x) => x.className === 'masked')"
    )
    found = np.reshape(browser.execute_script(masked), (4, 4))
    np.testing.assert_array_equal(found, np.triu(np.ones((4, 4), bool), 1))
    point(browser, browser.find_elements(By.CSS_SELECTOR, "#matrix tbody td")[1])
    assert browser.find_element(By.ID, "reading").text == "a → a: masked"


def test_one_head_needs_no_overview(show):
    view = SMALL[0]
    alone = AttentionView("one", view.query_tokens, view.key_tokens, view.weights[:1, :1])
    browser = show([alone], picture="head")
    assert not browser.find_element(By.ID, "as-heads").is_displayed()
    np.testing.assert_allclose(numbers_of_cells(browser), view.weights[0, 0], atol=0.0101)


TWO_TEXTS = make_view("two texts", list("uvwxy"), list("uvwxy"))
TWO_TEXTS = TWO_TEXTS._replace(segments=[0, 0, 0, 1, 1])
FIRST, SECOND = slice(0, 3), slice(3, 5)
PAIRS = [(FIRST, FIRST), (FIRST, SECOND), (SECOND, FIRST), (SECOND, SECOND)]  # A→A, A→B, …


def test_the_weights_from_one_text_to_one_text_can_be_selected(show):
    browser = show([TWO_TEXTS], picture="heads")
    shares = []
    for i, (queries, keys) in enumerate(PAIRS):
        select(browser, "pair", i + 2)
        blocks = TWO_TEXTS.weights[..., queries, keys].reshape(6, -1)
        for panel in panels(browser):
            assert colors(browser, panel).shape[:2] == TWO_TEXTS.weights[0, 0, queries, keys].shape
        shares.append([float(text.split(": ")[1]) for text in texts(browser, ".panel")])
        expected = blocks.sum(axis=1) / len("uvwxy"[queries])
        np.testing.assert_allclose(shares[-1], expected, atol=0.006)
    to_first, to_second = np.reshape(shares, (2, 2, 6)).swapaxes(0, 1)
    np.testing.assert_allclose(to_first + to_second, 1, atol=0.011)
    select(browser, "pair", 1)
    assert texts(browser, ".panel") == ["head 1", "head 2", "head 3"] * 2


def test_a_head_and_its_lines_show_the_selected_texts_only(show):
    browser = show([TWO_TEXTS], picture="head")
    select(browser, "pair", 3)  # A → B
    assert texts(browser, "#matrix thead th") == ["x", "y"]
    assert texts(browser, "#matrix tbody th") == ["u", "v", "w"]
    weights = TWO_TEXTS.weights[0, 0, FIRST, SECOND]
    np.testing.assert_allclose(numbers_of_cells(browser), weights, atol=0.0101)
    choose(browser, "lines")
    some = picture(browser)
    point(browser, token(browser, "queries", 0))
    weights = TWO_TEXTS.weights[0, :, 0, SECOND].mean(axis=0)
    assert numbers(browser, "keys") == ["", "", "", *formatted(weights)]
    point(browser, browser.find_element(By.ID, "title"))
    select(browser, "pair", 1)
    assert picture(browser) != some
    choose(browser, "numbers")
    assert not browser.find_element(By.ID, "texts").is_displayed()


def test_one_text_has_no_choice_of_texts(show):
    browser = show(SMALL, picture="heads")
    assert not browser.find_element(By.ID, "texts").is_displayed()


WIDE = [make_view("wide", LONG * 3, LONG * 3, layers=2, heads=12)]


@pytest.mark.parametrize("picture", ["heads", "head"])
@pytest.mark.parametrize("width", [390, 1200])
def test_panels_and_cells_fit_the_window(show, width, picture):
    browser = show(WIDE, width, picture)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    selector = {"heads": ".panel", "head": "#matrix tbody td"}[picture]
    sizes = [x.size for x in browser.find_elements(By.CSS_SELECTOR, selector)]
    assert min(x["width"] for x in sizes) >= 22 and min(x["height"] for x in sizes) >= 22


# In a notebook


def test_a_notebook_shows_the_page_in_an_isolated_frame(browser, tmp_path):
    path = tmp_path / "notebook.html"
    html = AttentionPage(SMALL, EVIL)._repr_html_()
    path.write_text(f"<!DOCTYPE html><p>output:</p>{html}", encoding="utf-8")
    browser.get(path.as_uri())
    frame = browser.find_element(By.TAG_NAME, "iframe")
    assert browser.execute_script("return arguments[0].contentDocument", frame) is None
    assert len(browser.find_elements(By.CSS_SELECTOR, "body > *")) == 2  # nothing has escaped
    browser.switch_to.frame(frame)
    settle(browser)
    assert browser.find_element(By.ID, "title").text == EVIL
    panels(browser)[1].click()
    weights = SMALL[0].weights[0, 1]
    np.testing.assert_allclose(numbers_of_cells(browser), weights, atol=0.0101)
    assert browser.execute_script("return window.run") is None
    browser.switch_to.default_content()
