"""Metrics in the text format of Prometheus: of the store as it stands, and of this process since it started."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.requests import tenant_of
from dueline.api.routes import ApiRoute, Surface, Vitals
from dueline.api.workers import state_of
from dueline.domain.errors import StoreUnavailable
from dueline.domain.run import OutcomeKind
from dueline.engine.fleet import QueueLoad
from dueline.engine.tallies import Tallies
from dueline.store.fleet import Node, Role
from dueline.store.shapes import DeadLetterFilter
from dueline.wire.workers import WorkerState

SCRAPE_S = 8.0
"""How long the store may take: Prometheus waits for ten seconds."""

OF_QUEUES: Mapping[str, tuple[str, Callable[[QueueLoad], float | None]]] = {
    "dueline_queue_ready": ("Runs that are ready to be taken", lambda load: load.state.ready),
    "dueline_queue_running": ("Runs in the hands of workers", lambda load: load.state.running),
    "dueline_queue_held": ("Runs that are held", lambda load: load.state.held),
    "dueline_queue_waiting": ("Runs that are due later, or are to be retried", lambda load: load.state.waiting),
    "dueline_queue_oldest_age_seconds": (
        "How long the oldest ready run has been due; 0 where none is ready",
        lambda load: (load.oldest_age_ms or 0) / 1000,
    ),
    "dueline_queue_rate": ("Runs a second that workers took lately", lambda load: load.rate),
    "dueline_queue_busy_share": ("Busy slots of the workers that serve it, of one", lambda load: load.busy_share),
    "dueline_queue_paused": ("Whether it is paused", lambda load: load.state.paused),
}
OF_FLEET = {
    "dueline_workers": "Processes that fire schedules or execute runs",
    "dueline_worker_slots": "Runs that workers which stay can hold",
    "dueline_worker_busy": "Runs that they executed at their last heartbeats",
    "dueline_dead_letters": "Failed runs that nobody has dealt with",
}
STORE_UP = "dueline_store_up"
OF_PROCESS = {
    "dueline_fenced_total": "Results that came too late: somebody else had the run by then",
    "dueline_leases_lost_total": "How often this process was declared dead by others",
    "dueline_attempts_total": "Attempts that ended in this process",
}


async def scrape(surface: Surface, request: Request) -> Response:
    """Everything. While the store is away, what this process knows by itself."""
    own = of_process(surface.tallies())
    try:
        async with asyncio.timeout(SCRAPE_S):
            loads, nodes = await surface.fleet.overview()
            dead = await surface.dead_letters.count(DeadLetterFilter(tenant=tenant_of(request)))
    except (StoreUnavailable, TimeoutError):
        return _answer([_store_up(False), *own])
    told = [*of_queues(loads), *of_fleet(nodes, dead, now_ms=surface.fleet.now_ms())]
    return _answer([_store_up(True), *told, *own])


async def scrape_process(vitals: Vitals, _request: Request) -> Response:
    """This process alone: what many processes would tell of the same store would be summed up, and cost as many counts."""
    return _answer(of_process(vitals.tallies()))


def of_queues(loads: Iterable[QueueLoad]) -> Iterable[Metric]:
    loads = list(loads)
    for name, (meaning, read) in OF_QUEUES.items():
        family = GaugeMetricFamily(name, meaning, labels=["queue"])
        for load in loads:
            value = read(load)
            if value is not None:
                family.add_metric([load.state.queue], float(value))
        yield family


def of_fleet(nodes: Iterable[Node], dead_letters: int, *, now_ms: int) -> Iterable[Metric]:
    nodes = list(nodes)
    counted = Counter((node.role, state_of(node, now_ms=now_ms)) for node in nodes)
    workers = GaugeMetricFamily("dueline_workers", OF_FLEET["dueline_workers"], labels=["role", "state"])
    for role in Role:
        for state in WorkerState:
            workers.add_metric([role, state], counted[role, state])
    yield workers
    staying = [node for node in nodes if node.takes_runs]
    for name, value in (
        ("dueline_worker_slots", sum(node.slots for node in staying)),
        ("dueline_worker_busy", sum(node.busy for node in staying)),
        ("dueline_dead_letters", dead_letters),
    ):
        yield GaugeMetricFamily(name, OF_FLEET[name], value=value)


def of_process(tallies: Tallies) -> Iterable[Metric]:
    for name, value in (("dueline_fenced_total", tallies.fenced), ("dueline_leases_lost_total", tallies.leases_lost)):
        yield CounterMetricFamily(name, OF_PROCESS[name], value=value)
    attempts = CounterMetricFamily("dueline_attempts_total", OF_PROCESS["dueline_attempts_total"], labels=["outcome"])
    for kind in OutcomeKind:
        attempts.add_metric([kind], tallies.attempts.get(kind, 0))
    yield attempts


def _store_up(up: bool) -> Metric:
    return GaugeMetricFamily(STORE_UP, "Whether the store answered", value=up)


class _Told(Collector):
    """What was gathered for one answer."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _answer(families: Iterable[Metric]) -> Response:
    return Response(generate_latest(_Told(families)), headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})


ROUTES = (
    ApiRoute(
        method="GET",
        path="/metrics",
        handler=scrape,
        is_shared=True,
        without_store=True,
        summary="Metrics for Prometheus.",
        response=str,
    ),
)
PROCESS_ROUTES = (
    ApiRoute(
        method="GET",
        path="/metrics",
        handler=scrape_process,
        is_open=True,
        summary="Metrics of this process alone.",
        response=str,
    ),
)
