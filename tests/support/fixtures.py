"""Fixtures for any test, made known by `tests/conftest.py`."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.support.postgres import PostgresServer

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
