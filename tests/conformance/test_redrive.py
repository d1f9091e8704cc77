"""Redriving: a dead letter is dealt with by a new run, once, however often it is asked for."""

import asyncio

from dueline.domain.ids import BootId, RunId
from dueline.domain.states import RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Redrive
from tests.conformance.deadletters import again, fail, letters, of
from tests.conformance.ear import listening
from tests.conformance.overlapping import one_under_way
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    a_finish,
    a_job,
    a_run,
    claim,
    claim_one,
    create,
    enqueue,
    the_run,
)

W1 = BootId("w1")


async def redrive(store: Store, *redrives: Redrive) -> set[RunId]:
    return await store.redrive(TENANT, redrives)


async def exists(store: Store, redrive: Redrive, *, tenant: str = TENANT) -> bool:
    return await store.run(tenant, redrive.run.id) is not None


async def test_a_run_takes_the_place_of_a_dead_letter(store: Store) -> None:
    run_id = await fail(store)
    wish = again(run_id, tags=("blue",), lane="gpu", expires_ms=START_MS + 9)
    assert await redrive(store, wish) == {run_id}
    assert await letters(store) == []
    assert (await the_run(store, run_id)).state is RunState.FAILED
    run = await the_run(store, wish.run.id)
    assert (run.state, run.kind, run.parent_id, run.tags) == (RunState.READY, RunKind.REDRIVE, run_id, ("blue",))
    claimed = await claim_one(store, W1, lane="gpu")
    assert (claimed.run_id, claimed.kind, claimed.attempt) == (wish.run.id, RunKind.REDRIVE, 1)
    assert (claimed.spec, claimed.expires_ms, claimed.begun_ms) == ("{}", START_MS + 9, None)


async def test_the_same_request_again_answers_the_same_and_writes_nothing(store: Store) -> None:
    run_id = await fail(store)
    assert await redrive(store, again(run_id)) == {run_id}
    assert await redrive(store, again(run_id)) == {run_id}
    claimed = await claim_one(store, W1)
    assert await redrive(store, again(run_id)) == {run_id}
    await store.finish([a_finish(claimed)])
    assert await redrive(store, again(run_id)) == {run_id}, "the run is history by now"
    assert await claim(store, W1) == []
    assert (await the_run(store, claimed.run_id)).state is RunState.SUCCEEDED


async def test_a_dead_letter_named_twice_is_redriven_once(store: Store) -> None:
    run_id = await fail(store)
    assert await redrive(store, again(run_id), again(run_id)) == {run_id}
    assert len(await claim(store, W1)) == 1


async def test_another_request_finds_that_it_is_dealt_with(store: Store) -> None:
    run_id = await fail(store)
    await redrive(store, again(run_id, "first"))
    assert await redrive(store, again(run_id, "other")) == set()
    assert not await exists(store, again(run_id, "other"))
    assert await redrive(store, again(run_id, "first")) == {run_id}


async def test_what_was_purged_is_not_redriven(store: Store) -> None:
    run_id = await fail(store)
    await store.purge(TENANT, [run_id])
    assert await redrive(store, again(run_id)) == set()
    assert not await exists(store, again(run_id))


async def test_a_run_that_did_not_fail_is_not_redriven(store: Store) -> None:
    _, running, waiting = await one_under_way(store)
    assert await redrive(store, again(running.run_id), again(waiting)) == set()
    await store.finish([a_finish(running)])
    assert await redrive(store, again(running.run_id)) == set()
    assert not await exists(store, again(running.run_id))


async def test_a_batch_is_redriven_as_far_as_it_can_be(store: Store) -> None:
    first, second, purged, done = [await fail(store) for _ in range(4)]
    await store.purge(TENANT, [purged])
    await redrive(store, again(done))
    wishes = [again(run_id) for run_id in (first, second, purged, done)]
    assert await redrive(store, *wishes) == {first, second, done}
    assert [await exists(store, wish) for wish in wishes] == [True, True, False, True]
    assert await letters(store) == []
    assert await redrive(store) == set()


