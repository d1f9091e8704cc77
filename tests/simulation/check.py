"""The invariants of the product, over what a simulation left: each finding is told with the invariant that it breaks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from dueline.domain.ids import JobId, RunId, job_text, run_text
from dueline.domain.ledger import SkipReason, Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.run import Attempt, OutcomeKind, Run
from dueline.domain.schedule import After
from dueline.domain.states import TERMINAL, JobState, RunKind, RunState
from dueline.store.shapes import LedgerRow
from tests.simulation.clocks import START_MS
from tests.simulation.evidence import Evidence
from tests.simulation.journal import CHANGES, Deed, JobEvent, Told
from tests.simulation.oracle import occurrences
from tests.simulation.target import Hit

EARLY_MS = 5
"""What clocks may differ by."""
_BEFORE_S, _AFTER_S = 20.0, 60.0
"""How long before and after something a trouble may have been that explains it: a lease, and the longest wait for a process to return."""
_STUCK_MS = 75_000
"""After so long it is stuck: less than the peace before the end, and more than what it takes to come back from any trouble."""
_UNDECIDED_MS = 15_000
"""For so long an occurrence may be undecided while nothing is wrong."""


def check(evidence: Evidence) -> list[str]:
    """What is wrong; nothing, as a rule."""
    runs = {run.id: run for run in evidence.runs}
    hits: defaultdict[RunId, list[Hit]] = defaultdict(list)
    for hit in evidence.hits:
        hits[hit.run_id].append(hit)
    return [
        *_unique(evidence),
        *_acknowledged(evidence, runs),
        *_ended(evidence, hits),
        *_occurrences(evidence),
        *_asked_for(evidence),
        *_hits_explained(evidence, runs, hits),
        *_in_order(evidence, hits),
        *_limits(evidence, runs),
        *_at_rest(evidence),
        *_final(evidence, runs),
    ]


def _unique(evidence: Evidence) -> Iterator[str]:
    for run_id, times in Counter(run.id for run in evidence.runs).items():
        if times > 1:
            yield f"I3: {run_text(run_id)} is there {times} times"
    planned = Counter(
        (run.job_id, run.scheduled_ms, run.kind)
        for run in evidence.runs
        if run.kind in (RunKind.SCHEDULED, RunKind.BACKFILL)
    )
    for (_, scheduled_ms, kind), times in planned.items():
        if times > 1:
            yield f"I3: {times} runs of one occurrence at {scheduled_ms}, {kind}"
    for (run_id, attempt, token), times in Counter(
        (hit.run_id, hit.attempt, hit.token) for hit in evidence.hits
    ).items():
        if times > 1:
            yield f"I3: {run_text(run_id)} attempt {attempt} token {token} hit {times} times"


def _acknowledged(evidence: Evidence, runs: dict[RunId, Run]) -> Iterator[str]:
    """What a client was told to be done has been done."""
    for operation in evidence.journal.operations:
        if operation.told is not Told.ACKNOWLEDGED:
            continue
        if operation.deed in (*CHANGES, Deed.CREATE, Deed.RUN, Deed.ENQUEUE) and not operation.effects:
            yield f"I1: {operation.deed} of {operation.client} was acknowledged and did nothing"
        for run_id in operation.run_ids:
            if run_id not in runs:
                yield f"I1: {run_text(run_id)} of an acknowledged {operation.deed} is not there"


def _ended(evidence: Evidence, hits: dict[RunId, list[Hit]]) -> Iterator[str]:
    """Runs have ended, those that succeeded at their target, those that never ran with a reason, and the failed ones are dead letters."""
    failed = set()
    for run in evidence.runs:
        name = run_text(run.id)
        if run.state not in TERMINAL:
            yield f"I15: {name} is {run.state} at the end"
        if run.state is RunState.SUCCEEDED and not any(hit.succeeded for hit in hits.get(run.id, ())):
            yield f"I1: {name} succeeded without a hit that did"
        if run.state in (RunState.CANCELLED, RunState.EXPIRED) and run.reason is None:
            yield f"I12: {name} is {run.state} and does not say why"
        if run.state is RunState.FAILED:
            failed.add(run.id)
    for run_id in sorted(failed - evidence.journal.redriven ^ evidence.dead):
        yield f"I13: {run_text(run_id)} is a dead letter and did not fail, or the other way round"


def _occurrences(evidence: Evidence) -> Iterator[str]:
    """Every occurrence that the schedules demand has its run, or is told why not; and there are no others."""
    ran: defaultdict[JobId, dict[int, Run]] = defaultdict(dict)
    for run in evidence.runs:
        if run.kind is RunKind.SCHEDULED and run.job_id is not None:
            ran[run.job_id][run.scheduled_ms] = run
    for job_id, events in evidence.journal.events.items():
        schedule = events[0].job.definition.schedule
        if isinstance(schedule, After):
            yield from _following(schedule, events, sorted(ran[job_id].values(), key=_scheduled_ms))
            continue
        demanded = set(_demanded(events))
        told = evidence.ledger.get(job_id, [])
        for at_ms in sorted(demanded - ran[job_id].keys()):
            row = next((row for row in told if row.unfired.from_ms <= at_ms <= row.unfired.to_ms), None)
            if row is None:
                yield f"I1: {job_text(job_id)} has neither a run nor a word for {at_ms}"
            elif not _justified(evidence, events, row, at_ms):
                yield f"I12: {job_text(job_id)} at {at_ms} is told to be {row.unfired.verdict} {row.unfired.reason} for nothing"
        for at_ms in sorted(ran[job_id].keys() - demanded):
            run = ran[job_id][at_ms]
            if not run.attempts and run.finished_ms is not None and run.finished_ms <= at_ms:
                continue  # It was written ahead and cancelled, and its job changed after that.
            yield f"I2: {job_text(job_id)} ran for {at_ms}, which nobody demanded"


def _following(schedule: After, events: list[JobEvent], runs: list[Run]) -> Iterator[str]:
    """A schedule that counts from the end of its runs: none before its time, and in peace it is never stuck."""
    due_ms, name, deleted = schedule.first_ms, job_text(events[0].job.id), events[-1]
    for run in runs:
        if run.scheduled_ms < due_ms:
            yield f"I2: {name} ran for {run.scheduled_ms}, {due_ms - run.scheduled_ms} ms before its delay was over"
        due_ms = (run.finished_ms or run.scheduled_ms) + schedule.delay_ms
    in_peace = len(events) > 1 and deleted.at_ms - events[-2].at_ms > _UNDECIDED_MS
    if in_peace and deleted.job.state is JobState.ACTIVE and deleted.at_ms - due_ms > _STUCK_MS:
        yield f"I15: {name} was to run at {due_ms}, and had not by {deleted.at_ms}"


def _demanded(events: list[JobEvent]) -> Iterator[int]:
    """The occurrences of a job, from its creation to its end, each by the schedule that was in force."""
    since_ms, schedule = events[0].at_ms, events[0].job.definition.schedule
    for event in events[1:]:
        changed = event.job.definition.schedule
        if changed != schedule or event.deed is Deed.DELETE:
            yield from occurrences(schedule, after_ms=since_ms, until_ms=event.at_ms)
            since_ms, schedule = event.at_ms, changed


def _justified(evidence: Evidence, events: list[JobEvent], row: LedgerRow, at_ms: int) -> bool:
    """Whether something happened that explains why an occurrence did not run."""
    if _was_paused(events, at_ms) or _troubled(evidence, at_ms):
        return True
    if row.unfired.verdict is Verdict.SKIPPED and row.unfired.reason is SkipReason.JOB_DELETED:
        return events[-1].at_ms - at_ms <= _UNDECIDED_MS
    return False


def _was_paused(events: list[JobEvent], at_ms: int) -> bool:
    """Whether the job was paused at a time, or soon after it and before anybody decided."""
    paused_ms = None
    for event in events:
        if event.deed is Deed.PAUSE:
            paused_ms = event.at_ms if paused_ms is None else paused_ms
        elif event.deed in (Deed.RESUME, Deed.DELETE) and paused_ms is not None:
            if paused_ms - _UNDECIDED_MS <= at_ms <= event.at_ms:
                return True
            paused_ms = None
    return False


def _troubled(evidence: Evidence, at_ms: int) -> bool:
    if evidence.calm:
        return False
    # The store's clock may have been set since: by how much does not matter to within what is forgiven anyway.
    at_s = (at_ms - START_MS) / 1000
    return any(one.from_s - 300 - _BEFORE_S <= at_s <= one.to_s + 300 + _AFTER_S for one in evidence.troubles)


def _asked_for(evidence: Evidence) -> Iterator[str]:
    """Runs that are not of a schedule were asked for."""
    for run in evidence.runs:
        if run.kind is not RunKind.SCHEDULED and run.id not in evidence.journal.asked:
            yield f"I2: nobody asked for {run_text(run.id)}, {run.kind}"


def _hits_explained(evidence: Evidence, runs: dict[RunId, Run], hits: dict[RunId, list[Hit]]) -> Iterator[str]:
    """Every hit is an attempt of a run, and a success is the last of them. An attempt that was lost may still hit its target after that, as
    when the store's clock is set forward while the answer to a claim travels: it is told to be lost, and something was wrong."""
    for run_id, seen in hits.items():
        run = runs.get(run_id)
        if run is None:
            yield f"I2: a hit of {run_text(run_id)}, which is not there"
            continue
        records = {attempt.token: attempt for attempt in run.attempts}
        for hit in seen:
            record = records.get(hit.token)
            name = f"{run_text(run_id)} attempt {hit.attempt} token {hit.token}"
            if record is None:
                yield f"I4: {name} hit and left no record"
            elif evidence.buried.get(record.worker, hit.at_s) < hit.at_s:
                yield f"I4: {name} hit after its worker was declared dead"
            elif record.outcome.kind is OutcomeKind.SUCCEEDED and any(one.token > hit.token for one in seen):
                yield f"I4: {name} succeeded, and was followed by another hit"
            elif record.outcome.kind is OutcomeKind.LOST and not _hit_troubled(evidence, hit):
                yield f"I4: {name} was lost though nothing was wrong"


