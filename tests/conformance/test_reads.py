"""Reads: live and finished runs are one list."""

from typing import Any

import pytest

from dueline.domain.ids import RunId
from dueline.domain.run import Run
from dueline.domain.states import RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_job,
    a_run,
    an_occurrence,
    claim,
    create,
    enqueue,
    epochs_of,
    register,
    run_and_claim,
    the_run,
)

DAY_MS = 86_400_000


async def page(store: Store, *, before: RunId | None = None, limit: int = 100, **match: Any) -> list[Run]:
    return await store.runs_page(RunFilter(tenant=match.pop("tenant", TENANT), **match), before=before, limit=limit)


async def ids(store: Store, **match: Any) -> list[RunId]:
    return [run.id for run in await page(store, **match)]


async def half_finished(store: Store, count: int) -> list[RunId]:
    """Runs a second apart, oldest first; every second one has ended."""
    runs = [a_run(due_ms=START_MS - 1_000 * number) for number in reversed(range(count))]
    claims = await run_and_claim(store, *runs[::2])
    await store.finish([a_finish(claimed) for claimed in claims])
    await enqueue(store, *runs[1::2])
    return [run.id for run in runs]


async def test_the_clock_is_the_stores(store: Store, clock: StoreClock) -> None:
    assert await store.now_ms() == START_MS
    await clock.advance(0.001)
    assert await store.now_ms() == START_MS + 1
    await clock.set_ms(START_MS - 5)
    assert await store.now_ms() == START_MS - 5


async def test_a_run_of_another_tenant_is_not_there(store: Store) -> None:
    live, ended = a_run(tenant="other"), a_run(tenant="other")
    (claimed,) = await run_and_claim(store, ended)
    await store.finish([a_finish(claimed)])
    await enqueue(store, live)
    for run in (live, ended):
        assert await store.run(TENANT, run.id) is None
        assert await store.run("other", run.id) is not None
    assert await page(store) == []


async def test_an_unknown_run_is_not_there(store: Store) -> None:
    assert await store.run(TENANT, a_run().id) is None


async def test_live_and_finished_runs_are_merged_latest_scheduled_first(store: Store) -> None:
    run_ids = await half_finished(store, 10)
    assert await ids(store) == run_ids[::-1]
    assert [run.state for run in await page(store, limit=2)] == [RunState.READY, RunState.SUCCEEDED]


async def test_a_page_shows_runs_as_they_are_read_one_by_one(store: Store) -> None:
    run_ids = await half_finished(store, 4)
    assert await page(store) == [await the_run(store, run_id) for run_id in reversed(run_ids)]


async def test_pages_together_hold_every_run_once(store: Store) -> None:
    run_ids = await half_finished(store, 57)
    found: list[RunId] = []
    while rows := await page(store, before=found[-1] if found else None, limit=10):
        found += [run.id for run in rows]
        assert len(found) <= len(run_ids)
    assert found == run_ids[::-1]


async def test_a_time_range_holds_its_first_instant_and_not_its_last(store: Store) -> None:
    first, second, third = await enqueue(store, *(a_run(due_ms=START_MS + number) for number in range(3)))
    assert await ids(store, from_ms=START_MS + 1) == [third, second]
    assert await ids(store, to_ms=START_MS + 1) == [first]
    assert await ids(store, from_ms=START_MS + 1, to_ms=START_MS + 2) == [second]
    assert await ids(store, from_ms=START_MS + 3) == []
    assert await ids(store, to_ms=START_MS + 3, before=third) == [second, first]
    assert await ids(store, to_ms=START_MS + 1, before=third) == [first]


