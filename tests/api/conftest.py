"""The API on every store: `api` is a server for a whole file of tests, `own_api` one with an empty store for one test."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer

STORES = ["sqlite", "postgres"]

_numbers = count(1)


@pytest.fixture(scope="module", params=STORES)
def api(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    with _served(request, tmp_path_factory.mktemp("store")) as api:
        yield api


@pytest.fixture(params=STORES)
def own_api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedApi]:
    with _served(request, tmp_path) as api:
        yield api


def _served(request: pytest.FixtureRequest, folder: Path) -> ServedApi:
    if request.param == "sqlite":
        return ServedApi(lambda: SqliteStore(folder / "dueline.db", SystemClock()))
    return ServedApi(_postgres(request.getfixturevalue("postgres_server")))


def _postgres(server: PostgresServer) -> Callable[[], Store]:
    database = f"api_{next(_numbers)}"
    server.create_database(database, template=TEMPLATE)
    return lambda: PostgresStore(server.dsn(database))
