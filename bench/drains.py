"""Throughput: how fast runs are written, and how fast what is ready is carried out, beside the bare loops and beside others.

A quick run has one peer, in one scenario: to set up all of them takes longer than all else.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from bench.databases import shared_server
from bench.floors import contenders as floors
from bench.measured import FLOOR, OURS, Contender, Measured, beside, compared, in_turns, judged
from bench.ours import draining as ours
from bench.ours import embedded, writing
from bench.peers import CELERY, HUEY, ON_POSTGRES
from bench.report import Result
from bench.target import a_target

_BULK = 10_000
_API = "through the API"
_FULL = "the same loop in our tables"
_ONCE = ("procrastinate", CELERY.name, HUEY.name)


async def noop_pg(*, quick: bool) -> list[Result]:
    """Runs that end at once, by two workers that do all else that workers do."""
    count = 3_000 if quick else 50_000
    server = shared_server()
    contenders: dict[str, Contender] = {
        FLOOR: lambda: floors.drain_pg(server, count),
        _FULL: lambda: floors.drain_full_pg(server, count),
        OURS: lambda: ours.drain_noop_pg(server, count),
    }
    if not quick:
        contenders |= {name: partial(peer.drain_noop, server, count) for name, peer in ON_POSTGRES.items()}
        contenders[CELERY.name] = lambda: CELERY.drain_noop(count)
    found = await _measured(contenders, quick=quick, rounds=5)
    full = found.pop(_FULL)
    result = judged(compared("drain_noop_pg", found, floor_is="bare claim and finish"), of_floor=0.75, of_best_peer=1.0)
    return [msgspec.structs.replace(result, notes=result.notes | beside(found[OURS], full, _FULL))]


async def task_pg(*, quick: bool) -> list[Result]:
    """Tasks that end at once, with arguments, by two workers with an app."""
    count = 3_000 if quick else 40_000
    server = shared_server()
    contenders: dict[str, Contender] = {
        OURS: lambda: ours.drain_task_pg(server, count),
        "pgqueuer": lambda: ON_POSTGRES["pgqueuer"].drain_task(server, count),
    }
    found = await _measured(contenders, quick=quick)
    return [judged(compared("drain_task_pg", found), of_best_peer=1.3)]


async def http_pg(*, quick: bool) -> list[Result]:
    """Real POSTs to a process on this machine, by two workers."""
    count = 3_000 if quick else 40_000
    server = shared_server()
    with a_target() as called:
        contenders: dict[str, Contender] = {
            FLOOR: lambda: floors.drain_pg(server, count, url=called.url),
            OURS: lambda: ours.drain_http_pg(server, count, url=called.url),
        }
        found = await _measured(contenders, quick=quick)
    return [judged(compared("drain_http_pg", found, floor_is="bare claim, libcurl and finish"), of_floor=0.75)]


async def noop_sqlite(*, quick: bool) -> list[Result]:
    """Runs that end at once, in one file, by a `serve`."""
    count = 3_000 if quick else 30_000
    contenders: dict[str, Contender] = {
        FLOOR: lambda: floors.drain_sqlite(count),
        OURS: lambda: embedded.drain_noop_sqlite(count),
    }
    if not quick:
        contenders[HUEY.name] = lambda: HUEY.drain_noop(count)
    found = await _measured(contenders, quick=quick)
    result = compared("drain_noop_sqlite", found, floor_is="bare claim and finish, synchronous=FULL")
    return [judged(result, of_floor=0.6, of_best_peer=4.0)]


async def http_sqlite(*, quick: bool) -> list[Result]:
    """Real POSTs to a process on this machine, out of one file, by a `serve`."""
    count = 3_000 if quick else 20_000
    with a_target() as called:
        contenders: dict[str, Contender] = {
            FLOOR: lambda: floors.drain_sqlite(count, url=called.url),
            OURS: lambda: embedded.drain_http_sqlite(count, url=called.url),
        }
        found = await _measured(contenders, quick=quick)
    result = compared("drain_http_sqlite", found, floor_is="bare claim, libcurl and finish, synchronous=FULL")
    return [judged(result, of_floor=0.6)]


async def enqueue_pg(*, quick: bool) -> list[Result]:
    """Runs written by 10,000, through the store and through the API."""
    count = 20_000 if quick else 100_000
    server = shared_server()
    contenders: dict[str, Contender] = {
        FLOOR: lambda: floors.enqueue_pg(server, count, batch=_BULK),
        OURS: lambda: writing.enqueue_store_pg(server, count, batch=_BULK),
        _API: lambda: writing.enqueue_api_pg(server, count, batch=_BULK),
    }
    found = await _measured(contenders, quick=quick)
    through_api = compared("enqueue_bulk_api_pg", {OURS: found.pop(_API)}, wanted="at least 40,000 runs/s")
    return [
        judged(compared("enqueue_bulk_pg", found, floor_is="COPY"), of_floor=0.7),
        msgspec.structs.replace(through_api, holds=through_api.ours >= 40_000),
    ]


async def _measured(contenders: Mapping[str, Contender], *, quick: bool, rounds: int = 3) -> dict[str, list[Measured]]:
    """A quick run tells that everything works; figures come from several rounds, after one to warm up."""
    return await in_turns(contenders, rounds=1 if quick else rounds, warm_up=not quick, once=_ONCE)