async def test_a_job_has_its_own_runs_live_and_finished(store: Store) -> None:
    job, other = await create(store, a_job()), await create(store, a_job())
    ended, foreign = a_run(job, due_ms=START_MS - 5), a_run(other)
    claims = await run_and_claim(store, ended, foreign)
    await store.finish([a_finish(claimed) for claimed in claims])
    (live,) = await enqueue(store, a_run(job))
    await enqueue(store, a_run(other), a_run())
    assert await ids(store, job_id=job.id) == [live, ended.id]
    assert await ids(store, job_id=job.id, limit=1) == [live]
    assert await ids(store, job_id=job.id, before=live) == [ended.id]
    assert await ids(store, job_id=job.id, to_ms=START_MS) == [ended.id]
    assert await ids(store, job_id=job.id, state=RunState.READY) == [live]
    assert await ids(store, job_id=job.id, tenant="other") == []


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({}, {"adhoc", "manual", "scheduled", "ended", "failed"}),
        ({"state": RunState.READY}, {"adhoc", "manual", "scheduled"}),
        ({"state": RunState.FAILED}, {"failed"}),
        ({"state": RunState.FAILED, "kind": RunKind.ADHOC}, {"failed"}),
        ({"state": RunState.FAILED, "kind": RunKind.MANUAL}, set()),
        ({"state": RunState.FAILED, "tag": "blue"}, set()),
        ({"state": RunState.FAILED, "tenant": "other"}, set()),
        ({"state": RunState.CANCELLED}, set()),
        ({"kind": RunKind.SCHEDULED}, {"scheduled"}),
        ({"kind": RunKind.ADHOC}, {"adhoc", "ended", "failed"}),
        ({"tag": "blue"}, {"adhoc", "ended"}),
        ({"tag": "blu"}, set()),
        ({"tag": "blue", "state": RunState.SUCCEEDED}, {"ended"}),
        ({"tag": "blue", "kind": RunKind.MANUAL}, set()),
    ],
)
async def test_a_filter_keeps_what_matches_it(store: Store, match: dict[str, Any], expected: set[str]) -> None:
    job = await create(store, a_job())
    ended, failed = a_run(tags=("blue", "red")), a_run()
    for claimed in await run_and_claim(store, ended, failed):
        state = RunState.SUCCEEDED if claimed.run_id == ended.id else RunState.FAILED
        await store.finish([a_finish(claimed, state)])
    scheduled = an_occurrence(job, START_MS)
    adhoc, manual, _ = await enqueue(store, a_run(tags=("blue",)), a_run(job), scheduled)
    names = {adhoc: "adhoc", manual: "manual", scheduled.id: "scheduled", ended.id: "ended", failed.id: "failed"}
    assert {names[run_id] for run_id in await ids(store, **match)} == expected


async def test_pages_of_what_failed_follow_each_other(store: Store) -> None:
    runs = [a_run(due_ms=START_MS - number) for number in range(9)]
    for number, claimed in enumerate(await run_and_claim(store, *runs)):
        await store.finish([a_finish(claimed, RunState.FAILED if number % 2 else RunState.SUCCEEDED)])
    failed = await ids(store, state=RunState.FAILED)
    assert (len(failed), failed) == (4, sorted(failed, reverse=True))
    assert await ids(store, state=RunState.FAILED, limit=3) == failed[:3]
    assert await ids(store, state=RunState.FAILED, before=failed[2]) == failed[3:]


async def test_a_page_is_full_however_many_runs_the_filter_leaves_out(store: Store) -> None:
    runs = [a_run(due_ms=START_MS - number, tags=("rare",) if number % 7 == 0 else ()) for number in range(40)]
    await enqueue(store, *runs)
    rare = [run.id for run in runs if run.tags]
    assert await ids(store, tag="rare", limit=3) == rare[:3]
    assert await ids(store, tag="rare", limit=3, before=rare[2]) == rare[3:]


async def test_history_of_any_day_is_kept_whether_or_not_room_was_made_for_it(store: Store, clock: StoreClock) -> None:
    worker = await register(store)
    ended: list[RunId] = []
    for day in range(5):
        if day == 2:
            await store.prepare_history(days_ahead=1)
        (run_id,) = await enqueue(store, a_run(due_ms=clock.now_ms))
        await store.finish([a_finish(claimed) for claimed in await claim(store, worker)])
        ended.append(run_id)
        await clock.advance(DAY_MS / 1000)
    assert await ids(store) == ended[::-1]
    assert await ids(store, from_ms=START_MS + DAY_MS, to_ms=START_MS + 3 * DAY_MS) == [ended[2], ended[1]]


