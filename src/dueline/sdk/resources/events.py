"""What happens, as it happens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dueline.sdk.arguments import Duration, to_plain
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, listing

if TYPE_CHECKING:
    from dueline.wire.events import EventView
    from dueline.wire.pages import Page

WAIT = timedelta(seconds=20)
"""How long a call waits for something to tell: less than the time that a client has for it."""


class Events(Resource[D]):
    """Ends of runs and changes of jobs."""

    @listing("GET /v1/events")
    def follow(
        self,
        *,
        job_id: str | None = None,
        run_id: str | None = None,
        type: str | None = None,
        cursor: str | None = None,
        wait: Duration = WAIT,
        page_size: int | None = None,
    ) -> Call[Page[EventView]]:
        """All that happens from now on, or behind the event whose `id` is given as `cursor`, for as long as you take it:
        `for event in client.events.follow(type="run.failed"): …`

        Each call waits for news up to `wait`, and is repeated when the server was away. When that is too long for the client's retries,
        the error is raised; go on with the `id` of the last event. An event of the type `reset` says that some were forgotten meanwhile.
        """
        query = {"job_id": job_id, "run_id": run_id, "type": type, "cursor": cursor, "limit": page_size}
        return Call(query=query | to_plain({"wait": wait}))
