"""A translator as a page in the browser, served by this machine."""

import base64
import contextlib
import hashlib
import html
import http.server
import ipaddress
import json
import logging
import re
import socket
import sys
from http import HTTPStatus
from importlib import resources

from keras_transformer.pages.shared_translator import Refusal, SharedTranslator, failure

MAX_BYTES = 1 << 16  # of what is asked
_DISCARDED = 1 << 23  # bytes that are read, and not looked at, of what is too long
_SILENCE = 30  # seconds after which a connection that says nothing is closed
_NAME = "$name"  # where the page names the run
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_log = logging.getLogger(__name__)


def serve(translate, host="127.0.0.1", port=8000, name="", **options):
    """Serves a page on which one types a sentence and sees its translations and the attention.

        serve(Translate.from_run("runs/english-german"))

    It prints the page's address and never returns: Ctrl-C raises KeyboardInterrupt, after which
    nothing is left open.

    Args:
        translate: a `Translate`. Nobody else may use it meanwhile.
        host: the address to listen at. At the default only this machine is answered; at "0.0.0.0"
            everyone who can reach it.
        port: its port; 0 takes any free one.
        name: what the page says it translates with, such as the folder of the run.
        **options: see `SharedTranslator`.

    Raises:
        OSError: if the address is not this machine's or is in use.
        ValueError: if an option is out of range.
    """
    with DemoServer(translate, host, port, name, **options) as server:
        print(f"{server.address} (Ctrl-C ends it)", flush=True)
        server.serve_forever()


