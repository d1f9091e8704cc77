"""A server that is killed in the middle of telling: whoever comes back misses nothing and hears all in order."""

from __future__ import annotations

import time
from pathlib import Path

from dueline.store.postgres.store import PostgresStore
from tests.faults.scenes import call, enqueue
from tests.support.dueline import DuelineProcess, processes, witness
from tests.support.listening import Heard, Listener

RUNS = 300
KILLS = 3
WAIT_S_MAX = 60.0


def hear_some(url: str, last_id: str | None, most: int) -> tuple[list[Heard], str | None]:
    """What is heard until there is so much of it, or the server is gone."""
    heard: list[Heard] = []
    listener = Listener(url, "/v1/events?type=run.succeeded", last_id=last_id)
    try:
        with listener:
            while len(heard) < most and (event := listener.hear()) is not None:
                heard.append(event)
    except OSError:
        pass
    return heard, listener.last_id


def now(url: str) -> str:
    with Listener(url) as listener:
        listener.hear_beat()
        assert listener.last_id is not None
        return listener.last_id


def check(heard: list[Heard], expected: int) -> None:
    runs = [event.data["run"]["id"] for event in heard]
    assert len(set(runs)) == expected, "nothing is left out"
    assert len(runs) == expected, "nothing is told twice that was heard"
    marks = [tuple(map(int, (event.id or "").split("-")[1:])) for event in heard]
    assert marks == sorted(marks)


async def test_a_killed_server_leaves_no_hole(postgres_dsn: str, postgres_store: PostgresStore, tmp_path: Path) -> None:
    with processes() as started, witness(tmp_path) as target:
        started += [DuelineProcess(tmp_path, role, role, db=postgres_dsn) for role in ("worker", "scheduler")]
        api = DuelineProcess(tmp_path, "api0", "api", "--port", "0", db=postgres_dsn)
        started.append(api)
        for process in started:
            process.wait_until_running()
        url = api.wait_until_running()
        assert url is not None
        last_id: str | None = now(url)
        soon_ms = await postgres_store.now_ms() + 500
        await enqueue(postgres_store, f"{target.url}/slow/0.01", RUNS, due_ms=soon_ms, spread_ms=4_000)
        heard: list[Heard] = []
        for number in range(1, KILLS + 1):
            some, last_id = hear_some(url, last_id, RUNS // (KILLS + 2))
            heard += some
            api.kill()
            api = DuelineProcess(tmp_path, f"api{number}", "api", "--port", "0", db=postgres_dsn)
            started.append(api)
            url = api.wait_until_running()
            assert url is not None
        deadline_s = time.monotonic() + WAIT_S_MAX
        while len(heard) < RUNS:
            assert time.monotonic() < deadline_s, f"{len(heard)} of {RUNS} were told"
            some, last_id = hear_some(url, last_id, RUNS - len(heard))
            heard += some
    check(heard, RUNS)


def test_everything_in_one_process_is_killed(tmp_path: Path) -> None:
    count = 50
    db = str(tmp_path / "dueline.db")
    with processes() as started, witness(tmp_path) as target:
        serve = DuelineProcess(tmp_path, "serve0", "serve", "--port", "0", db=db)
        started.append(serve)
        url = serve.wait_until_running()
        assert url is not None
        last_id: str | None = now(url)
        asked = {"runs": [{"target": {"url": f"{target.url}/slow/0.2"}}] * count}
        assert call(url, "POST", "/v1/runs/bulk", asked)[0] == 200
        heard, last_id = hear_some(url, last_id, count // 5)
        serve.kill()
        serve = DuelineProcess(tmp_path, "serve1", "serve", "--port", "0", db=db)
        started.append(serve)
        url = serve.wait_until_running()
        assert url is not None
        deadline_s = time.monotonic() + WAIT_S_MAX
        while len(heard) < count:
            assert time.monotonic() < deadline_s, f"{len(heard)} of {count} were told"
            some, last_id = hear_some(url, last_id, count - len(heard))
            heard += some
    check(heard, count)
