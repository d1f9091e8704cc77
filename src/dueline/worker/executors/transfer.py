"""One pooled libcurl handle: what goes into it for a call, and what its end means.

Every rule of an outgoing call that is a libcurl option or callback lives here; transfers.py drives the handles.
"""

import os
import re
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

import pycurl

from dueline.domain import limits
from dueline.engine.execution.exchange import USUAL, CallOptions, HttpCall, HttpFailure, HttpReply
from dueline.worker.executors.headers import clean_value, pick_headers
from dueline.worker.executors.hosts import Errand
from dueline.worker.executors.plain import PlainRequest
from dueline.worker.executors.sockets import Connections, Ends

REQUEST_BODY_HELD_BYTES = 64 * 1024
"""An idle handle lets go of a request body larger than this."""

BODY_WITHOUT_EXPECT_BYTES = 64 * 1024
"""libcurl asks with `Expect: 100-continue` before a body of more than 1 MiB; kept well below that."""

CONNECTION_IDLE_S_MAX = 1
"""A kept connection is used again only within this time. Servers drop idle connections after 2 s (gunicorn), 5 s
(Node.js, Apache, uvicorn) or more, and a call that crosses such a close on the wire fails: it is never sent twice."""


class NotSent(Exception):
    """The call cannot be made, and nothing of it was sent."""

    def __init__(self, detail: str, failure: HttpFailure = HttpFailure.INVALID) -> None:
        super().__init__(detail)
        self.detail = detail
        self.failure = failure


JudgeAddress = Callable[[str], str | None]
"""Says of an address that is about to be connected to why it must not be, or None."""

_FAILURES = {
    pycurl.E_UNSUPPORTED_PROTOCOL: HttpFailure.INVALID,
    pycurl.E_URL_MALFORMAT: HttpFailure.INVALID,
    pycurl.E_LOGIN_DENIED: HttpFailure.INVALID,
    pycurl.E_COULDNT_RESOLVE_HOST: HttpFailure.DNS,
    pycurl.E_COULDNT_CONNECT: HttpFailure.CONNECT,
    pycurl.E_SSL_CONNECT_ERROR: HttpFailure.TLS,
    pycurl.E_SSL_CIPHER: HttpFailure.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: HttpFailure.TLS,
    pycurl.E_SSL_CACERT_BADFILE: HttpFailure.TLS,
    pycurl.E_SSL_ISSUER_ERROR: HttpFailure.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: HttpFailure.TLS,
    pycurl.E_OPERATION_TIMEDOUT: HttpFailure.TIMEOUT,
    pycurl.E_FAILED_INIT: HttpFailure.INTERNAL,
    pycurl.E_WRITE_ERROR: HttpFailure.INTERNAL,
    pycurl.E_OUT_OF_MEMORY: HttpFailure.INTERNAL,
    pycurl.E_ABORTED_BY_CALLBACK: HttpFailure.INTERNAL,
    pycurl.E_BAD_FUNCTION_ARGUMENT: HttpFailure.INTERNAL,
    100: HttpFailure.TOO_LARGE,
}
"""By libcurl's code; any other is `protocol`. 100 is CURLE_TOO_LARGE, which pycurl does not name."""

_NEVER_ARRIVED = frozenset({HttpFailure.INVALID, HttpFailure.DNS, HttpFailure.CONNECT, HttpFailure.TLS})

_METHODS_USUAL = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_METHODS_REFUSED = frozenset({"CONNECT", "TRACE"})
_METHODS_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
"""Methods that say `Content-Length: 0` when they have no body (RFC 9110, section 8.6)."""
_METHOD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")

_DISALLOW_USERNAME_IN_URL = 278
"""CURLOPT_DISALLOW_USERNAME_IN_URL, which pycurl does not name."""


