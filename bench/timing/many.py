"""Ten million active schedules: what they cost those few that are due, and those who look at them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import msgspec

from bench.report import Result
from bench.target import a_target
from bench.timing.fire import every_so_often
from bench.timing.installation import Installation, a_server, an_installation, running
from bench.timing.jobs import write_jobs, write_likenesses
from bench.timing.lags import check_ahead, quantile, sleep_until_ms
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.schedule import Every
from dueline.sdk.client import PlainClient
from dueline.sdk.retries import NEVER
from dueline.store.records import decode_definition
from tests.support.dueline import DuelineProcess
from tests.support.keys import ADMIN_KEY
from tests.support.processes import resident_bytes

_BUSY = 10_000
"""Schedules that fire again and again, whatever there is beside them."""
_BUSY_PERIOD_S = 10
_MONTH_MS = 30 * 86_400_000
_TOMORROW_MS = 86_400_000
_RARE = 100
"""Jobs that differ from all others, and are older: whoever looks for them finds them last."""
_BODY = {"customer": "c-123", "cents": 500}
_WARM_UP_S = 10
_LATE_S = 5
_PREPARE_MS = 30_000
"""For writing those that are busy, and for a vacuum of all."""
_MB = 1_000_000
_QUESTIONS: dict[str, dict[str, str]] = {
    "all": {},
    "state=active": {"state": "active"},
    "state=paused, few": {"state": "paused"},
    "state=finished, none": {"state": "finished"},
    "queue, few": {"queue": "rare"},
    "queue, none": {"queue": "nowhere"},
    "tag, few": {"tag": "rare"},
    "tag, none": {"tag": "nothing"},
    "target_type=http": {"target_type": "http"},
    "target_type=task, few": {"target_type": "task"},
    "name_prefix, few": {"name_prefix": "rare-"},
    "name_prefix, very many": {"name_prefix": "other-0-7"},
    "name_prefix, one": {"name_prefix": "other-0-77777"},
    "name_prefix, none": {"name_prefix": "none-"},
    "name_prefix and tag, few": {"name_prefix": "rare-", "tag": "rare"},
    "q, few": {"q": "rare"},
    "q, very many": {"q": "other"},
    "q, one": {"q": "7654321"},
    "q, none": {"q": "nothing"},
    "q, of very many and of few": {"q": "other 77777"},
    "q and tag, few": {"q": "note", "tag": "rare"},
    "queue=default and state=paused, none": {"queue": "default", "state": "paused"},
}


class _Fired(NamedTuple):
    rate: float
    lag_ms: float
    first_s: float
    scheduler_bytes: int
    worker_bytes: int


async def schedules_10m(*, quick: bool) -> list[Result]:
    """The same schedules fire with nothing beside them, before and after, and beside the others: the machine drifts meanwhile."""
    others, seconds, asked = (100_000, 5, 10) if quick else (10_000_000, 60, 40)
    with a_server() as (folder, server):
        async with an_installation(server, "few") as installation:
            before = await _fire(_made(folder / "few"), installation, seconds)
        async with an_installation(server, "many") as installation:
            notes = await _fill(_made(folder / "fill"), installation, others)
            many = await _fire(_made(folder / "many"), installation, seconds)
            answers_ms = await _ask(_made(folder / "ask"), installation, asked)
        async with an_installation(server, "again") as installation:
            after = await _fire(_made(folder / "again"), installation, seconds)
    return [_fired_result((before, after), many, notes), _asked_result(answers_ms)]


async def _fill(folder: Path, installation: Installation, others: int) -> dict[str, float]:
    """Write the others, those that are rare first; answers what it took. A scheduler is there, as when people create jobs: otherwise all
    plans would be taken for plans by older rules of the time zones, and be looked at while the busy ones fire."""
    with (
        running(folder, installation.dsn) as start,
        PlainClient(_url(start("api", "--port", "0")), api_key=ADMIN_KEY, retry=NEVER) as client,
    ):
        scheduler = start("scheduler")
        first_ms = await installation.store.now_ms() + _TOMORROW_MS
        rare = client.jobs.create_many([_rare(number, first_ms) for number in range(_RARE)])
        client.jobs.pause(rare["items"][0]["job"]["id"])
        schedule = Every(period_ms=_MONTH_MS, anchor_ms=first_ms)
        execution = Execution(target=HttpTarget(url="http://127.0.0.1:9/", body=_BODY))
        began_s = time.perf_counter()
        await write_likenesses(
            installation.dsn,
            installation.store,
            execution,
            schedule,
            others,
            name="other",
            step_ms=max(_MONTH_MS // 2 // others, 1),
        )
        written_s = time.perf_counter() - began_s
        await installation.settle()
        by_api = client.jobs.create(
            {
                "name": "by the API",
                "schedule": {"every": "P30D", "start_at": format_instant(first_ms)},
                "target": {"url": "http://127.0.0.1:9/", "body": _BODY},
            }
        )
        await _check_likeness(installation.dsn, by_api["name"])
        scheduler.stop()
    size = await _value(installation.dsn, "SELECT pg_database_size(current_database())")
    return {
        "schedules": others + _RARE + _BUSY,
        "written in s": written_s,
        "vacuumed in s": time.perf_counter() - began_s - written_s,
        "GB on disk": size / 1e9,
        "bytes a schedule": size / others,
    }


async def _fire(folder: Path, installation: Installation, seconds: int) -> _Fired:
    """Let the busy ones fire, from a cold start of the processes on."""
    with a_target(folder) as target, running(folder, installation.dsn) as start:
        execution = Execution(target=HttpTarget(url=target.url, body=_BODY))
        now_ms = await installation.store.now_ms()
        first_ms = now_ms // 1000 * 1000 + _PREPARE_MS
        await write_jobs(installation.store, execution, every_so_often(_BUSY, first_ms, _BUSY_PERIOD_S), name="busy")
        await installation.settle()
        worker = start("worker")
        check_ahead(first_ms)
        await sleep_until_ms(first_ms)
        began_s = time.time()
        scheduler = start("scheduler")
        since_ms = first_ms + _WARM_UP_S * 1000
        until_ms = since_ms + seconds * 1000
        await sleep_until_ms(until_ms + _LATE_S * 1000)
        came = [lag.lag_ms for lag in target.lags() if since_ms <= lag.scheduled_ms < until_ms]
        return _Fired(
            rate=len(came) / seconds,
            lag_ms=quantile(came, 0.95) if came else _LATE_S * 1000,
            first_s=min(target.arrived_s(), default=float("inf")) - began_s,
            scheduler_bytes=resident_bytes(scheduler.pid, peak=True),
            worker_bytes=resident_bytes(worker.pid, peak=True),
        )


async def _ask(folder: Path, installation: Installation, asked: int) -> dict[str, float]:
    """The 95th percentile of every question, from the call to the whole answer."""
    found: dict[str, float] = {}
    with (
        running(folder, installation.dsn) as start,
        PlainClient(_url(start("api", "--port", "0")), api_key=ADMIN_KEY, timeout_s=60, retry=NEVER) as client,
    ):
        for name, question in _QUESTIONS.items():
            took_ms = []
            for _ in range(asked):
                began_s = time.perf_counter()
                client.request("GET", "/v1/jobs", query=question)
                took_ms.append((time.perf_counter() - began_s) * 1000)
                if sum(took_ms) > 10_000:
                    break
            found[name] = quantile(took_ms, 0.95)
    return found


async def _check_likeness(dsn: str, name: str) -> None:
    """What was written by a statement of ours is what the API writes, in every column of both tables."""
    rows = await _values(
        dsn,
        "SELECT to_jsonb(j)::text, to_jsonb(p)::text FROM dueline.jobs AS j JOIN dueline.plans AS p ON p.job_id = j.id"
        " WHERE j.name IN ($1, 'other-0-1') ORDER BY j.name",
        name,
    )
    shapes = [[_shape(text) for text in row] for row in rows]
    if len(shapes) != 2 or shapes[0] != shapes[1]:
        raise RuntimeError(f"jobs were not written as the API writes them: {shapes}")


def _shape(text: str) -> dict[str, Any]:
    """A row without what differs between jobs that are alike."""
    row: dict[str, Any] = msgspec.json.decode(text)
    if "definition" in row:
        definition = decode_definition(row["definition"])
        assert isinstance(definition.schedule, Every)
        schedule = msgspec.structs.replace(definition.schedule, anchor_ms=0)
        row["definition"] = msgspec.structs.replace(definition, name="", schedule=schedule)
    different = ("id", "job_id", "name", "shard", "next_ms", "due_ms", "created_ms", "updated_ms", "since_ms")
    return {column: value for column, value in row.items() if column not in different}


def _fired_result(few: tuple[_Fired, _Fired], many: _Fired, notes: dict[str, float]) -> Result:
    before, after = few
    rate, lag_ms = (before.rate + after.rate) / 2, (before.lag_ms + after.lag_ms) / 2
    most_bytes = max(many.scheduler_bytes, many.worker_bytes)
    holds = many.rate >= 0.9 * rate and many.lag_ms <= max(1.1 * lag_ms, lag_ms + 1)
    return Result(
        name="schedules_10m",
        ours=many.rate,
        unit="runs/s",
        floor=rate,
        floor_is="with 10,000 schedules",
        wanted="rate and lag within 10 %, start within 10 s, at most 500 MB",
        holds=holds and many.first_s <= 10 and most_bytes <= 500 * _MB,
        notes={
            **notes,
            "lag p95 ms": many.lag_ms,
            "lag p95 ms with 10,000, before": before.lag_ms,
            "lag p95 ms with 10,000, after": after.lag_ms,
            "first call s after the start": many.first_s,
            "first call s after the start with 10,000": before.first_s,
            "scheduler MB": many.scheduler_bytes / _MB,
            "worker MB": many.worker_bytes / _MB,
        },
    )


def _asked_result(answers_ms: dict[str, float]) -> Result:
    worst_ms = max(answers_ms.values())
    return Result(
        name="schedules_10m_pages",
        ours=worst_ms,
        unit="ms p95",
        wanted="every page of jobs within 50 ms",
        holds=worst_ms <= 50,
        notes={f"GET /v1/jobs, {name}: ms": took_ms for name, took_ms in answers_ms.items()},
    )


def _rare(number: int, first_ms: int) -> dict[str, Any]:
    return {
        "name": f"rare-{number}",
        "queue": "rare",
        "tags": ["rare"],
        "schedule": {"every": "P30D", "start_at": format_instant(first_ms)},
        "target": {"type": "task", "task": "note", "args": _BODY},
    }


def _url(process: DuelineProcess) -> str:
    url = process.wait_until_running()
    assert url is not None
    return url


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


async def _values(dsn: str, statement: str, *arguments: Any) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetch(statement, *arguments)
    finally:
        await connection.close()


async def _value(dsn: str, statement: str) -> Any:
    return (await _values(dsn, statement))[0][0]
