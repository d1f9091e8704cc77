"""Fixtures for any test, made known by `tests/conftest.py`."""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from dueline.store.protocol import Store
from tests.support.postgres import PostgresServer
from tests.support.stores import StoreClock, StoreUnderTest, postgres_under_test, sqlite_under_test

TEMPLATE = "dueline_template"

_numbers = count(1)


@pytest.fixture(scope="session")
def postgres_server(prepare_template: Callable[[str], None]) -> Iterator[PostgresServer]:
    """One server for the whole session, holding the template of the tests' databases.

    `prepare_template` brings the empty database of a DSN to the state in which every test begins, and must leave no
    connection to it.
    """
    with PostgresServer() as server:
        server.create_database(TEMPLATE)
        prepare_template(server.dsn(TEMPLATE))
        yield server


@pytest.fixture
def postgres_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """The DSN of a database of the test's own, a fresh copy of the template; dropped afterwards."""
    database = f"test_{next(_numbers)}"
    postgres_server.create_database(database, template=TEMPLATE)
    yield postgres_server.dsn(database)
    postgres_server.drop_database(database)


@pytest.fixture(scope="session")
def emptied_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    """One database for all tests of stores: it is emptied before every test, which is quicker than making one."""
    postgres_server.create_database("emptied", template=TEMPLATE)
    yield postgres_server.dsn("emptied")
    postgres_server.drop_database("emptied")


@pytest.fixture(params=["sqlite", "postgres"])
async def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreUnderTest]:
    """Each store in turn, with a clock that moves when told to."""
    if request.param == "postgres":
        opening = postgres_under_test(request.getfixturevalue("emptied_dsn"))
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
