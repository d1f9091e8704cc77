"""Remote workers at a real server, in this process: their clock is moved by hand, their calls are real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.engine.membership import Membership
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import JobType, NewNode, Role
from dueline.tasks.app import App
from dueline.worker.executors.tasks import TaskExecutor
from dueline.worker.offers import job_types
from dueline.worker.options import WorkerOptions
from dueline.worker.remote.client import DeskClient
from dueline.worker.remote.worker import RemoteWorker
from tests.api.serving import ServedApi
from tests.support.keys import ADMIN_KEY

PATIENCE_S = 20.0
"""Only a test that is about to fail waits this long."""
NODE = NewNode(boot_id=BootId(""), role=Role.WORKER, host="here", pid=7, version="1", slots=10)


class Desk(DeskClient):
    """A client whose next lease is met by something, after the server has answered it."""

    def __init__(self, url: str, *, types: Sequence[JobType] = (), wait_s: float = 0.0) -> None:
        super().__init__(url, api_key=ADMIN_KEY, types=types, wait_s=wait_s)
        self.meets: Callable[[], None] = lambda: None

    async def lease(self, **asked: Any) -> list[dict[str, Any]]:
        told = await super().lease(**asked)
        meets, self.meets = self.meets, lambda: None
        meets()
        return told

    @property
    def id(self) -> str:
        assert self._id is not None
        return self._id


class Hired:
    """A worker that has joined. Its steps are taken by hand, unless a test lets it `last`."""

    def __init__(
        self, api: ServedApi, *, slots: int = 10, host_share: float = 1.0, app: App | None = None, wait_s: float = 0.0
    ) -> None:
        self.api = api
        self.clock = ManualClock()
        self.desk = Desk(api.url, types=[] if app is None else job_types(app), wait_s=wait_s)
        self.membership = Membership(self.desk, self.clock, NODE)
        self._options = WorkerOptions(slots=slots, host_share=host_share)
        self._make_crew = None if app is None else partial(TaskExecutor, app=app, threads=2, processes=0)

    async def join(self) -> None:
        await self.membership.join()
        self.worker = RemoteWorker(
            self.desk, self.membership, self.clock, SystemChance(), self._options, make_crew=self._make_crew
        )

    async def close(self) -> None:
        self.worker.close()
        self.desk.close()

    async def beat(self) -> None:
        await self.worker._beat_step()

    async def lease(self) -> float:
        return await self.worker.lease_step()

    async def report(self) -> None:
        """Wait until all calls have ended, and tell what became of them."""
        await until(lambda: not len(self.worker._flights))
        while len(self.worker._reports):
            await self.worker._reports.step()

    def lose_the_answer(self) -> None:
        """What the server answers next gets lost on its way."""

        def lose() -> None:
            raise StoreUnavailable("the answer got lost")

        self.desk.meets = lose

    def outlive_the_lease(self) -> None:
        self.clock.advance(limits.LEASE_S)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  # Things of other threads are asked for.
            await asyncio.sleep(0.005)


def enqueue(api: ServedApi, target: dict[str, Any], count: int = 1, **fields: Any) -> list[str]:
    """The ids of runs that are ready."""
    runs = [{"target": target, **fields}] * count
    return [item["run"]["id"] for item in api.call("POST", "/v1/runs/bulk", {"runs": runs}).json["items"]]


def run(api: ServedApi, run_id: str) -> dict[str, Any]:
    told: dict[str, Any] = api.call("GET", f"/v1/runs/{run_id}").json
    return told


def states(api: ServedApi, run_ids: Sequence[str]) -> set[str]:
    return {run(api, run_id)["state"] for run_id in run_ids}
