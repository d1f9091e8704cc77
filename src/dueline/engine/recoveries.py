"""After an outage: what is overdue, what would become of it, and the decision to do it so.

By default schedulers catch up by themselves: each job by its own policy, behind everything that is on time, at a bounded pace. This is
for whoever wants to see it first, or to have it otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from dueline.domain import changes, limits
from dueline.domain.changes import compiled
from dueline.domain.errors import NotFound
from dueline.domain.firetimes import FireTimes
from dueline.domain.ids import JobId
from dueline.domain.job import JobVersion
from dueline.domain.ledger import Unfired, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy, plan
from dueline.domain.recovery import Pace
from dueline.domain.states import EndReason
from dueline.engine.calendars import calendars_of
from dueline.runtime.clock import StoreTime
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import JobStore, PlanStore, RunStore
from dueline.store.shapes import MissedRun, OverduePlan

_LOOKED_AT_MAX = 10_000
"""Overdue jobs, and missed runs, looked at in one call; a recovery of more is applied in several."""
_COUNTED_MAX = 1_000
"""Occurrences of one job that are counted; more are told as at least so many."""


class RecoveryStore(JobStore, PlanStore, RunStore, CalendarStore, Protocol):
    """What recoveries need of the store."""


class RecoveryAsked(msgspec.Struct, frozen=True, kw_only=True):
    """How to recover. `policy` None: each job by its own. `rate` is missed runs a second."""

    tenant: str
    policy: MisfirePolicy | None = None
    rate: float = limits.RECOVERY_RATE_DEFAULT


class JobRecovery(msgspec.Struct, kw_only=True):
    """One job's share of a recovery: occurrences to run, to coalesce and to skip, and missed runs that wait already."""

    tenant: str
    job_id: JobId
    name: str = ""
    policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    overdue_since_ms: int | None = None
    run: int = 0
    coalesce: int = 0
    skip: int = 0
    waiting: int = 0
    more: bool = False
    """Whether there are more than were counted."""


class RecoveryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is overdue, by job, in the order in which it is caught up: on-time work first, then what is overdue longest."""

    now_ms: int
    rate: float
    overdue_jobs: int
    runs: int
    waiting: int
    drained_ms: int
    """When the last of it would start."""
    jobs: list[JobRecovery]
    complete: bool
    """Whether all of it was looked at."""


class Recoveries:
    def __init__(self, store: RecoveryStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def plan(self, asked: RecoveryAsked) -> RecoveryPlan:
        """What would happen, without doing it."""
        now_ms = self._time().now_ms()
        overdue, waiting = await self._look(asked.tenant, now_ms)
        count = await self._store.overdue_count(tenant=asked.tenant, before_ms=now_ms - limits.MISFIRE_GRACE_MS)
        jobs: dict[JobId, JobRecovery] = {}
        for found in await self._decide(overdue, asked, now_ms=now_ms):
            jobs[found.job_id] = found
        for run in waiting:
            share = jobs.setdefault(run.job_id, JobRecovery(tenant=run.tenant, job_id=run.job_id))
            share.waiting += 1
        await self._name(list(jobs.values()))
        runs = sum(share.run for share in jobs.values())
        return RecoveryPlan(
            now_ms=now_ms,
            rate=asked.rate,
            overdue_jobs=count,
            runs=runs,
            waiting=len(waiting),
            drained_ms=now_ms + int((runs + len(waiting)) / asked.rate * 1000),
            jobs=sorted(jobs.values(), key=lambda share: (share.overdue_since_ms or now_ms, share.job_id)),
            complete=count == len(overdue) and len(waiting) < _LOOKED_AT_MAX,
        )

    async def apply(self, asked: RecoveryAsked) -> RecoveryPlan:
        """Do it: decide what is overdue, and give what waits already its new pace, or an end where the policy is to skip."""
        told = await self.plan(asked)
        pace = Pace(asked.rate)
        overdue, waiting = await self._look(asked.tenant, told.now_ms)
        if asked.policy is MisfirePolicy.SKIP:
            await self._store.cancel_waiting([(run.run_id, EndReason.RECOVERY) for run in waiting])
        else:
            await self._store.repace([(run.run_id, pace.next_ms(told.now_ms)) for run in waiting])
        for found in overdue:
            try:
                await self._store.change_job(found.tenant, found.job_id, self._decision(asked, pace))
            except NotFound:
                continue
        return told

    def _decision(self, asked: RecoveryAsked, pace: Pace) -> changes.DecideChange:
        def decide(hand: changes.JobInHand) -> changes.JobChange:
            return changes.recover(hand, _misfire(hand.job.definition.misfire, asked), pace.next_ms)

        return decide

    async def _look(self, tenant: str, now_ms: int) -> tuple[list[OverduePlan], list[MissedRun]]:
        before_ms = now_ms - limits.MISFIRE_GRACE_MS
        overdue = await self._store.overdue(tenant=tenant, before_ms=before_ms, limit=_LOOKED_AT_MAX)
        return overdue, await self._store.missed_runs(tenant=tenant, job_id=None, limit=_LOOKED_AT_MAX)

    async def _decide(self, overdue: Sequence[OverduePlan], asked: RecoveryAsked, *, now_ms: int) -> list[JobRecovery]:
        versions = await self._versions({(found.job_id, found.version) for found in overdue})
        calendars = await calendars_of(self._store, versions.values())
        shares = []
        for found in overdue:
            version = versions.get((found.job_id, found.version))
            if version is None or version.definition.schedule is None:
                continue
            times = compiled(version.definition.schedule, calendars.get(found.tenant, {}))
            misfire = _misfire(version.definition.misfire, asked)
            decided = plan(
                times, misfire, next_ms=found.next_ms, now_ms=now_ms, until_ms=now_ms, runs_left=found.runs_left
            )
            share = JobRecovery(
                tenant=found.tenant,
                job_id=found.job_id,
                name=version.definition.name,
                policy=misfire.policy,
                overdue_since_ms=found.due_ms,
                run=decided.runs,
            )
            for unfired in decided.unfired:
                _count(share, times, unfired)
            shares.append(share)
        return shares

    async def _versions(self, keys: set[tuple[JobId, int]]) -> dict[tuple[JobId, int], JobVersion]:
        found = await self._store.job_versions(keys) if keys else []
        return {(version.job_id, version.version): version for version in found}

    async def _name(self, shares: Sequence[JobRecovery]) -> None:
        """Names for jobs that only have runs waiting."""
        by_tenant: defaultdict[str, list[JobRecovery]] = defaultdict(list)
        for share in shares:
            if not share.name:
                by_tenant[share.tenant].append(share)
        for tenant, unnamed in by_tenant.items():
            for share in unnamed[: limits.RECOVERY_JOBS_SHOWN]:
                job = await self._store.job(tenant, share.job_id)
                if job is not None:
                    share.name, share.policy = job.definition.name, job.definition.misfire.policy


def _misfire(own: Misfire, asked: RecoveryAsked) -> Misfire:
    return own if asked.policy is None else msgspec.structs.replace(own, policy=asked.policy)


def _count(share: JobRecovery, times: FireTimes, unfired: Unfired) -> None:
    count, at_ms = 0, times.next_after(unfired.from_ms - 1)
    while at_ms is not None and at_ms <= unfired.to_ms and count < _COUNTED_MAX:
        count += 1
        at_ms = times.next_after(at_ms)
    share.more = share.more or count == _COUNTED_MAX
    if unfired.verdict is Verdict.COALESCED:
        share.coalesce += count
    else:
        share.skip += count
