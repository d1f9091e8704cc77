"""Queues over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import optional_body
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.errors import NotFound
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.engine.fleet import QueueLoad
from dueline.wire.jobs import PauseInput
from dueline.wire.labels import check_note, check_queue
from dueline.wire.pages import Page
from dueline.wire.problems import Problems
from dueline.wire.queues import QueueView


async def list_all(surface: Surface, _request: Request) -> Response:
    return json_answer(Page([_view(load) for load in await surface.fleet.queues()], None))


async def get(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.fleet.queue(name_of(request, noun="queue"))))


async def pause(surface: Surface, request: Request) -> Response:
    problems, name = Problems(), request.path_params["name"]
    asked = await optional_body(request, PauseInput, problems)
    check_queue(name, problems, field="name")
    check_note(asked.note, problems)
    problems.raise_any()
    return json_answer(_view(await surface.fleet.pause_queue(name, note=asked.note)))


async def resume(surface: Surface, request: Request) -> Response:
    return json_answer(_view(await surface.fleet.resume_queue(name_of(request, noun="queue"))))


def name_of(request: Request, *, noun: str) -> str:
    """The queue in the path. What cannot be the name of one names none."""
    name: str = request.path_params["name"]
    problems = Problems()
    check_queue(name, problems)
    if problems.found:
        raise NotFound(noun, CONTROL.sub("?", name)[:64])
    return name


def _view(load: QueueLoad) -> QueueView:
    state, age_ms, share = load.state, load.oldest_age_ms, load.busy_share
    return QueueView(
        name=state.queue,
        paused=state.paused,
        note=state.note,
        ready=state.ready,
        running=state.running,
        held=state.held,
        waiting=state.waiting,
        reasons=state.reasons,
        oldest_due_at=None if state.oldest_ms is None else format_instant(state.oldest_ms),
        oldest_age_s=None if age_ms is None else age_ms / 1000,
        rate=round(load.rate, 2),
        workers=load.workers,
        slots=load.slots,
        busy=load.busy,
        busy_share=None if share is None else round(share, 4),
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/queues",
        handler=list_all,
        is_shared=True,
        summary="List the queues that have live runs, are paused or are named by a worker, by name.",
        response=Page[QueueView],
    ),
    ApiRoute(
        method="GET", path="/v1/queues/{name}", handler=get, is_shared=True, summary="Get a queue.", response=QueueView
    ),
    ApiRoute(
        method="POST",
        path="/v1/queues/{name}/pause",
        handler=pause,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Start no more runs of a queue.",
        request=PauseInput,
        response=QueueView,
        repeatable=True,
    ),
    ApiRoute(
        method="POST",
        path="/v1/queues/{name}/resume",
        handler=resume,
        needs=KeyRole.OPERATOR,
        is_shared=True,
        summary="Start runs of a paused queue again.",
        response=QueueView,
    ),
)
