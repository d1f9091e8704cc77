"""The scheduler: finds what is due soon, decides its occurrences, writes the runs and moves the schedules.

Runs are written up to a second ahead of their due time and wait in the workers' hands for their millisecond, so that a due
second costs no search. Where so many are due in one second that another is not enough, their runs are written in the seconds before, and
wait; what is due soon always goes first. What was missed is caught up at a pace of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.changes import Calendars, compiled
from dueline.domain.crowds import SECOND_MS, Crowds
from dueline.domain.firing import make_runs
from dueline.domain.ids import job_text
from dueline.domain.job import JobVersion
from dueline.domain.planning import Position, plan
from dueline.domain.recovery import Pace
from dueline.domain.rests import Rests
from dueline.domain.run import first_token
from dueline.domain.schedule import Schedule
from dueline.engine.calendars import calendars_of
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.shards import ShardKeeper
from dueline.runtime.log import get_log
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import PlanStore
from dueline.store.shapes import DuePlan, Firing

log = get_log(__name__)

_OVERLAP_MS = 60_000
"""How far a scan reaches back behind the last complete one. Below that nothing can be due but by a clock set back."""
_NARROW_MS = 2_000
"""How far it reaches back at least. Nothing becomes due behind that but what is changed or created late."""
_REST = 20
"""How many times as long as longer scans take the next one of their kind is put off. Plans that were fired leave dead entries behind, and
while somebody can still see their old versions every scan walks over them."""
_FULL_SCANS_S = 10.0
"""How often a scan has no lower bound at all, at most: the truth behind the shortcut."""

_next_ms = attrgetter("next_ms")
_MANY = limits.FIRE_BATCH // 2
"""Plans in one page of what is due soon behind which there may be more: these go first. Of fewer there are always some, and a second
suffices for them."""


class RecoveryMode(StrEnum):
    """What happens to jobs that were due before this process came: they are caught up, or left until somebody says how."""

    AUTO = "auto"
    HOLD = "hold"


class SchedulerOptions(msgspec.Struct, frozen=True, kw_only=True):
    recovery: RecoveryMode = RecoveryMode.AUTO
    recovery_rate: float = limits.RECOVERY_RATE_DEFAULT
    """Missed runs that this scheduler lets start, a second."""
    history_days: int = limits.HISTORY_DAYS_DEFAULT
    """How long finished runs are kept, where their tenant does not say less."""
    finished_job_days: int = limits.FINISHED_JOB_DAYS_DEFAULT
    """How long jobs are kept that were to run once, and have."""


class SchedulerStore(PlanStore, CalendarStore, Protocol):
    """What a scheduler needs of the store."""


class Scheduler:
    def __init__(
        self,
        store: SchedulerStore,
        membership: Membership,
        shards: ShardKeeper,
        definitions: Definitions,
        options: SchedulerOptions,
        *,
        fenced: Callable[[int], None],
    ) -> None:
        self._store = store
        self._membership = membership
        self._shards = shards
        self._definitions = definitions
        self._options = options
        self._fenced = fenced
        self._pace = Pace(options.recovery_rate)
        self._first_ms: int | None = None
        self._crowds = Crowds()
        self._scanned_ms = 0
        self._full = Rests(_REST, least_s=_FULL_SCANS_S)
        self._wide = Rests(_REST)

    async def step(self) -> float:
        """One page of due plans in batches, followed by the next until none is left.

        Without a trusted lease it does nothing: another may be firing already.
        """
        if not self._membership.trusted:
            return limits.POLL_S
        now_ms = self._membership.time.now_ms()
        if self._first_ms is None:
            self._first_ms = now_ms - limits.MISFIRE_GRACE_MS
        if not self._shards.epochs:
            return limits.POLL_S
        epochs = dict(self._shards.epochs)
        # What was missed before this process came may be somebody else's to decide.
        lowest_ms = self._first_ms if self._options.recovery is RecoveryMode.HOLD else 0
        until_ms = now_ms + limits.AHEAD_MS
        due = await self._scan(epochs, now_ms=now_ms, lowest_ms=lowest_ms, until_ms=until_ms)
        delay_s = limits.POLL_S
        for start in range(0, len(due), limits.FIRE_BATCH):
            firings = await self._decide(due[start : start + limits.FIRE_BATCH], now_ms=now_ms, until_ms=until_ms)
            if await self._fire(firings, epochs):
                delay_s = pause_s(due, now_ms)
        if len(due) < _MANY:
            delay_s = min(delay_s, await self._write_crowd(epochs, now_ms))
        return delay_s

    async def _scan(self, epochs: dict[int, int], *, now_ms: int, lowest_ms: int, until_ms: int) -> Sequence[DuePlan]:
        """A page of what is due, from as far back as it is time for."""
        began_s = now_ms / 1000
        full, wide = self._full.due(began_s), self._wide.due(began_s)
        overlap_ms = _OVERLAP_MS if wide else _NARROW_MS
        since_ms = lowest_ms if full else max(lowest_ms, self._scanned_ms - overlap_ms)
        due = await self._store.due_plans(epochs, since_ms=since_ms, until_ms=until_ms, limit=limits.DUE_PAGE)
        if not pause_s(due, now_ms):
            return due
        if epochs != self._shards.epochs:
            # Of shards that were taken meanwhile it has seen nothing: all that was said of them still holds.
            return due
        self._scanned_ms = now_ms
        if full or wide:
            (self._full if full else self._wide).looked(began_s, self._membership.time.now_ms() / 1000)
        return due

    def scan_everything(self) -> None:
        """Shards were taken: what their last owner left behind may be overdue by any time."""
        self._full.forget()
        self._crowds.forget()

    def missed_due_ms(self, now_ms: int) -> int:
        """From when the next one of what was missed may start."""
        return self._pace.next_ms(now_ms)

    async def _write_crowd(self, epochs: dict[int, int], now_ms: int) -> float:
        """Write a page of a crowd, if it is time, and answer how long until the next."""
        span = self._crowds.uncounted(now_ms)
        if span is not None:
            since_ms, until_ms = span
            found = await self._store.crowds(epochs, since_ms=since_ms, until_ms=until_ms, least=limits.CROWD_MIN)
            self._crowds.counted(since_ms, until_ms, found)
        turn = self._crowds.next(now_ms)
        if turn is None:
            return limits.POLL_S
        crowd, turn_ms = turn
        if turn_ms > now_ms:
            return (turn_ms - now_ms) / 1000
        until_ms = crowd.at_ms + SECOND_MS - 1
        due = await self._store.due_plans(
            epochs, since_ms=crowd.at_ms, until_ms=until_ms, limit=limits.FIRE_BATCH + crowd.left_out
        )
        firings = await self._decide(due, now_ms=now_ms, until_ms=until_ms, early=True)
        if firings:
            await self._fire(firings, epochs)
        self._crowds.written(crowd, now_ms=now_ms, written=len(firings), left_out=len(due) - len(firings))
        return 0.0

    async def _decide(self, due: Sequence[DuePlan], *, now_ms: int, until_ms: int, early: bool = False) -> list[Firing]:
        """What to write for due plans; `early` leaves those out of which more is to be decided than when they run."""
        keys = [(planned.job_id, planned.version) for planned in due]
        versions = await self._definitions.load(keys)
        calendars = await calendars_of(self._store, versions.values())
        firings = []
        for planned, key in zip(due, keys, strict=True):
            version = versions.get(key)
            if version is None or version.definition.schedule is None:
                # It cannot be, and must not keep the others from firing.
                log.error("plan without a schedule", job_id=job_text(planned.job_id), version=planned.version)
                continue
            if early and not may_be_early(planned, version.definition.schedule):
                continue
            firings.append(
                make_firing(
                    planned,
                    version,
                    calendars.get(version.tenant, {}),
                    now_ms=now_ms,
                    until_ms=until_ms,
                    missed_due_ms=self.missed_due_ms,
                )
            )
        return firings

    async def _fire(self, firings: Sequence[Firing], epochs: dict[int, int]) -> int:
        if not self._membership.trusted:
            return 0
        fired = await self._store.fire(firings, epochs)
        if len(fired) < len(firings):
            # Either the job was changed under our hands, or the shard is no longer ours; the keeper will tell.
            self._fenced(len(firings) - len(fired))
        return len(fired)


def pause_s(due: Sequence[DuePlan], now_ms: int) -> float:
    """How long to let more gather after a page. Not at all where it was so large that there is more, or where some of it was due so soon
    that we are behind. Shards differ in how much they have, and each gives what it has first: of none there is anything sooner."""
    soon_ms = now_ms + limits.AHEAD_MS // 2
    if len(due) > limits.DUE_PAGE // 2 or min(map(_next_ms, due), default=soon_ms) < soon_ms:
        return 0.0
    return limits.GATHER_S


def may_be_early(planned: DuePlan, schedule: Schedule) -> bool:
    """Whether the runs of a schedule may be written long ahead. Not if it has calendars, which may change until then, if single occurrences
    of it were changed, of which something is told, or if its runs are counted: one that is missed in the end does not count."""
    return planned.runs_left is None and not schedule.calendars and not compiled(schedule, {}).marked


def make_firing(
    planned: DuePlan,
    version: JobVersion,
    calendars: Calendars,
    *,
    now_ms: int,
    until_ms: int,
    missed_due_ms: Callable[[int], int] | None = None,
) -> Firing:
    """What to write for one due plan."""
    definition = version.definition
    assert definition.schedule is not None, "a plan stands for a schedule"
    times = compiled(definition.schedule, calendars)
    decided = plan(
        times,
        definition.misfire,
        next_ms=planned.next_ms,
        now_ms=now_ms,
        until_ms=until_ms,
        runs_left=planned.runs_left,
    )
    token = first_token(planned.generation)
    runs = make_runs(version, times, decided, now_ms=now_ms, token=token, missed_due_ms=missed_due_ms)
    runs_left = None if planned.runs_left is None else planned.runs_left - len(runs)
    awaiting = runs[-1].id if times.follows and runs and runs_left != 0 else None
    position = Position(next_ms=decided.next_ms, due_ms=decided.due_ms, awaiting=awaiting, runs_left=runs_left)
    return Firing(
        planned.job_id,
        planned.shard,
        planned.version,
        planned.generation,
        planned.next_ms,
        position,
        runs,
        decided.unfired,
    )
