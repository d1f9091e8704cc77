"""Queues, and who shares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.pages import Page
    from dueline.wire.queues import QueueView
    from dueline.wire.whys import SharesView


class Queues(Resource[D]):
    """A queue is there as soon as somebody names it."""

    @listing("GET /v1/queues")
    def list(self) -> Call[Page[QueueView]]:
        """List every queue that has live runs, is paused or is named by a worker, by name, with what there is to serve it."""
        return Call()

    @endpoint("GET /v1/queues/{name}")
    def get(self, name: str) -> Call[QueueView]:
        """Get a queue; an empty one if nobody has named it yet."""
        return Call((name,))

    @endpoint("POST /v1/queues/{name}/pause", repeatable=True)
    def pause(self, name: str, *, note: str | None = None) -> Call[QueueView]:
        """Start no more runs of a queue. `note` says why."""
        return Call((name,), body={"note": note})

    @endpoint("POST /v1/queues/{name}/resume")
    def resume(self, name: str) -> Call[QueueView]:
        """Start runs again. A queue that is not paused stays as it is."""
        return Call((name,))

    @endpoint("GET /v1/queues/{name}/shares")
    def shares(self, name: str) -> Call[SharesView]:
        """Tell who shares a queue: entitled to what, got what, and delayed by whom."""
        return Call((name,))
