"""What a route is: one row that says all there is to know about it, so that the app and the OpenAPI document need nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.domain import limits
from dueline.engine.insights import Insights
from dueline.engine.operations import Operations


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """What handlers work with."""

    operations: Operations
    insights: Insights
    ready: Callable[[], Awaitable[None]]
    """Returns when the process can serve; raises when the store is away or the process is stopping."""
    payload_bytes_max: int = limits.PAYLOAD_BYTES_MAX


Handler = Callable[[Surface, Request], Awaitable[Response]]


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """`request` and `response` are the types of the bodies, None where there is none; `query` names the parameters."""

    method: str
    path: str
    handler: Handler
    summary: str
    request: Any = None
    response: Any = None
    status: int = 200
    query: tuple[str, ...] = ()