def _hit_troubled(evidence: Evidence, hit: Hit) -> bool:
    return any(
        one.process in ("", hit.process) and one.from_s - _AFTER_S <= hit.at_s <= one.to_s + _BEFORE_S
        for one in evidence.troubles
    )


def _in_order(evidence: Evidence, hits: dict[RunId, list[Hit]]) -> Iterator[str]:
    """Nothing early, times in order, tokens and attempts that only grow."""
    for run in evidence.runs:
        name = run_text(run.id)
        seen = hits.get(run.id, [])
        if seen and run.kind is RunKind.SCHEDULED and seen[0].store_ms + EARLY_MS < run.scheduled_ms:
            yield f"I5: {name} hit {run.scheduled_ms - seen[0].store_ms} ms before its scheduled time"
        ended = run.state in (RunState.SUCCEEDED, RunState.FAILED)
        if ended and seen and seen[-1].token == _last_token(run) and seen[-1].store_ms + EARLY_MS < run.due_ms:
            yield f"I5: {name} hit {run.due_ms - seen[-1].store_ms} ms before it was due"
        times = [run.claimed_ms, run.started_ms, run.finished_ms]
        known = [at_ms for at_ms in times if at_ms is not None]
        if known != sorted(known):
            yield f"I8: the times of {name} are out of order: {times}"
        tokens = [attempt.token for attempt in run.attempts]
        if tokens != sorted(set(tokens)):
            yield f"I7: the tokens of {name} do not grow: {tokens}"