class DemoServer(http.server.ThreadingHTTPServer):
    """The server of the page, for programs that start and stop it themselves.

    It is a `socketserver` server: `serve_forever`, `shutdown`, `server_close`. It answers

        GET /            the page
        POST /translate  {"sentence": …} -> {"translations": [{"text": …, "score": …}, …]}
        POST /attention  {"sentence": …, "index": …} -> the page of one translation's attention

    with JSON in the requests, and {"error": …} with a status from 400 on for what cannot be.

    Args:
        translate, host, port, name, **options: see `serve`.
    """

    request_queue_size = 128  # connections that have not been looked at

    def __init__(self, translate, host="127.0.0.1", port=8000, name="", **options):
        if not isinstance(port, int) or not 0 <= port < 1 << 16:
            raise ValueError(f"`port` must be an int from 0 to 65535. Received: port={port!r}")
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family, address = found[0], found[4]
        page = _read_page("demo_page.html")
        self.policy = _content_policy(page, _read_page("attention_page.html"))
        self.page = page.replace(_NAME, html.escape(name)).encode()
        self.translator = SharedTranslator(translate, **options)
        super().__init__(address, _Handler)  # closes what is open if it fails

    @property
    def address(self):
        """The address of the page."""
        host, port = self.server_address[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def knows_host(self, name):
        """Whether a browser that asks for this host means this server.

        Any page of the internet may let its own name lead to 127.0.0.1 and then ask in that name.
        """
        host, port = self.server_address[:2]
        if not ipaddress.ip_address(host).is_loopback:
            return True
        hosts = {*_LOOPBACK, host}
        names = {f"{known}:{port}" for known in hosts}
        return name in (names | hosts if port == 80 else names)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # who asked is gone
            _log.exception("A request could not be answered.")

    def server_close(self):
        super().server_close()
        self.translator.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request, in a thread of its own."""

    server_version, sys_version = "keras_transformer", ""
    timeout = _SILENCE

    def do_GET(self):
        self._unread = self.headers.get("Content-Length", "0") != "0"
        try:
            self._send(HTTPStatus.OK, *self._reply())
        except Refusal as refusal:
            self.send_error(refusal.status, str(refusal))
        except (ConnectionError, TimeoutError):
            raise  # there is nobody to hear it
        except Exception:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, str(failure()))

    do_POST = do_GET

    def send_error(self, code, message=None, explain=None):
        """Says it in JSON; it is asked by the base class as well."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code, message = HTTPStatus.METHOD_NOT_ALLOWED, f"Unknown. Received: {self.command}"
        body = json.dumps({"error": message or HTTPStatus(code).phrase}).encode()
        self._send(code, "application/json", body)
        if getattr(self, "_unread", True):
            self._discard()

    def log_message(self, format, *arguments):
        """Says nothing: what one types is nobody else's business."""

    def _reply(self):
        """The type and the bytes of the answer."""
        host = self.headers.get("Host", "")
        if not self.server.knows_host(host):
            raise Refusal(HTTPStatus.FORBIDDEN, f"This is another server. Received: Host {host!r}")
        path = self.path.partition("?")[0]
        if path not in _ANSWERS:
            raise Refusal(HTTPStatus.NOT_FOUND, f"There is no such page. Received: {path!r}")
        method, answer = _ANSWERS[path]
        if self.command != method:
            reason = f"{path} is asked for with {method}. Received: {self.command}"
            raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, reason)
        return answer(self)

    def _page(self):
        return "text/html; charset=utf-8", self.server.page

    def _translations(self):
        found = self.server.translator.hypotheses(_sentence_of(self._read_message()))
        translations = [{"text": x.text, "score": x.score} for x in found]
        body = json.dumps({"translations": translations}, allow_nan=False)
        return "application/json", body.encode()

    def _attention(self):
        message = self._read_message()
        sentence, index = _sentence_of(message), message.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            reason = f"Give the `index` of a translation, from 0 on. Received: {index!r:.40}"
            raise Refusal(HTTPStatus.BAD_REQUEST, reason)
        page = self.server.translator.attention_page(sentence, index)
        return "text/html; charset=utf-8", page.encode()

    def _read_message(self):
        """The JSON object that was sent."""
        # A page of another site cannot say so without asking first, and nobody allows it.
        kind, length = self.headers.get_content_type(), self.headers.get("Content-Length", "")
        if kind != "application/json":
            reason = f"Send JSON, as application/json. Received: {kind}"
            raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
        if not (length.isascii() and length.isdecimal()):
            reason = f"Say the Content-Length. Received: {length!r:.40}"
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, reason)
        if len(length) > 9 or int(length) > MAX_BYTES:
            reason = f"That is too long: at most {MAX_BYTES:,} bytes. Received: {length:.20} bytes"
            raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        body, self._unread = self.rfile.read(int(length)), False
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(body.decode("utf-8"))
            if isinstance(message, dict):
                return message
        reason = f"Send a JSON object in UTF-8. Received: {body[:40]!r}"
        raise Refusal(HTTPStatus.BAD_REQUEST, reason)

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _discard(self):
        """Reads what is still being sent: many hear no answer before they have sent all."""
        left = _DISCARDED
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            while left > 0 and (some := self.rfile.read1(MAX_BYTES)):
                left -= len(some)


_ANSWERS = {
    "/": ("GET", _Handler._page),
    "/translate": ("POST", _Handler._translations),
    "/attention": ("POST", _Handler._attention),
}


def _sentence_of(message):
    sentence = message.get("sentence")
    if not isinstance(sentence, str):
        reason = f"Give a `sentence`, a text. Received: {sentence!r:.40}"
        raise Refusal(HTTPStatus.BAD_REQUEST, reason)
    return sentence


def _read_page(name):
    return resources.files("keras_transformer.pages").joinpath(name).read_text(encoding="utf-8")


def _content_policy(*pages):
    """Allows the scripts and styles that these pages hold, and none that got into them later."""

    def sources(element):
        found = [x for page in pages for x in re.findall(rf"<{element}>(.*?)</", page, re.DOTALL)]
        hashes = [base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in found]
        return " ".join(f"'sha256-{x}'" for x in hashes)

    return (
        f"default-src 'none'; script-src {sources('script')}; style-src {sources('style')}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
