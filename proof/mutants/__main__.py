"""python -m proof.mutants [MUTANT …]: break the product in one way after the other, and see who finds out; all ways without a name.

First the checks are made on a build that is not broken, where they must find nothing. The last line is all of it as JSON.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from typing import TypeVar

import msgspec

from proof.mutants.catalogue import ALL
from proof.mutants.checks import invariants_of
from proof.mutants.trying import Told, Tried, checks_of, control, hunt

AT_ONCE = 2
SAID_LETTERS = 160
T = TypeVar("T")
R = TypeVar("R")


def main(names: list[str]) -> int:
    mutants = {mutant.name: mutant for mutant in ALL}
    unknown = set(names) - mutants.keys()
    if unknown:
        print(f"no such mutant: {', '.join(sorted(unknown))}; there are {', '.join(mutants)}", file=sys.stderr)
        return 2
    chosen = [mutants[name] for name in names] or ALL
    began_s = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        controls = _each(pool, control, checks_of(chosen), _show_control)
        sound = all(one.found is None and one.trouble is None for one in controls)
        told = _each(pool, hunt, chosen, _show_mutant) if sound else []
    if not sound:
        print("the build that is not broken is not green: whatever else the checks find means nothing")
    missed = [one.name for one in told if one.is_missed]
    figures = {
        "control": controls,
        "missed": missed,
        "skipped": {one.name: one.skipped for one in told if one.skipped is not None},
        "seconds": round(time.monotonic() - began_s, 1),
        "mutants": [one.figures() for one in told],
    }
    print(_table(told))
    print(msgspec.json.encode(figures).decode())
    return 0 if sound and not missed else 1


def _each(pool: Executor, do: Callable[[T], R], of: Sequence[T], show: Callable[[R], None]) -> list[R]:
    """Do it of each, show what came of it as it comes, and answer all of it in order."""
    futures = [pool.submit(do, one) for one in of]
    for future in as_completed(futures):
        show(future.result())
    return [future.result() for future in futures]


def _show_control(tried: Tried) -> None:
    print(f"{'not broken':22} {_said(tried)}", flush=True)


def _show_mutant(told: Told) -> None:
    lines = [f"skipped: {told.skipped}"] if told.skipped else [_said(tried) for tried in told.tried]
    print(f"{told.name:22} {lines[0]}", *(f"{'':22} {line}" for line in lines[1:]), sep="\n", flush=True)


def _said(tried: Tried) -> str:
    what = tried.found or tried.trouble or "green"
    return f"{tried.seconds:5.0f} s  {tried.check}: {what[:SAID_LETTERS]}"


def _table(told: Sequence[Told]) -> str:
    lines = ["", f"{'mutant':22} {'seconds':>7}  {'found by':24} {'which says':40} what is broken"]
    for one in told:
        finder = one.finder
        seconds = sum(tried.seconds for tried in one.tried)
        by, which = ("skipped" if one.skipped else "NOT FOUND"), ""
        if finder is not None:
            by = finder.check
            which = invariants_of(finder.found or "") or _test_of(finder.found or "")
        lines.append(f"{one.name:22} {seconds:7.0f}  {by:24} {which:40} {one.tells}")
    return "\n".join(lines)


def _test_of(found: str) -> str:
    """The name of a test, without its place and its parameters."""
    return found.partition(" - ")[0].rpartition("::")[2].partition("[")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
