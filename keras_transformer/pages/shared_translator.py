"""A translator that many ask at once."""

import concurrent.futures
import logging
import threading
from collections import deque
from http import HTTPStatus
from typing import Any, NamedTuple

from keras_transformer._utils.checks import check_positive, check_sizes
from keras_transformer.data.tokenizers import encode_source
from keras_transformer.inference.options import SearchOptions
from keras_transformer.inference.sentences import check_length
from keras_transformer.pages.attention_page import make_attention_page, translation_views

MAX_DRAWN_TOKENS = 128  # the page of attention grows with their square
_KEPT = 256  # sentences whose translations are remembered: their attention needs no search
_log = logging.getLogger(__name__)


class Refusal(Exception):
    """What cannot be answered: a status of HTTP and the reason in words."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class SharedTranslator:
    """A translator that many threads ask at once.

    One thread alone uses the model. It translates together the sentences that are waiting, and
    draws the attention of one translation in between.

    Args:
        translate: a `Translate`.
        batch_size: how many sentences are translated together at most.
        room: how many requests may wait; more are refused.
        gathering: seconds to wait for others who ask at the same moment.
        timeout: seconds after which who waits is refused.
        **options: see `SearchOptions`.

    Raises:
        ValueError: if an option is out of range.
    """

    def __init__(self, translate, batch_size=32, room=128, gathering=0.005, timeout=60, **options):
        check_sizes(batch_size=batch_size, room=room)
        check_positive(gathering=gathering, timeout=timeout)
        SearchOptions(**options)
        self.translate, self.options = translate, options
        self.batch_size, self.room = batch_size, room
        self.gathering, self.timeout = gathering, timeout
        self._sentences, self._pictures = deque(), deque()
        self._changed, self._closed = threading.Condition(), False
        self._kept = {}
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def check(self, sentence):
        """Refuses a sentence that cannot be translated."""
        try:
            sentence.encode("utf-8")
            words = len(encode_source(self.translate.source_tokenizer, sentence)) - 1
            check_length(1, words)
        except UnicodeEncodeError:
            reason = "The sentence must be text. Received: half a character"
            raise Refusal(HTTPStatus.BAD_REQUEST, reason) from None
        except ValueError as error:
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        if not words:
            reason = f"Type a sentence: there are no words. Received: {sentence[:40]!r}"
            raise Refusal(HTTPStatus.BAD_REQUEST, reason)

    def hypotheses(self, sentence):
        """The translations of a sentence: see `Translate.hypotheses`.

        Raises:
            Refusal: if it cannot be translated, or not now.
        """
        return self._ask(self._sentences, sentence)

    def attention_page(self, sentence, index):
        """The page of what is attended to in translation `index` of a sentence, as text.

        Raises:
            Refusal: likewise, or if there is no such translation or it is too long to be drawn.
        """
        return self._ask(self._pictures, sentence, index)

    def close(self):
        """Ends the thread after what it is doing. Who waits is refused."""
        with self._changed:
            self._closed = True
            for request in (*_take(self._sentences, self.room), *_take(self._pictures, self.room)):
                if request.future.set_running_or_notify_cancel():
                    request.future.set_exception(_stopping())
            self._changed.notify_all()
        self._thread.join(timeout=5)

    def _ask(self, waiting, sentence, index=None):
        self.check(sentence)
        request = _Request(sentence, index, concurrent.futures.Future())
        with self._changed:
            if self._closed:
                raise _stopping()
            if len(self._sentences) + len(self._pictures) >= self.room:
                reason = f"Too many are waiting, try again. Received: {self.room} requests before"
                raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason)
            waiting.append(request)
            self._changed.notify_all()
        concurrent.futures.wait([request.future], self.timeout)
        if not request.future.done():
            request.future.cancel()
            reason = f"It takes too long, try again. Received: nothing in {self.timeout} seconds"
            raise Refusal(HTTPStatus.GATEWAY_TIMEOUT, reason)
        return request.future.result()

    # What follows runs in the thread that uses the model.

    def _work(self):
        while batch := self._next_batch():
            self._answer([x for x in batch if x.future.set_running_or_notify_cancel()])

    def _next_batch(self):
        """What is to be answered now: the sentences, then one picture. Nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._sentences or self._pictures)
            self._changed.wait_for(
                lambda: self._closed or len(self._sentences) >= self.batch_size, self.gathering
            )
            if self._closed:
                return []
            return [*_take(self._sentences, self.batch_size), *_take(self._pictures, 1)]

    def _answer(self, batch):
        found = self._find(list(dict.fromkeys(request.sentence for request in batch)))
        for request in batch:
            try:
                request.future.set_result(self._result(request, found[request.sentence]))
            except Exception as error:
                request.future.set_exception(error)

    def _find(self, sentences):
        """The hypotheses of each sentence, or why there are none."""
        found = self._translate([x for x in sentences if x not in self._kept])
        found |= {x: self._kept[x] for x in sentences if x in self._kept}
        self._kept |= {x: y for x, y in found.items() if not isinstance(y, Refusal)}
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]  # the oldest
        return found

    def _translate(self, sentences):
        try:
            found = self.translate.hypotheses(sentences, **self.options) if sentences else []
            return dict(zip(sentences, found, strict=True))
        except Exception:
            if len(sentences) > 1:  # one may have spoiled it for the others
                return {x: y for one in sentences for x, y in self._translate([one]).items()}
            return {sentences[0]: failure()}

    def _result(self, request, found):
        if isinstance(found, Refusal):
            raise found
        if request.index is None:
            return found
        if request.index >= len(found):
            reason = f"There are {len(found)} translations. Received: index={request.index}"
            raise Refusal(HTTPStatus.BAD_REQUEST, reason)
        return self._draw(found[request.index])

    def _draw(self, hypothesis):
        longest = max(len(hypothesis.source_tokens), len(hypothesis.tokens))
        if longest > MAX_DRAWN_TOKENS:
            reason = (
                f"Attention is drawn for at most {MAX_DRAWN_TOKENS} tokens: shorten the sentence. "
                f"Received: {longest} tokens"
            )
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        try:
            # First what the translation reads of the sentence. The page around has a title.
            views = translation_views(self.translate, hypothesis)[::-1]
            return make_attention_page(views, title="")
        except Exception:
            raise failure() from None


class _Request(NamedTuple):
    """A sentence that somebody waits for, or the attention of translation `index` of it."""

    sentence: str
    index: Any
    future: concurrent.futures.Future


def _take(waiting, count):
    return [waiting.popleft() for _ in range(min(count, len(waiting)))]


def failure():
    """What to say of an exception that nobody expected. The terminal says the rest."""
    _log.exception("Translating failed.")
    reason = "Translating failed: the terminal of the server says why. Received: an error"
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, reason)


def _stopping():
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The server is stopping. Received: Ctrl-C")
