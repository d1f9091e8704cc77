"""What a VirtualDueline is made of: the embedded store in memory, one node with everything, and a clock moved from event to event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from itertools import count, islice
from typing import Any, Self

import msgspec

from dueline.domain.calendars import read_calendar
from dueline.domain.ids import BootId, JobId, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import DEFAULT_TENANT, Definition, Job
from dueline.domain.lanes import TASK
from dueline.engine.audits import Auditor
from dueline.engine.definitions import Definitions
from dueline.engine.insights import Insights
from dueline.engine.ledgers import Ledgers
from dueline.engine.membership import Membership
from dueline.engine.node import Life
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.runtime.clock import ManualClock, StoreTime
from dueline.store.fleet import NewNode, Role
from dueline.store.shapes import RunFilter
from dueline.store.sqlite.store import SqliteStore
from dueline.tasks.app import App
from dueline.testing.calls import Call, RecordingExecutor, Respond
from dueline.testing.tasks import VirtualCrew
from dueline.wire.jobs import JobInput, job_view, patched, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import read_value
from dueline.wire.runs import run_view
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker

START_MS = 1_767_225_600_000
"""Where time begins unless told otherwise: 2026-01-01T00:00:00Z."""
_TICKS_MAX = 100_000
"""Steps at one moment: more is work that makes more work at once, for ever."""
_PAGE = 10_000
Json = dict[str, Any]


class VirtualChance:
    """The same numbers in every test."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def entropy(self, ids: int = 1) -> bytes:
        numbers = islice(self._numbers, ids)
        return b"".join([blake2b(str(number).encode(), digest_size=10).digest() for number in numbers])

    def fraction(self) -> float:
        return int.from_bytes(self.entropy(), "big") / (1 << 80)


