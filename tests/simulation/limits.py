"""Never more under way at once than jobs, keys, queues, hosts and tenants allow, but for attempts that were given up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import inf

import msgspec

from dueline.domain.gates import Scope
from dueline.domain.ids import RunId, job_text
from dueline.domain.job import Execution
from dueline.domain.overlap import Overlap
from dueline.domain.run import Attempt, OutcomeKind, Run
from tests.simulation.evidence import Evidence
from tests.simulation.target import Hit

LEARNED_S = 35.0
"""A hit so long after a limit was set passed its gate: workers know of it within five seconds, and from passing a gate to the hit it takes
no longer than being held for a second, a slot, a call of the store, a connection, and a pause that the lease survives."""

_spec = msgspec.json.Decoder(Execution)
Crowd = tuple[str, int]
"""Who is counted together, and how many of them may be under way."""


def limits_kept(evidence: Evidence, runs: dict[RunId, Run]) -> Iterator[str]:
    crowds: defaultdict[Crowd, list[Hit]] = defaultdict(list)
    for hit in evidence.hits:
        run = runs.get(hit.run_id)
        if run is not None and not _given_up(run, hit.token):
            for crowd in (*_own(evidence, run), *_set_by_others(evidence, run, hit)):
                crowds[crowd].append(hit)
    for (name, most), hits in crowds.items():
        if most_at_once(hits) > most:
            yield f"I9: {name} had {most_at_once(hits)} runs under way, of {most}"


def _own(evidence: Evidence, run: Run) -> Iterator[Crowd]:
    """What a run's own job says. One that was forced does not ask."""
    journal = evidence.journal
    if run.id in journal.forced:
        return
    definition = None if run.job_id is None or run.version is None else journal.definitions[run.job_id, run.version]
    if run.job_id is not None and definition is not None and definition.overlap is not Overlap.ALLOW:
        yield f"{job_text(run.job_id)}, which must not overlap,", 1
    spec = journal.specs.get(run.id)
    if spec is not None:
        execution = _spec.decode(spec)
    else:
        assert definition is not None, "a run has a job, or says itself what it executes"
        execution = definition.execution
    limited = execution.concurrency
    if limited is not None and limited.key is not None:
        yield f"the key {limited.key} of {run.tenant}", limited.limit
    elif limited is not None and run.job_id is not None:
        yield job_text(run.job_id), limited.limit


def _set_by_others(evidence: Evidence, run: Run, hit: Hit) -> Iterator[Crowd]:
    """What was set for its queue, its tenant and its host when everybody knew of it."""
    for scope, name in ((Scope.QUEUE, run.queue), (Scope.TENANT, run.tenant), (Scope.HOST, hit.host)):
        events = evidence.journal.limits.get((scope, name), [])
        for number, event in enumerate(events):
            until_s = events[number + 1].at_s if number + 1 < len(events) else inf
            if event.most is not None and event.at_s + LEARNED_S <= hit.at_s < until_s:
                yield f"{scope} {name} since {event.at_s:.3f}", event.most


def _given_up(run: Run, token: int) -> bool:
    """Whether others took an attempt for ended while it may have gone on: it was lost, or ended in its worker's place."""
    record: Attempt | None = next((one for one in run.attempts if one.token == token), None)
    return record is None or record.outcome.kind is OutcomeKind.LOST or record.started_ms is None


def most_at_once(hits: list[Hit]) -> int:
    moments = sorted([(hit.until_s, -1) for hit in hits] + [(hit.at_s, 1) for hit in hits])
    most = now = 0
    for _, step in moments:
        now += step
        most = max(most, now)
    return most
