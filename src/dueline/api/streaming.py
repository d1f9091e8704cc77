"""Server-sent events: an answer that goes on until there is nothing more to tell, its reader goes away, or it reads too slowly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dueline.domain import limits

EVENT_STREAM = "text/event-stream"
_JSON = "application/json"

Blocks = AsyncGenerator[bytes, None]


def wants_page(request: Request) -> bool:
    """Whether somebody asks for a page of JSON in place of a stream: who says nothing, or takes anything, gets the stream."""
    accepted = request.headers.get("accept", "")
    return _JSON in accepted and EVENT_STREAM not in accepted


class EventStream(Response):
    """Sends blocks as they come. Nothing is gathered for a slow reader: the next block is made when the one before is on its way."""

    media_type = EVENT_STREAM
    charset = "utf-8"

    def __init__(self, blocks: Blocks, reading: AbstractContextManager[None]) -> None:
        """`reading` is entered for as long as it goes on."""
        # A proxy that gathers what it passes on would hold events back; this is how the most common one is told.
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._blocks = blocks
        self._reading = reading

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._reading:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await self._blocks.aclose()
                await send({"type": "http.response.body", "body": b""})
                return
            sending = asyncio.create_task(self._send_all(send))
            leaving = asyncio.create_task(_until_left(receive))
            try:
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                sending.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)
        if not sending.cancelled():
            sending.result()

    async def _send_all(self, send: Send) -> None:
        """Until the end, which is told. Who stalls is not told: its connection breaks off, and it may come back."""
        async with aclosing(self._blocks) as blocks:
            try:
                async for block in blocks:
                    async with asyncio.timeout(limits.EVENT_STALL_S):
                        await send({"type": "http.response.body", "body": block, "more_body": True})
            except TimeoutError:
                return
        await send({"type": "http.response.body", "body": b""})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
