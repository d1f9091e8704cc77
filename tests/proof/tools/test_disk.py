"""A full disk is told to whoever writes, nothing that was acknowledged is lost, and room is enough to go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from proof.tools import disk
from proof.tools.disk import small_disk
from tests.support import processes
from tests.support.postgres import PostgresServer
from tests.support.stores import a_run, enqueue, the_run

pytestmark = pytest.mark.skipif(disk.why_not() is not None, reason=str(disk.why_not()))

ROOT = Path(__file__).parents[3]
WRITES_MAX = 10_000


def test_the_last_byte_is_taken_and_given_back() -> None:
    with small_disk(1 << 20) as small:
        kept = small.folder / "kept"
        kept.write_bytes(b"kept")
        evidence = small.fill()
        assert evidence["free_bytes"] == 0
        assert int(evidence["filled_bytes"]) > 900_000
        with pytest.raises(OSError, match="No space left"):
            (small.folder / "more").write_bytes(b"-")
        assert int(small.free()["free_bytes"]) > 900_000
        (small.folder / "more").write_bytes(b"-")
        assert kept.read_bytes() == b"kept"
        folder = small.folder
    assert not folder.exists()
    assert str(folder) not in Path("/proc/mounts").read_text()


def test_a_killed_test_process_leaves_no_disk() -> None:
    program = (
        "from proof.tools.disk import small_disk\n"
        "with small_disk(1 << 20) as small:\n"
        "    print(small.folder, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        folder = Path(victim.stdout.readline().strip())
        undoing = processes.children_of(victim.pid)
        assert folder.exists()
        victim.kill()
    processes.wait_until_dead(undoing, within_s=10)
    assert not folder.exists()
    assert str(folder) not in Path("/proc/mounts").read_text()


async def runs_until_refused(store: SqliteStore) -> list[RunId]:
    acknowledged: list[RunId] = []
    for _ in range(WRITES_MAX):
        try:
            acknowledged += await enqueue(store, a_run())
        except StoreUnavailable:
            return acknowledged
    raise AssertionError("a full disk took every write")


def rows_until_refused(dsn: str) -> int:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for number in range(WRITES_MAX):
            try:
                connection.execute("INSERT INTO mark VALUES (%s, repeat('-', 2000))", [number])
            except psycopg.OperationalError:
                return number
    raise AssertionError("a full disk took every write")


async def test_our_embedded_store_says_so_and_goes_on() -> None:
    with small_disk(16 << 20) as small:
        store = SqliteStore(small.folder / "dueline.db", SystemClock())
        await store.open()
        try:
            await store.migrate()
            acknowledged = await enqueue(store, a_run())
            small.fill()
            acknowledged += await runs_until_refused(store)
            for run_id in acknowledged[-3:]:
                await the_run(store, run_id)
            small.free()
            acknowledged += await enqueue(store, a_run())
            for run_id in acknowledged:
                await the_run(store, run_id)
        finally:
            await store.close()


def test_postgres_says_so_and_goes_on() -> None:
    settings = {"min_wal_size": "32MB", "max_wal_size": "32MB"}
    with (
        small_disk(192 << 20) as small,
        PostgresServer(data_dir=small.folder / "data", settings=settings) as server,
    ):
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("CREATE TABLE mark (n int, padding text)")
        small.fill()
        acknowledged = rows_until_refused(server.dsn())
        small.free()
        # Where the log itself found no room, the server has ended, or is about to.
        server.crash()
        server.start()
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            found = [n for (n,) in connection.execute("SELECT n FROM mark ORDER BY n")]
            # Of the one that was refused nobody knows.
            assert found[:acknowledged] == list(range(acknowledged))
            assert len(found) <= acknowledged + 1
            connection.execute("INSERT INTO mark VALUES (-1, '')")
