"""Requests that may be sent again: by which key they are known, and what was answered."""

from __future__ import annotations

import msgspec


class RequestKey(msgspec.Struct, frozen=True):
    """The `key` that a caller gave to what it asked of an `endpoint`; the `digest` is of all that it sent."""

    tenant: str
    endpoint: str
    key: str
    digest: bytes


class KeptAnswer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


class AskedRequest(msgspec.Struct, frozen=True):
    """A request that was carried out, if not answered yet: what was sent, how long ago, and what it made or changed where that is one
    thing."""

    digest: bytes
    about: bytes
    age_ms: int
    answer: KeptAnswer | None
