"""Trying finished runs again: however they ended, one run for each request."""

import asyncio

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.states import RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Redrive
from tests.conformance.deadletters import again, fail, letters
from tests.conformance.ear import listening
from tests.support.stores import QUEUE, START_MS, TENANT, a_finish, a_run, claim, claim_one, enqueue, register, the_run

W1 = BootId("w1")
ENDS = [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED, RunState.EXPIRED]


async def ended(store: Store, state: RunState) -> RunId:
    """A run that ended so."""
    (run_id,) = await enqueue(store, a_run(tags=("blue",)))
    claimed = await claim_one(store, await register(store, W1))
    assert await store.finish([a_finish(claimed, state)]) == {run_id}
    return run_id


@pytest.mark.parametrize("state", ENDS)
async def test_a_run_that_has_ended_is_tried_again(store: Store, state: RunState) -> None:
    run_id = await ended(store, state)
    found = await store.finished_run(TENANT, run_id)
    assert found is not None
    assert (found.run, found.spec) == (await the_run(store, run_id), "{}")
    assert await store.try_again(TENANT, again(run_id, tags=("blue",)))
    run = await the_run(store, again(run_id).run.id)
    assert (run.state, run.kind, run.parent_id, run.tags) == (RunState.READY, RunKind.REDRIVE, run_id, ("blue",))
    assert (await the_run(store, run_id)).state is state
    assert (await claim_one(store, W1)).run_id == run.id


async def test_a_run_that_has_not_ended_is_not(store: Store) -> None:
    (run_id,) = await enqueue(store, a_run())
    for _ in range(2):
        assert await store.finished_run(TENANT, run_id) is None
        assert not await store.try_again(TENANT, again(run_id))
        await claim(store, await register(store, W1))
    assert await store.run(TENANT, again(run_id).run.id) is None


async def test_a_dead_letter_is_dealt_with(store: Store) -> None:
    run_id, other = await fail(store), await fail(store)
    assert await store.try_again(TENANT, again(run_id))
    assert await letters(store) == [other]


async def test_the_same_request_again_writes_nothing_however_far_the_run_got(store: Store) -> None:
    run_id = await ended(store, RunState.CANCELLED)
    assert await store.try_again(TENANT, again(run_id))
    assert await store.try_again(TENANT, again(run_id))
    claimed = await claim_one(store, W1)
    assert await store.try_again(TENANT, again(run_id))
    await store.finish([a_finish(claimed)])
    assert await store.try_again(TENANT, again(run_id)), "the run is history by now"
    assert await claim(store, W1) == []


async def test_other_requests_make_other_runs(store: Store) -> None:
    run_id = await fail(store)
    for key in ("once", "twice"):
        assert await store.try_again(TENANT, again(run_id, key))
    assert {one.run_id for one in await claim(store, W1)} == {again(run_id, key).run.id for key in ("once", "twice")}


async def test_a_redrive_by_the_same_request_is_found(store: Store) -> None:
    redriven, tried = await fail(store), await fail(store)
    await store.redrive(TENANT, [again(redriven)])
    assert await store.try_again(TENANT, again(redriven))
    await store.try_again(TENANT, again(tried))
    assert await store.redrive(TENANT, [again(tried)]) == {tried}
    assert await store.redrive(TENANT, [again(tried, "other")]) == set()
    assert len(await claim(store, W1)) == 2


async def test_of_many_at_once_one_run_is_written(store: Store) -> None:
    run_id = await fail(store)
    asked = [store.try_again(TENANT, again(run_id)) for _ in range(8)]
    redriven = [store.redrive(TENANT, [again(run_id)]) for _ in range(8)]
    answers = await asyncio.gather(*asked, *redriven)
    assert answers == [True] * 8 + [{run_id}] * 8
    assert len(await claim(store, W1)) == 1


async def test_nobody_tries_what_is_not_theirs(store: Store) -> None:
    run_id = await fail(store, a_run(tenant="acme"))
    wish = again(run_id, tenant="acme")
    assert await store.finished_run(TENANT, run_id) is None
    assert not await store.try_again(TENANT, wish)
    assert await store.run("acme", wish.run.id) is None
    assert await store.try_again("acme", wish)


async def test_where_another_run_has_the_id_nothing_is_done(store: Store) -> None:
    run_id = await fail(store)
    (taken,) = await enqueue(store, a_run())
    assert not await store.try_again(TENANT, Redrive(run_id, a_run(id=taken, parent_id=run_id)))
    assert await letters(store) == [run_id]
    assert (await the_run(store, taken)).parent_id is None


async def test_workers_hear_of_it(store: Store) -> None:
    first, second = await fail(store), await fail(store)
    ear = await listening(store)
    await store.try_again(TENANT, again(first))
    await ear.hears(f"ready/{QUEUE}")
    await store.try_again(TENANT, again(second, due_ms=START_MS + 60_000))
    await ear.hears("waiting")
