"""Dead letters: runs that failed for good, until somebody deals with them."""

import pytest

from dueline.domain.ids import BootId
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetter
from tests.conformance.deadletters import QUEUE, fail, letters, of
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_job,
    a_reclaim,
    a_retry,
    a_run,
    create,
    run_and_claim,
    the_run,
)


async def test_a_run_that_failed_is_a_dead_letter(store: Store) -> None:
    run = a_run(spec='{"a":1}', tags=("blue",), priority=3)
    run_id = await fail(store, run, reason="exhausted")
    letter = DeadLetter(run=await the_run(store, run_id), spec='{"a":1}', failed_ms=START_MS + 5)
    assert letter.run.reason == "exhausted"
    assert await store.dead_letter(TENANT, run_id) == letter
    assert await store.dead_letters(of(), before=None, limit=10) == [letter]
    assert await store.dead_letter_count(of()) == 1


async def test_a_run_of_a_job_carries_no_execution(store: Store) -> None:
    job = await create(store)
    letter = await store.dead_letter(TENANT, await fail(store, a_run(job)))
    assert letter is not None
    assert (letter.run.job_id, letter.spec) == (job.id, None)


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.CANCELLED, RunState.EXPIRED])
async def test_a_run_that_ended_otherwise_is_none(store: Store, state: RunState) -> None:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed, state)])
    assert await letters(store) == []
    assert await store.dead_letter(TENANT, claimed.run_id) is None


async def test_a_run_that_will_be_tried_again_is_none(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.retry([a_retry(first, due_ms=START_MS)])
    await store.leave(BootId("w1"))
    await store.reclaim([a_reclaim(second)])
    assert await letters(store) == []


async def test_a_batch_of_ends_has_its_failures_only(store: Store) -> None:
    claims = await run_and_claim(store, *(a_run() for _ in range(6)))
    states = [RunState.FAILED if number % 2 else RunState.SUCCEEDED for number in range(6)]
    await store.finish([a_finish(*end) for end in zip(claims, states, strict=True)])
    failed = {claimed.run_id for claimed, state in zip(claims, states, strict=True) if state is RunState.FAILED}
    assert set(await letters(store)) == failed


async def test_an_end_that_came_too_late_makes_none(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.finish([a_finish(claimed)])
    assert await store.finish([a_finish(claimed, RunState.FAILED)]) == set()
    assert await letters(store) == []


async def test_a_run_that_was_lost_for_good_is_a_dead_letter(store: Store, clock: StoreClock) -> None:
    poisonous, ended = await run_and_claim(store, a_run(), a_run())
    await store.leave(BootId("w1"))
    await clock.advance(1)
    taken = [a_reclaim(poisonous, RunState.FAILED, reason="poison"), a_reclaim(ended, RunState.CANCELLED, reason="x")]
    assert len(await store.reclaim(taken)) == 2
    (letter,) = await store.dead_letters(of(), before=None, limit=10)
    assert letter == DeadLetter(run=await the_run(store, poisonous.run_id), spec="{}", failed_ms=START_MS + 1_000)
    assert letter.run.reason == "poison"


async def test_dead_letters_of_others_are_not_seen(store: Store) -> None:
    run_id = await fail(store, a_run(await create(store, a_job(tenant="acme"))))
    assert await letters(store) == []
    assert await store.dead_letter(TENANT, run_id) is None
    assert await letters(store, of("acme")) == [run_id]


async def test_pages_go_on_below_a_run_latest_scheduled_first(store: Store) -> None:
    ids = [await fail(store, a_run(due_ms=START_MS - number)) for number in (5, 1, 3, 2, 4)]
    order = sorted(ids, reverse=True)
    first = await store.dead_letters(of(), before=None, limit=2)
    second = await store.dead_letters(of(), before=first[-1].run.id, limit=2)
    third = await store.dead_letters(of(), before=second[-1].run.id, limit=2)
    assert [letter.run.id for letter in (*first, *second, *third)] == order
    assert await store.dead_letters(of(), before=order[-1], limit=2) == []


async def test_they_are_filtered_by_job_queue_and_reason(store: Store) -> None:
    job = await create(store)
    of_job = await fail(store, a_run(job, queue=QUEUE), reason="exhausted")
    slow = await fail(store, a_run(queue="slow"), reason="poison")
    plain = await fail(store)
    assert await letters(store, of(job_id=job.id)) == [of_job]
    assert await letters(store, of(queue="slow")) == [slow]
    assert await letters(store, of(reason="poison")) == [slow]
    assert await letters(store, of(queue=QUEUE)) == [plain, of_job]
    assert await letters(store, of(queue=QUEUE, reason="exhausted", job_id=job.id)) == [of_job]
    assert await letters(store, of(queue="slow", reason="exhausted")) == []
    assert await letters(store, of(reason="ex")) == []


async def test_they_are_filtered_by_when_they_failed(store: Store) -> None:
    early, late = [await fail(store, finished_ms=START_MS + ms) for ms in (10, 20)]
    assert await letters(store, of(from_ms=START_MS + 10)) == [late, early]
    assert await letters(store, of(from_ms=START_MS + 11)) == [late]
    assert await letters(store, of(to_ms=START_MS + 20)) == [early]
    assert await letters(store, of(to_ms=START_MS + 21, from_ms=START_MS + 20)) == [late]
    assert await letters(store, of(to_ms=START_MS + 10)) == []


async def test_a_filtered_page_is_as_long_as_it_can_be(store: Store) -> None:
    wanted = [await fail(store, a_run(queue="slow" if number % 2 else "default")) for number in range(6)][1::2]
    page = await store.dead_letters(of(queue="slow"), before=None, limit=2)
    assert [letter.run.id for letter in page] == wanted[:0:-1]
    rest = await store.dead_letters(of(queue="slow"), before=page[-1].run.id, limit=2)
    assert [letter.run.id for letter in rest] == wanted[:1]


async def test_what_is_purged_is_dealt_with_and_stays_in_the_history(store: Store) -> None:
    first, second = await fail(store), await fail(store)
    assert await store.purge(TENANT, [first]) == 1
    assert await store.purge(TENANT, [first]) == 0
    assert await letters(store) == [second]
    assert await store.dead_letter(TENANT, first) is None
    assert (await the_run(store, first)).state is RunState.FAILED
    assert await store.purge(TENANT, []) == 0


async def test_nobody_purges_what_is_not_theirs(store: Store) -> None:
    mine, theirs = await fail(store), await fail(store, a_run(tenant="acme"))
    assert await store.purge(TENANT, [theirs, mine]) == 1
    assert await letters(store, of("acme")) == [theirs]
