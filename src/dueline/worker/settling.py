"""The end of a worker: waiting until what it started has ended and is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dueline.runtime.log import get_log

log = get_log(__name__)


async def settle(
    flights: Callable[[], int], reports: Callable[[], int], idle: asyncio.Event, forced: asyncio.Event, *, wait_s: float
) -> None:
    """Wait until nothing is under way and everything is written, for a bounded time. `idle` is set whenever something was."""
    forcing = asyncio.create_task(forced.wait())
    try:
        async with asyncio.timeout(wait_s):
            while (flights() or reports()) and not forcing.done():
                idle.clear()
                waiting = asyncio.create_task(idle.wait())
                try:
                    await asyncio.wait([forcing, waiting], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    waiting.cancel()
    except TimeoutError:
        log.warning("drain ran out of time", in_flight=flights())
    finally:
        forcing.cancel()
