"""A local web server with a page that translates and shows attention weights."""

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
from typing import Any

from keras_transformer.inference.translate import Translate
from keras_transformer.pages.shared_translator import (
    RequestError,
    SharedTranslator,
    internal_error,
)

MAX_BYTES = 1 << 16  # maximum size of a request body
_MAX_DISCARDED = 1 << 23  # bytes that are read and ignored if a request body is too long
_IDLE_TIMEOUT = 30  # seconds after which an idle connection is closed
_NAME_PLACEHOLDER = "$name"  # in demo_page.html
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_log = logging.getLogger(__name__)


def serve(
    translate: Translate, host: str = "127.0.0.1", port: int = 8000, name: str = "", **options: Any
) -> None:
    """Serves a web page that translates sentences and shows the attention weights.

    Prints the address of the page and blocks until Ctrl-C, which raises `KeyboardInterrupt` after
    closing the server.

    Args:
        translate: a `Translate`.
        host: address to listen on. The default accepts connections from this machine only,
            `"0.0.0.0"` from the whole network.
        port: port to listen on; 0 picks a free port.
        name: name to show on the page, such as the folder of the run.
        **options: see `DemoServer`.

    Raises:
        OSError: if the address is in use or does not belong to this machine.
        ValueError: if an option is out of range.

    Example:
        serve(Translate.from_run("runs/english-german"), beam_size=4, n_best=4)
    """
    with DemoServer(translate, host, port, name, **options) as server:
        print(f"{server.address} (press Ctrl-C to stop)", flush=True)
        server.serve_forever()


