"""A frame of `dueline top`: what is shown of an overview, in lines that fit."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.text import Text

from dueline.cli.findings import span
from dueline.cli.output import job_label
from dueline.cli.overview import Overview
from dueline.cli.tables import table_of

COUNT_TOLD_S = 5.0
"""From here on the age of the count is told: it is older than anybody would think."""
_BAR_LETTERS = 10
_HEAD_LINES = 4
_TABLES = 3
_LINES_BETWEEN = 2
"""Each table has a heading, and an empty line before it."""
_TIMES = ("HEARD", "FAILED")
_LEAST = {"ERROR": 24}
"""A row is a line here, so that what went wrong needs the room for a few words."""


class Rows(NamedTuple):
    """The headings of a table, what stands under them, and which of its columns go first where there is little room."""

    headings: list[str]
    rows: list[list[Any]]
    spare: list[str]


def frame_lines(
    overview: Overview,
    *,
    title: str,
    trouble: str,
    columns: int,
    lines: int | None,
    colour: bool,
    now_ms: int | None = None,
) -> list[str]:
    """The frame. Without `lines` everything is shown; with them each table is cut to its share, and says how much is left out. Times are
    short where it is known what time it is."""
    console = Console(file=io.StringIO(), width=columns, force_terminal=colour, no_color=not colour, highlight=False)
    tables = [_queues(overview), _workers(overview), _failures(overview)]
    rows = _shares([len(table.rows) for table in tables], lines)
    parts: list[RenderableType] = [Text(title, style="bold")]
    parts += [Text(line) for line in _summary(overview)]
    parts.append(Text(trouble, style="red"))
    parts += [_table(table, shown, columns, now_ms) for table, shown in zip(tables, rows, strict=True)]
    for number, part in enumerate(parts):
        if number >= _HEAD_LINES:
            console.print()
        console.print(part, no_wrap=True, overflow="ellipsis")
    assert isinstance(console.file, io.StringIO), "it was given one above"
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def _summary(overview: Overview) -> list[str]:
    workers = [worker for worker in overview.workers if worker["role"] != "scheduler" and worker["state"] != "expired"]
    states = {worker["state"] for worker in overview.workers}
    counted = ", ".join(
        f"{sum(worker['state'] == state for worker in overview.workers)} {state}" for state in sorted(states)
    )
    slots, busy = (sum(worker[name] for worker in workers) for name in ("slots", "busy"))
    ready, running = (sum(queue[name] for queue in overview.queues) for name in ("ready", "running"))
    rate = sum(queue["rate"] for queue in overview.queues)
    lag_s = max((queue["oldest_age_s"] or 0.0 for queue in overview.queues), default=0.0)
    age = f"  (counted {span(overview.counted_s)} ago)" if overview.counted_s >= COUNT_TOLD_S else ""
    return [
        f"Processes: {counted or 'none'}   slots busy: {busy:,} of {slots:,}",
        f"Ready: {ready:,}   running: {running:,}   rate: {rate:,.1f}/s   lag: {span(lag_s)}{age}",
    ]


def _queues(overview: Overview) -> Rows:
    """Those with most to do first."""
    ordered = sorted(overview.queues, key=lambda queue: (-queue["ready"] - queue["running"], queue["name"]))
    headings = ["QUEUE", "STATE", "READY", "RUNNING", "WAITING", "HELD", "RATE", "LAG", "WORKERS"]
    rows = [
        [
            queue["name"],
            "paused" if queue["paused"] else "active",
            *(f"{queue[name]:,}" for name in ("ready", "running", "waiting", "held")),
            f"{queue['rate']:,.1f}/s",
            None if queue["oldest_age_s"] is None else span(queue["oldest_age_s"]),
            f"{queue['workers']:,}",
        ]
        for queue in ordered
    ]
    return Rows(headings, rows, spare=["HELD", "WAITING", "WORKERS", "RATE"])


def _workers(overview: Overview) -> Rows:
    """Those in trouble first, then those with most to do."""
    ordered = sorted(overview.workers, key=lambda worker: (worker["state"] == "alive", -worker["busy"], worker["id"]))
    headings = ["PROCESS", "STATE", "ROLE", "LOAD", "BUSY", "QUEUES", "HEARD"]
    rows = [
        [
            f"{worker['host']}:{worker['pid']}",
            worker["state"],
            worker["role"],
            _bar(worker["busy"], worker["slots"]),
            f"{worker['busy']:,}/{worker['slots']:,}",
            " ".join(worker["queues"]) or "all",
            worker["beat_at"],
        ]
        for worker in ordered
    ]
    return Rows(headings, rows, spare=["ROLE", "LOAD", "HEARD"])


def _failures(overview: Overview) -> Rows:
    headings = ["FAILED", "ERROR", "QUEUE", "ATTEMPT", "RUN", "JOB"]
    rows = [
        [
            run["finished_at"],
            run["error"] or run["reason"],
            *(run[name] for name in ("queue", "attempt", "id")),
            job_label(run),
        ]
        for run in overview.failures
    ]
    return Rows(headings, rows, spare=["ATTEMPT", "QUEUE", "JOB", "RUN", "FAILED"])


def _bar(busy: int, slots: int) -> str:
    """How much of the slots is busy. One run shows."""
    filled = min(-(-busy * _BAR_LETTERS // slots), _BAR_LETTERS) if slots else 0
    return "█" * filled + "░" * (_BAR_LETTERS - filled)


def _shares(wanted: Sequence[int], lines: int | None) -> list[int]:
    """How many rows of each table are shown. Those who want less than their share leave the rest to the others."""
    if lines is None:
        return list(wanted)
    left = max(lines - _HEAD_LINES - _TABLES * _LINES_BETWEEN, 0)
    shares = [0] * len(wanted)
    for place, number in enumerate(sorted(range(len(wanted)), key=lambda number: wanted[number])):
        shares[number] = min(wanted[number], left // (len(wanted) - place))
        left -= shares[number]
    return shares


def _table(one: Rows, shown: int, width: int, now_ms: int | None) -> RenderableType:
    headings, rows, spare = one
    cut = len(rows) > shown
    kept = rows[: max(shown - 1, 0) if cut else shown]
    table = table_of(
        headings,
        kept,
        uncut=[name for name in headings if name == "RUN"],
        spare=spare,
        times=[name for name in headings if name in _TIMES],
        least=_LEAST,
        width=width,
        now_ms=now_ms,
        header_style="bold reverse",
    )
    return Group(table, Text(f"… {len(rows) - len(kept)} more", style="dim")) if cut and shown else table
