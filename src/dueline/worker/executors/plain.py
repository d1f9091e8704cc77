"""HTTP/1.1 as bytes, for calls over plain connections: a usual request, and the responses to such."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from httptools import HttpParserError, HttpResponseParser

from dueline.domain import limits
from dueline.engine.execution.exchange import LINE_BREAK, HttpCall
from dueline.worker.executors.headers import absolute, clean_value, pick_headers, retry_after_s

BODY_BYTES_MAX = 64 * 1024
"""A longer body is for libcurl to send, which listens while it does."""

HEAD_BYTES_MAX = 300 * 1024
HEADERS_MAX = 5_000
"""As libcurl has it."""

PLACES_KEPT = 4_096
HEADERS_KEPT = 1_024

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_METHODS_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
_URL = re.compile(
    r"http://(?P<authority>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?(?!:80/)(?::[1-9][0-9]{0,4})?)"
    r"(?P<path>/[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)"
)
_DOTS = re.compile(r"/(?:\.|%2e)", re.IGNORECASE)
"""Parts of a path that may have to be resolved."""
_HEADER = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+): ?[!-~](?:[\t -~]*[!-~])?")
_OWN = {"user-agent": "User-Agent: dueline", "accept": "Accept: */*"}
"""What every request says unless its headers do."""
_HEADERS_LEFT = frozenset({"connection", "expect", "host", "keep-alive", "te", "trailer", "upgrade"}) | {
    "content-length",
    "http2-settings",
    "proxy-connection",
    "transfer-encoding",
}
"""Headers about the connection or the message itself: libcurl knows which of them may be sent."""

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class PlainRequest(msgspec.Struct, frozen=True, gc=False):
    authority: str
    """Where it goes: host, and port if that is not 80."""
    wire: bytes


def plain_request(call: HttpCall) -> PlainRequest | None:
    """The whole of it, as it goes over the connection; None for whatever is not usual: libcurl knows what to do about it."""
    method, body = call.method, call.body
    place, headers = _place(call.url), _header_text(call.headers)
    if place is None or headers is None or method not in _METHODS or (body is not None and len(body) > BODY_BYTES_MAX):
        return None
    authority, path = place
    run_headers = call.run_headers + LINE_BREAK if call.run_headers else ""
    length = len(body) if body is not None else 0
    stated = f"Content-Length: {length}\r\n" if body is not None or method in _METHODS_WITH_LENGTH else ""
    head = f"{method} {path} HTTP/1.1\r\nHost: {authority}\r\n{headers}{run_headers}{stated}\r\n".encode("ascii")
    return PlainRequest(authority, head + body if body else head)


@lru_cache(maxsize=PLACES_KEPT)
def _place(url: str) -> tuple[str, str] | None:
    """The authority and the path of a URL that is written as it will be sent."""
    found = _URL.fullmatch(url)
    return None if found is None or _DOTS.search(found["path"]) else (found["authority"], found["path"])


@lru_cache(maxsize=HEADERS_KEPT)
def _header_text(lines: tuple[str, ...]) -> str | None:
    found = [_HEADER.fullmatch(line) for line in lines]
    names = {each["name"].lower() for each in found if each is not None}
    if None in found or names & _HEADERS_LEFT:
        return None
    own = (line for name, line in _OWN.items() if name not in names)
    return "".join(line + LINE_BREAK for line in (*own, *lines))


class ResponseTooLarge(Exception):
    """More headers than anybody reads."""


class Responses:
    """Reads the responses that come over one connection; `begin` before each.

    What servers get wrong and browsers forgive is forgiven, as long as there is no doubt where the response ends.
    """

    __slots__ = (
        "_fields",
        "_head_bytes",
        "_parser",
        "body",
        "body_bytes",
        "has_more",
        "is_complete",
        "is_last",
        "status",
    )

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.begin()

    def begin(self) -> None:
        self.status = 0
        """That of the response, not of what may be told before it (100, 103)."""
        self.body = b""
        """As much of it as is kept."""
        self.body_bytes = 0
        self.is_complete = False
        self.is_last = False
        """Whether nothing more may be sent over the connection."""
        self.has_more = False
        """Whether something came after the response, for which nobody asked."""
        self._fields: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0

    def feed(self, data: bytes) -> None:
        """Raises `HttpParserError` for what is no HTTP, and `ResponseTooLarge`."""
        try:
            self._parser.feed_data(data)
        except HttpParserError:
            if not self.is_complete:
                raise
            self.has_more = True
        if not self.status:
            self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES_MAX or len(self._fields) > HEADERS_MAX:
            raise ResponseTooLarge

    @property
    def is_reusable(self) -> bool:
        """Whether another request may be sent over the connection."""
        return (
            self.is_complete
            and not self.is_last
            and not self.has_more
            and self.body_bytes <= limits.RESPONSE_READ_BYTES
        )

    def close(self) -> None:
        """Its parser knows it: without this only the collector of garbage would find the two."""
        del self._parser

    def ends_with_connection(self) -> bool:
        """Whether the end of the connection is that of the response."""
        return bool(self.status) and not any(name.lower() in _FRAMING for name, _ in self._fields)

    def told(self, url: str) -> tuple[dict[str, str], str | None]:
        """The headers that are kept unasked, and for how many seconds the target wants to be left alone."""
        headers: dict[str, str] = {}
        if not self.body and self.status < 300:
            return headers, None
        wait = date = b""
        for name, value in self._fields:
            match name.lower():
                case b"content-type" if self.body:
                    headers["content-type"] = clean_value(value)
                case b"location" if 300 <= self.status < 400:
                    headers["location"] = absolute(value, url)
                case b"retry-after" if self.status >= 300:
                    wait = value
                case b"date":
                    date = value
        if not wait or not (wait_s := retry_after_s(wait, date)):
            return headers, None
        headers["retry-after"] = str(wait_s)
        return headers, headers["retry-after"]

    def picked(self, names: frozenset[str]) -> dict[str, str]:
        return pick_headers((b"%b:%b" % field for field in self._fields), names)

    # What the parser tells.

    def on_message_begin(self) -> None:
        if self.status:
            self.has_more = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:  # After the body come others, which nobody reads.
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.is_complete:
            return
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
        else:
            self._fields.clear()

    def on_body(self, chunk: bytes) -> None:
        if self.is_complete:
            return
        had_bytes = self.body_bytes
        self.body_bytes = had_bytes + len(chunk)
        if had_bytes < limits.RESPONSE_KEPT_BYTES:
            self.body += chunk[: limits.RESPONSE_KEPT_BYTES - had_bytes]

    def on_message_complete(self) -> None:
        if self.status and not self.is_complete:
            self.is_complete = True
            self.is_last = not self._parser.should_keep_alive()
