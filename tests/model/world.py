"""The model: what there is, as plain records. The modules beside this one have the moves, a noun each.

A move changes the world and gives the answer that a store must give; one that is not legal changes nothing. Nothing here is of the
stores or of the engine. Where a store decides by an algorithm of its own, whose turn it is among several tenants, the model is told the
order that was seen, and states what must hold of it (`check_turns`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dueline.domain.states import JobState, RunKind, RunState

AHEAD_MS = 1_000
"""A run due within this is ready at once."""
GRACE_MS = 10_000
"""What a worker gets beyond a timeout before others may take its run."""


@dataclass
class Node:
    """A process. It is dead once somebody says so, which takes a lease that is over."""

    started_ms: int
    expires_ms: int
    beat_ms: int
    beat: int = 0
    draining: bool = False
    drain_asked: bool = False


@dataclass
class Shard:
    epoch: int = 0
    owner: str | None = None


@dataclass
class Job:
    definition: Any
    """What was asked for, as it is; the model does not look into it."""
    delay_ms: int | None
    """How long after the end of its run the next one comes, if its schedule counts from there."""
    created_ms: int
    updated_ms: int
    since_ms: int
    state: JobState = JobState.ACTIVE
    version: int = 1
    generation: int = 1
    pause_note: str | None = None
    deleted: bool = False


@dataclass
class Plan:
    version: int
    generation: int
    next_ms: int | None
    due_ms: int | None
    awaiting: bytes | None = None
    runs_left: int | None = None


@dataclass
class Run:
    """Live or finished. `flow` and `turn` are who stands behind whom, from when it became ready."""

    id: bytes
    job_id: bytes | None
    version: int | None
    tenant: str
    kind: RunKind
    queue: str
    priority: int
    exclusive: bool
    timeout_ms: int
    scheduled_ms: int
    due_ms: int
    created_ms: int
    expires_ms: int | None
    parent_id: bytes | None
    missed: bool
    token: int
    state: RunState = RunState.SCHEDULED
    attempt: int = 0
    lost: int = 0
    worker: str | None = None
    claimed_ms: int | None = None
    begun_ms: int | None = None
    started_ms: int | None = None
    finished_ms: int | None = None
    reason: str | None = None
    cancel: str | None = None
    waits_for: bytes | None = None
    attempts: tuple[Any, ...] = ()
    flow: tuple[Any, ...] = ()
    turn: int = 0


@dataclass
class World:
    now_ms: int
    nodes: dict[str, Node] = field(default_factory=dict)
    shards: dict[int, Shard] = field(default_factory=dict)
    jobs: dict[bytes, Job] = field(default_factory=dict)
    plans: dict[bytes, Plan] = field(default_factory=dict)
    told: dict[tuple[bytes, int], tuple[Any, ...]] = field(default_factory=dict)
    """What became of occurrences without runs, by job and the first of them."""
    runs: dict[bytes, Run] = field(default_factory=dict)
    history: dict[bytes, Run] = field(default_factory=dict)
    dead: set[bytes] = field(default_factory=set)
    places: dict[bytes, bytes] = field(default_factory=dict)
    """The one run of an exclusive job that may be under way, by the job."""
    gates: dict[bytes, int] = field(default_factory=dict)
    """How many each gate lets through."""
    queue_gates: set[bytes] = field(default_factory=set)
    """Those of queues: whoever finds no room there stays ready."""
    gate_places: set[tuple[bytes, bytes]] = field(default_factory=set)
    paused: dict[str, str | None] = field(default_factory=dict)
    turns: int = 0

    def held(self, run_id: bytes, token: int) -> Run | None:
        """The run that a claim is about, if the claim still holds."""
        run = self.runs.get(run_id)
        return run if run is not None and run.state is RunState.RUNNING and run.token == token else None

    def waiting(self, job_id: bytes | None) -> list[Run]:
        """Runs of a job that are held for another one, by their ids."""
        held = [run for run in self.runs.values() if run.job_id == job_id and is_held_for_another(run)]
        return sorted(held, key=lambda run: run.id)


def is_held_for_another(run: Run) -> bool:
    return run.state is RunState.HELD and run.waits_for is None and run.reason == "overlap"


def is_executing(world: World, run: Run) -> bool:
    """Claimed ahead of its time it is not."""
    return run.state is RunState.RUNNING and run.due_ms <= world.now_ms


def stand_in_line(world: World, run: Run, standing: str) -> None:
    """It becomes ready, behind all of its like that did before."""
    world.turns += 1
    run.state, run.reason = RunState.READY, None
    run.flow, run.turn = (run.queue, run.tenant, run.priority, standing), world.turns


def check_turns(runs: Iterable[Run]) -> None:
    """Of one tenant, priority and standing, whoever came first stands first. The runs are given in the order of their ranks."""
    last: dict[tuple[Any, ...], int] = {}
    for run in runs:
        assert last.get(run.flow, 0) < run.turn, "whoever came later stands in front"
        last[run.flow] = run.turn


def ranked(world: World, line: Iterable[bytes]) -> list[Run]:
    """Those of the live runs that stand in line, or keep where they stood."""
    found = [world.runs[run_id] for run_id in line]
    return [run for run in found if run.state in (RunState.READY, RunState.HELD) and run.flow]