class World:
    def __init__(
        self, store: SqliteStore, clock: ManualClock, *, calls: list[Call], respond: Callable[[], Respond]
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = VirtualChance()
        self._calls = calls
        self._respond = respond
        self.apps: list[App] = []
        """Those whose tasks are carried out."""
        self._nodes = count(1)
        self._time = StoreTime(clock)
        self._time.measured(clock.wall_ms(), sent_s=clock.monotonic_s())
        self.operations = Operations(store, lambda: self._time, self._chance, QuotaKeeper(store, clock))
        self._insights = Insights(store, lambda: self._time)
        self._ledgers = Ledgers(store, lambda: self._time)
        self._auditor = Auditor(store, self._ledgers)
        self._life, self._worker, self._executor, self._crew = self._new_life()

    @classmethod
    async def begin(cls, start_ms: int, *, calls: list[Call], respond: Callable[[], Respond]) -> Self:
        clock = ManualClock(start_ms)
        store = SqliteStore(":memory:", clock, inline=True)
        await store.open()
        await store.migrate()
        world = cls(store, clock, calls=calls, respond=respond)
        store.listen(lambda topic: world._life.wake(topic))
        await world._join()
        return world

    async def end(self) -> None:
        self._worker.close()
        await self._store.close()

    @property
    def now_ms(self) -> int:
        return self._clock.wall_ms()

    async def advance_to(self, target_ms: int) -> None:
        """Move the clock to a moment, stopping wherever something becomes due."""
        assert target_ms >= self.now_ms, "time does not go back"
        await self._settle()
        while (next_ms := await self._next_event_ms()) is not None and next_ms <= target_ms:
            self._move_to(max(next_ms, self.now_ms + 1))
            await self._settle()
        self._move_to(target_ms)
        await self._settle()

    async def outage_until(self, target_ms: int) -> None:
        """Move the clock with nothing running; a new process comes after it. Calls under way are lost with the old one."""
        assert target_ms >= self.now_ms, "time does not go back"
        await self._settle()
        self._worker.close()
        await self._store.leave(self._life.membership.boot_id)
        self._move_to(target_ms)
        self._life, self._worker, self._executor, self._crew = self._new_life()
        await self._join()

    async def create_job(self, asked: Json) -> Json:
        problems = Problems()
        form = read_value(asked, JobInput, problems)

        def define(job_id: JobId, now_ms: int) -> Definition:
            return to_definition(form, problems, job_id=job_id, now_ms=now_ms)

        return await self._told(await self.operations.create_job(DEFAULT_TENANT, define))

    async def edit_job(self, job_id: JobId, patch: Json) -> Json:
        def define(job: Job, now_ms: int) -> Definition:
            problems = Problems()
            form = patched(job.definition, patch, problems)
            return to_definition(form, problems, job_id=job.id, now_ms=now_ms, current=job.definition)

        job = await self.operations.edit_job(DEFAULT_TENANT, job_id, define, expected_version=None)
        return await self._told(job)

    async def job(self, job_id: JobId) -> Json:
        return _json(job_view(await self._insights.job(DEFAULT_TENANT, job_id)))

    async def pause_job(self, job_id: JobId, note: str | None) -> Json:
        return await self._told(await self.operations.pause_job(DEFAULT_TENANT, job_id, note=note))

    async def resume_job(self, job_id: JobId) -> Json:
        return await self._told(await self.operations.resume_job(DEFAULT_TENANT, job_id))

    async def delete_job(self, job_id: JobId) -> None:
        await self.operations.delete_job(DEFAULT_TENANT, job_id, expected_version=None)
        await self._settle()

    async def run_job(self, job_id: JobId, *, force: bool) -> str:
        run_id = await self.operations.run_job(DEFAULT_TENANT, job_id, force=force)
        await self._settle()
        return run_text(run_id)

    async def put_calendar(self, name: str, dates: list[str], weekdays: list[str]) -> None:
        await self._store.put_calendar(DEFAULT_TENANT, name, read_calendar(dates, weekdays, field="calendar"))
        await self._settle()

    async def runs(self, job_id: JobId | None) -> list[Json]:
        match = RunFilter(tenant=DEFAULT_TENANT, job_id=job_id)
        found = await self._insights.runs(match, before=None, limit=_PAGE)
        return [_json(run_view(run)) for run in reversed(found.runs)]

    async def occurrences(self, job_id: JobId, from_ms: int, to_ms: int) -> list[Json]:
        found = await self._ledgers.occurrences(DEFAULT_TENANT, job_id, from_ms=from_ms, to_ms=to_ms, limit=_PAGE)
        return [
            {
                "scheduled_at": format_instant(one.scheduled_ms),
                "verdict": one.verdict.value,
                "reason": one.reason,
                "run_id": None if one.run is None else run_text(one.run.id),
            }
            for one in found
        ]

    async def audit(self, job_id: JobId, from_ms: int) -> Json:
        report = await self._auditor.audit(DEFAULT_TENANT, job_id, from_ms=from_ms, to_ms=self.now_ms)
        told = {name: getattr(report, name) for name in ("expected", "missed", "doubled", "late")}
        return {**told, "verdicts": _counts(report.verdicts), "reasons": _counts(report.reasons)}

    def _new_life(self) -> tuple[Life, Worker, RecordingExecutor, VirtualCrew]:
        executors: list[RecordingExecutor] = []
        crews: list[VirtualCrew] = []
        workers: list[Worker] = []

        def make_executor(**seams: Any) -> RecordingExecutor:
            executors.append(RecordingExecutor(**seams, calls=self._calls, respond=self._respond))
            return executors[0]

        def make_crew(**seams: Any) -> VirtualCrew:
            crews.append(VirtualCrew(**seams, apps=self.apps))
            return crews[0]

        def make_worker(membership: Membership, definitions: Definitions) -> Worker:
            options = WorkerOptions(labels=(TASK,))
            workers.append(
                Worker(
                    self._store,
                    membership,
                    definitions,
                    self._clock,
                    self._chance,
                    options,
                    make_executor=make_executor,
                    make_crew=make_crew,
                )
            )
            return workers[0]

        node = NewNode(
            boot_id=BootId(f"virtual-{next(self._nodes)}"), role=Role.ALL, host="virtual", pid=0, version="virtual"
        )
        life = Life(self._store, self._clock, self._chance, node, [make_worker])
        return life, workers[0], executors[0], crews[0]

    async def _join(self) -> None:
        await self._life.membership.join()
        await self._settle()

    async def _told(self, job: Job) -> Json:
        await self._settle()
        return await self.job(job.id)

    async def _settle(self) -> None:
        """Let everything happen that can happen at this moment."""
        await self._life.tick()
        for _ in range(_TICKS_MAX):
            if await self._crew.carry_out() or self._executor.deliver_ended():
                # Results wait a few milliseconds of real time for company; a tick writes them at once.
                await self._life.tick()
            elif not await self._life.stir():
                return
        raise RuntimeError("there is no end of work at one moment")

    async def _next_event_ms(self) -> int | None:
        events = [await self._store.next_due_ms(), self._worker.next_held_ms]
        if self._executor.next_s is not None:
            events.append(round(self._executor.next_s * 1000))
        return min((at_ms for at_ms in events if at_ms is not None), default=None)

    def _move_to(self, at_ms: int) -> None:
        self._clock.advance((at_ms - self.now_ms) / 1000)


def _json(view: msgspec.Struct) -> Json:
    told: Json = msgspec.to_builtins(view)
    return told


def _counts(counted: Counter[str]) -> dict[str, int]:
    return {str(name): count for name, count in counted.items()}
