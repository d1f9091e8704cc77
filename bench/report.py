"""Figures as a table for people and as JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

RESULTS = Path(__file__).with_name("results") / "latest.json"
_BAR = 30


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


def summed_up(samples: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """The median, and the least and the most."""
    return median(samples), (min(samples), max(samples))


def write(results: Sequence[Result]) -> None:
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
    rows = []
    for result in results:
        row = msgspec.to_builtins(result)
        row["ratio_to_floor"] = None if not result.floor else round(result.ours / result.floor, 4)
        best = max(result.peers.values(), default=None)
        row["ratio_to_best_peer"] = None if not best else round(result.ours / best, 4)
        rows.append(row)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode({"machine": machine, "results": rows}), indent=2))


def show(result: Result) -> None:
    """One result, as soon as it is there."""
    ratio = (
        "" if not result.floor else f"  {result.ours / result.floor:.2f} times {result.floor:,.2f} ({result.floor_is})"
    )
    bar = "" if not result.floor else "█" * min(round(result.ours / result.floor * _BAR), 2 * _BAR)
    mark = "  " if result.holds else "✗ "
    print(f"{mark}{result.name:28} {result.ours:>12,.2f} {result.unit:8}{ratio}")
    if bar:
        print(f"  {bar}")
    if result.wanted:
        print(f"  wanted: {result.wanted}")
    for name, value in result.notes.items():
        print(f"  {name}: {value:,.3f}")
