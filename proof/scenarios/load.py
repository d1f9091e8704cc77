"""Too much of something: of what is due, of targets that behave badly, of others who use the database."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

from proof import load
from proof.fleet import START_S_MAX
from proof.ground import DATABASE, Ground, served_by
from proof.nemesis import RECOVERY_S, backends, seen
from proof.scene import Plan, Scene
from proof.target import Follower
from proof.tools.pool import exhausted_connections
from proof.tools.snapshot import held_snapshot
from tests.support.postgres import PostgresServer

BURST = 10_000
FEW_CONNECTIONS = 80
"""More than the fleet uses, and few enough to be taken quickly."""
CALLED_FOR = 10_000
BACKLOG = 4 * CALLED_FOR
"""It takes some seconds: of shorter ones the beginning and the end are too much."""
BACKLOGS_HELD = 3
BACKLOGS_FREE = 2
HOLDS = 3
"""In turns with free ones: a machine is not as fast all the time."""
DRAINED_S_MAX = 30.0
DRAINED_POLL_S = 0.2


def burst(scene: Scene) -> None:
    """Ten thousand jobs of one instant beside the load."""
    at_s = scene.begin_s + 20
    scene.client.create_many(load.at_once(scene.target.url, at_s, BURST))
    scene.until(20)
    with scene.nemesis.fault("burst", f"{BURST:,} jobs", planned=True) as evidence:
        # The log is read when all of them are to be there: to read it meanwhile takes what they need.
        scene.until(25)
        evidence["arrived"] = seen(lambda: sum(hit.marker.startswith("burst-") for hit in scene.target.hits()) == BURST)


def hostile_targets(scene: Scene) -> None:
    """Another host hangs, breaks off, floods, sends elsewhere and refuses; what is due at the good one does not wait for it."""
    hostile = scene.add_target("hostile")
    scene.client.create_many(list(load.hostile_jobs(hostile.url, scene.begin_s + 6, scene.begin_s + 24)))
    scene.until(6)
    with scene.nemesis.fault("hostile", "a host", planned=True) as evidence:
        evidence["called"] = seen(lambda: len(hostile.hits()) >= 50)
        scene.until(24)


def connections_taken(scene: Scene) -> None:
    """Others have every connection that is left, and some of ours break meanwhile: who comes new must wait, the others go on."""
    scene.until(6)
    ours = backends(scene.database, DATABASE)
    with (
        scene.nemesis.fault("no connections", "PostgreSQL", recovery_s=RECOVERY_S) as evidence,
        exhausted_connections(scene.database.dsn()) as taken,
    ):
        evidence |= {"taken": taken["taken"], "refused": "too many clients" in str(taken["refused"])}
        newcomer = scene.fleet.begin("worker")
        evidence["a newcomer waits"] = seen(lambda: newcomer.counted("waiting for the store") > 0)
        # From outside, since nobody gets in who could ask for it.
        for pid in scene.random.sample(ours, 4):
            os.kill(pid, signal.SIGTERM)
        time.sleep(6)
    newcomer.wait_until_running(within_s=START_S_MAX)


def few_connections(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    return served_by(PostgresServer(durable=True, max_connections=FEW_CONNECTIONS), kept)


def snapshot_held(scene: Scene) -> None:
    """Backlogs are worked off in turns: some free, and some while nothing that they leave behind can be cleaned away."""
    scene.until(2)
    called = scene.target.follow("backlog-")
    _work_off(scene, called, BACKLOGS_FREE)
    for _ in range(HOLDS):
        with (
            scene.nemesis.fault("held snapshot", "PostgreSQL") as evidence,
            held_snapshot(scene.database.dsn(DATABASE)) as snapshot,
        ):
            _work_off(scene, called, BACKLOGS_HELD)
            evidence["transactions behind"] = snapshot.evidence()["transactions_behind"]
        _work_off(scene, called, BACKLOGS_FREE)


def _work_off(scene: Scene, called: Follower, backlogs: int) -> None:
    """So many backlogs, one after the other. How fast each was, the judge learns from the target."""
    for _ in range(backlogs):
        wanted = called.count() + BACKLOG
        for _ in range(0, BACKLOG, CALLED_FOR):
            scene.client.adhoc_many([load.asked("backlog", f"{scene.target.url}/ok") for _ in range(CALLED_FOR)])
        deadline = time.monotonic() + DRAINED_S_MAX
        while called.count() < wanted and time.monotonic() < deadline:
            time.sleep(DRAINED_POLL_S)


PLANS = [
    Plan(
        "burst",
        "10,000 jobs at one instant",
        burst,
        lasts_s=35,
        each_second=20,
        wanted={"lag_p95_inside_ms": 1_000.0, "lag_max_inside_ms": 5_000.0},
    ),
    Plan(
        "hostile_targets",
        "another host hangs, resets, floods, redirects and refuses",
        hostile_targets,
        wanted={"lag_p95_inside_ms": 250.0},
    ),
    Plan(
        "connections_taken",
        "others take every connection that PostgreSQL has left",
        connections_taken,
        ground=few_connections,
        wanted={"recovery_s": RECOVERY_S},
    ),
    Plan(
        "snapshot_held",
        "somebody holds a snapshot under a backlog",
        snapshot_held,
        each_second=10,
        # What is due waits for its turn beside a backlog; how fast that is worked off is what this is about.
        wanted={"lag_p95_outside_ms": 10_000.0, "drain_surely_slower_percent": 5.0},
    ),
]
