"""What listeners are told: every move that ends runs, and every change of a job, in the transaction that makes it."""

from collections.abc import Awaitable, Callable

import pytest

from dueline.domain.events import Told
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.states import JobState, RunState
from dueline.domain.uniqueness import Dedupe, OnConflict, UniqueRun
from dueline.store.events import ChangeRow
from dueline.store.protocol import Store
from tests.conformance.overlapping import blocked, one_under_way
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    StoreUnderTest,
    a_definition,
    a_finish,
    a_firing,
    a_job,
    a_reclaim,
    a_run,
    changing,
    claim_one,
    create,
    enqueue,
    epochs_of,
    register,
    run_and_claim,
    stale,
)

HOUR_MS = 3_600_000
EVERYTHING = 10**9


async def last_of(store: Store) -> int:
    return (await store.event_bounds()).last


async def told_since(store: Store, seq: int) -> list[ChangeRow]:
    return (await store.changes_from(seq + 1, until=EVERYTHING, limit=100)).rows


async def told_of(store: Store, seq: int) -> list[tuple[Told, set[bytes]]]:
    return [(row.told, set(row.ids)) for row in await told_since(store, seq)]


async def finished(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed)])
    return claimed.run_id


async def finished_and_awaited(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed, awaited=True)])
    return claimed.run_id


async def failed(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed, RunState.FAILED)])
    return claimed.run_id


async def cancelled(store: Store) -> RunId:
    (run_id,) = await enqueue(store, a_run())
    await store.cancel_runs(TENANT, [run_id], reason="requested")
    return run_id


async def cancelled_while_waiting(store: Store) -> RunId:
    (run_id,) = await enqueue(store, a_run())
    await store.cancel_waiting([(run_id, "recovery")])
    return run_id


async def swept(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store)
    await store.cancel_runs(TENANT, [claimed.run_id], reason="requested")
    await store.release([claimed])
    assert await store.sweep_cancelled(limit=10) == 1
    return claimed.run_id


async def expired(store: Store) -> RunId:
    (run_id,) = await enqueue(store, a_run(expires_ms=START_MS))
    assert await store.expire(limit=10) == 1
    return run_id


async def lost_for_good(store: Store) -> RunId:
    (claimed,) = await run_and_claim(store)
    await store.reclaim([a_reclaim(claimed, RunState.FAILED, owner="w1")])
    return claimed.run_id


async def skipped(store: Store) -> RunId:
    _, _, second = await one_under_way(store)
    assert await store.skip_blocked(await blocked(store), reason="overlap") == {second}
    return second


async def superseded(store: Store) -> RunId:
    dedupe = Dedupe(key="k", window_ms=None, on_conflict=OnConflict.REPLACE)
    first, second = a_run(), a_run()
    await store.enqueue_unique([UniqueRun(first, dedupe)], atomic=False)
    await store.enqueue_unique([UniqueRun(second, dedupe)], atomic=False)
    return first.id


async def cancelled_by_a_change(store: Store) -> RunId:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job))
    await store.change_job(TENANT, job.id, changing(cancel=((run_id, "misfire"),)))
    return run_id


@pytest.mark.parametrize(
    "end",
    [
        finished,
        finished_and_awaited,
        failed,
        cancelled,
        cancelled_while_waiting,
        swept,
        expired,
        lost_for_good,
        skipped,
        superseded,
        cancelled_by_a_change,
    ],
)
async def test_every_end_of_a_run_is_told_once(store: Store, end: Callable[[Store], Awaitable[RunId]]) -> None:
    since = await last_of(store)
    run_id = await end(store)
    ends = [ids for told, ids in await told_of(store, since) if told is Told.ENDED]
    assert ends == [{run_id}]
    (run,) = await store.ended_runs(TENANT, [run_id], job_id=None)
    assert (run.id, run.attempts) == (run_id, ())


async def test_displaced_runs_are_told(store: Store) -> None:
    job, claimed, second = await one_under_way(store)
    since = await last_of(store)
    (third,) = await enqueue(store, a_run(job, exclusive=True))
    assert await store.displace_blocked(await blocked(store), reason="superseded") == {third}
    ended = set().union(*(ids for told, ids in await told_of(store, since) if told is Told.ENDED))
    assert ended == {second}
    await store.finish([a_finish(claimed)])
    assert (await told_of(store, since))[-1] == (Told.ENDED, {claimed.run_id})


async def test_many_ends_are_one_row(store: Store) -> None:
    since = await last_of(store)
    claims = await run_and_claim(store, *(a_run() for _ in range(50)))
    await store.finish([a_finish(claimed) for claimed in claims])
    assert await told_of(store, since) == [(Told.ENDED, {claimed.run_id for claimed in claims})]


async def test_an_end_that_was_refused_is_not_told(store: Store) -> None:
    (first, second) = await run_and_claim(store, a_run(), a_run())
    since = await last_of(store)
    assert await store.finish([a_finish(stale(first))]) == set()
    assert await told_of(store, since) == []
    await store.finish([a_finish(stale(first)), a_finish(second)])
    assert await told_of(store, since) == [(Told.ENDED, {second.run_id})]
    assert await store.finish([a_finish(second)]) == set()
    assert len(await told_of(store, since)) == 1


