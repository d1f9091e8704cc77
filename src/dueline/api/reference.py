"""The OpenAPI document over HTTP, and the page that shows it. Both are made of the routes that are served beside them."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import JSON
from dueline.api.openapi.document import make_document
from dueline.api.openapi.page import POLICY, render_page
from dueline.api.routes import ApiRoute, Surface
from dueline.wire.reading import encode

DOCUMENT_PATH = "/v1/openapi.json"


class Written(NamedTuple):
    document: bytes
    page: str


@lru_cache(maxsize=1)
def written(routes: tuple[ApiRoute, ...]) -> Written:
    """Made once: nothing in it changes while the process lives."""
    document = make_document(routes)
    return Written(encode(document), render_page(document, DOCUMENT_PATH))


async def document(_surface: Surface, request: Request) -> Response:
    made = await _made(request)
    return Response(made.document, media_type=JSON)


async def page(_surface: Surface, request: Request) -> Response:
    made = await _made(request)
    headers = {
        "content-security-policy": POLICY,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return Response(made.page, media_type="text/html", headers=headers)


async def _made(request: Request) -> Written:
    # The first time takes a while, and others want their turn on the loop.
    return await asyncio.to_thread(written, request.app.state.routes)


ROUTES = (
    ApiRoute(
        method="GET",
        path=DOCUMENT_PATH,
        handler=document,
        is_open=True,
        summary="Get this API as an OpenAPI 3.1 document.",
        response=dict[str, Any],
    ),
    ApiRoute(
        method="GET",
        path="/docs",
        handler=page,
        is_open=True,
        summary="Show this API as a page.",
        response=str,
    ),
)
