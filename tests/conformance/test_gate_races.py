"""Whoever meets at a gate, and whenever: no place too many, none left behind, nobody forgotten, and nobody waits for another for ever."""

from collections.abc import AsyncIterator

import pytest

from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from tests.conformance.storm import Storm
from tests.support.cluster import Cluster
from tests.support.stores import StoreUnderTest


@pytest.fixture
async def stores(under_test: StoreUnderTest, request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """One, or where there can be several processes, three of them."""
    more = []
    if under_test.dialect == "postgres":
        more = [PostgresStore(request.getfixturevalue("emptied_dsn")) for _ in range(2)]
    for store in more:
        await store.open()
    yield [under_test.store, *more]
    for store in more:
        await store.close()


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_leaves_nothing_behind(under_test: StoreUnderTest, stores: list[Store], seed: int) -> None:
    storm = Storm(Cluster(under_test), stores, seed)
    await storm.begin(workers=6)
    for _ in range(4):
        await storm.blow(steps=25)
        await storm.check()
    assert await storm.end() == []
    assert storm.passed > 100
