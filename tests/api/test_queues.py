"""Queues over HTTP."""

import functools
from datetime import UTC, datetime, timedelta
from typing import Any

from dueline.domain.ids import BootId
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from tests.api.serving import TARGET, ServedApi
from tests.api.working import WORKER, claim
from tests.support.stores import register


def queues(api: ServedApi) -> dict[str, Any]:
    page = api.call("GET", "/v1/queues").json
    assert page["next_cursor"] is None
    return {queue["name"]: queue for queue in page["items"]}


def enqueue(api: ServedApi, queue: str, **fields: Any) -> Any:
    return api.call("POST", "/v1/runs", {"target": TARGET, "queue": queue, **fields}).json


def worker(
    api: ServedApi, name: str, *, busy: int, rates: dict[str, float], lease_s: float = 60, **fields: Any
) -> None:
    async def ask(store: Store) -> None:
        boot_id = await register(store, name, **fields)
        await store.beat(boot_id, lease_s=lease_s, busy=busy, rates=rates)

    api.on_store(ask)


def claims(api: ServedApi, queue: str) -> int:
    async def ask(store: Store) -> int:
        await register(store, WORKER)
        return len((await store.claim(WORKER, queue, "", ahead_ms=1_000, limit=10)).claims)

    return api.on_store(ask)


def test_queues_tell_what_is_in_them(own_api: ServedApi) -> None:
    assert queues(own_api) == {}
    enqueue(own_api, "b")
    claim(own_api, queue="b")
    first = enqueue(own_api, "b")
    enqueue(own_api, "b", due_at="2099-01-01T00:00:00Z")
    enqueue(own_api, "a")
    found = queues(own_api)
    assert list(found) == ["a", "b"]
    assert found["b"] == {
        "name": "b",
        "paused": False,
        "note": None,
        "ready": 1,
        "running": 1,
        "held": 0,
        "waiting": 1,
        "reasons": {},
        "oldest_due_at": first["due_at"],
        "oldest_age_s": found["b"]["oldest_age_s"],
        "rate": 0.0,
        "workers": 1,
        "slots": 0,
        "busy": 0,
        "busy_share": None,
    }
    assert 0 <= found["b"]["oldest_age_s"] < 60


def test_queues_tell_what_there_is_to_serve_them(own_api: ServedApi) -> None:
    enqueue(own_api, "a")
    start = functools.partial(worker, own_api)
    start("everything", busy=3, rates={"a": 1.5, "b": 0.25}, slots=10)
    start("only-b", busy=1, rates={"b": 0.5}, slots=2, queues=("b",))
    start("leaving", busy=1, rates={"b": 0.25}, slots=100, queues=("b", "c"))
    own_api.on_store(lambda store: store.ask_drain(BootId("leaving")))
    start("dead", busy=1, rates={"a": 9.0}, slots=100, queues=("d",), lease_s=-1.0)
    start("scheduler", busy=0, rates={}, role=Role.SCHEDULER)
    found = queues(own_api)
    assert list(found) == ["a", "b"], "queues that only leaving and dead workers name are nobody's"
    signals = ("ready", "rate", "workers", "slots", "busy", "busy_share")
    assert [found["a"][name] for name in signals] == [1, 1.5, 1, 10, 3, 0.3]
    assert [found["b"][name] for name in signals] == [0, 1.0, 2, 12, 4, 0.3333]
    assert found["b"]["oldest_age_s"] is None
    assert own_api.call("GET", "/v1/queues/b").json == found["b"]
    nobodys = own_api.call("GET", "/v1/queues/nobodys").json
    assert [nobodys[name] for name in signals] == [0, 0.0, 1, 10, 3, 0.3]


def test_the_age_is_that_of_the_oldest_ready_run(own_api: ServedApi) -> None:
    older = (datetime.now(UTC) - timedelta(seconds=50)).isoformat()
    enqueue(own_api, "q")
    enqueue(own_api, "q", due_at=older)
    enqueue(own_api, "q", due_at="2099-01-01T00:00:00Z")
    assert 50 <= own_api.call("GET", "/v1/queues/q").json["oldest_age_s"] < 110


def test_a_paused_queue_gives_no_runs(own_api: ServedApi) -> None:
    enqueue(own_api, "q")
    reply = own_api.call("POST", "/v1/queues/q/pause", {"note": "why"})
    assert (reply.status, reply.json["paused"], reply.json["note"], reply.json["ready"]) == (200, True, "why", 1)
    found = queues(own_api)["q"]
    assert found == {**reply.json, "oldest_age_s": found["oldest_age_s"]}
    assert claims(own_api, "q") == 0
    assert own_api.call("POST", "/v1/queues/q/pause").json["note"] == "why"
    assert own_api.call("POST", "/v1/queues/q/pause", {"note": "another"}).json["note"] == "another"
    resumed = own_api.call("POST", "/v1/queues/q/resume")
    assert (resumed.status, resumed.json["paused"], resumed.json["ready"]) == (200, False, 1)
    assert claims(own_api, "q") == 1
    again = own_api.call("POST", "/v1/queues/q/resume")
    assert (again.status, again.json["paused"], again.json["note"]) == (200, False, None)
    assert own_api.call("POST", "/v1/queues/q/pause").json["note"] is None


def test_a_queue_without_runs_can_be_paused(own_api: ServedApi) -> None:
    assert own_api.call("POST", "/v1/queues/empty/pause").json["ready"] == 0
    assert queues(own_api)["empty"]["paused"] is True
    assert own_api.call("POST", "/v1/queues/empty/resume").json["paused"] is False
    assert queues(own_api) == {}


def test_what_is_wrong_is_named(api: ServedApi) -> None:
    for name in ("a%20b", "x" * 101, "%00"):
        assert list(api.call("POST", f"/v1/queues/{name}/pause").reasons) == ["name"]
        assert api.call("POST", f"/v1/queues/{name}/resume").status == 404
        assert api.call("GET", f"/v1/queues/{name}").status == 404
    assert list(api.call("POST", "/v1/queues/q/pause", {"note": "\x00"}).reasons) == ["note"]
    assert list(api.call("POST", "/v1/queues/q/pause", {"why": "x"}).reasons) == ["why"]
    assert api.call("GET", "/v1/queues?limit=1").status == 422
