"""What happens, as it happens."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

_PAGE = "Who sends `Accept: application/json` gets a page instead, oldest first: what there is behind `cursor`"

OPERATIONS = {
    "GET /v1/events": Operation(
        id="events.follow",
        description=(
            "A stream of server-sent events that goes on until you leave. It begins now, or behind the event that `Last-Event-ID` or "
            f"`cursor` names. {_PAGE}, or after waiting what comes first. Without a `cursor` it is empty, and its `next_cursor` is now."
        ),
        streams=True,
    ),
    "GET /v1/runs/{id}/events": Operation(
        id="runs.events",
        description=(
            "A stream of server-sent events: what is known of the run so far, then what comes, until it has ended. "
            f"{_PAGE}. Its `next_cursor` is null once the run has ended."
        ),
        streams=True,
    ),
}
