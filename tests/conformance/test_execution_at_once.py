"""Several who move the same runs at once: each run is moved by one of them, and nobody waits forever."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from dueline.domain.ids import BootId, RunId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import CancelAnswer, Claim, Postponed, Saved
from tests.conformance.overlapping import blocked, exclusive, one_under_way, state_of
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    a_finish,
    a_reclaim,
    a_retry,
    a_run,
    claim,
    claim_one,
    create,
    enqueue,
    register,
    run_and_claim,
    states_of,
    the_run,
)

W1 = BootId("w1")
RUNS = 60
ROUNDS = 10


async def at_once(*moves: Awaitable[Any]) -> list[Any]:
    async with asyncio.timeout(20):
        return list(await asyncio.gather(*moves))


async def cancel(store: Store, run_ids: list[RunId]) -> dict[RunId, CancelAnswer]:
    return await store.cancel_runs(TENANT, run_ids, reason="requested")


async def test_of_two_who_cancel_one_ends_each_run_and_the_other_finds_it_over(store: Store) -> None:
    jobs = [await create(store) for _ in range(6)]
    run_ids = await enqueue(store, *(exclusive(jobs[number % 6]) for number in range(RUNS)))
    answers = await at_once(*(cancel(store, run_ids[::step]) for step in (1, -1, 1, -1)))
    for run_id in run_ids:
        given = sorted(answer[run_id] for answer in answers)
        assert given == [CancelAnswer.ENDED, CancelAnswer.OVER, CancelAnswer.OVER, CancelAnswer.OVER]


async def test_what_is_claimed_and_cancelled_at_once_is_one_or_the_other(store: Store) -> None:
    workers = [await register(store, f"w{number}") for number in range(3)]
    run_ids = await enqueue(store, *(a_run() for _ in range(RUNS)))
    first, second, third, answers = await at_once(
        *(store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=RUNS // 3) for worker in workers), cancel(store, run_ids)
    )
    claimed = {found.run_id for part in (first, second, third) for found in part.claims}
    ended = {run_id for run_id, answer in answers.items() if answer is CancelAnswer.ENDED}
    assert claimed | ended | {run_id for run_id in run_ids if await state_of(store, run_id) is RunState.READY} == set(
        run_ids
    )
    assert not claimed & ended
    asked = {run.run_id for worker in workers for run in await store.cancels_of(worker)}
    assert {run_id for run_id, answer in answers.items() if answer is CancelAnswer.ASKED} == asked


async def test_what_is_finished_and_cancelled_at_once_ends_as_its_worker_said(store: Store) -> None:
    claims = await run_and_claim(store, *(a_run() for _ in range(RUNS)))
    run_ids = [found.run_id for found in claims]
    finished, answers, _ = await at_once(
        store.finish([a_finish(found) for found in claims]), cancel(store, run_ids[::-1]), cancel(store, run_ids)
    )
    assert finished == set(run_ids)
    assert set(answers) == set(run_ids)
    assert set(answers.values()) <= {CancelAnswer.ASKED, CancelAnswer.OVER}
    assert await states_of(store, run_ids) == [RunState.SUCCEEDED] * RUNS


async def test_a_run_held_for_one_that_is_cancelled_at_once_is_not_left_waiting(store: Store) -> None:
    for _ in range(ROUNDS):
        _, first, second = await one_under_way(store)
        await store.retry([a_retry(first, due_ms=START_MS + 60_000)])
        seen = await blocked(store)
        held, _ = await at_once(store.hold_blocked(seen), cancel(store, [first.run_id]))
        assert held <= {second}
        assert (await claim_one(store, W1)).run_id == second


async def test_what_is_put_off_and_ended_at_once_is_one_or_the_other(store: Store) -> None:
    claims = await run_and_claim(store, *(a_run() for _ in range(RUNS)))
    put_off, finished = await at_once(
        store.postpone([Postponed(found.run_id, found.token, START_MS + 60_000, "circuit_open") for found in claims]),
        store.finish([a_finish(found) for found in claims[::-1]]),
    )
    assert put_off | finished == {found.run_id for found in claims}
    assert not put_off & finished
    assert [await state_of(store, run_id) for run_id in put_off] == [RunState.SCHEDULED] * len(put_off)


async def lost_and_told(store: Store) -> tuple[Claim, set[RunId]]:
    (found,) = await run_and_claim(store)
    await store.leave(W1)
    saved, _ = await at_once(
        store.save([Saved(found.run_id, found.token, "zombie")]), store.reclaim([a_reclaim(found)])
    )
    return found, saved


async def test_a_checkpoint_is_told_before_a_run_is_taken_or_not_at_all(store: Store) -> None:
    for _ in range(ROUNDS):
        found, saved = await lost_and_told(store)
        assert set(await store.progress_of([found.run_id])) == saved
        again = await claim_one(store, await register(store))
        assert await store.save([Saved(again.run_id, again.token, "mine")]) == {again.run_id}
        await store.finish([a_finish(again)])


async def test_many_sweep_at_once(store: Store) -> None:
    runs = await enqueue(store, *(a_run(expires_ms=START_MS) for _ in range(RUNS)))
    counts = await at_once(*(store.expire(limit=RUNS) for _ in range(4)))
    assert sum(counts) == RUNS
    assert {(await the_run(store, run_id)).state for run_id in runs} == {RunState.EXPIRED}
    assert await claim(store, await register(store)) == []
