"""What a run calls, as people write it. Whatever no client may send is refused here, before it is stored."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.job import HttpTarget
from dueline.domain.urls import url_problem
from dueline.wire.labels import CONTROL
from dueline.wire.problems import Problems
from dueline.wire.reading import encode

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")
_METHODS_REFUSED = frozenset({"CONNECT", "TRACE"})
_HEADERS_REFUSED = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "idempotency-key",
    }
)
"""What belongs to the connection or to the run: Dueline sets it, and `Dueline-…` too."""
_HEADER_PREFIX_REFUSED = "dueline-"


class HttpTargetForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An HTTP call. A body that is text is sent as it stands, anything else as JSON; null is no body."""

    url: str | UnsetType
    type: Literal["http"] = "http"
    method: str = "POST"
    headers: dict[str, str] = {}
    body: Any = None


TargetForm = HttpTargetForm


def to_target(form: TargetForm | UnsetType, problems: Problems, *, payload_bytes_max: int) -> HttpTarget:
    """The target of a form; problems are told as `target.…`."""
    if form is UNSET:
        return HttpTarget(url="")
    url = "" if form.url is UNSET else form.url
    if form.url is not UNSET and (reason := url_problem(url)):
        problems.add("target.url", reason)
    if form.headers:
        _check_headers(form.headers, problems)
    if form.body is not None and (reason := payload_problem(form.body, payload_bytes_max=payload_bytes_max)):
        problems.add("target.body", reason)
    return HttpTarget(url=url, method=_read_method(form.method, problems), headers=form.headers, body=form.body)


def target_form(target: HttpTarget) -> HttpTargetForm:
    return HttpTargetForm(url=target.url, method=target.method, headers=target.headers, body=target.body)


def payload_problem(payload: Any, *, payload_bytes_max: int) -> str | None:
    """Why a payload cannot be kept and sent, or None."""
    try:
        encoded = payload.encode() if isinstance(payload, str) else encode(payload)
    except (UnicodeEncodeError, RecursionError):
        return "must be UTF-8 text, and not nested too deeply"
    if len(encoded) > payload_bytes_max:
        return f"is {len(encoded)} bytes long, and may be {payload_bytes_max}: send larger payloads by reference"
    # A text holds a NUL as it is, JSON holds it escaped; a backslash before the escape makes it six innocent letters.
    if b"\0" in encoded or (b"\\u0000" in encoded and _holds_nul(payload)):
        return "must not hold NUL characters"
    if encoded.count(b"[") + encoded.count(b"{") > limits.JSON_DEPTH_MAX and _depth(payload) > limits.JSON_DEPTH_MAX:
        return f"must not be nested more than {limits.JSON_DEPTH_MAX} levels deep"
    return None


def _read_method(method: str, problems: Problems) -> str:
    if method == "POST":
        return method
    if not _TOKEN.fullmatch(method) or len(method) > limits.METHOD_LETTERS_MAX:
        problems.add("target.method", "must be an HTTP method such as POST")
    elif method.upper() in _METHODS_REFUSED:
        problems.add("target.method", f"{method.upper()} is not for targets")
    return method.upper()


def _check_headers(headers: dict[str, str], problems: Problems) -> None:
    if len(headers) > limits.HEADERS_MAX:
        problems.add("target.headers", f"must be at most {limits.HEADERS_MAX}")
        return
    seen = set()
    for name, value in headers.items():
        if reason := _header_problem(name, value):
            problems.add(f"target.headers.{CONTROL.sub('?', name)}", reason)
        elif name.lower() in seen:
            problems.add(f"target.headers.{name}", "is given twice, in different letters")
        seen.add(name.lower())


def _header_problem(name: str, value: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return "is not the name of a header: use letters, digits and -"
    if name.lower() in _HEADERS_REFUSED or name.lower().startswith(_HEADER_PREFIX_REFUSED):
        return "is set by Dueline itself"
    if len(name) + len(value) > limits.HEADER_LETTERS_MAX:
        return f"is longer than {limits.HEADER_LETTERS_MAX} letters"
    if not _HEADER_VALUE.fullmatch(value):
        return "must be plain ASCII text on one line"
    return "must not begin or end with a space" if value != value.strip() else None


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in name or _holds_nul(inner) for name, inner in value.items())
    return isinstance(value, list) and any(_holds_nul(inner) for inner in value)


def _depth(value: Any) -> int:
    """Levels of lists and objects, without recursion, because it may be deep."""
    depth, level = 0, [value]
    while level := [inner for inner in level if isinstance(inner, dict | list)]:
        depth += 1
        level = [child for inner in level for child in (inner.values() if isinstance(inner, dict) else inner)]
    return depth
