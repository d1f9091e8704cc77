"""Dedupe keys on PostgreSQL, where several wait for one key, and calls can end half-way."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.domain.states import RunState
from dueline.domain.uniqueness import OnConflict, UniqueAnswer, UniqueVerdict
from dueline.store.postgres.database import Database
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.protocol import Store
from dueline.store.queries import load_queries
from tests.conformance.cluster import Cluster, a_cluster
from tests.conformance.test_unique import REPLACE, RESCHEDULE, ask, unique, verdict, written
from tests.conformance.test_unique_at_once import live
from tests.support.stores import START_MS, TENANT, a_run, claim, claim_one, confirm, register, the_run

END_WAITERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


@pytest.fixture
async def cluster(emptied_dsn: str) -> AsyncIterator[Cluster]:
    async with a_cluster(emptied_dsn) as cluster:
        yield cluster


async def by_hand(cluster: Cluster, noun: str, name: str, *args: Any) -> None:
    await cluster.hand.fetch(load_queries("postgres", noun)[name], *args)


async def test_who_waits_for_a_key_finds_the_run_that_was_written_meanwhile(cluster: Cluster) -> None:
    """The statement that waits began before the run was there."""
    run = a_run()
    async with cluster.stopped("uniques", "lock", [TENANT], ["k"], [run.id], [0], [START_MS], 0):
        asking = await cluster.blocked(ask(cluster.first, unique()))
        await by_hand(cluster, "runs", "enqueue", *enqueue_arguments([run], [0]))
    assert await asking == [UniqueAnswer(run.id, UniqueVerdict.REJECTED)]


async def test_who_waits_for_a_key_finds_it_free_when_nobody_took_it(cluster: Cluster) -> None:
    transaction = cluster.hand.transaction()
    await transaction.start()
    await by_hand(cluster, "uniques", "lock", [TENANT], ["k"], [a_run().id], [0], [START_MS], 0)
    asking = await cluster.blocked(verdict(cluster.first))
    await transaction.rollback()
    assert await asking is UniqueVerdict.WRITTEN


async def test_who_waits_for_a_key_that_is_forgotten_takes_it(cluster: Cluster) -> None:
    await written(cluster.first)
    await cluster.hand.execute("DELETE FROM dueline.runs")
    await cluster.hand.execute("UPDATE dueline.uniques SET sweep_ms = 0")
    async with cluster.stopped("uniques", "forget", 10, 0):
        asking = await cluster.blocked(verdict(cluster.first))
    assert await asking is UniqueVerdict.WRITTEN
    assert await verdict(cluster.second) is UniqueVerdict.REJECTED


async def test_a_key_that_somebody_asks_for_is_not_forgotten(cluster: Cluster) -> None:
    """It is passed over: who has it locked may be about to take it."""
    first = await written(cluster.first)
    await cluster.hand.execute("UPDATE dueline.uniques SET sweep_ms = 0")
    async with cluster.stopped("uniques", "lock", [TENANT], ["k"], [a_run().id], [0], [START_MS], 0):
        assert await cluster.second.forget_keys(limit=10) == 0
    assert await ask(cluster.first, unique()) == [UniqueAnswer(first, UniqueVerdict.REJECTED)]


@pytest.mark.parametrize("on_conflict", [REPLACE, RESCHEDULE])
async def test_a_run_that_is_started_while_it_is_waited_for_stays_as_it_is(
    cluster: Cluster, on_conflict: OnConflict
) -> None:
    first = await written(cluster.first)
    async with cluster.stopped("uniques", "lock_runs", [first]):
        asking = await cluster.blocked(verdict(cluster.first, on_conflict=on_conflict))
        await cluster.hand.execute("UPDATE dueline.runs SET state = 'running', attempt = 1, worker = 'w'")
    assert await asking is UniqueVerdict.TOO_LATE
    assert (await the_run(cluster.first, first)).state is RunState.RUNNING


async def test_a_run_that_is_about_to_be_replaced_is_claimed_by_nobody(cluster: Cluster) -> None:
    first = await written(cluster.first)
    async with cluster.stopped("uniques", "lock_runs", [first]):
        assert await claim(cluster.second, await register(cluster.second)) == []
    assert (await claim_one(cluster.second, await register(cluster.second))).run_id == first


async def test_a_worker_that_wants_to_start_waits_for_the_call_that_replaces_its_run(cluster: Cluster) -> None:
    first = await written(cluster.first, a_run(due_ms=START_MS + 500))
    claimed = await claim_one(cluster.first, await register(cluster.first), ahead_ms=500)
    async with cluster.stopped("uniques", "lock_runs", [first]):
        await cluster.clock.advance(0.5)
        confirming = await cluster.blocked(confirm(cluster.second, claimed))
        await by_hand(cluster, "cancels", "cancel_runs", [first], "superseded")
    assert await confirming == set()


async def test_a_call_that_breaks_off_half_way_leaves_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is locked and decided, and no rank can be had."""
    store = cluster.first
    first = await written(store, key="other")

    async def refused(*_args: Any, **_kwargs: Any) -> None:
        raise StoreUnavailable("on purpose")

    with monkeypatch.context() as broken:
        broken.setattr(Database, "on_own", refused)
        with pytest.raises(StoreUnavailable, match="on purpose"):
            await ask(store, unique(key="free"), unique(key="other", on_conflict=REPLACE))
    await is_as_before(store, first, key="other")


async def test_a_process_that_dies_half_way_leaves_nothing(cluster: Cluster) -> None:
    """One key is taken, and for the run that has the other it waits: there its connection ends."""
    store = cluster.first
    first = await written(store)
    async with cluster.stopped("uniques", "lock_runs", [first]):
        asking = await cluster.blocked(ask(store, unique(key="free"), unique(on_conflict=REPLACE)))
        assert await cluster.hand.fetch(END_WAITERS)
        with pytest.raises(StoreUnavailable):
            await asking
    await is_as_before(store, first, key="k")


async def is_as_before(store: Store, first: RunId, *, key: str) -> None:
    assert await live(store) == [first]
    assert await ask(store, unique(key=key)) == [UniqueAnswer(first, UniqueVerdict.REJECTED)]
    await written(store, key="free")
