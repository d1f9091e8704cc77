"""Pages and their cursors. A cursor is opaque, and belongs to one list with one set of filters."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Generic, TypeVar

import msgspec

from dueline.domain.errors import Invalid
from dueline.domain.ids import ID_BYTES
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.wire.reading import encode

T = TypeVar("T")

_FORM = b"\x01"
_MARK_BYTES = 8
_INSTANT_BYTES = 8


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of a list, in its order; `next_cursor` gets the rest, and is null on the last page."""

    items: list[T]
    next_cursor: str | None


def query_mark(noun: str, filters: msgspec.Struct) -> bytes:
    """A short hash of which list it is and what it is filtered by, the tenant included."""
    return blake2b(noun.encode() + b"/" + encode(filters), digest_size=_MARK_BYTES).digest()


def make_cursor(mark: bytes, last: bytes) -> str:
    return urlsafe_b64encode(_FORM + mark + last).rstrip(b"=").decode()


def read_cursor(text: str, mark: bytes, *, size: int | None = ID_BYTES) -> bytes:
    """What a page ended with, an id unless said otherwise (`size` None: of any length), or Invalid: the cursor is damaged, or comes from
    another query."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (UnicodeEncodeError, binascii.Error):
        raw = b""
    found, last = raw[len(_FORM) : len(_FORM) + _MARK_BYTES], raw[len(_FORM) + _MARK_BYTES :]
    if not raw.startswith(_FORM) or not last or (size is not None and len(last) != size):
        raise Invalid(("cursor", "is not a cursor of this API: pass next_cursor on as it is"))
    if found != mark:
        raise Invalid(("cursor", "belongs to another query: keep the filters as they were, or begin without a cursor"))
    return last


def make_instant_cursor(mark: bytes, at_ms: int) -> str:
    return make_cursor(mark, at_ms.to_bytes(_INSTANT_BYTES, "big"))


def read_instant_cursor(text: str, mark: bytes) -> int:
    """The instant that a page goes on from; one past the last there is ends the list."""
    return min(int.from_bytes(read_cursor(text, mark, size=_INSTANT_BYTES), "big"), INSTANT_MS_MAX + 1)