async def test_nobody_redrives_what_is_not_theirs(store: Store) -> None:
    run_id = await fail(store, a_run(tenant="acme"))
    wish = again(run_id, tenant="acme")
    assert await redrive(store, again(run_id), wish) == set()
    assert not await exists(store, wish, tenant="acme")
    assert await letters(store, of("acme")) == [run_id]
    assert await store.redrive("acme", [wish]) == {run_id}
    assert await redrive(store, wish) == set(), "nor does anybody else learn that it was"
    await store.finish([a_finish(await claim_one(store, W1))])
    assert await redrive(store, wish) == set(), "nor that it has ended"


async def test_another_run_of_that_name_is_not_taken_for_the_redriven_one(store: Store) -> None:
    purged, other = await fail(store), await fail(store)
    await store.purge(TENANT, [purged])
    live, ended = again(other).run.id, other
    await redrive(store, again(other))
    for taken in (live, ended):
        assert await redrive(store, Redrive(purged, a_run(id=taken, parent_id=purged))) == set()


async def test_a_dead_letter_whose_run_cannot_be_written_stays(store: Store) -> None:
    run_id = await fail(store)
    (taken,) = await enqueue(store, a_run())
    assert await redrive(store, Redrive(run_id, a_run(id=taken, parent_id=run_id))) == set()
    assert await letters(store) == [run_id]
    assert (await the_run(store, taken)).parent_id is None


async def test_a_run_of_a_job_is_redriven_as_one(store: Store) -> None:
    job = await create(store, a_job())
    run_id = await fail(store, a_run(job))
    wish = Redrive(run_id, a_run(job, id=again(run_id).run.id, kind=RunKind.REDRIVE, parent_id=run_id, exclusive=True))
    assert await redrive(store, wish) == {run_id}
    claimed = await claim_one(store, W1)
    assert (claimed.job_id, claimed.version, claimed.exclusive) == (job.id, 1, True)


async def test_a_redriven_run_that_fails_is_a_dead_letter_of_its_own(store: Store) -> None:
    run_id = await fail(store)
    await redrive(store, again(run_id))
    second = await claim_one(store, W1)
    await store.finish([a_finish(second, RunState.FAILED)])
    assert await letters(store) == [second.run_id]
    assert await redrive(store, again(run_id)) == {run_id}
    assert await letters(store) == [second.run_id]
    assert await redrive(store, again(second.run_id)) == {second.run_id}
    assert (await claim_one(store, W1)).run_id == again(second.run_id).run.id


async def test_a_run_redriven_for_later_waits(store: Store) -> None:
    first, second = await fail(store), await fail(store)
    ear = await listening(store)
    await redrive(store, again(first))
    await ear.hears(f"ready/{QUEUE}")
    await redrive(store, again(second, due_ms=START_MS + 60_000))
    await ear.hears("waiting")
    assert (await the_run(store, again(second).run.id)).state is RunState.SCHEDULED


async def test_of_many_who_redrive_at_once_one_does(store: Store) -> None:
    ids = [await fail(store) for _ in range(5)]
    keys = [f"k{number}" for number in range(6)]
    answers = await asyncio.gather(*(redrive(store, *(again(run_id, key) for run_id in ids)) for key in keys))
    assert sorted(run_id for answer in answers for run_id in answer) == sorted(ids)
    assert len(await claim(store, W1)) == 5


async def test_a_thousand_are_redriven_at_once(store: Store) -> None:
    await fail(store)
    runs = [a_run(queue="many") for _ in range(1_000)]
    await enqueue(store, *runs)
    claims = await claim(store, W1, queue="many", limit=1_000)
    await store.finish([a_finish(claimed, RunState.FAILED) for claimed in claims])
    wishes = [again(run.id, "all") for run in runs]
    assert len({wish.run.id for wish in wishes}) == 1_000
    assert await redrive(store, *wishes) == {run.id for run in runs}
    assert len(await letters(store)) == 1
