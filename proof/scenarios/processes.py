"""Processes of Dueline die, are stopped, and are replaced."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg

from proof import load
from proof.fleet import Place
from proof.ground import DATABASE, Ground, MakeGround, on_postgres
from proof.nemesis import (
    FAILOVER_S,
    PAST_THE_LEASE_S,
    RECOVERY_S,
    end_by_the_server,
    freeze,
    freeze_in_transaction,
    kill,
    seen,
    thaw,
)
from proof.records import Answered
from proof.scene import SQLITE, Plan, Scene

ACCOUNT = "watched"
NODE = {"failover_s": FAILOVER_S}


def nothing(scene: Scene) -> None:
    """The load alone."""


def worker_killed(scene: Scene) -> None:
    _killed(scene, "worker")


def scheduler_killed(scene: Scene) -> None:
    _killed(scene, "scheduler")


def api_killed(scene: Scene) -> None:
    _killed(scene, "api", gone_s=4.0)


def _killed(scene: Scene, role: str, *, gone_s: float = PAST_THE_LEASE_S) -> None:
    scene.until(6 + scene.random.random())
    victim = scene.fleet.one(role)
    with scene.nemesis.fault("kill -9", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= kill(victim)
        time.sleep(gone_s)
        scene.fleet.start(role)


def worker_stopped(scene: Scene) -> None:
    _stopped(scene, "worker")


def scheduler_stopped(scene: Scene) -> None:
    _stopped(scene, "scheduler")


def api_stopped(scene: Scene) -> None:
    """It holds no lease. Those whose calls it had in hand have given up by when it goes on."""
    scene.until(6 + scene.random.random())
    victim = scene.fleet.one("api")
    with scene.nemesis.fault("SIGSTOP", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= freeze(victim)
        evidence["answers nobody"] = scene.client.ask("GET", "/livez")[0] is Answered.UNKNOWN
        victim.resume()
        evidence["answers again"] = seen(lambda: scene.client.ask("GET", "/livez")[0] is Answered.ACKNOWLEDGED)


def _stopped(scene: Scene, role: str) -> None:
    scene.until(6 + scene.random.random())
    victim = scene.fleet.one(role)
    with scene.nemesis.fault("SIGSTOP", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= freeze(victim)
        time.sleep(PAST_THE_LEASE_S)
        evidence |= thaw(victim)


def worker_stopped_in_transaction(scene: Scene) -> None:
    """A worker needs a transaction where a run finds no room in its job's limit: so there are such jobs besides."""
    scene.client.create_many(list(load.crowded_jobs(scene.target.url, scene.begin_s + 3, scene.begin_s + 13)))
    _stopped_in_transaction(scene, "worker")


def scheduler_stopped_in_transaction(scene: Scene) -> None:
    _stopped_in_transaction(scene, "scheduler")


def _stopped_in_transaction(scene: Scene, role: str) -> None:
    """What it has locked keeps others waiting until the server ends its transaction."""
    scene.until(6)
    victim = scene.fleet.one(role)
    waiting = freeze_in_transaction(victim, scene.database, ACCOUNT)
    stopped_s = time.monotonic()
    with scene.nemesis.fault("SIGSTOP in a transaction", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= freeze(victim)
        evidence |= end_by_the_server(scene.database, waiting)
        time.sleep(max(0.0, stopped_s + PAST_THE_LEASE_S - time.monotonic()))
        evidence |= thaw(victim)


def with_an_account_for(name: str) -> MakeGround:
    """PostgreSQL, which one process uses under a name of its own: so its connections can be told from others."""

    def ground(folder: Path, kept: ExitStack) -> Ground:
        usual = on_postgres(folder, kept)
        assert usual.server is not None
        with psycopg.connect(usual.server.dsn(DATABASE), autocommit=True) as connection:
            connection.execute("CREATE ROLE watched SUPERUSER LOGIN")
        return replace(usual, places={name: Place(db=usual.db.replace("//postgres@", f"//{ACCOUNT}@"))})

    return ground


def rolling_restart(scene: Scene) -> None:
    """Each process in turn: its successor is there before it is asked to go, except for the API, which has one address."""
    second = 4.0
    for old in list(scene.fleet.processes):
        scene.until(second)
        role = old.name.partition("-")[0]
        if role != "api":
            scene.fleet.start(role)
        with scene.nemesis.fault("SIGTERM", old.name, planned=True) as evidence:
            evidence["ended in order"] = old.stop() == 0
        if role == "api":
            scene.fleet.start(role)
        second += 7.0


def server_killed(scene: Scene) -> None:
    """The embedded server dies and is started again: by a supervisor, say."""
    for second in (6, 16):
        scene.until(second + scene.random.random())
        victim = scene.fleet.one("serve")
        with scene.nemesis.fault("kill -9", victim.name, recovery_s=RECOVERY_S) as evidence:
            evidence |= kill(victim)
            time.sleep(1)
            scene.fleet.start("serve")


PLANS = [
    Plan("baseline", "nothing happens", nothing, faults_min=0),
    Plan("worker_killed", "a worker dies", worker_killed, wanted=NODE),
    Plan("scheduler_killed", "a scheduler dies", scheduler_killed, wanted=NODE),
    Plan("api_killed", "the API dies, and is started again", api_killed, wanted=NODE),
    Plan("worker_stopped", "a worker is stopped past its lease, and goes on", worker_stopped, wanted=NODE),
    Plan("scheduler_stopped", "a scheduler is stopped past its lease, and goes on", scheduler_stopped, wanted=NODE),
    Plan("api_stopped", "the API is stopped until its callers give up, and goes on", api_stopped, wanted=NODE),
    Plan(
        "worker_stopped_in_transaction",
        "a worker is stopped in the middle of a transaction",
        worker_stopped_in_transaction,
        ground=with_an_account_for("worker-1"),
        wanted=NODE,
    ),
    Plan(
        "scheduler_stopped_in_transaction",
        "a scheduler is stopped in the middle of a transaction",
        scheduler_stopped_in_transaction,
        ground=with_an_account_for("scheduler-1"),
        wanted=NODE,
    ),
    Plan(
        "rolling_restart",
        "every process is replaced",
        rolling_restart,
        lasts_s=40,
        faults_min=5,
        wanted={"handover_ms": 200.0},
    ),
    Plan("sqlite_baseline", "nothing happens", nothing, store=SQLITE, faults_min=0),
    Plan(
        "sqlite_killed",
        "the embedded server dies twice",
        server_killed,
        store=SQLITE,
        faults_min=2,
        # It has no store to find again: once it runs all is on time.
        wanted={"failover_s": FAILOVER_S, "recovery_s": 2.0},
    ),
]
