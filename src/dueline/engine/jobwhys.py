"""Why a job does not run now, when it runs next, and what became of it lately."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from dueline.domain import changes, limits
from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId, RunId, job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import Job
from dueline.domain.ledger import Verdict
from dueline.domain.run import Run, as_seen
from dueline.domain.sharding import shard_of
from dueline.domain.states import TERMINAL, JobState, RunState
from dueline.engine.calendars import load_calendars
from dueline.engine.fleet import Fleet
from dueline.engine.whys import WaitsFor, Whys, error_words
from dueline.runtime.clock import StoreTime
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from dueline.store.shapes import LedgerRow, RunFilter


class JobWaitsFor(StrEnum):
    """What a job waits for."""

    TIME = "time"
    RUN = "run"
    """A run of it is under way, or waits for something itself."""
    RESUME = "resume"
    SCHEDULER = "scheduler"
    """Its time has come, and nobody has fired it yet."""
    REQUEST = "request"
    """It has no schedule."""


class JobWhy(msgspec.Struct, frozen=True, kw_only=True):
    """`waits_for` is None for a job of which nothing comes any more. `run` is the run that the sentence is about."""

    job: Job
    waits_for: JobWaitsFor | None
    because: str
    also: tuple[str, ...] = ()
    """What became of it lately, a sentence each."""
    next_ms: int | None = None
    run: RunId | None = None


class _Waiting(msgspec.Struct, frozen=True):
    """A live run, and why it waits, in a sentence that names it."""

    run: RunId
    because: str
    planned: bool
    """Whether it waits for nothing but its time."""


class JobWhys:
    def __init__(self, store: Store, fleet: Fleet, whys: Whys, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._fleet = fleet
        self._whys = whys
        self._time = time

    async def why(self, tenant: str, job_id: JobId) -> JobWhy:
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        now_ms = self._time().now_ms()
        match = RunFilter(tenant=tenant, job_id=job_id)
        found = await self._store.runs_page(match, before=None, limit=limits.WHY_RUNS_MAX)
        runs = [as_seen(run, now_ms=now_ms) for run in found]
        waiting = await self._waiting(tenant, job, runs)
        told = await self._main(job, waiting, now_ms=now_ms)
        also = [] if waiting is None or waiting.run == told.run or waiting.planned else [waiting.because]
        ended = [run for run in runs if run.state in TERMINAL]
        since_ms = max([job.created_ms, *(run.scheduled_ms + 1 for run in ended[:1])])
        unfired = await self._store.unfired(job_id, from_ms=since_ms, to_ms=now_ms, limit=limits.WHY_RUNS_MAX)
        return msgspec.structs.replace(told, also=(*also, *_lately(ended, unfired)))

    async def _waiting(self, tenant: str, job: Job, runs: Sequence[Run]) -> _Waiting | None:
        """The live run that is in front of the others: the one that is awaited, or the oldest."""
        live = [run.id for run in runs if run.state not in TERMINAL]
        run_id = job.position.awaiting or (live[-1] if live else None)
        if run_id is None:
            return None
        try:
            why = await self._whys.why(tenant, run_id)
        except NotFound:
            return None
        if why.run.state in TERMINAL:
            return None
        does = "has not ended" if why.waits_for is None else "waits"
        because = f"its run {run_text(run_id)} {does}: {why.because}"
        return _Waiting(run_id, because, why.waits_for is WaitsFor.TIME)

    async def _main(self, job: Job, waiting: _Waiting | None, *, now_ms: int) -> JobWhy:
        note = f": {job.pause_note}" if job.pause_note else ""
        updated = format_instant(job.updated_ms)
        if job.state is JobState.CANCELLED:
            return JobWhy(job=job, waits_for=None, because=f"it was cancelled at {updated}, for good{note}")
        if job.state is JobState.PAUSED:
            because = f"it has been paused since {updated} or longer, and goes on when it is resumed{note}"
            return JobWhy(job=job, waits_for=JobWaitsFor.RESUME, because=because)
        due_ms = job.position.due_ms
        if due_ms is not None and due_ms < now_ms - limits.LATE_MS:
            because = f"its time came at {format_instant(due_ms)}, and {await self._unfired_because(job)}"
            return JobWhy(job=job, waits_for=JobWaitsFor.SCHEDULER, because=because, next_ms=due_ms)
        if waiting is not None:
            waits_for = JobWaitsFor.TIME if waiting.planned else JobWaitsFor.RUN
            return JobWhy(job=job, waits_for=waits_for, because=waiting.because, next_ms=due_ms, run=waiting.run)
        if job.state is JobState.FINISHED:
            return JobWhy(job=job, waits_for=None, because="it has finished: nothing more of its schedule comes")
        return await self._by_schedule(job)

    async def _by_schedule(self, job: Job) -> JobWhy:
        schedule, due_ms = job.definition.schedule, job.position.due_ms
        if schedule is None:
            because = "it has no schedule, and runs only when somebody asks for it"
            return JobWhy(job=job, waits_for=JobWaitsFor.REQUEST, because=because)
        calendars = await load_calendars(self._store, job.tenant, [job.definition])
        if due_ms is None or not changes.ever_fires(schedule, calendars, job.position):
            because = "its calendars and changed occurrences leave nothing of its schedule"
            return JobWhy(job=job, waits_for=JobWaitsFor.TIME, because=because)
        because = f"it waits for its next time, {format_instant(due_ms)}"
        return JobWhy(job=job, waits_for=JobWaitsFor.TIME, because=because, next_ms=due_ms)

    async def _unfired_because(self, job: Job) -> str:
        """Why nobody has fired what is overdue."""
        nodes = await self._fleet.nodes()
        alive = {node.boot_id: node for node in nodes if node.role is not Role.WORKER and not node.expired}
        if not alive:
            return "no scheduler is alive to fire it"
        shard = shard_of(job.id)
        owners = {lease.shard: lease.owner for lease in await self._store.shards()}
        owner = owners.get(shard)
        if owner is None or owner not in alive:
            return f"no scheduler that is alive has taken its shard, {shard}, yet"
        return f"the scheduler {owner} on {alive[owner].host} has not come to it yet"


def _lately(ended: Sequence[Run], unfired: Sequence[LedgerRow]) -> list[str]:
    """What became of the last occurrences, where it was not a success."""
    told = []
    if unfired:
        last = unfired[-1].unfired
        what = "were left to a later run" if last.verdict is Verdict.COALESCED else "were skipped"
        reason = "" if last.reason is None else f" ({last.reason})"
        told.append(
            f"its occurrences from {format_instant(last.from_ms)} to {format_instant(last.to_ms)} {what}{reason}"
        )
    if ended and ended[0].state is RunState.CANCELLED:
        told.append(f"{_named(ended[0])} was cancelled{_reason(ended[0])}")
    tried = [run for run in ended if run.state is not RunState.CANCELLED]
    failed = 0
    while failed < len(tried) and tried[failed].state is not RunState.SUCCEEDED:
        failed += 1
    if failed:
        how = "expired" if tried[0].state is RunState.EXPIRED else "failed"
        told.append(f"{_named(tried[0])} {how}{_reason(tried[0])}{error_words(tried[0])}")
    if failed > 1:
        many = "at least " if failed == limits.WHY_RUNS_MAX else ""
        told.append(f"{many}its last {failed} runs did not succeed")
    return told


def _named(run: Run) -> str:
    return f"its run {run_text(run.id)} of {format_instant(run.scheduled_ms)}"


def _reason(run: Run) -> str:
    return "" if run.reason is None else f" ({run.reason})"
