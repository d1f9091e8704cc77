"""What must be seen of a store if the model is right, in the words of `sides`: its rows, and what it tells."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dueline.domain.states import WAITING, RunState
from tests.model.gates import taken
from tests.model.world import Job, Run, World


def rows(world: World) -> dict[str, Any]:
    return {
        "runs": {
            (
                *(run.id, run.state, run.token, run.attempt, run.lost, run.worker, run.reason),
                *(run.due_ms, run.claimed_ms, run.begun_ms, run.cancel, run.waits_for),
            )
            for run in world.runs.values()
        },
        "history": {
            (run.id, run.state, run.attempt, run.lost, run.worker, run.reason, run.finished_ms)
            for run in world.history.values()
        },
        "dead letters": {(run_id,) for run_id in world.dead},
        "jobs": {
            (job_id, job.state, job.version, job.generation, job.updated_ms)
            for job_id, job in world.jobs.items()
            if not job.deleted
        },
        "plans": {
            (job_id, plan.version, plan.generation, plan.next_ms, plan.due_ms, plan.awaiting, plan.runs_left)
            for job_id, plan in world.plans.items()
        },
        "ledger": {(*key, *told) for key, told in world.told.items()},
        "places": set(world.places.items()),
        "gate places": world.gate_places,
        "nodes": {
            (boot_id, node.beat, node.expires_ms, node.draining, node.drain_asked)
            for boot_id, node in world.nodes.items()
        },
        "shards": {(number, shard.epoch, shard.owner) for number, shard in world.shards.items() if shard.epoch},
        "pauses": set(world.paused.items()),
    }


def answers(world: World) -> dict[str, Any]:
    live = list(world.runs.values())
    due_ms = min((run.due_ms for run in live if run.state in WAITING), default=None)
    acted_ms = [plan.due_ms for plan in world.plans.values() if plan.due_ms is not None]
    return {
        "runs": {run.id: _run(run) for run in (*live, *world.history.values())},
        "claims": {
            run.id: (run.token, run.attempt, any(run.id == place[1] for place in world.gate_places))
            for run in live
            if run.state is RunState.RUNNING
        },
        "jobs": {job_id: _job(world, job_id, job) for job_id, job in world.jobs.items() if not job.deleted},
        "due": {
            (job_id, plan.version, plan.generation, plan.next_ms)
            for job_id, plan in world.plans.items()
            if plan.due_ms is not None
        },
        "told": {
            (job_id, from_ms, to_ms, version, verdict, reason)
            for (job_id, from_ms), (to_ms, version, verdict, reason) in world.told.items()
        },
        "gates": [taken(world, gate) for gate in world.gates],
        "dead letters": {run_id: world.history[run_id].finished_ms for run_id in world.dead},
        "queues": {queue: _queue(world, queue) for queue in {run.queue for run in live} | world.paused.keys()},
        "lines": {(run.queue, "") for run in live if run.state is RunState.READY and run.queue not in world.paused},
        "nodes": {
            boot_id: (
                node.started_ms,
                node.expires_ms < world.now_ms,
                node.beat_ms,
                node.beat,
                node.draining or node.drain_asked,
            )
            for boot_id, node in world.nodes.items()
        },
        "shards": {number: (shard.epoch, shard.owner) for number, shard in world.shards.items() if shard.epoch},
        "next": (due_ms, None, min([*acted_ms, *([] if due_ms is None else [due_ms])], default=None)),
    }


def _run(run: Run) -> tuple[Any, ...]:
    return (
        (run.job_id, run.version, run.tenant, run.kind, run.state, run.queue, run.priority, run.parent_id),
        (run.scheduled_ms, run.due_ms, run.created_ms, run.claimed_ms, run.started_ms, run.finished_ms),
        (run.attempt, run.lost, run.worker, run.reason, run.attempts),
    )


def _job(world: World, job_id: bytes, job: Job) -> tuple[Any, ...]:
    plan = world.plans.get(job_id)
    position = (None, None, None) if plan is None else (plan.next_ms, plan.due_ms, plan.awaiting)
    return job.state, job.version, job.definition, position, job.pause_note, job.updated_ms, job.since_ms


def _queue(world: World, queue: str) -> tuple[Any, ...]:
    runs = [run for run in world.runs.values() if run.queue == queue]
    counts = Counter("waiting" if run.state in WAITING else run.state.value for run in runs)
    put_off = [run for run in runs if run.state in (RunState.HELD, RunState.SCHEDULED) and run.reason is not None]
    oldest_ms = min((run.due_ms for run in runs if run.state is RunState.READY), default=None)
    counted = (counts["ready"], counts["running"], counts["held"], counts["waiting"])
    reasons = dict(Counter(run.reason for run in put_off))
    return counted, oldest_ms, queue in world.paused, world.paused.get(queue), reasons
