"""I1 to I5: what had to arrive did, nothing else did, once, explained where not, and never early."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from proof.checker.demand import Demand, demands
from proof.checker.evidence import TERMINAL, Evidence
from proof.checker.findings import Finding
from proof.records import Answered, Attempt, Fault, Hit, Run, instant_ms, instant_s

EARLY_MS = 5.0
"""What clocks may differ by."""
MISFIRE_GRACE_S = 10.0
"""Before this an occurrence that is late has not been missed, by the product's own word."""
MOMENT_S = 1.0
EXACT_S = 0.001
"""The store cuts its times to milliseconds."""
A_LINE = 100
"""So many that were due no later and came to their turn only afterwards are a line in which one waits."""
HELD_BACK = ("waiting", "paused")
"""The verdict, and its reason, on an occurrence of a job that is paused."""
ENDED_BADLY = frozenset({"refused", "unreachable", "timed_out", "errored", "cancelled", "lost", "impossible"})


def no_loss(evidence: Evidence) -> Finding:
    """I1."""
    runs = {(run.job_id, instant_ms(run.scheduled_at)): run for run in evidence.runs if run.kind == "scheduled"}
    wrong: list[str] = []
    looked_at = explained = 0
    for demand in demands(evidence).values():
        for at_ms in sorted(demand.required_ms):
            looked_at += 1
            run = runs.get((demand.job_id, at_ms))
            if run is not None and run.state not in ("cancelled", "expired"):
                wrong += _unfinished(run, evidence)
            elif _may_be_left_out(demand, at_ms, run, evidence):
                explained += 1
            else:
                told = "no run" if run is None else f"a run that is {run.state} ({run.reason})"
                wrong.append(f"{demand.marker} ({demand.job_id}) has {told} for {at_ms}")
    for call in (*evidence.done("adhoc"), *evidence.done("run_now")):
        looked_at += 1
        asked_for = evidence.run_by_id.get(call.id or "")
        wrong += [f"{call.id} was acknowledged and is gone"] if asked_for is None else _unfinished(asked_for, evidence)
    return Finding(
        invariant="I1",
        promise="every demanded occurrence has a run, which ended, and a success was seen by its target",
        looked_at=looked_at,
        violations=wrong,
        notes={"left out by policy": explained},
    )


def _unfinished(run: Run, evidence: Evidence) -> list[str]:
    if run.state not in TERMINAL:
        return [f"{run.id} of {run.scheduled_at} is {run.state} at the end"]
    if run.state != "succeeded":
        return []
    last = run.attempts[-1].token if run.attempts else None
    if any(hit.token == last for hit in evidence.hits_of.get(run.id, [])):
        return []
    return [f"{run.id} of {run.scheduled_at} is told to have succeeded, and its target never saw that"]


def _may_be_left_out(demand: Demand, at_ms: int, run: Run | None, evidence: Evidence) -> bool:
    """Whether its policies leave an occurrence out, and what happened around it was a case for them."""
    due_s = at_ms / 1000
    if run is None and demand.deleted is not None and evidence.faults_during(due_s, demand.deleted[0]):
        # Nobody was there to write its run before the job was deleted, and what has not started then does not start.
        return True
    one = evidence.occurrence_of.get((demand.job_id or "", at_ms))
    if run is None and demand.paused_s is not None and one is not None and (one.verdict, one.reason) == HELD_BACK:
        # Nor before it was paused, and it waits to be resumed.
        return due_s < demand.paused_s and bool(evidence.faults_during(due_s, demand.paused_s))
    reason = run.reason if run is not None else (one.reason or one.verdict) if one is not None else None
    if reason == "job_deleted" and run is not None:
        return _waited_for_deletion(demand, due_s, run, evidence)
    if reason == "overlap":
        decided_s = due_s if run is None or run.finished_at is None else evidence.right_s(instant_s(run.finished_at))
        return demand.overlap in ("skip", "queue_one") and _was_under_way(demand, decided_s, run, evidence)
    if reason is None or not reason.startswith(("coalesced", "misfire")) or demand.misfire == "fire_all":
        return False
    return bool(evidence.faults_during(due_s, due_s + MISFIRE_GRACE_S))


