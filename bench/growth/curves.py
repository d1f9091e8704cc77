"""Curves: what something costs where there is more and more of something else, held against what is wanted of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from statistics import median

import msgspec

from bench.growth.costs import Cost
from bench.report import RESULTS, machine, summed_up

FIGURES = RESULTS.with_name("growth.json")
FLAT = 1.25
"""The highest cost, in times of the first, of what is called flat: as much as the same differs between two measurements."""
PER_DECADE = 0.25
"""What may be added to the first cost for each tenfold, in parts of it, by what is called logarithmic: an index becomes deeper, and less
of it is at hand. Over four decades that is twice the first cost."""
_BARS = "▁▂▃▄▅▆▇█"


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """`middle` is what is judged: processor time where that was measured, otherwise the figure itself."""

    at: int
    middle: float
    least: float
    most: float
    cost: Cost | None = None
    """Medians of its parts."""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One cost. With `most` it must stay below that, and may grow; otherwise it must be flat or logarithmic."""

    what: str
    unit: str
    points: tuple[Point, ...]
    most: float | None = None

    @property
    def ratio(self) -> float:
        """The highest, in times of the first."""
        return max(point.middle for point in self.points) / max(self.points[0].middle, 1e-9)

    @property
    def verdict(self) -> str:
        if self.most is not None:
            return f"within {self.most:g}" if self.holds else f"above {self.most:g}"
        if self.ratio <= FLAT:
            return "flat"
        return "logarithmic" if self.holds else "grows"

    @property
    def holds(self) -> bool:
        if self.most is not None:
            return max(point.middle for point in self.points) <= self.most
        decades = log10(self.points[-1].at / self.points[0].at)
        return self.ratio <= max(FLAT, 1 + PER_DECADE * decades)


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """All curves of one subject."""

    name: str
    of: str
    curves: tuple[Curve, ...]
    seconds: float = 0.0
    """What it took to find out."""


def curves_of(found: Mapping[int, Sequence[Mapping[str, Cost]]]) -> tuple[Curve, ...]:
    """From several rounds at every size."""
    names = next(iter(found.values()))[0].keys()
    return tuple(
        Curve(
            what=name,
            unit="µs a look" if name == "look" else "µs a run",
            points=tuple(_point(at, [one[name] for one in rounds]) for at, rounds in found.items()),
        )
        for name in names
    )


def _point(at: int, costs: Sequence[Cost]) -> Point:
    middle, (least, most) = summed_up([cost.cpu_us for cost in costs])
    parts = Cost(
        ours_us=median(cost.ours_us for cost in costs),
        server_us=median(cost.server_us for cost in costs),
        wall_us=median(cost.wall_us for cost in costs),
    )
    return Point(at=at, middle=middle, least=least, most=most, cost=parts)


def measured_curve(what: str, unit: str, values: Mapping[int, float], *, most: float | None = None) -> Curve:
    """Of figures that were taken once at every size."""
    points = tuple(Point(at=at, middle=value, least=value, most=value) for at, value in values.items())
    return Curve(what=what, unit=unit, points=points, most=most)


def show(growth: Growth) -> None:
    """One subject, as soon as it is there: a line for each cost, in microseconds of processor time unless another unit is told."""
    sizes = [point.at for point in growth.curves[0].points]
    print(f"  {growth.name}: {growth.of} ({growth.seconds:.0f} s)")
    print(" " * 34 + "".join(f"{size:>11,}" for size in sizes))
    for curve in growth.curves:
        mark = " " if curve.holds else "✗"
        values = "".join(f"{point.middle:>11,.1f}" for point in curve.points)
        print(f"{mark}   {curve.what:19} {curve.unit:10}{values}  {_bars(curve)}  {curve.ratio:.2f} {curve.verdict}")


def _bars(curve: Curve) -> str:
    most = max(point.middle for point in curve.points)
    scale = (len(_BARS) - 1) / most if most else 0
    return "".join(_BARS[round(point.middle * scale)] for point in curve.points)


def write(grown: Sequence[Growth], needs: Mapping[str, float], *, quick: bool) -> None:
    """With what is needed of memory and disk, where that was measured."""
    rows = []
    for growth in grown:
        row = msgspec.to_builtins(growth)
        for told, curve in zip(row["curves"], growth.curves, strict=True):
            told |= {"ratio": round(curve.ratio, 3), "verdict": curve.verdict, "holds": curve.holds}
        rows.append(row)
    FIGURES.parent.mkdir(exist_ok=True)
    figures = {"machine": machine(), "quick": quick, "growth": rows, "needs": dict(needs)}
    FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2))
