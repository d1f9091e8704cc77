"""The model of ends: what leaves the live runs, whoever says so, and who has a turn by that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from dueline.domain.states import CANCELLABLE, JobState, RunState
from tests.model.world import Plan, Run, World, is_executing


def end(world: World, run: Run, state: RunState, reason: str | None) -> None:
    """A run that nobody executes. One that was claimed ahead of its time was never tried."""
    run.attempt -= run.state is RunState.RUNNING
    run.worker = run.claimed_ms = None
    archive(world, run, state, reason, finished_ms=world.now_ms)


def archive(world: World, run: Run, state: RunState, reason: str | None, *, finished_ms: int) -> None:
    run.state, run.reason, run.finished_ms = state, reason, finished_ms
    world.history[run.id] = world.runs.pop(run.id)
    if state is RunState.FAILED:
        world.dead.add(run.id)


def end_and_follow(world: World, runs: Iterable[Run], state: RunState, reason: str | None = None) -> None:
    """The same, with what it means for others: a place is free, a schedule goes on. Its reason may be that of whoever asked."""
    for run in list(runs):
        end(world, run, state, reason or run.cancel)
        leave_place(world, run)
        follow(world, run, world.now_ms)


def leave_place(world: World, run: Run) -> None:
    """If it has the one of its job, the first that is held for it becomes ready where it stood."""
    if run.job_id is None or world.places.get(run.job_id) != run.id:
        return
    del world.places[run.job_id]
    for other in world.waiting(run.job_id)[:1]:
        free(other)


def free(run: Run) -> None:
    run.state, run.reason, run.waits_for, run.token = RunState.READY, None, None, run.token + 1


def leave_gates(world: World, runs: Collection[Run]) -> None:
    """As many of those who wait become ready as places were left."""
    ids = {run.id for run in runs}
    left = Counter(gate for gate, run_id in world.gate_places if run_id in ids)
    world.gate_places = {place for place in world.gate_places if place[1] not in ids}
    for gate, room in left.items():
        free_next(world, gate, room)


def free_next(world: World, gate: bytes, room: int) -> None:
    """Those who wait at one gate came one behind the other."""
    waiting = [run for run in world.runs.values() if run.state is RunState.HELD and run.waits_for == gate]
    for run in sorted(waiting, key=lambda run: run.turn)[:room]:
        free(run)


def follow(world: World, run: Run, ended_ms: int) -> None:
    plan = None if run.job_id is None else world.plans.get(run.job_id)
    if run.job_id is not None and plan is not None and plan.awaiting == run.id:
        go_on(world, run.job_id, plan, ended_ms)


def go_on(world: World, job_id: bytes, plan: Plan, ended_ms: int) -> None:
    """A schedule that awaited the end of a run. A paused job has nothing to act on."""
    job = world.jobs[job_id]
    assert job.delay_ms is not None
    plan.next_ms, plan.awaiting = ended_ms + job.delay_ms, None
    plan.due_ms = plan.next_ms if job.state is JobState.ACTIVE else None


def cancel(world: World, tenant: str, run_ids: Sequence[bytes], reason: str) -> dict[bytes, str]:
    answers, unstarted = {}, []
    for run_id in run_ids:
        run = world.runs.get(run_id) or world.history.get(run_id)
        if run is None or run.tenant != tenant:
            continue
        if run_id in world.history:
            answers[run_id] = "over"
        elif is_executing(world, run):
            answers[run_id] = "asked"
            run.cancel = run.cancel or reason
        else:
            answers[run_id] = "ended"
            unstarted.append(run)
    end_and_follow(world, unstarted, RunState.CANCELLED, reason)
    return answers


def sweep_cancelled(world: World) -> int:
    asked = [run for run in world.runs.values() if run.cancel is not None and run.state in CANCELLABLE]
    end_and_follow(world, asked, RunState.CANCELLED)
    return len(asked)


def cancel_waiting(world: World, run_id: bytes, reason: str) -> set[bytes]:
    """One that nobody has begun or claimed."""
    run = world.runs.get(run_id)
    if run is None or run.begun_ms is not None or run.state not in (RunState.SCHEDULED, RunState.READY, RunState.HELD):
        return set()
    end_and_follow(world, [run], RunState.CANCELLED, reason)
    return {run_id}


def is_late(world: World, run: Run) -> bool:
    """Too late to be started; one that was begun was not."""
    return run.begun_ms is None and run.expires_ms is not None and run.expires_ms <= world.now_ms


def expire(world: World) -> int:
    late = [run for run in world.runs.values() if run.state in CANCELLABLE and is_late(world, run)]
    end_and_follow(world, late, RunState.EXPIRED, "expired")
    return len(late)


def purge(world: World, tenant: str, run_ids: Collection[bytes]) -> int:
    known = {run_id for run_id in world.dead & set(run_ids) if world.history[run_id].tenant == tenant}
    world.dead -= known
    return len(known)


def is_redriven(world: World, tenant: str, dead_id: bytes, run: Any) -> bool:
    """Whether the run that takes a dead letter's place is there."""
    there = world.runs.get(run.id) or world.history.get(run.id)
    return there is not None and there.tenant == tenant and there.parent_id == dead_id
