"""A call: what is asked, and what the answer is read as. Nothing here sends anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from dueline import __version__
from dueline.domain.limits import KEY_LETTERS_MAX
from dueline.sdk.errors import invalid
from dueline.wire.reading import encode

T = TypeVar("T")

KEY_HEADER = "idempotency-key"
_PLACE = re.compile(r"\{\w+\}")
_METHOD = re.compile(r"[A-Z]+")
_TARGET = re.compile(r"/[!-~]*")
_KEY = re.compile(rf"[ !#-\[\]-~]{{1,{KEY_LETTERS_MAX}}}")


class Request(NamedTuple):
    """A request without the address of its server."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    harmless: bool
    """Whether done twice it comes to the same."""


def anything() -> Any:
    """JSON of any shape."""
    return Any


class Call(msgspec.Struct, Generic[T], frozen=True):
    """What is asked of one route. `names` fill the places of its path in their order; what is None in `query` is left out."""

    names: tuple[str, ...] = ()
    body: Any = None
    query: Mapping[str, Any] = {}
    if_version: int | None = None
    create_only: bool = False
    """Whether nothing that is there is to be replaced."""
    idempotency_key: str | None = None
    timeout_s: float | None = None
    """For this call, where that is less than the client's."""
    repeatable: bool = False
    """Whether its route says that done twice it comes to the same."""
    method: str = ""
    path: str = ""
    kind: Callable[[], type[T]] = anything
    """Tells what the answer is read as: NoneType where there is none."""
    is_text: bool = False
    """Whether the answer is text, and no JSON."""


def to_request(call: Call[Any], *, api_key: str | None, fresh_key: str | None) -> Request:
    """The request of a call. A POST that may be sent again carries its caller's idempotency key, or else the fresh one, where there is one:
    the server writes down every key that it gets."""
    headers = {"user-agent": f"dueline/{__version__}", "accept": "application/json"}
    if api_key:
        headers["authorization"] = f"Bearer {api_key}"
    if call.if_version is not None:
        headers["if-match"] = f'"v{call.if_version}"'
    if call.create_only:
        headers["if-none-match"] = "*"
    key = call.idempotency_key or (None if call.repeatable else fresh_key)
    if call.method == "POST" and key is not None:
        headers[KEY_HEADER] = f'"{_checked(key)}"'
    if call.body is not None:
        kind = "merge-patch+json" if call.method == "PATCH" else "json"
        headers["content-type"] = f"application/{kind}"
    asked = {name: value for name, value in call.query.items() if value is not None}
    path = _filled(call.path, call.names)
    target = f"{path}?{urlencode(asked)}" if asked else path
    if not _METHOD.fullmatch(call.method) or not _TARGET.fullmatch(target):
        raise invalid([("path", "must be a method in capitals, and a path that begins with / and is percent-encoded")])
    body = None if call.body is None else _encoded(call.body)
    harmless = call.method == "GET" or call.repeatable or KEY_HEADER in headers
    return Request(call.method, target, headers, body, harmless)


def _filled(path: str, names: Iterable[str]) -> str:
    rest = iter(names)
    return _PLACE.sub(lambda _: quote(next(rest), safe=""), path)


def _encoded(body: Any) -> bytes:
    try:
        return encode(body)
    except (TypeError, ValueError) as error:
        raise invalid([("body", f"has no JSON form: {error}")]) from None


def _checked(key: str) -> str:
    if not _KEY.fullmatch(key):
        reason = f"must be 1 to {KEY_LETTERS_MAX} printable ASCII letters, without quotes and backslashes"
        raise invalid([("idempotency_key", reason)])
    return key
