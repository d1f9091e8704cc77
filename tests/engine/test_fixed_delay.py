"""Fixed delay: each run so long after the end of the last, however that ended; never two at once, never stuck."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from itertools import pairwise
from random import Random

import msgspec
import pytest

from dueline.domain.job import Job
from dueline.domain.overlap import Overlap
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.schedule import After, Every
from dueline.domain.states import TERMINAL, JobState, RunState
from dueline.testing import Answer, Call, VirtualDueline
from tests.engine.books import Books
from tests.support.failing import FailingStore, Fault
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer as TargetAnswer
from tests.support.target import Target

DELAY_MS = 2_000
DELAY = After(DELAY_MS, START_MS + DELAY_MS)
HEAL_S = 24.0
"""Lease, silence and sweep of a dead node."""


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


async def delayed(books: Books, schedule: After = DELAY, path: str = "/ok", **fields: object) -> Job:
    return await books.job(schedule, path=path, overlap=Overlap.SKIP, execution=fields)


async def check(books: Books, job: Job, *, least: int) -> list[Run]:
    """Its runs, each so long after the end of the one before."""
    runs = [run for run in await books.runs_of(job) if run.scheduled_ms <= books.now_ms]
    assert len(runs) >= least, [(run.scheduled_ms, run.state) for run in runs]
    for before, after in pairwise(runs):
        assert before.state in TERMINAL, "never two at once"
        assert before.finished_ms is not None
        assert after.scheduled_ms == before.finished_ms + DELAY_MS
    return runs


@pytest.mark.parametrize("status", [200, 404])
async def test_from_one_end_to_the_next(books: Books, status: int) -> None:
    job = await delayed(books, path=f"/status/{status}")
    await books.add()
    await books.advance(9)
    runs = await check(books, job, least=4)
    ended = RunState.SUCCEEDED if status == 200 else RunState.FAILED
    assert {run.state for run in runs if run.state in TERMINAL} == {ended}


async def test_retries_belong_to_the_run(books: Books) -> None:
    answers = iter([500, 500, 200, 500])
    books.target.on("/flaky", lambda _hit: TargetAnswer(status=next(answers, 200)))
    retry = RetryPolicy(backoff=Backoff.FIXED, base_ms=3_000)
    job = await delayed(books, path="/flaky", retry=retry)
    await books.add()
    await books.advance(20)
    runs = await check(books, job, least=3)
    assert [run.attempt for run in runs[:3]] == [3, 2, 1]


async def test_a_limit_of_runs(books: Books) -> None:
    job = await delayed(books, msgspec.structs.replace(DELAY, max_runs=2))
    await books.add()
    await books.advance(9)
    assert len(await check(books, job, least=2)) == 2
    assert (await books.now_of(job)).state is JobState.FINISHED


async def test_while_a_run_lives_nothing_is_due(books: Books) -> None:
    job = await delayed(books, path="/hang")
    await books.add()
    await books.advance(5, calls_end=False)
    await books.target.wait_for_hits(1)
    position = (await books.now_of(job)).position
    assert (position.next_ms, position.due_ms) == (None, None)
    (run,) = await books.runs_of(job)
    assert (position.awaiting, run.state) == (run.id, RunState.RUNNING)


async def test_a_worker_that_vanishes_is_waited_for(books: Books) -> None:
    job = await delayed(books, path="/hang")
    doomed = await books.add("doomed")
    await books.advance(3, calls_end=False)
    await books.target.wait_for_hits(1)
    doomed.kill()
    books.target.on("/hang", lambda _hit: TargetAnswer())
    await books.add("heir")
    await books.advance(HEAL_S, tick_s=0.5)
    runs = await check(books, job, least=2)
    assert [attempt.outcome.kind for attempt in runs[0].attempts] == [OutcomeKind.LOST, OutcomeKind.SUCCEEDED]


async def test_a_run_that_cost_too_many_workers_ends_and_the_next_comes(books: Books) -> None:
    job = await delayed(books, path="/hang", retry=RetryPolicy(max_lost=1))
    doomed = await books.add("doomed")
    await books.advance(3, calls_end=False)
    await books.target.wait_for_hits(1)
    doomed.kill()
    books.target.on("/hang", lambda _hit: TargetAnswer())
    await books.add("heir")
    await books.advance(HEAL_S, tick_s=0.5)
    runs = await check(books, job, least=2)
    assert (runs[0].state, runs[0].reason) == (RunState.FAILED, "poison")


async def test_paused_while_it_waits(books: Books) -> None:
    job = await delayed(books)
    await books.add()
    await books.advance(3)
    await books.pause(job)
    await books.advance(5)
    assert len(await books.runs_of(job)) == 1
    await books.resume(job)
    await books.advance(3)
    await check(books, job, least=3)


async def test_paused_while_a_run_is_under_way(books: Books) -> None:
    job = await delayed(books, path="/slow/0.05")
    await books.add()
    await books.advance(2, calls_end=False)
    await books.target.wait_for_hits(1)
    await books.pause(job)
    await books.advance(4)
    (run,) = await books.runs_of(job)
    after = await books.now_of(job)
    assert (run.state, after.position.awaiting) == (RunState.SUCCEEDED, None)
    assert run.finished_ms is not None
    assert after.next_ms == run.finished_ms + DELAY_MS
    assert after.position.due_ms is None
    await books.resume(job)
    await books.advance(3)
    await check(books, job, least=2)


async def test_another_delay_counts_from_the_next_end(books: Books) -> None:
    job = await delayed(books)
    await books.add()
    await books.advance(3)
    await books.edit(job, schedule=After(10_000, DELAY.first_ms))
    await books.advance(14)
    runs = await books.runs_of(job)
    gaps = [after.scheduled_ms - (before.finished_ms or 0) for before, after in pairwise(runs)]
    assert gaps == [DELAY_MS, 10_000]


async def test_edited_while_a_run_is_under_way(books: Books) -> None:
    job = await delayed(books, path="/slow/0.05")
    await books.add()
    await books.advance(2, calls_end=False)
    await books.target.wait_for_hits(1)
    await books.edit(job, schedule=After(5_000, DELAY.first_ms), priority=9)
    await books.advance(6)
    first, second = await books.runs_of(job)
    assert first.finished_ms is not None
    assert (first.version, second.version) == (1, 2)
    assert second.scheduled_ms == first.finished_ms + 5_000


async def test_from_a_rate_to_a_delay_and_back(books: Books) -> None:
    job = await books.job(Every(1_000, START_MS), overlap=Overlap.SKIP)
    await books.add()
    await books.advance(2.5)
    await books.edit(job, schedule=After(DELAY_MS, books.now_ms + DELAY_MS))
    await books.advance(5)
    await books.edit(job, schedule=Every(1_000, START_MS))
    await books.advance(3)
    account = await books.sound_account(job)
    assert account.expected == 2 + 2 + 3


async def test_a_plan_whose_run_is_gone_goes_on(books: Books) -> None:
    job = await delayed(books, path="/hang")
    doomed = await books.add("doomed")
    await books.advance(3, calls_end=False)
    await books.target.wait_for_hits(1)
    doomed.kill()
    await books.store.leave(doomed.boot_id)
    await books.under_test.tamper("DELETE FROM runs")
    await books.under_test.tamper("DELETE FROM places")
    books.target.on("/hang", lambda _hit: TargetAnswer())
    await books.add("heir")
    await books.advance(6)
    assert len(await books.runs_of(job)) >= 2


METHODS = ("fire", "claim", "confirm", "finish", "retry", "reclaim", "upcoming", "promote", "due_plans", "beat")


@pytest.mark.parametrize("seed", range(5))
async def test_whatever_dies_it_is_never_doubled_and_never_stuck(books: Books, seed: int) -> None:
    random = Random(seed)
    books.target.on("/any", lambda _hit: TargetAnswer(status=random.choice([200, 200, 404, 500])))
    retry = RetryPolicy(backoff=Backoff.FIXED, base_ms=500, max_attempts=2, max_lost=2)
    job = await delayed(books, path="/any", retry=retry)
    struck = 0
    for number in range(4):
        method = random.choice(METHODS)
        # The first beat is how a node joins.
        nth = random.randint(1, 3) + (method == "beat")
        failing = FailingStore(books.store, method, nth, random.choice(list(Fault)), kill=True)
        await books.add(f"doomed-{number}", store=failing.as_store())
        await books.advance(random.randint(4, 12), tick_s=0.5)
        struck += failing.struck
        if random.random() < 0.5:
            await books.pause(job)
            await books.advance(random.randint(0, 3), tick_s=0.5)
            await books.resume(job)
    assert struck
    await books.add("heir")
    before = len(await books.runs_of(job))
    await books.advance(HEAL_S, tick_s=0.5)
    runs = await check(books, job, least=before + 3)
    calls = [(hit.headers["dueline-run"], hit.headers["dueline-token"]) for hit in books.target.hits]
    assert len(calls) == len(set(calls))
    assert len(runs) == len({run.scheduled_ms for run in runs})


def test_a_day_of_calls_that_fail_hang_and_are_lost(dueline: VirtualDueline) -> None:
    random = Random(1)
    under_way: list[Call] = []

    def respond(call: Call) -> Answer:
        under_way.append(call)
        status, takes = random.choice([(200, "1s"), (503, "5s"), (404, "0s"), (200, "10m"), (500, "90s")])
        return Answer(status=status, takes=takes)

    dueline.respond(respond)
    retry = {"max_attempts": 2, "backoff": "fixed", "base": "PT20S"}
    job = dueline.create_job(schedule={"after": "PT5M"}, timeout="PT2M", retry=retry)
    for number in range(24):
        dueline.advance("50m")
        if number % 3:
            dueline.outage("10m")
        else:
            dueline.pause_job(job["id"])
            dueline.advance("10m")
            dueline.resume_job(job["id"])
    runs = dueline.runs(job["id"])
    assert len(runs) > 24 * 4
    for before, after in pairwise(runs):
        assert before["finished_at"] <= after["scheduled_at"], "never two at once"
    account = dueline.audit(job["id"])
    assert (account["missed"], account["doubled"], account["expected"]) == (0, 0, len(runs))
