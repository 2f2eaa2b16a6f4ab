"""What the server of the demo promises: everyone's own answer, and a reason where there is none."""

import base64
import concurrent.futures
import contextlib
import hashlib
import http.client
import json
import re
import socket
import sys
import threading
import time

import numpy as np
import pytest
from tiny import make_dataset
from translating import shared_translate

from keras_transformer.inference.translate import Hypothesis
from keras_transformer.pages import shared_translator
from keras_transformer.pages.attention_page import make_attention_page, translation_views
from keras_transformer.pages.demo import DemoServer, serve

JSON = {"Content-Type": "application/json"}
BEST = {"beam_size": 4, "n_best": 4}


class Speller:
    """A translator that spells: it computes nothing, and can be held up or fail."""

    def __init__(self):
        self.source_tokenizer = make_dataset().source_tokenizer
        self.batches, self.began, self.may_go_on = [], threading.Event(), threading.Event()

    def hypotheses(self, sentences, **options):
        self.batches.append(list(sentences))
        self.began.set()
        assert self.may_go_on.wait(20)
        if any("five" in sentence for sentence in sentences):
            raise TimeoutError("a secret of the model")
        return [[Hypothesis(" ".join(x), -1.0, [*x, "[END]"], ["[END]"])] for x in sentences]


