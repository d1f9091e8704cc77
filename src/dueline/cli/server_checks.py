"""What `dueline doctor` asks a server, over its API alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from dueline.cli.diagnoses import (
    Backlog,
    Process,
    judge_backlogs,
    judge_dead_letters,
    judge_processes,
    judge_schedules,
    judge_stuck,
)
from dueline.cli.findings import Asked, Finding, error, judge_clock, ok, warning
from dueline.config import is_loopback
from dueline.domain import limits
from dueline.domain.errors import DuelineError
from dueline.domain.instants import parse_instant
from dueline.runtime.clock import Clock
from dueline.sdk.answers import Answer
from dueline.sdk.calls import Call, to_request
from dueline.sdk.client import PlainClient
from dueline.sdk.errors import Denied, Unavailable, Unreachable
from dueline.sdk.flows import Send

T = TypeVar("T")
_DATE_GRAIN_MS = 2_000
"""The header tells whole seconds, and servers make it once a second."""


def check_server(client: PlainClient, clock: Clock, *, has_key: bool) -> Iterator[Finding]:
    """Everything that can be seen from outside. What the server, or the key, does not let one ask is left out."""
    url = client.driver.pool.address.url
    try:
        asked, answer = _timed(clock, lambda: _greet(client))
    except Unreachable as unreachable:
        advice = "Start dueline serve, or name another server by --server, --profile or DUELINE_URL."
        yield error("server.reachable", f"{_sentence(unreachable)}", advice)
        return
    if answer.status != 200:
        advice = "Something else may be at this address: name the server by --server, --profile or DUELINE_URL."
        yield error("server.reachable", f"{url} answers, and not as a Dueline does (status {answer.status}).", advice)
        return
    yield ok("server.reachable", f"{url} answers in {asked.arrived_ms - asked.sent_ms} ms.")
    if "date" in answer.headers:
        told_ms = int(parsedate_to_datetime(answer.headers["date"]).timestamp() * 1000)
        yield judge_clock("server.clock", "the server", asked.off_by_ms(told_ms, grain_ms=_DATE_GRAIN_MS))
    yield _ready(client)
    try:
        yield from _of_what_it_has(client, clock, has_key=has_key)
    except Denied as denied:
        advice = "Give a key by DUELINE_API_KEY, --api-key-file or a profile, and see that its role allows to read."
        yield error(
            "server.key", f"{'The key is not accepted' if has_key else 'There is no key'}: {_sentence(denied)}", advice
        )
    except DuelineError as failed:
        yield error("server.answers", _sentence(failed), "See the log of the server.")


def _ready(client: PlainClient) -> Finding:
    try:
        client.health.ready()
    except Unavailable as unavailable:
        return error(
            "server.ready", _sentence(unavailable), "See whether its database is there and has room, and its log."
        )
    except DuelineError as failed:
        return error("server.ready", _sentence(failed), "See the log of the server.")
    return ok("server.ready", "It can do its work.")


def _of_what_it_has(client: PlainClient, clock: Clock, *, has_key: bool) -> Iterator[Finding]:
    running = client.runs.list(state="running", page_size=limits.PAGE_ROWS_MAX).page()
    # After the runs: a worker that came in between is known by then.
    workers = client.workers.list().page()["items"]
    yield _key(client, has_key=has_key)
    asked, recovery = _timed(clock, client.recovery.plan)
    now_ms = parse_instant(recovery["at"], field="at")
    yield judge_clock("server.store_clock", "the server's store", asked.off_by_ms(now_ms))
    yield from judge_processes("server.processes", [_process(worker, now_ms) for worker in workers])
    yield from judge_backlogs("server.queues", [_backlog(queue) for queue in client.queues.list().page()["items"]])
    since = [job["overdue_since"] for job in recovery["jobs"] if job["overdue_since"] is not None]
    since_s = (now_ms - parse_instant(min(since), field="overdue_since")) / 1000 if since else None
    yield judge_schedules("server.schedules", recovery["overdue_jobs"], since_s)
    known = {worker["id"] for worker in workers}
    stuck = [run["id"] for run in running["items"] if run["worker"] is not None and run["worker"] not in known]
    yield judge_stuck("server.runs", stuck, more=bool(stuck) and running["next_cursor"] is not None)
    letters = client.dead_letters.list(page_size=limits.PAGE_ROWS_MAX).page()
    yield judge_dead_letters("server.dead_letters", len(letters["items"]), more=letters["next_cursor"] is not None)


def _key(client: PlainClient, *, has_key: bool) -> Finding:
    address = client.driver.pool.address
    if has_key and address.tls is None and not _is_here(address.host):
        advice = "Use https://, by a proxy in front of the server: others on the way read the key."
        return warning("server.key", f"The key goes to {address.url} as plain text.", advice)
    return ok("server.key", "The key is accepted." if has_key else "The server asks for no key.")


def _is_here(host: str) -> bool:
    try:
        return is_loopback(host)
    except ValueError:
        return False


def _greet(client: PlainClient) -> Answer:
    """The answer with its headers, whatever its status."""
    driver = client.driver
    request = to_request(Call(method="GET", path="/livez"), api_key=None, fresh_key=None)
    return driver.pool.send(Send(request, driver.terms.timeout_s))


def _timed(clock: Clock, ask: Callable[[], T]) -> tuple[Asked, T]:
    sent_ms = clock.wall_ms()
    answer = ask()
    return Asked(sent_ms, clock.wall_ms()), answer


def _process(worker: dict[str, Any], now_ms: int) -> Process:
    return Process(
        id=worker["id"],
        role=worker["role"],
        state=worker["state"],
        place=f"{worker['host']}:{worker['pid']}",
        version=worker["version"],
        silent_s=max(now_ms - parse_instant(worker["beat_at"], field="beat_at"), 0) / 1000,
    )


def _backlog(queue: dict[str, Any]) -> Backlog:
    return Backlog(
        queue=queue["name"],
        ready=queue["ready"],
        paused=queue["paused"],
        oldest_age_s=queue["oldest_age_s"],
        workers=queue["workers"],
    )


def _sentence(failed: Exception) -> str:
    """What an error says, as a sentence of its own."""
    said = str(failed).rstrip(".")
    return f"{said[:1].upper()}{said[1:]}."