def _waited_for_deletion(demand: Demand, due_s: float, run: Run, evidence: Evidence) -> bool:
    """Whether a deletion ended it, and it had a reason to be still waiting then: hardly due, hurt, kept by the client, tried in vain, or in
    line behind others."""
    if demand.deleted is None or run.finished_at is None:
        return False
    since, until = demand.deleted
    if not since - EXACT_S < instant_s(run.finished_at) <= until:
        return False
    if demand.longest_active_s(due_s, since) <= MOMENT_S or run.attempts or evidence.faults_during(due_s, since):
        return True
    return _before_it_in_line(due_s, since, evidence) >= A_LINE


def _before_it_in_line(due_s: float, at_s: float, evidence: Evidence) -> int:
    """How many were due no later than one, and had not come to their turn at a moment."""
    return sum(
        instant_s(other.due_at) <= due_s and evidence.right_s(instant_s(other.attempts[0].claimed_at)) > at_s
        for other in evidence.runs
        if other.attempts
    )


def _was_under_way(demand: Demand, at_s: float, but: Run | None, evidence: Evidence) -> bool:
    """Whether another run of the job was in somebody's hands, as far as could be known."""
    return any(
        other is not but
        and other.attempts
        and evidence.right_s(instant_s(other.attempts[0].claimed_at)) <= at_s + MOMENT_S
        and (other.finished_at is None or at_s <= _reported_s(evidence.right_s(instant_s(other.finished_at)), evidence))
        for other in evidence.runs_of_job[demand.job_id]
    )


def _reported_s(finished_s: float, evidence: Evidence) -> float:
    """Until when an end may not have been reported: a moment passes as a rule, and an accident as long as it lasts."""
    reported_s = finished_s + MOMENT_S
    return max((reported_s, *(fault.settled_s for fault in evidence.faults_during(finished_s, reported_s))))


def no_phantom(evidence: Evidence) -> Finding:
    """I2."""
    wanted = demands(evidence)
    by_hand = _by_hand(evidence)
    wrong = [problem for run in evidence.runs for problem in _unasked(run, wanted, by_hand)]
    wrong += _too_many(by_hand, evidence)
    for hit in evidence.hits:
        run = evidence.run_by_id.get(hit.run)
        if run is None:
            wrong.append(f"a hit at {hit.at_s:.3f} names {hit.run or 'no run'}, which is none")
            continue
        if not run.tags or run.tags[0] != hit.marker:
            wrong.append(f"a hit of {hit.run} carries what belongs to {hit.marker!r}")
        demand = wanted.get(hit.marker)
        if run.kind == "scheduled" and demand is not None:
            for since, until in demand.forbidden:
                due_s = instant_s(hit.scheduled_at)
                if since < due_s and since < hit.at_s < until:
                    wrong.append(f"{hit.run} of {hit.scheduled_at} started while {hit.marker} was paused or deleted")
    return Finding(
        invariant="I2",
        promise="every hit is of a run, and every run was asked for",
        looked_at=len(evidence.hits) + len(evidence.runs),
        violations=wrong,
    )


def _by_hand(evidence: Evidence) -> Counter[tuple[str, str]]:
    """How many runs of a kind were asked for under a marker, or may have been."""
    kinds = {"adhoc": "adhoc", "run_now": "manual"}
    return Counter(
        (kinds[call.operation], call.marker)
        for call in evidence.calls
        if call.operation in kinds and call.answered is not Answered.REFUSED
    )


def _unasked(run: Run, wanted: dict[str, Demand], by_hand: Counter[tuple[str, str]]) -> list[str]:
    marker = run.tags[0] if run.tags else ""
    if run.kind != "scheduled":
        return [] if by_hand[run.kind, marker] else [f"{run.id} ({run.kind}, {marker!r}) was not asked for"]
    demand = wanted.get(marker)
    if demand is None or demand.job_id != run.job_id:
        return [f"{run.id} is of a job that nobody asked for"]
    if instant_ms(run.scheduled_at) not in demand.instants_ms:
        return [f"{run.id} is scheduled at {run.scheduled_at}, where {marker} has nothing"]
    return []


def _too_many(by_hand: Counter[tuple[str, str]], evidence: Evidence) -> list[str]:
    """Where more runs carry a marker than the calls that carried it can have written."""
    there = Counter((run.kind, run.tags[0]) for run in evidence.runs if run.kind != "scheduled" and run.tags)
    return [
        f"{count} {kind} runs of {marker}, asked for {by_hand[kind, marker]} times"
        for (kind, marker), count in there.items()
        if 0 < by_hand[kind, marker] < count
    ]


