"""python -m bench [NAME …]: measure, show, and write `latest.json` and `latest.svg` in `bench/results`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from bench import dispatch, drains, peers, transactions
from bench.databases import close_shared
from bench.picture import draw
from bench.report import Result, show, write
from bench.surfaces import bulk, pages, single
from bench.timing import burdens, bursts, fire, idle, many


class Scenario(Protocol):
    def __call__(self, *, quick: bool) -> Awaitable[list[Result]]: ...


SCENARIOS: dict[str, Scenario] = {
    "drain_noop_pg": drains.noop_pg,
    "drain_task_pg": drains.task_pg,
    "drain_http_pg": drains.http_pg,
    "drain_noop_sqlite": drains.noop_sqlite,
    "drain_http_sqlite": drains.http_sqlite,
    "enqueue_bulk_pg": drains.enqueue_pg,
    "dispatch_limits_pg": dispatch.limits_pg,
    "dispatch_held_pg": dispatch.held_pg,
    "dispatch_shares_pg": dispatch.shares_pg,
    "dispatch_quiet_pg": dispatch.quiet_pg,
    "dispatch_commit_pg": transactions.commit_pg,
    "fire_http_pg": fire.http_pg,
    "burst_10k_task": bursts.at_once_10k,
    "burst_10k_http": bursts.at_once_10k,
    "burst_100k": bursts.task_100k,
    "backlog_1m": burdens.backlog_1m,
    "held_snapshot": burdens.held_snapshot,
    "api_create": single.api_calls,
    "api_get": single.api_calls,
    "api_bulk": bulk.api_bulk,
    "api_pages": pages.api_pages,
    "latency_idle": idle.latency,
    "idle_cpu": idle.cpu,
    "schedules_10m": many.schedules_10m,
}
LONG = {"api_pages", "held_snapshot", "schedules_10m"}
"""Those that take many minutes by themselves: they are measured when they are asked for."""
NOT_QUICK = LONG | {
    "dispatch_held_pg",
    "dispatch_shares_pg",
    "dispatch_quiet_pg",
    "dispatch_commit_pg",
    "burst_10k_task",
    "burst_10k_http",
    "burst_100k",
    "backlog_1m",
}
"""Those that a quick run leaves out unless they are asked for: each takes some ten seconds, however few runs it has."""


def main() -> int:
    quick = os.environ.get("QUICK", "") not in ("", "0")
    asked = [name for name in os.environ.get("ONLY", "").split(",") if name]
    left_out = NOT_QUICK if quick else LONG
    names = asked or [name for name in SCENARIOS if name not in left_out]
    unknown = set(names) - SCENARIOS.keys()
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    if quick:
        print(
            "Quick: this shows that everything works; its figures mean nothing. Of the peers only one takes part, in drain_task_pg."
        )
    if not asked:
        print(f"Left out unless asked for by ONLY: {', '.join(name for name in SCENARIOS if name in left_out)}.")
    results: list[Result] = []
    began_s = time.monotonic()
    try:
        # Some have two names, as they have two results.
        for scenario in dict.fromkeys(SCENARIOS[name] for name in names):
            scenario_began_s = time.monotonic()
            found = asyncio.run(_run(scenario, quick=quick))
            for result in found:
                show(result)
            print(f"  took {time.monotonic() - scenario_began_s:.0f} s", flush=True)
            results += found
    finally:
        close_shared()
    print(f"{len(results)} results in {time.monotonic() - began_s:.0f} s")
    absent = peers.absent()
    for name, reason in absent.items():
        print(f"  absent: {name}: {reason}")
    write(results, quick=quick, versions=peers.versions(), absent=absent)
    draw(results)
    return 0 if all(result.holds for result in results) else 1


async def _run(scenario: Callable[..., Awaitable[list[Result]]], *, quick: bool) -> list[Result]:
    return await scenario(quick=quick)


sys.exit(main())
