"""Occurrences: each has its run, or is told why not, and that is true; and there are no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from dueline.domain import limits
from dueline.domain.ids import JobId, job_text
from dueline.domain.run import Run
from dueline.domain.schedule import After
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState, RunKind
from tests.simulation.clocks import StoreClock
from tests.simulation.evidence import Evidence
from tests.simulation.journal import ENDS, Deed, JobEvent
from tests.simulation.link import Trouble
from tests.simulation.oracle import occurrences
from tests.simulation.owners import Owners, Tenure

_FIRES_S = 3.0
"""A scheduler that has a shard, and with which nothing is wrong, fires what is due within this time: it looks twice a second, and may
have to learn first that it has the shard, what time it is, or that the store is back."""
_STUCK_S = 75.0
"""After so long it is stuck: less than the peace before the end, and more than what it takes to come back from any trouble. It passes for
all alike, while the store's clock may be set forward by as much."""
_SEEN_S = 15.0
"""Nor without somebody who had its shard and as much peace. What it waits for may have to be found by a sweep, which others than the first
make every ten seconds."""
_UNTOUCHED_MS = 15_000
"""A job that nobody changed for so long before its end is left to itself."""


def occurrences_kept(evidence: Evidence) -> Iterator[str]:
    ran: defaultdict[JobId, dict[int, Run]] = defaultdict(dict)
    for run in evidence.runs:
        if run.kind is RunKind.SCHEDULED and run.job_id is not None:
            ran[run.job_id][run.scheduled_ms] = run
    watch = Watch(evidence.owners, evidence.clock, evidence.troubles)
    for job_id, events in evidence.journal.events.items():
        schedule = events[0].job.definition.schedule
        if isinstance(schedule, After):
            runs = sorted(ran[job_id].values(), key=_scheduled_ms)
            yield from following_kept(schedule, events, runs, evidence.clock, watch)
            continue
        demanded = set(_demanded(events))
        told = evidence.ledger.get(job_id, [])
        for at_ms in sorted(demanded - ran[job_id].keys()):
            row = next((row for row in told if row.unfired.from_ms <= at_ms <= row.unfired.to_ms), None)
            if row is None:
                yield f"I1: {job_text(job_id)} has neither a run nor a word for {at_ms}"
            elif not _was_paused(events, at_ms) and watch.had_time(events, at_ms):
                yield f"I12: {job_text(job_id)} at {at_ms} is told to be {row.unfired.verdict} {row.unfired.reason} for nothing"
        for at_ms in sorted(ran[job_id].keys() - demanded):
            run = ran[job_id][at_ms]
            if not run.attempts and run.finished_ms is not None and run.finished_ms <= at_ms:
                continue  # It was written ahead and cancelled, and its job changed after that.
            yield f"I2: {job_text(job_id)} ran for {at_ms}, which nobody demanded"


class Watch:
    """Who was there to fire for a shard, and whether anything was wrong with it."""

    def __init__(self, owners: Owners, clock: StoreClock, troubles: Sequence[Trouble]) -> None:
        self._tenures = owners.tenures
        self._buried = owners.buried
        self._reached_s = clock.reached_s
        self._troubles: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        for trouble in troubles:
            self._troubles[trouble.process].append((trouble.from_s, trouble.to_s))

    def had_time(self, events: list[JobEvent], at_ms: int) -> bool:
        """Whether somebody could have fired an occurrence before it counted as missed, or its job was paused or ended."""
        from_s = self._reached_s(at_ms - limits.AHEAD_MS)
        to_s = self._reached_s(at_ms + limits.MISFIRE_GRACE_MS)
        for event in events:
            if event.at_ms <= at_ms:
                from_s = max(from_s, event.at_s)
            elif event.deed is Deed.PAUSE or event.deed in ENDS:
                to_s = min(to_s, event.at_s)
                break
        shard = shard_of(events[0].job.id)
        return any(quiet_s >= _FIRES_S for quiet_s in self.quiet(shard, from_s, to_s))

    def quiet(self, shard: int, from_s: float, to_s: float) -> Iterator[float]:
        """How long each stretch is in which the shard was somebody's with whom nothing was wrong."""
        for tenure, following in pairwise([*self._tenures[shard], Tenure(inf, None)]):
            if tenure.owner is None:
                continue
            since_s = max(from_s, tenure.from_s)
            until_s = min(to_s, following.from_s, self._buried.get(tenure.owner, inf))
            process = tenure.owner.rsplit("-", 1)[0]
            for begins_s, ends_s in sorted([*self._troubles[""], *self._troubles[process]]):
                if begins_s >= until_s:
                    break
                yield begins_s - since_s
                since_s = max(since_s, ends_s)
            yield until_s - since_s


def following_kept(
    schedule: After, events: list[JobEvent], runs: list[Run], clock: StoreClock, watch: Watch
) -> Iterator[str]:
    """A schedule that counts from the end of its runs: none before its time, and in peace it is never stuck."""
    due_ms, name, deleted = schedule.first_ms, job_text(events[0].job.id), events[-1]
    for run in runs:
        if run.scheduled_ms < due_ms:
            yield f"I2: {name} ran for {run.scheduled_ms}, {due_ms - run.scheduled_ms} ms before its delay was over"
        due_ms = (run.finished_ms or run.scheduled_ms) + schedule.delay_ms
    in_peace = len(events) > 1 and deleted.at_ms - events[-2].at_ms > _UNTOUCHED_MS
    due_s = clock.reached_s(due_ms)
    stuck = deleted.job.state is JobState.ACTIVE and deleted.at_s - due_s > _STUCK_S
    peace_s = watch.quiet(shard_of(deleted.job.id), due_s, deleted.at_s)
    if in_peace and stuck and any(quiet_s >= _SEEN_S for quiet_s in peace_s):
        yield f"I15: {name} was to run at {due_ms}, and had not by {deleted.at_ms}"


def _demanded(events: list[JobEvent]) -> Iterator[int]:
    """The occurrences of a job, from its creation to its end, each by the schedule that was in force."""
    since_ms, schedule = events[0].at_ms, events[0].job.definition.schedule
    for event in events[1:]:
        changed = event.job.definition.schedule
        if changed != schedule or event.deed in ENDS:
            yield from occurrences(schedule, after_ms=since_ms, until_ms=event.at_ms)
            since_ms, schedule = event.at_ms, changed
        if event.deed in ENDS:
            break


def _was_paused(events: list[JobEvent], at_ms: int) -> bool:
    paused_ms = None
    for event in events:
        if event.deed is Deed.PAUSE:
            paused_ms = event.at_ms if paused_ms is None else paused_ms
        elif (event.deed is Deed.RESUME or event.deed in ENDS) and paused_ms is not None:
            if paused_ms <= at_ms <= event.at_ms:
                return True
            paused_ms = None
    return False


def _scheduled_ms(run: Run) -> int:
    return run.scheduled_ms
