"""The scheduler: finds what is due soon, decides its occurrences, writes the runs and moves the schedules.

Runs are written up to a second ahead of their due time and wait in the workers' hands for their millisecond, so that a due
second costs no search and a burst is spread over the second before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dueline.domain import limits
from dueline.domain.firetimes import compile_schedule
from dueline.domain.firing import make_runs
from dueline.domain.ids import job_text
from dueline.domain.job import JobVersion
from dueline.domain.planning import plan
from dueline.domain.run import first_token
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.shards import ShardKeeper
from dueline.runtime.log import get_log
from dueline.store.protocol import PlanStore
from dueline.store.shapes import DuePlan, Firing

log = get_log(__name__)

_OVERLAP_MS = 60_000
"""How far a scan reaches back behind the last complete one. Below that nothing can be due but by a clock set back."""
_FULL_SCANS_S = 10.0
"""How often a scan has no lower bound at all: the truth behind the shortcut."""


class Scheduler:
    def __init__(
        self,
        store: PlanStore,
        membership: Membership,
        shards: ShardKeeper,
        definitions: Definitions,
        *,
        fenced: Callable[[int], None],
    ) -> None:
        self._store = store
        self._membership = membership
        self._shards = shards
        self._definitions = definitions
        self._fenced = fenced
        self._scanned_ms = 0
        self._full_after_ms = 0

    async def step(self) -> float:
        """One page of due plans, at once followed by the next until none is left.

        Without a trusted lease it does nothing: another may be firing already.
        """
        if not self._membership.trusted or not self._shards.epochs:
            return limits.POLL_S
        epochs = dict(self._shards.epochs)
        now_ms = self._membership.time.now_ms()
        full = now_ms >= self._full_after_ms
        since_ms = 0 if full else self._scanned_ms - _OVERLAP_MS
        until_ms = now_ms + limits.AHEAD_MS
        due = await self._store.due_plans(epochs, since_ms=since_ms, until_ms=until_ms, limit=limits.FIRE_BATCH)
        if due:
            fired = await self._fire(due, epochs, now_ms=now_ms, until_ms=until_ms)
            return 0.0 if fired else limits.POLL_S
        self._scanned_ms = now_ms
        if full:
            self._full_after_ms = now_ms + int(_FULL_SCANS_S * 1000)
        return limits.POLL_S

    def scan_everything(self) -> None:
        """Shards were taken: what their last owner left behind may be overdue by any time."""
        self._full_after_ms = 0

    async def _fire(self, due: Sequence[DuePlan], epochs: dict[int, int], *, now_ms: int, until_ms: int) -> int:
        versions = await self._definitions.load({(plan.job_id, plan.version) for plan in due})
        firings = []
        for planned in due:
            version = versions.get((planned.job_id, planned.version))
            if version is None or version.definition.schedule is None:
                # It cannot be, and must not keep the others from firing.
                log.error("plan without a schedule", job_id=job_text(planned.job_id), version=planned.version)
                continue
            firings.append(make_firing(planned, version, now_ms=now_ms, until_ms=until_ms))
        if not self._membership.trusted:
            return 0
        fired = await self._store.fire(firings, epochs)
        if len(fired) < len(firings):
            # Either the job was changed under our hands, or the shard is no longer ours; the keeper will tell.
            self._fenced(len(firings) - len(fired))
        return len(fired)


def make_firing(planned: DuePlan, version: JobVersion, *, now_ms: int, until_ms: int) -> Firing:
    """What to write for one due plan."""
    definition = version.definition
    assert definition.schedule is not None, "a plan stands for a schedule"
    times = compile_schedule(definition.schedule)
    decided = plan(times, definition.misfire, next_ms=planned.next_ms, now_ms=now_ms, until_ms=until_ms)
    runs = make_runs(version, decided, now_ms=now_ms, token=first_token(planned.generation))
    return Firing(planned.job_id, planned.shard, planned.generation, planned.next_ms, decided.next_ms, runs)