async def test_room_for_history_is_made_again_without_harm(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed)])
    await store.prepare_history(days_ahead=2)
    await store.prepare_history(days_ahead=3)
    assert await ids(store) == [claimed.run_id]
    assert await epochs_of(store)


async def edge(store: Store, rows: int, *, before: RunId | None = None, **match: Any) -> RunId | None:
    return await store.runs_edge(RunFilter(tenant=match.pop("tenant", TENANT), **match), before=before, rows=rows)


async def test_the_edge_is_the_last_of_so_many_live_or_finished_ones(store: Store) -> None:
    ids = (await half_finished(store, 20))[::-1]
    # Of ids in turns, ten of each kind.
    assert await edge(store, 1) == ids[0]
    assert await edge(store, 3) == ids[4]
    assert await edge(store, 10) == ids[18]
    assert await edge(store, 11) is None
    assert await edge(store, 3, before=ids[4]) == ids[9]
    assert await edge(store, 1, from_ms=START_MS + 1) is None
    assert await edge(store, 1, to_ms=START_MS) == ids[1]


async def test_a_page_goes_down_to_its_edge_with_it(store: Store) -> None:
    ids = (await half_finished(store, 6))[::-1]
    match = RunFilter(tenant=TENANT)
    for place, run_id in enumerate(ids):
        found = await store.runs_page(match, before=None, limit=10, down_to=run_id)
        assert [run.id for run in found] == ids[: place + 1]
    found = await store.runs_page(match, before=ids[1], limit=10, down_to=ids[3])
    assert [run.id for run in found] == ids[2:4]


async def test_the_edge_counts_those_of_others_and_those_that_do_not_match(store: Store) -> None:
    runs = [a_run(due_ms=START_MS - number, tenant="other") for number in range(5)]
    await enqueue(store, *runs)
    assert await edge(store, 3) == runs[2].id
    assert await edge(store, 3, tag="blue", queue="nowhere", kind=RunKind.BACKFILL) == runs[2].id


async def test_the_edge_of_a_state_counts_what_may_be_in_it(store: Store) -> None:
    ids = (await half_finished(store, 8))[::-1]
    live = [run_id for run_id in ids if (await the_run(store, run_id)).state is RunState.READY]
    ended = [run_id for run_id in ids if run_id not in live]
    assert await edge(store, 2, state=RunState.READY) == live[1]
    assert await edge(store, 2, state=RunState.SUCCEEDED) == ended[1]
    assert await edge(store, 1, state=RunState.RUNNING) is None, "all of them are looked at"
    assert await edge(store, 1, state=RunState.FAILED) is None
    claims = await claim(store, await register(store), limit=2)
    await store.finish([a_finish(one, RunState.FAILED) for one in claims])
    failed = sorted((one.run_id for one in claims), reverse=True)
    assert await edge(store, 2, state=RunState.FAILED) == failed[1]
    assert await edge(store, 3, state=RunState.FAILED) is None


async def test_the_edge_of_a_job_counts_its_own_runs(store: Store) -> None:
    job = await create(store, a_job())
    own = [a_run(job, due_ms=START_MS - 10 * number) for number in range(3)]
    await enqueue(store, *own, *(a_run(due_ms=START_MS - number) for number in range(5)))
    assert await edge(store, 2, job_id=job.id) == own[1].id
    assert await edge(store, 4, job_id=job.id) is None


async def test_runs_are_found_by_their_queue(store: Store) -> None:
    mine, other = a_run(queue="mine"), a_run()
    (claimed,) = await run_and_claim(store, a_run())
    await store.finish([a_finish(claimed)])
    await enqueue(store, mine, other)
    assert await ids(store, queue="mine") == await ids(store, queue="mine", state=RunState.READY) == [mine.id]
    assert set(await ids(store, queue=other.queue)) == {other.id, claimed.run_id}
    assert await ids(store, queue=other.queue, state=RunState.SUCCEEDED) == [claimed.run_id]
    assert await ids(store, queue="mine", state=RunState.SUCCEEDED) == []
