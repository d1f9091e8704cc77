"""`dueline doctor` in a store itself: what stands in it, on both; and how each is kept."""

import asyncio
from pathlib import Path

import apsw
import asyncpg
import pytest

from dueline import __version__
from dueline.cli import diagnoses, doctor
from dueline.cli.store_checks import check_rows
from dueline.domain.ids import BootId
from dueline.domain.states import RunState
from dueline.runtime.clock import SystemClock
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.sqlite.store import SqliteStore
from tests.cli.conftest import Command, Ended
from tests.cli.test_doctor import ShiftedClock, levels, meanings
from tests.support.postgres import PostgresServer
from tests.support.stores import StoreClock, a_finish, a_job, a_run, claim_one, create, enqueue, take_all


async def found(store: Store, check: str) -> list[str]:
    return [finding.level async for finding in check_rows(store) if finding.check == check]


async def join(store: Store, name: str, role: Role) -> BootId:
    node = NewNode(boot_id=BootId(name), role=role, host="here", pid=1, version=__version__, slots=1)
    await store.register(node, lease_s=8.0)
    return node.boot_id


async def test_processes_that_are_late_and_that_are_silent(store: Store, clock: StoreClock) -> None:
    assert await found(store, "store.processes") == ["error", "error"]
    await join(store, "all", Role.ALL)
    assert await found(store, "store.processes") == ["ok"]
    await clock.advance(4)
    assert await found(store, "store.processes") == ["ok"], "two beats are not late yet"
    await clock.advance(0.001)
    assert await found(store, "store.processes") == ["warning"]
    await clock.advance(4)
    assert await found(store, "store.processes") == ["error", "error", "warning"]


async def test_shards_without_an_owner_or_whose_owner_is_silent(store: Store, clock: StoreClock) -> None:
    assert await found(store, "store.shards") == ["error"]
    await take_all(store, await join(store, "all", Role.ALL))
    assert await found(store, "store.shards") == ["ok"]
    await clock.advance(8.001)
    assert await found(store, "store.shards") == ["error"]


async def test_a_queue_that_lags(store: Store, clock: StoreClock) -> None:
    await enqueue(store, a_run())
    assert await found(store, "store.queues") == ["error"]
    worker = await join(store, "w1", Role.WORKER)
    assert await found(store, "store.queues") == ["ok"]
    await clock.advance(59.999)
    await store.beat(worker, lease_s=60.0)
    assert await found(store, "store.queues") == ["ok"]
    await clock.advance(0.001)
    assert await found(store, "store.queues") == ["warning"]
    await store.pause_queue("default", note=None)
    assert await found(store, "store.queues") == ["warning"]


async def test_schedules_that_are_overdue(store: Store, clock: StoreClock) -> None:
    await create(store, a_job())
    assert await found(store, "store.schedules") == ["ok"]
    await clock.advance(3_600)
    assert await found(store, "store.schedules") == ["error"]


