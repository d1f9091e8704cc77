"""A server on each store, and a client of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.runtime.clock import SystemClock
from dueline.sdk.client import PlainClient
from dueline.sdk.retries import NEVER
from dueline.store.postgres.store import PostgresStore
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi


@pytest.fixture(params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServedApi]:
    if request.param == "sqlite":
        served = ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock()))
    else:
        dsn = request.getfixturevalue("postgres_dsn")
        served = ServedApi(lambda: PostgresStore(dsn))
    with served as api:
        yield api


@pytest.fixture
def client(api: ServedApi) -> Iterator[PlainClient]:
    with PlainClient(api.url, retry=NEVER) as client:
        yield client
