"""What a store does for API keys. A part of the protocol."""

from __future__ import annotations

from typing import Protocol

from dueline.domain.access import ApiKey
from dueline.domain.errors import Conflict


class KeyStore(Protocol):
    async def api_key(self, key_id: str) -> ApiKey | None:
        """A key, whoever's it is, revoked ones included."""

    async def add_api_key(self, key: ApiKey) -> ApiKey:
        """Write a new one, and answer it with the time of its making. Raises Conflict if there is one with the id. A move that people ask
        for: see `requests`."""

    async def add_first_api_key(self, key: ApiKey) -> ApiKey | None:
        """The same if there is no key at all, not even a revoked one; None otherwise. Of several at once one is written."""

    async def api_keys_page(self, tenant: str, *, after: str | None, limit: int) -> list[ApiKey]:
        """The keys of a tenant by their ids, above one, revoked ones included."""

    async def revoke_api_key(self, key_id: str) -> ApiKey | None:
        """Have a key end now, if it has not ended before; None if there is no such key. Raises Conflict where it is the last one, neither
        revoked nor expired, of an admin of the tenant that governs: nobody could make another."""


def last_admin() -> Conflict:
    """Why the last key that can make others is not revoked."""
    return Conflict(
        "this is the last admin key of the tenant default, and nobody could make another: make a new one first, and revoke this with it. "
        "Where none is left, `dueline db key` makes one"
    )
