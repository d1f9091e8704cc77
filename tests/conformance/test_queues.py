"""Queues: paused by people, and seen by them as they stand."""

from typing import Any

import pytest

from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN, TASK
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claimed, QueueState
from tests.conformance.ear import listening
from tests.conformance.overlapping import blocked, exclusive, one_under_way
from tests.support.stores import (
    QUEUE,
    START_MS,
    StoreClock,
    a_finish,
    a_retry,
    a_run,
    claim,
    claim_one,
    confirm,
    create,
    enqueue,
    promote,
    register,
    run_and_claim,
    the_run,
)

W1 = BootId("w1")


def a_state(queue: str = QUEUE, **fields: Any) -> QueueState:
    nothing: dict[str, Any] = {"ready": 0, "running": 0, "held": 0, "waiting": 0}
    nothing |= {"oldest_ms": None, "paused": False, "note": None}
    return QueueState(queue=queue, **(nothing | fields))


async def states(store: Store) -> list[QueueState]:
    return sorted(await store.queue_states(), key=lambda state: state.queue)


async def test_a_paused_queue_gives_nothing_and_keeps_everything(store: Store) -> None:
    worker = await register(store)
    (run_id,) = await enqueue(store, a_run())
    await store.pause_queue(QUEUE, note="maintenance")
    assert await claim(store, worker) == []
    assert (await the_run(store, run_id)).state is RunState.READY
    (second,) = await enqueue(store, a_run())
    assert (await the_run(store, second)).state is RunState.READY
    assert await store.resume_queue(QUEUE)
    assert {claimed.run_id for claimed in await claim(store, worker)} == {run_id, second}


@pytest.mark.parametrize("lane", [PLAIN, TASK])
async def test_every_lane_of_a_paused_queue_is_paused_and_is_not_told(store: Store, lane: str) -> None:
    await enqueue(store, a_run(lane=lane), a_run(lane=lane, queue="slow"))
    await store.pause_queue("slow", note=None)
    assert await store.queues() == [(QUEUE, lane)]
    worker = await register(store)
    assert await claim(store, worker, queue="slow", lane=lane) == []
    await claim_one(store, worker, lane=lane)
    await store.resume_queue("slow")
    assert await store.queues() == [("slow", lane)]


@pytest.mark.parametrize("paused", ["a", "b", "c", "d"])
async def test_a_paused_queue_does_not_hide_the_others(store: Store, paused: str) -> None:
    await enqueue(store, *(a_run(queue=queue, lane=lane) for queue in "abcd" for lane in (PLAIN, TASK)))
    await store.pause_queue(paused, note=None)
    left = [(queue, lane) for queue in "abcd" for lane in (PLAIN, TASK) if queue != paused]
    assert sorted(await store.queues()) == left


async def test_runs_that_were_given_before_the_pause_go_on(store: Store) -> None:
    first, second, third = await run_and_claim(store, a_run(), a_run(), a_run())
    await store.pause_queue(QUEUE, note=None)
    assert await confirm(store, first, second, third) == {first.run_id, second.run_id, third.run_id}
    assert await store.finish([a_finish(first)]) == {first.run_id}
    assert await store.retry([a_retry(second, due_ms=START_MS)]) == {second.run_id}
    assert await store.release([third]) == {third.run_id}
    assert (await promote(store)).count == 1
    assert await claim(store, W1) == []


async def test_nothing_of_a_paused_queue_is_blocked(store: Store) -> None:
    await one_under_way(store)
    await store.pause_queue(QUEUE, note=None)
    assert await store.claim(W1, QUEUE, PLAIN, ahead_ms=0, limit=10) == Claimed([], [])
    await store.resume_queue(QUEUE)
    assert len(await blocked(store)) == 1


async def test_a_run_of_a_paused_queue_takes_no_place(store: Store) -> None:
    job = await create(store)
    _, other = await enqueue(store, exclusive(job, queue="slow"), exclusive(job))
    worker = await register(store)
    await store.pause_queue("slow", note=None)
    assert await claim(store, worker, queue="slow") == []
    assert (await claim_one(store, worker)).run_id == other


async def test_a_queue_is_paused_and_resumed_again_and_again(store: Store) -> None:
    assert not await store.resume_queue(QUEUE)
    await store.pause_queue(QUEUE, note="first")
    await store.pause_queue(QUEUE, note="second")
    assert await states(store) == [a_state(paused=True, note="second")]
    assert await store.resume_queue(QUEUE)
    assert not await store.resume_queue(QUEUE)
    assert await states(store) == []


async def test_a_resumed_queue_wakes_its_workers(store: Store) -> None:
    await store.pause_queue("slow", note=None)
    ear = await listening(store)
    await store.resume_queue("slow")
    await ear.hears("ready/slow")


async def test_no_run_and_no_pause_no_queue(store: Store) -> None:
    assert await store.queue_states() == []


async def test_a_queue_is_told_as_it_stands(store: Store, clock: StoreClock) -> None:
    _, _, second = await one_under_way(store)
    assert await store.hold_blocked(await blocked(store)) == {second}
    (claimed,) = await run_and_claim(store)
    await store.retry([a_retry(claimed, due_ms=START_MS + 5_000)])
    await enqueue(store, a_run(due_ms=START_MS + 60_000), a_run(due_ms=START_MS - 7, scheduled_ms=START_MS - 90))
    await enqueue(store, a_run(due_ms=START_MS - 3, lane=TASK), a_run(due_ms=START_MS + 60_000, queue="slow"))
    await store.pause_queue("still", note="why")
    await clock.advance(1)
    assert await states(store) == [
        a_state(ready=2, running=1, held=1, reasons={"overlap": 1}, waiting=2, oldest_ms=START_MS - 7),
        a_state("slow", waiting=1),
        a_state("still", paused=True, note="why"),
    ]


async def test_what_ended_is_not_told(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed, RunState.FAILED)])
    assert await store.queue_states() == []
