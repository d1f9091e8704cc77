"""The store dies, runs out of room, loses power, or is replaced by its standby."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg

from proof import records
from proof.client import Client
from proof.ground import DATABASE, Ground, MakeGround, served_by
from proof.nemesis import RECOVERY_S, crash, seen
from proof.scene import POSTGRES, SQLITE, Plan, Scene
from proof.tools import disk, power, replica
from proof.tools.disk import Disk, small_disk
from proof.tools.power import PoweredDisk, powered_disk
from proof.tools.replica import Pair, replicated
from tests.support.postgres import PostgresServer
from tests.support.processes import children_of, is_alive

SQLITE_DISK_BYTES = 64 << 20
POSTGRES_DISK_BYTES = 320 << 20
SMALL_LOG = {"min_wal_size": "32MB", "max_wal_size": "64MB"}
CARELESS = {"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "512MB"}
"""A commit is told before it is on the disk, to which it comes up to ten seconds later."""
FULL_S = 4.0
CUTS = (6, 17)
"""Seconds. The second one comes when all is as before, however long the first takes."""
STORE = {"recovery_s": RECOVERY_S}


def database_killed(scene: Scene) -> None:
    for second in (6, 16):
        scene.until(second + scene.random.random())
        with scene.nemesis.fault("kill -9", "PostgreSQL", recovery_s=RECOVERY_S) as evidence:
            evidence |= crash(scene.database)
            time.sleep(2)
            scene.database.start()


def disk_full(scene: Scene) -> None:
    """Not a byte is left for a while. Somebody makes room then, and starts the database if that has ended."""
    small = scene.tool(Disk)
    scene.until(6 + scene.random.random())
    with scene.nemesis.fault("disk full", "store", recovery_s=RECOVERY_S) as evidence:
        said = scene.folder.joinpath(records.CALLS).stat().st_size
        evidence["not a byte left"] = small.fill()["free_bytes"] == 0
        evidence["refused"] = seen(lambda: _is_refused(scene, small, said))
        evidence["not ready"] = seen(lambda: _is_refused(scene, small, said) and _ready_status(scene) == 503)
        deadline = time.monotonic() + FULL_S
        while time.monotonic() < deadline:
            small.fill()
            time.sleep(0.1)
        evidence["room again"] = small.free()["free_bytes"]
        if scene.ground.server is not None:
            evidence["back"] = seen(lambda: _is_back(scene.database))


def _is_refused(scene: Scene, small: Disk, said: int) -> bool:
    """Whether the client has been refused since its log was so long. What others let go of meanwhile is taken as well."""
    small.fill()
    with scene.folder.joinpath(records.CALLS).open("rb") as calls:
        calls.seek(said)
        return b'"status":503' in calls.read()


def _ready_status(scene: Scene) -> int | None:
    return Client.ask_at(scene.fleet.url, "GET", "/readyz")[1]


def _is_back(server: PostgresServer) -> bool:
    """Whether the server answers. Where its log found no room it has ended by itself, and somebody has to start it."""
    if not is_alive(server.pid):
        server.crash()
        server.start()
    try:
        psycopg.connect(server.dsn()).close()
    except psycopg.OperationalError:
        return False
    return True


def on_a_small_disk(store: str) -> MakeGround:
    def ground(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
        if store == SQLITE:
            small = kept.enter_context(small_disk(SQLITE_DISK_BYTES))
            return Ground(str(small.folder / "dueline.db"), tools=(small,))
        small = kept.enter_context(small_disk(POSTGRES_DISK_BYTES))
        server = PostgresServer(durable=True, data_dir=small.folder / "data", settings=SMALL_LOG)
        return served_by(server, kept, small)

    return ground


def server_loses_power(scene: Scene) -> None:
    """The machine of the embedded server is off and on again, twice."""
    powered = scene.tool(PoweredDisk)
    for second in CUTS:
        scene.until(second + scene.random.random())
        victim = scene.fleet.one("serve")
        # What it would start between the beginning that is written down and the cut, nobody would find to have been under way.
        victim.pause()
        with scene.nemesis.fault("power cut", victim.name, recovery_s=RECOVERY_S) as evidence:
            evidence["unsynced is lost"] = powered.cut([victim.pid])["canary_lost"]
            evidence["gone"] = seen(partial(_is_gone, victim.pid))
            scene.fleet.start("serve")
        time.sleep(RECOVERY_S)


def database_loses_power(scene: Scene) -> None:
    """The machine of PostgreSQL is off and on again, twice; those of Dueline stay."""
    powered, server = scene.tool(PoweredDisk), scene.database
    for second in CUTS:
        scene.until(second + scene.random.random())
        with scene.nemesis.fault("power cut", "PostgreSQL", recovery_s=RECOVERY_S) as evidence:
            pid = server.pid
            evidence["unsynced is lost"] = powered.cut([pid, *children_of(pid)])["canary_lost"]
            evidence["gone"] = seen(partial(_is_gone, pid))
            server.crash()
            server.start()
        time.sleep(RECOVERY_S)


def _is_gone(pid: int) -> bool:
    return not is_alive(pid)


def on_a_powered_disk(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    powered = kept.enter_context(powered_disk(2 * SQLITE_DISK_BYTES))
    return Ground(str(powered.folder / "dueline.db"), tools=(powered,))


def postgres_on_a_powered_disk(settings: dict[str, str]) -> MakeGround:
    def ground(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
        powered = kept.enter_context(powered_disk(POSTGRES_DISK_BYTES))
        server = PostgresServer(durable=True, data_dir=powered.folder / "data", settings=SMALL_LOG | settings)
        usual = served_by(server, kept, powered)
        # Whoever set the cluster up did not.
        powered.sync()
        return usual

    return ground


def standby_takes_over(scene: Scene) -> None:
    scene.until(8 + scene.random.random())
    with scene.nemesis.fault("failover", "PostgreSQL", recovery_s=RECOVERY_S) as evidence:
        told = scene.tool(Pair).fail_over()
        evidence |= {"gone": not is_alive(int(told["killed"])), "promoted": told["promoted"]}


def with_a_standby(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    pair = kept.enter_context(replicated(durable=True))
    pair.primary.create_database(DATABASE)
    return Ground(pair.dsn(DATABASE), pair.primary, (pair,))


PLANS = [
    Plan("database_killed", "PostgreSQL dies twice", database_killed, faults_min=2, wanted=STORE),
    Plan(
        "standby_takes_over",
        "PostgreSQL dies, and its synchronous standby takes over",
        standby_takes_over,
        ground=with_a_standby,
        wanted=STORE,
        why_not=replica.why_not,
    ),
    Plan(
        "disk_full",
        "PostgreSQL's disk is full for a while",
        disk_full,
        lasts_s=35,
        ground=on_a_small_disk(POSTGRES),
        wanted=STORE,
        why_not=disk.why_not,
    ),
    Plan(
        "power_cut",
        "PostgreSQL's machine loses power twice",
        database_loses_power,
        ground=postgres_on_a_powered_disk({}),
        faults_min=2,
        wanted=STORE,
        why_not=power.why_not,
    ),
    Plan(
        "sqlite_disk_full",
        "the embedded server's disk is full for a while",
        disk_full,
        lasts_s=35,
        store=SQLITE,
        ground=on_a_small_disk(SQLITE),
        wanted=STORE,
        why_not=disk.why_not,
    ),
    Plan(
        "sqlite_power_cut",
        "the embedded server's machine loses power twice",
        server_loses_power,
        store=SQLITE,
        ground=on_a_powered_disk,
        faults_min=2,
        wanted=STORE,
        why_not=power.why_not,
    ),
    Plan(
        "careless_power_cut",
        "PostgreSQL that does not wait for its disk loses power",
        database_loses_power,
        lasts_s=22,
        ground=postgres_on_a_powered_disk(CARELESS),
        breaks=("I1", "I11"),
        why_not=power.why_not,
    ),
    Plan(
        "careless_sqlite_power_cut",
        "a build that does not wait for its disk loses power",
        server_loses_power,
        lasts_s=22,
        store=SQLITE,
        ground=on_a_powered_disk,
        module="proof.sabotage.careless",
        breaks=("I1", "I11"),
        why_not=power.why_not,
    ),
]
