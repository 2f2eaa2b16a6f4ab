"""The program of docs/serving.md translates in batches, within limits."""

import re
import threading
from pathlib import Path

import pytest
from tiny import make_dataset
from translating import shared_translate, write_run

testclient = pytest.importorskip("fastapi.testclient")
DOCUMENT = Path(__file__).resolve().parents[1] / "docs/serving.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The names that the program defines, in a folder with a run."""
    folder = tmp_path_factory.mktemp("server")
    write_run(folder / "runs/english-german")
    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    names = {"__name__": "serve"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(code, DOCUMENT.name, "exec"), names)
    return names


@pytest.fixture
def client(program):
    with testclient.TestClient(program["app"]) as client:
        yield client


def post(client, *sentences):
    return client.post("/translate", json={"sentences": sentences})


def test_the_translations_are_those_of_translate(client):
    sentences = [source for source, _ in make_dataset().test][:20]
    expected = {"translations": shared_translate()(sentences, beam_size=4)}
    assert post(client, *sentences).json() == expected
    assert post(client).json() == {"translations": []}
    assert client.get("/health").json() == {"status": "ok", "waiting": 0}


def test_sentences_that_wait_are_translated_together(client, program, monkeypatch):
    batches, begun, free = [], threading.Event(), threading.Event()

    def slow(sentences):
        batches.append(list(sentences))
        begun.set()
        free.wait(30)
        return [sentence.upper() for sentence in sentences]

    monkeypatch.setitem(program, "translate_batch", slow)
    answers = {}

    def send(name):
        answers[name] = post(client, name).json()["translations"]

    threads = [threading.Thread(target=send, args=(name,)) for name in "abcd"]
    threads[0].start()
    begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    while client.get("/health").json()["waiting"] < 3:
        pass
    free.set()
    for thread in threads:
        thread.join(30)
    assert batches[0] == ["a"] and sorted(batches[1]) == ["b", "c", "d"]
    assert answers == {name: [name.upper()] for name in "abcd"}


def test_requests_beyond_the_limits_are_refused(client, program, monkeypatch):
    assert post(client, "a" * 1001).status_code == post(client, *["a"] * 65).status_code == 422
    monkeypatch.setitem(program, "MAX_WAITING", 1)
    refused = post(client, "one", "two")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert post(client, "one").json() == {"translations": [shared_translate()("one", beam_size=4)]}


def test_an_error_ends_its_batch_only(client, program, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(program, "translate_batch", lambda sentences: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            post(client, "one")
    assert post(client, "one").json() == {"translations": [shared_translate()("one", beam_size=4)]}
