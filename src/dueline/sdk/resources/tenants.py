"""Tenants, their shares and their quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack

from dueline.sdk.arguments import to_plain, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.pages import Page
    from dueline.wire.tenants import QuotasForm, TenantView


class TenantFields(TypedDict, total=False):
    """What may be set for a tenant; None goes back to the default."""

    weight: float | None
    quotas: Mapping[str, int | None] | QuotasForm | None


class Tenants(Resource[D]):
    """Whose jobs and runs they are."""

    @listing("GET /v1/tenants")
    def list(self, *, page_size: int | None = None) -> Call[Page[TenantView]]:
        """List the tenants that something was set for, by name."""
        return Call(query={"limit": page_size})

    @endpoint("GET /v1/tenants/{tenant}")
    def get(self, name: str) -> Call[TenantView]:
        """Get what is set for a tenant and what it has; the defaults if nothing was set."""
        return Call((name,))

    @endpoint("PUT /v1/tenants/{tenant}")
    def put(
        self, name: str, *, weight: float | None = None, quotas: Mapping[str, int | None] | QuotasForm | None = None
    ) -> Call[TenantView]:
        """Set the weight and the quotas of a tenant; what is left out goes back to its default."""
        return Call((name,), body=without_none(to_plain({"weight": weight, "quotas": quotas})))

    @endpoint("PATCH /v1/tenants/{tenant}")
    def patch(self, name: str, **fields: Unpack[TenantFields]) -> Call[TenantView]:
        """Set some of them: `patch("default", quotas={"running": None})` lifts one quota and leaves the rest."""
        return Call((name,), body=to_plain(fields))
