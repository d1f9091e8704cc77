"""API keys: as people ask for them, and as they are told."""

from __future__ import annotations

from typing import Any

import msgspec

from dueline.domain.access import ApiKey, Caller, KeyRole
from dueline.domain.instants import format_instant
from dueline.wire.labels import check_name, check_queue, read_instant
from dueline.wire.problems import Problems


class KeyInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key to make. Without a tenant it is for the caller's own."""

    role: KeyRole
    name: str = ""
    tenant: str | None = None
    expires_at: str | None = None


class KeyView(msgspec.Struct, frozen=True, kw_only=True):
    """A key, without what opens anything."""

    id: str
    tenant: str
    role: KeyRole
    name: str
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class NewKeyView(KeyView, frozen=True, kw_only=True):
    """A key that was just made. It is told this once."""

    key: str


class CallerView(msgspec.Struct, frozen=True, kw_only=True):
    """Whose key a request came with."""

    key_id: str
    tenant: str
    role: KeyRole
    governs: bool
    """Whether it may look after what all tenants share."""
    expires_at: str | None


def check_key(asked: KeyInput, problems: Problems) -> int | None:
    """When it is to expire."""
    if asked.name:
        check_name(asked.name, problems)
    if asked.tenant is not None:
        check_queue(asked.tenant, problems, field="tenant")
    return None if asked.expires_at is None else read_instant(asked.expires_at, "expires_at", problems)


def key_view(key: ApiKey) -> KeyView:
    return KeyView(**_told(key))


def new_key_view(key: ApiKey, text: str) -> NewKeyView:
    return NewKeyView(**_told(key), key=text)


def caller_view(caller: Caller) -> CallerView:
    key = caller.key
    return CallerView(
        key_id=key.id, tenant=key.tenant, role=key.role, governs=caller.governs, expires_at=_instant(key.expires_ms)
    )


def _told(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "role": key.role,
        "name": key.name,
        "created_at": format_instant(key.created_ms),
        "expires_at": _instant(key.expires_ms),
        "revoked_at": _instant(key.revoked_ms),
    }


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else format_instant(at_ms)
