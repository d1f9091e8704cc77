"""Whether something grows: every figure over time, the slope of each, and how much of one is allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from statistics import median

import msgspec

from proof.soak.records import Sample

HOUR_S = 3_600.0
WARM_UP = 0.2
"""The part of a series that does not count: caches fill, tables find their size."""
COVERED = 0.5
"""Of less than this part of the soak no slope is judged. A process that was started after a kill begins a series of its own."""
JUDGED_S_MIN = 600.0
"""Nor of less than this: what PostgreSQL cleans up it looks at once a minute, and a table finds its size over several of these."""
POINTS_MIN = 10
MB = 1_000_000.0
KEPT = {"history": "rows all", "changes": "rows all", "jobs": "jobs all", "job_tags": "jobs all", "plans": "jobs all"}
"""What is kept on purpose, as long as the settings say or until somebody deletes it: its size counts for each of what is kept, by these
figures. Finished runs stay for a day at least, so no soak sees them go, and what listeners are told of them for an hour."""


class Limit(msgspec.Struct, frozen=True):
    """What a figure may grow by in an hour: a share of its level, or so much whatever its level. It grows if it does so in each part of
    the time.
    """

    share: float
    least: float
    parts: int = 2


LIMITS = {
    # At thousands of runs a second, two bytes that are lost with each of them are more. A process keeps what its highest peak took, and
    # every accident may bring a higher one: what leaks does so in the minutes between them as well.
    "memory": Limit(0.1, 10 * MB, parts=3),
    "descriptors": Limit(0.05, 2.0),
    "connections": Limit(0.05, 2.0),
    "table": Limit(0.05, 2 * MB),
    "index": Limit(0.05, 2 * MB),
    "kept": Limit(0.05, 5.0),
    "overdue": Limit(0.05, 1_000.0),
}
"""By the first word of a figure's name; what is not here is told, and not judged."""

Series = list[tuple[float, float]]
"""Seconds and values, in the order of time."""


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    level: float
    per_hour: float
    allowed: float | None
    """None where it is not judged."""
    least: float
    most: float

    @property
    def grows(self) -> bool:
        return self.allowed is not None and self.per_hour > self.allowed


def series_of(samples: Iterable[Sample]) -> dict[str, Series]:
    """By name. Tables that keep things on purpose are told, with their indexes, as bytes for each of what is kept."""
    found: dict[str, Series] = defaultdict(list)
    for sample in samples:
        kept_bytes: dict[str, float] = defaultdict(float)
        for name, value in sample.values.items():
            kind, _, relation = name.partition(" ")
            keeper = _keeper(relation) if kind in ("table", "index") else None
            if keeper is None:
                found[name].append((sample.at_s, value))
            else:
                kept_bytes[keeper] += value
        for keeper, size in kept_bytes.items():
            if rows := sample.values.get(KEPT[keeper]):
                found[f"kept {keeper}"].append((sample.at_s, size / rows))
    return dict(found)


def _keeper(relation: str) -> str | None:
    """The table that keeps things on purpose to which a partition or an index belongs. How far history was swept is told elsewhere."""
    if relation.startswith("history_sweeps"):
        return None
    return next((name for name in KEPT if relation == name or relation.startswith(f"{name}_")), None)


def with_rows(samples: Iterable[Sample], *, rate: float, began_s: float) -> list[Sample]:
    """The same with how many runs have ended: all that were due but those that still wait. To count them would take longer and longer."""
    return [
        Sample(
            sample.at_s,
            sample.values | {"rows all": max(0.0, (sample.at_s - began_s) * rate - sample.values["overdue runs"])},
        )
        if "overdue runs" in sample.values
        else sample
        for sample in samples
    ]


def trends(series: Mapping[str, Series], *, lasted_s: float) -> list[Trend]:
    """Of every series that is long enough to tell anything, by name."""
    return [_trend(name, points, lasted_s) for name, points in sorted(series.items()) if len(points) >= POINTS_MIN]


def _trend(name: str, points: Series, lasted_s: float) -> Trend:
    since_s, until_s = points[0][0], points[-1][0]
    settled = [point for point in points if point[0] >= since_s + (until_s - since_s) * WARM_UP]
    values = [value for _, value in settled]
    level = median(values)
    limit = LIMITS.get(name.partition(" ")[0])
    parts = 2 if limit is None else limit.parts
    judged = limit is not None and until_s - since_s >= max(lasted_s * COVERED, JUDGED_S_MIN)
    return Trend(
        name=name,
        level=level,
        per_hour=_steady_slope(settled, parts) * HOUR_S,
        allowed=max(limit.share * level, limit.least) if limit is not None and judged else None,
        least=min(values),
        most=max(values),
    )


def _steady_slope(points: Series, parts: int) -> float:
    """The least slope of all of it and of each part: what grows does so all the time, and what found another level does not."""
    cuts = [len(points) * cut // parts for cut in range(parts + 1)]
    pieces = [points[first:end] for first, end in pairwise(cuts)]
    return min((theil_sen(piece) for piece in (points, *pieces)), key=abs)


def theil_sen(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs: what happens for a moment does not move it, however far it goes."""
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x2 > x1]
    return median(slopes) if slopes else 0.0