async def test_what_does_not_end_a_run_is_not_told(store: Store) -> None:
    since = await last_of(store)
    (claimed,) = await run_and_claim(store)
    await store.release([claimed])
    again = await claim_one(store, BootId("w1"))
    await store.reclaim([a_reclaim(again, RunState.READY, owner="w1")])
    assert await told_of(store, since) == []


async def test_the_life_of_a_job_is_told_in_its_order(store: Store, clock: StoreClock) -> None:
    since = await last_of(store)
    job = await create(store)
    await clock.advance(1)

    async def change(**fields: object) -> None:
        await store.change_job(TENANT, job.id, changing(**fields))

    await change(definition=a_definition("other"))
    await change(state=JobState.PAUSED)
    await change(state=JobState.PAUSED, pause_note="still")
    await change(state=JobState.ACTIVE)
    await change(stale=True)
    await change(deleted=True)
    rows = await told_since(store, since)
    told = [Told.CREATED, Told.UPDATED, Told.PAUSED, Told.RESUMED, Told.DELETED]
    assert [(row.told, row.ids) for row in rows] == [(one, (job.id,)) for one in told]
    assert [row.versions for row in rows] == [None, (2,), (2,), (2,), (2,)]
    assert [row.state for row in rows] == [None, "active", "paused", "active", "active"]
    assert [row.at_ms - START_MS for row in rows] == [0, *[1_000] * 4]
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)
    assert await store.job_names(TENANT, [job.id]) == {job.id: "other"}


async def test_a_job_that_is_exhausted_is_told_as_finished(store: Store) -> None:
    job, other = await create(store), await create(store)
    since = await last_of(store)
    firings = [a_firing(job), a_firing(other, following_ms=START_MS + 60_000)]
    assert await store.fire(firings, await epochs_of(store)) == {job.id, other.id}
    (row,) = await told_since(store, since)
    assert (row.told, row.ids, row.versions) == (Told.FINISHED, (job.id,), (1,))


async def test_jobs_that_were_not_created_are_not_told(store: Store) -> None:
    await create(store, a_job("a"))
    since = await last_of(store)
    created = await store.create_jobs([a_job("a"), a_job("b"), a_job("c")])
    assert await told_of(store, since) == [(Told.CREATED, {job.id for job in created if job is not None})]
    assert await store.create_jobs([a_job("a")]) == [None]
    assert len(await told_of(store, since)) == 1


async def test_others_are_told_nothing_of_a_tenant(store: Store) -> None:
    job = await create(store)
    run_id = await finished(store)
    assert await store.ended_runs("other", [run_id], job_id=None) == []
    assert await store.ended_runs(TENANT, [run_id], job_id=job.id) == []
    assert await store.job_names("other", [job.id]) == {}
    assert await store.job_names(TENANT, [JobId(bytes(16))]) == {}


async def test_rows_come_in_their_order_and_within_bounds(store: Store) -> None:
    since = await last_of(store)
    for _ in range(5):
        await create(store)
    seqs = [row.seq for row in await told_since(store, since)]
    assert seqs == sorted(set(seqs))
    assert len(seqs) == 5
    assert await last_of(store) == seqs[-1]
    found = await store.changes_from(seqs[1], until=seqs[3], limit=100)
    assert [row.seq for row in found.rows] == seqs[1:4]
    found = await store.changes_from(seqs[1], until=seqs[3], limit=2)
    assert [row.seq for row in found.rows] == seqs[1:3]


async def test_rows_are_forgotten_when_they_are_too_old_and_not_before(store: Store, clock: StoreClock) -> None:
    since = await last_of(store)
    await create(store)
    await clock.advance(1)
    for _ in range(3):
        await create(store)
    seqs = [row.seq for row in await told_since(store, since)]
    await clock.set_ms(START_MS + HOUR_MS)
    assert await store.forget_changes(kept_ms=HOUR_MS, limit=10) == 0, "at the edge it is kept"
    assert (await store.changes_from(seqs[0], until=EVERYTHING, limit=10)).swept < seqs[0]
    await clock.set_ms(START_MS + HOUR_MS + 1)
    assert await store.forget_changes(kept_ms=HOUR_MS, limit=10) == 1
    found = await store.changes_from(seqs[0], until=EVERYTHING, limit=10)
    assert (found.swept, [row.seq for row in found.rows]) == (seqs[0], seqs[1:])


async def test_they_are_forgotten_a_few_at_a_time_and_numbers_go_on(store: Store, clock: StoreClock) -> None:
    since = await last_of(store)
    for _ in range(5):
        await create(store)
    await clock.advance(7_200)
    assert await store.forget_changes(kept_ms=HOUR_MS, limit=2) == 2
    assert len(await told_since(store, since)) == 3
    while await store.forget_changes(kept_ms=HOUR_MS, limit=2):
        pass
    last = await last_of(store)
    assert last == since + 5
    await create(store)
    assert await last_of(store) == last + 1


async def test_a_definition_that_is_written_again_is_not_told(store: Store) -> None:
    job = await create(store)
    since = await last_of(store)
    await store.change_job(TENANT, job.id, changing(definition=job.definition))
    assert await told_of(store, since) == []


async def test_the_record_has_a_beginning_that_stays(under_test: StoreUnderTest) -> None:
    before = await under_test.store.event_bounds()
    await register(under_test.store)
    await create(under_test.store)
    after = await under_test.store.event_bounds()
    assert after.origin_ms == before.origin_ms > 0
    assert after.writing == frozenset()