class DemoServer(http.server.ThreadingHTTPServer):
    """The HTTP server of the demo page, for programs that start and stop it themselves.

    The methods are those of `socketserver`: `serve_forever`, `shutdown` and `server_close`. The
    server answers these requests, whose bodies are JSON:

        GET /            the page
        POST /translate  {"sentence": …} -> {"translations": [{"text": …, "score": …}, …]}
        POST /attention  {"sentence": …, "index": …} -> HTML page with the attention weights

    Errors have a 4xx or 5xx status and the body {"error": …}.

    Args:
        translate: a `Translate`.
        host: address to listen on.
        port: port to listen on; 0 picks a free port.
        name: name to show on the page.
        **options: search options, see `SearchOptions`, and options of the request queue:
            `batch_size`, the maximum number of sentences in a batch; `queue_size`, the maximum
            number of waiting requests; `batch_delay`, seconds to wait for more sentences before
            starting a batch; `timeout`, seconds after which a waiting request fails.
    """

    request_queue_size = 128  # connections that are not yet accepted

    server_address: Any  # (host, port), with two more numbers for IPv6

    def __init__(
        self,
        translate: Translate,
        host: str = "127.0.0.1",
        port: int = 8000,
        name: str = "",
        **options: Any,
    ) -> None:
        if not isinstance(port, int) or not 0 <= port < 1 << 16:
            raise ValueError(f"`port` must be an int from 0 to 65535. Received: port={port!r}")
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = found[0]
        address: Any = found[4]
        page = _read_page("demo_page.html")
        self.policy = _content_policy(page, _read_page("attention_page.html"))
        self.page = page.replace(_NAME_PLACEHOLDER, html.escape(name)).encode()
        self.translator = SharedTranslator(translate, **options)
        super().__init__(address, _Handler)  # calls `server_close` if it fails

    @property
    def address(self) -> str:
        """The URL of the page."""
        host, port = self.server_address[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def knows_host(self, name: str) -> bool:
        """Whether a Host header names this server.

        Rejecting other names prevents DNS rebinding, where a foreign website resolves its own name
        to 127.0.0.1 in order to read this server's answers.
        """
        host, port = self.server_address[:2]
        if not ipaddress.ip_address(host).is_loopback:
            return True
        hosts = {*_LOOPBACK, host}
        names = {f"{x}:{port}" for x in hosts}
        return name in (names | hosts if port == 80 else names)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # raised if the client disconnected
            _log.exception("A request failed.")

    def server_close(self) -> None:
        super().server_close()
        self.translator.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Handles one request in its own thread."""

    server_version, sys_version = "keras_transformer", ""
    timeout = _IDLE_TIMEOUT

    def do_GET(self):
        self._unread = self.headers.get("Content-Length", "0") != "0"
        try:
            self._send(HTTPStatus.OK, *self._respond())
        except RequestError as error:
            self.send_error(error.status, str(error))
        except (ConnectionError, TimeoutError):
            raise  # the client is gone, so there is nobody to answer
        except Exception:
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, str(internal_error()))

    do_POST = do_GET

    def send_error(self, code, message=None, explain=None):
        """Sends an error as JSON. The base class calls this method, too."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            code = HTTPStatus.METHOD_NOT_ALLOWED
            message = f"The method must be GET or POST. Received: {self.command}"
        body = json.dumps({"error": message or HTTPStatus(code).phrase}).encode()
        self._send(code, "application/json", body)
        if getattr(self, "_unread", True):
            self._discard()

    def log_message(self, format, *arguments):
        """Logs nothing, to keep the sentences of the users private."""

    def _respond(self):
        """Returns the content type and the body, bytes, of the response."""
        host = self.headers.get("Host", "")
        if not self.server.knows_host(host):
            reason = f"The Host header names another server. Received: Host {host!r}"
            raise RequestError(HTTPStatus.FORBIDDEN, reason)
        path = self.path.partition("?")[0]
        if path not in _ROUTES:
            raise RequestError(HTTPStatus.NOT_FOUND, f"Page not found. Received: {path!r}")
        method, respond = _ROUTES[path]
        if self.command != method:
            reason = f"{path} requires the method {method}. Received: {self.command}"
            raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, reason)
        return respond(self)

    def _page(self):
        return "text/html; charset=utf-8", self.server.page

    def _translations(self):
        found = self.server.translator.hypotheses(_get_sentence(self._read_json()))
        translations = [{"text": x.text, "score": x.score} for x in found]
        body = json.dumps({"translations": translations}, allow_nan=False)
        return "application/json", body.encode()

    def _attention(self):
        message = self._read_json()
        sentence, index = _get_sentence(message), message.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            reason = f"`index` must be the index of a translation. Received: {index!r:.40}"
            raise RequestError(HTTPStatus.BAD_REQUEST, reason)
        page = self.server.translator.attention_page(sentence, index)
        return "text/html; charset=utf-8", page.encode()

    def _read_json(self):
        """Returns the JSON object in the request body, a dictionary."""
        # Browsers send application/json across sites only after a CORS preflight request, which
        # this server never allows.
        kind, length = self.headers.get_content_type(), self.headers.get("Content-Length", "")
        if kind != "application/json":
            reason = f"The Content-Type must be application/json. Received: {kind}"
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason)
        if not (length.isascii() and length.isdecimal()):
            reason = f"The Content-Length must be a number of bytes. Received: {length!r:.40}"
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, reason)
        if len(length) > 9 or int(length) > MAX_BYTES:
            reason = (
                f"The text is too long: at most {MAX_BYTES:,} bytes. Received: {length:.20} bytes"
            )
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason)
        body, self._unread = self.rfile.read(int(length)), False
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(body.decode("utf-8"))
            if isinstance(message, dict):
                return message
        reason = f"The request body must be a JSON object in UTF-8. Received: {body[:40]!r}"
        raise RequestError(HTTPStatus.BAD_REQUEST, reason)

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
        """Reads and ignores the rest of the body: many clients send all of it before they read."""
        remaining = _MAX_DISCARDED
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            while remaining > 0 and (chunk := self.rfile.read1(MAX_BYTES)):
                remaining -= len(chunk)


_ROUTES = {
    "/": ("GET", _Handler._page),
    "/translate": ("POST", _Handler._translations),
    "/attention": ("POST", _Handler._attention),
}


def _get_sentence(message):
    sentence = message.get("sentence")
    if not isinstance(sentence, str):
        reason = f"`sentence` must be a string. Received: {sentence!r:.40}"
        raise RequestError(HTTPStatus.BAD_REQUEST, reason)
    return sentence


def _read_page(name):
    return resources.files("keras_transformer.pages").joinpath(name).read_text(encoding="utf-8")


def _content_policy(*pages):
    """Returns a Content-Security-Policy that allows only the scripts and styles of these pages."""

    def sources(element):
        found = [x for page in pages for x in re.findall(rf"<{element}>(.*?)</", page, re.DOTALL)]
        hashes = [base64.b64encode(hashlib.sha256(x.encode()).digest()).decode() for x in found]
        return " ".join(f"'sha256-{x}'" for x in hashes)

    return (
        f"default-src 'none'; script-src {sources('script')}; style-src {sources('style')}; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
