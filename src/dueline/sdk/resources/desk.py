"""The desk: where workers in any language ask for runs and say what became of them. The guide to workers shows how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dueline.sdk.arguments import Duration, to_plain, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint

if TYPE_CHECKING:
    from dueline.wire.desk import AcceptedView, HeartbeatView, LeaseView, RegisteredView


class Desk(Resource[D]):
    """Runs are given and taken as the API has them. All calls may be repeated."""

    @endpoint("POST /v1/worker/register", repeatable=True)
    def register(
        self,
        *,
        queues: Sequence[str] = (),
        takes: Sequence[str] | None = None,
        tasks: Sequence[Mapping[str, Any]] = (),
        labels: Sequence[str] = (),
        slots: int = 1,
        host: str = "",
        pid: int = 0,
        version: str = "",
    ) -> Call[RegisteredView]:
        """Register a worker; answers its `id` for all other calls, and how often it must beat."""
        said = {"queues": queues, "takes": takes, "tasks": tasks, "labels": labels, "slots": slots}
        where = {"host": host, "pid": pid, "version": version}
        return Call(body=without_none({**said, **where}))

    @endpoint("POST /v1/worker/{id}/heartbeat", repeatable=True)
    def heartbeat(
        self, worker_id: str, *, busy: int = 0, rates: Mapping[str, float] | None = None
    ) -> Call[HeartbeatView]:
        """Renew the lease; answers which runs to break off. Conflict for a worker that was declared dead."""
        return Call((worker_id,), body={"busy": busy, "rates": dict(rates or {})})

    @endpoint("POST /v1/worker/{id}/lease", repeatable=True)
    def lease(
        self,
        worker_id: str,
        *,
        limit: int = 1,
        wait: Duration = "PT0S",
        holding: Sequence[str] | None = None,
    ) -> Call[LeaseView]:
        """Take runs that are due, waiting for the first. The client's time must be longer than `wait`."""
        body = {"limit": limit, **to_plain({"wait": wait}), **without_none({"holding": holding})}
        return Call((worker_id,), body=body)

    @endpoint("POST /v1/worker/{id}/report", repeatable=True)
    def report(self, worker_id: str, results: Sequence[Mapping[str, Any]]) -> Call[AcceptedView]:
        """Say what became of attempts."""
        return Call((worker_id,), body={"results": results})

    @endpoint("POST /v1/worker/{id}/release", repeatable=True)
    def release(self, worker_id: str, runs: Sequence[Mapping[str, Any]]) -> Call[AcceptedView]:
        """Give back runs that were not started."""
        return Call((worker_id,), body={"runs": runs})

    @endpoint("POST /v1/worker/{id}/progress", repeatable=True)
    def progress(self, worker_id: str, runs: Sequence[Mapping[str, Any]]) -> Call[AcceptedView]:
        """Say how far runs are, and from where a next attempt may go on."""
        return Call((worker_id,), body={"runs": runs})

    @endpoint("DELETE /v1/worker/{id}")
    def leave(self, worker_id: str) -> Call[None]:
        """Strike a worker off that ends. What it still holds goes to others; `release` it before."""
        return Call((worker_id,))
