"""Pages of lists, asked of one API process on PostgreSQL: every filter, for what most have and for what few have that are oldest."""

from __future__ import annotations

import asyncio
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import quote

import asyncpg
import msgspec

from bench.report import Figures, Result
from bench.surfaces.caller import Asked, Caller
from bench.surfaces.filling import DAYS, fill
from bench.timing.installation import Installation, a_server, an_installation, running
from bench.timing.lags import quantile
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import ID_BYTES, first_id_at, job_text
from dueline.domain.instants import format_instant
from tests.support.keys import AUTHORIZED

_P95_MS_WANTED = 50.0
_ASKED, _ASKED_QUICK = 200, 10
_PATIENCE_S = 10.0
_WARMED = 5
_PAGE = 50
_JOBS = {
    "all": "",
    "state of most": "state=active",
    "state of few": "state=paused",
    "queue of many": "queue=queue-3",
    "queue of few": "queue=rare",
    "tag of many": "tag=team-7",
    "tag of few": "tag=rare",
    "type of most": "target_type=http",
    "type of some": "target_type=task",
    "names of many": "name_prefix=s",
    "names of few": "name_prefix=zebra",
    "few of four filters": "state=paused&queue=rare&tag=rare&target_type=task",
    "none of two filters": "state=active&tag=rare",
    "names and a queue": "name_prefix=s&queue=rare",
    "a page of 500": "limit=500",
}
_SEARCHES = {
    "word of many": "q=invoices",
    "word of few": "q=zebra",
    "word of one": "q=0000777",
    "word of none": "q=nothing",
    "letter of most": "q=h",
    "two of many": "q=sync%20reports",
    "of many and of few": "q=sync%20zebra",
    "two of none together": "q=invoices%20mails",
    "an address": "q=hooks.example.com/v1/orders/4",
    "with a state": "q=zebra&state=paused",
    "with a queue of few": "q=sync&queue=rare",
    "with a tag": "q=reports&tag=team-1",
    "with another's tag": "q=sync&tag=team-7",
    "with a tag of few": "q=sync&tag=rare",
    "with another type": "q=refresh&target_type=http",
    "of three in ten, all old": "q=legacy",
    "the same, with a state": "q=legacy&state=active",
    "three of many, together old": "q=legacy%20close%20mails",
    "letters of none together": "q=h%20e%20c%20v%200%20s%20i%20m%20x",
}
_RUNS = {
    "all": "",
    "of a job with many": "job_id={many}",
    "of a job with few": "job_id={few}",
    "of a job by name": "job_name={name}",
    "state of most": "state=succeeded",
    "state of some": "state=failed",
    "state of few": "state=expired",
    "running": "state=running",
    "ready": "state=ready",
    "kind of most": "kind=scheduled",
    "kind of few": "kind=manual",
    "tag of many": "tag=team-7",
    "tag of few": "tag=rare",
    "queue of many": "queue=queue-3",
    "queue of few": "queue=rare",
    "a late day": "from={late}",
    "an early day": "to={early}",
    "failed of a queue": "state=failed&queue=queue-0",
    "failed, a tag of few": "state=failed&tag=rare",
    "a job's failed": "job_id={many}&state=failed",
    "a job's, a tag of few": "job_id={many}&tag=rare",
    "a page of 500": "limit=500",
}
_LETTERS = {
    "all": "",
    "of a job with many": "job_id={many}",
    "of a job with none": "job_id={few}",
    "queue of all": "queue=queue-0",
    "queue of none": "queue=rare",
    "reason of most": "reason=run_timeout",
    "reason of few": "reason=poison",
    "a late day": "from={late}",
    "an early day": "to={early}",
}
_OCCURRENCES = {"of a month": "", "early ones": "from={early}&to={late}", "of 500": "limit=500"}
# The least that could be asked of PostgreSQL for a page.
_BARE = {
    "jobs": "SELECT j.*, p.* FROM dueline.jobs AS j LEFT JOIN dueline.plans AS p ON p.job_id = j.id ORDER BY j.id DESC LIMIT 51",
    "search": "SELECT id FROM dueline.job_words WHERE words @@ $$'default\x1fzebra':*$$::tsquery",
    "runs": "SELECT * FROM dueline.history ORDER BY id DESC LIMIT 51",
    "letters": "SELECT * FROM dueline.dead_letters ORDER BY tenant DESC, run_id DESC LIMIT 51",
}


