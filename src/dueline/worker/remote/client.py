"""The desk of a server, as its worker calls it. What is wrong is told in the words of a store, so that the same loops bear it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from dueline.domain.durations import format_duration
from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId, RunId, parse_run_id, run_text
from dueline.domain.instants import parse_instant
from dueline.sdk.client import Client
from dueline.sdk.errors import Broken, Conflict, Unavailable, Unreachable
from dueline.store.fleet import Beat, JobType, NewNode
from dueline.store.shapes import CancelAsked, Claim, Postponed, Saved

T = TypeVar("T")

_PATH = "/v1/worker"
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
            Client(url, api_key=api_key, timeout_s=timeout_s) for timeout_s in (_CALL_S, wait_s + _CALL_S, _CALL_S)
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
        asked = {
            "host": node.host,
            "pid": node.pid,
            "version": node.version,
            "queues": node.queues,
            "labels": node.labels,
            "slots": node.slots,
            "takes": ["task" if tasks else "http"],
            "tasks": tasks,
        }
        self._id = str((await self._post(self._beats, "register", asked))["id"])

    async def beat(self, boot_id: BootId, *, lease_s: float, busy: int, rates: Mapping[str, float]) -> Beat:
        del boot_id, lease_s
        told = await self._post(self._beats, "heartbeat", {"busy": busy, "rates": rates}, own=True)
        self.cancels = [CancelAsked(parse_run_id(one["id"]), one["token"], one["reason"]) for one in told["cancels"]]
        return Beat(parse_instant(told["now"], field="now"), told["drain"])

    async def drain(self, boot_id: BootId) -> None:
        """Nobody else needs to know: a worker that drains asks for nothing more."""

    async def leave(self, boot_id: BootId) -> None:
        del boot_id
        await self._run(self._beats, partial(self._beats.delete, self._path()))

    async def lease(self, *, limit: int, holding: Collection[RunId] | None) -> list[dict[str, Any]]:
        """Runs to carry out now. With `holding`, what the server counts as ours besides them goes back to others; a limit of 0 asks for
        that alone."""
        asked: dict[str, Any] = {"limit": limit, "wait": format_duration(int(self._wait_s * 1000) if limit else 0)}
        if holding is not None:
            asked["holding"] = [run_text(run_id) for run_id in holding]
        runs: list[dict[str, Any]] = (await self._post(self._leases, "lease", asked, own=True))["runs"]
        return runs

    async def report(self, results: list[dict[str, Any]]) -> set[RunId]:
        return _accepted(await self._post(self._reports, "report", {"results": results}, own=True))

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
        return _accepted(await self._post(self._reports, "progress", {"runs": runs}, own=True))

    async def release(self, claims: Collection[Claim]) -> set[RunId]:
        runs = [{"id": run_text(claim.run_id), "token": claim.token} for claim in claims]
        return _accepted(await self._post(self._reports, "release", {"runs": runs}, own=True))

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
        return _accepted(await self._post(self._reports, "release", {"runs": runs}, own=True))

    def interrupt(self) -> None:
        """Wait for no more runs."""
        self._leases.interrupt()

    def close(self) -> None:
        for client, threads in self._threads.items():
            client.interrupt()
            threads.shutdown(wait=True)
            client.close()

    def _path(self, verb: str = "") -> str:
        assert self._id is not None, "nobody calls before it is registered"
        return f"{_PATH}/{quote(self._id, safe='')}" + (f"/{verb}" if verb else "")

    async def _post(self, client: Client, verb: str, body: Any, *, own: bool = False) -> dict[str, Any]:
        path = self._path(verb) if own else f"{_PATH}/{verb}"
        return await self._run(client, partial(client.post, path, body))

    async def _run(self, client: Client, call: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads[client], call)
        except Conflict as error:
            raise LeaseLost(str(error)) from None
        except (Unreachable, Unavailable, Broken) as error:
            raise StoreUnavailable(str(error)) from None


def _accepted(told: dict[str, Any]) -> set[RunId]:
    return {parse_run_id(text) for text in told["accepted"]}
