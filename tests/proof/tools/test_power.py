"""A power cut takes what was not synced, and nothing that was: shown on settings that promise it, and on those that do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import psycopg
import pytest

from proof.tools import power
from proof.tools.power import PoweredDisk, powered_disk
from proof.tools.root import run
from tests.proof.tools.writers import ROOT, writing
from tests.support import processes
from tests.support.postgres import PostgresFailed, PostgresServer

pytestmark = pytest.mark.skipif(power.why_not() is not None, reason=str(power.why_not()))

CUTS = 3
ACKNOWLEDGED_MIN = 40
SQLITE_DISK_BYTES = 48 << 20
POSTGRES_DISK_BYTES = 256 << 20
# The smallest that it lives with, so that the image is copied quickly.
SMALL_LOG = {"min_wal_size": "32MB", "max_wal_size": "64MB"}


def found_in(path: Path, query: str) -> set[str]:
    """What a file of SQLite holds after a cut, and that it is sound."""
    connection = apsw.Connection(str(path))
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {str(value) for (value,) in connection.execute(query)}
    finally:
        connection.close()


def lost_by_sqlite(disk: PoweredDisk, synchronous: str) -> list[int]:
    """How many acknowledged commits each of several cuts took."""
    lost = []
    for cut in range(CUTS):
        path = disk.folder / f"{cut}.db"
        connection = apsw.Connection(str(path))
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE mark (n)")
        connection.close()
        disk.sync()
        with writing("sqlite", path, synchronous) as writer:
            writer.wait_for(ACKNOWLEDGED_MIN + 7 * cut)
            evidence = disk.cut([writer.process.pid])
            assert evidence["canary_lost"]
            lost.append(len(writer.hear_to_the_end() - found_in(path, "SELECT n FROM mark")))
    return lost


@pytest.mark.long
def test_sqlite_loses_nothing_when_it_syncs_each_commit() -> None:
    with powered_disk(SQLITE_DISK_BYTES) as disk:
        assert lost_by_sqlite(disk, "FULL") == [0] * CUTS


@pytest.mark.long
def test_sqlite_loses_commits_when_it_does_not() -> None:
    """The control: cuts that took nothing here would prove nothing above."""
    with powered_disk(SQLITE_DISK_BYTES) as disk:
        assert all(lost >= ACKNOWLEDGED_MIN for lost in lost_by_sqlite(disk, "NORMAL"))


@pytest.mark.long
def test_our_embedded_store_loses_nothing() -> None:
    with powered_disk(SQLITE_DISK_BYTES) as disk:
        path = disk.folder / "dueline.db"
        promised: set[str] = set()
        for _ in range(CUTS):
            with writing("dueline", path) as writer:
                writer.wait_for(ACKNOWLEDGED_MIN)
                assert disk.cut([writer.process.pid])["canary_lost"]
                promised |= writer.hear_to_the_end()
            assert promised - found_in(path, "SELECT lower(hex(id)) FROM runs") == set()


def lost_by_postgres(disk: PoweredDisk, settings: dict[str, str]) -> list[int | None]:
    """How many acknowledged commits each of several cuts took; none where the server did not even start again."""
    lost: list[int | None] = []
    with PostgresServer(durable=True, data_dir=disk.folder / "data", settings=SMALL_LOG | settings) as server:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute("CREATE TABLE mark (n int)")
            connection.execute("CHECKPOINT")
        disk.sync()
        for cut in range(CUTS):
            with psycopg.connect(server.dsn(), autocommit=True) as connection:
                connection.execute("TRUNCATE mark")
            disk.sync()
            with writing("postgres", server.dsn()) as writer:
                writer.wait_for(ACKNOWLEDGED_MIN + 7 * cut)
                assert disk.cut([server.pid, *processes.children_of(server.pid)])["canary_lost"]
                promised = writer.hear_to_the_end()
            server.crash()
            try:
                server.start()
            except PostgresFailed:
                lost.append(None)
                break
            with psycopg.connect(server.dsn(), autocommit=True) as connection:
                lost.append(len(promised - {str(n) for (n,) in connection.execute("SELECT n FROM mark")}))
    return lost


@pytest.mark.long
def test_postgres_loses_nothing_by_its_own_settings() -> None:
    with powered_disk(POSTGRES_DISK_BYTES) as disk:
        assert lost_by_postgres(disk, {}) == [0] * CUTS


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"fsync": "off"}, {"synchronous_commit": "off", "wal_writer_delay": "10s"}])
def test_postgres_loses_commits_when_told_not_to_care(settings: dict[str, str]) -> None:
    """The control, as above. Without fsync, the server may not even start."""
    with powered_disk(POSTGRES_DISK_BYTES) as disk:
        assert all(lost is None or lost > 0 for lost in lost_by_postgres(disk, settings))


def test_what_is_synced_stays_and_what_is_not_goes() -> None:
    with powered_disk(8 << 20) as disk:
        (disk.folder / "synced").write_text("kept")
        disk.sync()
        (disk.folder / "written").write_text("lost")
        evidence = disk.cut([])
        assert evidence["canary_lost"]
        assert (disk.folder / "synced").read_text() == "kept"
        assert not (disk.folder / "written").exists()
        assert not (disk.folder / "canary").exists()
        root = disk.folder.parent
    assert not root.exists()
    assert str(root) not in run("losetup", "--all") + Path("/proc/mounts").read_text()


def test_a_killed_test_process_leaves_no_disk() -> None:
    program = (
        "from proof.tools.power import powered_disk\n"
        "with powered_disk(8 << 20) as disk:\n"
        "    print(disk.folder.parent, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        root = Path(victim.stdout.readline().strip())
        undoing = processes.children_of(victim.pid)
        assert root.exists()
        victim.kill()
    assert len(undoing) == 1
    processes.wait_until_dead(undoing, within_s=10)
    assert not root.exists()
    assert str(root) not in run("losetup", "--all") + Path("/proc/mounts").read_text()
