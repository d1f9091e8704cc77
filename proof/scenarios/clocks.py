"""Clocks jump while processes run."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg

from proof.fleet import Place
from proof.ground import Ground, on_postgres, served_by
from proof.nemesis import RECOVERY_S, seen
from proof.scene import Plan, Scene
from proof.tools import clocks
from proof.tools.clocks import JumpingClock, jumping_clock, offset_told
from tests.support.postgres import PostgresServer

HOUR_S = 3_600
DAY_S = 86_400
OFFSETS_S = (HOUR_S, -HOUR_S, DAY_S, 0)
VICTIMS = ("scheduler-1", "worker-1")
STAYS_S = 5.0
TOLERANCE_S = 2.0
"""What a process tells of its clock, it tells to the second."""


def clocks_jump(scene: Scene) -> None:
    """The machine of a scheduler and a worker is an hour ahead, an hour behind, a day ahead, and right again."""
    clock = scene.tool(JumpingClock)
    urls = scene.fleet.health_urls()
    for number, offset_s in enumerate(OFFSETS_S):
        scene.until(4 + 6 * number + scene.random.random())
        with scene.nemesis.fault("clock jump", " and ".join(VICTIMS)) as evidence:
            clock.jump(offset_s - clock.offset_s)
            for name in VICTIMS:
                evidence[f"{name} is at {offset_s:+} s"] = seen(partial(_tells, f"{urls[name]}/livez", offset_s))
            time.sleep(STAYS_S)


def _tells(url: str, offset_s: float) -> bool:
    """Whether a process tells that its clock is wrong by so much; it looks at it once a second."""
    return abs(float(offset_told(url)["told_offset_s"]) - offset_s) <= TOLERANCE_S


def with_a_clock_of_their_own(folder: Path, kept: ExitStack) -> Ground:
    """PostgreSQL, with a scheduler and a worker on a machine whose clock is in our hands."""
    clock = kept.enter_context(jumping_clock())
    place = Place(environment=clock.environment)
    return replace(on_postgres(folder, kept), tools=(clock,), places=dict.fromkeys(VICTIMS, place))


def database_clock_jumps(scene: Scene) -> None:
    """The clock that counts is an hour behind for a while: nothing is due, then all of it is, and nobody has died."""
    clock = scene.tool(JumpingClock)
    scene.until(6 + scene.random.random())
    with scene.nemesis.fault(
        "clock jump", "PostgreSQL", recovery_s=RECOVERY_S, store_clock_s=float(-HOUR_S)
    ) as evidence:
        clock.jump(-HOUR_S)
        evidence["an hour behind"] = abs(_database_offset_s(scene) + HOUR_S) <= TOLERANCE_S
        time.sleep(STAYS_S)
        clock.heal()
        evidence["right again"] = abs(_database_offset_s(scene)) <= TOLERANCE_S


def _database_offset_s(scene: Scene) -> float:
    with psycopg.connect(scene.database.dsn(), autocommit=True) as connection:
        row = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    assert row is not None
    return float(row[0]) - time.time()


def with_a_clock_of_its_own(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    """PostgreSQL on a machine whose clock is in our hands."""
    clock = kept.enter_context(jumping_clock())
    return served_by(PostgresServer(durable=True, environment=clock.environment), kept, clock)


PLANS = [
    Plan(
        "clocks_jump",
        "the clock of a scheduler and a worker jumps by hours and a day",
        clocks_jump,
        ground=with_a_clock_of_their_own,
        faults_min=len(OFFSETS_S),
        # A clock that is not the store's is of no consequence at all.
        wanted={"lag_p95_inside_ms": 250.0, "lost_attempts": 0.0},
        why_not=clocks.why_not,
    ),
    Plan(
        "database_clock_jumps",
        "the clock of PostgreSQL is an hour behind for a while",
        database_clock_jumps,
        ground=with_a_clock_of_its_own,
        wanted={"recovery_s": RECOVERY_S, "lost_attempts": 0.0},
        why_not=clocks.why_not,
    ),
]
