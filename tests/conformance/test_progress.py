"""What runs under way tell of themselves: kept by their tokens, for the next attempt and for people, until they end."""

import pytest

from dueline.domain.ids import BootId, RunId
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Progress, Saved
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_reclaim,
    a_retry,
    a_run,
    claim_one,
    enqueue,
    promote,
    register,
    run_and_claim,
    stale,
)

W1 = BootId("w1")


def told(
    claimed: Claim, checkpoint: str | None = "page 3", progress: float | None = 0.25, note: str | None = "so"
) -> Saved:
    return Saved(claimed.run_id, claimed.token, checkpoint, progress, note)


async def progress_of(store: Store, run_id: RunId) -> Progress | None:
    return (await store.progress_of([run_id])).get(run_id)


async def swept(store: Store, run_id: RunId) -> bool:
    """Whether nothing is known of an ended run, once it was swept."""
    assert await store.expire(limit=100) == 0
    return await progress_of(store, run_id) is None


async def test_what_a_run_tells_is_kept(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await clock.advance(1)
    assert await store.save([told(claimed)]) == {claimed.run_id}
    assert await progress_of(store, claimed.run_id) == Progress("page 3", 0.25, "so", START_MS + 1_000)


async def test_what_is_not_told_again_stays(store: Store, clock: StoreClock) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed)])
    await clock.advance(2)
    await store.save([told(claimed, None, 0.5, None)])
    assert await progress_of(store, claimed.run_id) == Progress("page 3", 0.5, "so", START_MS + 2_000)
    await store.save([told(claimed, "page 4", None, None)])
    await store.save([told(claimed, None, None, "")])
    assert await progress_of(store, claimed.run_id) == Progress("page 4", 0.5, "", START_MS + 2_000)
    await store.save([told(claimed, "", 0.0, None)])
    assert await progress_of(store, claimed.run_id) == Progress("", 0.0, "", START_MS + 2_000)


async def test_what_one_batch_tells_of_a_run_comes_together(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    batch = [told(claimed, "page 3", 0.1, None), told(claimed, None, 0.2, "so"), told(claimed, "page 4", None, None)]
    assert await store.save(batch) == {claimed.run_id}
    assert await progress_of(store, claimed.run_id) == Progress("page 4", 0.2, "so", START_MS)


async def test_a_first_word_may_be_about_one_thing_only(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.save([told(first, None, 0.1, None), told(second, "x", None, None)])
    assert await store.progress_of([first.run_id, second.run_id]) == {
        first.run_id: Progress(None, 0.1, None, START_MS),
        second.run_id: Progress("x", None, None, START_MS),
    }


async def test_a_run_that_told_nothing_is_left_out(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.save([told(first)])
    assert set(await store.progress_of([first.run_id, second.run_id])) == {first.run_id}
    assert await store.progress_of([]) == {}
    assert await store.save([]) == set()


async def test_a_large_checkpoint_reads_back_as_it_was(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    checkpoint = "äß\n\t\"'\\" * 9_000
    await store.save([told(claimed, checkpoint)])
    found = await progress_of(store, claimed.run_id)
    assert found is not None
    assert found.checkpoint == checkpoint


async def test_a_stale_token_tells_nothing_and_leaves_the_others_of_its_batch(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    assert await store.save([told(stale(first)), told(second)]) == {second.run_id}
    assert await progress_of(store, first.run_id) is None


async def test_a_zombie_is_refused_and_what_its_successor_told_stays(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed, "old")])
    await store.leave(W1)
    await store.reclaim([a_reclaim(claimed)])
    assert await store.save([told(claimed, "zombie")]) == set()
    again = await claim_one(store, await register(store, "w2"))
    assert await store.save([told(claimed, "zombie")]) == set()
    await store.save([told(again, "new")])
    assert await store.save([told(claimed, "zombie")]) == set()
    found = await progress_of(store, claimed.run_id)
    assert found is not None
    assert found.checkpoint == "new"


async def test_the_next_attempt_goes_on_from_the_checkpoint(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed)])
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    assert await store.save([told(claimed, "late")]) == set(), "it is nobody's between two attempts"
    assert not await swept(store, claimed.run_id)
    await promote(store)
    again = await claim_one(store, W1)
    assert await progress_of(store, again.run_id) == Progress("page 3", 0.25, "so", START_MS)


async def test_unstarted_and_unknown_runs_tell_nothing(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.release([claimed])
    assert await store.save([told(claimed), Saved(RunId(bytes(16)), 1, "x")]) == set()


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED])
async def test_it_goes_when_the_run_ends(store: Store, state: RunState) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed)])
    await store.finish([a_finish(claimed, state)])
    assert await store.save([told(claimed, "late")]) == set()
    assert await progress_of(store, claimed.run_id) is None, "it is not live, swept or not"
    assert await swept(store, claimed.run_id)


async def test_it_goes_when_the_run_is_lost_for_good(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed)])
    await store.leave(W1)
    await store.reclaim([a_reclaim(claimed, RunState.FAILED, reason="poison")])
    assert await swept(store, claimed.run_id)


async def test_it_goes_when_the_run_is_cancelled_between_two_attempts(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    await store.save([told(claimed)])
    await store.retry([a_retry(claimed, due_ms=START_MS)])
    await store.cancel_runs(TENANT, [claimed.run_id], reason="requested")
    assert await swept(store, claimed.run_id)


async def test_sweeping_leaves_what_others_told(store: Store) -> None:
    claims = await run_and_claim(store, *(a_run() for _ in range(20)))
    await store.save([told(claimed) for claimed in claims])
    ended, live = claims[:15], claims[15:]
    await store.finish([a_finish(claimed) for claimed in ended])
    await enqueue(store, a_run())
    for _ in range(5):
        await store.expire(limit=5)
    assert set(await store.progress_of([claimed.run_id for claimed in claims])) == {claimed.run_id for claimed in live}