def _scheduled_ms(run: Run) -> int:
    return run.scheduled_ms


def _last_token(run: Run) -> int | None:
    return run.attempts[-1].token if run.attempts else None


def _limits(evidence: Evidence, runs: dict[RunId, Run]) -> Iterator[str]:
    """Never more at once than the overlap policy and the concurrency limit of a job allow, but for attempts that were lost."""
    exclusive: defaultdict[JobId, list[Hit]] = defaultdict(list)
    limited: defaultdict[tuple[JobId, int], list[Hit]] = defaultdict(list)
    for hit in evidence.hits:
        run = runs.get(hit.run_id)
        if run is None or run.job_id is None or run.version is None or hit.run_id in evidence.journal.forced:
            continue
        if _given_up(run, hit.token):
            continue
        definition = evidence.journal.definitions[run.job_id, run.version]
        if definition.overlap is not Overlap.ALLOW:
            exclusive[run.job_id].append(hit)
        if definition.execution.concurrency is not None:
            limited[run.job_id, definition.execution.concurrency.limit].append(hit)
    for job_id, found in exclusive.items():
        if _most_at_once(found) > 1:
            yield f"I9: {job_text(job_id)} overlapped itself"
    for (job_id, limit), found in limited.items():
        if _most_at_once(found) > limit:
            yield f"I9: {job_text(job_id)} had {_most_at_once(found)} runs under way, of {limit}"


def _given_up(run: Run, token: int) -> bool:
    """Whether others took an attempt for ended while it may have gone on: it was lost, or ended in its worker's place."""
    record: Attempt | None = next((one for one in run.attempts if one.token == token), None)
    return record is None or record.outcome.kind is OutcomeKind.LOST or record.started_ms is None


def _most_at_once(hits: list[Hit]) -> int:
    moments = sorted([(hit.until_s, -1) for hit in hits] + [(hit.at_s, 1) for hit in hits])
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most


def _at_rest(evidence: Evidence) -> Iterator[str]:
    for name, rows in evidence.left_behind.items():
        if rows:
            yield f"I10: {rows} {name} are left"


def _final(evidence: Evidence, runs: dict[RunId, Run]) -> Iterator[str]:
    for glimpse in evidence.glimpses:
        for run_id, seen in glimpse.items():
            if runs.get(run_id) != seen:
                yield f"I6: {run_text(run_id)} changed after its end"
