"""Very many jobs due at one instant, on a system that has nothing else to do, and a million jobs for later."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Result
from bench.timing.installation import APP, Installation, a_server, an_installation, running
from bench.timing.jobs import write_jobs, write_likenesses
from bench.timing.lags import hits, quantile, sleep_until_ms, starts_count, starts_s, wait_until
from dueline.domain.job import Execution, HttpTarget, TaskTarget
from dueline.domain.schedule import At
from tests.support.postgres import PostgresServer

_MANY = 10_000
_VERY_MANY = 100_000
_OTHERS = 1_000_000
_WRITTEN_PER_S = 8_000
_START_S = 20.0
"""From the writing of jobs to their time, so that nobody is in a hurry: a system that stands idle knows of them for so long."""
_TASK = TaskTarget(task="note", args={"customer": "c-123", "cents": 500})
_FAR_MS = 30 * 86_400_000
_TIMEOUT_S = 60.0
Arrived = Callable[[], list[float]]
"""When they started, in seconds since 1970."""


async def task_10k(*, quick: bool) -> list[Result]:
    """Python tasks: from their time to the first line of the function."""
    with a_server() as (folder, server):
        lags_ms = await _burst_of_tasks(folder, server, _MANY, others=_others(quick))
    return [_judged("burst_10k_task", lags_ms, _MANY, wanted="", most_ms=None)]


async def http_10k(*, quick: bool) -> list[Result]:
    """HTTP calls: from their time to the target."""
    with a_server() as (folder, server):
        lags_ms = await _burst_of_calls(folder, server, _MANY, others=_others(quick))
    holds = quantile(lags_ms, 0.95) <= 1_000
    result = _judged("burst_10k_http", lags_ms, _MANY, wanted="p95 at most 1 s", most_ms=None)
    return [result] if holds else [_failed(result)]


async def task_100k(*, quick: bool) -> list[Result]:
    """Ten times as many: how long until all of them have started."""
    count = _MANY if quick else _VERY_MANY
    with a_server() as (folder, server):
        lags_ms = await _burst_of_tasks(folder, server, count, others=_others(quick))
    return [_judged("burst_100k", lags_ms, count, wanted="all within 5 s", most_ms=5_000)]