class Transfer:
    """A handle for one errand after the other. `errand` is the one that it is on, None while it is idle.

    A call's request is put on a connection at most once, whatever libcurl would like to do.
    """

    __slots__ = (
        "_address_refused",
        "_body",
        "_body_bytes",
        "_connect_timeout_ms",
        "_connection",
        "_connections",
        "_fresh",
        "_getinfo",
        "_getinfo_raw",
        "_headers_asked",
        "_headers_set",
        "_judge_address",
        "_lines",
        "_may_send",
        "_method",
        "_mode",
        "_opened",
        "_options",
        "_resend_refused",
        "_sent",
        "_setopt",
        "_stale",
        "_timeout_ms",
        "_url",
        "_withheld",
        "dials_for",
        "errand",
        "handle",
    )

    def __init__(
        self,
        *,
        connections: Connections,
        connect_timeout_ms: int,
        judge_address: JudgeAddress | None,
        may_send: Callable[[], bool],
        ca_file: str | None,
    ) -> None:
        self.handle = pycurl.Curl()
        self.errand: Errand | None = None
        self.dials_for: PlainRequest | None = None
        """The request for which it only opens a connection, if that is so."""
        # pycurl's attribute look-up is slow: these are looked up once.
        self._setopt = self.handle.setopt
        self._getinfo = self.handle.getinfo
        self._getinfo_raw = self.handle.getinfo_raw
        self._connections = connections
        self._judge_address = judge_address
        self._may_send = may_send
        self._url = ""
        self._headers_asked: tuple[tuple[str, ...], bool] | None = None
        self._headers_set: tuple[str, ...] = ()
        self._method: str | None = None
        self._mode = ""
        self._timeout_ms = 0
        self._fresh = False
        self._connect_timeout_ms = connect_timeout_ms
        self._options = USUAL
        self._lines: deque[bytes] = deque(maxlen=limits.RESPONSE_HEADERS_READ_MAX)
        self._begin()
        self._set_constants(connect_timeout_ms, ca_file)

    def _set_constants(self, connect_timeout_ms: int, ca_file: str | None) -> None:
        """What is the same for every call. Off by libcurl's own default, and left so: redirects, cookies, netrc,
        Alt-Svc, HSTS, Unix sockets, HTTP/0.9, and decompression."""
        setopt = self._setopt
        setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        setopt(_DISALLOW_USERNAME_IN_URL, 1)
        setopt(pycurl.PROXY, "")
        setopt(pycurl.NOPROXY, "*")
        setopt(pycurl.SSL_VERIFYPEER, 1)
        setopt(pycurl.SSL_VERIFYHOST, 2)
        if ca_file is not None:
            setopt(pycurl.CAINFO, ca_file)
            self.handle.unsetopt(pycurl.CAPATH)
        setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
        setopt(pycurl.MAXAGE_CONN, CONNECTION_IDLE_S_MAX)
        setopt(pycurl.CONNECTTIMEOUT_MS, connect_timeout_ms)
        setopt(pycurl.USERAGENT, "dueline")
        setopt(pycurl.TCP_NODELAY, 1)
        setopt(pycurl.NOSIGNAL, 1)
        setopt(pycurl.WRITEFUNCTION, self._on_body)
        setopt(pycurl.PREREQFUNCTION, self._on_request)
        setopt(pycurl.OPENSOCKETFUNCTION, self._on_open_socket)

    def _begin(self) -> None:
        self._connection: Ends | None = None
        self._stale = False
        self._sent = False
        self._withheld = False
        self._resend_refused = False
        self._address_refused: str | None = None
        self._opened = False
        self._body = b""
        self._body_bytes = 0

    def prepare(self, call: HttpCall, timeout_ms: int) -> None:
        """Set what differs from the call before. After an exception the handle is of no more use.

        `timeout_ms` is what is left of the time of the call.
        """
        if timeout_ms <= 0:
            raise NotSent("no time is left for the call", HttpFailure.TIMEOUT)
        self._begin()
        if self.dials_for is not None:
            self._setopt(pycurl.CONNECT_ONLY, 0)
            self.dials_for = None
        try:
            if call.url != self._url:
                self._setopt(pycurl.URL, call.url)
                self._url = call.url
            self._set_headers(call)
            self._set_request(call.method, call.body)
            if call.options is not self._options:
                self._set_options(call.options)
            if self._lines:
                self._lines.clear()
            if timeout_ms != self._timeout_ms:
                self._setopt(pycurl.TIMEOUT_MS, timeout_ms)
                self._timeout_ms = timeout_ms
        except (ValueError, OverflowError, pycurl.error) as error:
            raise NotSent(f"libcurl does not take it: {error}") from error
        if self._fresh:
            self._setopt(pycurl.FRESH_CONNECT, 0)
            self._fresh = False

    def prepare_to_dial(self, call: HttpCall, timeout_ms: int, request: PlainRequest) -> None:
        """The same, but for a connection to be opened and handed out by `take_connection`."""
        self.prepare(call, timeout_ms)
        self._setopt(pycurl.CONNECT_ONLY, 1)
        self._setopt(pycurl.FRESH_CONNECT, 1)
        self._fresh = True
        self.dials_for = request

    def take_connection(self) -> tuple[int, socket.socket]:
        """The connection that was opened, and the descriptor that libcurl has of it, and closes as the handle is removed."""
        fd = self._getinfo(pycurl.ACTIVESOCKET)
        return fd, socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, os.dup(fd))  # Not to be asked what it is.

    def _set_options(self, options: CallOptions) -> None:
        """libcurl shares no connection between calls that trust differently."""
        setopt = self._setopt
        setopt(pycurl.CONNECTTIMEOUT_MS, options.connect_timeout_ms or self._connect_timeout_ms)
        setopt(pycurl.SSL_VERIFYPEER, int(options.verify))
        setopt(pycurl.SSL_VERIFYHOST, 2 if options.verify else 0)
        setopt(pycurl.CAINFO_BLOB, options.ca)
        # A callback for every line: only for those who asked.
        setopt(pycurl.HEADERFUNCTION, self._lines.append if options.keep else None)
        self._options = options

    def _set_headers(self, call: HttpCall) -> None:
        """Those of the target are looked through again only when they are others. Those of the run are one line to libcurl, which sends it
        as it stands: to list, compare and print seven of them took about 1.3 µs more."""
        asked = (call.headers, call.body is not None and len(call.body) > BODY_WITHOUT_EXPECT_BYTES)
        if asked != self._headers_asked:
            self._headers_set = _header_lines(*asked)
            self._headers_asked = asked
        run_headers = (call.run_headers,) if call.run_headers else ()
        self._setopt(pycurl.HTTPHEADER, self._headers_set + run_headers)

    def _set_request(self, method: str, body: bytes | None) -> None:
        if method != self._method:
            if method not in _METHODS_USUAL and (method.upper() in _METHODS_REFUSED or not _METHOD.fullmatch(method)):
                raise NotSent(f"the method {method[:64]!r} is not allowed")
            self._setopt(pycurl.CUSTOMREQUEST, method)
            self._method = method
        if method == "HEAD":
            if body:
                raise NotSent("a HEAD request has no body")
            if self._mode != "head":
                self._setopt(pycurl.NOBODY, 1)
                self._mode = "head"
        elif body is not None or method in _METHODS_WITH_LENGTH:
            if self._mode == "head":
                self._setopt(pycurl.NOBODY, 0)
            self._setopt(pycurl.POSTFIELDS, body or b"")
            self._mode = "body"
        elif self._mode != "bare":
            self._setopt(pycurl.HTTPGET, 1)
            self._mode = "bare"

    def _on_request(self, remote_ip: str, local_ip: str, remote_port: int, local_port: int) -> int:
        """libcurl asks this each time before it puts the request on a connection: the one place that every send, and
        every resend for whatever reason, must pass.

        libcurl looks at most once a second whether a kept connection is still open. Here is the look before each use:
        on a connection that the peer has ended nothing is sent, and the call may start over on a fresh one.
        """
        if self.dials_for is not None:
            return pycurl.PREREQFUNC_OK  # Nothing is sent.
        if self._sent:
            self._resend_refused = True
            return pycurl.PREREQFUNC_ABORT
        if not self._may_send():
            self._withheld = True
            return pycurl.PREREQFUNC_ABORT
        self._connection = (remote_ip, local_ip, remote_port, local_port)
        if self._connections.hung_up and not self._fresh and self._connections.is_hung_up(self._connection):
            self._stale = True
            return pycurl.PREREQFUNC_ABORT
        self._sent = True
        return pycurl.PREREQFUNC_OK

    def _on_body(self, chunk: bytes) -> int | None:
        had_bytes = self._body_bytes
        self._body_bytes = had_bytes + len(chunk)
        if had_bytes < limits.RESPONSE_KEPT_BYTES:
            self._body += chunk[: limits.RESPONSE_KEPT_BYTES - had_bytes]
        return None if self._body_bytes <= limits.RESPONSE_READ_BYTES else 0

    def _on_open_socket(self, _purpose: int, address: Any) -> int:
        """libcurl asks this for the socket of every connection, with the very address that it connects to next: one
        that is refused gets none, whatever name or notation led to it."""
        family, kind, protocol, place = address
        ip = place[0] if family in (socket.AF_INET, socket.AF_INET6) else ""
        try:
            refused = self._judge_address(ip) if self._judge_address is not None else None
        except Exception as error:  # reason: a check that breaks must not let a connection through.
            refused = f"{ip} could not be checked: {error!r}"
        if refused is not None:
            self._address_refused = refused
            return pycurl.SOCKET_BAD
        self._opened = True
        try:
            return socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol).detach()
        except OSError:
            return pycurl.SOCKET_BAD

    def start_over(self, code: int) -> bool:
        """Whether the call ended unsent for a reason that is not its own; if so, the handle is set up to be added anew.

        Such a call met a connection that had ended, or it waited for a place: libcurl counts that wait as connecting.
        """
        elapsed_ms = int(self._getinfo(pycurl.TOTAL_TIME) * 1000)
        if self._stale:
            self._stale = False
            self._fresh = True
            self._setopt(pycurl.FRESH_CONNECT, 1)
        else:
            waited = code == pycurl.E_OPERATION_TIMEDOUT and not self._sent and self._getinfo(pycurl.CONN_ID) < 0
            if not waited or elapsed_ms >= self._timeout_ms:
                return False
        self._timeout_ms = max(1, self._timeout_ms - elapsed_ms)
        self._setopt(pycurl.TIMEOUT_MS, self._timeout_ms)
        return True

    def end(self, errand: Errand, code: int, words: str, finished_s: float) -> HttpReply:
        """The reply to a call that libcurl ended with `code` and `words`; to be taken while the handle is added."""
        call, since_s = errand.call, errand.since_s
        if self._opened and self._connection is not None:
            self._connections.learn(self._connection, self._getinfo(pycurl.ACTIVESOCKET))
        if call.body is not None and len(call.body) > REQUEST_BODY_HELD_BYTES:
            self._setopt(pycurl.POSTFIELDS, b"")
        truncated = self._body_bytes > limits.RESPONSE_KEPT_BYTES
        if code == pycurl.E_OK or self._body_bytes > limits.RESPONSE_READ_BYTES:
            status: int = self._getinfo(pycurl.RESPONSE_CODE)
            wait_s = self._getinfo(pycurl.RETRY_AFTER) if status >= 300 else 0
            retry_after = str(wait_s) if wait_s else None
            headers = self._headers(status, retry_after)
            body = self._body
            return HttpReply(call.key, status, None, "", retry_after, body, truncated, since_s, finished_s, headers)
        failure, detail = self._explain(code, words)
        return HttpReply(call.key, None, failure, detail, None, self._body, truncated, since_s, finished_s)

    def is_shared(self) -> bool:
        """Whether the connection carries several calls at a time."""
        return bool(self._getinfo(pycurl.INFO_HTTP_VERSION) == pycurl.CURL_HTTP_VERSION_2_0)

    def _headers(self, status: int, retry_after: str | None) -> dict[str, str]:
        keep = self._options.keep
        if keep is not None:
            return pick_headers(self._lines, keep)
        headers = {}
        if self._body and (content_type := self._getinfo_raw(pycurl.CONTENT_TYPE)):
            headers["content-type"] = clean_value(content_type)
        if status >= 300 and (location := self._getinfo_raw(pycurl.REDIRECT_URL)):
            headers["location"] = clean_value(location)
        if retry_after is not None:
            headers["retry-after"] = retry_after
        return headers

    def _explain(self, code: int, words: str) -> tuple[HttpFailure, str]:
        if self._resend_refused:
            return HttpFailure.PROTOCOL, "the connection ended before a response; the request was not sent again"
        if self._withheld:
            return HttpFailure.WITHHELD, ""
        failure = _FAILURES.get(code, HttpFailure.PROTOCOL)
        detail = words.encode(errors="replace").decode() or pycurl.easy_strerror(code)
        if self._sent:
            # With a code of the time before the request, libcurl was on its way to send again.
            return (HttpFailure.PROTOCOL if failure in _NEVER_ARRIVED else failure), detail
        if self._address_refused is not None and failure is HttpFailure.CONNECT:
            if not self._opened:
                return HttpFailure.REFUSED_ADDRESS, self._address_refused
            # The name has several addresses. Those that may be called can be there again at the next attempt.
            detail = f"{detail}; {self._address_refused}"
        if failure is HttpFailure.TIMEOUT and self._getinfo(pycurl.TOTAL_TIME) * 1000 < self._timeout_ms:
            return (HttpFailure.CONNECT if self._getinfo(pycurl.NAMELOOKUP_TIME) else HttpFailure.DNS), detail
        return failure, detail


def _header_lines(lines: tuple[str, ...], is_large: bool) -> tuple[str, ...]:
    """The lines to hand to libcurl. A call must not state its own length: it could write into the next request on the
    connection that it shares. A line without a value keeps libcurl from adding that header by itself."""
    if lines and min(lines) < "!":
        raise NotSent("a header line starts with its name")
    text = "\x1f" + "\x1f".join(lines).lower()
    if "\n" in text or "\r" in text or "\0" in text:
        raise NotSent("a header line has no line breaks")
    if "\x1fcontent-length" in text or "\x1ftransfer-encoding" in text:
        raise NotSent("the length of the body is not for the headers to state")
    if "\x1fcontent-type:" not in text:
        lines += ("Content-Type:",)
    return (*lines, "Expect:") if is_large else lines
