"""Queues over HTTP."""

from typing import Any

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
        "oldest_due_at": first["due_at"],
    }


def test_a_paused_queue_gives_no_runs(own_api: ServedApi) -> None:
    enqueue(own_api, "q")
    reply = own_api.call("POST", "/v1/queues/q/pause", {"note": "why"})
    assert (reply.status, reply.json["paused"], reply.json["note"], reply.json["ready"]) == (200, True, "why", 1)
    assert queues(own_api)["q"] == reply.json
    assert claims(own_api, "q") == 0
    assert own_api.call("POST", "/v1/queues/q/pause").json["note"] is None
    resumed = own_api.call("POST", "/v1/queues/q/resume")
    assert (resumed.status, resumed.json["paused"], resumed.json["ready"]) == (200, False, 1)
    assert claims(own_api, "q") == 1
    assert own_api.call("POST", "/v1/queues/q/resume").status == 404


def test_a_queue_without_runs_can_be_paused(own_api: ServedApi) -> None:
    assert own_api.call("POST", "/v1/queues/empty/pause").json["ready"] == 0
    assert queues(own_api)["empty"]["paused"] is True
    assert own_api.call("POST", "/v1/queues/empty/resume").json["paused"] is False
    assert queues(own_api) == {}


def test_what_is_wrong_is_named(api: ServedApi) -> None:
    for name in ("a%20b", "x" * 101, "%00"):
        assert list(api.call("POST", f"/v1/queues/{name}/pause").reasons) == ["name"]
        assert api.call("POST", f"/v1/queues/{name}/resume").status == 404
    assert list(api.call("POST", "/v1/queues/q/pause", {"note": "\x00"}).reasons) == ["note"]
    assert list(api.call("POST", "/v1/queues/q/pause", {"why": "x"}).reasons) == ["why"]
    assert api.call("GET", "/v1/queues?limit=1").status == 422
