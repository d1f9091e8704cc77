"""Jobs in hand, for tests of what a change decides."""

from collections.abc import Mapping
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.changes import JobInHand, LiveRun
from dueline.domain.ids import RunId, new_run_id
from dueline.domain.job import Definition, Execution, HttpTarget, Job
from dueline.domain.planning import Misfire, MisfirePolicy, Position
from dueline.domain.schedule import Every, Schedule
from dueline.domain.states import HeldReason, JobState, RunKind, RunState

NOW_MS = 1_767_225_600_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
GRACE_MS = limits.MISFIRE_GRACE_MS
EVERY_MINUTE = Every(MINUTE_MS, NOW_MS % MINUTE_MS)


def a_definition(schedule: Schedule | None = EVERY_MINUTE, **fields: Any) -> Definition:
    return Definition(
        name="nightly", execution=Execution(target=HttpTarget(url="http://t/")), schedule=schedule, **fields
    )


def a_job(
    *,
    state: JobState = JobState.ACTIVE,
    next_ms: int | None = NOW_MS + MINUTE_MS,
    position: Position | None = None,
    definition: Definition | None = None,
    pause_note: str | None = None,
) -> Job:
    """A job as a store gives it: a paused one has nothing to act on."""
    position = position or Position(next_ms=next_ms, due_ms=next_ms)
    if state is JobState.PAUSED:
        position = msgspec.structs.replace(position, due_ms=None)
    return Job(
        id=b"job-of-16-bytes!",  # type: ignore[arg-type]
        tenant="default",
        state=state,
        version=3,
        definition=definition or a_definition(),
        position=position,
        pause_note=pause_note,
        created_ms=0,
        updated_ms=0,
        since_ms=0,
    )


def a_run(scheduled_ms: int, state: RunState = RunState.READY, **fields: Any) -> LiveRun:
    """An unstarted run; the name of its moment is its id."""
    run_id = new_run_id(scheduled_ms, fields.pop("tail", b"\x01" * 10))
    defaults: dict[str, Any] = {"kind": RunKind.SCHEDULED, "due_ms": scheduled_ms, "begun": False, "reason": None}
    return LiveRun(id=run_id, state=state, scheduled_ms=scheduled_ms, **(defaults | fields))


def paused_run(scheduled_ms: int, **fields: Any) -> LiveRun:
    return a_run(scheduled_ms, RunState.HELD, **({"reason": HeldReason.PAUSED} | fields))


def in_hand(
    job: Job, *runs: LiveRun, now_ms: int = NOW_MS, calendars: Mapping[str, Calendar] | None = None
) -> JobInHand:
    """As stores show it: runs in the order of their ids, which is that of their moments."""
    in_order = tuple(sorted(runs, key=lambda run: run.id))
    return JobInHand(job=job, now_ms=now_ms, runs=in_order, calendars=calendars or {})


def ids(*runs: LiveRun) -> tuple[RunId, ...]:
    return tuple(run.id for run in runs)


def with_misfire(policy: MisfirePolicy, schedule: Schedule | None = EVERY_MINUTE, **fields: Any) -> Definition:
    return a_definition(schedule, misfire=Misfire(policy=policy, **fields))


def renamed(definition: Definition) -> Definition:
    return msgspec.structs.replace(definition, name="renamed")