@contextlib.contextmanager
def running(translate, **options):
    with DemoServer(translate, port=0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server, path, message=None, method="POST", headers=JSON, body=None):
    """The status, the headers and the text of the answer."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(message) if body is None else body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode("utf-8")


def error_of(server, *arguments, **options):
    """The status and the reason of a request that is refused."""
    status, headers, text = ask(server, *arguments, **options)
    assert headers["Content-Type"] == "application/json" and "Traceback" not in text
    assert headers["X-Content-Type-Options"] == "nosniff"
    return status, json.loads(text)["error"]


def translations(server, sentence):
    status, _, text = ask(server, "/translate", {"sentence": sentence})
    assert status == 200, text
    return json.loads(text)["translations"]


def asking(pool, server, sentences):
    """Asks for all of them at once; they wait until `translating` lets them."""
    answers = [pool.submit(ask, server, "/translate", {"sentence": x}) for x in sentences]
    until(lambda: len(server.translator._translation_queue) >= len(sentences))
    return answers


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture(scope="module")
def server():
    with running(shared_translate(), name="runs/<b>&", **BEST) as server:
        yield server


@pytest.fixture
def speller():
    speller = Speller()
    yield speller
    speller.may_go_on.set()


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        yield pool


# The page


def test_the_page_names_the_run_and_asks_for_nothing(server):
    status, headers, page = ask(server, "/?x=1", method="GET", headers={})
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "runs/&lt;b&gt;&amp;" in page and "<b>" not in page and "$name" not in page
    assert not re.search(r"https?:|@import|url\(|<script[^>]+src|innerHTML", page)


def test_the_policy_allows_what_the_pages_hold_and_nothing_else(server):
    _, headers, page = ask(server, "/", method="GET", headers={})
    _, _, picture = ask(server, "/attention", {"sentence": "one two", "index": 0})
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for text in (page, picture):
        for code in re.findall(r"<(?:script|style)>(.*?)</", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256") == 4


# Translating


def test_the_answers_are_those_of_the_translator(server):
    found = shared_translate().hypotheses("one two three", **BEST)[0]
    answers = translations(server, " one two three\n")
    assert [x["text"] for x in answers] == [x.text for x in found] and len(found) == 4
    assert [x["score"] for x in answers] == pytest.approx([x.score for x in found], abs=1e-4)


def test_attention_is_that_of_the_translation_asked_for(server):
    found = shared_translate().hypotheses("two four", **BEST)[0]
    for index in (3, 0):
        views = translation_views(shared_translate(), found[index])[::-1]
        request = {"sentence": "two four", "index": index}  # was not translated before
        status, headers, page = ask(server, "/attention", request)
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert data_of(page)["views"] == data_of(make_attention_page(views, ""))["views"]
    names = [view["name"].split(":")[0] for view in data_of(page)["views"]]
    assert names == ["cross", "decoder", "encoder"]


def data_of(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page)[1])


def test_those_who_ask_at_once_are_translated_together(speller, pool):
    with running(speller, batch_size=8) as server:
        first = pool.submit(translations, server, "one")
        assert speller.began.wait(20)
        sentences = [f"one two {number}" for number in range(30)]
        answers = asking(pool, server, sentences)
        speller.may_go_on.set()
        for sentence, answer in zip(sentences, answers, strict=True):
            text = json.loads(answer.result()[2])["translations"][0]["text"]
            assert text == " ".join(sentence)
        assert first.result()[0]["text"] == "o n e"
    assert [len(batch) for batch in speller.batches] == [1, 8, 8, 8, 6]


def test_what_was_translated_lately_is_not_translated_again(speller, monkeypatch):
    monkeypatch.setattr(shared_translator, "_CACHE_SIZE", 2)
    speller.may_go_on.set()
    with running(speller) as server:
        for sentence in ("one", "two", "one", "three", "two", "one"):
            assert translations(server, sentence)[0]["text"] == " ".join(sentence)
    assert speller.batches == [["one"], ["two"], ["three"], ["one"]]


def test_attention_lets_translations_pass(speller, pool, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        shared_translator, "translation_views", lambda _, hypothesis: [hypothesis.text]
    )
    monkeypatch.setattr(
        shared_translator,
        "make_attention_page",
        lambda views, title: drawn.append(len(speller.batches)) or "",
    )
    with running(speller, batch_size=2) as server:
        first = pool.submit(translations, server, "one")
        assert speller.began.wait(20)
        for number in range(3):
            pool.submit(ask, server, "/attention", {"sentence": f"two {number}", "index": 0})
        until(lambda: len(server.translator._attention_queue) == 3)
        answers = asking(pool, server, [f"three {number}" for number in range(6)])
        speller.may_go_on.set()
        assert first.result() and all(answer.result()[0] == 200 for answer in answers)
        until(lambda: len(drawn) == 3)
    assert drawn == [2, 3, 4]
    assert [len(batch) for batch in speller.batches] == [1, 3, 3, 3]


# What cannot be


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "must be a JSON object in UTF-8. Received: b''"),
        (b"sentence=one", 400, "Received: b'sentence=one'"),
        (b'{"sentence": "f\xfcr"}', 400, "must be a JSON object in UTF-8."),
        (b'["one"]', 400, "must be a JSON object"),
        (b"[" * 60_000, 400, "must be a JSON object"),
        (b"9" * 6_000, 400, "must be a JSON object"),
        (b"{}", 400, "`sentence` must be a string. Received: None"),
        (b'{"sentence": ["one"]}', 400, "Received: ['one']"),
        (b'{"sentence": ""}', 400, "Type a sentence: the text has no words. Received: ''"),
        (b'{"sentence": " \\n\\u00a0"}', 400, "the text has no words."),
        (b'{"sentence": "one \\ud83d"}', 400, "Received: an unpaired surrogate"),
        (json.dumps({"sentence": "one " * 1025}), 413, "Received: 1,025 tokens"),
        (json.dumps({"sentence": "a" * 70_000}), 413, "at most 65,536 bytes. Received: 70016"),
        (json.dumps({"sentence": "a" * 5_000_000}), 413, "Received: 5000016 bytes"),
    ],
    ids=lambda x: str(x)[:24],
)
def test_what_cannot_be_translated_is_refused(server, body, status, message):
    found, reason = error_of(server, "/translate", body=body)
    assert found == status and message in reason
    assert error_of(server, "/attention", body=body)[0] in (status, 400)  # 400: without an index


@pytest.mark.parametrize("index", [None, -1, True, 1.0, "0", 4, 10**30])
def test_attention_is_of_a_translation(server, index):
    status, reason = error_of(server, "/attention", {"sentence": "one two", "index": index})
    assert status == 400 and "Received: " in reason and len(reason) < 120


def test_attention_of_a_long_sentence_is_not_drawn(server, monkeypatch):
    monkeypatch.setattr(shared_translator, "MAX_DRAWN_TOKENS", 4)
    status, reason = error_of(server, "/attention", {"sentence": "one " * 4, "index": 0})
    assert status == 413 and reason.startswith("Attention is shown for at most 4 tokens")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "message"),
    [
        ("GET", "/translate", {}, 405, "/translate requires the method POST. Received: GET"),
        ("POST", "/", JSON, 405, "/ requires the method GET. Received: POST"),
        ("OPTIONS", "/translate", {}, 405, "Received: OPTIONS"),
        ("DELETE", "/", {}, 405, "Received: DELETE"),
        ("GET", "/../setup.cfg", {}, 404, "Page not found. Received: '/../setup.cfg'"),
        ("POST", "/translate", {}, 415, "Received: text/plain"),
        ("POST", "/translate", {"Content-Type": "text/plain"}, 415, "must be application/json"),
        ("POST", "/translate", {**JSON, "Content-Length": "-5"}, 411, "Received: '-5'"),
        ("POST", "/translate", {**JSON, "Content-Length": "9" * 5000}, 413, "too long"),
        ("POST", "/translate", {**JSON, "Host": "evil.example"}, 403, "Host 'evil.example'"),
        ("GET", "/", {"Host": "127.0.0.1.evil.example:80"}, 403, "another server"),
        ("GET", "/", {"Host": "localhost:1"}, 403, "another server"),
        ("GET", "/", {"Host": ""}, 403, "Host ''"),
    ],
)
def test_what_is_not_asked_rightly_is_refused(server, method, path, headers, status, message):
    options = {"method": method, "headers": headers, "body": b'{"sentence": "one"}'}
    found, reason = error_of(server, path, **options)
    assert found == status and message in reason


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_the_names_of_this_machine_are_known(server, name):
    headers = {"Host": f"{name}:{server.server_address[1]}"}
    assert ask(server, "/", method="GET", headers=headers)[0] == 200


@pytest.mark.skipif(sys.platform != "linux", reason="others have no second such address")
def test_it_knows_the_address_that_it_listens_at():
    with DemoServer(shared_translate(), "127.0.0.2", 0) as other:
        assert other.knows_host(other.address.removeprefix("http://").rstrip("/"))
        assert not other.knows_host("127.0.0.3")


def test_what_is_no_http_is_refused_and_harms_nothing(server):
    for said in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"G" * 70_000 + b"\r\n"):
        with socket.create_connection(server.server_address, timeout=30) as connection:
            connection.sendall(said)
            assert b'"error"' in connection.makefile("rb").read()
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nContent-Le")  # and goes away
    assert translations(server, "one")


def test_what_fails_is_said_and_the_next_is_translated(speller, pool, caplog):
    with running(speller) as server:
        first = pool.submit(translations, server, "one")
        assert speller.began.wait(20)
        answers = asking(pool, server, ["two", "five", "three"])
        speller.may_go_on.set()
        assert first.result()
        assert [answer.result()[0] for answer in answers] == [200, 500, 200]
        reason = json.loads(answers[1].result()[2])["error"]
        assert reason.startswith("Translation failed") and "secret" not in reason
        assert "a secret of the model" in caplog.text
        assert translations(server, "four")


def test_numbers_that_are_none_are_a_failure(speller, monkeypatch, caplog):
    nothing = [[Hypothesis("", np.nan, ["[END]"], ["[END]"])]]
    monkeypatch.setattr(speller, "hypotheses", lambda sentences, **_: nothing)
    with running(speller) as server:
        assert error_of(server, "/translate", {"sentence": "one"})[0] == 500


def test_more_than_there_is_room_for_is_refused(speller, pool):
    with running(speller, queue_size=2) as server:
        first = pool.submit(translations, server, "one")
        assert speller.began.wait(20)
        answers = asking(pool, server, ["two", "three"])
        status, reason = error_of(server, "/translate", {"sentence": "four"})
        assert status == 503 and reason.endswith("try again later. Received: 2 waiting requests")
        speller.may_go_on.set()
        assert first.result() and all(answer.result()[0] == 200 for answer in answers)
        assert translations(server, "four")


def test_who_waits_too_long_is_told_so_and_not_translated_for(speller):
    with running(speller, timeout=0.2) as server:
        for sentence in ("one", "two"):  # it is at the first, the second is behind it
            status, reason = error_of(server, "/translate", {"sentence": sentence})
            assert status == 504 and reason.endswith("Received: no result within 0.2 seconds")
        speller.may_go_on.set()
        assert translations(server, "three")
    assert speller.batches == [["one"], ["three"]]


def test_who_waits_at_the_end_is_told_so(speller, pool):
    with running(speller) as server:
        pool.submit(ask, server, "/translate", {"sentence": "one"})
        assert speller.began.wait(20)
        (answer,) = asking(pool, server, ["two"])
        threading.Timer(0.1, speller.may_go_on.set).start()
        server.translator.close()
        assert answer.result()[0] == 503
        status, reason = error_of(server, "/translate", {"sentence": "three"})
        assert status == 503 and reason.startswith("The server is shutting down.")


# Beginning and ending


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_best": 5, "beam_size": 4}, r"Received: n_best=5, beam_size=4$"),
        ({"beam_size": 0}, r"Received: beam_size=0$"),
        ({"port": 1 << 16}, r"from 0 to 65535\. Received: port=65536$"),
        ({"port": "80"}, r"Received: port='80'$"),
        ({"queue_size": 0}, r"Received: queue_size=0$"),
        ({"timeout": 0}, r"Received: timeout=0$"),
    ],
)
def test_options_that_cannot_be_are_refused(speller, options, message):
    with pytest.raises(ValueError, match=message):
        serve(speller, **{"port": 0, **options})


def test_an_address_that_is_taken_is_refused(speller, server):
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="in use"):
        serve(speller, port=server.server_address[1])
    assert set(threading.enumerate()) <= before


def test_it_says_its_address_and_leaves_nothing_open(speller, monkeypatch, capsys):
    def interrupted(server):
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    monkeypatch.setattr(DemoServer, "serve_forever", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serve(speller, port=0)
    address, port = re.match(r"http://(127.0.0.1):(\d+)/ ", capsys.readouterr().out).groups()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, int(port)), timeout=5)


def test_whoever_listens_to_everyone_is_asked_by_any_name(speller):
    speller.may_go_on.set()
    with running(speller, host="0.0.0.0") as server:
        assert ask(server, "/", method="GET", headers={"Host": "my-machine:1"})[0] == 200


def test_the_newer_address_of_this_machine_will_do(speller):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with running(speller, host="::1") as server:
        assert server.address == f"http://[::1]:{server.server_address[1]}/"
        assert ask(server, "/", method="GET", headers={})[0] == 200
