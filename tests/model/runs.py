"""The model of runs: written, made ready, claimed, given back, ended by their owners, or taken from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.states import TERMINAL, WAITING, RunState
from dueline.store.shapes import Promoted
from tests.model.ends import (
    archive,
    end,
    end_and_follow,
    follow,
    free,
    is_late,
    is_redriven,
    leave_gates,
    leave_place,
    purge,
)
from tests.model.world import AHEAD_MS, GRACE_MS, Run, World, is_executing, stand_in_line

Blocked = tuple[bytes, int, int]
"""A run that finds another one under way, its token, and how many are held already."""


def write(world: World, runs: Sequence[Any]) -> set[bytes]:
    """One that exists, live or finished, stays as it is. Those that are due soon are ready, first due first."""
    new = []
    for given in runs:
        if given.id in world.runs or given.id in world.history:
            continue
        run = Run(
            id=given.id,
            job_id=given.job_id,
            version=given.version,
            tenant=given.tenant,
            kind=given.kind,
            queue=given.queue,
            priority=given.priority,
            exclusive=given.exclusive,
            timeout_ms=given.timeout_ms,
            scheduled_ms=given.scheduled_ms,
            due_ms=given.due_ms,
            created_ms=world.now_ms,
            expires_ms=given.expires_ms,
            parent_id=given.parent_id,
            missed=given.missed,
            token=given.token,
        )
        world.runs[run.id] = run
        new.append(run)
    for run in sorted(new, key=lambda run: run.due_ms):
        if run.due_ms <= world.now_ms + AHEAD_MS:
            stand_in_line(world, run, "missed" if run.missed else "fresh")
    return {run.id for run in new}


def promote(world: World, *, ahead_ms: int, limit: int) -> Promoted:
    waiting = [run for run in world.runs.values() if run.state in WAITING and run.due_ms <= world.now_ms + ahead_ms]
    near = sorted(waiting, key=lambda run: run.due_ms)[:limit]
    for run in near:
        again = run.state is RunState.RETRYING or run.reason is not None
        stand_in_line(world, run, "again" if again else "missed" if run.missed else "fresh")
    claimable = frozenset(run.queue for run in near if run.due_ms <= world.now_ms + AHEAD_MS)
    later = {run.queue: run.due_ms for run in reversed(near) if run.due_ms > world.now_ms + AHEAD_MS}
    return Promoted(len(near), claimable, later)


def claimable(world: World, worker: str, queue: str, *, ahead_ms: int) -> list[Run]:
    if worker not in world.nodes or queue in world.paused:
        return []
    ready = [run for run in world.runs.values() if run.queue == queue and run.state is RunState.READY]
    return [run for run in ready if run.due_ms <= world.now_ms + ahead_ms and not is_late(world, run)]


def claim(world: World, worker: str, picked: Sequence[Run]) -> tuple[list[Run], list[Blocked]]:
    """The first of those that can be claimed. One that is due needs the place of its job, if that is exclusive; one that finds it taken
    stays as it is."""
    claimed, blocked = [], []
    for run in picked:
        if run.exclusive and run.due_ms <= world.now_ms and not _takes_place(world, run):
            blocked.append(run)
        else:
            claimed.append(run)
    answer = [_blocked(world, run) for run in blocked]
    for run in claimed:
        run.state, run.token, run.attempt = RunState.RUNNING, run.token + 1, run.attempt + 1
        run.worker, run.claimed_ms = worker, world.now_ms
    return claimed, answer


def confirm(world: World, run_id: bytes, token: int) -> tuple[dict[bytes, int], list[Blocked]]:
    run = world.held(run_id, token)
    if run is None or run.due_ms > world.now_ms + limits.EARLY_MS:
        return {}, []
    if run.exclusive and not _takes_place(world, run):
        return {}, [_blocked(world, run)]
    return {run_id: token}, []


def let_go(world: World, run: Run) -> None:
    """One that was begun before keeps its job's place."""
    run.token, run.attempt = run.token + 1, run.attempt - 1
    run.worker = run.claimed_ms = None
    if run.begun_ms is None and run.job_id is not None and world.places.get(run.job_id) == run.id:
        del world.places[run.job_id]


def release(world: World, claims: Sequence[tuple[bytes, int]]) -> set[bytes]:
    """As if they had never been claimed, but for their tokens."""
    given = _held(world, claims)
    for run in given:
        let_go(world, run)
        run.state = RunState.READY
    leave_gates(world, given)
    return {run.id for run in given}


def postpone(world: World, claim: tuple[bytes, int], *, due_ms: int, reason: str) -> set[bytes]:
    given = _held(world, [claim])
    for run in given:
        let_go(world, run)
        run.state, run.due_ms, run.reason = RunState.SCHEDULED, due_ms, reason
    leave_gates(world, given)
    return {run.id for run in given}


def finish(
    world: World, claims: Sequence[tuple[bytes, int]], state: RunState, reason: str | None, *, records: Sequence[Any]
) -> set[bytes]:
    """From an end on there is no other. The records are those of the last attempts, a claim each."""
    ended = set()
    for (run_id, token), record in zip(claims, records, strict=True):
        run = world.held(run_id, token)
        if run is None:
            continue
        run.started_ms, run.attempts = record.started_ms, (*run.attempts, record)
        archive(world, run, state, reason, finished_ms=record.finished_ms)
        leave_place(world, run)
        leave_gates(world, [run])
        follow(world, run, record.finished_ms)
        ended.add(run_id)
    return ended


