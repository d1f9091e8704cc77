"""How long finished runs are kept: all of them for so many days, and those of a tenant for fewer if its quota says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from dueline.domain.durations import DAY_MS


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
