"""I6 to I8: a run ends once, by its owner of the moment, through legal states and with times in order."""

from __future__ import annotations

from itertools import pairwise

from proof.checker.evidence import TERMINAL, Evidence
from proof.checker.findings import BEHIND_MS, Finding
from proof.records import Run, instant_ms

LIVE = frozenset({"scheduled", "ready", "held", "running", "retrying"})
EARLY_MS = 5
FAILURES = frozenset({"refused", "unreachable", "timed_out", "errored", "impossible", "lost"})


def ends_once(evidence: Evidence) -> Finding:
    """I6."""
    wrong: list[str] = []
    for run in evidence.runs:
        successes = [number for number, attempt in enumerate(run.attempts) if attempt.outcome == "succeeded"]
        if len(successes) > 1:
            wrong.append(f"{run.id} succeeded {len(successes)} times")
        elif successes and (successes[0] != len(run.attempts) - 1 or run.state != "succeeded"):
            wrong.append(f"{run.id} went on after it had succeeded, and is {run.state}")
    looks = evidence.done("look")
    for look in looks:
        run_now = evidence.run_by_id.get(look.id or "")
        told = (look.seen.get("state"), look.seen.get("finished_at"))
        if run_now is None:
            wrong.append(f"{look.id} was seen as {told[0]}, and is gone")
        elif (run_now.state, run_now.finished_at) != told:
            wrong.append(f"{look.id} was seen as {told}, and is {(run_now.state, run_now.finished_at)} at the end")
    return Finding(
        invariant="I6",
        promise="a run ends once, and stays as it ended",
        looked_at=len(evidence.runs) + len(looks),
        violations=wrong,
        notes={"ends seen on the way": len(looks)},
    )


def current_owner(evidence: Evidence) -> Finding:
    """I7."""
    wrong: list[str] = []
    for run in evidence.runs:
        tokens = [attempt.token for attempt in run.attempts]
        if any(later <= earlier for earlier, later in pairwise(tokens)):
            wrong.append(f"{run.id} has tokens that do not grow: {tokens}")
        latest = max((hit.token for hit in evidence.hits_of.get(run.id, [])), default=0)
        if run.state in TERMINAL and tokens and tokens[-1] < latest:
            wrong.append(f"{run.id} was ended by token {tokens[-1]} when {latest} had it")
    refused = [metric for metric in evidence.metrics if metric.name == "dueline_fenced_total"]
    return Finding(
        invariant="I7",
        promise="what was written came from the owner of the moment",
        looked_at=len(evidence.runs),
        violations=wrong,
        notes={"results refused": round(sum(metric.value for metric in refused))},
    )


def legal(evidence: Evidence) -> Finding:
    """I8."""
    return Finding(
        invariant="I8",
        promise="legal states, and times in order",
        looked_at=len(evidence.runs),
        violations=[
            problem for run in evidence.runs for problem in (*_states(run), *_times(run), *_seen_times(run, evidence))
        ],
    )


def _states(run: Run) -> list[str]:
    if run.state not in TERMINAL | LIVE:
        return [f"{run.id} is {run.state}, which is no state"]
    if (run.finished_at is not None) != (run.state in TERMINAL):
        return [f"{run.id} is {run.state} and finished at {run.finished_at}"]
    last = run.attempts[-1].outcome if run.attempts else None
    if run.state == "succeeded" and last != "succeeded":
        return [f"{run.id} is succeeded after an attempt that {last}"]
    if run.state == "failed" and last not in FAILURES:
        return [f"{run.id} is failed after an attempt that {last}"]
    return []


def _times(run: Run) -> list[str]:
    """Claims may come ahead of the due time; starts may not, and nothing of an attempt before the end of the one before.

    Each step has what it may be told too early by: a claim has the time at which its statement came, after an end that is never told late.
    """
    scheduled_ms = instant_ms(run.scheduled_at)
    steps = [("created", instant_ms(run.created_at), 0)]
    for attempt in run.attempts:
        claims_early_ms = BEHIND_MS if attempt is run.attempts[0] else 0
        steps.append((f"attempt {attempt.attempt} claimed", instant_ms(attempt.claimed_at), claims_early_ms))
        if attempt.started_at is not None:
            started_ms = instant_ms(attempt.started_at)
            steps.append((f"attempt {attempt.attempt} started", started_ms, BEHIND_MS))
            if started_ms < scheduled_ms - EARLY_MS:
                return [f"{run.id} started {scheduled_ms - started_ms} ms before it was due"]
        steps.append((f"attempt {attempt.attempt} finished", instant_ms(attempt.finished_at), BEHIND_MS))
    if run.finished_at is not None:
        steps.append(("finished", instant_ms(run.finished_at), 0))
    return [
        f"{run.id}: {after} {at_ms - then_ms} ms before {before}"
        for (before, at_ms, _), (after, then_ms, early_ms) in pairwise(steps)
        if then_ms < at_ms - early_ms
    ][:1]


def _seen_times(run: Run, evidence: Evidence) -> list[str]:
    """The target's clock is the machine's: it sees an attempt after its claim and start, and before its end if that was a success."""
    attempts = {attempt.token: attempt for attempt in run.attempts}
    wrong = []
    for hit in evidence.hits_of.get(run.id, []):
        attempt = attempts.get(hit.token)
        if attempt is None:
            continue
        hit_ms = hit.at_s * 1000
        began_ms = max(instant_ms(attempt.claimed_at), instant_ms(attempt.started_at or attempt.claimed_at))
        if hit_ms < began_ms:
            wrong.append(f"{run.id} was seen by its target {began_ms - hit_ms:.1f} ms before attempt {attempt.attempt}")
        after_ms = hit_ms - instant_ms(attempt.finished_at)
        if attempt.outcome == "succeeded" and after_ms > BEHIND_MS:
            wrong.append(f"{run.id} was seen by its target {after_ms:.1f} ms after attempt {attempt.attempt}")
    return wrong
