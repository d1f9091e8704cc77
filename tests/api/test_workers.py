"""Processes over HTTP."""

import time
from typing import Any

import msgspec
import pytest

from dueline.api.workers import state_of
from dueline.domain.ids import BootId
from dueline.store.fleet import Node, Role
from dueline.store.protocol import Store
from dueline.wire.workers import WorkerState
from tests.api.serving import ServedApi
from tests.support.stores import register


def start(api: ServedApi, name: str, **fields: Any) -> BootId:
    return api.on_store(lambda store: register(store, name, **fields))


def test_processes_are_told_with_their_states(own_api: ServedApi) -> None:
    start(own_api, "z1", role=Role.ALL, queues=("a", "b"), labels=("gpu",), tasks=("add", "mail"), slots=7)
    start(own_api, "late", lease_s=0.0)
    start(own_api, "leaving", role=Role.SCHEDULER)
    own_api.on_store(lambda store: store.drain(BootId("leaving")))
    own_api.on_store(lambda store: store.beat(BootId("z1"), lease_s=60, busy=3))
    time.sleep(0.01)
    workers = {worker["id"]: worker for worker in own_api.call("GET", "/v1/workers").json["items"]}
    assert {name: worker["state"] for name, worker in workers.items()} == {
        "z1": "alive",
        "late": "expired",
        "leaving": "draining",
    }
    first = workers["z1"]
    assert (first["role"], first["host"], first["pid"], first["version"]) == ("all", "here", 1, "1")
    assert (first["queues"], first["labels"], first["slots"], first["busy"]) == (["a", "b"], ["gpu"], 7, 3)
    assert first["tasks"] == ["add", "mail"]
    assert first["started_at"] <= first["beat_at"]
    assert own_api.call("GET", "/v1/workers/z1").json == first


@pytest.mark.parametrize(
    ("silent_ms", "fields", "state"),
    [
        (0, {}, WorkerState.ALIVE),
        (4_000, {}, WorkerState.ALIVE),
        (4_001, {}, WorkerState.LATE),
        (4_001, {"draining": True}, WorkerState.DRAINING),
        (4_001, {"expired": True}, WorkerState.EXPIRED),
        (0, {"draining": True, "expired": True}, WorkerState.EXPIRED),
    ],
)
def test_a_process_is_late_from_its_second_missed_beat_on(
    silent_ms: int, fields: dict[str, bool], state: WorkerState
) -> None:
    told = {"role": Role.WORKER, "host": "h", "pid": 1, "version": "1", "beat": 1, "started_ms": 0}
    node = msgspec.convert({"boot_id": "w", "expired": False, "draining": False, **told, **fields}, Node)
    assert state_of(node, now_ms=silent_ms) is state


def test_a_process_is_asked_to_drain(own_api: ServedApi) -> None:
    worker = start(own_api, "w")
    reply = own_api.call("POST", "/v1/workers/w/drain")
    assert (reply.status, reply.json["id"], reply.json["state"]) == (200, "w", "draining")

    async def asked(store: Store) -> bool:
        return (await store.beat(worker, lease_s=60)).drain_asked

    assert own_api.on_store(asked) is True


def test_what_is_not_there(api: ServedApi) -> None:
    for name in ("x", "%00", "%C3%A9", "x" * 300):
        assert api.call("GET", f"/v1/workers/{name}").status == 404
        assert api.call("POST", f"/v1/workers/{name}/drain").status == 404
    assert api.call("GET", "/v1/workers?limit=1").status == 422
