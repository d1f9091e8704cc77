"""The processes that execute runs, and those that fire schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.pages import Page
    from dueline.wire.workers import WorkerView


class Workers(Resource[D]):
    """Each start of a process has an id, which runs name as their `worker`."""

    @listing("GET /v1/workers")
    def list(self) -> Call[Page[WorkerView]]:
        """List all processes, those that started first first."""
        return Call()

    @endpoint("GET /v1/workers/{id}")
    def get(self, worker_id: str) -> Call[WorkerView]:
        """Get a process."""
        return Call((worker_id,))

    @endpoint("POST /v1/workers/{id}/drain", repeatable=True)
    def drain(self, worker_id: str) -> Call[WorkerView]:
        """Ask a process to end in order. It hears so with its next heartbeat."""
        return Call((worker_id,))
