"""The overlap policy that ends the run under way: its call is broken off, and the latest run takes its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from typing import Any

import pytest

from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.schedule import Every
from dueline.domain.states import RunState
from dueline.store.fleet import Role
from tests.engine.books import MINUTE_MS, Books
from tests.support.cluster import CALLS_END_S_MAX, CALLS_POLL_S
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Answer, Reaction, Silence, Target

SUPERSEDED = (RunState.CANCELLED, "superseded")
SUCCEEDED = (RunState.SUCCEEDED, None)


@pytest.fixture
async def books(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Books]:
    with closing(Books(under_test, target)) as books:
        yield books


async def until(happened: Callable[[], bool]) -> None:
    """Let calls go on until something is seen of them."""
    for _ in range(round(CALLS_END_S_MAX / CALLS_POLL_S)):
        if happened():
            return
        await asyncio.sleep(CALLS_POLL_S)
    raise TimeoutError("it does not happen")


async def long_job(books: Books, *first: Reaction, period_ms: int = 5_000, **fields: Any) -> Job:
    """A job whose first calls are answered so, and all others at once."""
    answers = iter(first)
    books.target.on("/long", lambda _hit: next(answers, Answer()))
    schedule = Every(period_ms, START_MS)
    return await books.job(schedule, path="/long", overlap=Overlap.CANCEL_PREVIOUS, **fields)


async def ends(books: Books, job: Job) -> list[tuple[RunState, str | None]]:
    """State and reason of the runs whose time has come."""
    return [(run.state, run.reason) for run in await due_runs(books, job)]


async def due_runs(books: Books, job: Job) -> list[Run]:
    return [run for run in await books.runs_of(job) if run.scheduled_ms <= books.now_ms]


async def tick(books: Books, times: int = 4) -> None:
    """At one moment, without waiting for calls."""
    for _ in range(times):
        for node in books.nodes:
            if node.alive and not node.paused:
                await node.tick(calls_end=False)


async def test_the_call_is_broken_off_and_the_new_run_starts(books: Books) -> None:
    job = await long_job(books, Silence.HANG)
    await books.add()
    await books.advance(5.25, calls_end=False)
    await books.target.wait_for_hits(1)
    assert len(books.target.connections) == 1
    await books.advance(5, calls_end=False)
    await until(lambda: not books.target.connections)
    await books.advance(2)
    assert await ends(books, job) == [SUPERSEDED, SUCCEEDED]
    first, second = await due_runs(books, job)
    (attempt,) = first.attempts
    assert attempt.outcome.kind is OutcomeKind.CANCELLED
    assert first.finished_ms is not None
    assert second.started_ms is not None
    assert second.started_ms >= first.finished_ms, "never two at once"
    assert len(books.target.hits) == 2
    assert (await books.sound_account(job)).verdicts == {Verdict.FIRED: 2}


async def test_a_run_that_has_ended_is_left_as_it_was(books: Books) -> None:
    job = await long_job(books)
    await books.add()
    await books.advance(11)
    assert await ends(books, job) == [SUCCEEDED, SUCCEEDED]


async def test_an_answer_that_comes_before_the_cancel_counts(books: Books) -> None:
    late: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    job = await long_job(books, late)
    node = await books.add()
    await books.advance(9.75, calls_end=False)
    await books.target.wait_for_hits(1)
    assert node.worker is not None
    claims, holding, *_ = node.worker.loops()
    await books.leap(0.25)
    await claims.step()
    await holding.step()
    assert [run.state for run in await due_runs(books, job)] == [RunState.RUNNING, RunState.HELD]
    late.set_result(Answer())
    await until(lambda: node.worker is not None and not node.worker.under_way)
    await books.advance(2)
    assert await ends(books, job) == [SUCCEEDED, SUCCEEDED]


async def test_of_several_newer_runs_the_latest_wins(books: Books) -> None:
    job = await long_job(books, Silence.HANG, period_ms=2_000)
    first = await books.add("first", role=Role.WORKER)
    await books.add("scheduler", role=Role.SCHEDULER)
    await books.advance(2.5, calls_end=False)
    await books.target.wait_for_hits(1)
    await books.add("second", role=Role.WORKER)
    # It does not hear that its call is to end.
    first.pause()
    await books.advance(5.75, calls_end=False)
    assert await ends(books, job) == [(RunState.RUNNING, None), SUPERSEDED, SUPERSEDED, (RunState.HELD, "overlap")]
    first.paused = False
    await tick(books)
    await until(lambda: not books.target.connections)
    await books.advance(1)
    assert await ends(books, job) == [SUPERSEDED, SUPERSEDED, SUPERSEDED, SUCCEEDED]
    assert len(books.target.hits) == 2
    account = await books.sound_account(job)
    assert (account.verdicts, account.reasons) == ({Verdict.FIRED: 2, Verdict.SKIPPED: 2}, {"overlap": 2})


async def test_each_newer_run_ends_the_one_before(books: Books) -> None:
    job = await long_job(books, *[Silence.HANG] * 3)
    await books.add()
    await books.advance(6, calls_end=False)
    for hits in (1, 2, 3):
        await books.target.wait_for_hits(hits)
        assert len(books.target.connections) == 1
        await books.advance(4, calls_end=False)
        await until(lambda: not books.target.connections)
        await books.advance(1, calls_end=False)
    await books.advance(1)
    assert await ends(books, job) == [SUPERSEDED, SUPERSEDED, SUPERSEDED, SUCCEEDED]


async def test_a_run_that_waits_for_its_retry_ends_at_once(books: Books) -> None:
    retry = RetryPolicy(backoff=Backoff.FIXED, base_ms=MINUTE_MS)
    job = await long_job(books, Answer(status=500), execution={"retry": retry})
    await books.add()
    await books.advance(5.5)
    assert await ends(books, job) == [(RunState.RETRYING, None)]
    await books.advance(5)
    assert await ends(books, job) == [SUPERSEDED, SUCCEEDED]
    await books.advance(MINUTE_MS / 1000, tick_s=0.5)
    assert len([hit for hit in books.target.hits if hit.headers["dueline-attempt"] == "2"]) == 0


@pytest.mark.parametrize("asked_first", [True, False], ids=["after it was asked", "before it was asked"])
async def test_a_worker_that_dies_leaves_a_run_that_is_cancelled(books: Books, asked_first: bool) -> None:
    job = await long_job(books, Silence.HANG, period_ms=30_000)
    doomed = await books.add("doomed", role=Role.WORKER)
    await books.add("scheduler", role=Role.SCHEDULER)
    await books.advance(30.5, calls_end=False)
    await books.target.wait_for_hits(1)
    await books.add("heir", role=Role.WORKER)
    if asked_first:
        await books.advance(26, tick_s=0.5, calls_end=False)
        doomed.pause()
        await books.advance(4, calls_end=False)
        assert await ends(books, job) == [(RunState.RUNNING, None), (RunState.HELD, "overlap")]
    else:
        await books.advance(29, tick_s=0.5, calls_end=False)
    doomed.kill()
    await books.advance(24, tick_s=0.5)
    assert await ends(books, job) == [SUPERSEDED, SUCCEEDED]
    first, _ = await due_runs(books, job)
    assert [attempt.outcome.kind for attempt in first.attempts] == [OutcomeKind.LOST]
    assert len(books.target.hits) == 2, "it is not tried again"


async def test_a_run_now_ends_the_one_under_way_too(books: Books) -> None:
    job = await long_job(books, Silence.HANG)
    await books.add()
    await books.advance(5.25, calls_end=False)
    await books.target.wait_for_hits(1)
    asked = await books.operations.run_job(DEFAULT_TENANT, job.id, force=False)
    await books.advance(1, calls_end=False)
    await books.target.wait_for_hits(2)
    await books.advance(1)
    assert await ends(books, job) == [SUPERSEDED, SUCCEEDED]
    manual = await books.store.run(DEFAULT_TENANT, asked)
    assert manual is not None
    assert manual.state is RunState.SUCCEEDED
