"""API keys: who may call, and what for."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from dueline.sdk.arguments import to_plain, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.domain.access import KeyRole
    from dueline.wire.keys import CallerView, KeyView, NewKeyView
    from dueline.wire.pages import Page


class Keys(Resource[D]):
    """Only admins may use these, but for `caller`."""

    @endpoint("POST /v1/keys")
    def create(
        self,
        role: KeyRole | str,
        *,
        name: str | None = None,
        tenant: str | None = None,
        expires_at: datetime | str | None = None,
    ) -> Call[NewKeyView]:
        """Make a key. Its text is in this one answer: it cannot be asked for again."""
        body = {"role": role, "name": name, "tenant": tenant, "expires_at": expires_at}
        return Call(body=without_none(to_plain(body)))

    @listing("GET /v1/keys")
    def list(self, *, tenant: str | None = None, page_size: int | None = None) -> Call[Page[KeyView]]:
        """List the keys of your tenant, or of another if yours governs, by id."""
        return Call(query={"tenant": tenant, "limit": page_size})

    @endpoint("GET /v1/keys/{id}")
    def get(self, key_id: str) -> Call[KeyView]:
        """Get a key, without what opens anything."""
        return Call((key_id,))

    @endpoint("DELETE /v1/keys/{id}")
    def revoke(self, key_id: str) -> Call[KeyView]:
        """Have a key open nothing any more, anywhere, within 5 seconds."""
        return Call((key_id,))

    @endpoint("GET /v1/caller")
    def caller(self) -> Call[CallerView]:
        """Whose key this client uses."""
        return Call()
