"""A translator that batches concurrent requests."""

import concurrent.futures
import logging
import threading
from collections import deque
from http import HTTPStatus
from typing import Any, NamedTuple

from keras_transformer._utils.checks import check_positive, check_sizes
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.sentences import check_token_count
from keras_transformer.pages.attention_page import make_attention_page, translation_views

MAX_DRAWN_TOKENS = 128  # the size of the attention page grows with the square of this number
_CACHE_SIZE = 256  # sentences whose hypotheses are cached, so that attention needs no new search
_log = logging.getLogger(__name__)


class RequestError(Exception):
    """An error to report to the client.

    Args:
        status: an `http.HTTPStatus`.
        reason: the message.
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class SharedTranslator:
    """A translator that collects the requests of many threads into batches.

    `Translate` itself is safe to call from many threads, but translates several times as many
    sentences per second in batches. So one worker thread translates all waiting sentences together
    and computes the attention page of one translation between two batches.

    Args:
        translate: a `Translate`.
        batch_size: maximum number of sentences in a batch.
        queue_size: maximum number of waiting requests; further requests are rejected.
        batch_delay: seconds to wait for more sentences before starting a batch.
        timeout: seconds after which a waiting request fails.
        **options: see `SearchOptions`.

    Raises:
        ValueError: if an option is out of range.
    """

    def __init__(
        self, translate, batch_size=32, queue_size=128, batch_delay=0.005, timeout=60, **options
    ):
        check_sizes(batch_size=batch_size, queue_size=queue_size)
        check_positive(batch_delay=batch_delay, timeout=timeout)
        SearchOptions(**options)
        self.translate, self.options = translate, options
        self.batch_size, self.queue_size = batch_size, queue_size
        self.batch_delay, self.timeout = batch_delay, timeout
        self._translation_queue, self._attention_queue = deque(), deque()
        self._condition, self._closed = threading.Condition(), False
        self._cache = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def check(self, sentence):
        """Raises a `RequestError` if a sentence cannot be translated."""
        try:
            sentence.encode("utf-8")
            tokens = len(encode_source(self.translate.source_tokenizer, sentence)) - 1
            check_token_count(1, tokens)
        except UnicodeEncodeError:
            reason = "The sentence must be valid Unicode. Received: an unpaired surrogate"
            raise RequestError(HTTPStatus.BAD_REQUEST, reason) from None
        except ValueError as error:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        if not tokens:
            reason = f"Type a sentence: the text has no words. Received: {sentence[:40]!r}"
            raise RequestError(HTTPStatus.BAD_REQUEST, reason)

    def hypotheses(self, sentence):
        """Returns the hypotheses of a sentence, see `Translate.hypotheses`.

        Raises:
            RequestError: if the sentence cannot be translated, the queue is full or the request
                times out.
        """
        return self._submit(self._translation_queue, sentence)

    def attention_page(self, sentence, index):
        """Returns the HTML attention page of translation `index` of a sentence.

        Raises:
            RequestError: see `hypotheses`; also if `index` is out of range or the translation has
                more than `MAX_DRAWN_TOKENS` tokens.
        """
        return self._submit(self._attention_queue, sentence, index)

    def close(self):
        """Stops the worker thread after its current batch and rejects all waiting requests."""
        with self._condition:
            self._closed = True
            for queue in (self._translation_queue, self._attention_queue):
                for request in _pop(queue, self.queue_size):
                    if request.future.set_running_or_notify_cancel():
                        request.future.set_exception(_shutdown_error())
            self._condition.notify_all()
        self._thread.join(timeout=5)

    def _submit(self, queue, sentence, index=None):
        self.check(sentence)
        request = _Request(sentence, index, concurrent.futures.Future())
        with self._condition:
            if self._closed:
                raise _shutdown_error()
            if len(self._translation_queue) + len(self._attention_queue) >= self.queue_size:
                reason = (
                    "Too many requests are waiting: try again later. "
                    f"Received: {self.queue_size} waiting requests"
                )
                raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
            queue.append(request)
            self._condition.notify_all()
        concurrent.futures.wait([request.future], self.timeout)
        if not request.future.done():
            request.future.cancel()
            reason = (
                "The request timed out: try again later. "
                f"Received: no result within {self.timeout} seconds"
            )
            raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, reason)
        return request.future.result()

    # The methods below run in the worker thread.

    def _run(self):
        while batch := self._next_batch():
            self._process([x for x in batch if x.future.set_running_or_notify_cancel()])

    def _next_batch(self):
        """Waits for requests and returns a batch of sentences and at most one attention request.

        Returns an empty list once the translator is closed.
        """
        with self._condition:
            self._condition.wait_for(
                lambda: self._closed or self._translation_queue or self._attention_queue
            )
            self._condition.wait_for(
                lambda: self._closed or len(self._translation_queue) >= self.batch_size,
                self.batch_delay,
            )
            if self._closed:
                return []
            return [
                *_pop(self._translation_queue, self.batch_size),
                *_pop(self._attention_queue, 1),
            ]

    def _process(self, batch):
        found = self._find_hypotheses(list(dict.fromkeys(request.sentence for request in batch)))
        for request in batch:
            try:
                request.future.set_result(self._result(request, found[request.sentence]))
            except Exception as error:
                request.future.set_exception(error)

    def _find_hypotheses(self, sentences):
        """Returns a dictionary from each sentence to its hypotheses or a `RequestError`."""
        found = self._translate([x for x in sentences if x not in self._cache])
        found |= {x: self._cache[x] for x in sentences if x in self._cache}
        self._cache |= {x: y for x, y in found.items() if not isinstance(y, RequestError)}
        while len(self._cache) > _CACHE_SIZE:
            del self._cache[next(iter(self._cache))]  # the oldest entry
        return found

    def _translate(self, sentences):
        try:
            found = self.translate.hypotheses(sentences, **self.options) if sentences else []
            return dict(zip(sentences, found, strict=True))
        except Exception:
            if len(sentences) > 1:  # retries one by one, so that only the faulty sentence fails
                return {x: y for one in sentences for x, y in self._translate([one]).items()}
            return {sentences[0]: internal_error()}

    def _result(self, request, found):
        if isinstance(found, RequestError):
            raise found
        if request.index is None:
            return found
        if request.index >= len(found):
            reason = (
                f"`index` must be less than the number of translations, {len(found)}. "
                f"Received: index={request.index}"
            )
            raise RequestError(HTTPStatus.BAD_REQUEST, reason)
        return self._render_attention(found[request.index])

    def _render_attention(self, hypothesis):
        longest = max(len(hypothesis.source_tokens), len(hypothesis.tokens))
        if longest > MAX_DRAWN_TOKENS:
            reason = (
                f"Attention is shown for at most {MAX_DRAWN_TOKENS} tokens: shorten the sentence. "
                f"Received: {longest} tokens"
            )
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        try:
            # Cross-attention comes first. The title is empty because the outer page has one.
            views = translation_views(self.translate, hypothesis)[::-1]
            return make_attention_page(views, title="")
        except Exception:
            raise internal_error() from None


class _Request(NamedTuple):
    """A waiting request: for translations if `index` is None, else for an attention page."""

    sentence: str
    index: Any
    future: concurrent.futures.Future[Any]


def _pop(queue, count):
    return [queue.popleft() for _ in range(min(count, len(queue)))]


def internal_error():
    """Logs the current exception and returns a `RequestError` that does not reveal it."""
    _log.exception("Translation failed.")
    reason = "Translation failed: see the log of the server. Received: an error"
    return RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, reason)


def _shutdown_error():
    reason = "The server is shutting down. Received: a request during shutdown"
    return RequestError(HTTPStatus.SERVICE_UNAVAILABLE, reason)
