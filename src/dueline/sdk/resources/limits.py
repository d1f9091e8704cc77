"""Limits of queues and hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dueline.sdk.arguments import to_plain, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.limits import LimitView, RateForm
    from dueline.wire.pages import Page


class Limits(Resource[D]):
    """What is set for a `queue`, or for a `host` that is called, counts for all runs there."""

    @listing("GET /v1/limits")
    def list(self, *, page_size: int | None = None) -> Call[Page[LimitView]]:
        """List limits, those of hosts first, by name."""
        return Call(query={"limit": page_size})

    @endpoint("GET /v1/limits/{scope}/{name}")
    def get(self, scope: str, name: str) -> Call[LimitView]:
        """Get the limit of a queue or a host. NotFound where none is set."""
        return Call((scope, name))

    @endpoint("PUT /v1/limits/{scope}/{name}")
    def put(
        self,
        scope: str,
        name: str,
        *,
        concurrency: int | None = None,
        rate: Mapping[str, Any] | RateForm | None = None,
    ) -> Call[LimitView]:
        """Set how many runs may be under way at once, how many may start in a time, or both: `put("host", "api.example.com",
        rate={"limit": 50, "per": timedelta(minutes=1)})`. Workers keep to it within five seconds."""
        return Call((scope, name), body=without_none(to_plain({"concurrency": concurrency, "rate": rate})))

    @endpoint("DELETE /v1/limits/{scope}/{name}")
    def delete(self, scope: str, name: str) -> Call[None]:
        """Take it away. NotFound where none is set."""
        return Call((scope, name))
