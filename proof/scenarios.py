"""What happens: one function a scenario. Seconds count from the first occurrence."""

from __future__ import annotations

import time

from proof import load
from proof.nemesis import FAILOVER_S, RECOVERY_S, crash, end_backends, freeze, kill, seen, thaw
from proof.scene import DATABASE, SQLITE, Plan, Scene

PAST_THE_LEASE_S = 12.0
BURST = 10_000
NODE = {"failover_s": 10.0}
STORE = {"recovery_s": 5.0}


def nothing(scene: Scene) -> None:
    """The load alone."""


def worker_killed(scene: Scene) -> None:
    _killed(scene, "worker")


def scheduler_killed(scene: Scene) -> None:
    _killed(scene, "scheduler")


def api_killed(scene: Scene) -> None:
    _killed(scene, "api", gone_s=4.0)


def _killed(scene: Scene, role: str, *, gone_s: float = PAST_THE_LEASE_S) -> None:
    scene.until(10 + scene.random.random())
    victim = scene.fleet.one(role)
    with scene.nemesis.fault("kill -9", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= kill(victim)
        time.sleep(gone_s)
        scene.fleet.start(role)


def worker_stopped(scene: Scene) -> None:
    _stopped(scene, "worker")


def scheduler_stopped(scene: Scene) -> None:
    _stopped(scene, "scheduler")


def _stopped(scene: Scene, role: str) -> None:
    scene.until(10 + scene.random.random())
    victim = scene.fleet.one(role)
    with scene.nemesis.fault("SIGSTOP", victim.name, failover_s=FAILOVER_S) as evidence:
        evidence |= freeze(victim)
        time.sleep(PAST_THE_LEASE_S)
        evidence |= thaw(victim)


def database_killed(scene: Scene) -> None:
    for second in (8, 22):
        scene.until(second + scene.random.random())
        with scene.nemesis.fault("kill -9", "PostgreSQL", recovery_s=RECOVERY_S) as evidence:
            evidence |= crash(scene.database)
            time.sleep(2)
            scene.database.start()


def backends_ended(scene: Scene) -> None:
    for second in range(6, 30, 6):
        scene.until(second + scene.random.random())
        with scene.nemesis.fault("terminate", "backends", recovery_s=RECOVERY_S) as evidence:
            evidence |= end_backends(scene.database, DATABASE, 4)


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


def burst(scene: Scene) -> None:
    """Ten thousand jobs of one instant beside the load."""
    at_s = scene.begin_s + 20
    scene.client.create_many(load.at_once(scene.target.url, at_s, BURST))
    scene.until(20)
    with scene.nemesis.fault("burst", f"{BURST:,} jobs") as evidence:
        evidence["arrived"] = seen(lambda: sum(hit.marker.startswith("burst-") for hit in scene.target.hits()) == BURST)


def hostile_targets(scene: Scene) -> None:
    """Another host hangs, breaks off and refuses; what is due at the good one does not wait for it."""
    hostile = scene.add_target("hostile")
    scene.client.create_many(list(load.hostile_jobs(hostile.url, scene.begin_s + 8, scene.begin_s + 28)))
    scene.until(8)
    with scene.nemesis.fault("hostile", "a host") as evidence:
        evidence["called"] = seen(lambda: len(hostile.hits()) >= 50)
        scene.until(28)


def server_killed(scene: Scene) -> None:
    """The embedded server dies and is started again: by a supervisor, say."""
    for second in (8, 20):
        scene.until(second + scene.random.random())
        victim = scene.fleet.one("serve")
        with scene.nemesis.fault("kill -9", victim.name, recovery_s=RECOVERY_S) as evidence:
            evidence |= kill(victim)
            time.sleep(1)
            scene.fleet.start("serve")


ALL = [
    Plan("baseline", "nothing happens", nothing, faults_min=0),
    Plan("worker_killed", "a worker dies", worker_killed, wanted=NODE),
    Plan("scheduler_killed", "a scheduler dies", scheduler_killed, wanted=NODE),
    Plan("api_killed", "the API dies, and is started again", api_killed, wanted=NODE),
    Plan("worker_stopped", "a worker is stopped past its lease, and goes on", worker_stopped, wanted=NODE),
    Plan("scheduler_stopped", "a scheduler is stopped past its lease, and goes on", scheduler_stopped, wanted=NODE),
    Plan("database_killed", "PostgreSQL dies twice", database_killed, faults_min=2, wanted=STORE),
    Plan("backends_ended", "connections to PostgreSQL are ended", backends_ended, faults_min=4, wanted=STORE),
    Plan("rolling_restart", "every process is replaced", rolling_restart, faults_min=5, wanted={"handover_ms": 200.0}),
    Plan(
        "burst",
        "10,000 jobs at one instant",
        burst,
        each_second=20,
        wanted={"lag_p95_inside_ms": 1_000.0, "lag_max_inside_ms": 5_000.0},
    ),
    Plan(
        "hostile_targets",
        "another host hangs, resets and refuses",
        hostile_targets,
        wanted={"lag_p95_inside_ms": 250.0},
    ),
    Plan("sqlite_baseline", "nothing happens", nothing, store=SQLITE, faults_min=0),
    Plan("sqlite_killed", "the embedded server dies twice", server_killed, store=SQLITE, faults_min=2, wanted=STORE),
    Plan(
        "broken_early",
        "a build whose clock is ahead",
        nothing,
        lasts_s=15,
        faults_min=0,
        module="proof.sabotage.early",
        breaks=("I5",),
    ),
    Plan(
        "broken_hasty",
        "a build that starts without asking",
        nothing,
        lasts_s=15,
        faults_min=0,
        module="proof.sabotage.hasty",
        breaks=("I9",),
    ),
]
