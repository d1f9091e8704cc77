"""Ten thousand dead letters are tried again: some in each call, at a rate, once however often it is asked, and on from any interruption."""

from __future__ import annotations

import asyncio

import pytest

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.lanes import PLAIN
from dueline.domain.run import Run
from dueline.domain.states import RunKind, RunState
from dueline.engine.deadletters import DeadLetters, RedriveAnswer, RedriveAsked
from dueline.engine.quotas import QuotaKeeper
from dueline.runtime.clock import StoreTime
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, RunFilter
from tests.support.cluster import NodeClock
from tests.support.failing import FailingStore, Fault
from tests.support.stores import QUEUE, START_MS, TENANT, StoreUnderTest, a_finish, a_run, enqueue, register

LETTERS = 10_000
RATE = 1_000.0
ALL = DeadLetterFilter(tenant=TENANT)
ASKED = RedriveAsked(key="after the outage", rate=RATE)
SPEC = '{"target":{"type":"http","url":"http://target/"}}'


async def bury(store: Store, count: int) -> None:
    """Have so many runs fail."""
    worker = await register(store)
    for _ in range(0, count, limits.CLAIM_BATCH):
        await enqueue(store, *(a_run(spec=SPEC) for _ in range(limits.CLAIM_BATCH)))
        claimed = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=limits.CLAIM_BATCH)
        await store.finish([a_finish(claim, RunState.FAILED) for claim in claimed.claims])


def office(under_test: StoreUnderTest, store: Store | None = None) -> DeadLetters:
    clock = NodeClock(under_test.clock)
    time = StoreTime(clock)
    time.measured(under_test.clock.now_ms, sent_s=clock.monotonic_s())
    return DeadLetters(store or under_test.store, lambda: time, QuotaKeeper(under_test.store, clock))


async def redrive(letters: DeadLetters, *, calls: int, start_ms: int | None = None) -> list[RedriveAnswer]:
    """Call so many times, each from where the one before ended."""
    answers: list[RedriveAnswer] = []
    for _ in range(calls):
        start_ms = answers[-1].free_ms if answers else start_ms
        asked = RedriveAsked(key=ASKED.key, rate=RATE, start_ms=start_ms)
        answers.append(await letters.redrive_many(ALL, asked))
    return answers


async def redriven_runs(store: Store) -> list[Run]:
    runs: list[Run] = []
    while True:
        before = runs[-1].id if runs else None
        page = await store.runs_page(RunFilter(tenant=TENANT, kind=RunKind.REDRIVE), before=before, limit=1_000)
        if not page:
            return runs
        runs += page


async def test_ten_thousand_are_tried_again_a_bounded_part_in_each_call_and_at_one_rate(
    under_test: StoreUnderTest,
) -> None:
    store = under_test.store
    await bury(store, LETTERS)
    letters = office(under_test)
    look = await letters.redrive_many(ALL, RedriveAsked(key=ASKED.key, dry_run=True))
    assert (look.matched, len(look.redriven), look.left) == (LETTERS, limits.REDRIVE_BATCH, LETTERS - 1_000)
    first = await redrive(letters, calls=3)
    # Whoever called is gone; somebody goes on from where it was told to, with the same wish.
    rest = await redrive(office(under_test), calls=7, start_ms=first[-1].free_ms)
    answers = [*first, *rest]
    assert [len(answer.redriven) for answer in answers] == [limits.REDRIVE_BATCH] * 10
    assert [answer.left for answer in answers] == list(range(9_000, -1, -1_000)), "so far is what it is"
    runs = await redriven_runs(store)
    assert len({run.parent_id for run in runs}) == LETTERS
    assert sorted(run.due_ms for run in runs) == list(range(START_MS, START_MS + LETTERS)), "a thousand a second"
    again = await letters.redrive_many(ALL, ASKED)
    assert (again.matched, again.redriven, again.left) == (0, (), 0)
    assert len(await redriven_runs(store)) == LETTERS


@pytest.mark.parametrize("fault", Fault)
async def test_a_call_that_broke_off_is_repeated_and_doubles_nothing(under_test: StoreUnderTest, fault: Fault) -> None:
    await bury(under_test.store, 2_000)
    failing = office(under_test, FailingStore(under_test.store, "redrive", 1, fault, kill=False).as_store())
    with pytest.raises(StoreUnavailable):
        await failing.redrive_many(ALL, ASKED)
    left = 2_000 if fault is Fault.BEFORE else 1_000
    answers = await redrive(failing, calls=3)
    assert (answers[0].matched, sum(len(answer.redriven) for answer in answers)) == (left, left)
    assert len({run.parent_id for run in await redriven_runs(under_test.store)}) == 2_000


async def test_two_who_ask_for_the_same_at_once_make_every_run_once(under_test: StoreUnderTest) -> None:
    await bury(under_test.store, 2_000)
    letters = office(under_test)
    for _ in range(2):
        await asyncio.gather(letters.redrive_many(ALL, ASKED), letters.redrive_many(ALL, ASKED))
    runs = await redriven_runs(under_test.store)
    assert len(runs) == len({run.parent_id for run in runs}) == 2_000
    assert await letters.count(ALL) == 0
