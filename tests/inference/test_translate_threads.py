"""Threads share one `Translate`: the same translations as one call after the other."""

import asyncio
import concurrent.futures
import contextlib
import gc
import queue
import random
import sys
import threading
import time
import tracemalloc

import keras
import numpy as np
import pytest
from quick import some_of
from tiny import WORDS, make_dataset, make_model
from translating import make_translate, write_run

from keras_transformer import Translate
from keras_transformer.inference import numpy_copy, numpy_search
from keras_transformer.models.numpy_transformer import NumpyTransformer

THREADS = 6
OPTIONS = [
    {},
    {"return_scores": False},
    {"beam_size": 3, "n_best": 2},
    {"temperature": 1.0, "n_best": 2, "seed": 3},
    {"no_repeat_ngram_size": 2, "max_length_ratio": 1.5},
]


@contextlib.contextmanager
def frequent_switches():
    """Lets Python switch between threads fifty times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(interval / 50)
    yield
    sys.setswitchinterval(interval)


def run_together(functions):
    """Calls functions in a thread each, all at the same moment, and returns their results."""
    barrier = threading.Barrier(len(functions))

    def call(function):
        barrier.wait(60)
        return function()

    with frequent_switches(), concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(call, functions))


def make_calls(number, options):
    """Returns arguments of calls: one to a dozen sentences each, some with prefixes."""
    calls, draw = [], random.Random(5)
    for i in range(number):
        sentences = [
            " ".join(draw.choices([*WORDS, "", "seven"], k=draw.randint(1, 6)))
            for _ in range(draw.choice((1, 2, 12)))
        ]
        prefixes = [draw.choice(("", "eins")) for _ in sentences] if i % 3 == 0 else None
        calls.append((sentences, prefixes, options[i % len(options)]))
    return calls


def check_load(translate, calls):
    """Compares calls from many threads with the same calls from one."""
    expected = [translate.hypotheses(*given, **options) for *given, options in calls]

    def work(k):
        order = random.Random(k).sample(range(len(calls)), len(calls))
        return [(i, translate.hypotheses(*calls[i][:2], **calls[i][2])) for i in order]

    for results in run_together([lambda k=k: work(k) for k in range(THREADS)]):
        for i, found in results:
            for some, others in zip(found, expected[i], strict=True):
                assert [(x.text, x.tokens) for x in some] == [(x.text, x.tokens) for x in others]
                scores = [None if x.score is None else pytest.approx(x.score) for x in others]
                assert [x.score for x in some] == scores


@pytest.mark.every_backend
def test_threads_get_their_own_translations(monkeypatch):
    monkeypatch.setattr(numpy_search, "_count_threads", lambda: 2)
    check_load(make_translate(batch_tokens=16), make_calls(10, OPTIONS))


@pytest.mark.slow
@pytest.mark.every_backend
@pytest.mark.parametrize("options", ({}, OPTIONS[2]), ids=("greedy", "beam"))
def test_threads_share_the_graph_of_the_backend(options):
    """The threads trace and run the search and the attention weights without a first call."""
    translate = make_translate(jit_compile=keras.config.backend() == "jax")
    calls = [["one two", "three four"], ["five one"]] * 2

    def call(sentences):
        return translate.hypotheses(sentences, return_attention=True, **options)

    together = run_together([lambda x=x: call(x) for x in calls])
    for found, sentences in zip(together, calls, strict=True):
        for some, others in zip(found, call(sentences), strict=True):
            assert [x.text for x in some] == [x.text for x in others]
            for name, weights in others[0].attention.items():
                np.testing.assert_allclose(some[0].attention[name], weights, atol=1e-5)


@pytest.fixture
def copies(monkeypatch):
    """The list of the copies of a model, each of which takes a while to make."""
    made = []

    def copy(model):
        time.sleep(0.05)
        made.append(NumpyTransformer(model))
        return made[-1]

    monkeypatch.setattr(numpy_copy, "numpy_model", copy)
    return made


def test_all_threads_see_changed_weights(copies):
    model = make_model(make_dataset())
    translate = make_translate(model)
    functions = [lambda: translate.hypotheses("one two")[0][0].score] * THREADS
    before = run_together(functions)
    assert len(set(before)) == 1 and len(copies) == 1
    bias = model.decoder.layers[0].feed_forward.outer.bias
    bias.assign(np.linspace(-3, 3, bias.shape[0]))
    after = run_together(functions)
    assert len(set(after)) == 1 and len(copies) == 2
    assert after[0] != pytest.approx(before[0], rel=1e-3)
    assert after[0] == pytest.approx(make_translate(model).hypotheses("one two")[0][0].score)


def test_overlapping_calls_restore_the_threads_of_blas(monkeypatch):
    monkeypatch.setattr(numpy_search, "_count_threads", lambda: 2)
    pools = numpy_search._thread_pools()  # libraries that are loaded later are not limited

    def blas_threads():
        return {x["num_threads"] for x in pools.info() if x["user_api"] == "blas"}

    def search(event):
        started.put(blas_threads())
        assert event.wait(60)

    def call(event):
        return list(numpy_search.search_in_threads(search, [event] * 2))

    started, first, second = queue.Queue(), threading.Event(), threading.Event()
    before = blas_threads()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(call, first)]
        # The first call begins and ends before the second.
        assert [started.get(timeout=60) for _ in "ab"] == [{1}, {1}]
        calls.append(pool.submit(call, second))
        assert started.get(timeout=60) == {1}
        first.set()
        calls[0].result()
        second.set()
        calls[1].result()
    assert blas_threads() == before
    if before != {1}:  # more than one core
        assert started.get(timeout=60) == before


def test_threads_load_runs_together(tmp_path):
    write_run(tmp_path)
    expected = make_translate()("one two three")
    found = run_together([lambda: Translate.from_run(tmp_path)("one two three")] * 2)
    assert found == 2 * [expected]


def test_streams_run_together_and_wait_for_their_consumers():
    translate, read = make_translate(), [0] * THREADS

    def sentences(k):
        for i in range(40):
            read[k] += 1
            yield " ".join(list(WORDS)[: 1 + (i + k) % 5])

    def work(k):
        texts = []
        for i, hypotheses in enumerate(translate.stream(sentences(k), window=4)):
            assert read[k] == 4 * (i // 4 + 1)
            texts.append(hypotheses[0].text)
        return texts

    found = run_together([lambda k=k: work(k) for k in range(THREADS)])
    assert found == [translate(list(sentences(k))) for k in range(THREADS)]


def test_an_event_loop_stays_responsive():
    translate = make_translate()
    sentences = [" ".join(random.choices(list(WORDS), k=4)) for _ in range(40)]
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    async def main():
        slots, ticking = asyncio.Semaphore(4), asyncio.create_task(tick())

        async def answer(sentence):
            async with slots:
                return await asyncio.to_thread(translate, sentence)

        found = await asyncio.gather(*map(answer, sentences))
        ticking.cancel()
        return found

    assert asyncio.run(main()) == translate(sentences)
    assert ticks > 4


@pytest.mark.parametrize("number", some_of({"100": 100, "6000": 6_000}, quick=["100"]))
@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_calls(number):
    translate = make_translate()

    def call(i):
        sentence = " ".join(list(WORDS)[: 1 + i % 5])
        translate.hypotheses(sentence, **{**OPTIONS[i % len(OPTIONS)], "seed": i})

    def memory_after(calls):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for _ in pool.map(call, calls):
                pass
        gc.collect()
        return tracemalloc.get_traced_memory()[0]  # of Python and NumPy

    memory_after(range(20))
    tracemalloc.start()
    before = memory_after(range(number // 4))
    growth = memory_after(range(number)) - before
    tracemalloc.stop()
    # NumPy keeps some 120 kB of small blocks for later arrays after 1,500 calls, however many
    # follow. One object per call, of 16 bytes at least, would be more than the limit for 6,000.
    assert growth < 80_000
