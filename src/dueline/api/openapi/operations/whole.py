"""What is asked of everything at once, the process itself, and this reference."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

OPERATIONS = {
    "GET /v1/audit": Operation(
        id="audits.list",
        problems=("not-found",),
        description="A page may end before its `limit`: go on while there is a `next_cursor`.",
    ),
    "GET /v1/recovery": Operation(
        id="recovery.plan",
        description="Nothing is written. Schedulers catch up by themselves, each job by its own policy, unless they are told to wait.",
    ),
    "POST /v1/recovery": Operation(
        id="recovery.apply",
        description="By one policy for all jobs, or by each job's own.",
        requests={"the latest of each, slowly": {"policy": "fire_once", "rate": 20}},
        optional_body=True,
    ),
    "GET /v1/upcoming": Operation(
        id="upcoming.list",
        description=(
            "In the order of the times that the schedules have, of all active jobs. Refused with 422 where more jobs come before `from`, "
            "or before the rest of the list, than can be looked at."
        ),
    ),
    "GET /v1/forecast": Operation(id="forecasts.get"),
    "GET /livez": Operation(
        id="health.live", description="As long as the process answers. It never asks the store.", asks_store=False
    ),
    "GET /readyz": Operation(
        id="health.ready",
        description="503 when the store does not answer, while the process is stopping, and a while after a write failed.",
    ),
    "GET /metrics": Operation(
        id="health.metrics",
        description="It answers while the store is away, with what this process knows by itself.",
        media_type="text/plain",
        asks_store=False,
    ),
    "GET /v1/openapi.json": Operation(
        id="reference.document",
        description="This document, made from the types that the server reads and writes.",
        asks_store=False,
    ),
    "GET /docs": Operation(
        id="reference.page",
        description="This document as a page for people. It holds all that it needs, and works without scripts.",
        media_type="text/html",
        asks_store=False,
    ),
}