def retry(world: World, claim: tuple[bytes, int], *, due_ms: int, record: Any) -> set[bytes]:
    """The place of an exclusive job is kept."""
    ended = _held(world, [claim])
    for run in ended:
        _end_attempt(run, record)
        run.state, run.due_ms = RunState.RETRYING, due_ms
    leave_gates(world, ended)
    return {run.id for run in ended}


def strays(world: World, *, grace_ms: int) -> dict[bytes, bool]:
    """Runs without a living worker, and those whose time is over: of which kind each is."""
    running = [run for run in world.runs.values() if run.state is RunState.RUNNING]
    return {
        run.id: run.worker in world.nodes
        for run in running
        if run.worker not in world.nodes or _is_over(world, run, grace_ms=grace_ms)
    }


def reclaim(
    world: World,
    claim: tuple[bytes, int],
    state: RunState,
    *,
    lost: bool,
    counted: bool,
    due_ms: int | None,
    owner: str | None,
    reason: str | None,
    record: Any,
) -> set[bytes]:
    """By somebody else only from an owner that is gone or late."""
    run = world.held(*claim)
    if run is None:
        return set()
    if run.worker in world.nodes and run.worker != owner and not _is_over(world, run, grace_ms=GRACE_MS):
        return set()
    run.lost += lost
    if state in TERMINAL:
        run.attempts = (*run.attempts, record)
        archive(world, run, state, reason, finished_ms=world.now_ms)
        leave_place(world, run)
        follow(world, run, world.now_ms)
    else:
        _end_attempt(run, record)
        run.attempt -= not counted
        run.state, run.due_ms = state, run.due_ms if due_ms is None else due_ms
    leave_gates(world, [run])
    return {run.id}


def hold_blocked(world: World, run_id: bytes, token: int) -> set[bytes]:
    run = _still_blocked(world, run_id, token)
    if run is None:
        return set()
    run.attempt -= run.state is RunState.RUNNING
    run.state, run.reason, run.token = RunState.HELD, "overlap", run.token + 1
    run.worker = run.claimed_ms = None
    return {run_id}


def skip_blocked(world: World, run_id: bytes, token: int, reason: str) -> set[bytes]:
    run = _still_blocked(world, run_id, token)
    if run is None:
        return set()
    end(world, run, RunState.CANCELLED, reason)
    follow(world, run, world.now_ms)
    return {run_id}


def displace_blocked(world: World, run_id: bytes, token: int, reason: str) -> set[bytes]:
    """It is held for the run in its way, which is to end, and older ones that were held for the same end. An older one ends itself."""
    run = _still_blocked(world, run_id, token)
    if run is None or run.job_id is None:
        return set()
    other_id = world.places[run.job_id]
    if run_id < other_id:
        skip_blocked(world, run_id, token, reason)
        return set()
    older = [one for one in world.waiting(run.job_id) if one.id < run_id]
    hold_blocked(world, run_id, token)
    end_and_follow(world, older, RunState.CANCELLED, reason)
    other = world.runs[other_id]
    if is_executing(world, other):
        other.cancel = other.cancel or reason
    else:
        end_and_follow(world, [other], RunState.CANCELLED, reason)
    return {run_id}


def free_held(world: World) -> int:
    """The first run of every job that holds some though nothing of it is under way or about to be."""
    world.places = {job_id: run_id for job_id, run_id in world.places.items() if run_id in world.runs}
    freed = 0
    for job_id in {run.job_id for run in world.runs.values()} - world.places.keys():
        ready = any(run.job_id == job_id and run.state is RunState.READY for run in world.runs.values())
        for run in world.waiting(job_id)[: 0 if ready else 1]:
            free(run)
            freed += 1
    return freed


def repace(world: World, run_id: bytes, due_ms: int) -> int:
    """Another due time for a run that nobody has begun or claimed."""
    run = world.runs.get(run_id)
    if run is None or run.begun_ms is not None or run.state not in (RunState.SCHEDULED, RunState.READY):
        return 0
    run.state, run.due_ms, run.token = RunState.SCHEDULED, due_ms, run.token + 1
    return 1


def redrive(world: World, tenant: str, dead_id: bytes, run: Any) -> set[bytes]:
    """Said again it is answered again."""
    if dead_id in world.dead and world.history[dead_id].tenant == tenant:
        write(world, [run])
    if not is_redriven(world, tenant, dead_id, run):
        return set()
    purge(world, tenant, {dead_id})
    return {dead_id}


def _held(world: World, claims: Sequence[tuple[bytes, int]]) -> list[Run]:
    found = [world.held(run_id, token) for run_id, token in claims]
    return [run for run in found if run is not None]


def _end_attempt(run: Run, record: Any) -> None:
    run.begun_ms = run.begun_ms or run.claimed_ms
    run.token, run.attempts = run.token + 1, (*run.attempts, record)
    run.worker = run.claimed_ms = None


def _takes_place(world: World, run: Run) -> bool:
    assert run.job_id is not None
    return world.places.setdefault(run.job_id, run.id) == run.id


def _blocked(world: World, run: Run) -> Blocked:
    held = [one for one in world.runs.values() if one.job_id == run.job_id and one.state is RunState.HELD]
    return run.id, run.token, len([one for one in held if one.waits_for is None])


def _still_blocked(world: World, run_id: bytes, token: int) -> Run | None:
    run = world.runs.get(run_id)
    if run is None or run.token != token or run.state not in (RunState.READY, RunState.RUNNING):
        return None
    return run if run.job_id is not None and world.places.get(run.job_id, run_id) != run_id else None


def _is_over(world: World, run: Run, *, grace_ms: int) -> bool:
    assert run.claimed_ms is not None
    return max(run.claimed_ms, run.due_ms) + run.timeout_ms + grace_ms < world.now_ms
