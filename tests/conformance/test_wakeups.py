"""Wake-ups: whoever listens hears of what was written. They are hints; here, where nothing fails, none is lost."""

from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from tests.conformance.ear import Ear, listening
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_reclaim,
    a_retry,
    a_run,
    changing,
    claim_one,
    create,
    enqueue,
    fire_one,
    promote,
    register,
    run_and_claim,
)


async def test_a_new_job_wakes_the_scheduler(store: Store) -> None:
    ear = await listening(store)
    await create(store)
    await ear.hears("plans")


async def test_a_changed_job_wakes_the_scheduler(store: Store) -> None:
    job = await create(store)
    ear = await listening(store)
    await store.change_job(TENANT, job.id, changing(next_ms=START_MS + 1))
    await ear.hears("plans")


async def test_a_freed_run_wakes_its_queue(store: Store) -> None:
    job = await create(store)
    (run_id,) = await enqueue(store, a_run(job))
    await store.change_job(TENANT, job.id, changing(hold=(run_id,)))
    ear = await listening(store)
    await store.change_job(TENANT, job.id, changing(free=(run_id,)))
    await ear.hears(f"ready/{QUEUE}")


async def test_a_fired_run_wakes_its_queue(store: Store) -> None:
    job = await create(store)
    ear = await listening(store)
    await fire_one(store, job, queue="slow")
    await ear.hears("ready/slow")


async def test_a_fired_run_that_waits_wakes_the_promoter(store: Store) -> None:
    job = await create(store)
    ear = await listening(store)
    await fire_one(store, job, due_ms=START_MS + 60_000)
    await ear.hears("waiting")


async def test_an_enqueued_run_wakes_its_queue_and_a_delayed_one_the_promoter(store: Store) -> None:
    ear = await listening(store)
    await enqueue(store, a_run(queue="slow"))
    await ear.hears("ready/slow")
    await enqueue(store, a_run(due_ms=START_MS + 60_000))
    await ear.hears("waiting")


async def test_a_promoted_run_wakes_its_queue(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run(due_ms=START_MS + 60_000, queue="slow"))
    ear = await listening(store)
    await clock.advance(60)
    await promote(store)
    await ear.hears("ready/slow")


async def test_a_released_run_wakes_its_queue(store: Store) -> None:
    claims = await run_and_claim(store)
    ear = await listening(store)
    await store.release(claims)
    await ear.hears(f"ready/{QUEUE}")


async def test_a_retry_wakes_the_promoter(store: Store) -> None:
    (claimed,) = await run_and_claim(store)
    ear = await listening(store)
    await store.retry([a_retry(claimed, due_ms=START_MS + 60_000)])
    await ear.hears("waiting")


async def test_a_lost_run_wakes_its_queue_or_the_promoter(store: Store) -> None:
    first, second = await run_and_claim(store, a_run(), a_run())
    await store.leave(BootId("w1"))
    ear = await listening(store)
    await store.reclaim([a_reclaim(first)])
    await ear.hears(f"ready/{QUEUE}")
    await store.reclaim([a_reclaim(second, RunState.RETRYING, due_ms=START_MS + 60_000)])
    await ear.hears("waiting")


async def test_the_end_of_an_exclusive_run_wakes_the_queue_of_the_held_one(store: Store) -> None:
    job = await create(store)
    worker = await register(store)
    await enqueue(store, a_run(job, exclusive=True))
    first = await claim_one(store, worker)
    await enqueue(store, a_run(job, exclusive=True, queue="slow"))
    await store.hold_blocked((await store.claim(worker, "slow", PLAIN, ahead_ms=0, limit=10)).blocked)
    ear = await listening(store)
    await store.finish([a_finish(first)])
    await ear.hears("ready/slow")


async def test_dropped_shards_wake_who_may_take_them(store: Store) -> None:
    owner = await register(store, "s1")
    epochs = await store.take_shards(owner, {3: 0})
    ear = await listening(store)
    await store.drop_shards(owner, epochs)
    await ear.hears("shards")


async def test_a_process_that_is_to_drain_is_woken(store: Store) -> None:
    worker = await register(store)
    ear = await listening(store)
    assert await store.ask_drain(worker)
    await ear.hears("drain")


async def test_everyone_who_listens_hears(store: Store) -> None:
    first, second = await listening(store), Ear()
    store.listen(second.hear)
    await create(store)
    await first.hears("plans")
    await second.hears("plans")
