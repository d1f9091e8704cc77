"""Metrics over HTTP, read as Prometheus reads them."""

import asyncio
from typing import Any

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from dueline.api import metrics
from dueline.api.app import make_app
from dueline.api.server import ApiServer
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.domain.run import OutcomeKind
from dueline.engine.tallies import Tallies
from dueline.sdk.client import Client
from dueline.store.fleet import Role
from dueline.store.protocol import Store
from tests.api.serving import TARGET, ServedApi
from tests.api.test_health import Broken, surface_of
from tests.api.working import a_dead_letter
from tests.support.stores import register

Samples = dict[tuple[str, str], float]
"""(name, labels as text) → value."""
NAMES = {metrics.STORE_UP, *metrics.OF_QUEUES, *metrics.OF_FLEET, *metrics.OF_PROCESS}


def read(text: str) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation
        assert family.type in ("gauge", "counter")
        for sample in family.samples:
            assert sample.name.endswith("_total") == (family.type == "counter")
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            assert (sample.name, labels) not in found
            found[sample.name, labels] = sample.value
    return found


def scraped(api: ServedApi) -> Samples:
    reply = api.call("GET", "/metrics")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return read(reply.body.decode())


def test_an_empty_store(own_api: ServedApi) -> None:
    found = scraped(own_api)
    assert {name for name, _ in found} == NAMES - set(metrics.OF_QUEUES)
    assert {value for (name, _), value in found.items() if name != metrics.STORE_UP} == {0.0}
    assert found[metrics.STORE_UP, ""] == 1.0


def test_the_store_as_it_stands(own_api: ServedApi) -> None:
    async def workers(store: Store) -> None:
        first = await register(store, "first", slots=8, queues=("q",))
        await store.beat(first, lease_s=60, busy=2, rates={"q": 2.5})
        await register(store, "second", role=Role.ALL, slots=2)
        await register(store, "leaving", slots=100)
        await store.ask_drain(BootId("leaving"))
        await register(store, "scheduler", role=Role.SCHEDULER, lease_s=-1.0)

    own_api.on_store(workers)
    a_dead_letter(own_api, queue="failing")
    own_api.call("POST", "/v1/runs", {"target": TARGET, "queue": "q"})
    own_api.call("POST", "/v1/runs", {"target": TARGET, "queue": "q", "due_at": "2099-01-01T00:00:00Z"})
    own_api.call("POST", "/v1/queues/paused/pause")
    found = scraped(own_api)
    assert {name for name, _ in found} == NAMES
    of_q = {name: value for (name, labels), value in found.items() if labels == "queue=q"}
    assert 0 <= of_q.pop("dueline_queue_oldest_age_seconds") < 60
    assert of_q == {
        "dueline_queue_ready": 1,
        "dueline_queue_running": 0,
        "dueline_queue_held": 0,
        "dueline_queue_waiting": 1,
        "dueline_queue_rate": 2.5,
        "dueline_queue_busy_share": 0.2,
        "dueline_queue_paused": 0,
    }
    assert found["dueline_queue_paused", "queue=paused"] == 1
    assert found["dueline_queue_oldest_age_seconds", "queue=paused"] == 0
    counted = {labels: value for (name, labels), value in found.items() if name == "dueline_workers" and value}
    assert counted == {
        "role=worker,state=alive": 2,
        "role=all,state=alive": 1,
        "role=worker,state=draining": 1,
        "role=scheduler,state=expired": 1,
    }
    assert (found["dueline_worker_slots", ""], found["dueline_worker_busy", ""]) == (10, 2)
    assert found["dueline_dead_letters", ""] == 1


async def scraped_from(surface: Any) -> Samples:
    server = ApiServer(make_app(surface), "127.0.0.1", 0)
    await server.start()
    try:
        with Client(server.url, timeout_s=10) as client:
            answer = await asyncio.to_thread(client.health.metrics)
        return read(answer)
    finally:
        await server.stop()


async def test_while_the_store_is_away_the_process_tells_what_it_knows() -> None:
    broken: Any = Broken(StoreUnavailable("away"))
    tallies = Tallies(fenced=3, leases_lost=1, attempts={OutcomeKind.SUCCEEDED: 7})
    surface = msgspec.structs.replace(surface_of(broken, broken.ready), tallies=lambda: tallies)
    found = await scraped_from(surface)
    assert {name for name, _ in found} == {metrics.STORE_UP, *metrics.OF_PROCESS}
    assert found[metrics.STORE_UP, ""] == 0
    assert (found["dueline_fenced_total", ""], found["dueline_leases_lost_total", ""]) == (3, 1)
    assert found["dueline_attempts_total", "outcome=succeeded"] == 7
    assert found["dueline_attempts_total", "outcome=lost"] == 0


def test_nothing_but_the_path_is_taken(api: ServedApi) -> None:
    assert api.call("GET", "/metrics?name=x").status == 422
    assert api.call("POST", "/metrics").status == 405
    assert api.call("GET", "/metrics", headers={"Authorization": ""}).status == 401
