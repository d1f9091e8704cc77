"""Both stores, each with a clock that moves when told to."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dueline.store.protocol import Store
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.support.stores import StoreClock, StoreUnderTest, postgres_under_test, sqlite_under_test


@pytest.fixture(scope="session")
def conformance_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """One database for the suite: it is emptied before every test."""
    postgres_server.create_database("conformance", template=TEMPLATE)
    yield postgres_server.dsn("conformance")
    postgres_server.drop_database("conformance")


@pytest.fixture(params=["sqlite", "postgres"])
async def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreUnderTest]:
    if request.param == "postgres":
        opening = postgres_under_test(request.getfixturevalue("conformance_dsn"))
    else:
        opening = sqlite_under_test(tmp_path / "dueline.db")
    async with opening as under_test:
        yield under_test


@pytest.fixture
def store(under_test: StoreUnderTest) -> Store:
    return under_test.store


@pytest.fixture
def clock(under_test: StoreUnderTest) -> StoreClock:
    return under_test.clock