class _Lists:
    """One connection that asks, one question after the other's answer."""

    def __init__(self, url: str, asked: int) -> None:
        self._host, port = url.removeprefix("http://").rsplit(":", 1)
        self._port, self._asked = int(port), asked

    async def late_ms(self, path: str) -> Figures:
        caller = self._caller(path)
        reader, writer = await asyncio.open_connection(self._host, self._port)
        began_s = time.perf_counter()
        while len(caller.took_ms) < self._asked + _WARMED and time.perf_counter() - began_s < _PATIENCE_S:
            await caller.call(reader, writer, time.perf_counter())
        writer.close()
        assert caller.failed == 0, f"{path} failed"
        took_ms = caller.took_ms[_WARMED:] or caller.took_ms
        return Figures(middle=quantile(took_ms, 0.95), least=quantile(took_ms, 0.5), most=quantile(took_ms, 0.99))

    async def behind(self, path: str, last: bytes) -> str:
        """The path of the page behind an id, by a cursor that is like that of the first page."""
        caller = self._caller(f"{path}&limit=1")
        reader, writer = await asyncio.open_connection(self._host, self._port)
        page = msgspec.json.decode(await caller.call(reader, writer, time.perf_counter()))
        writer.close()
        cursor = page["next_cursor"]
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))[:-ID_BYTES] + last
        return f"{path}&cursor={urlsafe_b64encode(raw).rstrip(b'=').decode()}"

    def _caller(self, path: str) -> Caller:
        return Caller(
            Asked(
                host=self._host,
                port=self._port,
                method="GET",
                path=path,
                headers=AUTHORIZED,
                connections=1,
                seconds=0,
            )
        )


async def api_pages(*, quick: bool) -> list[Result]:
    jobs, finished = (20_000, 100_000) if quick else (1_000_000, 5_000_000)
    with a_server() as (folder, server):
        async with an_installation(server, "pages") as installation:
            await fill(installation, jobs=jobs, finished=finished)
            values = await _values(installation)
            floors = await _floors(installation)
            with running(folder, installation.dsn) as start:
                url = start("api", "--port", "0").wait_until_running()
                assert url is not None
                lists = _Lists(url, _ASKED_QUICK if quick else _ASKED)
                found = {
                    "jobs": await _ask(lists, "/v1/jobs", _JOBS, values, ["all", "state of most", "tag of many"]),
                    "search": await _ask(lists, "/v1/jobs", _SEARCHES, values, ["word of many", "letter of most"]),
                    "runs": await _ask(lists, "/v1/runs", _RUNS, values, ["all", "state of some", "tag of many"]),
                    "letters": await _ask(lists, "/v1/dead-letters", _LETTERS, values, ["all", "reason of most"]),
                    "occurrences": await _ask(
                        lists, f"/v1/jobs/{values['many']}/occurrences", _OCCURRENCES, values, []
                    ),
                }
    return [_result(noun, figures, floors.get(noun)) for noun, figures in found.items()]


async def _ask(
    lists: _Lists, path: str, questions: Mapping[str, str], values: Mapping[str, str], far: list[str]
) -> dict[str, Figures]:
    """The first page of each, and of some one that lies in the middle of them."""
    found = {}
    paths = {name: f"{path}?{question.format_map(values)}" for name, question in questions.items()}
    for name, asked in paths.items():
        found[name] = await lists.late_ms(asked)
        if name in far:
            found[f"{name}, behind"] = await lists.late_ms(
                await lists.behind(asked, first_id_at(int(values["middle_ms"])))
            )
    return found


async def _values(installation: Installation) -> dict[str, str]:
    """What is named in questions: a job of whose runs there are very many, one of whose there are few, and days."""
    connection = await asyncpg.connect(installation.dsn)
    try:
        many, few = await connection.fetch(
            "(SELECT id, name FROM dueline.jobs ORDER BY id LIMIT 1)"
            " UNION ALL (SELECT id, name FROM dueline.jobs ORDER BY id LIMIT 1 OFFSET 10001)"
        )
    finally:
        await connection.close()
    now_ms = await installation.store.now_ms()
    return {
        "many": job_text(many["id"].bytes),
        "few": job_text(few["id"].bytes),
        "name": quote(few["name"]),
        "late": format_instant(now_ms - DAY_MS),
        "early": format_instant(now_ms - (DAYS - 1) * DAY_MS),
        "middle_ms": str(now_ms - DAYS * DAY_MS // 2),
    }


async def _floors(installation: Installation) -> dict[str, float]:
    """The 95th percentile of each bare statement."""
    connection = await asyncpg.connect(installation.dsn)
    found = {}
    try:
        for noun, statement in _BARE.items():
            prepared, took_ms = await connection.prepare(statement), []
            for _ in range(_ASKED):
                began_s = time.perf_counter()
                await prepared.fetch()
                took_ms.append((time.perf_counter() - began_s) * 1000)
            found[noun] = quantile(took_ms, 0.95)
    finally:
        await connection.close()
    return found


def _result(noun: str, figures: dict[str, Figures], floor_ms: float | None) -> Result:
    worst_ms = max(one.middle for one in figures.values())
    bare = {} if floor_ms is None else {"floor": Figures(middle=floor_ms, least=floor_ms, most=floor_ms)}
    return Result(
        name=f"api_pages_{noun}",
        ours=worst_ms,
        unit="ms p95",
        floor=floor_ms,
        floor_is="a bare statement for a page",
        wanted=f"p95 of every page under {_P95_MS_WANTED:g} ms (bars; p50 to p99)",
        holds=worst_ms < _P95_MS_WANTED,
        contenders={**bare, **figures},
    )
