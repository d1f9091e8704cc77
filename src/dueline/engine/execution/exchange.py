"""What is asked of an HTTP executor, and what it answers."""

from enum import StrEnum
from typing import Any

import msgspec


class HttpFailure(StrEnum):
    """Why there is no response.

    After `invalid`, `dns`, `refused_address`, `connect`, `tls` and `withheld` the target has not seen the request; after
    any other it may have.
    """

    INVALID = "invalid"
    DNS = "dns"
    REFUSED_ADDRESS = "refused_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"
    CANCELLED = "cancelled"
    CLOSED = "closed"
    WITHHELD = "withheld"
    INTERNAL = "internal"


class CallOptions(msgspec.Struct, frozen=True):
    """What few calls ask for; None is the executor's own way.

    `keep` are names of response headers, in lower case. Without it the reply has few: `content-type` beside a
    body, and `location` (made absolute) and `retry-after` (in seconds) of a response that is not a success.
    """

    connect_timeout_ms: int | None = None
    keep: frozenset[str] | None = None
    verify: bool = True
    ca: bytes | None = None


USUAL = CallOptions()
LINE_BREAK = "\r\n"


class HttpCall(msgspec.Struct, frozen=True, gc=False):
    """One request. `key` is hashable and comes back with the reply; `timeout_ms` bounds the whole call, connect included.

    `headers` are ready-made `Name: value` lines in ASCII, as the target wishes them. `run_headers` are those about the run, joined by line
    breaks, and without any name that an HTTP client would look for: nobody looks through them again.
    """

    key: Any
    method: str
    url: str
    headers: tuple[str, ...]
    body: bytes | None
    timeout_ms: int
    options: CallOptions = USUAL
    run_headers: str = ""

    def header_lines(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.headers, *self.run_headers.split(LINE_BREAK)) if self.run_headers else self.headers


class HttpReply(msgspec.Struct, frozen=True, gc=False):
    """What became of one call: either `status` or `failure` is set, never both.

    `detail` is an account of a failure, libcurl's where it made the call. `retry_after` is that header of a response that is not a
    success: in seconds, also when it was a date, at most 6 h; 0 counts as absent. `body` is the first 64 KiB
    of what arrived, and `truncated` says that there was more.
    """

    key: Any
    status: int | None
    failure: HttpFailure | None
    detail: str
    retry_after: str | None
    body: bytes
    truncated: bool
    started_s: float
    finished_s: float
    headers: dict[str, str] = {}
