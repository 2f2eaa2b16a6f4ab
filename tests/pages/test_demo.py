"""The demo server answers each request with its own translations or with a reason."""

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


class FakeTranslator:
    """Spells out its input instead of translating it; can be blocked, and fails on "five"."""

    def __init__(self):
        self.source_tokenizer = make_dataset().source_tokenizer
        self.batches, self.started, self.released = [], threading.Event(), threading.Event()

    def hypotheses(self, sentences, **options):
        self.batches.append(list(sentences))
        self.started.set()
        assert self.released.wait(20)
        if any("five" in sentence for sentence in sentences):
            raise TimeoutError("a secret of the model")
        return [[Hypothesis(" ".join(x), -1.0, [*x, "[END]"], ["[END]"])] for x in sentences]


@contextlib.contextmanager
def running_server(translate, **options):
    with DemoServer(translate, port=0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def send_request(server, path, message=None, method="POST", headers=JSON, body=None):
    """Returns the status, the headers and the text of the response."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(message) if body is None else body, headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode("utf-8")


def error_of(server, *arguments, **options):
    """Returns the status and the error message of a refused request."""
    status, headers, text = send_request(server, *arguments, **options)
    assert headers["Content-Type"] == "application/json" and "Traceback" not in text
    assert headers["X-Content-Type-Options"] == "nosniff"
    return status, json.loads(text)["error"]


def translations(server, sentence):
    status, _, text = send_request(server, "/translate", {"sentence": sentence})
    assert status == 200, text
    return json.loads(text)["translations"]


def submit_translations(pool, server, sentences):
    """Submits all sentences at once; returns their futures when all are queued."""
    responses = [
        pool.submit(send_request, server, "/translate", {"sentence": x}) for x in sentences
    ]
    wait_until(lambda: len(server.translator._translation_queue) >= len(sentences))
    return responses


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture(scope="module")
def server():
    with running_server(shared_translate(), name="runs/<b>&", **BEST) as server:
        yield server


@pytest.fixture
def translator():
    translator = FakeTranslator()
    yield translator
    translator.released.set()


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        yield pool


# The page


def test_page_escapes_the_run_name_and_makes_no_requests(server):
    status, headers, page = send_request(server, "/?x=1", method="GET", headers={})
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "runs/&lt;b&gt;&amp;" in page and "<b>" not in page and "$name" not in page
    assert not re.search(r"https?:|@import|url\(|<script[^>]+src|innerHTML", page)


def test_content_security_policy_allows_only_the_inline_code(server):
    _, headers, page = send_request(server, "/", method="GET", headers={})
    _, _, picture = send_request(server, "/attention", {"sentence": "one two", "index": 0})
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for text in (page, picture):
        for code in re.findall(r"<(?:script|style)>(.*?)</", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256") == 4


# Translations


def test_responses_match_the_translator(server):
    found = shared_translate().hypotheses("one two three", **BEST)[0]
    served = translations(server, " one two three\n")
    assert [x["text"] for x in served] == [x.text for x in found] and len(found) == 4
    assert [x["score"] for x in served] == pytest.approx([x.score for x in found], abs=1e-4)


def test_attention_belongs_to_the_requested_translation(server):
    found = shared_translate().hypotheses("two four", **BEST)[0]
    for index in (3, 0):
        views = translation_views(shared_translate(), found[index])[::-1]
        request = {"sentence": "two four", "index": index}  # was not translated before
        status, headers, page = send_request(server, "/attention", request)
        assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
        assert data_of(page)["views"] == data_of(make_attention_page(views, ""))["views"]
    names = [view["name"].split(":")[0] for view in data_of(page)["views"]]
    assert names == ["cross", "decoder", "encoder"]


def data_of(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page)[1])


def test_concurrent_requests_are_batched(translator, pool):
    with running_server(translator, batch_size=8) as server:
        first = pool.submit(translations, server, "one")
        assert translator.started.wait(20)
        sentences = [f"one two {number}" for number in range(30)]
        responses = submit_translations(pool, server, sentences)
        translator.released.set()
        for sentence, response in zip(sentences, responses, strict=True):
            text = json.loads(response.result()[2])["translations"][0]["text"]
            assert text == " ".join(sentence)
        assert first.result()[0]["text"] == "o n e"
    assert [len(batch) for batch in translator.batches] == [1, 8, 8, 8, 6]


def test_recent_translations_are_cached(translator, monkeypatch):
    monkeypatch.setattr(shared_translator, "_CACHE_SIZE", 2)
    translator.released.set()
    with running_server(translator) as server:
        for sentence in ("one", "two", "one", "three", "two", "one"):
            assert translations(server, sentence)[0]["text"] == " ".join(sentence)
    assert translator.batches == [["one"], ["two"], ["three"], ["one"]]


def test_translations_take_priority_over_attention(translator, pool, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        shared_translator, "translation_views", lambda _, hypothesis: [hypothesis.text]
    )
    monkeypatch.setattr(
        shared_translator,
        "make_attention_page",
        lambda views, title: drawn.append(len(translator.batches)) or "",
    )
    with running_server(translator, batch_size=2) as server:
        first = pool.submit(translations, server, "one")
        assert translator.started.wait(20)
        for number in range(3):
            request = {"sentence": f"two {number}", "index": 0}
            pool.submit(send_request, server, "/attention", request)
        wait_until(lambda: len(server.translator._attention_queue) == 3)
        responses = submit_translations(pool, server, [f"three {number}" for number in range(6)])
        translator.released.set()
        assert first.result() and all(response.result()[0] == 200 for response in responses)
        wait_until(lambda: len(drawn) == 3)
    assert drawn == [2, 3, 4]
    assert [len(batch) for batch in translator.batches] == [1, 3, 3, 3]


# Errors


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
def test_invalid_translation_requests_are_refused(server, body, status, message):
    found, reason = error_of(server, "/translate", body=body)
    assert found == status and message in reason
    assert error_of(server, "/attention", body=body)[0] in (status, 400)  # 400: without an index


@pytest.mark.parametrize("index", [None, -1, True, 1.0, "0", 4, 10**30])
def test_invalid_attention_index_is_refused(server, index):
    status, reason = error_of(server, "/attention", {"sentence": "one two", "index": index})
    assert status == 400 and "Received: " in reason and len(reason) < 120


def test_attention_of_a_long_sentence_is_refused(server, monkeypatch):
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
def test_invalid_http_requests_are_refused(server, method, path, headers, status, message):
    options = {"method": method, "headers": headers, "body": b'{"sentence": "one"}'}
    found, reason = error_of(server, path, **options)
    assert found == status and message in reason


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_loopback_host_names_are_accepted(server, name):
    headers = {"Host": f"{name}:{server.server_address[1]}"}
    assert send_request(server, "/", method="GET", headers=headers)[0] == 200


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux listens on 127.0.0.2")
def test_only_the_server_address_is_accepted_as_host():
    with DemoServer(shared_translate(), "127.0.0.2", 0) as other:
        assert other.knows_host(other.address.removeprefix("http://").rstrip("/"))
        assert not other.knows_host("127.0.0.3")


def test_malformed_http_is_refused_and_the_server_keeps_running(server):
    for data in (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"G" * 70_000 + b"\r\n"):
        with socket.create_connection(server.server_address, timeout=30) as connection:
            connection.sendall(data)
            assert b'"error"' in connection.makefile("rb").read()
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nContent-Le")  # then disconnects
    assert translations(server, "one")


def test_failed_translation_does_not_affect_other_requests(translator, pool, caplog):
    with running_server(translator) as server:
        first = pool.submit(translations, server, "one")
        assert translator.started.wait(20)
        responses = submit_translations(pool, server, ["two", "five", "three"])
        translator.released.set()
        assert first.result()
        assert [response.result()[0] for response in responses] == [200, 500, 200]
        reason = json.loads(responses[1].result()[2])["error"]
        assert reason.startswith("Translation failed") and "secret" not in reason
        assert "a secret of the model" in caplog.text
        assert translations(server, "four")


def test_nan_score_is_an_error(translator, monkeypatch, caplog):
    invalid = [[Hypothesis("", np.nan, ["[END]"], ["[END]"])]]
    monkeypatch.setattr(translator, "hypotheses", lambda sentences, **_: invalid)
    with running_server(translator) as server:
        assert error_of(server, "/translate", {"sentence": "one"})[0] == 500


def test_requests_are_refused_when_the_queue_is_full(translator, pool):
    with running_server(translator, queue_size=2) as server:
        first = pool.submit(translations, server, "one")
        assert translator.started.wait(20)
        responses = submit_translations(pool, server, ["two", "three"])
        status, reason = error_of(server, "/translate", {"sentence": "four"})
        assert status == 503 and reason.endswith("try again later. Received: 2 waiting requests")
        translator.released.set()
        assert first.result() and all(response.result()[0] == 200 for response in responses)
        assert translations(server, "four")


def test_timed_out_requests_are_not_translated(translator):
    with running_server(translator, timeout=0.2) as server:
        for sentence in ("one", "two"):  # "one" is in progress, "two" is queued
            status, reason = error_of(server, "/translate", {"sentence": sentence})
            assert status == 504 and reason.endswith("Received: no result within 0.2 seconds")
        translator.released.set()
        assert translations(server, "three")
    assert translator.batches == [["one"], ["three"]]


def test_waiting_requests_are_refused_at_shutdown(translator, pool):
    with running_server(translator) as server:
        pool.submit(send_request, server, "/translate", {"sentence": "one"})
        assert translator.started.wait(20)
        (response,) = submit_translations(pool, server, ["two"])
        threading.Timer(0.1, translator.released.set).start()
        server.translator.close()
        assert response.result()[0] == 503
        status, reason = error_of(server, "/translate", {"sentence": "three"})
        assert status == 503 and reason.startswith("The server is shutting down.")


# Startup and shutdown


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
def test_invalid_options_are_refused(translator, options, message):
    with pytest.raises(ValueError, match=message):
        serve(translator, **{"port": 0, **options})


def test_address_in_use_is_refused(translator, server):
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="in use"):
        serve(translator, port=server.server_address[1])
    assert set(threading.enumerate()) <= before


def test_serve_prints_its_address_and_cleans_up_on_interrupt(translator, monkeypatch, capsys):
    def interrupted(server):
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    monkeypatch.setattr(DemoServer, "serve_forever", interrupted)
    with pytest.raises(KeyboardInterrupt):
        serve(translator, port=0)
    address, port = re.match(r"http://(127.0.0.1):(\d+)/ ", capsys.readouterr().out).groups()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, int(port)), timeout=5)


def test_any_host_name_is_accepted_when_listening_on_all_interfaces(translator):
    translator.released.set()
    with running_server(translator, host="0.0.0.0") as server:
        assert send_request(server, "/", method="GET", headers={"Host": "my-machine:1"})[0] == 200


def test_ipv6_is_supported(translator):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with running_server(translator, host="::1") as server:
        assert server.address == f"http://[::1]:{server.server_address[1]}/"
        assert send_request(server, "/", method="GET", headers={})[0] == 200
