"""The file: to whom it belongs, and which files are refused."""

import asyncio
import os
import signal
import stat
import sys
from pathlib import Path

import apsw
import pytest

from dueline.domain import limits
from dueline.domain.errors import SchemaRefused, StoreUnavailable
from dueline.domain.states import RunState
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import Role
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import (
    ALL_SHARDS,
    a_finish,
    a_run,
    enqueue,
    register,
    run_and_claim,
    states_of,
    take_all,
)

# An owner that claims what it is given, says so, and then does nothing until it is killed.
OWNER = """
import asyncio, sys
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import Role
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import a_run, claim_one, enqueue, register, take_all

async def own():
    store = SqliteStore(sys.argv[1], ManualClock())
    await store.open()
    await store.migrate()
    boot_id = await register(store, "owner", role=Role.ALL)
    await take_all(store, boot_id)
    (run_id,) = await enqueue(store, a_run())
    await claim_one(store, boot_id)
    print(run_id.hex(), flush=True)
    await asyncio.sleep(60)

asyncio.run(own())
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_letter(path: Path) -> None:
    path.write_text("This is a letter, and not a database. " * 30)


def contents(path: Path) -> bytes:
    return path.read_bytes()


def remove(path: Path) -> None:
    path.unlink()


def foreign(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


async def test_folders_and_file_are_made_for_their_owner_alone(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "a" / "b" / "dueline.db"
    store = SqliteStore(path, clock)
    await store.open()
    await store.migrate()
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]
    assert [mode(file) for file in path.parent.iterdir()] == [0o600] * 4
    await store.close()


async def test_a_file_in_use_is_refused_and_its_holder_named(
    store: SqliteStore, path: Path, clock: ManualClock
) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(StoreUnavailable, match=f"in use by process {os.getpid()}"):
            await SqliteStore(name, clock).open()
    await enqueue(store, a_run())


async def test_a_file_can_be_opened_again_after_it_was_closed_or_refused(path: Path, clock: ManualClock) -> None:
    write_letter(path)
    for _ in range(2):
        with pytest.raises(SchemaRefused):
            await SqliteStore(path, clock).open()
    remove(path)
    for _ in range(2):
        store = SqliteStore(path, clock)
        await store.open()
        await store.close()


async def test_what_a_killed_owner_was_told_is_there_and_what_it_held_is_free(path: Path, clock: ManualClock) -> None:
    owner = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OWNER, str(path), stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert owner.stdout is not None
    run_id = bytes.fromhex((await owner.stdout.readline()).decode())
    store = SqliteStore(path, clock)
    with pytest.raises(StoreUnavailable, match=f"in use by process {owner.pid}"):
        await store.open()
    owner.send_signal(signal.SIGKILL)
    await owner.wait()

    await store.open()
    assert await store.nodes() == []
    (stray,) = await store.strays(grace_ms=limits.TIMEOUT_GRACE_MS, limit=10)
    assert (stray.run_id, stray.worker, stray.overtime) == (run_id, "owner", False)
    assert await states_of(store, [stray.run_id]) == [RunState.RUNNING]
    assert set(await take_all(store, await register(store, "successor"))) == set(ALL_SHARDS)
    await store.close()


async def test_workers_of_a_servers_api_outlive_it(path: Path, clock: ManualClock) -> None:
    """They keep what they run, and say what became of it when the server is back."""
    store = SqliteStore(path, clock)
    await store.open()
    await store.migrate()
    (claimed,) = await run_and_claim(store, worker="remote")
    await register(store, "owner", role=Role.ALL)
    await store.close()
    await store.open()
    try:
        assert [node.boot_id for node in await store.nodes()] == ["remote"]
        assert await store.strays(grace_ms=0, limit=10) == []
        assert await store.finish([a_finish(claimed)]) == {claimed.run_id}
    finally:
        await store.close()


async def test_a_file_that_is_no_database_is_refused_and_stays_as_it_is(path: Path, clock: ManualClock) -> None:
    write_letter(path)
    before = contents(path)
    with pytest.raises(SchemaRefused, match=r"dueline\.db: .*not an SQLite database"):
        await SqliteStore(path, clock).open()
    assert contents(path) == before


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE recipes (name TEXT)",
        "CREATE TABLE migrations (id INTEGER PRIMARY KEY, migration TEXT, batch INTEGER)",
    ],
)
async def test_a_database_of_somebody_else_is_refused_and_stays_as_it_is(
    path: Path, clock: ManualClock, sql: str
) -> None:
    foreign(path, sql)
    before = contents(path)
    with pytest.raises(SchemaRefused, match="not Dueline's"):
        await SqliteStore(path, clock).open()
    assert contents(path) == before


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("INSERT INTO migrations VALUES (9999, 'later', 'x', 0)", "use a newer Dueline"),
        ("UPDATE migrations SET checksum = 'x' WHERE version = 1", "cannot be trusted"),
    ],
)
async def test_a_schema_that_is_newer_or_altered_is_refused(
    store: SqliteStore, path: Path, clock: ManualClock, sql: str, reason: str
) -> None:
    await register(store)
    await store.close()
    foreign(path, sql)
    with pytest.raises(SchemaRefused, match=reason):
        await SqliteStore(path, clock).open()


async def test_a_folder_that_cannot_be_made_is_unavailable(path: Path, clock: ManualClock) -> None:
    write_letter(path)
    with pytest.raises(StoreUnavailable, match=r"dueline\.db/below"):
        await SqliteStore(path / "below", clock).open()


async def test_migrating_twice_at_once_does_it_once(path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    await store.open()
    known = await store.schema()
    assert not any(state.applied for state in known)
    for states in await asyncio.gather(store.migrate(), store.migrate()):
        assert [state.applied for state in states] == [True] * len(known)
    await store.close()
