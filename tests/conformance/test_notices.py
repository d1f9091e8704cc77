"""Ends that somebody is to be told of: written down by whatever ends the run, and dealt with once."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dueline.domain.ids import RunId
from dueline.domain.job import Job
from dueline.domain.run import NewRun
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from tests.conformance.overlapping import blocked
from tests.support.stores import (
    START_MS,
    TENANT,
    a_finish,
    a_firing,
    a_reclaim,
    a_run,
    an_occurrence,
    changing,
    claim_one,
    create,
    enqueue,
    epochs_of,
    register,
    run_and_claim,
    the_run,
)

LIMIT = 100


def asking(job: Job | None = None, **fields: Any) -> NewRun:
    return a_run(job, notifies=True, **fields)


async def noted(store: Store) -> list[RunId]:
    return [one.run_id for one in await store.notices(limit=LIMIT)]


async def finished(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store, asking())
    await store.finish([a_finish(claimed)])
    return claimed.run_id


async def finished_and_awaited(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store, asking())
    await store.finish([a_finish(claimed, awaited=True)])
    return claimed.run_id


async def cancelled(store: Store) -> RunId:
    (run_id,) = await enqueue(store, asking())
    await store.cancel_runs(TENANT, [run_id], reason="requested")
    return run_id


async def cancelled_while_waiting(store: Store) -> RunId:
    (run_id,) = await enqueue(store, asking(due_ms=START_MS + 60_000))
    await store.cancel_waiting([(run_id, "recovery")])
    return run_id


async def swept(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store, asking())
    await store.cancel_runs(TENANT, [claimed.run_id], reason="requested")
    await store.release([claimed])
    assert await store.sweep_cancelled(limit=10) == 1
    return claimed.run_id


async def expired(store: Store) -> RunId:
    (run_id,) = await enqueue(store, asking(expires_ms=START_MS))
    assert await store.expire(limit=10) == 1
    return run_id


async def lost_for_good(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store, asking())
    await store.reclaim([a_reclaim(claimed, RunState.FAILED, owner="w1")])
    return claimed.run_id


async def skipped(store: Store) -> RunId:
    job, worker = await create(store), await register(store)
    await enqueue(store, a_run(job, exclusive=True))
    await claim_one(store, worker)
    (second,) = await enqueue(store, asking(job, exclusive=True))
    assert await store.skip_blocked(await blocked(store), reason="overlap") == {second}
    return second


async def cancelled_by_a_change(store: Store) -> RunId:
    job = await create(store)
    (run_id,) = await enqueue(store, asking(job))
    await store.change_job(TENANT, job.id, changing(cancel=((run_id, "misfire"),)))
    return run_id


async def fired(store: Store) -> RunId:
    job = await create(store)
    run = an_occurrence(job, START_MS, notifies=True)
    await store.fire([a_firing(job, following_ms=START_MS + 60_000, runs=[run])], await epochs_of(store))
    claimed = await claim_one(store, await register(store))
    await store.finish([a_finish(claimed)])
    return run.id


@pytest.mark.parametrize(
    "end",
    [
        finished,
        finished_and_awaited,
        cancelled,
        cancelled_while_waiting,
        swept,
        expired,
        lost_for_good,
        skipped,
        cancelled_by_a_change,
        fired,
    ],
)
async def test_every_end_that_somebody_asked_for_is_noted(
    store: Store, end: Callable[[Store], Awaitable[RunId]]
) -> None:
    run_id = await end(store)
    (one,) = await store.notices(limit=LIMIT)
    assert (one.run_id, one.run) == (run_id, await the_run(store, run_id))


async def test_ends_that_nobody_asked_for_are_not(store: Store) -> None:
    asked, silent = asking(), a_run()
    claims = await run_and_claim(store, asked, silent)
    assert await noted(store) == []
    await store.finish([a_finish(claimed) for claimed in claims])
    assert await noted(store) == [asked.id]


async def test_what_is_no_end_is_not_noted(store: Store) -> None:
    job = await create(store)
    (claimed,) = await run_and_claim(store, asking())
    await store.release([claimed])
    (planned,) = await enqueue(store, asking(job, due_ms=START_MS + 60_000))
    await store.change_job(TENANT, job.id, changing(unplan=(planned,)))
    assert await noted(store) == []


async def test_a_notice_is_written_once_whoever_comes_to_it(store: Store) -> None:
    run_id = await finished(store)
    notice = a_run(parent_id=run_id)
    assert await store.send_notices([run_id], [notice]) == 1
    assert await store.send_notices([run_id], [a_run(parent_id=run_id)]) == 0
    assert await noted(store) == []
    assert (await the_run(store, notice.id)).parent_id == run_id


async def test_an_end_that_is_not_to_be_told_is_dealt_with_too(store: Store) -> None:
    run_id = await finished(store)
    assert await store.send_notices([run_id], []) == 0
    assert await noted(store) == []


async def test_they_are_given_a_few_at_a_time_with_what_was_executed(store: Store) -> None:
    claims = await run_and_claim(store, *(asking(spec='{"a": 1}') for _ in range(3)))
    await store.finish([a_finish(claimed) for claimed in claims])
    two = await store.notices(limit=2)
    assert [one.spec for one in two] == ['{"a": 1}'] * 2
    await store.send_notices([one.run_id for one in two], [])
    assert len(await store.notices(limit=2)) == 1


async def test_a_run_that_was_forgotten_is_named_all_the_same(store: Store) -> None:
    run_id = await finished(store)
    while await store.sweep_history(keep_days=-1, limit=LIMIT):
        pass
    (one,) = await store.notices(limit=LIMIT)
    assert (one.run_id, one.run, one.spec) == (run_id, None, None)
