"""Processes over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.errors import NotFound
from dueline.domain.ids import BootId
from dueline.domain.instants import format_instant
from dueline.store.fleet import Node
from dueline.wire.labels import CONTROL
from dueline.wire.pages import Page
from dueline.wire.workers import WorkerState, WorkerView


async def list_all(surface: Surface, _request: Request) -> Response:
    return json_answer(Page([_view(node) for node in await surface.fleet.nodes()], None))


async def get(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.fleet.node(worker_id_of(request))))


async def drain(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.fleet.drain(worker_id_of(request))))


def worker_id_of(request: Request) -> BootId:
    """The process in the path. What no store can hold names none."""
    text: str = request.path_params["id"]
    if CONTROL.search(text):
        raise NotFound("process", CONTROL.sub("?", text)[:64])
    return BootId(text)


def _view(node: Node) -> WorkerView:
    state = WorkerState.DRAINING if node.draining else WorkerState.ALIVE
    return WorkerView(
        id=node.boot_id,
        role=node.role,
        host=node.host,
        pid=node.pid,
        version=node.version,
        queues=node.queues,
        labels=node.labels,
        slots=node.slots,
        busy=node.busy,
        state=WorkerState.EXPIRED if node.expired else state,
        started_at=format_instant(node.started_ms),
        beat_at=format_instant(node.beat_ms),
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/workers",
        handler=list_all,
        summary="List all processes, those that started first first.",
        response=Page[WorkerView],
    ),
    ApiRoute(method="GET", path="/v1/workers/{id}", handler=get, summary="Get a process.", response=WorkerView),
    ApiRoute(
        method="POST",
        path="/v1/workers/{id}/drain",
        handler=drain,
        summary="Ask a process to end in order.",
        response=WorkerView,
    ),
)
