"""Very many jobs due at one instant, on a system that has nothing else to do, and a million jobs for later."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import msgspec

from bench.databases import shared_server
from bench.measured import Absent
from bench.ours.draining import drain_task_pg
from bench.peers import ON_POSTGRES
from bench.report import Result, summed_up
from bench.target import a_target
from bench.timing.installation import APP, Installation, a_server, an_installation, running
from bench.timing.jobs import FAR_JOBS, with_far_jobs, write_jobs
from bench.timing.lags import check_ahead, patiently, quantile, sleep_until_ms, starts_count, starts_s, wait_until
from dueline.domain.job import Execution, HttpTarget, TaskTarget
from dueline.domain.schedule import At
from tests.support.postgres import PostgresServer

_RIVAL = "pgqueuer"
_PEERS = (_RIVAL, "pg-boss", "graphile-worker")
"""Those that have delayed jobs, and are quick enough to be waited for."""
_TASKS, _CALLS = "tasks", "calls"
_MANY = 10_000
_VERY_MANY = 100_000
_OTHERS = 1_000_000
_DRAIN = 40_000
"""Runs of the drain that tells what the machine can do at this hour."""
_OF_DRAIN = 0.9
_ROUNDS = 2
_WORKERS = 2
"""As many processes as the rivals have, and as many as there are in drains."""
_WRITTEN_PER_S = 4_000
_KNOWN_S, _KNOWN_QUICK_S = 20.0, 3.0
"""How long before their time the jobs are there, and the processes too: as in any system that runs."""
_SETTLED = 0.75
"""So much of that time must be left when all is prepared: schedulers write very many ahead in it."""
_LATE_S = 60.0
"""How long the last ones are waited for. What has not come by then is late by as much."""
_TASK = TaskTarget(task="note", args={"customer": "c-123", "cents": 500})
_BODY = {"customer": "c-123", "cents": 500}


Burst = Callable[[Path, PostgresServer, int, float], Awaitable[list[float]]]
"""In a folder, on a server, so many jobs that are there so many seconds before their time: how late each was, in milliseconds."""


async def at_once_10k(*, quick: bool) -> list[Result]:
    """Python tasks, from their time to the first line of the function, and HTTP calls, to the target; the rivals have tasks only."""
    count = 1_000 if quick else _MANY
    found = await _in_turns({_TASKS: _tasks, _CALLS: _calls}, count, quick=quick, peers=() if quick else _PEERS)
    peers = {who: rounds for who, rounds in found.items() if who in _PEERS}
    wanted = "p99 at most 0.5 times PgQueuer's, none early"
    tasks = _judged("burst_10k_task", found[_TASKS], peers, count, wanted=wanted)
    calls = _judged("burst_10k_http", found[_CALLS], peers, count, wanted=f"{wanted}, p95 at most 1 s")
    return [
        _held(tasks, _half_of_pgqueuer(tasks)),
        _held(calls, _half_of_pgqueuer(calls) and calls.notes["p95 ms"] <= 1_000),
    ]


async def task_100k(*, quick: bool) -> list[Result]:
    """Ten times as many: how long until all of them have started, and whether they do as quickly as what is simply ready."""
    count = _MANY if quick else _VERY_MANY
    drained = await _drained_per_s(quick=quick)
    found = await _in_turns({_TASKS: _tasks}, count, quick=quick, rounds=1)
    wanted = f"all within 5 s, none early, at {_OF_DRAIN:g} of the rate of a drain"
    result = _judged("burst_100k", found[_TASKS], {}, count, wanted=wanted)
    rate = _rate_within(found[_TASKS][0])
    result.notes.update(
        {"runs/s, of the middle": rate, "drained a second": drained, "of what is drained": rate / drained}
    )
    return [_held(result, result.notes["worst ms"] <= 5_000 and rate >= _OF_DRAIN * drained)]


async def _drained_per_s(*, quick: bool) -> float:
    """What the machine drains at this hour, after one drain to warm up."""
    count = 3_000 if quick else _DRAIN
    server = shared_server()
    await drain_task_pg(server, count)
    return (await drain_task_pg(server, count)).rate


def _rate_within(lags_ms: Sequence[float]) -> float:
    """Starts a second once it is going, and until it runs out: without the first and the last tenth."""
    began_ms, ended_ms = quantile(lags_ms, 0.1), quantile(lags_ms, 0.9)
    return 0.8 * len(lags_ms) / (ended_ms - began_ms) * 1000


async def _in_turns(
    ours: Mapping[str, Burst], count: int, *, quick: bool, rounds: int = _ROUNDS, peers: Sequence[str] = ()
) -> dict[str, list[list[float]]]:
    """Lags of every round of everyone; those whom nothing is held against take part in the last one only."""
    rounds, known_s = (1, _KNOWN_QUICK_S) if quick else (rounds, _KNOWN_S)
    others = _MANY if quick else _OTHERS
    found: dict[str, list[list[float]]] = {name: [] for name in (*ours, *peers)}
    with a_server() as (folder, server):
        await with_far_jobs(server, others)
        for left in reversed(range(rounds)):
            for name, burst in ours.items():
                found[name].append(await patiently(folder, partial(_ahead, burst, server, count, known_s)))
            for name in [name for name in peers if name in found and (left == 0 or name == _RIVAL)]:
                try:
                    found[name].append(await ON_POSTGRES[name].burst(server, count, others))
                except Absent as absent:
                    print(f"  {name} is absent: {absent}")
                    del found[name]
    return found


async def _ahead(
    burst: Burst, server: PostgresServer, count: int, known_s: float, folder: Path, patience: float
) -> list[float]:
    return await burst(folder, server, count, known_s * patience)


async def _tasks(folder: Path, server: PostgresServer, count: int, known_s: float) -> list[float]:
    async with an_installation(server, "tasks", like=FAR_JOBS) as installation:
        with running(folder, installation.dsn) as start:
            start("scheduler")
            for _ in range(_WORKERS):
                start("worker", "--app", APP)
            at_ms = await _due_at_once(installation, Execution(target=_TASK), count, known_s)
            await wait_until(lambda: starts_count(folder) >= count, timeout_s=at_ms / 1000 - time.time() + _LATE_S)
            return [start_s * 1000 - at_ms for start_s in starts_s(folder)]


async def _calls(folder: Path, server: PostgresServer, count: int, known_s: float) -> list[float]:
    async with an_installation(server, "calls", like=FAR_JOBS) as installation:
        with a_target(folder) as target, running(folder, installation.dsn) as start:
            start("scheduler")
            for _ in range(_WORKERS):
                start("worker")
            execution = Execution(target=HttpTarget(url=target.url, body=_BODY))
            at_ms = await _due_at_once(installation, execution, count, known_s)
            await wait_until(lambda: target.count() >= count, timeout_s=at_ms / 1000 - time.time() + _LATE_S)
            return [lag.lag_ms for lag in target.lags()]


async def _due_at_once(installation: Installation, execution: Execution, count: int, known_s: float) -> int:
    """Write the jobs, and answer when they are due, a moment before that."""
    at_ms = await installation.store.now_ms() + int((count / _WRITTEN_PER_S + known_s) * 1000)
    await write_jobs(installation.store, execution, [At(at_ms=at_ms)] * count, name="burst")
    await installation.settle()
    check_ahead(at_ms - min(known_s, _KNOWN_S) * _SETTLED * 1000)
    await sleep_until_ms(at_ms - 100)
    return at_ms


def _judged(
    name: str, ours: list[list[float]], peers: Mapping[str, list[list[float]]], count: int, *, wanted: str
) -> Result:
    """The 99th percentile; what did not come at all counts as late as can be."""
    rounds = [lags_ms + [_LATE_S * 1000] * (count - len(lags_ms)) for lags_ms in ours]
    middle, spread = summed_up([quantile(lags_ms, 0.99) for lags_ms in rounds])
    together = [lag_ms for lags_ms in rounds for lag_ms in lags_ms]
    worst_ms = max(together)
    return Result(
        name=name,
        ours=middle,
        unit="ms p99",
        spread=spread,
        peers={who: median([quantile(lags_ms, 0.99) for lags_ms in theirs]) for who, theirs in peers.items()},
        wanted=wanted,
        holds=min(together) >= 0 and min(map(len, ours)) >= count,
        notes={
            "due at once": count,
            "least ms": min(together),
            "p50 ms": quantile(together, 0.50),
            "p95 ms": quantile(together, 0.95),
            "worst ms": worst_ms,
            "runs/s": count / worst_ms * 1000,
        },
    )


def _half_of_pgqueuer(result: Result) -> bool:
    return result.ours <= 0.5 * result.peers.get(_RIVAL, float("inf"))


def _held(result: Result, also: bool) -> Result:
    return msgspec.structs.replace(result, holds=result.holds and also)
