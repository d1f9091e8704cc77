"""Runs in bulk through one API process on PostgreSQL, a thousand in a call over connections that are kept."""

from __future__ import annotations

import msgspec

from bench.databases import shared_server
from bench.floors.contenders import enqueue_pg
from bench.ours.runs import http_body
from bench.report import Result, summed_up
from bench.surfaces.caller import Asked
from bench.surfaces.single import P99_MS_WANTED, bare_server, called
from bench.timing.installation import a_server, an_installation, running
from tests.support.keys import AUTHORIZED

_CONNECTIONS = 4
_RUNS = 1_000
_WANTED = 40_000.0
_RUN = msgspec.json.encode({"target": {"url": "http://127.0.0.1:9/{n}", "body": http_body(0)}}).decode()


async def api_bulk(*, quick: bool) -> list[Result]:
    """Beside the same calls to a handler that does nothing with them, and COPY of as many rows. Each round has a database of its own. How
    long a call takes is told at half of the rate that is wanted."""
    seconds, rounds = (1.0, 1) if quick else (6.0, 3)
    bare: list[float] = []
    copied: list[float] = []
    ours: list[float] = []
    late_ms: list[float] = []
    with a_server() as (folder, server), bare_server() as bare_port:
        call = Asked(
            host="127.0.0.1",
            port=bare_port,
            method="POST",
            path="/v1/runs/bulk",
            body=_RUN,
            runs=_RUNS,
            headers=AUTHORIZED,
            connections=_CONNECTIONS,
            seconds=seconds,
        )
        half = msgspec.structs.replace(call, per_second=_WANTED / 2 / _RUNS)
        for number in range(rounds):
            bare.append(await _rate(call))
            floor = await enqueue_pg(shared_server(), 20_000 if quick else 200_000, batch=_RUNS)
            copied.append(floor.rate)
            own = folder / f"round-{number}"
            own.mkdir()
            async with an_installation(server, f"bulk_{number}") as installation:
                with running(own, installation.dsn) as start:
                    url = start("api", "--port", "0").wait_until_running()
                    assert url is not None
                    port = int(url.rsplit(":", 1)[1])
                    ours.append(await _rate(msgspec.structs.replace(call, port=port)))
                    late_ms.append((await called(msgspec.structs.replace(half, port=port))).p99_ms)
    middle, spread = summed_up(ours)
    return [
        Result(
            name="api_bulk",
            ours=middle,
            unit="runs/s",
            floor=summed_up(bare)[0],
            floor_is="a handler that does nothing",
            spread=spread,
            peers={"COPY": summed_up(copied)[0]},
            wanted=f"at least {_WANTED:,.0f} runs/s, and p99 of a call under {P99_MS_WANTED:g} ms at half of that",
            holds=middle >= _WANTED and max(late_ms) < P99_MS_WANTED,
            notes={"p99 at half the rate, ms": max(late_ms)},
        )
    ]


async def _rate(asked: Asked) -> float:
    told = await called(asked)
    return told.calls * _RUNS / told.took_s
