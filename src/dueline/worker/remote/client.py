"""The desk of a server, as its worker calls it. What is wrong is told in the words of a store, so that the same loops bear it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import msgspec

from dueline.domain.durations import format_duration
from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId, RunId, parse_run_id, run_text
from dueline.domain.instants import parse_instant
from dueline.sdk.client import PlainClient
from dueline.sdk.errors import Broken, Conflict, Unavailable, Unreachable
from dueline.sdk.retries import NEVER
from dueline.store.fleet import Beat, JobType, NewNode
from dueline.store.shapes import CancelAsked, Claim, Postponed, Saved

T = TypeVar("T")

_CALL_S = 10.0
"""How long an answer may take, beside what was asked to wait."""


class DeskClient:
    """Calls of different kinds do not wait for each other: each kind has a connection and a thread of its own."""

    def __init__(self, url: str, *, api_key: str | None, types: Sequence[JobType], wait_s: float) -> None:
        self._types = types
        self._wait_s = wait_s
        self._id: str | None = None
        self.cancels: list[CancelAsked] = []
        """Runs that somebody asked to end, as of the last beat."""
        self._beats, self._leases, self._reports = (
            PlainClient(url, api_key=api_key, timeout_s=timeout_s, retry=NEVER)
            for timeout_s in (_CALL_S, wait_s + _CALL_S, _CALL_S)
        )
        self._threads = {
            client: ThreadPoolExecutor(1, thread_name_prefix="dueline-desk")
            for client in (self._beats, self._leases, self._reports)
        }

    async def register(self, node: NewNode, *, lease_s: float) -> None:
        del lease_s  # The server says how long it is, and it is the same everywhere.
        tasks = [
            {
                "name": offered.name,
                "queue": offered.queue,
                "description": offered.description,
                "parameters": msgspec.Raw(offered.parameters.encode()),
            }
            for offered in self._types
        ]
        call = partial(
            self._beats.desk.register,
            host=node.host,
            pid=node.pid,
            version=node.version,
            queues=node.queues,
            labels=node.labels,
            slots=node.slots,
            takes=["task" if tasks else "http"],
            tasks=tasks,
        )
        self._id = str((await self._run(self._beats, call))["id"])

    async def beat(self, boot_id: BootId, *, lease_s: float, busy: int, rates: Mapping[str, float]) -> Beat:
        del boot_id, lease_s
        told = await self._run(self._beats, partial(self._beats.desk.heartbeat, self._own_id, busy=busy, rates=rates))
        self.cancels = [CancelAsked(parse_run_id(one["id"]), one["token"], one["reason"]) for one in told["cancels"]]
        return Beat(parse_instant(told["now"], field="now"), told["drain"])

    async def drain(self, boot_id: BootId) -> None:
        """Nobody else needs to know: a worker that drains asks for nothing more."""

    async def leave(self, boot_id: BootId) -> None:
        del boot_id
        await self._run(self._beats, partial(self._beats.desk.leave, self._own_id))

    async def lease(self, *, limit: int, holding: Collection[RunId] | None) -> list[dict[str, Any]]:
        """Runs to carry out now. With `holding`, what the server counts as ours besides them goes back to others; a limit of 0 asks for
        that alone."""
        call = partial(
            self._leases.desk.lease,
            self._own_id,
            limit=limit,
            wait=format_duration(int(self._wait_s * 1000) if limit else 0),
            holding=None if holding is None else [run_text(run_id) for run_id in holding],
        )
        runs: list[dict[str, Any]] = (await self._run(self._leases, call))["runs"]
        return runs

    async def report(self, results: list[dict[str, Any]]) -> set[RunId]:
        return await self._say(self._reports.desk.report, results)

    async def save(self, saved: list[Saved]) -> set[RunId]:
        runs = [
            {
                "id": run_text(one.run_id),
                "token": one.token,
                "progress": one.progress,
                "note": one.note,
                **({} if one.checkpoint is None else {"checkpoint": msgspec.Raw(one.checkpoint.encode())}),
            }
            for one in saved
        ]
        return await self._say(self._reports.desk.progress, runs)

    async def release(self, claims: Collection[Claim]) -> set[RunId]:
        runs = [{"id": run_text(claim.run_id), "token": claim.token} for claim in claims]
        return await self._say(self._reports.desk.release, runs)

    async def postpone(self, postponed: Collection[Postponed], *, now_ms: int) -> set[RunId]:
        runs = [
            {
                "id": run_text(one.run_id),
                "token": one.token,
                "delay": format_duration(max(one.due_ms - now_ms, 0)),
                "reason": one.reason,
            }
            for one in postponed
        ]
        return await self._say(self._reports.desk.release, runs)

    def interrupt(self) -> None:
        """Wait for no more runs."""
        self._leases.interrupt()

    def close(self) -> None:
        for client, threads in self._threads.items():
            client.interrupt()
            threads.shutdown(wait=True)
            client.close()

    @property
    def _own_id(self) -> str:
        assert self._id is not None, "nobody calls before it is registered"
        return self._id

    async def _say(self, verb: Callable[[str, list[dict[str, Any]]], Any], runs: list[dict[str, Any]]) -> set[RunId]:
        """Say something of runs; answers those that were still this worker's."""
        told = await self._run(self._reports, partial(verb, self._own_id, runs))
        return {parse_run_id(text) for text in told["accepted"]}

    async def _run(self, client: PlainClient, call: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads[client], call)
        except Conflict as error:
            raise LeaseLost(str(error)) from None
        except (Unreachable, Unavailable, Broken) as error:
            raise StoreUnavailable(str(error)) from None
