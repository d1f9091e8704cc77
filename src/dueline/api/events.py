"""Events over HTTP: as a stream of server-sent events, or page by page as JSON."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.problems import RETRY_AFTER_S, Refused
from dueline.api.requests import Query, run_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.api.streaming import Blocks, EventStream, wants_page
from dueline.domain import limits
from dueline.domain.errors import NotFound, StoreUnavailable
from dueline.domain.events import OF_ONE_RUN, Event, EventFilter, EventMark, EventType, parse_mark, parse_step, story
from dueline.domain.ids import RunId
from dueline.domain.run import Run
from dueline.domain.states import TERMINAL, RunState
from dueline.wire.events import EventView, beat_block, event_block, event_view
from dueline.wire.pages import Page

QUERY = ("job_id", "run_id", "type", "wait", "limit", "cursor")
RUN_QUERY = ("wait", "cursor")
LAST_ID = "last-event-id"
_WAIT_MS_MAX = 30_000
"""Longer waits meet the patience of proxies."""
_AWAY_S = 1.0
"""How soon to look again for a store that is away."""


async def follow(surface: Surface, request: Request) -> Response:
    query = Query(request, QUERY)
    wanted = query.choice("type", EventType)
    if wanted in OF_ONE_RUN:
        query.problems.add(
            "type", f"{wanted} is told of single runs only, by GET /v1/runs/{{id}}/events: it would never come here"
        )
    match = EventFilter(
        tenant=tenant_of(request),
        job_id=query.job_id(),
        run_id=query.run_id(),
        type=wanted,
    )
    wait_s, limit, last_id = query.wait_s(most_ms=_WAIT_MS_MAX), query.limit(), _last_id(query, request)
    asked: EventMark | None = None
    with query.problems.gathering():
        asked = None if last_id is None else parse_mark(last_id[1], field=last_id[0])
    query.check()
    _check_room(surface)
    mark = await surface.events.now() if asked is None else await surface.events.known(asked)
    if not wants_page(request):
        return EventStream(_told(surface, match, mark), surface.events.reading())
    if asked is None:
        # At once: who asks again because the answer was lost would begin later, and miss what came meanwhile.
        return json_answer(Page[EventView]([], mark.text))
    with surface.events.reading():
        return json_answer(await _page(surface, match, mark, wait_s=wait_s, limit=limit))


async def follow_run(surface: Surface, request: Request) -> Response:
    tenant, run_id = tenant_of(request), run_id_of(request)
    query = Query(request, RUN_QUERY)
    wait_s, last_id, after = query.wait_s(most_ms=_WAIT_MS_MAX), _last_id(query, request), 0
    with query.problems.gathering():
        after = 0 if last_id is None else parse_step(last_id[1], field=last_id[0])
    query.check()
    _check_room(surface)
    run = await surface.insights.run(tenant, run_id)
    if not wants_page(request):
        return EventStream(_told_of_run(surface, run, after), surface.events.reading())
    with surface.events.reading():
        return json_answer(await _run_page(surface, run, after, wait_s=wait_s))


def _last_id(query: Query, request: Request) -> tuple[str, str] | None:
    """How far the caller was told, and where it says so. A browser that comes back has it in the header, and the old one in the address."""
    if header := request.headers.get(LAST_ID):
        return "Last-Event-ID", header
    cursor = query.text("cursor")
    return None if cursor is None else ("cursor", cursor)


def _check_room(surface: Surface) -> None:
    if surface.events.readers >= limits.EVENT_READERS_MAX:
        detail = f"{limits.EVENT_READERS_MAX} others listen here; nothing was told."
        raise Refused(503, "unavailable", detail, headers={"retry-after": str(RETRY_AFTER_S)})


async def _page(surface: Surface, match: EventFilter, mark: EventMark, *, wait_s: float, limit: int) -> Page[EventView]:
    """What there is, or else what comes first within a while."""
    clock = surface.events.clock
    until_s = clock.monotonic_s() + wait_s
    while True:
        page = await surface.events.page(match, mark, limit=limit)
        mark, left_s = page.mark, until_s - clock.monotonic_s()
        if page.events or left_s <= 0 or surface.events.closed:
            return Page([event_view(event) for event in page.events], mark.text)
        await surface.events.news(mark, wait_s=left_s)


async def _told(surface: Surface, match: EventFilter, mark: EventMark) -> Blocks:
    """What happens behind a mark, until the server stops. A store that is away is waited for."""
    yield beat_block(mark.text)
    while not surface.events.closed:
        try:
            page = await surface.events.page(match, mark)
            if page.events:
                yield b"".join(map(event_block, page.events))
            mark = page.mark
            if not await surface.events.news(mark, wait_s=limits.EVENT_BEAT_S):
                yield beat_block(mark.text)
        except StoreUnavailable:
            yield beat_block(mark.text)
            await surface.events.pause(_AWAY_S)


async def _run_page(surface: Surface, run: Run, after: int, *, wait_s: float) -> Page[EventView]:
    clock = surface.events.clock
    until_s = clock.monotonic_s() + wait_s
    while True:
        events = story(run, after=after)
        left_s = until_s - clock.monotonic_s()
        if events or run.state in TERMINAL or left_s <= 0 or surface.events.closed:
            last = str(_last_step(events, after))
            return Page([event_view(event) for event in events], None if run.state in TERMINAL else last)
        await surface.events.pause(min(left_s, limits.RUN_LOOK_S))
        run = await surface.insights.run(run.tenant, run.id)


async def _told_of_run(surface: Surface, run: Run, after: int) -> Blocks:
    """The story of a run behind a step, and the states that it is seen in between, until it has ended or is gone."""
    clock, state = surface.events.clock, RunState.RUNNING
    beat_s = clock.monotonic_s() + limits.EVENT_BEAT_S
    yield beat_block(None)
    while not surface.events.closed:
        events = story(run, after=after)
        after = _last_step(events, after)
        if run.state is not state and run.state not in TERMINAL and run.state is not RunState.RUNNING:
            events.append(Event(id=None, type=EventType.RUN_STATE, at_ms=surface.operations.now_ms(), run=run))
        state = run.state
        if events:
            yield b"".join(map(event_block, events))
        if run.state in TERMINAL:
            return
        await surface.events.pause(limits.RUN_LOOK_S)
        if clock.monotonic_s() >= beat_s:
            beat_s = clock.monotonic_s() + limits.EVENT_BEAT_S
            yield beat_block(None)
        found = await _seen(surface, run.tenant, run.id, run)
        if found is None:
            return
        run = found


async def _seen(surface: Surface, tenant: str, run_id: RunId, before: Run) -> Run | None:
    """A run as it is now, or as it was before while the store is away; None where a change of its job took it back."""
    try:
        return await surface.insights.run(tenant, run_id)
    except NotFound:
        return None
    except StoreUnavailable:
        await surface.events.pause(_AWAY_S)
        return before


def _last_step(events: list[Event], after: int) -> int:
    return max((int(event.id) for event in events if event.id is not None), default=after)


RUN_ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/runs/{id}/events",
        handler=follow_run,
        summary="Follow the state changes of a run to its end.",
        response=Page[EventView],
        query=RUN_QUERY,
    ),
)

ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/events",
        handler=follow,
        summary="Follow the ends of runs and the changes of jobs as they happen.",
        response=Page[EventView],
        query=QUERY,
    ),
)
