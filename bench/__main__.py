"""python -m bench [NAME …]: measure, show, and write `latest.json` and `latest.svg` in `bench/results`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

from bench import dispatch, transactions
from bench.picture import draw
from bench.report import Result, show, write


class Scenario(Protocol):
    def __call__(self, *, quick: bool) -> Awaitable[list[Result]]: ...


SCENARIOS: dict[str, Scenario] = {
    "dispatch_limits_pg": dispatch.limits_pg,
    "dispatch_held_pg": dispatch.held_pg,
    "dispatch_shares_pg": dispatch.shares_pg,
    "dispatch_quiet_pg": dispatch.quiet_pg,
    "dispatch_commit_pg": transactions.commit_pg,
}


def main() -> int:
    asked = os.environ.get("ONLY", "")
    names = [name for name in asked.split(",") if name] or list(SCENARIOS)
    unknown = set(names) - SCENARIOS.keys()
    if unknown:
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}", file=sys.stderr)
        return 2
    quick = os.environ.get("QUICK", "") not in ("", "0")
    results: list[Result] = []
    for name in names:
        found = asyncio.run(_run(SCENARIOS[name], quick=quick))
        for result in found:
            show(result)
        results += found
    write(results)
    draw(results)
    return 0 if all(result.holds for result in results) else 1


async def _run(scenario: Callable[..., Awaitable[list[Result]]], *, quick: bool) -> list[Result]:
    return await scenario(quick=quick)


sys.exit(main())
