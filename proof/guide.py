"""python -m proof.guide: the table of the guarantees, written anew from the verdicts of the scenarios that were played last."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from proof import records
from proof.checker.verdict import Verdict
from proof.scenarios import ALL
from proof.scene import RESULTS, Plan

GUIDE = Path(__file__).parents[1] / "docs" / "operating" / "guarantees.md"
BEGIN = "<!-- scenarios: by make guarantees -->\n"
END = "<!-- end of scenarios: by make guarantees -->\n"
HEAD = """\
| scenario | on | promises | calls | called again | lag p95, ms | … during it, ms | all started after, s | on time again after, s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""
COLUMNS = ("hits", "second_hits", "lag_p95_outside_ms", "lag_p95_inside_ms", "failover_s", "recovery_s")


def main() -> int:
    plans = [plan for plan in ALL if not plan.breaks]
    found = [(plan, verdict) for plan in plans if (verdict := _verdict(RESULTS / plan.name)) is not None]
    if not found:
        print("nothing was found yet: make faults", file=sys.stderr)
        return 1
    before, _, rest = GUIDE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    GUIDE.write_text(before + BEGIN + "\n" + table(found) + "\n" + END + after)
    print(f"{GUIDE.name}: {len(found)} of {len(plans)} scenarios")
    return 0


def table(found: list[tuple[Plan, Verdict]]) -> str:
    return HEAD + "".join(f"| {' | '.join(_cells(plan, verdict))} |\n" for plan, verdict in found)


def _cells(plan: Plan, verdict: Verdict) -> Iterator[str]:
    yield plan.tells
    yield verdict.store
    yield "hold" if not verdict.broken else f"broken: {', '.join(verdict.broken)}"
    for name in COLUMNS:
        figure = verdict.figures.get(name)
        yield "" if figure is None else f"{figure:,.0f}" if figure >= 10 else f"{figure:.2f}".removesuffix(".00")


def _verdict(folder: Path) -> Verdict | None:
    path = folder / records.VERDICT
    return msgspec.json.decode(path.read_bytes(), type=Verdict) if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
