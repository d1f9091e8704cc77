"""From PostgreSQL elsewhere: at rest, all or nothing, and sealed afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.domain.errors import Conflict, Invalid, StoreMoved
from dueline.store.postgres.store import PostgresStore
from tests.store.copying.filling import Contents, a_file, contents, contents_of_postgres
from tests.store.copying.sides import Calls, Died, copy
from tests.support.fixtures import TEMPLATE
from tests.support.postgres import PostgresServer
from tests.support.stores import a_run, enqueue, register


@pytest.fixture
async def there(tmp_path: Path, postgres_dsn: str) -> Contents:
    """What stands in a database that has rows in every table."""
    path = await a_file(tmp_path / "first.db", history=30)
    await copy(path, postgres_dsn)
    return contents(path)


@pytest.fixture
def other_dsn(postgres_server: PostgresServer) -> Iterator[str]:
    postgres_server.create_database("other", template=TEMPLATE)
    yield postgres_server.dsn("other")
    postgres_server.drop_database("other")


async def test_everything_comes_back_into_a_file(there: Contents, postgres_dsn: str, tmp_path: Path) -> None:
    await copy(postgres_dsn, str(tmp_path / "back.db"))
    assert contents(tmp_path / "back.db") == there


async def test_everything_comes_to_another_database(there: Contents, postgres_dsn: str, other_dsn: str) -> None:
    await copy(postgres_dsn, other_dsn)
    assert await contents_of_postgres(other_dsn) == there == await contents_of_postgres(postgres_dsn)


async def test_who_has_it_open_cannot_write_any_more(there: Contents, postgres_dsn: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres_dsn)
    await store.open()
    try:
        worker = await register(store)
        await store.leave(worker)
        await copy(postgres_dsn, str(tmp_path / "back.db"))
        with pytest.raises(StoreMoved, match=f"moved to {tmp_path / 'back.db'}"):
            await enqueue(store, a_run())
        with pytest.raises(StoreMoved):
            await register(store)
        with pytest.raises(StoreMoved):
            await store.beat(worker, lease_s=8.0)
        with pytest.raises(StoreMoved):
            await store.migrate()
    finally:
        await store.close()
    assert await contents_of_postgres(postgres_dsn) == there


async def test_a_copy_waits_for_no_process(postgres_dsn: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres_dsn)
    await store.open()
    try:
        await register(store)
        with pytest.raises(Conflict, match="stop them all"):
            await copy(postgres_dsn, str(tmp_path / "back.db"))
        await enqueue(store, a_run())
    finally:
        await store.close()


async def test_a_copy_that_broke_off_starts_over(there: Contents, postgres_dsn: str, tmp_path: Path) -> None:
    to = str(tmp_path / "back.db")
    for die_at in range(10, 130, 7):
        with pytest.raises(Died):
            await copy(postgres_dsn, to, calls=Calls(die_at))
    store = PostgresStore(postgres_dsn)
    await store.open()
    await enqueue(store, a_run())
    await store.close()
    await copy(postgres_dsn, to)
    assert contents(Path(to)) == await contents_of_postgres(postgres_dsn)
    assert contents(Path(to))["runs"] > there["runs"]


async def test_a_database_of_others_is_refused(postgres_server: PostgresServer, tmp_path: Path) -> None:
    postgres_server.create_database("strange")
    try:
        with pytest.raises(Invalid, match="not a database of Dueline's"):
            await copy(postgres_server.dsn("strange"), str(tmp_path / "back.db"))
    finally:
        postgres_server.drop_database("strange")
