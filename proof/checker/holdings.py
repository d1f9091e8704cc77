"""I9, I10 and I15: limits hold, nothing is leaked at rest, and what a fault left behind drains."""

from __future__ import annotations

from collections import Counter

from proof.checker.demand import demands
from proof.checker.evidence import TERMINAL, Evidence
from proof.checker.findings import BEHIND_MS, Finding
from proof.records import Attempt, Hit, Run, instant_ms

Span = tuple[float, float]
"""Milliseconds, from and to."""
TIMEOUT_GRACE_S = 10.0
"""What a worker has beyond an attempt's timeout to report it, by the product's own word."""


def within_limits(evidence: Evidence) -> Finding:
    """I9."""
    wrong: list[str] = []
    looked_at = 0
    for demand in demands(evidence).values():
        limit = demand.concurrency or (1 if demand.overlap != "allow" else None)
        if limit is None or demand.job_id is None:
            continue
        whole = demand.concurrency is None
        spans = [
            span
            for run in evidence.runs_of_job[demand.job_id]
            for span in _under_way(run, evidence.hits_of.get(run.id, []), whole=whole)
        ]
        looked_at += len(spans)
        most, at_ms = _most_at_once(spans)
        if most > limit:
            wrong.append(f"{demand.marker} has {most} runs under way at {at_ms:.0f}, of {limit} that may be")
    return Finding(
        invariant="I9",
        promise="never more under way than a job allows",
        looked_at=looked_at,
        violations=wrong,
    )


def _under_way(run: Run, hits: list[Hit], *, whole: bool) -> list[Span]:
    """When it certainly was: each of its attempts, or from the first to the end of the last, for which an exclusive job's place is kept.

    Of a lost attempt nobody knows when it ended.
    """
    at_ms = {hit.token: hit.at_s * 1000 for hit in hits}
    spans = [
        (since_ms, float(instant_ms(attempt.finished_at)))
        for attempt in run.attempts
        if attempt.outcome != "lost" and (since_ms := _began_ms(attempt, at_ms.get(attempt.token))) is not None
    ]
    return [(spans[0][0], spans[-1][1])] if whole and spans else spans


def _began_ms(attempt: Attempt, hit_ms: float | None) -> float | None:
    """When an attempt had certainly begun: the target's word is exact, the worker's is behind. Ends are never told too late."""
    if hit_ms is not None or attempt.started_at is None:
        return hit_ms
    return instant_ms(attempt.started_at) + BEHIND_MS


def _most_at_once(spans: list[Span]) -> tuple[int, float]:
    """The most, and when."""
    steps = sorted(step for since, until in spans if until > since for step in ((since, 1), (until, -1)))
    most, now, at_ms = 0, 0, 0.0
    for step_ms, change in steps:
        now += change
        if now > most:
            most, at_ms = now, step_ms
    return most, at_ms


def nothing_leaked(evidence: Evidence) -> Finding:
    """I10."""
    live = Counter(run.state for run in evidence.runs if run.state not in TERMINAL)
    told = Counter({
        "running": sum(queue.running for queue in evidence.queues),
        "ready": sum(queue.ready for queue in evidence.queues),
        "held": sum(queue.held for queue in evidence.queues),
    })  # fmt: skip
    wrong = [
        f"{told[state]} runs are told to be {state}, and {live[state]} are"
        for state in ("running", "ready", "held")
        if evidence.queues and told[state] != live[state]
    ]
    wrong += [f"{worker.id} is busy with {worker.busy} at rest" for worker in evidence.workers if worker.busy]
    wrong += [
        f"{worker.id} is still listed, {worker.state}" for worker in evidence.workers if worker.state == "expired"
    ]
    wrong += [f"{count} runs are {state} at rest" for state, count in live.items()]
    return Finding(
        invariant="I10",
        promise="at rest nothing is held or counted as under way",
        looked_at=len(evidence.queues) + len(evidence.workers),
        violations=wrong,
    )


def drains(evidence: Evidence) -> Finding:
    """I15."""
    scenario = evidence.scenario
    timeouts = {
        call.marker: float(str(call.asked.get("timeout", "30s")).removesuffix("s"))
        for call in evidence.calls
        if call.operation in ("create", "adhoc")
    }
    wrong = []
    for run in evidence.runs:
        if run.state in TERMINAL:
            continue
        timeout_s = timeouts.get(run.tags[0] if run.tags else "", 30.0)
        bound_s = timeout_s + TIMEOUT_GRACE_S + scenario.lease_s + 2 * scenario.sweep_s
        age_s = scenario.dumped_s - instant_ms(run.due_at) / 1000
        if age_s > bound_s:
            wrong.append(f"{run.id} is {run.state} {age_s:.0f} s after it was due; {bound_s:.0f} s are the most")
    return Finding(
        invariant="I15",
        promise="the backlog of a fault drains",
        looked_at=len(evidence.runs),
        violations=wrong,
    )
