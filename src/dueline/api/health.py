"""Whether the process lives, and whether it can serve."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.problems import Refused
from dueline.api.routes import ApiRoute, Vitals
from dueline.domain.errors import DuelineError

READY_S = 3.0
"""A store that takes longer to answer is as good as away."""


class Health(msgspec.Struct, frozen=True):
    status: str


async def live(_vitals: Vitals, _request: Request) -> Response:
    """Answers as long as the loop turns. It never asks the store: a restart would not bring that back."""
    return json_answer(Health("live"))


async def ready(vitals: Vitals, _request: Request) -> Response:
    try:
        async with asyncio.timeout(READY_S):
            await vitals.ready()
    except TimeoutError:
        raise Refused(503, "unavailable", "The store does not answer.") from None
    except DuelineError:
        raise Refused(503, "unavailable", "The store is away, or the process has not joined, or is stopping.") from None
    return json_answer(Health("ready"))


ROUTES = (
    ApiRoute(method="GET", path="/livez", handler=live, summary="Whether the process lives.", response=Health),
    ApiRoute(method="GET", path="/readyz", handler=ready, summary="Whether the process can serve.", response=Health),
)