async def test_runs_whose_worker_is_gone_and_dead_letters(store: Store) -> None:
    await enqueue(store, a_run())
    worker = await join(store, "w1", Role.WORKER)
    assert await found(store, "store.dead_letters") == ["ok"]
    assert await store.finish([a_finish(await claim_one(store, worker), RunState.FAILED)])
    assert await found(store, "store.dead_letters") == ["warning"]
    await enqueue(store, a_run())
    await claim_one(store, worker)
    assert await found(store, "store.runs") == ["ok"]
    await store.leave(worker)
    assert await found(store, "store.runs") == ["warning"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that nobody has, with the schema."""
    path = tmp_path / "dueline.db"

    async def make() -> None:
        store = SqliteStore(path, SystemClock())
        await store.open()
        await store.migrate()
        await store.close()

    asyncio.run(make())
    return path


@pytest.fixture
def look(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """A look into a store alone: there is no server."""
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")

    def run(db: str | Path) -> Ended:
        return dueline("doctor", "--db", str(db), "-o", "json")

    return run


def test_a_file_that_nobody_has(look: Command, file: Path) -> None:
    ended = look(file)
    assert (levels(ended, "store.reachable"), levels(ended, "store.schema")) == (["ok"], ["ok"])
    assert (levels(ended, "store.file"), "No process has" in meanings(ended, "store.file")) == (["warning"], True)


def test_a_look_writes_nothing_and_makes_nothing(look: Command, file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    assert levels(look(file), "store.shards") == ["error"]
    assert file.read_bytes() == before
    missing = tmp_path / "none" / "missing.db"
    assert levels(look(missing), "store.reachable") == ["error"]
    assert not missing.parent.exists()


def test_a_file_that_others_can_read(look: Command, file: Path) -> None:
    file.chmod(0o644)
    ended = look(file)
    assert (levels(ended, "store.file"), "chmod 600" in ended.out) == (["warning", "warning"], True)


@pytest.mark.parametrize(("warning", "error", "level"), [(2.0, 0.0, "warning"), (2.0, 2.0, "error"), (0.0, 0.0, "ok")])
def test_a_disk_that_is_full(
    look: Command, file: Path, monkeypatch: pytest.MonkeyPatch, warning: float, error: float, level: str
) -> None:
    """No disk is filled for it: another share counts as little."""
    monkeypatch.setattr(diagnoses, "FREE_SHARE_WARNING", warning)
    monkeypatch.setattr(diagnoses, "FREE_SHARE_ERROR", error)
    assert levels(look(file), "store.disk") == [level]


def tamper(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM migrations WHERE version = (SELECT max(version) FROM migrations)", "lacks 1 migration"),
        ("INSERT INTO migrations VALUES (9999, 'later', 'x', 0)", "schema version 9999"),
        ("UPDATE migrations SET checksum = 'x' WHERE version = 1", "other contents"),
        ("DROP TABLE migrations", "not Dueline's"),
    ],
)
def test_a_schema_that_is_not_this_programs(look: Command, file: Path, statement: str, told: str) -> None:
    tamper(file, statement)
    ended = look(file)
    assert (ended.code, levels(ended, "store.schema")) == (1, ["error"])
    assert told in meanings(ended, "store.schema")
    assert levels(ended, "store.shards") == [], "nothing more is read"


def test_a_file_that_is_empty_or_something_else(look: Command, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.touch()
    assert "lacks" in meanings(look(path), "store.schema")
    path.write_text("something else, and long enough to be looked at" * 100)
    ended = look(path)
    assert (ended.code, "damaged, or not an SQLite database" in ended.out) == (1, True)


def test_an_address_of_no_known_kind_is_bad_input(dueline: Command) -> None:
    assert dueline("doctor", "--db", "mysql://x").code == 2


def test_a_postgres_that_is_away(look: Command) -> None:
    assert levels(look("postgresql://nobody@127.0.0.1:9/none"), "store.reachable") == ["error"]


def statement(dsn: str, sql: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    asyncio.run(run())


def test_a_postgres_without_the_schema(look: Command, postgres_dsn: str) -> None:
    statement(postgres_dsn, "DROP SCHEMA IF EXISTS dueline CASCADE")
    ended = look(postgres_dsn)
    assert (levels(ended, "store.reachable"), levels(ended, "store.schema")) == (["ok"], ["error"])


@pytest.fixture
def migrated_dsn(dueline: Command, postgres_dsn: str) -> str:
    assert dueline("db", "migrate", "--db", postgres_dsn).code == 0
    return postgres_dsn


def test_a_postgres_that_may_forget(look: Command, migrated_dsn: str) -> None:
    """The server of tests has fsync off for speed; our database can be told to forget, too."""
    ended = look(migrated_dsn)
    assert (levels(ended, "store.settings"), "fsync" in meanings(ended, "store.settings")) == (["error"], True)
    assert "synchronous_commit" not in meanings(ended, "store.settings")
    name = migrated_dsn.rpartition("/")[2].partition("?")[0]
    statement(migrated_dsn, f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    assert "synchronous_commit" in meanings(look(migrated_dsn), "store.settings")


def test_a_postgres_with_the_settings_that_it_comes_with(look: Command, dueline: Command) -> None:
    with PostgresServer(durable=True) as server:
        dsn = server.dsn("postgres")
        assert dueline("db", "migrate", "--db", dsn).code == 0
        ended = look(dsn)
    for check in ("settings", "snapshots", "connections", "clock", "schema"):
        assert levels(ended, f"store.{check}") == ["ok"]


def test_a_postgres_with_a_snapshot_that_is_held(
    look: Command, migrated_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnoses, "SNAPSHOT_S_WARNING", 0.0)

    async def hold() -> Ended:
        connection = await asyncpg.connect(migrated_dsn, server_settings={"application_name": "holder"})
        try:
            async with connection.transaction(isolation="repeatable_read"):
                await connection.fetchval("SELECT 1")
                return await asyncio.to_thread(look, migrated_dsn)
        finally:
            await connection.close()

    ended = asyncio.run(hold())
    assert (levels(ended, "store.snapshots"), "(holder)" in meanings(ended, "store.snapshots")) == (["warning"], True)


def test_a_postgres_without_connections_to_spare(
    look: Command, migrated_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert levels(look(migrated_dsn), "store.connections") == ["ok"]
    monkeypatch.setattr(diagnoses, "CONNECTIONS_SHARE_WARNING", 0.0)
    assert levels(look(migrated_dsn), "store.connections") == ["warning"]


def test_a_postgres_whose_clock_is_another(look: Command, migrated_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(look(migrated_dsn), "store.clock") == ["ok"]
    monkeypatch.setattr(doctor, "SystemClock", lambda: ShiftedClock(-60))
    ended = look(migrated_dsn)
    assert (levels(ended, "store.clock"), "ahead of" in meanings(ended, "store.clock")) == (["warning"], True)
