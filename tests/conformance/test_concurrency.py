"""Several processes on one PostgreSQL: whoever comes second finds what the first one did, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dueline.domain.changes import JobInHand
from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Definition
from dueline.domain.lanes import PLAIN
from dueline.domain.sharding import shard_of
from dueline.domain.states import RunState
from dueline.store.fleet import JobType, Role
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.queries import load_queries
from dueline.store.shapes import Blocked, Claim, Confirmed
from tests.conformance.cluster import Cluster, a_cluster
from tests.conformance.ear import listening
from tests.support.postgres import PostgresServer
from tests.support.stores import (
    QUEUE,
    START_MS,
    TENANT,
    a_finish,
    a_firing,
    a_job,
    a_reclaim,
    a_run,
    an_occurrence,
    changing,
    claim_one,
    create,
    enqueue,
    fire_one,
    register,
    take_all,
    the_job,
    the_run,
)

LATER_MS = START_MS + 60_000


@pytest.fixture
async def cluster(emptied_dsn: str) -> AsyncIterator[Cluster]:
    async with a_cluster(emptied_dsn) as cluster:
        yield cluster


async def runs_of(cluster: Cluster) -> int:
    found: int = await cluster.hand.fetchval("SELECT count(*) FROM dueline.runs")
    return found


async def overlapping(store: Store) -> tuple[Claim, Blocked]:
    """A claimed run of an exclusive job, and one that it blocks."""
    job = await create(store)
    await enqueue(store, a_run(job, exclusive=True))
    worker = await register(store)
    first = await claim_one(store, worker)
    await enqueue(store, a_run(job, exclusive=True))
    (blocked,) = (await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=10)).blocked
    return first, blocked


async def test_two_schedulers_fire_the_same_plan_and_one_wins(cluster: Cluster) -> None:
    epochs = await take_all(cluster.first, await register(cluster.first, "s1", role=Role.SCHEDULER))
    for _ in range(20):
        job = await create(cluster.first)
        firing = a_firing(job, following_ms=LATER_MS)
        fired = await asyncio.gather(*(store.fire([firing], epochs) for store in (cluster.first, cluster.second) * 3))
        assert sorted(fired, key=len) == [set()] * 5 + [{job.id}]
    assert await runs_of(cluster) == 20


async def test_a_takeover_waits_for_the_firing_under_way(cluster: Cluster) -> None:
    job = await create(cluster.first)
    shard = shard_of(job.id)
    owner = await register(cluster.first, "s1", role=Role.SCHEDULER)
    taker = await register(cluster.first, "s2", role=Role.SCHEDULER)
    epochs = await take_all(cluster.first, owner)
    await cluster.first.leave(owner)
    async with cluster.stopped("jobs", "lock_plan", job.id):
        firing = await cluster.blocked(cluster.first.fire([a_firing(job, following_ms=LATER_MS)], epochs))
        taking = await cluster.blocked(cluster.second.take_shards(taker, {shard: epochs[shard]}))
    assert await firing == {job.id}
    assert await taking == {shard: epochs[shard] + 1}
    again = await the_job(cluster.second, job.id)
    assert await cluster.first.fire([a_firing(again, following_ms=LATER_MS + 1)], epochs) == set()


async def test_a_firing_that_comes_behind_a_takeover_is_fenced(cluster: Cluster) -> None:
    job = await create(cluster.first)
    owner = await register(cluster.first, "s1", role=Role.SCHEDULER)
    taker = await register(cluster.first, "s2", role=Role.SCHEDULER)
    epochs = await take_all(cluster.first, owner)
    await cluster.first.leave(owner)
    async with cluster.stopped("leases", "take", taker, list(epochs.keys()), list(epochs.values())):
        firing = await cluster.blocked(cluster.first.fire([a_firing(job, following_ms=LATER_MS)], epochs))
    assert await firing == set()
    assert (await the_job(cluster.first, job.id)).next_ms == START_MS
    assert await runs_of(cluster) == 0


async def test_a_firing_that_comes_behind_an_edit_is_left_out(cluster: Cluster) -> None:
    job = await create(cluster.first)
    epochs = await take_all(cluster.first, await register(cluster.first, "s1", role=Role.SCHEDULER))
    plan = (job.id, shard_of(job.id), 2, 2, START_MS, START_MS, None, None, None, False, False)
    async with cluster.stopped("jobs", "replan", *plan):
        firing = await cluster.blocked(cluster.first.fire([a_firing(job, following_ms=LATER_MS)], epochs))
    assert await firing == set()
    assert await runs_of(cluster) == 0


async def test_takers_of_shards_share_them(cluster: Cluster) -> None:
    owners = [await register(cluster.first, f"s{number}", role=Role.SCHEDULER) for number in range(6)]
    taken = await asyncio.gather(
        *(take_all(store, owner) for store, owner in zip((cluster.first, cluster.second) * 3, owners, strict=True))
    )
    assert sorted(shard for shards in taken for shard in shards) == list(range(256))


async def test_twenty_claimers_share_two_thousand_runs(cluster: Cluster) -> None:
    run_ids = await enqueue(cluster.first, *(a_run() for _ in range(2_000)))

    async def claim_until_empty(store: Store, worker: BootId) -> list[RunId]:
        mine: list[RunId] = []
        while claims := (await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=30)).claims:
            mine += [claim.run_id for claim in claims]
        return mine

    workers = [await register(cluster.first, f"w{number}") for number in range(20)]
    stores = [cluster.first, cluster.second] * 10
    claimed = await asyncio.gather(*(claim_until_empty(*pair) for pair in zip(stores, workers, strict=True)))
    assert sorted(run_id for mine in claimed for run_id in mine) == sorted(run_ids)


async def test_of_many_creators_of_one_name_one_wins(cluster: Cluster) -> None:
    answers = await asyncio.gather(
        *(store.create_jobs([a_job("wanted")]) for store in (cluster.first, cluster.second) * 5)
    )
    assert sum(answer != [None] for answer in answers) == 1


async def test_changes_at_once_are_made_one_after_the_other(cluster: Cluster) -> None:
    job = await create(cluster.first)

    def with_tag(tag: str) -> Any:
        def tagged(hand: JobInHand) -> Definition:
            definition = hand.job.definition
            return msgspec.structs.replace(definition, tags=(*definition.tags, tag))

        return changing(definition=tagged)

    stores = [cluster.first, cluster.second] * 6
    await asyncio.gather(
        *(store.change_job(TENANT, job.id, with_tag(f"t{number}")) for number, store in enumerate(stores))
    )
    changed = await the_job(cluster.first, job.id)
    assert changed.version == 13
    assert set(changed.definition.tags) == {f"t{number}" for number in range(12)}


async def test_a_confirm_waits_for_the_change_that_takes_its_run_away(cluster: Cluster) -> None:
    job = await create(cluster.first, a_job(next_ms=START_MS + 500))
    run_id = await fire_one(cluster.first, job)
    claimed = await claim_one(cluster.first, await register(cluster.first), ahead_ms=500)
    async with cluster.stopped("jobs", "lock_runs", job.id):
        await cluster.clock.advance(0.5)
        confirming = await cluster.blocked(cluster.second.confirm([claimed]))
        await cluster.hand.fetch(load_queries("postgres", "jobs")["unplan_runs"], [run_id])
    assert await confirming == Confirmed({}, [])


async def test_a_confirm_waits_for_the_change_that_leaves_its_run_alone(cluster: Cluster) -> None:
    job = await create(cluster.first, a_job(next_ms=START_MS + 500))
    run_id = await fire_one(cluster.first, job)
    claimed = await claim_one(cluster.first, await register(cluster.first), ahead_ms=500)
    async with cluster.stopped("jobs", "lock_runs", job.id):
        await cluster.clock.advance(0.5)
        confirming = await cluster.blocked(cluster.second.confirm([claimed]))
    assert await confirming == Confirmed({run_id: claimed.token}, [])


async def test_a_run_held_while_the_other_ends_is_freed(cluster: Cluster) -> None:
    first, waiting = await overlapping(cluster.first)
    async with cluster.stopped("runs", "hold_blocked", [waiting.run_id], [waiting.token]):
        finishing = await cluster.blocked(cluster.second.finish([a_finish(first)]))
    assert await finishing == {first.run_id}
    assert (await the_run(cluster.first, waiting.run_id)).state is RunState.READY


async def test_a_run_held_while_the_other_is_given_up_is_freed(cluster: Cluster) -> None:
    first, waiting = await overlapping(cluster.first)
    await cluster.first.leave(BootId("w1"))
    async with cluster.stopped("runs", "hold_blocked", [waiting.run_id], [waiting.token]):
        taking = await cluster.blocked(cluster.second.reclaim([a_reclaim(first, RunState.FAILED)]))
    assert await taking == {first.run_id}
    assert (await the_run(cluster.first, waiting.run_id)).state is RunState.READY


async def test_a_claim_and_the_end_of_the_run_before_do_not_wait_for_each_other(cluster: Cluster) -> None:
    """A claim may have a run locked that has just been held, and then asks for the place."""
    first, waiting = await overlapping(cluster.first)
    await cluster.first.hold_blocked([waiting])
    async with cluster.hand.transaction():
        await cluster.hand.fetch("SELECT FROM dueline.runs WHERE id = $1 FOR UPDATE", waiting.run_id)
        finishing = await cluster.blocked(cluster.second.finish([a_finish(first)]))
        await cluster.hand.execute(
            "INSERT INTO dueline.places VALUES ($1, $2) ON CONFLICT DO NOTHING", waiting.job_id, waiting.run_id
        )
    assert await finishing == {first.run_id}
    assert (await the_run(cluster.first, waiting.run_id)).state is RunState.READY


async def test_a_run_ends_once_however_many_say_so(cluster: Cluster) -> None:
    await enqueue(cluster.first, *(a_run() for _ in range(50)))
    worker = await register(cluster.first)
    claims = (await cluster.first.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=50)).claims
    await cluster.first.leave(worker)
    finishes, reclaims = [a_finish(claim) for claim in claims], [a_reclaim(claim, RunState.FAILED) for claim in claims]
    answers = await asyncio.gather(
        cluster.first.finish(finishes),
        cluster.second.finish(finishes),
        cluster.first.reclaim(reclaims),
        cluster.second.reclaim(reclaims),
    )
    assert sorted(run_id for answer in answers for run_id in answer) == sorted(claim.run_id for claim in claims)


async def test_the_same_run_enqueued_by_many_is_one(cluster: Cluster) -> None:
    run = a_run()
    answers = await asyncio.gather(*(store.enqueue([run]) for store in (cluster.first, cluster.second) * 5))
    assert sum(answer == {run.id} for answer in answers) == 1


async def test_exclusive_jobs_leave_nothing_behind(cluster: Cluster) -> None:
    jobs = [await create(cluster.first) for _ in range(8)]
    await enqueue(cluster.first, *(an_occurrence(job, START_MS - n, exclusive=True) for job in jobs for n in range(12)))
    under_way: set[bytes] = set()

    async def work(store: Store, worker: BootId) -> None:
        while await runs_left(store):
            claimed = await store.claim(worker, QUEUE, PLAIN, ahead_ms=0, limit=5)
            for claim in claimed.claims:
                assert claim.job_id not in under_way
                under_way.add(claim.job_id or b"")
            await store.hold_blocked(claimed.blocked)
            for claim in claimed.claims:
                under_way.discard(claim.job_id or b"")
                await store.finish([a_finish(claim)])

    workers = [await register(cluster.first, f"w{number}") for number in range(6)]
    async with asyncio.timeout(20):
        await asyncio.gather(*map(work, (cluster.first, cluster.second) * 3, workers))
    assert await runs_of(cluster) == 0
    assert await cluster.hand.fetchval("SELECT count(*) FROM dueline.places") == 0
    assert await cluster.hand.fetchval("SELECT count(*) FROM dueline.history") == 96


async def runs_left(store: Store) -> bool:
    return bool(await store.queues())


async def test_what_one_process_writes_wakes_another(cluster: Cluster) -> None:
    ear = await listening(cluster.second)
    await create(cluster.first)
    await ear.hears("plans")
    await enqueue(cluster.first, a_run(queue="slow"), a_run(due_ms=LATER_MS))
    await ear.hears("ready/slow")
    await ear.hears("waiting")


def a_job_type(name: str) -> JobType:
    return JobType(name=name, queue=QUEUE, parameters="{}")


async def test_who_publishes_job_types_comes_to_them_by_name(cluster: Cluster) -> None:
    """Whoever came to the first name of a worker first can go on to its others while that worker waits."""
    async with cluster.stopped("jobtypes", "publish", ["a"], [QUEUE], [None], ["{}"]):
        types = [a_job_type(name) for name in "cba"]
        publishing = await cluster.blocked(cluster.first.publish_job_types(types, keep_ms=60_000))
        publish = load_queries("postgres", "jobtypes")["publish"]
        await cluster.hand.fetch(publish, ["b", "c"], [QUEUE] * 2, [None] * 2, ["{}"] * 2)
    await publishing
    assert [found.name for found in await cluster.first.job_types()] == ["a", "b", "c"]


async def test_who_forgets_job_types_waits_for_nobody_who_publishes_them(cluster: Cluster) -> None:
    await cluster.first.publish_job_types([a_job_type("a"), a_job_type("b")], keep_ms=60_000)
    await cluster.hand.execute("UPDATE public.dueline_test_clock SET ms = ms + 60001")
    async with cluster.stopped("jobtypes", "publish", ["b"], [QUEUE], [None], ["{}"]), asyncio.timeout(4):
        await cluster.first.publish_job_types([a_job_type("c")], keep_ms=60_000)
    assert [found.name for found in await cluster.first.job_types()] == ["b", "c"]


async def test_room_for_history_is_made_by_many_at_once(cluster: Cluster) -> None:
    await cluster.hand.execute("UPDATE public.dueline_test_clock SET ms = ms + 40 * 86400000::bigint")
    await asyncio.gather(*(store.prepare_history(days_ahead=3) for store in (cluster.first, cluster.second) * 4))


async def test_many_migrate_a_blank_database_at_once(postgres_server: PostgresServer) -> None:
    postgres_server.create_database("crowded")
    stores = [PostgresStore(postgres_server.dsn("crowded")) for _ in range(4)]
    try:
        await asyncio.gather(*(store.open() for store in stores))
        answers = await asyncio.gather(*(store.migrate() for store in stores))
        assert all(state.applied for answer in answers for state in answer)
    finally:
        for store in stores:
            await store.close()
        postgres_server.drop_database("crowded")
