"""Whether the process lives, and whether it can serve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.problems import Refused
from dueline.api.routes import ApiRoute, Vitals
from dueline.domain.errors import DuelineError, StoreUnavailable
from dueline.wire.health import Health

READY_S = 3.0
"""A store that takes longer to answer is as good as away."""


FAILING_S = 5.0
"""So long a write that failed counts, unless one has succeeded since. Then another has to be tried: who is not ready may get none."""


class Writes:
    """Whether what was asked to be written lately could be. A store whose disk is full answers every question, and keeps nothing."""

    def __init__(self) -> None:
        self._failed_s = float("-inf")

    @property
    def failing(self) -> bool:
        return asyncio.get_running_loop().time() < self._failed_s + FAILING_S

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Around a request that may write something."""
        try:
            yield
        except StoreUnavailable:
            self._failed_s = asyncio.get_running_loop().time()
            raise
        self._failed_s = float("-inf")


async def live(_vitals: Vitals, _request: Request) -> Response:
    """Answers as long as the loop turns. It never asks the store: a restart would not bring that back."""
    return json_answer(Health("live"))


async def ready(vitals: Vitals, request: Request) -> Response:
    if request.app.state.writes.failing:
        raise Refused(503, "unavailable", "The store answers, and what was asked last could not be written.")
    try:
        async with asyncio.timeout(READY_S):
            await vitals.ready()
    except TimeoutError:
        raise Refused(503, "unavailable", "The store does not answer.") from None
    except DuelineError:
        raise Refused(503, "unavailable", "The store is away, or the process has not joined, or is stopping.") from None
    return json_answer(Health("ready"))


ROUTES = (
    ApiRoute(
        method="GET", path="/livez", handler=live, is_open=True, summary="Whether the process lives.", response=Health
    ),
    ApiRoute(
        method="GET",
        path="/readyz",
        handler=ready,
        is_open=True,
        summary="Whether the process can serve.",
        response=Health,
    ),
)
