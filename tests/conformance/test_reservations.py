"""Turns on PostgreSQL, where they are reserved ahead of the runs that take them, by several at once."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.store.postgres.database import Database
from dueline.store.postgres.reaching import Connection
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from tests.conformance.sharing import serve, shares, wait_with, weigh
from tests.support.stores import (
    StoreUnderTest,
    a_run,
    changing,
    create,
    enqueue,
    postgres_under_test,
    sqlite_under_test,
)

T = TypeVar("T")


@pytest.fixture
async def under_test(emptied_dsn: str) -> AsyncIterator[StoreUnderTest]:
    async with postgres_under_test(emptied_dsn) as under_test:
        yield under_test


@pytest.mark.parametrize("seed", range(4))
async def test_it_is_the_turn_of_those_whose_it_is_by_the_rules(store: Store, tmp_path: Path, seed: int) -> None:
    """PostgreSQL decides in its statement what the embedded store asks the rules about: in lines where something is ready, both say the
    same of every single run."""
    chance = random.Random(seed)
    async with sqlite_under_test(tmp_path / "dueline.db") as embedded:
        stores = (store, embedded.store)
        for one in stores:
            await weigh(one, a=3.0, b=0.3)
        for _ in range(12):
            runs = [
                a_run(
                    tenant=chance.choice("abc"),
                    lane=chance.choice(["", "", "gpu"]),
                    priority=chance.choice([5, 5, 5, 3, 8]),
                    missed=chance.random() < 0.2,
                    fairness_key=chance.choice(["", "", "x", "y", "z"]),
                )
                for _ in range(chance.choice([1, 1, 5, 40]))
            ]
            for one in stores:
                await enqueue(one, *runs)
        orders = [[claimed.run_id for claimed in await serve(one, 1_000, at_a_time=1)] for one in stores]
    assert orders[0] == orders[1]


async def test_who_asks_at_once_through_two_processes_gets_one_share(emptied_dsn: str, store: Store) -> None:
    await wait_with(store, "one", 300)
    second = PostgresStore(emptied_dsn)
    await second.open()
    try:
        await asyncio.gather(*(wait_with(one, "many", 5) for _ in range(20) for one in (store, second)))
    finally:
        await second.close()
    served = await shares(store, 400)
    assert abs(served["many"] - served["one"]) <= 0.1 * served["one"]


async def test_many_single_runs_at_once_cost_few_reservations(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reserved = Counter[str]()
    on_own = Database.on_own

    async def counted(
        database: Database, name: str, ask: Callable[[Connection], Awaitable[T]], *, timeout_s: float
    ) -> T:
        reserved[name] += 1
        return await on_own(database, name, ask, timeout_s=timeout_s)

    monkeypatch.setattr(Database, "on_own", counted)
    await asyncio.gather(*(wait_with(store, f"t{number % 10}", 1) for number in range(300)))
    assert 1 <= reserved["ranks"] <= 10
    assert set((await shares(store, 300)).values()) == {30}


async def test_a_store_that_cannot_be_asked_tells_everyone_and_recovers(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_args: Any, **_kwargs: Any) -> None:
        raise StoreUnavailable("on purpose")

    with monkeypatch.context() as broken:
        broken.setattr(Database, "on_own", refused)
        answers = await asyncio.gather(*(store.enqueue([a_run()]) for _ in range(5)), return_exceptions=True)
        assert {str(answer) for answer in answers} == {"on purpose"}
        assert len({id(answer) for answer in answers}) == 5, "tracebacks of several must not grow on one"
    await enqueue(store, a_run())


async def test_who_is_in_a_transaction_waits_for_no_connection_of_the_pool(store: Store) -> None:
    """As many changes as there are connections, each of which needs a rank before it can end."""
    jobs = [await create(store) for _ in range(24)]
    async with asyncio.timeout(10):
        await asyncio.gather(
            *(store.change_job(job.tenant, job.id, changing(runs=(a_run(job),))) for job in jobs),
        )
    assert len(await serve(store, 30)) == 24


async def test_an_idle_line_does_not_wait_for_what_is_being_written(under_test: StoreUnderTest) -> None:
    """Somebody reserved for many runs, and nobody sees them yet: who comes meanwhile does not stand behind them."""
    store = under_test.store
    await wait_with(store, "noisy", 1_000)
    await under_test.tamper("UPDATE runs SET state = 'held'")
    assert await store.forget_flows(limit=10) == 0
    await wait_with(store, "quiet", 1)
    await under_test.tamper("UPDATE runs SET state = 'ready'")
    assert (await shares(store, 2))["quiet"] == 1


async def test_a_line_that_is_idle_for_long_does_not_wait_for_anything(under_test: StoreUnderTest) -> None:
    store = under_test.store
    await wait_with(store, "lost", 1_000)
    await under_test.tamper("DELETE FROM runs")
    await under_test.clock.advance(31)
    for tenant in ("other", "lost"):
        await wait_with(store, tenant, 50)
    assert abs((await shares(store, 50))["lost"] - 25) <= 2


async def test_who_locks_a_flow_keeps_nobody_from_forgetting_others(
    emptied_dsn: str, under_test: StoreUnderTest
) -> None:
    store = under_test.store
    for tenant in ("a", "b", "noisy"):
        await wait_with(store, tenant, 1 if tenant != "noisy" else 100)
    await serve(store, 50)
    database = Database(emptied_dsn)
    await database.open()
    try:
        async with database.transaction() as connection:
            await connection.execute("SELECT FROM dueline.flows WHERE tenant = 'a' FOR UPDATE")
            async with asyncio.timeout(4):
                assert await store.forget_flows(limit=10) == 1
        assert await store.forget_flows(limit=10) == 1
    finally:
        await database.close()
