"""I11 to I14 and I17: what was acknowledged is there, what did not run says why, the books are exact, and the faults were real."""

from __future__ import annotations

from collections import Counter

from proof.checker.demand import demands
from proof.checker.evidence import Evidence
from proof.checker.findings import Finding
from proof.records import instant_ms


def survives(evidence: Evidence) -> Finding:
    """I11."""
    deleted = {call.marker for call in evidence.calls if call.operation == "delete"}
    listed = {job.id: job for job in evidence.jobs}
    created = evidence.done("create")
    wrong = [
        f"{call.id} ({call.marker}) was acknowledged, and is gone"
        for call in created
        if call.id not in listed and call.marker not in deleted
    ]
    wrong += [
        f"{call.id} ({call.marker}) was deleted, and is {listed[call.id].state}"
        for call in evidence.done("delete")
        if call.id in listed and listed[call.id].state != "cancelled"
    ]
    written = [*evidence.done("adhoc"), *evidence.done("run_now")]
    wrong += [f"{call.id} was acknowledged, and is gone" for call in written if call.id not in evidence.run_by_id]
    last = {call.marker: call for call in evidence.calls if call.operation in ("pause", "resume")}
    for marker, call in last.items():
        job = listed.get(call.id or "")
        certain = call.answered == "acknowledged" and marker not in deleted
        if certain and job is not None and (job.state == "paused") != (call.operation == "pause"):
            wrong.append(f"{job.id} ({marker}) is {job.state} after an acknowledged {call.operation}")
    return Finding(
        invariant="I11",
        promise="what was acknowledged survives",
        looked_at=len(created) + len(written) + len(last),
        violations=wrong,
    )


def says_why(evidence: Evidence) -> Finding:
    """I12."""
    there = {(run.job_id, instant_ms(run.scheduled_at)): run for run in evidence.runs if run.kind == "scheduled"}
    told_jobs = {one.job_id for one in evidence.occurrences}
    wrong: list[str] = []
    looked_at = 0
    for demand in demands(evidence).values():
        if demand.job_id not in told_jobs:
            continue
        for at_ms in sorted(demand.instants_ms):
            run = there.get((demand.job_id, at_ms))
            one = evidence.occurrence_of.get((demand.job_id or "", at_ms))
            looked_at += 1
            if one is None:
                # Before its job was there, an instant was never due.
                if at_ms in demand.required_ms:
                    wrong.append(f"{demand.marker} says nothing of {at_ms}")
            elif run is None and one.verdict not in ("coalesced", "expected") and not one.reason:
                wrong.append(f"{demand.marker} has no run for {at_ms}, is told {one.verdict}, and does not say why")
            elif run is None and one.verdict in ("fired", "late"):
                wrong.append(f"{demand.marker} is told {one.verdict} for {at_ms}, and has no run")
            elif run is not None and run.state in ("cancelled", "expired") and not (run.reason or one.reason):
                wrong.append(f"{run.id} is {run.state} without a reason")
    return Finding(
        invariant="I12",
        promise="every occurrence that did not run says why",
        looked_at=looked_at,
        violations=wrong,
    )


def dead_letters(evidence: Evidence) -> Finding:
    """I13."""
    failed = {run.id for run in evidence.runs if run.state == "failed"}
    letters = {letter.id for letter in evidence.dead_letters}
    return Finding(
        invariant="I13",
        promise="dead letters are exactly the runs that failed",
        looked_at=len(failed | letters),
        violations=[
            *(f"{run} failed, and is no dead letter" for run in sorted(failed - letters)),
            *(f"{run} is a dead letter, and did not fail" for run in sorted(letters - failed)),
        ],
    )


def exact_history(evidence: Evidence) -> Finding:
    """I14."""
    listed = Counter(run.id for run in evidence.runs)
    named = {hit.run for hit in evidence.hits} | {one.run_id for one in evidence.occurrences if one.run_id is not None}
    letters = Counter(letter.id for letter in evidence.dead_letters)
    return Finding(
        invariant="I14",
        promise="the history has no gap and nothing twice",
        looked_at=len(evidence.runs),
        violations=[
            *(f"{run} is listed {count} times" for run, count in listed.items() if count > 1),
            *(f"{run} is a dead letter {count} times" for run, count in letters.items() if count > 1),
            *(f"{run} is named, and not in the list" for run in sorted(named - listed.keys())),
        ],
    )


def not_vacuous(evidence: Evidence) -> Finding:
    """I17."""
    scenario = evidence.scenario
    wrong = [
        f"{fault.kind} of {fault.victim} is not shown to have bitten: {fault.evidence or 'no evidence'}"
        for fault in evidence.faults
        if not fault.evidence or not all(fault.evidence.values())
    ]
    if len(evidence.faults) < scenario.faults_min:
        wrong.append(f"{len(evidence.faults)} faults, of {scenario.faults_min} that were to be")
    if len(evidence.hits) < scenario.hits_min:
        wrong.append(f"{len(evidence.hits)} hits are no load; {scenario.hits_min} were to be")
    return Finding(
        invariant="I17",
        promise="the load was there, and every fault bit",
        looked_at=len(evidence.faults) + len(evidence.hits),
        violations=wrong,
    )