def unique(evidence: Evidence) -> Finding:
    """I3."""
    identities = Counter((run.job_id, run.scheduled_at) for run in evidence.runs if run.kind == "scheduled")
    deliveries = Counter((hit.run, hit.attempt, hit.token) for hit in evidence.hits)
    return Finding(
        invariant="I3",
        promise="one run for an occurrence, one hit for an attempt",
        looked_at=len(identities) + len(deliveries),
        violations=[
            *(f"{count} runs of {job} for {at}" for (job, at), count in identities.items() if count > 1),
            *(
                f"{count} hits of {run}, attempt {attempt}, token {token}"
                for (run, attempt, token), count in deliveries.items()
                if count > 1
            ),
        ],
    )


def explained(evidence: Evidence) -> Finding:
    """I4."""
    wrong: list[str] = []
    duplicates = looked_at = 0
    for run in evidence.runs:
        hits = evidence.hits_of.get(run.id, [])
        ended = {(attempt.attempt, attempt.token): attempt for attempt in run.attempts}
        looked_at += len(hits)
        duplicates += max(0, len(hits) - 1)
        for number, hit in enumerate(hits):
            attempt = ended.get((hit.attempt, hit.token))
            if attempt is None:
                wrong.append(f"{run.id} was hit with attempt {hit.attempt}, token {hit.token}, which it does not tell")
            elif number + 1 < len(hits) and attempt.outcome not in ENDED_BADLY:
                wrong.append(f"{run.id} was hit again after an attempt that {attempt.outcome}")
        wrong += [
            f"{run.id} lost an attempt to {attempt.worker} at {attempt.finished_at}, and nothing had happened"
            for attempt in run.attempts
            if attempt.outcome == "lost" and not faults_behind(attempt, evidence)
        ]
        wrong += [
            f"{run.id} was claimed at {attempt.claimed_at}, never started, and given up at {attempt.finished_at}"
            for attempt in run.attempts
            if attempt.outcome == "timed_out" and _was_forgotten(attempt, hits, evidence)
        ]
    return Finding(
        invariant="I4",
        promise="a second hit follows an attempt that failed; one that was lost, or never made, needs a fault",
        looked_at=looked_at,
        violations=wrong,
        notes={"second hits, explained": duplicates},
    )


def _was_forgotten(attempt: Attempt, hits: list[Hit], evidence: Evidence) -> bool:
    """Whether it ran out of time without a call, and nobody was hurt all the while."""
    claimed_s, finished_s = instant_s(attempt.claimed_at), instant_s(attempt.finished_at)
    hurt = any(fault.begin_s <= finished_s and claimed_s <= fault.end_s for fault in evidence.faults)
    return not hurt and all(hit.token != attempt.token for hit in hits)


def faults_behind(attempt: Attempt, evidence: Evidence) -> list[Fault]:
    """The accidents that met an attempt while it was in somebody's hands."""
    return evidence.faults_during(instant_s(attempt.claimed_at), instant_s(attempt.finished_at))


def never_early(evidence: Evidence) -> Finding:
    """I5."""
    wrong = [
        f"{hit.run} of {hit.scheduled_at} came {early_ms:.1f} ms early"
        for hit in evidence.hits
        if hit.scheduled_at and (early_ms := (instant_s(hit.scheduled_at) - hit.at_s) * 1000) > EARLY_MS
    ]
    for hits in evidence.hits_of.values():
        for hit, following in pairwise(hits):
            asked_s = _retry_after_s(hit)
            if following.at_s < hit.at_s + asked_s - EARLY_MS / 1000:
                wrong.append(
                    f"{hit.run} came back {following.at_s - hit.at_s:.3f} s after it was asked for {asked_s} s"
                )
    return Finding(
        invariant="I5",
        promise="nothing starts before its time",
        looked_at=len(evidence.hits),
        violations=wrong,
    )


def _retry_after_s(hit: Hit) -> float:
    """The wait that the target imposed on a first attempt."""
    path, _, seconds = hit.path.rpartition("/")
    return float(seconds) if path == "/first/retry-after" and hit.attempt == 1 else 0.0
