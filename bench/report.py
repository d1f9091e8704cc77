"""Figures as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
import timeit
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec

RESULTS = Path(__file__).with_name("results") / "latest.json"
_BAR = 30
_PLAIN = "for number in range(1_000_000): number * number % 7"


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What one contender reached, and what it cost: its own processes, and those of the database."""

    middle: float
    least: float
    most: float
    cpu_s_per_million: float = 0.0
    server_cpu_s_per_million: float = 0.0
    peak_mb: float = 0.0

    @property
    def cost(self) -> str:
        """In words; empty where nothing was measured."""
        if not self.cpu_s_per_million and not self.peak_mb:
            return ""
        return f"CPU {self.cpu_s_per_million:,.0f} + {self.server_cpu_s_per_million:,.0f} s per million, {self.peak_mb:,.0f} MB"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. `floor` is what it is compared with: the same without what is measured."""

    name: str
    ours: float
    unit: str
    floor: float | None = None
    floor_is: str = ""
    wanted: str = ""
    """What the figure must show, in words."""
    holds: bool = True
    spread: tuple[float, float] | None = None
    peers: dict[str, float] = {}
    notes: dict[str, float] = {}
    contenders: dict[str, Figures] = {}
    """All of them, in the order in which they are told."""

    @property
    def best_peer(self) -> float | None:
        """Of times the shortest, of all else the most."""
        best = min if self.unit.startswith("ms") else max
        return best(self.peers.values(), default=None)

    def told(self) -> dict[str, Figures]:
        """Everyone there is a bar for, also where nobody measured more than one figure."""
        if self.contenders:
            return self.contenders
        least, most = self.spread or (self.ours, self.ours)
        floor = {} if self.floor is None else {"floor": self.floor}
        return {
            **{who: Figures(middle=value, least=value, most=value) for who, value in floor.items()},
            "ours": Figures(middle=self.ours, least=least, most=most),
            **{who: Figures(middle=value, least=value, most=value) for who, value in self.peers.items()},
        }


def summed_up(samples: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median, and the least and the most."""
    return median(samples), (min(samples), max(samples))


def machine() -> dict[str, object]:
    """What the figures were measured on, and how long plain Python takes there: machines differ, and so do builds of one version."""
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "plain_python_s": round(min(timeit.repeat(_PLAIN, number=1, repeat=3)), 3),
    }


def write(results: Sequence[Result], *, quick: bool, versions: Mapping[str, str], absent: Mapping[str, str]) -> None:
    """With the versions of what the peers stand on, and those who did not take part, and why."""
    rows = []
    for result in results:
        row = msgspec.to_builtins(result)
        row["ratio_to_floor"] = None if not result.floor else round(result.ours / result.floor, 4)
        best = result.best_peer
        row["ratio_to_best_peer"] = None if not best else round(result.ours / best, 4)
        rows.append(row)
    RESULTS.parent.mkdir(exist_ok=True)
    figures = {"machine": machine(), "quick": quick, "versions": versions, "absent": absent, "results": rows}
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2))


def show(result: Result) -> None:
    """One result, as soon as it is there."""
    ratio = "" if not result.floor else f"  {result.ours / result.floor:.2f} of {result.floor_is}"
    mark = "  " if result.holds else "✗ "
    print(f"{mark}{result.name:28} {result.ours:>12,.2f} {result.unit:8}{ratio}")
    told = result.told()
    most = max(figures.middle for figures in told.values())
    for who, figures in told.items():
        bar = "█" * round(figures.middle / most * _BAR) if most > 0 else ""
        spread = f"{figures.least:,.0f} to {figures.most:,.0f}" if figures.least < figures.most else ""
        print(f"    {who:16} {figures.middle:>12,.2f} {bar:{_BAR}} {spread:22} {figures.cost}".rstrip())
    if result.wanted:
        print(f"  wanted: {result.wanted}")
    for name, value in result.notes.items():
        print(f"  {name}: {value:,.3f}")
