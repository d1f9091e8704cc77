"""The model of jobs, their plans, and what is told of occurrences that became no runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dueline.domain.states import JobState, RunKind, RunState
from tests.model.ends import end, go_on
from tests.model.runs import write
from tests.model.world import Job, Plan, Run, World, is_executing, stand_in_line


@dataclass(frozen=True)
class Change:
    """A change of a job, as whoever makes it decides it from the runs that have not started."""

    state: JobState
    definition: Any
    next_ms: int | None
    awaiting: bytes | None
    deleted: bool = False
    pause_note: str | None = None
    unplan: tuple[bytes, ...] = ()
    hold: tuple[bytes, ...] = ()
    free: tuple[bytes, ...] = ()
    cancel: tuple[bytes, ...] = ()
    reason: str = "job_deleted"
    """Of those that are cancelled."""
    stop: bool = False


def create(world: World, job_id: bytes, definition: Any, *, next_ms: int | None, delay_ms: int | None) -> bool:
    """Not if a living job has the name."""
    if any(job.definition.name == definition.name and not job.deleted for job in world.jobs.values()):
        return False
    now_ms = world.now_ms
    world.jobs[job_id] = Job(definition, delay_ms, created_ms=now_ms, updated_ms=now_ms, since_ms=now_ms)
    if next_ms is not None:
        world.plans[job_id] = Plan(1, 1, next_ms, next_ms)
    return True


def unstarted(world: World, job_id: bytes) -> list[Run]:
    """By their ids; those claimed ahead of their time are among them."""
    runs = [run for run in world.runs.values() if run.job_id == job_id and not is_executing(world, run)]
    return sorted(runs, key=lambda run: run.id)


def planned_ahead(world: World, job_id: bytes) -> list[Run]:
    """Occurrences whose time has not come: they are plans still."""
    return [
        run for run in unstarted(world, job_id) if run.kind is RunKind.SCHEDULED and run.scheduled_ms > world.now_ms
    ]


def undecided(world: World, job_id: bytes) -> tuple[int | None, bytes | None]:
    """The next occurrence, or the run that is awaited for it, once what was planned ahead is taken back."""
    plan, ahead = world.plans.get(job_id), planned_ahead(world, job_id)
    times = [run.scheduled_ms for run in ahead]
    if plan is not None and plan.next_ms is not None:
        times.append(plan.next_ms)
    awaiting = None if plan is None or any(run.id == plan.awaiting for run in ahead) else plan.awaiting
    return min(times, default=None), awaiting


def change(world: World, job_id: bytes, wanted: Change) -> None:
    job = world.jobs[job_id]
    if wanted.definition != job.definition:
        job.definition, job.version, job.since_ms = wanted.definition, job.version + 1, world.now_ms
    job.state, job.updated_ms, job.deleted = wanted.state, world.now_ms, wanted.deleted
    job.pause_note = wanted.pause_note
    job.generation += 1
    if wanted.next_ms is None and wanted.awaiting is None:
        world.plans.pop(job_id, None)
    else:
        due_ms = None if job.state is JobState.PAUSED else wanted.next_ms
        world.plans[job_id] = Plan(job.version, job.generation, wanted.next_ms, due_ms, wanted.awaiting)
    for run_id in wanted.unplan:
        world.runs.pop(run_id)
        if world.places.get(job_id) == run_id:
            del world.places[job_id]
    for run_id in wanted.hold:
        run = world.runs[run_id]
        run.attempt -= run.state is RunState.RUNNING
        run.state, run.reason, run.waits_for = RunState.HELD, "paused", None
        run.token, run.worker, run.claimed_ms = run.token + 1, None, None
    for run in sorted((world.runs[run_id] for run_id in wanted.free), key=lambda run: (run.due_ms, run.id)):
        run.token += 1
        stand_in_line(world, run, "again")
    for run_id in wanted.cancel:
        end(world, world.runs[run_id], RunState.CANCELLED, wanted.reason)
        if world.places.get(job_id) == run_id:
            del world.places[job_id]
    for run in world.runs.values():
        if wanted.stop and run.job_id == job_id and is_executing(world, run):
            run.cancel = run.cancel or wanted.reason


@dataclass(frozen=True)
class Firing:
    job_id: bytes
    shard: int
    generation: int
    next_ms: int
    following_ms: int | None
    awaiting: bytes | None
    runs: tuple[Any, ...]
    unfired: tuple[tuple[Any, ...], ...]
    """Occurrences that became no runs: the first and the last of them, the verdict, and why."""


def fire(world: World, firing: Firing, epochs: Mapping[int, int]) -> bool:
    """By whoever owns the shard, while the plan still is where it was seen."""
    plan, shard = world.plans.get(firing.job_id), world.shards.get(firing.shard)
    if plan is None or (plan.generation, plan.next_ms) != (firing.generation, firing.next_ms) or plan.due_ms is None:
        return False
    if (0 if shard is None else shard.epoch) != epochs.get(firing.shard):
        return False
    if firing.following_ms is None and firing.awaiting is None:
        del world.plans[firing.job_id]
        job = world.jobs[firing.job_id]
        if job.state is JobState.ACTIVE:
            job.state, job.updated_ms = JobState.FINISHED, world.now_ms
    else:
        plan.next_ms = plan.due_ms = firing.following_ms
        plan.awaiting = firing.awaiting
    write(world, firing.runs)
    for from_ms, to_ms, verdict, reason in firing.unfired:
        told = (to_ms, world.jobs[firing.job_id].version, verdict, reason)
        world.told.setdefault((firing.job_id, from_ms), told)
    return True


def sweep_awaiting(world: World) -> int:
    lost = [
        (job_id, plan)
        for job_id, plan in world.plans.items()
        if plan.awaiting is not None and plan.awaiting not in world.runs
    ]
    for job_id, plan in lost:
        go_on(world, job_id, plan, world.now_ms)
    return len(lost)
