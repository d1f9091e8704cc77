"""After an outage: what is overdue is shown, then decided; at a pace, behind what is on time, and once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from dueline.domain import limits
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import SkipReason, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.run import Run
from dueline.domain.schedule import After, At, Every
from dueline.domain.states import JobState, RunState
from dueline.engine.node import Life
from dueline.engine.recoveries import JobRecovery, RecoveryAsked, RecoveryPlan
from dueline.engine.scheduler import RecoveryMode, SchedulerOptions
from dueline.store.fleet import NewNode, Role
from dueline.worker.options import WorkerOptions
from tests.engine.books import HOUR_MS, HOUR_S, MINUTE_MS, MINUTE_S, Books
from tests.support.cluster import HandNode
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target

EVERY_MINUTE = Every(MINUTE_MS, START_MS)
FIRE_ALL = Misfire(policy=MisfirePolicy.FIRE_ALL, cap=20)
FIRE_ONCE = Misfire(policy=MisfirePolicy.FIRE_ONCE)
SKIP = Misfire(policy=MisfirePolicy.SKIP)


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


class HoldingNode(HandNode):
    """A scheduler that leaves what was due before it came."""

    def __init__(self, books: Books, name: str) -> None:
        super().__init__(books, books.store, name, role=Role.SCHEDULER, options=WorkerOptions())
        node = NewNode(boot_id=self.boot_id, role=Role.SCHEDULER, host="test", pid=1, version="test")
        scheduling = SchedulerOptions(recovery=RecoveryMode.HOLD)
        self.life = Life(books.store, books.clock, books.chance, node, [], scheduling)


async def holding(books: Books, name: str) -> HandNode:
    node = HoldingNode(books, name)
    books.nodes.append(node)
    await node.join()
    await books.settle()
    return node


async def minutes_pass(books: Books, count: int) -> None:
    """So many minutes, of which a few seconds are worked through."""
    for _ in range(count):
        await books.leap(MINUTE_S - 5)
        await books.advance(5, tick_s=0.5)


async def after_outage(books: Books, *misfires: Misfire, outage_s: float = 2 * HOUR_S) -> list[Job]:
    """Jobs of every minute that ran once, and nobody there since."""
    jobs = [await books.job(EVERY_MINUTE, misfire=misfire) for misfire in misfires]
    first = await books.add("first")
    await books.advance(61, tick_s=0.5)
    first.kill()
    await books.leap(outage_s)
    return jobs


def asked(policy: MisfirePolicy | None = None, rate: float = limits.RECOVERY_RATE_DEFAULT) -> RecoveryAsked:
    return RecoveryAsked(tenant=DEFAULT_TENANT, policy=policy, rate=rate)


def counts(plan: RecoveryPlan, job: Job) -> tuple[int, int, int, int]:
    share = share_of(plan, job)
    return share.run, share.coalesce, share.skip, share.waiting


def share_of(plan: RecoveryPlan, job: Job) -> JobRecovery:
    return next(share for share in plan.jobs if share.job_id == job.id)


async def missed_of(books: Books, job: Job) -> list[Run]:
    return [run for run in await books.runs_of(job) if run.scheduled_ms > START_MS + MINUTE_MS + 5_000]


async def test_the_plan_tells_of_every_job_what_its_policy_would_do(books: Books) -> None:
    jobs = once, every, skip = await after_outage(books, FIRE_ONCE, FIRE_ALL, SKIP)
    told = await books.recoveries.plan(asked())
    assert (told.overdue_jobs, told.complete, told.waiting) == (3, True, 0)
    assert [share.name for share in told.jobs] == sorted(job.definition.name for job in jobs)
    assert {share.overdue_since_ms for share in told.jobs} == {START_MS + 2 * MINUTE_MS}
    # 120 were due; the last of them a second ago, so it is in time. The window of an hour holds 59 of the missed ones.
    assert counts(told, once) == (2, 58, 60, 0)
    assert counts(told, every) == (21, 0, 99, 0)
    assert counts(told, skip) == (1, 0, 119, 0)
    assert told.runs == 24
    assert told.drained_ms == told.now_ms + 240
    assert [job.next_ms for job in [await books.now_of(job) for job in jobs]] == [START_MS + 2 * MINUTE_MS] * 3
    assert len(await books.runs()) == 3, "nothing is done yet"


@pytest.mark.parametrize(("policy", "runs"), [(MisfirePolicy.SKIP, 1), (MisfirePolicy.FIRE_ALL, 21), (None, 2)])
async def test_what_was_told_is_done(books: Books, policy: MisfirePolicy | None, runs: int) -> None:
    (job,) = await after_outage(books, Misfire(policy=MisfirePolicy.FIRE_ONCE, cap=20))
    told = await books.recoveries.plan(asked(policy))
    assert await books.recoveries.apply(asked(policy)) == told
    assert told.runs == runs == len(await missed_of(books, job))
    after = await books.now_of(job)
    assert (after.state, after.next_ms) == (JobState.ACTIVE, START_MS + 122 * MINUTE_MS)
    await books.add("second")
    await books.advance(70, tick_s=0.5)
    account = await books.sound_account(job)
    assert account.verdicts[Verdict.LATE] + account.verdicts[Verdict.FIRED] == runs + 2
    assert account.reasons[SkipReason.RECOVERY] == share_of(told, job).skip
    assert account.verdicts[Verdict.COALESCED] == share_of(told, job).coalesce


async def test_the_rate_spaces_what_is_caught_up_over_all_jobs(books: Books) -> None:
    jobs = await after_outage(books, FIRE_ALL, FIRE_ALL)
    await books.recoveries.apply(asked(MisfirePolicy.FIRE_ALL, rate=4.0))
    missed = [run for job in jobs for run in await missed_of(books, job) if run.scheduled_ms < books.now_ms - 10_000]
    assert sorted(run.due_ms for run in missed) == [books.now_ms + 250 * number for number in range(40)]
    await books.add("second")
    await books.advance(12)
    for run in missed:
        after = await books.store.run(DEFAULT_TENANT, run.id)
        assert after is not None
        assert after.started_ms is not None
        assert 0 <= after.started_ms - run.due_ms <= 1_000


async def test_what_is_on_time_goes_first(books: Books) -> None:
    await after_outage(books, FIRE_ALL)
    await books.job(Every(HOUR_MS, books.now_ms + 1_000))
    await books.recoveries.apply(asked(MisfirePolicy.FIRE_ALL, rate=1_000.0))
    await books.add("scheduler", role=Role.SCHEDULER)
    await books.advance(15)
    before = len(books.target.hits)
    await books.add("worker", role=Role.WORKER, slots=1)
    await books.advance(10)
    called = [hit.headers["dueline-scheduled-at"] for hit in books.target.hits[before:]]
    # The last of the outage, which was not missed yet, the one of the other job, and then what was missed, in order.
    assert called[:3] == ["2026-01-01T02:01:00.000Z", "2026-01-01T02:01:02.000Z", "2026-01-01T01:41:00.000Z"]
    assert called[2:] == sorted(called[2:])
    assert len(called) == 22


async def test_applied_twice_nothing_more_happens(books: Books) -> None:
    (job,) = await after_outage(books, FIRE_ALL)
    await books.recoveries.apply(asked(MisfirePolicy.FIRE_ALL, rate=4.0))
    before = [(run.id, run.due_ms) for run in await missed_of(books, job)]
    again = await books.recoveries.apply(asked(MisfirePolicy.FIRE_ALL, rate=4.0))
    assert (again.overdue_jobs, again.runs, again.waiting) == (0, 0, 20)
    assert [(run.id, run.due_ms) for run in await missed_of(books, job)] == before
    await books.add("second")
    await books.advance(8)
    assert {run.state for run in await missed_of(books, job)} == {RunState.SUCCEEDED}
    assert len(books.target.hits) == 22
    await books.sound_account(job)


async def test_what_waits_already_gets_another_pace(books: Books) -> None:
    (job,) = await after_outage(books, FIRE_ALL)
    await books.recoveries.apply(asked(rate=0.1))
    told = await books.recoveries.plan(asked(rate=2.0))
    assert counts(told, job) == (0, 0, 0, 20)
    assert share_of(told, job).name == job.definition.name
    await books.recoveries.apply(asked(rate=2.0))
    await books.add("second")
    await books.advance(12)
    assert {run.state for run in await missed_of(books, job)} == {RunState.SUCCEEDED}


async def test_what_waits_already_is_given_up(books: Books) -> None:
    (job,) = await after_outage(books, FIRE_ALL)
    await books.recoveries.apply(asked(rate=0.1))
    await books.recoveries.apply(asked(MisfirePolicy.SKIP))
    ended = [run for run in await missed_of(books, job) if run.state is RunState.CANCELLED]
    assert [run.reason for run in ended] == ["recovery"] * 20
    account = await books.sound_account(job)
    assert account.reasons[SkipReason.RECOVERY] == 119


async def test_jobs_that_have_nothing_overdue_are_left_alone(books: Books) -> None:
    paused = await books.job(EVERY_MINUTE)
    await books.pause(paused)
    await books.leap(HOUR_S)
    young = await books.job(Every(MINUTE_MS, books.now_ms))
    told = await books.recoveries.apply(asked(MisfirePolicy.FIRE_ALL))
    assert (told.overdue_jobs, told.jobs) == (0, [])
    assert await books.runs() == []
    assert (await books.now_of(young)).next_ms == young.next_ms


async def test_another_tenants_jobs_are_not_touched(books: Books) -> None:
    await after_outage(books, FIRE_ONCE)
    told = await books.recoveries.apply(RecoveryAsked(tenant="another"))
    assert (told.overdue_jobs, told.jobs) == (0, [])
    assert (await books.recoveries.plan(asked())).overdue_jobs == 1


async def test_jobs_of_one_instant_and_of_fixed_delays_run_however_late(books: Books) -> None:
    once = await books.job(At(START_MS + HOUR_MS))
    delayed = await books.job(After(MINUTE_MS, START_MS + HOUR_MS))
    await books.leap(3 * HOUR_S)
    told = await books.recoveries.apply(asked(MisfirePolicy.SKIP))
    assert (counts(told, once), counts(told, delayed)) == ((1, 0, 0, 0), (1, 0, 0, 0))
    await books.add()
    await books.advance(MINUTE_S + 5, tick_s=0.5)
    assert [run.state for run in await books.runs_of(once)] == [RunState.SUCCEEDED]
    assert len(await books.runs_of(delayed)) == 2, "and goes on from there"


async def test_hold_leaves_what_was_due_before_and_fires_everything_else(books: Books) -> None:
    (held,) = await after_outage(books, FIRE_ALL)
    await books.add("worker", role=Role.WORKER)
    await holding(books, "holding")
    # Until it has the shards of the one that vanished.
    await books.advance(15, tick_s=0.5)
    other = await books.job(Every(MINUTE_MS, books.now_ms))
    await minutes_pass(books, 3)
    await books.advance(1)
    assert (await books.now_of(held)).next_ms == START_MS + 2 * MINUTE_MS
    assert len(await books.runs_of(held)) == 1
    assert len(await books.runs_of(other)) == 3
    told = await books.recoveries.plan(asked())
    assert [share.job_id for share in told.jobs] == [held.id]
    await books.recoveries.apply(asked(MisfirePolicy.SKIP))
    await books.leap((MINUTE_MS - books.now_ms % MINUTE_MS) / 1000 - 2)
    await books.advance(4)
    account = await books.sound_account(held)
    assert (account.verdicts[Verdict.FIRED], account.verdicts[Verdict.LATE]) == (2, 0)
    assert account.reasons == {SkipReason.RECOVERY: account.verdicts[Verdict.SKIPPED]}
    assert (await books.now_of(held)).next_ms == (books.now_ms // MINUTE_MS + 1) * MINUTE_MS, "it goes on"


async def test_hold_fires_what_comes_due_while_it_is_there_however_late(books: Books) -> None:
    await holding(books, "holding")
    job = await books.job(EVERY_MINUTE, misfire=FIRE_ALL)
    await books.leap(5 * MINUTE_S)
    await books.advance(1)
    assert len(await books.runs_of(job)) == 5


async def test_hold_fires_what_comes_due_before_it_has_the_shards_of_one_that_vanished(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, misfire=FIRE_ALL)
    first = await books.add("first", role=Role.SCHEDULER)
    await books.leap(MINUTE_S - 2)
    await books.advance(1.5)
    first.kill()
    await books.leap(MINUTE_S)
    due_ms = START_MS + 2 * MINUTE_MS
    await holding(books, "holding")
    assert books.now_ms < due_ms
    await books.advance(20, tick_s=0.5)
    assert due_ms in [run.scheduled_ms for run in await books.runs_of(job)]


async def test_a_scheduler_that_comes_again_holds_what_was_due_before(books: Books) -> None:
    job = await books.job(EVERY_MINUTE, misfire=FIRE_ALL)
    first = await holding(books, "holding-1")
    await books.advance(MINUTE_S + 1, tick_s=0.5)
    assert len(await books.runs_of(job)) == 1
    first.kill()
    await books.leap(10 * MINUTE_S)
    await holding(books, "holding-2")
    await books.advance(MINUTE_S, tick_s=0.5)
    assert len(await books.runs_of(job)) == 1
    await books.recoveries.apply(asked())
    await books.advance(1)
    account = await books.sound_account(job)
    assert account.expected == 12


async def test_by_default_a_scheduler_that_comes_again_catches_up(books: Books) -> None:
    (job,) = await after_outage(books, FIRE_ALL)
    await books.add("second")
    await books.advance(30, tick_s=0.5)
    account = await books.sound_account(job)
    assert account.verdicts[Verdict.LATE] == 20
    assert (await books.recoveries.plan(asked())).overdue_jobs == 0
