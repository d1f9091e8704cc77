"""Processes over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.routes import ApiRoute, Surface
from dueline.domain import limits
from dueline.domain.access import KeyRole
from dueline.domain.errors import NotFound
from dueline.domain.ids import BootId
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.store.fleet import Node
from dueline.wire.pages import Page
from dueline.wire.workers import WorkerState, WorkerView


async def list_all(surface: Surface, _request: Request) -> Response:
    nodes, now_ms = await surface.fleet.nodes(), surface.fleet.now_ms()
    return json_answer(Page([_view(node, now_ms=now_ms) for node in nodes], None))


async def get(surface: Surface, request: Request) -> Response:
    node = await surface.fleet.node(worker_id_of(request))
    return json_answer(_view(node, now_ms=surface.fleet.now_ms()))


async def drain(surface: Surface, request: Request) -> Response:
    node = await surface.fleet.drain(worker_id_of(request))
    return json_answer(_view(node, now_ms=surface.fleet.now_ms()))


def worker_id_of(request: Request) -> BootId:
    """The process in the path. What no store can hold names none."""
    text: str = request.path_params["id"]
    if CONTROL.search(text):
        raise NotFound("process", CONTROL.sub("?", text)[:64])
    return BootId(text)


def state_of(node: Node, *, now_ms: int) -> WorkerState:
    if node.expired:
        return WorkerState.EXPIRED
    if node.draining:
        return WorkerState.DRAINING
    late_ms = limits.LATE_BEATS * limits.BEAT_S * 1000
    return WorkerState.LATE if now_ms - node.beat_ms > late_ms else WorkerState.ALIVE


def _view(node: Node, *, now_ms: int) -> WorkerView:
    return WorkerView(
        id=node.boot_id,
        role=node.role,
        host=node.host,
        pid=node.pid,
        version=node.version,
        queues=node.queues,
        labels=node.labels,
        tasks=node.tasks,
        slots=node.slots,
        busy=node.busy,
        state=state_of(node, now_ms=now_ms),
        started_at=format_instant(node.started_ms),
        beat_at=format_instant(node.beat_ms),
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/workers",
        handler=list_all,
        is_shared=True,
        summary="List all processes, those that started first first.",
        response=Page[WorkerView],
    ),
    ApiRoute(
        method="GET",
        path="/v1/workers/{id}",
        handler=get,
        is_shared=True,
        summary="Get a process.",
        response=WorkerView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/workers/{id}/drain",
        handler=drain,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Ask a process to end in order.",
        response=WorkerView,
        repeatable=True,
    ),
)
