"""The invariants of the product, over what a simulation left: each finding is told with the invariant that it breaks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from dueline.domain.ids import RunId, run_text
from dueline.domain.run import OutcomeKind, Run
from dueline.domain.states import TERMINAL, RunKind, RunState
from tests.simulation.evidence import Evidence
from tests.simulation.journal import CHANGES, Deed, Told
from tests.simulation.keys import keys_kept
from tests.simulation.limits import limits_kept
from tests.simulation.missing import occurrences_kept
from tests.simulation.target import Hit

EARLY_MS = 5
"""What clocks may differ by."""
_BEFORE_S, _AFTER_S = 20.0, 60.0
"""How long before and after a hit a trouble may have been that explains why it was lost: a lease, and the longest wait for a process to
return."""
_DONE = (*CHANGES, Deed.CREATE, Deed.RUN, Deed.ENQUEUE, Deed.UNIQUE, Deed.LIMIT, Deed.QUOTAS)
"""What does something if it is acknowledged."""


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
        *occurrences_kept(evidence),
        *_asked_for(evidence),
        *_hits_explained(evidence, runs, hits),
        *_in_order(evidence, hits),
        *limits_kept(evidence, runs),
        *keys_kept(evidence, runs, hits),
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
        if operation.deed in _DONE and not operation.effects and not operation.idle:
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
            elif evidence.owners.buried.get(record.worker, hit.at_s) < hit.at_s:
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
        if seen and run.kind is RunKind.SCHEDULED and seen[0].believed_ms + EARLY_MS < run.scheduled_ms:
            yield f"I5: {name} hit {run.scheduled_ms - seen[0].believed_ms} ms before its scheduled time"
        ended = run.state in (RunState.SUCCEEDED, RunState.FAILED)
        if ended and seen and seen[-1].token == _last_token(run) and seen[-1].believed_ms + EARLY_MS < run.due_ms:
            yield f"I5: {name} hit {run.due_ms - seen[-1].believed_ms} ms before it was due"
        times = [run.claimed_ms, run.started_ms, run.finished_ms]
        known = [at_ms for at_ms in times if at_ms is not None]
        if known != sorted(known):
            yield f"I8: the times of {name} are out of order: {times}"
        tokens = [attempt.token for attempt in run.attempts]
        if tokens != sorted(set(tokens)):
            yield f"I7: the tokens of {name} do not grow: {tokens}"


def _last_token(run: Run) -> int | None:
    return run.attempts[-1].token if run.attempts else None


def _at_rest(evidence: Evidence) -> Iterator[str]:
    for name, rows in evidence.left_behind.items():
        if rows:
            yield f"I10: {rows} {name} are left"


def _final(evidence: Evidence, runs: dict[RunId, Run]) -> Iterator[str]:
    for glimpse in evidence.glimpses:
        for run_id, seen in glimpse.items():
            if runs.get(run_id) != seen:
                yield f"I6: {run_text(run_id)} changed after its end"
