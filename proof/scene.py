"""A scenario from its first process to the verdict: a scene is set, something happens in it, it comes to rest, and it is judged."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from proof import load, records
from proof.checker.verdict import Verdict
from proof.client import Client
from proof.dump import dump, live_runs
from proof.fleet import Fleet
from proof.ground import Ground, MakeGround, on_postgres, on_sqlite
from proof.machine import Watch
from proof.nemesis import Nemesis
from proof.records import Scenario
from proof.target import Target
from tests.support.postgres import PostgresServer

T = TypeVar("T")

RESULTS = Path(__file__).with_name("results")
LEAD_S = 4.0
"""From the first call to the first occurrence: time to create all jobs."""
REST_S_MAX = 90.0
"""For the rest to come to rest after the last occurrence."""
REST_POLL_S = 0.5
BEAT_S = 2.5
"""A worker tells what it is busy with in its next heartbeat."""
POSTGRES = "PostgreSQL"
SQLITE = "SQLite"
ROLES = ("scheduler", "scheduler", "worker", "worker", "api")
STEADY = {"lag_p95_outside_ms": 250.0, "machine_stalled_s": 3.0}
"""A machine that stands still for longer shows nothing."""


@dataclass
class Scene:
    """What a scenario may use."""

    folder: Path
    seed: int
    begin_s: float
    end_s: float
    fleet: Fleet
    client: Client
    target: Target
    nemesis: Nemesis
    kept: ExitStack
    ground: Ground
    random: random.Random
    others: list[Client] = field(default_factory=list)
    """Clients of other tenants."""

    @property
    def database(self) -> PostgresServer:
        assert self.ground.server is not None
        return self.ground.server

    def tool(self, kind: type[T]) -> T:
        """The one of its kind that the ground of this scenario has."""
        (tool,) = (tool for tool in self.ground.tools if isinstance(tool, kind))
        return tool

    def add_target(self, name: str) -> Target:
        """Another host, with a log of its own, which is there until the scene is over."""
        target = Target(self.folder / records.HITS.replace("*", f"-{name}"))
        self.kept.callback(target.close)
        return target

    def add_client(self, tenant: str) -> Client:
        """One of another tenant, with a key of its own."""
        _, status, made = self.client.ask("POST", "/v1/keys", {"role": "writer", "tenant": tenant})
        assert status == 201, f"there is no key for {tenant}: {status}"
        client = Client(self.fleet.url, self.folder / records.CALLS, key=made["key"])
        self.kept.callback(client.close)
        self.others.append(client)
        return client

    def until(self, second: float) -> None:
        """Wait for a second of the scenario, which begins with the first occurrence."""
        time.sleep(max(0.0, self.begin_s + second - time.time()))


@dataclass(frozen=True)
class Plan:
    """One scenario: `happens` runs while the load does. `why_not` says what a machine lacks for it.

    It stands on a store as it usually is, unless it has a `ground` of its own. One that `breaks` invariants runs a broken build as its
    `module`, or stands on a careless store, and is as it should be when the judge finds them broken.
    """

    name: str
    tells: str
    happens: Callable[[Scene], None]
    lasts_s: float = 30.0
    store: str = POSTGRES
    ground: MakeGround | None = None
    faults_min: int = 1
    each_second: int = 80
    wanted: dict[str, float] = field(default_factory=dict)
    why_not: Callable[[], str | None] = lambda: None
    module: str = "dueline"
    breaks: tuple[str, ...] = ()

    def is_met_by(self, verdict: Verdict) -> bool:
        return set(self.breaks) <= set(verdict.broken) if self.breaks else verdict.is_green


def play(plan: Plan, seed: int) -> Verdict:
    """Everything from the first process to the verdict; the logs stay in `results`."""
    folder = RESULTS / plan.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with staged(plan, seed, folder) as scene:
        jobs = list(load.jobs(scene.target.url, scene.begin_s, scene.end_s, each_second=plan.each_second))
        scene.client.create_many(jobs)
        traffic = load.Traffic(scene.client, scene.target.url, seed)
        scene.until(0)
        traffic.start()
        plan.happens(scene)
        scene.until(plan.lasts_s)
        traffic.stop()
        come_to_rest(scene)
        ended_s = time.time()
        fleet = scene.fleet
        dump([scene.client, *scene.others], fleet.health_urls(), folder, db=fleet.db, over_at=load.instant(ended_s))
        scenario = Scenario(
            name=plan.name,
            seed=seed,
            store=plan.store,
            began_s=scene.begin_s,
            ended_s=ended_s,
            dumped_s=time.time(),
            hits_min=int(plan.each_second * plan.lasts_s / 2),
            faults_min=plan.faults_min,
            wanted=STEADY | plan.wanted,
        )
        (folder / records.SCENARIO).write_bytes(msgspec.json.encode(scenario))
    return judged(folder)


def judged(folder: Path) -> Verdict:
    """The verdict of the judge, who is a process of its own."""
    subprocess.run([sys.executable, "-m", "proof.checker", str(folder)], stdout=subprocess.DEVNULL)
    return msgspec.json.decode((folder / records.VERDICT).read_bytes(), type=Verdict)


@contextmanager
def staged(plan: Plan, seed: int, folder: Path) -> Iterator[Scene]:
    """The processes of a scenario, from their start to their end."""
    with ExitStack() as kept:
        make_ground = plan.ground or (on_postgres if plan.store == POSTGRES else on_sqlite)
        ground = make_ground(folder, kept)
        target = Target(folder / records.HITS.replace("*", ""), host=ground.target_host)
        kept.callback(target.close)
        kept.callback(Watch(folder / records.STALLS).close)
        fleet = Fleet(folder, ground.db, module=plan.module, places=ground.places)
        kept.callback(fleet.close)
        fleet.start(*(ROLES if ground.server is not None else ("serve",)))
        client = Client(fleet.url, folder / records.CALLS)
        kept.callback(client.close)
        nemesis = Nemesis(folder / records.FAULTS)
        kept.callback(nemesis.close)
        begin_s = math.ceil(time.time() + LEAD_S)
        yield Scene(
            folder=folder,
            seed=seed,
            begin_s=begin_s,
            end_s=begin_s + plan.lasts_s,
            fleet=fleet,
            client=client,
            target=target,
            nemesis=nemesis,
            kept=kept,
            ground=ground,
            random=random.Random(seed),
        )


def come_to_rest(scene: Scene, *, within_s: float = REST_S_MAX) -> None:
    """Until no run is live, or for as long as that may take: then the judge finds what is left."""
    deadline = time.monotonic() + within_s
    quiet = 0
    while quiet < 3 and time.monotonic() < deadline:
        quiet = quiet + 1 if live_runs(scene.client) == 0 else 0
        time.sleep(REST_POLL_S)
    time.sleep(BEAT_S)
