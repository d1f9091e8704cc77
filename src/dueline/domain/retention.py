"""How long finished runs are kept: all of them for so many days, those of a tenant for fewer if its quota says so, and those of a job for
less time if it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from dueline.domain.durations import DAY_MS
from dueline.domain.ids import RunId, first_id_at, id_ms


class Sweep(msgspec.Struct, frozen=True):
    """Runs that ended from one instant to before another are to be forgotten: those of some tenants, or without any everyone's."""

    tenants: tuple[str, ...]
    from_ms: int
    to_ms: int


EVERYONE = ""
"""In place of a tenant's name, where it is told up to when the runs of all are gone."""


def sweep_of_all(*, keep_days: int, now_ms: int) -> Sweep:
    return Sweep((), 0, now_ms - keep_days * DAY_MS)


def sweeps_of_tenants(
    days: Mapping[str, int], swept_ms: Mapping[str, int], *, keep_days: int, now_ms: int
) -> list[Sweep]:
    """What the tenants' own days add to that. `swept_ms` is up to when each was swept before: what ended earlier is not looked at again.

    Tenants with the same days are swept together, once they are at the same instant: all runs of a time are looked at for each sweep.
    """
    groups = defaultdict(list)
    kept_ms = sweep_of_all(keep_days=keep_days, now_ms=now_ms).to_ms
    for tenant, kept_days in sorted(days.items()):
        span = max(swept_ms.get(tenant, 0), kept_ms), now_ms - kept_days * DAY_MS
        if span[0] < span[1]:
            groups[span].append(tenant)
    return [Sweep(tuple(tenants), *span) for span, tenants in groups.items()]


LOOK_MS = 3_600_000
"""How long a job is left alone at least after its finished runs were looked at: as often as what is too old is looked for at all."""
_FIRST_ID = bytes(16)


class KeptRun(msgspec.Struct, frozen=True):
    """A finished run of a job, as far as it matters how long it is kept."""

    tenant: str
    id: RunId
    finished_ms: int


class JobLook(msgspec.Struct, frozen=True, kw_only=True):
    """A look at the finished runs of a job that keeps them for so long, from behind one of them on.

    They are looked at in the order of what they were scheduled for, which is that of their ids. None ends much before that; but some end
    much later, those that were backfilled or redriven, and they stay in the way of others.
    """

    keep_ms: int
    after_id: bytes | None
    now_ms: int

    @property
    def cut_ms(self) -> int:
        """What ended before it is too old."""
        return self.now_ms - self.keep_ms

    @property
    def bounds(self) -> tuple[bytes, bytes]:
        """The id that is not looked at any more, and the one that is not looked at yet."""
        return self.after_id or _FIRST_ID, first_id_at(self.cut_ms)

    def too_old(self, runs: Sequence[KeptRun]) -> list[KeptRun]:
        return [run for run in runs if run.finished_ms < self.cut_ms]

    def next_ms(self, first_id: bytes | None) -> int:
        """When some may be too old again, `first_id` being the first that is left. What has not ended yet has all its time to come."""
        first_ms = self.now_ms if first_id is None else min(id_ms(first_id), self.now_ms)
        return max(first_ms + self.keep_ms, self.now_ms + LOOK_MS)
