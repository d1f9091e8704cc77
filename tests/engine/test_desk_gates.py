"""Limits hold for workers at the desk as for all others, and runs that were forced pass beside their job's own."""

from __future__ import annotations

import pytest

from dueline.domain import limits
from dueline.domain.gates import Limit, Rate, Scope
from dueline.domain.job import DEFAULT_TENANT, Concurrency, Job, StartRate, TaskTarget
from dueline.domain.run import OutcomeKind
from dueline.domain.states import HeldReason, RunState
from tests.engine.desks import DeskWorld, ended
from tests.support.stores import StoreUnderTest

TASK = TaskTarget(task="t")


@pytest.fixture
async def world(under_test: StoreUnderTest) -> DeskWorld:
    return DeskWorld(under_test)


@pytest.fixture
async def single(world: DeskWorld) -> Job:
    """A job of which one run may be under way."""
    return await world.job(TASK, concurrency=Concurrency(limit=1))


async def test_no_more_runs_are_handed_over_than_may_be_under_way(world: DeskWorld, single: Job) -> None:
    one, other = await world.register(), await world.register()
    run_ids = [await world.run_job(single) for _ in range(3)]
    first = await one.lease_one()
    assert first.claim.run_id == run_ids[0]
    assert await other.got() == set()
    waiting = await other.waiting()
    await one.report(first)
    assert await ended(waiting) == {run_ids[1]}
    assert (await world.the_run(run_ids[2])).reason == HeldReason.CONCURRENCY


async def test_what_is_given_back_or_tried_again_makes_room(world: DeskWorld, single: Job) -> None:
    worker = await world.register()
    run_ids = {await world.run_job(single) for _ in range(2)}
    first = await worker.lease_one()
    await worker.release(first, 60_000, HeldReason.HOST_BUSY)
    second = await worker.lease_one()
    assert {first.claim.run_id, second.claim.run_id} == run_ids
    await worker.report(second, OutcomeKind.ERRORED)
    await world.run_job(single)
    assert len(await worker.got()) == 1


async def test_what_a_worker_took_with_it_makes_room_when_it_is_found_out(world: DeskWorld, single: Job) -> None:
    lost, other = await world.register(), await world.register()
    run_ids = {await world.run_job(single) for _ in range(2)}
    await lost.lease_one()
    assert await other.got() == set()
    await lost.desk.leave(lost.boot_id)
    await world.add("sweeper")
    await world.advance(limits.SWEEP_S)
    again = await other.lease_one()
    assert again.claim.run_id in run_ids
    await other.report(again)
    assert len(await other.got()) == 1
    world.close()


async def test_what_never_reached_its_worker_leaves_its_place(world: DeskWorld, single: Job) -> None:
    gone, other = await world.register(), await world.register()
    run_id = await world.run_job(single)
    asked = 0

    async def left_when_claimed() -> bool:
        nonlocal asked
        asked += 1
        return asked > 1

    assert await gone.lease(left=left_when_claimed) == []
    assert await other.got() == {run_id}


async def test_a_queue_gives_no_more_than_it_may(world: DeskWorld) -> None:
    await world.store.put_limit(Limit(scope=Scope.QUEUE, name="default", most=2))
    worker = await world.register()
    run_ids = await world.enqueue_many(5)
    leased = await worker.lease()
    assert len(leased) == 2
    assert await worker.got() == set()
    states = [(await world.the_run(run_id)).state for run_id in run_ids]
    assert states.count(RunState.READY) == 3
    await worker.report(leased[0])
    assert len(await worker.got()) == 1


async def test_no_more_are_handed_over_than_may_start(world: DeskWorld) -> None:
    job = await world.job(TASK, rate=StartRate(rate=Rate(1, 5_000, 2)))
    worker = await world.register()
    for _ in range(4):
        await world.run_job(job)
    assert len(await worker.got()) == 2
    await world.store_clock.advance(4.999 - limits.AHEAD_MS / 1000)
    await world.store.refill(ahead_ms=limits.AHEAD_MS, limit=10)
    assert await worker.got() == set()
    await world.store_clock.advance(0.001 + limits.AHEAD_MS / 1000)
    await world.store.refill(ahead_ms=limits.AHEAD_MS, limit=10)
    assert len(await worker.got()) == 1


async def test_a_forced_run_passes_beside_those_of_its_job_but_not_of_its_queue(world: DeskWorld, single: Job) -> None:
    worker = await world.register()
    await world.run_job(single)
    await worker.lease_one()
    forced = await world.operations.run_job(DEFAULT_TENANT, single.id, force=True)
    assert await worker.got() == {forced}
    await world.store.put_limit(Limit(scope=Scope.QUEUE, name="default", most=2))
    other = await world.register(desk=world.open_desk())
    again = await world.operations.run_job(DEFAULT_TENANT, single.id, force=True)
    assert await other.got() == set()
    assert (await world.the_run(again)).state is RunState.READY
