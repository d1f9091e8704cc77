"""Tasks on nodes that are driven by hand: real executors on a store whose clock stands still."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.ids import RunId
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget, TaskTarget
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.states import RunState
from dueline.store.shapes import DeadLetter, DeadLetterFilter, Progress
from dueline.tasks.loading import load_app
from dueline.worker.executors.tasks import TaskExecutor
from tests.support.cluster import Cluster, HandNode
from tests.support.task_caller import APP

PATIENCE_S = 30.0
"""Far more than any of this takes; a test that needs it has failed."""
POLL_S = 0.005

MODES: Mapping[str, Mapping[str, Any]] = {
    "loop": {"threads": 1},
    "threads": {"threads": 2},
    "processes": {"processes": 2},
}


def named(task: str, mode: str) -> str:
    """The task of the app that runs in a mode."""
    return f"{task}_async" if mode == "loop" else task


class Gate:
    """What stubborn tasks wait for: a file. They take its name as `release`."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "release"
        self.args = {"release": str(self._file)}

    def open(self) -> None:
        self._file.touch()


class TaskCluster(Cluster):
    async def add_crew(
        self, name: str = "crew", *, threads: int = 2, processes: int = 0, grace_s: float = 0.1, **options: Any
    ) -> HandNode:
        """A node whose worker has the app of the tests."""
        make_crew = partial(TaskExecutor, app=load_app(APP), threads=threads, processes=processes, grace_s=grace_s)
        return await self.add(name, make_crew=make_crew, **options)

    async def enqueue(self, task: str, args: dict[str, Any] | None = None, **fields: Any) -> RunId:
        return (await self.enqueue_many(task, [args or {}], **fields))[0]

    async def enqueue_many(self, task: str, many: list[dict[str, Any]], **fields: Any) -> list[RunId]:
        runs = [AdhocRun(execution=Execution(target=TaskTarget(task=task, args=args), **fields)) for args in many]
        return list(await self.operations.enqueue(DEFAULT_TENANT, runs))

    async def enqueue_later(self, task: str, args: dict[str, Any], *, in_ms: int) -> RunId:
        execution = Execution(target=TaskTarget(task=task, args=args))
        due_ms = self.store_clock.now_ms + in_ms
        (run_id,) = await self.operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=execution, due_ms=due_ms)])
        return run_id

    async def enqueue_call(self, url: str) -> None:
        await self.operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=Execution(target=HttpTarget(url=url)))])

    async def run(self, run_id: RunId) -> Run:
        run = await self.store.run(DEFAULT_TENANT, run_id)
        assert run is not None
        return run

    async def told(self, run_id: RunId) -> Progress | None:
        return (await self.store.progress_of([run_id])).get(run_id)

    async def dead_letters(self) -> list[DeadLetter]:
        return await self.store.dead_letters(DeadLetterFilter(tenant=DEFAULT_TENANT), before=None, limit=10_000)

    async def began(self, node: HandNode, *run_ids: RunId) -> list[str]:
        """Until some runs have told of their progress, which is what they do first; answers what they said."""
        async with asyncio.timeout(PATIENCE_S):
            while len(told := await self.store.progress_of(run_ids)) < len(run_ids):
                await node.tick(calls_end=False)
                # Not much faster than real time: a process may take seconds to start, and the task's own time passes meanwhile.
                await self.store_clock.advance(4 * POLL_S)
                await asyncio.sleep(POLL_S)
        return [told[run_id].note or "" for run_id in run_ids]


def kinds(run: Run) -> list[OutcomeKind]:
    return [attempt.outcome.kind for attempt in run.attempts]


def last_error(run: Run) -> str:
    return run.attempts[-1].outcome.error or ""


def ended(run: Run) -> tuple[RunState, int, str | None]:
    """How a run ended, after how many attempts, and with what result."""
    return run.state, run.attempt, run.attempts[-1].outcome.result
