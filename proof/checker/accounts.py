"""I11 to I14 and I17: what was acknowledged is there, what did not run says why, the books are exact, and the faults were real."""

from __future__ import annotations

from collections import Counter

from proof.checker.demand import attempts_max, demands
from proof.checker.evidence import Evidence
from proof.checker.findings import Finding
from proof.records import Books, Run, instant_ms

TRIED_AGAIN = frozenset({"/status/500", "/first/status/500", "/first/status/503"})
"""What targets say after which there is always another attempt, as long as one is left."""


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
    allowed = {
        call.marker: attempts_max(call.asked) for call in evidence.calls if call.operation in ("create", "adhoc")
    }
    return Finding(
        invariant="I13",
        promise="dead letters are exactly the runs that failed, and those were tried as often as they may be",
        looked_at=len(failed | letters),
        violations=[
            *(f"{run} failed, and is no dead letter" for run in sorted(failed - letters)),
            *(f"{run} is a dead letter, and did not fail" for run in sorted(letters - failed)),
            *(problem for run in evidence.runs for problem in _attempts_made(run, allowed, evidence)),
        ],
    )


def _attempts_made(run: Run, allowed: dict[str, int], evidence: Evidence) -> list[str]:
    """Attempts that were lost count apart. Of those that failed, only a target's answer is sure to be one after which there is another."""
    most = allowed.get(run.tags[0] if run.tags else "")
    if most is None:
        return []
    made = sum(attempt.outcome != "lost" for attempt in run.attempts)
    if made > most:
        return [f"{run.id} was tried {made} times, of {most} that it may be"]
    unlucky = run.state == "failed" and run.attempts[-1].outcome == "refused"
    if unlucky and made < most and all(hit.path in TRIED_AGAIN for hit in evidence.hits_of.get(run.id, [])):
        return [f"{run.id} was given up after {made} attempts, of {most} that it may have"]
    return []


def exact_history(evidence: Evidence) -> Finding:
    """I14."""
    listed = Counter(run.id for run in evidence.runs)
    named = {hit.run for hit in evidence.hits} | {one.run_id for one in evidence.occurrences if one.run_id is not None}
    letters = Counter(letter.id for letter in evidence.dead_letters)
    told = Counter((one.job_id, one.scheduled_at) for one in evidence.occurrences)
    return Finding(
        invariant="I14",
        promise="the history has no gap and nothing twice",
        looked_at=len(evidence.runs) + len(evidence.occurrences),
        violations=[
            *(f"{run} is listed {count} times" for run, count in listed.items() if count > 1),
            *(f"{run} is a dead letter {count} times" for run, count in letters.items() if count > 1),
            *(f"{run} is named, and not in the list" for run in sorted(named - listed.keys())),
            *(f"{job} tells {at} {count} times" for (job, at), count in told.items() if count > 1),
            *_unlike(evidence),
            *(problem for books in evidence.books for problem in _off_the_books(books, len(evidence.runs))),
        ],
    )


def _unlike(evidence: Evidence) -> list[str]:
    """Where the runs of a job and its occurrences tell different stories."""
    told_jobs = {one.job_id for one in evidence.occurrences}
    wrong = [
        f"{run.id} of {run.scheduled_at} is in no account of {run.job_id}"
        for run in evidence.runs
        if run.kind == "scheduled"
        and run.job_id in told_jobs
        and (run.job_id, instant_ms(run.scheduled_at)) not in evidence.occurrence_of
    ]
    for (job_id, at_ms), one in evidence.occurrence_of.items():
        run_of_it = evidence.run_by_id.get(one.run_id or "")
        if run_of_it is not None and (run_of_it.job_id, instant_ms(run_of_it.scheduled_at)) != (job_id, at_ms):
            wrong.append(f"{job_id} tells {run_of_it.id} for {at_ms}, which is a run of {run_of_it.job_id} for another")
    return wrong


def _off_the_books(books: Books, listed: int) -> list[str]:
    wrong = [f"{books.both} runs have ended and live on"] if books.both else []
    if books.hot + books.archived != listed:
        wrong.append(f"{books.hot} live and {books.archived} ended runs are kept, and {listed} are listed")
    return wrong


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
