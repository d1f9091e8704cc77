"""What becomes of turns: kept by runs that come back, given to those who come at once, forgotten when they are over, and learnt again."""

import asyncio

import pytest

from dueline.domain.ids import BootId
from dueline.domain.states import JobState
from dueline.store.protocol import Store
from tests.conformance.overlapping import blocked, exclusive, one_under_way
from tests.conformance.sharing import W1, serve, shares, wait_with
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_finish,
    a_job,
    a_reclaim,
    a_run,
    an_occurrence,
    changing,
    claim,
    create,
    enqueue,
    promote,
    register,
    run_and_claim,
)


async def test_a_run_that_is_given_back_keeps_its_turn(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await wait_with(store, "other", 50)
    await store.release([claimed])
    assert (await claim(store, W1, limit=1))[0].run_id == claimed.run_id


async def test_a_run_whose_worker_vanished_keeps_its_turn(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await wait_with(store, "other", 50)
    await store.leave(W1)
    await store.reclaim([a_reclaim(claimed)])
    await register(store, "w2")
    assert (await claim(store, BootId("w2"), limit=1))[0].run_id == claimed.run_id


async def test_a_run_that_was_held_for_another_keeps_its_turn(store: Store) -> None:
    _, first, second = await one_under_way(store)
    await store.hold_blocked(await blocked(store))
    await wait_with(store, "other", 50)
    await store.finish([a_finish(first)])
    assert (await claim(store, W1, limit=1))[0].run_id == second


async def test_a_run_that_comes_back_from_long_ago_does_not_turn_the_line_back(store: Store) -> None:
    """Who comes while it stands at the head does not stand in front of all that went on meanwhile."""
    (claimed,) = await run_and_claim(store)
    await wait_with(store, "first", 600)
    await serve(store, 500, at_a_time=100)
    await store.forget_flows(limit=100)
    await store.release([claimed])
    await wait_with(store, "second", 600)
    await wait_with(store, "first", 500)
    assert abs((await shares(store, 200))["first"] - 100) <= 2


async def test_runs_of_a_job_that_was_paused_share_with_the_others_when_it_goes_on(store: Store) -> None:
    """Ready, waiting and tried ones alike: their line went on meanwhile."""
    job = await create(store)
    await enqueue(store, *(a_run(job) for _ in range(150)))
    waiting = [an_occurrence(job, START_MS + 60_000 + number) for number in range(50)]
    await enqueue(store, *waiting)
    every = changing(state=JobState.PAUSED, hold=lambda hand: tuple(run.id for run in hand.runs))
    await store.change_job(TENANT, job.id, every)
    await wait_with(store, "other", 600)
    await serve(store, 200, at_a_time=100)
    free = changing(state=JobState.ACTIVE, free=lambda hand: tuple(run.id for run in hand.runs))
    await store.change_job(TENANT, job.id, free)
    assert abs((await shares(store, 200))["other"] - 100) <= 2


async def test_runs_that_a_change_writes_take_their_turn(store: Store) -> None:
    job = await create(store, a_job(tenant="changed"))
    await wait_with(store, "changed", 100)
    await wait_with(store, "other", 100)
    runs = tuple(a_run(job) for _ in range(20))
    await store.change_job("changed", job.id, changing(runs=runs))
    assert abs((await shares(store, 200))["other"] - 100) <= 2
    assert {claimed.run_id for claimed in await serve(store, 30)} == {run.id for run in runs}


@pytest.mark.parametrize("at_a_time", [1, 7])
async def test_who_asks_at_once_from_many_sides_gets_one_share(store: Store, at_a_time: int) -> None:
    await wait_with(store, "one", 300)

    async def ask() -> None:
        for _ in range(5):
            await wait_with(store, "many", at_a_time)

    await asyncio.gather(*(ask() for _ in range(8)))
    many = 40 * at_a_time
    served = await shares(store, 2 * min(many, 250))
    assert abs(served["many"] - served["one"]) <= 0.1 * served["one"]


async def test_runs_that_are_promoted_from_many_sides_are_ranked_once(store: Store, clock: StoreClock) -> None:
    await enqueue(store, *(a_run(tenant="late", due_ms=START_MS + 5_000) for _ in range(200)))
    await wait_with(store, "other", 400)
    await clock.advance(5)
    answers = await asyncio.gather(*(promote(store, limit=30) for _ in range(8)))
    while (answer := await promote(store, limit=30)).count:
        answers.append(answer)
    assert sum(answer.count for answer in answers) == 200
    assert abs((await shares(store, 200))["late"] - 100) <= 10


async def test_who_gives_up_takes_nobodys_turn(under_test: StoreUnderTest) -> None:
    store = under_test.store
    asking = [asyncio.create_task(wait_with(store, "t", 1)) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()
    done = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(one) for one in done] == [asyncio.CancelledError, *[type(None)] * 19]
    await wait_with(store, "t", 1)
    assert 20 <= len(await serve(store, 30)) <= 21


async def test_flows_that_had_their_turn_are_forgotten_and_the_others_are_not(store: Store, clock: StoreClock) -> None:
    for number in range(30):
        await wait_with(store, f"t{number}", 1)
    await wait_with(store, "noisy", 200)
    assert await store.forget_flows(limit=100) == 0
    await serve(store, 100, at_a_time=100)
    assert await store.forget_flows(limit=20) == 20
    assert await store.forget_flows(limit=100) == 10
    await wait_with(store, "noisy", 50)
    await wait_with(store, "other", 200)
    assert abs((await shares(store, 200))["other"] - 100) <= 2
    await serve(store, 1_000, at_a_time=100)
    await clock.advance(60)
    assert await store.forget_flows(limit=100) == 2
    assert await store.forget_flows(limit=100) == 0


async def test_a_line_goes_on_from_where_it_was_when_all_is_forgotten(store: Store, clock: StoreClock) -> None:
    job = await create(store)
    await wait_with(store, "t", 100)
    (run_id,) = await enqueue(store, exclusive(job))
    claims = await serve(store, 101)
    await clock.advance(60)
    assert await store.forget_flows(limit=100) == 2
    await wait_with(store, "t", 50)
    await store.release([claimed for claimed in claims if claimed.run_id == run_id])
    assert run_id in {claimed.run_id for claimed in await serve(store, 2)}


@pytest.mark.parametrize("lost", ["DELETE FROM flows", "DELETE FROM flows WHERE tenant = 'noisy' OR level = ''"])
async def test_flows_that_were_lost_are_learnt_again_from_what_waits(under_test: StoreUnderTest, lost: str) -> None:
    """Nobody gets a second turn beside what waits already."""
    store = under_test.store
    await wait_with(store, "noisy", 200)
    await wait_with(store, "noisy", 20, fairness_key="key", missed=True, priority=7)
    await serve(store, 20)
    await under_test.tamper(lost)
    later = [a_run(tenant="noisy") for _ in range(50)]
    await enqueue(store, *later)
    await wait_with(store, "quiet", 1)
    assert (await shares(store, 3))["quiet"] == 1
    served = {claimed.run_id for claimed in await serve(store, 150, at_a_time=50)}
    assert served & {run.id for run in later} == set()


async def test_a_run_of_an_earlier_release_has_its_turn(under_test: StoreUnderTest) -> None:
    """While the last of its processes is still there: it writes the due time for a rank."""
    store = under_test.store
    await wait_with(store, "new", 100)
    (run_id,) = await enqueue(store, a_run(tenant="old"))
    await under_test.tamper(f"UPDATE runs SET rank = {START_MS} WHERE tenant = 'old'")
    assert run_id in {claimed.run_id for claimed in await serve(store, 2)}


async def test_a_reservation_without_runs_costs_little(under_test: StoreUnderTest) -> None:
    """Writing what is there already takes a place and no more."""
    store = under_test.store
    again = a_run(tenant="again")
    await enqueue(store, again)
    for _ in range(10):
        assert await store.enqueue([again]) == set()
    await wait_with(store, "again", 100)
    await wait_with(store, "other", 100)
    assert (await shares(store, 100))["again"] >= 40
