"""Nothing ran for ten minutes, two hours, three days: every due instant has one verdict, caps hold, and the schedule goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dueline.domain import limits
from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.ledger import SkipReason, Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.schedule import At, Cron, Every, Schedule
from dueline.engine.audits import Auditor, JobAudit
from dueline.engine.ledgers import Ledgers
from dueline.runtime.clock import StoreTime
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
OUTAGES_S = {"ten minutes": 10 * MINUTE_S, "two hours": 2 * HOUR_S, "three days": 3 * DAY_S}
BEFORE_S, AFTER_S = 155, 70
"""Long enough on both sides for a job of every minute to fire."""


class Outage:
    """A cluster with one node, its jobs, and the books of what became of them."""

    def __init__(self, under_test: StoreUnderTest, target: Target) -> None:
        self.cluster = Cluster(under_test)
        self._target = target
        time = StoreTime(self.cluster.clock)
        time.measured(under_test.clock.now_ms, sent_s=self.cluster.clock.monotonic_s())
        self.ledgers = Ledgers(under_test.store, lambda: time)
        self._auditor = Auditor(under_test.store, self.ledgers)

    async def job(self, schedule: Schedule, misfire: Misfire, *, overlap: Overlap = Overlap.QUEUE_ALL) -> Job:
        return await self.cluster.operations.create_job(
            DEFAULT_TENANT,
            lambda job_id, _now_ms: Definition(
                name=job_text(job_id),
                execution=Execution(target=HttpTarget(url=self._target.url + "/ok")),
                schedule=schedule,
                misfire=misfire,
                overlap=overlap,
            ),
        )

    async def pass_over(self, outage_s: float) -> None:
        """Work, nothing, work again."""
        await self.cluster.add()
        await self.cluster.advance(BEFORE_S, tick_s=0.5)
        await self.cluster.store_clock.advance(outage_s)
        await self.cluster.advance(AFTER_S, tick_s=0.5)

    async def account(self, job: Job) -> JobAudit:
        now_ms = self.cluster.store_clock.now_ms
        return await self._auditor.audit(DEFAULT_TENANT, job.id, from_ms=START_MS, to_ms=now_ms)

    async def starts(self, job: Job) -> list[int]:
        """The scheduled times that were really called, in order of the calls."""
        runs = {run.id: run for run in await self.cluster.runs() if run.job_id == job.id}
        return sorted(run.scheduled_ms for run in runs.values() if run.started_ms is not None)


@pytest.fixture
async def outage(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Outage]:
    outage = Outage(under_test, target)
    yield outage
    outage.cluster.close()


def check_complete(account: JobAudit, *, expected: int) -> None:
    assert (account.missed, account.doubled) == (0, 0), account
    assert account.expected == expected
    assert account.verdicts.total() == expected, "every due instant has exactly one verdict"


@pytest.mark.parametrize("outage_s", OUTAGES_S.values(), ids=OUTAGES_S)
@pytest.mark.parametrize("policy", MisfirePolicy)
async def test_every_instant_has_a_verdict_and_caps_hold(outage: Outage, policy: MisfirePolicy, outage_s: int) -> None:
    every = await outage.job(Every(60_000, START_MS), Misfire(policy=policy, cap=20))
    cron = await outage.job(Cron("*/5 * * * *", timezone="Europe/Berlin"), Misfire(policy=policy, cap=20))
    await outage.pass_over(outage_s)
    ended_s = BEFORE_S + outage_s + AFTER_S
    check_complete(await outage.account(every), expected=ended_s // 60)
    check_complete(await outage.account(cron), expected=ended_s // 300)
    missed_from_ms, missed_to_ms = START_MS + BEFORE_S * 1000, START_MS + (BEFORE_S + outage_s) * 1000
    for job in (every, cron):
        late = [at_ms for at_ms in await outage.starts(job) if missed_from_ms < at_ms <= missed_to_ms - 10_000]
        window_ms = missed_to_ms - limits.MISFIRE_WINDOW_MS
        assert all(at_ms >= window_ms for at_ms in late), "older ones are given up"
        assert len(late) <= {MisfirePolicy.SKIP: 0, MisfirePolicy.FIRE_ONCE: 1, MisfirePolicy.FIRE_ALL: 20}[policy]
        if policy is not MisfirePolicy.SKIP:
            assert late, "something of it is caught up"
    on_time = [at_ms for at_ms in await outage.starts(every) if at_ms > missed_to_ms]
    assert len(on_time) == 1, "the schedule goes on"


@pytest.mark.parametrize("policy", MisfirePolicy)
async def test_the_verdicts_tell_what_the_policy_did(outage: Outage, policy: MisfirePolicy) -> None:
    job = await outage.job(Every(60_000, START_MS), Misfire(policy=policy, cap=20))
    await outage.pass_over(2 * HOUR_S)
    account = await outage.account(job)
    assert account.verdicts[Verdict.FIRED] == 3
    match policy:
        case MisfirePolicy.SKIP:
            assert account.reasons == {SkipReason.MISFIRE: 120}
        case MisfirePolicy.FIRE_ONCE:
            # The window holds 60 of them: one runs in place of 59, and the older half is given up.
            assert account.verdicts[Verdict.LATE] == 1
            assert account.verdicts[Verdict.COALESCED] == 59
            assert account.reasons == {SkipReason.WINDOW: 60}
        case MisfirePolicy.FIRE_ALL:
            assert account.verdicts[Verdict.LATE] == 20
            assert account.reasons == {SkipReason.WINDOW: 60, SkipReason.CAP: 40}


async def test_a_one_time_job_is_run_however_late(outage: Outage) -> None:
    job = await outage.job(At(START_MS + HOUR_S * 1000), Misfire(policy=MisfirePolicy.SKIP))
    await outage.pass_over(3 * DAY_S)
    check_complete(await outage.account(job), expected=1)
    assert await outage.starts(job) == [START_MS + HOUR_S * 1000]


async def test_thousands_of_missed_runs_are_paced_behind_what_is_on_time(outage: Outage, target: Target) -> None:
    misfire = Misfire(policy=MisfirePolicy.FIRE_ALL, cap=50)
    missed = [await outage.job(Every(60_000, START_MS), misfire, overlap=Overlap.ALLOW) for _ in range(20)]
    await outage.cluster.add()
    await outage.cluster.advance(61, tick_s=0.5)
    await outage.cluster.store_clock.advance(HOUR_S)
    before = len(target.hits)
    await outage.cluster.advance(1)
    in_a_second = len(target.hits) - before
    assert 0 < in_a_second <= 2 * limits.RECOVERY_RATE_DEFAULT, "it does not flood"
    await outage.cluster.advance(15)
    for job in missed:
        account = await outage.account(job)
        assert (account.missed, account.doubled, account.verdicts[Verdict.LATE]) == (0, 0, 50)
