"""python -m proof [SCENARIO …]: hurt real processes, one scenario after the other, and judge each; all of them without a name.

`SEED` repeats what chance decided in an earlier run. The last line is all of it as JSON, which is also in `results/latest.json`.
"""

from __future__ import annotations

import os
import sys
import time

import msgspec

from proof.checker.verdict import Verdict
from proof.scenarios import ALL
from proof.scene import RESULTS, Plan, play

WIDTH = max(len(plan.name) for plan in ALL)
COLUMNS = (
    "hits",
    "second_hits",
    "lag_p95_outside_ms",
    "lag_p95_inside_ms",
    "failover_s",
    "recovery_s",
    "drain_slower_percent",
)


def main(names: list[str]) -> int:
    plans = {plan.name: plan for plan in ALL}
    unknown = set(names) - plans.keys()
    if unknown:
        print(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(plans)}", file=sys.stderr)
        return 2
    seed = int(os.environ.get("SEED") or time.time_ns() % 1_000_000)
    print(f"seed {seed}", flush=True)
    verdicts: list[Verdict] = []
    unmet: list[str] = []
    skipped: dict[str, str] = {}
    for name in names or plans:
        if (reason := plans[name].why_not()) is not None:
            skipped[name] = reason
            print(f"{name:{WIDTH}} skipped: {reason}", flush=True)
            continue
        began_s = time.monotonic()
        try:
            verdict = play(plans[name], seed)
        except Exception as error:  # reason: a scenario that could not be played must not hide what the others find.
            unmet.append(name)
            print(f"{name:{WIDTH}} could not be played: {error!r}", flush=True)
            continue
        verdicts.append(verdict)
        if not plans[name].is_met_by(verdict):
            unmet.append(name)
        print(_line(plans[name], verdict, time.monotonic() - began_s), flush=True)
    print(_table(verdicts))
    told = {"seed": seed, "unmet": unmet, "skipped": skipped, "scenarios": [_figures(verdict) for verdict in verdicts]}
    (RESULTS / "latest.json").write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2))
    print(msgspec.json.encode(told).decode())
    return 1 if unmet else 0


def _line(plan: Plan, verdict: Verdict, took_s: float) -> str:
    if plan.breaks:
        found = (
            f"found {', '.join(verdict.broken)}" if plan.is_met_by(verdict) else f"NOT FOUND: {', '.join(plan.breaks)}"
        )
        return f"{verdict.scenario:{WIDTH}} {found} {took_s:4.0f} s"
    mark = "green" if verdict.is_green else "RED"
    problems = [f"{finding.invariant}: {finding.violations[0]}" for finding in verdict.findings if finding.violations]
    return "\n    ".join([f"{verdict.scenario:{WIDTH}} {mark:6} {took_s:4.0f} s", *problems, *verdict.missed])


def _table(verdicts: list[Verdict]) -> str:
    lines = ["", " ".join([f"{'scenario':{WIDTH}}", *(f"{name:>20}" for name in COLUMNS)])]
    for verdict in verdicts:
        cells = (f"{verdict.figures[name]:>20,.10g}" if name in verdict.figures else f"{'-':>20}" for name in COLUMNS)
        lines.append(" ".join([f"{verdict.scenario:{WIDTH}}", *cells]))
    return "\n".join(lines)


def _figures(verdict: Verdict) -> dict[str, object]:
    return {
        "scenario": verdict.scenario,
        "store": verdict.store,
        "green": verdict.is_green,
        "broken": verdict.broken,
        "missed": verdict.missed,
        "figures": verdict.figures,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
